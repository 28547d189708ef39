#!/usr/bin/env python3
"""What FluxKontextPipeline makes of the tiny pipeline flux and its start.png: reference.safetensors, latents and image_u8.

    kontext.py ENGINE_TESTS_PIPELINES/flux OUT

The picture is resized to 48x32 and stands behind the latent. The prompt's embeddings are those of expected.safetensors: newer
transformers read the folder's T5 tokenizer otherwise. diffusers 0.42.1; `ci/deps.sh census` makes what it needs.
"""
import argparse
import json
import os
import pathlib

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("DIFFUSERS_VERBOSITY", "error")

import numpy as np
import torch
from diffusers import FluxKontextPipeline
from PIL import Image
from safetensors.torch import load_file, save_file

WIDTH, HEIGHT = 48, 32  # of the reference


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    pipe = FluxKontextPipeline.from_pretrained(options.folder).to(torch.float32)
    pipe.set_progress_bar_config(disable=True)
    call = json.loads((options.folder / "call.json").read_text(encoding="utf-8"))
    seed = call.pop("seed")
    del call["prompt"]
    call |= {name: value for name, value in load_file(options.folder / "expected.safetensors").items() if name.endswith("prompt_embeds")}
    picture = pipe.image_processor.resize(Image.open(options.folder / "start.png").convert("RGB"), HEIGHT, WIDTH)

    def once(output):
        with torch.no_grad():
            return pipe(**call, image=picture, generator=torch.Generator("cpu").manual_seed(seed), output_type=output,
                        max_area=call["height"] * call["width"], _auto_resize=False)[0]

    latents = pipe._unpack_latents(once("latent"), call["height"], call["width"], pipe.vae_scale_factor)[:, :, None]
    images = torch.from_numpy(np.stack([np.asarray(p) for p in once("pil")]))
    options.out.mkdir(parents=True, exist_ok=True)
    save_file({"latents": latents.contiguous(), "image_u8": images}, options.out / "reference.safetensors")


if __name__ == "__main__":
    main()
