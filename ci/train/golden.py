#!/usr/bin/env python3
"""Adds to an exported model what diffusers computes with it, for `ditbench golden`: one forward at two times, and beside the
folder a whole sampling loop, e2e_NAME, and the codec, vae_NAME. Usage: golden.py MODEL [--sample I] [--steps N] [--guidance G]

The forward and the loop are made with the weights as they ship, in float32. Then: ditbench golden MODEL ../e2e_NAME"""

import argparse
import importlib
import json
from pathlib import Path

import diffusers
import torch
from safetensors.torch import load_file, save_file

import denoiser
import run
import shapes

SCRIPTS = {"PixArtTransformer2DModel": "shapes_pixart", "FluxTransformer2DModel": "shapes_flux",
           "LatteTransformer3DModel": "shapes_latte"}
PIPELINES = {"PixArtTransformer2DModel": "PixArtSigmaPipeline", "FluxTransformer2DModel": "FluxPipeline",
             "LatteTransformer3DModel": "LattePipeline"}


def opened(folder):
    """The denoiser of an exported folder, its class, and its scheduler."""
    config = json.loads((folder / "config.json").read_text())
    name = config["_class_name"]
    if name not in SCRIPTS:
        raise SystemExit(f"{folder}: {name} is none of {', '.join(SCRIPTS)}")
    script = importlib.import_module(SCRIPTS[name])
    model = denoiser.Denoiser(getattr(diffusers, name).from_pretrained(folder, torch_dtype=torch.float32, low_cpu_mem_usage=False),
                              script.call)
    model.text.load_state_dict({key: x.float() for key, x in load_file(folder / "text.safetensors").items()})
    solver = json.loads((folder / "scheduler_config.json").read_text())
    return model.eval(), script, getattr(diffusers, solver["_class_name"]).from_config(solver), solver


class Recorder:
    """Remembers what a transformer was called with, and what it said."""

    def __init__(self, transformer):
        self.transformer = transformer

    def __getattr__(self, name):
        return getattr(self.transformer, name)

    def __call__(self, *args, **named):
        self.said = self.transformer(*args, **named)
        given = ({"hidden_states": args[0]} if args else {}) | named
        self.given = {key: x for key, x in given.items() if isinstance(x, torch.Tensor)}
        return self.said


def save(path, tensors):
    save_file({key: x.contiguous() for key, x in tensors.items()}, path)
    path.chmod(0o644)


def noise_of(script, count):
    shape = (count, shapes.FRAMES, 12, 16, 16) if script.__name__ == "shapes_latte" else (count, 12, 16, 16)
    return torch.randn(shape, generator=run.generator_of(7, 0))


def make_forward(folder, model, script, slots):
    flow = script.__name__ == "shapes_flux"
    recorder = Recorder(model.transformer)
    times = torch.tensor([901.0, 17.0]) if flow else torch.tensor([901, 17])
    script.call(recorder, noise_of(script, 2), times, model.text, torch.cat([slots, torch.full_like(slots, shapes.NULL)]))
    save(folder / "inputs.safetensors", recorder.given)
    save(folder / "output.safetensors", {"output": recorder.said[0]})


def make_loop(folder, model, script, scheduler, solver, slots, steps, guidance):
    """As the engine runs it; latents have the library's layout."""
    flow, clip = script.__name__ == "shapes_flux", script.__name__ == "shapes_latte"
    lay = script.pack if flow else (lambda x: x.transpose(1, 2)) if clip else (lambda x: x)
    (denoiser.Flow if flow else denoiser.Noise).begin(scheduler, steps)
    latents, output = noise_of(script, 1), {}
    nothing = torch.full_like(slots, shapes.NULL)
    text = {"prompt_embeds": model.text(slots), "negative_prompt_embeds": model.text(nothing)}
    if flow:
        text |= {"pooled_prompt_embeds": model.text.pooled(slots), "negative_pooled_prompt_embeds": model.text.pooled(nothing)}
    inputs = {"latents": lay(latents)} | text
    both = torch.cat([nothing, slots])
    for i, time in enumerate(scheduler.timesteps):
        said = model(torch.cat([latents] * len(both)), time.repeat(len(both)), both)
        said = said[:1] + guidance * (said[1:] - said[:1])
        latents = scheduler.step(said, time, latents, return_dict=False)[0]
        output[f"noise_pred_{i}"] = lay(said)
        output["latents_final" if i + 1 == steps else f"latents_{i + 1}"] = lay(latents)
    output["timesteps"] = scheduler.timesteps.float()
    out = folder.parent / f"e2e_{folder.name}"
    out.mkdir(exist_ok=True)
    name = type(model.transformer).__name__
    run_of = {"pipeline": PIPELINES[name], "transformer": folder.name, "scheduler": solver, "num_inference_steps": steps,
              "true_cfg_scale" if flow else "guidance_scale": guidance, "batch_order": "[negative, positive]",
              "height": shapes.EDGE, "width": shapes.EDGE}
    if clip:
        run_of |= {"video_length": shapes.FRAMES, "output": "latents only"}
    else:
        codec = folder.parent / f"vae_{folder.name}"  # a folder beside the loop's, as the engine asks
        codec.mkdir(exist_ok=True)
        (codec / "config.json").write_text((folder / "vae" / "config.json").read_text())
        run_of |= {"vae": codec.name}
        image = torch.nn.functional.pixel_shuffle(latents / denoiser.SCALE + denoiser.SHIFT, 2)
        levels = ((image / 2 + 0.5).clamp(0, 1) * 255).round().to(torch.uint8)
        output |= {"image_raw": image, "image_u8": levels.permute(0, 2, 3, 1)}
    save(out / "inputs.safetensors", inputs)
    save(out / "output.safetensors", output)
    (out / "e2e.json").write_text(json.dumps(run_of, indent=1) + "\n")
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--sample", type=int, default=0, help="of the held-out captions; default %(default)d")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--guidance", type=float, default=2.5)
    args = parser.parse_args()
    folder = args.model.resolve()
    model, script, scheduler, solver = opened(folder)
    _, slots = shapes.samples("held-out", args.sample, 1, clip=script.__name__ == "shapes_latte")
    slots = torch.from_numpy(slots).long()
    with torch.no_grad():
        make_forward(folder, model, script, slots)
        out = make_loop(folder, model, script, scheduler, solver, slots, args.steps, args.guidance)
    print(f"ditbench golden {folder}; ditbench golden {out}")


if __name__ == "__main__":
    main()
