#!/usr/bin/env bash
# Where every rank is when a run is asked, or ended at its deadline: step, patch, block, and what it waits for. Speaks
# TAP.
# shellcheck disable=SC2016,SC2317 # functions run through ok()
# shellcheck source=suite/tests/harness.sh
. "$(dirname "$0")/../../suite/tests/harness.sh"
cd "$work" || exit 4
write_workload tiny.json 1
# A run of a workload or case that does not end by itself.
endless='s/("num_inference_steps"): *[0-9]+/\1: 900/; s/("num_layers"): *1/\1: 4/; s/("iterations"): *[0-9]+/\1: 1000/'
sed -E "$endless" tiny.json >long.json
engine=$build/bin/ditbench-engine
two_ranks="method == 'ulysses' && world_size == 2"

# late SESSION TIMEOUT WORKLOAD [OPTION]...: a run that must end at its deadline.
late() {
    local session=$1 timeout=$2 workload=$3
    shift 3
    exits 3 "$ditbench" run "$workload" -q --filter "$two_ranks" --output "$session" --timeout "$timeout" "$@"
}
# has TEXT PATTERN: prints the text when it does not match.
has() { grep -qE "$2" <<<"$1" || { echo "no match for: $2"; echo "$1"; return 1; }; }
message() { sed -nE 's/.*"message":"([^"]*)".*/\1/p' "$1/journal.jsonl"; }
positions() { sed -nE 's/.*"positions":\[([^]]*)\].*/\1/p' "$1/journal.jsonl"; }
# rank_pid FOLDER RANK: the engine process of a rank whose records go below FOLDER.
rank_pid() {
    local pid
    for pid in $(processes_of "$1"); do
        if { tr '\0' '\n' <"/proc/$pid/environ"; } 2>/dev/null | grep -qx "OMPI_COMM_WORLD_RANK=$2"; then
            echo "$pid"
            return
        fi
    done
}
# ready FOLDER RANK: whether the rank answers signals: it catches SIGUSR1, number 10.
ready() {
    local pid caught
    pid=$(rank_pid "$1" "$2")
    [ -n "$pid" ] && caught=$(awk '/^SigCgt:/ { print $2 }' "/proc/$pid/status" 2>/dev/null) && (((0x${caught:-0} >> 9) & 1))
}
# both_run FOLDER: both ranks answer, and have had time for some steps.
both_run() { until_true 30 ready "$1" 0 && until_true 30 ready "$1" 1 && sleep 1; }
# until_true SECONDS COMMAND...: repeats the command until it succeeds.
until_true() {
    local limit=$((SECONDS + $1))
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$limit" ] || { echo "not in time: $*"; return 1; }
        sleep 0.1
    done
}

hang() {
    DITBENCH_FAULT=hang:1 late hang 2s tiny.json --engine "$fault_engine" || return 1
    has "$(message hang)" 'deadline of 2 s.*; rank 1 waits for nothing \(image 0, step 1; ulysses 1 of 2\); rank 0 waits for [1-9][0-9]* bytes from rank 1 \(ulysses all_to_all for [0-9.]+ s, image 0, step 1, block 0; ulysses 0 of 2\)' &&
        has "$(positions hang)" '^"rank 0 waits for [^"]*","rank 1 waits for nothing [^"]*"$' && nothing_left
}
ok "a case whose rank hangs tells at its deadline which one, at which step, and who waits for it" hang
ok "show says it too" has "$("$ditbench" show hang 2>&1)" 'rank 1 waits for nothing \(image 0, step 1; ulysses 1 of 2\)'
ok "each rank's line lies in its own file and in the log" eval '
    grep -q "^rank 0 waits" hang/cases/*/p0/position-0.txt && grep -q "^rank 1 waits" hang/cases/*/p0/position-1.txt &&
    [ "$(grep -c "^rank [01] waits" hang/cases/*/p0/engine.log)" -eq 2 ]'

stop_rank() {
    local pid run
    late stopped 8s long.json &
    run=$!
    both_run "$work/stopped" || return 1
    pid=$(rank_pid "$work/stopped" 0)
    kill -STOP "$pid" && wait "$run" || return 1
    has "$(message stopped)" '; rank 0 does not answer: its process is stopped; rank 1 waits for [1-9][0-9]* bytes from rank 0 \(ulysses' &&
        has "$(positions stopped)" '^"rank 0 does not answer[^"]*","rank 1 waits for [^"]*step [0-9]+[^"]*"$' && nothing_left
}
ok "a stopped rank is named, and the others say that they wait for it" stop_rank

in_time() { # nothing is asked, nothing is told
    exits 0 "$ditbench" run tiny.json -q --filter "$two_ranks" --output sound && ! compgen -G 'sound/cases/*/p0/position-*' >/dev/null &&
        ! grep -q positions sound/journal.jsonl
}
ok "a case that ends in time says nothing of it" in_time

# ---- without the harness ---------------------------------------------------------------------------------------------

# start_case NAME RANKS SED [ENGINE]: runs the ulysses case, edited, in the background; its pid is in $leader.
start_case() {
    sed -E "$3" sound/cases/*/case.json >"$1.json"
    mkdir "$1"
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 DITBENCH_ATTEMPT=$work/$1 TMPDIR=$work \
        mpirun --oversubscribe --bind-to none -n "$2" --mca plm isolated --mca pml ob1 --mca btl self,vader \
        --mca btl_vader_single_copy_mechanism none --mca mpi_yield_when_idle 1 --mca btl_vader_backing_directory "$work" \
        "${4:-$engine}" --case "$1.json" --out "$work/$1" >"$1/engine.log" 2>&1 &
    leader=$!
}
# ask FOLDER RANKS: and waits until every rank has answered.
ask() {
    local rank
    rm -f "$1"/position-*.txt
    kill -USR1 "$leader"
    for ((rank = 0; rank < $2; rank++)); do until_true 5 eval "grep -qs . '$1/position-$rank.txt'" || return 1; done
}
# Steps since the beginning, of 900 an image.
steps_of() { sed -nE 's/.*image ([0-9]+), step ([0-9]+).*/\1 \2/p' "$1" | { read -r image step && echo $((900 * image + step)); }; }

# The same of rank 1 now; between two images a rank is at no step, and is asked again.
steps_now() { # folder
    local try
    for try in 1 2 3 4 5; do
        ask "$1" 2 && steps_of "$1/position-1.txt" && return 0
    done
    echo "no step in $try answers" >&2
    return 1
}

ask_live() {
    local first second
    start_case live 2 "${endless/1000/60}"
    both_run "$work/live" || return 1
    first=$(steps_now live) && sleep 0.3 && second=$(steps_now live) || return 1
    echo "steps $first, $second"
    [ "$first" -gt 0 ] && [ "$second" -gt "$first" ] && exits 0 wait "$leader" && [ -s live/record.json ]
}
ok "a run that is asked while it runs tells its step, and goes on to its end" ask_live

# Two stages, four bands.
pipeline="$endless"'; s/("ulysses_degree"): *2/\1: 1/; s/("pipefusion_degree"): *1/\1: 2, "num_pipeline_patch": 4, "warmup_steps": 1/
    s/("attention"): *"ulysses"/\1: "auto"/'
# A band of 4 rows of both guidance branches, 32 channels wide.
band_wait='rank 1 waits for 1024 bytes from rank 0 \(pipefusion send_recv for [0-9.]+ s, image'

# stopped_stage PID: while rank 0 is stopped, and after it.
stopped_stage() {
    sleep 0.5
    rm -f stage/position-*
    kill -USR1 "$leader"
    until_true 5 eval 'grep -qs . stage/position-1.txt' || return 1
    [ ! -e stage/position-0.txt ] || { echo "a stopped rank has answered"; return 1; }
    has "$(cat stage/position-1.txt)" "^$band_wait [0-9]+, step [0-9]+, patch [0-3], stages; pipefusion 1 of 2\)\$" || return 1
    kill -CONT "$1"
    until_true 5 eval 'grep -qs . stage/position-0.txt' || return 1
    has "$(cat stage/position-0.txt)" '^rank 0 waits for .*step [0-9]+.*; pipefusion 0 of 2\)$'
}
stop_stage() {
    local pid good=1
    start_case stage 2 "$pipeline"
    both_run "$work/stage"
    pid=$(rank_pid "$work/stage" 0)
    [ -n "$pid" ] && kill -STOP "$pid" && stopped_stage "$pid" && good=0
    kill -CONT "$pid"
    kill "$leader"
    wait "$leader"
    return "$good"
}
ok "a stage names the step and the patch that it waits for; the stopped one answers when it goes on" stop_stage

at_step_3() { ask hung 2 && grep -q "step 3" hung/position-0.txt && grep -q "step 3, patch" hung/position-1.txt; }
hang_stage() {
    local good=1
    DITBENCH_FAULT=hang:3:0 start_case hung 2 "$pipeline" "$fault_engine"
    both_run "$work/hung"
    until_true 20 at_step_3 && good=0
    kill "$leader"
    wait "$leader"
    [ "$good" -eq 0 ] && has "$(cat hung/position-0.txt)" '^rank 0 waits for nothing \(image 0, step 3; pipefusion 0 of 2\)$' &&
        has "$(cat hung/position-1.txt)" "^$band_wait 0, step 3, patch 0, stages; "
}
ok "a stage that hangs has its step; the next one waits for that step's first patch" hang_stage

terminated() {
    local pid code=0
    sed -E "$endless"'; s/("ulysses_degree"): *2/\1: 1/; s/("attention"): *"ulysses"/\1: "auto"/' sound/cases/*/case.json >one.json
    mkdir one
    DITBENCH_ATTEMPT=$work/one OMPI_COMM_WORLD_RANK=0 "$engine" --case one.json --out one >one.log 2>&1 &
    pid=$!
    until_true 30 ready "$work/one" 0
    sleep 1
    kill "$pid"
    wait "$pid" || code=$?
    [ "$code" -eq 143 ] || { echo "exit $code, expected 143"; cat one.log; return 1; }
    has "$(cat one/position-0.txt)" '^rank 0 waits for nothing \(image [0-9]+, step [0-9]+' && grep -q '^rank 0 waits for nothing' one.log
}
ok "a process that is told to end says where it was, and ends by that signal" terminated
ok "nothing is left running" nothing_left
finish
