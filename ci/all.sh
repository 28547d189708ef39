#!/usr/bin/env bash
# Tests everything that can be tested here: all tests in their long form, then the tests of a commit under
# AddressSanitizer and UndefinedBehaviorSanitizer, then the fuzzers. A stage that fails does not stop the later ones.
# Usage: ci/all.sh [BUILD [STAGE]...]      (build; stages: tests asan fuzz)
# Environment: that of ci/test.sh; FUZZ_SECONDS for each fuzzer (60). Says what each stage took; the last line sums up
# `N passed, N failed, N skipped`, a fuzzer as one test. Exit: 0 nothing failed; 1 otherwise; 2 an unknown stage.
set -u
cd "$(dirname "$0")/.." || exit 4
build=${1:-build}
shift || true
stages=("$@")
[ ${#stages[@]} -gt 0 ] || stages=(tests asan fuzz)
passed=0 failed=0 skipped=0 took=()
log=$(mktemp)
trap 'rm -f "$log"' EXIT

stage_tests() {
    make --no-print-directory -j"$(nproc)" BUILD="$build" all tests && ci/test.sh "$build" all
}
stage_asan() { make --no-print-directory asan; }
stage_fuzz() {
    local status
    ci/fuzz.sh "${FUZZ_SECONDS:-60}" >"$log.fuzz" 2>&1
    status=$?
    cat "$log.fuzz"
    [ "$status" -ne 77 ] || echo "0 passed, 0 failed, 1 skipped"
    [ "$status" -eq 77 ] || echo "$(grep -c '^ok: ' "$log.fuzz") passed, $(grep -c '^FOUND: ' "$log.fuzz") failed, 0 skipped"
    rm -f "$log.fuzz"
    [ "$status" -eq 77 ] || return "$status"
}

# The last line of a stage has its counts. A stage that fails without counts adds one failure.
count() { # status
    local line p f s
    line=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$log" | tail -n 1)
    read -r p f s < <(echo "${line:-0 0 0}" | tr -cd '0-9 \n')
    [ "$1" -eq 0 ] || [ "$f" -gt 0 ] || f=1
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

for stage in "${stages[@]}"; do
    if ! declare -F "stage_$stage" >/dev/null; then
        echo "ci/all.sh: unknown stage '$stage' (tests, asan, fuzz)" >&2
        exit 2
    fi
    echo "==== $stage"
    from=$SECONDS
    "stage_$stage" 2>&1 | tee "$log"
    count "${PIPESTATUS[0]}"
    took+=("$stage $((SECONDS - from)) s")
done
printf '%s\n' "${took[@]}"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
