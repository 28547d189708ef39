#!/usr/bin/env bash
# Workloads on simulated platforms from end to end: expansion of hybrids, runs side by side, out of memory as a result,
# the same records twice, resume after kill -9, signals, and evidence that nothing can blur. Speaks TAP.
# shellcheck disable=SC2016,SC2317 # functions run through ok()
# shellcheck source=suite/tests/harness.sh
. "$(dirname "$0")/harness.sh"

if ! command -v smpirun >/dev/null || [ ! -x "$build/bin/ditbench-engine-sim" ]; then
    echo "ok 1 # SKIP no smpirun, or no ditbench-engine-sim (Debian: libsimgrid-dev, then make)"
    echo "1..1"
    exit 0
fi

# simulated_workload FILE METHODS PLATFORMS SIZES [MEMBERS]: two blocks of PixArt, a few steps.
simulated_workload() {
    cat >"$1" <<JSON
{
  "schema": "ditbench.workload/1",
  "name": "simulated",
  "title": "Simulated: for tests of the harness",
  "defaults": {"resolution": "256x256", "num_inference_steps": 6, "profile": "pytorch-eager", "element": "fp16"},
  "axes": {
    "model": [{"name": "pixart-alpha-xl-2", "as": "two", "override": {"num_layers": 2}}],
    "method": [$2],
    "platform": [$3],
    "world_size": [$4]
  },
  "measure": {"deadline_s": 60}${5:-}
}
JSON
}

# of JOURNAL KIND: its lines of a kind.
of() { grep "\"kind\":\"$2\"" "$1"; }
count_of() { grep -c "\"kind\":\"$2\"" "$1"; }

simulated_workload "$work/methods.json" '"single", "ulysses", "ring"' '"8xa100-sxm", "4xt4"' '1, 4'
simulated_workload "$work/hybrid.json" '"hybrid", "ulysses"' '"8xa100-sxm"' 4

# u4, u2 r2, r4, u2 pp2, r2 pp2, u2 cfg2, r2 cfg2, pp2 cfg2; pp4 has too few blocks
hybrids_are_all_meshes() {
    "$ditbench" expand "$work/hybrid.json" >"$work/out" || return 1
    [ "$(grep -c '^keep.*(simulated)$' "$work/out")" -eq 8 ] || { cat "$work/out"; return 1; }
    grep -q '"mesh":"pp4"' "$work/out" && grep -q '8 cases, 1 dropped, 1 merged' "$work/out"
}

# No oracle, no reference, one process each, behind the measured ones.
plans_once() {
    "$ditbench" plan "$work/hybrid.json" --json >"$work/out" || return 1
    [ "$(grep -c '"is_simulated": *true\|"is_simulated":	true' "$work/out")" -eq 8 ] || { cat "$work/out"; return 1; }
}

runs_well() {
    exits 0 "$ditbench" run "$work/methods.json" -q --jobs 2 --output "$work/first" || return 1
    [ "$(count_of "$work/first/journal.jsonl" result)" -eq 6 ] || return 1
    [ "$(of "$work/first/journal.jsonl" result | grep -c '"evidence":"simulated"')" -eq 6 ] || return 1
    ! grep -q '"evidence":"measured"' "$work/first/journal.jsonl" && exits 0 "$ditbench" verify "$work/first"
}

# PyTorch's pipelines send text with every band, and fill no stores where there is no warm-up.
eager_pipelines_are_sound() {
    simulated_workload "$work/eager.json" '"pipefusion"' '"8xl40"' 2 ',
  "zip": [{"warmup_steps": [0, 1], "seed": [1, 2]}]'
    sed -i 's|{"name": "pixart-alpha-xl-2", "as": "two", .*}}|"flux.1-schnell~one-of-each", "flux.1-dev~one-of-each"|; s|256x256|128x128|' \
        "$work/eager.json"
    exits 0 "$ditbench" run "$work/eager.json" -q --output "$work/eager" || return 1
    [ "$(of "$work/eager/journal.jsonl" result | grep -c '"status":"ok"')" -eq 4 ] &&
        exits 0 "$ditbench" verify "$work/eager"
}

# Ulysses on 3 and on 6: exchanges of as many as are no power of two.
three_ranks_exchange() {
    simulated_workload "$work/three.json" '"ulysses"' '"8xa100-sxm"' '3, 6'
    sed -i 's|{"name": "pixart-alpha-xl-2", "as": "two", .*}}|"flux.1-dev~one-of-each"|; s|256x256|384x384|' "$work/three.json"
    exits 0 "$ditbench" run "$work/three.json" -q --output "$work/three" || return 1
    [ "$(of "$work/three/journal.jsonl" result | grep -c '"status":"ok"')" -eq 2 ]
}

names_the_simulator() {
    of "$work/first/journal.jsonl" session | grep -q '"simulation":{.*"simulator":"SimGrid version'
}

# The flag of a profile's file goes into the first line, and `show` says what it means.
names_the_software() {
    of "$work/first/journal.jsonl" session | grep -q '"profiles":{"pytorch-eager":{[^}]*"evidence":"published[^}]*"measured":true' ||
        return 1
    "$ditbench" show "$work/first" >"$work/out"
    grep -q '^software pytorch-eager (simulated)$' "$work/out" || return 1
    sed 's/"profile": "pytorch-eager"/"profile": "ditbench"/' "$work/hybrid.json" >"$work/own.json"
    "$ditbench" run "$work/own.json" --filter "mesh == 'u4'" --output "$work/own" >"$work/out" 2>/dev/null || return 1
    grep -q ' simulated (ditbench)' "$work/out" && grep -q "^$projection\$" "$work/out" || return 1
    of "$work/own/journal.jsonl" session | grep -q '"profiles":{"ditbench":{[^}]*"measured":false' || return 1
    of "$work/own/journal.jsonl" result | grep -q '"label":"[^"]* u4 ditbench[ "]' || return 1
    "$ditbench" show "$work/own" >"$work/out"
    grep -q "^$projection\$" "$work/out" || return 1
    "$ditbench" show "$work/own" "$(of "$work/own/journal.jsonl" result | sed -n 's/.*"case_id":"\([^"]\{8\}\).*/\1/p' | head -n 1)" >"$work/out"
    grep -q "^$projection\$" "$work/out" || return 1
    "$ditbench" show "$work/own" --csv | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "profile") column = i } NR > 1 && $column != "ditbench" { bad = 1 } END { exit !(column > 0 && NR > 1) || bad }'
}
projection='software ditbench (simulated); projection: too little of this software has been measured on GPUs'

# Two kinds of software are compared on purpose: each is named, and so is what the old number is of.
compares_software() {
    exits 0 "$ditbench" run "$work/hybrid.json" -q --filter "mesh == 'u4'" --output "$work/in_eager" || return 1
    "$ditbench" compare "$work/in_eager" "$work/own" --across profile >"$work/out" 2>&1
    grep -q '^     software pytorch-eager (simulated)$' "$work/out" && grep -q "^     $projection\$" "$work/out" &&
        grep -q ' u4 ditbench .*(old: pytorch-eager) ' "$work/out" || return 1
    "$ditbench" compare "$work/in_eager" "$work/own" --across profile --json >"$work/out" 2>&1
    grep -q '"old_label":.* u4 pytorch-eager' "$work/out"
}

# So does every line of `simulate`.
predicts_in_named_software() {
    "$ditbench" simulate --points results/published/paper_numbers.json --filter "index == 0" --profile ditbench >"$work/out" 2>/dev/null || return 1
    grep -q '^point .* software ' "$work/out" && grep -q '^ *0 .* 1 *ditbench ' "$work/out" &&
        grep -q '^software ditbench; projection: too little of this software has been measured on GPUs$' "$work/out" || return 1
    "$ditbench" simulate --points results/published/paper_numbers.json --filter "index == 0" --json 2>/dev/null | grep -q '"profile":.*"pytorch-eager'
}

# Predicted seconds of published points: HunyuanDiT, 2048 px, 4 and 8 stages that wait for each other's skips (printed: 51.2
# and 50.75 s), and DistriFusion of PixArt on 8 A100, which copies K and V; then of software that does neither.
predicted() {
    "$ditbench" simulate --points results/published/paper_numbers.json --filter "index in [534, 535, 593]" --json 2>/dev/null |
        sed -n 's/.*"predicted":[^0-9]*\([0-9.]*\).*/\1/p' | tr '\n' ' '
}
habits_take_time() {
    { predicted && echo; } >"$work/habits" && cp -r workloads "$work/no_habits" &&
        sed -i '/^  "\(stages_wait\|gathers_copied\)": true,$/d' "$work"/no_habits/profiles/*.json || return 1
    { DITBENCH_WORKLOADS=$work/no_habits predicted && echo; } >>"$work/habits"
    awk '{ print "# 4 stages " $1 " s, 8 stages " $2 " s, DistriFusion " $3 " s"; eight[++n] = $2; copied[n] = $3 }
        NR == 1 { flat = $2 > 0.9 * $1 }
        END { exit !(n == 2 && flat && eight[2] < 0.6 * eight[1] && eight[2] > 0 && copied[1] > copied[2] + 0.1) }' "$work/habits"
}

names_the_calibration() {
    printf '{"schema":"ditbench.calibration/1","parameters":[]}' >"$work/none.json"
    "$ditbench" run "$work/hybrid.json" -q --filter "mesh == 'u4'" --calibration "$work/none.json" \
        --output "$work/fitted" || return 1
    of "$work/fitted/journal.jsonl" session | grep -q '"calibration":{"file":"[^"]*none.json","hash":"[0-9a-f]*"}' ||
        return 1
    echo ' ' >>"$work/none.json"
    exits 0 "$ditbench" resume "$work/fitted" -q || return 1
    sed -i 's/"parameters":\[\]/"parameters":[{"of":"profile","name":"pytorch-eager","key":"dispatch_s","value":1e-5}]/' \
        "$work/none.json"
    exits 6 "$ditbench" resume "$work/fitted" -q
}

keeps_the_files() {
    local folder file
    for folder in "$work"/first/cases/*/p0; do
        for file in platform.xml hosts accelerator.json profile.json case.json record.json engine.log; do
            [ -e "$folder/$file" ] || { echo "$folder has no $file"; return 1; }
        done
    done
}

# records SESSION: case and record of every result, sorted.
records() {
    of "$1/journal.jsonl" result | sed 's/.*"record":/"record":/; s/"started":"[^"]*"//' | sort
}

two_sessions_agree() {
    exits 0 "$ditbench" run "$work/methods.json" -q --jobs 1 --output "$work/second" || return 1
    [ -n "$(records "$work/first")" ] && [ "$(records "$work/first")" = "$(records "$work/second")" ]
}

# T4s have 15 GiB or 16; a batch of 64 images of the whole model at 2048 px needs more.
too_small_is_a_result() {
    cat >"$work/oom.json" <<JSON
{
  "schema": "ditbench.workload/1", "name": "oom",
  "defaults": {"model": {"name": "pixart-alpha-xl-2", "as": "two", "override": {"num_layers": 2}}, "platform": "4xt4", "profile": "ditbench",
               "num_inference_steps": 4, "resolution": "2048x2048", "method": "single", "world_size": 1},
  "axes": {"num_images": [1, 64]}
}
JSON
    exits 0 "$ditbench" run "$work/oom.json" -q --output "$work/oom" || return 1
    [ "$(of "$work/oom/journal.jsonl" result | grep -c '"status":"oom"')" -eq 1 ] || return 1
    of "$work/oom/journal.jsonl" result | grep '"status":"oom"' |
        grep -q '"code":"E_MEMORY".*"device_bytes":[0-9]*.*"needed_bytes":[0-9]*' || return 1
    exits 0 "$ditbench" resume "$work/oom" --retry-failed -q
    [ "$(count_of "$work/oom/journal.jsonl" result)" -eq 2 ]
}

# traffic JOURNAL PLATFORM: axis, bytes, collective, messages and phase of rank 0, of every case on the platform.
traffic() {
    of "$1" result | grep -v '"method":"oracle"' | grep "\"platform\":\"$2\",\"profile\"" |
        sed 's/.*"record":{"case_id":"[^"]*","communication":\(\[[^]]*\]\).*/\1/; s/"\(span\|time\)_ns":[0-9]*,*//g' | sort
}

# One session, both kinds of platform: what is counted does not depend on what time is made of.
bytes_agree() {
    write_workload "$work/both.json" 1
    sed -i 's/"platform": "local-cpu",/"element": "fp32", "profile": "ditbench",/; s/"world_size": \[1, 2\]/"world_size": [1, 2], "platform": ["local-cpu", "8xa100-sxm"]/
            s/"single", "ulysses", "ring"/"single", "ulysses", "pipefusion"/; s/"num_layers": 1/"num_layers": 2/' "$work/both.json"
    exits 0 "$ditbench" run "$work/both.json" -q --output "$work/both" && exits 0 "$ditbench" verify "$work/both" || return 1
    traffic "$work/both/journal.jsonl" local-cpu >"$work/measured"
    traffic "$work/both/journal.jsonl" 8xa100-sxm >"$work/simulated"
    [ "$(grep -c '"bytes":[1-9]' "$work/measured")" -eq 2 ] && diff "$work/measured" "$work/simulated"
}

published_are_lines() {
    simulated_workload "$work/published.json" '"ulysses"' '"8xa100-sxm"' 2 \
        ', "published": [{"file": "paper_numbers.json", "where": "platform == '"'4xt4'"'"}]'
    sed -i 's/{"name": "pixart-alpha-xl-2".*}}\]/"pixart-alpha-xl-2"]/' "$work/published.json"
    exits 0 "$ditbench" run "$work/published.json" -q --launcher print --output "$work/published" >/dev/null || return 1
    of "$work/published/journal.jsonl" published | grep -q '"out_of_memory":true' || return 1
    of "$work/published/journal.jsonl" published | grep -q '"metric":"latency_s".*"value":[0-9]' || return 1
    local lines
    lines=$(count_of "$work/published/journal.jsonl" published)
    exits 0 "$ditbench" resume "$work/published" -q || return 1
    [ "$(count_of "$work/published/journal.jsonl" published)" -eq "$lines" ]
}

# ---- what is interrupted -------------------------------------------------------------------------------------------

# As many results as planned runs, each once.
is_whole() {
    exits 0 "$ditbench" resume "$1" -q || return 1
    [ "$(count_of "$1/journal.jsonl" result)" -eq "$2" ] || { count_of "$1/journal.jsonl" result; return 1; }
    tail -n 1 "$1/journal.jsonl" | grep -q '"complete":true' && exits 0 "$ditbench" verify "$1"
}

resumes_after_kill() {
    local pid session=$work/killed
    "$ditbench" run "$work/hybrid.json" -q --jobs 2 --output "$session" >/dev/null 2>&1 &
    pid=$!
    while [ "$(count_of "$session/journal.jsonl" result 2>/dev/null || true)" -lt 2 ] 2>/dev/null || ! [ -s "$session/journal.jsonl" ]; do
        kill -0 "$pid" || return 1
        sleep 0.05
    done
    kill -9 "$pid"
    wait "$pid" 2>/dev/null
    is_whole "$session" 8 && nothing_left
}

stops_at_a_signal() {
    local pid code=0 session=$work/stopped results
    "$ditbench" run "$work/hybrid.json" -q --jobs 2 --output "$session" >/dev/null 2>"$work/err" &
    pid=$!
    until grep -qs '"kind":"result"' "$session/journal.jsonl"; do
        kill -0 "$pid" || return 1
        sleep 0.05
    done
    kill -INT "$pid"
    wait "$pid" || code=$?
    [ "$code" -eq 130 ] || { echo "exit $code"; return 1; }
    tail -n 1 "$session/journal.jsonl" | grep -q '"end_reason":"interrupted"' || return 1
    results=$(count_of "$session/journal.jsonl" result)
    [ "$results" -lt 8 ] && grep -q 'ditbench resume' "$work/err" && nothing_left && is_whole "$session" 8
}

late_is_a_timeout() {
    exits 3 "$ditbench" run "$work/hybrid.json" -q --filter "mesh == 'u4'" --timeout 10ms --output "$work/late" || return 1
    of "$work/late/journal.jsonl" result | grep -q '"status":"timeout"' && nothing_left
}

no_time_left() {
    exits 0 "$ditbench" run "$work/hybrid.json" -q --jobs 1 --max-time 10ms --output "$work/short" || return 1
    tail -n 1 "$work/short/journal.jsonl" | grep -q '"end_reason":"time_limit"' && is_whole "$work/short" 8
}

# ---- what is not there, and what would lie -------------------------------------------------------------------------

# A PATH whose smpirun is the given script, or is not there at all.
with_smpirun() { # script or ""
    mkdir -p "$work/path"
    rm -f "$work/path/smpirun"
    [ -z "$1" ] || { printf '#!/bin/sh\n%s\n' "$1" >"$work/path/smpirun" && chmod +x "$work/path/smpirun"; }
}

says_what_is_missing() {
    local folder
    mkdir -p "$work/bin"
    for folder in env sh bash mpirun gnuplot; do ln -sf "$(command -v "$folder")" "$work/bin/$folder"; done
    write_workload "$work/tiny.json" 1
    PATH=$work/bin exits 4 "$ditbench" run "$work/tiny.json" "$work/methods.json" -q --output "$work/without" 2>"$work/err" ||
        return 1
    [ ! -e "$work/without" ] || { echo "something was run"; return 1; }
    grep -q 'libsimgrid-dev' "$work/err"
}

# Whoever claims to have measured a simulated case: no result.
simulation_cannot_say_measured() {
    with_smpirun 'for last; do out=$last; done
printf "{\"schema\":\"ditbench.record/1\",\"evidence\":\"measured\",\"program\":\"denoise\",\"world_size\":4,\"samples\":{\"latency_ns\":[5]}}" >"$out/record.json"'
    PATH=$work/path:$PATH exits 6 "$ditbench" run "$work/hybrid.json" -q --filter "mesh == 'u4'" --output "$work/forged" ||
        return 1
    of "$work/forged/journal.jsonl" result | grep -q '"status":"invalid"'
}

nor_say_nothing() {
    with_smpirun 'for last; do out=$last; done
printf "{\"schema\":\"ditbench.record/1\",\"program\":\"denoise\",\"world_size\":4,\"samples\":{\"latency_ns\":[5]}}" >"$out/record.json"'
    PATH=$work/path:$PATH exits 6 "$ditbench" run "$work/hybrid.json" -q --filter "mesh == 'u4'" --output "$work/silent"
}

# An engine on a measured platform that hands in a simulation: no result.
measurement_cannot_be_simulated() {
    write_workload "$work/tiny.json" 1
    cat >"$work/engine" <<'SH'
#!/bin/sh
while [ $# -gt 1 ]; do [ "$1" = --out ] && out=$2; shift; done
printf '{"schema":"ditbench.record/1","evidence":"simulated","program":"denoise","world_size":1,"samples":{"latency_ns":[5]}}' >"$out/record.json"
SH
    chmod +x "$work/engine"
    exits 6 "$ditbench" run "$work/tiny.json" -q --launcher local --filter 'world_size == 1' --engine "$work/engine" \
        --output "$work/lie" || return 1
    of "$work/lie/journal.jsonl" result | grep -q '"status":"invalid"' &&
        ! of "$work/lie/journal.jsonl" result | grep -q '"status":"ok"'
}

# A record that was changed after the run is found.
verify_finds_it() {
    cp -r "$work/first" "$work/swapped"
    sed -i 's/\("evidence":[[:space:]]*\)"simulated"/\1"measured"/' "$work/swapped"/cases/*/p0/record.json
    exits 6 "$ditbench" verify "$work/swapped"
}

refuses_the_launcher() {
    write_workload "$work/tiny.json" 1
    exits 2 "$ditbench" run "$work/tiny.json" --launcher smpirun --output "$work/wrong" 2>"$work/err" &&
        grep -q 'cannot start measured cases' "$work/err"
}

dry_run_writes_nothing() {
    "$ditbench" run "$work/methods.json" --dry-run --output "$work/dry" >"$work/out" || return 1
    [ "$(grep -c '^cd [^ ]* && smpirun' "$work/out")" -eq 6 ] && [ ! -e "$work/dry" ]
}

# ---- where words split ---------------------------------------------------------------------------------------------

# in_spaces COMMAND...: in a folder whose name a shell would split and expand, with a temporary folder like it.
in_spaces() {
    mkdir -p "$work/a b/my *tmp"
    (cd "$work/a b" && TMPDIR="$work/a b/my *tmp" "$@")
}

runs_beside_spaces() {
    cp "$work/hybrid.json" "$work/a b.json"
    exits 0 in_spaces "$ditbench" run "../a b.json" -q --filter "mesh == 'u4'" --output "a session" || return 1
    in_spaces "$ditbench" show "a session" --json >"$work/out" && grep -q simulated "$work/out" || return 1
    [ -z "$(ls "$work/a b/my *tmp")" ] && exits 0 in_spaces "$ditbench" verify "a session"
}

# The programs and their data may lie in such a folder, too: a clone, or an installed prefix.
runs_from_spaces() {
    mkdir -p "$work/dit bench/bin" "$work/dit bench/share/ditbench" || return 1
    cp "$build"/bin/* "$work/dit bench/bin" && cp -r workloads "$work/dit bench/share/ditbench/" || return 1
    (unset DITBENCH_WORKLOADS
     exits 0 in_spaces "$work/dit bench/bin/ditbench" run "../a b.json" -q --filter "mesh == 'r2 pp2'" --output there) &&
        exits 0 in_spaces "$work/dit bench/bin/ditbench" verify there
}

# A command that --launcher print shows can be pasted.
printed_command_runs() {
    local session="$work/a b/printed" line
    in_spaces "$ditbench" run "../a b.json" --launcher print --filter "mesh == 'u4'" --output printed >"$work/out" || return 1
    line=$(grep '^cd ' "$work/out") && in_spaces sh -c "$line" && compgen -G "$session/cases/*/p0/record.json" >/dev/null
}

predicts_beside_spaces() {
    in_spaces "$ditbench" simulate --points "$PWD/results/published/single_gpu_latency.json" \
        --filter "index < 3 && gpus == 1" --json >"$work/out" || return 1
    [ "$(grep -c '"status":.*"simulated"' "$work/out")" -eq 3 ]
}

ok "a hybrid is every legal mesh, equal ones once" hybrids_are_all_meshes
ok "one process each, no reference, no oracle" plans_once
ok "simulated cases run side by side and are sound" runs_well
ok "simulated pipelines of PyTorch are sound" eager_pipelines_are_sound
ok "three ranks exchange as well as four" three_ranks_exchange
ok "the session line names the simulator" names_the_simulator
ok "and the software, with whether it was ever measured" names_the_software
ok "compare names the software of both sides" compares_software
ok "simulate names the software of each point" predicts_in_named_software
ok "and the calibration, which resume insists on" names_the_calibration
ok "stages that wait for skips gain nothing, and copies of what is gathered take time" habits_take_time
ok "what a simulation started from stays beside its record" keeps_the_files
ok "two sessions have the same records, whatever runs beside what" two_sessions_agree
ok "a device that is too small is a result with its figures" too_small_is_a_result
ok "ranks send the same bytes, measured and simulated" bytes_agree
ok "published points are lines, once" published_are_lines
ok "kill -9, then resume: each case once" resumes_after_kill
set -m # without job control a background job ignores SIGINT
ok "SIGINT ends all jobs; what is done is kept" stops_at_a_signal
set +m
ok "past its deadline a simulation is ended" late_is_a_timeout
ok "--max-time starts no more" no_time_left
ok "without SimGrid: exit 4 and what to install, before anything is run" says_what_is_missing
# A schedule's record tells its decisions, and what a rank keeps in the element of the simulation: 256 rows of each of two
# branches, 1152 wide, of 2 bytes; a stage keeps that of all rows, and how old K and V of others were. A simulation cannot know what a test decides.
caches_are_told() {
    simulated_workload "$work/caches.json" '"single", "ulysses", "pipefusion"' '"8xa100-sxm"' \
        '1, 2], "cache": ["none", {"policy": "mask", "mask": "110010"}, {"policy": "fbcache"}, {"policy": "fbcache", "replay": "110110"}, {"policy": "fbcache", "hits": 2}, {"policy": "easycache", "replay": "110010"}'
    exits 0 "$ditbench" run "$work/caches.json" -q --output "$work/cached" && exits 0 "$ditbench" verify "$work/cached" || return 1
    python3 - "$work/cached/journal.jsonl" <<'PYTHON'
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
results = [line for line in lines if line["kind"] == "result"]
told = [(len(r["record"]["ranks"]), r["record"].get("cache")) for r in results]
cached = sorted((c["decisions"], c["hits"], c["kind"], ranks, c["state_bytes"], c.get("largest_kv_age")) for ranks, c in told if c)
state = 2 * 256 * 1152 * 2
latents = 3 * 2 * 256 * 16 * 2 # of easycache: those of the step, what was made of them, and scratch
decided = (("110010", 3, 3, state), ("110110", 2, 2, state), ("101101", 2, 2, state))
whole = [(d, h, "schedule", n, k // n, None) for d, h, age, k in decided + (("110010", 3, 0, latents),) for n in (1, 2)]
stages = [(d, h, "schedule", 2, k, age) for d, h, age, k in decided]
assert [c[:5] for c in cached] == sorted(c[:5] for c in whole + stages), cached
assert sorted(c[5] for c in cached if c[5]) == sorted(c[5] for c in stages), cached
assert len(results) == 14, len(results)
PYTHON
}
ok "simulated caches tell what they decide and keep" caches_are_told
ok "a simulated case whose record says measured is invalid" simulation_cannot_say_measured
ok "and one whose record does not say" nor_say_nothing
ok "a measured case whose record says simulated is invalid" measurement_cannot_be_simulated
ok "verify finds a record that changed its evidence" verify_finds_it
ok "smpirun starts no measured cases" refuses_the_launcher
ok "--dry-run shows the commands and writes nothing" dry_run_writes_nothing
ok "in a folder with spaces and stars a simulation runs" runs_beside_spaces
ok "and from a program that lies in one" runs_from_spaces
ok "the printed command runs as it is" printed_command_runs
ok "published points are predicted there" predicts_beside_spaces
ok "no process is left behind" nothing_left
finish
