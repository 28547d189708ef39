#!/usr/bin/env python3
"""Writes golden.json: picture measures by NumPy and SciPy in double, for engine/tests/test_quality.c.

Inputs are made by the same integer recurrence there and here, and are exact in single precision, so none is stored.
Usage: golden.py OUT.json          (made with numpy 2.4.6, scipy 1.17.1)
"""
import json
import sys

import numpy as np
from scipy.linalg import sqrtm
from scipy.signal import convolve2d
from scipy.stats import t as student


# ---- inputs ----------------------------------------------------------------------------------------------------------
def uniform(seed, count):
    """count numbers in [0, 1) with 16 bits, by a linear congruential generator."""
    out = np.empty(count)
    x = seed
    for i in range(count):
        x = (x * 1664525 + 1013904223) % 2**32
        out[i] = (x >> 16) / 65536
    return out


def picture(seed, frames, height, width):
    """Ramps with noise [3, frames, height, width]; every value is a multiple of 2^-20."""
    noise = uniform(seed, 3 * frames * height * width).reshape(3, frames, height, width)
    c, f, y, x = np.ogrid[:3, :frames, :height, :width]
    ramp = ((x * 3 + y * 5 + f * 7 + c * 11) % 32) / 32
    return ramp * 0.75 + noise * 0.25


def other(a, seed):
    return a * 0.875 + uniform(seed, a.size).reshape(a.shape) * 0.125


def features(seed, count, width, shift):
    u = uniform(seed, count * width).reshape(count, width)
    return u + 0.5 * np.roll(u, 1, axis=1) + shift


def prompts(count):
    return np.arange(count) // 2


# ---- measures --------------------------------------------------------------------------------------------------------
def psnr(a, b):
    mse = ((a - b) ** 2).mean(axis=(0, 2, 3))
    return np.mean([100.0 if m < 1e-10 else 10 * np.log10(1 / m) for m in mse])


def ssim(a, b):
    at = np.arange(11) - 5
    window = np.exp(-(at**2) / (2 * 1.5**2))
    window = np.outer(window, window)
    window /= window.sum()
    c1, c2 = 0.01**2, 0.03**2

    def blur(x):
        return convolve2d(x, window, mode="valid")

    def of_plane(x, y):
        mx, my = blur(x), blur(y)
        vx, vy, cov = blur(x * x) - mx * mx, blur(y * y) - my * my, blur(x * y) - mx * my
        return np.mean((2 * mx * my + c1) * (2 * cov + c2) / ((mx**2 + my**2 + c1) * (vx + vy + c2)))

    return np.mean([of_plane(a[c, f], b[c, f]) for f in range(a.shape[1]) for c in range(3)])


def frechet(x, y):
    a, b = np.cov(x, rowvar=False), np.cov(y, rowvar=False)
    root = sqrtm(a @ b)
    return float(np.sum((x.mean(0) - y.mean(0)) ** 2) + np.trace(a + b) - 2 * np.trace(root).real)


def frechet_singular(x, y):
    """By eigenvectors, where sqrtm does not serve."""
    a, b = np.cov(x, rowvar=False), np.cov(y, rowvar=False)
    values, vectors = np.linalg.eigh(a)
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    inner = np.linalg.eigvalsh(root @ b @ root)
    return float(np.sum((x.mean(0) - y.mean(0)) ** 2) + np.trace(a + b) - 2 * np.sqrt(np.maximum(inner, 0)).sum())


def kernel_distance(x, y):
    def kernel(p, q):
        return (p @ q.T / p.shape[1] + 1) ** 3

    n, m = len(x), len(y)
    kxx, kyy, kxy = kernel(x, x), kernel(y, y), kernel(x, y)
    within = (kxx.sum() - np.trace(kxx)) / (n * (n - 1)) + (kyy.sum() - np.trace(kyy)) / (m * (m - 1))
    return within - 2 * kxy.mean()


# ---- numbers by counter, as base/rng.h has them (Philox4x32-10, Salmon et al., SC11) -----------------------------------
def philox(key, high, low):
    mask = 0xFFFFFFFF
    k0, k1 = key & mask, key >> 32
    x = [low & mask, low >> 32, high & mask, high >> 32]
    for r in range(10):
        p0, p1 = 0xD2511F53 * x[0], 0xCD9E8D57 * x[2]
        x = [
            (p1 >> 32) ^ x[1] ^ ((k0 + r * 0x9E3779B9) & mask),
            p1 & mask,
            (p0 >> 32) ^ x[3] ^ ((k1 + r * 0xBB67AE85) & mask),
            p0 & mask,
        ]
    return x


def below(seed, stream, index, bound):
    """No draw here is refused: bounds are small, so all but one in 2^50 first draws are taken."""
    c = philox(seed, stream, index)
    return (c[1] << 32 | c[0]) % bound


def shuffled(count, stream):
    order = list(range(count))
    for i in range(count - 1, 0, -1):
        j = below(20200613, stream, i, i + 1)
        order[i], order[j] = order[j], order[i]
    return order


def frechet_infinity(x, y):
    most = min(len(x), len(y))
    least = most // 4
    sizes = [least + (most - least) * i // 14 for i in range(15)]
    distances = [
        frechet(x[shuffled(len(x), 2 * i)[:n]], y[shuffled(len(y), 2 * i + 1)[:n]]) for i, n in enumerate(sizes)
    ]
    return np.polyfit(1 / np.array(sizes), distances, 1)[1]


def draws(groups):
    return [[below(20130612, 0xB007, d * groups + i, groups) for i in range(groups)] for d in range(2000)]


def bootstrap_mean(values, group):
    sums = np.bincount(group, values)
    counts = np.bincount(group)
    means = [sums[d].sum() / counts[d].sum() for d in draws(len(sums))]
    return [values.mean(), *np.percentile(means, [2.5, 97.5])]


def diversity(x, px, y, py):
    def sums(z, p):
        total, pairs = np.zeros(p.max() + 1), np.zeros(p.max() + 1)
        for i in range(len(z)):
            for j in range(i):
                if p[i] == p[j]:
                    total[p[i]] += np.linalg.norm(z[i] - z[j])
                    pairs[p[i]] += 1
        return total, pairs

    (tx, nx), (ty, ny) = sums(x, px), sums(y, py)
    value = (tx.sum() / nx.sum()) / (ty.sum() / ny.sum())
    drawn = [(tx[d].sum() / nx[d].sum()) / (ty[d].sum() / ny[d].sum()) for d in draws(len(tx))]
    return [value, *np.percentile(drawn, [2.5, 97.5])]


def kernel_interval(x, px, y, py):
    blocks = [kernel_distance(x[px % 10 == i], y[py % 10 == i]) for i in range(10)]
    half = student.ppf(0.975, 9) * np.std(blocks, ddof=1) / np.sqrt(10)
    value = kernel_distance(x, y)
    return [value, value - half, value + half]


def main():
    out = {}
    for name, shape in {"square": (1, 32, 32), "oblong": (1, 17, 40), "clip": (3, 16, 12), "window": (1, 11, 11)}.items():
        a = picture(1, *shape)
        b = other(a, 2)
        out[f"psnr_{name}"], out[f"ssim_{name}"] = psnr(a, b), ssim(a, b)
    x, y = features(3, 200, 16, 0), features(4, 180, 16, 0.25)
    out["frechet"] = frechet(x, y)
    out["frechet_infinity"] = frechet_infinity(x, y)
    blocks = [frechet(features(3, 200, 8, 0)[i::10], features(4, 180, 8, 0.25)[i::10]) for i in range(10)]
    out["frechet_blocks"] = [np.mean(blocks), np.std(blocks, ddof=1)]
    x1, y1 = x.copy(), y.copy()
    for z in (x1, y1):
        z[:, 3], z[:, 5] = 0.5, z[:, 4]  # a feature that never changes, and one twice
        z[:, 7], z[:, 9] = z[:, 1] + z[:, 2] - z[:, 0], z[:, 8] - z[:, 6]  # and sums of others
    out["frechet_singular"] = frechet_singular(x1, y1)
    out["kernel_distance"] = kernel_distance(x, y)
    out["kernel_interval"] = kernel_interval(x, prompts(200), y, prompts(180))
    a = picture(5, 8, 12, 14)
    out["frame_change"] = np.abs(np.diff(a, axis=1)).mean()
    values = uniform(6, 60)
    out["bootstrap_mean"] = bootstrap_mean(values, np.arange(60) // 3)
    out["diversity"] = diversity(x[:60], prompts(60) // 2, y[:60], prompts(60) // 2)
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump({k: [float(i) for i in v] if isinstance(v, list) else float(v) for k, v in out.items()}, file, indent=2)
        file.write("\n")


if __name__ == "__main__":
    main()
