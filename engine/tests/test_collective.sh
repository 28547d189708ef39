#!/usr/bin/env bash
# ditbench collective: values are checked, rates follow from times and sizes, records follow the schema, what is wrong is
# said. Speaks TAP.
set -u
cd "$(dirname "$0")/../.." || exit 4
build=${DITBENCH_BUILD:-$PWD/build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. ci/tap.sh
ditbench=$build/bin/ditbench
unset DITBENCH_DEVICE_COMM

run() { # name, arguments...
    local name=$1
    shift
    "$ditbench" collective --min-bytes 8 --max-bytes 256K --factor 8 --iterations 4 --warmup 1 --json "$@" \
        --output "$work/$name" >"$work/$name.json" 2>"$work/$name.log"
}

# Rows that must be there, and what each says of itself. Arguments: answer, ranks of a group, transport.
rows() {
    python3 - "$@" <<'PYTHON'
import json, sys
answer, ranks, transport = json.load(open(sys.argv[1])), int(sys.argv[2]), sys.argv[3]
assert answer["ranks"] == ranks and transport in answer["transport"], (answer["ranks"], answer["transport"])
twice = {"all_reduce": 2 * (ranks - 1) / ranks, "send_recv": 1}
sizes, places = {}, {}
for row in answer["table"]:
    assert row["wrong"] == 0, row
    assert 1 <= row["iterations"] <= 4 and row["seconds"] > 0, row
    assert abs(row["algbw_gb_per_s"] * row["seconds"] * 1e9 / row["bytes"] - 1) < 1e-9, row
    factor = twice.get(row["operation"], (ranks - 1) / ranks)
    assert abs(row["busbw_gb_per_s"] - factor * row["algbw_gb_per_s"]) <= 1e-9 * row["algbw_gb_per_s"], row
    sizes.setdefault(row["operation"], []).append(row["bytes"])
    places.setdefault(row["operation"], set()).add(row["place"])
assert set(sizes) == {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send_recv"}, sizes
for operation, of in sizes.items():
    shared = ranks if operation in ("all_gather", "reduce_scatter", "all_to_all") else 1
    asked = [8 * 8**i // (4 * shared) * 4 * shared for i in range(6)]
    assert sorted(set(of)) == [size for size in asked if size], (operation, of)
assert places["all_reduce"] == places["all_gather"] == {"in", "out"} and places["all_to_all"] == {"out"}, places
PYTHON
}

for ranks in 1 2 3 4; do
    run "mpi$ranks" --ranks $ranks && rows "$work/mpi$ranks.json" $ranks "$([ $ranks -eq 1 ] && echo none || echo MPI)"
    report $? "MPI, $ranks ranks: values, sizes and rates"
done
run host --ranks 2 --backend host && rows "$work/host.json" 2 "through the host's memory"
report $? "device host, 2 ranks: the same through the host's memory"
DITBENCH_CUDA_LIBRARY=$build/tests/ditbench-cuda-emulated-nccl.so DITBENCH_EMULATED_DEVICES=2 run nccl --ranks 2 --backend cuda &&
    rows "$work/nccl.json" 2 NCCL
report $? "2 ranks with an emulated GPU each: the same by NCCL's calls"
run mesh --ulysses_degree 2 --ring_degree 2 --axis ring && rows "$work/mesh.json" 2 MPI &&
    grep -q '"groups": 2' "$work/mesh/record.json"
report $? "the groups of one axis of a mesh"

schema() {
    python3 - "$1" <<'PYTHON'
import json, sys, jsonschema
for kind in ("case", "record"):
    jsonschema.validate(json.load(open(f"{sys.argv[1]}/{kind}.json")), json.load(open(f"results/schema/{kind}.schema.json")))
broken = json.load(open(f"{sys.argv[1]}/record.json"))
del broken["collective"]["table"][0]["busbw_gb_per_s"]
try:
    jsonschema.validate(broken, json.load(open("results/schema/record.schema.json")))
except jsonschema.ValidationError:
    sys.exit(0)
sys.exit("a row without a rate passes the schema")
PYTHON
}
if python3 -c 'import jsonschema' 2>/dev/null; then
    schema "$work/mesh"
    report $? "case and record follow their JSON Schemas"
else
    skip "case and record follow their JSON Schemas" "no python3 with jsonschema"
fi

"$ditbench" collective --operation all_redcue --max-bytes 8 >"$work/out" 2>&1
[ $? -eq 2 ] && grep -q 'all_redcue' "$work/out"
report $? "an operation that does not exist is refused"
"$ditbench" collective --axis rign --max-bytes 8 >"$work/out" 2>&1
[ $? -eq 2 ] && grep -q 'rign' "$work/out"
report $? "an axis that does not exist is refused"
"$ditbench" collective --ranks 3 --ring_degree 2 >"$work/out" 2>&1
[ $? -eq 2 ] && grep -q 'product' "$work/out"
report $? "ranks that are not the product of the degrees are refused"
"$ditbench" collective --ranks 2 --operation send_recv --max-bytes 8 --dry-run --output "$work/none" >"$work/out" 2>&1
[ $? -eq 0 ] && grep -q 'ditbench-engine' "$work/out" && [ ! -e "$work/none" ]
report $? "a dry run prints the command and runs nothing"
tap_end
