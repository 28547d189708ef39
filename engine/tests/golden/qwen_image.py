#!/usr/bin/env python3
"""Exports a golden folder of Qwen-Image's transformer from diffusers: config, random weights, inputs, one forward.

    pip install torch==2.15.0 diffusers==0.42.1 safetensors==0.8.0
    engine/tests/golden/qwen_image.py OUT                                # as engine/tests/golden/qwen_image was made
    engine/tests/golden/qwen_image.py OUT --seed 7 --heads 6 --rows 3    # another one
    engine/tests/golden/qwen_image.py OUT --loop 5                       # and OUT/../e2e_NAME: a loop of the pipeline with it
    build/bin/ditbench golden OUT

Rows and columns are patches of the image. Without --unmasked every text has tokens that the mask hides, in its middle and
at its end. img_shapes, a list in the library, is a tensor here.
"""
import argparse
from pathlib import Path

import torch
from diffusers import FlowMatchEulerDiscreteScheduler, QwenImagePipeline, QwenImageTransformer2DModel
from export import randomise
from loop import record, text_mask, write_folder, write_loop


def make_inputs(args, config):
    return {
        "hidden_states": torch.randn(args.batch, args.rows * args.columns, config["in_channels"]),
        "encoder_hidden_states": torch.randn(args.batch, args.text, config["joint_attention_dim"]),
        "encoder_hidden_states_mask": text_mask(args),
        "timestep": torch.rand(args.batch),
        "img_shapes": torch.tensor([[1, args.rows, args.columns]] * args.batch),
    }


def forward(model, inputs):
    output = {}

    def keep(name):
        def hook(_, __, result):
            parts = result if isinstance(result, tuple) else (result,)
            names = (f"{name}_context", name) if name.startswith("block_") else tuple(
                f"{name}.{i}" if len(parts) > 1 else name for i in range(len(parts)))
            output.update({key: x.clone() for key, x in zip(names, parts)})
        return hook

    for i, block in enumerate(model.transformer_blocks):
        block.register_forward_hook(keep(f"block_{i}"))
    model.transformer_blocks[0].attn.register_forward_hook(keep("aux.block_0.attn"))
    for name in ("img_in", "txt_in", "time_text_embed"):
        getattr(model, name).register_forward_hook(keep(f"aux.{name}"))
    call = dict(inputs, img_shapes=[[tuple(shape)] for shape in inputs["img_shapes"].tolist()])
    output["output"] = model(**call, return_dict=False)[0]
    return output


def loop(model, args):
    """The pipeline's own loop, guided, from embeddings with the mask of each."""
    scheduler = FlowMatchEulerDiscreteScheduler(use_dynamic_shifting=True, shift=1.0, base_shift=0.5, max_shift=0.9,
                                                max_image_seq_len=8192, shift_terminal=0.02)
    pipe = QwenImagePipeline(scheduler=scheduler, vae=None, text_encoder=None, tokenizer=None, transformer=model)
    channels, dim = model.config.in_channels, model.config.joint_attention_dim
    inputs = {"latents": torch.randn(1, args.rows * args.columns, channels)}
    for name, hidden in (("", 0), ("negative_", 2)):
        mask = torch.ones(1, args.text).long()
        mask[:, args.text - hidden:] = 0
        inputs.update({f"{name}prompt_embeds": torch.randn(1, args.text, dim), f"{name}prompt_embeds_mask": mask})
    call = {"height": 16 * args.rows, "width": 16 * args.columns, "num_inference_steps": args.loop}
    output = record(pipe, {**inputs, **call, "true_cfg_scale": 4.0})
    inputs = {name.replace("embeds_mask", "attention_mask"): value for name, value in inputs.items()}
    write_loop(args.out, pipe, {**call, "guidance_scale": 4.0}, inputs, output,
               "from embeddings, with the mask of each; a guided token is as long as the positive one")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    for name, value in (("seed", 1), ("batch", 2), ("rows", 4), ("columns", 5), ("text", 7), ("layers", 2), ("heads", 4),
                        ("head", 8), ("text_dim", 40), ("channels", 4), ("loop", 0)):
        parser.add_argument("--" + name, type=int, default=value)
    parser.add_argument("--unmasked", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    third = args.head // 6 * 2
    model = QwenImageTransformer2DModel(
        in_channels=4 * args.channels, out_channels=args.channels, num_layers=args.layers, num_attention_heads=args.heads,
        attention_head_dim=args.head, joint_attention_dim=args.text_dim, axes_dims_rope=(args.head - 2 * third, third, third))
    model = model.float().eval()
    with torch.no_grad():
        randomise(model)
        inputs = make_inputs(args, model.config)
        output = forward(model, inputs)
    write_folder(args.out, model, inputs, output)
    if args.loop:
        with torch.no_grad():
            loop(model, args)


if __name__ == "__main__":
    main()
