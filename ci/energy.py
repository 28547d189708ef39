#!/usr/bin/env python3
"""Predicts what published runs drew, and compares it with what was measured.

Usage: ci/energy.py ANSWER [--points FILE] [--power FILE]
  ANSWER         what `ditbench simulate --points FILE --filter "metric == 'latency'" --json` has answered
  --points FILE  the same published points, with rows of metric energy or power beside those of latency
                                               (results/published/mlenergy.json)
  --power FILE   watts of accelerators         (workloads/power/accelerators.json)

Energy is time times watts, both predicted: an accelerator draws idle_w + slope_w x busy, and is as busy as its predicted
rate is near the best predicted rate of that model on one of them. The watts were fitted on these runs' own means
(`ditbench prices`), so that their error is one of a fit; the time's is none. A model without a run on one device is
left out. Prints, for each accelerator and in all, runs, median and 90th percentile of |predicted / measured - 1| of the time,
of mean power and of energy. Exit: 0, 1 for a file that cannot be read, 2 for a wrong argument.
"""
import argparse
import json
import math
import pathlib
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def run_of(point):
    """What rows of one run have in common."""
    config = point.get("config") or {}
    return (*model_of(point), point["hardware"], point["gpus"], point.get("batch", 1), point["method"],
            json.dumps(config, sort_keys=True))


def model_of(point):
    return (point["model"], point["resolution"], point.get("frames"), point["steps"], point["hardware"].split("x")[-1])


def runs_of(points, answer):
    """[{of, accelerator, gpus, rate, seconds, energy, watts}]: predicted rate and seconds; printed seconds, energy and watts."""
    printed = {}
    for point in points:
        printed.setdefault(run_of(point), {})[point["metric"]] = point["value"]
    runs = []
    for row in answer["points"]:
        point = points[row["index"]]
        known = printed[run_of(point)]
        if row["status"] != "simulated" or point["metric"] != "latency" or not {"energy", "power"} <= known.keys():
            continue
        rate = point.get("batch", 1) / row["predicted"] / point["gpus"]
        runs.append({"of": model_of(point), "accelerator": point["hardware"].split("x")[-1], "gpus": point["gpus"], "rate": rate,
                     "predicted": row["predicted"], **known})
    return runs


def predict(runs, power):
    """Adds predicted watts and joules; drops runs of models that no run on one device tells the best rate of."""
    fitted = {row["accelerator"].split("-")[0].upper(): row for row in power["fitted"]}
    best = {}
    for run in runs:
        if run["gpus"] == 1:
            best[run["of"]] = max(best.get(run["of"], 0), run["rate"])
    kept = [run for run in runs if run["of"] in best and run["accelerator"] in fitted]
    for run in kept:
        device = fitted[run["accelerator"]]
        busy = min(run["rate"] / best[run["of"]], 1)
        run["watts"] = run["gpus"] * (device["idle_w"] + device["slope_w"] * busy)
        run["joules"] = run["watts"] * run["predicted"]
    return kept


def errors(runs, predicted, printed):
    sizes = sorted(abs(run[predicted] / run[printed] - 1) for run in runs)
    return f"{100 * statistics.median(sizes):6.1f} {100 * sizes[math.ceil(0.9 * len(sizes)) - 1]:6.1f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("answer", type=pathlib.Path)
    parser.add_argument("--points", type=pathlib.Path, default=ROOT / "results/published/mlenergy.json")
    parser.add_argument("--power", type=pathlib.Path, default=ROOT / "workloads/power/accelerators.json")
    args = parser.parse_args()
    answer, points, power = (json.loads(path.read_text()) for path in (args.answer, args.points, args.power))
    runs = predict(runs_of(points, answer), power)
    print(f"{'':8s} {'runs':>5s}  {'time':>13s}  {'mean power':>13s}  {'energy':>13s}   median, 90th percentile, %")
    for name in [*sorted({run["accelerator"] for run in runs}), "all"]:
        some = [run for run in runs if name in ("all", run["accelerator"])]
        print(f"{name:8s} {len(some):5d}  {errors(some, 'predicted', 'latency')}  {errors(some, 'watts', 'power')}  "
              f"{errors(some, 'joules', 'energy')}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
