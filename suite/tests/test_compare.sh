#!/usr/bin/env bash
# ditbench compare, ab and gate, on real runs of the engine: what is equal is called equal, what is not is named.
# shellcheck disable=SC2015,SC2181,SC2317 # functions run through ok()
# shellcheck source=suite/tests/harness.sh
. "$(dirname "$0")/harness.sh"
cd "$work" || exit 1

write_workload tiny.json 6
simulated=$work/simulated.json
cat >"$simulated" <<'JSON'
{
  "schema": "ditbench.workload/1",
  "name": "simulated",
  "title": "Two methods on eight devices",
  "program": "denoise",
  "defaults": {"model": "pixart-alpha-xl-2", "resolution": "512x512", "num_inference_steps": 2, "platform": "8xh100-sxm",
               "profile": "ditbench", "element": "bf16", "world_size": 2},
  "axes": {"method": ["ulysses", "ring"]}
}
JSON

session_of() { sed -n 's/^session //p' "$1"; }
$ditbench run tiny.json -q >run1 2>/dev/null
$ditbench run tiny.json -q >run2 2>/dev/null
one=$(session_of run1) two=$(session_of run2)

# ---- compare ---------------------------------------------------------------------------------------------------------

compares() {
    $ditbench compare "$one" "$two" --env --markdown summary >out 2>err
    local code=$?
    { [ "$code" -eq 0 ] || [ "$code" -eq 5 ] || [ "$code" -eq 1 ]; } || { cat err; return 1; }
    grep -q "latency_s" out && grep -q "0 of .* exact numbers changed" out && grep -q "^### ditbench: " summary
}
ok "two sessions of one build: no exact number changed" compares

json_agrees() {
    $ditbench compare "$one" "$two" --busy-limit 100 --json >compare.json 2>/dev/null
    python3 - <<'P'
import json
d = json.load(open("compare.json"))
assert d["schema"] == "ditbench.compare/1", d["schema"]
assert d["cases"] == 3 and len(d["timings"]) == 3 and not d["differences"], d
for t in d["timings"]:
    assert t["n"] == 6 and t["low"] <= t["ratio"] <= t["high"] and t["margin"] == 0.05, t
P
}
ok "the JSON has every timing with its interval, margin and n" json_agrees

itself() { # every ratio is 1 and certain
    $ditbench compare "$one" "$one" --json >self.json || true
    python3 -c '
import json
d = json.load(open("self.json"))
assert all(t["ratio"] == 1 for t in d["timings"]), d'
}
ok "a session compared with itself has ratios of 1" itself

refuses() { # EXIT WORDS ARGUMENTS...
    local code=$1 words=$2
    shift 2
    "$ditbench" "$@" >out 2>err
    local got=$?
    [ "$got" -eq "$code" ] && grep -q -- "$words" err || { echo "exit $got"; cat err; return 1; }
}
ok "an unknown session is named" refuses 2 "no session, no baseline file, and no commit" compare "$one" nosuch
ok "an unknown metric is named" refuses 2 'no metric "latency"' compare "$one" "$two" --metric latency
ok "an unknown tag is named" refuses 2 'platfrom' compare "$one" "$two" --across platfrom
ok "a filter that keeps nothing is an error" refuses 2 "is left to compare" compare "$one" "$two" -f 'world_size == 7'

# ---- gate ------------------------------------------------------------------------------------------------------------

gate_holds() {
    $ditbench gate "$simulated" -b base.json --update --reason first -q >out 2>err || { cat err; return 1; }
    $ditbench gate "$simulated" -b base.json -q >out 2>err || { cat out err; return 1; }
    grep -q "the gate is open" out
}
# change FILE EXPRESSION: the baseline as another build would have written it.
change() {
    python3 - "$1" "$2" <<'P'
import json, sys
d = json.load(open("base.json"))
m = d["cases"][0]["metrics"]
exec(sys.argv[2])
json.dump(d, open(sys.argv[1], "w"))
P
}
gate_closes() { # METRIC EXPRESSION
    change other.json "$2"
    $ditbench gate "$simulated" -b other.json -q --github >out 2>err
    [ $? -eq 1 ] && grep -q "^::error .*: $1 was .*, is " out && grep -q "the gate is closed" out || { cat out err; return 1; }
}
if [ -x "$build/bin/ditbench-engine-sim" ]; then
    ok "simulated numbers repeat to the last digit: the gate is open" gate_holds
    ok "a byte more on a link closes it" gate_closes communication_bytes 'm["communication_bytes"] -= 1'
    ok "a message more closes it" gate_closes communication_messages 'm["communication_messages"] -= 1'
    ok "an operation more closes it" gate_closes flops 'm["flops"] -= 2'
    ok "a nanosecond more of virtual time closes it" gate_closes latency_s 'm["latency_s"] -= 1e-9'
    ok "a fiftieth more memory closes it" gate_closes total_bytes 'm["total_bytes"] *= 0.98'
    better() {
        change other.json 'm["latency_s"] += 1e-3'
        $ditbench gate "$simulated" -b other.json -q >out 2>err && grep -q "became better" out
    }
    ok "what became better passes, and asks for an update" better
    lost() {
        change other.json 'd["cases"].append(dict(d["cases"][0], case_id="0" * 32, label="lost case"))'
        $ditbench gate "$simulated" -b other.json -q --github >out 2>err
        [ $? -eq 1 ] && grep -q "lost case: a case of the baseline did not run" out
    }
    ok "a case of the baseline that did not run closes it" lost
    ok "a call of an operator more closes it" gate_closes operator_calls 'm["operator_calls"] -= 1'
    count() { # NAME: the part of the case that counts
        change other.json "k = [k for k in d['cases'][0]['counts'] if k.startswith('$1/')][0]; d['cases'][0]['counts'][k] -= 1"
        $ditbench gate "$simulated" -b other.json -q --github >out 2>err
        [ $? -eq 1 ] && grep -q "^::error .*: $1/.* was .*, is " out || { cat out err; return 1; }
    }
    ok "a byte more in one collective closes it, and the collective is named" count communication_bytes
    ok "a message more in one collective closes it" count communication_messages
    ok "a call more of one operator closes it, and the operator is named" count operator_calls
    ok "another plan with the same sums closes it" gate_closes plan 'd["cases"][0]["counts"]["plan"] = "0" * 32'
    for class in weights_bytes state_bytes activations_bytes comm_buffer_bytes; do
        ok "a fiftieth more of $class closes it" gate_closes "$class" "m[\"$class\"] *= 0.98"
    done
    filtered() { # the file has two cases, and one is run
        $ditbench gate "$simulated" -b base.json -q --filter "method == 'ring'" --json >out 2>err || { cat out err; return 1; }
        python3 -c 'import json; d = json.load(open("out")); assert d["cases"] == 1 and not d["only_old"], d'
    }
    ok "with --filter the other cases of the file are not missed" filtered
    ok "an update with --filter would lose them: refused" refuses 2 "would lose the other cases" gate "$simulated" -b base.json --update --reason x --filter "method == 'ring'"
    ruled() { # a workload's rule: a tenth more of the flops is no change, and waiting is judged
        sed 's/"axes"/"gate": [{"metric": "flops", "margin": 10}, {"metric": "exposed_communication_s"}],\n  "axes"/' "$simulated" >ruled.json
        $ditbench gate ruled.json -b base.json --update --reason first -q >out 2>err || { cat err; return 1; }
        change other.json 'm["flops"] *= 0.95'
        $ditbench gate ruled.json -b other.json -q >out 2>err || { cat out err; return 1; }
        change other.json 'm["exposed_communication_s"] -= 1e-9'
        $ditbench gate ruled.json -b other.json -q --github >out 2>err
        [ $? -eq 1 ] && grep -q "^::error .*: exposed_communication_s was" out || { cat out err; return 1; }
    }
    ok "the workload's gate sets margins and names further times" ruled
    sed 's/"axes"/"gate": [{"metric": "flop"}],\n  "axes"/' "$simulated" >wrong.json
    ok "an unknown metric of a rule is named with its place" refuses 2 "wrong.json:[0-9]*:[0-9]*: /gate/0/metric: metric \"flop\" is none of" validate wrong.json
else
    for name in open byte message operation nanosecond memory better lost; do skip "gate: $name" "no simulator"; done
fi
skips() { # a workload of a device that this build cannot use: what another machine measured is not missed here
    sed 's/"8xh100-sxm"/"local-gpu"/; s/"profile": "ditbench", //' "$simulated" >gpu.json
    CUDA_VISIBLE_DEVICES='' $ditbench gate gpu.json -b gpu-base.json --update --reason first -q >out 2>err || { cat err; return 1; }
    python3 -c '
import json
d = json.load(open("gpu-base.json"))
assert all(c["status"] == "skipped" for c in d["cases"]), d
for c in d["cases"]:
    c.update(status="ok", metrics={"flops": 1})
json.dump(d, open("gpu-base.json", "w"))'
    CUDA_VISIBLE_DEVICES='' $ditbench gate gpu.json -b gpu-base.json >out 2>err
    [ $? -eq 77 ] && [ "$(grep -c 'not judged, the new side skipped it' out)" -eq 2 ] && grep -q '2 cases not judged' out || { cat out err; return 1; }
}
ok "cases that this machine skips are listed, and close no gate: 77" skips
ok "an update needs a reason" refuses 2 "needs --reason" gate tiny.json -b x.json --update
ok "a gate needs a baseline" refuses 2 "names no file" gate tiny.json
ok "a baseline that is none is named" refuses 4 "nosuch.json" gate --session "$one" -b nosuch.json

# ---- ab --------------------------------------------------------------------------------------------------------------

more_work_is_slower() {
    $ditbench ab tiny.json --old num_inference_steps=2 --new num_inference_steps=6 --pairs 6 --max-pairs 10 --busy-limit 100 -q >out 2>err
    local code=$?
    [ "$code" -eq 1 ] && grep -q slower out && grep -q "^pairs in balanced random order" out || { cat out err; return 1; }
}
ok "three times the steps are slower, in pairs" more_work_is_slower

again() {
    local names name
    names=$(sed -n 's/^again: ditbench compare //p' out)
    # shellcheck disable=SC2086
    $ditbench compare $names >again 2>err
    [ $? -eq 1 ] || { cat again err; return 1; }
    diff <(grep slower out) <(grep slower again) || return 1
    # shellcheck disable=SC2086
    for name in $names; do $ditbench verify "$name" >/dev/null 2>err || { cat err; return 1; }; done
}
ok "compare says the verdict again, and both sessions verify" again

in_time() { # a pair takes two seconds, three cases have one each
    local side
    DITBENCH_HARNESS_TEST=1 DITBENCH_FAKE='{"mean_s": 0.33, "sleep": true}' $ditbench ab tiny.json --old "$fake_engine" --new "$fake_engine" --max-time 0.1s --output timed -q >out 2>err
    [ $? -eq 5 ] || { cat out err; return 1; }
    for side in old new; do
        [ "$(grep -c '"kind":"result"' timed/$side/journal.jsonl)" -eq 1 ] && grep -q '"end_reason":"time_limit"' timed/$side/journal.jsonl || { tail -n 2 timed/$side/journal.jsonl; return 1; }
    done
}
ok "no pair begins when the time is over, also within a round" in_time

ok "a side that is nothing is named" refuses 2 "is no engine, no build folder, and no commit" ab tiny.json --old nosuch --new nosuch
ok "sides that do not differ are refused" refuses 2 "in what the sides differ" ab tiny.json

nothing() { nothing_left; }
ok "nothing runs on" nothing
finish
