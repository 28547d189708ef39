#!/usr/bin/env bash
# Timelines of real runs: that they are whole, agree with what is counted, and change nothing. Speaks TAP.
# shellcheck disable=SC2317 # functions run through ok()
# shellcheck source=suite/tests/harness.sh
. "$(dirname "$0")/../../suite/tests/harness.sh"
cd "$work" || exit 4
write_workload tiny.json 1
ok "a workload runs without" exits 0 "$ditbench" run tiny.json -q --output plain
ok "and with --trace" exits 0 "$ditbench" run tiny.json -q --trace --output traced

# case_of SESSION ATTENTION WORLD_SIZE: the folder of its process.
case_of() {
    local file
    for file in "$1"/cases/*/p0/record.json; do
        grep -q "\"attention\":[[:space:]]*\"$2\"" "$file" && grep -q "\"world_size\":[[:space:]]*$3,"  "$file" && dirname "$file"
    done
}
ring=$(case_of traced ring 2) ulysses=$(case_of traced ulysses 2) single=$(case_of traced local 1)
numbers() { # key file: its values, one a line
    sed -nE "s/.*\"$1\":[[:space:]]*(-?[0-9.]+).*/\1/p" "$2"
}
digest() { sed -nE 's/.*"latent_digest":[[:space:]]*"([^"]*)".*/\1/p' "$1/record.json"; }
of_trace() { sed '1,/"trace":/d' "$1/record.json"; }

files() {
    local folder file
    for folder in "$ring" "$ulysses"; do
        for file in "$folder"/{trace.json,trace-rank-0.json,trace-rank-1.json}; do
            [ -s "$file" ] || { echo "no $file"; return 1; }
        done
    done
    [ -s "$single/trace.json" ] && [ ! -e "$single/trace-rank-1.json" ] && ! compgen -G 'plain/cases/*/p0/trace*' >/dev/null
}
ok "each rank has a file, rank 0 one of all; without --trace there is none" files

unchanged() {
    local method
    for method in "local 1" "ulysses 2" "ring 2"; do
        # shellcheck disable=SC2086
        set -- "$(digest "$(case_of plain $method)")" "$(digest "$(case_of traced $method)")"
        [ -n "$1" ] && [ "$1" = "$2" ] || { echo "$method: $1, traced $2"; return 1; }
    done
}
ok "the latents have the same bits with and without, and come from the traced run" unchanged

no_sample() {
    local file
    for file in "$ring" "$ulysses" "$single"; do
        [ "$(sed -n '/"latency_ns":/{s/[^,]//g;p;q}' "$file/record.json" | tr -d '\n' | wc -c)" -eq 2 ] || return 1
    done
}
ok "the traced iteration is no sample: there are two" no_sample

# Exposed time, as counted by the communicators, is what the timeline shows of waiting.
exposed() {
    local folder
    for folder in "$ring" "$ulysses"; do
        awk -v expected="$(of_trace "$folder" >rows; numbers exposed_communication_ns rows | head -n 2 | tr '\n' ' ')" '
            /"cat":"wait"/ { match($0, /"pid":[0-9]+/); pid = substr($0, RSTART + 6, RLENGTH - 6)
                             match($0, /"dur":[0-9.]+/); sum[pid] += substr($0, RSTART + 6, RLENGTH - 6) * 1000 }
            END { if (split(expected, counted, " ") != 2) { print "no counted times"; exit 1 }
                  for (rank = 0; rank < 2; rank++) {
                      print "rank " rank ": " sum[rank] " ns in the timeline, " counted[rank + 1] " counted"
                      if (counted[rank + 1] <= 0 || sum[rank] < 0.95 * counted[rank + 1] || sum[rank] > 1.05 * counted[rank + 1]) bad = 1
                  }
                  exit bad }' "$folder/trace.json" || return 1
    done
}
ok "waiting in the timeline is the exposed time that was counted, within 5 %" exposed

bytes() {
    local folder rank
    for folder in "$ring" "$ulysses"; do
        for rank in 0 1; do
            awk -v expected="$(numbers bytes "$folder/rank-$rank.json" | awk '{ sum += $1 } END { print sum + 0 }')" '
                /"ph":"b"/ { begun++; match($0, /"bytes":[0-9]+/); sum += substr($0, RSTART + 8, RLENGTH - 8) }
                /"ph":"e"/ { ended++ }
                END { print sum " in the timeline, " expected " counted; " begun " begun, " ended " ended"
                      exit !(sum > 0 && sum == expected && begun == ended) }' "$folder/trace-rank-$rank.json" || return 1
        done
    done
}
ok "its transfers carry the bytes that were counted, and each one ends" bytes

# Within a rank a phase holds its blocks, a block its operators: events are sorted, so a stack shows it.
nested() {
    local folder
    for folder in "$ring" "$ulysses" "$single"; do
        awk '/"ph":"X"/ { match($0, /"pid":[0-9]+/); pid = substr($0, RSTART + 6, RLENGTH - 6)
                          match($0, /"ts":[0-9.]+/); begin = substr($0, RSTART + 5, RLENGTH - 5) + 0
                          match($0, /"dur":[0-9.]+/); end = begin + substr($0, RSTART + 6, RLENGTH - 6)
                          if (pid != last) { depth = 0; before = -1; last = pid }
                          if (begin < before) { print "not in order: " $0; exit 1 }
                          while (depth && stack[depth] <= begin + 0.0015) depth--
                          if (depth && end > stack[depth] + 0.0015) { print "crosses what encloses it: " $0; exit 1 }
                          stack[++depth] = end; before = begin
                          if (depth > deepest) deepest = depth }
             END { print "depth " deepest; exit deepest < 3 }' "$folder/trace.json" || return 1
    done
}
ok "events nest and are in order" nested

blocks() { # one layer, two steps
    [ "$(grep -c '"cat":"layer","name":"block 0".*"step":[01],"layer":0,"phase":"blocks"' "$ring/trace-rank-1.json")" -eq 2 ] &&
        grep -q '"cat":"compute","name":"attention".*"step":1,"layer":0,"phase":"blocks"' "$ring/trace-rank-1.json" &&
        grep -q '"cat":"phase","name":"scheduler".*"step":1' "$ring/trace-rank-0.json" &&
        grep -q '"cat":"communication","name":"all_to_all".*"axis":"ulysses","bytes":[1-9]' "$ulysses/trace.json"
}
ok "they say step, layer, phase, axis and bytes" blocks

# Two stages of one block each, two steps, the second one in four patches: each is worked on once by each stage.
sed 's/"method": *\[[^]]*\]/"method": ["pipefusion"]/; s/"num_layers": *1/"num_layers": 2/; s/"defaults": *{/&"num_pipeline_patch": 4, "warmup_steps": 1, /' tiny.json >pipeline.json
patches() {
    local stage patch file
    exits 0 "$ditbench" run pipeline.json -q --trace --filter "method == 'pipefusion'" --output pipeline || return 1
    file=$(echo pipeline/cases/*/p0/trace-rank-1.json)
    file=${file%/trace-rank-1.json}
    for stage in 0 1; do
        [ "$(grep -c "\"cat\":\"layer\",\"name\":\"block $stage\".*\"step\":0,\"layer\":$stage," "$file/trace-rank-$stage.json")" -eq 1 ] || return 1
        for patch in 0 1 2 3; do
            [ "$(grep -c "\"cat\":\"layer\",\"name\":\"block $stage\".*\"step\":1,\"patch\":$patch,\"layer\":$stage," "$file/trace-rank-$stage.json")" -eq 1 ] ||
                { echo "stage $stage, patch $patch"; return 1; }
        done
    done
    for patch in 0 1 2 3; do # what stage 1 receives
        grep -q "\"cat\":\"communication\",\"name\":\"send_recv\".*\"step\":1,\"patch\":$patch,.*\"axis\":\"pipefusion\"" "$file/trace-rank-1.json" ||
            { echo "no receive of patch $patch"; return 1; }
    done
    ! grep -q '"patch":' "$ring/trace.json" "$ulysses/trace.json" "$single/trace.json"
}
ok "events of a pipeline say which patch they are about, others have none" patches

allocations() {
    local folder
    for folder in "$ring" "$ulysses" "$single"; do
        of_trace "$folder" >rows
        grep -q '"loop_allocations":' rows && ! grep -qE '"(loop_allocations|dropped)":[[:space:]]*[1-9]' rows || return 1
    done
}
ok "the traced loop allocates nothing and drops nothing" allocations

clocks() { # one machine has one clock: the true offset is 0
    of_trace "$ring" >rows
    paste <(numbers clock_offset_ns rows) <(numbers clock_uncertainty_ns rows) |
        awk '{ print; if ($1 > $2 || -$1 > $2) bad = 1; if (NR == 2 && $2 <= 0) bad = 1 } END { exit bad || NR < 2 }'
}
ok "the clocks' offset is known within its uncertainty" clocks

schema() { python3 - "$source_dir"/results/schema/{trace,record}.schema.json "$ring/record.json" "$ring/trace.json" "$ulysses/trace-rank-1.json" "$single/trace.json" pipeline/cases/*/p0/trace.json <<'PYTHON'
import json, sys, jsonschema
schema = json.load(open(sys.argv[1]))
records = json.load(open(sys.argv[2]))
jsonschema.validate(json.load(open(sys.argv[3])), records)
for name in sys.argv[4:]:
    jsonschema.validate(json.load(open(name)), schema)
broken = json.load(open(sys.argv[4]))
del broken["traceEvents"][8]["ts"]
try:
    jsonschema.validate(broken, schema)
except jsonschema.ValidationError:
    sys.exit(0)
sys.exit("an event without a time passes the schema")
PYTHON
}
if python3 -c 'import jsonschema' 2>/dev/null; then
    ok "the files and the record follow their JSON Schemas" schema
else
    skip "the files and the record follow their JSON Schemas" "no python3 with jsonschema"
fi

# 900 steps of six layers do not fit: the newest events stay, and the record says how many went.
sed 's/"num_inference_steps": *[0-9]*/"num_inference_steps": 900/; s/"num_layers": *[0-9]*/"num_layers": 6/; s/"iterations": *[0-9]*/"iterations": 1/; s/"warmup_runs": *[0-9]*/"warmup_runs": 0/' tiny.json >long.json
overflow() {
    exits 0 "$ditbench" run long.json -q --trace --filter "method == 'single'" --output long || return 1
    of_trace "$(case_of long local 1)" >rows
    [ "$(numbers events rows)" -eq 65536 ] && [ "$(numbers dropped rows)" -gt 0 ] && grep -q '"step":899' long/cases/*/p0/trace.json &&
        ! grep -q '"cat":"compute".*"step":0,' long/cases/*/p0/trace.json
}
if sanitized; then
    skip "a full buffer" "takes minutes under sanitizers; the buffer's own test wraps"
else
    ok "a full buffer keeps the newest and says how many it dropped" overflow
fi

generates() {
    exits 0 "$ditbench" generate "$source_dir/engine/tests/golden/e2e_pixart_sigma" --trace --output picture.png -q &&
        grep -q '"cat":"phase","name":"gather"' picture.trace.json && grep -q '"trace":' picture.json
}
ok "generate --trace leaves FILE.trace.json" generates

decodes() {
    exits 0 "$ditbench" run "$source_dir/workloads/cpu/vae.json" --set resolution=64x64 --set measure.iterations=1 \
        --set measure.warmup_runs=1 -q --trace --filter "num_frames == 1 && rows_degree == 2 && model != 'vae:flux'" --output vae || return 1
    grep -q '"cat":"compute","name":"conv".*"phase":"decode"' vae/cases/*/p0/trace-rank-1.json && grep -q '"axis":"world"' vae/cases/*/p0/trace.json
}
ok "vae_decode leaves one too" decodes
finish
