#!/usr/bin/env python3
"""Exports a golden folder of Lumina-Image 2.0's transformer from diffusers: config, random weights, inputs, one forward.

    pip install torch==2.15.0 diffusers==0.42.1 safetensors==0.8.0
    engine/tests/golden/lumina2.py OUT --factor 0.5 --loop 3            # as lumina2 and e2e_lumina2 were made
    engine/tests/golden/lumina2.py OUT --seed 7 --heads 8 --kv_heads 1  # another one
    build/bin/ditbench golden OUT

Rows and columns are patches of the image. Without --unmasked the texts differ in length; --holes hides a token in their
middle as well, of which the library takes as many rows as the mask keeps, from the first on. Blocks record their image;
with --unmasked their text as well.
"""
import argparse
from pathlib import Path

import torch
from diffusers import FlowMatchEulerDiscreteScheduler, Lumina2Pipeline, Lumina2Transformer2DModel
from loop import export_in_two_bytes, record, write_loop


def make_inputs(args):
    mask = torch.ones(args.batch, args.text).long()
    for b in range(0 if args.unmasked else args.batch):
        mask[b, max(1, args.text * 3 // (3 + 2 * b)):] = 0
        if args.holes:
            mask[b, args.text // 3] = 0
    return {
        "hidden_states": torch.randn(args.batch, args.channels, args.patch * args.rows, args.patch * args.columns),
        "encoder_hidden_states": torch.randn(args.batch, args.text, args.text_dim),
        "encoder_attention_mask": mask,
        "timestep": torch.rand(args.batch),
    }


def keep_blocks(model, inputs, args, output):
    image, lengths = args.rows * args.columns, inputs["encoder_attention_mask"].sum(1).tolist()

    def keep_main(name):
        def hook(_, __, x):
            output[name] = torch.stack([row[length:length + image] for row, length in zip(x, lengths)])
            if args.unmasked:
                output[f"{name}_context"] = x[:, :args.text].clone()
        return hook

    def keep(name, part=None):
        def hook(_, __, x):
            output[name] = x.clone() if part is None else x[part].clone()
        return hook

    for i, block in enumerate(model.layers):
        block.register_forward_hook(keep_main(f"block_{i}"))
    for i, block in enumerate(model.noise_refiner):
        block.register_forward_hook(keep(f"aux.noise_refiner_{i}"))
    model.time_caption_embed.register_forward_hook(keep("aux.t_embedder", 0))
    for i, block in enumerate(model.context_refiner if args.unmasked else ()):
        block.register_forward_hook(keep(f"aux.context_refiner_{i}"))


def forward(model, args, inputs):
    output = {}
    keep_blocks(model, inputs, args, output)
    output["output"] = model(**inputs, return_dict=False)[0]
    return output


def loop(model, args):
    """The pipeline's own loop, guided, from embeddings of two lengths."""
    pipe = Lumina2Pipeline(scheduler=FlowMatchEulerDiscreteScheduler(shift=6.0), vae=None, text_encoder=None, tokenizer=None,
                           transformer=model)
    side = 8 * args.patch
    latents = torch.randn(1, args.channels, args.patch * args.rows, args.patch * args.columns)
    inputs = {"latents": latents}
    for name, kept in (("prompt", args.text), ("negative_prompt", args.text - 3)):
        inputs[f"{name}_embeds"] = torch.randn(1, args.text, args.text_dim)
        inputs[f"{name}_attention_mask"] = (torch.arange(args.text) < kept).long()[None]
    call = {"height": side * args.rows, "width": side * args.columns, "num_inference_steps": args.loop,
            "guidance_scale": args.guidance}
    output = record(pipe, {**inputs, **call, "cfg_normalization": False})
    write_loop(args.out, pipe, call, inputs, output, "from embeddings of two lengths; cfg_normalization off, cfg_trunc_ratio 1")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    for name, value in (("seed", 1), ("batch", 2), ("rows", 4), ("columns", 5), ("text", 9), ("layers", 2), ("refiners", 2),
                        ("heads", 4), ("kv_heads", 2), ("head", 6), ("text_dim", 12), ("channels", 3), ("patch", 2),
                        ("multiple", 20), ("loop", 0)):
        parser.add_argument("--" + name, type=int, default=value)
    parser.add_argument("--guidance", type=float, default=4.0)
    parser.add_argument("--factor", type=float, help="ffn_dim_multiplier")
    parser.add_argument("--unmasked", action="store_true")
    parser.add_argument("--holes", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    third = args.head // 6 * 2
    model = Lumina2Transformer2DModel(
        patch_size=args.patch, in_channels=args.channels, hidden_size=args.heads * args.head, num_layers=args.layers,
        num_refiner_layers=args.refiners, num_attention_heads=args.heads, num_kv_heads=args.kv_heads,
        multiple_of=args.multiple, ffn_dim_multiplier=args.factor, axes_dim_rope=(args.head - 2 * third, third, third),
        cap_feat_dim=args.text_dim)
    export_in_two_bytes(args, model, make_inputs=lambda: make_inputs(args),
                        forward=lambda inputs: forward(model, args, inputs), loop=lambda: loop(model, args))


if __name__ == "__main__":
    main()
