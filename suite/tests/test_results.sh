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
    [ "$(grep -cE '^\[[0-9]/6\] ok      pixart-alpha-xl-2\{tiny\} 64x64 [1ur0-9]+  [0-9.]+ (ms|s|µs)(  (busy|outlier): .*)?$' err)" -eq 6 ] || { cat err; return 1; }
}
ok "each finished case prints its latency" each_line_is_a_latency
ends_with_results() {
    grep -q '^tiny: 6 of 6 runs, 6 ok, in ' out && grep -qE '^model +size +fastest +ranks +latency' out &&
        grep -qE '^pixart-alpha-xl-2\{tiny\} +64x64 .* (one rank|times as fast as one rank)$' out &&
        grep -q "^next: ditbench show $(basename "$(readlink -f "$DITBENCH_RESULTS/latest")")" out || { cat out; return 1; }
}
ok "a run ends with the fastest case and the next command" ends_with_results

# Warming up goes on until two runs are alike, and the record says why it ended.
warms_up() {
    "$ditbench" run tiny.json --set measure.warmup_most=9 --processes 1 --output "$work/warm" -q >out 2>err || { cat err; return 1; }
    python3 - "$work/warm/journal.jsonl" <<'P'
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
for r in (line["record"]["samples"] for line in lines if line["kind"] == "result"):
    runs, end = r["warmup_ns"], r["warmup_end"]
    assert 2 <= len(runs) <= 9 and end in ("steady", "limit"), r
    assert end == "steady" or len(runs) == 9, r
P
    grep -q '"schema":"ditbench.journal/1"' "$work/warm/journal.jsonl" && exits 0 "$ditbench" verify "$work/warm"
}
ok "an open-ended warm-up ends on evidence" warms_up

# Processes until the interval is narrow, or as many as are allowed.
until_precise() {
    "$ditbench" run tiny.json --set repeat.until=0.9 --set repeat.most=8 --output "$work/precise" -q >out 2>err || { cat err; return 1; }
    python3 - "$work/precise/journal.jsonl" <<'P' || return 1
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
end, runs = lines[-1], {}
for line in lines:
    if line["kind"] == "result":
        runs[line["case_id"]] = runs.get(line["case_id"], 0) + 1
for case in end["stop"]["cases"]:
    narrow = case["interval"] <= 0.9
    assert case["n"] == runs[case["case_id"]] and 6 <= case["n"] <= 8, case
    assert case["reason"] == ("precision" if narrow else "count") and (narrow or case["n"] == 8), case
assert end["complete"] and end["end_reason"] == ("precise" if sum(runs.values()) < 24 else "finished"), end
P
    exits 0 "$ditbench" verify "$work/precise" && "$ditbench" resume "$work/precise" 2>&1 | grep -q 'nothing to do'
}
ok "a case runs until its interval is as narrow as was asked" until_precise
until_most() {
    "$ditbench" run tiny.json --set repeat.until=0.000001 --set repeat.most=7 --filter 'world_size == 1' --output "$work/most" -q >out 2>err || { cat err; return 1; }
    tail -n 1 "$work/most/journal.jsonl" | grep -q '"end_reason":"finished".*"n":7,"reason":"count"' || { tail -n 1 "$work/most/journal.jsonl"; return 1; }
}
ok "and no more often than is allowed" until_most

# The table: sorted, one unit a column, as wide as the reader.
table_is_sorted() {
    "$ditbench" show >out || return 1
    sed -n '/^model /,$p' out | awk 'NR > 1 {print $3}' | head -n 3 | tr '\n' ' ' | grep -qx '1 2 2 ' || { cat out; return 1; }
    [ "$(grep -cE ' \*' out)" -eq 1 ] && grep -qE '^model +size +ranks +method +mesh +status +latency (µs|ms|s) ' out
}
ok "show sorts by ranks, marks the fastest of two, and has a unit in the title" table_is_sorted
fits() { [ "$(COLUMNS=$1 "$ditbench" show | sed -n '/^model /,/^left out/p' | sed 's/…/./g' | head -n -1 | awk '{ if (length > n) n = length } END { print n }')" -le "$1" ]; }
ok "at 80 columns" fits 80
ok "at 60 columns" fits 60
names_what_it_left_out() { COLUMNS=80 "$ditbench" show | grep -q '^left out for lack of width: .*sent'; }
ok "what is left out is named" names_what_it_left_out
in_csv() {
    "$ditbench" show --csv | tr -d '\r' >out.csv
    [ "$(wc -l <out.csv)" -eq 4 ] && head -n 1 out.csv | grep -q '^model,resolution,world_size,.*,latency_s,.*,speedup,.*,case_id$' &&
        [ "$(awk -F, '{print NF}' out.csv | sort -u | wc -l)" -eq 1 ] && ! grep -q session out.csv
}
ok "--csv has seconds, every column, and nothing else" in_csv
columns_and_sort() {
    "$ditbench" show --columns ranks,mesh,images_per_hour,profile --sort -mesh >out &&
        [ "$(sed -n '/^ranks /,$p' out | awk 'NR > 1 {print $2}' | head -n 3 | tr '\n' ' ')" = 'u2 r2 1 ' ] || { cat out; return 1; }
    exits 2 "$ditbench" show --columns ranks,mehs >out 2>err && [ ! -s out ] && grep -q 'did you mean mesh?' err
}
ok "--columns takes columns, metrics and tags, --sort either way; a slip is answered" columns_and_sort
one_case_in_units() { "$ditbench" show latest "$(tail -n 1 out.csv | sed 's/.*,//')" | grep -qE '^  peak memory +[0-9.]+ [kMG]B$'; }
ok "one case in full, with units" one_case_in_units

# Filters: what keeps nothing is refused before anything is made, and unknown names are told of.
refuses() { # CODE-WORD HINT FILTER OPTION...
    local code=$1 hint=$2 filter=$3
    shift 3
    find "$DITBENCH_RESULTS" | sort >before
    exits 2 "$ditbench" run tiny.json --filter "$filter" "$@" 2>err && grep -q "$code" err && grep -q "$hint" err || { cat err; return 1; }
    find "$DITBENCH_RESULTS" | sort | cmp -s - before
}
ok "a filter that keeps nothing: 2, with the values there are" refuses E_NO_MATCH 'world_size is 1, 2;' 'world_size > 64'
ok "so it is with --dry-run" refuses 'none of the 3 cases' expand 'world_size > 64' --dry-run
ok "an unknown name: the nearest and all names" refuses 'unknown name' 'did you mean "method"? the names are .*world_size' "methd == 'ring'"
alias_works() { [ "$("$ditbench" run tiny.json --dry-run --filter 'gpus == 2 || ranks == 2' | grep -c '^# [0-9]')" -eq 4 ]; }
ok "gpus and ranks mean world_size" alias_works
one_of_two() {
    sed 's/"tiny",/"other",/; s/\[1, 2\]/[1]/; s/, "ulysses", "ring"//' tiny.json >other.json
    exits 0 "$ditbench" run tiny.json other.json --dry-run --filter 'world_size == 2' >out 2>err || return 1
    grep -q 'left out: .* none of the 1 case of other' err && grep -q 'workload tiny' out && ! grep -q 'workload other' out &&
        exits 2 "$ditbench" run tiny.json other.json --dry-run --filter 'world_size == 3'
}
ok "of several workloads those without a match are left out; 2 when none has one" one_of_two

# --set: as if the file said so, in ids, plan, journal; checked as a file is.
set_is_as_the_file() {
    sed 's/"num_inference_steps": 2/"num_inference_steps": 3/; s/\[1, 2\]/[1, 2, 4]/' tiny.json >edited.json
    "$ditbench" expand edited.json >want && "$ditbench" expand tiny.json --set num_inference_steps=3 --set world_size=1,2,4 >got &&
        cmp want got && ! "$ditbench" expand tiny.json | cmp -s - got && "$ditbench" plan tiny.json --set num_inference_steps=3 >got &&
        ! "$ditbench" plan tiny.json | cmp -s - got && "$ditbench" validate tiny.json -s world_size=1 | grep -q ' 1 case'
}
ok "--set gives the cases that an edited file gives, in expand, plan and validate" set_is_as_the_file
zips() {
    sed '/"method":/d; s/"world_size": .*/"seed": [1, 2]},/; s/^  },$/"zip": [{"method": ["single", "ring", "ulysses"], "world_size": [1, 2, 2]}],/' tiny.json >zip.json
    [ "$("$ditbench" expand zip.json | grep -c ^keep)" -eq 6 ] && [ "$("$ditbench" expand zip.json --set method=ring | grep -c '^keep.* r2')" -eq 2 ] &&
        [ "$("$ditbench" expand zip.json --set world_size=2 --set seed=5 | grep -c ^keep)" -eq 2 ]
}
ok "--set of one axis of a zip leaves the other" zips
says() { # WORDS SETTING
    exits 2 "$ditbench" expand tiny.json --set "$2" 2>err && grep -q -- "--set $2" err && grep -q "$1" err || { cat err; return 1; }
}
narrowed() {
    sed 's/^  "measure"/  "plots": [{"id": "p", "kind": "latency_bars", "title": "t", "where": "mesh == '"'u2'"'"}],\n&/' tiny.json >plots.json
    exits 0 "$ditbench" validate plots.json && exits 0 "$ditbench" validate plots.json --set method=single || return 1
    sed -i "s/mesh == 'u2'/mesh == 'u3'/" plots.json && exits 2 "$ditbench" validate plots.json
}
ok "--set may take away the cases that a plot is about" narrowed
ok "--set of an unknown key: what it is called here" says 'it is "num_inference_steps" here' steps=3
ok "--set of a wrong type" says 'wants an integer, this is a string' num_inference_steps=abc
ok "--set out of range" says 'outside \[1, 65536\]' world_size=0
ok "--set of an unknown word: the nearest" says 'did you mean "ulysses"' method=ulyses
ok "--set of an unknown model, which the file is checked for" says 'there is no model' model=sd4
ok "--set without a value" says 'a value is missing' world_size=1,,2
session_keeps_it() {
    "$ditbench" run tiny.json --set num_inference_steps=1 --set method=single --set repeat.processes=1 --name 'one step' \
        --tag try --tag fast --note 'a "remark"' >out 2>err || { cat err; return 1; }
    session=$(sed -n 's/^session //p' out)
    head -n 1 "$session/journal.jsonl" >first
    case $session in *Z-one-step-*) ;; *) echo "$session"; return 1 ;; esac
    grep -q '"set":{"method":"single","num_inference_steps":1,"repeat.processes":1}' first && grep -q '"name":"one step"' first &&
        grep -q '"tags":\["try","fast"\]' first && grep -q '"note":"a \\"remark\\""' first &&
        exits 0 "$ditbench" verify "$session" && exits 0 "$ditbench" resume "$session" && "$ditbench" show one-step | grep -q 'steps 1'
}
ok "a session keeps settings, name, tags and note, verifies, resumes, and is found by its name" session_keeps_it

# A machine without a GPU: one line for all runs, and latest stays what it was.
skipped_stays_behind() {
    sed 's/local-cpu/local-gpu/; s/"threads_per_rank": 1}/"element": "bf16"}/; s/, 2\]/]/; s/, "ulysses", "ring"//' tiny.json >gpu.json
    before=$(readlink "$DITBENCH_RESULTS/latest")
    CUDA_VISIBLE_DEVICES='' exits 77 "$ditbench" run gpu.json >out 2>err || return 1
    [ "$(readlink "$DITBENCH_RESULTS/latest")" = "$before" ] && [ "$(grep -c '^\[' err)" -eq 1 ] &&
        grep -q '^\[2/2\] skipped 2 runs  no device' err || { cat err; return 1; }
    "$ditbench" report --dry-run 2>&1 | grep -q "^latest is $before"
}
ok "a session that was skipped whole is not latest" skipped_stays_behind

# What filters, claims and workloads may name is listed by the tables that read them.
registries() {
    "$ditbench" list metrics | grep -qE '^latency_s +s +lower ' && "$ditbench" list tags | grep -qE '^world_size +ranks' &&
        "$ditbench" list kinds | grep -qE '^scaling ' && "$ditbench" list links | grep -qE '^nvlink-h100 +nvlink +450.0' &&
        "$ditbench" list profiles | grep -qE '^pytorch-eager +yes' && "$ditbench" list parameters -f degree | grep -q '^ring_degree ' &&
        "$ditbench" list programs | grep -qE '^vae_decode +[0-9]+ '
}
ok "list shows metrics, tags, kinds, links, profiles, parameters, programs" registries

# The list of sessions: what people look for, filters, and nothing written.
listed() {
    "$ditbench" list >out && grep -qE '^session +date \(UTC\) +workload +name +state +runs ' out &&
        grep -qE '^[0-9TZ]+-one-step-[0-9a-f]+ .* one step .*complete +1/1 .*measured .*try fast' out || { cat out; return 1; }
    ! grep -q ' yes ' out && mkdir -p "$DITBENCH_RESULTS/latest/report" && touch "$DITBENCH_RESULTS/latest/report/report.html" &&
        "$ditbench" list | grep -q ' yes '
}
ok "list has date, name, tags, evidence and whether there is a page" listed
filtered() { # FILTER COUNT
    [ "$("$ditbench" list --filter "$1" 2>err | grep -c '^2')" -eq "$2" ] || { "$ditbench" list; cat err; return 1; }
}
ok "list --filter TEXT" filtered 'One Step' 1
ok "list --filter EXPR" filtered "done == 6 && evidence == 'measured'" 1
ok "list --filter that keeps none" filtered 'evidence == "simulated"' 0
unknown_member() { exits 2 "$ditbench" list --filter 'evidnce == 1' 2>err && grep -q 'the names are session, .*evidence' err; }
ok "list --filter with an unknown name: 2, with the names" unknown_member
catalogue_filtered() {
    "$ditbench" list accelerators --filter 'memory_gib >= 140' >out && grep -q ^h200 out && ! grep -q ^l40 out &&
        "$ditbench" list workloads -f xdit-scal | grep -q '^papers/xdit/xdit-scal-flux-16l40 ' &&
        [ "$("$ditbench" list platforms -f 8xl40 --json | tr -d ' \n\t' | grep -c '^{"schema":"ditbench.list-platforms/1","platforms":\[{"name":"2x8xl40"')" -eq 1 ]
}
ok "platforms, accelerators and workloads have columns, objects and filters" catalogue_filtered
writes_nothing() {
    rm -f "$DITBENCH_RESULTS/index.sqlite"
    "$ditbench" list >want && [ ! -e "$DITBENCH_RESULTS/index.sqlite" ] && exits 2 "$ditbench" run tiny.json --filter 1==2 2>/dev/null
    echo broken >"$DITBENCH_RESULTS/index.sqlite"
    "$ditbench" list | cmp want - && [ "$(cat "$DITBENCH_RESULTS/index.sqlite")" = broken ] &&
        "$ditbench" run tiny.json -q --set method=single --name anew >/dev/null && [ "$(head -c 6 "$DITBENCH_RESULTS/index.sqlite")" = SQLite ]
}
ok "list writes nothing, a run mends the index" writes_nothing
# as_reader COMMAND...: as somebody who may not write here. Root without capabilities is held to the bits of a file, and can
# read a source tree that others cannot.
as_reader() {
    if [ "$(id -u)" -eq 0 ]; then setpriv --inh-caps=-all --bounding-set=-all "$@"; else "$@"; fi
}
read_only() {
    chmod 755 "$work" && chmod 644 "$work"/*.json && mv "$DITBENCH_RESULTS/index.sqlite" "$work/kept" && chmod a-w "$DITBENCH_RESULTS"
    as_reader "$ditbench" list >got 2>err && [ ! -s err ] && "$ditbench" list | cmp got - || { cat err; return 1; }
    exits 4 as_reader "$ditbench" run "$work/tiny.json" --set method=single --launcher local 2>err && grep -q -- '--output DIR' err || { cat err; return 1; }
    chmod u+w "$DITBENCH_RESULTS"
}
ok "a folder that one may only read: list reads it, run names --output" read_only

# Workloads by their last part.
by_last_part() {
    "$ditbench" validate xdit-scal-flux-16l40 | grep -q ' 75 cases' && ! "$ditbench" validate scal-flux 2>err &&
        grep -q 'there are papers/xdit/xdit-scal-flux-16l40, papers/xdit/xdit-scal-flux-a100' err &&
        ! "$ditbench" validate xdit-scal-flux-16l4O 2>err && grep -q 'did you mean "papers/xdit/xdit-scal-flux-16l40"' err
}
ok "a workload is found by the last part of its name, or candidates are offered" by_last_part
without_mpirun() {
    mkdir -p empty
    PATH=$work/empty exits 4 "$ditbench" run tiny.json --set method=single 2>err && grep -q 'hint: .*--launcher local' err || { cat err; return 1; }
}
ok "without mpirun, cases of one rank: the other launcher is offered" without_mpirun
reader_gone() {
    "$ditbench" run tiny.json --output "$work/piped" 2>&1 | true
    "$ditbench" status "$work/piped" | grep -q '^complete: 6 of 6 runs' || { "$ditbench" status "$work/piped"; return 1; }
}
ok "a reader that has gone does not end a session" reader_gone

# A busy machine: as many loops as cores.
busy() {
    local loops=() i
    for ((i = 0; i < $(nproc); i++)); do
        while :; do :; done &
        loops+=($!)
    done
    "$ditbench" run tiny.json --output "$work/busy" >out 2>err
    kill "${loops[@]}"
    wait "${loops[@]}" 2>/dev/null
    grep -q '^warning: busy: other processes used .* before the first case' err && grep -qE '^\[.* ok .*  busy: other processes used' err &&
        grep -q '^warning: . cases*: busy: other processes' out || { cat err out; return 1; }
    head -n 1 "$work/busy/journal.jsonl" | grep -q '"warnings":\["busy: ' && grep -q '"other_cores":[0-9.]*,.*"warnings":\["busy' "$work/busy/journal.jsonl" &&
        "$ditbench" show "$work/busy" | grep -q '^warning: .*busy' && exits 0 "$ditbench" verify "$work/busy"
}
ok "a busy machine is noticed: before the run, at each case, at the end, in the journal" busy
finish
