#!/usr/bin/env bash
# Every shipped golden folder, serially and in each exact configuration of 2 and 4 ranks. Speaks TAP.
set -u
cd "$(dirname "$0")/../.." || exit 4
ditbench=${DITBENCH_BUILD:-$PWD/build}/bin/ditbench
golden=engine/tests/golden
folders=("$golden"/pixart_alpha "$golden"/pixart_sigma "$golden"/flux_dev "$golden"/flux_schnell "$golden"/e2e_*)
. ci/tap.sh

# Runs all folders with the options; `skips` of them may be skipped, the rest must pass.
check() { # skips, options...
    local skips=$1 output status passed
    shift
    output=$("$ditbench" golden "${folders[@]}" "$@" 2>&1)
    status=$?
    passed=$(grep -c ': pass, worst' <<<"$output")
    [ "$status" -eq 0 ] && [ "$passed" -eq $((${#folders[@]} - skips)) ] &&
        [ "$(grep -c ': skip: E_CONSTRAINT' <<<"$output")" -eq "$skips" ]
    status=$?
    [ "$status" -eq 0 ] || sed 's/^/# /' <<<"$output"
    report "$status" "golden folders agree with diffusers: ${*:-one rank}"
}

check 0
check 0 --backend ref
check 0 --ulysses_degree 2
check 0 --ring_degree 2
check 3 --cfg_degree 2 # the pipelines of FLUX and HunyuanVideo have one guidance branch
check 0 --ulysses_degree 4
check 0 --ring_degree 4
check 0 --ulysses_degree 2 --ring_degree 2

# A check that cannot fail is none: one changed weight must be seen, by name and with exit code 6.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$golden/flux_schnell" "$work/"
size=$(stat -c %s "$work/flux_schnell/diffusion_pytorch_model.safetensors")
printf '\x3f' | dd of="$work/flux_schnell/diffusion_pytorch_model.safetensors" bs=1 seek=$((size - 1)) conv=notrunc 2>/dev/null
"$ditbench" golden "$work/flux_schnell" >"$work/out" 2>&1
[ $? -eq 6 ] && grep -q ': fail' "$work/out"
report $? "a changed weight is a mismatch, exit code 6"
mkdir "$work/unknown"
printf '{"_class_name": "NoSuchTransformer"}' >"$work/unknown/config.json"
"$ditbench" golden "$work/unknown" >"$work/out" 2>&1
[ $? -eq 77 ] && grep -q E_UNSUPPORTED "$work/out"
report $? "an architecture that is not built is skipped with its reason, exit code 77"
tap_end
