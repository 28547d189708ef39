#!/usr/bin/env bash
# ditbench calibrate: a stage of the plan fitted again is the committed bytes, and simulations take what was fitted.
# Speaks TAP. What needs the simulator is skipped where SimGrid's MPI is not installed.
cd "$(dirname "$0")/../.." || exit 4
. suite/tests/harness.sh
trap 'rm -rf "$work"' EXIT
committed=results/calibration/published.json
points=results/published/single_gpu_latency.json
one="platform == '8xl40' && model == 'pixart-alpha-xl-2' && resolution == '1024x1024'"

says() { grep -qE "$1" "$work/says"; }
fails_with() { # CODE WORDS COMMAND...: the exit code, and words on stderr
    local code=$1 words=$2
    shift 2
    exits "$code" "$@" 2>"$work/says" && says "$words"
}
lists_everything() {
    "$ditbench" calibrate --from published --dry-run --json >"$work/list" &&
        grep -q '"name":[[:space:]]*"a100-and-host"' "$work/list" && grep -q '"prior_deviation"' "$work/list"
}
shows_what_is_there() {
    "$ditbench" calibrate --show >"$work/says" && says 'gemm_ceiling' && says 'median' && says 'before' &&
        says 'host_scale is not fitted.*8xh200-sxm' && says 'from +to' &&
        "$ditbench" calibrate --show --json | tr -d '[:space:]' >"$work/shown" &&
        tr -d '[:space:]' <"$committed" | cmp - "$work/shown"
}

ok "calibrate --dry-run lists parameters and points" lists_everything
listed_alike() { # and fits nothing, which takes minutes
    timeout 60 "$ditbench" calibrate --from published --holdout --dry-run --json >"$work/list.holdout" && cmp "$work/list" "$work/list.holdout"
}
ok "so does --holdout --dry-run" listed_alike
ok "calibrate --show tells values, points and errors" shows_what_is_there
ok "calibrate alone says what it needs" fails_with 2 'needs --from' "$ditbench" calibrate
ok "an unknown source is refused" fails_with 2 'did you mean "published"' "$ditbench" calibrate --from publshed
ok "an unknown stage is refused with the nearest" fails_with 2 'did you mean "h100"' \
    "$ditbench" calibrate --from published --stage h101 --dry-run
sed 's/"gemm_ceiling"/"gemm_cieling"/' "$committed" >"$work/wrong.json"
ok "simulate refuses a calibration of a parameter that does not exist" fails_with 2 'gemm_cieling' \
    "$ditbench" simulate --points "$points" --list --calibration "$work/wrong.json"

if ! command -v smpirun >/dev/null || [ ! -x "$build/bin/ditbench-engine-sim" ]; then
    skip "all of it" "no smpirun here, or no ditbench-engine-sim (Debian: libsimgrid-dev)"
    tap_end
fi

# The plan's smallest stage takes seconds; all of it is checked by ditbench calibrate --from published --check.
ok "a stage fitted again is, byte for byte, what is committed" \
    "$ditbench" calibrate --from published --stage rtx-4090 --check
change() { # a committed value that no fit gives
    sed '/"name": *"rtx-4090"/,/"deviation"/ s/"value": *[0-9.e-]*/"value": 0.123/' "$committed" >"$work/changed.json"
    ! cmp -s "$work/changed.json" "$committed"
}
ok "a value can be changed" change
ok "and then the check fails, naming it" fails_with 6 'parameters 0 of the stage' \
    "$ditbench" calibrate --from published --stage rtx-4090 --check --output "$work/changed.json"

# A plan of one machine and three models: without the machine everything is as the data files say.
awk '
    /"stages"/ { print; inside = 1; next }
    inside && /^    \{/ { stage = "" }
    inside && /^  \]/ { inside = 0 }
    inside { stage = stage $0 "\n" }
    inside && /^    \}/ && stage ~ /"name": "rtx-4090"/ { sub(/,\n$/, "\n", stage); printf "%s", stage }
    !inside' workloads/calibrations/published.json >"$work/plan.json"
holds_out() {
    "$ditbench" calibrate --from published --plan "$work/plan.json" --output "$work/fitted.json" -q >/dev/null &&
        "$ditbench" calibrate --from published --plan "$work/plan.json" --holdout --calibration "$work/fitted.json" \
            --output "$work/held.json" -q >"$work/says" && says 'without one machine: 3 points' &&
        says 'without one model: 37 points' && says 'rtx-4090' && says 'sd3-medium'
}
errors_of_priors() { # of the fit, before it; each line an error
    awk -F: '/"published"/ { published = $2 + 0 } /"before"/ && !/\{/ { printf "%.4f\n", log(published / $2) }' "$work/fitted.json"
}
a_machine_left_out_has_the_priors() {
    errors_of_priors >"$work/priors" &&
        awk -F: '/"held_out"/ { inside = 1 } inside && /"error"/ { printf "%.4f\n", $NF + 0 }' "$work/held.json" |
        head -n 3 | cmp - "$work/priors" &&
        [ "$(wc -l <"$work/priors")" -eq 3 ]
}
ok "machines and models are left out, one after the other" holds_out
ok "of a machine left out nothing is fitted" a_machine_left_out_has_the_priors
classes_of_errors() { # every error names a point, and every point has its class, its set and its question
    [ "$(grep -c '"error":' "$work/held.json")" -eq "$(grep -c '"point":' "$work/held.json")" ] &&
        [ "$(grep -c '"index":' "$work/held.json")" -eq "$(grep -c '"set":' "$work/held.json")" ] &&
        [ "$(grep -c '"index":' "$work/held.json")" -eq "$(grep -c '"question":' "$work/held.json")" ] &&
        grep -q '"kind": *"exact"' "$work/held.json" && grep -q '"software": *"compiled"' "$work/held.json" &&
        says 'outside the fit: [1-9]'
}
ok "errors say what they are of, and those outside the fit are there too" classes_of_errors
ok "a fit of another plan cannot be held against it" fails_with 2 'no fit of the plan' \
    "$ditbench" calibrate --from published --plan "$work/plan.json" --holdout
ok "nothing is held out by another kind" fails_with 2 'did you mean "machine"' \
    "$ditbench" calibrate --from published --holdout --by machin
ok "nothing is held out of one stage" fails_with 2 'cannot be asked of one stage' \
    "$ditbench" calibrate --from published --stage rtx-4090 --holdout

predicted() {
    "$ditbench" simulate --points "$points" --filter "$one" --json "$@" | tr -d '[:blank:]' |
        grep -oE '"(predicted|in_fit)":[^,]*'
}
default_is_the_committed_one() {
    predicted >"$work/default" && predicted --calibration "$committed" >"$work/named" &&
        predicted --calibration none >"$work/none" && cmp "$work/default" "$work/named" &&
        ! cmp -s "$work/default" "$work/none"
}
in_fit_only_with_it() {
    grep -q 'in_fit":true' "$work/default" && ! grep -q 'in_fit":false' "$work/default" &&
        ! grep -q 'in_fit":true' "$work/none"
}
ok "simulations take the committed calibration unless told otherwise" default_is_the_committed_one
ok "points are in the fit with it, and not without" in_fit_only_with_it
side_by_side() {
    predicted --jobs 1 >"$work/one" && predicted --jobs 4 >"$work/four" && cmp "$work/one" "$work/four"
}
ok "however many run at a time, the answer and its order are the same" side_by_side

tap_end
