# For shell tests: numbered TAP lines. Source it, call report after each check, end with tap_end.
# shellcheck shell=bash
number=0

# report STATUS NAME: one line, "ok" when STATUS is 0.
report() {
    number=$((number + 1))
    if [ "$1" -eq 0 ]; then echo "ok $number - $2"; else echo "not ok $number - $2"; fi
}

# report_runs LOG: a line for each run of a session, from what `ditbench run` printed.
report_runs() {
    local verdict label
    while read -r verdict label; do
        [ "$verdict" = ok ]
        report $? "exact: $label"
    done < <(sed -nE 's/^\[[0-9]+\/[0-9]+\] +([a-z]+) +(.*)$/\1 \2/p' "$1")
}

# report_skip NAME REASON
report_skip() {
    number=$((number + 1))
    echo "ok $number - $1 # SKIP $2"
}

# each_isa SCRIPT ENGINE: for scripts whose results depend on the instruction set, called first. Runs SCRIPT, which is the
# caller, once on each one that ENGINE has here, and ends it. In those runs each_isa returns, with short=1 on all but the
# best: a script that takes long shows less there, unless DITBENCH_TEST_ALL=1.
# shellcheck disable=SC2034  # scripts that source this look at it
short=${DITBENCH_TEST_SHORT:-0}
each_isa() {
    local isa where line status less=0
    [ -z "${DITBENCH_TEST_SHORT:-}" ] || return 0
    while read -r isa where; do
        if [ "$where" != here ]; then
            report_skip "$isa" "this processor lacks it, or DITBENCH_ISA forbids it"
            continue
        fi
        while IFS= read -r line; do
            case "$line" in
            "ok "[0-9]*) report 0 "${line#* - } ($isa)" ;;
            "not ok "[0-9]*) report 1 "${line#* - } ($isa)" ;;
            1..[0-9]*) ;;
            "status "*) status=${line#* } ;;
            *) printf '%s\n' "$line" ;;
            esac
        done < <(DITBENCH_TEST_SHORT=$less DITBENCH_ISA=$isa bash "$1" 2>&1 </dev/null; echo "status $?")
        [ "$status" -eq 0 ] || report 1 "$1 ended with status $status ($isa)"
        [ "${DITBENCH_TEST_ALL:-0}" = 1 ] || less=1
    done < <("$2" --isas)
    tap_end
    exit 0
}

tap_end() { echo "1..$number"; }
