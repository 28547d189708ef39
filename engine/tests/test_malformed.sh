#!/usr/bin/env bash
# Hostile safetensors through the program a user runs: exit code 6, a message that names the file, no sanitizer report.
# Speaks TAP.
set -u
cd "$(dirname "$0")/../.." || exit 4
build=${DITBENCH_BUILD:-$PWD/build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
number=0

report() { # passed(0/1) name
    number=$((number + 1))
    if [ "$1" -eq 0 ]; then echo "ok $number - $2"; else echo "not ok $number - $2"; fi
}

mkdir "$work/files" "$work/folder"
"$build/tests/engine_test_safetensors" --write "$work/files" >/dev/null 2>&1
cp engine/tests/golden/flux_schnell/*.safetensors engine/tests/golden/flux_schnell/config.json "$work/folder/"

tried=0
for file in "$work"/files/*.safetensors; do
    cp "$file" "$work/folder/inputs.safetensors"
    "$build/bin/ditbench" golden "$work/folder" >"$work/out" 2>&1
    status=$?
    [ "$status" -eq 6 ] && grep -qE ': fail: E_[A-Z_]+: .*(inputs\.safetensors|tensor)' "$work/out" && ! grep -q Sanitizer "$work/out"
    status=$?
    [ "$status" -eq 0 ] || sed 's/^/# /' "$work/out"
    report "$status" "refused: $(basename "$file" .safetensors)"
    tried=$((tried + 1))
done
[ "$tried" -ge 30 ]
report $? "at least 30 hostile files were tried ($tried)"

# NaN in a weight: the tensor and the element are named.
cp engine/tests/golden/flux_schnell/*.safetensors "$work/folder/"
length=$(od -An -N8 -t u8 "$work/folder/diffusion_pytorch_model.safetensors" | tr -d ' ')
printf '\x00\x00\xc0\x7f' |
    dd of="$work/folder/diffusion_pytorch_model.safetensors" bs=1 seek=$((8 + length + 400)) conv=notrunc 2>/dev/null
"$build/bin/ditbench" golden "$work/folder" >"$work/out" 2>&1
[ $? -eq 6 ] && grep -q 'E_NONFINITE.*element 100 is NaN' "$work/out"
report $? "NaN in a weight is named with its element"
echo "1..$number"
