#!/usr/bin/env python3
"""Exports the golden folder e2e_qwen_image_edit from diffusers: a loop of QwenImageEditPipeline over the model of qwen_image.

    pip install torch==2.15.0 diffusers==0.42.1 safetensors==0.8.0
    engine/tests/golden/qwen_image_edit.py engine/tests/golden/qwen_image OUT_FOLDER
    build/bin/ditbench golden OUT_FOLDER/e2e_qwen_image_edit        # beside a copy of qwen_image

Rows and columns are tokens, of the latent and of the picture that is edited.
"""
import argparse
import json
from pathlib import Path

import torch
from diffusers import AutoencoderKLQwenImage, FlowMatchEulerDiscreteScheduler, QwenImageEditPipeline, QwenImageTransformer2DModel
from diffusers.pipelines.qwenimage import pipeline_qwenimage_edit
from loop import record, write_loop
from PIL import Image

SPAN = 16  # pixels of a token's side



def loop(model, args):
    channels, dim = model.config.in_channels, model.config.joint_attention_dim
    vae = AutoencoderKLQwenImage(base_dim=4, z_dim=channels // 4, dim_mult=[1, 1, 1, 1], num_res_blocks=1,
                                 latents_mean=[0.1] * (channels // 4), latents_std=[1.5] * (channels // 4)).eval()
    scheduler = FlowMatchEulerDiscreteScheduler(use_dynamic_shifting=True, shift=1.0, base_shift=0.5, max_shift=0.9,
                                                max_image_seq_len=8192, shift_terminal=0.02)
    pipe = QwenImageEditPipeline(scheduler=scheduler, vae=vae, text_encoder=None, tokenizer=None, processor=None, transformer=model)
    reference = SPAN * args.reference_columns, SPAN * args.reference_rows
    pipeline_qwenimage_edit.calculate_dimensions = lambda *_: (*reference, None)  # else a megapixel
    inputs = {"latents": torch.randn(1, args.rows * args.columns, channels)}
    for name, hidden in (("", 0), ("negative_", 2)):
        mask = torch.ones(1, args.text).long()
        mask[:, args.text - hidden:] = 0
        inputs.update({f"{name}prompt_embeds": torch.randn(1, args.text, dim), f"{name}prompt_embeds_mask": mask})
    pixels = (255 * torch.rand(reference[1], reference[0], 3)).to(torch.uint8).numpy()
    call = {"height": SPAN * args.rows, "width": SPAN * args.columns, "num_inference_steps": args.steps}
    seen, count = [], args.rows * args.columns
    model.register_forward_pre_hook(lambda _, __, given: seen.append(given["hidden_states"][:, count:].clone()), with_kwargs=True)
    output = record(pipe, {**inputs, **call, "image": Image.fromarray(pixels), "true_cfg_scale": 4.0})
    inputs = {name.replace("embeds_mask", "attention_mask"): value for name, value in inputs.items()}
    inputs |= {"reference_latents": seen[0]}
    size = {"reference_height": reference[1], "reference_width": reference[0]}
    write_loop(args.out / "qwen_image_edit", pipe, {**call, **size, "guidance_scale": 4.0}, inputs, output,
               "from embeddings; reference_latents are those of the picture, packed")
    path = args.out / "e2e_qwen_image_edit" / "e2e.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"transformer": args.model.name}, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("out", type=Path)
    for name, value in (("seed", 1), ("rows", 4), ("columns", 5), ("reference_rows", 3), ("reference_columns", 4), ("text", 7), ("steps", 3)):
        parser.add_argument("--" + name, type=int, default=value)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    model = QwenImageTransformer2DModel.from_pretrained(args.model).float().eval()
    with torch.no_grad():
        loop(model, args)


if __name__ == "__main__":
    main()
