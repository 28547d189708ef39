#!/usr/bin/env bash
# Random legal shapes: models, sizes, text, layers, stages, bands, warm-up, patches and meshes, none of them chosen by
# hand. All ranks of meshes of up to 64 are counted; cases run, against one rank or the oracle, many in two orders. Long
# form (DITBENCH_TEST_ALL=1): 2,000 of each; short form: 400 and 200. Speaks TAP.
# Environment: DITBENCH_SHAPES_SEED, DITBENCH_SHAPES_PART (percent of the 2,000 that run)
set -u
cd "$(dirname "$0")/../.." || exit 4
build=${DITBENCH_BUILD:-$PWD/build}
seed=${DITBENCH_SHAPES_SEED:-20261121}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. ci/tap.sh
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # containers

"$build/bin/ditbench" expand engine/tests/exact.json --json >"$work/models.json" 2>"$work/log"
[ "$(grep -c '"is_reference":[[:space:]]*true' "$work/models.json")" -eq "$(grep -c '"as": "tiny"' engine/tests/exact.json)" ]
report $? "every small model is drawn from"

shapes() { # ranks, seed, options...
    local ranks=$1 from=$2
    shift 2
    mpirun --oversubscribe --bind-to none -n "$ranks" --mca plm isolated --mca pml ob1 --mca btl self,vader \
        --mca btl_vader_single_copy_mechanism none --mca mpi_yield_when_idle 1 \
        "$build/tests/engine_shapes" --models "$work/models.json" --seed "$from" --folder "$work" "$@" >"$work/out" 2>&1
}
# Says what was seen; all of it where something is wrong.
tell() { # status
    if [ "$1" -eq 0 ]; then grep -E '^(count|make|run):' "$work/out"; else head -c 20000 "$work/out"; fi | sed 's/^/# /'
}
# Each method is there, so that the test is about all of them; and, of real runs, in two orders.
seen() { # pattern of what stands behind a method's name
    local method
    for method in exact pipefusion distrifusion pcpp naive-patch video-infinity; do grep -qE "(^| )$method $1( |$)" "$work/all" || return 1; done
}

: >"$work/all"
meshes=400 part=${DITBENCH_SHAPES_PART:-10}
if [ "${DITBENCH_TEST_ALL:-0}" = 1 ] && [ -z "${SANITIZE:-}" ]; then meshes=2000 part=${DITBENCH_SHAPES_PART:-100}; fi
shapes 2 "$seed" --cases "$meshes" count
status=$?
tell $status
report $status "$meshes random meshes: every rank sends what the closed form says, what is not legal is refused for its reason"
cat "$work/out" >>"$work/all"
seen '[1-9][0-9]*/0'
report $? "every method is among them"

: >"$work/all"
for ranks in 2 3 4; do
    cases=$((part * (ranks == 2 ? 1000 : ranks == 3 ? 600 : 400) / 100))
    shapes 1 "$seed" --cases "$cases" --world "$ranks" make
    status=$?
    tell $status
    shapes "$ranks" "$seed" --cases "$cases" run
    status=$((status + $?))
    tell $status
    report $status "$cases random shapes on $ranks ranks: bytes, one rank or the oracle, two orders of requests"
    cat "$work/out" >>"$work/all"
done
seen '[1-9][0-9]*/[1-9][0-9]*'
report $? "every method ran, and in two orders"

# The test can fail: a latent that differs, a case that never ends.
printf '\x00\x00\xc0\x40' | dd of="$work/2-0.latents" bs=4 seek=3 conv=notrunc 2>/dev/null
! shapes 2 "$seed" --cases 1 run && grep -q "seed $seed case 0, .*relative L2" "$work/out"
report $? "another latent is noticed, and the case told"
! shapes 2 "$seed" --cases 2 --hang 1 --limit 2 count && grep -q "case 1 of seed $seed does not end within 2 s" "$work/out"
report $? "a case that hangs is ended, and its seed told"
tap_end
