#!/usr/bin/env bash
# Guided predictions that are scaled by their norms (cfg_normalization, cfg_trunc_ratio): the latents of one rank on every
# mesh, bytes of the closed form, memory as counted, and meshes that cannot be. Ranks divide rows of the latent. Speaks TAP.
set -u
cd "$(dirname "$0")/../.." || exit 4
build=${DITBENCH_BUILD:-$PWD/build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. ci/tap.sh
. engine/tests/described.sh
ditbench=$build/bin/ditbench

cases=$("$ditbench" expand engine/tests/guidance_norm.json | grep -c '^keep')
[ "$cases" -eq 36 ]
report $? "three kinds of guidance on twelve meshes are 36 cases, not $cases"
"$ditbench" run engine/tests/guidance_norm.json --output "$work/session" >"$work/log" 2>&1
status=$?
report_runs "$work/log"
[ "$status" -eq 0 ] || sed 's/^/# /' "$work/log"
report "$status" "all of them ran"
matched=$(grep -l '"communication_match":[[:space:]]*true' "$work"/session/cases/*/p0/record.json | wc -l)
compared=$(grep -l '"rel_l2"' "$work"/session/cases/*/p0/record.json | wc -l)
[ "$matched" -eq 36 ] && [ "$compared" -eq 33 ]
report $? "every record matched its closed form, every parallel one was compared with one rank ($matched, $compared)"
described_as_measured "$work/session" >"$work/log" 2>&1
status=$?
[ "$status" -eq 0 ] || sed 's/^/# /' "$work/log"
report "$status" "memory by class, messages and bytes counted without computing are those measured"

# What is scaled differs from what is not, and a cut run from a whole one.
digests=$("$ditbench" run engine/tests/guidance_norm.json --filter 'world_size == 1' --output "$work/one" >"$work/log" 2>&1
    grep -ho '"latent_digest":[[:space:]]*"[^"]*"' "$work"/one/cases/*/p0/record.json | sort -u | wc -l)
[ "$digests" -eq 3 ]
report $? "each kind of guidance makes latents of its own"

sed 's/"patch_degree":   \[1, 1/"pipefusion_degree": [1, 2/; s/"ulysses_degree": \[1, 2/"ulysses_degree": [1, 1/' \
    engine/tests/guidance_norm.json >"$work/pipeline.json"
"$ditbench" expand "$work/pipeline.json" >"$work/log" 2>&1
[ "$(grep -c 'cfg_normalization beside pipefusion_degree 2' "$work/log")" -eq 6 ]
report $? "a pipeline, whose bands divide the rows, is refused"
for changed in 's/"name": "z-image"/"name": "pixart-alpha-xl-2"/; s/"override": {"n_layers.*}/"override": {}/' 's/1, 1, 0.9/2, 1, 0.9/'; do
    sed "$changed" engine/tests/guidance_norm.json >"$work/other.json"
    "$ditbench" expand "$work/other.json" >"$work/log" 2>&1
    [ "$(grep -c 'cfg_normalization' "$work/log")" -gt 0 ]
    report $? "what the pipeline does not have is refused"
done
tap_end
