#!/usr/bin/env python3
"""Draws configurations of classes, exports a golden folder of each by its script, and lets the engine compare it: on one rank, and
on two by heads, by rows and by weights, where the drawn sizes divide.

    PYTHON engine/tests/golden/draw.py build/bin/ditbench --count 10 --seed 1 ltx2 flux_kontext hunyuan_video15

PYTHON has the packages that the scripts name. A line tells of each folder; the status is 1 where one differs from diffusers.
"""
import argparse
import importlib
import pathlib
import random
import subprocess
import sys
import tempfile

# What is drawn for each script: an option's values, and flags that are there or not.
CELLS = (1, 2, 3, 4, 5, 7)
SIZES = {"batch": (1, 2, 3), "rows": CELLS, "columns": CELLS, "text": (1, 2, 7, 8, 20), "layers": (1, 2, 3)}
CLIP = SIZES | {"frames": (1, 2, 3, 5)}
DRAWS = {
    "ltx2": (CLIP | {"heads": (2, 3, 4, 6), "head": (4, 6, 8, 10, 22, 64), "text_dim": (3, 20, 33), "channels": (1, 6, 9),
                     "frame_rate": (16, 24, 25, 30, 60), "rope": ("split", "interleaved")}, ("wide", "plain", "unmasked")),
    "flux_kontext": (SIZES | {"reference_rows": CELLS, "reference_columns": CELLS, "layers": (0, 1, 2), "singles": (1, 2, 3),
                              "heads": (2, 3, 4, 6), "head": (6, 12, 18, 66), "text_dim": (7, 20), "pooled_dim": (3, 10),
                              "channels": (1, 2, 4), "loop": (0, 0, 2), "guidance": (1.5, 2.5, 6.0)}, ("unguided",)),
    "hunyuan_video15": (CLIP | {"glyphs": (2, 4, 9), "picture": (2, 4, 5), "refiners": (1, 2, 3), "heads": (2, 3, 4, 6),
                                "head": (6, 12, 18, 66), "text_dim": (7, 20), "glyph_dim": (3, 10), "image_dim": (5, 12),
                                "glyph_width": (9, 14), "channels": (3, 4, 6), "task": ("t2v", "i2v")}, ()),
}
MESHES = ([], ["--ulysses_degree", "2"], ["--ring_degree", "2"], ["--tensor_degree", "2"])


def draw(rng, name):
    values, flags = DRAWS[name]
    out = [word for key, some in values.items() for word in (f"--{key}", str(rng.choice(some)))]
    return out + [f"--{flag}" for flag in flags if rng.random() < 0.5] + ["--seed", str(rng.randrange(1 << 16))]


def export(name, folder, options):
    sys.argv = [name, str(folder), *options]
    importlib.import_module(name).main()


def compare(ditbench, folder, mesh):
    """'pass', 'skip' where the sizes do not divide, else 'FAIL'; and the line that says it."""
    run = subprocess.run([ditbench, "golden", folder, *mesh], capture_output=True, text=True, check=False)
    lines = [line for line in (run.stdout + run.stderr).splitlines() if "worst" in line or "skip:" in line or "E_" in line]
    line = lines[-1].split(": ", 1)[-1] if lines else "no answer"
    return ("skip" if line.startswith("skip: E_CONSTRAINT") else "FAIL" if run.returncode else "pass"), line


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ditbench")
    parser.add_argument("names", nargs="+", choices=sorted(DRAWS), metavar="NAME")
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng, counts = random.Random(args.seed), {"pass": 0, "skip": 0, "FAIL": 0}
    with tempfile.TemporaryDirectory() as work:
        for index, name in [(i, name) for name in args.names for i in range(args.count)]:
            options = draw(rng, name)
            export(name, pathlib.Path(work) / f"{name}_{index}", options)
            for folder in sorted(pathlib.Path(work).glob(f"*{name}_{index}")):
                for mesh in MESHES:
                    verdict, line = compare(args.ditbench, folder, mesh)
                    counts[verdict] += 1
                    if verdict == "FAIL" or not mesh:
                        print(f"{verdict} {folder.name} {' '.join(mesh + options)}: {line}", flush=True)
    print(f"{counts['pass']} agree, {counts['skip']} do not divide, {counts['FAIL']} differ")
    return counts["FAIL"] > 0 or counts["pass"] < counts["skip"]


if __name__ == "__main__":
    sys.exit(main())
