#!/usr/bin/env bash
# The fake engine tests the harness: it behaves as it is told, the journal keeps what it says, and nothing takes that for
# a result.
# shellcheck disable=SC2015,SC2016,SC2317 # functions run through ok()
# shellcheck source=suite/tests/harness.sh
. "$(dirname "$0")/harness.sh"
write_workload "$work/tiny.json" 7
session=$work/s

# fake JSON SESSION [OPTION]...: the workload with an engine that behaves so.
fake() {
    local behaviour=$1 output=$2
    shift 2
    DITBENCH_FAKE=$behaviour "$ditbench" run "$work/tiny.json" -q --engine "$fake_engine" --output "$output" "$@"
}
samples() { # session: all samples of its journal, one a line
    grep -o '"latency_ns":\[[0-9,]*\]' "$1/journal.jsonl" | tr -dc '0-9,\n' | tr ',' '\n'
}

# ---- no result of anybody's ------------------------------------------------------------------------------------------
ok "a run keeps what it made up" exits 0 fake '{"mean_s": 0.25}' "$session"
ok "the journal says so" grep -q '"evidence":"fake"' "$session/journal.jsonl"
ok "the session is sound" exits 0 "$ditbench" verify "$session"
refused() { # WORD...: exit 6, and the message says why
    exits 6 "$ditbench" "$@" >"$work/out" 2>&1 && grep -q 'the fake engine made these numbers up' "$work/out" || { cat "$work/out"; return 1; }
}
ok "report draws none of it" refused report "$session" --output "$work/page"
ok "no page is there" test ! -e "$work/page/report.html"
ok "show prints none of it" refused show "$session"
ok "compare judges none of it" refused compare "$session" "$session"
gates() {
    printf '{"mean_s":1}' >"$work/fake.json"
    DITBENCH_FAKE=$work/fake.json refused gate "$work/tiny.json" --baseline "$work/base.json" --engine "$fake_engine" \
        --update --reason test
}
ok "gate writes no baseline of it" gates
no_history() { # beside the sessions of other people
    DITBENCH_RESULTS=$work/own exits 0 sh -c "DITBENCH_FAKE='{}' '$ditbench' run '$work/tiny.json' -q --engine '$fake_engine' --filter 'world_size == 1'" >"$work/out" 2>&1 || return 1
    ! DITBENCH_RESULTS=$work/own "$ditbench" history 2>&1 | grep 'pixart'
}
ok "history leaves it out" no_history
ok "no baseline is there" test ! -e "$work/base.json"
two_builds() { # OLD NEW OPTION...: ab of two engines that are told how to behave
    local side
    for side in old new; do
        printf '#!/bin/sh\nDITBENCH_FAKE='\''%s'\'' exec %s "$@"\n' "$1" "$fake_engine" >"$work/$side.sh"
        chmod +x "$work/$side.sh"
        shift
    done
    # made-up times are what they are, whatever runs beside this test
    "$ditbench" ab "$work/tiny.json" --old "$work/old.sh" --new "$work/new.sh" -q --output "$work/ab" --busy-limit "${busy_limit:-100}" "$@"
}
ab_refuses() {
    rm -rf "$work/ab"
    exits 6 two_builds '{}' '{}' >"$work/out" 2>&1 && grep -q 'the fake engine made these numbers up' "$work/out"
}
ok "ab judges none of it" ab_refuses
never_installed() { ! grep -rq 'engine-fake' "$source_dir/Makefile" && [ ! -e "$build/bin/ditbench-engine-fake" ]; }
ok "it is not among the programs that are installed" never_installed

# ---- where the harness is tested --------------------------------------------------------------------------------------
export DITBENCH_HARNESS_TEST=1
ok "show says that it is fake" sh -c "'$ditbench' show '$session' | grep -q ', fake'"
page() {
    exits 0 "$ditbench" report "$session" --output "$work/page" >/dev/null &&
        grep -q 'made up by the fake engine: no result' "$work/page/report.html"
}
if command -v gnuplot >/dev/null; then ok "a page says that it is no result" page; fi

verdict() { # EXIT WORD OLD NEW
    rm -rf "$work/ab"
    exits "$1" two_builds "$3" "$4" --filter 'world_size == 1' >"$work/out" 2>&1 && grep -q "$2" "$work/out" || { cat "$work/out"; return 1; }
}
ok "ab finds what is 8 % slower" verdict 1 slower '{"mean_s": 1}' '{"mean_s": 1.08}'
ok "ab finds what is 8 % faster" verdict 0 faster '{"mean_s": 1.08}' '{"mean_s": 1}'
ok "ab finds that nothing changed" verdict 0 same '{"mean_s": 1, "between": 0.002}' '{"mean_s": 1, "between": 0.002}'
ok "ab: a case that fails on both sides has failed: 3" verdict 3 "exact numbers" '{"between": 0.002, "fault": "crash", "process": 2}' '{"between": 0.002, "fault": "crash", "process": 2}'
ok "ab: a failure of the old side alone is better" verdict 0 "ok now" '{"between": 0.002, "fault": "crash", "process": 2}' '{"between": 0.002}'
# Beside loops on all cores no pair counts: exit 5 with the reason, whatever the times say.
loops() { for _ in $(seq "$(nproc)"); do while :; do :; done & done; }
beside_others() {
    local code others
    rm -rf "$work/ab"
    loops
    others=$(jobs -p)
    busy_limit=10 two_builds '{"mean_s": 0.2, "sleep": true}' '{"mean_s": 0.4, "sleep": true}' --filter 'world_size == 1' --pairs 6 \
        --max-pairs 6 >"$work/out" 2>&1
    code=$?
    # shellcheck disable=SC2086
    kill $others
    wait 2>/dev/null
    [ "$code" -eq 5 ] && grep -q '^busy: [0-9]* pairs of 1 case not counted, for other processes used more than 10 % of the cores' "$work/out" &&
        grep -q 'pairs count, a verdict needs 6; beside [0-9]* more other processes used the cores' "$work/out" || { cat "$work/out"; return 1; }
    "$ditbench" compare "$work/ab/old" "$work/ab/new" >"$work/again" 2>&1
    [ $? -eq 5 ] && grep -q '^busy: ' "$work/again" || { cat "$work/again"; return 1; }
    "$ditbench" compare "$work/ab/old" "$work/ab/new" --busy-limit 100 --json >"$work/again" 2>&1
    [ $? -eq 1 ] && python3 -c 'import json, sys; t = json.load(open(sys.argv[1]))["timings"][0]; assert t["verdict"] == "slower" and t["not_counted"] == 0 and t["n"] >= 6, t' "$work/again" ||
        { cat "$work/again"; return 1; }
    for side in old new; do "$ditbench" verify "$work/ab/$side" || return 1; done
}
ok "ab: pairs beside other processes do not count, and are run again" beside_others
mixed() { # measured and simulated cases together
    sed 's/"defaults": {"resolution"/"defaults": {"profile": "ditbench", "element": "bf16", "resolution"/; s/"platform": "local-cpu",/ /; s/"axes": {/"axes": {"platform": ["local-cpu", "8xh100-sxm"],/' "$work/tiny.json" >"$work/mixed.json"
    "$ditbench" expand "$work/mixed.json" 2>"$work/err" | grep -q '^keep.*(simulated)' || { cat "$work/err"; return 1; }
    rm -rf "$work/ab"
    DITBENCH_FAKE='{}' "$ditbench" ab "$work/mixed.json" --old "$fake_engine" --new "$fake_engine" --pairs 6 --max-pairs 6 \
        --filter 'world_size == 1' --output "$work/ab" >"$work/out" 2>"$work/err"
    case $? in 0 | 5) ;; *) cat "$work/out" "$work/err"; return 1 ;; esac
    grep -q '1 simulated case is left out' "$work/err" || { cat "$work/err"; return 1; }
    python3 -c 'import json, sys; assert len(json.load(open(sys.argv[1]))["cases"]) == 1' "$work/ab/old/plan.json" || return 1
    for side in old new; do "$ditbench" verify "$work/ab/$side" || return 1; done
}
ok "ab leaves simulated cases out, and both sessions are whole" mixed

# ---- nodes ------------------------------------------------------------------------------------------------------------
# A session on three nodes; rank r of process p runs on node (p + r) % 3.
placed() { # BEHAVIOUR
    rm -rf "$work/nodes"
    DITBENCH_FAKE=$1 "$ditbench" run "$work/tiny.json" --engine "$fake_engine" --output "$work/nodes" --processes 9 >"$work/out" 2>"$work/err" ||
        { cat "$work/err"; return 1; }
}
suspect() {
    placed '{"hosts": 3, "slow_host": 1, "slow_by": 0.15}' || return 1
    grep -q 'suspect node node1: +1[0-9]' "$work/err" || { echo "run says nothing"; cat "$work/err"; return 1; }
    ! grep -q 'suspect node node[02]' "$work/err" || return 1
    "$ditbench" show "$work/nodes" | grep -c 'node node' | grep -qx 3 || { echo show; return 1; }
    "$ditbench" show "$work/nodes" --json | python3 -c '
import json, sys
nodes = json.load(sys.stdin)["nodes"]
assert [n["name"] for n in nodes if n["suspect"]] == ["node1"], nodes
assert abs(nodes[0]["ratio"] - 1.15) < 0.04 and nodes[0]["low"] < 1.15 < nodes[0]["high"], nodes[0]'
}
ok "a slow node is named, by run and by show" suspect
no_suspect() {
    placed '{"hosts": 3}' && ! grep -q 'suspect' "$work/err" && ! "$ditbench" show "$work/nodes" | grep -q 'suspect'
}
ok "equal nodes are not suspect" no_suspect
not_apart() { # one node; then no node at all
    placed '{"hosts": 1, "slow_host": 0, "slow_by": 0.5}' && ! "$ditbench" show "$work/nodes" | grep -q 'node node' &&
        placed '{}' && ! "$ditbench" show "$work/nodes" | grep -q 'node node'
}
ok "where placements cannot tell, nothing is said of nodes" not_apart

# ---- behaviour --------------------------------------------------------------------------------------------------------
repeats() {
    samples "$session" | sort >"$work/first"
    rm -rf "$session"
    fake '{"mean_s": 0.25}' "$session" && samples "$session" | sort | cmp - "$work/first"
}
ok "one folder and one seed make one set of times" repeats
near() { # FILE of numbers, LEAST, MOST of the mean
    awk -v low="$2" -v high="$3" '{ s += $1 } END { m = s / NR; if (m < low || m > high) { print "mean " m; exit 1 } }' "$1"
}
ok "times scatter around the mean" near "$work/first" 245e6 255e6
slow_starts() {
    rm -rf "$session"
    fake '{"mean_s": 1, "slow_starts": 2, "slow_start": 1, "within": 0, "between": 0}' "$session" &&
        grep -o '"latency_ns":\[[0-9,]*\]' "$session/journal.jsonl" | sort -u >"$work/out"
    [ "$(cat "$work/out")" = '"latency_ns":[2000000000,1000000000]' ] || { cat "$work/out"; return 1; }
}
ok "two slow starts: one is the warm-up, one is not" slow_starts
drift() {
    rm -rf "$session"
    fake '{"mean_s": 1, "drift": 0.1, "within": 0, "between": 0}' "$session" --filter 'world_size == 1' || return 1
    [ "$(samples "$session" | sort -n | uniq | wc -l)" -eq 7 ] && [ "$(samples "$session" | sort -n | tail -1)" -eq 1600000000 ]
}
ok "drift makes each process slower than the one before" drift
unknown() {
    rm -rf "$session"
    exits 3 fake '{"maen_s": 1}' "$session" && grep -q 'mean_s' "$session/journal.jsonl"
}
ok "a word that it does not know is an error that names the nearest" unknown

ok "overhead is measured" sh -c "'$ditbench' selftest --trials 5 --overhead --json | grep -q '\"taken_s\"'"
ok "overhead without the fake engine says what is missing" exits 4 "$ditbench" selftest --trials 5 --overhead --engine "$work/none"
finish
