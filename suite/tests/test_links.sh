#!/usr/bin/env bash
# An emulated link carries the bytes that ranks count, is recorded, and leaves no namespace, whatever ends the harness.
# shellcheck disable=SC2016,SC2317 # functions run through ok()
# shellcheck source=suite/tests/harness.sh
. "$(dirname "$0")/harness.sh"
write_workload "$work/tiny.json" 1
sed -i 's/"local-cpu"/"emulated-1gbe"/' "$work/tiny.json"

line_of() { grep '"label":"[^"]* '"$1"'[ "]' "$work/s/journal.jsonl"; }

without_ip() { # the harness's own folder alone is searched for programs
    mkdir -p "$work/bin"
    for program in mpirun sh; do ln -sf "$(command -v "$program")" "$work/bin/$program"; done
    PATH=$work/bin exits 77 "$ditbench" run "$work/tiny.json" -q --filter 'world_size > 1' --output "$work/none" &&
        grep -q 'an emulated link cannot.*"status":"skipped"' "$work/none/journal.jsonl"
}
ok "without ip the cases are skipped, with the reason" without_ip

other_launcher() {
    exits 77 "$ditbench" run "$work/tiny.json" -q --filter 'world_size > 1' --launcher local --output "$work/other" &&
        grep -q 'needs launcher mpirun.*"status":"skipped"' "$work/other/journal.jsonl"
}
ok "another launcher is no reason to measure something else" other_launcher

dry_run() {
    "$ditbench" run "$work/tiny.json" --dry-run >"$work/commands" &&
        grep -q 'ip netns exec ditbench[0-9.]*[.]0 mpirun .* --mca btl self,tcp .* -n 1 ip netns exec ditbench[0-9.]*[.]1 ' "$work/commands"
}
ok "each half of the ranks is started on a host of its own" dry_run

why=$(ip netns add "ditbench-test-$$" 2>&1 && ip -n "ditbench-test-$$" link add link0 type veth peer name link1 2>&1 &&
    tc -n "ditbench-test-$$" qdisc add dev link0 root tbf rate 1gbit burst 128000 latency 20ms 2>&1) && why=
ip netns del "ditbench-test-$$" 2>/dev/null
[ -n "$why" ] && skip "links are emulated" "namespaces or tc are not allowed here" && finish && exit

namespaces() { ip netns list | grep -c "^ditbench[.][0-9]*[.]"; }

# steady COMMAND...: it ends with 0, or with 5 because a busy machine made the link drift.
steady() {
    "$@"
    case $? in 0 | 5) return 0 ;; *) return 1 ;; esac
}
run_it() {
    steady "$ditbench" run "$work/tiny.json" -q --output "$work/s" && exits 0 "$ditbench" verify "$work/s"
}
ok "ranks exchange over the link and give the one-rank image" run_it
ok "the shaping is recorded" grep -q '"shaping":"tbf rate 1000000000bit burst [0-9]* latency 20ms' "$work/s/journal.jsonl"

crossed() { # every counted byte crossed, with some for headers and for finding each other
    line_of u2 | sed 's/.*"counted_bytes":\[\([0-9]*\),\([0-9]*\)\],"sent_bytes":\[\([0-9]*\),\([0-9]*\)\].*/\3 \4 \1 \2/' |
        awk '{ print } !($3 > 0 && $4 > 0 && $1 >= $3 && $2 >= $4 && $1 < 1.1 * $3 + 3e5 && $2 < 1.1 * $4 + 3e5) { exit 1 }'
}
ok "every byte that a rank counted crossed the link" crossed

probed() { # half the rate at least, and never more than the rate: a busy machine gives less
    line_of u2 | sed 's/.*"before":{"bits_per_s":\([0-9]*\),.*/\1/' | awk '{ print } !($1 > 2e8 && $1 < 1.02e9) { exit 1 }'
}
ok "the link gives no more than its rate" probed

killed() {
    local pid before
    "$ditbench" run "$work/tiny.json" -q --filter 'world_size > 1' --output "$work/killed" 2>/dev/null &
    pid=$!
    for _ in $(seq 200); do
        ip netns list | grep -q "^ditbench[.]${pid}[.]" && break
        sleep 0.05
    done
    kill -9 "$pid"
    wait "$pid" 2>/dev/null
    before=$(ip netns list | grep -c "^ditbench[.]${pid}[.]")
    steady "$ditbench" resume "$work/killed" -q || return 1
    echo "left by the killed one: $before"
    ! ip netns list | grep -q "^ditbench[.]${pid}[.]"
}
ok "the next harness removes what a killed one left" killed
nothing_named() { [ "$(namespaces)" = 0 ] || ip netns list; [ "$(namespaces)" = 0 ]; }
ok "no namespace is left" nothing_named
finish
