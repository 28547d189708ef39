#!/usr/bin/env bash
# Installed under any prefix, ditbench works from any folder. Speaks TAP.
set -u
cd "$(dirname "$0")/../.." || exit 4
build=${DITBENCH_BUILD:-$PWD/build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. ci/tap.sh

make --no-print-directory BUILD="$build" PREFIX="$work/prefix" ${SANITIZE:+SANITIZE="$SANITIZE"} -o all install >"$work/log" 2>&1
report $? "make install PREFIX= installs programs, workloads and schemas"
mkdir "$work/elsewhere" && cd "$work/elsewhere" || exit 4
"$work/prefix/bin/ditbench" run smoke --filter "method == 'single'" --processes 1 --timeout 10m --output "$work/session" >"$work/log" 2>&1
report $? "a workload is found by name and runs"
"$work/prefix/bin/ditbench" report "$work/session" >"$work/log" 2>&1
[ $? -eq 5 ] && [ -s "$work/session/report/report.html" ] # 5: no parallel case, so the claims are undecided
report $? "its report is drawn"
"$work/prefix/bin/ditbench" verify "$work/session" >"$work/log" 2>&1
report $? "its records verify"
[ -s "$work/prefix/share/ditbench/results/schema/record.schema.json" ]
report $? "the schemas are there"
"$work/prefix/bin/ditbench" simulate --points "$work/prefix/share/ditbench/results/published/paper_numbers.json" --list \
    >"$work/log" 2>&1
report $? "so are published numbers, and the names they use"
tap_end
