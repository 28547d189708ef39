#!/usr/bin/env python3
"""Writes what a probe of redundancy must find in whole sampling runs: probe.safetensors beside the runs of tiny_shapes,
flux_dev, sd3 and latte. diffusers' own models run on the latents of every step of these folders; what their attention
gets and gives is caught on the way, and the changes are taken in float64.

    pip install torch==2.6.0 diffusers==0.33.1 safetensors
    engine/tests/golden/probe.py engine/tests/golden

Tensor `layers` [prompts, steps - 1, layers, points, rows, branches, measures] is as in results/schema/record.md; cells
that no element stands behind are 0. `cost` [prompts, steps, steps] likewise.
"""
import json
import sys
from pathlib import Path

import diffusers
import torch
from safetensors.torch import load_file, save_file

K, V, ATTENTION, BLOCK = range(4)
attend = torch.nn.functional.scaled_dot_product_attention


class Catcher:
    """What the blocks of one forward showed: at[layer, point] = (image rows, text rows or None), [batch, rows, width].
    listening: None, or an attention runs, and whether it gets the text first."""

    def __init__(self, text):
        self.text, self.at, self.layer, self.listening = text, {}, -1, None

    def split(self, rows, text_first):
        """Rows [batch, n, width] of both streams as (image, text)."""
        if not self.text:
            return rows, None
        if text_first:
            return rows[:, self.text:], rows[:, : self.text]
        return rows[:, : -self.text], rows[:, -self.text:]

    def watch_attention(self, module, text_first):
        def begin(*_):
            self.listening = text_first
            self.layer += 1

        module.register_forward_pre_hook(begin)

    def caught(self, query, key, value, *args, **options):
        if self.listening is not None:
            for point, heads in ((K, key), (V, value)):
                rows = heads.transpose(1, 2).flatten(2)
                self.at[self.layer, point] = self.split(rows, self.listening)
            self.listening = None
        return attend(query, key, value, *args, **options)


def watch_separate(catcher, blocks, time=None):
    """PixArt and Latte: self-attention attn1 of every block; what the library calls a batch may be frames or places."""
    for index, block in enumerate(blocks):
        catcher.watch_attention(block.attn1, True)
        block.attn1.register_forward_hook(
            lambda module, inputs, output, i=index: catcher.at.__setitem__((i, ATTENTION), (output, None)))

        def ends(module, inputs, output, i=index):
            added = output - inputs[0]
            if time is not None and i == 1:
                added = added + time  # the first block over time gets it with its input
            catcher.at[i, BLOCK] = (added, None)

        block.register_forward_hook(ends)


def watch_joint(catcher, blocks, text_first):
    """Double blocks of FLUX and SD3: the streams come and go apart; the text goes into the block first by name."""
    for index, block in enumerate(blocks):
        catcher.watch_attention(block.attn, text_first)

        def attended(module, inputs, output, i=index):
            image, text = output if isinstance(output, tuple) else (output, None)
            if module.context_pre_only:
                text = None  # no block reads the last text
            catcher.at[i, ATTENTION] = (image, text)

        def ends(module, args, options, output, i=index):
            text, image = output
            before = options["encoder_hidden_states"]
            added = torch.zeros_like(before) if text is None else text - before
            catcher.at[i, BLOCK] = (image - options["hidden_states"], added)

        block.attn.register_forward_hook(attended)
        block.register_forward_hook(ends, with_kwargs=True)


def watch_singles(catcher, blocks, first):
    for index, block in enumerate(blocks, first):
        catcher.watch_attention(block.attn, True)
        block.attn.register_forward_hook(
            lambda module, inputs, output, i=index: catcher.at.__setitem__((i, ATTENTION), catcher.split(output, True)))
        block.register_forward_hook(
            lambda module, args, options, output, i=index: catcher.at.__setitem__(
                (i, BLOCK), catcher.split(output - options["hidden_states"], True)), with_kwargs=True)


# ---- the models: what a step calls ------------------------------------------------------------------------------


def guided(inputs, latents, name):
    return torch.cat([latents, latents]), torch.cat([inputs[f"negative_{name}"], inputs[name]])


def pixart(model, run, inputs, latents, t):
    both, text = guided(inputs, latents, "prompt_embeds")
    model(both, encoder_hidden_states=text, timestep=t.expand(2), added_cond_kwargs={"resolution": None, "aspect_ratio": None})


def latte(model, run, inputs, latents, t):
    both, text = guided(inputs, latents, "prompt_embeds")
    model(both, timestep=t.expand(2), encoder_hidden_states=text)


def sd3(model, run, inputs, latents, t):
    both, text = guided(inputs, latents, "prompt_embeds")
    _, pooled = guided(inputs, latents, "pooled_prompt_embeds")
    model(both, encoder_hidden_states=text, pooled_projections=pooled, timestep=t.expand(2))


def flux(model, run, inputs, latents, t):
    edge = int(latents.shape[1] ** 0.5)
    places = torch.zeros(edge * edge, 3)
    places[:, 1], places[:, 2] = torch.arange(edge).repeat_interleave(edge), torch.arange(edge).repeat(edge)
    model(latents, encoder_hidden_states=inputs["prompt_embeds"], pooled_projections=inputs["pooled_prompt_embeds"],
          timestep=t.expand(1) / 1000, guidance=torch.full([1], run["guidance_scale"]), img_ids=places,
          txt_ids=torch.zeros(inputs["prompt_embeds"].shape[1], 3))


def interleave(model):
    return [block for pair in zip(model.transformer_blocks, model.temporal_transformer_blocks) for block in pair]


CASES = {
    "e2e_tiny_shapes": (diffusers.PixArtTransformer2DModel, pixart,
                        lambda m, c: watch_separate(c, m.transformer_blocks)),
    "e2e_latte": (diffusers.LatteTransformer3DModel, latte,
                  lambda m, c: watch_separate(c, interleave(m), m.temp_pos_embed)),
    "e2e_sd3": (diffusers.SD3Transformer2DModel, sd3, lambda m, c: watch_joint(c, m.transformer_blocks, False)),
    "e2e_flux_dev": (diffusers.FluxTransformer2DModel, flux, lambda m, c: (
        watch_joint(c, m.transformer_blocks, True),
        watch_singles(c, m.single_transformer_blocks, len(m.transformer_blocks)))),
}


# ---- changes -------------------------------------------------------------------------------------------------------


def measures(now, before):
    """Of lists of tensors: l1, variance, relative, cosine, length."""
    if not now:
        return [0.0] * 5
    x, y = (torch.cat([part.double().flatten() for part in parts]) for parts in (now, before))
    d = (x - y).abs()
    if not len(d):
        return [0.0] * 5
    over = lambda a, b: (a / b).item() if b > 0 else 0.0
    l1 = d.mean()
    return [l1.item(), ((d * d).mean() - l1 * l1).clamp(min=0).item(), over(d.sum(), y.abs().sum()),
            over(x @ y, (x.norm() * y.norm())), over(x.norm(), y.norm())]


def branches_of(tensor, branches):
    return tensor.chunk(branches) if tensor is not None else [None] * branches


def changes_of(now, before, branches, has_text):
    """[rows][branches, and all][measures] of one point of one layer."""
    out = []
    for rows in (("image", "text", "all") if has_text else ("image",)):
        parts = {"image": [0], "text": [1], "all": [0, 1]}[rows]
        pairs = [[(x, y) for part in parts for x, y in [(branches_of(now[part], branches)[b], branches_of(before[part], branches)[b])]
                  if x is not None] for b in range(branches)]
        columns = pairs + ([[pair for branch in pairs for pair in branch]] if branches > 1 else [])
        out.append([measures([x for x, _ in column], [y for _, y in column]) for column in columns])
    return out


def cost_of(residuals):
    return [[((b - a).abs().sum() / b.abs().sum()).item() for b in residuals] for a in residuals]


def probe(folder, out):
    model_class, call, watch = CASES[folder]
    run = json.loads((out / folder / "e2e.json").read_text())
    model = model_class.from_pretrained(out / run["transformer"]).float().eval()
    inputs, saved = (load_file(out / folder / f"{name}.safetensors") for name in ("inputs", "output"))
    joint = model_class in (diffusers.SD3Transformer2DModel, diffusers.FluxTransformer2DModel)
    branches = 1 if model_class is diffusers.FluxTransformer2DModel else 2
    catcher = Catcher(inputs["prompt_embeds"].shape[1] if joint else 0)
    watch(model, catcher)
    torch.nn.functional.scaled_dot_product_attention = catcher.caught
    steps, before, changes, residuals = run["num_inference_steps"], None, [], []
    for i in range(steps):
        latents = inputs["latents"] if i == 0 else saved[f"latents_{i}"]
        catcher.at, catcher.layer = {}, -1
        call(model, run, inputs, latents, saved["timesteps"][i])
        layers = catcher.layer + 1
        if before:
            changes.append([[changes_of(catcher.at[layer, point], before[layer, point], branches, joint) for point in range(4)]
                            for layer in range(layers)])
        before = dict(catcher.at)
        if folder != "e2e_latte":  # its blocks see the stream in turn as frames and as places
            residuals.append(sum(catcher.at[layer, BLOCK][0].double() for layer in range(layers)))
    torch.nn.functional.scaled_dot_product_attention = attend
    tensors = {"layers": torch.tensor([changes], dtype=torch.float32)}
    if residuals:
        tensors["cost"] = torch.tensor([cost_of(residuals)], dtype=torch.float32)
    save_file(tensors, out / folder / "probe.safetensors")
    (out / folder / "probe.safetensors").chmod(0o644)
    print(folder, list(tensors["layers"].shape))


if __name__ == "__main__":
    with torch.no_grad():
        for name in CASES:
            probe(name, Path(sys.argv[1]))
