#!/usr/bin/env python3
"""Trains shapes-features: a small network that names the words of a picture, whose 64 features measure distances between
sets of pictures (FD, KID). Usage: features.py FOLDER [--minutes 10] [--steps 6000] ...; --export OUT writes the weights."""

from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional

import run
import shapes

# Heads: the background, and for each of four places whether there is an object and what it is.
HEADS = {"background": 3, "there": 2 * 4, "size": 2 * 4, "colour": 8 * 4, "texture": 3 * 4, "shape": 5 * 4}
# Of each attribute the first word, by its number in the vocabulary.
FIRST = {name: shapes.vocabulary().index(word) for name, word in (
    ("size", "large"), ("colour", "red"), ("texture", "plain"), ("shape", "circle"), ("place", "top-left"),
    ("background", "black"))}
SLOT = {"size": 0, "colour": 1, "texture": 2, "shape": 3, "place": 4}


class Features(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 32, 3, stride=2, padding=1)
        self.conv2 = nn.Conv2d(32, 64, 3, stride=2, padding=1)
        self.conv3 = nn.Conv2d(64, 128, 3, stride=2, padding=1)
        self.features = nn.Linear(128 * 4 * 4, 64)
        self.heads = nn.ModuleDict({name: nn.Linear(64, width) for name, width in HEADS.items()})

    def embed(self, pictures):
        """The features [n, 64] of pictures [n, 3, 32, 32] with values 0..1."""
        x = pictures * 2 - 1
        for layer in (self.conv1, self.conv2, self.conv3):
            x = functional.relu(layer(x))
        return self.features(x.flatten(1))

    def forward(self, pictures):
        hidden = functional.relu(self.embed(pictures))
        return {name: head(hidden) for name, head in self.heads.items()}


def labels_of(slots):
    """What each head should say: [n, 4] by place (-1 where there is no object), the background [n]."""
    slots, count = slots.astype(np.int64), len(slots)
    labels = {name: np.full((count, 4), -1) for name in SLOT if name != "place"}
    labels["there"] = np.zeros((count, 4), np.int64)
    labels["background"] = slots[:, 0] - FIRST["background"]
    for first in (1, 7):
        rows = np.flatnonzero(slots[:, first] != shapes.NONE)
        places = slots[rows, first + SLOT["place"]] - FIRST["place"]
        labels["there"][rows, places] = 1
        for name in SLOT:
            if name != "place":
                labels[name][rows, places] = slots[rows, first + SLOT[name]] - FIRST[name]
    return {name: torch.from_numpy(x) for name, x in labels.items()}


def spoil(pictures, generator):
    """Noise up to 20 dB, a blur and a shift of up to two pixels, each on half of the pictures."""
    n = len(pictures)
    half = lambda: torch.rand(n, 1, 1, 1, generator=generator) < 0.5
    level = torch.rand(n, 1, 1, 1, generator=generator) * 0.1
    pictures = torch.where(half(), pictures + level * torch.randn(pictures.shape, generator=generator), pictures)
    kernel = torch.tensor([1.0, 2.0, 1.0]).outer(torch.tensor([1.0, 2.0, 1.0])).div(16).repeat(3, 1, 1, 1)
    blurred = functional.conv2d(functional.pad(pictures, (1, 1, 1, 1), mode="replicate"), kernel, groups=3)
    pictures = torch.where(half(), blurred, pictures)
    padded = functional.pad(pictures, (2, 2, 2, 2), mode="replicate")
    dx, dy = (int(torch.randint(0, 5, (), generator=generator)) for _ in range(2))
    moved = padded[:, :, dy:dy + 32, dx:dx + 32]
    return torch.where(half(), moved, pictures).clamp(0, 1)


def loss_and_share(said, labels):
    losses, shares = [], {}
    for name, x in said.items():
        wanted = labels[name]
        x = x if name == "background" else x.view(len(x), 4, -1).transpose(1, 2)
        losses.append(functional.cross_entropy(x, wanted, ignore_index=-1))
        asked = wanted >= 0
        shares[name] = ((x.argmax(1) == wanted) & asked).sum().item() / asked.sum().item()
    return sum(losses), shares


def batch_of(args, step):
    pictures, slots = shapes.samples("train", step * args.batch, args.batch)
    generator = run.generator_of(args.seed, step)
    return spoil(torch.from_numpy(pictures), generator), labels_of(slots)


def shares_of(values, split, noise=0.0):
    """The shares that these weights name rightly of 2048 pictures of a split."""
    model = Features()
    model.load_state_dict(values)
    pictures, slots = shapes.samples(split, 0, 2048)
    pictures = torch.from_numpy(pictures)
    pictures = pictures + noise * torch.randn(pictures.shape, generator=run.generator_of(0, 0))
    with torch.no_grad():
        loss, shares = loss_and_share(model(pictures.clamp(0, 1)), labels_of(slots))
    return {"loss": round(loss.item(), 5)} | {name: round(x, 4) for name, x in shares.items()}


def look(training):
    """What the log tells: the average, on clean pictures with captions that were not trained."""
    return {"held_out": shares_of(training.average.values, "held-out")}


CARD = """# shapes-features

A small network that names the words of pictures of shapes. Its 64 features measure how far one set of such pictures is from another
(FD, KID): `ditbench quality --features`. They are no Inception features, and distances in them compare with no published FID.

Three convolutions of stride 2 (32, 64, 128 channels, 3 x 3, padding 1, ReLU) of `2 p - 1`, a linear layer to the 64 features, and a head for each
attribute behind a ReLU: {values} values in `features.safetensors`, float32, under PyTorch's names. MIT license; its data are rendered.

Made by `ci/train/features.py`: {step} steps of {batch} pictures, {minutes:.0f} minutes, AdamW, highest rate {rate}, seed {seed}; {versions}. Half of the
pictures had noise (up to 20 dB), half were blurred, half shifted by up to two pixels. The weights are the moving average of training; `log.jsonl` has
the losses. The features are scaled so that their mean square is 1 on renders.

Shares that it names rightly, of 2048 pictures each:

| pictures | {names} |
| --- |{rules}
{rows}
"""


def card(training, values):
    import importlib.metadata
    args, rows = training.args, []
    looks = [("held-out captions", "held-out", 0), ("held-out captions, noise of 26 dB", "held-out", 10 ** -1.3),
             ("held-out pairs of colour and shape", "pairs", 0)]
    for name, split, noise in looks:
        shares = shares_of(values, split, noise)
        rows.append(f"| {name} | " + " | ".join(f"{shares[head]:.4f}" for head in HEADS) + " |")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("torch", "numpy"))
    return CARD.format(values=f"{sum(x.numel() for x in values.values()):,}", step=training.step, batch=args.batch,
                       minutes=training.seconds / 60, rate=args.rate, seed=args.seed, versions=versions,
                       names=" | ".join(HEADS), rules=" --- |" * len(HEADS), rows="\n".join(rows))


@torch.no_grad()
def scaled(values):
    """The same network with features whose mean square is 1 on renders, so that distances are of a size that can be read. The
    heads take the factor back, which a ReLU lets pass."""
    model = Features()
    model.load_state_dict(values)
    pictures, _ = shapes.samples("validation", 0, 4096)
    size = model.embed(torch.from_numpy(pictures)).square().mean().sqrt()
    for part in (model.features.weight, model.features.bias):
        part /= size
    for head in model.heads.values():
        head.weight *= size
    return model.state_dict()


def export(training, out):
    from safetensors.torch import save_file
    out.mkdir(parents=True, exist_ok=True)
    values = {name: x.contiguous() for name, x in scaled(training.average.values).items()}
    if not all(torch.isfinite(x).all() for x in values.values()):
        raise SystemExit("a weight is not finite: nothing is written")
    save_file(values, out / "features.safetensors")
    (out / "features.safetensors").chmod(0o644)
    (out / "log.jsonl").write_text((training.args.folder / "log.jsonl").read_text())
    (out / "README.md").write_text(card(training, values))
    print(f"wrote {out}")


def main():
    parser = run.options("shapes-features", minutes=10, batch=256, rate=2e-3, steps=6000)
    parser.add_argument("--export", type=Path, help="write the weights to this folder, after training")
    args = run.start(parser)
    model = Features()
    optimiser = torch.optim.AdamW(model.parameters(), lr=args.rate, betas=(0.9, 0.99), weight_decay=0.0)
    facts = {"model": "shapes-features", "batch": args.batch, "rate": args.rate, "steps": args.steps, "seed": args.seed}
    training = run.Run(args, model, optimiser, facts)

    def loss_of(pictures, labels):
        return loss_and_share(model(pictures), labels)[0]

    training.train(lambda step: batch_of(args, step), loss_of, 500, look)
    if args.export:
        export(training, args.export)


if __name__ == "__main__":
    main()
