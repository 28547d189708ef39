#!/usr/bin/env bash
# make bench: what is listed is there and fits its time, the estimate follows the list and the machine, each workload is
# run and drawn, and the end is one page. ditbench is replaced by a stand-in that answers as it does. Speaks TAP.
set -u
cd "$(dirname "$0")/../.." || exit 4
real=${DITBENCH_BUILD:-$PWD/build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. ci/tap.sh
unset LONG DITBENCH_BENCH_QUICK DITBENCH_BENCH_LIST
export DITBENCH_RESULTS=$work/results
mkdir -p "$work/results" "$work/build/bin" "$work/bin"

# ---- the list -------------------------------------------------------------------------------------------------------
rows() { sed 's/#.*//' ci/bench.list | awk 'NF == 4 && $1 != "calibration"'; }
wrong=$(sed 's/#.*//' ci/bench.list | awk 'NF && $1 != "calibration" && (NF != 4 || $2 !~ /^(quick|default|long)$/ ||
    $3 !~ /^(measured|simulated)$/ || $4 !~ /^[0-9]+$/ || seen[$1]++)')
[ -z "$wrong" ] && [ "$(rows | wc -l)" -gt 25 ] && grep -qE '^calibration gflops=[0-9.]+ count_s=[0-9.]+$' ci/bench.list
report $? "each row has a name, a set, a kind and seconds"
# shellcheck disable=SC2046  # names are words
"$real/bin/ditbench" validate $(rows | awk '{ name = $1; if (name !~ /\//) name = name "/" name; print "workloads/" name ".json" }') \
    >"$work/log" 2>&1
status=$?
[ "$status" -eq 0 ] || sed 's/^/# /' "$work/log"
report "$status" "each is a valid workload"
missing=$(for file in workloads/papers/xdit/xdit-*.json workloads/papers/pipefusion/pf-*.json; do
    name=${file#workloads/} && rows | grep -q "^${name%.json} " || echo "$name"
done)
[ -z "$missing" ]
report $? "no figure of the two papers is missing from what LONG=1 runs $missing"
# A slow machine does 100 GFLOP/s a core in a linear layer, not 265, and half of all else; its build and packages take two
# minutes of the eight.
awk '{ if ($2 != "long") total += $3 == "simulated" ? 2 * $4 : 2.65 * $4 } END { exit !(total < 360) }' < <(rows)
report $? "what runs unless LONG=1 is said fits into six minutes of a slow machine"

# ---- the run --------------------------------------------------------------------------------------------------------
printf 'calibration gflops=100 count_s=0.1\nfirst quick measured 60\nsecond default measured 120\nthird default simulated 30\nfourth long measured 240\n' \
    >"$work/list"
cat >"$work/build/bin/ditbench" <<'END'
#!/bin/sh
echo "$@" >>"$ASKED"
case "$1 $2" in
kernels*) echo "linear  rows=256 n=3456  PASS  1.0 ms  50.0 GFLOP/s  0.9 of peak" ;;
"run second") echo "session $PWD/results/local/second"; exit "${SECOND_EXIT:-0}" ;;
run*) echo "session $PWD/results/local/$2"; echo "next: ditbench show" ;;
"report --all") echo "one line"; echo "$PWD/results/local/index.html"; exit "${REPORT_EXIT:-0}" ;;
report*) echo "1 figure"; echo "$2/report/report.html"; exit "${REPORT_EXIT:-0}" ;;
esac
END
chmod +x "$work/build/bin/ditbench"
printf '#!/bin/sh\necho "{}"\n' >"$work/build/bin/ditbench-engine"
printf '#!/bin/sh\n' | tee "$work/bin/smpirun" >"$work/build/bin/ditbench-engine-sim"
chmod +x "$work"/build/bin/* "$work/bin/smpirun"
export ASKED=$work/asked DITBENCH_BENCH_LIST=$work/list
bench() { # arguments: what is said lies in $work/out
    rm -f "$ASKED"
    PATH=$work/bin:$PATH BASH_ENV='' bash ci/bench.sh "$@" >"$work/out" 2>&1
}
ln -s "$work/build" "$work/here"
said() { grep -qE -- "$1" "$work/out" || { sed 's/^/# /' "$work/out"; return 1; }; }

bench --estimate "$work/build" && said '^3 workloads, about [0-9]+ (s|min) \(.*list, .* 50.0 GFLOP/s a core\)$' && ! grep -qE '^(run|report)' "$ASKED"
report $? "an estimate is said, and nothing is run"
bench "$work/build" && said '^== 1 of 3: first, about [0-9]+ min left$' && said '^== 3 of 3: third, about [0-9]+ (s|min) left$'
report $? "each workload is told, with the time left"
[ "$(grep -c '^run' "$ASKED")" -eq 3 ] && grep -q '^run third --quiet$' "$ASKED" && [ "$(grep -c '^report [^-]' "$ASKED")" -eq 3 ]
report $? "each is run once and drawn once, simulated ones without a line for every case"
[ "$(tail -n 1 "$work/out")" = results/local/index.html ] && said '^page results/local/first/report/report.html$' && ! grep -q '^next:' "$work/out"
report $? "the last line is the page over all, with its path from here"
LONG=1 bench "$work/build" && [ "$(grep -c '^run' "$ASKED")" -eq 4 ]
report $? "LONG=1 runs all of the list"
DITBENCH_BENCH_QUICK=1 bench "$work/build" && [ "$(grep '^run' "$ASKED")" = "run first" ]
report $? "DITBENCH_BENCH_QUICK=1 runs smoke alone"
bench "$work/build" second && [ "$(grep '^run' "$ASKED")" = "run second" ]
report $? "named workloads are run instead of the list"
SECOND_EXIT=3 bench "$work/build"
[ $? -eq 3 ] && [ "$(grep -c '^run' "$ASKED")" -eq 3 ]
report $? "a run that fails decides the exit code, and the others are run"
REPORT_EXIT=1 bench "$work/build" && [ "$(tail -n 1 "$work/out")" = results/local/index.html ]
report $? "a claim that does not hold is no failure"
REPORT_EXIT=6 bench "$work/build"
[ $? -eq 4 ]
report $? "a page that cannot be drawn is one: 4"

# By the speed of the machine: the list is of one that is twice as fast in linear layers.
rm -f "$work/results/bench.times"
bench --estimate "$work/build" first && said 'about 2 min '
report $? "half the speed, twice the time"
bench "$work/build" && said '^3 workloads in [0-9]+ s$' && [ "$(grep -c ' measured \| simulated ' "$work/results/bench.times")" -eq 3 ] &&
    bench --estimate "$work/build" && said '^3 workloads, about [0-9] s \(an earlier run here'
report $? "a second run knows what the first one took"
mv "$work/build/bin/ditbench-engine-sim" "$work/build/bin/gone"
bench "$work/build" && said 'no SimGrid: 1 figure of a paper is left out .*libsimgrid-dev' && [ "$(grep -c '^run' "$ASKED")" -eq 2 ]
report $? "without SimGrid the rest is run, and the command said"

# ---- for which GPUs -------------------------------------------------------------------------------------------------
printf '#!/bin/sh\nprintf "9.0\\n8.9\\n9.0\\n"\n' >"$work/bin/nvidia-smi"
chmod +x "$work/bin/nvidia-smi"
[ "$(PATH=$work/bin:$PATH ci/gpu/arch.sh | tr '\n' ' ')" = '89 90 ' ]
report $? "GPUs are told by what they compute as, once each"
printf '#!/bin/sh\nexit 9\n' >"$work/bin/nvidia-smi"
touch "$work/nvidia0"
[ "$(PATH=$work/bin:$PATH DITBENCH_DEVICE_NODES="$work/nvidia*" ci/gpu/arch.sh)" = native ] &&
    [ -z "$(PATH=$work/bin:$PATH DITBENCH_DEVICE_NODES="$work/none*" ci/gpu/arch.sh)" ]
report $? "without nvidia-smi by the driver's devices, and nothing where there are none"
tap_end
