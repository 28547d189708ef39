#!/usr/bin/env bash
# Approximate methods through the harness: each case meets its oracle, exact when every step is synchronous; what the
# journal says of it; filters, plans and figures. Speaks TAP.
# shellcheck disable=SC2317 # functions run through ok()
# shellcheck source=suite/tests/harness.sh
. "$(dirname "$0")/harness.sh"
cd "$work" || exit 4

write_approximate() { # FILE METHODS: at two ranks, three steps, none, one and all of them synchronous
    cat >"$1" <<JSON
{
  "schema": "ditbench.workload/1",
  "name": "approximate",
  "program": "denoise",
  "defaults": {"resolution": "64x64", "num_inference_steps": 3, "text_tokens": 8, "platform": "local-cpu",
               "threads_per_rank": 1, "num_pipeline_patch": 4, "patch_fraction": 0.25,
               "model": {"name": "pixart-alpha-xl-2", "as": "tiny",
                         "override": {"num_layers": 2, "num_attention_heads": 2, "attention_head_dim": 16,
                                      "cross_attention_dim": 32, "caption_channels": 32}}},
  "axes": {"method": [$2], "world_size": [1, 2], "warmup_steps": [0, 1, 3]},
  "repeat": {"processes": 2, "seed": 3},
  "measure": {"warmup_runs": 0, "iterations": 2, "deadline_s": 60},
  "plots": [{"id": "latency", "kind": "latency_bars", "title": "t", "x": "warmup_steps", "series": "method"}],
  "expect": [
    {"id": "oracle", "claim": "stale steps agree with the oracle", "expr": "all('oracle_rel_l2 <= 1e-5', where='stale_steps > 0')"},
    {"id": "exact", "claim": "synchronous ones with one rank", "expr": "all('rel_l2 <= 1e-5', where='world_size == 2 && stale_steps == 0')"},
    {"id": "apart", "claim": "and stale ones do not", "expr": "all('rel_l2 > 1e-7', where='stale_steps > 0')"},
    {"id": "hidden", "claim": "no claim sees an oracle", "expr": "count(method='oracle') == 0"}
  ]
}
JSON
}
write_approximate all.json '"single", "pipefusion", "distrifusion", "pcpp", "naive-patch"'
write_approximate alone.json '"pipefusion"'
sed -i 's/"world_size": \[1, 2\]/"world_size": [2]/' alone.json

# journal SESSION EXPRESSION: how many result lines contain it
journal() { grep '"kind":"result"' "$1/journal.jsonl" | grep -cE "$2"; }

whole() { # 1 + 4 x 3 cases of two processes, 4 x 2 oracles of one
    "$ditbench" run all.json --output all -q && [ "$(journal all '"status":"ok"')" -eq 34 ] &&
        [ "$(journal all '"method":"oracle"')" -eq 8 ]
}
ok "every approximate method agrees with its oracle" whole
compared() {
    [ "$(journal all '"oracle_case":"')" -eq 16 ] && [ "$(journal all '"reference_case":"')" -eq 25 ] &&
        [ "$(journal all '"oracle_rel_l2":')" -eq 16 ] && [ "$(journal all '"method":"oracle".*"reference_case"')" -eq 0 ]
}
ok "the journal names the oracle of a stale case, and of no other" compared
ok "the session is sound, every rank's bytes recomputed" "$ditbench" verify all
shown() { "$ditbench" show all >shown && grep -q 'to oracle' shown && grep -q 'oracle pp M4 W1' shown; }
ok "show has the oracles, and the distance to them" shown
claims() {
    "$ditbench" report all -q >/dev/null && [ "$(grep -c '"verdict": "holds"' all/report/claims.json)" -eq 4 ] &&
        grep -q 'oracle pp M4 W1' all/report/report.html && ! grep -q oracle all/report/latency.csv
}
ok "claims hold, tables have the oracles, figures do not" claims

filtered() { # FILTER RUNS ORACLES
    "$ditbench" run all.json --filter "$1" --dry-run --json >plan.json &&
        [ "$(grep -c '"command":' plan.json)" -eq "$2" ] && [ "$(grep -c '"label":.*oracle' plan.json)" -eq "$3" ]
}
ok "a filter keeps the oracle of what it keeps" filtered "method == 'pcpp' && warmup_steps == 1" 3 1
ok "and keeps none for exact cases" filtered "stale_steps == 0" 10 0
alone() {
    "$ditbench" run alone.json --output alone -q && [ "$(journal alone '"status":"ok"')" -eq 8 ] &&
        [ "$(journal alone '"reference_case":"')" -eq 0 ] && [ "$(journal alone '"oracle_rel_l2":')" -eq 4 ]
}
ok "without a one-rank case approximate ones still run, against their oracles" alone

# Caches beside stale steps: 1 synchronous step, then every third is computed, so K and V of others are 3 steps old.
cat >cached.json <<JSON
{
  "schema": "ditbench.workload/1",
  "name": "cached",
  "program": "denoise",
  "defaults": {"resolution": "64x64", "num_inference_steps": 7, "text_tokens": 8, "platform": "local-cpu", "warmup_steps": 1,
               "threads_per_rank": 1, "num_pipeline_patch": 4, "world_size": 2,
               "model": {"name": "pixart-alpha-xl-2", "as": "tiny",
                         "override": {"num_layers": 4, "num_attention_heads": 2, "attention_head_dim": 16,
                                      "cross_attention_dim": 32, "caption_channels": 32}}},
  "axes": {"method": ["pipefusion", "distrifusion"],
           "cache": [{"policy": "mask", "mask": "1001001"}, {"policy": "fbcache", "hits": 3}, {"policy": "fbcache"}]},
  "repeat": {"processes": 1},
  "measure": {"warmup_runs": 0, "iterations": 1, "deadline_s": 60},
  "expect": [
    {"id": "oracle", "claim": "all agree with their oracles", "expr": "all('oracle_rel_l2 <= 1e-5')"},
    {"id": "counted", "claim": "three of seven steps are reused", "expr": "all('cache_hits == 3', where='decisions == \"published-count\"')"}
  ]
}
JSON
both() { # four cases, four oracles; what tests is dropped with the reason
    "$ditbench" run cached.json --output cached -q && [ "$(journal cached '"status":"ok"')" -eq 8 ] &&
        [ "$("$ditbench" expand cached.json | grep -c 'fbcache beside stages or displaced patches')" -ge 1 ] &&
        "$ditbench" show cached | grep -qF 'oracle pp M4 W1 mask(3 of 7'
}
ok "caches that know their steps run beside stale ones, against oracles of both" both
aged() { cat cached/cases/*/p0/record.json | grep -oE '"largest_kv_age":[[:space:]]*[0-9]+' | grep -cE ' ?3$' | grep -qx 2; }
ok "records say how old K and V of other rows were" aged
sound() {
    "$ditbench" verify cached && "$ditbench" report cached -q >/dev/null &&
        [ "$(grep -c '"verdict": "holds"' cached/report/claims.json)" -eq 2 ]
}
ok "the session is sound, and its claims hold" sound

# id_of LABEL: case id in the session `all`
id_of() { grep -o '"case_id":"[0-9a-f]*"[^{]*"label":"[^"]*'"$1"'"' all/plan.json | sed 's/"case_id":"\([0-9a-f]*\)".*/\1/' | head -n 1; }
against() { # CODE ORACLE: the engine on the stale pipeline, told of that oracle
    local code=$1 stale oracle
    stale=$(id_of ' pp2 M4 W1') oracle=$(id_of "$2") && [ -n "$stale" ] && [ -n "$oracle" ] && mkdir -p out || return 1
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 exits "$code" mpirun --oversubscribe --bind-to none -n 2 \
        --mca plm isolated --mca btl self,vader --mca btl_vader_single_copy_mechanism none \
        "$build/bin/ditbench-engine" --case "all/cases/$stale/case.json" --out out \
        --oracle "all/cases/$oracle/p0/latents.safetensors"
}
ok "told of its oracle the engine agrees" against 0 ' oracle pp M4 W1'
ok "told of another method's it does not: 6" against 6 ' oracle patch2 naive-patch W1'
finish
