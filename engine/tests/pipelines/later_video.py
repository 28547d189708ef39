#!/usr/bin/env python3
"""Makes a whole tiny pipeline of clips by diffusers 0.42.1 (random weights, the small tokenizers in ../tokenizers) and what it makes of
a prompt.

    later_video.py ltx|ltx_picture|ltx_timestep|ltx_condition|mochi|hunyuan_video15 OUT [--seed N] [--prompt TEXT] [--set KEY=VALUE]...

OUT becomes a folder as diffusers saves it, with expected.safetensors: input_ids (of the positive prompt), prompt_embeds and
prompt_attention_mask, negative_..., of hunyuan_video15 also those that end in _2, latents [1, channels, frames, height, width],
image_u8 [1, frames, height, width, 3]; and call.json, the arguments of the run, by the names of `ditbench generate`, of which --set
changes one. ltx_picture has start.png, too, the first frame, and first_frame_latents, packed: its folder is LTXPipeline's, as LTX-Video is
published, and LTXImageToVideoPipeline makes of it what is expected. Text encoders and VAEs, and hunyuan_video15's transformer, are stored in bf16, VAEs of texts without their encoders' weights;
diffusers runs all in float32. PyTorch's default generator, from which LTX-Video's decoder draws, gets the seed just before the decode.
The scale of hunyuan_video15 is its guider's, max_sequence_length the pipeline's attribute; the projection of ByT5's rows, which the
library makes 2048 wide, is narrow. Needs PyTorch 2.15.0, diffusers 0.42.1 and transformers 5.23.0 (ci/deps.sh census).
"""
import filecmp
import json
import os
import pathlib
import shutil

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("DIFFUSERS_VERBOSITY", "error")

import torch
from PIL import Image
from diffusers import (AutoencoderKLHunyuanVideo15, AutoencoderKLLTXVideo, AutoencoderKLMochi, ClassifierFreeGuidance, FlowMatchEulerDiscreteScheduler,
                       HunyuanVideo15Pipeline, HunyuanVideo15Transformer3DModel, LTXConditionPipeline, LTXImageToVideoPipeline, LTXPipeline, LTXVideoTransformer3DModel,
                       MochiPipeline, MochiTransformer3DModel)
from diffusers.models.transformers.transformer_hunyuan_video15 import HunyuanVideo15ByT5TextProjection
from safetensors.torch import load_file, save_file
from transformers import ByT5Tokenizer, Qwen2_5_VLTextConfig, Qwen2_5_VLTextModel, Qwen2Tokenizer, T5TokenizerFast

from parts import WIDTH, call_of, clips, link, parser, save, save_run, shake, start_picture, t5, watch_ids

HERE = pathlib.Path(__file__).resolve().parent
PROMPT = "a red fox runs over the quiet hill, at dawn; 3 birds"
QUOTING = 'a red fox holds a sign "Hi, fox!" and one more \u201cso\u201d, "Hi, fox!"'  # the default of hunyuan_video15
GLYPH_WIDTH = 20
# What Qwen2.5-VL's template makes of a system message and a user's, before the model answers.
QWEN_TEMPLATE = ("{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
                 "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")


# ---- pipelines ---------------------------------------------------------------------------------------------------------
def tokenizer(kind=T5TokenizerFast, name="t5_fast"):
    made = kind.from_pretrained(HERE.parent / "tokenizers" / name)
    made.home = HERE.parent / "tokenizers" / name
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


def ltx_picture():
    return LTXImageToVideoPipeline(**ltx_pipeline().components)


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


def hunyuan_video15():
    tokens, letters = tokenizer(Qwen2Tokenizer, "qwen2"), tokenizer(ByT5Tokenizer, "byt5_glyph")
    tokens.chat_template = QWEN_TEMPLATE
    text = Qwen2_5_VLTextConfig(hidden_size=12, intermediate_size=20, num_hidden_layers=4, num_attention_heads=2, num_key_value_heads=1,
                                vocab_size=len(tokens) + 3, rope_parameters={"rope_type": "default", "rope_theta": 1e6, "mrope_section": [1, 1, 1]})
    vae = AutoencoderKLHunyuanVideo15(latent_channels=4, block_out_channels=(4, 4, 4, 8, 8), layers_per_block=1)
    transformer = HunyuanVideo15Transformer3DModel(in_channels=9, out_channels=4, num_attention_heads=2, attention_head_dim=8, num_layers=2,
                                                   num_refiner_layers=1, mlp_ratio=2.0, text_embed_dim=12, text_embed_2_dim=8, image_embed_dim=8,
                                                   rope_axes_dim=(4, 2, 2), task_type="t2v")
    transformer.context_embedder_2 = HunyuanVideo15ByT5TextProjection(8, GLYPH_WIDTH, 16)
    return HunyuanVideo15Pipeline(Qwen2_5_VLTextModel(text), tokens, transformer, vae, FlowMatchEulerDiscreteScheduler(shift=7.0),
                                  t5(letters, 8, vocab_size=len(letters), d_kv=4, d_ff=24), letters, ClassifierFreeGuidance(guidance_scale=6.0))


KINDS = {"hunyuan_video15": hunyuan_video15, "ltx": ltx, "ltx_picture": ltx_picture, "ltx_timestep": ltx_timestep, "ltx_condition": ltx_condition, "mochi": mochi}
CALLS = {
    "hunyuan_video15": {"guidance_scale": 6.0, "negative_prompt": 'rain, "no"', "num_frames": 5, "max_sequence_length": 272},
    "ltx": {"guidance_scale": 3.0, "negative_prompt": "rain, blurred", "num_frames": 9, "max_sequence_length": 24},
    "ltx_picture": {"guidance_scale": 3.0, "negative_prompt": "rain", "num_frames": 9, "max_sequence_length": 24, "width": 96},
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
    halved = [name for name in pipe.components if name.startswith("text_encoder") or name == "vae"]
    halved += ["transformer"] * isinstance(pipe, HunyuanVideo15Pipeline)
    for name in halved:
        getattr(pipe, name).to(torch.bfloat16)
    (LTXPipeline(**pipe.components) if isinstance(pipe, LTXImageToVideoPipeline) else pipe).save_pretrained(out)
    for name in halved:
        getattr(pipe, name).to(torch.float32)
    path = pathlib.Path(out, "vae", "diffusion_pytorch_model.safetensors")
    if not isinstance(pipe, LTXImageToVideoPipeline):
        save_file({key: value for key, value in load_file(path).items() if not key.startswith("encoder.")}, path)
    index = pathlib.Path(out, "model_index.json")
    index.write_text(index.read_text(encoding="utf-8").replace('"T5Tokenizer"', '"T5TokenizerFast"'), encoding="utf-8")
    for name in pipe.components:
        if name.startswith("tokenizer"):
            link(getattr(pipe, name), pathlib.Path(out, name))
    if isinstance(pipe, HunyuanVideo15Pipeline):
        config = pathlib.Path(out, "transformer", "config.json")
        config.write_text(json.dumps({**json.loads(config.read_text()), "glyph_width": GLYPH_WIDTH}, indent=2) + "\n")


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
    if isinstance(pipe, HunyuanVideo15Pipeline):  # one call a prompt, the positive one first
        positive = ["prompt_embeds", "prompt_attention_mask", "prompt_embeds_2", "prompt_attention_mask_2"]
        names = [positive, ["negative_" + name for name in positive]]

    def noted(*args, **kwargs):
        made = encode(*args, **kwargs)
        seen.update(zip(names.pop(0) if isinstance(pipe, HunyuanVideo15Pipeline) else names, made))
        return made

    end = watch_ids(pipe, seen)
    pipe.encode_prompt = noted
    prepare = pipe.prepare_latents

    def prepared(*args, **kwargs):
        made = prepare(*args, **kwargs)
        seen["first_frame_latents"] = made[0] * made[1][..., None]
        return made

    if isinstance(pipe, LTXImageToVideoPipeline):
        pipe.prepare_latents = prepared
    return lambda: (end(), pipe.__dict__.pop("encode_prompt"), pipe.__dict__.pop("prepare_latents", None))


def sample(pipe, call, output):
    more = {"image": Image.fromarray(start_picture())} if isinstance(pipe, LTXImageToVideoPipeline) else {}
    pipe.set_progress_bar_config(disable=True)
    seed, decode = call["seed"], pipe.vae.decode

    def seeded(*args, **kwargs):
        torch.manual_seed(seed)
        return decode(*args, **kwargs)

    pipe.vae.decode = seeded
    given = {k: v for k, v in call.items() if k != "seed"}
    if isinstance(pipe, HunyuanVideo15Pipeline):
        pipe.guider.guidance_scale = given.pop("guidance_scale")
        pipe.tokenizer_max_length = given.pop("max_sequence_length")
    made = pipe(**given, **more, generator=torch.Generator("cpu").manual_seed(seed), output_type=output)[0]
    pipe.vae.__dict__.pop("decode")
    return made


def expect(pipe, call):
    seen = {}
    end = watch(pipe, seen)
    latents = sample(pipe, call, "latent")
    end()
    if not seen.get("prompt_attention_mask_2", torch.ones(1)).any():
        seen.pop("input_ids_2", None)  # ByT5 read the negative prompt alone
    if isinstance(pipe, (LTXPipeline, LTXImageToVideoPipeline)):
        frames = (call["num_frames"] - 1) // pipe.vae_temporal_compression_ratio + 1
        space = pipe.vae_spatial_compression_ratio
        latents = pipe._unpack_latents(latents, frames, call["height"] // space, call["width"] // space)
    return {**seen, "latents": latents, "image_u8": clips(sample(pipe, call, "pil"))}


def main():
    options = parser(__doc__, KINDS, None).parse_args()
    if options.prompt is None:
        options.prompt = QUOTING if options.kind == "hunyuan_video15" else PROMPT
    pipe = KINDS[options.kind]()
    write(pipe, options.out)
    call = call_of(options, CALLS, 64)
    if options.kind == "ltx_condition":
        share(options.out, "ltx_timestep")
    if options.kind == "ltx_picture":
        share(options.out, "ltx")
        Image.fromarray(start_picture()).save(os.path.join(options.out, "start.png"))
    save_run(expect(pipe, call), call, options.out)
    if options.kind == "ltx":
        save({"latents": expect(pipe, {**call, "guidance_rescale": 0.7})["latents"]}, options.out, "rescaled.safetensors")


if __name__ == "__main__":
    with torch.no_grad():
        main()
