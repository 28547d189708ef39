#!/usr/bin/env bash
# Plans of layers as cases of a session: journalled as simulated, without engine and SimGrid, the same when asked again;
# what does not fit is out of memory with what it needs; the shipped questions are good. Speaks TAP.
set -u
cd "$(dirname "$0")/../.." || exit 4
build=${DITBENCH_BUILD:-$PWD/build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export DITBENCH_WORKLOADS=$PWD/workloads DITBENCH_RESULTS=$work/results
. ci/tap.sh

# Alone in its folder: no engine beside it, and no smpirun in the path.
mkdir "$work/bin"
cp "$build/bin/ditbench" "$work/bin/"
ditbench=$work/bin/ditbench
for tool in sh bash env uname cat ls date git gnuplot; do
    found=$(command -v "$tool") && ln -s "$found" "$work/bin/$tool"
done
plain() { PATH=$work/bin "$ditbench" "$@"; }

cat >"$work/ask.json" <<'EOF2'
{
  "schema": "ditbench.workload/1",
  "name": "ask",
  "program": "layer_plan",
  "defaults": {"num_layers": 4, "tokens": 512, "heads": 16, "head_dim": 80, "batch": 64, "platform": "2x8xl40",
               "profile": "pytorch-eager", "world_size": 8},
  "axes": {"memory_limit_gib": [0.5, 2], "strategies": ["data", "data+shard"]},
  "plots": [{"id": "time", "kind": "latency", "title": "t", "x": "memory_limit_gib", "series": "strategies"}],
  "expect": [{"id": "best", "claim": "c", "expr": "all('plan_over_exhaustive <= 1.000001', status='ok')"}]
}
EOF2
plain run "$work/ask.json" --output "$work/one" -q >"$work/out" 2>&1
report $? "plans need no engine and no SimGrid"
grep -q '4 of 4 runs, 3 ok, 1 oom' "$work/out"
report $? "what does not fit is out of memory, and no failure"
grep -q '"message":"no plan fits 0.50 GiB a device: the least one needs [0-9.]* GiB"' "$work/one/journal.jsonl"
report $? "the journal says what the least plan needs"
! grep -q '"evidence":"measured"' "$work/one/journal.jsonl" && [ "$(grep -c '"evidence":"simulated"' "$work/one/journal.jsonl")" -ge 3 ]
report $? "every record is simulated"
plain verify "$work/one" >"$work/out" 2>&1 && grep -q sound "$work/out"
report $? "the session is sound"
plain resume "$work/one" >"$work/out" 2>&1 && grep -q 'nothing to do' "$work/out"
report $? "resume has nothing to do"
plain report "$work/one" >"$work/out" 2>&1
grep -q 'claims: 1 hold' "$work/out" && [ -s "$work/one/report/time.csv" ]
report $? "claims are judged and a figure is drawn"

plain run "$work/ask.json" --output "$work/two" -q >/dev/null 2>&1
for one in "$work"/one/cases/*/p0/record.json; do
    cmp -s "$one" "${one/\/one\//\/two\/}" || { echo "# $one differs"; touch "$work/differs"; }
done
[ ! -e "$work/differs" ] && compgen -G "$work/one/cases/*/p0/record.json" >/dev/null
report $? "the same question has the same answer, to the last digit"
plain run "$work/ask.json" --dry-run >"$work/out" 2>&1 && grep -q 'computed by ditbench itself' "$work/out"
report $? "a dry run says that there is no command"
plain run "$work/ask.json" --output "$work/three" -q --set platform=local-cpu >"$work/out" 2>&1
[ $? -eq 2 ] && grep -q "a platform that is simulated" "$work/out"
report $? "a measured platform is refused: a plan is never measured"

# A question that would take hours: ended at its deadline, and by a signal.
sed 's/"num_layers": 4/"num_layers": 1024/; s/"batch": 64/"batch": 4096, "stages": 8, "micro_batches": 8, "balance": "both"/; s/\[0.5, 2\]/[24]/
     s/\["data", "data+shard"\]/["data+shard+tensor+pipeline+recompute"]/; s/"name": "ask",/"name": "ask", "measure": {"deadline_s": 2},/' \
    "$work/ask.json" >"$work/long.json"
plain run "$work/long.json" --output "$work/long" -q >"$work/out" 2>&1
[ $? -eq 3 ] && grep -q '1 timeout' "$work/out" && grep -q '"code":"E_TIMEOUT"' "$work/long/journal.jsonl"
report $? "a plan that is not there at its deadline is a timeout"
PATH=$work/bin "$ditbench" run "$work/long.json" --output "$work/stopped" --timeout 60s -q >"$work/out" 2>&1 &
run=$!
sleep 1.5
kill -TERM $run
wait $run
[ $? -eq 143 ] && ! pgrep -P $run >/dev/null
report $? "a signal ends a plan at once, and nothing is left"

# Groups for sequences of different lengths: planned, too.
sed 's/"name": "ask",/"name": "cut",/; s/"program": "layer_plan",/"program": "sequence_plan",/; s/"tokens": 512/"tokens": 2048, "spread": 1, "batches": 2/
     s/\[0.5, 2\]/[0.2, 40]/; s/"strategies": \["data", "data+shard"\]/"grouping": ["one", "groups"]/; s/"series": "strategies"/"series": "grouping"/
     s/plan_over_exhaustive <= 1.000001/plan_worst_over_one_size <= 1.000001/' "$work/ask.json" >"$work/cut.json"
plain run "$work/cut.json" --output "$work/cut" -q >"$work/out" 2>&1
report $? "groups of devices are planned without engine and SimGrid"
grep -q '4 of 4 runs, 2 ok, 2 oom' "$work/out" && grep -q 'the longest sequence needs [0-9.]* GiB a device on all 8' "$work/cut/journal.jsonl"
report $? "what fits no group is out of memory, with what it needs"
plain verify "$work/cut" >"$work/out" 2>&1 && grep -q sound "$work/out" && plain report "$work/cut" >"$work/out" 2>&1 &&
    grep -q 'claims: 1 hold' "$work/out"
report $? "that session is sound, and its claims are judged"
for file in galvatron galvatron/galvatron-small galvatron/galvatron-bmw osdp colossal-auto colossal-ai pangu-alpha flexsp bytescale galvatron/galvatron-2025; do
    plain validate "papers/$file" >"$work/out" 2>&1 && grep -q ', 0 dropped, 0 merged' "$work/out"
    report $? "papers/$file is good, and every cell is a case"
done
tap_end
