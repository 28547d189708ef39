#!/usr/bin/env bash
# Every exact method at 2 and 4 ranks: the latents of one rank, and exactly the bytes of the closed form. On
# instruction sets below the best two meshes of each model. Speaks TAP.
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
    [ "$status" -eq 0 ] && [ "$number" -gt "$(grep -c '"as": "tiny"' engine/tests/exact.json)" ]
    report $? "ring attention and tensor ranks agree with one rank"
    [ "$status" -eq 0 ] || sed 's/^/# /' "$work/log"
    tap_end
    exit 0
fi

# How many there are; every model of the file has its one rank and at least thirteen meshes.
cases=$("$build/bin/ditbench" expand engine/tests/exact.json | grep -c '^keep')
references=$("$build/bin/ditbench" expand engine/tests/exact.json | grep -c '^keep.*(reference)$')
[ "$references" -eq "$(grep -c '"as": "tiny"' engine/tests/exact.json)" ] && [ "$cases" -ge $((14 * references)) ]
report $? "every model has a reference and its meshes"

"$build/bin/ditbench" run engine/tests/exact.json --output "$work/session" >"$work/log" 2>&1
status=$?
report_runs "$work/log"
[ "$status" -eq 0 ] && [ "$number" -eq $((cases + 1)) ]
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

# A wrong formula must fail a case: the same engine, with one factor of base/volume.c changed.
refutes() { # what, from, to, filter
    sed "s|$2|$3|" base/volume.c >"$work/volume.c"
    if cmp -s base/volume.c "$work/volume.c"; then
        report 1 "the formula of $1 is where this test expects it"
        return
    fi
    rm -rf "$work/engine" "$work/wrong"
    cp "$build/base/base.a" "$work/base.a"
    ${CC:-cc} -std=c11 -D_GNU_SOURCE -I. -O1 ${DITBENCH_TEST_CFLAGS:-} -c "$work/volume.c" -o "$work/volume.o" &&
        ar r "$work/base.a" "$work/volume.o" 2>/dev/null &&
        make --no-print-directory -s BUILD="$build" BASE_ARCHIVE="$work/base.a" ENGINE_BINARY="$work/engine" "$work/engine"
    "$build/bin/ditbench" run engine/tests/exact.json --engine "$work/engine" --filter "$4" --output "$work/wrong" >"$work/log" 2>&1
    [ $? -eq 6 ] && grep -q E_BYTES_MISMATCH "$work"/wrong/cases/*/p0/error.json
    report $? "a wrong closed form of $1 fails the case with E_BYTES_MISMATCH, exit code 6"
}
refutes Ulysses 'layer_calls \* 4 \* batch \* (s->u - 1)' 'layer_calls * 3 * batch * (s->u - 1)' 'ulysses_degree == 2 && world_size == 2'
refutes 'tensor ranks' 'sums\.image \* 2 \* others' 'sums.image * 3 * others' 'tensor_degree == 2 && world_size == 2'
refutes 'norms over all heads' 'sums\.norms \* others' 'sums.norms * s->t' 'tensor_degree == 2 && world_size == 2'
tap_end
