#!/usr/bin/env bash
# Pictures of captions in workloads: shipped weights, a picture for each caption one after the other, what is read in them,
# and the figure of quality over time. A tiny model with random weights stands in for a trained one. Speaks TAP.
# shellcheck disable=SC2317 # functions run through ok()
# shellcheck source=suite/tests/harness.sh
. "$(dirname "$0")/harness.sh"
golden=$source_dir/engine/tests/golden
cd "$work" || exit 4

# A folder of workloads with one more model, tiny-shapes, and its weights.
mkdir -p workloads/models workloads/weights/tiny-shapes bundle/vae
for each in "$source_dir"/workloads/*; do [ -e "workloads/$(basename "$each")" ] || ln -s "$each" workloads/; done
ln -s "$source_dir"/workloads/models/*.json workloads/models/
ln -s "$source_dir"/workloads/weights/* workloads/weights/
cp "$golden"/tiny_shapes/{config.json,diffusion_pytorch_model.safetensors,text.safetensors,vocabulary.json} workloads/weights/tiny-shapes/
cp workloads/weights/tiny-shapes/* bundle/
export DITBENCH_WORKLOADS=$work/workloads

generate() { "$ditbench" generate bundle --num_inference_steps 4 --guidance_scale 2.5 --prompt shapes:test:6 --pixels --noise counter "$@" -q; }
make_bundle() { # with the codec that workloads have
    python3 - "$golden/e2e_tiny_shapes/e2e.json" <<'PYTHON'
import json, sys
json.dump(json.load(open(sys.argv[1]))["scheduler"], open("bundle/scheduler_config.json", "w"))
json.dump(json.load(open("workloads/vaes/pixel-shuffle.json"))["config"], open("bundle/vae/config.json", "w"))
PYTHON
}
ok "one batch of all captions" eval 'make_bundle && generate --output whole.png'

write_model() { # DIGEST
    python3 - "$golden" "$1" >workloads/models/tiny-shapes.json <<'PYTHON'
import json, sys
golden, digest = sys.argv[1:]
config = json.load(open(golden + "/tiny_shapes/config.json"))
print(json.dumps({
    "schema": "ditbench.model/1", "name": "tiny-shapes", "title": "Tiny", "kind": "image",
    "latent": {"channels": 12, "vae_spatial": 2, "patch": [2, 2], "dit_in_channels": 12}, "vae": "pixel-shuffle",
    "text": {"tokens": 16, "dim": 16, "injection": "cross-attention"}, "guidance": "cfg",
    "weights": {"name": "tiny-shapes", "digest": digest},
    "default_run": {"height_px": 32, "width_px": 32, "num_inference_steps": 4, "guidance_scale": 2.5, "num_images": 1, "seed": 42, "weights_seed": 7},
    "config": config, "scheduler": json.load(open(golden + "/e2e_tiny_shapes/e2e.json"))["scheduler"]}))
PYTHON
}
write_workload() { # FILE MORE-DEFAULTS AXES MEMBERS
    cat >"$1" <<JSON
{"schema": "ditbench.workload/1", "name": "pictures", "title": "Pictures", "program": "denoise",
 "defaults": {"model": "tiny-shapes", "platform": "local-cpu", "threads_per_rank": 1, $2},
 "axes": {$3}, "repeat": {"processes": 2}, "measure": {"warmup_runs": 0, "iterations": 1, "deadline_s": 60},
 ${4:-}"plots": [{"id": "pareto", "kind": "pareto", "title": "t"}]}
JSON
}
# holds SESSION EXPRESSION: it is true of the list r of results, in order of process and label.
holds() { python3 -c 'import json, sys
r = [json.loads(line) for line in open(sys.argv[1] + "/journal.jsonl")]
r = sorted((x for x in r if x["kind"] == "result"), key=lambda x: (x["process"], x["label"]))
quality = [x["record"].get("quality") for x in r if x.get("record")]
sys.exit(0 if eval(sys.argv[2]) else f"{sys.argv[2]} does not hold: {json.dumps(quality)[:1500]}")' "$@"; }
digest=$(python3 -c 'import json; print(json.load(open("whole.json"))["weights"]["transformer"]["digest"])')

write_model "xxh3:00000000000000000000000000000000"
write_workload other.json '"prompts": "shapes:test:6"' '"seed": [42]'
other_weights() { exits 6 "$ditbench" run other.json --output other >message 2>&1 && grep -q "are $digest, but the case is about xxh3:0000" message; }
ok "weights that are not the model's are refused" other_weights

write_model "$digest"
write_workload all.json '"prompts": "shapes:test:6"' \
    '"method": ["single", "ulysses"], "world_size": [1, 2], "cache": ["none", {"policy": "fbcache", "threshold": 0.3}]'
ok "captions are run one after the other, on one rank and on two, with a cache and without" "$ditbench" run all.json --output all -q
ok "the session is sound" "$ditbench" verify all
ok "no case failed, and the first process of each made the pictures" holds all \
    'len(r) == 9 and all(x["status"] == "ok" for x in r) and [bool(q) for q in quality].count(True) == 4'
ok "ranks make the pictures of one rank" holds all 'len({q["digest"] for q in quality if q}) == 2'
ok "a cache decides for each picture, and is held against the run without one" holds all \
    'sum("hit_share" in q and q["fidelity"]["psnr_db"]["mean"] < 99 for q in quality if q) == 2'
ok "operations of pictures are those of the timed run without a cache, and fewer with one" holds all \
    'all(("hit_share" in q and q["flops"] < x["record"]["flops"]["total"] * 1.5 and q["flops"] > 0) or abs(q["flops"] / x["record"]["flops"]["total"] - 1) < 1e-9 for x, q in zip(r, quality) if q) and min(q["flops"] for q in quality if q and "hit_share" in q) < max(q["flops"] for q in quality if q and "hit_share" not in q)'
ok "two ranks are held against one" holds all \
    'sum(q["fidelity"].get("psnr_db", {}).get("min", 0) > 80 and "hit_share" not in q for q in quality if q) == 1'
ok "every caption is asked for, and what chance gives" holds all \
    'all(q["accuracy"]["all"]["asked"] == 6 and "accuracy_shuffled" in q and q["renders"]["set"] == "shapes:test:6" for q in quality if q)'

# colours FILE: the tensor pixels, little-endian floats
near() { # of the case without a cache on one rank, beside the batch of all
    python3 - all whole.safetensors <<'PYTHON'
import array, glob, json, struct, sys
def pixels(path):
    data = open(path, "rb").read()
    length = struct.unpack("<Q", data[:8])[0]
    head = json.loads(data[8:8 + length])["pixels"]
    a, b = head["data_offsets"]
    return head["shape"], array.array("f", data[8 + length + a:8 + length + b])
lines = [json.loads(line) for line in open(sys.argv[1] + "/journal.jsonl")]
case = next(x for x in lines if x["kind"] == "result" and x["label"].endswith("32x32 1"))
shape, own = pixels(glob.glob(f"{sys.argv[1]}/cases/{case['case_id']}/p0/latents.safetensors")[0])
whole_shape, whole = pixels(sys.argv[2])
worst = max(abs(x - y) for x, y in zip(own, whole))
assert shape == whole_shape == [6, 3, 1, 32, 32], (shape, whole_shape)
assert worst < 1e-5 and max(own) > 0.1, worst
PYTHON
}
ok "a picture alone is that of a batch of all" near

write_workload threads.json '"prompts": "shapes:test:6"' '"seed": [42]'
threads() { # a machine of one core has nothing to give
    "$ditbench" run threads.json --set threads_per_rank=1,2 --output threads -q && holds threads \
        'len({q["digest"] for q in quality if q}) == 1 and sorted(x["record"]["threads_per_rank"] for x in r) == [1, 1, 2, 2]'
}
ok "pictures are made by all cores, and are those of one; what is timed keeps its threads" threads

write_workload seeded.json '"prompts": "shapes:test:6"' '"weights": ["trained", "seeded"]'
ok "seeded weights stand beside as a control" eval '"$ditbench" run seeded.json --output seeded -q && holds seeded "len({q[\"digest\"] for q in quality if q}) == 2"'
write_workload clips.json '"prompts": "shapes:test:2", "num_images": 2, "num_inference_steps": 2' '"model": ["shapes-latte"]'
clips() { # their captions tell of motions, and renders beside them are clips
    "$ditbench" run clips.json --output clips -q && holds clips \
        'quality[0]["accuracy"]["motion"]["asked"] >= 2 and quality[0]["renders"]["set"] == "shapes-clips:test:2" and quality[0]["renders"]["change"]["ratio"] > 0'
}
ok "a model of clips is judged by motions, too" clips
figure() { "$ditbench" report all >/dev/null && head -1 all/report/pareto.csv | grep -q latency_s && grep -q 'no runs with fewer steps beside it' all/report/pareto.gp && [ -s all/report/pareto.svg ]; }
ok "the figure of quality over time, which says that a line is missing" figure

dropped() { # WORDS: of the only reason
    exits 2 "$ditbench" expand cell.json >message 2>&1 && grep -q "$1" message || { cat message; return 1; }
}
write_workload cell.json '"prompts": "shapes:test:6"' '"model": [{"name": "tiny-shapes", "as": "short", "override": {"num_layers": 1}}]'
ok "an override has no shipped weights, and understands no captions" dropped 'no text table is shipped'
write_workload cell.json '"prompts": "shapes:test:6"' '"num_images": [4]'
ok "captions that are no whole batches are refused" dropped '6 captions are no whole batches of 4 images'
write_workload cell.json '"prompts": "shapes:test"' '"seed": [42]'
ok "prompts without a count are refused" dropped 'is not \\"shapes:SPLIT:COUNT\\"\|is not "shapes:SPLIT:COUNT"'
# The converged reference: 8 times the most steps, once, before all others.
converged='"quality": {"reference": "converged"}, '
write_workload many.json '"prompts": "shapes:test:6"' \
    '"num_inference_steps": [2, 4, 8], "cache": ["none", {"policy": "interval", "interval": 2}]' \
    "$converged"'"exclude": ["cache != '"'none'"' && steps != 8"], '
sed -i 's/"title": "t"}/"title": "t", "y": "converged_psnr_db"}, {"id": "work", "kind": "pareto", "title": "t", "y": "converged_psnr_db", "over": "pictures_flops"}, {"id": "sheet", "kind": "contact", "title": "t"}, {"id": "steps", "kind": "decisions", "title": "t"}, {"id": "bars", "kind": "quality_bars", "title": "t"}/' many.json
ok "a converged reference is one more case" eval '"$ditbench" run many.json --output many -q && holds many "len(r) == 10"'
ok "it has the most steps times eight, and one process, the first of all" holds many \
    '[(x["case"]["run"]["num_inference_steps"], x["order"], x["process"]) for x in r if x["tags"]["method"] == "converged"] == [(64, 0, 0)]'
ok "every picture of a case is held against it, that of one rank, too" holds many \
    'all(("converged" in x["record"].get("quality", {})) == (x["process"] == 0 and x["tags"]["method"] not in ("oracle", "converged")) == ("converged_case" in x) for x in r)'
more_is_nearer() { # each number of steps is nearer than the smaller one, and a cache farther than none
    holds many '(lambda d: d[2] < d[4] < d[8] < 99 and d["interval(2)"] < d[8])({(x["tags"]["steps"] if x["tags"]["cache"] == "none" else x["tags"]["cache"]): x["record"]["quality"]["converged"]["psnr_db"]["mean"] for x in r if "converged_case" in x})'
}
ok "more steps are nearer to it than fewer, and than a cache" more_is_nearer
ok "that session is sound" "$ditbench" verify many
itself() { # the converged case again, held against what it left
    local case
    case=$(python3 -c 'import json; print(next(x["case_id"] for x in map(json.loads, open("many/journal.jsonl")) if x.get("tags", {}).get("method") == "converged"))')
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "$build/bin/ditbench-engine" --case "many/cases/$case/case.json" --out again --converged "many/cases/$case/p0/latents.safetensors" &&
        python3 -c 'import json; q = json.load(open("again/record.json"))["quality"]["converged"]; assert q["psnr_db"]["min"] == 100 and q["ssim"]["min"] > 0.999999, q'
}
ok "its pictures equal themselves" itself
converged_figure() {
    "$ditbench" report many >/dev/null && [ -s many/report/pareto.svg ] && grep -q 'PSNR to eight times the steps.*dB' many/report/pareto.gp &&
        ! grep -q 'no runs with fewer steps' many/report/pareto.gp && ! grep -q 'converged,' many/report/pareto.csv
}
ok "the figure draws the distance to it, and no table has it as a method" converged_figure
over_operations() { # fewer steps cost less; no other kind stands over a metric
    head -1 many/report/work.csv | grep -q pictures_flops && grep -q "operations of a picture \[" many/report/work.gp && [ -s many/report/work.svg ] &&
        sed 's/"kind": "contact", "title": "t"/"kind": "contact", "title": "t", "over": "latency_s"/' many.json >wrong.json &&
        exits 2 "$ditbench" validate wrong.json >message 2>&1 && grep -q 'kind contact stands over its x' message
}
ok "and the one over operations reads them" over_operations
exported() { "$ditbench" export many --format csv >many.csv && grep -q converged_psnr_p05_db_low many.csv && ! grep -q '"converged"\|,converged,' many.csv; }
ok "exports have the distance" exported
interrupted() { # all results but the first two are lost: what is made is not made again
    mkdir -p cut && cp -r many/. cut && python3 - <<'PYTHON'
import json
lines = open("cut/journal.jsonl").read().splitlines(True)
results = [i for i, line in enumerate(lines) if json.loads(line)["kind"] == "result"]
open("cut/journal.jsonl", "w").writelines(lines[:results[2]])
PYTHON
    "$ditbench" resume cut -q && holds cut 'len(r) == 10 and sum(x["tags"]["method"] == "converged" for x in r) == 1 and sum("converged_case" in x for x in r) == 4' &&
        "$ditbench" verify cut
}
ok "resuming makes no second one, and hands on the first" interrupted
narrowed() { # a filter keeps the reference of what it keeps, whose steps stay those of the whole workload
    "$ditbench" run many.json --filter "steps == 2" --output narrow -q && holds narrow \
        'sorted(x["case"]["run"]["num_inference_steps"] for x in r if x["process"] == 0) == [2, 64] and sum("converged_case" in x for x in r) == 1'
}
ok "a filter keeps it" narrowed
compared() { # whatever the verdict
    "$ditbench" compare many narrow >compared 2>&1 || true
    grep -q '32x32 1.*num_inference_steps=2' compared && grep -q 'exact numbers' compared && ! grep -q 'converged,' compared
}
ok "two sessions are compared without it" compared
late() { # its pictures are gone while the others run, and come back
    local file
    mkdir -p late && cp -r many/. late && python3 - <<'PYTHON'
import json
lines = open("late/journal.jsonl").read().splitlines(True)
results = [i for i, line in enumerate(lines) if json.loads(line)["kind"] == "result"]
open("late/journal.jsonl", "w").writelines(lines[:results[1]])
PYTHON
    file=$(python3 -c 'import json; print(next(x["case_id"] for x in map(json.loads, open("late/journal.jsonl")) if x["kind"] == "result"))')
    file=late/cases/$file/p0/latents.safetensors
    mv "$file" kept && "$ditbench" resume late -q && holds late 'len(r) == 10 and not any("converged_case" in x for x in r)' && mv kept "$file" &&
        "$ditbench" resume late --retry-failed -q && holds late 'len(r) == 14 and sum("converged_case" in x for x in r) == 4' && "$ditbench" verify late
}
ok "what ran without it is run again for its distance" late

decided() { # a row for the cache, whose steps the description tells, too; bars over captions and a line of chance
    [ -s many/report/steps.png ] && grep -q "'5 of 8'" many/report/steps.gp && grep -q 'interval(2).*5 of 8 steps computed, w\.m\.m\.mm' many/report/report.html &&
        [ -s many/report/bars.png ] && grep -q 'interval over captions' many/report/report.html && grep -q "'by chance'" many/report/bars.gp
}
ok "decisions of caches are a raster, quality has bars" decided

# Contact sheets: pictures of a session side by side.
sheet() { # the reference first, seven words at least, a picture in each place
    "$ditbench" report many >/dev/null && [ -s many/report/sheet.png ] && grep -q "set label 'converged, 64 steps'" many/report/sheet.gp &&
        [ "$(grep -c 'rgbimage' many/report/sheet.gp)" -eq 30 ] && [ "$(grep -c "'reference'" many/report/sheet.gp)" -eq 6 ] &&
        [ "$(grep -c "' dB'\|[0-9] dB'" many/report/sheet.gp)" -eq 24 ] && grep -q "'\[" many/report/sheet.gp &&
        grep -q 'image-rendering:pixelated' many/report/sheet.svg && grep -q 'of 6 pictures show their captions. Picture 1' many/report/report.html
}
ok "a contact sheet has the reference, all cases, their PSNR and words" sheet
damaged() { # one file empty, one cut short, one not there: the sheet says so in their places
    local cases
    mapfile -t cases < <(python3 -c 'import json; [print(x["case_id"]) for x in map(json.loads, open("many/journal.jsonl")) if "shown" in x.get("record", {}).get("quality", {})]')
    [ "${#cases[@]}" -eq 5 ] && cp -r many torn && : >"torn/cases/${cases[0]}/p0/latents.safetensors" &&
        head -c 3000 "many/cases/${cases[1]}/p0/latents.safetensors" >"torn/cases/${cases[1]}/p0/latents.safetensors" &&
        rm "torn/cases/${cases[2]}/p0/latents.safetensors" && "$ditbench" report torn >/dev/null && [ -s torn/report/sheet.png ] &&
        [ "$(grep -c "'E_SAFETENSORS" torn/report/sheet.gp)" -eq 12 ] && [ "$(grep -c "'E_NOT_FOUND" torn/report/sheet.gp)" -eq 6 ] &&
        [ "$(grep -c rgbimage torn/report/sheet.gp)" -eq 12 ]
}
ok "damaged and missing files leave places without a picture" damaged
write_workload plain.json '"num_images": 1' '"seed": [42]'
sed -i 's/"kind": "pareto"/"kind": "contact"/' plain.json
bare() { "$ditbench" run plain.json --output plain -q && "$ditbench" report plain >/dev/null 2>message && grep -q 'no case made pictures' plain/report/report.html; }
ok "a session without pictures says that it has none" bare

says() { # FILE WORDS: of its expansion, whatever the exit code
    "$ditbench" expand "$1" >message 2>&1
    grep -qF "$2" message || { cat message; return 1; }
}
write_workload noisy.json '"prompts": "shapes:test:6", "scheduler": {"_class_name": "DDPMScheduler"}' '"seed": [42]' "$converged"
ok "a solver that draws noise has none, with the reason" says noisy.json 'the converged reference of this cell: DDPMScheduler draws fresh noise at every step'
write_workload long.json '"prompts": "shapes:test:6"' '"num_inference_steps": [4, 200]' "$converged"
ok "nor one without a place for so many steps" says long.json '1600 steps do not fit on the 1000 training timesteps'
refused() { exits 2 "$ditbench" validate "$1" >message 2>&1 && grep -qF "$2" message || { cat message; return 1; }; }
write_workload bad.json '"prompts": "shapes:test:6"' '"seed": [42]' '"quality": {"reference": "convergd"}, '
ok "another reference is refused, and the nearest named" refused bad.json 'reference "convergd"'
write_workload bad.json '"prompts": "shapes:test:6"' '"seed": [42]' '"quality": {"reference": "converged", "steps": 3}, '
ok "an unknown member is refused" refused bad.json '/quality'
write_workload bad.json '"num_images": 1' '"seed": [42]' "$converged"
ok "without prompts there is nothing to hold against it" refused bad.json 'pictures of captions, and no case makes any'
write_workload bad.json '"prompts": "shapes:test:6"' '"seed": [42]'
sed -i 's/"title": "t"}/"title": "t", "y": "kid"}/' bad.json
ok "a metric that the figure does not draw is refused" refused bad.json 'y "kid"'
tap_end
