#!/usr/bin/env bash
# Whatever a machine does to a run: no record is lost, no process stays, the exit code is the documented one, and the
# message names the cause. Ends with a table.
# Tries of each fault: DITBENCH_FAULT_TRIES, or 1 in the short form and 10 in the long one (DITBENCH_TEST_ALL=1).
# shellcheck disable=SC2015,SC2016,SC2317 # functions run through ok()
# shellcheck source=suite/tests/harness.sh
. "$(dirname "$0")/harness.sh"
if [ "${DITBENCH_TEST_ALL:-0}" = 1 ]; then tries=10; else tries=1; fi
tries=${DITBENCH_FAULT_TRIES:-$tries}
write_workload "$work/all.json" 3
sed 's/"iterations": 2/"iterations": 6/' "$work/all.json" >"$work/tiny.json"
session=$work/s
shim=$build/tests/ditbench-shim.so
RANDOM=${DITBENCH_TEST_SEED:-7}
: >"$work/table"

# run OPTION...: three processes of one case of two ranks, by the fake engine as DITBENCH_FAKE says.
run() {
    "$ditbench" run "$work/tiny.json" -q --engine "$fake_engine" --filter "method == 'ring'" --output "$session" "$@" >"$work/out" 2>&1
}
sound() { exits 0 "$ditbench" verify "$session" >"$work/out" 2>&1 || { cat "$work/out"; return 1; }; }
mended() { # the rest by resume, with an engine that works
    DITBENCH_FAKE='{}' exits 0 "$ditbench" resume "$session" -q --retry-failed >"$work/out" 2>&1 || { cat "$work/out"; return 1; }
    [ "$(results ok)" -eq 3 ] || { echo "$(results ok) good results"; return 1; }
    sound && nothing_left
}
results() { grep -c "\"status\":\"$1\"" "$session/journal.jsonl"; }

# engine_fault BEHAVIOUR EXIT STATUS TEXT [OPTION]...: in the second of three processes; the others are well.
engine_fault() {
    local behaviour=$1 code=$2 status=$3 text=$4
    shift 4
    DITBENCH_FAKE="{\"process\": 1, $behaviour}" exits "$code" run "$@" || { cat "$work/out"; return 1; }
    [ "$(results ok)" -eq "$([ "$status" = ok ] && echo 3 || echo 2)" ] || { echo "$(results ok) good results"; return 1; }
    [ "$status" = ok ] || [ "$(results "$status")" -eq 1 ] || { echo "not $status"; return 1; }
    grep -qE "$text" "$session/journal.jsonl" || { echo "the journal does not say: $text"; grep -o '"error":.*' "$session/journal.jsonl" | head -c 600; return 1; }
    sound && nothing_left
}
ended() { # the engine's fault, and a retry mends it

    engine_fault "$@" && mended
}

# fault NAME EXIT CAUSE FUNCTION WORD...: as many tries as asked for, then a line of the table.
fault() {
    local name=$1 code=$2 cause=$3 passed=0 try
    shift 3
    all_tries() {
        for try in $(seq 1 "$tries"); do
            rm -rf "$session"
            "$@" || { echo "try $try of $tries"; return 1; }
            passed=$try
        done
    }
    ok "$name: exit $code, $cause" all_tries "$@"
    printf '# %-28s %-6s %-4s %s\n' "$name" "$passed/$tries" "$code" "$cause" >>"$work/table"
}

# ---- engines ----------------------------------------------------------------------------------------------------------
fault "a rank hangs" 3 "E_TIMEOUT: deadline" ended '"fault": "hang"' 3 timeout 'E_TIMEOUT.*deadline of 1 s' --timeout 1s
fault "a rank crashes" 3 "E_CRASH: signal 11" ended '"fault": "crash"' 3 failed 'E_CRASH.*signal 11'
fault "a rank is killed" 3 "E_CRASH: signal 9" ended '"fault": "kill"' 3 failed 'E_CRASH.*signal 9'
fault "an engine ends with 3" 3 "E_CRASH: exit code 3" ended '"fault": "exit"' 3 failed 'exit code 3 and left no error.json'
fault "no record" 3 "E_CRASH: no record.json" ended '"fault": "silent"' 3 failed 'without writing record.json'
fault "half a record" 3 "E_JSON_SYNTAX: record.json" ended '"fault": "torn"' 3 failed 'record.json:[0-9]+:[0-9]+'
fault "an older record" 3 "E_JSON_VALUE: its schema" ended '"fault": "old_schema"' 3 failed 'ditbench.record/0.* is older than .*ditbench.record/1'
fault "a newer record" 3 "E_JSON_VALUE: its schema" ended '"fault": "new_schema"' 3 failed 'ditbench.record/2.* is newer than .*ditbench.record/1'
fault "wrong latents" 6 "E_MISMATCH" engine_fault '"fault": "wrong"' 6 invalid 'E_MISMATCH'
fault "latents are not finite" 6 "E_NONFINITE" engine_fault '"fault": "nan"' 6 invalid 'E_NONFINITE'
fault "a slow rank" 0 "warning: rank 1" engine_fault '"fault": "slow_rank", "rank": 1' 0 ok 'slow: rank 1 computes 2.0 times'
fault "another slow rank" 0 "warning: rank 0" engine_fault '"fault": "slow_rank", "rank": 0' 0 ok 'slow: rank 0 computes 2.0 times'
fault "a slow rank, another held up" 0 "warning: rank 1" engine_fault '"fault": "slow_rank", "rank": 1, "held_up": 1' 0 ok 'slow: rank 1 computes 2.0 times'
not_slow() { # twice held up in six iterations: nobody knows
    engine_fault '"fault": "slow_rank", "rank": 1, "held_up": 2' 0 ok '"kind":"end"' && ! grep -q '"slow: ' "$session/journal.jsonl"
}
fault "a slow rank, often held up" 0 "no rank is named" not_slow
fault "a rank leaks" 0 "warning: rank 1" engine_fault '"fault": "leak"' 0 ok 'leak: rank 1 grows by 1.0 MiB an iteration'
fault "a rank leaves a child" 0 "the child is ended" engine_fault '"fault": "orphan"' 0 ok '"kind":"end"'

# ---- the machine ------------------------------------------------------------------------------------------------------
out_of_memory() {
    LD_PRELOAD=$shim DITBENCH_SHIM_OOM=1 ended '"fault": "kill"' 3 oom 'E_MEMORY.*ran out of memory' --launcher local --filter 'world_size == 1'
}
clock_jumps() { # durations are those of a clock that does not jump, and so is the deadline
    LD_PRELOAD=$shim DITBENCH_SHIM_CLOCK=86400 ended '"fault": "hang"' 3 timeout 'E_TIMEOUT.*deadline of 1 s' --timeout 1s || return 1
    local longest
    longest=$(grep -o '"elapsed_ns":[0-9]*' "$session/journal.jsonl" | cut -d: -f2 | sort -n | tail -n 1)
    [ "$longest" -lt 60000000000 ] || { echo "a case of $longest ns"; return 1; }
}
if sanitized; then
    skip "the kernel kills for memory" "the shim does not load beside AddressSanitizer"
else
    fault "the kernel kills for memory" 3 "E_MEMORY: ran out of memory" out_of_memory
    fault "the clock jumps by a day" 3 "deadlines hold" clock_jumps
fi

# A group of processes that may have 128 MiB together, where this machine lets one be made.
new_cage() {
    cage=/sys/fs/cgroup/memory/ditbench-test-$$ # version 1
    [ -d /sys/fs/cgroup/memory ] || cage=/sys/fs/cgroup/ditbench-test-$$
    mkdir "$cage" 2>/dev/null || return 1
    trap 'rmdir "$cage" 2>/dev/null; rm -rf "$work"' EXIT
    local limit=memory.limit_in_bytes
    [ -f "$cage/$limit" ] || limit=memory.max
    echo $((128 << 20)) 2>/dev/null >"$cage/$limit" || return 1
    printf '#!/bin/sh\necho $$ >%s/cgroup.procs && exec %s "$@"\n' "$cage" "$fake_engine" >"$work/caged"
    chmod +x "$work/caged"
    # shellcheck disable=SC2016 # the inner shell expands it
    sh -c 'echo $$ >"$0/cgroup.procs"' "$cage" 2>/dev/null
}
really_out_of_memory() { # the last --engine counts
    ended '"fault": "greedy"' 3 oom 'E_MEMORY.*ran out of memory' --engine "$work/caged"
}
if new_cage; then
    fault "a rank takes all memory" 3 "E_MEMORY: ran out of memory" really_out_of_memory
else
    skip "a rank takes all memory" "no group of processes with a limit of memory can be made here"
fi

kept() { # after a run that could not write: what the journal holds is whole, and the rest runs
    cat "$work/out"
    [ -s "$session/journal.jsonl" ] && sound && mended
}
disk_full() { # a file system of 160 KiB fills up; what it holds is taken out and goes on elsewhere
    local code=0
    mkdir -p "$work/full"
    unshare -rm sh -c 'mount -t tmpfs -o size=160k tmpfs "$1" && shift && "$0" "$@" >"$OUT" 2>&1; code=$?; cp -a "$FULL/s" "$SESSION" 2>/dev/null; exit $code' \
        "$ditbench" "$work/full" run "$work/tiny.json" -q --engine "$fake_engine" --filter "method == 'ring'" --processes 40 --output "$work/full/s" || code=$?
    [ "$code" -eq 4 ] || { echo "exit $code"; cat "$work/out"; return 1; }
    grep -q 'No space left on device' "$work/out" || { cat "$work/out"; return 1; }
    nothing_left || return 1
    DITBENCH_FAKE='{}' exits 0 "$ditbench" resume "$session" -q --retry-failed >"$work/out" 2>&1 || { cat "$work/out"; return 1; }
    [ "$(grep '"kind":"result"' "$session/journal.jsonl" | grep -c '"status":"ok"')" -eq 40 ] || return 1
    sound
}
export OUT=$work/out FULL=$work/full SESSION=$session
file_limit() { # the journal may not grow beyond 24 KiB, as at a quota
    local code=0
    (ulimit -f 24 && run --processes 20) || code=$?
    [ "$code" -eq 4 ] || { echo "exit $code"; cat "$work/out"; return 1; }
    grep -q 'File too large' "$work/out" || { cat "$work/out"; return 1; }
    nothing_left || return 1
    exits 0 "$ditbench" resume "$session" -q --retry-failed >"$work/out" 2>&1 || { cat "$work/out"; return 1; }
    [ "$(results ok)" -eq 20 ] && sound
}
read_only() {
    local code=0
    mkdir -p "$work/ro"
    unshare -rm sh -c 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$0" "$@"' \
        "$ditbench" "$work/ro" run "$work/tiny.json" -q --engine "$fake_engine" --output "$work/ro/s" >"$work/out" 2>&1 || code=$?
    [ "$code" -eq 4 ] && grep -q "$work/ro.*Read-only file system" "$work/out" && nothing_left || { echo "exit $code"; cat "$work/out"; return 1; }
}
if unshare -rm mount -t tmpfs tmpfs /mnt 2>/dev/null; then
    fault "the disk is full" 4 "No space left on device" disk_full
    fault "results are read-only" 4 "Read-only file system" read_only
else
    skip "the disk is full, results are read-only" "no mount namespaces here"
fi
fault "the journal may not grow" 4 "File too large" file_limit

# ---- launcher and harness ---------------------------------------------------------------------------------------------
wait_for() { # WORD...: until it is true, five seconds at most
    for _ in $(seq 1 100); do "$@" && return 0; sleep 0.05; done
    return 1
}
# Children of a process that are mpirun. (A bare machine has no pgrep.)
launchers_of() {
    local stat child parent name
    for stat in /proc/[0-9]*/stat; do
        read -r child name _ parent _ <"$stat" || continue
        [ "$parent" = "$1" ] && [ "$name" = "(mpirun)" ] && echo "$child"
    done 2>/dev/null
}
# The engine's tree is ready to be hurt: the first process is journalled, the second hangs under its launcher.
is_hanging() { grep -q '"kind":"result"' "$session/journal.jsonl" 2>/dev/null && [ -n "$(launchers_of "$pid")" ]; }
start_hanging() { # in the background; $pid
    DITBENCH_FAKE='{"process": 1, "fault": "hang"}' "$ditbench" run "$work/tiny.json" -q --engine "$fake_engine" \
        --filter "method == 'ring'" --output "$session" >"$work/out" 2>&1 &
    pid=$!
    wait_for is_hanging && sleep "0.$((RANDOM % 5))"
}
launcher_killed() {
    local pid code=0
    start_hanging || return 1
    # shellcheck disable=SC2046 # pids
    kill -9 $(launchers_of "$pid")
    wait "$pid" || code=$?
    [ "$code" -eq 3 ] || { echo "exit $code"; cat "$work/out"; return 1; }
    grep -q 'E_CRASH.*signal 9' "$session/journal.jsonl" && nothing_left && mended
}
harness_killed() {
    local pid
    start_hanging || return 1
    kill -9 "$pid"
    wait "$pid" 2>/dev/null
    mended && no_scratch_of "$pid"
}
two_harnesses() {
    local pid code=0
    start_hanging || return 1
    "$ditbench" resume "$session" -q >"$work/second" 2>&1 || code=$?
    kill "$pid"
    wait "$pid"
    [ "$code" -eq 2 ] && grep -q 'in use by a run in progress' "$work/second" || { echo "exit $code"; cat "$work/second"; return 1; }
    mended
}
torn_tail() {
    local bytes
    run || return 1
    bytes=$(stat -c %s "$session/journal.jsonl")
    truncate -s $((bytes - 1 - RANDOM % (bytes / 2))) "$session/journal.jsonl"
    mended
}
changed_digit() { # no tail: a line that somebody changed is refused, and nothing is run over it
    local line
    run --processes 1 || return 1
    line=$(grep -n '"kind":"result"' "$session/journal.jsonl" | head -n 1 | cut -d: -f1)
    sed -i "${line}s/\"process\":0/\"process\":7/" "$session/journal.jsonl"
    exits 6 "$ditbench" resume "$session" -q >"$work/out" 2>&1 && grep -q "journal.jsonl:$line" "$work/out" || { cat "$work/out"; return 1; }
    exits 6 "$ditbench" verify "$session" >"$work/out" 2>&1 && grep -q "journal.jsonl:$line" "$work/out"
}
fault "the launcher is killed" 3 "E_CRASH: signal 9" launcher_killed
fault "the harness is killed" 0 "resume runs the rest" harness_killed
fault "two harnesses, one folder" 2 "in use by a run in progress" two_harnesses
fault "a torn journal" 0 "resume runs the rest" torn_tail
fault "a changed journal" 6 "E_INTEGRITY: the line" changed_digit

# ---- engines that compute ---------------------------------------------------------------------------------------------
real_rank() { # FAULT TEXT
    DITBENCH_FAULT=$1 "$ditbench" run "$work/tiny.json" -q --engine "$fault_engine" --filter "method == 'ring'" --processes 1 \
        --output "$session" >"$work/out" 2>&1 || { cat "$work/out"; return 1; }
    grep -qE "$2" "$session/journal.jsonl" || { grep -oE '"(compute|rss)_samples_[a-z]*":\[[^]]*\]' "$session/journal.jsonl"; return 1; }
}
fault "an engine's rank is late" 0 "warning: rank 1" real_rank late:0:1 'slow: rank 1 computes'
wanted_leak() { ASAN_OPTIONS=detect_leaks=0 "$@"; } # a sanitizer would end it
fault "an engine's rank leaks" 0 "warning: rank 0" wanted_leak real_rank leak:0:0 'leak: rank 0 grows by 4'
real_sound() { real_rank none ''; ! grep -qE '"(slow|leak): ' "$session/journal.jsonl"; }
fault "nothing is wrong" 0 "no rank is named" real_sound

echo "# fault                        tries  exit cause"
cat "$work/table"
finish
