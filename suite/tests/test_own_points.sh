#!/usr/bin/env bash
# Points of somebody's own beside a workload: found, checked, drawn under their own name, or missed aloud. Speaks TAP.
set -u
cd "$(dirname "$0")/../.." || exit 4
ditbench=${DITBENCH_BUILD:-$PWD/build}/bin/ditbench
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. ci/tap.sh

cat >"$work/mine.json" <<'EOF'
{
  "schema": "ditbench.workload/1",
  "name": "mine",
  "defaults": {"model": "flux.1-dev", "num_inference_steps": 28, "platform": "2x8xl40", "profile": "pytorch-eager",
               "element": "fp16", "resolution": "1024x1024", "warmup_steps": 0, "threads_per_rank": 1},
  "zip": [{"method": ["single", "ring"], "world_size": [1, 2]}],
  "measure": {"scope": "latents", "deadline_s": 300},
  "published": [{"file": "mypoints.json"}],
  "plots": [{"id": "latency", "kind": "latency", "title": "t", "x": "world_size", "series": "method", "panel": "resolution"}]
}
EOF
! "$ditbench" validate "$work/mine.json" >"$work/out" 2>&1 && grep -q '/published/0/file: there is no file of published points' "$work/out"
report $? "validate misses a file of points that is not there, with its place"

point='"model": "FLUX.1-dev", "resolution": "1024x1024", "steps": 28, "interconnect": "PCIe within node, Ethernet between nodes",
  "method": "mymethod", "metric": "latency", "unit": "s", "source": "me", "gpus": 2'
echo "[{$point, \"hardware\": \"2x8xL40\", \"value\": 9.5}, {$point, \"hardware\": \"Z9000\", \"value\": 3.0}]" >"$work/mypoints.json"
"$ditbench" validate "$work/mine.json" >"$work/out" 2>&1
report $? "validate finds the file beside the workload"

if [ ! -x "${DITBENCH_BUILD:-$PWD/build}/bin/ditbench-engine-sim" ]; then
    echo "# no SimGrid: points are not drawn here"
else
    "$ditbench" run "$work/mine.json" --output "$work/s" >"$work/out" 2>&1
    grep -q 'mypoints.json: 1 point is not drawn; /1: .*Z9000' "$work/out"
    report $? "run says which point has no place, and why"
    "$ditbench" report "$work/s" -q >/dev/null 2>&1
    grep -q ',2,mymethod,.*,published,ok,1,9.5,' "$work/s/report/latency.csv"
    report $? "a method that no table knows is drawn under its own name"
    "$ditbench" report "$work/s" --format pdf,eps --width 3.3in --font 8 --no-title -q >/dev/null 2>&1
    head -c 5 "$work/s/report/paper/latency.pdf" | grep -q '%PDF-' && head -c 4 "$work/s/report/paper/latency.eps" | grep -q '%!PS' &&
        ! grep -q "commit" "$work/s/report/paper/latency.gp"
    report $? "report draws PDF and EPS for a paper, without title and commit"
fi
tap_end
