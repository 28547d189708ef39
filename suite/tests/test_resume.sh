#!/usr/bin/env bash
# kill -9 of the harness or of an engine at random moments, then resume: every (case, process) once, nothing torn, and what
# came together in several pieces equals a run that nobody interrupted in every number that repeats.
# Kills: DITBENCH_KILL_ROUNDS, or 6 in the short form and 200 in the long one (DITBENCH_TEST_ALL=1). Only a kill that ended
# something counts.
# shellcheck disable=SC2015,SC2016,SC2317 # functions run through ok()
# shellcheck source=suite/tests/harness.sh
. "$(dirname "$0")/harness.sh"
if [ "${DITBENCH_TEST_ALL:-0}" = 1 ]; then wanted=200; else wanted=6; fi
wanted=${DITBENCH_KILL_ROUNDS:-$wanted}
if sanitized; then wanted=4; fi # each start takes seconds there
write_workload "$work/tiny.json" 2
RANDOM=${DITBENCH_TEST_SEED:-7}
killed=0

# repeats SESSION: what its results say that no clock and no machine decides, in the order of cases and processes. A result
# that a later one took the place of does not count. The one-rank reference is compared with its first process that ended
# ok, which has no distance itself: none is 0 there.
repeats() {
    python3 - "$1/journal.jsonl" <<'P'
import json, sys
results = {}
for line in map(json.loads, open(sys.argv[1])):
    if line["kind"] != "result":
        continue
    record = line.get("record") or {}
    validation = record.get("validation") or {}
    distances = {k: v for k, v in validation.items() if k in ("rel_l2", "oracle_rel_l2", "psnr_db")}
    if line["tags"]["world_size"] == 1:
        assert not any(distances.values()), distances
        distances = {}
    results[line["case_id"], line["process"]] = [
        line["label"], line["status"], line["order"], line["block"], line["case"], line["tags"], record.get("flops"),
        validation.get("latent_digest"), validation.get("pass") is not False, distances,
        [{k: v for k, v in row.items() if not k.endswith("_ns")} for row in record.get("communication", [])]]
for key in sorted(results):
    print(*key, json.dumps(results[key], sort_keys=True))
P
}
uninterrupted() {
    "$ditbench" run "$work/tiny.json" -q --output "$work/whole" >/dev/null && repeats "$work/whole" >"$work/whole.txt" &&
        [ "$(wc -l <"$work/whole.txt")" -eq "$(grep -c '"kind":"result"' "$work/whole/journal.jsonl")" ] &&
        grep -q '"xxh3:' "$work/whole.txt" && grep -q '"rel_l2"' "$work/whole.txt"
}
ok "a run that nobody interrupts" uninterrupted
equals_whole() { # SESSION
    repeats "$1" >"$work/pieces.txt" && cmp -s "$work/pieces.txt" "$work/whole.txt" && return 0
    diff "$work/whole.txt" "$work/pieces.txt" | cut -c1-300
    return 1
}

# As many results as planned runs, one session line, an end; `verify` checks that they are the planned ones, each once.
every_pair_once() { # session
    local journal=$1/journal.jsonl planned results
    planned=$("$ditbench" status "$1" --json | sed -n 's/.*"planned":[^0-9]*\([0-9]*\).*/\1/p')
    results=$(grep -c '"kind":"result"' "$journal")
    [ "$results" -eq "$planned" ] || { echo "$results results of $planned runs"; return 1; }
    [ "$(grep -c '"kind":"session"' "$journal")" -eq 1 ] || { echo "session lines"; return 1; }
    [ "$(grep -c '"kind":"dropped"' "$journal")" -eq 1 ] || { echo "dropped lines"; return 1; }
    tail -n 1 "$journal" | grep -q '"complete":true.*"kind":"end"' || { echo "no end line"; return 1; }
    exits 0 "$ditbench" verify "$1"
}
# kill_harness PID: ends a harness in the background, unless it has ended by itself.
kill_harness() {
    local code=0
    kill -9 "$1" 2>/dev/null
    wait "$1" 2>/dev/null || code=$?
    [ "$code" -ne 137 ] || killed=$((killed + 1))
}

pause() { sleep "$(printf '0.%03d' $((RANDOM % 1000)))"; }

# Runs until killed, resumes until killed, and at last resumes to the end.
kill_harness_round() {
    local session=$work/h pid
    rm -rf "$session"
    "$ditbench" run "$work/tiny.json" -q --output "$session" >/dev/null 2>&1 &
    pid=$!
    pause
    kill_harness "$pid"
    if [ ! -s "$session/journal.jsonl" ]; then # killed before anything was planned
        rm -rf "$session"
        "$ditbench" run "$work/tiny.json" -q --output "$session" >/dev/null || return 1
    else
        "$ditbench" resume "$session" -q >/dev/null &
        pid=$!
        pause
        kill_harness "$pid"
        exits 0 "$ditbench" resume "$session" -q || return 1
    fi
    every_pair_once "$session" && equals_whole "$session"
}

# Kills one process of the engine's tree, launcher or rank; the case is a crash, the run goes on, a retry mends it.
kill_engine_round() {
    local session=$work/e pid victims victim code=0
    rm -rf "$session"
    "$ditbench" run "$work/tiny.json" -q --output "$session" >/dev/null 2>&1 &
    pid=$!
    pause
    mapfile -t victims < <(processes_of "$session")
    if [ "${#victims[@]}" -gt 0 ]; then
        victim=${victims[RANDOM % ${#victims[@]}]}
        kill -9 "$victim" 2>/dev/null
    fi
    wait "$pid" || code=$?
    [ "$code" -eq 0 ] || [ "$code" -eq 3 ] || { echo "run ended with $code"; return 1; }
    every_pair_once "$session" || return 1
    [ "$code" -eq 0 ] || killed=$((killed + 1))
    [ "$code" -eq 0 ] || grep -q '"status":"failed"' "$session/journal.jsonl" || return 1
    exits 0 "$ditbench" resume "$session" --retry-failed -q && exits 0 "$ditbench" verify "$session" && equals_whole "$session"
}

# Both processes of the one-rank reference are killed at their first start, so the cases after it have nothing to be
# compared with. A retry runs them again, once the reference is there.
reference_killed() {
    local session=$work/r code=0
    cat >"$work/kills-reference" <<SH
#!/bin/sh
if [ "\${OMPI_COMM_WORLD_SIZE:-1}" = 1 ] && [ ! -e "$work/killed.2" ]; then
    [ -e "$work/killed.1" ] && : >"$work/killed.2"
    : >"$work/killed.1"
    kill -9 \$\$
fi
exec "$build/bin/ditbench-engine" "\$@"
SH
    chmod +x "$work/kills-reference"
    "$ditbench" run "$work/tiny.json" -q --engine "$work/kills-reference" --output "$session" >/dev/null 2>"$work/err" || code=$?
    [ "$code" -eq 3 ] && [ -e "$work/killed.2" ] || { echo "run ended with $code"; cat "$work/err"; return 1; }
    ! grep -q '"rel_l2"' "$session/journal.jsonl" || { echo "something was compared with a reference that was killed"; return 1; }
    exits 0 "$ditbench" resume "$session" --retry-failed 2>"$work/err" || { cat "$work/err"; return 1; }
    grep -q '4 results were made while the case to compare with had failed: run again' "$work/err" || { cat "$work/err"; return 1; }
    exits 0 "$ditbench" verify "$session" && equals_whole "$session" || return 1
    "$ditbench" resume "$session" --retry-failed 2>&1 | grep -q 'nothing to do'
}
ok "the one-rank reference is killed: a retry runs what was never held against it" reference_killed

for round in $(seq 1 "$wanted"); do # a round ends two harnesses and one engine, where it comes in time
    [ "$killed" -lt "$wanted" ] || break
    ok "harness killed at random, round $round: every case once" kill_harness_round
    ok "engine killed at random, round $round: recorded, and mended by a retry" kill_engine_round
done
echo "# $killed kills in $SECONDS s"
ok "$wanted kills hit something" [ "$killed" -ge "$wanted" ]
ok "no process is left behind" nothing_left

# A torn line, cut by hand at every kind of place.
tear_round() {
    local session=$work/t bytes
    rm -rf "$session"
    "$ditbench" run "$work/tiny.json" -q --output "$session" >/dev/null || return 1
    bytes=$(stat -c %s "$session/journal.jsonl")
    truncate -s $((bytes - $1)) "$session/journal.jsonl"
    exits 0 "$ditbench" resume "$session" -q && every_pair_once "$session"
}
for cut in 1 150 4000; do ok "journal cut by $cut bytes: resumed whole" tear_round "$cut"; done

two_at_once() {
    local session=$work/t
    flock "$session/journal.jsonl" "$ditbench" resume "$session"
}
ok "a session in use is refused" exits 2 two_at_once

# SIGINT and SIGTERM end with their own codes and a session that goes on.
interrupt() { # signal, exit code
    local session=$work/i$1 pid code=0
    "$ditbench" run "$work/tiny.json" -q --processes 4 --output "$session" >/dev/null 2>"$work/err" &
    pid=$!
    sleep 1
    kill "-$1" "$pid"
    wait "$pid" || code=$?
    [ "$code" -eq "$2" ] || { echo "exit $code, expected $2"; return 1; }
    grep -q "ditbench resume $session" "$work/err" || return 1
    exits 0 "$ditbench" resume "$session" -q && every_pair_once "$session"
}
set -m # without job control a background job ignores SIGINT
ok "SIGINT: exit 130, the rest by resume" interrupt INT 130
ok "SIGTERM: exit 143, the rest by resume" interrupt TERM 143
set +m
finish
