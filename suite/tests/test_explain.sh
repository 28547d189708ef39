#!/usr/bin/env bash
# ditbench explain: every mesh once, legal or with its reason, figures that are those of the methods, schedules that are
# the formula's. Speaks TAP.
set -u
cd "$(dirname "$0")/../.." || exit 4
ditbench=${DITBENCH_BUILD:-$PWD/build}/bin/ditbench
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache
. ci/tap.sh
small=(--model pixart-alpha-xl-2~two-blocks --height 256 --width 256)

"$ditbench" explain "${small[@]}" --gpus 4 >"$work/text" 2>"$work/log"
report $? "explain answers"
# 4 = 2 x 2 over seven axes, cfg at most 2: 7 + 21 ways, less the one with cfg 4
labels='(1|((u|r|pp|tp|dp|patch)[0-9]+|cfg2)( ((u|r|pp|tp|dp|patch)[0-9]+|cfg2))*) '
[ "$(grep -oE "^$labels" "$work/text" | sort -u | wc -l)" -eq 27 ]
report $? "every product of degrees is there"
for method in distrifusion pcpp naive-patch; do
    [ "$(grep -cE "^patch4 +$method " "$work/text")" -eq 1 ]
    report $? "patches as $method are there once"
done
! grep -q '^[a-z0-9 -]*[0-9.]\*' "$work/text"
report $? "bytes counted are those of the closed form for every legal mesh"
grep -qE '^dp4 +E_CONSTRAINT_BATCH: num_images 1' "$work/text"
report $? "a mesh that is not legal has its reason"
grep -qE '^pp4 +E_CONSTRAINT_STAGES: .*blocks' "$work/text"
report $? "more stages than blocks are refused"
grep -qE '^(u2 patch2|patch2 u2) +E_CONSTRAINT_METHOD: patch_degree 2' "$work/text"
report $? "patches beside sequence ranks are refused"

# A model whose weights are more bytes than there are addresses, and another one in the same run of the engine.
"$ditbench" expand engine/tests/exact.json --json 2>"$work/log" | python3 -c 'import copy, json, sys
possible = json.load(sys.stdin)["kept"][0]["case"]
vast = copy.deepcopy(possible)
vast["model"]["config"].update(num_attention_heads=64, attention_head_dim=1024, cross_attention_dim=65536, num_layers=1000)
print(json.dumps({"schema": "ditbench.case/1", "program": "describe",
                  "cases": [{"name": "vast", "case": vast}, {"name": "small", "case": possible}]}))' >"$work/vast.json"
mkdir "$work/vast"
"${ditbench%/*}/ditbench-engine" --case "$work/vast.json" --out "$work/vast" >"$work/log" 2>&1 &&
    grep -q '"code": "E_MEMORY"' "$work/vast/record.json" && grep -q '"family": "PixArt' "$work/vast/record.json"
report $? "a case that is impossible says so, and the others are described"

# Whatever the size: what is counted are addresses.
holds_little() { # MODEL PIXELS: less than a GiB
    python3 - "$ditbench" explain "$1" --gpus 2 --height "$2" --width "$2" >"$work/log" 2>&1 <<'PY'
import resource, subprocess, sys
text = subprocess.run(sys.argv[1:], check=True, stdout=subprocess.PIPE, text=True).stdout
most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(most, "KiB")
assert most < 1 << 20 and "pp2" in text, text
PY
}
holds_little flux.1-dev 32768 && holds_little hunyuandit-v1.2 65536 && holds_little cogvideox-5b 65536 && holds_little hunyuanvideo 65536
report $? "counting at absurd sizes takes no memory for what it counts: $(head -n 1 "$work/log")"

field() { awk -v mesh="$1" -v column="$2" '$1 == mesh { print $column }' "$work/text"; }
awk -v u="$(field u4 3)" -v r="$(field r4 3)" 'BEGIN { exit !(u > 0 && r / u > 1.999 && r / u < 2.001) }'
report $? "ring sends N/2 of what Ulysses sends"

# One mesh in full. A number of the first rank that has it, of its mesh.
"$ditbench" explain "${small[@]}" --mesh "pp2" --num_pipeline_patch 4 --num_inference_steps 6 --warmup_steps 2 >"$work/text" 2>"$work/log"
report $? "a mesh is shown in full by its label"
grep -q 'then 4 steps of 4 patches: 17 ticks, (T-W) M + P-1' "$work/text" &&
    grep -q 'bound T/(W + (T-W)/P) = 1.500' "$work/text"
report $? "ticks and bound of a schedule are the formulas'"
grep -qF '  stage 0 2.0 2.1 2.2 2.3 3.0 3.1 3.2 3.3 .' "$work/text" && grep -qF '  stage 1 .   2.0 2.1 2.2 2.3 3.0 3.1 3.2 3.3' "$work/text"
report $? "the table has the first two stale steps, tick by tick"
"$ditbench" explain --model pixart-alpha-xl-2 --height 256 --width 256 --pipefusion_degree 4 --num_pipeline_patch 2 --num_inference_steps 3 \
    --warmup_steps 0 >"$work/text" 2>"$work/log"
grep -q 'then 3 steps of 2 patches: 13 ticks, (T-W-1) P + M + P-1' "$work/text" && grep -q 'fills the stores' "$work/text"
report $? "with fewer patches than stages a step takes as many ticks as there are stages"
grep -qF '  stage 0 0.0 0.1 .   .   1.0 1.1 .   .   .' "$work/text"
report $? "and the first stage waits for the last"
"$ditbench" explain --model pixart-alpha-xl-2 --height 256 --width 256 --mesh "u2 r2 pp2" >"$work/text" 2>"$work/log"
grep -A9 'in order' "$work/text" | grep -oE 'all_to_all each|the store|stored K, V to the next|all_to_all back|next stage' | paste -sd, >"$work/order"
[ "$(cat "$work/order")" = "all_to_all each,the store,stored K, V to the next,all_to_all back,next stage" ]
report $? "exchanges of a block are in the order of the method"

# What is counted is what a reader gets by hand.
figure() { awk -v key="\"$1\":" '/"ranks":/ { on = 1 } on && $1 == key { gsub(/[^0-9]/, "", $2); print $2; exit }' "$work/$2"; }
explain_json() { "$ditbench" explain --model flux.1-dev~one-of-each --height 256 --width 256 --json "${@:2}" >"$work/$1" 2>"$work/log"; }
close() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(b > 0 && a > 0.99 * b && a < 1.01 * b) }'; }
explain_json single --mesh 1
explain_json pipe --mesh "pp2"
explain_json fresh --mesh "patch2" --num_inference_steps 2 --warmup_steps 2
explain_json stale --mesh "patch2" --num_inference_steps 2 --warmup_steps 1
close "$(figure weights pipe)" "$(figure parameters_bytes pipe)"
report $? "weights are four bytes a parameter of the stage"
close "$(($(figure state pipe) - $(figure state single)))" "$(figure kv_store_bytes pipe)"
report $? "a pipeline's K, V store is 2 B S C L/P e"
latents=$((2 * 256 * 64 * 4)) # of 256 tokens of 64 floats, back from the last stage
close "$(figure communication pipe)" "$(($(figure communication single) + $(figure stream_bytes pipe) + latents))"
report $? "a stage's messages are buffers of the stream and of latents"
close "$(($(figure state stale) - $(figure state fresh)))" "$(figure kv_store_bytes stale)"
report $? "DistriFusion keeps K, V of the whole image in every layer"
grep -q '"schedule":' "$work/pipe" && grep -q '"exchanges":' "$work/pipe" && grep -q '"least_bytes_per_step":' "$work/pipe"
report $? "--json has schedule, exchanges and the least rank"

"$ditbench" explain --model pixart-alpha-xl-2~two-blocks --gpus 4 --num_images 4 --json >"$work/json" 2>/dev/null &&
    grep -q '"mesh":.*"dp4"' "$work/json" && grep -q '"reason"' "$work/json"
report $? "four images may be divided by data parallelism; --json holds it all"
"$ditbench" explain --model hunyuanvideo --gpus 2 --platform local-cpu >"$work/text" 2>&1
grep -q 'E_CONSTRAINT_MEMORY' "$work/text"
report $? "a platform drops what does not fit it"
"$ditbench" explain flux.1-dev --gpus 4 --platform 8xrtx-4090 --times none --dtype fp32 >"$work/text" 2>&1
grep -q '^u4 .*E_CONSTRAINT_MEMORY: needs .* per rank in fp32, 8xrtx-4090 has .* GiB: [0-9.]* GiB are missing' "$work/text" &&
    ! grep -q '^u4 *ulysses' "$work/text" && grep -q '^pp4 *local' "$work/text"
report $? "so does a simulated one, by what is counted in --dtype"
"$ditbench" explain flux.1-dev --gpus 4 --platform 8xrtx-4090 --times none --element fp32 >"$work/other" 2>&1
cmp -s "$work/text" "$work/other" && "$ditbench" help explain >"$work/help" && grep -q -e --dtype "$work/help" && ! grep -q -e --element "$work/help"
report $? "--element, as --dtype was called, is still taken"

# What a simulation of the same denoising decides, to the hundredth of a GiB.
agrees() { # PLATFORM NAME-OF-MESH DEGREES MODEL HEIGHT PROFILE
    printf '{"schema": "ditbench.workload/1", "name": "same", "defaults": {"model": "%s", "resolution": "%sx%s", "platform": "%s",
        "profile": "%s", "num_inference_steps": 2%s}}' "$4" "$5" "$5" "$1" "$6" "$3" >"$work/same.json"
    rm -rf "$work/same"
    "$ditbench" run "$work/same.json" -q --output "$work/same" >"$work/log" 2>&1
    "$ditbench" explain --model "$4" --mesh "$2" --height "$5" --width "$5" --num_inference_steps 2 --platform "$1" --profile "$6" --times none --json >"$work/json" 2>"$work/log"
    counted=$(sed -n 's/.*"total_bytes":\([0-9]*\).*/\1/p' "$work/same/journal.jsonl" | head -n 1)
    if grep -q '"status":"oom"' "$work/same/journal.jsonl"; then
        grep -qF "needs $(awk -v b="$counted" 'BEGIN { printf "%.2f", b / 1073741824 }') GiB per rank in fp16" "$work/json"
    else
        awk -v b="$counted" '/"memory_bytes":/ { gsub(/[^0-9]/, "", $2); if ($2 + 0 > most) most = $2 + 0 } END { exit !(most > b - 64 && most < b + 64) }' "$work/json"
    fi
}
if command -v smpirun >/dev/null && [ -x "$(dirname "$ditbench")/ditbench-engine-sim" ]; then
    for platform in 8xrtx-4090 8xl40 8xa100-sxm; do
        agrees "$platform" 1 '' flux.1-dev 1024 ditbench
        report $? "$platform: one device holds of FLUX what its simulation says"
        agrees "$platform" "u2 r2" ', "ulysses_degree": 2, "ring_degree": 2' flux.1-dev 4096 ditbench
        report $? "$platform: so do four"
        agrees "$platform" 1 '' hunyuanvideo 720 torch-compile
        report $? "$platform: and of HunyuanVideo"
    done
    agrees 8xl40 r4 ', "ring_degree": 4' flux.1-dev 1024 torch-compile
    report $? "a ring of software that also makes Ulysses' exchanges holds their buffers, as in its simulation"
else
    report 0 "explain and simulations agree # SKIP no simulator in this build (Debian: libsimgrid-dev)"
fi
"$ditbench" explain flux.1-dev --gpus 1 --platform 8xrtx-4090 --times none >"$work/text" 2>&1
grep -q '^flux.1-dev on 1 device in fp16, 1024x1024, 28 steps, 8xrtx-4090, software torch-compile$' "$work/text" &&
    ! grep -q 'not legal\|out of memory' "$work/text" && grep -q '^1 *local' "$work/text"
report $? "FLUX fits a card of 24 GiB in the card's own element; numbers and nouns agree"

# What other software sends is counted as its profile has it: text with every patch of a pipeline.
sends() { "$ditbench" explain flux.1-dev --mesh pp2 --platform 8xl40 --times none --profile "$1" --json | sed -n 's/^\t*"\(predicted_\)\{0,1\}bytes_per_step":[^0-9]*\([0-9]*\).*/\2/p' | head -n 2 | paste -sd' '; }
read -r own own_formula <<<"$(sends ditbench)"
read -r eager eager_formula <<<"$(sends pytorch-eager)"
[ "$own" -gt 0 ] && [ "$eager" -gt "$own" ] && [ "$own" = "$own_formula" ] && [ "$eager" = "$eager_formula" ]
report $? "the software of --profile decides what a pipeline sends, counted and by formula ($own, $eager bytes)"

# ---- times and verdicts ------------------------------------------------------------------------------------------------
tiny=(flux.1-dev~one-of-each --platform 8xl40 --gpus 4 --num_inference_steps 8)
if command -v smpirun >/dev/null && [ -x "$(dirname "$ditbench")/ditbench-engine-sim" ]; then
    "$ditbench" explain "${tiny[@]}" >"$work/text" 2>"$work/log"
    [ $? -eq 0 ] && grep -q '^times of a request (pipeline) are simulated' "$work/text" && grep -qE '^u2 r2 +usp +0\.[0-9]+ +best ' "$work/text"
    report $? "meshes have times on a simulated platform"
    grep -q ' simulated, at most ' "$work/log" && "$ditbench" explain "${tiny[@]}" >"$work/again" 2>"$work/log" && [ ! -s "$work/log" ] && cmp -s "$work/text" "$work/again"
    report $? "a second call simulates nothing, and says the same"
    "$ditbench" search flux.1-dev~one-of-each --platform 8xl40 --devices 4 --steps 8 --what-if 0 --json >"$work/found" 2>"$work/log"
    best=$(sed -n '/"winner"/,/}/s/^.*"mesh":[[:space:]]*"\([^"]*\)".*/\1/p' "$work/found" | head -n 1)
    [ ! -s "$work/log" ] && [ -n "$best" ] && [ "$(sed -n '/^exact:/,/^$/s/   *.* best  .*//p' "$work/text")" = "$best" ]
    report $? "the best exact mesh is the one that search finds, which needs no simulation then ($best)"
    grep -q '^[a-z0-9 ]* .* [0-9.]* % behind  ' "$work/text" && grep -q 'excluded by bound: at least [0-9.]* % behind' "$work/text" &&
        sed -n '/^approximate/,$p' "$work/text" | grep -q 'best approximate: [0-9.]* % \(less\|more\) time than .*, the best exact one'
    report $? "verdicts say how far others are behind; approximate meshes are judged among themselves"
    grep -q '^mesh .* s, torch-compile ' "$work/text" && ! grep -q 'projection' "$work/text"
    report $? "the column of times names the software"
    "$ditbench" explain "${tiny[@]}" --profile ditbench --times bounds >"$work/text" 2>"$work/log"
    grep -q '^software ditbench .*projection: too little of this software has been measured on GPUs$' "$work/text" && ! grep -q ' best  ' "$work/text" &&
        grep -q '^mesh .* no less than s' "$work/text" && [ ! -s "$work/log" ]
    report $? "--times bounds simulates nothing; software that nobody measured is a projection"
    "$ditbench" explain "${tiny[@]}" --json >"$work/json" 2>/dev/null
    meshes=$(grep -c '"parallel":' "$work/json")
    [ "$meshes" -gt 5 ] && [ "$(grep -c '"profile":[[:space:]]*"torch-compile"' "$work/json")" -eq $((meshes + 1)) ] &&
        [ "$(grep -c '"verdict":' "$work/json")" -eq $((meshes + $(sed '/"text_encoders":/,$d' "$work/json" | grep -c '"code":'))) ] && grep -q '"verdict":[[:space:]]*"not legal: ' "$work/json"
    report $? "--json has profile and verdict of each mesh, and a verdict of each that is refused"
    "$ditbench" explain flux.1-dev --platform 8xrtx-4090 --gpus 2 -q >"$work/text" 2>&1
    grep -q '^u2 .* out of memory: 8.05 GiB missing of 32.05 GiB ' "$work/text"
    report $? "what fits as denoising, and not as a request, is out of memory, with what is missing"
    "$ditbench" explain flux.1-dev~one-of-each --platform 8xl40 --mesh "u2 r2" --num_inference_steps 8 >"$work/text" 2>"$work/log"
    grep -q '^a request (pipeline, torch-compile): [0-9.]* s simulated, .* bound by .* GiB a rank; fits' "$work/text"
    report $? "one mesh has its time, too"
    mkdir "$work/bin" && ln -s /usr/bin/* "$work/bin/" && rm -f "$work/bin/smpirun" &&
        PATH=$work/bin "$ditbench" explain "${tiny[@]}" >"$work/text" 2>"$work/log" && grep -q "^no times: SimGrid's smpirun is not installed" "$work/text" && grep -q '^u4 *ulysses ' "$work/text" &&
        PATH=$work/bin "$ditbench" explain "${tiny[@]}" --json 2>/dev/null | grep -q '"no_times":'
    report $? "without a simulator it says so and prints what is counted"
else
    report 0 "meshes have times # SKIP no simulator in this build (Debian: libsimgrid-dev)"
fi
"$ditbench" explain flux.1-dev --gpus 2 --platform local-cpu --profile torch-compile >"$work/log" 2>&1
[ $? -eq 2 ] && grep -q -e '--profile is of simulated platforms, and local-cpu is none' "$work/log"
report $? "software of a platform that is measured is refused"
"$ditbench" explain flux.1-dev --gpus 2 --platform 8xl40 --times fast >"$work/log" 2>&1
[ $? -eq 2 ] && grep -q 'simulated, bounds, none' "$work/log"
report $? "an unknown word for times is refused with those there are"
"$ditbench" explain --model pixart-alpha-xl-2~two-blocks --pipefusion_parallel_degree 2 >"$work/text" 2>&1 && grep -q 'mesh pp2' "$work/text"
report $? "xDiT's name for pipeline stages is taken"
"$ditbench" explain flux.1-dev --gpus 1 --height 1024 >"$work/text" 2>&1
[ $? -eq 2 ] && grep -q 'give both' "$work/text" && "$ditbench" explain --help | grep -q 'needs --width'
report $? "height and width go together, and help says so"
"$ditbench" explain flux.1-dev --gpus 1 --height 512 --width 512 --resolution 1024x1024 >"$work/text" 2>&1
[ $? -eq 2 ] && grep -q -e '--resolution says what --height and --width say' "$work/text"
report $? "a size is said in one way, not in two"
unsaid=0
for option in "--scope latents" "--calibration none" "--jobs 2" --fresh; do
    for place in "--platform local-cpu" "" "--platform 8xl40 --times none"; do
        # shellcheck disable=SC2086 # words
        "$ditbench" explain flux.1-dev --gpus 2 $place $option >"$work/log" 2>&1
        [ $? -eq 2 ] && grep -q -e "${option%% *} is of" "$work/log" || { unsaid=1 && echo "# $place $option: $(cat "$work/log")"; }
    done
done
report $unsaid "what speaks of times is refused where there are none"
"$ditbench" explain flux.1-dev --platform 8xl40 --scope all >"$work/log" 2>&1
[ $? -eq 2 ] && grep -q 'denoise, latents, pipeline' "$work/log" && "$ditbench" explain --help | grep -q 'pipeline, latents or denoise'
report $? "an unknown scope is refused with those there are, and help has them, too"
"$ditbench" explain --model pixart-alpha-xl-2 >/dev/null 2>&1
[ $? -eq 2 ]
report $? "without a number of devices it is a usage error"
"$ditbench" explain --model pixart-alpha-xl-2 --mesh "pp2 x3" >"$work/log" 2>&1
[ $? -eq 2 ] && grep -q '"x3"' "$work/log"
report $? "a label that is no mesh is a usage error that names the word"
"$ditbench" explain --model pixart-alpha-xl-2 --mesh "pp2" --gpus 4 >"$work/log" 2>&1
[ $? -eq 2 ]
report $? "a mesh and another number of devices contradict each other"
"$ditbench" explain --model pixart-alfa-xl-2 --gpus 2 >"$work/log" 2>&1
[ $? -eq 2 ] && grep -q 'pixart-alpha-xl-2' "$work/log"
report $? "a misspelt model is refused with the nearest name"
# T5-XXL, two prompts: what three others get from rank 0, a quarter of the blocks in fp32, and three ranks that cannot.
"$ditbench" explain "${small[@]}" --gpus 4 --json 2>"$work/log" | python3 -c 'import json, sys
rows = {row["text_encoder_parallel"]: row for row in json.load(sys.stdin)["text_encoders"]}
rows = {name: row for name, row in rows.items() if row["name"] == "t5-xxl" and row["prompts"] == 2}
tokens, blocks = rows["broadcast"]["tokens"], 24 * 4096 * (4 * 4096 + 3 * 10240)
assert rows["broadcast"]["sent_bytes"] == 3 * 2 * tokens * 4096 * 4 and rows["replicated"]["sent_bytes"] == 0, rows
assert rows["cfg"]["sent_bytes"] == tokens * 4096 * 4 and rows["replicated"]["weights_bytes"] == 4 * blocks, rows
assert rows["tensor"]["sent_bytes"] == 4 * 24 * 3 * (2 * tokens * 4096 * 4 // 4) and rows["tensor"]["weights_bytes"] == blocks
' >>"$work/log" 2>&1
report $? "text encoders weigh and send what the closed forms say, in each way"
"$ditbench" explain "${small[@]}" --gpus 3 >"$work/text" 2>"$work/log"
grep -qE '^t5-xxl .* tensor .*3 ranks do not divide' "$work/text" && grep -qE '^t5-xxl .* cfg .*3 ranks cannot be halved' "$work/text"
report $? "a way that so many ranks cannot go has its reason"
tap_end
