#!/usr/bin/env bash
# ditbench export: every format is what its reader expects, with units right and simulated numbers marked.
# shellcheck disable=SC2015,SC2181,SC2317 # functions run through ok()
# shellcheck source=suite/tests/harness.sh
. "$(dirname "$0")/harness.sh"
cd "$work" || exit 1

# The made-up journal of the report's tests, with one of its cases as if it were simulated.
mkdir -p made
python3 - "$source_dir/reports/tests/fixture/journal.jsonl" <<'P'
import json, sys
with open("made/journal.jsonl", "w") as out:
    for text in open(sys.argv[1]):
        try:
            line = json.loads(text)
        except ValueError:
            continue # the fixture's torn line
        if line.get("case_id", "").startswith("r2"):
            line["case"] = {"platform": {"backend": "cost"}}
            if "record" in line:
                line["record"]["evidence"] = "simulated"
        print(json.dumps(line), file=out)
P
export GITHUB_REPOSITORY=owner/name
for format in junit google-benchmark bmf openmetrics csv markdown github conbench sqlite; do
    ok "$format is written" exits 0 "$ditbench" export made --format "$format" --output "out.$format"
done
on_stdout() { "$ditbench" export made --format csv | cmp - out.csv; }
ok "without --output it is standard output" on_stdout
ok "no format: 2" exits 2 "$ditbench" export made
ok "an unknown format: 2" exits 2 "$ditbench" export made --format nothing

conbench() { # what its API asks for: conbench/entities/benchmark_result.py
    python3 - <<'P'
import json
results = {r["tags"]["case"]: r for r in json.load(open("out.conbench"))}
for r in results.values():
    assert all(isinstance(r[key], str) and r[key] for key in ("run_id", "batch_id", "timestamp")), r
    assert all(isinstance(k, str) and k and isinstance(v, str) and v for k, v in r["tags"].items()) and r["tags"]["name"], r
    assert isinstance(r["context"], dict) and isinstance(r["info"], dict) and ("stats" in r or "error" in r), r
    assert "machine_info" not in r and set(r["cluster_info"]) == {"name", "info", "optional_info"}, r
    assert r["github"]["repository"] == "https://github.com/owner/name" and r["github"].get("commit", "x"), r
    assert "stats" not in r or r["stats"]["unit"] == "s" and all(x > 0 for x in r["stats"]["data"]), r
u2 = results["toy 64x64 u2"]
assert len(u2["stats"]["data"]) >= 2 and all(abs(x - 0.602) < 0.01 for x in u2["stats"]["data"]) and u2["tags"]["evidence"] == "measured", u2
assert "error" in results["toy 64x64 u4"] and "stats" not in results["toy 64x64 u4"]
assert results["toy 64x64 r2"]["tags"]["evidence"] == "simulated" and results["toy 64x64 r2"]["cluster_info"]["name"] == "simulated"
P
}
ok "Conbench: required fields, seconds, an error instead of numbers" conbench
no_repository() { GITHUB_REPOSITORY='' exits 4 "$ditbench" export made --format conbench 2>err && grep -q GITHUB_REPOSITORY err; }
ok "Conbench without a repository: 4, and what to set" no_repository
sqlite() {
    python3 - <<'P'
import csv, sqlite3
db = sqlite3.connect("file:out.sqlite?mode=ro", uri=True)
assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
rows = list(csv.DictReader(open("out.csv")))
assert {r["case_id"] for r in rows} == {c for c, in db.execute("SELECT case_id FROM cases")}
count = 0
for r in rows:
    columns = db.execute("SELECT unit, better, n, median, low, high, min, max FROM summaries WHERE case_id = ? AND metric = ?", (r["case_id"], r["metric"])).fetchall()
    if r["metric"]:
        assert columns == [(r["unit"], r["better"], int(r["n"]), *(float(r[k]) for k in ("median", "low", "high", "min", "max")))], (r, columns)
    values = sorted(v for v, in db.execute("SELECT value FROM numbers WHERE case_id = ? AND metric = ?", (r["case_id"], r["metric"])))
    assert len(values) in (0, int(r["n"])), (r, values)
    if values:
        count += 1
        assert (values[0], values[-1]) == (float(r["min"]), float(r["max"])), (r, values)
assert count > 10
assert db.execute("SELECT count(*) FROM cases WHERE status = 'timeout' AND failure LIKE 'E_TIMEOUT%'").fetchone()[0] >= 1
assert db.execute("SELECT count(*) FROM cases WHERE evidence = 'simulated'").fetchone()[0] >= 1
P
}
ok "SQLite: sound, with the numbers of the csv" sqlite
again() { "$ditbench" export made --format sqlite --output again.sqlite && cmp again.sqlite out.sqlite; }
ok "SQLite: the same bytes again" again
ok "SQLite on standard output: 2" exits 2 "$ditbench" export made --format sqlite

junit() {
    python3 - <<'P'
import xml.etree.ElementTree as tree
suite = tree.parse("out.junit").getroot().find("testsuite")
cases = suite.findall("testcase")
assert int(suite.get("tests")) == len(cases), suite.attrib
for what in ("error", "failure", "skipped"):
    count = sum(c.find(what) is not None for c in cases)
    assert int(suite.get({"error": "errors", "failure": "failures"}.get(what, what))) == count, (what, suite.attrib)
named = {c.get("name"): c for c in cases}
assert abs(float(named["toy 64x64 u2"].get("time")) - 0.602) < 0.01, named["toy 64x64 u2"].attrib
assert named["toy 64x64 u4"].find("error").get("message").startswith("E_TIMEOUT: deadline of 9 s passed <b>&")
assert "simulated/toy 64x64 r2" in named and named["toy 64x64 u2"].find("properties")[0].get("value") == "measured"
P
}
ok "JUnit: counts, errors with their message, seconds" junit
google() {
    python3 - <<'P'
import json
d = json.load(open("out.google-benchmark"))
assert d["context"]["json_schema_version"] == 1 and d["context"]["library_build_type"] == "release"
rows = d["benchmarks"]
need = {"name": str, "run_name": str, "run_type": str, "repetitions": int, "threads": int, "iterations": int,
        "real_time": (int, float), "cpu_time": (int, float), "time_unit": str, "family_index": int,
        "per_family_instance_index": int}
for row in rows:
    for key, kind in need.items():
        assert isinstance(row[key], kind), (key, row)
    assert row["time_unit"] == "ms" and (row["run_type"] != "aggregate" or row["name"] == row["run_name"] + "_" + row["aggregate_name"])
u2 = [r for r in rows if r["run_name"] == "toy 64x64 u2" and r["run_type"] == "iteration"]
assert len(u2) == u2[0]["repetitions"] >= 2 and [r["repetition_index"] for r in u2] == list(range(len(u2))), u2
assert all(abs(r["real_time"] - 602) < 10 for r in u2), u2
assert [r for r in rows if r["run_name"] == "toy 64x64 u4"][0]["error_occurred"]
assert all(r["label"] == ("simulated" if r["name"].startswith("simulated/") else "measured") for r in rows)
P
}
ok "Google Benchmark: its fields, milliseconds, repetitions" google
# shellcheck disable=SC2012 # no names but these two
compare_py=$(ls /usr/share/benchmark/compare.py /usr/share/googlebenchmark/tools/compare.py 2>/dev/null | head -1)
if [ -n "$compare_py" ] && python3 -c 'import scipy' 2>/dev/null; then
    reads_back() { python3 "$compare_py" --no-utest benchmarks out.google-benchmark out.google-benchmark >compared 2>&1 && grep -q 'toy 64x64 u2.*+0.0000' compared || { cat compared; return 1; }; }
    ok "compare.py of Google Benchmark reads it" reads_back
else
    skip "compare.py of Google Benchmark reads it" "package libbenchmark-tools or scipy is not here"
fi
bmf() {
    python3 - <<'P'
import json
d = json.load(open("out.bmf"))
u2 = d["toy 64x64 u2"]
assert abs(u2["latency"]["value"] - 602e6) < 1e7, u2["latency"] # nanoseconds
assert u2["latency"]["lower_value"] <= u2["latency"]["value"] <= u2["latency"]["upper_value"]
assert u2["total_bytes"]["value"] > 1e6 and "latency_s" not in u2
assert "simulated/toy 64x64 r2" in d and "toy 64x64 r2" not in d and "toy 64x64 u4" not in d
P
}
ok "Bencher: latency in nanoseconds, only cases with numbers" bmf
openmetrics() {
    python3 - <<'P'
import re
text = open("out.openmetrics").read()
assert text.endswith("# EOF\n") and text.count("# EOF") == 1
families = re.findall(r"^# TYPE (\S+) gauge$", text, re.M)
assert len(families) == len(set(families)) and "ditbench_latency_seconds" in families and "ditbench_total_bytes" in families
for line in text.splitlines():
    assert line.startswith("# ") or re.fullmatch(r'[a-z_0-9]+\{([a-z_]+="([^"\\\n]|\\.)*",?)+\} [-+0-9.e]+', line), line
for name in re.findall(r"^# UNIT (\S+) (?:seconds|bytes)$", text, re.M):
    assert name.endswith(("_seconds", "_bytes")), name
assert re.search(r'ditbench_latency_seconds\{case="toy 64x64 r2".*evidence="simulated"', text)
try:
    from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse
except ImportError:
    parse = list
assert list(parse(text))
P
}
ok "OpenMetrics: types, units, labels, one EOF" openmetrics
csv() {
    python3 - <<'P'
import csv
rows = list(csv.DictReader(open("out.csv", newline="")))
u2 = {r["metric"]: r for r in rows if r["case"] == "toy 64x64 u2"}
assert abs(float(u2["latency_s"]["median"]) - 0.602) < 0.01 and u2["latency_s"]["unit"] == "s" and u2["latency_s"]["better"] == "lower"
assert {r["evidence"] for r in rows if r["case"] == "toy 64x64 r2"} == {"simulated"}
assert [r["status"] for r in rows if r["case"] == "toy 64x64 u4"] == ["timeout"]
P
}
ok "CSV: unit, direction, evidence, and cases without numbers" csv
markdown() { [ "$(grep -c '^| --- ' out.markdown)" -eq 2 ] && grep -q '^Measured:' out.markdown && sed '1,/^Simulated:/d' out.markdown | grep -q 'r2' && ! sed '/^Simulated:/,$d' out.markdown | grep -q '64x64 r2'; }
ok "Markdown: measured and simulated apart" markdown
github() { ! grep -vE '^::(error|warning|notice) title=ditbench::' out.github && grep -q '^::error .*u4: E_TIMEOUT' out.github; }
ok "GitHub: every line is an annotation" github

# ---- import --------------------------------------------------------------------------------------------------------

cat >nccl.json <<'JSON'
{"version": 2, "start_time": "2026-01-31 12:00:00", "args": ["./build/all_reduce_perf", "-b", "1M", "-e", "2M", "-J", "nccl.json"],
 "env": ["SECRET_TOKEN=abc", "NCCL_DEBUG=WARN"], "nccl_version": 22809,
 "config": {"nthreads": 1, "ngpus": 2, "minimum_bytes": 1048576, "maximum_bytes": 2097152, "step_factor": 2,
            "devices": [{"rank": 0, "group": 0, "pid": 1, "hostname": "made-up", "device": 0, "device_hex": "0000:04:00", "device_info": "made-up GPU"},
                        {"rank": 1, "group": 0, "pid": 2, "hostname": "made-up", "device": 1, "device_hex": "0000:05:00", "device_info": "made-up GPU"}]},
 "results": [{"size": 1048576, "count": 262144, "type": "float", "redop": "sum", "root": "    -1",
              "out_of_place": {"time": 50.5, "alg_bw": 20.7, "bus_bw": 20.7, "nwrong": 0.0},
              "in_place": {"time": 49.5, "alg_bw": 21.1, "bus_bw": 21.1, "nwrong": 3.0}, "actual_iterations": 20, "experiment_name": ""},
             {"size": 2097152, "count": 524288, "type": "float", "redop": "sum", "root": "    -1", "out_of_place": null,
              "in_place": {"time": 90.0, "alg_bw": 23.0, "bus_bw": 23.0, "nwrong": null},
              "in_place_per_iter": {"times_us": [89.0, 90.0, 92.0]}, "actual_iterations": 20, "experiment_name": ""}],
 "out_of_bounds": {"count": 0, "okay": "true"}, "end_time": "2026-01-31 12:00:01"}
JSON
nccl() {
    "$ditbench" import nccl.json --format nccl-tests >out 2>err || { cat err; return 1; }
    "$ditbench" verify >said || { cat said; return 1; }
    "$ditbench" export --format csv | python3 -c '
import csv, sys
rows = [r for r in csv.DictReader(sys.stdin) if r["metric"] in ("latency_s", "")]
assert [(r["status"], r["median"] and round(float(r["median"]), 9)) for r in rows].count(("ok", 5.05e-05)) == 1, rows
assert sorted(r["status"] for r in rows) == ["failed", "ok", "ok"] and any(r["median"].startswith("9e-05") or float(r["median"] or 0) == 9e-05 for r in rows), rows
assert all(r["evidence"] == "measured" for r in rows)' && ! grep -rq SECRET "$DITBENCH_RESULTS" && grep -rq NCCL_DEBUG "$DITBENCH_RESULTS"
}
ok "nccl-tests: microseconds, wrong elements fail, no secrets, verify is content" nccl

cat >external.json <<'JSON'
{"schema": "ditbench.external/1", "title": "Made up", "started": "2026-01-31T12:00:00Z",
 "engine": {"name": "otherdit", "version": "1.2"}, "hardware": {"gpus": ["made-up GPU"]},
 "runs": [{"tags": {"model": "tiny", "resolution": "64x64", "method": "ulysses", "mesh": "u2", "world_size": 2, "steps": 2, "num_images": 1},
           "processes": [{"latency_s": [0.5, 0.51], "peak_memory_bytes": 1000000}, {"latency_s": [0.52]}, {"error": "out of luck"}]},
          {"tags": {"model": "tiny", "resolution": "64x64", "method": "single", "mesh": "1", "world_size": 1, "steps": 2, "num_images": 1},
           "processes": [{"latency_s": [0.9]}]}]}
JSON
write_workload tiny.json 1
"$ditbench" run tiny.json -q >/dev/null 2>&1
beside() {
    "$ditbench" import external.json --format external --beside latest --output both >out 2>err || { cat err; return 1; }
    "$ditbench" verify both >said || { cat said; return 1; }
    "$ditbench" export both --format csv >both.csv && python3 -c '
import csv, sys
rows = [r for r in csv.DictReader(open("both.csv", newline="")) if r["metric"] == "latency_s"]
assert len(rows) == 5, rows
assert sum("otherdit" in r["case"] for r in rows) == 2, rows
assert [float(r["median"]) for r in rows if r["case"] == "tiny 64x64 1, otherdit"] == [0.9], rows' &&
        "$ditbench" show both >shown && grep -q otherdit shown && grep -q "^workload tiny  Tiny" shown && [ "$("$ditbench" show both --json | grep -cE '"engine":[[:space:]]*"otherdit 1.2"')" -ge 2 ]
}
ok "another engine stands beside ours in one session that verifies" beside
if command -v gnuplot >/dev/null; then
    drawn() { "$ditbench" report both --output page >out 2>err && grep -q otherdit page/report.html; }
    ok "and in one report" drawn
fi
refuses() { # EXPRESSION WORDS: the file after a Python expression on it
    python3 -c "
import json
d = json.load(open('external.json'))
$1
json.dump(d, open('bad.json', 'w'))"
    exits 2 "$ditbench" import bad.json --format external --dry-run >out 2>err && grep -q -- "$2" err || { cat err; return 1; }
}
ok "no engine" refuses "del d['engine']" engine
ok "an engine that says it is ours" refuses "d['engine']['name'] = 'ditbench'" "not ours"
ok "a negative time" refuses "d['runs'][0]['processes'][0]['latency_s'] = [-1]" "positive"
ok "a time that no clock could tell" refuses "d['runs'][0]['processes'][0]['latency_s'] = [1e-12]" "less than a nanosecond"
ok "times and an error" refuses "d['runs'][0]['processes'][0]['error'] = 'x'" "not both"
ok "a tag that is a metric" refuses "d['runs'][0]['tags']['latency_s'] = 1" "comes from records"
ok "a tag that every record has" refuses "d['runs'][0]['tags']['status'] = 'ok'" "comes from records"
ok "two equal runs" refuses "d['runs'].append(d['runs'][0])" "two cases"
ok "an unknown key" refuses "d['runs'][0]['latency'] = 1" "latency"
ok "another schema" refuses "d['schema'] = 'ditbench.external/2'" "external/1"
half() { # the session beside it cannot be read, or there is no room: what was begun is taken away
    cp -r "$(readlink -f "$DITBENCH_RESULTS/latest")" broken && sed -i 's/"process":0/"process":7/' broken/journal.jsonl || return 1
    exits 6 "$ditbench" import external.json --format external --beside broken --output half 2>err && [ ! -e half ] || { cat err; return 1; }
    (ulimit -f 2 && exits 4 "$ditbench" import external.json --format external --output half 2>err) && [ ! -e half ] || { cat err; return 1; }
    exits 0 "$ditbench" import external.json --format external --output half >out
}
ok "an import that fails leaves nothing" half
ok "a file that is not there: 4" exits 4 "$ditbench" import nothing.json --format external
ok "an unknown format: 2" exits 2 "$ditbench" import nccl.json --format nothing
finish
