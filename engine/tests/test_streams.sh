#!/usr/bin/env bash
# Clips that stream block by block through stages (dualparal, tpp): what their oracle says, the latents of one rank where
# one block is the clip, bytes of the closed form, when blocks were clean, and what is refused. Speaks TAP.
set -u
cd "$(dirname "$0")/../.." || exit 4
build=${DITBENCH_BUILD:-$PWD/build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. ci/tap.sh
. engine/tests/described.sh
ditbench=$build/bin/ditbench

"$ditbench" run engine/tests/streams.json --output "$work/session" >"$work/log" 2>&1
status=$?
report_runs "$work/log"
[ "$status" -eq 0 ] || sed 's/^/# /' "$work/log"
report "$status" "all of them ran"
records=("$work"/session/cases/*/p0/record.json)
streams=$(grep -l '"stream": {' "${records[@]}" | wc -l)
checked=$(grep -l '"oracle_rel_l2"' "${records[@]}" | wc -l)
matched=$(grep -L '"communication_match":[[:space:]]*true' "${records[@]}" | wc -l)
[ "$streams" -eq 14 ] && [ "$checked" -eq 14 ] && [ "$matched" -eq 0 ]
report $? "14 streams told of their blocks, were held against an oracle and sent what the closed form says ($streams, $checked)"
# One block that is the clip is exact; more blocks are not.
exact=$(sed -nE 's/^ *"rel_l2": *([^,]*),?$/\1/p' "${records[@]}" | awk '$1 < 1e-5 { n++ } END { print n + 0 }')
[ "$exact" -eq 1 ]
report $? "one block that is the clip gives what one rank gives, blocks that see a part do not ($exact)"
described_as_measured "$work/session" >"$work/log" 2>&1
status=$?
[ "$status" -eq 0 ] || sed 's/^/# /' "$work/log"
report "$status" "memory by class, messages and bytes counted without computing are those measured"

# A block is clean before the next one, and the clip is there after the last.
awk -F'[:,]' '/"first_block_ns"/ { first = $2 } /"last_block_ns"/ { if ($2 < first || first <= 0) bad++; n++ } END { exit bad || n != 14 }' "${records[@]}"
report $? "the first block is clean before the last"

sed '/"scheduler":/d' engine/tests/streams.json >"$work/multistep.json"
"$ditbench" run "$work/multistep.json" --filter 'method == "tpp" && block_frames == 4' --output "$work/multistep" >"$work/log" 2>&1
[ $? -ne 0 ] && grep -q 'UniPCMultistepScheduler remembers steps' "$work/log"
report $? "steps of a solver that remembers steps are not divided over ranks"
"$ditbench" run "$work/multistep.json" --filter 'world_size <= 2 && (method == "dualparal" || method == "single")' --output "$work/queue" >"$work/log" 2>&1
report $? "but blocks with a solver of their own go around"
sed 's/"num_frames": 29/"num_frames": 25/' engine/tests/streams.json >"$work/uneven.json"
"$ditbench" expand "$work/uneven.json" >"$work/log" 2>&1
[ "$(grep -c 'frames of tokens not divisible by block_frames' "$work/log")" -ge 10 ]
report $? "blocks that do not divide the clip are refused"
tap_end
