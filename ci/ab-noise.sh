#!/usr/bin/env bash
# Says how often `ditbench ab` is wrong on this machine: an engine against itself, and against itself made slower.
# Usage: ci/ab-noise.sh [--aa N] [--slow M] [--percent P] [--seconds S] [--busy-limit L] [--filter EXPR] [--keep] [BUILD]
# Defaults: 20, 5, 5, 3600, 10, all four cases, build.
#   --aa N        runs of the engine against itself; every "slower" and "faster" is false
#   --slow M      runs in which the new side waits for P % of each iteration; every "faster" and "same" is false
#   --seconds S   the time of all runs together: no run and no round of pairs begins later
#   --busy-limit L  as of ditbench ab; 100: every pair counts, whatever runs beside it
#   --filter EXPR  only cases whose tags satisfy EXPR, such as "resolution == '256x256'"
#   --keep        leaves the sessions where they are, and says where
# Needs `make tests` (the engine that can be made slower) and python3. The table goes to stdout as it grows, progress to
# stderr, the sessions into a folder of its own.
# Exit: 0 no verdict is false; 1 one is; 3 a run failed; 4 something is missing.
set -u
cd "$(dirname "$0")/.." || exit 4
aa=20 slow=5 percent=5 seconds=3600 busy_limit=10 filter='' keep=0
while [ $# -gt 0 ]; do
    case $1 in
    --aa | --slow | --percent | --seconds | --busy-limit)
        case ${2:-} in '' | *[!0-9]*) echo "$1 needs a whole number" >&2 && exit 2 ;; esac
        name=${1#--}
        printf -v "${name//-/_}" %s "$2"
        shift 2
        ;;
    --filter)
        [ -n "${2:-}" ] || { echo "--filter needs an expression" >&2 && exit 2; }
        filter=$2 && shift 2
        ;;
    --keep) keep=1 && shift ;;
    -*) echo "usage: ci/ab-noise.sh [--aa N] [--slow M] [--percent P] [--seconds S] [--busy-limit L] [--filter EXPR] [--keep] [BUILD]" >&2 && exit 2 ;;
    *) break ;;
    esac
done
build=$(realpath "${1:-build}")
engine=$build/tests/ditbench-engine-fault
for file in "$build/bin/ditbench" "$engine"; do
    [ -x "$file" ] || { echo "there is no $file: run make tests" >&2 && exit 4; }
done
work=$(mktemp -d "${TMPDIR:-/tmp}/ditbench-ab-XXXXXX")
trap '[ "$keep" = 1 ] && echo "sessions: $work" >&2 || rm -rf "$work"' EXIT
export DITBENCH_RESULTS=$work/results DITBENCH_WORKLOADS=${DITBENCH_WORKLOADS:-$PWD/workloads}

# Four cases: one layer of few tokens and two of more, on one rank and on two.
cat >"$work/noise.json" <<'JSON'
{
  "schema": "ditbench.workload/1",
  "name": "ab-noise",
  "title": "Small cases that ab judges",
  "program": "denoise",
  "defaults": {"num_inference_steps": 2, "text_tokens": 16, "platform": "local-cpu", "threads_per_rank": 1},
  "zip": [{
    "model": [{"name": "pixart-alpha-xl-2", "as": "1l", "override": {"num_layers": 1}},
              {"name": "pixart-alpha-xl-2", "as": "2l", "override": {"num_layers": 2}}],
    "resolution": ["64x64", "256x256"]
  }],
  "axes": {"method": ["single", "ulysses"], "world_size": [1, 2]},
  "repeat": {"processes": 1},
  "measure": {"warmup_runs": 1, "iterations": 5, "deadline_s": 120}
}
JSON
printf '#!/bin/sh\nexec %q "$@"\n' "$engine" >"$work/as-it-is"
printf '#!/bin/sh\nDITBENCH_FAULT=slow:%s exec %q "$@"\n' "$percent" "$engine" >"$work/slowed"
chmod +x "$work/as-it-is" "$work/slowed"

# rows KIND RUN JSON: a line for each case; its last word says whether the verdict is false
rows() {
    python3 - "$@" <<'P'
import json, sys
kind, run, path = sys.argv[1:]
wrong = ("slower", "faster") if kind == "aa" else ("faster", "same")
for t in json.load(open(path))["timings"]:
    between = "%+.2f..%+.2f%%" % (100 * (t["low"] - 1), 100 * (t["high"] - 1)) if "low" in t else "-"
    ratio = "%.4f" % t["ratio"] if "ratio" in t else "-"
    verdict = t["verdict"]
    state = "FALSE" if verdict in wrong else "undecided" if verdict == "undecided" else "right"
    print("%-5s %3s  %-34s %-10s %-8s %-18s %5d %8d  %s" % (kind, run, t["label"][:34], verdict, ratio, between, t["n"],
                                                          t["not_counted"], state))
P
}

started=$SECONDS failed=0 done_runs=0
# judge KIND RUN NEW: one run of ab
judge() {
    local left=$((seconds - (SECONDS - started))) code
    [ "$left" -gt 0 ] || return 0
    "$build/bin/ditbench" ab "$work/noise.json" --old "$work/as-it-is" --new "$3" --max-time "${left}s" -q --busy-limit "$busy_limit" \
        ${filter:+--filter "$filter"} --output "$work/$1-$2" --json >"$work/answer" 2>"$work/err"
    code=$?
    case $code in 0 | 1 | 5) rows "$1" "$2" "$work/answer" | tee -a "$work/table" && done_runs=$((done_runs + 1)) ;;
    130 | 143) exit "$code" ;;
    *) failed=$((failed + 1)) && echo "run $1 $2 ended with $code:" >&2 && tail -n 5 "$work/err" >&2 ;;
    esac
    echo "$1 $2: $((SECONDS - started)) s of $seconds s, load $(cut -d ' ' -f 1 /proc/loadavg)" >&2
}

: >"$work/table"
printf '%-5s %3s  %-34s %-10s %-8s %-18s %5s %8s  %s\n' kind run case verdict ratio interval pairs "not cnt" "is"
for ((i = 1; i <= aa || i <= slow; i++)); do # one kind after the other, so that both see the same machine
    [ "$i" -gt "$aa" ] || judge aa "$i" "$work/as-it-is"
    [ "$i" -gt "$slow" ] || judge slow "$i" "$work/slowed"
done
count() { awk -v kind="$1" -v state="$2" '$1 == kind && (state == "" || $NF == state)' "$work/table" | wc -l; }
false_verdicts=$(($(count aa FALSE) + $(count slow FALSE)))
echo "against itself: $(count aa FALSE) false, $(count aa undecided) undecided of $(count aa '') cases;" \
    "$percent % slower: $(count slow FALSE) false, $(count slow right) found, $(count slow undecided) undecided of $(count slow '') cases;" \
    "$done_runs of $((aa + slow)) runs in $((SECONDS - started)) s, $failed failed"
[ "$failed" -eq 0 ] || exit 3
[ "$false_verdicts" -eq 0 ] || exit 1
