#!/usr/bin/env bash
# One rank that emulates approximate methods: where it must be the exact run, that staleness matters, and that ranks
# which do the method give what it says. Every model of exact.json, one on instruction sets below the best. Speaks TAP.
# shellcheck disable=SC2086 # options are words
set -u
cd "$(dirname "$0")/../.." || exit 4
build=${DITBENCH_BUILD:-$PWD/build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. ci/tap.sh
each_isa engine/tests/test_oracle.sh "$build/bin/ditbench-engine"
steps=4

# The one-rank cases of exact.json, by model. Wan gets a second block: a pipeline has at least two.
"$build/bin/ditbench" run engine/tests/exact.json -q --filter 'world_size == 1' --output "$work/session" >"$work/log" 2>&1
report $? "the one-rank cases run"
models=()
for folder in "$work"/session/cases/*/; do
    ! grep -q '"emulates"' "$folder/case.json" || continue
    model=$(sed -nE '/"model"/{n;s/.*"name": "([^"]*)".*/\1/p;q}' "$folder/case.json")
    sed -e "s/\"num_inference_steps\": 3/\"num_inference_steps\": $steps/" -e '/^  "parallel": {/,/^  }/d' -e '/^  "attention": /d' \
        -e '/WanTransformer/,/text_dim/s/"num_layers": 1,/"num_layers": 2,/' "$folder/case.json" >"$work/$model.json"
    models+=("$model")
done
[ "${#models[@]}" -eq "$(grep -c '"as": "tiny"' engine/tests/exact.json)" ]
report $? "every model has one: ${models[*]}"

# run NAME MODEL KEY CONFIGURATION [option...]: the model's case with {"KEY": {CONFIGURATION}}, on RANKS ranks
run() {
    local name=$1 model=$2 key=$3 configuration=$4
    shift 4
    sed "1s/{/{\"$key\": {$configuration},/" "$work/$model.json" >"$work/$name.json"
    rm -rf "${work:?}/$name"
    set -- "$build/bin/ditbench-engine" --case "$work/$name.json" --out "$work/$name" "$@"
    [ "${RANKS:-1}" -eq 1 ] || set -- mpirun --allow-run-as-root --oversubscribe -n "$RANKS" "$@"
    "$@" >"$work/$name.log" 2>&1
}
# value NAME KEY: of a record
value() { sed -nE "s/^ *\"$2\": *\"?([^\",]*)\"?,?$/\1/p" "$work/$1/record.json" | head -n 1; }
emulate() { run "$1" "$2" emulates "$3" --reference "$work/plain/latents.safetensors"; }
# holds EXPRESSION: of numbers
holds() { awk "BEGIN { exit !($1) }"; }
same() { [ -n "$(value "$1" latent_digest)" ] && [ "$(value "$1" latent_digest)" = "$(value plain latent_digest)" ]; }

[ "$short" = 0 ] || models=(pixart-alpha-xl-2)
pipeline='"pipefusion_degree": 2, "num_pipeline_patch"'
for model in "${models[@]}"; do
    if grep -q '"SanaTransformer2DModel"' "$work/$model.json"; then
        ! emulate stale "$model" "$pipeline: 4, \"warmup_steps\": $steps" && grep -q 'E_CONSTRAINT_METHOD.*attention is linear' "$work/stale.log"
        report $? "$model: linear attention has no bands"
        continue
    fi
    if grep -q '"transformer_2"' "$work/$model.json"; then # a stale step would use K and V of the other transformer
        ! emulate stale "$model" "$pipeline: 4, \"warmup_steps\": 1" && grep -q 'E_CONSTRAINT_METHOD.*two transformers' "$work/stale.log" &&
            run plain "$model" parallel '' && emulate synchronous "$model" "$pipeline: 4, \"warmup_steps\": $steps" && same synchronous
        report $? "$model: two transformers run synchronous steps only"
        continue
    fi
    run plain "$model" parallel '' && [ "$(value plain exact)" = true ] && [ "$(value plain stale_steps)" = 0 ] &&
        emulate synchronous "$model" "$pipeline: 4, \"warmup_steps\": $steps" && same synchronous &&
        [ "$(value synchronous exact)" = true ] && [ "$(value synchronous pass)" = true ]
    report $? "$model: without stale steps it is the exact run, bit for bit"
    emulate band "$model" "$pipeline: 1, \"warmup_steps\": 0" && same band && [ "$(value band stale_steps)" -eq $steps ]
    report $? "$model: with one band, which is always fresh, too"
    emulate first "$model" "$pipeline: 4, \"warmup_steps\": 1" && [ "$(value first exact)" = false ] &&
        [ "$(value first stale_steps)" -eq $((steps - 1)) ] && [ -z "$(value first pass)" ] &&
        holds "$(value first rel_l2) > 1e-6 && $(value first psnr_db) > 10"
    report $? "$model: stale steps show, as a figure without a verdict ($(value first rel_l2))"
    emulate fill "$model" "$pipeline: 4, \"warmup_steps\": 0" &&
        [ "$(value fill latent_digest)" = "$(value first latent_digest)" ] && [ "$(value fill stale_steps)" -eq $steps ]
    report $? "$model: the fill knows what the first step finds, so step 0 is exact either way"
    # Where the last step does not weigh most (flow matching without a shift: it is as long as the others).
    case $model in flux* | hunyuanvideo) continue ;; esac
    emulate last "$model" "$pipeline: 4, \"warmup_steps\": $((steps - 1))" && holds "$(value last rel_l2) < $(value first rel_l2)"
    report $? "$model: more synchronous steps, smaller distance ($(value last rel_l2))"
done

# What patches know of each other: all, the neighbours' nearest rows, nothing.
model=flux.1-dev
run plain "$model" parallel ''
for method in '"patch_method": "distrifusion", "joint_text": "replicate"' '"patch_method": "pcpp", "patch_fraction": 1' \
    '"patch_method": "pcpp"' '"patch_method": "naive-patch"'; do
    emulate patches "$model" "\"patch_degree\": 2, \"warmup_steps\": 1, $method"
    value patches latent_digest
    value patches rel_l2 >&2
done >"$work/digests" 2>"$work/distances"
[ "$(sed -n 1p "$work/digests")" = "$(sed -n 2p "$work/digests")" ] && [ "$(sort -u "$work/digests" | wc -l)" -eq 3 ]
report $? "two patches: all rows of the neighbour are all there are, half of them are not, none is something else"
sort -g -c "$work/distances"
report $? "the less patches know, the farther the result: $(tr '\n' ' ' <"$work/distances")"
emulate split "$model" '"patch_degree": 2, "warmup_steps": 1, "joint_text": "split"' &&
    [ "$(value split latent_digest)" != "$(head -n 1 "$work/digests")" ]
report $? "whether the text is split matters"

# Ranks against the oracle: two runs of different code, one answer.
check() { # MODEL RANKS CONFIGURATION
    local status
    run plain "$1" parallel '' && emulate oracle "$1" "$3" &&
        RANKS=$2 run ranks "$1" parallel "$3" --reference "$work/plain/latents.safetensors" --oracle "$work/oracle/latents.safetensors" &&
        [ "$(value ranks exact)" = false ] && [ "$(value ranks pass)" = true ] && holds "$(value ranks oracle_rel_l2) <= 1e-5" &&
        holds "$(value ranks rel_l2) > 1e-5" && ! grep -q '_ns": *-' "$work"/ranks/*.json
    status=$?
    report $status "$1: $2 ranks give what the oracle says of $3"
    [ $status -eq 0 ] || tail -n 3 "$work/ranks.log" | sed 's/^/# /'
}
check pixart-alpha-xl-2 2 "$pipeline: 3, \"warmup_steps\": 0"
if [ "$short" = 1 ]; then
    tap_end
    exit 0
fi
check sd3.5-medium 4 "$pipeline: 4, \"ring_degree\": 2, \"warmup_steps\": 1"
check hunyuanvideo 2 '"patch_degree": 2, "warmup_steps": 2'
check latte-1 4 '"patch_degree": 4, "patch_method": "pcpp", "warmup_steps": 1'
check flux.1-dev 2 '"patch_degree": 2, "patch_method": "naive-patch", "warmup_steps": 1'
check latte-1 4 '"patch_degree": 4, "patch_method": "video-infinity", "halo_frames": 1'
check hunyuanvideo 2 '"patch_degree": 2, "patch_method": "video-infinity", "global_frames": 2, "warmup_steps": 1'

# The verdict is the oracle's, and it can be no.
run plain "$model" parallel ''
emulate oracle "$model" '"patch_degree": 2, "patch_method": "pcpp", "warmup_steps": 1'
RANKS=2 run ranks "$model" parallel '"patch_degree": 2, "patch_method": "naive-patch", "warmup_steps": 1' \
    --reference "$work/plain/latents.safetensors" --oracle "$work/oracle/latents.safetensors"
[ $? -eq 6 ] && [ "$(value ranks pass)" = false ] && grep -q 'E_MISMATCH.*oracle' "$work/ranks.log"
report $? "another method's oracle fails the case with E_MISMATCH, exit code 6"
RANKS=2 run ranks "$model" parallel '"patch_degree": 2, "patch_method": "naive-patch", "warmup_steps": 1' \
    --reference "$work/plain/latents.safetensors"
[ $? -eq 0 ] && [ -z "$(value ranks pass)" ] && [ "$(value ranks reason)" = "no oracle of the approximate method was given" ] &&
    holds "$(value ranks rel_l2) > 1e-5"
report $? "without an oracle an approximate case has a distance and no verdict"
RANKS=2 run ranks "$model" emulates '"patch_degree": 2'
[ $? -ne 0 ]
report $? "two ranks do not emulate"
tap_end
