#!/usr/bin/env bash
# Tiers of tests: nothing is in none, each holds the one before it, and ci/test.sh counts what its tests say.
set -u
cd "$(dirname "$0")/../.." || exit 4
build=${DITBENCH_BUILD:-$PWD/build}
build=${build#"$PWD"/}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. ci/tap.sh
unset DITBENCH_TEST_ALL DITBENCH_TEST_FILTER DITBENCH_TEST_TIMEOUT

# ---- what is in which -----------------------------------------------------------------------------------------------
for tier in check test all; do ci/test.sh --list "$build" $tier | sort >"$work/$tier"; done
# The program of a source, or the script.
tests_there() {
    local file
    for file in */tests/test_*.c */tests/*/test_*.c */tests/test_*.cu */tests/*/test_*.cu; do
        [ ! -f "$file" ] || echo "${file%%/*}_$(basename "${file%.c*}")"
    done
    ls -1 ./*/tests/test_*.sh | sed 's|^\./||'
}
tests_there | sort >"$work/there"
comm -3 "$work/there" "$work/all" >"$work/differ"
[ ! -s "$work/differ" ] && [ "$(wc -l <"$work/there")" -gt 90 ]
status=$?
sed 's/^/# /' "$work/differ"
report "$status" "every test in the tree is in tier all, once"
[ -z "$(comm -23 "$work/check" "$work/test")" ] && [ -z "$(comm -23 "$work/test" "$work/all")" ] &&
    [ "$(wc -l <"$work/check")" -gt 50 ] && [ "$(wc -l <"$work/test")" -gt "$(wc -l <"$work/check")" ]
report $? "check is part of test, and test of all"
! grep -q '\.sh$' "$work/check" || grep '\.sh$' "$work/check" | while read -r script; do grep -q "^$script " ci/tiers || exit 1; done
report $? "no script is a quick one unless ci/tiers says so"
sed 's/#.*//' ci/tiers | awk 'NF && (NF != 3 || $2 !~ /^(check|test|all)$/ || $3 !~ /^(beside|alone)$/ || seen[$1]++)' >"$work/rows"
sed 's/#.*//' ci/tiers | awk 'NF && $1 != "program" && $1 != "script" { print $1 }' | sort | comm -23 - "$work/there" >>"$work/rows"
[ ! -s "$work/rows" ]
status=$?
sed 's/^/# /' "$work/rows"
report "$status" "each row of ci/tiers names a test that is there, once, with a tier and a way to run"
ci/test.sh "$build" fast >"$work/out" 2>&1
[ $? -eq 2 ] && grep -q "unknown tier 'fast' (check, test, all)" "$work/out"
report $? "an unknown tier is a usage error"

# ---- how they are counted -------------------------------------------------------------------------------------------
made=$(mktemp -d "$PWD/$build/made-XXXXXX")
trap 'rm -rf "$work" "$made"' EXIT
mkdir "$made/tests"
program() { # name, shell text
    printf '#!/bin/sh\n%s\n' "$2" >"$made/tests/made_test_$1"
    chmod +x "$made/tests/made_test_$1"
}
cat >"$work/tiers" <<'END'
program           check beside
script            test  alone
made_test_long    all   alone
made_test_alone   test  alone
END
counts() { # TIER LAST-LINE STATUS
    DITBENCH_TEST_TIERS=$work/tiers DITBENCH_TEST_FILTER=made_ ci/test.sh "${made#"$PWD"/}" "$1" >"$work/out" 2>&1
    [ $? -eq "$3" ] && [ "$(tail -n 1 "$work/out")" = "$2" ] && return 0
    sed 's/^/# /' "$work/out"
    return 1
}
program good 'echo "ok 1 - a"; echo "ok 2 - b # SKIP no such thing"'
program alone 'echo "ok 1 - a"'
program long 'echo "ok 1 - ${DITBENCH_TEST_ALL:-short}"; echo "ok 2 - b"'
counts check '1 passed, 0 failed, 1 skipped' 0
report $? "the first tier counts what passed and what was skipped"
counts test '2 passed, 0 failed, 1 skipped' 0
report $? "the second one more"
! grep -q made_test_long "$work/out"
report $? "and does not run what is of the third"
counts all '4 passed, 0 failed, 1 skipped' 0
report $? "the third runs all"
grep -qE '^== made_test_long  [0-9.]+ s \(CPU [0-9.]+ s\)$' "$work/out" &&
    grep -qE '^slowest of 1 test beside each other and 2 alone, [0-9]+ s in all:$' "$work/out"
report $? "each test is told with its seconds, and the slowest at the end"
# shellcheck disable=SC2016
program long 'test "$DITBENCH_TEST_ALL" = 1 && echo "ok 1 - long form"'
counts all '3 passed, 0 failed, 1 skipped' 0
report $? "tests of the third tier are told to take their long form"
program bad 'echo "not ok 1 - above"; i=0; while [ $i -lt 60 ]; do echo "# $i"; i=$((i + 1)); done; echo "ok 2 - a"; echo "not ok 3 - b"; exit 1'
program crash 'echo "ok 1 - a"; kill -SEGV $$'
program none 'echo "1..0 # SKIP no device"; exit 77'
counts test '4 passed, 3 failed, 2 skipped' 1
report $? "a failure, a crash and a program that skips itself are counted as what they are"
[ "$(grep -c '  not ok 3 - b' "$work/out")" -eq 1 ] && [ "$(grep -c '  not ok 1 - above' "$work/out")" -eq 1 ] && grep -q 'not ok - made_test_crash ended with status 139' "$work/out" &&
    grep -q '  ok # SKIP no device' "$work/out"
report $? "and shown once, above the end of a log, too"
rm "$made"/tests/*
program slow 'sleep 20; echo "ok 1 - a"'
DITBENCH_TEST_TIMEOUT=1 counts check '0 passed, 1 failed, 0 skipped' 1 && grep -q 'ended with status 124' "$work/out"
report $? "one that does not end is ended at its limit, and fails"
rm "$made"/tests/*
counts check '0 passed, 0 failed, 0 skipped' 1
report $? "nothing at all is no success"
tap_end
