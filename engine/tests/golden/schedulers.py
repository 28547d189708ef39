#!/usr/bin/env python3
"""Makes files of schedulers: configs that diffusers' schedulers run, with what each step gives, for random model outputs.

    pip install torch==2.6.0 diffusers==0.33.1 safetensors
    engine/tests/golden/schedulers.py engine/tests/golden/schedulers [NAME]...

NAME.json is the config with the numbers of steps, NAME.safetensors the timesteps, sigmas, samples and model outputs of each.
"""
import json
import sys
from pathlib import Path

import numpy
import torch
from diffusers import DPMSolverMultistepScheduler, FlowMatchEulerDiscreteScheduler
from diffusers.pipelines.mochi.pipeline_mochi import linear_quadratic_schedule
from safetensors.torch import save_file

STEPS = 6, 20
MU = 0.63  # where the shift depends on the size
QWEN_IMAGE = dict(use_dynamic_shifting=True, shift=1.0, base_shift=0.5, max_shift=0.9, max_image_seq_len=8192, shift_terminal=0.02)
CASES = {
    "dpmpp_3m_flow": DPMSolverMultistepScheduler(prediction_type="flow_prediction", use_flow_sigmas=True, flow_shift=3.0, solver_order=3),
    "flow_match_euler_exponential": FlowMatchEulerDiscreteScheduler(shift=2.0, use_exponential_sigmas=True),
    "flow_match_euler_dynamic_terminal": FlowMatchEulerDiscreteScheduler(**QWEN_IMAGE),
    "flow_match_euler_inverted": FlowMatchEulerDiscreteScheduler(invert_sigmas=True),
    "flow_match_euler_karras": FlowMatchEulerDiscreteScheduler(shift=3.0, use_karras_sigmas=True, shift_terminal=0.1),
}


def run(scheduler, steps, kept):
    if scheduler.config.get("use_dynamic_shifting"):
        scheduler.set_timesteps(sigmas=numpy.linspace(1.0, 1.0 / steps, steps).tolist(), mu=MU)
    elif scheduler.config.get("invert_sigmas"):
        scheduler.set_timesteps(sigmas=linear_quadratic_schedule(steps, 0.025))
    else:
        scheduler.set_timesteps(steps)
    sample = torch.randn(1, 4, 4, 6)
    kept.update({f"n{steps}.timesteps": scheduler.timesteps.float(), f"n{steps}.sigmas": scheduler.sigmas.float()})
    for i, timestep in enumerate(scheduler.timesteps):
        output = torch.randn(sample.shape)
        kept.update({f"n{steps}.sample_{i}": sample, f"n{steps}.model_output_{i}": output})
        sample = scheduler.step(output, timestep, sample, return_dict=False)[0]
    kept[f"n{steps}.sample_{steps}"] = sample


def main():
    out = Path(sys.argv[1])
    for name, scheduler in CASES.items():
        if sys.argv[2:] and name not in sys.argv[2:]:
            continue
        torch.manual_seed(1)
        kept = {}
        for steps in STEPS:
            run(scheduler, steps, kept)
        config = {"_class_name": type(scheduler).__name__, "_diffusers_version": "0.33.1"}
        config.update((key, value) for key, value in scheduler.config.items() if not key.startswith("_"))
        given = {"mu": MU, "sigmas": "linspace(1, 1/N, N) passed to set_timesteps"} if config.get("use_dynamic_shifting") else {}
        if config.get("invert_sigmas"):
            given = {"sigmas": "linear_quadratic_schedule(N, 0.025) passed to set_timesteps"}
        config["golden"] = {"steps": list(STEPS), **given, "init_noise_sigma": float(getattr(scheduler, "init_noise_sigma", 1.0))}
        (out / f"{name}.json").write_text(json.dumps(config, indent=1) + "\n")
        save_file({key: value.contiguous() for key, value in kept.items()}, out / f"{name}.safetensors")


if __name__ == "__main__":
    main()
