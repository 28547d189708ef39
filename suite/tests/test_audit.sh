#!/usr/bin/env bash
# An honest engine passes the audit; one that leaves steps out is caught by its flops, and by its times.
# shellcheck disable=SC2016,SC2317 # functions run through ok()
# shellcheck source=suite/tests/harness.sh
. "$(dirname "$0")/harness.sh"
write_workload "$work/tiny.json" 1
sed -i 's/"num_inference_steps": 2/"num_inference_steps": 4/; s/"ring"\]/"pipefusion"]/; s/"num_layers": 1/"num_layers": 2/' "$work/tiny.json"

honest() {
    exits 0 "$ditbench" audit "$work/tiny.json" --exact-only >"$work/honest" && cat "$work/honest" &&
        grep -q '14 checks, 0 failed, 0 left out' "$work/honest"
}
ok "an honest engine passes, serial, sharded and with stale steps" honest

skips() { # EVERY METHOD CHECK
    DITBENCH_FAULT=skip:$1 exits 6 "$ditbench" audit "$work/tiny.json" --engine "$fault_engine" --exact-only \
        --filter "method == '$2'" >"$work/skips" && cat "$work/skips" && grep -q "^ *$3 *failed" "$work/skips"
}
ok "every second step left out: the flops of steps tell" skips 2 single steps
ok "every third step left out of two ranks: their bytes tell already" skips 3 ulysses run

by_time() { # margin 90 %: only what takes no time at all is too fast, however busy the machine is
    exits 0 "$ditbench" audit "$work/tiny.json" --filter "method == 'single'" --margin 90 >"$work/time" && cat "$work/time" &&
        grep -q '^ *steps-time *ok' "$work/time" && grep -q '^ *repeat-time *ok' "$work/time"
}
ok "times are judged where they are wanted" by_time

session() {
    exits 0 "$ditbench" run "$work/tiny.json" -q --filter "method == 'single'" --output "$work/s" &&
        exits 0 "$ditbench" audit "$work/s" --exact-only && exits 2 "$ditbench" audit "$work/s" --filter "steps == 4"
}
ok "a session's cases are audited as they were planned" session
ok "a dry run runs nothing" sh -c "'$ditbench' audit '$work/tiny.json' --dry-run | grep -c . | grep -qx 3"
ok "nothing is left" nothing_left
finish
