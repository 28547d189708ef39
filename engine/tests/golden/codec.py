#!/usr/bin/env python3
"""Makes the folders of the pixel codec: vae_pixel_shuffle (PyTorch's pixel_shuffle), tiny_shapes (a small PixArt over its
latents, by diffusers, with a text table) and e2e_tiny_shapes (a whole sampling loop to a picture, of a caption).

    pip install torch==2.15.0 diffusers==0.33.1 safetensors
    engine/tests/golden/codec.py engine/tests/golden
"""
import json
import sys
from pathlib import Path

import torch
from diffusers import DPMSolverMultistepScheduler, PixArtTransformer2DModel
from safetensors.torch import save_file
from torch.nn.functional import pixel_shuffle, pixel_unshuffle

from export import randomise

SCALE, SHIFT = 1.25, -0.125  # of the codec
STEPS, GUIDANCE, EDGE, SLOTS, DIM = 6, 2.5, 32, 16, 16
SCHEDULER = {
    "_class_name": "DPMSolverMultistepScheduler",
    "beta_start": 0.0001,
    "beta_end": 0.004,
    "beta_schedule": "linear",
    "solver_order": 2,
    "algorithm_type": "dpmsolver++",
}
MODEL = {
    "_class_name": "PixArtTransformer2DModel",
    "num_attention_heads": 4,
    "attention_head_dim": 4,
    "num_layers": 2,
    "in_channels": 12,
    "out_channels": 24,
    "cross_attention_dim": 16,
    "caption_channels": DIM,
    "sample_size": 16,
    "patch_size": 2,
    "norm_type": "ada_norm_single",
    "norm_elementwise_affine": False,
    "use_additional_conditions": False,
}

# The grammar's words in its own order (engine/shapes/caption.h); the table has them the other way round.
WORDS = ("<pad> <null> <none> black grey light large small red orange yellow green cyan blue purple pink plain striped checked "
         "circle square triangle ring cross top-left top-right bottom-left bottom-right still left right up down").split()
CAPTION = "light; large red striped circle top-left; small blue plain square bottom-right"
SAID = ("light large red striped circle top-left <pad> small blue plain square bottom-right <pad> <pad> <pad> <pad>").split()


def save(folder, config=None, **files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, tensors in files.items():
        save_file({key: value.contiguous() for key, value in tensors.items()}, folder / f"{name}.safetensors")
        (folder / f"{name}.safetensors").chmod(0o644)
    if config:
        (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")


def make_codec(out):
    latents, picture = torch.randn(2, 12, 6, 10), torch.rand(2, 3, 12, 20) * 2 - 1
    mean = pixel_unshuffle(picture, 2)
    config = {"_class_name": "PixelShuffle", "block_size": 2, "latent_channels": 12}
    config |= {"scaling_factor": SCALE, "shift_factor": SHIFT}
    save(out / "vae_pixel_shuffle", config, inputs={"latents": latents, "encode_image": picture},
         output={"output": pixel_shuffle(latents, 2), "encode_mean": mean, "encode_logvar": torch.full_like(mean, -30)})


def call(model, latents, timestep, text):
    sizes = {"resolution": None, "aspect_ratio": None}
    return model(latents, encoder_hidden_states=text, timestep=timestep, added_cond_kwargs=sizes, return_dict=False)[0]


def make_model(out):
    model = PixArtTransformer2DModel.from_config(MODEL).float().eval()
    randomise(model)
    model.proj_out.weight *= 0.25  # so that colours stay near their range
    inputs = {"hidden_states": torch.randn(2, 12, 8, 16), "encoder_hidden_states": torch.randn(2, SLOTS, DIM),
              "timestep": torch.tensor([901, 17])}
    save(out / "tiny_shapes", MODEL, diffusion_pytorch_model=model.state_dict(), inputs=inputs,
         output={"output": call(model, inputs["hidden_states"], inputs["timestep"], inputs["encoder_hidden_states"])})
    return model


def make_text(out):
    """A text table, and what it gives for the caption and for none. Returns both [1, slots, width]."""
    words, slots = torch.randn(len(WORDS), DIM), torch.randn(SLOTS, DIM)
    shuffled = WORDS[::-1]
    said = words[[shuffled.index(word) for word in SAID]] + slots
    nothing = words[shuffled.index("<null>")] + slots
    kept = torch.tensor([word != "<pad>" for word in SAID])
    vocabulary = {"words": shuffled, "slots": SLOTS} | {key: shuffled.index(f"<{key}>") for key in ("pad", "null", "none")}
    folder = out / "tiny_shapes"
    save(folder, text={"W": words, "P": slots},
         embeds={"prompt_embeds": said[None], "negative_prompt_embeds": nothing[None],
                 "pooled_prompt_embeds": said[kept].mean(0)[None], "negative_pooled_prompt_embeds": nothing.mean(0)[None]})
    (folder / "vocabulary.json").write_text(json.dumps(vocabulary, indent=1) + "\n")
    return said[None], nothing[None]


def make_run(out, model, said, nothing):
    cells = EDGE // 2
    scheduler = DPMSolverMultistepScheduler.from_config(SCHEDULER)
    scheduler.set_timesteps(STEPS)
    inputs = {"latents": torch.randn(1, 12, cells, cells) * 0.2, "prompt_embeds": said,
              "negative_prompt_embeds": nothing}
    text = torch.cat([inputs["negative_prompt_embeds"], inputs["prompt_embeds"]])
    latents, output = inputs["latents"], {}
    for i, t in enumerate(scheduler.timesteps):
        both = call(model, torch.cat([latents, latents]), t.expand(2), text)[:, :12]
        noise = both[:1] + GUIDANCE * (both[1:] - both[:1])
        latents = scheduler.step(noise, t, latents, return_dict=False)[0]
        output[f"noise_pred_{i}"] = noise
        output["latents_final" if i + 1 == STEPS else f"latents_{i + 1}"] = latents
    image = pixel_shuffle(latents / SCALE + SHIFT, 2)
    levels = ((image / 2 + 0.5).clamp(0, 1) * 255).round().to(torch.uint8)
    output |= {"timesteps": scheduler.timesteps.float(), "sigmas": scheduler.sigmas, "image_raw": image,
               "image_u8": levels.permute(0, 2, 3, 1)}
    folder = out / "e2e_tiny_shapes"
    save(folder, inputs=inputs, output=output)
    run = {"pipeline": "PixArtSigmaPipeline", "transformer": "tiny_shapes", "vae": "vae_pixel_shuffle",
           "scheduler": SCHEDULER, "num_inference_steps": STEPS, "guidance_scale": GUIDANCE, "height": EDGE, "width": EDGE,
           "batch_order": "[negative, positive]", "caption": CAPTION}
    (folder / "e2e.json").write_text(json.dumps(run, indent=1) + "\n")
    print(f"latents up to {latents.abs().max():.2f}, pixels {image.min():.2f} to {image.max():.2f}")


def main():
    out = Path(sys.argv[1])
    torch.manual_seed(1)
    with torch.no_grad():
        make_codec(out)
        model = make_model(out)
        make_run(out, model, *make_text(out))


if __name__ == "__main__":
    main()
