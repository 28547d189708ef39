#!/usr/bin/env python3
"""Makes a whole tiny pipeline of clips (random weights, the small tokenizers of ../tokenizers) and what diffusers makes of a prompt.

    video.py wan|wan_a14b|wan_i2v|wan_ti2v|hunyuan_video|cogvideox|latte OUT [--seed N] [--prompt TEXT] [--set KEY=VALUE]...

OUT becomes a folder as diffusers saves it, with expected.safetensors: input_ids, input_ids_2 (of the positive prompt), the
embeddings that encode_prompt gives, latents [1, channels, frames, height, width], image_u8 [1, frames, height, width, 3]; and
call.json, the arguments of the run, by the names of `ditbench generate`, of which --set changes one; of wan_i2v and
wan_ti2v start.png, the first frame. Text encoders
and VAEs are stored in bf16, transformers in shards; diffusers runs all in float32. Needs what export.py needs;
wan_a14b, whose second transformer takes over below a timestep of 875, and wan_ti2v need diffusers 0.35.2. The folder of wan_ti2v is
WanPipeline's, as Wan 2.2 TI2V-5B is published, and WanImageToVideoPipeline makes of it what is expected.
"""
import os
import pathlib
import shutil

import numpy as np
import torch
from diffusers import (AutoencoderKL, AutoencoderKLCogVideoX, AutoencoderKLHunyuanVideo, AutoencoderKLWan, CogVideoXDDIMScheduler,
                       CogVideoXPipeline, CogVideoXTransformer3DModel, DDIMScheduler, FlowMatchEulerDiscreteScheduler,
                       HunyuanVideoPipeline, HunyuanVideoTransformer3DModel, LattePipeline, LatteTransformer3DModel,
                       UniPCMultistepScheduler, WanImageToVideoPipeline, WanPipeline, WanTransformer3DModel)
from transformers import (CLIPImageProcessor, CLIPTokenizer, CLIPVisionConfig, CLIPVisionModel, LlamaConfig, LlamaModel, LlamaTokenizerFast,
                          T5Tokenizer, T5TokenizerFast, UMT5Config, UMT5EncoderModel)

from PIL import Image

import parts
from parts import WIDTH, call_of, clip, clips, parser, save_run, shake, start_picture, watch_ids, without_ftfy

HERE = pathlib.Path(__file__).resolve().parent
TOKENIZERS = HERE.parent / "tokenizers"


# ---- parts -------------------------------------------------------------------------------------------------------------
def tokenizer(cls, name):
    made = cls.from_pretrained(TOKENIZERS / name)
    made.folder = name
    return without_ftfy(made) if cls is CLIPTokenizer else made


def t5(tokens, **more):
    return parts.t5(tokens, vocab_size=len(tokens) + 6, **more)


def llama(tokens):
    return LlamaModel(LlamaConfig(vocab_size=len(tokens), hidden_size=WIDTH, intermediate_size=48, num_hidden_layers=4,
                                  num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=512))


def clip_vision():
    return CLIPVisionModel(CLIPVisionConfig(hidden_size=WIDTH, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
                                            image_size=32, patch_size=2, hidden_act="gelu"))


# ---- pipelines ---------------------------------------------------------------------------------------------------------
def wan_transformer():
    return WanTransformer3DModel(num_attention_heads=2, attention_head_dim=12, in_channels=16, out_channels=16, text_dim=WIDTH,
                                 freq_dim=32, ffn_dim=32, num_layers=2, cross_attn_norm=True, rope_max_seq_len=32)


def wan(flow_shift=3.0, **more):
    tokens = tokenizer(T5TokenizerFast, "umt5")
    transformer = wan_transformer()
    return WanPipeline(tokens, t5(tokens, config=UMT5Config, model=UMT5EncoderModel), transformer=transformer,
                       vae=AutoencoderKLWan(base_dim=4, z_dim=16, dim_mult=[1, 2, 2, 2], num_res_blocks=1),
                       scheduler=UniPCMultistepScheduler(prediction_type="flow_prediction", use_flow_sigmas=True,
                                                         num_train_timesteps=1000, flow_shift=flow_shift), **more)


def wan_a14b():
    return wan(flow_shift=12.0, transformer_2=wan_transformer(), boundary_ratio=0.875)


def wan_i2v():
    tokens = tokenizer(T5TokenizerFast, "umt5")
    transformer = WanTransformer3DModel(num_attention_heads=2, attention_head_dim=12, in_channels=20, out_channels=8, text_dim=WIDTH,
                                        freq_dim=32, ffn_dim=32, num_layers=1, rope_max_seq_len=32, image_dim=WIDTH,
                                        added_kv_proj_dim=24)
    vae = AutoencoderKLWan(base_dim=4, z_dim=8, dim_mult=[1, 1, 2, 2], num_res_blocks=1,
                           latents_mean=[-0.8, -0.7, -0.9, 0.1, -0.2, 1.0, -0.2, 1.5],
                           latents_std=[2.8, 1.5, 2.3, 2.7, 1.2, 1.8, 2.6, 2.1])
    return WanImageToVideoPipeline(tokens, t5(tokens, config=UMT5Config, model=UMT5EncoderModel), clip_vision(),
                                   CLIPImageProcessor(size=32, crop_size=32), transformer, vae,
                                   FlowMatchEulerDiscreteScheduler(shift=3.0))


def wan_ti2v():
    tokens = tokenizer(T5TokenizerFast, "umt5")
    transformer = WanTransformer3DModel(num_attention_heads=2, attention_head_dim=12, in_channels=8, out_channels=8, text_dim=WIDTH,
                                        freq_dim=32, ffn_dim=32, num_layers=2, rope_max_seq_len=32)
    vae = AutoencoderKLWan(base_dim=4, decoder_base_dim=4, z_dim=8, dim_mult=[1, 1, 2, 2], num_res_blocks=1, is_residual=True, in_channels=12,
                           out_channels=12, patch_size=2, scale_factor_temporal=4, scale_factor_spatial=16,
                           latents_mean=[-0.8, -0.7, -0.9, 0.1, -0.2, 1.0, -0.2, 1.5],
                           latents_std=[2.8, 1.5, 2.3, 2.7, 1.2, 1.8, 2.6, 2.1])
    scheduler = UniPCMultistepScheduler(prediction_type="flow_prediction", use_flow_sigmas=True, num_train_timesteps=1000, flow_shift=5.0)
    return WanImageToVideoPipeline(tokenizer=tokens, text_encoder=t5(tokens, config=UMT5Config, model=UMT5EncoderModel), vae=vae,
                                   scheduler=scheduler, transformer=transformer, expand_timesteps=True)


def hunyuan_video():
    tokens, tokens_2 = tokenizer(LlamaTokenizerFast, "llama"), tokenizer(CLIPTokenizer, "clip")
    transformer = HunyuanVideoTransformer3DModel(in_channels=8, out_channels=8, num_attention_heads=2, attention_head_dim=12,
                                                 num_layers=1, num_single_layers=1, num_refiner_layers=1, patch_size=2, patch_size_t=1,
                                                 guidance_embeds=True, text_embed_dim=WIDTH, pooled_projection_dim=WIDTH,
                                                 rope_axes_dim=(4, 4, 4))
    vae = AutoencoderKLHunyuanVideo(latent_channels=8, block_out_channels=(8, 8, 8, 8), layers_per_block=1, norm_num_groups=4)
    return HunyuanVideoPipeline(llama(tokens), tokens, transformer, vae, FlowMatchEulerDiscreteScheduler(shift=7.0), clip(tokens_2),
                                tokens_2)


def cogvideox():
    tokens = tokenizer(T5Tokenizer, "t5")
    transformer = CogVideoXTransformer3DModel(num_attention_heads=2, attention_head_dim=16, in_channels=8, out_channels=8,
                                              text_embed_dim=WIDTH, time_embed_dim=8, num_layers=2, sample_width=6, sample_height=4,
                                              sample_frames=9, max_text_seq_length=24, use_rotary_positional_embeddings=True)
    stages = 4
    vae = AutoencoderKLCogVideoX(down_block_types=("CogVideoXDownBlock3D",) * stages, up_block_types=("CogVideoXUpBlock3D",) * stages,
                                 block_out_channels=(8, 8, 8, 8), latent_channels=8, layers_per_block=1, norm_num_groups=4,
                                 scaling_factor=0.7)
    scheduler = CogVideoXDDIMScheduler(beta_schedule="scaled_linear", beta_start=0.00085, beta_end=0.012, prediction_type="v_prediction",
                                       rescale_betas_zero_snr=True, snr_shift_scale=1.0, timestep_spacing="trailing")
    return CogVideoXPipeline(tokens, t5(tokens), vae, transformer, scheduler)


def latte():
    tokens = tokenizer(T5Tokenizer, "t5")
    transformer = LatteTransformer3DModel(num_attention_heads=2, attention_head_dim=12, in_channels=4, out_channels=8, num_layers=1,
                                          cross_attention_dim=24, attention_bias=True, sample_size=16, patch_size=2,
                                          activation_fn="gelu-approximate", num_embeds_ada_norm=1000, norm_type="ada_norm_single",
                                          norm_elementwise_affine=False, norm_eps=1e-6, caption_channels=WIDTH, video_length=5)
    with torch.no_grad():
        transformer.proj_out.weight.mul_(0.3)
    vae = AutoencoderKL(down_block_types=["DownEncoderBlock2D"] * 4, up_block_types=["UpDecoderBlock2D"] * 4, latent_channels=4,
                        block_out_channels=[8, 8, 8, 8], norm_num_groups=4, layers_per_block=1, sample_size=32)
    return LattePipeline(tokens, t5(tokens), vae, transformer, DDIMScheduler(beta_schedule="linear", clip_sample=False))


KINDS = {"wan": wan, "wan_a14b": wan_a14b, "wan_i2v": wan_i2v, "wan_ti2v": wan_ti2v,
         "hunyuan_video": hunyuan_video, "cogvideox": cogvideox, "latte": latte}
CALLS = {
    "wan": {"guidance_scale": 5.0, "negative_prompt": "rain, blurred", "num_frames": 9, "max_sequence_length": 24},
    "wan_a14b": {"guidance_scale": 4.0, "guidance_scale_2": 3.0, "negative_prompt": "rain", "num_frames": 5, "max_sequence_length": 16,
                 "num_inference_steps": 6},
    "wan_i2v": {"guidance_scale": 4.0, "negative_prompt": "rain, blurred", "num_frames": 5, "max_sequence_length": 16},
    "wan_ti2v": {"guidance_scale": 5.0, "negative_prompt": "rain, blurred", "num_frames": 9, "max_sequence_length": 16, "width": 128},
    "hunyuan_video": {"guidance_scale": 6.0, "num_frames": 9, "max_sequence_length": 24},
    "cogvideox": {"guidance_scale": 6.0, "negative_prompt": "rain", "num_frames": 9, "max_sequence_length": 24},
    "latte": {"guidance_scale": 7.5, "negative_prompt": "rain", "num_frames": 5},
}


# ---- files -------------------------------------------------------------------------------------------------------------
def is_halved(name):
    """Whether a part's weights lie on the disk in bf16."""
    return name.startswith(("text_encoder", "image_encoder", "vae"))


def settle(pipe):
    """Weights that are not trivial, as they will be stored."""
    for seed, (name, part) in enumerate(sorted(pipe.components.items())):
        if isinstance(part, torch.nn.Module):
            shake(part.eval(), seed)
        if is_halved(name) and part is not None:
            part.to(torch.bfloat16).to(torch.float32)


def write(pipe, out):
    """A folder as diffusers saves it; tokenizers are links to ours."""
    published = pipe
    if pipe.config.get("expand_timesteps"):
        parts = {name: part for name, part in pipe.components.items() if not name.startswith("image_") and name != "transformer_2"}
        published = WanPipeline(**parts, expand_timesteps=True)
    published.save_pretrained(out)
    for name, part in pipe.components.items():
        folder = pathlib.Path(out, name)
        if part is None:
            continue
        if name.startswith("tokenizer"):
            shutil.rmtree(folder)
            folder.symlink_to(os.path.relpath(TOKENIZERS / part.folder, pathlib.Path(out).resolve()))
        elif is_halved(name):
            part.to(torch.bfloat16).save_pretrained(folder)
            part.to(torch.float32)
        elif name.startswith("transformer"):
            shutil.rmtree(folder)
            part.save_pretrained(folder, max_shard_size="100KB")


# ---- runs --------------------------------------------------------------------------------------------------------------
def arguments(pipe, call):
    """A call by the names of the pipeline."""
    out = {k: v for k, v in call.items() if k not in ("seed", "num_images_per_prompt")}
    is_latte = isinstance(pipe, LattePipeline)
    if is_latte:
        out["video_length"] = out.pop("num_frames")
    if "num_images_per_prompt" in call:
        out["num_images_per_prompt" if is_latte else "num_videos_per_prompt"] = call["num_images_per_prompt"]
    return out


def sample(pipe, call, output, image):
    pipe.set_progress_bar_config(disable=True)
    more = {} if image is None else {"image": image}
    with torch.no_grad():
        return pipe(**arguments(pipe, call), **more, generator=torch.Generator("cpu").manual_seed(call["seed"]), output_type=output)[0]


def watch_embeddings(pipe, seen):
    """Keeps what the pipeline encodes; HunyuanVideo encodes its negative prompt by a second call. Returns what ends it."""
    encode, names = pipe.encode_prompt, ["prompt_embeds", "negative_prompt_embeds"]
    if isinstance(pipe, HunyuanVideoPipeline):
        names = ["prompt_embeds", "pooled_prompt_embeds", "prompt_attention_mask"]

    def noted(*args, **kwargs):
        made = encode(*args, **kwargs)
        prefix = "negative_" if "prompt_embeds" in seen else ""
        seen.update({prefix + name: value for name, value in zip(names, made) if value is not None})
        return made

    pipe.encode_prompt = noted
    return lambda: pipe.__dict__.pop("encode_prompt")


def watch_picture(pipe, seen):
    """Keeps what becomes of the picture that a clip begins with. Returns what ends it."""
    encode, prepare = pipe.encode_image, pipe.prepare_latents

    def encoded(*args, **kwargs):
        seen["image_embeds"] = encode(*args, **kwargs)
        return seen["image_embeds"]

    def prepared(*args, **kwargs):
        made = prepare(*args, **kwargs)
        if pipe.config.get("expand_timesteps"):
            seen["first_frame_latents"] = torch.zeros_like(made[0][:1])
            seen["first_frame_latents"][:, :, :1] = made[1][:1]
        else:
            seen["latent_condition"] = made[1][:1]
        return made

    pipe.encode_image, pipe.prepare_latents = encoded, prepared
    return lambda: [pipe.__dict__.pop(name) for name in ("encode_image", "prepare_latents")]


def expect(pipe, call, image=None):
    """All that a run gives: latents as planes [rows, channels, frames, height, width], and the clips."""
    seen = {}
    ends = [watch_ids(pipe, seen), watch_embeddings(pipe, seen)]
    if image is not None:
        ends.append(watch_picture(pipe, seen))
    latents = sample(pipe, call, "latent", image)
    for end in ends:
        end()
    if isinstance(pipe, CogVideoXPipeline):
        latents = latents.permute(0, 2, 1, 3, 4)
    return {**seen, "latents": latents, "image_u8": clips(sample(pipe, call, "pil", image))}


def main():
    options = parser(__doc__, KINDS, "A red fox runs over the quiet hill, at dawn; 3 birds \U0001F98A").parse_args()
    pipe = KINDS[options.kind]()
    settle(pipe)
    write(pipe, options.out)
    call = call_of(options, CALLS, 48)
    image = None
    if isinstance(pipe, WanImageToVideoPipeline):
        image = Image.fromarray(start_picture())
        image.save(os.path.join(options.out, "start.png"))
    save_run(expect(pipe, call, image), call, options.out)


if __name__ == "__main__":
    with torch.no_grad():
        main()
