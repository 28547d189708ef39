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

tap_end() { echo "1..$number"; }
