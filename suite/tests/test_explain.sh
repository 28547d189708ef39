#!/usr/bin/env bash
# ditbench explain: every mesh once, legal or with its reason, and figures that are those of the methods. Speaks TAP.
set -u
cd "$(dirname "$0")/../.." || exit 4
ditbench=${DITBENCH_BUILD:-$PWD/build}/bin/ditbench
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. ci/tap.sh

"$ditbench" explain --model pixart-alpha-xl-2~two-blocks --gpus 4 --height 256 --width 256 >"$work/text" 2>"$work/log"
report $? "explain answers"
# 4 = 2 x 2 over six axes, cfg at most 2: 6 + 15 ways, less the one with cfg 4
[ "$(grep -cE '^(1|((u|r|pp|tp|dp)[0-9]+|cfg2)( |$))' "$work/text")" -eq 20 ]
report $? "every product of degrees is there once"
! grep -q '^[a-z0-9 ]*[0-9]\*' "$work/text"
report $? "bytes counted are those of the closed form for every legal mesh"
grep -qE '^dp4 +E_CONSTRAINT_BATCH: num_images 1' "$work/text"
report $? "a mesh that is not legal has its reason"
grep -qE '^pp4 +E_[A-Z_]+: ' "$work/text"
report $? "what is not built says so"

field() { awk -v mesh="$1" -v column="$2" '$1 == mesh { print $column }' "$work/text"; }
awk -v u="$(field u4 3)" -v r="$(field r4 3)" 'BEGIN { exit !(u > 0 && r / u > 1.999 && r / u < 2.001) }'
report $? "ring sends N/2 of what Ulysses sends"

"$ditbench" explain --model pixart-alpha-xl-2~two-blocks --gpus 4 --num_images 4 --json >"$work/json" 2>/dev/null &&
    grep -q '"mesh":.*"dp4"' "$work/json" && grep -q '"reason"' "$work/json"
report $? "four images may be divided by data parallelism; --json holds it all"
"$ditbench" explain --model hunyuanvideo --gpus 2 --platform local-cpu >"$work/text" 2>&1
grep -q 'E_CONSTRAINT_MEMORY' "$work/text"
report $? "a platform drops what does not fit it"
"$ditbench" explain --model pixart-alpha-xl-2 >/dev/null 2>&1
[ $? -eq 2 ]
report $? "without a number of devices it is a usage error"
"$ditbench" explain --model pixart-alfa-xl-2 --gpus 2 >"$work/log" 2>&1
[ $? -eq 2 ] && grep -q 'pixart-alpha-xl-2' "$work/log"
report $? "a misspelt model is refused with the nearest name"
tap_end
