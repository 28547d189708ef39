#!/usr/bin/env bash
# Installs what is missing, through the distribution's packages. Says nothing and is quick when all is there.
# Usage: ci/deps.sh [--report] [core|fuzz|lint|format|peers]...     (core when no set is named)
# Exit: 0 all present; 4 something is missing and could not be installed (the exact command is printed).
set -u

# One row per need: package in Debian, then what its presence looks like where there is no dpkg (a program or a header).
clang_major=$(clang -dumpversion 2>/dev/null | cut -d. -f1)
core='gcc program:gcc
g++ program:g++
libc6-dev header:stdio.h
make program:make
pkg-config program:pkg-config
git program:git
openmpi-bin program:mpirun
libopenmpi-dev program:mpicc
libcjson-dev header:cjson/cJSON.h
libsqlite3-dev header:sqlite3.h
libhwloc-dev header:hwloc.h
libxxhash-dev header:xxhash.h
libpng-dev header:png.h
zlib1g-dev header:zlib.h
libcmocka-dev header:cmocka.h
gnuplot-nox program:gnuplot'
fuzz="clang program:clang
libclang-rt-${clang_major:-14}-dev runtime:fuzzer"
lint='cppcheck program:cppcheck
shellcheck program:shellcheck
clang program:clang
clang-format program:clang-format'
format='clang-format program:clang-format'
peers='libxsmm-dev header:libxsmm.h
libdnnl-dev header:oneapi/dnnl/dnnl.h'

report=0 needs=''
for argument in "$@"; do
    case $argument in
    --report) report=1 ;;
    core) needs+="$core"$'\n' ;;
    fuzz) needs+="$fuzz"$'\n' ;;
    lint) needs+="$lint"$'\n' ;;
    format) needs+="$format"$'\n' ;;
    peers) needs+="$peers"$'\n' ;;
    *)
        echo "ci/deps.sh: unknown set '$argument' (core, fuzz, lint, format, peers)" >&2
        exit 2
        ;;
    esac
done
[ -n "$needs" ] || needs=$core

compiles() { # source, flags...
    local source=$1
    shift
    printf '%s\n' "$source" | "${CC:-cc}" -x c "$@" - -o /dev/null 2>/dev/null
}

present() { # need
    case $1 in
    program:*) command -v "${1#program:}" >/dev/null 2>&1 ;;
    # cmocka.h wants these before it
    header:*) compiles "#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <${1#header:}>" -fsyntax-only ;;
    runtime:fuzzer) printf '#include <stddef.h>\nint LLVMFuzzerTestOneInput(const char *p, size_t n);\nint LLVMFuzzerTestOneInput(const char *p, size_t n) { return p[0] == n; }\n' |
        clang -x c -fsanitize=fuzzer - -o /dev/null 2>/dev/null ;;
    esac
}

missing() { # prints the packages that are absent
    local package need installed
    # shellcheck disable=SC2046  # package names are words
    installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' $(printf '%s' "$needs" | cut -d' ' -f1) 2>/dev/null)
    while read -r package need; do
        [ -n "$package" ] || continue
        case $'\n'$installed$'\n' in *$'\n'"$package installed"$'\n'*) continue ;; esac
        present "$need" || echo "$package"
    done <<<"$needs"
}

say_found() { # what, program, what it is for
    if command -v "$2" >/dev/null 2>&1; then
        echo "$1: found ($2)"
    else
        echo "$1: missing ($2); $3"
    fi
}

if [ "$report" = 1 ]; then
    PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin say_found CUDA nvcc 'not needed: everything runs on CPU ranks'
    say_found SimGrid smpicc 'not needed: nothing is simulated without it'
fi

packages=$(missing | sort -u | tr '\n' ' ')
packages=${packages% }
[ -n "$packages" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
    {
        echo "ci/deps.sh: missing here, by their Debian names: $packages"
        echo "install the packages of your distribution that hold these programs and headers, then try again"
    } >&2
    exit 4
fi
command="apt-get install -y --no-install-recommends $packages"
if [ "$(id -u)" = 0 ]; then
    as_root=(env)
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    as_root=(sudo -n env)
else
    {
        echo "ci/deps.sh: missing: $packages"
        echo "this needs root; run:"
        echo "    sudo $command"
    } >&2
    exit 4
fi

echo "installing: $packages" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() {
    # shellcheck disable=SC2086  # the command is a list of words
    "${as_root[@]}" DEBIAN_FRONTEND=noninteractive $command >"$log" 2>&1 </dev/null
}
# Package lists may be absent or old; fetching them is the slow part, so that it is done only when needed.
if ! install && ! { "${as_root[@]}" apt-get update >"$log" 2>&1 && install; }; then
    {
        tail -n 15 "$log"
        echo "ci/deps.sh: could not install them; run:"
        echo "    $command"
    } >&2
    exit 4
fi
left=$(missing | tr '\n' ' ')
[ -z "$left" ] && exit 0
echo "ci/deps.sh: installed, yet still not usable: $left" >&2
exit 4
