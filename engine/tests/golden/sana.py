#!/usr/bin/env python3
"""Exports a golden folder of Sana's transformer from diffusers: config, random weights, inputs, one forward.

    pip install torch==2.15.0 diffusers==0.42.1 safetensors==0.8.0
    engine/tests/golden/sana.py OUT                                          # as sana was made
    engine/tests/golden/sana.py OUT --interpolation 2 --patch 2 --bias       # as sana_placed was made, with the sizes there
    build/bin/ditbench golden OUT

Rows and columns are those of tokens. Without --unmasked every text has tokens that the mask hides, in its middle and at its end.
"""
import argparse
from pathlib import Path

import torch
from diffusers import SanaTransformer2DModel
from loop import export_in_two_bytes, keeper


def make_inputs(args):
    mask = torch.ones(args.batch, args.text).long()
    for b in range(0 if args.unmasked else args.batch):
        mask[b, args.text - 1 - b % args.text:] = 0
        mask[b, args.text // 2] = 0
    mask[:, 0] = 1
    return {
        "hidden_states": torch.randn(args.batch, args.channels, args.rows * args.patch, args.columns * args.patch),
        "encoder_hidden_states": torch.randn(args.batch, args.text, args.text_dim),
        "encoder_attention_mask": mask,
        "timestep": torch.rand(args.batch) * 1000,
    }


def forward(model, inputs):
    output = {}
    keep = keeper(output)
    for i, block in enumerate(model.transformer_blocks):
        block.register_forward_hook(keep(f"block_{i}"))
    model.transformer_blocks[0].attn1.register_forward_hook(keep("aux.block_0.attn1"))
    model.transformer_blocks[0].attn2.register_forward_hook(keep("aux.block_0.attn2"))
    model.patch_embed.register_forward_hook(keep("aux.pos_embed"))
    model.caption_norm.register_forward_hook(keep("aux.caption_projection"))
    model.time_embed.register_forward_hook(keep("aux.adaln_single.0", "aux.adaln_single.1"))
    output["output"] = model(**inputs, return_dict=False)[0]
    return output


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    for name, value in (("seed", 1), ("batch", 2), ("rows", 6), ("columns", 5), ("text", 7), ("layers", 2), ("heads", 6),
                        ("head", 8), ("cross_heads", 4), ("cross_head", 12), ("text_dim", 20), ("channels", 4), ("patch", 1),
                        ("interpolation", 0), ("sample", 8), ("loop", 0)):
        parser.add_argument("--" + name, type=int, default=value)
    parser.add_argument("--ratio", type=float, default=1.5)
    parser.add_argument("--unmasked", action="store_true")
    parser.add_argument("--bias", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    hidden = args.heads * args.head
    model = SanaTransformer2DModel(
        in_channels=args.channels, out_channels=args.channels, num_layers=args.layers, num_attention_heads=args.heads,
        attention_head_dim=args.head, num_cross_attention_heads=args.cross_heads, cross_attention_head_dim=args.cross_head,
        cross_attention_dim=hidden, caption_channels=args.text_dim, mlp_ratio=args.ratio, sample_size=args.sample,
        patch_size=args.patch, attention_bias=args.bias, interpolation_scale=args.interpolation or None)
    export_in_two_bytes(args, model, make_inputs=lambda: make_inputs(args),
                        forward=lambda inputs: forward(model, inputs), loop=None)


if __name__ == "__main__":
    main()
