#!/usr/bin/env bash
# Bounds, coverage and verdicts on pairs, of the committed held-out errors and of changed ones, are what a second
# program computes in another way. Speaks TAP.
cd "$(dirname "$0")/../.." || exit 4
. suite/tests/harness.sh
trap 'rm -rf "$work"' EXIT
committed=results/calibration/holdout.json
figures=$build/tests/suite_held_out_figures

if ! command -v python3 >/dev/null; then
    skip "a second computation" "no python3 here"
    tap_end
fi

compute() { # FILE: both answers
    "$figures" "$1" >"$work/figures" && python3 suite/tests/held_out_again.py "$1" >"$work/again"
}
both_agree_on() { # KIND: at least one line, and the same ones
    grep "^$1|" "$work/again" >"$work/want" && grep "^$1|" "$work/figures" | cmp - "$work/want"
}
# What draws decide may differ from exact probabilities where a pair is near the level: three of a hundred verdicts, at most,
# and of those that are kept back as many of all ordered pairs.
pairs_agree() {
    grep -q '^pairs|' "$work/again" && paste -d'|' <(grep '^pairs|' "$work/figures" | cut -d'|' -f1-7) <(grep '^pairs|' "$work/again") |
        awk -F'|' 'function far(a, b, of) { return (a > b ? a - b : b - a) > 1 + 0.03 * of }
            { lines++; if ($2 != $9 || $3 != $10 || $4 != $11 || far($5, $12, $12) || far($6, $13, $12) || far($7, $14, $11)) exit 1 }
            END { exit lines != 2 }'
}
shifted() { # every tenth error of the file is another one
    python3 - "$committed" >"$work/shifted.json" <<'P'
import json, sys
document = json.load(open(sys.argv[1]))
lists = [document["outside"]["errors"]] + [g["errors"] for k in document["held_out"] for g in k["groups"]]
for errors in lists:
    for error in errors[::10]:
        error["error"] = round(1.7 * error["error"] - 0.4, 4)
json.dump(document, sys.stdout)
P
}

ok "both compute the committed file" compute "$committed"
ok "bounds, levels, gaps and nine quantiles of every class agree" both_agree_on class
ok "coverage agrees" both_agree_on coverage
ok "verdicts on pairs agree" pairs_agree
cp "$work/figures" "$work/before"
ok "errors can be changed" shifted
ok "both compute the changed file" compute "$work/shifted.json"
ok "and it is another one" exits 1 cmp -s "$work/before" "$work/figures"
ok "its bounds agree" both_agree_on class
ok "its coverage agrees" both_agree_on coverage
ok "its verdicts on pairs agree" pairs_agree

tap_end
