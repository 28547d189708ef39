#!/usr/bin/env bash
# This machine's cores, simulated: what a calibration writes, that it is read first, that ranks share cores, and that
# they send what real ones send. Speaks TAP.
# shellcheck disable=SC2016,SC2317 # functions run through ok()
# shellcheck source=suite/tests/harness.sh
. "$(dirname "$0")/harness.sh"
trap 'rm -rf "$work"' EXIT
raw=$source_dir/results/calibration/cpu-core.raw.json

calibrates() { "$ditbench" calibrate --from measured --raw "$1" "${@:2}" >"$work/summary" 2>"$work/errors"; }

same_bytes_twice() {
    calibrates "$raw" --output "$work/one" && calibrates "$raw" --output "$work/two" &&
        diff -r "$work/one" "$work/two" &&
        cmp "$work/one/accelerators/cpu-core.json" "$source_dir/workloads/accelerators/cpu-core.json" &&
        cmp "$work/one/profiles/cpu.json" "$source_dir/workloads/profiles/cpu.json"
}

# Two messages: one with the place in the file, none without it.
wrong_times_are_refused() {
    sed 's/"op":	*"attention"/"op": "other"/; s/"op": *"attention"/"op": "other"/' "$raw" >"$work/wrong.json"
    ! calibrates "$work/wrong.json" --output "$work/three" && grep -q 'no attention' "$work/errors" || return 1
    sed 's/"cores": *\([0-9]*\)/"cores": "many"/; s/"cores":	*\([0-9]*\)/"cores": "many"/' "$raw" >"$work/wrong.json"
    ! calibrates "$work/wrong.json" --output "$work/three" && grep -q '/machine/cores' "$work/errors" &&
        [ ! -e "$work/three/platforms" ]
}

ok "stored times give the shipped files, byte for byte" same_bytes_twice
ok "times that lack something are refused" wrong_times_are_refused

if ! command -v smpirun >/dev/null || [ ! -x "$build/bin/ditbench-engine-sim" ]; then
    echo "ok 3 # SKIP no smpirun, or no ditbench-engine-sim (Debian: libsimgrid-dev, then make)"
    echo "1..3"
    exit "$test_failed"
fi

# workload FILE PLATFORMS: PixArt of two narrow blocks.
workload() {
    cat >"$1" <<JSON
{
  "schema": "ditbench.workload/1",
  "name": "loop",
  "title": "Loop: for tests",
  "defaults": {"resolution": "256x256", "num_inference_steps": 3, "text_tokens": 8, "threads_per_rank": 1,
               "profile": "cpu", "element": "fp32", "warmup_steps": 1},
  "axes": {
    "model": [{"name": "pixart-alpha-xl-2", "as": "two",
               "override": {"num_layers": 2, "num_attention_heads": 4, "cross_attention_dim": 288}}],
    "platform": [$2]
  },
  "zip": [{"method": ["single", "ulysses", "ulysses", "ring", "pipefusion"], "world_size": [1, 2, 4, 4, 2]}],
  "repeat": {"processes": 1, "seed": 3},
  "measure": {"warmup_runs": 0, "iterations": 1, "deadline_s": 120}
}
JSON
}

# latency FOLDER MESH: of its result line, in ns.
latency() {
    grep '"kind":"result"' "$1/journal.jsonl" | grep "\"mesh\":\"$2\"" | grep -o '"latency_ns":\["*[0-9]*' |
        grep -o '[0-9]*$' | head -n 1
}

# Two cores. Four ranks do half of what two do, and take as long, as they share them: within what messages and whole
# tiles cost.
ranks_share_cores() {
    workload "$work/simulated.json" '"local-cpu-simulated"'
    exits 0 "$ditbench" run "$work/simulated.json" -q --output "$work/first" || return 1
    local one two four
    one=$(latency "$work/first" 1) two=$(latency "$work/first" u2) four=$(latency "$work/first" u4)
    echo "1: $one, u2: $two, u4: $four"
    [ "$((two * 10))" -gt "$((one * 5))" ] && [ "$((two * 10))" -lt "$((one * 7))" ] &&
        [ "$((four * 100))" -gt "$((two * 98))" ] && [ "$((four * 10))" -lt "$((two * 14))" ]
}

same_records_twice() {
    "$ditbench" run "$work/simulated.json" -q --jobs 2 --output "$work/second" || return 1
    for mesh in 1 u2 u4 r4; do
        [ "$(latency "$work/first" "$mesh")" = "$(latency "$work/second" "$mesh")" ] || { echo "$mesh"; return 1; }
    done
}

# Bytes of every rank and collective, of the simulated and of the real run.
sends_what_real_ranks_send() {
    workload "$work/real.json" '"local-cpu"'
    sed -i 's|"profile": "cpu", "element": "fp32", ||' "$work/real.json"
    exits 0 "$ditbench" run "$work/real.json" -q --output "$work/real" || return 1
    for mesh in u2 u4 r4; do
        for folder in first real; do
            grep '"kind":"result"' "$work/$folder/journal.jsonl" | grep "\"mesh\":\"$mesh\"" |
                grep -o '"communication":\[[^]]*\]' | grep -o '"[a-z_]*bytes":"*[0-9]*' | sort >"$work/$folder.bytes"
        done
        [ -s "$work/real.bytes" ] && diff "$work/first.bytes" "$work/real.bytes" || return 1
    done
}

# A machine whose messages take a second is simulated with what is beside the sessions.
own_calibration_is_read_first() {
    mkdir -p "$work/results" && cp -r "$work/one" "$work/results/calibration" || return 1
    sed 's/"latency_s":.*/"latency_s": 1.0,/' "$work/one/links/local.json" >"$work/results/calibration/links/local.json"
    "$ditbench" run "$work/simulated.json" -q --filter "mesh == 'u2'" --output "$work/slow" || return 1
    rm -r "$work/results/calibration"
    [ "$(latency "$work/slow" u2)" -gt 10000000000 ]
}

ok "ranks beyond the cores share them" ranks_share_cores
ok "the same numbers twice, whatever runs beside" same_records_twice
ok "simulated ranks send what real ones send" sends_what_real_ranks_send
ok "what was measured here is read before what ships" own_calibration_is_read_first
tap_end
