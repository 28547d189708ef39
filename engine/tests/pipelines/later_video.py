#!/usr/bin/env python3
"""Makes a whole tiny pipeline of clips by diffusers 0.42.1 (random weights, the small tokenizer of T5 in ../tokenizers) and what it
makes of a prompt.

    later_video.py ltx|ltx_timestep|ltx_condition|mochi OUT [--seed N] [--prompt TEXT] [--set KEY=VALUE]...

OUT becomes a folder as diffusers saves it, with expected.safetensors: input_ids (of the positive prompt), prompt_embeds and
prompt_attention_mask, negative_..., latents [1, channels, frames, height, width], image_u8 [1, frames, height, width, 3]; and
call.json, the arguments of the run, by the names of `ditbench generate`, of which --set changes one. Text encoders and VAEs are
stored in bf16, VAEs without their encoders' weights; diffusers runs all in float32. PyTorch's default generator, from which LTX-Video's
decoder draws, gets the seed just before the decode. Needs PyTorch 2.15.0, diffusers 0.42.1 and transformers 5.23.0 (ci/deps.sh census).
"""
import filecmp
import os
import pathlib
import shutil

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("DIFFUSERS_VERBOSITY", "error")

import torch
from diffusers import (AutoencoderKLLTXVideo, AutoencoderKLMochi, FlowMatchEulerDiscreteScheduler, LTXConditionPipeline, LTXPipeline, LTXVideoTransformer3DModel,
                       MochiPipeline, MochiTransformer3DModel)
from safetensors.torch import load_file, save_file
from transformers import T5TokenizerFast

from parts import WIDTH, call_of, clips, link, parser, save_run, shake, t5, watch_ids

HERE = pathlib.Path(__file__).resolve().parent


# ---- pipelines ---------------------------------------------------------------------------------------------------------
def tokenizer():
    made = T5TokenizerFast.from_pretrained(HERE.parent / "tokenizers" / "t5_fast")
    made.home = HERE.parent / "tokenizers" / "t5_fast"
    return made


def encoder(tokens):
    return t5(tokens, vocab_size=len(tokens) + 6)


def ltx_pipeline(**vae):
    tokens = tokenizer()
    stages = 3
    sizes = {"in_channels": 3, "out_channels": 3, "latent_channels": 8, "block_out_channels": [4] * stages, "patch_size": 2,
             "layers_per_block": [1] * (stages + 1), "down_block_types": ["LTXVideoDownBlock3D"] * stages, "downsample_type": ["conv"] * stages,
             "spatio_temporal_scaling": [True] * stages, "decoder_spatio_temporal_scaling": [True] * stages,
             "decoder_block_out_channels": [8] * stages, "decoder_layers_per_block": [1] * (stages + 1),
             "decoder_inject_noise": [False] * (stages + 1), "upsample_residual": [False] * stages, "upsample_factor": [1] * stages,
             "timestep_conditioning": False, "decoder_causal": False}
    made = AutoencoderKLLTXVideo(**{**sizes, **vae})
    made.latents_mean.normal_(0, 0.2)
    made.latents_std.uniform_(0.7, 1.4)
    transformer = LTXVideoTransformer3DModel(in_channels=8, out_channels=8, num_layers=2, num_attention_heads=2, attention_head_dim=12,
                                             cross_attention_dim=24, caption_channels=WIDTH)
    scheduler = FlowMatchEulerDiscreteScheduler(use_dynamic_shifting=True, base_shift=0.95, max_shift=2.05, base_image_seq_len=1024,
                                                max_image_seq_len=4096, shift_terminal=0.1)
    return LTXPipeline(scheduler, made, encoder(tokens), tokens, transformer)


def ltx():
    return ltx_pipeline()


def ltx_timestep():
    return ltx_pipeline(timestep_conditioning=True, decoder_inject_noise=[True, False, True, False], upsample_residual=[False, True, True],
                        decoder_block_out_channels=[4, 8, 16], upsample_factor=[1, 2, 2])


def ltx_condition():
    """As the folders of 0.9.5 and later have it, without conditions."""
    parts = ltx_timestep().components
    return LTXConditionPipeline(**{**parts, "scheduler": FlowMatchEulerDiscreteScheduler()})


def mochi():
    tokens = tokenizer()
    vae = AutoencoderKLMochi(encoder_block_out_channels=[32] * 4, decoder_block_out_channels=[32] * 4, layers_per_block=[1, 0, 0, 0, 1],
                             latent_channels=12)
    transformer = MochiTransformer3DModel(patch_size=2, num_attention_heads=2, attention_head_dim=8, num_layers=2, pooled_projection_dim=16,
                                          in_channels=12, text_embed_dim=WIDTH, time_embed_dim=16, max_sequence_length=24)
    return MochiPipeline(FlowMatchEulerDiscreteScheduler(invert_sigmas=True), vae, encoder(tokens), tokens, transformer)


KINDS = {"ltx": ltx, "ltx_timestep": ltx_timestep, "ltx_condition": ltx_condition, "mochi": mochi}
CALLS = {
    "ltx": {"guidance_scale": 3.0, "negative_prompt": "rain, blurred", "num_frames": 9, "max_sequence_length": 24},
    "ltx_timestep": {"guidance_scale": 3.0, "negative_prompt": "rain", "num_frames": 9, "max_sequence_length": 24, "decode_timestep": 0.05,
                     "decode_noise_scale": 0.025, "frame_rate": 24},
    "ltx_condition": {"guidance_scale": 3.0, "negative_prompt": "rain", "num_frames": 17, "max_sequence_length": 24, "decode_timestep": 0.05,
                      "frame_rate": 24},
    "mochi": {"guidance_scale": 4.5, "negative_prompt": "rain", "num_frames": 13, "max_sequence_length": 24, "width": 48},
}


# ---- files -------------------------------------------------------------------------------------------------------------
def write(pipe, out):
    """A folder as diffusers saves it; what computes afterwards is what is stored."""
    for seed, (name, part) in enumerate(sorted(pipe.components.items())):
        if isinstance(part, torch.nn.Module):
            shake(part.eval(), seed)
    if getattr(pipe.vae.config, "timestep_conditioning", False):
        pipe.vae.decoder.timestep_scale_multiplier.fill_(1000)
    for name in ("text_encoder", "vae"):
        getattr(pipe, name).to(torch.bfloat16)
    pipe.save_pretrained(out)
    for name in ("text_encoder", "vae"):
        getattr(pipe, name).to(torch.float32)
    path = pathlib.Path(out, "vae", "diffusion_pytorch_model.safetensors")
    save_file({key: value for key, value in load_file(path).items() if not key.startswith("encoder.")}, path)
    index = pathlib.Path(out, "model_index.json")
    index.write_text(index.read_text(encoding="utf-8").replace('"T5Tokenizer"', '"T5TokenizerFast"'), encoding="utf-8")
    link(pipe.tokenizer, pathlib.Path(out, "tokenizer"))


def share(out, twin):
    """Parts whose files are those of another pipeline beside this one are links to them."""
    for name in ("text_encoder", "transformer", "vae"):
        mine, other = pathlib.Path(out, name), pathlib.Path(out).parent / twin / name
        if other.is_dir() and not filecmp.cmpfiles(mine, other, os.listdir(mine), shallow=False)[1:] != ([], []):
            shutil.rmtree(mine)
            mine.symlink_to(pathlib.Path("..", twin, name))


# ---- runs --------------------------------------------------------------------------------------------------------------
def watch(pipe, seen):
    """Keeps the ids that the text encoder first gets, and what the pipeline encodes. Returns what ends it."""
    encode, names = pipe.encode_prompt, ["prompt_embeds", "prompt_attention_mask", "negative_prompt_embeds", "negative_prompt_attention_mask"]

    def noted(*args, **kwargs):
        made = encode(*args, **kwargs)
        seen.update(zip(names, made))
        return made

    end = watch_ids(pipe, seen)
    pipe.encode_prompt = noted
    return lambda: (end(), pipe.__dict__.pop("encode_prompt"))


def sample(pipe, call, output):
    pipe.set_progress_bar_config(disable=True)
    seed, decode = call["seed"], pipe.vae.decode

    def seeded(*args, **kwargs):
        torch.manual_seed(seed)
        return decode(*args, **kwargs)

    pipe.vae.decode = seeded
    made = pipe(**{k: v for k, v in call.items() if k != "seed"}, generator=torch.Generator("cpu").manual_seed(seed), output_type=output)[0]
    pipe.vae.__dict__.pop("decode")
    return made


def expect(pipe, call):
    seen = {}
    end = watch(pipe, seen)
    latents = sample(pipe, call, "latent")
    end()
    if isinstance(pipe, LTXPipeline):
        frames = (call["num_frames"] - 1) // pipe.vae_temporal_compression_ratio + 1
        space = pipe.vae_spatial_compression_ratio
        latents = pipe._unpack_latents(latents, frames, call["height"] // space, call["width"] // space)
    return {**seen, "latents": latents, "image_u8": clips(sample(pipe, call, "pil"))}


def main():
    options = parser(__doc__, KINDS, "a red fox runs over the quiet hill, at dawn; 3 birds").parse_args()
    pipe = KINDS[options.kind]()
    write(pipe, options.out)
    call = call_of(options, CALLS, 64)
    if options.kind == "ltx_condition":
        share(options.out, "ltx_timestep")
    save_run(expect(pipe, call), call, options.out)


if __name__ == "__main__":
    with torch.no_grad():
        main()
