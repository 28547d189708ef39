#!/usr/bin/env bash
# Does everything that needs a GPU, in one command: builds, checks, times, compares with PyTorch, writes one JSON document
# for results/gpu/, and prints a short table at the end. On one H200 it should take less than nine minutes.
# Usage: ci/gpu/measure.sh [--out DIR] [--seconds N] [--skip STAGE]... [--only STAGE]... [--workload FILE]... [--packages DIR]
#   --out DIR       where everything goes (default: results/local/gpu-DATE); measured.json is the document
#   --seconds N     start no stage after N seconds (default: 500)
#   --skip, --only  stages: build denoise torch time kernels golden-fp32 golden-bf16 golden-fp16 checks methods prompts collective sanitizer
#   --workload FILE what denoise and torch run (default: workloads/gpu/measure.json and workloads/gpu/today.json)
#   --packages DIR  what `ci/offline.sh save DIR` fetched, for a machine that reaches no packages
# Stages that take times have the machine to themselves. Those that only find out what is right (kernels, golden, checks,
# methods, prompts) run after them, beside each other: no time in their results counts.
# A stage that fails or runs out of time is said in the document and does not end the others.
# Exit: 0; 3 a stage failed; 4 it cannot be built; 77 no GPU here, with the reason.
set -u
cd "$(dirname "$0")/../.." || exit 4

out=results/local/gpu-$(date -u +%Y%m%d-%H%M%S) seconds=500 skip=' ' only='' packages='' workloads=''
while [ $# -gt 0 ]; do
    case $1 in
    --out) out=$2 ;;
    --seconds) seconds=$2 ;;
    --skip) skip+="$2 " ;;
    --only) only+=" $2 " ;;
    --workload) workloads+=" $2" ;;
    --packages) packages=$2 ;;
    *)
        sed -n '2,/^set -u/s/^# \{0,1\}//p' "$0" | sed '$d'
        [ "$1" = --help ] && exit 0
        exit 2
        ;;
    esac
    shift $(($# > 1 ? 2 : 1))
done
[ -n "$workloads" ] || workloads='workloads/gpu/measure.json workloads/gpu/today.json'
mkdir -p "$out/log" "$out/stages" || exit 4
out=$(cd "$out" && pwd)
build=${BUILD:-build}
began=$(date +%s)
elapsed() { echo $(($(date +%s) - began)); }
if [ -n "$packages" ]; then eval "$(ci/offline.sh unpack "$packages")" || exit 4; fi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# ---- stages ----------------------------------------------------------------------------------------------------------

# Runs a function with a time limit of its own; its output goes to a log, its exit code and seconds to the document.
# A stage leaves its results as $out/stages/NAME.json.
stage() { # name, seconds at most
    local name=$1 limit=$2 from code left
    case $skip in *" $name "*) return 0 ;; esac
    if [ -n "$only" ]; then case $only in *" $name "*) ;; *) return 0 ;; esac fi
    left=$((seconds - $(elapsed)))
    if [ "$left" -lt 10 ]; then
        say "$name" 'not started: the time is up'
        note "$name" null 0
        return 0
    fi
    [ "$limit" -le "$left" ] || limit=$left
    from=$(date +%s)
    # A stage runs in a shell of its own, so that timeout ends it with all that it started.
    out=$out build=$build workloads=$workloads timeout -k 10 "$limit" bash -c "$(declare -f case_document adopt golden_in expand "stage_$name"); stage_$name" \
        >"$out/log/$name.txt" 2>&1
    code=$?
    say "$name" "exit $code, $(($(date +%s) - from)) s"
    note "$name" "$code" $(($(date +%s) - from))
    if [ "$code" -ne 0 ]; then
        tail -n 12 "$out/log/$name.txt" | sed 's/^/    /'
    fi
    return "$code"
}
say() { printf '%4d s  %-10s %s\n' "$(elapsed)" "$1" "$2"; }
# A line for each stage lies in a file, because stages that run beside each other are processes of their own.
note() { printf '{"stage":"%s","exit":%s,"seconds":%s}\n' "$1" "$2" "$3" >>"$out/log/notes"; }
: >"$out/log/notes"

# Writes a case document and prints its path.
case_document() { # name, JSON
    mkdir -p "$out/cases/$1"
    printf '%s\n' "$2" >"$out/cases/$1/case.json"
    echo "$out/cases/$1"
}

# Makes a folder as a toolkit has it (include, lib) over a library that pip installed, whose files end in numbers.
adopt() { # name, header, folder of pip's
    local home=$build/pip/$1 file
    [ -f "$3/include/$2" ] || return 1
    mkdir -p "$home"
    ln -sfn "$3/include" "$home/include"
    mkdir -p "$home/lib"
    for file in "$3"/lib/*.so.*; do
        ln -sf "$file" "$home/lib/"
        ln -sf "$file" "$home/lib/$(basename "$file" | sed 's/\.so\..*/.so/')"
    done
    (cd "$home" && pwd)
}

stage_build() {
    local sm cuda=${CUDA_HOME:-/usr/local/cuda} home
    sm=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -n 1 | tr -d .)
    # cuBLAS, cuDNN and NCCL come from the toolkit if it has them, else from PyTorch.
    for home in $(python3 -c 'import nvidia; print(*nvidia.__path__)' 2>/dev/null); do
        [ -f "$cuda/include/cublasLt.h" ] || CUBLAS_HOME=$(adopt cublas cublasLt.h "$home/cu13") && export CUBLAS_HOME
        [ -f "$cuda/include/cudnn.h" ] || CUDNN_HOME=$(adopt cudnn cudnn.h "$home/cudnn") && export CUDNN_HOME
        [ -f "$cuda/include/nccl.h" ] || NCCL_HOME=$(adopt nccl nccl.h "$home/nccl") && export NCCL_HOME
    done
    [ -n "${CUBLAS_HOME:-}" ] || unset CUBLAS_HOME
    [ -n "${CUDNN_HOME:-}" ] || unset CUDNN_HOME
    [ -n "${NCCL_HOME:-}" ] || unset NCCL_HOME
    make -j"$(nproc)" BUILD="$build" NVCC_GENCODE="-gencode arch=compute_$sm,code=sm_$sm" all || return 4
    [ -e "$build/lib/ditbench-cuda.so" ] || { echo 'no lib/ditbench-cuda.so was built'; return 4; }
    "$build/bin/ditbench" doctor --json >"$out/stages/doctor.json"
    "$build/bin/ditbench-engine" --devices cuda
}

stage_kernels() {
    local element result=0
    for element in fp32 bf16 fp16; do
        "$build/bin/ditbench" kernels --backend cuda --dtype "$element" --check --json \
            >"$out/stages/kernels-$element.json" || result=3
    done
    return "$result"
}

# Looks for memory errors and races in our own kernels (DITBENCH_CUDA_OWN makes all kernels ours), on few shapes, because
# the sanitizer is slow.
stage_sanitizer() {
    local tool element operator result=0 folder
    command -v compute-sanitizer >/dev/null || { echo 'no compute-sanitizer here'; return 0; }
    export DITBENCH_CUDA_OWN=linear,attention,conv
    for tool in memcheck racecheck synccheck; do
        for element in bf16 fp32; do
            for operator in attention norm qk_norm_rope group_norm conv combine; do
                folder=$(case_document "sanitizer-$tool-$element-$operator" "{\"schema\":\"ditbench.case/1\",
                    \"program\":\"kernel\",\"backend\":\"cuda\",\"element\":\"$element\",\"filter\":\"$operator\"}")
                echo "== $tool $element $operator"
                compute-sanitizer --tool "$tool" --error-exitcode 9 "$build/bin/ditbench-engine" \
                    --case "$folder/case.json" --out "$folder" 2>&1 | tail -n 4
                [ "${PIPESTATUS[0]}" -eq 0 ] || result=3
            done
        done
    done
    return "$result"
}

golden_in() { # element
    "$build/bin/ditbench" golden --backend cuda --dtype "$1" --json engine/tests/golden/*/ >"$out/stages/golden-$1.json"
}

stage_golden-fp32() { golden_in fp32; }
stage_golden-bf16() { golden_in bf16; }
stage_golden-fp16() { golden_in fp16; }

stage_methods() {
    "$build/bin/ditbench" run workloads/gpu/functional.json --output "$out/methods" --json >"$out/stages/methods.json"
}

stage_checks() {
    "$build/bin/ditbench" run workloads/gpu/checks.json --output "$out/checks" --json >"$out/stages/checks.json"
}

# Whole tiny pipelines from a prompt to a picture or clip, beside what diffusers made of them.
stage_prompts() {
    local name result=0
    export DITBENCH_BUILD=$build DITBENCH_TEST_GENERATE='--backend cuda --dtype fp32'
    case $build in /*) ;; *) DITBENCH_BUILD=$PWD/$build ;; esac
    for name in prompts prompts_video; do
        bash suite/tests/test_$name.sh >"$out/log/$name.tap" 2>&1 || result=3
        grep -E '^(ok|not ok)|^#' "$out/log/$name.tap"
    done
    printf '[%s]\n' "$(cat "$out"/log/prompts*.tap | sed -nE -e 's/["\\]//g' \
        -e 's/^ok [0-9]+ - (.*) # SKIP.*/{"check":"\1","verdict":"skip"}/p;t' \
        -e 's/^ok [0-9]+ - (.*)/{"check":"\1","verdict":"pass"}/p;t' \
        -e 's/^not ok [0-9]+ - (.*)/{"check":"\1","verdict":"fail"}/p' | paste -sd,)" >"$out/stages/prompts.json"
    return "$result"
}

stage_collective() {
    "$build/bin/ditbench" collective --backend cuda --ranks "$(nvidia-smi --list-gpus | wc -l)" --json \
        >"$out/stages/collective.json"
}

stage_time() {
    "$build/bin/ditbench" kernels --backend cuda --dtype bf16 --time --json >"$out/stages/time-bf16.json"
}

# Expands every workload that is timed, into $out/expanded-NAME.json.
expand() {
    local file
    for file in $workloads; do
        "$build/bin/ditbench" expand "$file" --json >"$out/expanded-$(basename "$file")" || return 3
    done
}

stage_denoise() {
    local code=0 comma='' record file name
    for file in $workloads; do
        name=$(basename "$file" .json)
        "$build/bin/ditbench" run "$file" --output "$out/denoise/$name" --json >"$out/stages/denoise-$name.json" || code=3
    done
    {
        printf '['
        for record in "$out"/denoise/*/cases/*/p*/record.json; do
            [ -s "$record" ] || continue
            printf '%s{"case_id":"%s","record":' "$comma" "$(basename "$(dirname "$(dirname "$record")")")"
            cat "$record"
            printf '}'
            comma=,
        done
        printf ']\n'
    } >"$out/stages/records.json"
    return "$code"
}

stage_torch() {
    python3 -c 'import torch' 2>/dev/null || { echo 'no PyTorch here'; return 0; }
    expand && python3 ci/gpu/torch_compare.py --budget 200 "$out"/expanded-*.json >"$out/stages/torch.json"
}

# ---- the document ----------------------------------------------------------------------------------------------------

# Prints what nvidia-smi says, as an object of strings.
facts() {
    local keys=name,driver_version,memory.total,compute_cap,clocks.max.sm,clocks.max.memory,power.limit,ecc.mode.current
    nvidia-smi --query-gpu="$keys" --format=csv,noheader | head -n 1 |
        awk -F', ' -v keys="$keys" '{ n = split(keys, k, ","); printf "{"; for (i = 1; i <= n; i++) printf "%s\"%s\":\"%s\"", (i > 1 ? "," : ""), k[i], $i; print "}" }'
}

write_document() {
    local file name
    {
        printf '{"schema":"ditbench.gpu/1","date":"%s","version":"%s","seconds":%s,"gpu":%s,"stages":[%s],"results":{' \
            "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$(git describe --tags --always --dirty 2>/dev/null || echo unknown)" \
            "$(elapsed)" "$(facts)" "$(paste -sd, "$out/log/notes")"
        name=''
        for file in "$out"/stages/*.json; do
            [ -s "$file" ] || continue
            printf '%s"%s":' "$name" "$(basename "$file" .json)"
            cat "$file"
            name=,
        done
        printf '}}\n'
    } >"$out/measured.json.part" && mv "$out/measured.json.part" "$out/measured.json"
}

# ---- the whole -------------------------------------------------------------------------------------------------------

if ! nvidia-smi --list-gpus 2>/dev/null | grep -q .; then
    echo 'no GPU here: nvidia-smi finds none'
    exit 77
fi
stage build 240 || {
    write_document
    exit 4
}
stage denoise 180
stage torch 230
stage time 150
stage kernels 200 &
stage golden-fp32 200 &
stage golden-bf16 200 &
stage golden-fp16 200 &
stage checks 200 &
stage methods 200 &
stage prompts 200 &
wait
stage collective 30
stage sanitizer 90
write_document
python3 ci/gpu/summary.py "$out/measured.json" 2>/dev/null || echo 'no python3: no table'
echo "$out/measured.json"
! grep -qvE '"exit":(0|null),' "$out/log/notes" || exit 3
