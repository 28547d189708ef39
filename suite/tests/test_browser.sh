#!/usr/bin/env bash
# Every page that ditbench writes, opened in a real browser: nothing goes to the console or the network, nothing is wider
# than the screen, pictures have words, links lead somewhere, text can be read on light and on dark, and the controls of
# the history do what they say by keyboard and by click (browser.py has the checks). Each check finds a page that was
# spoilt for it. Needs Chromium, which ci/deps.sh installs.
# shellcheck disable=SC2317 # functions run through ok()
# shellcheck source=suite/tests/harness.sh
. "$(dirname "$0")/harness.sh"
cd "$source_dir" || exit 1
if ! ci/deps.sh browser >"$work/deps" 2>&1; then
    echo "1..0 # SKIP there is no Chromium, and it could not be installed: $(tail -n 1 "$work/deps")"
    exit 0
fi
if ! gnuplot --version >/dev/null 2>&1; then
    echo "1..0 # SKIP gnuplot is not installed"
    exit 0
fi
checks="console network scroll alternative link contrast controls"
chromium=$(command -v chromium)

# ---- pages ------------------------------------------------------------------------------------------------------------
root=$DITBENCH_RESULTS
made() { # WORD...: a command of ditbench that makes what is looked at; a claim that fails is no matter here
    local code=0
    "$ditbench" "$@" >"$work/out" 2>&1 || code=$?
    [ "$code" -le 1 ] || { echo "exit $code: $*"; cat "$work/out"; return 1; }
}
ok "a session is measured" made run smoke -q --processes 1 --output "$root/measured"
ok "and again" made run smoke -q --processes 1 --output "$root/measured-again"
if command -v smpirun >/dev/null; then
    ok "a figure of a paper is simulated" made run papers/xdit/xdit-flux-schnell -q --filter 'world_size <= 2' --output "$root/simulated"
else
    skip "a figure of a paper is simulated" "SimGrid is not installed"
fi
# A session with gaps, failures, claims of every verdict and published points: made-up numbers.
mkdir -p "$root/made-up"
cp reports/tests/fixture/journal.jsonl "$root/made-up/"
ok "the history of two sessions is written" made history --page
ok "and so are the pages of all sessions" made report --all
histories=$work/many
many() {
    "$build/tests/suite_synthetic_sessions" "$histories" 40 5 5 30 5 &&
        DITBENCH_RESULTS=$histories "$ditbench" history "synthetic 64x64 u2" --mark-release c0ffee000005 --note 1.0 --author nobody \
            --annotations "$histories/annotations.jsonl" >/dev/null &&
        DITBENCH_RESULTS=$histories made history --page --annotations "$histories/annotations.jsonl" && [ ! -e "$source_dir/annotations.jsonl" ]
}
ok "and a history with changes, notes and a release" many
procured() {
    made procure flux.1-dev~one-of-each --steps 4 --scope latents --machines 8xb200-sxm@2,8xh100-sxm@2 --scenario server --slo 3x --own default --old-prices \
        --per-device --quality approximate -q --output "$root/procured" &&
        made search flux.1-dev~one-of-each --steps 4 --scope latents --platform 8xl40 --devices 4 --goal cost --old-prices --per-device -q \
            --output "$root/procured" &&
        made procure flux.1-dev~one-of-each --steps 4 --scope latents --machines 8xb200-sxm@2 --mix shop -q --output "$root/procured"
}
if command -v smpirun >/dev/null; then
    ok "machines are procured" procured
else
    skip "machines are procured" "SimGrid is not installed"
fi
pages=("$root/index.html" "$root/history.html" "$histories/history.html")
for page in "$root"/*/report/report.html "$root"/procured/*.html; do
    case $page in */latest/*) ;; *) pages+=("$page") ;; esac
done
pictures=("$root"/made-up/report/*.svg)

look() { # FINDINGS PAGE...
    local found=$1
    shift
    timeout 600 python3 suite/tests/browser.py "$chromium" "$@" >"$found"
}
found=$work/found
ok "the browser opens all ${#pages[@]} pages and ${#pictures[@]} pictures" look "$found" "${pages[@]}" "${pictures[@]}"
finds() { # FINDINGS PAGE CHECK WORDS
    awk -F '\t' -v page="$2" -v check="$3" -v words="$4" '$1 == page && $2 == check && index($3, words) { print $3; any = 1 } END { exit !any }' "$1"
}
is_through() { finds "$1" "$2" 'done' ''; }
fine() { # PAGE CHECK
    is_through "$found" "$1" || { echo "the page is not through"; return 1; }
    ! finds "$found" "$1" "$2" ''
}
for page in "${pages[@]}"; do
    for check in $checks; do ok "${page#"$work/"}: $check" fine "$page" "$check"; done
done
ok "there are pictures" [ "${#pictures[@]}" -ge 5 ]
for page in "${pictures[@]}"; do
    for check in console network alternative contrast; do ok "${page#"$work/"}: $check" fine "$page" "$check"; done
done

# ---- each check can fail ----------------------------------------------------------------------------------------------
report=$root/measured/report/report.html
history=$histories/history.html
mutants=()
# spoil NAME PAGE CHECK WORDS PYTHON: beside the page a copy `t` with a mistake, which CHECK must find, saying WORDS.
spoil() {
    local mutant
    mutant=$(dirname "$2")/spoilt-$1.${2##*.}
    python3 -c "
import re, sys
t = open(sys.argv[1]).read()
def add(piece): return t.replace('</main>', piece + '</main>') if '</main>' in t else t.replace('</svg>', piece + '</svg>')
new = $5
assert new != t, 'nothing is spoilt'
open(sys.argv[2], 'w').write(new)" "$2" "$mutant" || return
    mutants+=("$1|$mutant|$3|$4")
}
spoil exception "$report" console 'nothing is not defined' "add('<script>nothing()</script>')"
spoil console "$report" console 'a complaint' "add('<script>console.error(\"a complaint\")</script>')"
spoil picture "$report" network '127.0.0.1:9/x.png' "add('<img alt=\"x\" src=\"http://127.0.0.1:9/x.png\">')"
spoil fetch "$history" network '127.0.0.1:9/y' "add('<script>fetch(\"http://127.0.0.1:9/y\").catch(() => 0)</script>')"
spoil wide "$report" scroll '1280: ' "add('<div style=\"width:1500px\">wide</div>')"
spoil phone "$report" scroll '400: ' "add('<div style=\"width:600px\">wide</div>')"
spoil details "$report" scroll '400: ' "add('<details><summary>more</summary><div style=\"width:600px\">wide</div></details>')"
spoil alt "$report" alternative 'img' "re.sub('alt=\"[^\"]*\"', 'alt=\"\"', t, count=1)"
spoil label "$history" alternative 'svg' "re.sub(' aria-label=\"[^\"]*session[^\"]*\"', '', t, count=1)"
spoil caption "$report" alternative 'figure' "re.sub('<figcaption>.*?</figcaption>', '', t, count=1, flags=re.S)"
spoil anchor "$report" link '#nowhere is not on the page' "add('<a href=\"#nowhere\">x</a>')"
spoil target "$report" link 'nothing.html is not there' "add('<a href=\"nothing.html\">x</a>')"
spoil place "$report" link 'has no such place' "add('<a href=\"../../index.html#nowhere\">x</a>')"
spoil data "$report" link 'cannot be shown' "add('<img alt=\"x\" src=\"data:image/png;base64,AAAA\">')"
spoil light "$report" contrast 'light, 400' "add('<p style=\"color:#999\">pale</p>')"
spoil dark "$report" contrast 'dark, 400' "add('<p style=\"color:#333\">pale</p>')"
spoil scheme "$root/index.html" contrast 'the page is light' "t.replace('prefers-color-scheme:dark', 'prefers-color-scheme:none')"
spoil ink "${pictures[0]}" contrast 'dark, 400' "add('<text x=\"9\" y=\"9\" fill=\"#333\">pale</text>')"
spoil title "${pictures[0]}" alternative 'svg' "re.sub('<title>.*?</title>', '', t, count=1)"
spoil words "$history" controls 'words "' "t.replace('words.oninput=show;', '')"
spoil verdict "$history" controls 'verdict worse' "t.replace('verdict.onchange=show;', '')"
spoil order "$history" controls 'order change' "t.replace('b.dataset[k]-a.dataset[k]', 'a.dataset[k]-b.dataset[k]')"
spoil count "$history" controls 'says "' "t.replace(\"n+' of '\", \"1+' of '\")"
spoil keyboard "$history" controls 'never reaches order' "t.replace('<select id=\"order\"', '<select tabindex=\"-1\" id=\"order\"')"
spoil click "$history" controls 'a click on words' "add('<div style=\"position:fixed;inset:0\"></div>')"
files=()
for mutant in "${mutants[@]}"; do
    IFS='|' read -r _ file _ <<<"$mutant"
    files+=("$file")
done
ok "25 pages are spoilt" [ "${#mutants[@]}" -eq 25 ]
ok "the browser opens them" look "$work/spoilt" "${files[@]}"
for mutant in "${mutants[@]}"; do
    IFS='|' read -r name file check words <<<"$mutant"
    ok "a spoilt page is found: $name" finds "$work/spoilt" "$file" "$check" "$words"
done
ok "a browser that does not start is an error" exits 1 python3 suite/tests/browser.py /bin/false "$report"
finish
