#!/usr/bin/env bash
# Every exact method at 2 and 4 ranks: the latents of one rank, and exactly the bytes of the closed form. Long form
# (DITBENCH_TEST_ALL=1): of every small model; short form: of three, whose attention is of three kinds (all others run
# every method in test_matrix.sh). On instruction sets below the best two meshes of each model. Speaks TAP.
set -u
cd "$(dirname "$0")/../.." || exit 4
build=${DITBENCH_BUILD:-$PWD/build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. ci/tap.sh
each_isa engine/tests/test_exact.sh "$build/bin/ditbench-engine"
. engine/tests/described.sh

if [ "$short" = 1 ]; then
    "$build/bin/ditbench" run engine/tests/exact.json --output "$work/session" \
        --filter 'world_size == 1 || world_size == 2 && (ring_degree == 2 || tensor_degree == 2)' >"$work/log" 2>&1
    status=$?
    report_runs "$work/log"
    [ "$status" -eq 0 ] && [ "$test_number" -gt "$(grep -c '"as": "tiny"' engine/tests/exact.json)" ]
    report $? "ring attention and tensor ranks agree with one rank"
    [ "$status" -eq 0 ] || sed 's/^/# /' "$work/log"
    tap_end
    exit 0
fi
some="base_model in ['pixart-alpha-xl-2', 'flux.1-dev', 'wan2.1-i2v-14b-480p']" some_labels='(pixart-alpha-xl-2|flux.1-dev|wan2.1-i2v-14b-480p)[{]tiny[}]'
if [ "${DITBENCH_TEST_ALL:-0}" = 1 ]; then some='world_size > 0' some_labels='[{]tiny[}]'; fi

# How many there are; every model of the file has its one rank and at least thirteen meshes.
cases=$("$build/bin/ditbench" expand engine/tests/exact.json | grep -c '^keep')
references=$("$build/bin/ditbench" expand engine/tests/exact.json | grep -c '^keep.*(reference)$')
[ "$references" -eq "$(grep -c '"as": "tiny"' engine/tests/exact.json)" ] && [ "$cases" -ge $((14 * references)) ]
report $? "every model has a reference and its meshes"
"$build/bin/ditbench" expand engine/tests/exact.json | grep -E "^keep.*$some_labels" >"$work/cells"
cases=$(wc -l <"$work/cells") references=$(grep -c '(reference)$' "$work/cells")
[ "$references" -ge 3 ] && [ "$cases" -ge $((14 * references)) ]
report $? "$cases of these cases are run, of $references models"

"$build/bin/ditbench" run engine/tests/exact.json --filter "$some" --output "$work/session" >"$work/log" 2>&1
status=$?
report_runs "$work/log"
[ "$status" -eq 0 ] && [ "$test_number" -eq $((cases + 2)) ]
report $? "all $cases configurations ran"
[ "$status" -eq 0 ] || sed 's/^/# /' "$work/log"
# The records say that they were checked, not only that nothing complained.
matched=$(grep -l '"communication_match":[[:space:]]*true' "$work"/session/cases/*/p0/record.json | wc -l)
compared=$(grep -l '"rel_l2"' "$work"/session/cases/*/p0/record.json | wc -l)
[ "$matched" -eq "$cases" ] && [ "$compared" -eq $((cases - references)) ]
report $? "every record matched its closed form, every parallel one was compared with one rank"
! grep -hE '"loop_allocations":[[:space:]]*[1-9]' "$work"/session/cases/*/p0/record.json >/dev/null
report $? "the sampling loop allocates nothing"

# What is counted without computing is what was measured, on every rank: the memory by class, and what it sent.
described_as_measured "$work/session" >"$work/log" 2>&1
status=$?
[ "$status" -eq 0 ] || sed 's/^/# /' "$work/log"
report "$status" "memory by class, messages and bytes counted without computing are those measured"

# A wrong formula must fail a case: the same engine, whose closed form of one axis says a byte a message too many.
refutes() { # axis, filter
    rm -rf "$work/wrong"
    DITBENCH_FAULT=bytes:$1 "$build/bin/ditbench" run engine/tests/exact.json --engine "$build/tests/ditbench-engine-fault" \
        --filter "$2 && $some" --output "$work/wrong" >"$work/log" 2>&1
    [ $? -eq 6 ] && grep -q "E_BYTES_MISMATCH" "$work"/wrong/cases/*/p0/error.json &&
        grep -qh "iteration 0, $1 " "$work"/wrong/cases/*/p0/error.json
    report $? "a wrong closed form of $1 fails the case with E_BYTES_MISMATCH, exit code 6"
}
refutes ulysses 'ulysses_degree == 2 && world_size == 2'
refutes ring 'ring_degree == 2 && world_size == 2'
refutes tensor 'tensor_degree == 2 && world_size == 2'
refutes cfg 'cfg_degree == 2 && world_size == 2'
refutes data 'data_degree == 2 && world_size == 2'
tap_end
