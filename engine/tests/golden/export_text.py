#!/usr/bin/env python3
"""Exports golden folders of text encoders: tiny random ones of transformers, used as diffusers' pipelines use them.

    pip install torch==2.6.0 diffusers==0.33.1 transformers==4.51.3 safetensors==0.5.3
    engine/tests/golden/export_text.py OUT [NAME]... [--seed 1]      # all names of these versions when none is given
    pip install torch==2.15.0 diffusers==0.42.1 transformers==5.23.0 safetensors==0.8.0        # for those in LATER
    build/bin/ditbench golden OUT/text_t5

The pipelines' own methods make the embeddings: of a pipeline there is only what they read of it, and a tokenizer that
gives random ids. So which hidden state, mask, pooled text and cropped part they take is theirs, not this file's.
"""
import argparse
import json
import os
from types import SimpleNamespace

import diffusers
import torch
import transformers
from diffusers import (
    FluxPipeline,
    HunyuanDiTPipeline,
    HunyuanVideoPipeline,
    PixArtAlphaPipeline,
    StableDiffusion3Pipeline,
    WanPipeline,
)
from diffusers.pipelines.wan import pipeline_wan
from safetensors.torch import save_file

# The width of q, k and v differs from the model's, as in mT5 small. Distances go beyond the largest exact bucket.
T5 = dict(d_model=32, d_kv=12, num_heads=4, d_ff=56, num_layers=2, vocab_size=80, feed_forward_proj="gated-gelu")
CLIP = dict(hidden_size=32, num_attention_heads=4, intermediate_size=72, num_hidden_layers=3, vocab_size=99)
BERT = dict(hidden_size=32, num_attention_heads=4, intermediate_size=72, num_hidden_layers=2, vocab_size=90)
LLAMA = dict(
    hidden_size=48, num_attention_heads=8, num_key_value_heads=4, head_dim=10, intermediate_size=72,
    num_hidden_layers=4, vocab_size=90, rope_theta=500000.0, rms_norm_eps=1e-5, pad_token_id=0,
)
QWEN3 = dict(LLAMA, rope_theta=1000000.0, rms_norm_eps=1e-6)
# Models that see pictures, whose text is read alone.
QWEN25_VL = dict(
    hidden_size=48, num_attention_heads=6, num_key_value_heads=2, intermediate_size=72, num_hidden_layers=3, vocab_size=90,
    rms_norm_eps=1e-6, rope_parameters={"rope_type": "default", "rope_theta": 1000000.0, "mrope_section": [1, 1, 2]},
)
# Seen ones: windows of which those at two edges are smaller, and a block in between that sees all.
SEEN = dict(depth=3, hidden_size=24, intermediate_size=40, num_heads=2, out_hidden_size=48, patch_size=2, window_size=12,
            fullatt_block_indexes=[1])
VISION = dict(depth=1, hidden_size=8, intermediate_size=8, num_heads=2, out_hidden_size=48, patch_size=2)
MISTRAL = dict(
    model_type="mistral", hidden_size=48, num_attention_heads=8, num_key_value_heads=4, head_dim=10, intermediate_size=72,
    num_hidden_layers=4, vocab_size=90, rms_norm_eps=1e-5, sliding_window=None,
    rope_parameters={"rope_type": "default", "rope_theta": 1e9},
)
PIXTRAL = dict(model_type="pixtral", num_hidden_layers=1, hidden_size=8, intermediate_size=8, num_attention_heads=2, image_size=4, patch_size=2)
# A window shorter than the texts, and a cap below many of the logits.
GEMMA2 = dict(
    hidden_size=48, num_attention_heads=8, num_key_value_heads=4, head_dim=10, intermediate_size=72, num_hidden_layers=4, vocab_size=90,
    query_pre_attn_scalar=12, sliding_window=20, attn_logit_softcapping=2.5, rms_norm_eps=1e-6,
)
GEMMA2_PLAIN = dict(GEMMA2, attn_logit_softcapping=None, sliding_window=18, layer_types=["full_attention", "sliding_attention"] * 2)


def flux_clip(pipe):
    return {"pooled": FluxPipeline._get_clip_prompt_embeds(pipe, pipe.prompts, 1, "cpu")}


def flux_t5(pipe):
    return {"hidden": FluxPipeline._get_t5_prompt_embeds(pipe, pipe.prompts, 1, pipe.tokens, "cpu")}


def sd3_clip(pipe):
    hidden, pooled = StableDiffusion3Pipeline._get_clip_prompt_embeds(pipe, pipe.prompts, 1, "cpu")
    return {"hidden": hidden, "pooled": pooled}


def pixart(pipe):
    pipe._text_preprocessing = lambda prompt, clean_caption: prompt
    return {"hidden": PixArtAlphaPipeline.encode_prompt(
        pipe, pipe.prompts, False, device="cpu", max_sequence_length=pipe.tokens)[0]}


def hunyuan_dit(pipe):
    return {"hidden": HunyuanDiTPipeline.encode_prompt(
        pipe, pipe.prompts, "cpu", do_classifier_free_guidance=False, max_sequence_length=pipe.tokens)[0]}


def hunyuan_video(pipe):
    template = {"template": "{}", "crop_start": pipe.crop}
    return {"hidden": HunyuanVideoPipeline._get_llama_prompt_embeds(
        pipe, pipe.prompts, template, 1, "cpu", max_sequence_length=pipe.tokens - pipe.crop)[0]}


def wan(pipe):
    pipeline_wan.prompt_clean = lambda prompt: prompt  # needs one more package, and sees no ids
    return {"hidden": WanPipeline._get_t5_prompt_embeds(pipe, pipe.prompts, 1, pipe.tokens, "cpu")}


def z_image(pipe):
    """Whole rows; the pipeline keeps of each what its mask shows."""
    row = pipe.tokenizer.row
    hidden = pipe.text_encoder(row.input_ids, row.attention_mask, output_hidden_states=True).hidden_states[-2]
    for kept, whole, mask in zip(diffusers.ZImagePipeline._encode_prompt(pipe, pipe.prompts, "cpu"), hidden, row.attention_mask):
        assert torch.equal(kept, whole[mask.bool()])
    return {"hidden": hidden}


def flux2_klein(pipe):
    """The pipeline asks the tokenizer prompt by prompt, and ours gives all rows at once."""
    return {"hidden": diffusers.Flux2KleinPipeline._get_qwen3_prompt_embeds(
        pipe.text_encoder, pipe.tokenizer, pipe.prompts[:1], max_sequence_length=pipe.tokens, hidden_states_layers=pipe.states)}


def qwen_image(pipe):
    """Rows as long as the longest prompt; the pipeline's are zeros behind each."""
    pipe.prompt_template_encode, pipe.prompt_template_encode_start_idx = "{}", pipe.crop
    pipe._extract_masked_hidden = lambda *args: diffusers.QwenImagePipeline._extract_masked_hidden(pipe, *args)
    made = diffusers.QwenImagePipeline._get_qwen_prompt_embeds(pipe, pipe.prompts, "cpu", torch.float32)[0]
    return {"hidden": torch.nn.functional.pad(made, (0, 0, 0, pipe.tokens - pipe.crop - made.shape[1]))}


def qwen_image_edit(pipe):
    """As qwen_image; both texts show one picture. Places of tokens are those of Qwen2.5-VL: the pipeline leaves it to transformers
    to tell tokens of pictures from others, which 4.51.3 does by their ids and 5.23.0 only where it is given their types."""
    row, model = pipe.tokenizer.row, pipe.text_encoder
    seen = pipe.inputs["pixels"]
    grid = torch.tensor([[1, seen.shape[1] // 2, seen.shape[2] // 2]])
    patches = patches_of(seen, 2, 2)
    types = (row.input_ids == model.config.image_token_id).int()
    hidden = model(input_ids=row.input_ids, attention_mask=row.attention_mask, pixel_values=patches.repeat(2, 1), image_grid_thw=grid.repeat(2, 1),
                   mm_token_type_ids=types, output_hidden_states=True).hidden_states[-1]
    hidden = torch.where(row.attention_mask[..., None].bool(), hidden, 0)[:, pipe.crop:]
    return {"hidden": hidden, "picture": model.model.visual(patches, grid).pooler_output}


def patches_of(planes, patch, merge):
    """As Qwen2VLImageProcessor orders them, twice each."""
    height, width = planes.shape[1] // patch, planes.shape[2] // patch
    cut = planes.reshape(3, height // merge, merge, patch, width // merge, merge, patch).permute(1, 4, 2, 5, 0, 3, 6)
    return cut.unsqueeze(5).expand(*cut.shape[:5], 2, patch, patch).reshape(height * width, -1)


def flux2(pipe):
    return {"hidden": diffusers.Flux2Pipeline._get_mistral_3_small_prompt_embeds(
        pipe.text_encoder, pipe.tokenizer, pipe.prompts, max_sequence_length=pipe.tokens, hidden_states_layers=pipe.states)}


def lumina2(pipe):
    return {"hidden": diffusers.Lumina2Pipeline._get_gemma_prompt_embeds(pipe, pipe.prompts, "cpu", pipe.tokens)[0]}


# name: (model's class, its config, which stored dtype, tokens, what text.json says, the pipeline's method)
FOLDERS = {
    "text_t5": ("T5EncoderModel", dict(T5, relative_attention_num_buckets=8, relative_attention_max_distance=14),
                torch.float32, 24, {"pipeline": "PixArtAlphaPipeline"}, pixart),
    "text_t5_unmasked": ("T5EncoderModel", T5, torch.float32, 16, {"pipeline": "FluxPipeline"}, flux_t5),
    "text_t5_relu": ("T5EncoderModel", dict(T5, feed_forward_proj="relu"), torch.float32, 16, {"pipeline": "FluxPipeline"}, flux_t5),
    "text_mt5": ("MT5EncoderModel", T5, torch.float16, 150, {"pipeline": "HunyuanDiTPipeline"}, hunyuan_dit),
    "text_umt5": ("UMT5EncoderModel", T5, torch.bfloat16, 40, {"pipeline": "WanPipeline", "zero_padding": True}, wan),
    "text_clip_l": ("CLIPTextModel", dict(CLIP, eos_token_id=2), torch.float32, 77,
                    {"pipeline": "FluxPipeline", "pooled": True}, flux_clip),
    "text_clip_l_projected": (
        "CLIPTextModelWithProjection", dict(CLIP, eos_token_id=2, projection_dim=20), torch.float32, 77,
        {"pipeline": "StableDiffusion3Pipeline", "pooled": True, "skip": 1}, sd3_clip),
    "text_clip_g": (
        "CLIPTextModelWithProjection", dict(CLIP, eos_token_id=98, hidden_act="gelu", projection_dim=40),
        torch.float32, 77, {"pipeline": "StableDiffusion3Pipeline", "pooled": True, "skip": 1}, sd3_clip),
    "text_bert": ("BertModel", BERT, torch.float32, 28, {"pipeline": "HunyuanDiTPipeline"}, hunyuan_dit),
    "text_llama": ("LlamaModel", LLAMA, torch.float32, 36,
                   {"pipeline": "HunyuanVideoPipeline", "skip": 2, "crop": 9}, hunyuan_video),
}
LATER = {  # likewise, of pipelines that diffusers 0.33.1 lacks
    "text_qwen3": ("Qwen3Model", QWEN3, torch.float32, 36, {"pipeline": "ZImagePipeline", "skip": 1}, z_image),
    "text_qwen3_states": ("Qwen3ForCausalLM", dict(QWEN3, tie_word_embeddings=True), torch.bfloat16, 36,
                          {"pipeline": "Flux2KleinPipeline", "states": [0, 1, 3]}, flux2_klein),
    "text_qwen2_5_vl": ("Qwen2_5_VLForConditionalGeneration", dict(text_config=QWEN25_VL, vision_config=VISION), torch.bfloat16, 36,
                        {"pipeline": "QwenImagePipeline", "crop": 9, "zero_padding": True}, qwen_image),
    "text_qwen2_5_vl_picture": (
        "Qwen2_5_VLForConditionalGeneration", dict(text_config=QWEN25_VL, vision_config=SEEN, image_token_id=88), torch.bfloat16, 44,
        {"pipeline": "QwenImageEditPipeline", "crop": 4, "zero_padding": True}, qwen_image_edit),
    "text_mistral3": ("Mistral3ForConditionalGeneration", dict(text_config=MISTRAL, vision_config=PIXTRAL), torch.bfloat16, 36,
                      {"pipeline": "Flux2Pipeline", "states": [1, 2, 3]}, flux2),
    "text_gemma2": ("Gemma2Model", GEMMA2, torch.float32, 28, {"pipeline": "Lumina2Pipeline", "skip": 1}, lumina2),
    "text_gemma2_plain": ("Gemma2ForCausalLM", GEMMA2_PLAIN, torch.bfloat16, 25, {"pipeline": "Lumina2Pipeline", "skip": 1}, lumina2),
}
SHARDED = {"text_llama": "120KB"}
PICTURES = {"text_qwen2_5_vl_picture": (20, 28)}  # height and width that the texts show


def randomise(model):
    for name, parameter in model.named_parameters():
        if "relative_attention_bias" in name:
            parameter.normal_(0, 1)
        elif "embed" in name or "shared" in name:  # small: a wrong epsilon of the first norm is visible
            parameter.normal_(0, 0.01 if parameter.dim() == 2 and "LayerNorm" not in name else 0.1)
        elif parameter.dim() >= 2:
            parameter.normal_(0, parameter[0].numel() ** -0.5)
        elif name.endswith("bias"):
            parameter.normal_(0, 0.1)
        if parameter.dim() == 1 and name.endswith("weight"):
            parameter.normal_(1, 0.1)


def make_ids(config, tokens):
    """Prompts of different lengths, with an end token behind each, and padding of that or of another token."""
    clip = "clip" in config.model_type
    end = config.get_text_config().vocab_size - 1
    ids = torch.full((2, tokens), end if clip else 0)
    mask = torch.zeros_like(ids)
    for row, length in enumerate((tokens // 3, tokens - 2)):
        ids[row, :length] = torch.randint(1, end, (length,))
        ids[row, length] = end
        mask[row, : length + 1] = 1
    return ids, mask


def show(ids, mask, token, count):
    """Puts the picture's tokens behind the first three of each text, which get longer."""
    ids[ids == token] = 1
    for row in range(len(ids)):
        ids[row, 3 + count:] = ids[row, 3:-count].clone()
        ids[row, 3:3 + count] = token
        mask[row, count:] = mask[row, :-count].clone()
        mask[row, :count] = 1


class Tokenizer:
    model_max_length = 77

    def __init__(self, ids, mask):
        self.row = transformers.BatchEncoding({"input_ids": ids, "attention_mask": mask})

    def __call__(self, prompts, **unused):
        return self.row

    def apply_chat_template(self, messages, tokenize=False, **unused):
        return self.row if tokenize else ""


def export(name, out, seed):
    kind, config, dtype, tokens, settings, method = {**FOLDERS, **LATER}[name]
    torch.manual_seed(seed)
    model_class = getattr(transformers, kind)
    model = model_class(model_class.config_class(**config)).eval()
    randomise(model)
    for parameter in model.parameters():  # what is stored is what computes
        parameter.data = parameter.data.to(dtype).float()
    seen = PICTURES.get(name)
    count = seen[0] * seen[1] // 16 if seen else 0
    ids, mask = make_ids(model.config, tokens)
    if seen:
        ids, mask = (torch.nn.functional.pad(each, (0, count)) for each in (ids, mask))
        show(ids, mask, model.config.image_token_id, count)
    tokenizer = Tokenizer(ids, mask)
    pipe = SimpleNamespace(
        tokenizer=tokenizer, tokenizer_2=tokenizer, text_encoder=model, text_encoder_2=model, transformer=None,
        tokenizer_max_length=tokens, tokens=tokens, crop=settings.get("crop", 0), states=settings.get("states"), prompts=["", ""])
    inputs = {"input_ids": ids}
    if seen:
        inputs["pixels"] = torch.randn(3, *seen)
    pipe.inputs = inputs
    output = {key: value.float().contiguous() for key, value in method(pipe).items()}
    if settings["pipeline"] not in ("FluxPipeline", "StableDiffusion3Pipeline"):
        inputs["attention_mask"] = mask
    os.makedirs(out, exist_ok=True)
    model.to(dtype).save_pretrained(out, max_shard_size=SHARDED.get(name, "1GB"))
    save_file(inputs, os.path.join(out, "inputs.safetensors"))
    save_file(output, os.path.join(out, "output.safetensors"))
    with open(os.path.join(out, "text.json"), "w", encoding="utf-8") as file:
        json.dump(settings, file, indent=2)
        file.write("\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("names", nargs="*", default=[])
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(1)
    with torch.no_grad():
        for name in args.names or FOLDERS:
            export(name, os.path.join(args.out, name), args.seed)


if __name__ == "__main__":
    main()
