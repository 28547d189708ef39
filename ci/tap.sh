# For shell tests: numbered TAP lines. Source it, call report after each check, end with tap_end.
# shellcheck shell=bash
number=0

# report STATUS NAME: one line, "ok" when STATUS is 0.
report() {
    number=$((number + 1))
    if [ "$1" -eq 0 ]; then echo "ok $number - $2"; else echo "not ok $number - $2"; fi
}

tap_end() { echo "1..$number"; }
