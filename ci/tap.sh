# Prints numbered TAP lines for shell tests. Source it; call ok or report for each check, and skip for a check that cannot
# be made here; end with tap_end.
# shellcheck shell=bash
test_number=0 test_failed=0

# report STATUS NAME: one line, "ok" when STATUS is 0.
report() {
    test_number=$((test_number + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $test_number - $2"
    else
        echo "not ok $test_number - $2"
        test_failed=1
    fi
}

# ok NAME COMMAND...: prints one line by the command's success, and after a failure the command's output. A complaint of a
# sanitizer is a failure, whatever the command's status.
ok() {
    local name=$1 status=0 printed
    shift
    printed=$(mktemp)
    "$@" >"$printed" 2>&1 || status=1
    ! grep -qE 'Sanitizer|runtime error:' "$printed" || status=1
    report "$status" "$name"
    [ "$status" -eq 0 ] || sed 's/^/# /' "$printed" | tail -n 20
    rm -f "$printed"
}

# skip NAME REASON: prints the line of a check that cannot be made here.
skip() {
    test_number=$((test_number + 1))
    echo "ok $test_number - $1 # SKIP $2"
}

# exits CODE COMMAND...: true when the command exits with CODE.
exits() {
    local expected=$1 code=0
    shift
    "$@" || code=$?
    [ "$code" -eq "$expected" ] || { echo "exit $code, expected $expected: $*"; return 1; }
}

# report_runs LOG: prints a line for each run of a session, from what `ditbench run` printed.
report_runs() {
    local verdict label
    while read -r verdict label; do
        [ "$verdict" = ok ]
        report $? "exact: $label"
    done < <(sed -nE 's/^\[[0-9]+\/[0-9]+\] +([a-z]+) +(.*)$/\1 \2/p' "$1")
}

# each_isa SCRIPT ENGINE: for scripts whose results depend on the instruction set, called first. Runs SCRIPT, which is the
# caller, once on each one that ENGINE has here, and ends it. In those runs each_isa returns, with short=1 on all but the
# best: a script that takes long shows less there, unless DITBENCH_TEST_ALL=1.
# shellcheck disable=SC2034  # scripts that source this look at it
short=${DITBENCH_TEST_SHORT:-0}
each_isa() {
    local isa where line status failed less=0
    [ -z "${DITBENCH_TEST_SHORT:-}" ] || return 0
    while read -r isa where; do
        if [ "$where" != here ]; then
            skip "$isa" "this processor lacks it, or DITBENCH_ISA forbids it"
            continue
        fi
        failed=0
        while IFS= read -r line; do
            case "$line" in
            "ok "[0-9]*) report 0 "${line#* - } ($isa)" ;;
            "not ok "[0-9]*) report 1 "${line#* - } ($isa)" && failed=1 ;;
            1..[0-9]*) ;;
            "status "*) status=${line#* } ;;
            *) printf '%s\n' "$line" ;;
            esac
        done < <(DITBENCH_TEST_SHORT=$less DITBENCH_ISA=$isa bash "$1" 2>&1 </dev/null; echo "status $?")
        [ "$status" -eq 0 ] || [ "$failed" = 1 ] || report 1 "$1 ended with status $status ($isa)"
        [ "${DITBENCH_TEST_ALL:-0}" = 1 ] || less=1
    done < <("$2" --isas)
    tap_end
}

# tap_end: prints the plan and exits, with 1 when a check failed.
tap_end() {
    echo "1..$test_number"
    exit "$test_failed"
}
