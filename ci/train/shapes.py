"""Shapes: the pictures, captions and the rule of engine/shapes, by its shared object, as arrays.

The library is built by `make shapes-lib` at the first use, so that a script trains on what the engine renders.
"""

import ctypes
import fcntl
import json
import subprocess
from pathlib import Path

import numpy as np

TOP = Path(__file__).resolve().parents[2]
WORDS, SLOTS, EDGE, FRAMES = 33, 16, 32, 8
PAD, NULL, NONE = 0, 1, 2


class Tally(ctypes.Structure):
    _fields_ = [("asked", ctypes.c_int64 * 7), ("right", ctypes.c_int64 * 7), ("captions", ctypes.c_int64),
                ("whole", ctypes.c_int64)]


class Object(ctypes.Structure):
    _fields_ = [("values", ctypes.c_int * 6)]


class Caption(ctypes.Structure):
    _fields_ = [("clip", ctypes.c_bool), ("background", ctypes.c_int), ("count", ctypes.c_int), ("objects", Object * 2)]


class Reading(ctypes.Structure):
    _fields_ = [("background", ctypes.c_int), ("found", ctypes.c_bool * 4), ("objects", Object * 4)]


def load():
    """Builds and opens the library. Scripts that start together take turns."""
    (TOP / "build").mkdir(exist_ok=True)
    with open(TOP / "build/shapes-lib.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        build = subprocess.run(["make", "-s", "CUDA=0", "shapes-lib"], cwd=TOP, capture_output=True, text=True)
        if build.returncode:
            raise SystemExit(f"ci/train: `make shapes-lib` failed, see below\n{build.stderr}")
        library = ctypes.CDLL(str(TOP / "build/lib/ditbench-shapes.so"))
    library.dit_caption_word.restype = library.dit_attribute_name.restype = ctypes.c_char_p
    library.dit_reading_compare.restype = ctypes.c_bool
    return library


_library = load()
SPLITS = [name.decode() for name in (ctypes.c_char_p * 6).in_dll(_library, "dit_split_names")]
ATTRIBUTES = [_library.dit_attribute_name(i).decode() for i in range(7)]  # as dit_attribute


def vocabulary():
    """The words in the order of their numbers."""
    return [_library.dit_caption_word(i).decode() for i in range(WORDS)]


def samples(split, first, count, clip=False):
    """Pictures [count, 3, 32, 32] (clips [count, 8, 3, 32, 32]) in 0..1, and the slots of their captions [count, 16]."""
    shape = (count, FRAMES, 3, EDGE, EDGE) if clip else (count, 3, EDGE, EDGE)
    pictures, slots = np.empty(shape, np.float32), np.empty((count, SLOTS), np.uint8)
    _library.dit_picture_samples(SPLITS.index(split), ctypes.c_bool(clip), ctypes.c_uint64(first), ctypes.c_int64(count),
                                 ctypes.c_void_p(pictures.ctypes.data), ctypes.c_void_p(slots.ctypes.data))
    return pictures, slots


def caption_of(slots):
    """The caption that 16 slots stand for."""
    caption = Caption()
    if _library.dit_caption_of_slots(np.ascontiguousarray(slots, np.uint8).ctypes.data_as(ctypes.c_void_p),
                                     ctypes.byref(caption)):
        raise ValueError(f"no caption has the slots {list(slots)}")
    return caption


def text_of(slots):
    out = ctypes.create_string_buffer(160)
    _library.dit_caption_print(ctypes.byref(caption_of(slots)), out)
    return out.value.decode()


def read(pictures, slots):
    """Holds pictures against captions by the rule. Returns the shares that are right, by attribute and "whole", and a list
    that tells for each picture whether its whole caption is right."""
    pictures = np.ascontiguousarray(pictures, np.float32)
    clip, tally, whole = pictures.ndim == 5, Tally(), []
    rule = _library.dit_shapes_read_clip if clip else _library.dit_shapes_read
    for picture, words in zip(pictures, slots):
        reading, caption = Reading(), caption_of(words)
        rule(picture.ctypes.data_as(ctypes.c_void_p), ctypes.byref(reading))
        whole.append(_library.dit_reading_compare(ctypes.byref(reading), ctypes.byref(caption), ctypes.byref(tally)))
    shares = {name: tally.right[i] / tally.asked[i] for i, name in enumerate(ATTRIBUTES) if tally.asked[i]}
    return shares | {"whole": tally.whole / tally.captions}, whole


def write_vocabulary(folder):
    text = json.dumps({"words": vocabulary(), "slots": SLOTS, "pad": PAD, "null": NULL, "none": NONE}, indent=2)
    (Path(folder) / "vocabulary.json").write_text(text + "\n")
