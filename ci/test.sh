#!/usr/bin/env bash
# Runs the tests of a tier and counts them. Each test speaks TAP ("ok 1 - name", "not ok", "ok # SKIP reason").
# Usage: ci/test.sh [--list] [BUILD [TIER]]      (build, test)
#   TIER    check: the quick programs; test: what a commit must pass; all: everything, in its long form. ci/tiers says
#           which test is in which.
#   --list  prints the names of the tier's tests, one a line, and runs nothing
# Environment: DITBENCH_TEST_FILTER=substring of a test's name; DITBENCH_TEST_TIMEOUT=seconds for each (600; in tier
# all and in a sanitized build 3600);
# DITBENCH_TEST_ALL=1 makes the tests take their long form in every tier.
# Prints each test with its seconds, the slowest ten, and on the last line `N passed, N failed, N skipped`.
# Exit: 0 some passed and none failed; 1 otherwise; 2 an unknown tier.
set -u
cd "$(dirname "$0")/.." || exit 4
list=0
[ "${1:-}" != --list ] || { list=1 && shift; }
build=${1:-build} tier=${2:-test}
case $tier in
check | test) limit=${SANITIZE:+3600} ;;
all) limit=3600 && export DITBENCH_TEST_ALL=1 ;;
*)
    echo "ci/test.sh: unknown tier '$tier' (check, test, all)" >&2
    exit 2
    ;;
esac
limit=${DITBENCH_TEST_TIMEOUT:-${limit:-600}}
filter=${DITBENCH_TEST_FILTER:-}
tiers=${DITBENCH_TEST_TIERS:-ci/tiers}

# ---- which ----------------------------------------------------------------------------------------------------------
everything() { # every test that is there: programs by name, scripts by path
    local program script
    for program in "$build"/tests/*_test_*; do
        case $program in *.d | *.o | *.so) continue ;; esac
        [ -x "$program" ] && [ ! -d "$program" ] && echo "${program##*/}"
    done
    for script in */tests/test_*.sh; do [ ! -f "$script" ] || echo "$script"; done
}

# Prints NAME TIER HOW of every test: first the tests of ci/tiers in its order, then the others, as its rows
# `program` and `script` say.
placed() {
    awk 'FNR == NR { sub(/#.*/, ""); if (NF == 3) { order[++rows] = $1; tier[$1] = $2; how[$1] = $3 }; next }
         { there[$1]; if (!($1 in tier)) rest[++others] = $1 }
         END {
             for (i = 1; i <= rows; i++) if (order[i] in there) print order[i], tier[order[i]], how[order[i]]
             for (i = 1; i <= others; i++) {
                 kind = rest[i] ~ /\.sh$/ ? "script" : "program"
                 print rest[i], tier[kind], how[kind]
             }
         }' "$tiers" <(everything)
}

chosen() { # HOW: names of this tier's tests that run so
    placed | awk -v chosen="$tier" -v how="$1" -v filter="$filter" '
        BEGIN { level["check"] = 1; level["test"] = 2; level["all"] = 3 }
        $3 == how && level[$2] <= level[chosen] && index($1, filter) { print $1 }'
}

if [ "$list" = 1 ]; then
    chosen beside
    chosen alone
    exit 0
fi

# ---- run ------------------------------------------------------------------------------------------------------------
export DITBENCH_BUILD=$PWD/$build CMOCKA_MESSAGE_OUTPUT=TAP
passed=0 failed=0 skipped=0
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
export logs limit build

log_of() { printf '%s/%s' "$logs" "${1//\//-}"; }

run_one() { # name: leaves its output, its status and its seconds (of the clock, user, system)
    local log command=("$build/tests/$1")
    local TIMEFORMAT='%R %U %S'
    log=$(log_of "$1")
    # In a sanitized build Open MPI's own leaks, in modules it has unloaded, would fail every program of ranks that did its
    # work. The engine knows them (engine/main.c); scripts of engine/ run other such programs, too.
    case $1 in
    engine/tests/*.sh) command=(env ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}" bash "$1") ;;
    *.sh) command=(bash "$1") ;;
    esac
    { time timeout -k 10 "$limit" "${command[@]}" >"$log" 2>&1 </dev/null; } 2>"$log.seconds"
    echo $? >"$log.status"
}
export -f log_of run_one

seconds_of() { # name: "12.3 s (CPU 20.1 s)"
    tail -n 1 "$(log_of "$1").seconds" | tr , . | awk '{ printf "%.1f s (CPU %.1f s)\n", $1, $2 + $3 }'
}

tell() { # name: counts, and shows what is not simply ok
    local log status ok not_ok skip
    log=$(log_of "$1") status=$(cat "$(log_of "$1").status")
    printf '== %s  %s\n' "$1" "$(seconds_of "$1")"
    sed -i -E 's/^not (ok [0-9]+ # SKIP )/\1/' "$log" # as cmocka 1.1.5 writes a skip
    ok=$(grep -cE '^ok( |$)' "$log")
    skip=$(grep -cE '^ok .*# *SKIP' "$log")
    not_ok=$(grep -cE '^not ok( |$)' "$log")
    if [ "$status" -eq 77 ] && grep -qE '^1\.\.0 # SKIP' "$log"; then # the whole program, with the reason
        skip=1 ok=1 status=0
        sed -i -E 's/^1\.\.0 # SKIP/ok # SKIP/' "$log"
    fi
    if [ "$status" -ne 0 ] && [ "$not_ok" -eq 0 ]; then
        not_ok=1
        echo "not ok - $1 ended with status $status" >>"$log"
    fi
    grep -E '^(ok .*# *SKIP)' "$log" | sed 's/^/  /'
    if [ "$not_ok" -gt 0 ]; then
        head -n -60 "$log" | grep -E '^not ok( |$)' | sed 's/^/  /' # those above the tail
        sed 's/^/  /' "$log" | tail -n 60
    fi
    passed=$((passed + ok - skip)) failed=$((failed + not_ok)) skipped=$((skipped + skip))
}

slowest() {
    local name
    for name in $(chosen beside) $(chosen alone); do echo "$(seconds_of "$name")  $name"; done | sort -rn | head -n 10
}

# shellcheck disable=SC2016  # expanded by the shells that xargs starts
while read -r name; do tell "$name"; done < <(chosen beside |
    xargs -r -n 1 -P $(($(nproc) + 1)) bash -c 'run_one "$0" && echo "$0"')
while read -r name; do run_one "$name" && tell "$name"; done < <(chosen alone)

tests=$(chosen beside | wc -l)
[ "$tests" -eq 1 ] && tests+=' test' || tests+=' tests'
echo "slowest of $tests beside each other and $(chosen alone | wc -l) alone, $SECONDS s in all:"
slowest | sed 's/^/  /'
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
