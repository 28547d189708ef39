# Shared by the tests of `generate --prompt`, after harness.sh: runs a folder of engine/tests/pipelines and compares with what
# diffusers made of it. Leaves the shell in $work. DITBENCH_TEST_GENERATE: options of every run, as of a backend (ci/gpu/measure.sh).
# shellcheck shell=bash disable=SC2154,SC2317
golden=$source_dir/engine/tests/pipelines
cd "$work" || exit 4

# compare.py EXPECTED FILE...: prints each tensor's distance. Exit: 1 above a bound, 2 where a tensor is missing or of another size.
cat >compare.py <<'PYTHON'
import json, math, struct, sys

def tensors(path):
    data = open(path, "rb").read()
    length = struct.unpack("<Q", data[:8])[0]
    for name, entry in json.loads(data[8:8 + length]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            yield name, struct.unpack(f"<{(end - begin) // 4}f", data[8 + length + begin:8 + length + end])

expected = dict(tensors(sys.argv[1]))
got = {name: values for path in sys.argv[2:] for name, values in tensors(path)}
bad = missing = 0
for name, values in expected.items():
    if name == "image_u8":
        continue
    limit = 0 if "ids" in name or "mask" in name else 1e-4 if name == "latents" else 1e-5
    mine = got.get(name)
    if mine is None or len(mine) != len(values):
        print(f"{name}: {len(values)} numbers, ours has {mine and len(mine)}")
        missing += 1
        continue
    distance = math.sqrt(sum((a - b) ** 2 for a, b in zip(mine, values)) / (sum(b * b for b in values) or 1))
    print(f"{name}: {distance:.2e}")
    bad += not distance <= limit
sys.exit(2 if missing else bad > 0)
PYTHON
# EXPECTED FILE...: all tensors are there, and one is elsewhere.
differs() {
    local status=0
    python3 compare.py "$@" || status=$?
    [ "$status" -eq 1 ]
}
options() { # KIND: the arguments of its call
    python3 -c 'import json, sys
for key, value in json.load(open(sys.argv[1])).items(): print(f"--{key}={value}")' "$golden/$1/call.json"
}
run() { # KIND OUTPUT OPTION...
    local kind=$1 output=$2 arguments=() everywhere
    shift 2
    read -ra everywhere <<<"${DITBENCH_TEST_GENERATE:-}"
    [ "$kind" != hunyuandit ] || set -- --no_use_resolution_binning "$@"
    mapfile -t arguments < <(options "$kind")
    "$ditbench" generate "$golden/$kind" "${arguments[@]}" --output "$output" -q ${everywhere[@]+"${everywhere[@]}"} "$@"
}
within() { worst=$("$build/tests/engine_picture_diff" same "$1" "$2") && [ "$worst" -le 1 ]; }
is_diffusers() { # KIND OPTION...
    run "$1" "$1" "${@:2}" >answer && python3 compare.py "$golden/$1/expected.safetensors" "$1/embeddings.safetensors" "$1/latents.safetensors"
}
picture_is() { worst=$("$build/tests/engine_picture_diff" levels "$1/image.png" "$golden/$1/expected.safetensors") && echo "$worst" && [ "$worst" -le 1 ]; }
