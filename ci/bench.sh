#!/usr/bin/env bash
# Runs workloads, one session each, draws each session, and ends with the path of one page over all of them.
# Usage: ci/bench.sh [--estimate] [BUILD [WORKLOAD]...]      (build; workloads: those of ci/bench.list)
#   --estimate   prints what would be run and how long it would take here, and runs nothing
# Environment: LONG=1 adds the long workloads; DITBENCH_BENCH_QUICK=1 runs the smoke workload alone. A machine with a GPU
# also runs part of gpu/single. Without SimGrid the papers' figures are left out; a line says so, with the command.
# Exit: that of the first run that did not end with 0; else 4 when a page cannot be drawn. A claim that does not hold
# stands in the report and is no failure here: `ditbench report` exits with 1 for it.
set -u
cd "$(dirname "$0")/.." || exit 4
only_estimate=0
[ "${1:-}" != --estimate ] || { only_estimate=1 && shift; }
build=${1:-build}
shift || true
list=${DITBENCH_BENCH_LIST:-ci/bench.list}
times=${DITBENCH_RESULTS:-results/local}/bench.times
program=$build/bin/ditbench
gpu_filter="base_model in ['pixart-alpha-xl-2', 'flux.1-schnell']"

# ---- what -----------------------------------------------------------------------------------------------------------
rows() { sed 's/#.*//' "$1" | awk 'NF == 4 && $1 != "calibration"'; } # NAME SET KIND SECONDS
last_set() { if [ "${DITBENCH_BENCH_QUICK:-0}" = 1 ]; then echo quick; elif [ "${LONG:-0}" = 1 ]; then echo long; else echo default; fi; }
listed() { # names of the sets up to the one that is wanted
    rows "$list" | awk -v last="$(last_set)" 'BEGIN { level["quick"] = 1; level["default"] = 2; level["long"] = 3 }
        level[$2] <= level[last] { print $1 }'
}
kind_of() { # name: measured, simulated, or gpu
    case $1 in gpu/*) echo gpu && return ;; esac
    rows "$list" | awk -v name="$1" '$1 == name { kind = $3 } END { print kind ? kind : "measured" }'
}
can_simulate() { command -v smpirun >/dev/null && [ -x "$build/bin/ditbench-engine-sim" ]; }

left_out() { if [ "$1" -eq 1 ]; then echo '1 figure of a paper is'; else echo "$1 figures of papers are"; fi; }

workloads=("$@")
if [ ${#workloads[@]} -eq 0 ]; then
    mapfile -t workloads < <(listed)
    if ! can_simulate; then
        all=${#workloads[@]}
        mapfile -t workloads < <(for name in "${workloads[@]}"; do [ "$(kind_of "$name")" = simulated ] || echo "$name"; done)
        [ "${#workloads[@]}" -eq "$all" ] ||
            echo "no SimGrid: $(left_out $((all - ${#workloads[@]}))) left out (apt-get install libsimgrid-dev as root, then make bench)"
    fi
    gpus=$("$build/bin/ditbench-engine" --devices cuda 2>/dev/null)
    if [[ $gpus =~ \"count\":[1-9] ]]; then
        [ "$(last_set)" = quick ] || workloads+=(gpu/single)
    elif [[ $gpus =~ \"message\":\"([^\"]*)\" ]] && [ "$(last_set)" != quick ]; then
        echo "no GPU: workloads/gpu is left out (${BASH_REMATCH[1]//$PWD\//})"
    fi
fi

# ---- how long -------------------------------------------------------------------------------------------------------
calibration_of() { # file, key
    sed -n "s/^calibration.* $2=\([0-9.]*\).*/\1/p" "$1" | head -n 1
}
# Measures the GFLOP/s of one core in a linear layer, and the seconds in which the shell counts; half a second each.
calibrate() {
    local i TIMEFORMAT=%R
    gflops=$("$program" kernels --time --threads 1 --filter 'rows=256 n=3456' 2>/dev/null |
        sed -nE 's/.* ([0-9.]+) GFLOP\/s +[0-9.]+ of peak.*/\1/p' | head -n 1)
    count_s=$({ time for ((i = 0; i < 200000; i++)); do :; done; } 2>&1 | tr , .)
    cores=$(nproc)
}
# Prints NAME KIND SECONDS for every workload of this run, as expected here: from the last run here if it has the
# workload, else from the list, scaled by the speed then and now; "-" where neither has it.
expect() {
    local name file
    for name in "${workloads[@]}"; do
        for file in "$times" "$list"; do
            [ -f "$file" ] && rows "$file" | awk -v name="$name" -v kind="$(kind_of "$name")" -v gflops="$gflops" -v count="$count_s" \
                -v cores="$([ "$file" = "$times" ] && echo "$cores" || echo 2)" -v here="$cores" \
                -v then_gflops="$(calibration_of "$file" gflops)" -v then_count="$(calibration_of "$file" count_s)" '
                $1 == name {
                    scale = kind == "simulated" ? count / then_count * cores / here : kind == "gpu" || !gflops ? 1 : then_gflops / gflops
                    printf "%s %s %.1f\n", name, kind, $4 * scale; found = 1
                } END { exit !found }' && break
            [ "$file" != "$list" ] || echo "$name $(kind_of "$name") -"
        done
    done
}
expected=$(mktemp) answers=$(mktemp)
trap 'rm -f "$expected" "$answers"' EXIT

# Prints how long the workloads from number FIRST on will take: the expected seconds, scaled by how long earlier workloads
# of their kind took beside what was expected of them.
left_s() { # first
    awk -v first="$1" 'FILENAME == ARGV[1] { took[$1] = $2; next }
        ($1 in took) && $3 > 0 { real[$2] += took[$1]; guess[$2] += $3 }
        { kind[FNR] = $2; seconds[FNR] = $3; last = FNR }
        END { for (i = first; i <= last; i++) left += seconds[i] * (guess[kind[i]] ? real[kind[i]] / guess[kind[i]] : 1)
              printf "%.0f\n", left }' "$answers" "$expected"
}
in_words() { # seconds
    if [ "$1" -lt 90 ]; then echo "$1 s"; else echo "$((($1 + 30) / 60)) min"; fi
}
workloads_in_words() { if [ "$1" -eq 1 ]; then echo '1 workload'; else echo "$1 workloads"; fi; }

say_estimate() {
    local unknown source
    unknown=$(awk '$3 == "-"' "$expected" | wc -l)
    [ -f "$times" ] && source='an earlier run here' || source='ci/bench.list'
    printf '%s, about %s (%s, scaled by the speed of this machine now: %s GFLOP/s a core)\n' \
        "$(workloads_in_words ${#workloads[@]})" "$(in_words "$(left_s 1)")" "$source" "${gflops:-?}"
    [ "$unknown" -eq 0 ] || echo "not known: $(awk '$3 == "-" { print $1 }' "$expected" | tr '\n' ' ')"
}

# ---- run ------------------------------------------------------------------------------------------------------------
result=0
keep_first() { [ "$result" -ne 0 ] || result=$1; }

# Prints text with paths below this folder as relative ones.
show() { printf '%s\n' "$1" | awk -v here="$PWD/" '{ while (at = index($0, here)) $0 = substr($0, 1, at - 1) substr($0, at + length(here)); print }'; }

# Runs and draws one workload; a simulated one without a line for every case.
take() { # name
    local options=() answer session
    case $(kind_of "$1") in
    gpu) options=(--filter "$gpu_filter") ;;
    simulated) options=(--quiet) ;;
    esac
    answer=$("$program" run "$1" "${options[@]}")
    keep_first $?
    show "$answer" | grep -vE '^(next:|      ditbench )'
    session=$(printf '%s\n' "$answer" | sed -n 's/^session //p' | tail -n 1)
    [ -n "$session" ] || return
    answer=$("$program" report "$session")
    case $? in
    0 | 1 | 5) show "$answer" | sed '$s/^/page /' ;;
    *) keep_first 4 ;;
    esac
}

# Keeps seconds for the next run here: those of this run, and those of earlier runs for workloads that it did not have.
keep_times() {
    local seconds name
    {
        echo "calibration gflops=$gflops count_s=$count_s"
        while read -r name seconds; do echo "$name default $(kind_of "$name") $seconds"; done <"$answers"
    } >"$times.new"
    mv "$times.new" "$times"
}

calibrate
expect >"$expected"
say_estimate
[ "$only_estimate" -eq 0 ] || exit 0
number=0
for workload in "${workloads[@]}"; do
    number=$((number + 1))
    echo "== $number of ${#workloads[@]}: $workload, about $(in_words "$(left_s "$number")") left"
    from=$(date +%s)
    take "$workload"
    echo "$workload $(($(date +%s) - from))" >>"$answers"
done
[ "$result" -ne 0 ] || [ -z "$gflops" ] || [ $# -gt 0 ] || [ "$(last_set)" = quick ] || keep_times
echo "$(workloads_in_words $number) in $(in_words $SECONDS)"
page=$("$program" report --all)
case $? in
0 | 1 | 5) show "$(printf '%s\n' "$page" | tail -n 1)" ;;
*) keep_first 4 ;;
esac
exit "$result"
