#!/usr/bin/env bash
# ci/train: a training that stops and goes on has the weights of one that never stopped; what it exports is computed by the
# engine as by diffusers. Runs where `ci/deps.sh peers` has made its environment; a few steps of tiny batches.
# With DITBENCH_TEST_ALL=1 also for shapes-flux and shapes-latte.
set -u
cd "$(dirname "$0")/../.." || exit 4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=ci/tap.sh
. ci/tap.sh
ditbench=${DITBENCH_BUILD:-build}/bin/ditbench
python=${DITBENCH_PEERS:-${XDG_CACHE_HOME:-${HOME:-}/.cache}/ditbench/peers}/bin/python
if ! "$python" -c 'import diffusers' >/dev/null 2>&1; then
    skip "ci/train" "no PyTorch and diffusers; ci/deps.sh peers installs them"
    tap_end
fi

train() { # script, folder, options...
    local script=$1 folder=$2
    shift 2
    "$python" "ci/train/$script.py" "$work/$folder" --threads 1 "$@" >"$work/said" 2>&1
}
said() { grep -qF -- "$1" "$work/said"; }
tiny=(--steps 3 --batch 2 --look 3 --validation 2 --pictures 2 --pictures-every 1 --sample-steps 2)

same_weights() { # folders
    "$python" - "$work/$1/checkpoint.pt" "$work/$2/checkpoint.pt" <<'PYTHON'
import sys, torch
a, b = (torch.load(path, weights_only=True) for path in sys.argv[1:])
assert a["step"] == b["step"] == 3, (a["step"], b["step"])
different = [k for part in ("model", "average") for k in a[part] if not torch.equal(a[part][k], b[part][k])]
sys.exit(f"different: {different}" if different else 0)
PYTHON
}
is_logged() { # folder: one line, with eight levels and what the rule read
    "$python" - "$work/$1/log.jsonl" <<'PYTHON'
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
assert [line["step"] for line in lines] == [3], lines
assert len(lines[0]["validation"]) == 8 and "whole" in lines[0]["pictures"], lines
PYTHON
}

ok "features: trains" train features features --steps 3 --batch 8 --export "$work/weights"
ok "features: exports what the engine reads, and a card" [ -s "$work/weights/features.safetensors" -a -s "$work/weights/README.md" ]

ok "shapes-pixart: trains" train shapes_pixart whole "${tiny[@]}"
ok "it logs losses at eight levels and reads its pictures" is_logged whole
ok "it stops after the first step when its minutes are over" train shapes_pixart halves "${tiny[@]}" --minutes 1e-6
ok "and says where" said "stopped at step 1 of 3"
ok "it goes on without being told its options" train shapes_pixart halves --look 3 --validation 2 --pictures 2 --pictures-every 1 --sample-steps 2
ok "with the weights of a training that never stopped" same_weights whole halves
ok "other options are refused" exits 1 train shapes_pixart halves --batch 4
ok "and named" said "'batch': (2, 4)"
ok "minutes must be positive" exits 1 train shapes_pixart none --minutes 0

products() { # attention written out is PyTorch's; a training in bfloat16 learns, and is not one in float32
    train shapes_pixart rounded "${tiny[@]}" --products bfloat16 && exits 1 train shapes_pixart rounded --products float32 &&
        "$python" - "$work/whole/checkpoint.pt" "$work/rounded/checkpoint.pt" <<'PYTHON'
import sys
sys.path.insert(0, "ci/train")
import denoiser, torch
q, k, v = torch.randn(3, 2, 8, 16, 24)
assert torch.allclose(denoiser.plain_attention(q, k, v), torch.nn.functional.scaled_dot_product_attention(q, k, v), atol=1e-5)
exact, rounded = (torch.load(path, weights_only=True) for path in sys.argv[1:])
assert any(not torch.equal(exact["model"][k], rounded["model"][k]) for k in exact["model"]), "the option changes nothing"
gradients = [torch.cat([state["exp_avg"].flatten() for state in run["optimiser"]["state"].values()]) for run in (exact, rounded)]
near = torch.nn.functional.cosine_similarity(*gradients, dim=0).item()
assert near > 0.99, near
PYTHON
}
ok "products in bfloat16 are near those in float32, and another training" products
nearest() { # pictures of a split are as far from training as renders are; training pictures are not
    "$python" - "$work" <<'PYTHON' && "$python" ci/train/nearest.py "$work/fresh.safetensors" --split test --train 64 >/dev/null &&
import sys
sys.path.insert(0, "ci/train")
import shapes, torch
from safetensors.torch import save_file
for name, split in (("fresh", "test"), ("repeated", "train")):
    save_file({"pixels": 2 * torch.from_numpy(shapes.samples(split, 0, 8, False)[0]) - 1}, f"{sys.argv[1]}/{name}.safetensors")
import nearest  # clips: in a file a colour's frames follow each other, in renders a frame's colours
for split, repeats in (("test", False), ("train", True)):
    clips = 2 * torch.from_numpy(shapes.samples(split, 0, 2, True)[0]).transpose(1, 2).contiguous() - 1
    save_file({"pixels": clips}, f"{sys.argv[1]}/clips.safetensors")
    made, clip = nearest.made_by(f"{sys.argv[1]}/clips.safetensors")
    assert clip and (nearest.distances(made, 16, clip).max() < 0.01) == repeats
PYTHON
        exits 1 "$python" ci/train/nearest.py "$work/repeated.safetensors" --split test --train 64 >"$work/said" && said '"ratio": 0.0'
}
ok "a model that repeats training pictures or clips is found" nearest
cooled() { # the line begins at the step that is named, and a run that has come farther refuses it
    train shapes_pixart cooled "${tiny[@]}" --cooldown 1:1 && said "stopped at step 2 of 2" && exits 1 train shapes_pixart halves --cooldown 1:1
}
ok "a cooldown ends a training early" cooled
restarted() { # the second line begins where the first ended; without a first there is none
    train shapes_pixart cooled --restart 5e-4:2 --look 1 --validation 2 --pictures 2 --sample-steps 2 && said "stopped at step 4 of 4" &&
        "$python" - "$work/cooled/log.jsonl" <<'PYTHON' && exits 1 train shapes_pixart other "${tiny[@]}" --restart 5e-4:2 && said "has none"
import json, sys
rates = {line["step"]: line["rate"] for line in map(json.loads, open(sys.argv[1]))}
assert abs(rates[3] - 5e-4) < 1e-9 and abs(rates[4] - (5e-4 + 2e-5) / 2) < 1e-9, rates
PYTHON
}
ok "a restart goes on after a cooldown" restarted
still_clips() { # which steps of shapes-latte show clips in which nothing moves follows from the data's number, not from the run's
    "$python" - <<'PYTHON'
import sys
from types import SimpleNamespace
sys.path.insert(0, "ci/train")
import shapes_latte
training = shapes_latte.Training.__new__(shapes_latte.Training)
training.args, training.run, training.clip = SimpleNamespace(batch=2), SimpleNamespace(step=7), True
clips = [training.data("train", 2 * step, 2)[0] for step in (0, 1, 498, 500)]
moves = [bool((x[:, 0] != x[:, -1]).any()) for x in clips]
assert moves == [False, True, False, True], moves
PYTHON
}
ok "still clips are those of every second early step" still_clips
flow_times() { # a training samples at the times of FluxPipeline, as the engine does, and not at the scheduler's own
    "$python" - <<'PYTHON'
import sys
from types import SimpleNamespace
sys.path.insert(0, "ci/train")
import denoiser, shapes
seen = []
def model(latents, times, slots):
    seen.append(times[0].item())
    return latents
training = denoiser.Training.__new__(denoiser.Training)
training.args = SimpleNamespace(sample_steps=4, guidance=1.0, solver="dpm", device="cpu")
training.objective, training.clip, training.model = denoiser.Flow(), False, model
training.sample(shapes.samples("held-out", 0, 1)[1])
assert seen == [1000, 750, 500, 250], seen
PYTHON
}
ok "flows are sampled at the times of their pipeline" flow_times

check_golden() { # script, model, folder
    ok "$2: exports" train "$1" "$3" --export "$work/$2"
    "$python" ci/train/golden.py "$work/$2" --steps 3 >"$work/said" 2>&1
    ok "$2: the engine computes diffusers' forward" "$ditbench" golden "$work/$2"
    ok "$2: and a whole sampling loop" "$ditbench" golden "$work/e2e_$2"
}
check_golden shapes_pixart shapes-pixart whole
if [ "${DITBENCH_TEST_ALL:-0}" = 1 ]; then
    ok "shapes-flux: trains" train shapes_flux flux "${tiny[@]}"
    check_golden shapes_flux shapes-flux flux
    ok "shapes-latte: begins as a PixArt" train shapes_latte latte --from "$work/whole" "${tiny[@]}"
    check_golden shapes_latte shapes-latte latte
    ok "shapes-latte: begins as nothing else" exits 1 train shapes_latte other --from "$work/flux" "${tiny[@]}"
fi
tap_end
