#!/usr/bin/env bash
# Weights that stream, of every model class, by each policy, from the disk and from host memory, alone and with every exact
# method: the bits of resident weights, loads and bytes as base/residency.h says, memory by class as counted. Then a budget
# against the process's own memory, a file that ends early, and weights that are saved in shards. Long form
# (DITBENCH_TEST_ALL=1): every method on two and four ranks. Speaks TAP.
set -u
cd "$(dirname "$0")/../.." || exit 4
build=${DITBENCH_BUILD:-$PWD/build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work
. ci/tap.sh
. engine/tests/device.sh

write_plan 64x64
report $? "every model with every method is a workload"
matrix_on cpu fp32 1 12 --method single,oracle
cp "$work/out" "$work/resident"
for policy in belady lru prefetch; do
    depth=0
    [ $policy != prefetch ] || depth=1
    matrix_on cpu fp32 1 11 --method single --offload disk --policy $policy --depth $depth --room $((depth + 1))
done
matrix_on cpu fp32 1 11 --method single --offload disk --policy prefetch --depth 2 --room 4
matrix_on cpu fp32 1 11 --method single --offload host --policy prefetch --depth 1 --room 3
some=pixart-alpha-xl-2,flux.1-dev,wan2.1-i2v-14b-480p
[ "${DITBENCH_TEST_ALL:-0}" != 1 ] || some=
matrix_on cpu fp32 2 29 --model "$some" --offload disk --policy prefetch --depth 1 --room 2
[ "${DITBENCH_TEST_ALL:-0}" != 1 ] || matrix_on cpu fp32 4 100 --offload disk --policy belady --depth 0 --room 1
[ -z "$(ls -d "$work"/ditbench-weights-* 2>/dev/null)" ]
report $? "no saved weights are left behind"

# Weights in several shards give the seed's bits, on the disk and in host memory; memory is what is counted.
cat >"$work/workload.json" <<END
{"schema": "ditbench.workload/1", "name": "shards", "program": "denoise",
 "defaults": {"model": {"name": "pixart-alpha-xl-2", "as": "8-blocks", "override": {"num_layers": 8, "num_attention_heads": 4, "cross_attention_dim": 288}},
              "resolution": "64x64", "num_inference_steps": 2, "platform": "local-cpu", "threads_per_rank": 1},
 "axes": {"method": ["single"], "world_size": [1]}, "measure": {"warmup_runs": 0, "iterations": 2, "deadline_s": 100}}
END
"$build/bin/ditbench" expand "$work/workload.json" --json | python3 -c '
import json, sys
folder, kase = sys.argv[1], json.load(sys.stdin)["kept"][0]["case"]
def write(name, case):
    with open(f"{folder}/{name}.json", "w") as out: json.dump(case, out)
def streams(backend="cpu", room=16500000, **offload):
    weights = {"kind": "safetensors", "path": f"{folder}/save/weights"}
    return {**kase, "model": {**kase["model"], "weights": weights}, "platform": {**kase["platform"], "backend": backend},
            "offload": {"policy": "prefetch", "resident_weights": room, **offload}}
write("seeded", kase)
write("save", {"schema": kase["schema"], "program": "save_weights", "case": kase, "element": "fp32", "shard_bytes": 4000000})
for tier in ("disk", "host"): write(tier, streams(tier=tier))
write("small", streams(tier="disk", room=1000))
write("device", streams(backend="host", tier="disk"))
' "$work"
report $? "cases are written"
run_case() { # name; leaves its record
    "$build/bin/ditbench-engine" --case "$work/$1.json" --out "$work/$1" >"$work/log" 2>&1 || sed 's/^/# /' "$work/log"
}
number() { grep -oE "\"$2\":[[:space:]]*[0-9]+" "$work/$1/record.json" | head -n 1 | grep -oE '[0-9]+$'; } # name, member
digest() { grep -oE '"latent_digest":[[:space:]]*"[^"]*"' "$work/$1/record.json"; }
run_case seeded
run_case save
[ "$(find "$work/save/weights" -name '*-of-*.safetensors' | wc -l)" -ge 5 ] &&
    [ -e "$work/save/weights/diffusion_pytorch_model.safetensors.index.json" ] && [ "$(number save parameters)" -gt 10000000 ]
report $? "seeded weights are saved in shards with an index"
for tier in disk host; do
    run_case $tier
    [ -n "$(digest seeded)" ] && [ "$(digest $tier)" = "$(digest seeded)" ]
    report $? "weights from $tier, read from shards, give the latents of the seed"
done
[ "$(number disk read_bytes)" -gt 0 ] && [ "$(number disk read_bytes)" -eq "$(number disk predicted_read_bytes)" ] &&
    [ "$(number disk loads)" -eq "$(number disk predicted_loads)" ] && [ "$(number disk hits)" -gt 0 ] &&
    [ "$(number disk fetched_bytes)" -ge "$(number disk read_bytes)" ]
report $? "the record has loads and bytes as predicted"
DITBENCH_FAULT=bytes:weights "$build/tests/ditbench-engine-fault" --case "$work/disk.json" --out "$work/wrong" >"$work/log" 2>&1
[ $? -eq 6 ] && grep -q E_BYTES_MISMATCH "$work/wrong/error.json"
report $? "a wrong closed form of loads fails the case with E_BYTES_MISMATCH, exit code 6"
"$build/bin/ditbench" generate engine/tests/golden/e2e_flux_dev --output "$work/resident.png" >"$work/log" 2>&1 &&
    "$build/bin/ditbench" generate engine/tests/golden/e2e_flux_dev --offload disk --resident_weights 30000000 --output "$work/streamed.png" >>"$work/log" 2>&1 &&
    cmp "$work/resident.safetensors" "$work/streamed.safetensors" && grep -q '^weights from disk: ' "$work/log"
report $? "generate --offload gives the latents of resident weights, and tells of the reading"
refused() { # WORDS OPTION...: exit 2 with these words
    local words=$1
    shift
    "$build/bin/ditbench" explain --model flux.1-dev --gpus 1 "$@" >/dev/null 2>"$work/answer"
    [ $? -eq 2 ] && grep -q -- "$words" "$work/answer"
}
refused 'have no policy and no room' --offload_policy lru && refused '"dsk" is none of' --offload dsk
report $? "a policy of weights that stay, and an unknown tier, are refused"
"$build/bin/ditbench-engine" --case "$work/small.json" --out "$work/small" >"$work/log" 2>&1
grep -q 'blocks are held at once' "$work/log"
report $? "too little room is refused, and the message says how much is needed"
"$build/bin/ditbench" explain --model flux.1-dev --gpus 1 --offload disk --resident_weights 4000000000 --json | python3 -c '
import json, sys
weights = json.load(sys.stdin)["meshes"][0]["memory"]["weights"]
sys.exit(not 3.7e9 < weights < 4.4e9)'
report $? "explain counts a rank of FLUX.1-dev in the room that its weights have"
! "$build/bin/ditbench-engine" --case "$work/device.json" --out "$work/device" >"$work/log" 2>&1 && grep -q E_UNSUPPORTED "$work/log"
report $? "a device is refused"
tap_end
