#!/usr/bin/env bash
# The program vae_decode: its record, pictures that depend on nothing but the seed, tiles, and what it refuses. TAP.
set -u
cd "$(dirname "$0")/../.." || exit 4
build=${DITBENCH_BUILD:-$PWD/build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. ci/tap.sh
each_isa engine/tests/test_vae_decode.sh "$build/bin/ditbench-engine"

kl='"_class_name": "AutoencoderKL", "block_out_channels": [8, 16], "norm_num_groups": 4, "sample_size": 32'
cog='"_class_name": "AutoencoderKLCogVideoX", "block_out_channels": [8, 16], "norm_num_groups": 4,
     "temporal_compression_ratio": 2, "sample_height": 64, "sample_width": 64'

wan='"_class_name": "AutoencoderKLWan", "base_dim": 8, "dim_mult": [1, 2], "num_res_blocks": 1, "temperal_downsample": [true]'
hunyuan='"_class_name": "AutoencoderKLHunyuanVideo", "block_out_channels": [8, 8, 16], "norm_num_groups": 4,
     "layers_per_block": 1, "spatial_compression_ratio": 4'

ltx='"_class_name": "AutoencoderKLLTXVideo", "latent_channels": 6, "patch_size": 2, "decoder_block_out_channels": [16, 16],
     "decoder_layers_per_block": [1, 1, 1], "decoder_spatio_temporal_scaling": [true, false], "decoder_inject_noise": [true, false, true]'
mochi='"_class_name": "AutoencoderKLMochi", "decoder_block_out_channels": [32, 32], "layers_per_block": [1, 0, 1],
     "temporal_expansions": [2], "spatial_expansions": [2]'
hunyuan15='"_class_name": "AutoencoderKLHunyuanVideo15", "latent_channels": 4, "block_out_channels": [8, 8, 16],
     "layers_per_block": 1, "spatial_compression_ratio": 4, "temporal_compression_ratio": 4'

# decode NAME CONFIG TIMES RUN TILING THREADS: exit status of the engine; record in $work/NAME/record.json
decode() {
    mkdir -p "$work/$1"
    cat >"$work/$1.json" <<END
{"schema": "ditbench.case/1", "program": "vae_decode",
 "vae": {"config": {$2}, "weights": {"kind": "seeded", "seed": 1}, "tiling": $5},
 "run": {$4, "seed": 3}, "platform": {"threads_per_rank": $6}, "measure": {"warmup_runs": 1, "iterations": $3}}
END
    "$build/bin/ditbench-engine" --case "$work/$1.json" --out "$work/$1" >"$work/$1.log" 2>&1
}

# member NAME KEY: the value of a member that stands on a line of its own
member() { sed -n "s/^[[:space:]]*\"$2\":[[:space:]]*\(.*[^,]\),*$/\1/p" "$work/$1/record.json" | head -n 1; }

square='"height_px": 48, "width_px": 40, "num_images": 2'
decode one "$kl" 3 "$square" false 1
report $? "pictures are decoded"
count=$(tr -d ' \t\n' <"$work/one/record.json" | sed 's/.*"samples":{"latency_ns":\[\([0-9,]*\)\].*/\1/' | tr ',' '\n' | grep -c .)
[ "$count" -eq 3 ]
report $? "the record has a sample an iteration"
[ "$(member one loop_allocations)" = 0 ]
report $? "decoding allocates nothing"
[ "$(member one tiled)" = false ]
report $? "without tiling nothing is tiled"

decode again "$kl" 1 "$square" false 2
[ -n "$(member one image_digest)" ] && [ "$(member one image_digest)" = "$(member again image_digest)" ]
report $? "the pictures have the same bits with two threads"
[ "$(member one convolution)" = "$(member again convolution)" ]
report $? "flops are of one iteration, however many there are"

decode tiled "$kl" 1 "$square" true 1
far=$(member tiled untiled_rel_l2)
[ "$(member tiled tiled)" = true ] && awk -v far="${far:-0}" 'BEGIN { exit !(far > 0 && far < 1) }'
report $? "tiles are used and their distance to the whole is in the record"
[ "$(member tiled image_digest)" != "$(member one image_digest)" ]
report $? "tiles change the pictures"

decode clip "$cog" 1 '"height_px": 16, "width_px": 24, "num_frames": 9' false 1
report $? "a clip of nine frames is decoded"

decode wan "$wan" 1 '"height_px": 16, "width_px": 24, "num_frames": 6' false 1
[ $? -eq 2 ] && grep -q 'E_CONSTRAINT_RESOLUTION: .*6 frames' "$work/wan.log" && grep -q 'one frame more than a multiple of 2' "$work/wan.log"
report $? "Wan has no latents for an even number of frames"
declare -A configs=([wan]=$wan [hunyuan]=$hunyuan [hunyuan15]=$hunyuan15 [ltx]=$ltx [mochi]=$mochi)
for vae in wan hunyuan hunyuan15 ltx mochi; do
    config=${configs[$vae]}
    decode "$vae-1" "$config" 1 '"height_px": 16, "width_px": 24, "num_frames": 25' false 1 &&
        decode "$vae-2" "$config" 1 '"height_px": 16, "width_px": 24, "num_frames": 25' false 2 &&
        [ -n "$(member "$vae-1" image_digest)" ] && [ "$(member "$vae-1" image_digest)" = "$(member "$vae-2" image_digest)" ] &&
        [ "$(member "$vae-1" loop_allocations)" = 0 ]
    report $? "a clip of 25 frames is decoded by $vae, of the same bits with two threads, and allocates nothing"
    decode "$vae-tiled" "$config" 1 '"height_px": 16, "width_px": 520, "num_frames": 5' true 1
    far=$(member "$vae-tiled" untiled_rel_l2)
    [ "$(member "$vae-tiled" tiled)" = true ] && awk -v far="${far:-0}" 'BEGIN { exit !(far > 0 && far < 1) }'
    report $? "$vae decodes in tiles"
done
decode channels "$wan, \"z_dim\": 4" 1 '"height_px": 16, "width_px": 24, "num_frames": 5' false 1
[ $? -ne 0 ] && grep -q 'E_SHAPE: latents_mean and latents_std have 16 values for 4 channels' "$work/channels.log"
report $? "statistics of another number of channels are refused"

decode frames "$cog" 1 '"height_px": 16, "width_px": 24, "num_frames": 6' false 1
[ $? -eq 2 ] && grep -q 'E_CONSTRAINT_RESOLUTION: .*6 frames' "$work/frames.log"
report $? "a number of frames that latents cannot give is refused"
decode pixels "$kl" 1 '"height_px": 47, "width_px": 40' false 1
[ $? -eq 2 ] && grep -q 'E_CONSTRAINT_RESOLUTION: 40 x 47 pixels' "$work/pixels.log"
report $? "a height that latents cannot give is refused"
decode class "${kl/AutoencoderKL/AutoencoderKLMagvit}" 1 "$square" false 1
[ $? -ne 0 ] && grep -q 'E_UNSUPPORTED: .*AutoencoderKLMagvit' "$work/class.log" && grep -q 'AutoencoderKLCogVideoX' "$work/class.log"
report $? "another class is refused, with those that are implemented"
tap_end
