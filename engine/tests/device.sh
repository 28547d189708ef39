# For shell tests of backends that are devices: golden folders and the matrix of methods, by backend and element. Source
# it after ci/tap.sh; needs $build (the build folder) and $work (a scratch folder).
# shellcheck shell=bash disable=SC2154
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # containers

# golden_on BACKEND ELEMENT FOLDER...: one line for all, the failing ones told.
golden_on() {
    local backend=$1 element=$2 folder failed=0 count=0
    shift 2
    for folder; do
        count=$((count + 1))
        printf '{"schema":"ditbench.case/1","program":"golden","folder":"%s","attention":"auto","parallel":{},%s}' \
            "$PWD/$folder" "\"platform\":{\"name\":\"test\",\"backend\":\"$backend\",\"element\":\"$element\",\"threads_per_rank\":1}" \
            >"$work/golden.json"
        rm -rf "$work/golden"
        "$build/bin/ditbench-engine" --case "$work/golden.json" --out "$work/golden" >"$work/log" 2>&1 &&
            grep -q '"verdict":[[:space:]]*"pass"' "$work/golden/record.json" && continue
        failed=$((failed + 1))
        echo "# $folder: $(grep -o '"reason":[^,}]*' "$work/golden/record.json" 2>/dev/null | head -n 1) $(tail -n 2 "$work/log" | tr '\n' ' ')"
    done
    [ "$failed" -eq 0 ] && [ "$count" -gt 0 ]
    report $? "$backend $element: $count golden folders agree with diffusers"
}

# write_plan RESOLUTION: $work/plan.json, all models with all methods.
write_plan() {
    "$build/bin/ditbench" list models --resolution 256x256 --frames 9 --json >"$work/models.json" &&
        "$build/bin/ditbench" list methods --json >"$work/methods.json" &&
        "$build/tests/engine_matrix" --models "$work/models.json" --methods "$work/methods.json" \
            --overrides engine/tests/exact.json --variants 1 --resolution "$1" write >"$work/matrix.json" &&
        "$build/bin/ditbench" expand "$work/matrix.json" --json >"$work/plan.json"
}

# matrix_on BACKEND ELEMENT RANKS LEAST OPTION...: those cells of the plan, LEAST of them at least: bytes of the closed
# form, memory and flops as counted, latents of one rank of the same element, which ran before.
matrix_on() {
    local backend=$1 element=$2 ranks=$3 least=$4 status count
    shift 4
    mpirun --oversubscribe --bind-to none -n "$ranks" --mca plm isolated --mca pml ob1 --mca btl self,vader \
        --mca btl_vader_single_copy_mechanism none --mca mpi_yield_when_idle 1 "$build/tests/engine_matrix" \
        --plan "$work/plan.json" --folder "$work" --backend "$backend" --element "$element" "$@" run </dev/null >"$work/out" 2>&1
    status=$?
    count=$(grep -cE '^[^ #]+ [^ ]+ [0-9]+ W[0-9]+ ok ' "$work/out")
    grep '^#' "$work/out"
    [ "$status" -eq 0 ] || grep -vE '^#| (ok|skip) ' "$work/out" | head -n 20 | sed 's/^/# /'
    [ "$status" -eq 0 ] && [ "$count" -ge "$least" ]
    report $? "$backend $element: $count cells on $ranks ranks are right"
}

# masked_layers BACKEND ELEMENT MASK HEAD_DIM: one layer on one rank, by Ulysses and around a ring, is the plain operator's on this machine.
masked_layers() {
    local mesh ranks failed=0
    for mesh in '' '"ulysses_degree":2' '"ring_degree":2'; do
        ranks=$((${#mesh} ? 2 : 1))
        printf '{"schema":"ditbench.case/1","program":"attention","layer":{"tokens":200,"heads":4,"head_dim":%s,"mask":"%s"},"parallel":{%s},"run":{"seed":3},%s}' \
            "$4" "$3" "$mesh" "\"platform\":{\"name\":\"test\",\"backend\":\"$1\",\"element\":\"$2\",\"threads_per_rank\":1}" >"$work/layer.json"
        rm -rf "$work/layer"
        mpirun --oversubscribe --bind-to none -n "$ranks" "$build/bin/ditbench-engine" --case "$work/layer.json" --out "$work/layer" \
            </dev/null >"$work/log" 2>&1 &&
            grep -A 3 '"operator_check"' "$work/layer/record.json" | grep -q '"pass":[[:space:]]*true' &&
            grep -q '"communication_match":[[:space:]]*true' "$work/layer/record.json" && continue
        failed=$((failed + 1))
        echo "# $mesh: $(tail -n 2 "$work/log" | tr '\n' ' ')"
    done
    report "$failed" "$1 $2: layers with mask $3, heads of $4"
}
