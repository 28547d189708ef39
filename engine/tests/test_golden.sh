#!/usr/bin/env bash
# Every shipped golden folder: all kinds on one rank, transformers and sampling loops in each exact configuration of 2
# and 4 ranks, VAEs shared by rows on 2, 3 and 4; the long form (DITBENCH_TEST_ALL=1) has all of that. The form for a
# commit has every folder on one rank; on each axis, and on one product of two, it has a transformer of each class, on
# some axes a loop of each pipeline, and a loop of each cache. On instruction sets below the best, one rank and the first
# folder of each class. Speaks TAP.
# shellcheck disable=SC2154 # ci/tap.sh says what is short
set -u
cd "$(dirname "$0")/../.." || exit 4
ditbench=${DITBENCH_BUILD:-$PWD/build}/bin/ditbench
golden=engine/tests/golden
. ci/tap.sh
export MALLOC_PERTURB_=165 # memory that nobody has written is not zero
each_isa engine/tests/test_golden.sh "${ditbench%/*}/ditbench-engine"
in_long() { [ "${DITBENCH_TEST_ALL:-0}" != 1 ] || "$@"; } # only in the long form (DITBENCH_TEST_ALL=1)

# What has a sequence to divide, and what has not.
sampled=() vaes=() texts=() single=() cached=()
export DITBENCH_WORKLOADS=${DITBENCH_WORKLOADS:-$PWD/workloads} # has the trained models that some loops name
for folder in "$golden"/*/; do
    folder=${folder%/}
    if grep -q '"cache"' "$folder/e2e.json" 2>/dev/null; then
        cached+=("$folder")
    elif [ -e "$folder/e2e.json" ] || grep -q 'Transformer\|HunyuanDiT2DModel' "$folder/config.json" 2>/dev/null; then
        sampled+=("$folder")
    elif grep -q '"Autoencoder\|"PixelShuffle' "$folder/config.json" 2>/dev/null; then
        vaes+=("$folder")
    elif [ -e "$folder/text.json" ]; then
        texts+=("$folder")
    else
        single+=("$folder")
    fi
done
# How many folders are loops without guidance, which a CFG mesh skips.
unguided() {
    local folder count=0
    for folder; do
        grep -q '"FluxPipeline\|"FluxKontextPipeline\|"FluxFillPipeline\|"Flux2Pipeline\|"HunyuanVideoPipeline' "$folder/e2e.json" 2>/dev/null || continue
        grep -q true_cfg_scale "$folder/e2e.json" || count=$((count + 1))
    done
    echo "$count"
}

# How many folders are loops whose cache leaves out a guidance branch, which needs all rows and both branches on a rank.
whole() {
    local folder count=0
    for folder; do
        if grep -q '"unconditional"' "$folder/e2e.json" 2>/dev/null; then count=$((count + 1)); fi
    done
    echo "$count"
}

# How many folders are of models whose attention is linear, which have no stages, no patches, and one axis of the sequence.
linear() {
    local folder count=0
    for folder; do
        if grep -q '"SanaTransformer2DModel\|"SanaPipeline' "$folder/config.json" "$folder/e2e.json" 2>/dev/null; then count=$((count + 1)); fi
    done
    echo "$count"
}

# rows_below RANKS: how many VAEs' latents have fewer rows than ranks, which are refused.
rows_below() {
    local folder rows count=0
    for folder in "${vaes[@]}"; do
        rows=$(sed -nE 's/^\| `latents` \|.*, ([0-9]+), [0-9]+\] \|.*/\1/p' "$folder/README.md")
        if [ "${rows:-$1}" -lt "$1" ]; then count=$((count + 1)); fi
    done
    echo "$count"
}

# Runs the folders with the options: exactly `skips` of them may be skipped, the rest must pass.
check() { # what, skips, folders and options...
    local what=$1 skips=$2 output status folders=0 option
    shift 2
    for option; do [ -d "$option" ] && folders=$((folders + 1)); done
    output=$("$ditbench" golden "$@" 2>&1)
    status=$?
    [ "$(grep -c ': pass, worst' <<<"$output")" -eq $((folders - skips)) ] &&
        [ "$(grep -c ': skip: E_' <<<"$output")" -eq "$skips" ] &&
        { [ "$status" -eq 0 ] || { [ "$status" -eq 77 ] && [ "$folders" -eq "$skips" ]; }; }
    status=$?
    [ "$status" -eq 0 ] || sed 's/^/# /' <<<"$output"
    report "$status" "$what"
}

# one_of_each FILE KEY FOLDER...: of the folders whose FILE has the KEY, the first with each value.
one_of_each() {
    local file=$1 key=$2 folder value
    shift 2
    for folder; do
        value=$(sed -nE "s/.*\"$key\": \"([^\"]*)\".*/\1/p" "$folder/$file" 2>/dev/null)
        [ -z "$value" ] || echo "$value $folder"
    done | sort -s -u -k 1,1 | cut -d ' ' -f 2
}
mapfile -t policies < <(one_of_each e2e.json policy "${cached[@]}")

if [ "$short" = 1 ]; then
    check "schedulers and operators agree with diffusers" 0 "${single[@]}"
    mapfile -t folders < <(one_of_each config.json _class_name "$golden"/*/)
    check "a model of each of ${#folders[@]} classes agrees with diffusers" 0 "${folders[@]}"
    check "text encoders agree with transformers" 0 "${texts[@]}"
    check "a loop of each cache agrees with diffusers' hooks" 0 "${policies[@]}"
    [ "${#folders[@]}" -ge 10 ]
    report $? "there are ten classes at least"
    tap_end
    exit 0
fi
check "VAEs, schedulers and operators agree with diffusers" 0 "${vaes[@]}" "${single[@]}"
check "text encoders agree with transformers" 0 "${texts[@]}"
check "VAEs agree with diffusers on two ranks" 0 "${vaes[@]}" --ranks 2
in_long check "VAEs agree with diffusers on three ranks" "$(rows_below 3)" "${vaes[@]}" --ring_degree 3
in_long check "VAEs agree with diffusers on four ranks" "$(rows_below 4)" "${vaes[@]}" --cfg_degree 2 --ulysses_degree 2
check "what has nothing to divide is skipped on two ranks" ${#single[@]} "${single[@]}" --ranks 2 --ulysses_degree 2
parallel() { # skips, options...
    local skips=$1
    shift
    check "transformers agree with diffusers: ${*:-one rank}" "$skips" "${sampled[@]}" "$@"
}
parallel 0
parallel 0 --backend ref
# Of each class the last transformer, and a loop of each pipeline, the first, which is often of another one.
transformers=("${sampled[@]}")
if [ "${DITBENCH_TEST_ALL:-0}" != 1 ]; then
    mapfile -t backwards < <(printf '%s\n' "${sampled[@]}" | tac)
    mapfile -t transformers < <(one_of_each config.json _class_name "${backwards[@]}")
    mapfile -t sampled < <(printf '%s\n' "${transformers[@]}" && one_of_each e2e.json pipeline "${sampled[@]}")
fi
parallel 0 --ulysses_degree 2
parallel "$(unguided "${sampled[@]}")" --cfg_degree 2
in_long parallel 0 --ulysses_degree 4
in_long parallel 0 --ring_degree 4
# Of a pipeline, run synchronously, the loops' final latents are compared; a folder may have none.
forwards=$(for folder in "${sampled[@]}"; do [ -e "$folder/e2e.json" ] || echo "$folder"; done | wc -l)
mapfile -t loops < <(for folder in "${sampled[@]}"; do [ ! -e "$folder/e2e.json" ] || echo "$folder"; done)
bare=$(for folder in "${loops[@]}"; do grep -qa latents_final "$folder/output.safetensors" || echo "$folder"; done | wc -l)
forwards=$((forwards + $(linear "${loops[@]}") + bare))
parallel "$forwards" --pipefusion_degree 2
in_long parallel "$forwards" --pipefusion_degree 2 --ulysses_degree 2
in_long parallel 0 --tensor_degree 2 --ulysses_degree 2
in_long parallel 0 --tensor_degree 2 --ring_degree 2
in_long parallel "$(unguided "${sampled[@]}")" --tensor_degree 2 --cfg_degree 2
in_long parallel 0 --tensor_degree 4
in_long parallel 0 --tensor_degree 2 --backend ref
sampled=("${transformers[@]}")
parallel 0 --ring_degree 2
parallel "$(linear "${sampled[@]}")" --ulysses_degree 2 --ring_degree 2
parallel 0 --ulysses_degree 2 --joint_text replicate
parallel 0 --tensor_degree 2
parallel "$(linear "${sampled[@]}")" --patch_degree 2

# Loops with a cache: latents and decisions of diffusers' own hooks. Meshes that reuse keys and values refuse a cache.
agree() { # skips, options...
    local skips=$1
    shift
    check "caches agree with diffusers' hooks: ${*:-one rank}" "$skips" "${cached[@]}" "$@"
}
[ "${#cached[@]}" -ge 20 ] && agree 0
[ "${DITBENCH_TEST_ALL:-0}" = 1 ] || cached=("${policies[@]}")
agree "$(whole "${cached[@]}")" --ulysses_degree 2
agree "$(whole "${cached[@]}")" --ring_degree 2
agree $(($(unguided "${cached[@]}") + $(whole "${cached[@]}"))) --cfg_degree 2
agree "$(whole "${cached[@]}")" --ulysses_degree 2 --ring_degree 2
in_long agree 0 --tensor_degree 2
in_long agree 0 --backend ref
agree "${#cached[@]}" --patch_degree 2

# A check that cannot fail is none: a decision that the folder's run did not take is seen.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$golden/e2e_flux_dev_fbcache" "$golden/flux_dev" "$work/"
sed -i 's/"decisions": "1000/"decisions": "1001/' "$work/e2e_flux_dev_fbcache/e2e.json"
"$ditbench" golden "$work/e2e_flux_dev_fbcache" >"$work/out" 2>&1
[ $? -eq 6 ] && grep -q 'decisions.*FAIL.*decided 1001.*this one 1000' "$work/out"
report $? "a decision that differs is a mismatch, exit code 6"

# What a config says and the class cannot be, or is not built for, is refused with the numbers.
refused() { # folder, words of the message, what is changed in the config
    rm -rf "$work/changed" && cp -r "$golden/$1" "$work/changed" && sed -i "$3" "$work/changed/config.json"
    ! "$ditbench" golden "$work/changed" >"$work/out" 2>&1 && grep -q "$2" "$work/out"
    report $? "$1 refused: $2"
}
refused lumina2 'num_attention_heads 4 is not divisible by num_kv_heads 3' 's/"num_kv_heads": 2/"num_kv_heads": 3/'
refused lumina2 'hidden_size 24 is not divisible by num_attention_heads 5' 's/"num_attention_heads": 4/"num_attention_heads": 5/'
refused lumina2 'out_channels 4 differ from in_channels 3' 's/"out_channels": null/"out_channels": 4/'
refused ltx 'cross_attention_dim 36 differs from the hidden size 32' 's/"cross_attention_dim": 32/"cross_attention_dim": 36/'
refused ltx 'patch_size is 2, but only 1' 's/"patch_size": 1/"patch_size": 2/'
refused ltx 'out_channels 8 differ from in_channels 6' 's/"out_channels": 6/"out_channels": 8/'
refused mochi 'pooled_projection_dim 36 above the hidden size 32' 's/"pooled_projection_dim": 20/"pooled_projection_dim": 36/'
refused mochi 'text_embed_dim 25 is not divisible by 8' 's/"text_embed_dim": 24/"text_embed_dim": 25/'
refused mochi 'out_channels 4 differ from in_channels 3' 's/"out_channels": null/"out_channels": 4/'
refused sana 'guidance_embeds is true, but only false' 's/"guidance_embeds": false/"guidance_embeds": true/'
refused sana 'qk_norm is rms_norm_across_heads, but only null' 's/"qk_norm": null/"qk_norm": "rms_norm_across_heads"/'
refused sana 'cross_attention_dim 40 differs from the hidden size 48' 's/"cross_attention_dim": 48/"cross_attention_dim": 40/'
refused ltx2 'cross_attention_dim 36 differs from the hidden size 32' 's/"cross_attention_dim": 32/"cross_attention_dim": 36/'
refused ltx2 'gated_attn is true, but only false' 's/"gated_attn": false/"gated_attn": true/'
refused ltx2 'rope_type "whole" is neither' 's/"rope_type": "split"/"rope_type": "whole"/'
refused ltx2 'vae_scale_factors must be three' '0,/^    32,$/s//    16,/'
refused flux_fill 'in_channels 272 below out_channels 280' 's/"out_channels": 8/"out_channels": 280/'
refused flux_fill '10 channels of a token are not a multiple of 4' 's/"out_channels": 8/"out_channels": 10/'

# Nor without this one: one changed weight must be seen, by name and with exit code 6.
cp -r "$golden/flux_schnell" "$work/"
size=$(stat -c %s "$work/flux_schnell/diffusion_pytorch_model.safetensors")
printf '\x3f' | dd of="$work/flux_schnell/diffusion_pytorch_model.safetensors" bs=1 seek=$((size - 1)) conv=notrunc 2>/dev/null
"$ditbench" golden "$work/flux_schnell" >"$work/out" 2>&1
[ $? -eq 6 ] && grep -q ': fail' "$work/out"
report $? "a changed weight is a mismatch, exit code 6"
mkdir "$work/unknown"
printf '{"_class_name": "NoSuchTransformer"}' >"$work/unknown/config.json"
"$ditbench" golden "$work/unknown" >"$work/out" 2>&1
[ $? -eq 77 ] && grep -q E_UNSUPPORTED "$work/out"
report $? "an architecture that is not implemented is skipped with its reason, exit code 77"
tap_end
