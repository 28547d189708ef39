#!/usr/bin/env bash
# A case that hangs, crashes, aborts or goes wrong is recorded as what it is, leaves nothing behind; the run goes on.
# shellcheck disable=SC2016,SC2317 # functions run through ok()
# shellcheck source=suite/tests/harness.sh
. "$(dirname "$0")/harness.sh"
write_workload "$work/tiny.json" 1

# run_fault FAULT EXIT [OPTION]...: every case of the workload with the fault switch on.
run_fault() {
    local fault=$1 expected=$2
    shift 2
    DITBENCH_FAULT=$fault exits "$expected" "$ditbench" run "$work/tiny.json" -q --engine "$fault_engine" \
        --output "$work/s" "$@"
}

statuses() { grep -o '"status":"[a-z]*"' "$work/s/journal.jsonl" | sort | uniq -c | tr -s ' \n' ' '; }

# all_are STATUS: all three cases, and the run reached its end.
all_are() {
    [ "$(statuses)" = " 3 \"status\":\"$1\" " ] || { statuses; return 1; }
    tail -n 1 "$work/s/journal.jsonl" | grep -q '"complete":true'
}

hang() {
    local started=$SECONDS
    run_fault hang:1 3 --timeout 2s || return 1
    [ $((SECONDS - started)) -le 40 ] || { echo "took $((SECONDS - started)) s"; return 1; }
    all_are timeout && nothing_left
}
ok "a hang ends at its deadline and leaves no process" hang
ok "the error says E_TIMEOUT" grep -q '"code":"E_TIMEOUT"' "$work/s/journal.jsonl"

crash() {
    rm -rf "$work/s"
    run_fault crash:1 3 && all_are failed && nothing_left && grep -q '"code":"E_CRASH"' "$work/s/journal.jsonl"
}
ok "a crash is recorded and the run goes on" crash

mend() {
    exits 0 "$ditbench" resume "$work/s" --retry-failed -q && exits 0 "$ditbench" verify "$work/s" &&
        exits 0 "$ditbench" status "$work/s"
}
ok "a retry with a sound engine mends it" mend

abort_all() {
    rm -rf "$work/s"
    run_fault abort:0 3 && all_are failed && nothing_left
}
ok "an abort is recorded and the run goes on" abort_all

not_a_number() {
    rm -rf "$work/s"
    run_fault nan:1 6 && all_are invalid && nothing_left && grep -q '"code":"E_NONFINITE"' "$work/s/journal.jsonl"
}
ok "NaN in the latents is a wrong result: exit 6" not_a_number

# Scratch folders in /dev/shm carry the pid of the harness that owns them.
no_segments() {
    local pid
    rm -rf "$work/s"
    DITBENCH_FAULT=hang:0 "$ditbench" run "$work/tiny.json" -q --engine "$fault_engine" --output "$work/s" \
        --timeout 1s &
    pid=$!
    wait "$pid"
    no_scratch_of "$pid"
}
ok "a hang leaves no shared-memory segment" no_segments

killed_while_hanging() {
    local pid
    rm -rf "$work/s"
    DITBENCH_FAULT=hang:0 "$ditbench" run "$work/tiny.json" -q --engine "$fault_engine" --output "$work/s" &
    pid=$!
    sleep 1
    kill -9 "$pid"
    wait "$pid" 2>/dev/null
    exits 0 "$ditbench" resume "$work/s" -q && nothing_left && no_scratch_of "$pid"
}
ok "resume ends what a killed harness left hanging" killed_while_hanging
finish
