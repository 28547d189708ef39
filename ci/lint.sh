#!/usr/bin/env bash
# Checks the sources without running them: warnings of gcc and clang as errors, cppcheck, shellcheck, white space.
# Usage: ci/lint.sh [CHECK]...      (gcc clang cppcheck shellcheck format lines comments structure; all when none is named)
# Exit: 0; 1 when a check complains; 4 when a tool is missing and cannot be installed.
set -u
cd "$(dirname "$0")/.." || exit 4
checks=("$@")
[ ${#checks[@]} -gt 0 ] || checks=(gcc clang cppcheck shellcheck format lines comments structure)
ci/deps.sh core lint || exit 4

sources() { git ls-files -- '*.c' '*.h'; }

# Both compilers at -O2, where flow analysis sees most.
build_with() {
    make --no-print-directory -s -j"$(nproc)" BUILD="build/lint-$1" CC="$1" CFLAGS="-O2 -fno-math-errno" CUDA=0 all tests
}
check_gcc() { build_with gcc; }
check_clang() { build_with clang; }

check_cppcheck() {
    make --no-print-directory -s CUDA=0 build/kernels/cpu_headers.h # names the operators of kernels/cpu
    sources | grep '\.c$' | grep -v '/fuzz_' | xargs cppcheck --quiet --std=c11 --language=c --error-exitcode=1 \
        -j"$(nproc)" -I. -Ibuild -D__x86_64__ --include=ci/cppcheck.h --enable=warning,portability \
        --suppressions-list=ci/cppcheck.suppressions
}

# Remarks of shellcheck below a warning are matters of taste, or take functions that are called by name for dead code.
check_shellcheck() { git ls-files -- '*.sh' .ci/run | xargs shellcheck --severity=warning; }

check_format() { sources | xargs clang-format --dry-run --Werror; }

# clang-format cannot break a long string or comment. The rows of a table, X(...), are as long as they are.
check_lines() {
    ! sources | xargs LC_ALL=C awk '{ text = $0; gsub(/[\200-\277]/, "", text) } length(text) > 120 && !/^    X\(/ { printf "%s:%d: %d columns\n", FILENAME, FNR, length(text) }' | grep .
}

# What comments say must be readable and must exist: ci/comments.sh has the rules.
check_comments() { ci/comments.sh; }

# Arrows between rooms point down, nothing goes in a circle, no room is crowded: ci/structure.sh has the rules.
check_structure() { ci/structure.sh; }

result=0
for check in "${checks[@]}"; do
    if ! declare -F "check_$check" >/dev/null; then
        echo "ci/lint.sh: unknown check '$check'" >&2
        exit 2
    fi
    log=$(mktemp)
    if "check_$check" >"$log" 2>&1; then
        echo "ok: $check"
    else
        result=1
        echo "FAILED: $check"
        grep -vE '^  (CC|SIM|AR|LINK) ' "$log" | head -n 60
    fi
    rm -f "$log"
done
exit $result
