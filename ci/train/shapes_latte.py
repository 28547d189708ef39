#!/usr/bin/env python3
"""Trains shapes-latte, a Latte of 8.7 million parameters that draws clips of moving shapes.
Usage: shapes_latte.py FOLDER --from PIXART [--minutes N] ... ; again with the same FOLDER goes on; --export OUT writes the model.
PIXART is workloads/weights/shapes-pixart or any exported shapes-pixart, or the folder of its training: spatial blocks,
embeddings, head and text begin as its average."""

from pathlib import Path

import diffusers
import torch
from safetensors.torch import load_file

import denoiser
import run
import shapes

STILL_STEPS = 500  # every second step before this one shows clips in which nothing moves
STILL = shapes.vocabulary().index("still")
MOTION_SLOTS = (6, 12)


def transformer():
    model = diffusers.LatteTransformer3DModel(
        num_attention_heads=8, attention_head_dim=24, in_channels=12, out_channels=24, num_layers=8, cross_attention_dim=192,
        attention_bias=True, sample_size=16, patch_size=2, activation_fn="gelu-approximate", norm_type="ada_norm_single",
        norm_elementwise_affine=False, norm_eps=1e-6, caption_channels=denoiser.TEXT_WIDTH, video_length=shapes.FRAMES)
    denoiser.begin_as_identity(model)
    return model


def call(model, latents, times, text, slots):
    """Clips are [n, frames, channels, 16, 16] here and [n, channels, frames, 16, 16] in the library."""
    out = model(latents.transpose(1, 2), timestep=times, encoder_hidden_states=text(slots), return_dict=False)[0]
    return out[:, :12].transpose(1, 2)


def values_of(folder):
    """The average that a training's folder holds, or an exported one, by names of the whole denoiser."""
    exported = folder / "diffusion_pytorch_model.safetensors"
    if exported.exists():
        values = {f"transformer.{name}": x.float() for name, x in load_file(exported).items()}
        return values | {f"text.{name}": x.float() for name, x in load_file(folder / "text.safetensors").items()}
    if not (folder / run.CHECKPOINT).exists():
        raise SystemExit(f"--from {folder}: there is no {exported.name} and no {run.CHECKPOINT}; name an exported model or the "
                         "folder of a training")
    return torch.load(folder / run.CHECKPOINT, weights_only=True)["average"]


class Training(denoiser.Training):
    def data(self, split, first, count):
        step = first // self.args.batch  # whose data these are: threads may be ahead of the run's own
        if split != "train" or step >= STILL_STEPS or step % 2:
            return super().data(split, first, count)
        pictures, slots = shapes.samples(split, first, count)
        for slot in MOTION_SLOTS:
            slots[slots[:, slot] == shapes.PAD, slot] = STILL
        return pictures[:, None].repeat(shapes.FRAMES, axis=1), slots

    def begin(self):
        """Takes what PixArt has, too. Temporal blocks stay the identity, so that the first clips are eight such pictures."""
        if self.run.step or not self.args.begin_from:
            return
        values = values_of(self.args.begin_from)
        missing, unknown = self.model.load_state_dict(values, strict=False)
        if unknown or any("temporal" not in name for name in missing):
            raise SystemExit(f"--from {self.args.begin_from}: is no shapes-pixart: {unknown[:3]} {missing[:3]}")
        self.run.average = run.Average(self.model)


if __name__ == "__main__":
    options = denoiser.options("shapes-latte", minutes=150, batch=8, rate=5e-4, steps=8000, objective="velocity", sample_steps=50,
                               guidance=3.0, solver="ddim")
    options.add_argument("--from", dest="begin_from", type=Path, metavar="PIXART")
    options.set_defaults(pictures=12, validation=16)
    denoiser.main(options, "shapes-latte", transformer, call, clip=True, training=Training)
