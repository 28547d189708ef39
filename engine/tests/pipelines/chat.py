#!/usr/bin/env python3
"""Makes a whole tiny pipeline whose text encoder is a chat model (random weights, the small tokenizers of ../tokenizers) and what
diffusers makes of a prompt.

    chat.py z_image|flux2_klein|flux2|qwen_image|qwen_image_edit|qwen_image_edit_plus|lumina2|sana OUT [--seed N] [--prompt TEXT] [--set KEY=VALUE]... [--part KEY=VALUE]...

OUT becomes a folder as diffusers saves it, with expected.safetensors: input_ids (of the positive prompt), prompt_embeds and
prompt_attention_mask of whole rows, negative_..., latents [1, channels, 1, height, width], image_u8 [1, height, width, 3]; of
qwen_image and sana several.safetensors, latents of two prompts with two pictures each; of lumina2 cut.safetensors and of z_image
normed.safetensors, latents of other guidance; of sana binned.safetensors, the picture of a transformer whose sample_size has a table
of sizes; of qwen_image_edit start.png, the picture that is changed, of qwen_image_edit_plus it and second.png; and call.json, the arguments of the run, of which --set changes one. --part changes the text encoder's config. Text encoders
and VAEs are stored in bf16, sana's VAE without its encoder; diffusers runs all in float32. Where OUT lies in this folder, tokenizers, and transformers of ../golden, are links.
Needs PyTorch 2.15.0, diffusers 0.42.1 and transformers 5.23.0 (ci/deps.sh census).
"""
import json
import os
import pathlib

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("DIFFUSERS_VERBOSITY", "error")

import torch
from diffusers import (AutoencoderDC, AutoencoderKLFlux2, AutoencoderKLQwenImage, DPMSolverMultistepScheduler, FlowMatchEulerDiscreteScheduler,
                       Flux2KleinPipeline, Flux2Pipeline, Flux2Transformer2DModel, Lumina2Pipeline, Lumina2Transformer2DModel, QwenImageEditPipeline,
                       QwenImageEditPlusPipeline, QwenImagePipeline,
                       QwenImageTransformer2DModel, SanaPipeline, SanaTransformer2DModel, ZImagePipeline, ZImageTransformer2DModel)
from diffusers.pipelines.qwenimage import pipeline_qwenimage_edit, pipeline_qwenimage_edit_plus
from safetensors.torch import load_file, save_file
from transformers import (Gemma2Config, Gemma2Model, GemmaTokenizer, Mistral3Config, Mistral3ForConditionalGeneration, PreTrainedTokenizerFast, Qwen2_5_VLConfig,
                          Qwen2_5_VLForConditionalGeneration, Qwen2Tokenizer, Qwen3Config, Qwen3ForCausalLM, Qwen3Model)

from parts import call_of, link, pairs, parser, run, save, save_run, shake, vae
from seen import UPRIGHT, Processor, draw, make_small, picture, sides, tell_types

HERE = pathlib.Path(__file__).resolve().parent
# What Qwen3's template makes of one message of a user, before the model answers.
QWEN3_TEMPLATE = ("{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n"
                  "{% if not enable_thinking %}<think>\n\n</think>\n\n{% endif %}")


# What Mistral Small 3's template makes of a system message and a user's.
MISTRAL_TEMPLATE = ("{{ bos_token }}{% for m in messages %}{% if m.role == 'system' %}[SYSTEM_PROMPT]{{ m.content[0].text }}[/SYSTEM_PROMPT]"
                    "{% else %}[INST]{% for part in m.content %}{{ part.text }}{% endfor %}[/INST]{% endif %}{% endfor %}")


# ---- parts -------------------------------------------------------------------------------------------------------------
def tokenizer(cls, name, template=None):
    made = cls.from_pretrained(HERE.parent / "tokenizers" / name)
    made.chat_template, made.home = template, HERE.parent / "tokenizers" / name
    return made


def transformer(cls, name):
    """One of the golden folders."""
    made = cls.from_pretrained(HERE.parent / "golden" / name, torch_dtype=torch.float32).eval()
    made.home = HERE.parent / "golden" / name
    return made


def qwen3(tokens, options, model=Qwen3Model, **more):
    sizes = {"intermediate_size": 40, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8}
    return model(Qwen3Config(vocab_size=len(tokens) + 3, **{**sizes, **more, **options.part})).eval()


# ---- pipelines ---------------------------------------------------------------------------------------------------------
def z_image(options):
    tokens = tokenizer(Qwen2Tokenizer, "qwen2", QWEN3_TEMPLATE)
    unet = transformer(ZImageTransformer2DModel, "z_image")
    return ZImagePipeline(FlowMatchEulerDiscreteScheduler(shift=3.0),
                          shake(vae(latent_channels=unet.config.in_channels, use_quant_conv=False, use_post_quant_conv=False,
                                    shift_factor=0.1159, scaling_factor=0.3611), 1),
                          shake(qwen3(tokens, options, hidden_size=unet.config.cap_feat_dim), 2), tokens, unet)


def flux2_vae():
    """Statistics of patches that differ from 0 and 1."""
    made = AutoencoderKLFlux2(down_block_types=["DownEncoderBlock2D"] * 2, up_block_types=["UpDecoderBlock2D"] * 2,
                              block_out_channels=[8, 16], layers_per_block=1, latent_channels=4, norm_num_groups=4, sample_size=32)
    made.bn.running_mean.normal_(0, 0.3)
    made.bn.running_var.uniform_(0.5, 2)
    return made.eval()


def flux2_klein(options):
    """The pipeline takes the states after blocks 9, 18 and 27."""
    tokens = tokenizer(Qwen2Tokenizer, "qwen2", QWEN3_TEMPLATE)
    width = 12
    unet = Flux2Transformer2DModel(in_channels=16, num_layers=1, num_single_layers=1, num_attention_heads=2, attention_head_dim=16,
                                   joint_attention_dim=3 * width, axes_dims_rope=(4, 4, 4, 4), guidance_embeds=False).eval()
    encoder = qwen3(tokens, options, Qwen3ForCausalLM, hidden_size=width, intermediate_size=16, num_hidden_layers=28, head_dim=4,
                    tie_word_embeddings=True)
    scheduler = FlowMatchEulerDiscreteScheduler(use_dynamic_shifting=True, shift=3.0)
    return Flux2KleinPipeline(scheduler, shake(flux2_vae(), 1), shake(encoder, 2), tokens, shake(unet, 3))


def flux2(options):
    """The pipeline takes the states after blocks 10, 20 and 30; of what sees pictures there is as little as can be."""
    tokens = tokenizer(PreTrainedTokenizerFast, "mistral", MISTRAL_TEMPLATE)
    tokens.wrapped = "PixtralProcessor"
    width = 12
    unet = Flux2Transformer2DModel(in_channels=16, num_layers=1, num_single_layers=1, num_attention_heads=2, attention_head_dim=16,
                                   joint_attention_dim=3 * width, axes_dims_rope=(4, 4, 4, 4)).eval()
    text = {"model_type": "mistral", "vocab_size": len(tokens) + 3, "hidden_size": width, "intermediate_size": 16, "num_hidden_layers": 31,
            "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 4, "sliding_window": None,
            "rope_parameters": {"rope_type": "default", "rope_theta": 1e9}}
    vision = {"model_type": "pixtral", "num_hidden_layers": 1, "hidden_size": 8, "intermediate_size": 8, "num_attention_heads": 2,
              "image_size": 4, "patch_size": 2}
    encoder = Mistral3ForConditionalGeneration(Mistral3Config(text_config={**text, **options.part}, vision_config=vision)).eval()
    scheduler = FlowMatchEulerDiscreteScheduler(use_dynamic_shifting=True, shift=3.0)
    return Flux2Pipeline(scheduler, shake(flux2_vae(), 1), shake(encoder, 2), tokens, shake(unet, 3))


def qwen_image_edit(options, pipeline=QwenImageEditPipeline):
    """Windows of which those at the edges are smaller, a block that sees all, patches of an odd side."""
    seen = {"depth": 2, "hidden_size": 16, "intermediate_size": 20, "num_heads": 2, "patch_size": 3, "window_size": 18, "fullatt_block_indexes": [1]}
    plain = qwen_image(options, seen)
    made = pipeline(**plain.components, processor=None)
    tell_types(made.text_encoder)
    return made


def qwen_image_edit_plus(options):
    return qwen_image_edit(options, QwenImageEditPlusPipeline)


def qwen_image(options, seen=None):
    """Of what sees pictures there is as little as can be; the text's rotation has three axes of equal positions."""
    tokens = tokenizer(Qwen2Tokenizer, "qwen2")
    unet = transformer(QwenImageTransformer2DModel, "qwen_image")
    width = unet.config.joint_attention_dim
    text = {"hidden_size": width, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
            "vocab_size": len(tokens) + 3, "rope_parameters": {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [1, 2, 2]}}
    vision = {"depth": 1, "hidden_size": 8, "intermediate_size": 8, "num_heads": 2, "patch_size": 2, **(seen or {}), "out_hidden_size": width}
    shown = {"image_token_id": tokens.convert_tokens_to_ids("<|image_pad|>")} if seen else {}
    encoder = Qwen2_5_VLForConditionalGeneration(Qwen2_5_VLConfig(text_config={**text, **options.part}, vision_config=vision, **shown)).eval()
    vae = AutoencoderKLQwenImage(base_dim=4, z_dim=unet.config.in_channels // 4, dim_mult=[1, 2], num_res_blocks=1,
                                 temperal_downsample=[True], latents_mean=[-0.8, 0.7, 0.1, 1.0], latents_std=[2.8, 1.5, 0.7, 1.2]).eval()
    scheduler = FlowMatchEulerDiscreteScheduler(use_dynamic_shifting=True, shift=1.0, base_shift=0.5, max_shift=0.9,
                                                max_image_seq_len=8192, shift_terminal=0.02)
    return QwenImagePipeline(scheduler, shake(vae, 1), shake(encoder, 2), tokens, unet)


def gemma2(tokens, options, width):
    sizes = {"intermediate_size": 40, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
             "query_pre_attn_scalar": 10, "attn_logit_softcapping": 2.0}
    return Gemma2Model(Gemma2Config(vocab_size=len(tokens) + 3, hidden_size=width, **{**sizes, **options.part})).eval()


def lumina2(options):
    """A VAE of four levels, because the pipeline takes a latent for eight pixels."""
    tokens = tokenizer(GemmaTokenizer, "gemma")
    unet = transformer(Lumina2Transformer2DModel, "lumina2")
    encoder = gemma2(tokens, options, unet.config.cap_feat_dim)
    return Lumina2Pipeline(unet, FlowMatchEulerDiscreteScheduler(shift=6.0),
                           shake(vae(4, latent_channels=unet.config.in_channels, use_quant_conv=False, use_post_quant_conv=False,
                                     shift_factor=0.1159, scaling_factor=0.3611), 1), shake(encoder, 2), tokens)


def sana(options):
    """A VAE of six levels, 32 x 32 pixels a latent as the real one."""
    tokens = tokenizer(GemmaTokenizer, "gemma")
    unet = transformer(SanaTransformer2DModel, "sana")
    levels = 6
    deep = AutoencoderDC(latent_channels=unet.config.in_channels, attention_head_dim=4, encoder_block_types="ResBlock",
                         encoder_block_out_channels=[8] * levels, encoder_layers_per_block=[1] * levels, encoder_qkv_multiscales=[[]] * levels,
                         decoder_block_types=["ResBlock"] * 4 + ["EfficientViTBlock"] * 2, decoder_block_out_channels=[8] * 4 + [16] * 2,
                         decoder_layers_per_block=[1] * levels, decoder_qkv_multiscales=[[]] * 4 + [[5]] * 2,
                         upsample_block_type="interpolate", scaling_factor=0.41407).eval()
    scheduler = DPMSolverMultistepScheduler(prediction_type="flow_prediction", use_flow_sigmas=True, flow_shift=3.0)
    return SanaPipeline(tokens, shake(gemma2(tokens, options, unet.config.caption_channels), 2), shake(deep, 1), unet, scheduler)


def z_image_taken(made):
    return made.hidden_states[-2]


def flux2_taken(made):
    return torch.cat([made.hidden_states[k] for k in (10, 20, 30)], -1)


def flux2_klein_taken(made):
    return torch.cat([made.hidden_states[k] for k in (9, 18, 27)], -1)


def qwen_image_taken(made):
    return made.hidden_states[-1][:, 34:]


def qwen_image_edit_taken(made):
    return made.hidden_states[-1][:, 64:]


# kind: how it is built, what it takes of its text encoder (None: what encode_prompt gives), whether its transformer sees the mask
KINDS = {"z_image": (z_image, z_image_taken, True), "flux2_klein": (flux2_klein, flux2_klein_taken, False),
         "flux2": (flux2, flux2_taken, False),
         "qwen_image": (qwen_image, qwen_image_taken, True), "qwen_image_edit": (qwen_image_edit, qwen_image_edit_taken, True),
         "qwen_image_edit_plus": (qwen_image_edit_plus, qwen_image_edit_taken, True), "lumina2": (lumina2, z_image_taken, True), "sana": (sana, None, True)}
CALLS = {"z_image": {"guidance_scale": 3.0, "negative_prompt": "rain", "max_sequence_length": 40},
         "flux2_klein": {"guidance_scale": 3.0, "max_sequence_length": 40},
         "flux2": {"guidance_scale": 4.0, "max_sequence_length": 300},
         "qwen_image": {"guidance_scale": 4.0, "negative_prompt": "rain", "max_sequence_length": 300},
         "qwen_image_edit": {"guidance_scale": 4.0, "negative_prompt": "rain", "reference_resolution": "56x40"},
         "qwen_image_edit_plus": {"guidance_scale": 4.0, "negative_prompt": "rain"},
         "lumina2": {"height": 64, "width": 80, "guidance_scale": 4.0, "negative_prompt": "rain", "max_sequence_length": 180},
         "sana": {"height": 128, "width": 96, "guidance_scale": 4.5, "negative_prompt": "Rain ", "max_sequence_length": 60}}

GUIDED = [("lumina2", "cut.safetensors", {"cfg_trunc_ratio": 0.5, "cfg_normalization": False}),
          ("z_image", "normed.safetensors", {"cfg_normalization": 0.8}),
          ("z_image", "cut.safetensors", {"cfg_truncation": 0.3}),
          ("qwen_image", "silent.safetensors", {"negative_prompt": None}),
          ("qwen_image_edit", "silent.safetensors", {"negative_prompt": None})]


# ---- files -------------------------------------------------------------------------------------------------------------
def store(part, dtype):
    """Parameters alone: a model makes its rotary frequencies anew when it is loaded, in float32."""
    for parameter in part.parameters():
        parameter.data = parameter.data.to(dtype)


def name_processor(pipe, out):
    """The pipeline has a tokenizer within a processor, which does the same to text alone and needs torchvision for pictures."""
    wrapped, path = getattr(pipe.tokenizer, "wrapped", None), pathlib.Path(out, "model_index.json")
    if wrapped:
        index = json.loads(path.read_text(encoding="utf-8"))
        index["tokenizer"] = ["transformers", wrapped]
        path.write_text(json.dumps(index, indent=2) + "\n", encoding="utf-8")


def drop_encoder(path):
    save_file({name: tensor for name, tensor in load_file(path).items() if not name.startswith("encoder.")}, path)


def write(pipe, out):
    """A folder as diffusers saves it; what computes afterwards is what is stored."""
    for name in ("text_encoder", "vae"):
        store(getattr(pipe, name), torch.bfloat16)
    pipe.save_pretrained(out)
    if isinstance(pipe, SanaPipeline):
        drop_encoder(pathlib.Path(out, "vae", "diffusion_pytorch_model.safetensors"))
    for name, part in pipe.components.items():
        if isinstance(part, torch.nn.Module):
            store(part, torch.float32)
        if hasattr(part, "home"):
            link(part, pathlib.Path(out, name))
    name_processor(pipe, out)
    if isinstance(pipe, (QwenImageEditPipeline, QwenImageEditPlusPipeline)):
        pipe.processor = Processor(pipe.tokenizer, pipe.text_encoder.config.vision_config)
        pipe.processor.save(out, "Qwen2VLProcessor")
        picture().save(pathlib.Path(out, "start.png"))
    if isinstance(pipe, QwenImageEditPlusPipeline):
        draw(*UPRIGHT).save(pathlib.Path(out, "second.png"))


# ---- runs --------------------------------------------------------------------------------------------------------------
def watch_encoded(pipe, seen):
    """Keeps what encode_prompt gives instead of all that the encoder does. Returns what ends it."""
    encode, names = pipe.encode_prompt, ["prompt_embeds", "prompt_attention_mask", "negative_prompt_embeds", "negative_prompt_attention_mask"]

    def noted(*args, **kwargs):
        made = encode(*args, **kwargs)
        seen.update({name: value for name, value in zip(names, made) if value is not None})
        return made

    pipe.encode_prompt = noted
    return lambda: pipe.__dict__.pop("encode_prompt")


def watch(pipe, taken, masked, seen):
    """Keeps what each call of the text encoder gets and gives; the first one is the positive prompt's. Returns what ends it."""
    def note(_, args, kwargs, made):
        prefix = "negative_" if "input_ids" in seen else ""
        seen[prefix + "input_ids"] = kwargs["input_ids"] if "input_ids" in kwargs else args[0]
        if taken:
            seen[prefix + "prompt_embeds"] = taken(made)
        if taken and masked:
            seen[prefix + "prompt_attention_mask"] = kwargs["attention_mask"][:, -taken(made).shape[1]:]
    ends = [pipe.text_encoder.register_forward_hook(note, with_kwargs=True).remove] + ([] if taken else [watch_encoded(pipe, seen)])
    return lambda: [end() for end in ends]


def fill_up(seen, pad):
    """Makes rows of both prompts as long as the longer one's: where the pipeline does not, we add zeros and padding."""
    for name in [name for name in seen if f"negative_{name}" in seen]:
        both = name, f"negative_{name}"
        longest = max(seen[each].shape[1] for each in both)
        for each in both:
            rows = seen[each]
            filled = rows.new_full((rows.shape[0], longest, *rows.shape[2:]), pad if "ids" in name else 0)
            filled[:, :rows.shape[1]] = rows
            seen[each] = filled


def arguments(kind, call):
    """The call by the names of the pipeline."""
    scale = "true_cfg_scale" if kind.startswith("qwen_image") else "guidance_scale"
    if kind == "qwen_image_edit_plus":
        make_small(pipeline_qwenimage_edit_plus)
        call = {"image": [picture(), draw(*UPRIGHT)], **call}
    if kind == "qwen_image_edit":
        reference = sides(call)
        pipeline_qwenimage_edit.calculate_dimensions = lambda *_: (*reference, None)  # else a megapixel
        call = {"image": picture(), **{name: value for name, value in call.items() if name != "reference_resolution"}}
    call = {**call, "use_resolution_binning": False} if kind == "sana" else call
    return {scale if name == "guidance_scale" else name: value for name, value in call.items() if name != "seed"}


def write_several(pipe, call, options):
    """several.safetensors: of two prompts, two pictures each. The pipeline gives pictures the mask of another prompt."""
    more = {"prompt": [options.prompt, "the blue sea"], "negative_prompt": [call["negative_prompt"]] * 2, "num_images_per_prompt": 2}
    made = run(pipe, {**arguments(options.kind, call), **more}, options.seed)
    save({"latents": made["latents"]}, options.out, "several.safetensors")


def write_guided(pipe, call, options):
    """cut.safetensors, normed.safetensors, silent.safetensors: latents of a run whose guidance differs."""
    for kind, name, more in GUIDED:
        if kind == options.kind:
            save({"latents": run(pipe, {**arguments(kind, call), **more}, options.seed)["latents"]}, options.out, name)


def write_binned(pipe, call, options):
    """binned.safetensors: 96 x 128 is sampled as 448 x 576, then resized and cut."""
    pipe.transformer.register_to_config(sample_size=16)
    made = run(pipe, {**arguments(options.kind, call), "num_inference_steps": 2, "use_resolution_binning": True}, options.seed)
    save({"image_u8": made["image_u8"]}, options.out, "binned.safetensors", image_u8=torch.float16)


def expect(kind, pipe, call, seed):
    _, taken, masked = KINDS[kind]
    seen, normed = {}, []
    call = arguments(kind, call)
    end = watch(pipe, taken, masked, seen)
    pipe(**{**call, "num_inference_steps": 2}, output_type="latent")
    end()
    fill_up(seen, pipe.tokenizer.pad_token_id)
    if hasattr(pipe, "_unpack_latents_with_ids"):  # FLUX.2 gives latents as its VAE takes them, and we as it denoises them
        unpack = pipe._unpack_latents_with_ids
        pipe._unpack_latents_with_ids = lambda *args: normed.append(unpack(*args)) or normed[-1]
    made = run(pipe, call, seed)
    if normed:
        made["latents"] = pipe._unpatchify_latents(normed[0])[:, :, None]
    return {**seen, **made}


def main():
    known = parser(__doc__, KINDS, "a red fox on the quiet hill, at dawn; 3 birds")
    known.add_argument("--part", action="append", default=[], help="KEY=VALUE of the text encoder's config, as JSON")
    options = known.parse_args()
    if pathlib.Path(options.out).exists():  # links in it would be written through
        known.error(f"{options.out} exists")
    options.part = pairs(options.part)
    pipe = KINDS[options.kind][0](options)
    write(pipe, options.out)
    call = call_of(options, CALLS, 48)
    save_run(expect(options.kind, pipe, call, options.seed), call, options.out)
    if options.kind in ("qwen_image", "sana"):
        write_several(pipe, call, options)
    write_guided(pipe, call, options)
    if options.kind == "sana":
        write_binned(pipe, call, options)


if __name__ == "__main__":
    with torch.no_grad():
        main()
