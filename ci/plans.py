#!/usr/bin/env python3
"""Holds the plans of a search against the engine: every exact mesh of a small model on four CPU ranks, predicted and measured.

Usage: ci/plans.py [--build BUILD] [--ranks N] [--processes N] [--keep FOLDER]

The machine is calibrated first (`ditbench calibrate --from measured`), then `search --exhaustive` predicts each mesh on
local-cpu-simulated, and `run` measures it on local-cpu. Prints a line a mesh, Spearman's rank correlation and the regret:
by how much the mesh that the search chooses is slower than the fastest measured one. Wants a machine with nothing else to
do, and as many cores as ranks.
Exit: 0 both bars hold (0.9 and 5 %), 1 one does not, 4 something is missing.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

MODEL = {"name": "pixart-alpha-xl-2", "as": "plans", "override": {"num_layers": 4}}
RUN = {"resolution": "256x256", "num_inference_steps": 3, "threads_per_rank": 1}
KEYS = {"u": "ulysses_degree", "r": "ring_degree", "tp": "tensor_degree", "cfg": "cfg_degree"}
LEAST_CORRELATION, MOST_REGRET = 0.9, 0.05


def degrees(mesh):
    """The degrees of a label such as "cfg2 u2"."""
    out = dict.fromkeys(KEYS.values(), 1)
    for word in mesh.split():
        name, degree = re.fullmatch(r"([a-z]+)(\d+)", word).groups()
        out[KEYS[name]] = int(degree)
    return out


def workload(platform, meshes, processes):
    tied = {key: [degrees(mesh)[key] for mesh in meshes] for key in KEYS.values()}
    simulated = {"profile": "cpu", "element": "fp32"} if platform.endswith("-simulated") else {}
    return {"schema": "ditbench.workload/1", "name": "plans", "defaults": {**RUN, "model": MODEL, "platform": platform, **simulated},
            "zip": [tied], "repeat": {"processes": 1 if simulated else processes, "seed": 5},
            "measure": {"warmup_runs": 0 if simulated else 1, "iterations": 1 if simulated else 3, "deadline_s": 300}}


def legal_meshes(ranks):
    """Every product of the four degrees; the harness drops those that no rule allows."""
    splits = [m for m in (1, 2, 4, 8, 16) if m <= ranks]
    found = []
    for cfg in (1, 2):
        for u in splits:
            for r in splits:
                for tp in splits:
                    if cfg * u * r * tp == ranks:
                        words = [f"{name}{n}" for name, n in (("cfg", cfg), ("u", u), ("r", r), ("tp", tp)) if n > 1]
                        found.append(" ".join(words))
    return found


def times(ditbench, platform, meshes, processes, folder):
    """Seconds of each mesh that ran, by its label: the median over processes of each one's median."""
    path, session = os.path.join(folder, platform + ".json"), os.path.join(folder, platform)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(workload(platform, meshes, processes), file)
    subprocess.run([ditbench, "run", path, "--output", session, "-q"], check=True, stdout=subprocess.DEVNULL)
    samples = {}
    with open(os.path.join(session, "journal.jsonl"), encoding="utf-8") as journal:
        for line in journal:
            entry = json.loads(line)
            if entry.get("kind") != "result" or "samples" not in entry.get("record", {}):
                continue
            values = sorted(float(v) for v in entry["record"]["samples"]["latency_ns"])
            samples.setdefault(entry["tags"]["mesh"], []).append(values[len(values) // 2] * 1e-9)
    return {mesh: sorted(values)[len(values) // 2] for mesh, values in samples.items()}


def ranks_of(values):
    order = sorted(range(len(values)), key=lambda i: values[i])
    out = [0.0] * len(values)
    for place, index in enumerate(order):
        out[index] = place
    return out


def spearman(a, b):
    x, y, n = ranks_of(a), ranks_of(b), len(a)
    return 1 - 6 * sum((p - q) ** 2 for p, q in zip(x, y)) / (n * (n * n - 1))


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    options.add_argument("--build", default="build")
    options.add_argument("--ranks", type=int, default=4)
    options.add_argument("--processes", type=int, default=6)
    options.add_argument("--keep", help="leave the sessions in this folder")
    asked = options.parse_args()
    ditbench = os.path.join(asked.build, "bin", "ditbench")
    if not os.path.exists(ditbench + "-engine-sim"):
        print("no simulator in this build", file=sys.stderr)
        return 4
    folder = asked.keep or tempfile.mkdtemp(prefix="ditbench-plans-")
    os.makedirs(folder, exist_ok=True)
    os.environ["DITBENCH_RESULTS"] = folder
    subprocess.run([ditbench, "calibrate", "--from", "measured", "-q"], check=True, stdout=subprocess.DEVNULL)
    meshes = legal_meshes(asked.ranks)
    predicted = times(ditbench, "local-cpu-simulated", meshes, asked.processes, folder)
    measured = times(ditbench, "local-cpu", meshes, asked.processes, folder)
    both = sorted(set(predicted) & set(measured), key=predicted.get)
    if len(both) < 3:
        print("fewer than three meshes ran", file=sys.stderr)
        return 4
    for mesh in both:
        print(f"{mesh:16} predicted {predicted[mesh]:.4f} s  measured {measured[mesh]:.4f} s")
    correlation = spearman([predicted[m] for m in both], [measured[m] for m in both])
    regret = measured[both[0]] / min(measured[m] for m in both) - 1
    print(f"{len(both)} meshes of {asked.ranks} ranks: Spearman {correlation:.3f} (bar {LEAST_CORRELATION}), "
          f"regret of {both[0]} {100 * regret:.1f} % (bar {100 * MOST_REGRET:.0f} %)")
    return 0 if correlation >= LEAST_CORRELATION and regret <= MOST_REGRET else 1


if __name__ == "__main__":
    sys.exit(main())
