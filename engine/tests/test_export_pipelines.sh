#!/usr/bin/env bash
# The whole tiny pipelines of pictures and clips are what the shipped scripts make, and pipelines that it draws give what diffusers gives, where
# PyTorch, diffusers, transformers and sentencepiece are installed in the pinned versions (ci/deps.sh census). Speaks TAP.
set -u
cd "$(dirname "$0")/../.." || exit 4
build=${DITBENCH_BUILD:-$PWD/build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. ci/tap.sh
export PYTHONDONTWRITEBYTECODE=1 DITBENCH_RESULTS=$work/results
peers=${DITBENCH_PEERS:-${XDG_CACHE_HOME:-${HOME:-}/.cache}/ditbench/peers}
python=${peers%/*}/census-0.33.1/bin/python
if ! "$python" -c 'import diffusers, ftfy, google.protobuf, sentencepiece, torch, transformers' >/dev/null 2>&1; then
    skip "the script makes the shipped pipelines" "there is no $python with PyTorch, diffusers, transformers, sentencepiece, protobuf and ftfy"
    tap_end
    exit 0
fi
check() { # NAME COMMAND...
    "${@:2}" >"$work/log" 2>&1
    local status=$?
    [ "$status" -eq 0 ] || tail -n 8 "$work/log" | sed 's/^/# /'
    report "$status" "$1"
}
# Files are compared byte by byte; what diffusers computed, beside call.json, as numbers: another processor rounds in another way.
cat >"$work/compare.py" <<'PYTHON'
import filecmp, pathlib, sys
from safetensors.torch import load_file

made, shipped = map(pathlib.Path, sys.argv[1:])
names = {str(p.relative_to(top)) for top in (made, shipped) for p in top.rglob("*") if p.is_file()}
if (made / "call.json").exists():
    names.discard("reference.safetensors")  # kontext.py makes it of a pipeline that is there
bad = 0
for name in sorted(names):
    here, there = made / name, shipped / name
    if "/" in name or not name.endswith(".safetensors"):
        far = 0 if here.exists() and there.exists() and filecmp.cmp(here, there, shallow=False) else 1
    else:
        mine, theirs = load_file(here), load_file(there)
        far = max(((mine[k] - theirs[k]).norm() / theirs[k].norm().clamp(min=1e-30)).item() if k != "image_u8" else
                  (mine[k] - theirs[k]).abs().max().item() * 1e-6 for k in theirs) if mine.keys() == theirs.keys() else 1
    if not far <= 2e-6:
        print(name, far)
        bad += 1
sys.exit(bad > 0)
PYTHON
for kind in flux flux_fill flux_control pixart sd3 hunyuandit; do
    made_again() { "$python" engine/tests/pipelines/export.py "$work" $kind && "$python" "$work/compare.py" "$work/$kind" engine/tests/pipelines/$kind; }
    check "export.py makes $kind again, its files byte by byte" made_again
done
for kind in wan wan_i2v hunyuan_video cogvideox latte; do
    clip_again() { "$python" engine/tests/pipelines/video.py $kind "$work/$kind" && "$python" "$work/compare.py" "$work/$kind" engine/tests/pipelines/$kind; }
    check "video.py makes $kind again, its files byte by byte" clip_again
done
later=${peers%/*}/census-0.42.1/bin/python
"$later" -c 'import diffusers, torch, transformers' >/dev/null 2>&1
has_later=$?
no_later="there is no $later with PyTorch, diffusers and transformers"
while read -r -u 3 script kinds; do
    for kind in $kinds; do
        later_again() { "$later" engine/tests/pipelines/"$script" "$kind" "$work/$kind" && "$python" "$work/compare.py" "$work/$kind" engine/tests/pipelines/"$kind"; }
        if [ $has_later -eq 0 ]; then
            check "$script makes $kind again, its files byte by byte" later_again
        else
            skip "$script makes $kind again" "$no_later"
        fi
    done
done 3<<'SCRIPTS'
chat.py z_image flux2_klein flux2 qwen_image qwen_image_edit qwen_image_edit_plus lumina2 sana
later_video.py ltx ltx_picture ltx_timestep ltx_condition mochi hunyuan_video15
SCRIPTS
reference_again() {
    mkdir -p "$work/kontext" && "$later" engine/tests/pipelines/kontext.py engine/tests/pipelines/flux "$work/kontext/made" &&
        mkdir -p "$work/kontext/shipped" && cp engine/tests/pipelines/flux/reference.safetensors "$work/kontext/shipped/" &&
        "$python" "$work/compare.py" "$work/kontext/made" "$work/kontext/shipped"
}
if [ $has_later -eq 0 ]; then
    check "kontext.py makes what stands beside a reference again" reference_again
else
    skip "kontext.py makes what stands beside a reference again" "$no_later"
fi
references_again() {
    "$later" engine/tests/pipelines/references.py "$work/references" && "$python" "$work/compare.py" "$work/references" engine/tests/pipelines/references
}
if [ $has_later -eq 0 ]; then
    check "references.py makes what stands beside references of FLUX.2 again" references_again
else
    skip "references.py makes what stands beside references of FLUX.2 again" "$no_later"
fi
for ranks in 1 2 4; do
    check "vary.py: pipelines and calls that are drawn agree on $ranks ranks" "$python" engine/tests/pipelines/vary.py "$build/bin/ditbench" \
        --count 12 --seed $ranks --ranks $ranks
done
for ranks in 1 2; do
    if [ $has_later -eq 0 ]; then
        check "vary_chat.py: pipelines of chat models and clips that are drawn agree on $ranks ranks" "$later" engine/tests/pipelines/vary_chat.py \
            "$build/bin/ditbench" --count 8 --seed $ranks --ranks $ranks
    else
        skip "vary_chat.py: pipelines that are drawn agree on $ranks ranks" "$no_later"
    fi
done
tap_end
