"""Writes golden.h: what torch.randn gives on the CPU. Usage: golden.py >golden.h   (PyTorch 2.6.0, with AVX2)

A row is a seed and the sizes that are drawn one after the other from one generator. Of each size the first and last four
numbers are kept, as bits, and the sum of the bits of all as an unsigned 64-bit number.
"""
import struct
import sys

import torch

ROWS = [(0, [1, 3, 15, 2, 7]), (42, [16]), (42, [17]), (42, [31, 5, 33, 1]), (7, [4 * 32 * 32]), (7, [3 * 4 * 8 * 8, 4 * 8 * 8]),
        (2**32 + 42, [16]), (123456789, [100003]), (2**53 - 1, [640, 9])]


def words(values):
    return struct.unpack(f"<{values.numel()}I", values.numpy().tobytes())


def edges(all_words):
    picked = all_words[:4] + all_words[-4:] if len(all_words) >= 8 else (all_words + (0,) * 8)[:8]
    return ", ".join(f"0x{w:08x}" for w in picked)


print(f"/* Written by base/tests/torch/golden.py with PyTorch {torch.__version__.split('+')[0]}. */")
print("static const golden_draw golden_draws[] = {")
for seed, sizes in ROWS:
    generator = torch.Generator("cpu").manual_seed(seed)
    for index, size in enumerate(sizes):
        w = words(torch.randn(size, generator=generator))
        print(f"    {{UINT64_C({seed}), {index}, {size}, UINT64_C({sum(w)}), {{{edges(w)}}}}},")
print("};")
sys.stdout.flush()
