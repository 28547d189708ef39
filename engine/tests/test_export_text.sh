#!/usr/bin/env bash
# The golden folders of text encoders are what the shipped script makes: some are made again and compared byte by byte,
# where PyTorch, diffusers and transformers are installed in the pinned versions (ci/deps.sh census). Speaks TAP.
set -u
cd "$(dirname "$0")/../.." || exit 4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. ci/tap.sh
peers=${DITBENCH_PEERS:-${XDG_CACHE_HOME:-${HOME:-}/.cache}/ditbench/peers}
again() { # VERSION of diffusers, NAME...
    local name python=${peers%/*}/census-$1/bin/python
    shift
    if ! "$python" -c 'import diffusers, torch, transformers' >/dev/null 2>&1; then
        skip "export_text.py makes $* again" "there is no $python with PyTorch, diffusers and transformers"
        return
    fi
    for name in "$@"; do
        "$python" engine/tests/golden/export_text.py "$work" "$name" >"$work/log" 2>&1 &&
            diff -r "$work/$name" "engine/tests/golden/$name" >>"$work/log"
        status=$?
        [ "$status" -eq 0 ] || tail -n 5 "$work/log" | sed 's/^/# /'
        report "$status" "export_text.py makes $name again, byte by byte"
    done
}
again 0.33.1 text_t5 text_clip_g text_llama
again 0.42.1 text_qwen3_states text_qwen2_5_vl text_mistral3 text_gemma2 text_gemma2_plain
tap_end
