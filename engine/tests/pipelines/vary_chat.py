#!/usr/bin/env python3
"""Draws tiny pipelines whose text encoder is a chat model, and of clips, and calls of them, and compares the engine with diffusers from
prompt to picture, as vary.py does for others.

    vary_chat.py DITBENCH [KIND...] [--count 10] [--seed 1] [--ranks 1] [--keep FOLDER]

A draw differs in the text encoder (layers, heads, widths), the scheduler, the type of the stored weights and in the call (size, steps,
guidance, prompts, pictures of each, length, seed); transformers are those of ../golden, but of clips. --ranks 2 or 4 also draws how
ranks share the work. Latents must agree to 1e-4 (relative L2, float32), pictures and frames to one level. Needs PyTorch 2.15.0, diffusers 0.42.1 and transformers
5.23.0 (ci/deps.sh census).
"""
import os
import random
from types import SimpleNamespace

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("DIFFUSERS_VERBOSITY", "error")

import chat
import draws
import numpy as np
import torch
from diffusers import AutoencoderKLWan, FlowMatchEulerDiscreteScheduler, WanPipeline, WanTransformer3DModel
from parts import WIDTH, shake, t5
from PIL import Image
from safetensors.torch import load_file
from transformers import T5TokenizerFast, UMT5Config, UMT5EncoderModel

PROMPTS = ["a red fox on the quiet hill", "", "  Three BIRDS over the lake, at dawn!  ", "🦊 on a hill, naïve café", "雨落在城市 at night",
           "a cat sleeps in the warm sun " * 20, "x", "(((red))) fox; 4k -- it's “sharp”\n\tand new"]
LIMITS = {"latents": 1e-4, "picture": 1}
# kind: sides of a picture that are drawn, in pixels; lengths of texts; whether it is guided without a negative prompt
KINDS = {"lumina2": ([32, 48, 64, 80], [24, 60, 130], True), "z_image": ([16, 32, 48, 80], [20, 40, 90], True),
         "qwen_image": ([16, 32, 48], [60, 130, 300], False), "sana": ([64, 96, 128], [8, 60, 130], True),
         "wan": ([32, 48, 64], [8, 16, 60], True)}


# ---- pipelines ---------------------------------------------------------------------------------------------------------
def wan(r):
    tokens = chat.tokenizer(T5TokenizerFast, "umt5")
    heads, head = r.choice([2, 4]), r.choice([12, 16, 24])
    transformer = WanTransformer3DModel(num_attention_heads=heads, attention_head_dim=head, in_channels=16, out_channels=16, text_dim=WIDTH,
                                        freq_dim=r.choice([16, 32]), ffn_dim=r.choice([32, 40]), num_layers=r.choice([1, 2]),
                                        cross_attn_norm=r.random() < 0.5, rope_max_seq_len=32)
    vae = AutoencoderKLWan(base_dim=4, z_dim=16, dim_mult=r.choice([[1, 2, 2, 2], [1, 1, 2, 4]]), num_res_blocks=r.choice([1, 2]))
    return WanPipeline(tokenizer=tokens, text_encoder=t5(tokens, vocab_size=len(tokens) + 6, config=UMT5Config, model=UMT5EncoderModel),
                       vae=vae.eval(), scheduler=FlowMatchEulerDiscreteScheduler(shift=3.0), transformer=transformer.eval())


def draw_part(r, kind):
    """What differs in a text encoder of the kind."""
    part = {"num_hidden_layers": r.choice([2, 3, 4]), "intermediate_size": r.choice([24, 40])}
    if kind != "qwen_image":
        part.update(r.choice([{"num_attention_heads": 4, "num_key_value_heads": 2}, {"num_attention_heads": 2, "num_key_value_heads": 1},
                              {"num_attention_heads": 2, "num_key_value_heads": 2}]))
    return part


def build(r, kind):
    pipe = wan(r) if kind == "wan" else chat.KINDS[kind][0](SimpleNamespace(part=draw_part(r, kind)))
    for seed, (_, part) in enumerate(sorted(pipe.components.items())):
        if kind == "wan" and isinstance(part, torch.nn.Module):
            shake(part, seed)
    if kind != "sana":
        shift = {"use_dynamic_shifting": True} if kind == "qwen_image" else {"shift": r.choice([1.0, 3.0, 6.0])}
        pipe.scheduler.register_to_config(**shift)
        pipe.scheduler = type(pipe.scheduler).from_config(pipe.scheduler.config)
    return pipe


# ---- calls -------------------------------------------------------------------------------------------------------------
def draw_call(r, kind):
    sides, lengths, alone = KINDS[kind]
    several = r.choice([1, 1, 1, 2])
    call = {"prompt": [r.choice(PROMPTS) for _ in range(several)], "height": r.choice(sides), "width": r.choice(sides),
            "num_inference_steps": r.randint(2, 5), "seed": r.choice([0, r.randrange(1 << 31)]), "guidance_scale": r.choice([0.5, 1.0, 1.5, 5.5]),
            "max_sequence_length": r.choice(lengths), "num_images_per_prompt": r.choice([1, 1, 2])}
    if not alone or r.random() < 0.7:
        call["negative_prompt"] = r.choice(["", "rain", PROMPTS[5]])
    if kind == "wan":
        call["num_frames"] = r.choice([1, 5, 9])
    if kind == "lumina2" and r.random() < 0.5:
        call.update({"cfg_trunc_ratio": r.choice([0.5, 1.0]), "cfg_normalization": r.choice([0, 1])})
    return call


def draw_ranks(r, kind, ranks):
    ways = [["--ulysses_degree", "2"], ["--tensor_degree", "2"], ["--cfg_degree", "2"]] + [["--ring_degree", "2"]] * (kind != "sana")
    chosen = r.sample(ways, {1: 0, 2: 1, 4: 2}[ranks])
    return sum(chosen, []) + r.choice([[], ["--text_encoder_parallel", "broadcast"]]) * (ranks > 1)


def of_diffusers(kind, pipe, call):
    """Latents as planes, and the frames of each picture or clip."""
    pipe.set_progress_bar_config(disable=True)
    given = {name: value for name, value in call.items() if name != "seed"}
    several = len(given["prompt"]) > 1
    given["prompt"] = given["prompt"] if several else given["prompt"][0]
    if several and "negative_prompt" in given:
        given["negative_prompt"] = [given["negative_prompt"]] * len(given["prompt"])
    if "cfg_normalization" in given:
        given["cfg_normalization"] = bool(given["cfg_normalization"])
    if kind == "wan":
        given["num_videos_per_prompt"] = given.pop("num_images_per_prompt")
    given = chat.arguments(kind, given)

    def once(output):
        return pipe(**given, generator=torch.Generator("cpu").manual_seed(call["seed"]), output_type=output)[0]

    latents = once("latent")
    if kind == "qwen_image":
        latents = pipe._unpack_latents(latents, call["height"], call["width"], pipe.vae_scale_factor)
    pictures = once("pil")
    frames = [[np.asarray(frame) for frame in clip] if kind == "wan" else [np.asarray(clip)] for clip in pictures]
    return latents if latents.ndim == 5 else latents[:, :, None], frames


def of_ours(program, folder, call, out, more):
    draws.generate(program, folder, call, out, ["--frames", "numbered", *more])
    images = len(call["prompt"]) * call["num_images_per_prompt"]
    frames = []
    for i in range(images):
        name = out / ("image" if images == 1 else f"image-{i}")
        files = sorted(name.glob("*.png")) if name.is_dir() else [name.with_suffix(".png")]
        frames.append([np.asarray(Image.open(file)) for file in files])
    return load_file(out / "latents.safetensors")["latents"], frames


# ---- comparing ---------------------------------------------------------------------------------------------------------
def compare(ours, theirs):
    if ours[0].shape != theirs[0].shape:
        return [f"latents {tuple(ours[0].shape)}, theirs {tuple(theirs[0].shape)}"], {}
    far = ((ours[0].double() - theirs[0].double()).norm() / theirs[0].double().norm().clamp(min=1e-30)).item()
    levels = [int(np.abs(a.astype(int) - b.astype(int)).max()) if a.shape == b.shape else 256
              for mine, other in zip(ours[1], theirs[1]) for a, b in zip(mine, other)]
    same = len(ours[1]) == len(theirs[1]) and all(len(a) == len(b) for a, b in zip(ours[1], theirs[1]))
    worst = {"latents": far, "picture": max(levels) if same else 256}
    return [f"{key}: {value}" for key, value in worst.items() if not value <= LIMITS[key]], worst


def one(options, index, folder):
    """True: they agree; None: the mesh that was drawn is refused."""
    r = random.Random(f"{options.seed} {index}")
    kind = r.choice(options.kinds or list(KINDS))
    torch.manual_seed(r.randrange(1 << 31))
    pipe = build(r, kind)
    stored = r.choice([torch.float32, torch.bfloat16])
    for name in ("text_encoder", "vae", "transformer"):
        chat.store(getattr(pipe, name), stored)
    pipe.save_pretrained(folder / "pipeline")
    for name in ("text_encoder", "vae", "transformer"):
        chat.store(getattr(pipe, name), torch.float32)
    chat.link(pipe.tokenizer, folder / "pipeline" / "tokenizer")
    call, more = draw_call(r, kind), draw_ranks(r, kind, options.ranks)
    short = {**call, "prompt": [p[:30] for p in call["prompt"]], "negative_prompt": call.get("negative_prompt", "-")[:20]}
    told = f"{index} {kind} {str(stored)[6:]} {short} {' '.join(more)}"
    theirs = of_diffusers(kind, pipe, call)
    return draws.judge(told, lambda: of_ours(options.program, folder / "pipeline", call, folder / "out", more), theirs, compare)


if __name__ == "__main__":
    draws.main(__doc__, KINDS, 10, one)
