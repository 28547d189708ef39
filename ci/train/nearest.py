#!/usr/bin/env python3
"""Tells whether a model repeats pictures that it was trained on: how near its pictures are to the nearest training picture, and
how near fresh renders of the same captions are. Usage: nearest.py PIXELS.safetensors --split NAME [--train N]

PIXELS is what `ditbench generate MODEL --prompt shapes:NAME:COUNT --pixels` leaves. The ratio of the two medians is 1 where the
model makes pictures as new as renders are; a model that repeats is far below. Exit: 0; 1 below 0.9."""

import argparse
import json

import torch
from safetensors.torch import load_file

import shapes

BAR, CHUNK = 0.9, 4000


def distances(pictures, train):
    """Euclidean distance of each picture to the nearest of the first `train` training pictures."""
    least = torch.full((len(pictures),), float("inf"))
    for first in range(0, train, CHUNK):
        known = torch.from_numpy(shapes.samples("train", first, min(CHUNK, train - first), False)[0]).flatten(1)
        least = torch.minimum(least, torch.cdist(pictures, known).min(1).values)
    return least


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pixels")
    parser.add_argument("--split", required=True)
    parser.add_argument("--train", type=int, default=320000, help="training pictures, from the first; default %(default)d")
    args = parser.parse_args()
    made = ((load_file(args.pixels)["pixels"].flatten(1) + 1) / 2).clamp(0, 1)
    fresh = torch.from_numpy(shapes.samples(args.split, 0, len(made), False)[0]).flatten(1)
    own, others = (distances(x, args.train).median().item() for x in (made, fresh))
    print(json.dumps({"pictures": len(made), "train": args.train, "median": round(own, 4), "median_of_renders": round(others, 4),
                      "ratio": round(own / others, 4)}))
    raise SystemExit(0 if own >= BAR * others else 1)


if __name__ == "__main__":
    main()
