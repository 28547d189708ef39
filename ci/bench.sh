#!/usr/bin/env bash
# Runs workloads, one session each, draws each session, and ends with the path of the last HTML report.
# Usage: ci/bench.sh [BUILD] [WORKLOAD]...     (default: smoke and cpu/methods for real, then, with SimGrid, the figures of
# the xDiT and PipeFusion papers, simulated; with DITBENCH_BENCH_QUICK=1: smoke; on a machine with a GPU also a part of
# gpu/single)
# Exit: that of the first run that did not end with 0; else 4 when a report cannot be drawn. A claim that does not hold
# is said in the report and is no failure here: `ditbench report` exits with 1 for it.
set -u
cd "$(dirname "$0")/.." || exit 4
build=${1:-build}
shift || true
workloads=("$@")
quick=''
if [ ${#workloads[@]} -eq 0 ]; then
    workloads=(smoke cpu/methods)
    if [ "${DITBENCH_BENCH_QUICK:-0}" = 1 ]; then
        workloads=(smoke)
    elif command -v smpirun >/dev/null && [ -x "$build/bin/ditbench-engine-sim" ]; then
        workloads+=(workloads/papers/xdit/xdit-*.json workloads/papers/pipefusion/pf-*.json)
    else
        echo "no SimGrid: the papers' figures are left out (apt-get install libsimgrid-dev, then make bench)"
    fi
    gpus=$("$build/bin/ditbench-engine" --devices cuda 2>/dev/null)
    if [[ $gpus =~ \"count\":[1-9] ]]; then
        quick=gpu/single
        workloads+=("$quick")
    elif [[ $gpus =~ \"message\":\"([^\"]*)\" ]]; then
        echo "no GPU: workloads/gpu is left out (${BASH_REMATCH[1]//$PWD\//})"
    fi
fi
program=$build/bin/ditbench
result=0 page=''

keep_first() { [ "$result" -ne 0 ] || result=$1; }

# Paths below this folder are shown from here.
show() { printf '%s\n' "$1" | sed "s|$PWD/||g"; }

for workload in "${workloads[@]}"; do
    [ -z "$page" ] || show "page $page"
    echo "== $workload"
    options=()
    [ "$workload" != "$quick" ] || options=(--filter "base_model in ['pixart-alpha-xl-2', 'flux.1-schnell']")
    answer=$("$program" run "$workload" "${options[@]}")
    keep_first $?
    show "$answer"
    session=$(printf '%s\n' "$answer" | sed -n 's/^session //p' | tail -n 1)
    [ -n "$session" ] || continue
    answer=$("$program" report "$session")
    case $? in
    0 | 1 | 5) page=$(printf '%s\n' "$answer" | tail -n 1) ;;
    *) keep_first 4 ;;
    esac
    show "$answer" | sed '$d'
done
[ -z "$page" ] || show "$page"
exit "$result"
