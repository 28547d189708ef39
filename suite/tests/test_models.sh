#!/usr/bin/env bash
# What `ditbench list models` counts, against what the model files state. Speaks TAP.
set -u
cd "$(dirname "$0")/../.." || exit 4
ditbench=${DITBENCH_BUILD:-$PWD/build}/bin/ditbench
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. ci/tap.sh

"$ditbench" list models --json >"$work/models.json" 2>"$work/log"
report $? "list models counts every model"
runnable=$(grep -l '"config":' workloads/models/*.json | wc -l)
counted=$(grep -c '"flops_per_forward":' "$work/models.json")
variants=$(grep -c '"name":.*~' "$work/models.json")
[ "$counted" -gt "$variants" ] && [ "$((counted - variants))" -eq "$runnable" ] && ! grep -q '"error"' "$work/models.json"
report $? "each of the $runnable models with a config, and its variants, has flops, parameters and memory"

# name and ratio of the full-size models whose files derive flops from a formula
awk -F'"' '/"name":/ { name = $4 } /"counted_over_stated":/ { split($3, part, /[:,\t ]+/); print name, part[2] }' \
    "$work/models.json" >"$work/ratios"
stated=$(grep -l '"config":' workloads/models/*.json | xargs grep -l '"tflops_per_forward": [0-9]' | wc -l)
[ "$(wc -l <"$work/ratios")" -eq "$stated" ] && [ "$stated" -ge 12 ]
report $? "$stated models state flops by a formula"
while read -r name ratio; do
    awk -v ratio="$ratio" 'BEGIN { exit !(ratio > 0.97 && ratio < 1.03) }'
    status=$?
    [ "$status" -eq 0 ] || echo "# counted over stated: $ratio"
    report "$status" "$name: flops counted are those stated within 3 %"
done <"$work/ratios"

"$ditbench" list models --filter wan2.1-t2v-1.3b --resolution 416x240 --frames 9 --json >"$work/small.json" 2>/dev/null &&
    ! grep -q counted_over_stated "$work/small.json" && grep -q '"resolution":.*"416x240"' "$work/small.json"
report $? "another size is counted and not held against the default run's"
tap_end
