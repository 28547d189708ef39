#!/usr/bin/env bash
# Every model class that is implemented with every method that there is. Long form (DITBENCH_TEST_ALL=1): on 2, 4 and (hybrids
# of three axes) 8 ranks; methods with stale steps with 0, 1 and all steps synchronous. Short form: on the fewest ranks
# that the method takes, with 1 step synchronous; each pair of model and method that the long form has. The matrix
# comes from the registries; what is missing from it fails. Each cell: bytes and messages of the closed form, memory by class as counted without computing on every rank,
# latents of one rank or of the oracle. A line says how far they are from either, by synchronous steps W. Speaks TAP.
set -u
cd "$(dirname "$0")/../.." || exit 4
build=${DITBENCH_BUILD:-$PWD/build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. ci/tap.sh
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # containers

"$build/bin/ditbench" list models --resolution 256x256 --frames 9 --json >"$work/models.json" 2>"$work/log" &&
    "$build/bin/ditbench" list methods --json >"$work/methods.json" 2>>"$work/log"
report $? "the registries are listed"
long='--variants 3 --resolution 128x128' short='--variants 1 --most-ranks 2 --resolution 128x128' form=$short
[ "${DITBENCH_TEST_ALL:-0}" != 1 ] || form=$long
[ -z "${SANITIZE:-}" ] || form='--variants 1 --resolution 64x64' # where arithmetic is slow: few tokens
write() { # models, options
    # shellcheck disable=SC2086  # options are words
    "$build/tests/engine_matrix" --models "$1" --methods "$work/methods.json" --overrides engine/tests/exact.json $2 write
}
write "$work/models.json" "$form" >"$work/matrix.json" 2>"$work/log"
status=$?
sed 's/^/# /' "$work/log"
report "$status" "every class that is implemented has a small model"
"$build/bin/ditbench" expand "$work/matrix.json" --json >"$work/plan.json" 2>"$work/log"
report $? "the matrix is a workload"

: >"$work/lines"
for ranks in 1 2 4 8; do
    mpirun --oversubscribe --bind-to none -n "$ranks" --mca plm isolated --mca pml ob1 --mca btl self,vader \
        --mca btl_vader_single_copy_mechanism none --mca mpi_yield_when_idle 1 \
        "$build/tests/engine_matrix" --plan "$work/plan.json" --folder "$work" run >"$work/out" 2>&1
    status=$?
    grep '^#' "$work/out"
    [ "$status" -eq 0 ] || grep -vE '^#| (ok|skip) ' "$work/out" | head -n 20 | sed 's/^/# /'
    report "$status" "all cells on $ranks ranks are right"
    grep -E '^[^ #]+ [^ ]+ [0-9]+ W[0-9]+ (ok|wrong|skip) ' "$work/out" >>"$work/lines"
done

# One line for each model, method and number of ranks; refused ones with the reason.
awk '$2 != "oracle" {
    key = $1 " " $2 " " $3; step = substr($4, 2)
    if (!(key in verdict)) { order[++count] = key; verdict[key] = $5 }
    if ($5 == "wrong") verdict[key] = "wrong"
    if ($5 == "skip") { told[key] = $0; sub(/.* skip /, " # SKIP ", told[key]); next }
    split($6, exact, "="); split($7, oracle, "=")
    if (exact[2] !~ /nan/) told[key] = told[key] " W" step ":exact=" exact[2]
    if (oracle[2] !~ /nan/) told[key] = told[key] ",oracle=" oracle[2]
} END { for (i = 1; i <= count; i++) print verdict[order[i]], order[i] told[order[i]] }' "$work/lines" >"$work/cells"
while read -r verdict rest; do
    [ "$verdict" != wrong ]
    report $? "$rest"
done <"$work/cells"

# Nothing that is registered is missing: all methods of the program with all small models; all cases have a verdict.
methods_of() { # program
    tr -d '\n' <"$work/methods.json" | grep -oE '"name":[[:space:]]*"[^"]*",[[:space:]]*"program":[[:space:]]*"[^"]*"' |
        awk -F'"' -v program="$1" '$8 == program { print $4 }'
}
missing_of() { # methods
    local model method
    while read -r model; do
        for method in $1; do grep -qF " $model $method " "$work/cells" || echo "# missing: $model $method"; done
    done < <(awk '{ print $2 }' "$work/cells" | sort -u)
}
missing=$(missing_of "$(methods_of denoise)")
[ -z "$missing" ] && [ "$(methods_of denoise | wc -l)" -gt 20 ] &&
    [ "$(awk '{ print $2 }' "$work/cells" | sort -u | wc -l)" -eq "$(grep -c '"as": "tiny"' engine/tests/exact.json)" ]
status=$?
[ -z "$missing" ] || echo "$missing"
report "$status" "every method is there with every model"
kept=$(grep -c '"case_id":' "$work/plan.json")
[ "$(grep -cE ' (ok|wrong) ' "$work/lines")" -eq "$kept" ]
report $? "all $kept cases of the plan have a verdict"
for method in $(methods_of vae_decode); do report 0 "$method # SKIP a method of program vae_decode: test_rows.sh"; done

# The short form leaves out no pair: models and methods of the cases that either plan keeps.
pairs_of() { # plan
    sed -nE 's/^\t+"(base_model|method)":\t"([^"]*)".*/\1 \2/p; s/^\t"dropped":.*/end/p' "$1" |
        awk '$1 == "end" { exit } $1 == "base_model" { model = $2 } $1 == "method" { print model, $2 }' | sort -u
}
write "$work/models.json" "$long" >"$work/long.json" && "$build/bin/ditbench" expand "$work/long.json" --json >"$work/long.plan"
pairs_of "$work/long.plan" >"$work/long.pairs"
awk '/two transformers/ { print $2, $3 }' "$work/cells" | sort -u >"$work/long.only" # they run with every step synchronous
pairs_of "$work/plan.json" | sort -u - "$work/long.only" | comm -23 "$work/long.pairs" - >"$work/left"
[ "$(wc -l <"$work/long.pairs")" -gt 200 ] && [ ! -s "$work/left" ]
status=$?
sed 's/^/# left out: /' "$work/left"
report "$status" "all $(wc -l <"$work/long.pairs") pairs of model and method that can run are run"
pairs_of "$work/plan.json" | grep -v ' usp$' | comm -23 "$work/long.pairs" - | grep -q ' usp$'
report $? "a pair that is left out is noticed"

# The checks can fail.
[ -n "$(missing_of "$(methods_of denoise) moved-blocks")" ]
report $? "a method that is registered and does not run is noticed"
sed '/"name":.*"pixart-sigma-xl-2"/,/"class":/s/PixArtTransformer2DModel/LaterTransformer2DModel/' "$work/models.json" >"$work/more.json"
! write "$work/more.json" "$form" >/dev/null 2>"$work/log" && grep -q 'LaterTransformer2DModel' "$work/log"
report $? "a class without a small model is noticed"
# With stale steps and without, an approximate method is another thing than one rank: the oracle is no copy of it.
awk '$5 == "ok" && $7 !~ /nan/ { split($6, exact, "="); total++; if (exact[2] > 1e-5) other++ }
    END { exit !(total > 80 && other > 0.9 * total) }' "$work/lines"
report $? "latents of stale steps differ from those of one rank"
tap_end
