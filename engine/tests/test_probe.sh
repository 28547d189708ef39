#!/usr/bin/env bash
# Probes of redundancy: the changes that the engine finds in whole sampling runs are those of diffusers' own models
# (engine/tests/golden/probe.py); runs stay what they are; what cannot be probed is refused. Speaks TAP.
set -u
cd "$(dirname "$0")/../.." || exit 4
build=${DITBENCH_BUILD:-$PWD/build}
golden=$PWD/engine/tests/golden
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. ci/tap.sh
export DITBENCH_RESULTS=$work/results DITBENCH_WORKLOADS=$PWD/workloads

# Prints the tensors of a file as Python reads them, and compares files: equal shapes, numbers within a bound.
cat >"$work/probe.py" <<'P'
import json, math, struct, sys
def load(path):
    with open(path, "rb") as file:
        data = file.read()
    size = struct.unpack("<Q", data[:8])[0]
    head = json.loads(data[8:8 + size])
    head.pop("__metadata__", None)
    out = {}
    for name, entry in head.items():
        begin, end = (8 + size + at for at in entry["data_offsets"])
        out[name] = entry["shape"], struct.unpack("<%df" % ((end - begin) // 4), data[begin:end])
    return out
def worst(mine, right):
    most = 0
    for name, (shape, numbers) in right.items():
        assert mine[name][0] == shape, (name, mine[name][0], shape)
        for i, (a, b) in enumerate(zip(mine[name][1], numbers)):
            assert math.isfinite(a), (name, i)
            assert (a == 0) == (b == 0) or max(abs(a), abs(b)) < 1e-6, (name, i, a, b)
            most = max(most, abs(a - b) / max(abs(b), 1e-3))
    return most
if sys.argv[1] == "compare":
    far = worst(load(sys.argv[2]), load(sys.argv[3]))
    print("# farthest: %.2g" % far)
    sys.exit(far > 2e-4)
shape, numbers = load(sys.argv[2])[sys.argv[3]]
print(*shape)
P

probe() { # run, output, options...
    local run=$1 output=$2
    shift 2
    "$build/bin/ditbench" generate "$golden/e2e_$run" --output "$output" --probe -q "$@" >"$work/out" 2>"$work/err" || sed 's/^/# /' "$work/err"
}
for run in tiny_shapes latte sd3 flux_dev; do
    probe "$run" "$work/$run.safetensors" && python3 "$work/probe.py" compare "$work/$run.probe.safetensors" "$golden/e2e_$run/probe.safetensors"
    report $? "what changes in $run is what changes in diffusers"
done

# A probe is no sample: latents are those of a run without.
"$build/bin/ditbench" generate "$golden/e2e_sd3" --output "$work/plain.safetensors" -q >/dev/null 2>"$work/err" &&
    cmp -s "$work/plain.safetensors" "$work/sd3.safetensors"
report $? "latents of a run with a probe are those of a run without"

# Other architectures, which no golden file covers: every layer has every point.
other() {
    local run
    for run in hunyuandit cogvideox_2b hunyuan_video wan_unipc; do
        probe "$run" "$work/$run.safetensors" || return 1
        python3 - "$work/probe.py" "$work/$run.probe.safetensors" <<'P' || return 1
import importlib.util, sys
spec = importlib.util.spec_from_file_location("probe", sys.argv[1])
sys.argv = [sys.argv[0], "shape", sys.argv[2], "layers"]
probe = importlib.util.module_from_spec(spec)
spec.loader.exec_module(probe)
shape, numbers = probe.load(sys.argv[2])["layers"]
prompts, changes, layers, points, rows, columns, measures = shape
step = rows * columns * measures
assert points == 4 and measures == 5 and len(numbers) == prompts * changes * layers * points * step
for at in range(0, len(numbers), step):
    first = numbers[at:at + 5]  # image rows of the first branch
    assert first[0] > 0 and first[2] > 0 and -1 <= first[3] <= 1.0001 and first[4] > 0, (at // step, first)
P
    done
}
other
report $? "every layer of HunyuanDiT, CogVideoX, HunyuanVideo and Wan shows its keys, values, attention and block"

refuses() { # what, words, options...
    local what=$1 words=$2 code
    shift 2
    "$build/bin/ditbench" generate "$@" --output "$work/no.safetensors" --probe -q >"$work/out" 2>"$work/err"
    code=$?
    [ "$code" -ne 0 ] && grep -q "$words" "$work/err" && [ ! -e "$work/no.safetensors" ]
    report $? "$what is refused before anything is sampled"
    [ "$code" -ne 0 ] || sed 's/^/# /' "$work/err"
}
refuses "a probe of several ranks" 'the case has several ranks' "$golden/e2e_sd3" --ulysses_degree 2
refuses "a probe of a cached run" 'a cache leaves layers out' "$golden/e2e_sd3" --cache '{"policy": "interval", "interval": 2}'
refuses "a probe of one step" 'there is one step' "$golden/e2e_sd3" --num_inference_steps 1

# In a workload: what changes regularly, and the claims about it.
cat >"$work/small.json" <<'J'
{
  "schema": "ditbench.workload/1", "name": "small-probe", "title": "a probe of two lengths", "program": "denoise",
  "defaults": {"model": "shapes-pixart", "prompts": "shapes:test:4", "num_images": 2, "platform": "local-cpu", "threads_per_rank": 1},
  "axes": {"num_inference_steps": [4, 6], "weights": ["trained", "seeded"]},
  "repeat": {"processes": 1}, "measure": {"warmup_runs": 0, "iterations": 1, "probe": true},
  "plots": [{"id": "map", "kind": "heatmap", "title": "Change by layer and step"}, {"id": "lines", "kind": "profile_grid", "title": "Change"}],
  "expect": [
    {"id": "itself", "claim": "shares lie within 0 and 1", "expr": "all('redundancy_explained >= 0 && redundancy_explained <= 1 && redundancy_explained_low <= redundancy_explained')"},
    {"id": "trained", "claim": "trained weights change less than random ones", "expr": "all('change_k < 0.7', weights='trained') && median('change_k', weights='trained', steps=6) < median('change_k', weights='trained', steps=4)"},
    {"id": "alike", "claim": "two lengths are alike, somewhat", "expr": "rank_correlation_low('place', weights='trained') > -1 && rank_correlation_high('noise', weights='trained') <= 1 && rank_correlation_high('place', weights='trained') > 0"},
    {"id": "alone", "claim": "one case is like no other", "expr": "rank_correlation_low('place', weights='trained', steps=4) > 0"}
  ]
}
J
"$build/bin/ditbench" run "$work/small.json" --output "$work/session" -q >"$work/out" 2>&1
report $? "a workload with a probe runs"
"$build/bin/ditbench" report "$work/session" >"$work/out" 2>&1
verdicts() {
    python3 -c '
import json, sys
told = json.load(open(sys.argv[1]))
rows = told["claims"] if isinstance(told, dict) else told
print(*("%s=%s" % (row["id"], row["verdict"]) for row in rows))' "$work/session/report/claims.json"
}
[ "$(verdicts)" = "itself=holds trained=holds alike=holds alone=undecided" ]
report $? "claims about changes are judged, and one case alone is undecided"
[ -s "$work/session/report/map.png" ] && [ -s "$work/session/report/lines.png" ]
report $? "its maps and its lines are drawn"
"$build/bin/ditbench" verify "$work/session" >"$work/out" 2>&1
report $? "and the session verifies"

# Settings of caches: as many steps as asked for, the first one among them, and a workload takes them.
tunes() {
    "$build/bin/ditbench" tune "$work/session" --computed 1,3 --json >"$work/tuned.json" 2>"$work/err" || return 1
    python3 - "$work/tuned.json" "$work/small.json" "$work/cached.json" <<'P'
import json, sys
cases = json.load(open(sys.argv[1]))["cases"]
assert len(cases) == 4
settings = next(case for case in cases if case["steps"] == 6 and "seeded" not in case["label"])["settings"]
by = {}
for setting in settings:
    by.setdefault(setting["cache"]["policy"], []).append(setting)
masks = [setting["cache"]["mask"] for setting in by["mask"]]
assert [mask.count("1") for mask in masks] == [1, 3] and all(mask[0] == "1" and len(mask) == 6 for mask in masks), masks
assert by["mask"][0]["cost"] > by["mask"][1]["cost"] > 0
assert len(by["magcache"][0]["cache"]["ratios"]) == 6 and by["magcache"][0]["cache"]["ratios"][0] == 1
fit = by["teacache"][0]
assert len(fit["cache"]["coefficients"]) == 5 and fit["r2"] <= 1 and fit["n"] == 20 and "few" in fit["warning"]
workload = json.load(open(sys.argv[2]))
workload["name"] = "cached"
workload["axes"] = {"cache": ["none"] + [setting["cache"] for setting in settings]}
workload["defaults"]["num_inference_steps"] = 6
workload["measure"].pop("probe")
workload["plots"], workload["expect"] = [], []
json.dump(workload, open(sys.argv[3], "w"))
P
}
tunes
report $? "tune makes settings of caches of a probe"
"$build/bin/ditbench" run "$work/cached.json" --output "$work/cached" -q >"$work/out" 2>&1
report $? "and a workload runs with them, each like its oracle"
"$build/bin/ditbench" tune "$work/sd3.probe.safetensors" --computed 2 >"$work/out" 2>&1 && grep -q '"mask"' "$work/out"
report $? "tune takes the probe of one run"
"$build/bin/ditbench" tune "$work/cached" >"$work/out" 2>&1
[ $? -eq 2 ] && grep -q 'left a probe' "$work/out"
report $? "a session without a probe says so"

# A probe that somebody changed is not drawn, and decides nothing.
find "$work/session/cases" -name probe.safetensors >"$work/files"
while read -r file; do
    printf '\1' | dd of="$file" bs=1 seek=$(($(stat -c %s "$file") - 7)) conv=notrunc 2>/dev/null
done <"$work/files"
"$build/bin/ditbench" report "$work/session" >"$work/out" 2>&1
[ "$(verdicts)" = "itself=holds trained=holds alike=undecided alone=undecided" ] && grep -q 'has digest' "$work/session/report/claims.json"
report $? "a changed probe decides nothing, by its digest"
while read -r file; do rm "$file"; done <"$work/files"
"$build/bin/ditbench" report "$work/session" >"$work/out" 2>&1
[ "$(verdicts)" = "itself=holds trained=holds alike=undecided alone=undecided" ] && grep -q 'is not there' "$work/session/report/claims.json"
report $? "and one that is not there says so"

tap_end
