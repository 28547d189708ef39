#!/usr/bin/env bash
# ditbench quality: pictures of a tiny model against each other, prompts by their names, sets in the features of a
# network, clips, and what cannot be compared. Speaks TAP.
# shellcheck disable=SC2317 # functions run through ok()
# shellcheck source=suite/tests/harness.sh
. "$(dirname "$0")/harness.sh"
golden=$source_dir/engine/tests/golden
network=$source_dir/engine/tests/quality
cd "$work" || exit 4

generate() { "$ditbench" generate "$golden/e2e_tiny_shapes" "$@" -q >/dev/null; }
quality() { "$ditbench" quality "$@"; }
# holds EXPRESSION: it is true of the answer `a` and its first set `s`.
holds() { python3 -c 'import json, sys
a = json.load(open("answer.json")); s = a["sets"][0]
sys.exit(0 if eval(sys.argv[1]) else f"{sys.argv[1]} does not hold of {json.dumps(s)[:900]}")' "$1"; }
answer() { quality "$@" --json >answer.json; }
# refuses CODE WORDS ARGUMENT...
refuses() {
    local code=$1 words=$2
    shift 2
    exits "$code" quality "$@" 2>message >/dev/null && grep -q -- "$words" message || { cat message; return 1; }
}

# Four prompts of three seeds, with six steps and with five, as colours and as PNG.
made() {
    mkdir -p six five rounded
    for seed in 1 2 3 4; do
        generate --seed "$seed" --num_images 3 --inputs inputs/"$seed".safetensors --pixels --output "six/p$seed.png" &&
            generate --seed "$seed" --num_images 3 --inputs inputs/"$seed".safetensors --num_inference_steps 5 --pixels \
                --output "five/p$seed.png" || return 1
    done
    cp six/*.png rounded/
}
# Embeddings and three initial latents for each prompt: the golden inputs with other noise.
inputs() {
    mkdir -p inputs && python3 - "$golden/e2e_tiny_shapes/inputs.safetensors" <<'PY'
import json, random, struct, sys
data = open(sys.argv[1], "rb").read()
length = struct.unpack("<Q", data[:8])[0]
header = {k: v for k, v in json.loads(data[8:8 + length]).items() if k != "__metadata__"}
tensors = {k: data[8 + length + v["data_offsets"][0]:8 + length + v["data_offsets"][1]] for k, v in header.items()}
for seed in range(1, 5):
    rng, out, body = random.Random(seed), {}, b""
    noise = struct.pack("<9216f", *(rng.gauss(0, 0.2) for _ in range(9216)))
    for key, value in (tensors | {"latents": noise}).items():
        shape = [3, 12, 16, 16] if key == "latents" else header[key]["shape"]
        out[key] = {"dtype": "F32", "shape": shape, "data_offsets": [len(body), len(body) + len(value)]}
        body += value
    text = json.dumps(out).encode()
    text += b" " * (-len(text) % 8)
    open(f"inputs/{seed}.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + body)
PY
}
ok "pictures are made, with their colours" eval 'inputs && made && [ -s six/p1-2.png ] && [ ! -e six/p1-3.png ]'

ok "a set is itself: 100 dB, SSIM 1, no distance" eval 'answer six six --features "$network" &&
    holds "s[\"psnr_db\"][\"mean\"] == s[\"psnr_db\"][\"min\"] == 100 and s[\"ssim\"][\"mean\"] == 1" &&
    holds "abs(s[\"fd_shapes\"][\"value\"]) < 1e-5 and s[\"diversity\"][\"ratio\"] == 1"'
ok "twelve pictures are of four prompts by their names" holds 's["pictures"] == 12 and s["prompts"] == 4'
ok "or each of its own" eval 'answer six six --prompts each && holds "s[\"prompts\"] == 12"'
ok "one step less is a finite distance with its interval" eval 'answer six five --features "$network" &&
    holds "10 < s[\"psnr_db\"][\"low\"] <= s[\"psnr_db\"][\"mean\"] <= s[\"psnr_db\"][\"high\"] < 60" &&
    holds "s[\"psnr_db\"][\"min\"] <= s[\"psnr_db\"][\"p05\"][\"value\"] <= s[\"psnr_db\"][\"mean\"]" &&
    holds "0.5 < s[\"ssim\"][\"mean\"] < 1 and 0.5 < s[\"diversity\"][\"low\"] < s[\"diversity\"][\"high\"] < 2"'
ok "too few prompts for blocks leave the interval of KID open" holds '"value" in s["kid"] and "low" not in s["kid"]'
ok "a distance that cannot be taken has a reason" holds 'list(s["fd_inf"]) == ["reason"] and "too few" in s["fd_inf"]["reason"]'
rounding() { # 8 bits are off by at most half a level: 20 log10(2 x 255) = 54.2 dB at least, 58.9 on average
    answer six rounded && holds '54 < s["psnr_db"]["min"] and s["psnr_db"]["mean"] < 70 and s["rounded"] and not a["reference"]["rounded"]'
}
ok "colours are not rounded, PNG are: 54 dB at least" rounding
less_first() {
    answer six six five && holds '"less_first" not in s' && holds 'a["sets"][1]["less_first"]["psnr_db"]["high"] < 0' &&
        holds 'abs(a["sets"][1]["psnr_db"]["mean"] - 100 - a["sets"][1]["less_first"]["psnr_db"]["mean"]) < 1e-9'
}
ok "a later set is compared with the first, pair by pair" less_first
ok "the table has means, intervals and reasons" eval 'quality six five --features "$network" >table &&
    grep -qE "^PSNR, dB +[0-9.]+ +[0-9.]+ to [0-9.]+ +[0-9.]+ +[0-9.]+" table && grep -q "too few for a Frechet" table'
ok "two files are compared, too" eval 'answer six/p1.safetensors five/p1.safetensors && holds "s[\"pictures\"] == 3"'

unpaired() {
    mkdir -p other && cp five/p1-0.png five/p1-1.png other/ && answer six other --features "$network" &&
        holds '"p1-2 has no partner" in s["psnr_db"]["reason"]' && holds '"value" in s["kid"]'
}
ok "without pairs there is no PSNR, and sets are still compared" unpaired

recorded() { # a record beside pictures tells captions, and pictures of other captions are of other prompts
    cp -r six told_six && printf '{"conditioning": {"captions": ["%s", "%s", "%s"]}}' "grey; large red plain ring top-left" \
        "grey; large blue plain ring top-left" "grey; large pink plain ring top-left" >told_six/p1.json &&
        answer told_six six --features "$network" && holds '"other prompts: p1-1 is of prompt 1" in s["diversity"]["reason"]' &&
        holds 's["psnr_db"]["mean"] == 100 and "value" in s["kid"]' &&
        answer six told_six --features "$network" && holds '"other prompts: p1-1 is of prompt 2" in s["diversity"]["reason"]'
}
ok "the same pictures with a record and without are of other prompts" recorded

make_clip() { # FOLDER STEM FRAME...
    local folder=$1/$2 number=0
    shift 2
    mkdir -p "$folder"
    for frame; do cp "$frame" "$folder/frame-000$number.png" && number=$((number + 1)); done
}
clips() {
    make_clip clips a six/p1-0.png six/p1-1.png six/p1-2.png && make_clip clips b six/p2-0.png six/p2-1.png six/p2-2.png &&
        make_clip still a six/p1-0.png six/p1-0.png six/p1-0.png && make_clip still b six/p2-0.png six/p2-1.png six/p2-1.png &&
        answer clips still --features "$network" && holds 's["size"]["num_frames"] == 3 and 0 < s["change"]["ratio"] < 0.8' &&
        holds '"reason" in s["fd_motion"]'
}
ok "clips are folders of frames; one that stands still changes less" clips
still_reference() {
    answer six/p1-0.png clips --features "$network" &&
        holds '"single pictures" in s["fd_motion"]["reason"] and "no pairs" in s["change"]["reason"]'
}
ok "clips beside single pictures have no distance of motion, and a reason" still_reference

renders() { # of two splits: no distance, and the rule reads what they show
    answer shapes:test:128 shapes:validation:128 --features "$network" && holds 's["kid"]["low"] < 0 < s["kid"]["high"]' &&
        holds 's["accuracy"]["all"]["low"] > 0.9 and a["reference"]["accuracy"]["colour"]["value"] > 0.98'
}
ok "renders of shapes are a reference, without files" renders
captions() { # a random model does not draw what it is told
    mkdir -p told && generate --prompt "grey; large red plain ring top-left" --prompt "light; small blue plain cross top-right" \
        --output told/x.png && answer shapes:test:8 told && holds 's["prompts"] == 2 and s["accuracy"]["all"]["value"] == 0' &&
        quality shapes:test:8 told >table && grep -qE "^captions right +0.000 +0.000 to 0" table
}
ok "captions of records are held against what pictures show" captions
ok "more renders than are read are refused" refuses 6 "more than 1048576 pictures" shapes:test:9999999 six
ok "a split that is none is refused" refuses 2 'split "tset" is none of train' shapes:tset:9 six
ok "another size is refused with both" eval 'mkdir -p mixed && cp six/p1-0.png mixed/ && make_clip mixed z six/p1-0.png six/p1-1.png &&
    refuses 6 "has 1 frames of 32 x 32 pixels, but z has 2" mixed six'
ok "a folder without pictures is refused" eval 'mkdir -p empty && refuses 2 "there are no pictures" empty six'
ok "a missing path is refused" refuses 2 "nowhere: No such file" six nowhere
ok "a damaged PNG is refused with its name" eval 'mkdir -p bad && head -c 300 six/p1-0.png >bad/x.png && refuses 6 "bad/x.png is no readable PNG" six bad'
ok "a text that is called PNG is refused" eval 'mkdir -p text && echo hello >text/x.png && refuses 6 "does not begin as one" six text'
ok "a file without colours is refused" eval 'mkdir -p bare && generate --output bare/p.safetensors && refuses 6 "no tensor called pixels" six bare'
animate() { # PNG: the chunk that says how many frames there are, behind the header
    mkdir -p moving && python3 -c 'import struct, sys, zlib
data, body = open(sys.argv[1], "rb").read(), b"acTL" + struct.pack(">II", 2, 0)
open("moving/x.png", "wb").write(data[:33] + struct.pack(">I", 8) + body + struct.pack(">I", zlib.crc32(body)) + data[33:])' "$1"
}
ok "an animated file is refused, as only its first frame would be read" eval 'animate six/p1-0.png && refuses 2 "is animated" six moving'
ok "a network that is none is refused" refuses 6 "conv1.weight" six five --features six/p1.safetensors
ok "a wrong rule of prompts is refused" refuses 2 'rule "twos" is none of names, each' six five --prompts twos

if python3 -c 'import jsonschema' 2>/dev/null; then
    obeys() {
        answer six five six --features "$network" && python3 - "$source_dir/results/schema/quality.schema.json" <<'PY'
import copy, json, sys
import jsonschema
schema, answer = json.load(open(sys.argv[1])), json.load(open("answer.json"))
jsonschema.Draft202012Validator.check_schema(schema)
jsonschema.validate(answer, schema)
wrong = copy.deepcopy(answer)
del wrong["sets"][0]["psnr_db"]["mean"]
try:
    jsonschema.validate(wrong, schema)
    sys.exit("a PSNR without a mean passes")
except jsonschema.ValidationError:
    pass
PY
    }
    ok "the answer obeys its schema, which notices a mean that is missing" obeys
else
    skip "the answer obeys its schema" "no module jsonschema (Debian: python3-jsonschema)"
fi
finish
