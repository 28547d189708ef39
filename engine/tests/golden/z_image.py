#!/usr/bin/env python3
"""Exports a golden folder of Z-Image's transformer from diffusers: config, random weights, inputs, one forward.

    pip install torch==2.15.0 diffusers==0.42.1 safetensors==0.8.0
    engine/tests/golden/z_image.py OUT                                # as engine/tests/golden/z_image was made
    engine/tests/golden/z_image.py OUT --seed 7 --heads 6 --rows 3    # another one
    engine/tests/golden/z_image.py OUT --loop 4                       # and OUT/../e2e_NAME: a loop of the pipeline with it
    build/bin/ditbench golden OUT

Rows and columns are patches of the image. Without --unmasked the texts differ in length, and the mask hides tokens in
their middle and at their end. Texts and images, lists in the library, are tensors here: a text is what the mask keeps.
Blocks record their image; with --unmasked, and a number of tokens that 32 divides, their text as well, and behind it
the padding of the image, whose tokens are all equal, 32 times.
"""
import argparse
from pathlib import Path

import torch
from diffusers import FlowMatchEulerDiscreteScheduler, ZImagePipeline, ZImageTransformer2DModel
from loop import export_in_two_bytes, record, write_loop

MULTIPLE = 32


def make_inputs(args, config):
    mask = torch.ones(args.batch, args.text).long()
    for b in range(0 if args.unmasked else args.batch):
        mask[b, args.text * 3 // (3 + 2 * b):] = 0
        mask[b, args.text // 3] = 0
    mask[:, 0] = 1
    side = config["all_patch_size"][0]
    return {
        "hidden_states": torch.randn(args.batch, config["in_channels"], side * args.rows, side * args.columns),
        "encoder_hidden_states": torch.randn(args.batch, args.text, config["cap_feat_dim"]),
        "encoder_attention_mask": mask,
        "timestep": torch.rand(args.batch),
    }


def keep_blocks(model, args, output):
    image, rest = args.rows * args.columns, -args.rows * args.columns % MULTIPLE

    def keep(name):
        def hook(_, __, x):
            if name.startswith(("block_", "aux.noise")):
                output[name] = x[:, :image].clone()
                if args.unmasked and args.text % MULTIPLE == 0 and name.startswith("block_"):
                    padding = x[:, image:image + 1].expand(-1, MULTIPLE if rest else 0, -1)
                    output[f"{name}_context"] = torch.cat([x[:, image + rest:], padding], 1)
            else:
                output[name] = x.clone()
        return hook

    for name, blocks in (("block", model.layers), ("aux.noise_refiner", model.noise_refiner)):
        for i, block in enumerate(blocks):
            block.register_forward_hook(keep(f"{name}_{i}"))
    model.t_embedder.register_forward_hook(keep("aux.t_embedder"))
    if args.unmasked and args.text % MULTIPLE == 0:
        for i, block in enumerate(model.context_refiner):
            block.register_forward_hook(keep(f"aux.context_refiner_{i}"))


def forward(model, args, inputs):
    output = {}
    keep_blocks(model, args, output)
    texts = [text[mask.bool()] for text, mask in zip(inputs["encoder_hidden_states"], inputs["encoder_attention_mask"])]
    images = [image.unsqueeze(1) for image in inputs["hidden_states"]]
    made = model(images, inputs["timestep"], texts, return_dict=False, patch_size=model.all_patch_size[0])[0]
    output["output"] = torch.stack(made).squeeze(2)
    return output


def loop(model, args):
    """The pipeline's own loop, guided, from embeddings of two lengths."""
    pipe = ZImagePipeline(scheduler=FlowMatchEulerDiscreteScheduler(shift=3.0), vae=None, text_encoder=None, tokenizer=None,
                          transformer=model)
    side = 8 * args.patch
    latents = torch.randn(1, args.channels, args.patch * args.rows, args.patch * args.columns)
    texts = {"prompt": torch.randn(1, args.text, args.text_dim), "negative_prompt": torch.randn(1, args.text, args.text_dim)}
    kept = {"prompt": args.text, "negative_prompt": args.text - 3}
    call = {"height": side * args.rows, "width": side * args.columns, "num_inference_steps": args.loop,
            "guidance_scale": args.guidance}
    given = {f"{name}_embeds": [text[0, :kept[name]]] for name, text in texts.items()}
    output = record(pipe, {"latents": latents, **given, **call})
    inputs = {"latents": latents}
    for name, text in texts.items():
        inputs.update({f"{name}_embeds": text, f"{name}_attention_mask": (torch.arange(args.text) < kept[name]).long()[None]})
    write_loop(args.out, pipe, call, inputs, output,
               "from embeddings of two lengths; guidance_scale times the difference is added to the positive prediction")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    for name, value in (("seed", 1), ("batch", 2), ("rows", 4), ("columns", 5), ("text", 40), ("layers", 2),
                        ("refiners", 2), ("heads", 4), ("head", 6), ("text_dim", 12), ("channels", 3), ("patch", 2),
                        ("loop", 0)):
        parser.add_argument("--" + name, type=int, default=value)
    parser.add_argument("--guidance", type=float, default=0.75)
    parser.add_argument("--unmasked", action="store_true")
    parser.add_argument("--plain", action="store_true", help="without norms of q and k")
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    third = args.head // 6 * 2
    model = ZImageTransformer2DModel(
        all_patch_size=(args.patch,), in_channels=args.channels, dim=args.heads * args.head, n_layers=args.layers,
        n_refiner_layers=args.refiners, n_heads=args.heads, n_kv_heads=args.heads, qk_norm=not args.plain,
        cap_feat_dim=args.text_dim, axes_dims=[args.head - 2 * third, third, third])
    export_in_two_bytes(args, model, make_inputs=lambda: make_inputs(args, model.config),
                        forward=lambda inputs: forward(model, args, inputs), loop=lambda: loop(model, args))


if __name__ == "__main__":
    main()
