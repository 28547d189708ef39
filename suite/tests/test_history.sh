#!/usr/bin/env bash
# ditbench history over synthetic sessions: the shift is found at its commit, an accepted one begins a new level, and a
# hundred thousand records are read in seconds.
# shellcheck disable=SC2015,SC2181,SC2317 # functions run through ok()
# shellcheck source=suite/tests/harness.sh
. "$(dirname "$0")/harness.sh"
cd "$work" || exit 1
synthetic=$build/tests/suite_synthetic_sessions
case_zero="synthetic 64x64 u2"

# sessions FOLDER COUNT CASES PROCESSES [SHIFT_AT PERCENT]
sessions() {
    export DITBENCH_RESULTS=$work/$1
    "$synthetic" "$@"
}
# judge PYTHON: asserts over the JSON answer, d the document and z the series of case 0.
judge() {
    "$ditbench" history --json "${@:2}" >answer 2>err || { cat err; return 1; }
    python3 -c "
import json
d = json.load(open('answer'))
z = [t for t in d['trends'] if t['label'] == '$case_zero'][0]
assert $1, z"
}

sessions steady 40 5 5
ok "steady series have no verdict but steady" judge "all(t['verdict'] == 'steady' and not t['changes'] for t in d['trends'])"
ok "--check passes" exits 0 "$ditbench" history --check
ok "a metric that repeats exactly needs no noise" judge "d['metric'] == 'flops' and z['verdict'] == 'steady'" -m flops

older_index() { # of a build that knew a metric less
    python3 - "$DITBENCH_RESULTS/index.sqlite" <<'P'
import sqlite3, sys
file = sqlite3.connect(sys.argv[1])
file.execute("ALTER TABLE results DROP COLUMN flops")
file.execute("PRAGMA user_version = 3")
file.commit()
P
    judge "z['verdict'] == 'steady'" -m flops
}
ok "an index of a build with other metrics is made anew" older_index

sessions shifted 40 5 5 30 5
ok "a shift is found at its commit" judge "[c['commit'] for c in z['changes']] == ['c0ffee000030'] and abs(z['changes'][0]['after'] / z['changes'][0]['before'] - 1.05) < 0.01"
ok "it is worse, and --check says so" exits 1 "$ditbench" history --check
ok "no other case is" judge "[t['label'] for t in d['trends'] if t['verdict'] != 'steady'] == ['$case_zero']"
since_shift() { judge "len(z['points']) == 10" --since 2026-01-31; }
ok "--since leaves out what is older" since_shift
creep() { "$ditbench" history "$case_zero" --mark-release c0ffee000005 --note 1.0 --author nobody >out 2>err && judge "abs(z['creep'] - 0.05) < 0.02 and z['release'] == 'c0ffee000005'"; }
ok "creep is held against a marked release" creep
accepts() {
    "$ditbench" history "$case_zero" --accept c0ffee000030 --note "pads heads" --author nobody >out 2>err || { cat err; return 1; }
    judge "z['verdict'] == 'steady' and z['points'][30]['accepted']" && "$ditbench" history --check >/dev/null &&
        grep -q '"note":"pads heads"' annotations.jsonl && grep -q "pads heads" out
}
ok "an accepted shift begins a new level" accepts
ok "an annotation needs a note" exits 2 "$ditbench" history --accept c0ffee000030
ok "an annotation needs a commit that was run" exits 2 "$ditbench" history --accept abcdef0 --note x
ok "an unknown metric: 2" exits 2 "$ditbench" history --metric nothing
ok "an unknown tag: 2" exits 2 "$ditbench" history --filter 'nothing == 1'
ok "a case that nobody ran: 2" exits 2 "$ditbench" history nothing

page() {
    "$ditbench" history --page >/dev/null 2>err || { cat err; return 1; }
    python3 - "$DITBENCH_RESULTS/history.html" <<'P'
import re, sys
text = open(sys.argv[1]).read()
pictures = re.findall(r'<svg [^>]*role="img" aria-label="([^"]+)"', text)
assert len(pictures) == 5 == text.count("<svg"), pictures
assert any("c0ffee000030" in p and "1 change of level" in p for p in pictures), pictures
assert "http" not in text and "pads heads" in text and 'class="change"' in text and 'class="ribbon"' in text
P
}
ok "the page has a line for each case, with words for those who do not see it" page

too_long() {
    printf '{"kind": "note", "commit": "%070d", "note": "x"}\n' 0 >>annotations.jsonl
    exits 2 "$ditbench" history >out 2>err && grep -q '/commit: longer than 63 bytes' err && grep -q 'line [0-9]' err && sed -i '$d' annotations.jsonl
}
ok "a name in the annotations that is too long is refused, not cut" too_long

sessions once 40 5 5 39 5
ok "a time that sticks out once is suspect" judge "z['verdict'] == 'suspect'"
ok "which is undecided" exits 5 "$ditbench" history --check
tells_how() { "$ditbench" history >out 2>err; grep -qx "run again: ditbench synthetic" out && grep -q "^then: *ditbench history --check" out; }
ok "and the command that confirms it is told" tells_how

# Ten nights of an engine that is told how long it takes, and one that is slow; the second run says whether it stays so.
nights() { # TIME OF THE SECOND RUN
    local night
    export DITBENCH_HARNESS_TEST=1 DITBENCH_RESULTS=$work/nights
    rm -rf "$DITBENCH_RESULTS"
    for night in 1 2 3 4 5 6 7 8 9 10 11; do
        DITBENCH_FAKE="{\"mean_s\": $([ "$night" = 11 ] && echo 1.3 || echo 1), \"between\": 0.002}" \
            "$ditbench" run "$work/tiny.json" -q --engine "$fake_engine" --filter 'world_size == 1' --output "$DITBENCH_RESULTS/n$night" >/dev/null 2>err || { cat err; return 1; }
    done
    exits 5 "$ditbench" history --check >out 2>err || { cat out err; return 1; }
    grep -q 'run again: ditbench run .*tiny.json' out && ! grep -q 'n11$' out || { cat out; return 1; }
    DITBENCH_FAKE="{\"mean_s\": $1, \"between\": 0.002}" "$ditbench" history --check --confirm >out 2>err
}
confirms() {
    local code
    (nights 1.3)
    code=$?
    [ "$code" -eq 1 ] && grep -q 'running again what made session n11' err && grep -q 'worse' out && ! grep -q 'run again' out || { cat out err; return 1; }
}
clears() { (nights 1) && ! grep -q 'worse\|run again' out || { cat out err; return 1; }; }
write_workload "$work/tiny.json" 1
ok "--confirm runs a suspect again, and it is worse: 1" confirms
ok "--confirm runs a suspect again, and it was chance: 0" clears
other_build() {
    (
        export DITBENCH_HARNESS_TEST=1
        sessions once 40 5 5 39 5
        exits 4 "$ditbench" history --confirm 2>err && grep -q 'ran on other hardware\|is of another build' err
    ) || { cat err; return 1; }
}
ok "a suspect of another machine or build is not run again: 4" other_build

within() { # SECONDS COMMAND...: sanitizers and a busy machine get more
    local most=$1 began=$SECONDS
    shift
    "$@" >out 2>err || { cat err; return 1; }
    sanitized && most=$((most * 10))
    [ $((SECONDS - began)) -le "$most" ] || { echo "$((SECONDS - began)) s, the most is $most"; return 1; }
}
records=200
[ -n "${DITBENCH_TEST_ALL:-}" ] && records=1000
sessions many 100 "$((records / 5))" 5
ok "an index of $((records * 100)) records is made within 20 s" within 20 "$ditbench" history
ok "and asked within 2" within 2 "$ditbench" history "$case_zero"
ok "the page within 30" within 30 "$ditbench" history --page
sessions one 1 "$records" 100
ok "a session of $((records * 100)) records is verified within 30 s" within 30 "$ditbench" verify 2026
finish
