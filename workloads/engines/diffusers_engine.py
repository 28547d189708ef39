#!/usr/bin/env python3
"""Runs a case by diffusers: an adapter, as docs/external.md describes them.

    diffusers_engine.py --case case.json --out DIR [--reference FILE]

Reads the case, builds the transformer from its config with the seeded weights and inputs that ditbench-engine makes,
samples on the processor, and leaves record.json and latents.safetensors in DIR, or error.json. The clock covers what
the engine's covers: from the prepared inputs of the first step to the collected latents of the last one. --reference is
not read: the harness compares.
"""
import argparse
import json
import math
import os
import resource
import sys
import time
import traceback

import numpy

SKIPPED = 77
U64 = (1 << 64) - 1


class Refused(Exception):
    """The case asks for something that this adapter does not do."""


# ---- seeded numbers: base/rng.h, bit for bit -------------------------------------------------------------------------

P1, P2, P3, P4, P5 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63,
                      0x27D4EB2F165667C5)


def rotated(x, bits):
    return (x << bits | x >> (64 - bits)) & U64


def mixed(accumulator, lane):
    return rotated((accumulator + lane * P2) & U64, 31) * P1 & U64


def xxh64(data):
    """XXH64 with seed 0 of bytes; the stream of a parameter is that of its name."""
    words = [int.from_bytes(data[i:i + 8], "little") for i in range(0, len(data) // 8 * 8, 8)]
    at, value = 0, P5
    if len(data) >= 32:
        lanes = [(P1 + P2) & U64, P2, 0, -P1 & U64]
        at = len(data) // 32 * 4
        for i in range(at):
            lanes[i % 4] = mixed(lanes[i % 4], words[i])
        value = sum(rotated(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18))) & U64
        for lane in lanes:
            value = ((value ^ mixed(0, lane)) * P1 + P4) & U64
    value = (value + len(data)) & U64
    for word in words[at:]:
        value = (rotated(value ^ mixed(0, word), 27) * P1 + P4) & U64
    rest = data[len(words) * 8:]
    if len(rest) >= 4:
        value = (rotated(value ^ int.from_bytes(rest[:4], "little") * P1 & U64, 23) * P2 + P3) & U64
        rest = rest[4:]
    for byte in rest:
        value = rotated(value ^ byte * P5 & U64, 11) * P1 & U64
    value = (value ^ value >> 33) * P2 & U64
    value = (value ^ value >> 29) * P3 & U64
    return value ^ value >> 32


def philox(key, stream, index):
    """Words of Philox4x32-10 blocks: four arrays of uint64 below 2^32, for an array of counters."""
    low = numpy.uint64(0xFFFFFFFF)
    half = numpy.uint64(32)
    x = [index & low, index >> half,
         numpy.full_like(index, stream & 0xFFFFFFFF), numpy.full_like(index, stream >> 32)]
    for number in range(10):
        k0 = numpy.uint64((key & 0xFFFFFFFF) + number * 0x9E3779B9 & 0xFFFFFFFF)
        k1 = numpy.uint64((key >> 32) + number * 0xBB67AE85 & 0xFFFFFFFF)
        p0, p1 = x[0] * numpy.uint64(0xD2511F53), x[2] * numpy.uint64(0xCD9E8D57)
        x = [p1 >> half ^ x[1] ^ k0, p1 & low, p0 >> half ^ x[3] ^ k1, p0 & low]
    return x


def normal(seed, name, first, count, mean=0.0, deviation=1.0):
    """float32 [count]: dit_rng_normal of the stream that `name` selects."""
    stream, out = xxh64(name.encode()), numpy.empty(count, numpy.float32)
    mean, deviation = numpy.float32(mean), numpy.float32(deviation)
    for begin in range(0, count, 1 << 20):
        end = min(begin + (1 << 20), count)
        words = philox(seed, stream, numpy.arange(first + begin, first + end, dtype=numpy.uint64))
        total = sum(((word & numpy.uint64(0xFFFF)) + (word >> numpy.uint64(16))).astype(numpy.int64) for word in words)
        unit = (2 * total - 8 * 65535).astype(numpy.float32) * numpy.float32(9.34406183e-06)
        out[begin:end] = mean + deviation * unit
    return out


# ---- the model and its inputs ----------------------------------------------------------------------------------------


def spread_of(name, shape):
    """Mean and deviation of a parameter's numbers, as engine/runtime/weights.c chooses them."""
    one = numpy.float32(1)
    if name.endswith(".bias"):
        return 0.0, 0.02
    if "table" in name:
        return 0.0, one / numpy.sqrt(numpy.float32(shape[-1]))
    if len(shape) == 1:
        return 1.0, 0.1
    return 0.0, one / numpy.sqrt(numpy.float32(math.prod(shape[1:])))


def build(case, make):
    """The transformer that `make` makes of its config, with seeded weights."""
    import torch

    model = case["model"]
    if model["weights"]["kind"] != "seeded":
        raise Refused("weights of a file: this adapter makes seeded ones")
    config = {key: value for key, value in model["config"].items() if not key.startswith("_")}
    transformer = make(**config).float().eval()
    for name, parameter in transformer.named_parameters():
        mean, deviation = spread_of(name, parameter.shape)
        values = normal(model["weights"]["seed"], name, 0, parameter.numel(), mean, deviation)
        parameter.data.copy_(torch.from_numpy(values).view(parameter.shape))
    return transformer


class Sampling:
    """What families have in common: sizes of the case, its scheduler, seeded inputs, the guidance."""

    def __init__(self, case):
        import diffusers

        run, latent, text = case["run"], case["model"]["latent"], case["model"]["text"]
        self.case, self.run, self.images, self.steps = case, run, run["num_images"], run["num_inference_steps"]
        self.scale = run.get("guidance_scale", 1.0)
        self.branches = 2 if case["model"]["guidance"] == "cfg" and self.scale > 1 else 1
        self.channels, self.patch = latent["channels"], latent["patch"][0]
        self.rows, self.columns = (run[key] // latent["vae_spatial"] // self.patch for key in ("height_px", "width_px"))
        self.tokens, self.width = self.rows * self.columns, self.channels * self.patch**2
        self.text_shape = [text["tokens"], text["dim"]]
        config = {key: value for key, value in case["scheduler"].items() if not key.startswith("_")}
        self.scheduler = getattr(diffusers, case["scheduler"]["_class_name"])(**config)
        self.transformer = build(case, self.transformer_class())
        self.place_steps()
        self.prepare()

    def transformer_class(self):
        import diffusers

        return getattr(diffusers, self.case["model"]["config"]["_class_name"])

    def wait(self):
        """Called before the clock is read: what was asked of a device is done."""

    def slowest(self, elapsed_ns):
        """The longest of all processes of the case."""
        return elapsed_ns

    def seeded(self, name, shape, batch):
        import torch

        values = normal(self.run["seed"], name, 0, batch * math.prod(shape))
        return torch.from_numpy(values).view(batch, *shape)

    def place_steps(self):
        self.scheduler.set_timesteps(self.steps)

    def noise(self):
        """[images, tokens, width], in the order of latents_final."""
        return self.seeded("noise", [self.tokens, self.width], self.images) * float(self.scheduler.init_noise_sigma)

    def guided(self, prediction):
        if self.branches == 1:
            return prediction
        negative, positive = prediction.chunk(2)
        return negative + self.scale * (positive - negative)

    def sample(self, latents, step_ns):
        """From noise to latents, [images, tokens, width]; appends the time of each step."""
        import torch

        x = self.unpacked(latents)
        for timestep in self.scheduler.timesteps:
            began = time.perf_counter_ns()
            entry = self.scheduler.scale_model_input(torch.cat([x] * self.branches), timestep) \
                if hasattr(self.scheduler, "scale_model_input") else torch.cat([x] * self.branches)
            prediction = self.guided(self.forward(entry, timestep.expand(len(entry))))
            x = self.scheduler.step(prediction, timestep, x, return_dict=False)[0]
            step_ns.append(time.perf_counter_ns() - began)
        return self.packed(x).contiguous()


class PixArt(Sampling):
    def prepare(self):
        import torch

        batch = self.branches * self.images
        self.text = self.seeded("text", self.text_shape, batch)
        self.mask = torch.ones(batch, self.text_shape[0])
        height, width = float(self.run["height_px"]), float(self.run["width_px"])
        sized = self.transformer.use_additional_conditions
        self.sizes = {"resolution": torch.tensor([[height, width]] * batch) if sized else None,
                      "aspect_ratio": torch.tensor([[height / width]] * batch) if sized else None}

    def unpacked(self, tokens):
        """[B, tokens, C p p] -> [B, C, height, width]."""
        x = tokens.view(-1, self.rows, self.columns, self.channels, self.patch, self.patch)
        return x.permute(0, 3, 1, 4, 2, 5).flatten(4, 5).flatten(2, 3)

    def packed(self, x):
        x = x.unflatten(3, (self.columns, self.patch)).unflatten(2, (self.rows, self.patch))
        return x.permute(0, 2, 4, 1, 3, 5).flatten(3, 5).flatten(1, 2)

    def forward(self, x, timestep):
        out = self.transformer(x, encoder_hidden_states=self.text, timestep=timestep, added_cond_kwargs=self.sizes,
                               encoder_attention_mask=self.mask, return_dict=False)[0]
        return out[:, :self.channels]  # behind them stands the learned variance


class Flux(Sampling):
    def place_steps(self):
        config = self.scheduler.config
        slope = (config.max_shift - config.base_shift) / (config.max_image_seq_len - config.base_image_seq_len)
        mu = self.tokens * slope + config.base_shift - slope * config.base_image_seq_len
        self.scheduler.set_timesteps(sigmas=numpy.linspace(1.0, 1 / self.steps, self.steps),
                                     mu=mu if config.use_dynamic_shifting else None)

    def noise(self):
        return self.seeded("noise", [self.tokens, self.width], self.images)

    def prepare(self):
        import torch

        self.text = self.seeded("text", self.text_shape, self.images)
        self.pooled = self.seeded("pooled", [self.case["model"]["text"]["pooled_dim"]], self.images)
        embeds = self.transformer.config.guidance_embeds
        self.guidance = torch.full([self.images], float(self.scale)) if embeds else None
        self.text_ids, ids = torch.zeros(self.text_shape[0], 3), torch.zeros(self.rows, self.columns, 3)
        ids[..., 1], ids[..., 2] = torch.arange(self.rows)[:, None], torch.arange(self.columns)
        self.image_ids = ids.flatten(0, 1)

    def unpacked(self, tokens):
        return tokens

    packed = unpacked

    def forward(self, x, timestep):
        return self.transformer(x, encoder_hidden_states=self.text, pooled_projections=self.pooled,
                                timestep=timestep / 1000, guidance=self.guidance, img_ids=self.image_ids,
                                txt_ids=self.text_ids, return_dict=False)[0]


FAMILIES = {"PixArtTransformer2DModel": PixArt, "FluxTransformer2DModel": Flux}


def family_of(case):
    name = case["model"]["config"]["_class_name"]
    if case["program"] != "denoise":
        raise Refused(f"program {case['program']}: this adapter runs denoise")
    if case["run"].get("true_cfg_scale", 1) > 1:
        raise Refused("true_cfg_scale: this adapter runs a model's own guidance")
    if any(degree > 1 for key, degree in case["parallel"].items() if key.endswith("_degree")):
        raise Refused("a mesh of several ranks: this adapter runs one")
    if name not in FAMILIES:
        raise Refused(f"{name}: this adapter knows {', '.join(sorted(FAMILIES))}")
    return FAMILIES[name]


# ---- measuring -------------------------------------------------------------------------------------------------------


def timed(sampling, samples):
    """One run; appends its latency and its steps."""
    steps = []
    sampling.place_steps()  # solvers remember earlier steps
    noise = sampling.noise()
    sampling.wait()
    began = time.perf_counter_ns()
    latents = sampling.sample(noise, steps)
    sampling.wait()
    samples["latency_ns"].append(sampling.slowest(time.perf_counter_ns() - began))
    samples["step_ns"].append(steps)
    return latents


def warm_up(sampling, wanted, samples):
    """As often as the case asks; where it allows more, until two runs in a row are alike (engine/results/warmup.h)."""
    least = wanted["warmup_runs"]
    most = max(wanted.get("warmup_most", 0), least)
    times = samples["latency_ns"]
    while len(times) < least or (len(times) < most and not settled(times)):
        timed(sampling, samples)


def settled(times):
    return len(times) >= 2 and abs(times[-1] - times[-2]) <= 0.03 * min(times[-2:])


def measure(case, out):
    import diffusers
    import torch
    from safetensors.torch import save_file

    threads, wanted = case["platform"]["threads_per_rank"], case["measure"]
    torch.set_num_threads(threads)
    began = time.perf_counter_ns()
    with torch.inference_mode():
        sampling = family_of(case)(case)
        ready = time.perf_counter_ns()
        warmup, samples = ({"latency_ns": [], "step_ns": []} for _ in range(2))
        warm_up(sampling, wanted, warmup)
        for _ in range(wanted["iterations"]):
            latents = timed(sampling, samples)
    save_file({"latents_final": latents}, os.path.join(out, "latents.safetensors"))
    weights = sum(parameter.numel() * parameter.element_size() for parameter in sampling.transformer.parameters())
    return {
        "schema": "ditbench.record/1",
        "evidence": "measured",
        "engine": {"name": "diffusers", "version": diffusers.__version__},
        "program": case["program"],
        "world_size": 1,
        "threads_per_rank": threads,
        "samples": {**samples, "warmup_ns": warmup["latency_ns"]},
        "phases": {"setup_ns": ready - began},
        "memory": {"weights_bytes": weights, "rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024},
        "environment": {"python": sys.version.split()[0], "torch": torch.__version__, "isa": cpu_capability(torch)},
    }


def cpu_capability(torch):
    return torch.backends.cpu.get_cpu_capability().lower()


def write(path, document):
    part = f"{path}.{os.getpid()}.part"
    with open(part, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=2)
    os.replace(part, path)


def run_here(case, out):
    """Leaves the record. Returns the exit status."""
    family_of(case)
    write(os.path.join(out, "record.json"), measure(case, out))
    return 0


def outcome_of(run_case, args, install):
    """The exit status, and what error.json says."""
    with open(args.case, encoding="utf-8") as file:
        case = json.load(file)
    try:
        return run_case(case, args.out), None
    except Refused as refused:
        return SKIPPED, {"code": "E_UNSUPPORTED", "message": str(refused)}
    except ImportError as missing:
        return SKIPPED, {"code": "E_ENVIRONMENT", "message": str(missing), "hint": f"run {install}"}
    except MemoryError:
        return 3, {"code": "E_MEMORY", "message": "the machine has not enough memory"}
    except Exception as unexpected:  # whatever it is, the harness is told
        traceback.print_exc()
        return 3, {"code": "E_CRASH", "message": f"{type(unexpected).__name__}: {unexpected}"}


def main(about, install, run_case):
    """The command line of an adapter. run_case(case, out) leaves a record in the folder and returns the exit status; `install`
    is the command that installs what it imports. Of several processes, the first that fails says why."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--reference", help="accepted, not read")
    parser.add_argument("--oracle", help="accepted, not read")
    args = parser.parse_args()
    code, error = outcome_of(run_case, args, install)
    path = os.path.join(args.out, "error.json")
    if error and not os.path.exists(path):
        write(path, error)
    sys.exit(code)


if __name__ == "__main__":
    main(__doc__, "ci/deps.sh peers", run_here)
