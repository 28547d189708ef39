"""Pipelines of chat models that see a picture: the processor, the picture, and what transformers must be told.

The pipeline leaves it to transformers to find the tokens that stand for pictures: 4.51.3 finds them by their ids, 5.23.0 only where
it is given the tokens' types, and else places them as text. `tell_types` gives them, so that places are those of the model.
"""
import json
import os
import pathlib

import numpy as np
import torch
from PIL import Image
from transformers import BatchFeature
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from parts import start_picture

SIDES = (70, 66), (91, 64)  # width and height of pictures that refer
UPRIGHT = (50, 80)
PAD = "<|image_pad|>"
AREA = {"shortest_edge": 64, "longest_edge": 1 << 20}


class Processor:
    """Qwen2_5_VLProcessor, which needs torchvision, over Pillow."""

    def __init__(self, tokens, vision):
        self.tokens = tokens
        self.images = Qwen2VLImageProcessorPil(size=dict(AREA), patch_size=vision.patch_size, merge_size=vision.spatial_merge_size)

    def __call__(self, text, images, padding, return_tensors):
        images = images if isinstance(images, list) else [images]
        seen = self.images(images=images * len(text), return_tensors="pt")
        counts = [int(grid.prod()) // self.images.merge_size**2 for grid in seen["image_grid_thw"]]
        for row, line in enumerate(text):
            parts = line.split(PAD)
            own = counts[row * len(images):(row + 1) * len(images)]
            text[row] = parts[0] + "".join(PAD * count + part for count, part in zip(own, parts[1:]))
        return BatchFeature({**self.tokens(text, padding=padding, return_tensors=return_tensors), **seen})

    def save(self, out, pipe_class):
        """processor/ and its member of model_index.json."""
        self.images.save_pretrained(os.path.join(out, "processor"))
        path = pathlib.Path(out, "model_index.json")
        index = json.loads(path.read_text(encoding="utf-8"))
        index["processor"] = ["transformers", pipe_class]
        path.write_text(json.dumps(index, indent=2) + "\n", encoding="utf-8")


def tell_types(encoder):
    def told(_, args, kwargs):
        kwargs["mm_token_type_ids"] = (kwargs["input_ids"] == encoder.config.image_token_id).int()
        return args, kwargs
    encoder.register_forward_pre_hook(told, with_kwargs=True)


def picture(size=None):
    made = Image.fromarray(start_picture())
    return made.resize(size) if size else made


def draw(width, height):
    y, x = np.mgrid[0:height, 0:width]
    return Image.fromarray(np.stack([x * 3, y * 3, (x * y) % 256], axis=-1).astype(np.uint8))


def make_small(module):
    """References of about 80 x 80 pixels, seen as about 48 x 48: else a megapixel, and 384 x 384."""
    plain = module.calculate_dimensions
    small = {module.VAE_IMAGE_SIZE: 80 * 80, module.CONDITION_IMAGE_SIZE: 48 * 48}
    module.calculate_dimensions = lambda area, ratio: plain(small.get(area, area), ratio)


def sides(call):
    """Width and height of a reference."""
    return tuple(int(side) for side in call["reference_resolution"].split("x"))
