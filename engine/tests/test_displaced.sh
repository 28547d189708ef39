#!/usr/bin/env bash
# Displaced patches: DistriFusion, PCPP and naive patches. Attention alone against the plain softmax over the keys that
# the method lets a rank know, then whole models: all small ones in the long form (DITBENCH_TEST_ALL=1), two in the short
# form (all others run every method in test_matrix.sh). Speaks TAP.
set -u
cd "$(dirname "$0")/../.." || exit 4
build=${DITBENCH_BUILD:-$PWD/build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. ci/tap.sh
. engine/tests/described.sh
some="base_model in ['flux.1-dev', 'hunyuandit-v1.1']" some_labels='(flux.1-dev|hunyuandit-v1.1)[{]tiny[}]' tiny=2
if [ "${DITBENCH_TEST_ALL:-0}" = 1 ]; then
    some='world_size > 0' some_labels='[{]tiny[}]' tiny=$(grep -c '"as": "tiny"' engine/tests/exact.json)
fi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # containers

on_ranks() { # ranks, program, arguments...
    local ranks=$1
    shift
    timeout -k 10 120 mpirun --oversubscribe --bind-to none -n "$ranks" --mca plm isolated --mca pml ob1 \
        --mca btl self,vader --mca btl_vader_single_copy_mechanism none --mca mpi_yield_when_idle 1 "$@"
}

for ranks in 2 3 4; do
    on_ranks "$ranks" "$build/tests/engine_displaced_attention" >"$work/out" 2>&1
    status=$?
    [ "$status" -eq 0 ] || head -n 20 "$work/out" | sed 's/^/# /'
    report "$status" "every method on $ranks ranks attends to what it may know, and sends what it must"
done

# ---- models: the tiny ones of exact.json -----------------------------------------------------------------------------
# The engine itself fails a case whose latents are not those of the one rank that emulates the method (or of the exact
# run, where warmup_steps covers all steps), or whose bytes are not those of the closed form.
write_workload() { # file, iterations
    awk '/"exclude": \[/ {
             print
             print "\"joint_text == \047replicate\047 && base_model != \047flux.1-dev\047\","
             next
         }
         /"ulysses_degree": *\[/ {
             print "\"patch_degree\": [1, 2, 2, 4, 2, 4, 4, 2, 2, 2],"
             print "\"patch_method\": [\"distrifusion\", \"distrifusion\", \"distrifusion\", \"distrifusion\","
             print "\"pcpp\", \"pcpp\", \"naive-patch\", \"pcpp\", \"distrifusion\", \"distrifusion\"],"
             print "\"warmup_steps\": [0, 1, 2, 0, 1, 0, 1, 4, 1, 1],"
             print "\"patch_fraction\": [1, 1, 1, 1, 1, 0.3, 1, 0.5, 1, 1],"
             print "\"cfg_degree\": [1, 1, 1, 1, 1, 1, 1, 1, 2, 1],"
             print "\"tensor_degree\": [1, 1, 1, 1, 1, 1, 1, 1, 1, 2]"
             skip = 1
         }
         /"context_first": *\[/ { skip = 0; next }
         !skip' engine/tests/exact.json |
        sed 's/"split", "replicate"/"auto", "replicate"/; s/"num_inference_steps": 3/"num_inference_steps": 4/
             s/"iterations": 1/"iterations": '"$2"'/' >"$1"
}
folder_of() { # session, label
    local id
    id=$(awk -v label="$2" '{ id = $2; sub(/^keep +[0-9a-f]+ +/, ""); sub(/ +\((oracle|reference)\)$/, "") }
                            $0 == label { print id }' "$work/$1.cells")
    [ -n "$id" ] && echo "$work/$1/cases/$id"*
}
digest_of() { sed -nE 's/.*"latent_digest":[[:space:]]*"([^"]+)".*/\1/p' "$(folder_of "$1" "$2")/p0/record.json"; }

write_workload "$work/session.json" 1
"$build/bin/ditbench" expand "$work/session.json" | grep -E "^keep.*$some_labels" >"$work/session.cells"
cases=$(wc -l <"$work/session.cells") models=$(grep -c '(reference)$' "$work/session.cells")
"$build/bin/ditbench" run "$work/session.json" --filter "$some" --output "$work/session" >"$work/log" 2>&1
status=$?
[ "$status" -eq 0 ] || grep -v '\] *ok' "$work/log" | head -n 40 | sed 's/^/# /'
[ "$status" -eq 0 ] && [ "$models" -eq "$tiny" ] && [ "$cases" -ge $((14 * models)) ]
report $? "$models models, $cases cases: latents of the oracle or the exact run, bytes of the closed form"

# Not only that nothing complained: every record was judged, and by what its method must equal.
wrong=
while read -r cell; do
    case $cell in *' oracle '* | *' 1 joint_text='*) continue ;; esac
    record=$(folder_of session "$cell")/p0/record.json
    judge=oracle_rel_l2
    case $cell in *' W4 '*) judge=rel_l2 ;; esac
    grep -q '"communication_match":[[:space:]]*true' "$record" &&
        grep -q '"loop_allocations":[[:space:]]*0' "$record" &&
        sed -n '/"validation"/,/}/p' "$record" | tr -d ' \t,' | awk -F: -v key="\"$judge\"" \
            '$1 == key && $2 <= 1e-5 { judged = 1 } END { exit !judged }' || wrong+="$cell: not judged by $judge"$'\n'
done < <(sed -E 's/^keep +[0-9a-f]+ +//; s/ +\((oracle|reference)\)$//' "$work/session.cells")
[ -z "$wrong" ]
status=$?
printf '%s' "$wrong" | sed 's/^/# /'
report "$status" "each is judged by its oracle, or by the exact run where warmup_steps covers all; no step allocates"
described_as_measured "$work/session" >"$work/log" 2>&1
status=$?
[ "$status" -eq 0 ] || sed 's/^/# /' "$work/log"
report "$status" "memory by class, messages and bytes of every rank, counted without computing, are those measured"

flux="flux.1-dev{tiny} 256x128 patch2"
one=$(digest_of session "$flux distrifusion W1 joint_text=replicate")
two=$(digest_of session "$flux distrifusion W2 joint_text=replicate")
[ -n "$one" ] && [ -n "$two" ] && [ "$one" != "$two" ]
report $? "other warmup_steps, other latents: the steps behind them are not exact"
[ -n "$one" ] && [ "$one" = "$(digest_of session "$flux pcpp f1 W1 joint_text=replicate")" ]
report $? "pcpp with all rows of its only neighbour is distrifusion, bit for bit"

# A second image, made by the same ranks: whatever the first left behind plays no part.
write_workload "$work/twice.json" 2
"$build/bin/ditbench" run "$work/twice.json" --filter "base_model == 'flux.1-dev' && joint_text == 'replicate'" \
    --output "$work/twice" >"$work/log" 2>&1
"$build/bin/ditbench" expand "$work/twice.json" | grep '^keep' >"$work/twice.cells"
status=0 compared=0
while read -r cell; do
    digest=$(digest_of session "$cell")
    compared=$((compared + 1))
    [ -n "$digest" ] && [ "$digest" = "$(digest_of twice "$cell")" ] || status=1
done < <(sed -E 's/^keep +[0-9a-f]+ +//' "$work/session.cells" | grep ' patch.*joint_text=replicate$')
[ "$compared" -ge 7 ] && [ "$status" -eq 0 ]
report $? "the second of two images is the same as a first one, $compared times"
tap_end
