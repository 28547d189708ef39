#!/usr/bin/env python3
"""Writes sampling loops with caches: e2e_NAME_POLICY, whose latents and decisions are those of diffusers' own hooks
(FirstBlockCache, MagCache, TaylorSeer, Pyramid Attention Broadcast, FasterCache) on the models and the text of other folders.

    pip install torch==2.15.0 diffusers==0.42.1 safetensors
    engine/tests/golden/cache.py engine/tests/golden
    ci/train/golden.py DIR/shapes-flux && engine/tests/golden/cache.py engine/tests/golden --trained DIR/shapes-flux
    build/bin/ditbench golden engine/tests/golden/e2e_*_fbcache

--trained takes a copy of shipped weights, beside which golden.py of ci/train (of another version of diffusers) has left
e2e_shapes-flux with its text.

e2e.json has the cache as a workload states it, and `decisions`: for each step a 1 if it was computed, seen in which modules
ran. A threshold of a test is refused if one 2 % higher or lower decides otherwise: roundings then could.
"""
import argparse
import json
from pathlib import Path

import diffusers
import numpy as np
import torch
from diffusers import hooks
from diffusers.hooks.hooks import CacheContext
from safetensors.torch import load_file, save_file

CLASSES = {"FluxTransformer2DModel": "flux", "PixArtTransformer2DModel": "pixart", "LatteTransformer3DModel": "latte",
           "SD3Transformer2DModel": "sd3", "WanTransformer3DModel": "wan", "CogVideoXTransformer3DModel": "cogvideox",
           "HunyuanVideoTransformer3DModel": "hunyuan_video"}


# ---- what a pipeline does in a step: the call of each model --------------------------------------------------------


def both(inputs, name):
    return torch.cat([inputs[f"negative_{name}"], inputs[name]])


def doubled(latents):
    return torch.cat([latents, latents])


def flux(model, run, inputs, latents, t):
    edge, true_guidance = int(latents.shape[1] ** 0.5), "true_cfg_scale" in run
    places = torch.zeros(edge * edge, 3)
    places[:, 1], places[:, 2] = torch.arange(edge).repeat_interleave(edge), torch.arange(edge).repeat(edge)
    text, pooled = ((both(inputs, name) if true_guidance else inputs[name]) for name in ("prompt_embeds", "pooled_prompt_embeds"))
    guidance = torch.full([1], run["guidance_scale"]) if model.config.guidance_embeds else None
    return model(doubled(latents) if true_guidance else latents, encoder_hidden_states=text, pooled_projections=pooled,
                 timestep=t.expand(len(text)) / 1000, guidance=guidance, img_ids=places,
                 txt_ids=torch.zeros(text.shape[1], 3), return_dict=False)[0]


def pixart(model, run, inputs, latents, t):
    mask = {"encoder_attention_mask": both(inputs, "prompt_attention_mask")} if "prompt_attention_mask" in inputs else {}
    return model(doubled(latents), encoder_hidden_states=both(inputs, "prompt_embeds"), timestep=t.expand(2),
                 added_cond_kwargs={"resolution": None, "aspect_ratio": None}, return_dict=False, **mask)[0]


def latte(model, run, inputs, latents, t):
    return model(doubled(latents), timestep=t.expand(2), encoder_hidden_states=both(inputs, "prompt_embeds"),
                 return_dict=False)[0]


def sd3(model, run, inputs, latents, t):
    return model(doubled(latents), encoder_hidden_states=both(inputs, "prompt_embeds"),
                 pooled_projections=both(inputs, "pooled_prompt_embeds"), timestep=t.expand(2), return_dict=False)[0]


def wan(model, run, inputs, latents, t):
    """WanPipeline calls twice, with a cache state for each guidance branch; here one batch decides for both."""
    return model(doubled(latents), timestep=t.expand(2), encoder_hidden_states=both(inputs, "prompt_embeds"),
                 return_dict=False)[0]


def cogvideox(model, run, inputs, latents, t):
    return model(doubled(latents), encoder_hidden_states=both(inputs, "prompt_embeds"), timestep=t.expand(2),
                 return_dict=False)[0]


def hunyuan_video(model, run, inputs, latents, t):
    return model(latents, timestep=t.expand(1), encoder_hidden_states=inputs["prompt_embeds"],
                 encoder_attention_mask=inputs["prompt_attention_mask"], pooled_projections=inputs["pooled_prompt_embeds"],
                 guidance=torch.tensor([run["guidance_scale"] * 1000.0]), return_dict=False)[0]


APPLY = {hooks.FirstBlockCacheConfig: hooks.apply_first_block_cache, hooks.MagCacheConfig: hooks.apply_mag_cache,
         hooks.TaylorSeerCacheConfig: hooks.apply_taylorseer_cache,
         hooks.PyramidAttentionBroadcastConfig: hooks.apply_pyramid_attention_broadcast,
         hooks.FasterCacheConfig: hooks.apply_faster_cache}

# ---- the loops: folder with the text, policy, steps, latents' shape, the cache as a workload states it, the hook --------

MODULES = [r"(temporal_)?transformer_blocks\.\d+\.(attn\d?|ff|ff_context)", r"single_transformer_blocks\.\d+\.proj_out"]


def first_block(threshold):
    return {"policy": "fbcache", "threshold": threshold}, lambda steps, now: hooks.FirstBlockCacheConfig(threshold=threshold)


def mag(threshold, ratios, skips, retention):
    cache = {"policy": "magcache", "threshold": threshold, "ratios": ratios, "max_consecutive": skips, "retention": retention}
    return cache, lambda steps, now: hooks.MagCacheConfig(threshold=threshold, max_skip_steps=skips, retention_ratio=retention,
                                                          num_inference_steps=steps, mag_ratios=ratios)


def taylor(interval, warmup, order):
    cache = {"policy": "taylorseer", "interval": interval, "warmup": warmup, "forecast": {"kind": "taylor", "order": order}}
    return cache, lambda steps, now: hooks.TaylorSeerCacheConfig(
        cache_interval=interval, disable_cache_before_step=warmup, max_order=order, taylor_factors_dtype=torch.float32,
        cache_identifiers=MODULES)


def broadcast(times=(100, 800), **ranges):
    names = {"attention": "spatial", "temporal": "temporal", "cross": "cross"}
    given = {f"{names[kind]}_attention_block_skip_range": n for kind, n in ranges.items()}
    given |= {f"{names[kind]}_attention_timestep_skip_range": times for kind in ranges}
    # Without the ^ the hook takes temporal_transformer_blocks for spatial ones.
    given["spatial_attention_block_identifiers"] = ("^transformer_blocks", "^blocks")
    return ({"policy": "pab", "timesteps": list(times)} | ranges,
            lambda steps, now: hooks.PyramidAttentionBroadcastConfig(current_timestep_callback=now, **given))


def faster(times, weight, unconditional=None, layout="BCHW", **ranges):
    """The hook takes a batch of two branches for one where a model is called distilled: none is left out then.
    unconditional: every how many steps both run, between which timesteps."""
    names = {"attention": "spatial", "temporal": "temporal"}
    given = {f"{names[kind]}_attention_block_skip_range": n for kind, n in ranges.items()}
    given |= {f"{names[kind]}_attention_timestep_skip_range": times for kind in ranges}
    cache = {"policy": "fastercache", "timesteps": list(times), "weight": weight} | ranges
    if unconditional:
        cache |= {"unconditional": unconditional[0], "unconditional_timesteps": list(unconditional[1])}
        given |= {"unconditional_batch_skip_range": unconditional[0],
                  "unconditional_batch_timestep_skip_range": unconditional[1], "tensor_format": layout}
    return cache, lambda steps, now: hooks.FasterCacheConfig(
        current_timestep_callback=now, is_guidance_distilled=not unconditional,
        attention_weight_callback=lambda _: weight, **given)


RATIOS = [1.0, 1.02, 0.97, 1.01, 0.99, 0.98, 1.03, 0.9, 1.0, 1.01, 0.95, 0.8]
LOOPS = [
    ("flux_dev", "fbcache", 12, (1, 16, 64), first_block(0.56)),
    ("pixart_sigma", "fbcache", 10, (1, 4, 8, 8), first_block(0.55)),
    ("wan_euler", "fbcache", 10, (1, 16, 3, 4, 8), first_block(0.4)),
    ("cogvideox_2b", "fbcache", 10, (1, 3, 16, 4, 8), first_block(0.9)),
    ("hunyuan_video", "fbcache", 10, (1, 16, 3, 4, 8), first_block(0.5)),
    ("flux_dev", "magcache", 12, (1, 16, 64), mag(0.06, RATIOS, 3, 0.2)),
    ("wan_euler", "magcache", 12, (1, 16, 3, 4, 8), mag(0.095, RATIOS, 2, 0.1)),
    ("flux_dev", "taylorseer", 12, (1, 16, 64), taylor(3, 3, 1)),
    ("sd3", "taylorseer", 10, (1, 16, 8, 8), taylor(4, 2, 2)),
    ("pixart_sigma", "taylorseer", 10, (1, 4, 8, 8), taylor(3, 3, 2)),
    ("latte", "taylorseer", 10, (1, 4, 4, 8, 8), taylor(3, 2, 1)),
    ("pixart_sigma", "pab", 12, (1, 4, 8, 8), broadcast(attention=2, cross=4)),
    ("latte", "pab", 12, (1, 4, 4, 8, 8), broadcast((150, 850), attention=2, temporal=3, cross=5)),
    ("cogvideox_2b", "pab", 12, (1, 3, 16, 4, 8), broadcast(attention=2)),
    ("pixart_sigma", "fastercache", 12, (1, 4, 8, 8), faster((-1, 900), 0.5, attention=3)),
    ("latte", "fastercache", 12, (1, 4, 4, 8, 8), faster((100, 850), 0.3, attention=2, temporal=3)),
    ("sd3", "fastercache", 10, (1, 16, 8, 8), faster((-1, 900), 0.5, attention=2)),
    ("pixart_sigma", "fastercache_cfg", 16, (1, 4, 12, 8), faster((-1, 900), 0.5, (4, (-1, 850)), attention=2)),
    ("latte", "fastercache_cfg", 14, (1, 4, 4, 8, 8),
     faster((100, 850), 0.3, (3, (50, 900)), "BCFHW", attention=2, temporal=3)),
]


# ---- which modules ran ---------------------------------------------------------------------------------------------


class Watch:
    """Notes in which steps a kind of module was computed: inner layers run only then."""

    def __init__(self, model, policy):
        self.ran, self.step, self.batches = {}, 0, {}
        blocks = getattr(model, "transformer_blocks", None) or model.blocks
        if policy in ("fbcache", "magcache"):
            # The last block runs in computed steps alone, whatever the policy.
            singles = getattr(model, "single_transformer_blocks", None)
            self.watch("", (singles or blocks)[-1])
            return
        self.watch("attention", (getattr(blocks[0], "attn", None) or blocks[0].attn1))
        if policy == "fastercache_cfg":
            blocks[0].register_forward_pre_hook(lambda _, args: self.batches.update({self.step: args[0].shape[0]}))
        if hasattr(blocks[0], "attn2") and getattr(blocks[0], "attn2") is not None:
            self.watch("cross", blocks[0].attn2)
        if hasattr(model, "temporal_transformer_blocks"):
            self.watch("temporal", model.temporal_transformer_blocks[0].attn1)
        if policy == "taylorseer":
            self.watch("mlp", blocks[0].ff)

    def watch(self, kind, module):
        inner = next(layer for layer in module.modules() if isinstance(layer, torch.nn.Linear))
        inner.register_forward_pre_hook(lambda *_: self.ran.setdefault(kind, set()).add(self.step))

    def decisions(self, steps):
        said = {kind: "".join("01"[i in ran] for i in range(steps)) for kind, ran in self.ran.items()}
        if self.batches:
            said["branches"] = "".join("12"[self.batches[i] == self.batches[0]] for i in range(steps))
        return said.get("", said)


# ---- a loop ----------------------------------------------------------------------------------------------------------


def begin(scheduler, run, steps, rows):
    """As the pipelines set their timesteps."""
    if run["pipeline"] in ("FluxPipeline", "HunyuanVideoPipeline"):
        last = 1 / steps if run["pipeline"] == "FluxPipeline" else 0
        sigmas = np.linspace(1, last, steps) if last else np.linspace(1, 0, steps + 1)[:-1]
        config = scheduler.config
        slope = (config.max_shift - config.base_shift) / (config.max_image_seq_len - config.base_image_seq_len)
        mu = config.base_shift + slope * (rows - config.base_image_seq_len) if config.use_dynamic_shifting else None
        scheduler.set_timesteps(steps, sigmas=sigmas, mu=mu)
    else:
        scheduler.set_timesteps(steps)


def enable(model, config):
    """As model.enable_cache, which some classes lack. One state serves both guidance branches, for they are one batch."""
    APPLY[type(config)](model, config)
    for module in model.modules():
        registry = getattr(module, "_diffusers_hook", None)
        for hook in registry.hooks.values() if registry else ():
            if hasattr(hook, "state_manager"):
                hook.state_manager.set_context(CacheContext("both"))


def sample(opened, run, inputs, policy, steps, config_of):
    model, call, scheduler = opened()
    watch, time = Watch(model, policy), [0.0]
    enable(model, config_of(steps, lambda: time[0]))
    begin(scheduler, run, steps, inputs["latents"].shape[1])
    latents, output = inputs["latents"], {"timesteps": scheduler.timesteps.float()}
    for i, t in enumerate(scheduler.timesteps):
        watch.step, time[0] = i, float(t)
        said = call(model, run, inputs, latents, t)
        if len(said) == 2 * len(latents):
            said = said[:1] + run.get("true_cfg_scale", run.get("guidance_scale")) * (said[1:] - said[:1])
        if call in (pixart, latte) and said.shape[1] == 2 * latents.shape[1]:
            said = said.chunk(2, dim=1)[0]  # the other half is the variance
        latents = scheduler.step(said, t, latents, return_dict=False)[0]
        output[f"noise_pred_{i}"] = said
        output[f"latents_{i + 1}" if i + 1 < steps else "latents_final"] = latents
    return watch.decisions(steps), output


def check_margin(opened, run, inputs, policy, steps, cache, decisions):
    """Refuses a threshold that roundings could cross; schedules have none."""
    with_threshold = {"fbcache": first_block,
                      "magcache": lambda t: mag(t, cache["ratios"], cache["max_consecutive"], cache["retention"])}
    if policy not in with_threshold:
        return
    for factor in (0.98, 1.02):
        other, _ = sample(opened, run, inputs, policy, steps, with_threshold[policy](cache["threshold"] * factor)[1])
        if other != decisions:
            raise SystemExit(f"{policy} {cache['threshold']}: {decisions}, but {other} at {factor} of the threshold")


def write(out, name, run, inputs, output):
    folder = out / name
    folder.mkdir(exist_ok=True)
    for file, tensors in (("inputs", inputs), ("output", output)):
        save_file({key: x.contiguous() for key, x in tensors.items()}, folder / f"{file}.safetensors")
        (folder / f"{file}.safetensors").chmod(0o644)
    (folder / "e2e.json").write_text(json.dumps(run, indent=1) + "\n")
    print(name, run["decisions"])


def open_with(folder, solver):
    """Returns what opens the model anew: hooks stay on a model."""
    name = json.loads((folder / "config.json").read_text())["_class_name"]

    def opened():
        model = getattr(diffusers, name).from_config(json.loads((folder / "config.json").read_text()))
        model.load_state_dict(load_file(folder / "diffusion_pytorch_model.safetensors"))
        return model.float().eval(), globals()[CLASSES[name]], getattr(diffusers, solver["_class_name"]).from_config(solver)

    return opened


def make(out, source, policy, steps, shape, cache, config_of):
    old = json.loads((out / f"e2e_{source}" / "e2e.json").read_text())
    text = load_file(out / f"e2e_{source}" / "inputs.safetensors")
    inputs = {key: x for key, x in text.items() if "prompt" in key}
    inputs["latents"] = torch.randn(shape, generator=torch.Generator().manual_seed(19))
    opened = open_with(out / old["transformer"], old["scheduler"])
    edges = [16, 16] if len(shape) == 3 else [8 * n for n in shape[-2:]]
    run = {key: old[key] for key in ("pipeline", "transformer", "scheduler", "guidance_scale", "num_frames", "video_length")
           if key in old}
    run |= {"num_inference_steps": steps, "height": edges[0] * (4 if len(shape) == 3 else 1),
            "width": edges[1] * (4 if len(shape) == 3 else 1), "cache": cache, "output": "latents only"}
    decisions, output = sample(opened, run, inputs, policy, steps, config_of)
    check_margin(opened, run, inputs, policy, steps, cache, decisions)
    write(out, f"e2e_{source}_{policy}", run | {"decisions": decisions}, inputs, output)


TRAINED = {"shapes-flux": [("fbcache", first_block(0.1)), ("magcache", mag(0.06, [1.0] + 15 * [0.985], 3, 0.2)),
                           ("taylorseer", taylor(3, 3, 1))],
           "shapes-pixart": [("fbcache", first_block(0.2)), ("pab", broadcast(attention=2, cross=3)),
                             ("fastercache_cfg", faster((-1, 900), 0.5, (4, (-1, 850)), attention=2))],
           "shapes-latte": [("pab", broadcast(attention=2, temporal=3, cross=4))]}
TRAINED_STEPS = {"shapes-latte": 6}


def make_trained(out, folder, only):
    source = folder.parent / f"e2e_{folder.name}"
    run, inputs = json.loads((source / "e2e.json").read_text()), load_file(source / "inputs.safetensors")
    opened = open_with(folder, run["scheduler"])
    steps, clip = TRAINED_STEPS.get(folder.name, 16), "video_length" in run
    run |= {"num_inference_steps": steps, "output": "latents only"} | ({} if clip else {"vae": "vae_pixel_shuffle"})
    for policy, (cache, config_of) in TRAINED[folder.name]:
        if only and only not in f"{folder.name}_{policy}":
            continue
        decisions, output = sample(opened, run, inputs, policy, steps, config_of)
        check_margin(opened, run, inputs, policy, steps, cache, decisions)
        kept = ("timesteps", f"latents_{steps // 2}", "latents_final") if clip else output
        output = {key: x for key, x in output.items() if key in kept and not key.startswith("noise_pred")}  # the folder stays small
        write(out, f"e2e_{folder.name.replace('-', '_')}_{policy}", run | {"cache": cache, "decisions": decisions}, inputs, output)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", help="loops whose name has this text")
    parser.add_argument("--trained", type=Path, metavar="DIR", help="a copy of shipped weights, with e2e_NAME beside it")
    args = parser.parse_args()
    if args.trained:
        with torch.no_grad():
            make_trained(args.out, args.trained, args.only)
        return
    for source, policy, steps, shape, (cache, config_of) in LOOPS:
        if not args.only or args.only in f"{source}_{policy}":
            with torch.no_grad():
                make(args.out, source, policy, steps, shape, cache, config_of)


if __name__ == "__main__":
    main()
