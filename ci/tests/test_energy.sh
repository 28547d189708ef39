#!/usr/bin/env bash
# ci/energy.py: watts and joules of two runs, by hand.
set -u
cd "$(dirname "$0")/../.." || exit 4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=ci/tap.sh
. ci/tap.sh
if ! command -v python3 >/dev/null; then
    skip "ci/energy.py" "no python3 here"
    tap_end
fi

row() { # HARDWARE DEVICES METRIC VALUE
    printf '{"model":"m","resolution":"1x1","steps":1,"method":"x","hardware":"%s","gpus":%s,"batch":1,"metric":"%s","value":%s}' "$@"
}
# One device, then eight that are as busy; a run without watts, and one of a model that nobody ran on one device.
cat >"$work/points.json" <<JSON
[$(row H100 1 latency 10), $(row H100 1 energy 5000), $(row H100 1 power 500),
 $(row 8xH100 8 latency 2), $(row 8xH100 8 energy 4800), $(row 8xH100 8 power 2400),
 $(row 8xB200 8 latency 2), $(row 8xB200 8 energy 4800), $(row 8xB200 8 power 2400), $(row 4xH100 4 latency 3)]
JSON
says() { printf '{"index":%s,"status":"simulated","predicted":%s}' "$@"; }
printf '{"points":[%s,%s,%s,%s]}' "$(says 0 10)" "$(says 3 1.25)" "$(says 6 1)" "$(says 9 3)" >"$work/answer.json"
echo '{"fitted":[{"accelerator":"h100-sxm-80","idle_w":200,"slope_w":400},{"accelerator":"b200-sxm-180","idle_w":1,"slope_w":1}]}' >"$work/power.json"

compares() { # 600 and 4800 W for 500 and 2400, 6000 and 6000 J for 5000 and 4800
    python3 ci/energy.py "$work/answer.json" --points "$work/points.json" --power "$work/power.json" >"$work/said" &&
        grep -Eq '^H100 +2 +18\.8 +37\.5 +60\.0 +100\.0 +22\.5 +25\.0$' "$work/said" &&
        grep -Eq '^all +2 ' "$work/said" && ! grep -q B200 "$work/said"
}
ok "time, watts and joules are compared with what was measured" compares
ok "a file that is not there is an error" exits 1 python3 ci/energy.py "$work/nothing.json" 2>/dev/null
tap_end
