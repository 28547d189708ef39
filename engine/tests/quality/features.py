#!/usr/bin/env python3
"""Writes features.safetensors, a features network of seeded weights, and features.json: what PyTorch computes with it.

Usage: features.py FOLDER          (made with torch 2.15.0 on a CPU, safetensors 0.8.0)
"""
import json
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch.nn import functional

from golden import picture

CHANNELS, KERNELS, WIDTH, EDGE = [3, 4, 6, 8], [3, 5, 3], 5, 16


def make():
    generator = torch.Generator().manual_seed(1)
    tensors = {}
    for i, kernel in enumerate(KERNELS):
        fan = CHANNELS[i] * kernel * kernel
        tensors[f"conv{i + 1}.weight"] = torch.randn(CHANNELS[i + 1], CHANNELS[i], kernel, kernel, generator=generator)
        tensors[f"conv{i + 1}.weight"] *= (2 / fan) ** 0.5
        tensors[f"conv{i + 1}.bias"] = torch.randn(CHANNELS[i + 1], generator=generator) * 0.1
    inputs = CHANNELS[-1] * (EDGE // 8) ** 2
    tensors["features.weight"] = torch.randn(WIDTH, inputs, generator=generator) / inputs**0.5
    tensors["features.bias"] = torch.randn(WIDTH, generator=generator) * 0.1
    tensors["heads.colour.weight"] = torch.randn(3, WIDTH, generator=generator)  # no part of the features
    return tensors


def features(tensors, pictures):
    x = pictures * 2 - 1
    for i, kernel in enumerate(KERNELS):
        x = functional.conv2d(x, tensors[f"conv{i + 1}.weight"], tensors[f"conv{i + 1}.bias"], 2, kernel // 2)
        x = functional.relu(x)
    return functional.linear(x.flatten(1), tensors["features.weight"], tensors["features.bias"])


def main():
    folder, tensors = Path(sys.argv[1]), make()
    save_file(tensors, folder / "features.safetensors")
    exact = {name: tensor.double() for name, tensor in tensors.items()}
    clip = torch.from_numpy(picture(8, 3, EDGE, EDGE)).transpose(0, 1)
    large = torch.from_numpy(picture(9, 1, 3 * EDGE, 3 * EDGE)).transpose(0, 1)
    out = {"clip": features(exact, clip).tolist(), "large": features(exact, functional.avg_pool2d(large, 3)).tolist()}
    (folder / "features.json").write_text(json.dumps(out, indent=2) + "\n")


if __name__ == "__main__":
    main()
