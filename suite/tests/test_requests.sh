#!/usr/bin/env bash
# Scope pipeline, measured: whole tiny pipelines from a prompt to files, each part timed, on one rank and on two that share
# text encoders and decode; what the closed form says of it; what is refused. Speaks TAP.
# shellcheck disable=SC2046,SC2317 # functions run through ok()
# shellcheck source=suite/tests/harness.sh
. "$(dirname "$0")/harness.sh"
cd "$work" || exit 4
pipelines=$source_dir/engine/tests/pipelines

# workload NAME SCOPE MODEL [MEMBER]: one workload file, whose defaults a further member may extend.
workload() {
    cat >"$1.json" <<JSON
{
  "schema": "ditbench.workload/1", "name": "$1", "program": "denoise",
  "defaults": {"resolution": "48x32", "num_inference_steps": 2, "text_tokens": 24, "platform": "local-cpu", "threads_per_rank": 1${4:-}},
  "axes": {"model": [$3]},
  "zip": [{"method": ["single", "ulysses", "ulysses", "ulysses", "cfg"], "world_size": [1, 2, 2, 2, 2],
           "text_encoder_parallel": ["replicated", "replicated", "broadcast", "tensor", "cfg"]}],
  "repeat": {"processes": 1}, "measure": {"scope": "$2", "warmup_runs": 1, "iterations": 2, "deadline_s": 60}
}
JSON
}
flux='{"name": "flux.1-schnell", "as": "tiny", "folder": "../engine/tests/pipelines/flux"}'
pixart='{"name": "pixart-sigma-xl-2", "as": "tiny", "folder": "../engine/tests/pipelines/pixart"}'
records() { compgen -G "$DITBENCH_RESULTS/$1/cases/*/p0/record.json"; }
session_of() { basename "$(compgen -G "$DITBENCH_RESULTS/*-$1-*" | tail -1)"; }

workload whole pipeline "$flux, $pixart" ', "weights": "trained"'
"$ditbench" run whole.json -q >log 2>&1 || true
if grep -q 'E_ENVIRONMENT.*libraries\|libsentencepiece' log "$DITBENCH_RESULTS"/*/cases/*/p0/error.json 2>/dev/null; then
    skip "requests from a prompt to a picture" "this build has no tokenizers (ci/deps.sh core)"
    finish
    exit
fi
session=$(session_of whole)
all_ok() { grep -q '9 of 9 runs, 9 ok' log && "$ditbench" verify "$session" >verdict && grep -q ': sound' verdict; }
ok "pipelines run from prompt to picture on one rank and two, in every way of sharing encoders" all_ok

# Every record: all parts, which add up; encoders in phase text as predicted; memory of each part; pictures.
cat >check.py <<'PYTHON'
import json, sys

texts = 0
for path in sys.argv[2:]:
    r = json.load(open(path))
    parts = r["phases_ns"]
    want = ["tokenize", "text_encode", "denoise"] + (["vae_decode", "write"] if sys.argv[1] == "pipeline" else [])
    assert sorted(parts) == sorted(want) and all(v > 0 for v in parts.values()), (path, parts)
    each = r["samples"]["phases_ns"]
    for i, latency in enumerate(r["samples"]["latency_ns"]):
        assert sum(each[p][i] for p in want if p != "write") == latency, (path, i)
    assert r["communication_match"] is True
    rows = [row for rank in r["ranks"] for row in rank["communication"] if row["phase"] == "text"]
    assert all(row["bytes"] == row["predicted_bytes"] > 0 for row in rows), rows
    texts += bool(rows)
    memory = r["memory"]
    assert memory["total_bytes"] == max(memory[k] for k in memory if k in ("text_encode_bytes", "denoise_bytes", "vae_decode_bytes"))
    assert memory["text_encode_bytes"] > 0 and memory["denoise_bytes"] > 0
    assert set(r["phases_on"].values()) == {"cpu", "host"} and r["phases_on"]["text_encode"] == "cpu"
print(texts, "records with messages of text encoders")
assert texts == int(sys.argv[1] == "pipeline") * 5 or sys.argv[1] != "pipeline", texts
PYTHON
# shellcheck disable=SC2046 # paths without white space
parts() { python3 check.py pipeline $(records "$session"); }
ok "every record has all parts, which add up, and encoders sent their closed form" parts
pictures() { [ "$(compgen -G "$DITBENCH_RESULTS/$session/cases/*/p0/image.png" | wc -l)" -eq 9 ]; }
ok "and a picture lies beside it" pictures
is_generated() { # the picture of one rank is that of generate with the folder's weights
    local arguments=(--height 32 --width 48 --num_inference_steps 2 --max_sequence_length 24)
    "$ditbench" generate "$pipelines/flux" --prompt "a red fox on a quiet hill" "${arguments[@]}" --noise counter --seed 42 --output generated.png -q >answer || return 1
    for record in $(records "$session"); do
        grep -q '"label": *"1"' "$record" && grep -q flux "$(dirname "$(dirname "$record")")/case.json" && one=$(dirname "$record")
    done
    worst=$("$build/tests/engine_picture_diff" same generated.png "$one/image.png") && [ "$worst" -le 1 ]
}
ok "it is the picture that generate makes" is_generated
workload seeded latents "$flux" ''
latents() {
    "$ditbench" run seeded.json -q >log 2>&1 && session=$(session_of seeded) &&
        "$ditbench" verify "$session" >verdict && grep -q ': sound' verdict && ! compgen -G "$DITBENCH_RESULTS/$session/cases/*/p0/image.png" &&
        python3 check.py latents $(records "$session")
}
ok "scope latents ends before the decode; without trained weights all parts are seeded" latents
shared() { # two ranks share the decode by rows
    workload rows pipeline "$pixart" ', "rows_degree": 2' && sed -i 's/"method": .*\],$/"method": ["ulysses", "cfg"], "world_size": [2, 2],/; s/"text_encoder_parallel": .*/"seed": [42, 43]}],/' rows.json &&
        "$ditbench" run rows.json -q >log 2>&1 && session=$(session_of rows) &&
        "$ditbench" verify "$session" >verdict && grep -q ': sound' verdict && grep -lq '"phase": *"decode"' $(records "$session")
}
ok "a decode shared by rows sends its closed form, too" shared

refused() { # WORDS FILE
    exits 2 "$ditbench" validate "$2" 2>message && grep -q -- "$1" message || { cat message; return 1; }
}
workload nofolder pipeline '"flux.1-schnell"'
ok "a model without a folder is not measured from its prompt on" refused 'no folder has the tokenizers' nofolder.json
workload other pipeline '{"name": "pixart-sigma-xl-2", "folder": "../engine/tests/pipelines/flux"}'
ok "a folder of another class is refused" refused 'is a FluxTransformer2DModel, model pixart-sigma-xl-2 is a PixArtTransformer2DModel' other.json
workload nowhere pipeline '{"name": "flux.1-schnell", "folder": "../nowhere"}'
ok "and a folder that does not exist" refused 'there is no .*nowhere/model_index.json' nowhere.json
workload twice pipeline '{"name": "flux.1-schnell", "folder": "../engine/tests/pipelines/flux", "override": {"num_layers": 1}}'
ok "and one beside an override" refused 'config of its own' twice.json
workload denoise denoise "$flux"
ok "text_encoder_parallel means nothing where only denoising is timed" refused 'text_encoder_parallel means nothing' denoise.json
disagree() { # a case that tells of other encoders than the folder has
    session=$(session_of seeded)
    one=$(dirname "$(dirname "$(grep -l '"label": *"u2"' $(records "$session") | head -1)")")
    python3 - "$one/case.json" <<'PYTHON'
import json, sys
case = json.load(open(sys.argv[1]))
case["conditions"]["text_encoder_parallel"] = "broadcast"
case["text_encoders"][0]["width"] = 16
case["parallel"].pop("rows_degree", None)
json.dump(case, open("other-case.json", "w"))
PYTHON
    mkdir -p out && ! OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe -n 2 "$build/bin/ditbench-engine" \
        --case other-case.json --out out >message 2>&1 && grep -q "the case's text_encoders would send" message || { cat message; return 1; }
}
ok "a case that tells of other encoders than the folder has fails" disagree

simulated() { # the ways are charged, and send their closed form
    sed 's/"single", "ulysses", "ulysses", "ulysses", "cfg"/"ulysses", "ulysses", "ulysses", "cfg"/; s/"world_size": \[1, /"world_size": [/; s/"replicated", "replicated"/"replicated"/; s/"48x32"/"512x512"/; s/"local-cpu", "threads_per_rank": 1/"8xl40", "profile": "ditbench"/; s/"text_tokens": 24, //' twice.json >texts.json &&
        python3 - <<'PYTHON'
import json
workload = json.load(open("texts.json"))
workload["name"], workload["axes"]["model"] = "texts", ["sd3-medium"]
json.dump(workload, open("texts.json", "w"))
PYTHON
    "$ditbench" run texts.json -q >log 2>&1 && session=$(session_of texts) && "$ditbench" verify "$session" >verdict && grep -q ': sound' verdict &&
        python3 - $(records "$session") <<'PYTHON'
import json, sys
took, sent = {}, {}
for path in sys.argv[1:]:
    r = json.load(open(path))
    case = json.load(open(path.rsplit("/", 2)[0] + "/case.json"))
    way = case.get("conditions", {}).get("text_encoder_parallel", "replicated")
    took[way] = r["phases_ns"]["text_encode"]
    sent[way] = sum(row["bytes"] for row in r["communication"] if row["phase"] == "text")
    assert r["communication_match"] and set(r["phases_absent"]) == {"tokenize", "write"}
print(took, sent)
assert sorted(took) == ["broadcast", "cfg", "replicated", "tensor"]
assert took["cfg"] < took["tensor"] < took["replicated"] < took["broadcast"]
# fp16, two texts: of each encoder S rows of C and the pooled text of P, as workloads/text_encoders has them
embeddings = 2 * (77 * 768 + 768 + 77 * 1280 + 1280 + 256 * 4096)
assert sent["replicated"] == 0 and sent["broadcast"] == 2 * embeddings and sent["cfg"] == embeddings, (sent, embeddings)
assert sent["tensor"] == 4 * 2 * (12 * 77 * 768 + 32 * 77 * 1280 + 24 * 256 * 4096), sent
PYTHON
}
if [ -x "$build/bin/ditbench-engine-sim" ] && command -v smpirun >/dev/null; then
    ok "a simulation charges each way of sharing encoders, and its messages are the closed form" simulated
else
    skip "simulated text encoders" "no SimGrid (ci/deps.sh sim)"
fi
finish
