#!/usr/bin/env python3
"""Trains shapes-pixart, a PixArt of 5 million parameters that draws captions of shapes.
Usage: shapes_pixart.py FOLDER [--minutes N] ... ; again with the same FOLDER goes on; --export OUT writes the model."""

import diffusers

import denoiser


def transformer():
    model = diffusers.PixArtTransformer2DModel(
        num_attention_heads=8, attention_head_dim=24, in_channels=12, out_channels=24, num_layers=8, cross_attention_dim=192,
        sample_size=16, patch_size=2, caption_channels=denoiser.TEXT_WIDTH, attention_bias=True, norm_type="ada_norm_single",
        norm_elementwise_affine=False, norm_eps=1e-6, use_additional_conditions=False)
    denoiser.begin_as_identity(model)
    return model


def call(model, latents, times, text, slots):
    """The first half of the channels; the second, PixArt's variance, is not used."""
    sizes = {"resolution": None, "aspect_ratio": None}
    out = model(latents, encoder_hidden_states=text(slots), timestep=times, added_cond_kwargs=sizes, return_dict=False)[0]
    return out[:, :12]


if __name__ == "__main__":
    options = denoiser.options("shapes-pixart", minutes=150, batch=32, rate=1e-3, steps=20000, objective="velocity",
                               sample_steps=20, guidance=2.5)
    denoiser.main(options, "shapes-pixart", transformer, call)
