#!/usr/bin/env bash
# `ditbench report` over several sessions: pages that are current stay, the index lists all, nothing is ever half there,
# and without gnuplot everything but the pictures is written.
# shellcheck disable=SC2317
# shellcheck source=suite/tests/harness.sh
. "$(dirname "$0")/harness.sh"
fixture=$source_dir/reports/tests/fixture/journal.jsonl
pages=$work/results
index=$pages/index.html

# session NAME STARTED TITLE: the fixture's journal under another name; hashes of lines are nothing that reports read.
session() {
    mkdir -p "$pages/$1"
    sed -e "1s|\"started\":\"[^\"]*\"|\"started\":\"$2\"|" -e "1s|\"title\":\"[^\"]*\"|\"title\":\"$3\"|" "$fixture" \
        >"$pages/$1/journal.jsonl"
}
session old 2026-01-02T03:04:05.000Z 'The older one'
session new 2026-03-04T05:06:07.000Z 'The newer one'
mkdir "$pages/damaged"
echo '{"kind":' >"$pages/damaged/journal.jsonl"

if ! gnuplot --version >/dev/null 2>&1; then
    echo "1..0 # SKIP gnuplot is not installed"
    exit 0
fi

# at TEXT FILE: the first line that has it.
at() { grep -nF "$1" "$2" | head -n 1 | cut -d: -f1; }
whole() { [ "$(tail -n 1 "$1")" = '</html>' ]; }

all_writes_each_page_and_the_index() {
    exits 6 "$ditbench" report --all >"$work/all.txt" 2>"$work/all.err" || return
    [ "$(tail -n 1 "$work/all.txt")" = "$index" ] && grep -q '3 sessions: 2 pages written, 0 current' "$work/all.txt" &&
        grep -q E_JOURNAL "$work/all.err" && whole "$pages/old/report/report.html" &&
        whole "$pages/new/report/report.html" && whole "$index"
}
the_index_lists_sessions_newest_first() {
    [ "$(at 'The newer one' "$index")" -lt "$(at 'The older one' "$index")" ] &&
        grep -q 'href="new/report/report.html"' "$index" && [ -s "$pages/new/report/report.html" ] &&
        grep -q 'src="old/report/latency.svg"' "$index" && [ -s "$pages/old/report/latency.svg" ] &&
        grep -q 'ditbench verify damaged' "$index" && ! grep -qE '<script|<link|//cdn' "$index"
}
pages_link_to_each_other() {
    grep -q 'href="../../new/report/report.html"' "$pages/old/report/report.html" &&
        grep -q 'href="../../old/report/report.html"' "$pages/new/report/report.html" &&
        grep -q 'href="../../index.html"' "$pages/new/report/report.html"
}
current_pages_stay() {
    rm -r "$pages/damaged"
    touch -d 2020-01-01 "$pages/old/report/report.html" "$pages/new/report/report.html"
    printf '{"kind":"note"}\n' >>"$pages/new/journal.jsonl"
    "$ditbench" report --all >"$work/again.txt" 2>/dev/null || return
    grep -q '2 sessions: 1 page written, 1 current' "$work/again.txt" &&
        [ "$(date -r "$pages/old/report/report.html" +%Y)" = 2020 ] &&
        [ "$(date -r "$pages/new/report/report.html" +%Y)" != 2020 ]
}
since_leaves_older_sessions_out() {
    rm -r "$pages"/*/report
    "$ditbench" report --since 2026-02-01 >/dev/null 2>&1 || return
    [ -e "$pages/new/report/report.html" ] && [ ! -e "$pages/old/report" ] && grep -q 'ditbench report old' "$index" &&
        exits 2 "$ditbench" report --since yesterday
}
several_sessions_are_reported() {
    exits 1 "$ditbench" report old new >"$work/two.txt" 2>/dev/null || return
    grep -q '^old: .* 5 figures' "$work/two.txt" && grep -q '^new: ' "$work/two.txt" &&
        exits 2 "$ditbench" report old new --output "$work/one"
}
failing_claims_are_named_with_their_numbers() {
    "$ditbench" report old -q >"$work/claims.txt"
    grep -qE '^fails: [a-z-]+: ' "$work/claims.txt" && grep -q '^undecided: ' "$work/claims.txt" &&
        grep -qE "^    median\(.* = [0-9.]+ m?s" "$work/claims.txt" && ! grep -q '^holds: ' "$work/claims.txt"
}
the_index_is_never_half_there() {
    for _ in 1 2 3 4 5 6; do "$ditbench" report --all >/dev/null 2>&1; done &
    while kill -0 $! 2>/dev/null; do whole "$index" || return; done
    wait $! || return
    [ -z "$(find "$pages" -name '*.tmp*' -o -name '.*.html*')" ]
}
json_is_one_document() {
    "$ditbench" report --all --json 2>/dev/null | python3 -c '
import json, sys
d = json.load(sys.stdin)
assert d["schema"] == "ditbench.reports/1" and d["current"] == 2 and d["written"] == 0 and d["index"].endswith("/index.html"), d' || return
    "$ditbench" report old --json 2>/dev/null | python3 -c '
import json, sys
d = json.load(sys.stdin)
assert d["page"].endswith("report.html") and d["index"].endswith("/index.html"), d
assert [c["verdict"] for c in d["claims"]].count("fails") == d["claims_failed"] == 1, d' || return
    "$ditbench" report old new --dry-run --json | python3 -c '
import json, sys
d = json.load(sys.stdin)
assert d["schema"] == "ditbench.reports-plan/1" and len(d["reports"]) == 2, d'
}
schemas_hold() {
    python3 - "$pages/old/report" "$source_dir/results/schema" <<'PYTHON'
import json, sys
try:
    import jsonschema
except ImportError:
    sys.exit(0)
for name, form in ("report", "page"), ("claims", "claims"):
    with open(f"{sys.argv[1]}/{name}.json") as document, open(f"{sys.argv[2]}/{form}.schema.json") as schema:
        jsonschema.validate(json.load(document), json.load(schema))
PYTHON
}
# A PATH with everything but gnuplot.
without_gnuplot_the_tables_are_written() {
    mkdir -p "$work/bin" && ln -sf "$(command -v bash)" "$work/bin/"
    rm -rf "$pages/old/report"
    PATH=$work/bin exits 4 "$ditbench" report old >"$work/none.txt" 2>"$work/none.err" || return
    grep -q 'apt-get install gnuplot-nox' "$work/none.err" && grep -q '0 figures (5 not drawn)' "$work/none.txt" &&
        whole "$pages/old/report/report.html" && [ -s "$pages/old/report/results.csv" ] &&
        [ -s "$pages/old/report/claims.json" ] && [ ! -e "$pages/old/report/latency.svg" ] &&
        PATH=$work/bin exits 4 "$ditbench" report old --json >"$work/none.json" &&
        grep -q '"figures_missing":.5' "$work/none.json" && grep -q E_ENVIRONMENT "$work/none.json" &&
        "$ditbench" report --all 2>/dev/null | grep -q '1 page written'
}

ok "report --all writes the page of each session and ends with the index" all_writes_each_page_and_the_index
ok "the index lists sessions newest first, with their figures, and loads nothing" the_index_lists_sessions_newest_first
ok "pages link to the index and to each other" pages_link_to_each_other
ok "a page that is current stays; a longer journal makes a new one" current_pages_stay
ok "--since leaves older sessions out" since_leaves_older_sessions_out
ok "several sessions are reported by one call" several_sessions_are_reported
ok "claims that do not hold are named, with their numbers" failing_claims_are_named_with_their_numbers
ok "the index is whole at every moment" the_index_is_never_half_there
ok "with --json there is one document" json_is_one_document
ok "report.json and claims.json are as their schemas say" schemas_hold
ok "without gnuplot all but the pictures is written" without_gnuplot_the_tables_are_written
finish
