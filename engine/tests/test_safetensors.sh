#!/usr/bin/env bash
# Malformed weights at the command line: each ends with exit code 6 and a message that names the place. Speaks TAP.
# The files are those of safetensors_cases.h; what must be said of each comes with them.
set -u
cd "$(dirname "$0")/../.." || exit 4
build=${DITBENCH_BUILD:-$PWD/build}
golden=engine/tests/golden/flux_schnell
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. ci/tap.sh

# A folder that is right but for its weights.
folder_around() { # name
    mkdir "$work/$1"
    cp "$golden"/config.json "$golden"/inputs.safetensors "$golden"/output.safetensors "$work/$1/"
}

"$build/tests/base_test_safetensors" --write "$work/malformed" || exit 1
folders=()
while IFS=$'\t' read -r file code says; do
    case $file in data_*) continue ;; esac # whole headers of other tensors: below
    name=${file%.safetensors}
    folder_around "$name"
    if [ -d "$work/malformed/$file" ]; then
        cp "$work/malformed/$file"/* "$work/$name/"
    else
        cp "$work/malformed/$file" "$work/$name/diffusion_pytorch_model.safetensors"
    fi
    folders+=("$work/$name")
done <"$work/malformed/expected.tsv"

"$build/bin/ditbench" golden --launcher local --threads 1 "${folders[@]}" >"$work/said" 2>"$work/log"
status=$?
[ "$status" -eq 6 ]
report $? "malformed weights end with exit code 6"
while IFS=$'\t' read -r file code says; do
    name=${file%.safetensors}
    [ -d "$work/$name" ] || continue
    line=$(grep -F "$work/$name: " "$work/said")
    case $line in
    *": $code: "*"$work/$name/"*"$says"*) report 0 "$name is refused and placed" ;;
    *) report 1 "$name is refused and placed" && echo "# expected $code ... $says, got: $line" ;;
    esac
done <"$work/malformed/expected.tsv"

# One NaN in the last weight of a file that is right otherwise.
folder_around nan
weights=$work/nan/diffusion_pytorch_model.safetensors
cp "$golden/diffusion_pytorch_model.safetensors" "$weights"
chmod u+w "$weights"
printf '\0\0\xc0\x7f' | dd of="$weights" bs=1 seek=$(($(stat -c %s "$weights") - 4)) conv=notrunc 2>/dev/null
"$build/bin/ditbench" golden --launcher local --threads 1 "$work/nan" >"$work/said" 2>"$work/log"
[ $? -eq 6 ] && grep -q 'E_NONFINITE: .*tensor ".*": element [0-9]* is NaN' "$work/said"
report $? "a NaN among the weights ends with exit code 6 and is named"
tap_end
