#!/usr/bin/env python3
"""Times the denoising loops of ditbench cases in PyTorch on the same machine, one JSON document on stdout.

usage: torch_compare.py [--modes eager,compiled] [--iterations N] [--budget SECONDS] [--device cuda|cpu] EXPANDED...

EXPANDED is what `ditbench expand WORKLOAD --json` prints; its one-rank denoise cases of FLUX.1, SD3, PixArt, and with
diffusers FLUX.2, Z-Image and Qwen-Image, are run: the same architecture, sizes, steps and guidance, weights drawn at
random, bf16 or what the case says. With diffusers its transformer is used, with fused q, k, v where it can fuse them;
without, torch_models.py. Attention is scaled_dot_product_attention with the
kernel (cuDNN, flash, efficient) that is fastest on the case's own shape. `compiled` is torch.compile of every block
(its own kinds once each), which is what diffusers recommends and what compiles in a minute. A loop's clock starts
after a synchronise and stops after one; the first run of each mode is warm-up.
"""

import argparse
import contextlib
import json
import statistics
import sys
import time

import torch
import torch.nn.functional as F

import torch_models

SUPPORTED = set(torch_models.CLASSES)
ONLY_DIFFUSERS = {"Flux2Transformer2DModel", "ZImageTransformer2DModel", "QwenImageTransformer2DModel"}


def note(text):
    print(text, file=sys.stderr, flush=True)


def synchronise(device):
    if device.type == "cuda":
        torch.cuda.synchronize()


# ---- attention -------------------------------------------------------------------------------------------------------


def backends():
    """Kernels of scaled_dot_product_attention that this version can be told to use."""
    try:
        from torch.nn.attention import SDPBackend, sdpa_kernel
    except ImportError:
        return {}, None
    names = {"cudnn": "CUDNN_ATTENTION", "flash": "FLASH_ATTENTION", "efficient": "EFFICIENT_ATTENTION"}
    return {name: getattr(SDPBackend, value) for name, value in names.items() if hasattr(SDPBackend, value)}, sdpa_kernel


def attention_seconds(q, device):
    for _ in range(3):
        F.scaled_dot_product_attention(q, q, q)
    synchronise(device)
    began = time.perf_counter()
    for _ in range(10):
        F.scaled_dot_product_attention(q, q, q)
    synchronise(device)
    return (time.perf_counter() - began) / 10


def best_attention(heads, tokens, dim, batch, dtype, device):
    """Name and context of the fastest kernel, and seconds of each that runs."""
    known, choose = backends()
    q = torch.randn(batch, heads, tokens, dim, dtype=dtype, device=device)
    seconds = {}
    for name, backend in known.items():
        try:
            with choose(backend):
                seconds[name] = attention_seconds(q, device)
        except RuntimeError:
            continue  # not for this shape, type or device
    if device.type != "cuda" or not seconds:
        return "default", contextlib.nullcontext, {}
    best = min(seconds, key=seconds.get)
    return best, lambda: choose(known[best]), seconds


# ---- models ----------------------------------------------------------------------------------------------------------


def fill(model):
    """Small seeded weights: what they are makes no difference to time, but NaN could."""
    generator = torch.Generator(device=next(model.parameters()).device).manual_seed(7)
    with torch.no_grad():
        for parameter in model.parameters():
            deviation = parameter.shape[-1] ** -0.5 if parameter.dim() > 1 else 0.02
            parameter.normal_(0.0, deviation, generator=generator)


def build(config, dtype, device, with_diffusers):
    name = config["_class_name"]
    if with_diffusers:
        import diffusers

        # Weights are made in the case's own type: Qwen-Image in fp32 would not fit into 80 GB.
        torch.set_default_dtype(dtype)
        try:
            with torch.device(device):
                model = getattr(diffusers, name).from_config(config)
        finally:
            torch.set_default_dtype(torch.float32)
    else:
        with torch.device(device):
            model = torch_models.CLASSES[name](config)
    model = model.to(dtype).eval().requires_grad_(False)
    fill(model)
    if with_diffusers:
        if hasattr(model, "fuse_qkv_projections"):
            model.fuse_qkv_projections()
    else:
        torch_models.fuse(model)
    return model


def case_inputs(case, dtype, device):
    config, run, text = case["model"]["config"], case["run"], case["model"]["text"]
    guided = case["model"]["guidance"] == "cfg" and run["guidance_scale"] > 1
    batch = run.get("num_images", 1) * (2 if guided else 1)
    height, width = run["height_px"] // 8, run["width_px"] // 8

    def draw(*shape):
        return torch.randn(*shape, dtype=dtype, device=device)

    inputs = {"guided": guided, "text": draw(batch, text["tokens"], text["dim"])}
    if config["_class_name"] == "FluxTransformer2DModel":
        rows, columns = height // 2, width // 2
        image_ids = torch.zeros(rows, columns, 3, device=device)
        image_ids[..., 1] += torch.arange(rows, device=device)[:, None]
        image_ids[..., 2] += torch.arange(columns, device=device)
        inputs["latents"] = draw(batch, rows * columns, config["in_channels"])
        inputs["image_ids"], inputs["text_ids"] = image_ids.flatten(0, 1), torch.zeros(text["tokens"], 3, device=device)
    elif config["_class_name"] in ("Flux2Transformer2DModel", "QwenImageTransformer2DModel"):
        rows, columns = height // 2, width // 2
        inputs["grid"] = (rows, columns)
        inputs["latents"] = draw(batch // (2 if guided else 1), rows * columns, config["in_channels"])
    else:
        inputs["latents"] = draw(batch // (2 if guided else 1), config["in_channels"], height, width)
    if "pooled_projection_dim" in config:
        inputs["pooled"] = draw(batch, config["pooled_projection_dim"])
    return inputs


def predictor(model, config, inputs, with_diffusers, dtype, device):
    """A function of (latents, fraction of the way in [0, 1]) that predicts once, guidance not yet applied."""
    name, text, pooled = config["_class_name"], inputs["text"], inputs.get("pooled")
    batch = text.shape[0]

    def times(value):
        return torch.full((batch,), value, dtype=torch.float32, device=device)

    if name == "FluxTransformer2DModel":
        guidance = times(3.5) if config.get("guidance_embeds") else None
        if with_diffusers:
            return lambda x, t: model(hidden_states=x, encoder_hidden_states=text, pooled_projections=pooled,
                                      timestep=times(t).to(dtype), guidance=guidance, txt_ids=inputs["text_ids"],
                                      img_ids=inputs["image_ids"], return_dict=False)[0]
        cos, sin = model.tables(inputs["text_ids"], inputs["image_ids"])
        return lambda x, t: model(x, text, pooled, times(t), guidance, cos, sin)
    if name == "SD3Transformer2DModel":
        if with_diffusers:
            return lambda x, t: model(hidden_states=x, encoder_hidden_states=text, pooled_projections=pooled,
                                      timestep=times(1000 * t), return_dict=False)[0]
        positions = model.positions(*inputs["latents"].shape[2:]).to(device, dtype)
        return lambda x, t: model(x, text, pooled, times(1000 * t), positions)
    if name == "Flux2Transformer2DModel":
        rows, columns = inputs["grid"]
        zero = torch.zeros(1, device=device)
        image_ids = torch.cartesian_prod(zero, torch.arange(rows, device=device).float(),
                                         torch.arange(columns, device=device).float(), zero)
        text_ids = torch.zeros(text.shape[1], 4, device=device)
        text_ids[:, 3] = torch.arange(text.shape[1], device=device)
        guidance = times(4.0) if config.get("guidance_embeds") else None
        return lambda x, t: model(hidden_states=x, encoder_hidden_states=text, timestep=times(t).to(dtype),
                                  guidance=guidance, txt_ids=text_ids, img_ids=image_ids, return_dict=False)[0]
    if name == "QwenImageTransformer2DModel":
        shapes = [[(1, *inputs["grid"])]] * batch
        return lambda x, t: model(hidden_states=x, encoder_hidden_states=text, encoder_hidden_states_mask=None,
                                  timestep=times(t).to(dtype), img_shapes=shapes, return_dict=False)[0]
    if name == "ZImageTransformer2DModel":
        captions = list(text)
        return lambda x, t: torch.stack(model([image[:, None] for image in x], times(1 - t), captions,
                                              return_dict=False)[0])[:, :, 0]
    sizes = torch.tensor([[1024.0, 1024.0]], device=device).expand(batch, -1).to(dtype)
    ratio = torch.ones(batch, 1, device=device, dtype=dtype)
    if with_diffusers:
        added = {"resolution": sizes, "aspect_ratio": ratio} if model.use_additional_conditions else \
            {"resolution": None, "aspect_ratio": None}
        return lambda x, t: model(x, encoder_hidden_states=text, timestep=times(1000 * t), added_cond_kwargs=added,
                                  return_dict=False)[0]
    positions = model.positions(*inputs["latents"].shape[2:]).to(device)
    return lambda x, t: model(x, text, None, times(1000 * t), sizes, ratio, positions)


def loop(predict, inputs, steps, scale):
    """Euler steps with guidance: what the schedule is makes no difference to time."""
    x = inputs["latents"].float()
    dtype = inputs["latents"].dtype
    for step in range(steps):
        t = 1.0 - step / steps
        given = x.to(dtype)
        if inputs["guided"]:
            given = torch.cat([given, given])
        output = predict(given, t)
        output = output[:, :x.shape[1]] if output.dim() == 4 else output
        if inputs["guided"]:
            negative, positive = output.float().chunk(2)
            output = negative + scale * (positive - negative)
        x = x - output.float() / steps
    return x


# ---- measuring -------------------------------------------------------------------------------------------------------


def tokens_of(config, inputs):
    x = inputs["latents"]
    if x.dim() == 3:
        return x.shape[1] + inputs["text"].shape[1]
    image = x.shape[2] * x.shape[3] // config.get("patch_size", 2) ** 2
    return image + (0 if config["_class_name"].startswith("PixArt") else inputs["text"].shape[1])


def compile_blocks(model):
    for name in ("transformer_blocks", "single_transformer_blocks", "noise_refiner", "context_refiner", "layers"):
        for block in getattr(model, name, []):
            block.compile(fullgraph=True, dynamic=False)


def timed(function, device):
    synchronise(device)
    began = time.perf_counter()
    function()
    synchronise(device)
    return time.perf_counter() - began


def measure_mode(mode, model, config, inputs, args, case, dtype, device):
    if mode == "compiled":
        compile_blocks(model)
    predict = predictor(model, config, inputs, args.with_diffusers, dtype, device)
    steps, scale = case["run"]["num_inference_steps"], case["run"]["guidance_scale"]
    warmup = timed(lambda: loop(predict, inputs, min(steps, 2), scale), device)
    samples = [timed(lambda: loop(predict, inputs, steps, scale), device) for _ in range(args.iterations)]
    entry = {"mode": mode, "seconds": samples, "median_s": statistics.median(samples), "first_two_steps_s": warmup}
    if device.type == "cuda":
        entry["peak_memory_bytes"] = torch.cuda.max_memory_allocated()
    return entry


def measure_case(kept, args, device):
    case = kept["case"]
    config = {key: value for key, value in case["model"]["config"].items() if value is not None}
    element = case["platform"].get("element", "bf16")
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}[element]
    inputs = case_inputs(case, dtype, device)
    batch = inputs["text"].shape[0]
    heads = config.get("num_attention_heads") or config["n_heads"]
    dim = config.get("attention_head_dim") or config["dim"] // heads
    name, context, seconds = best_attention(heads, tokens_of(config, inputs), dim, batch, dtype, device)
    model = build(config, dtype, device, args.with_diffusers)
    result = {"label": kept["label"], "case_id": kept["case_id"], "element": element, "attention": name,
              "attention_s": seconds, "implementation": "diffusers" if args.with_diffusers else "torch_models.py",
              "steps": case["run"]["num_inference_steps"], "modes": []}
    with torch.inference_mode(), context():
        for mode in args.modes:
            if time.perf_counter() - args.began > args.budget:
                result["modes"].append({"mode": mode, "skipped": f"the budget of {args.budget:g} s is spent"})
                continue
            try:
                entry = measure_mode(mode, model, config, inputs, args, case, dtype, device)
            except Exception as error:  # a compiler that gives up is a result, and not the end of the others
                entry = {"mode": mode, "failed": f"{type(error).__name__}: {error}"[:500]}
            note(f"{kept['label']} {mode}: {entry.get('median_s', entry.get('failed'))}")
            result["modes"].append(entry)
    return result


def gemm_tflops(device, dtype=torch.bfloat16, size=8192):
    a, b = (torch.randn(size, size, dtype=dtype, device=device) for _ in range(2))
    for _ in range(3):
        a @ b
    seconds = timed(lambda: [a @ b for _ in range(10)], device) / 10
    return 2 * size**3 / seconds * 1e-12


def have_diffusers():
    try:
        import diffusers
    except ImportError:
        return None
    return diffusers.__version__


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("expanded", nargs="+", help="what `ditbench expand WORKLOAD --json` prints")
    parser.add_argument("--modes", default="eager,compiled", type=lambda text: text.split(","))
    parser.add_argument("--iterations", default=3, type=int)
    parser.add_argument("--budget", default=300.0, type=float, help="no mode begins after so many seconds")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--own", action="store_true", help="torch_models.py even where diffusers is installed")
    return parser.parse_args()


def main():
    args = parse()
    args.began = time.perf_counter()
    if args.device == "cuda" and not torch.cuda.is_available():
        note("no device that PyTorch can use")
        return 77
    device = torch.device(args.device)
    torch.backends.cuda.matmul.allow_tf32 = False
    args.with_diffusers = have_diffusers() is not None and not args.own
    answer = {"torch": torch.__version__, "diffusers": have_diffusers(), "cuda": torch.version.cuda, "cases": []}
    if device.type == "cuda":
        answer["device"] = torch.cuda.get_device_name()
        answer["cudnn"] = torch.backends.cudnn.version()
        answer["gemm_bf16_tflops"] = gemm_tflops(device)
    for kept in (case for path in args.expanded for case in json.load(open(path))["kept"]):
        case = kept["case"]
        if kept["tags"]["world_size"] != 1 or case["program"] != "denoise":
            continue
        if case["model"]["config"]["_class_name"] not in SUPPORTED | (ONLY_DIFFUSERS if args.with_diffusers else set()):
            note(f"{kept['label']}: {case['model']['config']['_class_name']} is not built here")
            continue
        answer["cases"].append(measure_case(kept, args, device))
        if device.type == "cuda":
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
    json.dump(answer, sys.stdout, indent=1)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
