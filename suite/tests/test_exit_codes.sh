#!/usr/bin/env bash
# Documented exit codes, help of every verb, sessions by name, and tampering found.
# shellcheck disable=SC2016,SC2317 # functions run through ok()
# shellcheck source=suite/tests/harness.sh
. "$(dirname "$0")/harness.sh"
write_workload "$work/tiny.json" 2
cd "$work" || exit 4

verbs=$("$ditbench" help | sed -n 's/^  \([a-z]*\)  .*/\1/p' | grep -v '^help$')
every_verb_helps() {
    local verb
    for verb in $verbs; do
        "$ditbench" "$verb" --help | grep -q '^examples:' || { echo "$verb has no examples"; return 1; }
        "$ditbench" help "$verb" | grep -q "^usage: ditbench $verb" || { echo "help $verb"; return 1; }
    done
}
ok "every verb tells its options and examples" every_verb_helps
ok "--version" exits 0 "$ditbench" --version
ok "no verb: 2" exits 2 "$ditbench"
ok "unknown verb: 2" exits 2 "$ditbench" runn
hint() { "$ditbench" runn 2>&1 | grep -q 'did you mean `ditbench run`'; }
ok "unknown verb: the nearest one is named" hint
ok "unknown option: 2" exits 2 "$ditbench" list --jsn
ok "no such session: 2" exits 2 "$ditbench" show nothing
ok "no engine: 4" exits 4 "$ditbench" run tiny.json --engine /no/such/engine
ok "unknown launcher: 2" exits 2 "$ditbench" run tiny.json --launcher mpirum
no_golden() { mkdir -p empty && exits 2 "$ditbench" golden empty 2>message && grep -q 'empty is no golden folder' message && grep -q 'e2e.json' message; }
ok "golden of a folder that is none: 2, as of a missing one" no_golden
ok "golden of a missing folder: 2" exits 2 "$ditbench" golden /no/such/folder
operation() {
    exits 2 "$ditbench" collective --ranks 2 --operation allreduce 2>message && grep -q 'operation "allreduce" is none of' message &&
        grep -q 'none of all_reduce, all_gather, reduce_scatter, all_to_all, send_recv' message &&
        grep -q 'did you mean "all_reduce"?' message &&
        ! grep -q 'case.json' message
}
ok "an unknown operation of collective: 2, with those that there are" operation
ok "bad filter: 2" exits 2 "$ditbench" run tiny.json --filter 'world_size <'
ok "filter that keeps nothing: 2" exits 2 "$ditbench" run tiny.json -q --filter 'world_size > 64'
sed 's/"64x64"/"66x66"/' tiny.json >none.json
for verb in validate plan run expand; do ok "$verb of a workload without cases: 2" exits 2 "$ditbench" $verb none.json; done
reasons() { "$ditbench" run none.json 2>&1 | grep -q 'no case is left of 6 cells: .*E_CONSTRAINT_RESOLUTION'; }
ok "the reasons are counted" reasons
printf '[{"model":"FLUX.1-dev","hardware":"H20","gpus":1,"method":"single","metric":"latency","value":9,"unit":"s"}]' >points.json
printf '[{"model":7}]' >damaged.json
ok "damaged published numbers: 2" exits 2 "$ditbench" simulate --points damaged.json --list
ok "published numbers none of which says enough: 77" exits 77 "$ditbench" simulate --points points.json --list
ok "published numbers that are not there: 2" exits 2 "$ditbench" simulate --points nowhere.json --list
ok "no simulator: 4" exits 4 env PATH=/nowhere "$ditbench" simulate --points points.json
errors_in_json() { "$ditbench" show nothing --json | grep -q '"code":.*"E_NOT_FOUND"'; }
ok "--json reports errors as JSON on stdout" errors_in_json

dry() {
    "$ditbench" run tiny.json --dry-run --output "$work/dry" >"$work/plan" || return 1
    [ ! -e "$work/dry" ] && [ "$(grep -c '^# [0-9]' "$work/plan")" -eq 6 ] &&
        grep -q -- '--case SESSION/cases/' "$work/plan"
}
ok "--dry-run prints the plan and makes nothing" dry
one_rank() { exits 0 "$ditbench" run tiny.json -q --filter 'world_size == 1' --launcher local --output "$work/local"; }
ok "launcher local runs one rank without MPI's launcher" one_rank
ok "a folder that holds a session is refused: 2" exits 2 "$ditbench" run tiny.json --output "$work/local"

ok "a sound run: 0" exits 0 "$ditbench" run tiny.json -q
listed() { "$ditbench" list | grep -q 'tiny .*complete .*6/6'; }
ok "list shows it" listed
rebuilt() { echo broken >"$DITBENCH_RESULTS/index.sqlite" && listed && rm "$DITBENCH_RESULTS/index.sqlite" && listed; }
ok "the index is made anew when broken or gone" rebuilt
ok "latest is it: status 0" exits 0 "$ditbench" status
ok "show 0" exits 0 "$ditbench" show latest
first_case=$(find "$DITBENCH_RESULTS"/latest/cases -mindepth 1 -maxdepth 1 | head -n 1)
ok "show of one case 0" exits 0 "$ditbench" show latest "$(basename "$first_case")"
ok "verify of the untouched session: 0" exits 0 "$ditbench" verify
plain_lines() {
    "$ditbench" run tiny.json --filter 'world_size == 1' --output "$work/plain" >"$work/out" 2>"$work/err" || return 1
    [ "$(grep -c '^\[[12]/2\] ok' "$work/err")" -eq 2 ] && ! grep -q $'\r' "$work/err" && ! grep -q '^\[' "$work/out"
}
ok "without a terminal: one plain line per run, on stderr" plain_lines

# Flip one digit at a time: in the journal, a record, a case, the plan, the latents.
session=$(readlink -f "$DITBENCH_RESULTS/latest")
tamper() { # file sed-expression expected-words
    rm -rf "$work/copy"
    cp -r "$session" "$work/copy"
    sed -i "$2" "$work/copy/$1"
    cmp -s "$session/$1" "$work/copy/$1" && { echo "nothing changed"; return 1; }
    exits 6 "$ditbench" verify "$work/copy" >"$work/said" || return 1
    grep -q "$3" "$work/said"
}
one_record=$(cd "$session" && find cases -name record.json | sort | head -n 1)
one_case=$(cd "$session" && find cases -name case.json | sort | head -n 1)
ok "one digit of the journal: 6, with the line" tamper journal.jsonl '4s/"elapsed_ns":[0-9]/&7/' 'journal.jsonl:4'
ok "one digit of a latency: 6, with the line" tamper journal.jsonl '5s/"latency_ns":\[[0-9]/&3/' 'journal.jsonl:5'
ok "a line removed: 6, with the line" tamper journal.jsonl 3d 'journal.jsonl:3'
ok "a record file changed: 6, with the file" tamper "$one_record" 's/"world_size": [0-9]/&1/' record.json
ok "a case file changed: 6, with the file" tamper "$one_case" 's/"seed": /&1/' case.json
ok "the plan changed: 6" tamper plan.json 's/"deadline_s":60/"deadline_s":61/' plan.json
latents() {
    rm -rf "$work/copy"
    cp -r "$session" "$work/copy"
    local file
    file=$(find "$work/copy" -name latents.safetensors | sort | head -n 1)
    printf '\377' | dd of="$file" bs=1 seek=$(($(stat -c %s "$file") - 2)) conv=notrunc 2>/dev/null
    exits 6 "$ditbench" verify "$work/copy"
}
ok "one byte of the latents: 6" latents
refuse_resume() {
    tamper journal.jsonl '4s/"elapsed_ns":[0-9]/&7/' 'journal.jsonl:4' && exits 6 "$ditbench" resume "$work/copy"
}
ok "resume refuses a damaged journal: 6" refuse_resume
finish
