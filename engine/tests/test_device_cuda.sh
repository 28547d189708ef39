#!/usr/bin/env bash
# The same of backend "cuda" in every element, by its kernels: on a GPU where there is one, else on their emulation.
# fp32 agrees as the cpu does; bf16 and fp16 within what their roundings leave. Forwards are recorded and launched, which
# the matrix counts, and gives the bits of forwards that are not. Methods with stale steps are of the long form
# (DITBENCH_TEST_ALL=1); the short form has them on device "host", in test_device.sh. Speaks TAP.
set -u
cd "$(dirname "$0")/../.." || exit 4
build=${DITBENCH_BUILD:-$PWD/build}
emulated=$build/tests/ditbench-cuda-emulated.so
if [ -z "${DITBENCH_CUDA_LIBRARY:-}" ] && ! { [ -e "$build/lib/ditbench-cuda.so" ] && nvidia-smi -L >/dev/null 2>&1; }; then
    [ -e "$emulated" ] || { echo "1..0 # SKIP there is no GPU, and $emulated is not built"; exit 77; }
    export DITBENCH_CUDA_LIBRARY=$emulated
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. ci/tap.sh
. engine/tests/device.sh
golden=engine/tests/golden

write_plan 64x64 >"$work/log" 2>&1
report $? "the matrix is a workload"
# element, golden folders, models of the matrix, exact and other methods on two ranks, how many cells they are, and those of
# the others among them
while read -r element folders models exact others cells stale_cells; do
    if [ "$others" != - ] && [ "${DITBENCH_TEST_ALL:-0}" != 1 ]; then others=- cells=$((cells - stale_cells)); fi
    # shellcheck disable=SC2046
    golden_on cuda "$element" $(for folder in ${folders//,/ }; do echo "$golden/$folder"; done)
    count=$(tr , '\n' <<<"$models" | wc -l)
    matrix_on cuda "$element" 1 "$count" --model "$models" --method none
    for file in "$work"/*.latents; do mv "$file" "$file.recorded"; done
    matrix_on cuda "$element" 1 "$count" --model "$models" --method none --graphs no
    differ=0
    for file in "$work"/*.latents; do cmp -s "$file" "$file.recorded" || differ=$((differ + 1)); done
    report "$differ" "cuda $element: recorded forwards give the bits of others"
    rm -f "$work"/*.recorded
    [ "$others" = - ] || matrix_on cuda "$element" 1 "$count" --model "$models" --method oracle
    matrix_on cuda "$element" 2 "$cells" --model "$models" --method "$exact,$others"
    rm -f "$work"/*.latents
done <<'END'
fp32 ops,schedulers,pixart_alpha,flux_schnell,sana_placed,ltx2,vae_4ch,vae_dc,vae_wan,vae_hunyuan_video,vae_hunyuan_video15,vae_ltx_video_timestep,vae_mochi pixart-alpha-xl-2 ulysses,ring,tensor,cfg pipefusion,distrifusion 6 2
bf16 ops,flux_dev,sd35,latte,sana,vae_16ch,vae_wan,vae_hunyuan_video15,vae_ltx_video_timestep wan2.1-i2v-14b-480p,sana-0.6b,ltx-2 ulysses,tensor - 6 0
fp16 ops,e2e_wan_unipc,z_image,lumina2,flux2 flux.1-dev,z-image,lumina-image-2.0,flux.2-dev ring - 4 0
END

# Masks of slices, by tensor cores for heads of 64 and 128, and by the kernel that takes any type.
masked_layers cuda fp32 shared-question 24
masked_layers cuda bf16 global-window-causal 64
masked_layers cuda fp16 documents-window 128

# What cuBLASLt (its double, as no GPU is needed to choose) was found fastest at is kept between runs, and taken then.
double=$build/tests/ditbench-cuda-fake-lt.so
if [ "${DITBENCH_CUDA_LIBRARY:-}" = "$emulated" ] && [ -e "$double" ]; then
    export DITBENCH_CUDA_LIBRARY=$double DITBENCH_CACHE=$work/cache
    golden_on cuda fp32 "$golden/pixart_alpha"
    cp "$work"/cache/linear* "$work/chosen" && [ "$(wc -l <"$work/chosen")" -gt 1 ]
    report $? "choices of algorithms are kept in DITBENCH_CACHE"
    golden_on cuda fp32 "$golden/pixart_alpha"
    cmp "$work/chosen" "$work"/cache/linear*
    report $? "a second run takes them and chooses nothing again"
fi
tap_end
