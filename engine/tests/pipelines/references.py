#!/usr/bin/env python3
"""What FLUX.2's pipelines make of the tiny pipelines flux2 and flux2_klein beside pictures as references.

    references.py OUT

OUT gets first.png and second.png; KIND_one.safetensors, latents and image_u8 beside the first; KIND_two.safetensors, beside both. No
side of the pictures is whole tokens, so that their middles are taken. diffusers 0.42.1; `ci/deps.sh census` makes what it needs.
"""
import argparse
import json
import os
import pathlib

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("DIFFUSERS_VERBOSITY", "error")

import numpy as np
import torch
from diffusers import DiffusionPipeline
from safetensors.torch import save_file

import chat
from seen import SIDES, draw

TOKENIZERS = {"flux2_klein": lambda: chat.tokenizer(chat.Qwen2Tokenizer, "qwen2", chat.QWEN3_TEMPLATE),
              "flux2": lambda: chat.tokenizer(chat.PreTrainedTokenizerFast, "mistral", chat.MISTRAL_TEMPLATE)}
HERE = pathlib.Path(__file__).resolve().parent


def make(kind, pictures, out):
    pipe = DiffusionPipeline.from_pretrained(HERE / kind, tokenizer=None, dtype=torch.float32)
    pipe.tokenizer = TOKENIZERS[kind]()
    pipe.set_progress_bar_config(disable=True)
    call = json.loads((HERE / kind / "call.json").read_text(encoding="utf-8"))
    seed, normed = call.pop("seed"), []
    unpack = pipe._unpack_latents_with_ids  # the pipeline gives latents as its VAE takes them, and we as it denoises them
    pipe._unpack_latents_with_ids = lambda *args: normed.append(unpack(*args)) or normed[-1]
    for count, name in ((1, "one"), (2, "two")):
        with torch.no_grad():
            made = pipe(**call, image=pictures[:count], generator=torch.Generator("cpu").manual_seed(seed), output_type="pil")[0]
        latents = pipe._unpatchify_latents(normed[-1])[:, :, None]
        images = torch.from_numpy(np.stack([np.asarray(p) for p in made]))
        save_file({"latents": latents.contiguous(), "image_u8": images}, out / f"{kind}_{name}.safetensors")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("out", type=pathlib.Path)
    out = parser.parse_args().out
    torch.set_num_threads(1)
    out.mkdir(parents=True, exist_ok=True)
    pictures = [draw(*sides) for sides in SIDES]
    for picture, file in zip(pictures, ("first.png", "second.png")):
        picture.save(out / file)
    for kind in TOKENIZERS:
        make(kind, pictures, out)


if __name__ == "__main__":
    main()
