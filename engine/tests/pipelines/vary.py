#!/usr/bin/env python3
"""Draws tiny pipelines of pictures and calls of them, and compares the engine with diffusers from prompt to picture.

    vary.py DITBENCH [KIND...] [--count 20] [--seed 1] [--ranks 1] [--keep FOLDER]

A draw differs in the pipeline (parts that are there, widths, schedulers, classes of tokenizers, types and shards of the stored weights) and in
the call (size, steps, guidance, prompts, pictures of each, length, seed, start picture). --ranks 2 or 4 also draws how ranks share the
work. Embeddings must agree to 1e-5, latents to 1e-4 (relative L2, float32), pictures to one level. Needs what export.py needs.
"""
import os
import random
import tempfile

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("DIFFUSERS_VERBOSITY", "error")

import diffusers
import draws
import numpy as np
import torch
import transformers
from parts import (bert, bert_tokenizer, clip, clip_tokenizer, mt5, mt5_tokenizer, projected_clip, shake, start_picture, t5,
                   t5_tokenizer, vae)
from PIL import Image
from safetensors.torch import load_file

PROMPTS = ["a red fox on the quiet hill", "", "  Three BIRDS over the lake, at dawn!  ", "🦊 on a hill 👩‍🚀, naïve café", "雨落在城市 at night",
           "a cat sleeps in the warm sun " * 30, "x", "(((red))) fox; 4k, 8k -- it's “sharp”\n\tand new", "ΣΟΦΟΣ ﬁne ½ <b>bold</b> &amp; AT&T"]
LIMITS = {"embeddings": 1e-5, "latents": 1e-4, "picture": 1}


# ---- pipelines ---------------------------------------------------------------------------------------------------------
def flow(r):
    if r.random() < 0.3:
        return diffusers.FlowMatchEulerDiscreteScheduler(use_dynamic_shifting=True, base_shift=r.choice([0.5, 0.3]), max_shift=r.choice([1.15, 2.0]))
    return diffusers.FlowMatchEulerDiscreteScheduler(shift=r.choice([1.0, 3.0, 0.7, 6.5]))


def betas(r):
    common = {"beta_start": r.choice([0.0001, 0.00085]), "beta_end": r.choice([0.02, 0.012]),
              "beta_schedule": r.choice(["linear", "scaled_linear"])}
    kind = r.randrange(6)
    if kind == 0:
        return diffusers.DDPMScheduler(**common, clip_sample=False, prediction_type=r.choice(["epsilon", "v_prediction"]))
    if kind == 1:
        return diffusers.DDIMScheduler(**common, clip_sample=False, steps_offset=1, prediction_type=r.choice(["epsilon", "v_prediction"]))
    if kind == 2:
        return diffusers.EulerDiscreteScheduler(**common)
    return diffusers.DPMSolverMultistepScheduler(**common, solver_order=r.choice([1, 2]), final_sigmas_type=r.choice(["zero", "sigma_min"]))


def picture_vae(r, channels=4, **more):
    quant = r.random() < 0.5
    if "levels" not in more:
        more["levels"] = r.choice([1, 2, 2, 3])
    if r.random() < 0.3:
        more.update(block_out_channels=[4] * more["levels"], norm_num_groups=r.choice([1, 2]))
    return shake(vae(use_quant_conv=quant, use_post_quant_conv=quant, scaling_factor=r.choice([0.18215, 0.3611, 1.5305]), latent_channels=channels,
                     layers_per_block=r.choice([1, 2]), **more), r.randrange(1000))


def either_t5(r, folder):
    """The fast class, or the slow one, which reads spiece.model."""
    fast = t5_tokenizer(folder, **({} if r.random() < 0.5 else {"normalization_rule_name": "identity"}))
    if r.random() < 0.6:
        return fast
    return transformers.T5Tokenizer(os.path.join(folder, "spiece.model"), extra_ids=8, legacy=r.random() < 0.5)


def feed_forward(r):
    return {"feed_forward_proj": r.choice(["gated-gelu", "gated-gelu", "relu"]), "d_ff": r.choice([37, 48])}


def either_clip(r, folder, **more):
    slow = clip_tokenizer(folder, **more)
    if r.random() < 0.7:
        return slow
    return transformers.CLIPTokenizerFast(os.path.join(folder, "vocab.json"), os.path.join(folder, "merges.txt"), model_max_length=77, **more)


def text_width(r):
    return r.choice([16, 32, 48])


def sd3(r, folder):
    first, second = either_clip(r, folder), either_clip(r, folder, **({"pad_token": "!"} if r.random() < 0.5 else {}))
    if r.random() < 0.2:
        first.model_max_length = second.model_max_length = 40
    small, middle, heads, pooled = text_width(r), text_width(r), r.choice([2, 4]), [text_width(r), text_width(r)]
    large = r.choice([32, small + middle, small + middle + 16])  # narrower than both is cut
    act = {"hidden_act": r.choice(["gelu", "quick_gelu"]), "intermediate_size": r.choice([37, 48]), "num_hidden_layers": r.choice([2, 5])}
    if r.random() < 0.3:
        act["eos_token_id"] = 2
    transformer = diffusers.SD3Transformer2DModel(
        sample_size=r.choice([8, 16, 32]), patch_size=r.choice([1, 2]), in_channels=4, out_channels=4, num_layers=r.choice([1, 2, 3]),
        attention_head_dim=16, num_attention_heads=heads, joint_attention_dim=large, caption_projection_dim=16 * heads,
        pooled_projection_dim=sum(pooled), pos_embed_max_size=r.choice([64, 96]), qk_norm=r.choice([None, "rms_norm"]), dual_attention_layers=r.choice([(), (0,)])).eval()
    tokens = either_t5(r, folder) if r.random() < 0.75 else None
    return diffusers.StableDiffusion3Pipeline(
        transformer=shake(transformer, 8), scheduler=flow(r), vae=picture_vae(r, shift_factor=r.choice([0.0609, 0.0])),
        text_encoder=shake(projected_clip(first, small, projection_dim=pooled[0], **act), 10), tokenizer=first,
        text_encoder_2=shake(projected_clip(second, middle, projection_dim=pooled[1], **act), 11), tokenizer_2=second,
        text_encoder_3=tokens and shake(t5(tokens, large, **feed_forward(r)), 12), tokenizer_3=tokens)


def flux(r, folder):
    first, second = either_clip(r, folder), either_t5(r, folder)
    width, pooled, channels = text_width(r), text_width(r), r.choice([4, 8])
    transformer = diffusers.FluxTransformer2DModel(
        patch_size=1, in_channels=4 * channels, num_layers=r.choice([1, 2]), num_single_layers=r.choice([1, 2]), attention_head_dim=16,
        num_attention_heads=r.choice([2, 4]), joint_attention_dim=width, pooled_projection_dim=pooled, guidance_embeds=r.random() < 0.5,
        axes_dims_rope=[4, 6, 6]).eval()
    return diffusers.FluxPipeline(scheduler=flow(r), vae=picture_vae(r, channels, shift_factor=0.1159), text_encoder=shake(clip(first, width=pooled), 2),
                                  tokenizer=first, text_encoder_2=shake(t5(second, width, **feed_forward(r)), 3), tokenizer_2=second, transformer=shake(transformer, 4))


def flux_beside(r, folder, pipeline, more):
    """Latents of a picture stand beside those that are denoised, and of Fill a mask's pixels, as many as a VAE's cell of two latents has."""
    base, levels, channels = flux(r, folder), r.choice([1, 2, 3]), r.choice([4, 8])
    mask = (2 << (levels - 1)) ** 2 if more else 0
    config = {key: value for key, value in base.transformer.config.items() if not key.startswith("_")}
    transformer = diffusers.FluxTransformer2DModel(**{**config, "in_channels": 8 * channels + mask, "out_channels": 4 * channels}).eval()
    parts = {name: part for name, part in base.components.items() if part is not None}
    return pipeline(**{**parts, "transformer": shake(transformer, 4), "vae": picture_vae(r, channels, shift_factor=0.1159, levels=levels)})


def flux_fill(r, folder):
    return flux_beside(r, folder, diffusers.FluxFillPipeline, True)


def flux_control(r, folder):
    return flux_beside(r, folder, diffusers.FluxControlPipeline, False)


def pixart(r, folder):
    tokens, width, learned, sized = either_t5(r, folder), text_width(r), r.random() < 0.7, r.random() < 0.5
    cls = r.choice([diffusers.PixArtAlphaPipeline, diffusers.PixArtSigmaPipeline])
    sized = sized and cls is diffusers.PixArtAlphaPipeline
    heads = 3 if sized else r.choice([2, 4])  # sizes are embedded in thirds of the channels
    transformer = diffusers.PixArtTransformer2DModel(
        num_attention_heads=heads, attention_head_dim=16, in_channels=4, out_channels=8 if learned else 4, num_layers=r.choice([1, 2]),
        cross_attention_dim=16 * heads, sample_size=128 if sized else r.choice([16, 32, 64]), caption_channels=width,
        use_additional_conditions=sized).eval()
    with torch.no_grad():
        transformer.proj_out.weight.mul_(0.3)
    return cls(tokens, shake(t5(tokens, width, **feed_forward(r)), 5), picture_vae(r), shake(transformer, 7), betas(r))


def hunyuandit(r, folder):
    by_clip = r.random() < 0.3
    first, second = clip_tokenizer(folder) if by_clip else bert_tokenizer(folder), mt5_tokenizer(folder)
    width, second_width = text_width(r), r.choice([16, 24])
    transformer = diffusers.HunyuanDiT2DModel(
        num_attention_heads=2, attention_head_dim=8, in_channels=4, patch_size=2, sample_size=8, hidden_size=16, num_layers=r.choice([2, 4]), mlp_ratio=2.0,
        cross_attention_dim=width, cross_attention_dim_t5=second_width, pooled_projection_dim=16, learn_sigma=True,
        use_style_cond_and_image_meta_size=r.random() < 0.5).eval()
    encoder = clip(first, width=width) if by_clip else bert(first, width)
    levels = 4 if r.random() < 0.8 else 1  # with one, all tokens of 16 x 16 pixels get one position
    return diffusers.HunyuanDiTPipeline(
        vae=picture_vae(r, levels=levels), text_encoder=shake(encoder, 14), tokenizer=first, transformer=shake(transformer, 15), scheduler=betas(r),
        safety_checker=None, feature_extractor=None, requires_safety_checker=False, text_encoder_2=shake(mt5(second, second_width), 16),
        tokenizer_2=second)


EMBEDS = {  # kind: how it is built, the names of what encode_prompt gives, and where a picture can start it, by which pipeline
    "sd3": (sd3, [["prompt_embeds", "negative_prompt_embeds", "pooled_prompt_embeds", "negative_pooled_prompt_embeds"]],
            diffusers.StableDiffusion3Img2ImgPipeline),
    "flux": (flux, [["prompt_embeds", "pooled_prompt_embeds"], ["negative_prompt_embeds", "negative_pooled_prompt_embeds"]],
             diffusers.FluxImg2ImgPipeline),
    "flux_fill": (flux_fill, [["prompt_embeds", "pooled_prompt_embeds"]], None),
    "flux_control": (flux_control, [["prompt_embeds", "pooled_prompt_embeds"]], None),
    "pixart": (pixart, [["prompt_embeds", "prompt_attention_mask", "negative_prompt_embeds", "negative_prompt_attention_mask"]], None),
    "hunyuandit": (hunyuandit, [["prompt_embeds", "negative_prompt_embeds", "prompt_attention_mask", "negative_prompt_attention_mask"],
                                ["prompt_embeds_2", "negative_prompt_embeds_2", "prompt_attention_mask_2", "negative_prompt_attention_mask_2"]], None),
}

FLUXES = "flux", "flux_fill", "flux_control"


# ---- calls -------------------------------------------------------------------------------------------------------------
def draw_call(r, kind, pipe):
    """Arguments by the names of `ditbench generate`."""
    scale = 2 ** (len(pipe.vae.config.block_out_channels) - 1)
    first = 64 if kind == "hunyuandit" else 8 * scale
    step = 16 if kind == "hunyuandit" else 8 if kind == "pixart" else 2 * scale
    if kind == "hunyuandit" and scale == 1:
        first, step = 16, 0
    call = {"prompt": [r.choice(PROMPTS) for _ in range(r.choice([1, 1, 1, 2, 3]))], "height": first + step * r.randrange(8),
            "width": first + step * r.randrange(8), "num_inference_steps": r.randint(1 + (kind == "pixart"), 6), "seed": r.choice([0, r.randrange(1 << 31), r.randrange(1 << 50)]),
            "num_images_per_prompt": r.choice([1, 1, 2])}
    if kind in FLUXES:
        call["guidance_scale"] = r.choice([0.0, 3.5])
        if kind == "flux" and r.random() < 0.3:
            call["true_cfg_scale"] = 2.5
            call["negative_prompt"] = r.choice(["rain", "🌧"])
    else:
        call["guidance_scale"] = r.choice([0.5, 1.0, 1.5, 5.5])
        if r.random() < 0.6:
            call["negative_prompt"] = r.choice(["", "rain", PROMPTS[5]])
    if kind != "hunyuandit" and r.random() < 0.8:
        call["max_sequence_length"] = r.choice([2, 16, 24, 77, 130])
    draw_texts(r, kind, call)
    if EMBEDS[kind][2] and r.random() < 0.3:
        call["strength"] = r.choice([0.3, 0.6, 0.95, 1.0])
    return call


def draw_texts(r, kind, call):
    """Texts of encoders behind the first one, for every prompt of the call, and blocks that SD3's CLIPs leave out."""
    own = {"sd3": ["prompt_2", "prompt_3", "negative_prompt_2", "negative_prompt_3"], "flux": ["prompt_2", "negative_prompt_2"]}
    for name in own.get(kind, ["prompt_2"] if kind in FLUXES else []):
        if r.random() < 0.25:
            call[name] = r.choice(PROMPTS[:5])
    if kind == "sd3" and r.random() < 0.25:
        call["clip_skip"] = 1


def draw_ranks(r, call, kind, ranks):
    guided = max(call["guidance_scale"] if kind not in FLUXES else 0, call.get("true_cfg_scale", 0)) > 1
    if ranks == 1:
        return []
    ways = [["--ulysses_degree", "2"], ["--ring_degree", "2"], ["--tensor_degree", "2"]] + [["--cfg_degree", "2"]] * (2 * guided)
    images = len(call["prompt"]) * call["num_images_per_prompt"]
    if images % 2 == 0:
        ways.append(["--data_degree", "2"])
    chosen = r.sample(ways, 1 if ranks == 2 else 2)
    while len({c[0] for c in chosen}) < len(chosen):
        chosen = r.sample(ways, len(chosen))
    shared = r.choice([[], ["--text_encoder_parallel", "broadcast"], ["--text_encoder_parallel", "tensor"]]
                      + [["--text_encoder_parallel", "cfg"]] * (guided and ["--cfg_degree", "2"] in chosen))
    return sum(chosen, []) + shared + r.choice([[], ["--stream_text_encoders"]]) + r.choice([[], ["--use_parallel_vae"]])


def of_diffusers(kind, pipe, call, pictures):
    """Embeddings by name, latents as planes, pictures."""
    made, names = {}, EMBEDS[kind][1]
    if "strength" in call:
        pipe = EMBEDS[kind][2](**{k: v for k, v in pipe.components.items() if v is not None or k == "text_encoder_3" or k == "tokenizer_3"})
    pipe.set_progress_bar_config(disable=True)
    more = dict(call)
    seed, one = more.pop("seed"), len(call["prompt"]) == 1
    if one:
        more["prompt"] = call["prompt"][0]
    if not one and "negative_prompt" in call and kind in ("sd3", "hunyuandit", "flux"):
        more["negative_prompt"] = [call["negative_prompt"]] * len(call["prompt"])
    for name in ("prompt_2", "prompt_3", "negative_prompt_2", "negative_prompt_3"):
        if name in more and not one:
            more[name] = [more[name]] * len(call["prompt"])
    if kind == "pixart":
        more.update(use_resolution_binning=False)
    if kind == "hunyuandit":
        more.update(use_resolution_binning=False)
    more.update(pictures)
    inner, calls = pipe.encode_prompt, []

    def recorded(*args, **kwargs):
        out = inner(*args, **kwargs)
        calls.append(out)
        return out

    def once(output):
        with torch.no_grad():
            return pipe(**more, generator=torch.Generator("cpu").manual_seed(seed), output_type=output)[0]

    pipe.encode_prompt = recorded
    latents = once("latent")
    pipe.encode_prompt = inner
    for row, out in zip(names, calls):
        made.update({name: tensor for name, tensor in zip(row, out) if tensor is not None})
    if hasattr(pipe, "_unpack_latents"):
        latents = pipe._unpack_latents(latents, call["height"], call["width"], pipe.vae_scale_factor)
    return made, latents[:, :, None], [np.asarray(p) for p in once("pil")]


def draw_pictures(r, kind, call):
    """Pictures that the call takes, by the pipeline's names: a start, or what stands beside the latents, with a mask of another size."""
    if kind == "flux_fill":
        width, height = r.randint(9, 60), r.randint(9, 60)
        mask = Image.new("L", (width, height))
        mask.paste(255, (r.randrange(5), r.randrange(5), r.randint(5, width), r.randint(5, height)))
        return {"image": Image.fromarray(start_picture()), "mask_image": mask}
    if kind == "flux_control":
        return {"control_image": Image.fromarray(start_picture())}
    return {"image": Image.fromarray(start_picture())} if "strength" in call else {}


def of_ours(program, folder, call, pictures, out, more):
    files = []
    for name, picture in pictures.items():
        picture.save(folder.parent / f"{name}.png")
        files += ["--mask_image" if "mask" in name else "--image", str(folder.parent / f"{name}.png")]
    draws.generate(program, folder, call, out, files + more)
    images = len(call["prompt"]) * call["num_images_per_prompt"]
    names = [out / "image.png"] if images == 1 else [out / f"image-{i}.png" for i in range(images)]
    return load_file(out / "embeddings.safetensors"), load_file(out / "latents.safetensors")["latents"], [np.asarray(Image.open(n)) for n in names]


# ---- comparing ---------------------------------------------------------------------------------------------------------
def distance(mine, theirs):
    theirs = theirs.to(torch.float64)
    mine = mine.to(torch.float64)
    if mine.shape != theirs.shape and mine.shape[1:] == theirs.shape[1:] and mine.shape[0] == 1:
        mine = mine.expand_as(theirs)
    if mine.shape != theirs.shape:
        return float("inf")
    return ((mine - theirs).norm() / theirs.norm().clamp(min=1e-30)).item()


def compare(ours, theirs):
    """What is too far off, as lines; and the largest distances."""
    wrong, worst = [], {}
    for name, tensor in theirs[0].items():
        far = distance(ours[0][name], tensor) if name in ours[0] else float("inf")
        worst["embeddings"] = max(worst.get("embeddings", 0), far)
        if not far <= LIMITS["embeddings"]:
            wrong.append(f"{name} {tuple(tensor.shape)}, ours {tuple(ours[0][name].shape) if name in ours[0] else None}: {far:.2e}")
    worst["latents"] = distance(ours[1], theirs[1])
    worst["picture"] = max(int(np.abs(a.astype(int) - b.astype(int)).max()) if a.shape == b.shape else 256 for a, b in zip(ours[2], theirs[2]))
    for key in ("latents", "picture"):
        if not worst[key] <= LIMITS[key]:
            wrong.append(f"{key}: {worst[key]}")
    return wrong, worst


def one(options, index, folder):
    """True: they agree; None: the mesh that was drawn is refused."""
    r = random.Random(f"{options.seed} {index}")
    kind = r.choice(options.kinds or list(EMBEDS))
    torch.manual_seed(r.randrange(1 << 31))
    with tempfile.TemporaryDirectory() as parts:
        pipe = EMBEDS[kind][0](r, parts)
        stored = r.choice([torch.float32, torch.bfloat16, torch.float16])
        pipe.to(stored)
        shards = {"max_shard_size": "60KB"} if r.random() < 0.4 else {}
        pipe.save_pretrained(folder / "pipeline", **shards)
        pipe.to(torch.float32)
        call = draw_call(r, kind, pipe)
        more = draw_ranks(r, call, kind, options.ranks)
        pictures = draw_pictures(r, kind, call)
        short = {**call, "prompt": [p[:40] for p in call["prompt"]], "negative_prompt": call.get("negative_prompt", "-")[:40]}
        told = f"{index} {kind} {type(pipe.scheduler).__name__} {str(stored)[6:]} {short} {' '.join(more)}"
        theirs = of_diffusers(kind, pipe, call, pictures)
        return draws.judge(told, lambda: of_ours(options.program, folder / "pipeline", call, pictures, folder / "out", more), theirs, compare)


if __name__ == "__main__":
    draws.main(__doc__, EMBEDS, 20, one)
