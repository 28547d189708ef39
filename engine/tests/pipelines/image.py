"""Tiny pipelines of pictures: how each is built, and what is kept of a call. KINDS is the table."""
import os

import torch
from diffusers import (DDPMScheduler, DPMSolverMultistepScheduler, FlowMatchEulerDiscreteScheduler, FluxControlPipeline,
                       FluxFillPipeline, FluxImg2ImgPipeline, FluxPipeline,
                       FluxTransformer2DModel, HunyuanDiT2DModel, HunyuanDiTPipeline, PixArtSigmaPipeline, PixArtTransformer2DModel,
                       SD3Transformer2DModel, StableDiffusion3Img2ImgPipeline, StableDiffusion3Pipeline)
from PIL import Image
from parts import (WIDTH, bert, bert_tokenizer, clip, clip_tokenizer, ids, mt5, mt5_tokenizer, projected_clip, run, save, shake,
                   start_picture, t5, t5_tokenizer, vae)

SD3_WIDTHS = 16, 24, 48  # CLIP-L, CLIP-G, T5: wider than both, so that zeros fill up


# ---- pipelines ---------------------------------------------------------------------------------------------------------
def flux(folder, pipeline=FluxPipeline, pieces=None, **channels):
    clip_tokens, t5_tokens = clip_tokenizer(folder), t5_tokenizer(folder, **(pieces or {}))
    transformer = FluxTransformer2DModel(patch_size=1, **{"in_channels": 16, **channels}, num_layers=1, num_single_layers=1, attention_head_dim=16,
                                         num_attention_heads=2, joint_attention_dim=WIDTH, pooled_projection_dim=WIDTH,
                                         guidance_embeds=False, axes_dims_rope=[4, 6, 6]).eval()
    scheduler = FlowMatchEulerDiscreteScheduler(shift=1.0)
    return pipeline(scheduler=scheduler, vae=shake(vae(use_quant_conv=False, use_post_quant_conv=False, shift_factor=0.1159,
                                                    scaling_factor=0.3611), 1),
                text_encoder=shake(clip(clip_tokens), 2), tokenizer=clip_tokens, text_encoder_2=shake(t5(t5_tokens), 3),
                tokenizer_2=t5_tokens, transformer=shake(transformer, 4))


def flux_fill(folder):
    """A masked picture's latents and the mask's pixels stand beside those that are denoised: a cell is 2 x 2 pixels."""
    return flux(folder, FluxFillPipeline, {"normalization_rule_name": "identity"}, in_channels=16 + 16 + 16, out_channels=16)


def flux_control(folder):
    """As Depth and Canny."""
    return flux(folder, FluxControlPipeline, {"normalization_rule_name": "identity"}, in_channels=16 + 16, out_channels=16)


def pixart(folder):
    tokens = t5_tokenizer(folder)
    transformer = PixArtTransformer2DModel(num_attention_heads=2, attention_head_dim=16, in_channels=4, out_channels=8, num_layers=2,
                                           cross_attention_dim=WIDTH, sample_size=16, caption_channels=WIDTH,
                                           use_additional_conditions=False).eval()
    with torch.no_grad():
        transformer.proj_out.weight.mul_(0.3)
    return PixArtSigmaPipeline(tokens, shake(t5(tokens), 5), shake(vae(scaling_factor=0.13025), 6), shake(transformer, 7),
                               DPMSolverMultistepScheduler(beta_end=0.004))


def sd3(folder):
    """As SD3.5: normalised heads, a second attention in the first block; the second tokenizer pads with "!"."""
    first, second = clip_tokenizer(folder), clip_tokenizer(folder, pad_token="!")
    t5_tokens = t5_tokenizer(folder, normalization_rule_name="identity")
    small, middle, large = SD3_WIDTHS
    transformer = SD3Transformer2DModel(sample_size=16, patch_size=2, in_channels=4, out_channels=4, num_layers=2, attention_head_dim=16,
                                        num_attention_heads=2, joint_attention_dim=large, caption_projection_dim=WIDTH,
                                        pooled_projection_dim=small + middle, pos_embed_max_size=24, qk_norm="rms_norm",
                                        dual_attention_layers=[0]).eval()
    return StableDiffusion3Pipeline(
        transformer=shake(transformer, 8), scheduler=FlowMatchEulerDiscreteScheduler(shift=3.0),
        vae=shake(vae(use_quant_conv=False, use_post_quant_conv=False, shift_factor=0.0609, scaling_factor=1.5305), 9),
        text_encoder=shake(projected_clip(first, small), 10), tokenizer=first,
        text_encoder_2=shake(projected_clip(second, middle, hidden_act="gelu"), 11), tokenizer_2=second,
        text_encoder_3=shake(t5(t5_tokens, large), 12), tokenizer_3=t5_tokens)


def hunyuandit(folder):
    """As 1.1: style and sizes are conditions. The pipeline counts on a VAE of a factor of 8."""
    first, second = bert_tokenizer(folder), mt5_tokenizer(folder)
    transformer = HunyuanDiT2DModel(num_attention_heads=2, attention_head_dim=8, in_channels=4, patch_size=2, sample_size=8,
                                    hidden_size=16, num_layers=2, mlp_ratio=2.0, cross_attention_dim=WIDTH,
                                    cross_attention_dim_t5=24, pooled_projection_dim=16).eval()
    scheduler = DDPMScheduler(beta_start=0.00085, beta_end=0.02, beta_schedule="scaled_linear", prediction_type="v_prediction",
                              steps_offset=1, clip_sample=False)
    return HunyuanDiTPipeline(vae=shake(vae(levels=4, scaling_factor=0.13025), 13), text_encoder=shake(bert(first), 14), tokenizer=first,
                              transformer=shake(transformer, 15), scheduler=scheduler, safety_checker=None, feature_extractor=None,
                              requires_safety_checker=False, text_encoder_2=shake(mt5(second, 24), 16), tokenizer_2=second)


# ---- calls -------------------------------------------------------------------------------------------------------------
def run_binned(pipe, call, options):
    """binned.safetensors: the picture of a transformer whose sample_size has a table of sizes; 48 x 32 is sampled as 304 x 208."""
    binned = PixArtTransformer2DModel.from_config({**pipe.transformer.config, "sample_size": 32}).eval()
    binned.load_state_dict(pipe.transformer.state_dict())
    pipe = PixArtSigmaPipeline(**{**pipe.components, "transformer": binned})
    made = run(pipe, {**call, "num_inference_steps": 2}, options.seed, clean_caption=False)
    save({"image_u8": made["image_u8"]}, options.out, "binned.safetensors", image_u8=torch.float32)


def run_pixart(pipe, call, options):
    call.update(negative_prompt="rain", guidance_scale=4.5, max_sequence_length=24)
    positive, mask, negative, negative_mask = pipe.encode_prompt(options.prompt, negative_prompt="rain", max_sequence_length=24)
    expected = {"prompt_embeds": positive, "negative_prompt_embeds": negative, "prompt_attention_mask": mask,
                "negative_prompt_attention_mask": negative_mask, "input_ids": ids(pipe.tokenizer, options.prompt.lower().strip(), 24)}
    expected.update(run(pipe, call, options.seed, use_resolution_binning=False, clean_caption=False))
    save(expected, options.out, "expected.safetensors")
    run_binned(pipe, call, options)


def run_from_picture(pipe, call, options):
    """image.safetensors: a run that begins with start.png."""
    image = Image.fromarray(start_picture())
    image.save(os.path.join(options.out, "start.png"))
    more = {"num_inference_steps": 5, "strength": 0.6}
    save(run(pipe, {**call, **more}, options.seed, image=image), options.out, "image.safetensors")


def run_texts(pipe, call, options, **texts):
    """texts.safetensors: each encoder reads a text of its own."""
    save({"latents": run(pipe, {**call, **texts}, options.seed)["latents"]}, options.out, "texts.safetensors")


def flux_texts(pipe, options):
    embeds, pooled, _ = pipe.encode_prompt(options.prompt, None, max_sequence_length=24)
    return {"prompt_embeds": embeds, "pooled_prompt_embeds": pooled, "input_ids": ids(pipe.tokenizer, options.prompt, 77),
            "input_ids_2": ids(pipe.tokenizer_2, options.prompt, 24)}


def run_flux(pipe, call, options):
    call.update(guidance_scale=0.0, max_sequence_length=24)
    expected = {**flux_texts(pipe, options), **run(pipe, call, options.seed)}
    save(expected, options.out, "expected.safetensors")
    run_texts(pipe, call, options, prompt_2="the blue sea", negative_prompt="rain", negative_prompt_2="snow", true_cfg_scale=2.0)
    run_from_picture(FluxImg2ImgPipeline(**pipe.components), call, options)


def run_beside(pipe, call, options, **pictures):
    """Also what the transformer gets beside the latents; two.safetensors: of two prompts at once."""
    call.update(guidance_scale=3.5, max_sequence_length=24)
    expected, seen = flux_texts(pipe, options), []
    for name, image in pictures.items():
        image.save(os.path.join(options.out, "mask.png" if "mask" in name else "start.png"))
    end = pipe.transformer.register_forward_pre_hook(
        lambda _, __, given: seen.append(given["hidden_states"][..., 16:].clone()), with_kwargs=True).remove
    expected.update(run(pipe, call, options.seed, **pictures), latent_condition=seen[0])
    end()
    save(expected, options.out, "expected.safetensors")
    two = {**call, "prompt": [options.prompt, "the blue sea"]}
    save({"latents": run(pipe, two, options.seed, **pictures)["latents"]}, options.out, "two.safetensors")


def run_flux_fill(pipe, call, options):
    """A mask with edges that resizing blurs, of another size than the picture."""
    mask = Image.new("L", (50, 30))
    mask.paste(255, (11, 7, 33, 22))
    run_beside(pipe, call, options, image=Image.fromarray(start_picture()), mask_image=mask)


def run_flux_control(pipe, call, options):
    run_beside(pipe, call, options, control_image=Image.fromarray(start_picture()))


def run_without_t5(pipe, call, options):
    """without_t5.safetensors: of two prompts, two pictures each. The pipeline gives pictures pooled text of another prompt."""
    pipe = StableDiffusion3Pipeline(**{**pipe.components, "text_encoder_3": None, "tokenizer_3": None})
    seen, encode = {}, pipe.encode_prompt

    def noted(*args, **kwargs):
        made = encode(*args, **kwargs)
        seen["pooled_prompt_embeds"] = made[2]
        return made

    pipe.encode_prompt = noted
    more = {"prompt": [options.prompt, "the blue sea"], "negative_prompt": ["rain"] * 2, "num_images_per_prompt": 2}
    latents = run(pipe, {**call, **more}, options.seed)["latents"]
    save({"latents": latents, **seen}, options.out, "without_t5.safetensors")


def run_sd3(pipe, call, options):
    call.update(negative_prompt="rain", guidance_scale=3.5, max_sequence_length=24)
    embeds, negative, pooled, negative_pooled = pipe.encode_prompt(options.prompt, None, None, negative_prompt="rain", max_sequence_length=24)
    expected = {"prompt_embeds": embeds, "negative_prompt_embeds": negative, "pooled_prompt_embeds": pooled,
                "negative_pooled_prompt_embeds": negative_pooled, "input_ids": ids(pipe.tokenizer, options.prompt, 77),
                "input_ids_2": ids(pipe.tokenizer_2, options.prompt, 77), "input_ids_3": ids(pipe.tokenizer_3, options.prompt, 24)}
    expected.update(run(pipe, call, options.seed))
    save(expected, options.out, "expected.safetensors")
    run_texts(pipe, call, options, prompt_2="the blue sea", prompt_3="3 birds", negative_prompt_2="snow", negative_prompt_3="night", clip_skip=1)
    run_without_t5(pipe, call, options)
    run_from_picture(StableDiffusion3Img2ImgPipeline(**{k: v for k, v in pipe.components.items() if v is not None}), call, options)


def run_hunyuandit(pipe, call, options):
    call.update(negative_prompt="雨", guidance_scale=5.0)
    expected = {"input_ids": ids(pipe.tokenizer, options.prompt, 77), "input_ids_2": ids(pipe.tokenizer_2, options.prompt, 256)}
    for index, end, length in ((0, "", 77), (1, "_2", 256)):
        made = pipe.encode_prompt(options.prompt, negative_prompt="雨", max_sequence_length=length, text_encoder_index=index)
        names = "prompt_embeds", "negative_prompt_embeds", "prompt_attention_mask", "negative_prompt_attention_mask"
        expected.update({name + end: tensor for name, tensor in zip(names, made)})
    expected.update(run(pipe, call, options.seed, use_resolution_binning=False))
    save(expected, options.out, "expected.safetensors")


FOX = "a red fox on the quiet hill, at dawn; 3 birds"
KINDS = {  # kind: how it is built, how it is run, the type of the stored weights, its prompt, height and width
    "flux": (flux, run_flux, torch.float32, FOX, 32, 48),
    "flux_fill": (flux_fill, run_flux_fill, torch.bfloat16, FOX, 32, 48),
    "flux_control": (flux_control, run_flux_control, torch.bfloat16, FOX, 32, 48),
    "pixart": (pixart, run_pixart, torch.float32, FOX, 32, 48),
    "sd3": (sd3, run_sd3, torch.bfloat16, FOX, 32, 40),
    "hunyuandit": (hunyuandit, run_hunyuandit, torch.bfloat16, "一只红色的狐狸坐在山上, at dawn", 64, 96),
}
