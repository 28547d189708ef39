#!/usr/bin/env bash
# The experiments of papers: every workload is valid, and of those that take seconds every claim that can be tested here
# holds, no more and no less than stand in the table below. Of those that are simulated every published number is a case
# of the session, or of a search. Speaks TAP.
set -u
cd "$(dirname "$0")/../.." || exit 4
build=${DITBENCH_BUILD:-$PWD/build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. ci/tap.sh

for workload in workloads/papers/*/*.json; do
    "$build/bin/ditbench" validate "$workload" >"$work/log" 2>&1
    status=$?
    [ "$status" -eq 0 ] || sed 's/^/# /' "$work/log"
    report "$status" "valid: ${workload#workloads/}"
done

# verdicts SESSION VERDICT: how many claims have it
verdicts() { grep -o "\"verdict\":[[:space:]]*\"$2\"" "$1/report/claims.json" | wc -l; }

# claims WORKLOAD HOLD UNDECIDED: none fails
claims() {
    local name=${1//\//-}
    "$build/bin/ditbench" run "workloads/papers/$1.json" --output "$work/$name" >"$work/log" 2>&1
    status=$?
    [ "$status" -eq 0 ] || sed 's/^/# /' "$work/log"
    report "$status" "$1: every case ran, exact or as its oracle, with the bytes of its closed form"
    "$build/bin/ditbench" verify "$work/$name" >"$work/log" 2>&1
    report $? "$1: the records hold what they say"
    "$build/bin/ditbench" report "$work/$name" >"$work/log" 2>&1
    [ "$(verdicts "$work/$name" fails)" -eq 0 ] && [ "$(verdicts "$work/$name" holds)" -eq "$2" ] &&
        [ "$(verdicts "$work/$name" undecided)" -eq "$3" ]
    status=$?
    [ "$status" -eq 0 ] || sed 's/^/# /' "$work/log" "$work/$name/report/claims.json"
    report "$status" "$1: $2 claims hold, $3 cannot be tested here, none fails"
}
claims pipefusion/methods 12 2
claims distrifusion/memory 4 1
claims pcpp/pcpp 7 1

# homeless JOURNAL: published numbers that are of no case and of no search
homeless() { grep '"kind":"published"' "$1" | grep -v '"case_id"' | grep -v '"method":"hybrid"'; }

# A moment is enough: a session writes what was published before it starts a case.
while read -r workload; do
    name=$(basename "$workload" .json)
    if ! command -v smpirun >/dev/null || [ ! -x "$build/bin/ditbench-engine-sim" ]; then
        skip "published: every number of $name is of a case or of a search" "no simulator (Debian: libsimgrid-dev)"
        continue
    fi
    "$build/bin/ditbench" run "$workload" --max-time 1ms --output "$work/$name" >"$work/log" 2>&1
    grep -q '"kind":"published"' "$work/$name/journal.jsonl" && ! homeless "$work/$name/journal.jsonl" >>"$work/log"
    status=$?
    [ "$status" -eq 0 ] || cut -c1-400 "$work/log" | sed 's/^/# /'
    report "$status" "published: every number of $name is of a case or of a search"
done < <(grep -l '"published"' workloads/papers/*/*.json)
tap_end
