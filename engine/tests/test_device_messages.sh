#!/usr/bin/env bash
# Messages between arrays of devices: through the host's memory (device host, and the emulated GPU), and by the calls of
# NCCL that nccl.cu makes, which a double answers (fake_nccl/). What becomes of a rank that is gone. Speaks TAP.
set -u
cd "$(dirname "$0")/../.." || exit 4
build=${DITBENCH_BUILD:-$PWD/build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. ci/tap.sh
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # containers
unset DITBENCH_DEVICE_COMM
export DITBENCH_CUDA_LIBRARY=$build/tests/ditbench-cuda-emulated-nccl.so DITBENCH_DEVICE_DEADLINE=20

launch() { # ranks, arguments of mpirun and the program...
    local ranks=$1
    shift
    timeout -k 5 100 mpirun --oversubscribe --bind-to none -n "$ranks" --mca plm isolated --mca pml ob1 \
        --mca btl self,vader --mca btl_vader_single_copy_mechanism none --mca mpi_yield_when_idle 1 "$@" >"$work/out" 2>&1
}

check() { # name, what the output must have, status
    local status=$3
    [ "$status" -eq 0 ] && ! grep -q "$2" "$work/out" && status=1
    [ "$status" -eq 0 ] || sed 's/^/# /' "$work/out"
    report "$status" "$1"
}

program=$build/tests/engine_device_messages
for ranks in 1 2 3 4; do
    launch "$ranks" "$program" host
    check "device host, $ranks ranks: every kind of message arrives" transport: $?
done
for element in fp32 bf16 fp16; do
    launch 2 "$program" cuda $element
    check "2 ranks share an emulated GPU, $element: through the host's memory" "transport: .*host's memory" $?
    for ranks in 2 3; do
        DITBENCH_EMULATED_DEVICES=$ranks launch $ranks "$program" cuda $element
        check "$ranks ranks with an emulated GPU each, $element: by NCCL's calls" 'transport: NCCL' $?
    done
done
DITBENCH_EMULATED_DEVICES=2 DITBENCH_DEVICE_COMM=staged launch 2 "$program" cuda
check "DITBENCH_DEVICE_COMM=staged decides" "transport: .*host's memory" $?
DITBENCH_DEVICE_COMM=nccl launch 2 "$program" cuda
[ $? -ne 0 ]
check "DITBENCH_DEVICE_COMM=nccl is refused where ranks share a device" '2 ranks share 1 here' $?
DITBENCH_DEVICE_COMM=ncll launch 2 "$program" cuda
[ $? -ne 0 ]
check "another word is refused" "'ncll'" $?

export DITBENCH_EMULATED_DEVICES=3 DITBENCH_DEVICE_DEADLINE=3
began=$(date +%s)
launch 3 --enable-recovery "$program" cuda fp32 die
check "a rank dies: the others stop at the deadline, and say where" 'tensor: all_to_all on rank 0 of 3 has not ended after 3 s' $?
[ $(($(date +%s) - began)) -lt 30 ]
check "and long before anybody ends them" transport: $?
launch 3 --enable-recovery "$program" cuda fp32 leave
check "a rank that gives up waits for nobody" 'tensor: all_to_all on rank 1 of 3' $?
DITBENCH_FAKE_NCCL_FAIL=5 launch 2 "$program" cuda fp32
[ $? -eq 1 ]
check "an error in the background ends the messages, and is told" 'on rank . of 2: remote error: as the test asked for' $?
tap_end
