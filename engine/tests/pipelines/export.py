#!/usr/bin/env python3
"""Makes whole tiny pipelines (random weights, tokenizers of the same kind made small) and what diffusers makes of a prompt.

    export.py OUT [KIND...] [--seed N] [--prompt TEXT]

OUT gets a folder for each KIND (all of them when none is named) as diffusers saves it, with expected.safetensors: input_ids, input_ids_2
(of the positive prompt), prompt_embeds, pooled_prompt_embeds, prompt_attention_mask, negative_..., latents [1, channels, 1, height, width],
image_u8 [1, height, width, 3]; and call.json, the arguments. Where a pipeline starts from a picture, too: start.png, image.safetensors
with latents and image_u8 at strength 0.6 in 5 steps. Where it takes one beside the latents: start.png, mask.png, latent_condition, and
two.safetensors, latents of two prompts. All is computed in float32, of the weights that are stored. `ci/deps.sh census` makes what it needs.
"""
import argparse
import json
import os
import pathlib
import tempfile

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("DIFFUSERS_VERBOSITY", "error")

import image
import torch

KINDS = image.KINDS


def export(kind, options):
    build, run, stored, prompt, height, width = KINDS[kind]
    out = pathlib.Path(options.folder, kind)
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        pipe = build(folder)
        pipe.to(stored)
        pipe.save_pretrained(out)
        pipe.to(torch.float32)
    for json_file in out.glob("tokenizer*/tokenizer.json"):
        twin = json_file.with_name("spiece.model")
        twin.unlink(missing_ok=True)  # tokenizer.json says all that the fast tokenizers read
    prompt = options.prompt or prompt
    call = {"prompt": prompt, "height": height, "width": width, "num_inference_steps": 4}
    run(pipe, call, argparse.Namespace(out=str(out), prompt=prompt, seed=options.seed))
    call["seed"] = options.seed
    (out / "call.json").write_text(json.dumps(call, indent=1) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--prompt")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for kind in options.kinds or KINDS:
        if kind not in KINDS:
            parser.error(f"{kind} is none of {', '.join(KINDS)}")
        with torch.no_grad():
            export(kind, options)


if __name__ == "__main__":
    main()
