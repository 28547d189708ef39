#!/usr/bin/env bash
# Edits: pictures whose caption was edited, drawn again from what the run of the old caption kept. Trained models of both
# kinds, with joint text and with cross-attention, against an oracle that computes all rows. Speaks TAP.
# shellcheck disable=SC2317 # functions run through ok()
# shellcheck source=suite/tests/harness.sh
. "$(dirname "$0")/harness.sh"
export DITBENCH_WORKLOADS=$source_dir/workloads
engine=$build/bin/ditbench-engine
cd "$work" || exit 4

write_workload() { # FILE MORE-DEFAULTS AXES
    cat >"$1" <<JSON
{"schema": "ditbench.workload/1", "name": "edits", "title": "Edits", "program": "denoise",
 "defaults": {"prompts": "shapes-edits:test:3", "platform": "local-cpu", "threads_per_rank": 1, "num_inference_steps": 6, $2},
 "axes": {$3}, "repeat": {"processes": 1}, "measure": {"warmup_runs": 0, "iterations": 1, "deadline_s": 60},
 "plots": [{"id": "fidelity", "kind": "psnr", "title": "t", "x": "edit_threshold", "series": "model", "where": "edit != 'none'"}]}
JSON
}
# holds SESSION EXPRESSION: it is true of records r by label, without oracles.
holds() { python3 -c 'import json, sys
lines = [json.loads(line) for line in open(sys.argv[1] + "/journal.jsonl")]
r = {x["label"]: x["record"] for x in lines if x["kind"] == "result" and x["status"] == "ok" and "oracle" not in x["label"]}
edits = {name: x for name, x in r.items() if "edit" in x}
told = {name: [x.get("edit"), x["validation"], x["flops"]["total"]] for name, x in r.items()}
sys.exit(0 if eval(sys.argv[2]) else sys.argv[2] + " does not hold: " + json.dumps(told)[:3000])' "$@"; }

write_workload all.json '"guidance_scale": 3' '"model": ["shapes-pixart", "shapes-flux"],
    "edit": ["none", {"dense_steps": 2, "threshold": 0.9}, {"dense_steps": 3, "threshold": 0.5, "dense_share": 1}, {"dense_steps": 2, "threshold": 0}]'
ok "edits of captions are drawn again by two models" "$ditbench" run all.json --output all -q
ok "the session is sound" "$ditbench" verify all
ok "each has the latents of its oracle" holds all \
    'len(edits) == 6 and all(x["validation"]["oracle_rel_l2"] < 1e-5 and x["validation"]["pass"] for x in edits.values())'
ok "rows that are kept are those of the old picture, bit by bit" holds all \
    'all(x["edit"]["kept_differ"] == 0 and x["quality"]["edits"]["kept_differ"] == 0 for x in edits.values())'
ok "some edits compute fewer rows, and their latents are others" holds all \
    'all(x["edit"]["computed_share"] < 0.9 and x["validation"]["rel_l2"] > 1e-6 for n, x in edits.items() if "0.9" in n)'
# Joint text is computed with the rows, 16 of it.
ok "operations are those of the rows that are computed" holds all \
    'all(abs(x["flops"]["total"] / r[n.split(" edit")[0]]["flops"]["total"] - 1 + (1 - x["edit"]["computed_share"]) * (64 / 80 if "flux" in n else 1)) < 0.005 for n, x in edits.items())'
ok "an edit that changes all tokens computes all, and gives the bits of a run from nothing" holds all \
    'all(x["edit"]["dense"] and x["validation"]["rel_l2"] == 0 for n, x in edits.items() if "edit(2 0)" in n)'
ok "a dense share of 1 leaves no edit dense" holds all 'not any(x["edit"]["dense"] for n, x in edits.items() if "dense 1" in n)'
ok "the record tells what was kept, and whether the edited word is right" holds all \
    'all(x["memory"]["state_bytes"] > x["edit"]["kept_bytes"] > 1e6 for x in edits.values()) and all(x["quality"]["edits"]["word"]["asked"] == 3 for x in r.values())'
ok "a figure and a report come of it" eval '"$ditbench" report all >/dev/null && [ -s all/report/fidelity.svg ]'

# One case by hand: on a device whose memory is apart, and by each instruction set; an oracle of another edit fails.
cases() { # of the model whose text is joint
    "$ditbench" expand all.json --json | python3 -c 'import json, sys
for kept in json.load(sys.stdin)["kept"]:
    if kept["label"].startswith("shapes-flux") and "edit(2 0.9)" in kept["label"]:
        case = kept["case"]
        name = "oracle" if "emulates" in case else "edit"
        case["conditions"]["count"] = 1
        json.dump(case, open(name + ".json", "w"))
        case["platform"].update(backend="host")
        json.dump(case, open(name + "-host.json", "w"))
        if name == "oracle":
            case["platform"].update(backend="cpu")
            case["emulates"]["edit"]["dense_steps"] = 3
            json.dump(case, open("other.json", "w"))'
    [ -s oracle.json ] && [ -s edit-host.json ] && [ -s other.json ]
}
ok "cases to run by hand" cases
by_hand() { # NAME ORACLE-NAME CODE
    "$engine" --case "$2.json" --out "$2" --no-pictures >log 2>&1 || { cat log; return 1; }
    exits "$3" "$engine" --case "$1.json" --out "$1" --oracle "$2/latents.safetensors" --no-pictures >log 2>&1 || { cat log; return 1; }
}
ok "on a device whose memory is apart" by_hand edit-host oracle-host 0
for isa in $("$engine" --isas | sed -n 's/ here.*//p' | awk '{print $1}'); do
    ok "by $isa" env DITBENCH_ISA="$isa" bash -c "$(declare -f by_hand exits); ditbench='$ditbench' engine='$engine'; by_hand edit oracle 0"
done
ok "the oracle of another edit is told apart" by_hand edit other 6

dropped() { # WORDS: of the only reason
    exits 2 "$ditbench" expand cell.json >message 2>&1 && grep -q "$1" message || { cat message; return 1; }
}
plan='{"dense_steps": 2, "threshold": 0.5}'
write_workload cell.json '"model": "shapes-pixart", "prompts": "shapes:test:3"' "\"edit\": [$plan]"
sed -i 's/"prompts": "shapes-edits:test:3", //' cell.json
ok "captions that were not edited are refused" dropped 'no captions that were edited'
write_workload cell.json '"model": "shapes-pixart", "method": "ulysses", "world_size": 2' "\"edit\": [$plan]"
ok "so are several ranks" dropped 'drawn by one rank, but the mesh has 2'
write_workload cell.json '"model": "shapes-pixart", "cache": {"policy": "interval", "interval": 2}' "\"edit\": [$plan]"
ok "a cache beside it" dropped 'a cache beside it'
write_workload cell.json '"model": "shapes-pixart"' '"edit": [{"dense_steps": 6, "threshold": 0.5}]'
ok "no step that reuses" dropped 'dense_steps 6 of 6 steps leave none'
write_workload cell.json '"model": "shapes-pixart"' '"edit": [{"dense_steps": 2, "threshold": 1}]'
ok "a threshold that nothing reaches" dropped 'threshold 1'
write_workload cell.json '"model": "shapes-pixart"' '"edit": [{"dense_steps": 2, "threshold": 0.5, "steps": 3}]'
ok "a key that there is not" dropped 'steps'
write_workload cell.json '"model": "shapes-pixart"' '"edit": ["always"]'
ok "a word that there is not" dropped 'is not \\"none\\"\|is not "none"'
clip() { # the engine's own word
    python3 - <<'PYTHON'
import json
case = json.load(open("edit.json"))
case["run"]["num_frames"] = 16
json.dump(case, open("clip.json", "w"))
PYTHON
    exits 2 "$engine" --case clip.json --out clip >log 2>&1 && grep -q 'edits are of pictures' log || { cat log; return 1; }
}
ok "clips have no edits" clip
finish
