#!/usr/bin/env python3
"""Exports golden folders of HunyuanVideo 1.5 from diffusers: config, random weights, inputs, one forward, a loop.

    pip install torch==2.15.0 diffusers==0.42.1 safetensors==0.8.0
    engine/tests/golden/hunyuan_video15.py hunyuan_video15                               # with a picture's tokens
    engine/tests/golden/hunyuan_video15.py hunyuan_video15_t2v --task t2v --loop 3       # and e2e_hunyuan_video15_t2v
    build/bin/ditbench golden OUT

Frames, rows and columns are cells of the latent. Tokens of glyphs and of the picture, and the width of the glyphs'
projection, are constants of the library; config.json has those of the folder under keys of our own.
"""
import argparse
import json
from pathlib import Path

import torch
from diffusers import (AutoencoderKLHunyuanVideo15, ClassifierFreeGuidance, FlowMatchEulerDiscreteScheduler, HunyuanVideo15Pipeline,
                       HunyuanVideo15Transformer3DModel)
from diffusers.models.transformers.transformer_hunyuan_video15 import HunyuanVideo15ByT5TextProjection
from export import randomise
from loop import keeper, record, write_folder, write_loop


def masks(args, tokens, kept):
    """Of each entry, fewer and fewer tokens, and one in the middle left out."""
    mask = torch.zeros(args.batch, tokens, dtype=torch.long)
    for entry in range(args.batch):
        mask[entry, : max(1, kept - entry)] = 1
    if kept > 3:
        mask[0, kept // 2] = 0
    return mask


def make_inputs(args, config):
    picture = torch.randn(args.batch, args.picture, config["image_embed_dim"])
    return {
        "hidden_states": torch.randn(args.batch, config["in_channels"], args.frames, args.rows, args.columns),
        "timestep": 1000 * torch.rand(args.batch),
        "encoder_hidden_states": torch.randn(args.batch, args.text, config["text_embed_dim"]),
        "encoder_attention_mask": masks(args, args.text, args.text - 2),
        "encoder_hidden_states_2": torch.randn(args.batch, args.glyphs, config["text_embed_2_dim"]),
        "encoder_attention_mask_2": masks(args, args.glyphs, args.glyphs - 1),
        "image_embeds": picture * (args.task == "i2v"),
    }


def forward(model, inputs):
    output = {}
    keep = keeper(output)
    for i, block in enumerate(model.transformer_blocks):
        block.register_forward_hook(keep(f"block_{i}"))
    for name in ("x_embedder", "time_embed"):
        getattr(model, name).register_forward_hook(keep(f"aux.{name}"))
    output["output"] = model(**inputs, return_dict=False)[0]
    return output


def loop(model, args):
    """The pipeline's own loop from embeddings; the channels beside the latent are zeros, as it makes them."""
    vae = AutoencoderKLHunyuanVideo15(latent_channels=args.channels, block_out_channels=(4, 4, 4, 4, 4), layers_per_block=1)
    pipe = HunyuanVideo15Pipeline(text_encoder=None, tokenizer=None, transformer=model, vae=vae,
                                  scheduler=FlowMatchEulerDiscreteScheduler(shift=args.shift), text_encoder_2=None,
                                  tokenizer_2=None, guider=ClassifierFreeGuidance(guidance_scale=args.guidance))
    pipe.vision_num_semantic_tokens = args.picture
    spatial, temporal = 16, 4
    call = {"height": spatial * args.rows, "width": spatial * args.columns, "num_frames": temporal * (args.frames - 1) + 1,
            "num_inference_steps": args.loop}
    one = argparse.Namespace(**{**vars(args), "batch": 1})
    inputs = {"latents": torch.randn(1, args.channels, args.frames, args.rows, args.columns)}
    for name, kept in (("", args.text - 1), ("negative_", 3)):
        inputs |= {f"{name}prompt_embeds": torch.randn(1, args.text, args.text_dim),
                   f"{name}prompt_attention_mask": masks(one, args.text, kept),
                   f"{name}prompt_embeds_2": torch.randn(1, args.glyphs, args.glyph_dim),
                   f"{name}prompt_attention_mask_2": masks(one, args.glyphs, args.glyphs - 2 if not name else 1)}
    names = {"prompt_attention_mask": "prompt_embeds_mask", "prompt_attention_mask_2": "prompt_embeds_mask_2"}
    renamed = {}
    for name, value in inputs.items():
        negative, plain = ("negative_", name[9:]) if name.startswith("negative_") else ("", name)
        renamed[negative + names.get(plain, plain)] = value
    output = record(pipe, {**renamed, **call})
    write_loop(args.out, pipe, {**call, "guidance_scale": args.guidance}, inputs, output, "from embeddings")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--task", default="i2v", choices=("i2v", "t2v"))
    for name, value in (("seed", 1), ("batch", 2), ("frames", 2), ("rows", 4), ("columns", 4), ("text", 8), ("glyphs", 4), ("picture", 4),
                        ("layers", 2), ("refiners", 2), ("heads", 4), ("head", 6), ("text_dim", 20), ("glyph_dim", 10),
                        ("image_dim", 12), ("glyph_width", 14), ("channels", 3), ("patch", 1), ("loop", 0)):
        parser.add_argument("--" + name, type=int, default=value)
    parser.add_argument("--guidance", type=float, default=6.0)
    parser.add_argument("--shift", type=float, default=5.0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    third = args.head // 6 * 2
    model = HunyuanVideo15Transformer3DModel(
        in_channels=2 * args.channels + 1, out_channels=args.channels, num_attention_heads=args.heads,
        attention_head_dim=args.head, num_layers=args.layers, num_refiner_layers=args.refiners, patch_size=args.patch,
        text_embed_dim=args.text_dim, text_embed_2_dim=args.glyph_dim, image_embed_dim=args.image_dim, task_type=args.task,
        rope_axes_dim=(args.head - 2 * third, third, third))
    model.context_embedder_2 = HunyuanVideo15ByT5TextProjection(args.glyph_dim, args.glyph_width, args.heads * args.head)
    model = model.float().eval()
    with torch.no_grad():
        randomise(model)
        inputs = make_inputs(args, model.config)
        output = forward(model, inputs)
        write_folder(args.out, model, inputs, output)
        path = args.out / "config.json"
        ours = {"glyph_tokens": args.glyphs, "picture_tokens": args.picture, "glyph_width": args.glyph_width}
        path.write_text(json.dumps(json.loads(path.read_text()) | ours, indent=2) + "\n")
        if args.loop:  # the hooks of `forward` change nothing that is not written yet
            loop(model, args)


if __name__ == "__main__":
    main()
