#!/usr/bin/env bash
# Runs every test program of a build and counts. Each speaks TAP ("ok 1 - name", "not ok", "ok # SKIP reason").
# Usage: ci/test.sh [BUILD]   Environment: DITBENCH_TEST_FILTER=substring, DITBENCH_TEST_TIMEOUT=seconds per program
set -u
cd "$(dirname "$0")/.." || exit 4
build=${1:-build}
filter=${DITBENCH_TEST_FILTER:-}
limit=${DITBENCH_TEST_TIMEOUT:-300}
export DITBENCH_BUILD=$PWD/$build CMOCKA_MESSAGE_OUTPUT=TAP
passed=0 failed=0 skipped=0
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
export logs limit

# Programs on the emulated device are slow, use one core and look at no clock: they run beside each other, first.
# shellcheck disable=SC2016  # expanded by the shells that xargs starts
run_ahead() {
    local program
    for program in "$build"/tests/kernels_test_{cuda,cudnn,device,emulation}*; do
        [ -x "$program" ] && [ ! -d "$program" ] || continue
        case $program in *.d | *.o) continue ;; esac
        case $program in *"$filter"*) printf '%s\n' "$program" ;; esac
    done | xargs -r -n 1 -P "$(nproc)" bash -c \
        'timeout -k 10 "$limit" "$0" >"$logs/${0##*/}.log" 2>&1; echo $? >"$logs/${0##*/}.status"'
}

run_one() { # name, command...
    local name=$1 status ok not_ok skip log=$logs/log
    shift
    printf '== %s\n' "$name"
    if [ -e "$logs/$name.status" ]; then
        log=$logs/$name.log status=$(cat "$logs/$name.status")
    else
        timeout -k 10 "$limit" "$@" >"$log" 2>&1
        status=$?
    fi
    ok=$(grep -cE '^ok( |$)' "$log")
    skip=$(grep -cE '^ok .*# *SKIP' "$log")
    not_ok=$(grep -cE '^not ok( |$)' "$log")
    if [ "$status" -eq 77 ] && grep -qE '^1\.\.0 # SKIP' "$log"; then # the whole program, with the reason
        skip=1 ok=1 status=0
        sed -i -E 's/^1\.\.0 # SKIP/ok # SKIP/' "$log"
    fi
    if [ "$status" -ne 0 ] && [ "$not_ok" -eq 0 ]; then
        not_ok=1
        echo "not ok - $name ended with status $status" >>"$log"
    fi
    grep -E '^(ok .*# *SKIP)' "$log" | sed 's/^/  /'
    if [ "$not_ok" -gt 0 ]; then sed 's/^/  /' "$log" | tail -n 60; fi
    passed=$((passed + ok - skip)) failed=$((failed + not_ok)) skipped=$((skipped + skip))
}

run_ahead
for program in "$build"/tests/*_test_*; do
    [ -x "$program" ] && [ ! -d "$program" ] || continue
    case $program in *.d | *.o) continue ;; esac
    case $program in *"$filter"*) run_one "${program##*/}" "$program" ;; esac
done
for script in */tests/test_*.sh; do
    [ -f "$script" ] || continue
    # In a sanitized build Open MPI's own leaks, in modules it has unloaded, would fail every engine that did its work;
    # leaks of ours are the test programs' business.
    case $script in *"$filter"*) LSAN_OPTIONS=exitcode=0 run_one "$script" bash "$script" ;; esac
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
