#!/usr/bin/env bash
# An external engine is run by its adapter: a good record is measured and held against our latents, a bad one is named.
# A stand-in shows the protocol without Python; the real adapter runs where PyTorch and diffusers are installed.
# shellcheck disable=SC2016,SC2317 # functions run through ok()
# shellcheck source=suite/tests/harness.sh
. "$(dirname "$0")/harness.sh"

cat >"$work/peers.json" <<'JSON'
{
  "schema": "ditbench.workload/1",
  "name": "peers",
  "title": "Peers: for tests of adapters",
  "program": "denoise",
  "defaults": {"num_inference_steps": 3, "method": "single", "platform": "local-cpu", "threads_per_rank": 1},
  "zip": [{
    "model": [
      {"name": "pixart-alpha-xl-2", "as": "tiny",
       "override": {"num_layers": 2, "num_attention_heads": 2, "attention_head_dim": 24, "cross_attention_dim": 48,
                    "caption_channels": 32}},
      {"name": "flux.1-dev", "as": "tiny",
       "override": {"num_layers": 1, "num_single_layers": 1, "num_attention_heads": 2, "attention_head_dim": 32,
                    "axes_dims_rope": [4, 14, 14], "joint_attention_dim": 32, "pooled_projection_dim": 16}}],
    "resolution": ["64x96", "64x96"],
    "text_tokens": [8, 8]
  }],
  "axes": {"engine": ["ditbench", "diffusers"], "world_size": [1]},
  "repeat": {"processes": 1, "seed": 3},
  "measure": {"warmup_runs": 1, "iterations": 2, "deadline_s": 300},
  "expect": [{"id": "agree", "claim": "latents agree", "requires": "count(status='ok', engine='diffusers') > 0",
              "expr": "all('rel_l2 <= 1e-5', engine='diffusers')"}]
}
JSON

# The stand-in computes nothing: it leaves the reference's latents as its own, and goes wrong as FAKE says.
cat >"$work/adapter" <<'SH'
#!/bin/sh
while [ $# -gt 1 ]; do
    case $1 in
    --case) case_file=$2 ;; --out) out=$2 ;; --reference) reference=$2 ;;
    esac
    shift 2
done
[ -r "$case_file" ] || exit 2
schema=ditbench.record/1 name=diffusers version='"version": "0.0-fake"' samples='1000000, 1000001' evidence=measured
cp "$reference" "$out/latents.safetensors"
case $FAKE in
missing) exit 0 ;;
crash) kill -SEGV $$ ;;
schema) schema=other.record/7 ;;
evidence) evidence=simulated ;;
name) name=xdit ;;
version) version='"build": 1' ;;
samples) samples=1000000 ;;
latents) printf '\377' | dd of="$out/latents.safetensors" bs=1 seek=$(($(wc -c <"$reference") - 1)) conv=notrunc 2>/dev/null ;;
short) head -c 200 "$reference" >"$out/latents.safetensors" ;;
refuses) echo '{"code": "E_UNSUPPORTED", "message": "not this model"}' >"$out/error.json"; exit 77 ;;
esac
cat >"$out/record.json" <<JSON
{"schema": "$schema", "evidence": "$evidence", "engine": {"name": "$name", $version}, "program": "denoise", "world_size": 1,
 "samples": {"latency_ns": [$samples]}, "validation": {"pass": true, "rel_l2": 0}}
JSON
SH
chmod +x "$work/adapter"

# run_fake FAKE EXIT: the workload with the stand-in.
run_fake() {
    rm -rf "$work/s"
    FAKE=$1 DITBENCH_ENGINE_DIFFUSERS=$work/adapter exits "$2" "$ditbench" run "$work/peers.json" -q --output "$work/s"
}
journal() { grep -q -- "$1" "$work/s/journal.jsonl" || { grep '"engine":"diffusers"' "$work/s/journal.jsonl" | cut -c1-600; return 1; }; }
# statuses WORD: both cases of the external engine, and none of ours.
statuses() { [ "$(grep -c "\"status\":\"$1\"" "$work/s/journal.jsonl")" -eq 2 ] || { cut -c1-400 "$work/s/journal.jsonl"; return 1; }; }

good() {
    run_fake good 0 && exits 0 "$ditbench" verify "$work/s" && journal '"version":"0.0-fake"' && journal '"rel_l2":0,' &&
        journal '"latent_digest":"xxh3:'
}
ok "a good record is a result, and the harness itself compares the latents" good
reports() { exits 0 "$ditbench" report "$work/s" && grep -q 'measured by diffusers 0.0-fake' "$work/s/report/report.html"; }
ok "a report says which engine measured a row" reports
ok "show names the engine" sh -c "'$ditbench' show '$work/s' | grep -q diffusers"

# bad FAKE EXIT STATUS CODE
bad() { run_fake "$1" "$2" && statuses "$3" && journal "\"code\":\"$4" && nothing_left; }
ok "an adapter that ends without a record failed" bad missing 3 failed E_CRASH
ok "an adapter that crashes failed" bad crash 3 failed E_CRASH
ok "a record of another schema is none" bad schema 3 failed E_JSON_VALUE
ok "a record that is not measured is invalid" bad evidence 6 invalid E_INTEGRITY
ok "a record of another engine is none" bad name 3 failed E_JSON_VALUE
ok "a record without a version is none" bad version 3 failed E_JSON_MISSING
ok "a record with too few samples is none" bad samples 3 failed E_JSON_VALUE
ok "latents that differ are a wrong result, whatever the record says" bad latents 6 invalid E_MISMATCH
ok "a torn file of latents is a wrong result" bad short 6 invalid E_SAFETENSORS_
ok "an adapter that refuses a case skips it" bad refuses 0 skipped E_UNSUPPORTED

absent() {
    rm -rf "$work/s"
    DITBENCH_PEERS=$work/nowhere exits 0 "$ditbench" run "$work/peers.json" -q --output "$work/s" && statuses skipped &&
        journal 'run ci/deps.sh peers'
}
ok "without the engine its cases are skipped with the command that installs it" absent
dropped() {
    sed 's/"method": "single"/"method": "ulysses"/; s/"world_size": \[1\]/"world_size": [2]/' "$work/peers.json" >"$work/two.json"
    "$ditbench" expand "$work/two.json" | grep -q 'engine diffusers runs 1 rank, this case has 2'
}
ok "an engine of one rank drops larger meshes with the reason" dropped
ids() {
    sed 's/"engine": \["ditbench", "diffusers"\], //; /"expect"/,$d' "$work/peers.json" | sed '$s/},$/}\n}/' >"$work/plain.json"
    "$ditbench" expand "$work/plain.json" | grep '^keep' | cut -d' ' -f3 | sort >"$work/plain"
    "$ditbench" expand "$work/peers.json" | grep 'engine=ditbench' | cut -d' ' -f3 | sort >"$work/ours"
    [ -s "$work/plain" ] && cmp "$work/plain" "$work/ours"
}
ok "our cases have the ids that they have without the parameter" ids

# ---- the real adapter --------------------------------------------------------------------------------------------------
python=${DITBENCH_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/ditbench/peers}/bin/python
if ! "$python" -c 'import torch, diffusers, safetensors' 2>/dev/null; then
    skip "diffusers gives our latents to 1e-5" "$python cannot import torch and diffusers: run ci/deps.sh peers"
else
    real() {
        rm -rf "$work/s"
        exits 0 "$ditbench" run "$work/peers.json" -q --output "$work/s" && exits 0 "$ditbench" verify "$work/s" &&
            exits 0 "$ditbench" report "$work/s" &&
            [ "$(grep '"engine":"diffusers"' "$work/s/journal.jsonl" | grep -c '"pass":true')" -eq 2 ]
    }
    ok "diffusers gives our latents to 1e-5" real
fi
# xDiT on two processes, by gloo: its latents are those of our one rank.
xdit=${DITBENCH_XDIT:-${XDG_CACHE_HOME:-$HOME/.cache}/ditbench/xdit}/bin/python
if ! "$xdit" -c 'import sys, importlib.util as u; sys.exit(not all(map(u.find_spec, ("torch", "diffusers", "xfuser"))))' 2>/dev/null; then
    skip "xDiT's Ulysses gives our latents to 1e-5" "$xdit cannot import xfuser: run ci/deps.sh xdit"
else
    sed 's/"engine": \["ditbench", "diffusers"\], "world_size": \[1\]/"engine": ["ditbench", "xdit"], "method": ["single", "ulysses"], "world_size": [1, 2]/
         s/"method": "single", //; s/diffusers/xdit/g' "$work/peers.json" >"$work/xdit.json"
    ulysses() {
        rm -rf "$work/s"
        exits 0 "$ditbench" run "$work/xdit.json" -q --output "$work/s" && exits 0 "$ditbench" verify "$work/s" &&
            [ "$(grep '"engine":"xdit"' "$work/s/journal.jsonl" | grep -c '"pass":true')" -eq 2 ] &&
            [ "$(grep '"engine":"xdit"' "$work/s/journal.jsonl" | grep -c '"communicator":"gloo"')" -eq 2 ] &&
            journal "this adapter runs xDiT's FluxTransformer2DModel" && nothing_left
    }
    ok "xDiT's Ulysses gives our latents to 1e-5, on one rank and on two" ulysses
fi
finish
