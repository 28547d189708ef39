#!/usr/bin/env bash
# Everything on device "host", whose memory is apart: what the host or an operator reads without it having been put or
# got there is NaN. Golden folders of all kinds, and every model with the exact methods, displaced and pipelined ones on
# 1, 2 and 4 ranks; on 4 only products of axes, but in the long form (DITBENCH_TEST_ALL=1) all. Speaks TAP.
set -u
cd "$(dirname "$0")/../.." || exit 4
build=${DITBENCH_BUILD:-$PWD/build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. ci/tap.sh
. engine/tests/device.sh

export DITBENCH_WORKLOADS=${DITBENCH_WORKLOADS:-$PWD/workloads} # has the trained models that some loops name
folders=$(for folder in engine/tests/golden/*/; do echo "${folder%/}"; done)
# shellcheck disable=SC2086
golden_on host fp32 $folders

write_plan 128x128 >"$work/log" 2>&1
report $? "the matrix is a workload"
matrix_on host fp32 1 40
matrix_on host fp32 2 60
if [ "${DITBENCH_TEST_ALL:-0}" = 1 ]; then
    matrix_on host fp32 4 60 --method ulysses,ring,usp,double-ring,all-gather+ulysses,tensor,cfg+ulysses,pipefusion,distrifusion,pcpp,video-infinity,ring+tensor,data+cfg
else # what two ranks cannot have
    matrix_on host fp32 4 60 --method usp,double-ring,all-gather+ulysses,cfg+ulysses,ring+tensor,data+cfg
fi

# One attention layer: positions of tokens, and TokenRing, whose messages carry the log-sum-exp.
layer() { # attention, parallel, layer
    printf '{"schema":"ditbench.case/1","program":"attention","layer":{"tokens":96,"heads":4,"head_dim":16%s},"run":{"seed":3},
        "attention":"%s","parallel":{%s},"platform":{"name":"test","backend":"host","threads_per_rank":1},
        "measure":{"warmup_runs":0,"iterations":1}}' "$3" "$1" "$2" >"$work/layer.json"
    rm -rf "$work/layer"
    mpirun --oversubscribe --bind-to none -n 2 --mca plm isolated --mca pml ob1 --mca btl self,vader \
        --mca btl_vader_single_copy_mechanism none "$build/bin/ditbench-engine" --case "$work/layer.json" \
        --out "$work/layer" >"$work/log" 2>&1 &&
        grep -q '"communication_match":[[:space:]]*true' "$work/layer/record.json" &&
        grep -A4 '"operator_check"' "$work/layer/record.json" | grep -q '"pass":[[:space:]]*true'
    report $? "host fp32: a layer on two ranks by $1$3"
}
layer ulysses '"ulysses_degree":2' ''
layer ring '"ring_degree":2' ',"causal":true,"layout":"zigzag"'
layer token-ring '"ring_degree":2' ''
layer double-ring '"ring_degree":2' ',"inner_ring":1,"causal":true,"layout":"zigzag"'
layer all-gather '"ring_degree":2' ',"causal":true,"layout":"stripe","kv_heads":2'

# VAEs shared by rows: edges, moments and pictures pass between ranks; by frames: what convolutions keep.
decode() { # name, config, ranks, frames, options...; $split: rows or frames
    local name=$1 ranks=$3
    printf '{"schema":"ditbench.case/1","program":"vae_decode","vae":{"config":{%s},"weights":{"kind":"seeded","seed":1},"split":"%s"},
        "run":{"height_px":48,"width_px":40,"num_frames":%d,"seed":3},"parallel":{"rows_degree":%d},
        "platform":{"backend":"host","threads_per_rank":1},"measure":{"warmup_runs":0,"iterations":1}}' \
        "$2" "${split:-rows}" "$4" "$ranks" >"$work/$name.json"
    shift 4
    rm -rf "${work:?}/$name-$ranks"
    mpirun --oversubscribe --bind-to none -n "$ranks" --mca plm isolated --mca pml ob1 --mca btl self,vader \
        --mca btl_vader_single_copy_mechanism none "$build/bin/ditbench-engine" --case "$work/$name.json" \
        --out "$work/$name-$ranks" "$@" >"$work/log" 2>&1 || { sed 's/^/# /' "$work/log"; return 1; }
}
declare -A configs=(
    [kl]='"_class_name":"AutoencoderKL","block_out_channels":[8,16],"norm_num_groups":4,"sample_size":32'
    [cog]='"_class_name":"AutoencoderKLCogVideoX","block_out_channels":[8,16],"norm_num_groups":4,"temporal_compression_ratio":2,"sample_height":64,"sample_width":64'
    [wan]='"_class_name":"AutoencoderKLWan","base_dim":8,"dim_mult":[1,2],"num_res_blocks":1,"temperal_downsample":[true]'
    [ltx]='"_class_name":"AutoencoderKLLTXVideo","latent_channels":6,"patch_size":2,"decoder_block_out_channels":[8,16],"decoder_layers_per_block":[1,1,1],"decoder_spatio_temporal_scaling":[true,true],"upsample_factor":[2,2],"upsample_residual":[true,true],"decoder_inject_noise":[true,true,true],"timestep_conditioning":true'
    [dc]='"_class_name":"AutoencoderDC","latent_channels":4,"attention_head_dim":4,"decoder_block_types":["ResBlock","ResBlock","EfficientViTBlock"],"decoder_block_out_channels":[8,8,16],"decoder_layers_per_block":[1,2,1],"decoder_qkv_multiscales":[[],[],[5]]'
    [mochi]='"_class_name":"AutoencoderKLMochi","decoder_block_out_channels":[32,32],"layers_per_block":[1,1,0],"temporal_expansions":[2],"spatial_expansions":[2]'
    [hunyuan15]='"_class_name":"AutoencoderKLHunyuanVideo15","latent_channels":4,"block_out_channels":[8,8,16],"layers_per_block":1,"spatial_compression_ratio":4,"temporal_compression_ratio":4'
    [hunyuan]='"_class_name":"AutoencoderKLHunyuanVideo","block_out_channels":[8,8,16],"norm_num_groups":4,"layers_per_block":1,"spatial_compression_ratio":4'
)
as_one() { # name, ranks, frames: what several ranks decode is what one decodes
    decode "$1" "${configs[$1]}" "$2" "$3" --reference "$work/$1-1/images.safetensors" &&
        grep -q '"communication_match":[[:space:]]*true' "$work/$1-$2/record.json" &&
        grep -q '"pass":[[:space:]]*true' "$work/$1-$2/record.json"
}
for ranks in 2 3; do
    for vae in kl cog wan hunyuan hunyuan15 ltx mochi dc; do
        frames=9
        [ "$vae" != kl ] && [ "$vae" != dc ] || frames=1
        [ "$ranks" -gt 2 ] || decode "$vae" "${configs[$vae]}" 1 "$frames"
        as_one "$vae" "$ranks" "$frames"
        report $? "host fp32: $vae decoded by $ranks ranks is what one decodes"
    done
done
for vae in cog hunyuan15 wan mochi; do
    split=frames as_one "$vae" 2 9
    report $? "host fp32: $vae decoded by frames on 2 ranks is what one decodes"
done

# What is not the device's is refused, not computed.
printf '{"schema":"ditbench.case/1","program":"attention","layer":{"tokens":96,"heads":4,"head_dim":16},"run":{"seed":3},
    "platform":{"name":"test","backend":"host","element":"bf16","threads_per_rank":1}}' >"$work/layer.json"
! "$build/bin/ditbench-engine" --case "$work/layer.json" --out "$work/layer" >"$work/log" 2>&1 && grep -q E_UNSUPPORTED "$work/log"
report $? "device host has no bf16, and says so"
printf '{"schema":"ditbench.case/1","program":"attention","layer":{"tokens":96,"heads":4,"head_dim":16,"causal":true},"run":{"seed":3},
    "attention":"lightseq","parallel":{"ring_degree":2},"platform":{"name":"test","backend":"host","threads_per_rank":1}}' >"$work/layer.json"
! mpirun --oversubscribe --bind-to none -n 2 "$build/bin/ditbench-engine" --case "$work/layer.json" --out "$work/layer" >"$work/log" 2>&1 &&
    grep -q 'E_UNSUPPORTED: attention "lightseq" is built for this machine.s cores alone' "$work/log"
report $? "lightseq is refused on a device"
for mask in window documents-causal block-causal; do
    masked_layers host fp32 "$mask" 40
done
tap_end
