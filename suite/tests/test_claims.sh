#!/usr/bin/env bash
# ditbench claims: a stale number of a page is found with its line, from a session, a packed session and a baseline file.
# shellcheck disable=SC2181,SC2317 # functions run through ok()
# shellcheck source=suite/tests/harness.sh
. "$(dirname "$0")/harness.sh"
cd "$work" || exit 1
"$build/tests/suite_synthetic_sessions" "$DITBENCH_RESULTS" 1 3 6
session=$(ls "$DITBENCH_RESULTS")
"$ditbench" pack "$session" --output packed.tar >/dev/null || exit 1
cat >base.json <<'JSON'
{"schema": "ditbench.baseline/1", "reason": "made up", "written": "2026-01-01T00:00:00Z", "source": "made up",
 "session": {}, "cases": [{"case_id": "00000000000000000000000000000000", "label": "made up", "evidence": "measured",
 "status": "ok", "tags": {}, "metrics": {"latency_s": [1, 2, 3], "total_bytes": 5000000}}]}
JSON
page() { # NUMBER...: a page that quotes so
    cat >page.text <<MD
# A page

A step takes <!-- ditbench: $session; synthetic 64x64 u2; latency_s; 0.0 ms -->$1<!-- / --> and
| memory | <!-- ditbench: packed.tar; synthetic 65x64 u2; total_bytes; 0.0 MB -->$2<!-- / --> |
twice: <!-- ditbench: base.json; made up; latency_s; 0.00 s -->$3<!-- / -->,
<!-- ditbench: base.json; 000000; total_bytes -->$4<!-- / -->.

\`<!-- ditbench: in code; x; y -->1<!-- / -->\`
\`\`\`
<!-- ditbench: in a block; x; y -->1<!-- / -->
\`\`\`
MD
}
page 0 0 0 0
stale() {
    exits 1 "$ditbench" claims page.text >out 2>err || { cat out err; return 1; }
    grep -q '^page.text:3: says "0", latency_s of synthetic 64x64 u2' out && grep -q '^page.text:4: .*"11.0 MB"' out &&
        grep -q '^page.text:5: .*"2.00 s"' out && grep -q '^page.text:6: .*"5 MB"' out && grep -q '^4 numbers, 4 stale' out
}
ok "stale numbers are named with file and line" stale
ok "nothing is written without --update" grep -q "<!-- / --> and" page.text
updates() { "$ditbench" claims page.text --update >out && exits 0 "$ditbench" claims page.text >out && grep -q '^4 numbers, 0 stale' out && grep -q -- '-->11.0 MB<!--' page.text; }
ok "--update writes them, and only them" updates
only() { cp page.text kept.text && page "$(sed -n '3s/.*-->\([^<]*\)<!--.*/\1/p' page.text)" "11.0 MB" "2.00 s" "5 MB" && cmp page.text kept.text; }
ok "the rest of the page stays" only
one_digit() { sed -i 's/11\.0 MB/11.1 MB/' page.text && exits 1 "$ditbench" claims page.text >out; }
ok "one wrong digit is stale" one_digit
bad() { # LINE WORDS
    printf '%s\n' "$1" >bad.text
    exits 2 "$ditbench" claims bad.text >out 2>err && grep -q "^bad.text:1: .*$2" out || { cat out err; return 1; }
}
ok "a source that is not there: 2" bad '<!-- ditbench: nothing; x; latency_s -->1<!-- / -->' "no session"
ok "a case that is not there: 2" bad '<!-- ditbench: base.json; x; latency_s -->1<!-- / -->' 'no case "x"'
ok "a metric that is none: 2" bad '<!-- ditbench: base.json; made up; speed -->1<!-- / -->' 'no metric'
ok "a number that nobody measured: 2" bad '<!-- ditbench: base.json; made up; flops -->1<!-- / -->' 'has no flops'
ok "a format that is none: 2" bad '<!-- ditbench: base.json; made up; latency_s; 1.1 s -->1<!-- / -->' 'no format'
ok "a unit of another metric: 2" bad '<!-- ditbench: base.json; made up; latency_s; 0 MB -->1<!-- / -->' 'the unit s'
ok "a quote without an end: 2" bad '<!-- ditbench: base.json; made up; latency_s -->1' 'does not end'
changed() {
    python3 -c "
data = bytearray(open('packed.tar', 'rb').read())
data[data.index(b'latency_ns') + 20] ^= 1
open('packed.tar', 'wb').write(data)"
    exits 2 "$ditbench" claims page.text >out && grep -q "^page.text:4: E_INTEGRITY" out
}
ok "a packed session that was changed backs no number" changed
ok "a page that is not there: 4" exits 4 "$ditbench" claims nothing.text
finish
