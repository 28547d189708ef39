#!/usr/bin/env bash
# Weights in shards, of every model class: the bits of whole weights, bytes and messages of the closed form, memory by class
# as counted. On two and four ranks, with Ulysses, rings, CFG, displaced patches, stages and tensor ranks beside. Then what a
# record tells, what is refused, and what explain and a simulation say. Long form (DITBENCH_TEST_ALL=1): every method with
# every model. Speaks TAP.
set -u
cd "$(dirname "$0")/../.." || exit 4
build=${DITBENCH_BUILD:-$PWD/build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. ci/tap.sh
. engine/tests/device.sh

write_plan 64x64
report $? "every model with every method is a workload"
matrix_on cpu fp32 1 12 --method single,oracle
some=pixart-alpha-xl-2,flux.1-dev,sd3-medium
[ "${DITBENCH_TEST_ALL:-0}" != 1 ] || some=
matrix_on cpu fp32 2 11 --method ulysses --shards 2 --depth 1
matrix_on cpu fp32 2 6 --model "$some" --method ring,cfg,distrifusion,data --shards 2 --depth 0
matrix_on cpu fp32 4 4 --model "$some" --method usp,ulysses+cfg,cfg+ulysses,usp+cfg,cfg+usp,pcpp --shards 4 --depth 2
matrix_on cpu fp32 4 4 --model "$some" --method pipefusion+ulysses,ulysses+tensor,cfg+pipefusion,pipefusion+tensor,ring+tensor --shards 2 --depth 1

cat >"$work/workload.json" <<END
{"schema": "ditbench.workload/1", "name": "shards", "program": "denoise",
 "defaults": {"model": {"name": "pixart-alpha-xl-2", "as": "8-blocks", "override": {"num_layers": 8, "num_attention_heads": 4, "cross_attention_dim": 288}},
              "resolution": "64x64", "num_inference_steps": 2, "platform": "local-cpu", "threads_per_rank": 1, "method": "ulysses",
              "world_size": 2},
 "axes": {"fsdp_degree": [1, 2], "fsdp_prefetch": [0, 1, 9]}, "measure": {"warmup_runs": 0, "iterations": 2, "deadline_s": 100}}
END
"$build/bin/ditbench" run "$work/workload.json" --output "$work/session" >"$work/log" 2>&1 &&
    "$build/bin/ditbench" verify "$work/session" >>"$work/log" 2>&1
report $? "a workload runs with shards beside without, and its records are verified"
python3 - "$work/session" <<'END'
import glob, json, sys
records = [json.load(open(p)) for p in glob.glob(sys.argv[1] + "/cases/*/p0/record.json")]
meshes = {}
for r in records: meshes.setdefault(r["mesh"]["label"], []).append(r)
whole, shared = meshes["u2"], sum((meshes["u2 fsdp2" + ahead] for ahead in ("", " ahead0", " ahead9")), [])
assert len(whole) == 1 and len(shared) == 3, {k: len(v) for k, v in meshes.items()}
assert {r["validation"]["latent_digest"] for r in shared} == {whole[0]["validation"]["latent_digest"]}
for r in shared:
    o = r["offload"]
    ahead = min(o.get("depth", 0) + 1, o["chunks"])
    block = o["largest_chunk_bytes"]
    outside = whole[0]["memory"]["weights_bytes"] - o["chunks"] * block
    assert r["memory"]["weights_bytes"] == outside + o["shard_bytes"] + ahead * block, o
    assert o["peak_bytes"] == ahead * block and o["loads"] == o["predicted_loads"] == o["uses"] and o["hits"] == 0, o
    row, = [x for x in r["communication"] if x["axis"] == "fsdp"]
    # two steps and the projection of the text: three times through eight blocks, to one other rank
    assert row["messages"] == 3 * 8 and row["bytes"] == 3 * o["shard_bytes"] and o["read_bytes"] == row["bytes"], row
END
report $? "a rank holds its shard and the blocks at hand, and gathers each block once a pass"
refused() { # WORDS OPTION...: a workload with these parameters is refused, or its cell is dropped, with these words
    local words=$1
    shift
    sed "s/\"axes\": {[^}]*}/\"axes\": {$*}/" "$work/workload.json" >"$work/refused.json"
    "$build/bin/ditbench" expand "$work/refused.json" >"$work/answer" 2>&1
    grep -q -- "$words" "$work/answer" || { sed 's/^/# /' "$work/answer" | head -n 5; return 1; }
}
refused 'does not divide the 2 ranks that hold equal weights' '"fsdp_degree": [4]' &&
    refused 'a cache beside fsdp_degree 2' '"fsdp_degree": [2], "cache": [{"policy": "fbcache", "threshold": 0.1}]' &&
    refused 'weights have one source' '"fsdp_degree": [2], "offload": ["disk"], "resident_weights": [100000000]'
report $? "shards over other ranks, beside a cache and beside offload are refused"
"$build/bin/ditbench" explain --model flux.2-dev --mesh "u8 fsdp8" --json >"$work/answer" 2>"$work/log" && python3 - "$work/answer" <<'END'
import json, sys
mesh = json.load(open(sys.argv[1]))["meshes"][0]
rank = mesh["ranks"][0] if "ranks" in mesh else mesh
terms = rank["terms"]
assert mesh["mesh"] == "u8 fsdp8", mesh["mesh"]
assert terms["shard_bytes"] > 0 and terms["gathered_bytes"] > 0
weights = rank["memory"]["weights"]
assert terms["shard_bytes"] + terms["gathered_bytes"] < weights < 0.3 * terms["parameters_bytes"], (weights, terms)
assert mesh["bytes_per_step"] == mesh["predicted_bytes_per_step"]
END
report $? "explain shows a shard and the gathered blocks of FLUX.2"
! "$build/bin/ditbench" explain --model flux.2-dev --gpus 8 --fsdp_prefetch 2 >"$work/answer" 2>&1 && grep -q 'without --fsdp_degree' "$work/answer"
report $? "a prefetch of whole weights is refused"
generate() { # NAME OPTION...
    "$build/bin/ditbench" generate engine/tests/golden/e2e_flux_dev --ulysses_degree 2 --output "$work/$1.png" "${@:2}" >"$work/log" 2>&1
}
generate whole && generate shared --fully_shard_degree 2 && grep -q '^weights from peers: ' "$work/log" &&
    cmp "$work/whole.safetensors" "$work/shared.safetensors"
report $? "generate takes xDiT's option, gives the latents of whole weights, and tells of the gathers"
"$build/bin/ditbench" expand "$work/workload.json" --json | python3 -c '
import json, sys
case = next(c["case"] for c in json.load(sys.stdin)["kept"] if c["case"]["parallel"].get("fsdp_degree") == 2)
case["platform"]["backend"] = "host"
json.dump(case, open(sys.argv[1], "w"))' "$work/device.json"
! mpirun --oversubscribe --bind-to none -n 2 --mca plm isolated "$build/bin/ditbench-engine" --case "$work/device.json" --out "$work/device" >"$work/log" 2>&1 &&
    grep -q "come and go in host memory only" "$work/log"
report $? "a device is refused, with the reason"
tap_end
