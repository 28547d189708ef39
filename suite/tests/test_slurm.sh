#!/usr/bin/env bash
# Slurm: the batch script is the golden one, and a session goes on in a second allocation. A stub stands for srun.
# shellcheck disable=SC2016,SC2317 # functions run through ok()
# shellcheck source=suite/tests/harness.sh
. "$(dirname "$0")/harness.sh"
write_workload "$work/tiny.json" 2
golden=$source_dir/suite/tests/golden

# srun [OPTION]... PROGRAM ARGUMENT...: so many ranks here, with the variables of a job of one step. Steps take the nodes
# of STUB_NODES in turn, but for those of --exclude, whose last one counts; node-2 has a slow processor. A node is a name of
# this machine in a namespace of its own.
mkdir -p "$work/bin"
cat >"$work/bin/srun" <<'STUB'
#!/bin/bash
ranks=1
while [[ $1 == --* ]]; do
    case $1 in --ntasks=*) ranks=${1#*=} ;; --exclude=*) excluded=,${1#*=}, ;; esac
    shift
done
for node in ${STUB_NODES:-}; do [[ ${excluded:-} == *,$node,* ]] || nodes+=("$node"); done
steps=$(cat "$SLURM_STUB_LOG" 2>/dev/null | wc -l)
node=${nodes[steps % (${#nodes[@]} + (${#nodes[@]} == 0))]:-here}
echo "$SLURM_JOB_ID $ranks $node" >>"$SLURM_STUB_LOG"
[ "$node" = here ] || on=(unshare --uts sh -c 'hostname "$1"; shift; exec "$@"' sh "$node")
[ "$node" != node-2 ] || export DITBENCH_FAULT=slow:300
export SLURM_NTASKS=$ranks SLURM_STEP_ID=0
exec "${on[@]}" env -u SLURM_JOB_ID OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --mca plm isolated --mca ras ^slurm \
    --mca btl self,vader --oversubscribe --bind-to none -n "$ranks" "$@"
STUB
chmod +x "$work/bin/srun"
export SLURM_STUB_LOG=$work/steps

script() {
    "$ditbench" run "$work/tiny.json" -q --launcher sbatch --output "$work/s" "$@" >"$work/job.sh" || return 1
    sed "s|$ditbench|DITBENCH|g; s|$work|WORK|g" "$work/job.sh"
}
is_golden() { script | diff "$golden/slurm.sbatch" -; }
ok "the script is the golden one" is_golden
ok "printing a script begins no session" [ ! -e "$work/s" ]
ok "it is a shell script" bash -n "$work/job.sh"
ok "without a folder there is no session to go on with" exits 2 "$ditbench" run "$work/tiny.json" --launcher sbatch

same_ids() {
    "$ditbench" expand "$work/tiny.json" --json | grep -oE '"case_id":[[:space:]]*"[0-9a-f]+"' | cut -d'"' -f4 | sort >"$work/expanded"
    sed -n 's/^# \([0-9a-f]\{32\}\) .*/\1/p' "$work/job.sh" | sort | diff "$work/expanded" - && [ -s "$work/expanded" ]
}
ok "its cases have the ids that they have anywhere" same_ids

allocation() { PATH=$work/bin:$PATH SLURM_JOB_ID=$1 exits "$2" bash "$work/job.sh"; }
first() {
    script --max-time 50ms >/dev/null && allocation 101 0 && [ -s "$work/steps" ] &&
        tail -n 1 "$work/s/journal.jsonl" | grep -q '"complete":false'
}
ok "an allocation that is too short leaves an unfinished session" first
second() {
    allocation 102 0 && tail -n 1 "$work/s/journal.jsonl" | grep -q '"complete":true' && exits 0 "$ditbench" verify "$work/s" &&
        grep -q '^102 ' "$work/steps"
}
ok "the next one runs what is left" second
ok "the session says which job began it and which went on" sh -c "
    grep -q '\"kind\":\"session\".*\"slurm_job_id\":\"101\"' '$work/s/journal.jsonl' &&
    grep -q '\"kind\":\"resume\".*\"slurm_job_id\":\"102\"' '$work/s/journal.jsonl'"
each_once() { [ "$(grep -c '"kind":"result"' "$work/s/journal.jsonl")" = 6 ] && [ "$(wc -l <"$work/steps")" = 6 ]; }
ok "every process was run once, over both" each_once
# ---- a node that is always slow ---------------------------------------------------------------------------------------
if ! unshare --uts hostname stub-node 2>/dev/null; then
    skip "a slow node is named, and the session goes on without it" "no namespace for a host's name here"
    finish
fi
write_workload "$work/long.json" 24
export STUB_NODES="node-1 node-2 node-3"
engine=$build/tests/ditbench-engine-fault
under() { PATH=$work/bin:$PATH SLURM_JOB_ID=103 "$@"; }
named() {
    : >"$SLURM_STUB_LOG"
    under "$ditbench" run "$work/long.json" --launcher srun --engine "$engine" --filter 'world_size == 1' --output "$work/n" \
        --max-time 6s >"$work/out" 2>"$work/err"
    grep -q 'suspect node node-2: .* `--without node-2` goes on without it' "$work/err" &&
        [ "$(grep -c 'suspect' "$work/err")" = 1 ]
}
ok "the slow one of three nodes is named, and how to go on without it" named
without() {
    local before
    before=$(wc -l <"$SLURM_STUB_LOG")
    under exits 0 "$ditbench" resume "$work/n" -q --launcher srun --engine "$engine" --without node-2 --without node-9 &&
        tail -n "+$((before + 1))" "$SLURM_STUB_LOG" >"$work/later" && [ -s "$work/later" ] && ! grep -q node-2 "$work/later" &&
        grep -q node-1 "$work/later" && grep -q node-3 "$work/later"
}
ok "the rest of the session runs on the others" without
ok "a launcher of this machine alone refuses it" exits 2 "$ditbench" run "$work/tiny.json" --without node-2
ok "a list in one word is no name" exits 2 "$ditbench" run "$work/tiny.json" --launcher srun --without 'node-[1-3]'
batch() {
    "$ditbench" run "$work/tiny.json" -q --launcher sbatch --output "$work/b" --without node-2 --without node-9 >"$work/without.sh" &&
        grep -qx '#SBATCH --exclude=node-2,node-9' "$work/without.sh" &&
        [ "$(grep -c -- '--without node-2 --without node-9' "$work/without.sh")" = 2 ]
}
ok "a batch script leaves nodes out of its allocations, too" batch
ok "nothing is left" nothing_left
finish
