#!/usr/bin/env bash
# Prints what this machine's GPUs compute as, for nvcc: compute capabilities without the dot, once each ("90"); "native"
# where the driver has devices and there is no nvidia-smi to ask; nothing where there is no GPU. Exit: 0.
# Environment: DITBENCH_DEVICE_NODES=pattern of the driver's devices (/dev/nvidia[0-9]*), for tests
capabilities=$(timeout 20 nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null |
    tr -d '. ' | grep -E '^[0-9]+$' | sort -u)
if [ -n "$capabilities" ]; then
    echo "$capabilities"
elif compgen -G "${DITBENCH_DEVICE_NODES:-/dev/nvidia[0-9]*}" >/dev/null; then
    echo native
fi
