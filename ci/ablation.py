#!/usr/bin/env python3
"""Tells what each mechanism of the simulator is worth: switches one off, simulates the published points, and compares.

Usage: ci/ablation.py [--build DIR] [--points FILE] [--only NAME[,NAME]...] [-o FILE] [--list]
  --build DIR    where the programs are                        (build)
  --points FILE  published points, of results/published        (paper_numbers.json)
  --only NAMES   some mechanisms instead of all
  -o FILE        write the answer there, too, as JSON (ditbench.ablation/1)

A mechanism is switched off in a copy of the data files, in a scratch folder; the fitted values stay as they are. So a
row says what the predictions would be without the mechanism, and not how much of it a new fit could make up for.
Points in the fit are judged apart. Exit: 0 done, 1 a simulation failed, 2 a wrong argument.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PARTS = ("latencies", "rates", "in_fit")


class Data:
    """A copy of the data files that a mechanism is switched off in."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        shutil.copytree(ROOT / "workloads", self.folder / "workloads")
        for name in ("published", "calibration"):
            shutil.copytree(ROOT / "results" / name, self.folder / "results" / name)

    def change(self, pattern, change):
        """Calls change(document) for each file that matches, and writes those back that it returned True for."""
        changed = 0
        for path in sorted(self.folder.glob(pattern)):
            document = json.loads(path.read_text())
            if change(document):
                path.write_text(json.dumps(document))
                changed += 1
        if not changed:
            raise SystemExit(f"ci/ablation.py: nothing to switch off in {pattern}")

    def drop(self, pattern, *keys):
        """Removes keys of the files' outermost object, or of its object `cost`."""

        def remove(document):
            places = [document, document.get("cost", {})]
            found = [place.pop(key) for place in places for key in keys if key in place]
            return bool(found)

        self.change(pattern, remove)

    def set_cost(self, pattern, key, value):
        def put(document):
            if "cost" not in document:
                return False
            document["cost"][key] = value
            return True

        self.change(pattern, put)

    def drop_habit(self, key):
        """Removes a key from all rows of sources."""

        def remove(document):
            return bool([row.pop(key) for row in document["sources"] if key in row])

        self.change("results/published/methods.json", remove)

    def set_calibrated(self, key, value):
        def put(document):
            found = [entry for entry in document["parameters"] if entry["key"] == key]
            for entry in found:
                entry["value"] = value
            return bool(found)

        self.change("results/calibration/published.json", put)


PROFILES = "workloads/profiles/*.json"
ACCELERATORS = "workloads/accelerators/*.json"


def no_l2(data):
    def whole(document):
        found = [place.pop(key) for place in (document, document.get("cost", {}), document.get("assumed", {}))
                 for key in ("l2_bytes", "l2_speed") if key in place]
        return bool(found)

    data.change(ACCELERATORS, whole)


def whole_graphs(data):
    def compiled(document):
        if document["name"] != "inductor-broken":
            return False
        document.update(launches="operator", views="free")
        return True

    data.change("workloads/profiles/rules/*.json", compiled)


def no_indices(data):
    def unfitted(document):
        kept = [entry for entry in document["parameters"] if entry["key"] != "indexed_elements_per_clock"]
        found = len(kept) < len(document["parameters"])
        document["parameters"] = kept
        return found

    data.drop(PROFILES, "indexed_elements_per_clock")
    data.change("results/calibration/published.json", unfitted)


def no_channels(data):
    def one(document):
        found = [entry for entry in document["classes"].values() if "channels" in entry]
        for entry in found:
            del entry["channels"]
        return bool(found)

    data.change("workloads/links/links.json", one)


def one_knot(data):
    def many(document):
        value = {e["name"]: e["value"] for e in document["parameters"] if e["key"] == "many_peers_efficiency"}
        found = [e for e in document["parameters"] if e["key"] == "few_peers_efficiency"]
        for entry in found:
            entry["value"] = min(1, value.get(entry["name"], 1) ** 0.5)
        return bool(found)

    data.change("results/calibration/published.json", many)


def shared_sockets(data):
    def shared(document):
        document["classes"]["upi-skylake"]["sharing"] = "duplex"
        return True

    data.change("workloads/links/links.json", shared)


def as_printed(data):
    def nothing(document):
        for row in document["contradictions"]:
            row.pop("restated", None)
            row.pop("doubtful", None)
        document["repeated"] = []
        return True

    data.change("results/published/contradictions.json", nothing)


def tied(data):
    def before(document):
        if "kernels_before_messages" not in document:
            return False
        document["kernels_before_messages"] = 0.5
        return True

    data.change(PROFILES, before)


# Name: what is switched off, and how.
MECHANISMS = {
    "census": ("operators counted in the model's own code: listed by hand instead", lambda d: d.drop(PROFILES, "census")),
    "wrapper": ("what a library dispatches around shared attention", lambda d: d.drop(PROFILES, "wrapper")),
    "broken-graphs": ("graphs that end at every attention: the host pays for the generated kernels alone", whole_graphs),
    "pageable-copies": ("copies from host memory that stall the stream", lambda d: d.drop(PROFILES, "pageable_copy_bytes_per_s")),
    "norm-rows": ("a block of threads for each row of a norm", lambda d: d.drop(PROFILES, "norm_row_s")),
    "indices": ("kernels that compute an index for each element", no_indices),
    "views": ("host time of views", lambda d: d.drop(PROFILES, "view_dispatch_s")),
    "host-scale": ("a host speed for each platform", lambda d: d.set_calibrated("host_scale", 1)),
    "replicated-text": ("text that every sequence rank computes", lambda d: d.drop_habit("joint_text")),
    "own-hosts": ("hosts of ML.ENERGY's runs: those of other sources instead", lambda d: d.drop_habit("platforms")),
    "tables-on-device": ("rotary tables that one rank's own pipeline has on the device", lambda d: d.drop(PROFILES, "tables_on_device_alone")),
    "prompts": ("a prompt for each image of a batch: one instead", lambda d: d.drop_habit("prompts_differ")),
    "warmup-plus-one": ("a synchronous step more than the warm-up steps", lambda d: d.drop_habit("synchronous_steps_more")),
    "whole-cross-attention": ("cross-attention that tensor ranks do not share", lambda d: d.drop(PROFILES, "cross_attention_whole")),
    "tile-fill": ("tiles that are written while nothing is computed", lambda d: d.set_cost(ACCELERATORS, "gemm_fill_k", 32)),
    "l2": ("passes whose bytes lie in the L2 cache", no_l2),
    "kernels-first": ("kernels that have the processors before the messages of a ring: a tie instead", tied),
    "channels": ("two channels of a collective between nodes", no_channels),
    "stages-wait": ("stages that wait for their device before each message", lambda d: d.drop(PROFILES, "stages_wait")),
    "gathers-copied": ("copies of what DistriFusion gathers", lambda d: d.drop(PROFILES, "gathers_copied")),
    "sockets": ("a link between sockets that carries several messages as fast as one: shared instead", shared_sockets),
    "few-peers": ("two knots of an all-to-all: one instead", one_knot),
    "contradictions": ("doubtful, repeated and restated points: as printed instead", as_printed),
}


def simulate(build, data, points):
    """Errors of the points with the copy's data files: {part: statistics}."""
    command = [str(build / "bin" / "ditbench"), "simulate", "--json", "--points", str(data.folder / "results/published" / points),
               "--calibration", str(data.folder / "results/calibration/published.json")]
    environment = dict(os.environ, DITBENCH_WORKLOADS=str(data.folder / "workloads"))
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"ci/ablation.py: {' '.join(command)} ended with {done.returncode}\n{done.stderr}")
    summary = json.loads(done.stdout)["summary"]
    return {part: summary[part] for part in PARTS if summary[part]["points"]}


def row_of(name, what, statistics):
    print(f"{name:22s}", end="")
    for part in PARTS:
        s = statistics.get(part)
        order = f"{100 * s['ordered_apart'] / s['pairs_apart']:5.1f}" if s and s["pairs_apart"] else "    -"
        print(f"  {100 * s['median_error']:5.1f} {100 * s['p90_error']:6.1f} {order}" if s else "      -      -     -", end="")
    print(f"  {what}", flush=True)
    return {"name": name, "what": what, **statistics}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build", type=pathlib.Path)
    parser.add_argument("--points", default="paper_numbers.json")
    parser.add_argument("--only", default="")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("-o", "--output", type=pathlib.Path)
    args = parser.parse_args()
    wanted = args.only.split(",") if args.only else list(MECHANISMS)
    unknown = [name for name in wanted if name not in MECHANISMS]
    if unknown:
        parser.error(f"no mechanism is called {', '.join(unknown)}; --list names all")
    if args.list:
        for name in wanted:
            print(f"{name:22s} {MECHANISMS[name][0]}")
        return 0
    print(f"{'switched off':22s}" + "".join(f"  {part + ': median, p90, pairs apart':>20s}" for part in PARTS))
    rows = []
    for name in ["", *wanted]:
        with tempfile.TemporaryDirectory() as folder:
            data = Data(folder)
            what, switch_off = MECHANISMS[name] if name else ("nothing", None)
            if switch_off:
                switch_off(data)
            rows.append(row_of(name or "-", what, simulate(args.build.resolve(), data, args.points)))
    if args.output:
        document = {"schema": "ditbench.ablation/1", "points": args.points, "rows": rows}
        part = args.output.with_suffix(args.output.suffix + ".part")
        part.write_text(json.dumps(document, indent=2) + "\n")
        part.replace(args.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
