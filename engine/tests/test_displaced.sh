#!/usr/bin/env bash
# Displaced patches: DistriFusion, PCPP and naive patches. Attention alone against the plain softmax over the keys that
# the method lets a rank know. Speaks TAP.
set -u
cd "$(dirname "$0")/../.." || exit 4
build=${DITBENCH_BUILD:-$PWD/build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. ci/tap.sh
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # containers

on_ranks() { # ranks, program, arguments...
    local ranks=$1
    shift
    timeout -k 10 120 mpirun --oversubscribe --bind-to none -n "$ranks" --mca plm isolated --mca pml ob1 \
        --mca btl self,vader --mca btl_vader_single_copy_mechanism none --mca mpi_yield_when_idle 1 "$@"
}

for ranks in 2 3 4; do
    on_ranks "$ranks" "$build/tests/engine_displaced_attention" >"$work/out" 2>&1
    status=$?
    [ "$status" -eq 0 ] || head -n 20 "$work/out" | sed 's/^/# /'
    report "$status" "every method on $ranks ranks attends to what it may know, and sends what it must"
done
tap_end
