#!/usr/bin/env bash
# A copy of the sources in a folder with spaces builds, runs, simulates and installs. Speaks TAP. Takes as long as a build.
set -u
cd "$(dirname "$0")/../.." || exit 4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. ci/tap.sh

if ! git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    echo "1..0 # SKIP only the tracked files would be copied, and this is no git clone"
    exit 77
fi
copy="$work/dit bench of mine"
mkdir "$copy"
git ls-files -z | xargs -0 cp --parents -P -t "$copy" 2>/dev/null
cd "$copy" || exit 4
make --no-print-directory -j"$(nproc)" CUDA=0 DEBUG=1 all >"$work/log" 2>&1
report $? "it builds"
build/bin/ditbench run smoke --filter "method in ['single', 'ulysses'] && base_model == 'pixart-alpha-xl-2'" --processes 1 --timeout 10m --output "a session" >"$work/log" 2>&1
report $? "ranks run there"
build/bin/ditbench verify "a session" >"$work/log" 2>&1
report $? "and what they left verifies"
if [ -x build/bin/ditbench-engine-sim ] && command -v smpirun >/dev/null; then
    build/bin/ditbench run papers/xdit/xdit-scal-flux-16l40 --filter "world_size == 2 && height_px == 1024" --output "a simulation" >"$work/log" 2>&1 &&
        build/bin/ditbench verify "a simulation" >>"$work/log" 2>&1
    report $? "simulated ranks, too"
    build/bin/ditbench report "a simulation" >>"$work/log" 2>&1
    [ $? -ne 4 ] && [ -s "a simulation/report/report.html" ]
    report $? "and their report is drawn"
else
    report 0 "simulated ranks, too # SKIP no simulator in this build (Debian: libsimgrid-dev)"
fi
build/bin/ditbench generate "$copy/engine/tests/golden/e2e_flux_schnell" --output "a picture.png" >"$work/log" 2>&1 && [ -s "a picture.png" ]
report $? "a picture is generated"
make --no-print-directory CUDA=0 DEBUG=1 PREFIX="$work/a prefix" install >"$work/log" 2>&1 &&
    (cd / && "$work/a prefix/bin/ditbench" expand smoke >"$work/log" 2>&1)
report $? "it installs"
tap_end
