#!/usr/bin/env bash
# The program attention: one layer over 1, 2 and 4 ranks gives the layer of one rank and the plain operator's, sends
# exactly the bytes of the closed form, and computes every pair of query and key once. Speaks TAP.
set -u
cd "$(dirname "$0")/../.." || exit 4
build=${DITBENCH_BUILD:-$PWD/build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. ci/tap.sh

# Two shapes with and without a mask; of each: one rank, u2, u4, and r2, r4, u2 r2, u2 r2 packed in three layouts. Of the
# even shape without a mask also whole rows of scores, and queries that travel, on r2, r4; of all shapes one rank that
# keeps all scores.
cases=$("$build/bin/ditbench" expand engine/tests/attention.json | grep -c '^keep')
references=$("$build/bin/ditbench" expand engine/tests/attention.json | grep -c '^keep.*(reference)$')
alone=$("$build/bin/ditbench" expand engine/tests/attention.json | grep -cE '^keep.*(ring-self-attention|token-ring|standard)')
[ "$references" -eq 4 ] && [ "$alone" -eq 16 ] && [ "$cases" -eq $((references * (3 + 4 * 3) + alone)) ]
report $? "options without effect merge: $references references, $cases cases"

"$build/bin/ditbench" run engine/tests/attention.json --output "$work/session" >"$work/log" 2>&1
status=$?
report_runs "$work/log"
[ "$status" -eq 0 ] && [ "$test_number" -eq $((cases + 1)) ]
report $? "all $cases configurations ran"
[ "$status" -eq 0 ] || sed 's/^/# /' "$work/log"

# The records say that they were checked, not only that nothing complained.
records=("$work"/session/cases/*/p0/record.json)
matched=$(grep -l '"communication_match":[[:space:]]*true' "${records[@]}" | wc -l)
compared=$(grep -A 6 -h '"validation"' "${records[@]}" | grep -c '"rel_l2"')
checked=$(grep -A 2 -h '"operator_check"' "${records[@]}" | grep -c '"rel_l2"')
[ "$matched" -eq "$cases" ] && [ "$compared" -eq $((cases - references)) ] && [ "$checked" -eq "$cases" ]
report $? "every record matched its closed form, one rank and the plain operator ($matched, $compared, $checked)"
! grep -hE '"loop_allocations":[[:space:]]*[1-9]' "${records[@]}" >/dev/null
report $? "a forward allocates nothing"
# 4 B H D pairs: S^2 pairs without a mask, S (S + 1) / 2 with one; S and H are 96 and 4, or 101 and 6.
sums=$(grep -hE '"attention_flops":' "${records[@]}" | tr -dc '0-9\n' | sort -nu | tr '\n' ' ')
[ "$sums" = "$((128 * 4 * 96 * 97 / 2)) $((128 * 6 * 101 * 102 / 2)) $((128 * 4 * 96 * 96)) $((128 * 6 * 101 * 101)) " ]
report $? "every mesh and layout computes every pair once, and no other"
"$build/bin/ditbench" verify "$work/session" >"$work/log" 2>&1
report $? "the session verifies"

# layer NAME LAYER PARALLEL [ATTENTION]: one rank's complaint
layer() {
    printf '{"schema": "ditbench.case/1", "program": "attention", "layer": {%s}, "run": {"seed": 1}, "parallel": {%s}, "attention": "%s"}' \
        "$2" "$3" "${4:-auto}" >"$work/$1.json"
    "$build/bin/ditbench-engine" --case "$work/$1.json" --out "$work/$1" >"$work/$1.log" 2>&1
}
layer heads '"tokens": 8, "heads": 3, "head_dim": 4' '"ulysses_degree": 2'
[ $? -eq 2 ] && grep -q 'E_CONSTRAINT_HEADS: heads 3 .*ulysses_degree 2' "$work/heads.log" && grep -q pad_heads "$work/heads.log"
report $? "heads that do not divide are refused, with the way out"
layer tokens '"tokens": 9, "heads": 4, "head_dim": 4, "layout": "zigzag"' '"ring_degree": 2'
[ $? -eq 2 ] && grep -q 'E_CONSTRAINT_TOKENS: tokens 9 .*zigzag' "$work/tokens.log" && grep -q pad_tokens "$work/tokens.log"
report $? "tokens that do not divide evenly are refused, with the way out"
layer groups '"tokens": 8, "heads": 4, "kv_heads": 3, "head_dim": 4' ''
[ $? -eq 2 ] && grep -q 'E_CONSTRAINT_HEADS: heads 4 .*kv_heads 3' "$work/groups.log"
report $? "key heads that do not divide the heads are refused"
gemm() { # NAME PARALLEL ATTENTION: beside a product of matrices
    printf '{"schema": "ditbench.case/1", "program": "attention", "layer": {"tokens": 64, "heads": 2, "head_dim": 16}, "run": {"seed": 1},
        "parallel": {%s}, "attention": "%s", "measure": {"gemm": true, "iterations": 2}}' "$2" "$3" >"$work/$1.json"
    "$build/bin/ditbench-engine" --case "$work/$1.json" --out "$work/$1" >"$work/$1.log" 2>&1
}
gemm beside '' standard && grep -A4 '"gemm"' "$work/beside/record.json" | grep -qE '"share":[[:space:]]*0\.[0-9]*[1-9]' &&
    grep -A4 '"operator_check"' "$work/beside/record.json" | grep -q '"pass":[[:space:]]*true'
report $? "a layer has its share of the rate of a product of matrices"
gemm ranks '"ring_degree": 2' ring
[ $? -ne 0 ] && grep -q 'E_UNSUPPORTED: .*/measure/gemm' "$work/ranks.log"
report $? "a layer on several ranks has no such share"
layer whole '"tokens": 8, "heads": 4, "head_dim": 4' '"ring_degree": 2' standard
[ $? -eq 2 ] && grep -q 'E_CONSTRAINT_METHOD: attention standard on 2 ranks' "$work/whole.log"
report $? "standard attention on two ranks is refused"
layer data '"tokens": 8, "heads": 4, "head_dim": 4' '"data_degree": 2'
[ $? -ne 0 ] && grep -q 'E_UNSUPPORTED: .*sequence' "$work/data.log"
report $? "other axes are refused"
layer together '"tokens": 8, "heads": 4, "head_dim": 4, "causal": true, "mask": "window"' '"ring_degree": 2'
[ $? -eq 2 ] && grep -q 'E_CONSTRAINT_METHOD: causal and mask window together' "$work/together.log"
report $? "two masks together are refused"
layer zebra '"tokens": 8, "heads": 4, "head_dim": 4, "mask": "windows"' ''
[ $? -ne 0 ] && grep -q 'mask.*windows' "$work/zebra.log" && grep -q 'window' "$work/zebra.log"
report $? "an unknown mask is refused, with the nearest name"
layer inner '"tokens": 8, "heads": 4, "head_dim": 4, "inner_ring": 3' '"ring_degree": 2' double-ring
[ $? -eq 2 ] && grep -q 'E_CONSTRAINT_PRODUCT: ring_degree 2 not divisible by inner_ring 3' "$work/inner.log"
report $? "inner rings that do not make up the ring are refused"

# Whole rows of scores with shared key heads: the rings' bytes in twice the messages, scores of B H n S floats and no
# more that grows, and blocks of k and v that are a third of a merging ring's.
cat >"$work/rows.json" <<'END'
{"schema": "ditbench.workload/1", "name": "rows", "program": "attention",
 "defaults": {"tokens": 96, "heads": 6, "head_dim": 8, "batch": 2},
 "axes": {"attention": ["ring", "ring-self-attention"], "kv_heads": [6, 2, 1], "ring_degree": [2, 4]},
 "repeat": {"processes": 1}, "measure": {"warmup_runs": 1, "iterations": 2, "deadline_s": 60},
 "expect": [
  {"id": "operator", "claim": "the plain operator's result", "expr": "count(attention='ring-self-attention') == 6 && all('operator_rel_l2 < 1e-5')"},
  {"id": "bytes", "claim": "bytes of k and v around the ring", "expr": "all('communication_bytes == 2 * (ring_degree - 1) * batch * tokens / ring_degree * kv_heads * head_dim * 4')"},
  {"id": "messages", "claim": "keys and values in rounds of their own", "expr": "all('communication_messages == 2 * (ring_degree - 1)', attention='ring-self-attention') && all('communication_messages == ring_degree - 1', attention='ring')"},
  {"id": "scores", "claim": "B H n S scores and next to nothing else", "expr": "all('activations_bytes - 4 * batch * heads * tokens / ring_degree * tokens >= 0 && activations_bytes - 4 * batch * heads * tokens / ring_degree * tokens < 4096', attention='ring-self-attention')"},
  {"id": "blocks", "claim": "two blocks of k or v", "expr": "all('comm_buffer_bytes == 2 * 4 * batch * tokens / ring_degree * kv_heads * head_dim', attention='ring-self-attention')"}]}
END
"$build/bin/ditbench" run "$work/rows.json" --output "$work/rows" >"$work/log" 2>&1
report $? "whole rows: shared heads give the plain operator's result"
"$build/bin/ditbench" report "$work/rows" >>"$work/log" 2>&1
[ "$(grep -o '"verdict":[[:space:]]*"holds"' "$work/rows/report/claims.json" | wc -l)" -eq 5 ]
report $? "whole rows: bytes, messages and memory of scores are those of the formulas"
layer causal '"tokens": 8, "heads": 4, "head_dim": 4, "causal": true' '"ring_degree": 2' ring-self-attention
[ $? -ne 0 ] && grep -q 'E_UNSUPPORTED: ring-self-attention .*causal' "$work/causal.log" && grep -q '"ring"' "$work/causal.log"
report $? "whole rows: a causal mask is refused, with the way out"
layer uneven '"tokens": 9, "heads": 4, "head_dim": 4, "pad_tokens": true' '"ring_degree": 2' ring-self-attention
[ $? -eq 2 ] && grep -q 'E_CONSTRAINT_TOKENS: ring-self-attention: tokens 9' "$work/uneven.log"
report $? "whole rows: tokens that do not divide are refused"
layer alone '"tokens": 8, "heads": 4, "head_dim": 4' '' ring-self-attention
[ $? -eq 2 ] && grep -q 'E_CONSTRAINT_METHOD: ring-self-attention needs a ring' "$work/alone.log"
report $? "whole rows: one rank is refused"

# Queries that travel: the bytes of k and v that would, and a log-sum-exp; with shared key heads, more.
cat >"$work/queries.json" <<'END'
{"schema": "ditbench.workload/1", "name": "queries", "program": "attention",
 "defaults": {"tokens": 96, "heads": 6, "head_dim": 8, "batch": 2, "attention": "token-ring"},
 "axes": {"kv_heads": [6, 2, 1], "ring_degree": [2, 3, 4]},
 "repeat": {"processes": 1}, "measure": {"warmup_runs": 1, "iterations": 2, "deadline_s": 60},
 "expect": [
  {"id": "operator", "claim": "the plain operator's result", "expr": "count() == 9 && all('operator_rel_l2 < 1e-5')"},
  {"id": "bytes", "claim": "queries one way, results the other", "expr": "all('communication_bytes == (ring_degree - 1) * batch * tokens / ring_degree * heads * (2 * head_dim + 1) * 4')"},
  {"id": "messages", "claim": "two a hop", "expr": "all('communication_messages == 2 * (ring_degree - 1)')"}]}
END
"$build/bin/ditbench" run "$work/queries.json" --output "$work/queries" >"$work/log" 2>&1 &&
    "$build/bin/ditbench" report "$work/queries" >>"$work/log" 2>&1
[ $? -eq 0 ] && [ "$(grep -o '"verdict":[[:space:]]*"holds"' "$work/queries/report/claims.json" | wc -l)" -eq 3 ]
report $? "queries that travel: the result, bytes and messages of the formulas"

# What idles under a causal mask, with 12 tokens a rank: the formulas of engine/attention/README.md.
cat >"$work/idle.json" <<'END'
{"schema": "ditbench.workload/1", "name": "idle", "program": "attention",
 "defaults": {"heads": 2, "head_dim": 4, "causal": true},
 "zip": [{"attention": ["ring", "ring", "ring", "all-gather", "lightseq", "lightseq"],
  "layout": ["basic", "zigzag", "stripe", "basic", "basic", "basic"],
  "ring_degree": [4, 4, 4, 4, 4, 3], "tokens": [48, 48, 48, 48, 48, 36]}],
 "repeat": {"processes": 1}, "measure": {"warmup_runs": 0, "iterations": 1, "deadline_s": 60},
 "expect": [
  {"id": "consecutive", "claim": "the last rank works in every hop", "expr": "count(layout='basic', where='attention != \"lightseq\"') == 2 && all('abs(idle_share - (1 - (tokens + 1) / (13 + 24 * (ring_degree - 1)))) < 1e-12', layout='basic', where='attention != \"lightseq\"')"},
  {"id": "slots", "claim": "(r - 1) / 2r of a ring's hops", "expr": "all('abs(idle_slot_share - (ring_degree - 1) / (2 * ring_degree)) < 1e-12', layout='basic', attention='ring')"},
  {"id": "zigzag", "claim": "none", "expr": "all('abs(idle_share) < 1e-12', layout='zigzag')"},
  {"id": "stripe", "claim": "half a diagonal more or less", "expr": "all('abs(idle_share - (ring_degree - 1) / (13 * ring_degree)) < 1e-12', layout='stripe')"},
  {"id": "even", "claim": "half the ranks in the last step", "expr": "all('abs(idle_share - 12 / (12 * ring_degree + 13)) < 1e-12 && abs(idle_slot_share - 1 / (ring_degree + 2)) < 1e-12', attention='lightseq', ring_degree=4)"},
  {"id": "odd", "claim": "none", "expr": "all('abs(idle_share) < 1e-12 && idle_slot_share == 0', attention='lightseq', ring_degree=3)"}]}
END
"$build/bin/ditbench" run "$work/idle.json" --output "$work/idle" >"$work/log" 2>&1 &&
    "$build/bin/ditbench" verify "$work/idle" >>"$work/log" 2>&1 &&
    "$build/bin/ditbench" report "$work/idle" >>"$work/log" 2>&1
[ $? -eq 0 ] && [ "$(grep -o '"verdict":[[:space:]]*"holds"' "$work/idle/report/claims.json" | wc -l)" -eq 6 ]
report $? "idle shares of causal attention are the formulas of ring, zigzag, stripe, all-gather and lightseq"

# Every policy on random layers: bytes, messages and flops of the closed form, the plain operator's result; a closed form
# of a byte more fails. All on 2, 4, 6 and 8 ranks; each policy is there, with a mask where it has one.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # containers
for ranks in 2 4 6 8; do
    mpirun --oversubscribe --bind-to none -n "$ranks" --mca plm isolated --mca pml ob1 --mca btl self,vader \
        --mca btl_vader_single_copy_mechanism none --mca mpi_yield_when_idle 1 "$build/tests/engine_layers" 5 >"$work/layers" 2>&1
    status=$?
    sed 's/^/# /' "$work/layers" | head -n 20
    for policy in ulysses ring ring-self-attention token-ring all-gather lightseq double-ring; do
        grep -qE "^$policy $ranks ranks: [1-9][0-9]* layers" "$work/layers" || status=1
    done
    for policy in ulysses ring all-gather lightseq double-ring; do
        grep -qE "^$policy $ranks ranks: .* [1-9][0-9]* causal" "$work/layers" || status=1
    done
    for policy in ulysses ring all-gather double-ring; do
        grep -qE "^$policy $ranks ranks: .* 14 kinds of masks" "$work/layers" || status=1
    done
    report "$status" "every policy and mask on random layers, $ranks ranks"
done

# A wrong formula must fail a case: the same engine, whose closed form of the ring says a byte a message too many.
DITBENCH_FAULT=bytes:ring "$build/bin/ditbench" run engine/tests/attention.json --engine "$build/tests/ditbench-engine-fault" \
    --filter 'ring_degree == 2 && world_size == 2 && layout == "stripe"' --output "$work/wrong" >"$work/log" 2>&1
[ $? -eq 6 ] && grep -q E_BYTES_MISMATCH "$work"/wrong/cases/*/p0/error.json
report $? "a wrong closed form fails the case with E_BYTES_MISMATCH, exit code 6"
tap_end
