#!/usr/bin/env python3
"""Exports a golden folder of LTX-Video's transformer from diffusers: config, random weights, inputs, one forward.

    pip install torch==2.15.0 diffusers==0.42.1 safetensors==0.8.0
    engine/tests/golden/ltx.py OUT --loop 4                        # as ltx and e2e_ltx were made
    engine/tests/golden/ltx.py OUT --seed 7 --heads 6 --head 10    # another one
    build/bin/ditbench golden OUT

Frames, rows and columns are cells of the latent. Without --unmasked every text has tokens that the mask hides, in its middle
and at its end. num_frames, height and width of the call are img_shapes here, and rope_interpolation_scale is a tensor.
"""
import argparse
from pathlib import Path

import torch
from diffusers import FlowMatchEulerDiscreteScheduler, LTXPipeline, LTXVideoTransformer3DModel
from loop import export_in_two_bytes, guided_texts, keeper, record, text_mask, write_loop

TIME, SPACE = 8, 32  # of the VAE


def make_inputs(args):
    return {
        "hidden_states": torch.randn(args.batch, args.frames * args.rows * args.columns, args.channels),
        "encoder_hidden_states": torch.randn(args.batch, args.text, args.text_dim),
        "encoder_attention_mask": text_mask(args),
        "timestep": torch.rand(args.batch) * 1000,
        "img_shapes": torch.tensor([[args.frames, args.rows, args.columns]] * args.batch),
        "rope_interpolation_scale": torch.tensor([TIME / args.frame_rate, SPACE, SPACE]),
    }


def rounds_right(frequencies):
    """Whether the library's float32 powers are the rounded ones: at angles of 15,700 a last bit turns a pair by 0.001."""
    exponents = torch.linspace(0, 1, frequencies)
    return torch.equal(10000.0 ** exponents, (10000.0 ** exponents.double()).float())


def forward(model, args, inputs):
    output = {}
    keep = keeper(output)
    for i, block in enumerate(model.transformer_blocks):
        block.register_forward_hook(keep(f"block_{i}"))
    model.transformer_blocks[0].attn1.register_forward_hook(keep("aux.block_0.attn1"))
    model.transformer_blocks[0].attn2.register_forward_hook(keep("aux.block_0.attn2"))
    for name in ("proj_in", "caption_projection"):
        getattr(model, name).register_forward_hook(keep(f"aux.{name}"))
    model.time_embed.register_forward_hook(keep("aux.time_embed.0", "aux.time_embed.1"))
    model.rope.register_forward_hook(keep("aux.rope.0", "aux.rope.1"))
    call = {name: x for name, x in inputs.items() if name not in ("img_shapes", "rope_interpolation_scale")}
    frames, height, width = inputs["img_shapes"][0].tolist()
    scale = (TIME / args.frame_rate, SPACE, SPACE)
    output["output"] = model(**call, num_frames=frames, height=height, width=width, rope_interpolation_scale=scale,
                             return_dict=False)[0]
    for name in ("aux.rope.0", "aux.rope.1"):  # every entry has equal ones
        table = output.pop(name)[0]
        if rounds_right(args.heads * args.head // 6):
            output[name] = table
    return output


def loop(model, args):
    """The pipeline's own loop, guided, from embeddings with the mask of each."""
    scheduler = FlowMatchEulerDiscreteScheduler(use_dynamic_shifting=True, base_shift=0.95, max_shift=2.05,
                                                base_image_seq_len=1024, max_image_seq_len=4096, shift_terminal=0.1)
    pipe = LTXPipeline(scheduler=scheduler, vae=None, text_encoder=None, tokenizer=None, transformer=model)
    inputs = {"latents": torch.randn(1, args.frames * args.rows * args.columns, args.channels)}
    inputs.update(guided_texts(args.text, args.text_dim))
    call = {"height": SPACE * args.rows, "width": SPACE * args.columns, "num_frames": TIME * (args.frames - 1) + 1,
            "frame_rate": args.frame_rate, "num_inference_steps": args.loop, "guidance_scale": 3.0}
    output = record(pipe, {**inputs, **call})
    write_loop(args.out, pipe, call, inputs, output, "from embeddings, with the mask of each; guidance_rescale 0")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    for name, value in (("seed", 1), ("batch", 2), ("frames", 3), ("rows", 4), ("columns", 5), ("text", 7), ("layers", 2),
                        ("heads", 4), ("head", 8), ("text_dim", 20), ("channels", 6), ("frame_rate", 24), ("loop", 0)):
        parser.add_argument("--" + name, type=int, default=value)
    parser.add_argument("--unmasked", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    model = LTXVideoTransformer3DModel(
        in_channels=args.channels, out_channels=args.channels, num_layers=args.layers, num_attention_heads=args.heads,
        attention_head_dim=args.head, cross_attention_dim=args.heads * args.head, caption_channels=args.text_dim)
    export_in_two_bytes(args, model, make_inputs=lambda: make_inputs(args),
                        forward=lambda inputs: forward(model, args, inputs), loop=lambda: loop(model, args))


if __name__ == "__main__":
    main()
