#!/usr/bin/env python3
"""Trains shapes-flux, a FLUX of 7.6 million parameters that draws captions of shapes.
Usage: shapes_flux.py FOLDER [--minutes N] ... ; again with the same FOLDER goes on; --export OUT writes the model."""

import diffusers
import torch

import denoiser
import shapes

EDGE = 8  # tokens along a side


def transformer():
    model = diffusers.FluxTransformer2DModel(
        patch_size=1, in_channels=48, num_layers=3, num_single_layers=6, attention_head_dim=24, num_attention_heads=8,
        joint_attention_dim=denoiser.TEXT_WIDTH, pooled_projection_dim=denoiser.TEXT_WIDTH, guidance_embeds=False,
        axes_dims_rope=(8, 8, 8))
    denoiser.begin_as_identity(model)
    begin_gates(model)
    return model


@torch.no_grad()
def begin_gates(model):
    """Modulations begin without shift and scale, and with gates of 1: blocks are the identity, for what they add is zero."""
    for name, module in model.named_modules():
        if not name.endswith(("norm1.linear", "norm1_context.linear", "norm.linear", "norm_out.linear")):
            continue
        module.weight.zero_()
        parts = module.bias.view(-1, model.inner_dim)  # (shift, scale, gate) once or twice; norm_out has no gate
        if len(parts) >= 3:
            parts[2::3] = 1


def pack(latents):
    """[n, 12, 16, 16] to tokens [n, 64, 48], a token's channels in the order of FluxPipeline."""
    n = len(latents)
    return latents.view(n, 12, EDGE, 2, EDGE, 2).permute(0, 2, 4, 1, 3, 5).reshape(n, EDGE * EDGE, 48)


def unpack(tokens):
    n = len(tokens)
    return tokens.view(n, EDGE, EDGE, 12, 2, 2).permute(0, 3, 1, 4, 2, 5).reshape(n, 12, 2 * EDGE, 2 * EDGE)


def places():
    ids = torch.zeros(EDGE * EDGE, 3)
    ids[:, 1] = torch.arange(EDGE).repeat_interleave(EDGE)
    ids[:, 2] = torch.arange(EDGE).repeat(EDGE)
    return ids


def call(model, latents, times, text, slots):
    tokens = model(pack(latents), encoder_hidden_states=text(slots), pooled_projections=text.pooled(slots),
                   timestep=times / denoiser.TRAIN_TIMES, img_ids=places(), txt_ids=torch.zeros(shapes.SLOTS, 3),
                   return_dict=False)[0]
    return unpack(tokens)


if __name__ == "__main__":
    options = denoiser.options("shapes-flux", minutes=150, batch=64, rate=1e-3, steps=10000, objective="flow", sample_steps=28,
                               guidance=3.0)
    denoiser.main(options, "shapes-flux", transformer, call)
