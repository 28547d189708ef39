#!/usr/bin/env python3
"""Exports a golden folder of Mochi 1's transformer from diffusers: config, random weights, inputs, one forward.

    pip install torch==2.15.0 diffusers==0.42.1 safetensors==0.8.0
    engine/tests/golden/mochi.py OUT --loop 5                      # as mochi and e2e_mochi were made
    engine/tests/golden/mochi.py OUT --seed 7 --heads 6 --text_width 20    # another one
    build/bin/ditbench golden OUT

Rows and columns are patches of the video. Without --unmasked the ends of the texts are hidden. Blocks record their video; with
--unmasked their text as well, whose hidden rows the library computes in another way, which nobody reads.
"""
import argparse
from pathlib import Path

import torch
from diffusers import FlowMatchEulerDiscreteScheduler, MochiPipeline, MochiTransformer3DModel
from loop import export_in_two_bytes, keeper, record, write_loop

PATCH, TIME, SPACE = 2, 6, 8  # of the transformer; of the VAE


def make_inputs(args):
    mask = torch.ones(args.batch, args.text).long()
    for b in range(0 if args.unmasked else args.batch):
        mask[b, args.text - 1 - 2 * b % args.text:] = 0
    return {
        "hidden_states": torch.randn(args.batch, args.channels, args.frames, PATCH * args.rows, PATCH * args.columns),
        "encoder_hidden_states": torch.randn(args.batch, args.text, args.text_dim),
        "encoder_attention_mask": mask,
        "timestep": torch.rand(args.batch) * 1000,
    }


def forward(model, args, inputs):
    output = {}
    keep = keeper(output)
    for i, block in enumerate(model.transformer_blocks):
        block.register_forward_hook(keep(f"block_{i}", *([f"block_{i}_context"] if args.unmasked else [])))
    model.transformer_blocks[0].attn1.register_forward_hook(keep("aux.block_0.attn1.0"))
    model.time_embed.pooler.register_forward_hook(keep("aux.pooler"))
    model.time_embed.register_forward_hook(keep("aux.time_embed.0", "aux.time_embed.1"))
    model.patch_embed.register_forward_hook(keep("aux.patch_embed"))
    output["output"] = model(**inputs, return_dict=False)[0]
    output["aux.patch_embed"] = output["aux.patch_embed"].reshape(args.batch, -1, args.heads * args.head)
    return output


def loop(model, args):
    """The pipeline's own loop, guided, from embeddings with the mask of each."""
    pipe = MochiPipeline(scheduler=FlowMatchEulerDiscreteScheduler(invert_sigmas=True), vae=None, text_encoder=None,
                         tokenizer=None, transformer=model)
    inputs = {"latents": torch.randn(1, args.channels, args.frames, PATCH * args.rows, PATCH * args.columns)}
    for name, hidden in (("", 1), ("negative_", 3)):
        mask = torch.ones(1, args.text).long()
        mask[:, args.text - hidden:] = 0
        inputs.update({f"{name}prompt_embeds": torch.randn(1, args.text, args.text_dim),
                       f"{name}prompt_attention_mask": mask})
    side = PATCH * SPACE
    call = {"height": side * args.rows, "width": side * args.columns, "num_frames": TIME * (args.frames - 1) + 1,
            "num_inference_steps": args.loop, "guidance_scale": 4.5}
    output = record(pipe, {**inputs, **call})
    write_loop(args.out, pipe, call, inputs, output, "from embeddings, with the mask of each")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    for name, value in (("seed", 1), ("batch", 2), ("frames", 3), ("rows", 4), ("columns", 5), ("text", 8), ("layers", 3),
                        ("heads", 4), ("head", 8), ("text_width", 20), ("text_dim", 24), ("time", 16), ("channels", 3),
                        ("loop", 0)):
        parser.add_argument("--" + name, type=int, default=value)
    parser.add_argument("--unmasked", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    model = MochiTransformer3DModel(
        patch_size=PATCH, num_attention_heads=args.heads, attention_head_dim=args.head, num_layers=args.layers,
        pooled_projection_dim=args.text_width, in_channels=args.channels, text_embed_dim=args.text_dim,
        time_embed_dim=args.time)
    export_in_two_bytes(args, model, make_inputs=lambda: make_inputs(args),
                        forward=lambda inputs: forward(model, args, inputs), loop=lambda: loop(model, args))


if __name__ == "__main__":
    main()
