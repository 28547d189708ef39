#!/usr/bin/env bash
# Text encoders shared by ranks: every golden folder in every way on 2 and 4 ranks, on host memory, on device "host" and
# on the emulated GPU; bytes of the closed form, and a wrong one that must fail; memory of every way as counted without
# running. Speaks TAP.
set -u
cd "$(dirname "$0")/../.." || exit 4
build=${DITBENCH_BUILD:-$PWD/build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. ci/tap.sh
. engine/tests/device.sh
golden=engine/tests/golden
[ -z "${DITBENCH_CUDA_LIBRARY:-}" ] && [ -e "$build/tests/ditbench-cuda-emulated.so" ] &&
    export DITBENCH_CUDA_LIBRARY=$build/tests/ditbench-cuda-emulated.so

ranks() { # number of ranks, engine's options...
    local count=$1
    shift
    mpirun --oversubscribe --bind-to none -n "$count" --mca plm isolated --mca pml ob1 --mca btl self,vader \
        --mca btl_vader_single_copy_mechanism none --mca mpi_yield_when_idle 1 \
        "${engine:-$build/bin/ditbench-engine}" "$@" </dev/null >"$work/log" 2>&1 || { sed 's/^/# /' "$work/log"; return 1; }
}

# golden_ways RANKS BACKEND ELEMENT LEAST: all folders; LEAST comparisons at least were made.
golden_ways() {
    local folder failed=0 compared=0
    for folder in "$golden"/text_*/; do
        printf '{"schema":"ditbench.case/1","program":"golden","folder":"%s","parallel":{"rows_degree":%d},
            "platform":{"backend":"%s","element":"%s","threads_per_rank":1}}' "$PWD/${folder%/}" "$1" "$2" "$3" >"$work/golden.json"
        rm -rf "$work/golden"
        ranks "$1" --case "$work/golden.json" --out "$work/golden" || failed=$((failed + 1))
        compared=$((compared + $(grep -c '"rel_l2"' "$work/golden/record.json")))
    done
    [ "$failed" -eq 0 ] && [ "$compared" -ge "$4" ]
    report $? "$2 $3: encoders agree with transformers in every way on $1 ranks ($compared comparisons)"
}
golden_ways 1 cpu fp32 40
golden_ways 2 cpu fp32 150
golden_ways 4 cpu fp32 150
golden_ways 1 ref fp32 40
golden_ways 2 host fp32 150
golden_ways 1 cuda fp32 40
golden_ways 1 cuda bf16 40
[ "${DITBENCH_TEST_ALL:-0}" != 1 ] || golden_ways 2 cuda bf16 150

# encode NAME RANKS WAY ENCODER MORE: one run, or one count, of a seeded encoder.
encode() {
    printf '{"schema":"ditbench.case/1","program":"text_encode","encoder":{"folder":"%s","seeded":true%s},
        "run":{"prompts":2,"tokens":24,"seed":3},"text_encoder_parallel":"%s"%s,
        "platform":{"backend":"cpu","threads_per_rank":1}}' "$golden/$4" "$6" "$3" "$5" >"$work/$1.json"
    rm -rf "${work:?}/$1"
    ranks "$2" --case "$work/$1.json" --out "$work/$1"
}
value() { sed -nE 's/.*"'"$2"'":[[:space:]]*"?([^",]*).*/\1/p' "$work/$1/record.json" | head -n 1; }
memory() { for class in weights state activations communication total; do value "$1" "${class}_bytes"; done | tr '\n' ' '; }

for encoder in text_t5 text_clip_g text_llama text_gemma2; do
    encode one 1 replicated "$encoder" '' '' || report 1 "$encoder runs on one rank"
    # For a commit four ranks have the encoder whose keys are fewer than its heads.
    counts=(2)
    [ "$encoder" != text_llama ] && [ "${DITBENCH_TEST_ALL:-0}" != 1 ] || counts=(2 4)
    for count in "${counts[@]}"; do
        wrong=0
        for way in replicated broadcast tensor cfg; do
            for streamed in '' ',"streamed":true'; do
                encode ran "$count" "$way" "$encoder" '' "$streamed" || wrong=$((wrong + 1))
                [ "$way" = tensor ] || [ "$(value ran digest)" = "$(value one digest)" ] || wrong=$((wrong + 1))
                encode counted 1 "$way" "$encoder" ",\"count\":{\"ranks\":$count}" "$streamed" || wrong=$((wrong + 1))
                [ "$(memory ran)" = "$(memory counted)" ] && [ "$(value ran gflop)" = "$(value counted gflop)" ] && continue
                echo "# $way$streamed: $(memory ran), counted $(memory counted)"
                wrong=$((wrong + 1))
            done
        done
        report "$wrong" "$encoder on $count ranks: memory and flops as counted, bits of one rank where nothing is summed"
    done
    [ $((2 * $(value one weights_bytes))) -gt $((3 * $(value ran weights_bytes))) ]
    report $? "$encoder: a streamed encoder holds one block's weights"
done

# A closed form that is wrong by a byte must be seen.
for axis in world tensor cfg; do
    case $axis in world) way=broadcast ;; *) way=$axis ;; esac
    engine=$build/tests/ditbench-engine-fault
    export DITBENCH_FAULT=bytes:$axis
    ! encode wrong 2 "$way" text_t5 '' '' >/dev/null && grep -q E_BYTES_MISMATCH "$work/log"
    report $? "a wrong closed form of $way is seen"
    unset DITBENCH_FAULT engine
done

encode refused 3 tensor text_t5 '' '' >/dev/null
[ $? -ne 0 ] && grep -q 'E_CONSTRAINT_HEADS.*3 ranks do not divide' "$work/log"
report $? "three ranks cannot share four heads, and the message says so"
tap_end
