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


def renders(split, first, count, clip):
    """Pictures [count, values], clips frame after frame."""
    return torch.from_numpy(shapes.samples(split, first, count, clip)[0]).flatten(1)


def made_by(path):
    """What a model made, as renders lie, and whether they are clips: in the file their frames come after their colours."""
    pixels = load_file(path)["pixels"]
    clip = pixels.dim() == 5 and pixels.shape[2] > 1  # a picture is one frame
    return ((pixels.transpose(1, 2) if clip else pixels).flatten(1) / 2 + 0.5).clamp(0, 1), clip


def distances(pictures, train, clip):
    """Euclidean distance of each picture to the nearest of the first `train` training pictures."""
    least, chunk = torch.full((len(pictures),), float("inf")), CHUNK // shapes.FRAMES if clip else CHUNK
    for first in range(0, train, chunk):
        known = renders("train", first, min(chunk, train - first), clip)
        least = torch.minimum(least, torch.cdist(pictures, known).min(1).values)
    return least


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pixels")
    parser.add_argument("--split", required=True)
    parser.add_argument("--train", type=int, default=320000, help="training pictures, from the first; default %(default)d")
    args = parser.parse_args()
    made, clip = made_by(args.pixels)
    fresh = renders(args.split, 0, len(made), clip)
    own, others = (x.median().item() for x in distances(torch.cat([made, fresh]), args.train, clip).chunk(2))
    print(json.dumps({"pictures": len(made), "train": args.train, "median": round(own, 4), "median_of_renders": round(others, 4),
                      "ratio": round(own / others, 4)}))
    raise SystemExit(0 if own >= BAR * others else 1)


if __name__ == "__main__":
    main()
