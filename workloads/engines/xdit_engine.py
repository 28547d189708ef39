#!/usr/bin/env python3
"""Runs a case by xDiT: an adapter, as docs/external.md describes them.

    xdit_engine.py --case case.json --out DIR [--reference FILE]

Starts a process for each rank (PyTorch's torchrun). Each builds xDiT's own transformer of FLUX with the seeded weights
and inputs of ditbench-engine, and samples with xDiT's sequence parallelism: Ulysses, ring, or both. Rank 0 leaves
record.json and latents.safetensors in DIR, or error.json. A latency is that of the slowest rank.

On GPUs xDiT runs as it is. It has no backend for processors: there this adapter gives it process groups of gloo and
PyTorch's attention, so that its results can be checked on any machine. Times of xDiT on a processor say nothing of xDiT
on a GPU, and the record says what ran.
"""
import importlib
import importlib.metadata
import importlib.util
import os
import resource
import subprocess
import sys
import time
import types

import diffusers_engine as shared
from diffusers_engine import Refused, write

DEGREES = ("ulysses_degree", "ring_degree")
DTYPES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}


# ---- xDiT on this machine --------------------------------------------------------------------------------------------


def on_device(case):
    return case["platform"]["backend"] == "cuda"


def prepare_processor():
    """Makes xDiT's sequence parallelism work without a GPU. Running the package's __init__ would ask for one."""
    import torch

    package = types.ModuleType("xfuser")
    package.__path__ = list(importlib.util.find_spec("xfuser").submodule_search_locations)
    sys.modules["xfuser"] = package
    torch.backends.cudnn.is_available = lambda: False
    envs = importlib.import_module("xfuser.envs")
    envs._is_cuda = envs._is_hip = lambda: False
    envs.get_device_version = lambda: "0.0"
    envs.PACKAGES_CHECKER.get_packages_info()["has_long_ctx_attn"] = True
    del sys.modules["xfuser"]
    usp = importlib.import_module("xfuser.model_executor.layers.usp")
    usp.PROCESS_GROUP = importlib.import_module("yunchang.globals").PROCESS_GROUP


def start_groups(case):
    """Makes the process groups of the mesh. Returns the device of this rank."""
    import torch

    backend = "nccl" if on_device(case) else "gloo"
    if not on_device(case):
        prepare_processor()
    from xfuser.core import distributed

    rank, ranks, local = (int(os.environ[key]) for key in ("RANK", "WORLD_SIZE", "LOCAL_RANK"))
    ulysses, ring = (case["parallel"].get(key, 1) for key in DEGREES)
    distributed.init_distributed_environment(rank=rank, world_size=ranks, local_rank=local, backend=backend)
    distributed.initialize_model_parallel(sequence_parallel_degree=ulysses * ring, ulysses_degree=ulysses,
                                          ring_degree=ring, backend=backend)
    return torch.device("cuda", local) if on_device(case) else torch.device("cpu")


def start_state(case, transformer):
    """Tells xDiT's layers the mesh that they are part of. Of a pipeline it wants the transformer only."""
    from xfuser.config import xFuserArgs
    from xfuser.core import distributed

    ulysses, ring = (case["parallel"].get(key, 1) for key in DEGREES)
    config, _ = xFuserArgs(ulysses_degree=ulysses, ring_degree=ring).create_config()
    distributed.initialize_runtime_state(types.SimpleNamespace(transformer=transformer), config)
    distributed.get_runtime_state().max_condition_sequence_length = case["model"]["text"]["tokens"]


class Flux(shared.Flux):
    """FLUX on the ranks of a mesh: every rank holds all weights and inputs, and xDiT cuts the sequence."""

    def __init__(self, case):
        import torch

        self.device = start_groups(case)
        self.dtype = getattr(torch, DTYPES[case["platform"].get("element", "fp32")])
        super().__init__(case)
        start_state(case, self.transformer)
        self.transformer.to(self.device, self.dtype)
        for name in ("text", "pooled", "text_ids", "image_ids"):
            setattr(self, name, getattr(self, name).to(self.device, self.dtype))
        if self.guidance is not None:
            self.guidance = self.guidance.to(self.device, self.dtype)

    def transformer_class(self):
        return importlib.import_module(
            "xfuser.model_executor.models.transformers.transformer_flux").xFuserFlux1Transformer2DWrapper

    def noise(self):
        return super().noise().to(self.device)

    def forward(self, x, timestep):
        return super().forward(x.to(self.dtype), timestep.to(self.device)).float()

    def wait(self):
        import torch

        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def slowest(self, elapsed_ns):
        import torch

        longest = torch.tensor([elapsed_ns], dtype=torch.int64, device=self.device)
        torch.distributed.all_reduce(longest, op=torch.distributed.ReduceOp.MAX)
        return int(longest.item())


# ---- what is refused -------------------------------------------------------------------------------------------------


def check(case):
    """Refuses what this adapter does not run, before anything is started."""
    if case["model"]["config"]["_class_name"] != "FluxTransformer2DModel":
        raise Refused(f"{case['model']['config']['_class_name']}: this adapter runs xDiT's FluxTransformer2DModel")
    for key, degree in case["parallel"].items():
        if key.endswith("_degree") and degree > 1 and key not in DEGREES:
            raise Refused(f"{key} {degree}: this adapter runs xDiT's Ulysses and ring")
    if case["parallel"].get("ring_degree", 1) > 1 and not on_device(case):
        raise Refused("ring_degree: xDiT's ring needs an attention kernel of a GPU")
    if case["platform"].get("element", "fp32") not in DTYPES:
        raise Refused(f"element {case['platform']['element']}: this adapter runs {', '.join(DTYPES)}")
    shared.family_of({**case, "parallel": {}})


def ranks_of(case):
    count = 1
    for key in DEGREES:
        count *= case["parallel"].get(key, 1)
    return count


# ---- measuring -------------------------------------------------------------------------------------------------------


def measure(case, out):
    import torch
    from safetensors.torch import save_file

    threads, wanted = case["platform"]["threads_per_rank"], case["measure"]
    torch.set_num_threads(threads)
    began = time.perf_counter_ns()
    with torch.inference_mode():
        sampling = Flux(case)
        ready = time.perf_counter_ns()
        warmup, samples = ({"latency_ns": [], "step_ns": []} for _ in range(2))
        shared.warm_up(sampling, wanted, warmup)
        for _ in range(wanted["iterations"]):
            latents = shared.timed(sampling, samples)
    if on_device(case):
        del samples["step_ns"]  # the clock of a step would tell when it was asked for
    if torch.distributed.get_rank() != 0:
        return
    save_file({"latents_final": latents.float().cpu().contiguous()}, os.path.join(out, "latents.safetensors"))
    write(os.path.join(out, "record.json"), record_of(case, sampling, samples, warmup["latency_ns"], ready - began))


def record_of(case, sampling, samples, warmup_ns, setup_ns):
    import diffusers
    import torch
    from xfuser.core.distributed import get_runtime_state

    weights = sum(parameter.numel() * parameter.element_size() for parameter in sampling.transformer.parameters())
    memory = {"weights_bytes": weights, "rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}
    environment = {"python": sys.version.split()[0], "torch": torch.__version__, "diffusers": diffusers.__version__,
                   "attention": get_runtime_state().attention_backend.name,
                   "communicator": torch.distributed.get_backend()}
    if on_device(case):
        memory["device_bytes"] = torch.cuda.max_memory_allocated(sampling.device)
        environment["device"] = torch.cuda.get_device_name(sampling.device)
    else:
        environment["note"] = "xDiT has no backend for processors; its adapter gives it gloo and PyTorch's attention"
    return {
        "schema": "ditbench.record/1",
        "evidence": "measured",
        "engine": {"name": "xdit", "version": importlib.metadata.version("xfuser")},
        "program": case["program"],
        "world_size": ranks_of(case),
        "threads_per_rank": case["platform"]["threads_per_rank"],
        "samples": {**samples, "warmup_ns": warmup_ns},
        "phases": {"setup_ns": setup_ns},
        "memory": memory,
        "environment": environment,
    }


# ---- starting --------------------------------------------------------------------------------------------------------


def start_ranks(case):
    """Runs this program once for each rank, and returns the status that the harness is to see."""
    for name in ("torch", "diffusers", "xfuser"):
        if importlib.util.find_spec(name) is None:
            raise ImportError(f"No module named {name!r}")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks_of(case)),
               os.path.abspath(__file__), *sys.argv[1:]]
    return 0 if subprocess.run(command, check=False).returncode == 0 else 3


def run_case(case, out):
    """One rank's part, or all ranks. Returns the exit status."""
    if "TORCHELASTIC_RUN_ID" in os.environ:
        measure(case, out)
        return 0
    check(case)
    return start_ranks(case)


if __name__ == "__main__":
    shared.main(__doc__, "ci/deps.sh xdit", run_case)
