#!/usr/bin/env bash
# Fuzzes the parsers with libFuzzer under AddressSanitizer and UndefinedBehaviorSanitizer, all targets side by side.
# Usage: ci/fuzz.sh [SECONDS] [TARGET]...      (60 seconds; all targets)
# Targets: annotations baseline clip held_out import json pack picture picture_case prices published quotes safetensors
#   sites skypilot spiece tokenizer_json trace traffic workload. clip, spiece and tokenizer_json need the libraries of
#   tokenizers.
# Inputs that fail are kept in build/fuzz/found/, inputs that reach new code in build/fuzz/corpus/. Exit: 0; 1 a find; 77 no fuzzer here.
set -u
cd "$(dirname "$0")/.." || exit 4
seconds=${1:-60}
shift || true
targets=("$@")
known="annotations baseline held_out import json pack picture picture_case prices published quotes safetensors sites skypilot trace traffic workload"
tokenizers="clip spiece tokenizer_json"
pkg-config --exists sentencepiece libutf8proc libpcre2-8 2>/dev/null && known+=" $tokenizers" libraries="-lsentencepiece -lutf8proc -lpcre2-8"
# shellcheck disable=SC2206  # names are words
[ ${#targets[@]} -gt 0 ] || targets=($known)
build=build/fuzz
sanitizers=address,undefined

if ! ci/deps.sh core fuzz; then
    echo "fuzzing skipped: clang with its fuzzer runtime (clang, libclang-rt-14-dev) is not here and could not be installed"
    exit 77
fi

is_known() { case " $known " in *" $1 "*) ;; *) return 1 ;; esac; }

objects_of() { # target: what it links, below build/fuzz
    case $1 in
    json | safetensors) echo "base/tests/fuzz_$1.o base/base.a" ;;
    picture) echo "engine/tests/fuzz_picture.o engine/files/picture_read.o engine/files/jpeg_read.o engine/files/picture_resize.o base/base.a" ;;
    clip | spiece | tokenizer_json)
        echo "engine/tests/fuzz_$1.o"
        git ls-files -- ':(glob)engine/text/*.c' 'engine/subwords/*.c' 'engine/subwords/*.cpp' 'engine/unicode/*.c' |
            grep -vE '/(missing|token_list)\.c$' | sed -E 's/\.(c|cpp)$/.o/'
        echo base/base.a
        ;;
    *) echo "suite/tests/fuzz_$1.o suite/suite.a reports/reports.a kernels/kernels.a base/base.a" ;;
    esac
}

seeds_of() {
    case $1 in
    json | safetensors) echo "base/tests/corpus_$1" ;;
    clip | spiece | tokenizer_json) echo "engine/tests/corpus_$1" ;;
    workload) echo suite/tests/corpus_workload suite/tests/malformed workloads/smoke workloads/cpu ;;
    picture) echo engine/tests/pictures ;;
    sites) echo workloads/sites workloads/power ;;
    traffic) echo workloads/traffic ;;
    *) echo "suite/tests/corpus_$1" ;;
    esac
}

longest_of() { # bytes of an input; a workload is long
    case $1 in
    pack) echo 16384 ;;
    spiece | workload) echo 8192 ;;
    baseline | clip | held_out | import | prices | published | sites | tokenizer_json | traffic) echo 4096 ;;
    *) echo 2048 ;;
    esac
}

# shellcheck disable=SC2086  # libraries are words
link_target() { # target
    local name objects=()
    for name in $(objects_of "$1"); do objects+=("$build/$name"); done
    make --no-print-directory -s -j"$(nproc)" BUILD=$build CC=clang CXX=clang++ SANITIZE=fuzzer-no-link,$sanitizers \
        CFLAGS="-O1 -fno-sanitize-recover=all -DSUITE_MAX_CELLS=500" "${objects[@]}" &&
        clang++ -fsanitize=fuzzer,$sanitizers "${objects[@]}" ${libraries:-} -lsqlite3 -lhwloc -lpng -ljpeg -lz -lcjson -lxxhash -lm -lpthread \
            -o "$build/fuzz_$1"
}

start() { # target: fuzzes it in the background, log in build/fuzz/TARGET.log; it may change to a folder of its own
    local seeds=() folder
    for folder in $(seeds_of "$1"); do [ -d "$folder" ] && seeds+=("$PWD/$folder"); done
    mkdir -p "$build/corpus/$1" "$build/found"
    DITBENCH_WORKLOADS=$PWD/workloads "$build/fuzz_$1" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 \
        -max_len="$(longest_of "$1")" -dict=ci/fuzz.dict -artifact_prefix="$PWD/$build/found/$1-" -print_final_stats=1 \
        "$PWD/$build/corpus/$1" "${seeds[@]}" >"$build/$1.log" 2>&1 &
}

for target in "${targets[@]}"; do
    is_known "$target" || { echo "ci/fuzz.sh: unknown target '$target' (${known// /, })" >&2; exit 2; }
    link_target "$target" || exit 1
done

echo "fuzzing ${targets[*]} for $seconds s each"
declare -A pids
for target in "${targets[@]}"; do
    start "$target"
    pids[$target]=$!
done
result=0
for target in "${targets[@]}"; do
    if wait "${pids[$target]}"; then
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$build/$target.log")
        edges=$(grep -oE 'cov: [0-9]+' "$build/$target.log" | tail -n 1)
        echo "ok: $target, ${runs:-?} inputs, ${edges:-cov: ?}"
    else
        result=1
        echo "FOUND: $target, see $build/found/$target-* and:"
        grep -vE '^#[0-9]+' "$build/$target.log" | tail -n 40
    fi
done
exit $result
