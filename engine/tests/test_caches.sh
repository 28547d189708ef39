#!/usr/bin/env bash
# Every cache with the exact methods on models of each kind: streams of image rows alone, with text, with skips, in frames.
# Then those that know their steps with displaced patches and pipelines.
# Each cell: latents of its oracle, which shares neither the parts of a forward nor the rules with it; bytes of the closed
# form, memory and flops as counted; ranks that share an image decide alike; a second run decides as the first; decisions
# replayed give the same bits; a cache that never reuses gives the bits of the run without one. Long form
# (DITBENCH_TEST_ALL=1): every model and method. Speaks TAP.
set -u
cd "$(dirname "$0")/../.." || exit 4
build=${DITBENCH_BUILD:-$PWD/build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. ci/tap.sh
. engine/tests/device.sh

write_cached() { # file of caches, options
    local caches=$1
    shift
    "$build/tests/engine_matrix" --models "$work/models.json" --methods "$work/methods.json" \
        --overrides engine/tests/exact.json --variants 1 --resolution 64x64 --caches "$caches" "$@" write >"$work/matrix.json" &&
        "$build/bin/ditbench" expand "$work/matrix.json" --json >"$work/spaced.json" &&
        tr -d '\t\n' <"$work/spaced.json" >"$work/plan.json" # white space would make it larger than a document may be
}
one_of_each_policy() { # file of caches, one a line: the first line of each policy, and those that decide branches apart
    awk -F '"' '/policy/ && (!seen[$4]++ || /separate/) { sub(/,$/, ""); row[++rows] = $0 }
         END { print "[\n  \"none\","; for (i = 1; i <= rows; i++) print row[i] (i < rows ? "," : ""); print "]" }' "$1"
}
"$build/bin/ditbench" list models --resolution 256x256 --frames 9 --json >"$work/models.json" &&
    "$build/bin/ditbench" list methods --json >"$work/methods.json" && write_cached engine/tests/caches.json
report $? "every model with every exact method and cache is a workload"
for policy in $("$build/bin/ditbench" list caches | awk 'NR > 1 && NF { print $1 }'); do
    grep -q "\"policy\":[[:space:]]*\"$policy\"" "$work/plan.json"
    report $? "$policy is among the caches"
done

all=pixart-alpha-xl-2,flux.1-dev,cogvideox-1.5-5b,wan2.1-i2v-14b-480p,sd3.5-medium,hunyuandit-v1.1,latte-1,hunyuanvideo,qwen-image,z-image,lumina-image-2.0,ltx-video-2b,ltx-2,mochi-1,flux.2-dev,flux.1-kontext-dev,hunyuanvideo-1.5-i2v,sana-0.6b
if [ "${DITBENCH_TEST_ALL:-0}" = 1 ]; then
    matrix_on cpu fp32 1 170 --model "$all"
    matrix_on cpu fp32 2 300 --model "$all"
    matrix_on cpu fp32 4 800 --model "$all"
    matrix_on cpu fp32 8 60 --model "$all"
else
    matrix_on cpu fp32 1 80 --model pixart-alpha-xl-2,hunyuandit-v1.1 --method single,oracle
    one_of_each_policy engine/tests/caches.json >"$work/each.json" && write_cached "$work/each.json"
    report $? "one cache of each policy is a workload"
    matrix_on cpu fp32 1 40 --model flux.1-dev,latte-1 --method single,oracle
    matrix_on cpu fp32 2 100 --model flux.1-dev,latte-1 --method ulysses,ring,tensor,cfg
    matrix_on cpu fp32 4 20 --model flux.1-dev --method usp,ulysses+tensor
fi
cp "$work/out" "$work/last"

# On a device the host sees only what is downloaded, and memory that nobody wrote is NaN: what is kept is never read before.
rm -f "$work"/*.latents
if [ "${DITBENCH_TEST_ALL:-0}" = 1 ]; then
    matrix_on host fp32 1 156 --model flux.1-dev,hunyuandit-v1.1 --method single,oracle
    matrix_on host fp32 2 60 --model flux.1-dev --method ulysses,tensor
else
    matrix_on host fp32 1 25 --model flux.1-dev --method single,oracle
    matrix_on host fp32 2 12 --model flux.1-dev --method ulysses
fi

# With stale steps: a reused step sends no K and V, or passes the stream on.
write_cached engine/tests/caches_displaced.json --approximate yes
report $? "every model with every approximate method and known cache is a workload"
rm -f "$work"/*.latents
if [ "${DITBENCH_TEST_ALL:-0}" = 1 ]; then
    matrix_on cpu fp32 1 60 --model "$all"
    matrix_on cpu fp32 2 60 --model "$all"
    cp "$work/out" "$work/stale"
    matrix_on cpu fp32 4 60 --model "$all"
    matrix_on cpu fp32 8 10 --model "$all"
else
    matrix_on cpu fp32 1 40 --model pixart-alpha-xl-2,flux.1-dev
    matrix_on cpu fp32 2 40 --model pixart-alpha-xl-2,flux.1-dev
    cp "$work/out" "$work/stale"
    matrix_on cpu fp32 4 40 --model flux.1-dev
fi
rm -f "$work"/*.latents
matrix_on host fp32 1 10 --model flux.1-dev
matrix_on host fp32 2 10 --model flux.1-dev
if [ -z "${SANITIZE:-}" ] && [ -e "$build/tests/ditbench-cuda-emulated.so" ]; then
    rm -f "$work"/*.latents
    echo '["none", {"policy": "mask", "mask": "1101001", "first": 1, "last": 1}]' >"$work/one.json"
    write_cached "$work/one.json" --approximate yes --most-ranks 2 --method single,pipefusion,distrifusion
    export DITBENCH_CUDA_LIBRARY=$build/tests/ditbench-cuda-emulated.so
    matrix_on cuda bf16 1 2 --model pixart-alpha-xl-2 --method single,oracle
    matrix_on cuda bf16 2 2 --model pixart-alpha-xl-2 --method pipefusion,distrifusion
fi

# A device records the parts of a forward; they give the bits of parts that are not recorded. Few caches, because the
# emulation is slow.
emulated=$build/tests/ditbench-cuda-emulated.so
if [ -n "${SANITIZE:-}" ] || [ ! -e "$emulated" ]; then
    report 0 "cuda # SKIP the emulated device is not built, or too slow under sanitizers"
else
    rm -f "$work"/*.latents
    echo '["none", {"policy": "fbcache", "threshold": 0.7, "warmup": 2}, {"policy": "fora", "interval": 3}, {"policy": "tgate", "gate": 3}, {"policy": "easycache", "threshold": 1000, "warmup": 2, "max_hits": 3}, {"policy": "dbprune", "threshold": 0.3, "first": 0, "warmup": 2}]' >"$work/few.json"
    write_cached "$work/few.json"
    export DITBENCH_CUDA_LIBRARY=$emulated
    matrix_on cuda bf16 1 6 --model pixart-alpha-xl-2 --method single
    for file in "$work"/*.latents; do mv "$file" "$file.recorded"; done
    matrix_on cuda bf16 1 6 --model pixart-alpha-xl-2 --method single --graphs no
    differ=0
    for file in "$work"/*.latents; do cmp -s "$file" "$file.recorded" || differ=$((differ + 1)); done
    report "$differ" "cuda: recorded parts give the bits of others"
fi

# The tests can fail: what is measured decides for some steps and not for others, and reused steps change the latents.
grep -qE 'fbcache\(0.7 W2\) w+[t.]*\.[t.]*$' "$work/last"
report $? "a test decides for reuse"
awk '/oracle=[0-9]/ { split($6, exact, "="); total++; if (exact[2] > 1e-4) other++ } END { exit !(total > 20 && other > total / 2) }' "$work/last"
report $? "latents of reused steps differ from those of one rank"
awk '/oracle=[0-9]/ { split($6, exact, "="); total++; if (exact[2] > 1e-4) other++ } END { exit !(total > 20 && other > total / 2) }' "$work/stale"
report $? "latents of stale and reused steps differ from those of one rank"
tap_end
