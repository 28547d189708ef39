#!/usr/bin/env python3
"""Exports golden folders of FLUX.1 Fill from diffusers: config, random weights, inputs, one forward, a loop.

    pip install torch==2.15.0 diffusers==0.42.1 safetensors==0.8.0
    engine/tests/golden/flux_fill.py OUT --loop 3               # as flux_fill and e2e_flux_fill were made
    engine/tests/golden/flux_fill.py OUT --seed 7 --beside 8    # as Depth and Canny: so many channels of a map
    build/bin/ditbench golden OUT

Rows and columns are tokens. Each token has the latent's channels, and behind them those of the condition.
"""
import argparse
from pathlib import Path

import torch
from diffusers import AutoencoderKL, FlowMatchEulerDiscreteScheduler, FluxFillPipeline, FluxTransformer2DModel
from export import randomise
from loop import keeper, record, write_folder, write_loop

PACK = 4  # cells of a token
MASK = 8 * 8 * PACK  # channels of a mask, which is not scaled down but folded


def make_inputs(args, config):
    rows, columns = torch.meshgrid(torch.arange(args.rows), torch.arange(args.columns), indexing="ij")
    inputs = {
        "hidden_states": torch.randn(args.batch, args.rows * args.columns, config["in_channels"]),
        "encoder_hidden_states": torch.randn(args.batch, args.text, config["joint_attention_dim"]),
        "pooled_projections": torch.randn(args.batch, config["pooled_projection_dim"]),
        "timestep": torch.rand(args.batch),
        "img_ids": torch.stack([torch.zeros_like(rows), rows, columns], -1).reshape(-1, 3).float(),
        "txt_ids": torch.zeros(args.text, 3),
    }
    return inputs | {"guidance": 1 + 4 * torch.rand(args.batch)} if config["guidance_embeds"] else inputs


def forward(model, inputs):
    output = {}
    keep = keeper(output)
    for i, block in enumerate(model.transformer_blocks):
        block.register_forward_hook(keep(f"block_{i}_context", f"block_{i}"))
    for name in ("x_embedder", "context_embedder", "time_text_embed"):
        getattr(model, name).register_forward_hook(keep(f"aux.{name}"))
    output["output"] = model(**inputs, return_dict=False)[0]
    return output


def loop(model, args):
    """The pipeline's own loop from embeddings, a picture and a mask; the condition is what it gives to the transformer."""
    vae = AutoencoderKL(block_out_channels=(4,) * 4, down_block_types=("DownEncoderBlock2D",) * 4,
                        up_block_types=("UpDecoderBlock2D",) * 4, norm_num_groups=2, latent_channels=args.channels,
                        scaling_factor=0.36, shift_factor=0.12).eval()
    pipe = FluxFillPipeline(scheduler=FlowMatchEulerDiscreteScheduler(use_dynamic_shifting=True, shift=3.0), vae=vae,
                            text_encoder=None, tokenizer=None, text_encoder_2=None, tokenizer_2=None, transformer=model)
    width = PACK * args.channels
    call = {"height": 16 * args.rows, "width": 16 * args.columns, "num_inference_steps": args.loop,
            "guidance_scale": args.guidance}
    inputs = {"latents": torch.randn(1, args.rows * args.columns, width),
              "prompt_embeds": torch.randn(1, args.text, args.text_dim),
              "pooled_prompt_embeds": torch.randn(1, args.pooled_dim)}
    picture = {"image": torch.rand(1, 3, call["height"], call["width"]),
               "mask_image": (torch.rand(1, 1, call["height"], call["width"]) > 0.5).float()}
    seen = []
    model.register_forward_pre_hook(lambda _, __, given: seen.append(given["hidden_states"][..., width:].clone()),
                                    with_kwargs=True)
    output = record(pipe, {**inputs, **picture, **call})
    write_loop(args.out, pipe, call, inputs | {"latent_condition": seen[0]}, output,
               "from embeddings; latent_condition is the masked picture's latent and the mask, packed")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    for name, value in (("seed", 1), ("batch", 2), ("rows", 4), ("columns", 4), ("text", 8), ("layers", 1), ("singles", 1),
                        ("heads", 4), ("head", 6), ("text_dim", 20), ("pooled_dim", 10), ("channels", 2), ("beside", 0),
                        ("loop", 0)):
        parser.add_argument("--" + name, type=int, default=value)
    parser.add_argument("--guidance", type=float, default=3.5)
    parser.add_argument("--unguided", action="store_true", help="without an embedding of the guidance")
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    third = args.head // 6 * 2
    model = FluxTransformer2DModel(
        in_channels=PACK * args.channels + (args.beside or PACK * args.channels + MASK), out_channels=PACK * args.channels,
        num_layers=args.layers, num_single_layers=args.singles, num_attention_heads=args.heads, attention_head_dim=args.head,
        joint_attention_dim=args.text_dim, pooled_projection_dim=args.pooled_dim, guidance_embeds=not args.unguided,
        axes_dims_rope=(args.head - 2 * third, third, third))
    model = model.float().eval()
    with torch.no_grad():
        randomise(model)
        inputs = make_inputs(args, model.config)
        output = forward(model, inputs)
        write_folder(args.out, model, inputs, output)
        if args.loop:  # the hooks of `forward` change nothing that is not written yet
            loop(model, args)


if __name__ == "__main__":
    main()
