#!/usr/bin/env python3
"""Exports a golden folder of another size and seed from diffusers: a model of an existing folder's config.

    pip install torch diffusers==0.33.1 safetensors        # nothing else of this project needs Python
    engine/tests/golden/export.py engine/tests/golden/wan_t2v OUT --seed 7 --batch 3 --height 20 --width 8
    build/bin/ditbench golden OUT

The config is the template's, the weights are random with variance 1/fan_in, and so are the inputs. Sizes are cells of
the latent. Rotary tables that belong to an input's size are made by the library; masks keep their first token.
"""
import argparse
import json
import os

import diffusers
import torch
from safetensors.torch import load_file, save_file


def randomise(model):
    for name, parameter in model.named_parameters():
        if "table" in name:
            parameter.normal_(0, 0.4)
        elif parameter.dim() >= 2:
            parameter.normal_(0, parameter[0].numel() ** -0.5)
        elif name.endswith("bias"):
            parameter.normal_(0, 0.1)
        else:
            parameter.normal_(1, 0.1)


def resize(name, tensor, args, packed):
    """The template's tensor with this run's extents."""
    shape = [args.batch] + list(tensor.shape[1:])
    if name in ("hidden_states", "latents") and not packed:
        shape[-2:] = [args.height, args.width]
    if name == "hidden_states" and packed:
        shape[1] = args.height // 2 * (args.width // 2)
    if tensor.dtype != torch.int64:
        fresh = torch.randn(shape)
        return torch.rand(shape) * (1 if packed else 999) if name == "timestep" else fresh
    if "mask" in name:
        fresh = (torch.rand(shape) > 0.3).long()
        fresh[:, 0] = 1
        return fresh
    return torch.zeros(shape).long() if name == "style" else torch.randint(0, 1000, shape)


def rotary(model, args):
    from diffusers.models.embeddings import get_2d_rotary_pos_embed

    width = model.config.attention_head_dim
    grid = (args.height // 2, args.width // 2)
    return get_2d_rotary_pos_embed(width, ((0, 0), grid), grid, output_type="pt")


def make_inputs(model, template, args):
    packed = "img_ids" in template
    inputs = {}
    for name, tensor in template.items():
        if name.startswith("image_rotary_emb") or name in ("img_ids", "txt_ids"):
            continue
        inputs[name] = resize(name, tensor, args, packed)
    if packed:
        rows, columns = args.height // 2, args.width // 2
        ids = torch.zeros(rows * columns, 3)
        ids[:, 1] = torch.arange(rows).repeat_interleave(columns)
        ids[:, 2] = torch.arange(columns).repeat(rows)
        inputs.update(img_ids=ids, txt_ids=torch.zeros_like(template["txt_ids"]))
    if "guidance" in inputs:
        inputs["guidance"] = torch.full((args.batch,), float(template["guidance"][0]))
    if "image_meta_size" in inputs:
        inputs["image_meta_size"] = torch.tensor([[1024.0, 1024, 8 * args.height, 8 * args.width, 0, 0]] * args.batch)
    if "image_rotary_emb_cos" in template:
        if "HunyuanDiT" not in type(model).__name__:
            raise SystemExit("this family's rotary table is made by its pipeline: not exported here")
        inputs["image_rotary_emb_cos"], inputs["image_rotary_emb_sin"] = rotary(model, args)
    return inputs


def forward(model, inputs):
    call = dict(inputs)
    if "image_rotary_emb_cos" in call:
        call["image_rotary_emb"] = (call.pop("image_rotary_emb_cos"), call.pop("image_rotary_emb_sin"))
    if "PixArt" in type(model).__name__:
        sizes = {key: call.pop(key, None) for key in ("resolution", "aspect_ratio")}
        call["added_cond_kwargs"] = sizes
    return {"output": model(**call, return_dict=False)[0]}


def code(model, inputs):
    result = {"output": model.decode(inputs["latents"], return_dict=False)[0]}
    if "encode_image" in inputs:
        moments = model.encode(inputs["encode_image"]).latent_dist
        result.update(encode_mean=moments.mean, encode_logvar=moments.parameters.chunk(2, 1)[1])
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("template")
    parser.add_argument("out")
    for name, value in (("seed", 1), ("batch", 2), ("height", 12), ("width", 20)):
        parser.add_argument("--" + name, type=int, default=value)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    with open(os.path.join(args.template, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    model = getattr(diffusers, config["_class_name"]).from_config(config).float().eval()
    template = load_file(os.path.join(args.template, "inputs.safetensors"))
    with torch.no_grad():
        randomise(model)
        inputs = make_inputs(model, template, args)
        output = (code if "latents" in inputs else forward)(model, inputs)
    os.makedirs(args.out, exist_ok=True)
    with open(os.path.join(args.out, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file, indent=2)
    for name, tensors in (("diffusion_pytorch_model", model.state_dict()), ("inputs", inputs), ("output", output)):
        tensors = {key: value.contiguous() for key, value in tensors.items()}
        save_file(tensors, os.path.join(args.out, name + ".safetensors"))


if __name__ == "__main__":
    main()
