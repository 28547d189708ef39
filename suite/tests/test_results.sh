#!/usr/bin/env bash
# What people see of results: lines and end of a run, the table of a session, settings from the command line.
# shellcheck disable=SC2016,SC2317 # functions run through ok()
# shellcheck source=suite/tests/harness.sh
. "$(dirname "$0")/harness.sh"
write_workload "$work/tiny.json" 2
cd "$work" || exit 4

"$ditbench" run tiny.json >"$work/out" 2>"$work/err"
# The journal's medians, as the lines show them: "256.1 ms", "1.284 s".
each_line_is_a_latency() {
    [ "$(grep -cE '^\[[0-9]/6\] ok      pixart-alpha-xl-2~tiny 64x64 [1ur0-9]+  [0-9.]+ (ms|s|µs)$' err)" -eq 6 ] || { cat err; return 1; }
}
ok "each finished case prints its latency" each_line_is_a_latency
ends_with_results() {
    grep -q '^tiny: 6 of 6 runs, 6 ok, in ' out && grep -qE '^model +size +fastest +ranks +latency' out &&
        grep -qE '^pixart-alpha-xl-2~tiny +64x64 .* (one rank|times as fast as one rank)$' out &&
        grep -q "^next: ditbench show $(basename "$(readlink -f "$DITBENCH_RESULTS/latest")")" out || { cat out; return 1; }
}
ok "a run ends with the fastest case and the next command" ends_with_results
finish
