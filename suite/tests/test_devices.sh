#!/usr/bin/env bash
# Platforms of devices: cases are skipped with the reason where there is none, are verified with the bytes of their
# element, and go the whole way through a device that is this machine. GPUs are told of by doctor. Speaks TAP.
# shellcheck disable=SC2016,SC2317 # functions run through ok()
# shellcheck source=suite/tests/harness.sh
. "$(dirname "$0")/harness.sh"
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 4
export DITBENCH_CUDA_LIBRARY=$work/no-such-library.so
engine=$build/bin/ditbench-engine

# workload FILE DEFAULTS AXES: one tiny PixArt.
workload() {
    cat >"$1" <<JSON
{
  "schema": "ditbench.workload/1",
  "name": "devices",
  "program": "denoise",
  "defaults": {"resolution": "64x64", "num_inference_steps": 2, "text_tokens": 8, $2
    "model": {"name": "pixart-alpha-xl-2", "as": "tiny",
              "override": {"num_layers": 2, "num_attention_heads": 2, "attention_head_dim": 24,
                           "cross_attention_dim": 48, "caption_channels": 32}}},
  "axes": {$3},
  "repeat": {"processes": 1, "seed": 3},
  "measure": {"warmup_runs": 1, "iterations": 2, "deadline_s": 60}
}
JSON
}

# pretend COUNT FACTS: an engine that tells of so many devices, each with these facts.
pretend() {
    local i list=''
    for ((i = 0; i < $1; i++)); do list+="${list:+,}{\"index\":$i,\"name\":\"NVIDIA Made-up\"$2}"; done
    printf '#!/bin/sh\n[ "$1" = --devices ] && echo %s && exit 0\nexec "%s" "$@"\n' \
        "'{\"schema\":\"ditbench.devices/1\",\"backend\":\"cuda\",\"count\":$1,\"devices\":[$list],\"nccl\":\"2.28.3\"}'" \
        "$engine" >"$work/engine-$1"
    chmod +x "$work/engine-$1"
}

# ---- none -------------------------------------------------------------------------------------------------------
tells_why() {
    "$engine" --devices cuda >list && grep -q '"count":0' list && grep -q 'no-such-library.so' list &&
        grep -q '"code":"E_ENVIRONMENT"' list && exits 2 "$engine" --devices hots
}
ok "the engine tells why there is no device" tells_why

all_skipped() {
    workload none.json '"platform": "local-gpu",' '"method": ["ulysses", "pipefusion"], "world_size": [1, 2]'
    exits 77 "$ditbench" run none.json -q --output "$work/none" >/dev/null && "$ditbench" verify "$work/none" >/dev/null &&
        [ "$(grep -c '"status":"skipped"' none/journal.jsonl)" -eq 4 ] &&
        grep -q '"code":"E_ENVIRONMENT".*no-such-library.so' none/journal.jsonl
}
ok "without a GPU every case is skipped with the reason, and the run ends with 77" all_skipped

others_run() {
    workload some.json '' '"platform": ["local-cpu", "local-gpu"]'
    exits 0 "$ditbench" run some.json -q --output "$work/some" >/dev/null &&
        [ "$(grep -c '"status":"skipped"' some/journal.jsonl)" -eq 1 ] && [ "$(grep -c '"status":"ok"' some/journal.jsonl)" -eq 1 ]
}
ok "cases of other platforms run beside them" others_run

too_few() {
    pretend 1 ''
    workload few.json '"platform": "local-gpu", "method": "ulysses",' '"world_size": [2]'
    exits 77 "$ditbench" run few.json -q --engine "$work/engine-1" --output "$work/few" >/dev/null &&
        grep -q '2 ranks need 2 devices of backend cuda, this machine has 1' few/journal.jsonl
}
ok "more ranks than GPUs are skipped" too_few

shared_starts() { # the made-up GPU is believed, and the real engine then finds none: started, and failed
    sed 's/local-gpu/shared-gpu/' few.json >shared.json
    exits 3 "$ditbench" run shared.json -q --engine "$work/engine-1" --output "$work/shared" >/dev/null
}
ok "unless the platform shares devices" shared_starts

verbs_say_so() {
    exits 4 "$ditbench" generate pixart-alpha-xl-2~two-blocks --backend cuda --output x.png &&
        exits 4 "$ditbench" calibrate --from measured --backend cuda --output "$work/calibration" &&
        [ ! -e x.png ] && exits 77 "$ditbench" golden "$source_dir/engine/tests/golden/e2e_pixart_sigma" --backend cuda
}
ok "generate and calibrate end with 4, golden with 77" verbs_say_so

# ---- what may be asked ------------------------------------------------------------------------------------------
refused() { # MESSAGE
    ! "$ditbench" validate asked.json >log 2>&1 && grep -q "$1" log
}
elements_are_checked() {
    workload asked.json '"platform": "local-gpu",' '"element": ["bf17"]' && refused 'did you mean "bf16"' &&
        workload asked.json '"platform": "local-gpu",' '"fp8_liner": [true]' && refused 'did you mean "fp8_linear"' &&
        workload asked.json '' '"element": ["bf16"]' && refused "element needs a platform that is simulated or a GPU" &&
        workload asked.json '' '"graphs": [false]' && refused 'name a platform of backend cuda' &&
        workload asked.json '"platform": "local-gpu",' '"graphs": ["off"]' && refused 'true or false'
}
ok "elements, fp8 and graphs are checked, and the nearest word is named" elements_are_checked

dropped() { # CODE REASON
    "$ditbench" expand asked.json >log 2>&1
    grep -q "^drop *$1 .*$2" log
}
what_no_device_does() {
    workload asked.json '"platform": "local-gpu",' '"element": ["fp8"]' && dropped E_UNSUPPORTED 'fp8 is of simulated' &&
        workload asked.json '"platform": "local-gpu", "element": "fp32",' '"fp8_linear": [true]' &&
        dropped E_UNSUPPORTED 'fp8_linear is of backend cuda' &&
        workload asked.json '"platform": "host-device",' '"element": ["bf16"]' && dropped E_UNSUPPORTED 'computes in fp32'
}
ok "what no device does is dropped with the reason" what_no_device_does

# Of 1 GiB: PixArt's 0.6 billion parameters fit in bf16 with 1.14 GiB of them left out, not in fp32 either way.
memory_follows_the_element() {
    mkdir -p workloads && cp -R "$DITBENCH_WORKLOADS"/* workloads &&
        sed 's/"devices": "auto"/"devices": 1/; s/"memory_bytes": "auto"/"memory_bytes": 2000000000/' \
            "$DITBENCH_WORKLOADS/platforms/local-gpu.json" >workloads/platforms/local-gpu.json &&
        cat >fits.json <<'JSON'
{"schema": "ditbench.workload/1", "name": "fits", "program": "denoise",
 "defaults": {"platform": "local-gpu", "model": "pixart-alpha-xl-2", "resolution": "512x512"},
 "axes": {"element": ["fp32", "bf16"]}}
JSON
    DITBENCH_WORKLOADS=$work/workloads "$ditbench" expand fits.json >log && grep -q 'fits: 1 case, 1 dropped' log &&
        grep -q '^drop *E_CONSTRAINT_MEMORY' log && grep -A1 '^drop' log | grep -q '"element":"fp32"'
}
ok "the memory verdict is of the element" memory_follows_the_element

references_are_of_an_element() {
    workload pairs.json '"platform": "local-gpu", "method": "ulysses", "world_size": 1,' \
        '"element": ["fp32", "bf16"], "graphs": [true, false]'
    exits 77 "$ditbench" run pairs.json -q --output "$work/pairs" >/dev/null &&
        [ "$(grep -o '"reference_id":"[0-9a-f]*"' pairs/plan.json | sort -u | wc -l)" -eq 2 ]
}
ok "cases are compared with those of their element" references_are_of_an_element

bytes_follow_the_element() { # latents stay fp32
    workload sent.json '"platform": "local-gpu", "method": "ulysses", "world_size": 2,' '"element": ["fp32", "bf16"]'
    "$ditbench" plan sent.json | awk '$4 == 2 { sent[NR] = $5 } /bf16/ { half = $5 } /fp32/ { full = $5 }
        END { exit !(half > full / 2 && half < full) }'
}
ok "predicted bytes are of the element" bytes_follow_the_element

# ---- through a device that is this machine ----------------------------------------------------------------------
whole_way() {
    workload host.json '"platform": "host-device", "threads_per_rank": 1,' '"method": ["ulysses"], "world_size": [1, 2]'
    exits 0 "$ditbench" run host.json -q --output "$work/host" >/dev/null && "$ditbench" verify "$work/host" >/dev/null &&
        [ "$(grep -c '"status":"ok"' host/journal.jsonl)" -eq 2 ] && grep -q '"rel_l2"' host/journal.jsonl &&
        grep -q '"shared":true' host/journal.jsonl &&
        grep -q '"device_unplanned_blocks":0' host/journal.jsonl
}
ok "a device that is this machine runs and is verified; its record tells of it" whole_way

by_hand() { exits 0 "$ditbench" generate pixart-alpha-xl-2~two-blocks --height 64 --width 64 --num_inference_steps 1 --backend host --output_type latent --output "$work/hand.png"; }
ok "generate takes a device" by_hand

# ---- through a GPU that is emulated -----------------------------------------------------------------------------
emulated=$build/tests/ditbench-cuda-emulated.so
on_emulated() { DITBENCH_CUDA_LIBRARY=$emulated "$@"; }
in_bf16() {
    workload half.json '"platform": "local-gpu", "threads_per_rank": 1,' '"element": ["fp32", "bf16"]'
    exits 0 on_emulated "$ditbench" run half.json -q --output "$work/half" >/dev/null &&
        "$ditbench" verify "$work/half" >/dev/null && [ "$(grep -c '"status":"ok"' half/journal.jsonl)" -eq 2 ] &&
        grep -q '"count":1,"element":"bf16","shared":false' half/journal.jsonl && grep -q '"gpus":\[{' half/journal.jsonl &&
        "$ditbench" show "$work/half" | grep -q '^started .* on .*, sm_[0-9]*.*; .*, version '
}
# Exact methods of FLUX agree to 0.01 in bf16. Its latents in fp8, which layers of 1024 and more take, are three times as far away.
in_fp8() {
    cat >eight.json <<'JSON'
{"schema": "ditbench.workload/1", "name": "eight", "program": "denoise",
 "defaults": {"platform": "local-gpu", "threads_per_rank": 1, "element": "bf16", "resolution": "32x32", "num_inference_steps": 1,
              "text_tokens": 8, "model": {"name": "flux.1-dev", "as": "tiny", "override": {"num_layers": 0, "num_single_layers": 1,
              "num_attention_heads": 8, "attention_head_dim": 128, "joint_attention_dim": 64, "pooled_projection_dim": 64}}},
 "axes": {"fp8_linear": [false, true]}, "repeat": {"processes": 1, "seed": 3}, "measure": {"warmup_runs": 0, "iterations": 1, "deadline_s": 60}}
JSON
    exits 0 on_emulated "$ditbench" run eight.json -q --output "$work/eight" >/dev/null &&
        "$ditbench" verify "$work/eight" >/dev/null && [ "$(grep -c '"status":"ok"' eight/journal.jsonl)" -eq 2 ] &&
        grep -h -o '"rel_l2": *[0-9.e-]*' eight/cases/*/p0/record.json | awk -F: '$2 > 0.01 { far++ } END { exit far != 1 }' &&
        grep -q 'fp8 are an approximation' eight/cases/*/p0/record.json
}
fitted() { # BACKEND ELEMENT
    exits 0 on_emulated "$ditbench" calibrate --from measured --backend "$1" --element "$2" --few --output "$work/$1" &&
        grep -q '"name":.*"local-gpu"' "$1/accelerators/local-gpu.json" && grep -q "\"$2\": *[0-9]" "$1/accelerators/local-gpu.json" &&
        grep -q '"dispatch_s"' "$1/profiles/local-gpu.json" && [ ! -e "$1/platforms" ]
}
# A management library that says one thing: the device is at its power limit.
throttled() {
    cat >nvml.c <<'C'
int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **device) { *device = (void *)id; return 0; }
int nvmlDeviceGetCurrentClocksEventReasons(void *device, unsigned long long *reasons) { *reasons = device ? 5 : 0; return 0; }
C
    "${CC:-cc}" -shared -fPIC nvml.c -o nvml.so && workload hot.json '"platform": "local-gpu", "threads_per_rank": 1,' '"seed": [1]' &&
        DITBENCH_NVML_LIBRARY=$work/nvml.so exits 0 on_emulated "$ditbench" run hot.json -q --output "$work/hot" >/dev/null &&
        grep -q '"throttle_reasons":\["idle","power_cap"\]' hot/journal.jsonl &&
        grep -q '"warnings":\["throttled: power_cap"\]' hot/journal.jsonl && "$ditbench" report "$work/hot" >/dev/null
    grep -q 'throttled: power_cap' hot/report/report.html
}
# By the double of NVML, which is too hot all the time. Its counter and its power agree; then the counter counts half.
metered() {
    workload energy.json '"platform": "local-gpu", "threads_per_rank": 1,' '"seed": [1]' &&
        sed -i 's/"iterations": [0-9]*/"iterations": 12/' energy.json &&
        DITBENCH_NVML_LIBRARY=$build/tests/fake_nvml.so exits 5 on_emulated "$ditbench" run energy.json -q \
            --set num_inference_steps=8 --output "$work/metered" >/dev/null &&
        "$ditbench" verify "$work/metered" >/dev/null && grep -q '"meters":1,"rest_w":123.4[^,]*,"scope":"gpus"' metered/journal.jsonl &&
        grep -q '"mean_w":12[34]\.' metered/journal.jsonl &&
        "$ditbench" show "$work/metered" --columns case,energy_j,power_w | grep -q ' W'
}
disagreeing() {
    FAKE_NVML_COUNTER=0.5 DITBENCH_NVML_LIBRARY=$build/tests/fake_nvml.so exits 5 on_emulated "$ditbench" run energy.json -q \
        --set num_inference_steps=8 --output "$work/doubtful" >/dev/null &&
        grep -q '"doubt":"the counter and the integral of power differ' doubtful/journal.jsonl &&
        ! grep -q '"iteration_j"' doubtful/journal.jsonl
}
too_hot() {
    sed 's/reasons = device ? 5 : 0/reasons = device ? 0x40 : 0/' nvml.c >hot.c && "${CC:-cc}" -shared -fPIC hot.c -o hot.so &&
        DITBENCH_NVML_LIBRARY=$work/hot.so exits 5 on_emulated "$ditbench" run hot.json -q --output "$work/too_hot" >said &&
        grep -q '1 of them on a machine that did not hold still' said &&
        DITBENCH_NVML_LIBRARY=$work/hot.so exits 5 on_emulated "$ditbench" resume "$work/too_hot" -q >/dev/null &&
        "$ditbench" verify "$work/too_hot" >/dev/null && "$ditbench" show "$work/too_hot" 2>&1 | grep -q 'hardware_thermal_slowdown'
}
if [ -e "$emulated" ]; then
    ok "energy is read by counter and by integral" metered
    ok "energy on which the two do not agree is not given" disagreeing
    ok "what held a device back is said in its record and in reports" throttled
    ok "a run on a device that is too hot ends with 5" too_hot
    ok "an emulated GPU runs cases of both elements" in_bf16
    ok "an emulated GPU in fp8 has a distance, which is a result" in_fp8
    ok "an emulated GPU is calibrated" fitted cuda bf16
    ok "a device that is this machine is calibrated" fitted host fp32
else
    for name in "in fp8" "is metered" "is doubted" runs "is calibrated" "is held back" "is too hot"; do
        skip "an emulated GPU $name" "no $emulated"
    done
fi

# ---- what ships -------------------------------------------------------------------------------------------------
ships() {
    local file
    for file in "$source_dir"/workloads/gpu/*.json; do
        if ! "$ditbench" validate "$file" || ! "$ditbench" plan "$file"; then return 1; fi
    done
}
ok "every workload for GPUs is valid and can be planned here" ships

# ---- doctor -----------------------------------------------------------------------------------------------------
says() { "$ditbench" doctor --engine "$1" >log; grep -q "$2" log || { cat log; return 1; }; }
no_gpu() {
    says "$engine" '^missing *gpu ' && says "$engine" '^missing *gpu state' && says "$engine" '^missing *gpu links' &&
        says "$engine" '^missing *cuda engine .*no-such-library.so' && says "$engine" 'no NCCL_ variable'
}
ok "doctor has a line for everything that a machine without GPUs lacks" env -u NCCL_DEBUG \
    bash -c "$(declare -f no_gpu says); ditbench=\$1 engine=\$2; no_gpu" bash "$ditbench" "$engine"

two_gpus() {
    pretend 2 ',"memory_bytes":85899345920,"compute_capability":90,"driver":"580.1","cuda_runtime":"13.0","cudnn":"9.19.0","clocks_mhz":{"sm":1200,"sm_max":1980},"power_w":650,"power_limit_w":700,"ecc":{"on":true},"throttle_reasons":["power_cap"],"pcie":{"generation":5,"width":16},"nvlink":{"links":18,"links_active":18,"peers":4},"peer_access":[1]'
    says engine-2 '^ok *gpu *2 x NVIDIA Made-up, 80.0 GiB, sm_90, driver 580.1$' &&
        says engine-2 '^warning *gpu state *2 x SM 1200 of 1980 MHz, 650 of 700 W, ECC on, clocks held by power_cap' &&
        says engine-2 'PCIe 5 x16 of 5 x16, NVLink 18 of 18 to 4 peers, peer access to 1' &&
        says engine-2 '^ok *cuda engine *CUDA 13.0, cuDNN 9.19.0, NCCL 2.28.3' &&
        NCCL_DEBUG=INFO says engine-2 '^ok *nccl *NCCL_DEBUG=INFO'
}
ok "doctor tells models, state, links and libraries of GPUs" two_gpus

adapters() {
    mkdir -p sys/class/net/eth9/device sys/class/net/lo sys/class/infiniband/mlx5_0/{device,ports/1} drivers/mlx5_core
    ln -s "$work/drivers/mlx5_core" sys/class/net/eth9/device/driver
    ln -s "$work/drivers/mlx5_core" sys/class/infiniband/mlx5_0/device/driver
    echo 25000 >sys/class/net/eth9/speed && echo up >sys/class/net/eth9/operstate
    echo '400 Gb/sec (4X NDR)' >sys/class/infiniband/mlx5_0/ports/1/rate
    echo '4: ACTIVE' >sys/class/infiniband/mlx5_0/ports/1/state
    DITBENCH_SYSFS=$work/sys says "$engine" 'eth9 25000 Mbit/s up (mlx5_core), mlx5_0 400 Gb/sec (4X NDR) ACTIVE (mlx5_core)' &&
        ! grep -q 'lo ' log && DITBENCH_SYSFS=$work/drivers says "$engine" '^missing *network'
}
ok "doctor tells network adapters, and that there are none" adapters

in_json() {
    DITBENCH_SYSFS=$work/sys "$ditbench" doctor --json --engine engine-2 >doctor.json &&
        grep -q '"power_limit_w":.*700' doctor.json && grep -q '"speed_mbit_per_s":.*25000' doctor.json
}
ok "and all of it as JSON" in_json

tap_end
