#!/usr/bin/env python3
"""Times forwards of PyTorch beside ditbench: blocks of every class, equal configs and sizes, in turns on one machine.

    ci/deps.sh census                                        # Python environments with pinned versions, once
    ci/peers.py [--rounds 3] [--out FILE] [--compile] [MODEL]...

A model is one of the workload cpu/blocks (all of them unless some are named); its cases say config and sizes. Weights and
inputs of PyTorch are arbitrary numbers: that both give the same values is what golden folders and cpu/peers show. Times are
of one forward in float32 on all cores, one branch of guidance; ditbench's also has a step of the scheduler. A round times ditbench, then
PyTorch, or the other way round. The ratio is PyTorch's time over ditbench's, of medians; its interval goes from the least to the most ratio of a
round. Nothing else should run meanwhile. Exit: 77 without the environment of the newest row of ci/census.py.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "ci"))
import census  # noqa: E402  pylint: disable=wrong-import-position


# ---- PyTorch ---------------------------------------------------------------------------------------------------------


def size_of(case):
    """The case's sizes as ci/census.py counts them: cells of 2 x 2 latents, or of one latent where patches are that."""
    run, latent = case["run"], case["model"]["latent"]
    patch = latent["patch"]
    across = [run[key] // latent["vae_spatial"] // patch[-1] for key in ("height_px", "width_px")]
    frames = run.get("num_frames", 1)
    if frames > 1:
        depth = patch[0] if len(patch) == 3 else latent.get("patch_t", 1)
        frames = ((frames - 1) // latent.get("vae_temporal", 1) + 1) // depth
    text = case["model"]["text"]["tokens"]
    if case["model"]["config"]["_class_name"] == "HunyuanVideo15Transformer3DModel":
        text += census.census_newer.GLYPHS + census.census_newer.PICTURE  # there T is the rows of all texts
    return census.Size(1, across[0], across[1], frames, text)


def arbitrary(*shape, dtype=None):
    """What stands in for census.meta: a tensor of the host with numbers, not addresses alone."""
    import torch
    if dtype == torch.bool:
        return torch.ones(*shape, dtype=dtype)
    if dtype in (torch.int64, torch.int32):
        return torch.ones(*shape, dtype=dtype)
    return torch.randn(*shape)


def sana(config, z):
    """What Sana's forward takes; its operators are not counted, so ci/census.py does not say it."""
    import torch
    return {}, dict(hidden_states=arbitrary(z.B, config["in_channels"], z.h, z.w), timestep=arbitrary(z.B),
                    encoder_hidden_states=arbitrary(z.B, z.T, config["caption_channels"]),
                    encoder_attention_mask=arbitrary(z.B, z.T, dtype=torch.int64))


def torch_model(case):
    """The class with the case's config and numbers for weights, and what its forward takes."""
    import diffusers
    import torch
    for module in (census, sys.modules.get("census_newer")):
        if module:
            module.meta = arbitrary
    config = dict(case["model"]["config"])
    name = config["_class_name"]
    make = sana if name == "SanaTransformer2DModel" else census.CLASSES[name][0]
    change, inputs = make(config, size_of(case))
    cls = getattr(diffusers, name)
    model = cls(**census.arguments_of(cls, config, change)).float().eval()
    numbers = 0.02 * torch.randn(1 << 20)
    for parameter in model.parameters():
        flat = parameter.data.view(-1)
        for begin in range(0, flat.numel(), numbers.numel()):
            part = flat[begin:begin + numbers.numel()]
            part.copy_(numbers[:part.numel()])
    return model, {k: v for k, v in inputs.items() if v is not None}


def serve(case_file, threads, compiled):
    """Answers each line of stdin with the seconds of a forward."""
    import torch
    torch.set_num_threads(threads)
    with open(case_file, encoding="utf-8") as file:
        case = json.load(file)
    with torch.inference_mode():
        model, inputs = torch_model(case)
        call = torch.compile(model) if compiled else model
        call(**inputs, return_dict=False)
        print("ready", flush=True)
        for _ in sys.stdin:
            began = time.perf_counter()
            call(**inputs, return_dict=False)
            print(time.perf_counter() - began, flush=True)


# ---- ditbench --------------------------------------------------------------------------------------------------------


def cases_of(ditbench, models, folder):
    """Case files of the workload: the launcher that only prints leaves them in its session."""
    command = [ditbench, "run", str(ROOT / "workloads/cpu/blocks.json"), "-q", "--launcher", "print", "-o", str(folder)]
    if models:
        command += ["-f", " || ".join(f"base_model == '{name}'" for name in models)]
    done = subprocess.run(command, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        sys.exit(f"ci/peers.py: {' '.join(command)} ended with {done.returncode}\n{done.stderr}")
    return sorted(folder.glob("cases/*/case.json"))


def ours(engine, case_file, out):
    """Seconds of one forward, the median of the case's iterations."""
    with open(case_file, encoding="utf-8") as file:
        steps = json.load(file)["run"]["num_inference_steps"]
    command = [str(engine), "--case", str(case_file), "--out", str(out), "--no-pictures"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=dict(os.environ, DITBENCH_WORKLOADS=str(ROOT / "workloads")))
    with open(out / "rank-0.json", encoding="utf-8") as file:
        return statistics.median(json.load(file)["latency_ns"]) / 1e9 / steps


# ---- in turns --------------------------------------------------------------------------------------------------------


def compare(args, case_file, folder):
    with open(case_file, encoding="utf-8") as file:
        case = json.load(file)
    threads = case["platform"]["threads_per_rank"]
    command = [sys.executable, __file__, "--serve", str(case_file), "--threads", str(threads)]
    peer = subprocess.Popen(command + ["--compile"] * args.compile, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        if peer.stdout.readline().strip() != "ready":
            raise census.Missing("PyTorch ended: its error stands above")

        def theirs():
            seconds = []
            for _ in range(case["measure"]["iterations"]):
                peer.stdin.write("\n")
                peer.stdin.flush()
                seconds.append(float(peer.stdout.readline()))
            return statistics.median(seconds)

        turns = {"ditbench": [], "pytorch": []}
        for number in range(args.rounds):
            both = [("ditbench", lambda: ours(args.engine, case_file, folder / f"round-{number}")), ("pytorch", theirs)]
            for name, timed in both if number % 2 == 0 else both[::-1]:
                turns[name].append(timed())
    finally:
        peer.stdin.close()
        peer.wait()
    ratios = [b / a for a, b in zip(turns["ditbench"], turns["pytorch"])]
    z = size_of(case)
    return {"model": case["model"]["name"], "class": case["model"]["config"]["_class_name"],
            "tokens": z.S, "text_tokens": z.T, "threads": threads, "seconds": turns,
            "ratio": statistics.median(turns["pytorch"]) / statistics.median(turns["ditbench"]),
            "ratio_low": min(ratios), "ratio_high": max(ratios)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--compile", action="store_true", help="torch.compile instead of eager PyTorch")
    parser.add_argument("--out", type=pathlib.Path, help="writes the figures there, as JSON")
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path(os.environ.get("DITBENCH_BUILD", ROOT / "build")))
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    census.take_newer()
    newest = list(census.SOFTWARE)[-1]
    if census.name_of(census.versions()) != newest:
        python = census.python_of(newest)
        if not python.exists():
            print(f"ci/peers.py: {python} is not there: run ci/deps.sh census", file=sys.stderr)
            return 77
        os.execv(str(python), [str(python), __file__] + sys.argv[1:])
    if args.serve:
        return serve(args.serve, args.threads, args.compile)
    args.engine = args.build / "bin/ditbench-engine"
    found = census.versions()
    report = {"schema": "ditbench.peers/1", "evidence": "measured", "date": datetime.date.today().isoformat(),
              "processor": processor(), "isa": isa(args), "software": found, "compiled": args.compile, "rows": []}
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for case_file in cases_of(str(args.build / "bin/ditbench"), args.models, folder / "session"):
            try:
                row = compare(args, case_file, case_file.parent)
            except census.Missing as missing:
                print(f"skipped: {missing}", flush=True)
                continue
            report["rows"].append(row)
            save(report, args.out)
            own, other = (statistics.median(row["seconds"][name]) for name in ("ditbench", "pytorch"))
            print(f"{row['model']:24} {row['tokens']:5} + {row['text_tokens']:<4} tokens   ditbench {own:7.3f} s   PyTorch {other:7.3f} s   "
                  f"{row['ratio']:.2f} [{row['ratio_low']:.2f}, {row['ratio_high']:.2f}]", flush=True)
    return 0


def save(report, path):
    """Writes what there is so far: a run that ends early loses nothing."""
    if not path:
        return
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    part.replace(path)


def processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def isa(args):
    said = subprocess.run([str(args.build / "bin/ditbench"), "kernels", "--check", "--filter", "timestep", "--json"],
                          check=False, capture_output=True, text=True).stdout
    return json.loads(said).get("isa") if said else None


if __name__ == "__main__":
    sys.exit(main())
