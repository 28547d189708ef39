#!/usr/bin/env python3
"""Exports a golden folder of Sana's transformer from diffusers: config, random weights, inputs, one forward.

    pip install torch==2.15.0 diffusers==0.42.1 safetensors==0.8.0
    engine/tests/golden/sana.py OUT --loop 4 --seed 6 # as sana and e2e_sana were made
    engine/tests/golden/sana.py OUT --interpolation 2 --patch 2 --bias --unmasked --heads 4 --cross_head 8 --rows 4 --columns 3 \
        --seed 2                                   # as sana_placed was made
    build/bin/ditbench golden OUT

Rows and columns are those of tokens. Without --unmasked every text has tokens that the mask hides, in its middle and at its end.
"""
import argparse
from pathlib import Path

import torch
from diffusers import DPMSolverMultistepScheduler, SanaPipeline, SanaTransformer2DModel
from loop import export_in_two_bytes, guided_texts, keeper, record, text_mask, write_loop

SPACE = 32  # of the VAE


def make_inputs(args):
    return {
        "hidden_states": torch.randn(args.batch, args.channels, args.rows * args.patch, args.columns * args.patch),
        "encoder_hidden_states": torch.randn(args.batch, args.text, args.text_dim),
        "encoder_attention_mask": text_mask(args),
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


def loop(model, args):
    """The pipeline's own loop, guided, from embeddings with the mask of each, by the scheduler of its checkpoints."""
    scheduler = DPMSolverMultistepScheduler(prediction_type="flow_prediction", use_flow_sigmas=True, flow_shift=3.0)
    pipe = SanaPipeline(scheduler=scheduler, vae=None, text_encoder=None, tokenizer=None, transformer=model)
    inputs = {"latents": torch.randn(1, args.channels, args.rows, args.columns)}
    inputs.update(guided_texts(args.text, args.text_dim))
    call = {"height": SPACE * args.rows, "width": SPACE * args.columns, "num_inference_steps": args.loop, "guidance_scale": 4.5}
    output = record(pipe, {**inputs, **call, "negative_prompt": None, "use_resolution_binning": False})
    write_loop(args.out, pipe, call, inputs, output, "from embeddings, with the mask of each")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    for name, value in (("seed", 1), ("batch", 2), ("rows", 8), ("columns", 5), ("text", 7), ("layers", 2), ("heads", 8),
                        ("head", 6), ("cross_heads", 4), ("cross_head", 12), ("text_dim", 20), ("channels", 4), ("patch", 1),
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
                        forward=lambda inputs: forward(model, inputs), loop=lambda: loop(model, args))


if __name__ == "__main__":
    main()
