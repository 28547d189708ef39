#!/usr/bin/env python3
"""Writes the embeddings of a prompt for `ditbench generate --inputs`, by the text encoders of a diffusers checkpoint.

  engine/tools/prompt_embeds.py CHECKPOINT --prompt "a cat on a sofa" --output prompt.safetensors
  build/bin/ditbench generate CHECKPOINT --inputs prompt.safetensors --output cat.png

CHECKPOINT is a folder with model_index.json, tokenizers and text encoders; neither the transformer nor the VAE is
loaded, and nothing is downloaded. Needs Python with diffusers, transformers, torch and safetensors. The file holds
what the pipeline's own encode_prompt returns, under the names of its arguments (prompt_embeds, pooled_prompt_embeds,
prompt_attention_mask, ...), numbers in fp32, masks in int64. Of image to video models the image's embeddings and
latents are not made.

Exit: 0; 2 a wrong argument, or a pipeline that is not known here; 4 a package is missing.
"""
import argparse
import inspect
import json
import os
import sys

PLAIN = ("prompt_embeds", "negative_prompt_embeds")
MASKED = ("prompt_embeds", "prompt_attention_mask", "negative_prompt_embeds", "negative_prompt_attention_mask")
HUNYUAN = ("prompt_embeds", "negative_prompt_embeds", "prompt_attention_mask", "negative_prompt_attention_mask")
# What encode_prompt returns, in its order; None is dropped.
RETURNED = {
    "PixArtAlphaPipeline": MASKED,
    "PixArtSigmaPipeline": MASKED,
    "FluxPipeline": ("prompt_embeds", "pooled_prompt_embeds", None),
    "StableDiffusion3Pipeline": (*PLAIN, "pooled_prompt_embeds", "negative_pooled_prompt_embeds"),
    "HunyuanDiTPipeline": HUNYUAN,
    "CogVideoXPipeline": PLAIN,
    "LTXConditionPipeline": MASKED,
    "LTXPipeline": MASKED,
    "LattePipeline": PLAIN,
    "MochiPipeline": MASKED,
    "WanPipeline": PLAIN,
    "WanImageToVideoPipeline": PLAIN,
    "HunyuanVideoPipeline": ("prompt_embeds", "pooled_prompt_embeds", "prompt_attention_mask"),
}


def fail(code, message):
    print(f"prompt_embeds.py: {message}", file=sys.stderr)
    sys.exit(code)


def class_of(checkpoint):
    try:
        with open(os.path.join(checkpoint, "model_index.json"), encoding="utf-8") as file:
            name = json.load(file).get("_class_name")
    except OSError as error:
        fail(2, f"{checkpoint} is no checkpoint folder: {error.strerror}: model_index.json")
    if name not in RETURNED:
        fail(2, f"{name} is not known here; there are {', '.join(sorted(RETURNED))}")
    return name


def load(name, checkpoint, dtype):
    try:
        import diffusers
        import torch
    except ImportError as error:
        fail(4, f"{error}; pip install diffusers transformers torch safetensors sentencepiece")
    pipeline = getattr(diffusers, name)
    return pipeline.from_pretrained(checkpoint, transformer=None, vae=None, local_files_only=True,
                                    torch_dtype=getattr(torch, dtype))


def default_of(function, argument):
    parameter = inspect.signature(function).parameters.get(argument)
    return None if parameter is None or parameter.default is parameter.empty else parameter.default


def encode(pipe, name, options, **more):
    """What encode_prompt returns for the prompt, by name; of the arguments only those that it has."""
    wanted = {
        "prompt": options.prompt,
        "negative_prompt": options.negative_prompt,
        "do_classifier_free_guidance": True,
        "device": options.device,
        "max_sequence_length": options.max_sequence_length or default_of(pipe.__call__, "max_sequence_length"),
        **more,
    }
    known = inspect.signature(pipe.encode_prompt).parameters
    values = pipe.encode_prompt(**{key: value for key, value in wanted.items() if key in known and value is not None},
                                **{key: None for key in ("prompt_2", "prompt_3")
                                   if key in known and known[key].default is inspect.Parameter.empty})
    return {key: value for key, value in zip(RETURNED[name], values) if key and value is not None}


def embeddings(pipe, name, options):
    if name != "HunyuanDiTPipeline":
        return encode(pipe, name, options)
    # Two encoders, each with a length of its own, as its __call__ has them.
    first = encode(pipe, name, options, text_encoder_index=0, max_sequence_length=77)
    second = encode(pipe, name, options, text_encoder_index=1, max_sequence_length=256)
    return {**first, **{f"{key}_2": value for key, value in second.items()}}


def write(tensors, path):
    import torch
    from safetensors.torch import save_file

    part = f"{path}.part"
    save_file({key: value.detach().to("cpu", torch.int64 if "mask" in key else torch.float32).contiguous()
               for key, value in tensors.items()}, part)
    os.replace(part, path)


def read_options():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkpoint", help="diffusers checkpoint folder")
    parser.add_argument("--prompt", required=True)
    parser.add_argument("--negative_prompt", default="", help="of the guidance branch (default: the empty text)")
    parser.add_argument("--max_sequence_length", type=int, help="tokens (default: the pipeline's)")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32", choices=["float32", "bfloat16", "float16"], help="of the encoders")
    parser.add_argument("--output", default="prompt.safetensors")
    return parser.parse_args()


def main():
    options = read_options()
    name = class_of(options.checkpoint)
    pipe = load(name, options.checkpoint, options.dtype).to(options.device)
    import torch

    with torch.no_grad():
        tensors = embeddings(pipe, name, options)
    write(tensors, options.output)
    for key, value in sorted(tensors.items()):
        print(f"{key}  {list(value.shape)}")
    print(options.output)


if __name__ == "__main__":
    main()
