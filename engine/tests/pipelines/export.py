#!/usr/bin/env python3
"""Makes a whole tiny pipeline (random weights, tokenizers of the same kind made small) and what diffusers makes of a prompt.

    export.py flux|pixart OUT [--seed N] [--prompt TEXT]

OUT becomes a folder as diffusers saves it, with expected.safetensors: input_ids, input_ids_2 (of the positive prompt),
prompt_embeds, pooled_prompt_embeds, prompt_attention_mask, latents [1, channels, 1, height, width], image_u8 [1, height, width, 3];
and call.json, the arguments. FLUX also starts from a picture: start.png, image.safetensors with latents and image_u8 of
FluxImg2ImgPipeline at strength 0.6 in 5 steps. Needs torch 2.6, diffusers 0.33.1, transformers 4.51.3, sentencepiece.
"""
import argparse
import json
import os
import pathlib
import tempfile

import numpy as np
import torch
from diffusers import (AutoencoderKL, DPMSolverMultistepScheduler, FlowMatchEulerDiscreteScheduler, FluxImg2ImgPipeline, FluxPipeline,
                       FluxTransformer2DModel, PixArtSigmaPipeline, PixArtTransformer2DModel)
from safetensors.torch import save_file
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTokenizer, T5Config, T5EncoderModel, T5TokenizerFast

TEXT = ["a small red fox sits on a green hill", "the old house by the blue sea", "three birds over a quiet lake at dawn",
        "a bowl of fruit on a wooden table", "rain falls on the city at night", "a cat sleeps in the warm sun"] * 30
WIDTH = 32


def t5_tokenizer(folder):
    import sentencepiece

    text = os.path.join(folder, "text")
    pathlib.Path(text).write_text("\n".join(TEXT), encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(input=text, model_prefix=os.path.join(folder, "spiece"), vocab_size=48, pad_id=0,
                                             eos_id=1, unk_id=2, bos_id=-1, model_type="unigram", byte_fallback=False,
                                             minloglevel=2)
    return T5TokenizerFast(os.path.join(folder, "spiece.model"), extra_ids=8)


def bytes_to_unicode():
    kept = list(range(ord("!"), ord("~") + 1)) + list(range(0xA1, 0xAD)) + list(range(0xAE, 0x100))
    extra, table = 0, {}
    for b in range(256):
        table[b] = chr(b) if b in kept else chr(256 + extra)
        extra += b not in kept
    return table


def clip_tokenizer(folder):
    merges = [("a", "t</w>"), ("t", "h"), ("th", "e</w>"), ("i", "n"), ("r", "e"), ("re", "d</w>"), ("f", "o"), ("fo", "x</w>"), ("o", "n</w>")]
    letters = list(bytes_to_unicode().values())
    vocabulary = letters + [c + "</w>" for c in letters] + ["".join(m) for m in merges] + ["<|startoftext|>", "<|endoftext|>"]
    ids = {token: i for i, token in enumerate(dict.fromkeys(vocabulary))}
    pathlib.Path(folder, "vocab.json").write_text(json.dumps(ids), encoding="utf-8")
    pathlib.Path(folder, "merges.txt").write_text("#version: 0.2\n" + "\n".join(" ".join(m) for m in merges) + "\n", encoding="utf-8")
    return CLIPTokenizer(os.path.join(folder, "vocab.json"), os.path.join(folder, "merges.txt"), model_max_length=77)


def t5(tokenizer):
    return T5EncoderModel(T5Config(vocab_size=len(tokenizer) + 8, d_model=WIDTH, d_kv=8, d_ff=48, num_layers=2, num_heads=4,
                                   feed_forward_proj="gated-gelu")).eval()


def clip(tokenizer):
    return CLIPTextModel(CLIPTextConfig(vocab_size=len(tokenizer), hidden_size=WIDTH, intermediate_size=48, num_hidden_layers=2,
                                        num_attention_heads=4, bos_token_id=tokenizer.bos_token_id,
                                        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id)).eval()


def vae(**more):
    return AutoencoderKL(down_block_types=["DownEncoderBlock2D"] * 2, up_block_types=["UpDecoderBlock2D"] * 2, latent_channels=4,
                         block_out_channels=[8, 16], norm_num_groups=4, sample_size=32, **more).eval()


def shake(model, seed):
    """Makes norms, biases and gates non-trivial."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim < 2:
                parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))
    return model


def flux(folder):
    clip_tokens, t5_tokens = clip_tokenizer(folder), t5_tokenizer(folder)
    transformer = FluxTransformer2DModel(patch_size=1, in_channels=16, num_layers=1, num_single_layers=1, attention_head_dim=16,
                                         num_attention_heads=2, joint_attention_dim=WIDTH, pooled_projection_dim=WIDTH,
                                         guidance_embeds=False, axes_dims_rope=[4, 6, 6]).eval()
    scheduler = FlowMatchEulerDiscreteScheduler(shift=1.0)
    return FluxPipeline(scheduler=scheduler, vae=shake(vae(use_quant_conv=False, use_post_quant_conv=False, shift_factor=0.1159,
                                                    scaling_factor=0.3611), 1),
                text_encoder=shake(clip(clip_tokens), 2), tokenizer=clip_tokens, text_encoder_2=shake(t5(t5_tokens), 3),
                tokenizer_2=t5_tokens, transformer=shake(transformer, 4))


def pixart(folder):
    tokens = t5_tokenizer(folder)
    transformer = PixArtTransformer2DModel(num_attention_heads=2, attention_head_dim=16, in_channels=4, out_channels=8, num_layers=2,
                                           cross_attention_dim=WIDTH, sample_size=16, caption_channels=WIDTH,
                                           use_additional_conditions=False).eval()
    with torch.no_grad():
        transformer.proj_out.weight.mul_(0.3)
    return PixArtSigmaPipeline(tokens, shake(t5(tokens), 5), shake(vae(scaling_factor=0.13025), 6), shake(transformer, 7),
                               DPMSolverMultistepScheduler(beta_end=0.004))


def start_picture():
    y, x = np.mgrid[0:40, 0:56]
    return np.stack([x * 4, y * 6, (x + y) * 2], axis=-1).astype(np.uint8)


def run(pipe, call, seed, **more):
    """Latents as planes, and the picture, of one call each."""
    pipe.set_progress_bar_config(disable=True)

    def once(output):
        with torch.no_grad():
            return pipe(**call, **more, generator=torch.Generator("cpu").manual_seed(seed), output_type=output)[0]

    latents = once("latent")
    if hasattr(pipe, "_unpack_latents"):
        latents = pipe._unpack_latents(latents, call["height"], call["width"], pipe.vae_scale_factor)
    picture = np.stack([np.asarray(p) for p in once("pil")])
    return {"latents": latents[:, :, None], "image_u8": torch.from_numpy(picture)}


def save(tensors, *path):
    save_file({k: v.detach().to(torch.float32).contiguous() for k, v in tensors.items()}, os.path.join(*path))


def ids(tokenizer, text, length):
    return tokenizer(text, padding="max_length", max_length=length, truncation=True, return_tensors="pt").input_ids


def run_pixart(pipe, call, options):
    call.update(negative_prompt="rain", guidance_scale=4.5, max_sequence_length=24)
    positive, mask, negative, negative_mask = pipe.encode_prompt(options.prompt, negative_prompt="rain", max_sequence_length=24)
    expected = {"prompt_embeds": positive, "negative_prompt_embeds": negative, "prompt_attention_mask": mask,
                "negative_prompt_attention_mask": negative_mask, "input_ids": ids(pipe.tokenizer, options.prompt.lower().strip(), 24)}
    expected.update(run(pipe, call, options.seed, use_resolution_binning=False, clean_caption=False))
    save(expected, options.out, "expected.safetensors")


def run_flux(pipe, call, options):
    from PIL import Image

    call.update(guidance_scale=0.0, max_sequence_length=24)
    embeds, pooled, _ = pipe.encode_prompt(options.prompt, None, max_sequence_length=24)
    expected = {"prompt_embeds": embeds, "pooled_prompt_embeds": pooled, "input_ids": ids(pipe.tokenizer, options.prompt, 77),
                "input_ids_2": ids(pipe.tokenizer_2, options.prompt, 24)}
    expected.update(run(pipe, call, options.seed))
    save(expected, options.out, "expected.safetensors")
    image = Image.fromarray(start_picture())
    image.save(os.path.join(options.out, "start.png"))
    other = FluxImg2ImgPipeline(**pipe.components)
    save(run(other, {**call, "num_inference_steps": 5, "strength": 0.6}, options.seed, image=image), options.out, "image.safetensors")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("kind", choices=["flux", "pixart"])
    parser.add_argument("out")
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--prompt", default="a red fox on the quiet hill, at dawn; 3 birds")
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        pipe = {"flux": flux, "pixart": pixart}[options.kind](folder)
        pipe.save_pretrained(options.out)
    for twin in pathlib.Path(options.out).glob("tokenizer*/spiece.model"):
        twin.unlink()  # tokenizer.json beside it says all that the fast tokenizers read
    call = {"prompt": options.prompt, "height": 32, "width": 48, "num_inference_steps": 4}
    {"flux": run_flux, "pixart": run_pixart}[options.kind](pipe, call, options)
    call["seed"] = options.seed
    pathlib.Path(options.out, "call.json").write_text(json.dumps(call, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    with torch.no_grad():
        main()
