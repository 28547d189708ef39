#!/usr/bin/env bash
# Decodes shared by rows on 2, 3 and 4 ranks: the pictures of one rank, exactly the bytes of the closed form, less memory
# a rank, and what is refused. Uneven shares and shares of one row. Decodes shared by frames: the same, equal to the bit.
# Speaks TAP.
set -u
cd "$(dirname "$0")/../.." || exit 4
build=${DITBENCH_BUILD:-$PWD/build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. ci/tap.sh
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
engine=$build/bin/ditbench-engine

kl='"_class_name": "AutoencoderKL", "block_out_channels": [8, 16, 16], "norm_num_groups": 4, "sample_size": 32'
cog='"_class_name": "AutoencoderKLCogVideoX", "block_out_channels": [8, 16, 16], "norm_num_groups": 4,
     "layers_per_block": 1, "temporal_compression_ratio": 4, "sample_height": 64, "sample_width": 64'
wan='"_class_name": "AutoencoderKLWan", "base_dim": 8, "dim_mult": [1, 2, 2], "num_res_blocks": 1,
     "temperal_downsample": [true, true]'
hunyuan='"_class_name": "AutoencoderKLHunyuanVideo", "block_out_channels": [8, 16, 16], "norm_num_groups": 4,
     "layers_per_block": 1, "spatial_compression_ratio": 4'

ltx='"_class_name": "AutoencoderKLLTXVideo", "latent_channels": 6, "patch_size": 2, "decoder_block_out_channels": [8, 8, 16],
     "decoder_layers_per_block": [1, 1, 2, 1], "decoder_spatio_temporal_scaling": [true, true, false]'
denoising='"_class_name": "AutoencoderKLLTXVideo", "latent_channels": 6, "patch_size": 2, "decoder_block_out_channels": [8, 16],
     "decoder_layers_per_block": [1, 1, 1], "decoder_spatio_temporal_scaling": [true, true], "upsample_factor": [2, 2],
     "upsample_residual": [true, true], "decoder_inject_noise": [true, true, true], "timestep_conditioning": true'
mochi='"_class_name": "AutoencoderKLMochi", "latent_channels": 12, "decoder_block_out_channels": [32, 32, 64],
     "layers_per_block": [1, 1, 0, 1], "temporal_expansions": [2, 3], "spatial_expansions": [2, 2]'
dc='"_class_name": "AutoencoderDC", "latent_channels": 4, "attention_head_dim": 4, "decoder_qkv_multiscales": [[], [], [5]],
     "decoder_block_types": ["ResBlock", "ResBlock", "EfficientViTBlock"], "decoder_block_out_channels": [8, 8, 16],
     "decoder_layers_per_block": [1, 2, 1]'
hunyuan15='"_class_name": "AutoencoderKLHunyuanVideo15", "latent_channels": 4, "block_out_channels": [8, 8, 16],
     "layers_per_block": 1, "spatial_compression_ratio": 4, "temporal_compression_ratio": 4'

# decode NAME CONFIG RUN RANKS TILING [SEED [REFERENCE [SPLIT]]]: exit status; record in $work/NAME/record.json. RANKS may be
# "4:3", four processes for a case of three ranks.
decode() {
    local words=(--case "$work/$1.json" --out "$work/$1") ranks=${4%:*}
    mkdir -p "$work/$1"
    [ -z "${7:-}" ] || words+=(--reference "$work/$7/images.safetensors")
    cat >"$work/$1.json" <<END
{"schema": "ditbench.case/1", "program": "vae_decode",
 "vae": {"config": {$2}, "weights": {"kind": "seeded", "seed": 1}, "tiling": $5, "split": "${8:-rows}"},
 "run": {$3, "seed": ${6:-3}}, "parallel": {"rows_degree": ${4#*:}}, "platform": {"threads_per_rank": 1},
 "measure": {"warmup_runs": 1, "iterations": 2}}
END
    if [ "$ranks" = 1 ]; then
        "$engine" "${words[@]}" >"$work/$1.log" 2>&1
    else
        mpirun --oversubscribe --bind-to none -n "$ranks" --mca plm isolated --mca pml ob1 --mca btl self,vader \
            --mca btl_vader_single_copy_mechanism none --mca mpi_yield_when_idle 1 "$engine" "${words[@]}" >"$work/$1.log" 2>&1
    fi
}

# member FILE KEY: the value of the first such member that stands on a line of its own
member() { sed -n "s/^[[:space:]]*\"$2\":[[:space:]]*\(.*[^,]\),*$/\1/p" "$work/$1" | head -n 1; }

# Exact, counted, without an allocation on any rank; rows travel, and moments but for Wan, LTX-Video, HunyuanVideo 1.5 and AutoencoderDC.
holds() { # NAME
    local record=$work/$1/record.json
    [ "$(member "$1/record.json" communication_match)" = true ] && [ "$(member "$1/record.json" pass)" = true ] &&
        [ -n "$(member "$1/record.json" rel_l2)" ] && grep -q '"send_recv"' "$record" && { [[ $1 == wan* || $1 == ltx* || $1 == 15* || $1 == dc* ]] || grep -q '"all_reduce"' "$record"; } &&
        ! grep -q '"loop_allocations": [1-9]' "$record"
}

# shared WHAT CONFIG RUN RANKS...: one rank first, then each number of ranks against it. A rank's activations are fewer
# than with fewer ranks; where the middle block, which is not shared, outweighs the rest, at least not more.
shared() {
    local what=$1 config=$2 run=$3 ranks before now status
    shift 3
    decode "$what-1" "$config" "$run" 1 false
    report $? "$what: one rank"
    before=$(member "$what-1/record.json" activations_bytes)
    for ranks; do
        decode "$what-$ranks" "$config" "$run" "$ranks" false 3 "$what-1" && holds "$what-$ranks"
        status=$?
        report "$status" "$what: $ranks ranks decode the pictures of one, as many bytes as predicted"
        [ "$status" -eq 0 ] || sed 's/^/# /' "$work/$what-$ranks.log"
        now=$(member "$what-$ranks/record.json" activations_bytes)
        [ "${now:-$before}" -lt "${before:-0}" ] || { [ "$what" = one-stage ] && [ "$now" = "$before" ]; }
        report $? "$what: a rank's activations on $ranks ranks: $now bytes after $before"
        before=$now
    done
}

shared even "$kl" '"height_px": 48, "width_px": 40, "num_images": 2' 2 3 4
shared uneven "$kl" '"height_px": 44, "width_px": 36' 2 3 4
shared one-row "$kl" '"height_px": 16, "width_px": 24' 4
shared mostly-one-row "$kl" '"height_px": 20, "width_px": 24' 4
shared frames "$kl" '"height_px": 28, "width_px": 24, "num_frames": 3' 3
shared clip "$cog" '"height_px": 44, "width_px": 24, "num_frames": 17' 2 3 4
shared even-clip "$cog" '"height_px": 20, "width_px": 24, "num_frames": 16, "num_images": 2' 2 4
shared still "$cog" '"height_px": 28, "width_px": 20, "num_frames": 1' 3
shared wan-clip "$wan" '"height_px": 44, "width_px": 24, "num_frames": 13, "num_images": 2' 2 3 4
shared wan-still "$wan" '"height_px": 28, "width_px": 20, "num_frames": 1' 3
shared hunyuan-clip "$hunyuan" '"height_px": 44, "width_px": 24, "num_frames": 25' 2 4
shared hunyuan-still "$hunyuan" '"height_px": 28, "width_px": 20, "num_frames": 1' 3
shared hunyuan-no-attention "$hunyuan, \"mid_block_add_attention\": false" '"height_px": 20, "width_px": 12, "num_frames": 13' 3
shared ltx-clip "$ltx" '"height_px": 40, "width_px": 24, "num_frames": 13' 2 4
shared ltx-still "$ltx" '"height_px": 24, "width_px": 16, "num_frames": 1' 3
shared ltx-causal "$ltx, \"decoder_causal\": true" '"height_px": 24, "width_px": 16, "num_frames": 9, "num_images": 2' 2
shared ltx-denoising "$denoising" '"height_px": 40, "width_px": 24, "num_frames": 9' 2 3
shared mochi-clip "$mochi" '"height_px": 20, "width_px": 12, "num_frames": 19' 2 4
shared mochi-odd "$mochi" '"height_px": 20, "width_px": 12, "num_frames": 25, "num_images": 2' 3
shared mochi-still "$mochi" '"height_px": 12, "width_px": 12, "num_frames": 1' 3
shared 15-clip "$hunyuan15" '"height_px": 44, "width_px": 24, "num_frames": 13, "num_images": 2' 2 3
shared 15-unmatched "$hunyuan15, \"upsample_match_channel\": false" '"height_px": 20, "width_px": 12, "num_frames": 9' 4
shared 15-still "$hunyuan15" '"height_px": 28, "width_px": 20, "num_frames": 1' 3
shared dc-even "$dc" '"height_px": 48, "width_px": 40, "num_images": 2' 2 3 4
shared dc-uneven "$dc, \"upsample_block_type\": \"interpolate\"" '"height_px": 20, "width_px": 12' 3
shared no-attention "$kl, \"mid_block_add_attention\": false" '"height_px": 12, "width_px": 20' 3
shared one-stage '"_class_name": "AutoencoderKL", "block_out_channels": [8], "norm_num_groups": 8' \
    '"height_px": 9, "width_px": 7' 2 4

# by_frames WHAT CONFIG RUN RANKS...: after `shared` of that name. Each rank holds what one rank holds.
by_frames() {
    local what=$1 config=$2 run=$3 ranks before now
    shift 3
    before=$(member "$what-1/record.json" activations_bytes)
    for ranks; do
        decode "$what-frames-$ranks" "$config" "$run" "$ranks" false 3 "$what-1" frames &&
            [ "$(member "$what-frames-$ranks/record.json" rel_l2)" = 0 ] &&
            [ "$(member "$what-frames-$ranks/record.json" communication_match)" = true ] &&
            grep -q '"send_recv"' "$work/$what-frames-$ranks/record.json"
        report $? "$what: $ranks ranks deal its frames, equal to the bit, as many bytes as predicted"
        now=$(member "$what-frames-$ranks/record.json" activations_bytes)
        [ "${now:-0}" = "$before" ]
        report $? "$what: a rank's activations are those of one rank: $now bytes"
    done
}
by_frames clip "$cog" '"height_px": 44, "width_px": 24, "num_frames": 17' 2
by_frames even-clip "$cog" '"height_px": 20, "width_px": 24, "num_frames": 16, "num_images": 2' 2
by_frames mochi-clip "$mochi" '"height_px": 20, "width_px": 12, "num_frames": 19' 2
by_frames mochi-odd "$mochi" '"height_px": 20, "width_px": 12, "num_frames": 25, "num_images": 2' 2
by_frames 15-clip "$hunyuan15" '"height_px": 44, "width_px": 24, "num_frames": 13, "num_images": 2' 2 3
by_frames wan-clip "$wan" '"height_px": 44, "width_px": 24, "num_frames": 13, "num_images": 2' 2 3

# Memory is divided, not only less, where the picture outweighs the middle; within a hundredth for the norms' sums.
large=${kl/'[8, 16, 16]'/'[16, 16, 16]'}
decode large-1 "$large" '"height_px": 256, "width_px": 64' 1 false
decode large-4 "$large" '"height_px": 256, "width_px": 64' 4 false 3 large-1
one=$(member large-1/record.json activations_bytes) four=$(member large-4/record.json activations_bytes)
[ "${four:-0}" -gt 0 ] && [ $((400 * four)) -le $((101 * ${one:-0})) ]
report $? "four ranks hold a quarter of the activations each: $four of $one bytes"

# ---- what is refused ------------------------------------------------------------------------------------------------

refused() { # NAME CODE, after decode: exit status $? was not zero and the log names the code and the words
    grep -q "$2" "$work/$1.log"
}
decode few "$kl" '"height_px": 12, "width_px": 24' 4 false
[ $? -eq 2 ] && refused few 'E_CONSTRAINT_DEGREE: .*latents of 3 rows'
report $? "more ranks than rows of latents are refused with the number of rows"
decode tiles "$kl" '"height_px": 48, "width_px": 40' 2 true
[ $? -ne 0 ] && refused tiles 'E_UNSUPPORTED: .*tiles cannot be shared by rows'
report $? "tiles cannot be shared by rows"
decode no-chunks "$hunyuan" '"height_px": 44, "width_px": 24, "num_frames": 25' 2 false 3 hunyuan-clip-1 frames
[ $? -ne 0 ] && refused no-chunks 'E_UNSUPPORTED: split frames'
report $? "a decoder that does not walk chunk by chunk cannot be shared by frames"
decode few-chunks "$wan" '"height_px": 44, "width_px": 24, "num_frames": 5' 4 false 3 wan-clip-1 frames
[ $? -eq 2 ] && refused few-chunks 'E_CONSTRAINT_DEGREE: .*4 ranks for the 2 chunks of 2 latent frames'
report $? "more ranks than chunks are refused with the number of chunks"
decode ranks "$kl" '"height_px": 48, "width_px": 40' 4:3 false
[ $? -eq 2 ] && refused ranks E_CONSTRAINT_PRODUCT
report $? "another number of ranks than rows_degree is refused"

# ---- checks that can fail -------------------------------------------------------------------------------------------

decode other "$kl" '"height_px": 44, "width_px": 36' 1 false 4
decode against-other "$kl" '"height_px": 44, "width_px": 36' 2 false 3 other
[ $? -eq 6 ] && refused against-other E_MISMATCH
report $? "pictures of another seed are a mismatch, exit code 6"

engine=$build/tests/ditbench-engine-fault
export DITBENCH_FAULT=bytes:world
decode wrong-formula "$kl" '"height_px": 44, "width_px": 36' 3 false 3 uneven-1
[ $? -eq 6 ] && refused wrong-formula E_BYTES_MISMATCH
report $? "a wrong closed form is a mismatch of bytes, exit code 6"

# Variances averaged over ranks, as public code does it: the variance between ranks is lost.
export DITBENCH_FAULT=variance
decode wrong-norm "$kl" '"height_px": 44, "width_px": 36' 3 false 3 uneven-1
[ $? -eq 6 ] && refused wrong-norm E_MISMATCH
report $? "averaged variances are a mismatch of pictures, exit code 6"
tap_end
