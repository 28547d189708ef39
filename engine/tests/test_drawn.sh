#!/usr/bin/env bash
# Configurations of the newest classes that are drawn, against diffusers, on one rank and on two, where PyTorch and diffusers are
# installed in the pinned versions (ci/deps.sh census). Long form (DITBENCH_TEST_ALL=1): 10 of each; short form: 3. Speaks TAP.
# Environment: DITBENCH_DRAWN_SEED
set -u
cd "$(dirname "$0")/../.." || exit 4
build=${DITBENCH_BUILD:-$PWD/build}
. ci/tap.sh
export PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}
peers=${DITBENCH_PEERS:-${XDG_CACHE_HOME:-${HOME:-}/.cache}/ditbench/peers}
python=${peers%/*}/census-0.42.1/bin/python
count=3
[ "${DITBENCH_TEST_ALL:-0}" != 1 ] || count=10
for name in ltx2 flux_kontext hunyuan_video15; do
    told="$count drawn configurations of $name agree with diffusers, on one rank and two"
    if ! "$python" -c 'import diffusers, torch' >/dev/null 2>&1; then
        skip "$told" "there is no $python with PyTorch and diffusers"
        continue
    fi
    out=$("$python" engine/tests/golden/draw.py "$build/bin/ditbench" --count $count --seed "${DITBENCH_DRAWN_SEED:-1}" $name 2>&1)
    status=$?
    grep -E '^(pass|FAIL) |agree' <<<"$out" | sed 's/^/# /'
    [ "$status" -eq 0 ] || tail -n 5 <<<"$out" | sed 's/^/# /'
    report "$status" "$told"
done
tap_end
