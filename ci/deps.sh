#!/usr/bin/env bash
# Installs missing packages of the distribution. It is quick and prints nothing when all are there.
# Usage: ci/deps.sh [--report] [core|fuzz|lint|format|gemm|browser|clips|peers|xdit|census|tokenizers]...     (core when no set is named)
# clips is for MP4 and WebM out of `ditbench generate`; the next build takes them in.
# peers is no set of packages: it makes a Python environment with PyTorch and diffusers, which engine diffusers of
# workloads needs, in $DITBENCH_PEERS (~/.cache/ditbench/peers). On x86-64 PyPI's PyTorch brings CUDA: 3 GB to fetch.
# xdit makes one with xDiT, which engine xdit needs, in $DITBENCH_XDIT (beside it).
# census makes others beside it, one for each row of SOFTWARE in ci/census.py, whose operators that script counts.
# tokenizers makes one with transformers and without PyTorch, which engine/tests/tokenizers/export.py needs.
# Exit: 0 all that is needed is present; 4 something is missing and could not be installed. It then prints the exact
# command. A missing optional package also has its command printed, and does not stop anything else.
set -u

# One row per need: package in Debian, then what its presence looks like where there is no dpkg (a program, a header, or a
# library that pkg-config knows). `optional` behind it: the build goes on without, and what it then cannot do.
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
libjpeg-dev header:jpeglib.h
zlib1g-dev header:zlib.h
libcmocka-dev header:cmocka.h
gnuplot-nox program:gnuplot
libsimgrid-dev program:smpicc optional nothing is simulated
libsentencepiece-dev library:sentencepiece optional prompts are not tokenized
libutf8proc-dev library:libutf8proc optional prompts are not tokenized
libpcre2-dev library:libpcre2-8 optional prompts are not tokenized'
fuzz="clang program:clang
libclang-rt-${clang_major:-14}-dev runtime:fuzzer"
lint='cppcheck program:cppcheck
shellcheck program:shellcheck
clang program:clang
clang-format program:clang-format'
format='clang-format program:clang-format'
gemm='libxsmm-dev header:libxsmm.h
libdnnl-dev header:oneapi/dnnl/dnnl.h'
browser='chromium program:chromium'
clips='libavcodec-dev header:libavcodec/avcodec.h
libavformat-dev header:libavformat/avformat.h
libswscale-dev header:libswscale/swscale.h'
peers='torch==2.6.0 diffusers==0.33.1 safetensors==0.5.3 huggingface_hub==0.30.2 numpy==2.2.4'
xdit='torch==2.6.0 diffusers==0.35.2 xfuser==0.7.0 yunchang==0.6.4 transformers==4.51.3 peft==0.17.1 safetensors==0.5.3 numpy==2.2.4'
census='torch==2.4.1 diffusers==0.30.3 transformers==4.44.2 safetensors==0.5.3 huggingface_hub==0.30.2 numpy==1.26.4
torch==2.6.0 diffusers==0.33.1 transformers==4.51.3 safetensors==0.5.3 huggingface_hub==0.30.2 sentencepiece==0.2.0 protobuf==5.29.4 ftfy==6.3.1 numpy==2.2.4
torch==2.15.0 diffusers==0.42.1 transformers==5.23.0 safetensors==0.8.0 huggingface_hub==2.4.0 numpy==2.4.6'
tokenizers='transformers==4.51.3 tokenizers==0.21.1 sentencepiece==0.2.0 protobuf==5.29.4 ftfy==6.3.1 huggingface_hub==0.30.2 safetensors==0.5.3 numpy==2.2.4'

report=0 needs='' sets=0 wanted=''
for argument in "$@"; do
    [ "$argument" = --report ] || sets=$((sets + 1))
    case $argument in
    --report) report=1 ;;
    core) needs+="$core"$'\n' ;;
    fuzz) needs+="$fuzz"$'\n' ;;
    lint) needs+="$lint"$'\n' ;;
    format) needs+="$format"$'\n' ;;
    gemm) needs+="$gemm"$'\n' ;;
    browser) needs+="$browser"$'\n' ;;
    clips) needs+="$clips"$'\n' ;;
    peers | xdit | census | tokenizers) wanted+=" $argument" ;;
    *)
        echo "ci/deps.sh: unknown set '$argument' (core, fuzz, lint, format, gemm, browser, clips, peers, xdit, census, tokenizers)" >&2
        exit 2
        ;;
    esac
done
[ "$sets" -gt 0 ] || needs=$core

# ---- other engines, each in a Python environment of its own ------------------------------------------------------------
folder_of() { # peers, xdit, tokenizers, or a version of diffusers
    local folder=${DITBENCH_PEERS:-${XDG_CACHE_HOME:-${HOME:-}/.cache}/ditbench/peers}
    case $1 in
    peers) echo "$folder" ;;
    xdit) echo "${DITBENCH_XDIT:-${XDG_CACHE_HOME:-${HOME:-}/.cache}/ditbench/xdit}" ;;
    tokenizers) echo "${folder%/*}/tokenizers" ;;
    *) echo "${folder%/*}/census-$1" ;;
    esac
}

have_pinned() { # folder, requirements: the pinned versions, whatever else is there
    "$1/bin/python" - "$2" <<'PYTHON' 2>/dev/null
import sys
from importlib.metadata import version
sys.exit(any(version(name).split("+")[0] != wanted for name, wanted in (p.split("==") for p in sys.argv[1].split())))
PYTHON
}

# The processor's build of PyTorch is a tenth as large, and not on PyPI.
install_pinned() { # folder, requirements
    local small=https://download.pytorch.org/whl/cpu
    python3 -m venv "$1" || return 1
    # shellcheck disable=SC2086  # requirements are words
    [ "${2%%==*}" != torch ] || "$1/bin/pip" install -q --retries 0 --timeout 10 --index-url $small "${2%% *}" 2>/dev/null
    # shellcheck disable=SC2086
    "$1/bin/pip" install -q $2
}

make_environment() { # folder, requirements
    have_pinned "$1" "$2" && return
    echo "installing ${2%% *} and what it needs in $1" >&2
    if ! install_pinned "$1" "$2" || ! have_pinned "$1" "$2"; then
        {
            echo "ci/deps.sh: could not install them; with Python 3.9 to 3.12, its venv and a way to PyPI, run:"
            echo "    python3 -m venv $1 && $1/bin/pip install $2"
        } >&2
        exit 4
    fi
}

for set in $wanted; do
    case $set in
    peers) make_environment "$(folder_of peers)" "$peers" && continue ;;
    xdit) make_environment "$(folder_of xdit)" "$xdit" && continue ;;
    tokenizers) make_environment "$(folder_of tokenizers)" "$tokenizers" && continue ;;
    esac
    while read -r pinned; do
        version=${pinned#*diffusers==}
        make_environment "$(folder_of "${version%% *}")" "$pinned"
    done <<<"$census"
done
[ -n "$needs" ] || [ "$report" = 1 ] || exit 0
[ -n "$needs" ] || needs=$core

compiles() { # source, flags...
    local source=$1
    shift
    printf '%s\n' "$source" | "${CC:-cc}" -x c "$@" - -o /dev/null 2>/dev/null
}

present() { # need
    case $1 in
    program:*) command -v "${1#program:}" >/dev/null 2>&1 ;;
    library:*) pkg-config --exists "${1#library:}" 2>/dev/null ;;
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

missing() { # needed or optional: prints the packages that are absent
    local package need kind installed
    # shellcheck disable=SC2046  # package names are words
    installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' $(printf '%s' "$needs" | cut -d' ' -f1) 2>/dev/null)
    while read -r package need kind _; do
        [ -n "$package" ] && [ "${kind:-needed}" = "$1" ] || continue
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

needed=$(missing needed | sort -u | tr '\n' ' ') optional=$(missing optional | sort -u | tr '\n' ' ')
needed=${needed% } optional=${optional% }
[ -n "$needed$optional" ] || exit 0

# ---- how -------------------------------------------------------------------------------------------------------------
as_root=()
if [ "$(id -u)" = 0 ]; then
    as_root=(env)
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    as_root=(sudo -n env)
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT

can_install() { command -v apt-get >/dev/null 2>&1 && [ ${#as_root[@]} -gt 0 ]; }

command_for() { # packages: what a person would type
    local command="apt-get install -y --no-install-recommends $*"
    if [ "$(id -u)" = 0 ]; then
        echo "$command"
    elif command -v sudo >/dev/null 2>&1; then
        echo "sudo $command"
    else
        echo "su -c '$command'"
    fi
}

say_missing() { # packages: and what to do
    {
        if ! command -v apt-get >/dev/null 2>&1; then
            echo "ci/deps.sh: missing here, by their Debian names: $*"
            echo "install the packages of your distribution that hold these programs and headers, then try again"
        elif [ ${#as_root[@]} -eq 0 ]; then
            echo "ci/deps.sh: missing: $*"
            echo "this needs root; run:"
            echo "    $(command_for "$@")"
        else
            tail -n 15 "$log"
            echo "ci/deps.sh: could not install $*; run:"
            echo "    $(command_for "$@")"
        fi
    } >&2
}

apt() { "${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get "$@" >"$log" 2>&1 </dev/null; }

# Package lists may be absent or old; fetching them is the slow part, so that it is done only when needed, and once.
updated=0
install() { # packages
    echo "installing: $*" >&2
    apt install -y --no-install-recommends "$@" && return 0
    [ "$updated" -eq 0 ] || return 1
    updated=1
    apt update && apt install -y --no-install-recommends "$@"
}

# ---- do it -----------------------------------------------------------------------------------------------------------
# shellcheck disable=SC2086  # packages are words
if can_install && install $needed $optional; then
    left=$(missing needed | tr '\n' ' ')
    [ -n "$left" ] || exit 0
    echo "ci/deps.sh: installed, yet still not usable: $left" >&2
    exit 4
fi
# A failure of optional packages must not stop the needed ones, which are then installed by themselves.
# shellcheck disable=SC2086
if [ -n "$needed" ] && ! { [ -n "$optional" ] && can_install && install $needed; }; then
    say_missing $needed $optional
    exit 4
fi
# shellcheck disable=SC2086
if [ -n "$needed" ] && install $optional; then exit 0; fi
# shellcheck disable=SC2086
say_missing $optional
while read -r package _ _ reason; do
    case " $optional " in *" $package "*) echo "this is optional: without $package $reason, and all else goes on" >&2 ;; esac
done <<<"$needs"
