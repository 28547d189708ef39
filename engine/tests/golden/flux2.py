#!/usr/bin/env python3
"""Exports a golden folder of FLUX.2's transformer from diffusers: config, random weights, inputs, one forward.

    pip install torch==2.15.0 diffusers==0.42.1 safetensors==0.8.0
    engine/tests/golden/flux2.py OUT                                # as engine/tests/golden/flux2 was made
    engine/tests/golden/flux2.py OUT --seed 7 --heads 6 --rows 3    # another one
    engine/tests/golden/flux2.py OUT --loop 4                       # and OUT/../e2e_NAME: a loop of the pipeline with it
    build/bin/ditbench golden OUT

Rows and columns are patches of the image. Positions of the text and of the image are those that the pipeline makes.
"""
import argparse
from pathlib import Path

import torch
from diffusers import FlowMatchEulerDiscreteScheduler, Flux2Pipeline, Flux2Transformer2DModel
from export import randomise
from loop import keeper, record, write_folder, write_loop


def make_inputs(args, config):
    """The ids of one entry serve all of them, as in the library's forward."""
    image = torch.randn(args.batch, config["in_channels"], args.rows, args.columns)
    text = torch.randn(args.batch, args.text, config["joint_attention_dim"])
    inputs = {
        "hidden_states": image.flatten(2).transpose(1, 2),
        "encoder_hidden_states": text,
        "timestep": torch.rand(args.batch),
        "img_ids": Flux2Pipeline._prepare_latent_ids(image)[0].float(),
        "txt_ids": Flux2Pipeline._prepare_text_ids(text)[0].float(),
    }
    return inputs if args.unguided else inputs | {"guidance": 1 + 4 * torch.rand(args.batch)}


def forward(model, inputs):
    output = {}
    keep = keeper(output)
    for i, block in enumerate(model.transformer_blocks):
        block.register_forward_hook(keep(f"block_{i}_context", f"block_{i}"))
    for i, block in enumerate(model.single_transformer_blocks):
        block.register_forward_hook(keep(f"single_block_{i}"))
    if len(model.transformer_blocks):
        model.transformer_blocks[0].attn.register_forward_hook(keep("aux.block_0.attn.0", "aux.block_0.attn.1"))
    for name in ("x_embedder", "context_embedder", "time_guidance_embed"):
        getattr(model, name).register_forward_hook(keep(f"aux.{name}"))
    output["output"] = model(**inputs, return_dict=False)[0]
    return output


def loop(model, args):
    """The pipeline's own loop from embeddings."""
    pipe = Flux2Pipeline(scheduler=FlowMatchEulerDiscreteScheduler(use_dynamic_shifting=True, shift=3.0), vae=None,
                         text_encoder=None, tokenizer=None, transformer=model)
    latents = torch.randn(1, model.config.in_channels, args.rows, args.columns)
    prompt = torch.randn(1, args.text, model.config.joint_attention_dim)
    call = {"height": 16 * args.rows, "width": 16 * args.columns, "num_inference_steps": args.loop, "guidance_scale": 3.5}
    output = record(pipe, {"latents": latents, "prompt_embeds": prompt, **call})
    inputs = {"latents": latents.flatten(2).transpose(1, 2), "prompt_embeds": prompt}
    write_loop(args.out, pipe, call, inputs, output, "from embeddings; mu follows from tokens and steps")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    for name, value in (("seed", 1), ("batch", 2), ("rows", 4), ("columns", 5), ("text", 7), ("layers", 2), ("singles", 2),
                        ("heads", 2), ("head", 8), ("text_dim", 40), ("channels", 4), ("loop", 0)):
        parser.add_argument("--" + name, type=int, default=value)
    parser.add_argument("--unguided", action="store_true", help="without an embedding of the guidance")
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    fourth = args.head // 8 * 2
    model = Flux2Transformer2DModel(
        in_channels=4 * args.channels, num_layers=args.layers, num_single_layers=args.singles,
        num_attention_heads=args.heads, attention_head_dim=args.head, joint_attention_dim=args.text_dim,
        axes_dims_rope=(args.head - 3 * fourth, fourth, fourth, fourth), guidance_embeds=not args.unguided)
    model = model.float().eval()
    with torch.no_grad():
        randomise(model)
        inputs = make_inputs(args, model.config)
        output = forward(model, inputs)
    write_folder(args.out, model, inputs, output)
    if args.loop: # the hooks of `forward` change nothing that is not written yet
        with torch.no_grad():
            loop(model, args)


if __name__ == "__main__":
    main()
