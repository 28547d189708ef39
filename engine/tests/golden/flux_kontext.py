#!/usr/bin/env python3
"""Exports golden folders of FLUX.1 Kontext from diffusers: config, random weights, inputs, one forward, a loop.

    pip install torch==2.15.0 diffusers==0.42.1 safetensors==0.8.0
    engine/tests/golden/flux_kontext.py OUT --loop 3    # as flux_kontext and e2e_flux_kontext were made
    engine/tests/golden/flux_kontext.py OUT --seed 7 --rows 1 --reference_rows 3
    build/bin/ditbench golden OUT

Rows and columns are tokens, of the latent and of the reference picture behind it.
"""
import argparse
from pathlib import Path

import torch
from diffusers import AutoencoderKL, FlowMatchEulerDiscreteScheduler, FluxKontextPipeline, FluxTransformer2DModel
from export import randomise
from flux_fill import forward
from loop import record, write_folder, write_loop

PACK = 4  # cells of a token
SPAN = 16  # pixels of a token's side


def ids(rows, columns, first):
    row, column = torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
    return torch.stack([torch.full_like(row, first), row, column], -1).reshape(-1, 3).float()


def make_inputs(args, config):
    places = torch.cat([ids(args.rows, args.columns, 0), ids(args.reference_rows, args.reference_columns, 1)])
    inputs = {
        "hidden_states": torch.randn(args.batch, len(places), config["in_channels"]),
        "encoder_hidden_states": torch.randn(args.batch, args.text, config["joint_attention_dim"]),
        "pooled_projections": torch.randn(args.batch, config["pooled_projection_dim"]),
        "timestep": torch.rand(args.batch),
        "img_ids": places,
        "txt_ids": torch.zeros(args.text, 3),
    }
    return inputs | {"guidance": 1 + 4 * torch.rand(args.batch)} if config["guidance_embeds"] else inputs


def loop(model, args):
    """The pipeline's own loop from embeddings and the latents of a picture; the reference is what it gives to the transformer."""
    vae = AutoencoderKL(block_out_channels=(4,) * 4, down_block_types=("DownEncoderBlock2D",) * 4,
                        up_block_types=("UpDecoderBlock2D",) * 4, norm_num_groups=2, latent_channels=args.channels,
                        scaling_factor=0.36, shift_factor=0.12).eval()
    pipe = FluxKontextPipeline(scheduler=FlowMatchEulerDiscreteScheduler(use_dynamic_shifting=True, shift=3.0), vae=vae,
                               text_encoder=None, tokenizer=None, text_encoder_2=None, tokenizer_2=None, transformer=model)
    width, count = PACK * args.channels, args.rows * args.columns
    call = {"height": SPAN * args.rows, "width": SPAN * args.columns, "num_inference_steps": args.loop,
            "guidance_scale": args.guidance}
    inputs = {"latents": torch.randn(1, count, width), "prompt_embeds": torch.randn(1, args.text, args.text_dim),
              "pooled_prompt_embeds": torch.randn(1, args.pooled_dim)}
    picture = torch.randn(1, args.channels, 2 * args.reference_rows, 2 * args.reference_columns)
    seen = []
    model.register_forward_pre_hook(lambda _, __, given: seen.append(given["hidden_states"][:, count:].clone()), with_kwargs=True)
    output = record(pipe, {**inputs, **call, "image": picture, "max_area": call["height"] * call["width"], "_auto_resize": False})
    size = {"reference_height": SPAN * args.reference_rows, "reference_width": SPAN * args.reference_columns}
    write_loop(args.out, pipe, {**call, **size}, inputs | {"reference_latents": seen[0]}, output,
               "from embeddings; reference_latents are those of the picture, packed")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    for name, value in (("seed", 1), ("batch", 2), ("rows", 4), ("columns", 4), ("reference_rows", 2), ("reference_columns", 6),
                        ("text", 8), ("layers", 1), ("singles", 1), ("heads", 4), ("head", 6), ("text_dim", 20),
                        ("pooled_dim", 10), ("channels", 2), ("loop", 0)):
        parser.add_argument("--" + name, type=int, default=value)
    parser.add_argument("--guidance", type=float, default=2.5)
    parser.add_argument("--unguided", action="store_true", help="without an embedding of the guidance")
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    third = args.head // 6 * 2
    model = FluxTransformer2DModel(
        in_channels=PACK * args.channels, num_layers=args.layers, num_single_layers=args.singles,
        num_attention_heads=args.heads, attention_head_dim=args.head, joint_attention_dim=args.text_dim,
        pooled_projection_dim=args.pooled_dim, guidance_embeds=not args.unguided,
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
