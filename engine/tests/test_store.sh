#!/usr/bin/env bash
# K and V that a pipeline keeps, on ranks that share a sequence: Ulysses, ring and both. Speaks TAP.
set -u
cd "$(dirname "$0")/../.." || exit 4
build=${DITBENCH_BUILD:-$PWD/build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. ci/tap.sh
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # containers

for ranks in 2 4; do
    timeout -k 10 120 mpirun --oversubscribe --bind-to none -n "$ranks" --mca plm isolated --mca pml ob1 \
        --mca btl self,vader --mca btl_vader_single_copy_mechanism none --mca mpi_yield_when_idle 1 \
        "$build/tests/engine_test_store" together >"$work/out" 2>&1
    status=$?
    [ "$status" -eq 0 ] || sed 's/^/# /' "$work/out"
    report "$status" "bands of every mesh of $ranks ranks attend to what is kept"
done
tap_end
