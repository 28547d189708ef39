#!/usr/bin/env bash
# The golden folders of text encoders are what the shipped script makes: three are made again and compared byte by byte,
# where PyTorch, diffusers and transformers are installed in the pinned versions (ci/deps.sh census). Speaks TAP.
set -u
cd "$(dirname "$0")/../.." || exit 4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. ci/tap.sh
peers=${DITBENCH_PEERS:-${XDG_CACHE_HOME:-${HOME:-}/.cache}/ditbench/peers}
python=${peers%/*}/census-0.33.1/bin/python
if ! "$python" -c 'import diffusers, torch, transformers' >/dev/null 2>&1; then
    skip "the script makes the shipped folders" "there is no $python with PyTorch, diffusers and transformers"
    tap_end
    exit 0
fi
for name in text_t5 text_clip_g text_llama; do
    "$python" engine/tests/golden/export_text.py "$work" "$name" >"$work/log" 2>&1 &&
        diff -r "$work/$name" "engine/tests/golden/$name" >>"$work/log"
    status=$?
    [ "$status" -eq 0 ] || tail -n 5 "$work/log" | sed 's/^/# /'
    report "$status" "export_text.py makes $name again, byte by byte"
done
tap_end
