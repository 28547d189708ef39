#!/usr/bin/env python3
"""Counts the operators that PyTorch dispatches for one forward of each model that the engine has.

It builds diffusers' classes (transformers' for text encoders) with the configs of workloads/ on the meta device, which
has shapes and no memory, and runs forwards of a few sizes under a TorchDispatchMode. Each operator's elements and rows
are written as polynomials of the sizes with integer coefficients, which the runs determine and the last run checks.
The files are data of the cost model (workloads/profiles/census/README.md); nothing in them is measured or assumed.

Usage: PYTHON ci/census.py [--check] [--out FOLDER] [--list] [FILE]...   PYTHON has the packages of a row of SOFTWARE
       ci/census.py --all [--installed] [--check] [--out FOLDER] [FILE]...
FILE is a class of models or VAEs, or a text encoder; none: all. --check writes nothing and exits with 1 if a file of
FOLDER is not what it would write, byte for byte; 77: other versions. --all does so for each row of SOFTWARE, in Python
environments that ci/deps.sh census makes; --installed: only in those that are there.
"""
import argparse
import itertools
import json
import os
import pathlib
import subprocess
import sys
from fractions import Fraction
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Name of a census: the versions that it is of. Both are pinned, because operators differ from release to release.
SOFTWARE = {
    "diffusers-0.30.3": {"torch": "2.4.1", "diffusers": "0.30.3", "transformers": "4.44.2"},
    "diffusers-0.33.1": {"torch": "2.6.0", "diffusers": "0.33.1"},
    "diffusers-0.42.1": {"torch": "2.15.0", "diffusers": "0.42.1", "transformers": "5.23.0"},
}
# What text encoders are of besides, where diffusers' own models need no such package.
ENCODERS_OF = {"diffusers-0.33.1": {"transformers": "4.51.3"}}


def versions():
    out = {}
    for package in ("torch", "diffusers", "transformers"):
        try:
            out[package] = version(package).split("+")[0]
        except PackageNotFoundError:
            pass
    return out


def name_of(found):
    for name, wanted in SOFTWARE.items():
        if all(found.get(package) == of for package, of in wanted.items()):
            return name
    return None


# ---- what a run records ----------------------------------------------------------------------------------------------

# Sizes: batch rows, image tokens, text tokens, frames of latents, image tokens of a frame and its edge; their products.
MONOMIALS = ["", "B", "S", "T", "F", "P", "BS", "BT", "BF", "BP", "E", "BFT", "TT", "BTT", "ST", "BST", "SS", "BSS"]


class Tally:
    """What one run saw: nodes in the order of their dispatch. A node is a dict of plain values."""

    def __init__(self):
        self.nodes, self.place, self.writer, self.alive, self.stack = [], ("begin", 0), {}, [], []
        self.attended, self.whole = set(), False  # whole: parts have one half

    def add(self, kind, op, reads, writes, **more):
        half = 1 if self.place in self.attended else 0
        node = {"kind": kind, "op": op, "place": self.place, "half": half, "shared": self.is_shared(op), "reads": [],
                "writes": []}
        node.update(more)
        for tensor in reads:
            node["reads"].append((place_of(tensor, self.writer), dtype_of(tensor), elements_of(tensor),
                                  self.writer.get(key_of(tensor))))
        for tensor in writes:
            node["writes"].append((key_of(tensor), dtype_of(tensor), elements_of(tensor)))
            self.writer[key_of(tensor)] = len(self.nodes)
            self.alive.append(tensor)
        self.nodes.append(node)
        if kind == "attention" and not self.whole:
            self.attended.add(self.place)

    def is_shared(self, _op):
        """Whether tensor ranks share the operator: it is within an attention or a feed-forward layer, or named so."""
        return any(entry in ("attention", "feed_forward") for _, entry in self.stack)


def key_of(tensor):
    return tensor.untyped_storage()._cdata


def place_of(tensor, writer):
    """A tensor's memory; of a stored table, which no operator writes, the piece of it."""
    key = key_of(tensor)
    return key if key in writer else (key, tensor.storage_offset())


def elements_of(tensor):
    """Elements that are there: an expanded dimension is read once."""
    count = 1
    for size, stride in zip(tensor.shape, tensor.stride()):
        count *= size if stride != 0 or size <= 1 else 1
    return count


def dtype_of(tensor):
    import torch
    names = {torch.bfloat16: "own", torch.float32: "fp32", torch.float64: "fp64", torch.int64: "int64",
             torch.int32: "int32", torch.bool: "bool", torch.complex64: "complex64", torch.complex128: "complex128",
             torch.uint8: "uint8", torch.float16: "own"}
    return names[tensor.dtype]


def flat_tensors(values):
    import torch
    out = []
    for value in values:
        if isinstance(value, torch.Tensor):
            out.append(value)
        elif isinstance(value, (list, tuple)):
            out += flat_tensors(value)
    return out


PRODUCTS = {"mm", "addmm", "bmm", "baddbmm"}
# Nothing runs on the device.
WITHOUT_KERNEL = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "_unsafe_view", "detach",
                  "lift_fresh", "alias", "set_", "resize_"}
# Read as many elements of the first operand as they write.
GATHERS = {"embedding", "index", "index_select", "gather"}
NORMS = {"native_layer_norm": 1, "native_group_norm": 3, "_fused_rms_norm": 1}


def is_view(func):
    schema = func._schema
    if any(a.alias_info is not None and a.alias_info.is_write for a in schema.arguments):
        return False
    return any(r.alias_info is not None for r in schema.returns)


def make_mode(tally):
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            op = func._schema.name.split("::")[1]
            inputs = flat_tensors(list(args) + list(kwargs.values()))
            if op == "_local_scalar_dense" and inputs[0].is_meta:
                tally.add("wait", "item", [], [], bytes=inputs[0].element_size())
                return tally.scalar
            if op in ("sym_size", "sym_stride", "sym_numel", "is_same_size", "device"):
                return func(*args, **kwargs)
            out = func(*args, **kwargs)
            record(func, op, args, kwargs, inputs, out)
            return out

    def record(func, op, args, kwargs, inputs, out):
        outputs = flat_tensors([out] if not isinstance(out, (list, tuple)) else out)
        on_meta = any(t.is_meta for t in inputs + outputs)
        if not on_meta:
            return  # the host computes beside; nothing is dispatched to the device
        if op == "_to_copy" and inputs and not inputs[0].is_meta:
            tally.add("wait", "copy_from_host", [], outputs, bytes=inputs[0].numel() * inputs[0].element_size())
        elif op in PRODUCTS:
            a, b = (args[0], args[1]) if op in ("mm", "bmm") else (args[1], args[2])
            batch = a.shape[0] if a.dim() == 3 else 1
            tally.add("product", op, inputs, outputs, batch=batch, rows=a.shape[-2], k=a.shape[-1], n=b.shape[-1],
                      split=split_of(tally), dtype=dtype_of(a) if tally.whole else "own")
        elif op == "convolution":
            weight = args[1]
            channels, taps = weight.shape[0], weight[0].numel()
            tally.add("conv", op, inputs, outputs, rows=outputs[0].numel() // channels, n=channels, k=taps,
                      input=args[0].numel(), axes=weight.dim() - 2,
                      dtype=dtype_of(args[0]) if tally.whole else "own")
        elif is_view(func) or op in WITHOUT_KERNEL:
            tally.add("view", op, [], [])
        else:
            written = [args[i] for i, a in enumerate(func._schema.arguments)
                       if a.alias_info is not None and a.alias_info.is_write and i < len(args)]
            writes = flat_tensors(written) if written else outputs
            reads = inputs
            if op in ("copy_", "fill_", "zero_"):
                reads = flat_tensors(args[1:])
            kernel(op, args, reads, writes)

    def kernel(op, args, reads, writes):
        more = {"launches": NORMS.get(op, 1)}
        if op in GATHERS:
            tally.add("kernel", op, [writes[0]] + [t for t in reads[1:]], writes, gathers=True, **more)
            return
        if op == "native_layer_norm":
            width = 1
            for size in args[1]:
                width *= size
            more["norm_rows"] = args[0].numel() // width
        if op == "native_group_norm":
            reads = [args[0]] + reads  # once for the moments, once to normalise
        tally.add("kernel", op, reads, writes, **more)

    return Mode()


SPLIT_COLUMNS = ("to_q", "to_k", "to_v", "add_q_proj", "add_k_proj", "add_v_proj", "proj_mlp", "proj")
SPLIT_ROWS = ("to_out", "to_add_out", "proj_out")


def split_of(tally):
    """How tensor ranks cut a product: its outputs ("n"), its inputs ("k"), or not at all ("")."""
    if not tally.stack:
        return ""
    name = tally.stack[-1][0]
    parts = name.split(".")
    inside = [kind for _, kind in tally.stack]
    if "feed_forward" in inside:
        return "k" if ".net.2" in name or name.endswith(("linear_2", "linear_out")) else "n"
    if "attention" in inside:
        return "k" if any(p in SPLIT_ROWS for p in parts) else "n"
    if parts[-1] == "proj_mlp":
        return "n"
    return "k" if parts[-1] == "proj_out" and len(parts) > 1 else ""


def hook_modules(model, tally, blocks):
    """Lets the tally know in which module, and in which block, an operator is dispatched."""
    starts = {}
    for kind, group in enumerate(blocks):
        for index, modules in enumerate(group):
            for module in modules:
                starts[id(module)] = (kind, index)
    last = {id(modules[-1]) for group in blocks for modules in group}
    final = id(blocks[-1][-1][-1]) if blocks and blocks[-1] else None

    def enter(name, kind):
        def hook(module, _args, *_):
            if id(module) in starts:
                tally.place = starts[id(module)]
            tally.stack.append((name, kind))
        return hook

    def leave(module, _args, _out):
        tally.stack.pop()
        if id(module) == final:
            tally.place = ("head", 0)
        elif id(module) in last:  # what comes before the next block is that block's
            kind, index = starts[id(module)]
            following = (kind, index + 1) if index + 1 < len(blocks[kind]) else (kind + 1, 0)
            tally.place = following

    for name, module in model.named_modules():
        cls = type(module).__name__
        kind = ""
        if cls.endswith("Attention") or cls in ("FluxAttention", "WanAttention", "Flux2Attention", "Flux2ParallelSelfAttention"):
            kind = "attention"
        elif cls in ("FeedForward", "Flux2FeedForward") or name.endswith(("act_mlp", "proj_mlp")):
            kind = "feed_forward"
        module.register_forward_pre_hook(enter(name, kind))
        module.register_forward_hook(leave)


# ---- classes ---------------------------------------------------------------------------------------------------------

class Size:
    def __init__(self, B, h, w, F, T):
        self.B, self.h, self.w, self.F, self.T = B, h, w, F, T
        self.S, self.P, self.E = h * w * F, h * w, h

    def value(self, monomial):
        out = 1
        for letter in monomial:
            out *= getattr(self, letter)
        return out


def meta(*shape, dtype=None):
    import torch
    return torch.empty(*shape, dtype=dtype or torch.bfloat16, device="meta")


def flux(config, z):
    import torch
    each = (z.B,) if version("diffusers") < "0.31" else ()  # ids were one table for each batch row
    ids = dict(img_ids=meta(*each, z.S, 3), txt_ids=meta(*each, z.T, 3))
    if config.get("guidance_embeds"):
        ids["guidance"] = meta(z.B, dtype=torch.float32)
    return {}, dict(hidden_states=meta(z.B, z.S, config["in_channels"]),
                    encoder_hidden_states=meta(z.B, z.T, config["joint_attention_dim"]),
                    pooled_projections=meta(z.B, config["pooled_projection_dim"]), timestep=meta(z.B), **ids)


def sd3(config, z):
    return {}, dict(hidden_states=meta(z.B, config["in_channels"], 2 * z.h, 2 * z.w),
                    encoder_hidden_states=meta(z.B, z.T, config["joint_attention_dim"]),
                    pooled_projections=meta(z.B, config["pooled_projection_dim"]), timestep=meta(z.B))


def pixart(config, z):
    import torch
    extra = config.get("use_additional_conditions")
    extra = config["sample_size"] == 128 if extra is None else extra
    known = {"resolution": meta(z.B, 2) if extra else None, "aspect_ratio": meta(z.B, 1) if extra else None}
    # The table of positions is stored for sample_size; the counted forward has the size that the model is made for.
    return {"sample_size": 2 * z.h, "use_additional_conditions": extra}, dict(
        hidden_states=meta(z.B, config["in_channels"], 2 * z.h, 2 * z.h),
        encoder_hidden_states=meta(z.B, z.T, config["caption_channels"]),
        encoder_attention_mask=meta(z.B, z.T, dtype=torch.int64), timestep=meta(z.B, dtype=torch.int64),
        added_cond_kwargs=known)


def hunyuan_dit(config, z):
    import torch
    head = config["attention_head_dim"] if "attention_head_dim" in config else 88
    table = torch.empty(z.S, head, dtype=torch.float32)  # on the host: numpy makes it, and no pipeline moves it
    return {"sample_size": 2 * z.h}, dict(
        hidden_states=meta(z.B, config["in_channels"], 2 * z.h, 2 * z.h), timestep=meta(z.B),
        encoder_hidden_states=meta(z.B, config["text_len"], config["cross_attention_dim"]),
        text_embedding_mask=meta(z.B, config["text_len"], dtype=torch.int64),
        encoder_hidden_states_t5=meta(z.B, config["text_len_t5"], config["cross_attention_dim_t5"]),
        text_embedding_mask_t5=meta(z.B, config["text_len_t5"], dtype=torch.int64),
        image_meta_size=meta(z.B, 6), style=meta(z.B, dtype=torch.int64), image_rotary_emb=(table, table.clone()))


def cogvideox(config, z):
    import torch
    head, per = config["attention_head_dim"], config.get("patch_size_t") or 1
    change = {"sample_height": 2 * z.h, "sample_width": 2 * z.w, "max_text_seq_length": z.T,
              "sample_frames": (z.F * per - 1) * config.get("temporal_compression_ratio", 4) + 1}
    inputs = dict(hidden_states=meta(z.B, z.F * per, config["in_channels"], 2 * z.h, 2 * z.w),
                  encoder_hidden_states=meta(z.B, z.T, config["text_embed_dim"]),
                  timestep=meta(z.B, dtype=torch.int64))
    if config.get("use_rotary_positional_embeddings"):
        inputs["image_rotary_emb"] = (meta(z.S, head, dtype=torch.float32), meta(z.S, head, dtype=torch.float32))
    return change, inputs


def wan(config, z):
    import torch
    fixed = config.get("image_dim") and version("diffusers") >= "0.35"  # what is not of 512 tokens is the picture's
    text = 512 if fixed else z.T
    inputs = dict(hidden_states=meta(z.B, config["in_channels"], z.F, 2 * z.h, 2 * z.w),
                  timestep=meta(z.B, dtype=torch.int64), encoder_hidden_states=meta(z.B, text, config["text_dim"]))
    if config.get("image_dim"):
        inputs["encoder_hidden_states_image"] = meta(z.B, 257, config["image_dim"])
    return {}, inputs


def hunyuan_video(config, z):
    import torch
    return {}, dict(hidden_states=meta(z.B, config["in_channels"], z.F, 2 * z.h, 2 * z.w),
                    timestep=meta(z.B, dtype=torch.int64),
                    encoder_hidden_states=meta(z.B, z.T, config["text_embed_dim"]),
                    encoder_attention_mask=meta(z.B, z.T, dtype=torch.int64),
                    pooled_projections=meta(z.B, config["pooled_projection_dim"]),
                    guidance=meta(z.B, dtype=torch.float32))


def latte(config, z):
    import torch
    return {"sample_size": 2 * z.h, "video_length": z.F}, dict(
        hidden_states=meta(z.B, config["in_channels"], z.F, 2 * z.h, 2 * z.h), timestep=meta(z.B, dtype=torch.int64),
        encoder_hidden_states=meta(z.B, z.T, config["caption_channels"]), enable_temporal_attentions=True)


# class: its inputs; keys of the config that count blocks; lists of blocks per key; sizes that vary, besides B and S
CLASSES = {
    "FluxTransformer2DModel": (flux, {"num_layers": ["transformer_blocks"],
                                      "num_single_layers": ["single_transformer_blocks"]}, "T"),
    "SD3Transformer2DModel": (sd3, {"num_layers": ["transformer_blocks"]}, "T"),
    "PixArtTransformer2DModel": (pixart, {"num_layers": ["transformer_blocks"]}, "T"),
    "HunyuanDiT2DModel": (hunyuan_dit, {"num_layers": ["blocks"]}, ""),
    "CogVideoXTransformer3DModel": (cogvideox, {"num_layers": ["transformer_blocks"]}, "TF"),
    "WanTransformer3DModel": (wan, {"num_layers": ["blocks"]}, "TFE"),
    "HunyuanVideoTransformer3DModel": (hunyuan_video, {"num_layers": ["transformer_blocks"],
                                                       "num_single_layers": ["single_transformer_blocks"]}, "TFE"),
    "LatteTransformer3DModel": (latte, {"num_layers": ["transformer_blocks", "temporal_transformer_blocks"]}, "TFP"),
}
# Their first forward moves tables to the device, where they stay: the second one is counted.
MOVED_ONCE = {"WanTransformer3DModel", "QwenImageTransformer2DModel", "ZImageTransformer2DModel"}
# The number of operators depends on the batch: one batch row is counted, and several are charged as so many calls.
ROW_BY_ROW = {"HunyuanVideoTransformer3DModel"}
# Those of census_newer.py are added by take_newer().
# Not a fact of the class: how many forwards its pipeline makes of the two branches of guidance.
FORWARDS = {"WanTransformer3DModel": 2,  # pipeline_wan.py: noise_pred, then noise_uncond
            "QwenImageTransformer2DModel": 2}  # pipeline_qwenimage.py: so, too


def take_newer():
    """Adds the classes of census_newer.py, which takes its tools from this file under its own name."""
    global census_newer  # pylint: disable=global-statement,global-variable-undefined
    sys.modules["census"] = sys.modules[__name__]
    census_newer = import_module("census_newer")
    CLASSES.update(census_newer.CLASSES)
    ROW_BY_ROW.update(census_newer.ROW_BY_ROW)


def sizes_of(letters):
    """Sizes of calls of one batch row, and of several, whose rows do not all follow each other without a gap."""
    frames = [3, 3, 5, 7, 2, 4] if "F" in letters else [1] * 6
    square = [(4, 5), (6, 7), (8, 11), (4, 13), (10, 17), (12, 3)]
    batch = [2, 3, 2, 4, 3, 2]
    return ([Size(1, h, h, F, T) for (h, T), F in zip(square, frames)],
            [Size(B, h, h, F, T) for B, (h, T), F in zip(batch, square, frames)])


# ---- one run ---------------------------------------------------------------------------------------------------------

class Missing(Exception):
    """This version has no such model."""


# What older versions do without being told.
NEWER = {"patch_bias": True}
# Keys of a config that no version has: constants of the library's pipelines, which small models of tests change.
OURS = ("first_frame_apart", "glyph_tokens", "glyph_width", "picture_tokens")


def arguments_of(cls, config, change):
    """What the class is made with: the config with the change, less what this version would ignore."""
    import inspect
    takes = inspect.signature(cls.__init__).parameters
    known = {k: v for k, v in {**config, **change}.items() if not k.startswith("_") and k not in OURS}
    newer = {k for k, v in known.items() if k not in takes and v is not None and v != NEWER.get(k)}
    if newer:
        raise Missing(f"{cls.__name__} has no {sorted(newer)}")
    return {k: v for k, v in known.items() if k in takes}


def build(cls, config, change):
    import torch
    known = arguments_of(cls, config, change)
    try:
        with torch.device("meta"):
            model = cls(**known)
    except TypeError as error:  # its constructor makes arrays of numpy from tensors
        raise Missing(f"is not built on the meta device: {error}") from error
    model = model.to("meta")  # tables that numpy made
    keep = getattr(cls, "_keep_in_fp32_modules", None) or []
    for name, tensor in itertools.chain(model.named_parameters(), model.named_buffers()):
        if tensor.is_floating_point() and not any(word in name.split(".") for word in keep):
            tensor.data = tensor.data.to(torch.bfloat16)
    return model.eval()


def attention_kept_whole(tally):
    """Returns a stand-in for scaled_dot_product_attention: one operator, whose result lies as FlashAttention leaves it:
    heads beside each other."""
    import torch

    def attend(query, key, value, attn_mask=None, *_args, **_kwargs):
        B, H, rows, D = query.shape
        with torch.utils._python_dispatch._disable_current_modes():
            out = torch.empty(B, rows, H, value.shape[-1], dtype=query.dtype, device="meta").transpose(1, 2)
        reads = [query, key, value] + ([attn_mask] if attn_mask is not None else [])
        tally.add("attention", "attention", reads, [out])
        return out

    return attend


def run(cls, entry, config, z):
    import torch
    make, keys, _ = entry
    change, inputs = make(config, z)
    model = build(cls, config, change)
    groups = [list(zip(*[list(getattr(model, name)) for name in lists])) for lists in keys.values()]
    census_newer.PREPARE.get(cls.__name__, lambda _: None)(model)
    tally = Tally()
    tally.scalar, tally.text = z.S + z.T, z.T
    if cls.__name__ in MOVED_ONCE:
        with torch.no_grad():
            model(**inputs, return_dict=False)
    hook_modules(model, tally, groups)
    whole = torch.nn.functional.scaled_dot_product_attention
    torch.nn.functional.scaled_dot_product_attention = attention_kept_whole(tally)
    try:
        with torch.no_grad(), census_newer.stand_ins(tally), make_mode(tally):
            model(**inputs, return_dict=False)
    finally:
        torch.nn.functional.scaled_dot_product_attention = whole
    return tally


# ---- the rule of torch.compile ---------------------------------------------------------------------------------------

def fuse(nodes):
    """Marks the element-wise operators that a compiler makes one kernel of: those of one place and half that pass data
    to each other without a product, an attention or a wait between them."""
    level, group, parent = [0] * len(nodes), list(range(len(nodes))), None

    def root(i):
        while group[i] != i:
            group[i] = group[group[i]]
            i = group[i]
        return i

    for i, node in enumerate(nodes):
        before = {w for _, _, _, w in node["reads"] if w is not None and w != i}
        for w in before:
            wall = nodes[w]["kind"] in ("product", "conv", "attention", "wait")
            if nodes[w]["place"] != node["place"]:
                continue  # blocks are compiled alike
            level[i] = max(level[i], level[w] + (1 if wall else 0))
        if node["kind"] != "kernel":
            continue
        for w in before:
            one = nodes[w]
            if one["kind"] == "kernel" and level[w] == level[i] and (one["place"], one["half"]) == (
                    node["place"], node["half"]):
                group[root(i)] = root(w)
    return [root(i) for i in range(len(nodes))]


def fused_kernels(nodes):
    """Returns, per place and half, what each fused kernel reads from elsewhere and leaves to others."""
    roots = fuse(nodes)
    members, later = {}, {}
    for i, node in enumerate(nodes):
        if node["kind"] == "kernel":
            members.setdefault(roots[i], []).append(i)
        for _, _, _, w in node["reads"]:
            if w is not None:
                later.setdefault(w, set()).add(i)
    out = {}
    for _, group in sorted(members.items(), key=lambda item: item[1][0]):
        inside, reads, writes = set(group), {}, {}
        for i in group:
            for key, dtype, count, w in nodes[i]["reads"]:
                if w not in inside:
                    at = (key, w)
                    reads[at] = max(reads.get(at, (dtype, 0)), (dtype, count), key=lambda one: one[1])
            for key, dtype, count in nodes[i]["writes"]:
                uses = later.get(i, set())
                if not uses or uses - inside:
                    writes[(key, i)] = (dtype, count)
        first = nodes[group[0]]
        out.setdefault((first["place"], first["half"]), []).append(
            {"op": "fused", "shared": first["shared"], "launches": 1, "reads": totals(reads.values()),
             "writes": totals(writes.values()),
             "norm_rows": max([nodes[i].get("norm_rows", 0) for i in group])})
    return out


def totals(pairs):
    out = {}
    for dtype, count in pairs:
        out[dtype] = out.get(dtype, 0) + count
    return out


# ---- runs to polynomials ---------------------------------------------------------------------------------------------

class Different(Exception):
    """Runs of two sizes are not the same operators."""


class Fit:
    """Finds integer coefficients for a value's list over the runs: the fewest monomials that give all of them."""

    def __init__(self, sizes, letters, signed=False):
        self.sizes, self.known, self.signed = sizes, {}, signed
        self.monomials = [m for m in MONOMIALS if all(c in "BS" + letters for c in m)]

    def polynomial(self, values):
        values = tuple(values)
        if values not in self.known:
            self.known[values] = self.find(values)
        return self.known[values]

    def find(self, values):
        if not any(values):
            return {}
        for count in (1, 2, 3, 4, 5):
            for chosen in itertools.combinations(self.monomials, count):
                found = self.solve(chosen, values)
                if found:
                    return found
        raise Different(f"no polynomial gives {values}")

    def solve(self, chosen, values):
        rows = [[Fraction(z.value(m)) for m in chosen] for z in self.sizes]
        n, taken, system = len(chosen), 0, []
        for row, value in zip(rows, values):
            system.append(row + [Fraction(value)])
        for column in range(n):
            pivot = next((i for i in range(taken, len(system)) if system[i][column]), None)
            if pivot is None:
                return None
            system[taken], system[pivot] = system[pivot], system[taken]
            lead = system[taken][column]
            system[taken] = [v / lead for v in system[taken]]
            for i in range(len(system)):
                if i != taken and system[i][column]:
                    factor = system[i][column]
                    system[i] = [a - factor * b for a, b in zip(system[i], system[taken])]
            taken += 1
        if any(row[n] for row in system[n:]):
            return None
        out = {m or "1": system[i][n] for i, m in enumerate(chosen)}
        if any(v.denominator != 1 or v == 0 or v < 0 and not self.signed for v in out.values()):
            return None
        return {m: int(v) for m, v in out.items()}


def merge_rows(rows):
    """Adds up the calls of rows that are alike, in the order of their first."""
    out = {}
    for row in rows:
        calls = row.pop("calls", 1)
        at = json.dumps(row, sort_keys=True)
        if at in out:
            out[at]["calls"] += calls
        else:
            out[at] = dict({"op": row["op"], "calls": calls}, **row)
    return list(out.values())


def elements(fit, runs, side):
    dtypes = sorted({d for one in runs for d in one[side]})
    return {d: fit.polynomial([one[side].get(d, 0) for one in runs]) for d in dtypes}


def kernel_row(fit, runs):
    row = {"op": runs[0]["op"]}
    if runs[0]["launches"] != 1:
        row["launches"] = runs[0]["launches"]
    for side, key in (("reads", "read"), ("writes", "write")):
        row[key] = elements(fit, runs, side)
    if any(one.get("norm_rows") for one in runs):
        row["rows"] = fit.polynomial([one.get("norm_rows", 0) for one in runs])
    if runs[0]["shared"]:
        row["shared"] = True
    return row


def product_row(fit, runs):
    row = {"op": runs[0]["op"]}
    for key in ("batch", "rows", "n", "k"):
        values = [one[key] for one in runs if key in one]
        if values and not (key == "batch" and set(values) == {1}):
            row[key] = fit.polynomial(values)
    if "input" in runs[0]:
        row["input"] = fit.polynomial([one["input"] for one in runs])
        if runs[0]["axes"] != 2:
            row["axes"] = runs[0]["axes"]
    if runs[0].get("split"):
        row["split"] = runs[0]["split"]
    if runs[0]["dtype"] != "own":
        row["dtype"] = runs[0]["dtype"]
    return row


def attention_row(fit, runs):
    row = {"op": runs[0]["op"]}
    for key in ("batch", "heads", "queries", "keys", "dim"):
        row[key] = fit.polynomial([one[key] for one in runs])
    return row


def half_of(fit, runs, fused):
    """One half of a part: `runs` has the nodes of each run, `fused` the fused kernels of each."""
    out = {"views": sum(1 for node in runs[0] if node["kind"] == "view"), "waits": [], "products": [], "attentions": [],
           "kernels": [], "fused": []}
    for same in zip(*runs):
        kinds = {(node["kind"], node["op"]) for node in same}
        if len(kinds) != 1:
            raise Different(f"runs of two sizes dispatch different operators: {kinds}")
        kind = same[0]["kind"]
        if kind == "kernel":
            plain = [dict(node, reads=totals((d, c) for _, d, c, _ in node["reads"]),
                          writes=totals((d, c) for _, d, c in node["writes"])) for node in same]
            out["kernels"].append(kernel_row(fit, plain))
        elif kind in ("product", "conv"):
            out["products"].append(product_row(fit, same))
        elif kind == "attention" and "queries" in same[0]:
            out["attentions"].append(attention_row(fit, same))
        elif kind == "wait":
            out["waits"].append({"op": same[0]["op"], "bytes": fit.polynomial([node["bytes"] for node in same])})
    for same in zip(*fused):
        out["fused"].append(kernel_row(fit, same))
    for key in ("waits", "products", "attentions", "kernels", "fused"):
        out[key] = merge_rows(out[key])
    return {key: value for key, value in out.items() if value}


def parts_of(fit, tallies):
    fused = [fused_kernels(tally.nodes) for tally in tallies]
    places = []
    for node in tallies[0].nodes:
        if node["place"] not in places:
            places.append(node["place"])
    out = {}
    for place in places:
        halves = []
        for half in (0, 1):
            runs = [[n for n in tally.nodes if (n["place"], n["half"]) == (place, half)] for tally in tallies]
            if len({len(nodes) for nodes in runs}) != 1:
                raise Different(f"runs of two sizes dispatch different numbers of operators in {place}")
            halves.append(half_of(fit, runs, [one.get((place, half), []) for one in fused]))
        out[place] = {"before": halves[0], "after": halves[1]} if halves[1] else {"before": halves[0]}
    return out


# ---- files -----------------------------------------------------------------------------------------------------------

def name_parts(parts, keys):
    """Gives the parts names, those that are alike one name. Returns {name: part} and, for each key, runs of names."""
    named, blocks, texts = {}, {key: [] for key in keys}, {}
    for place, part in parts.items():
        text = json.dumps(part)
        if place[0] in ("begin", "head"):
            named[place[0]] = part
            continue
        key = list(keys)[place[0]]
        if (place[0], text) not in texts:
            count = sum(1 for kind, _ in texts if kind == place[0])
            texts[(place[0], text)] = f"{key} {count}" if count else key
            named[texts[(place[0], text)]] = part
        name = texts[(place[0], text)]
        runs = blocks[key]
        if runs and runs[-1]["part"] == name:
            runs[-1]["count"] += 1
        else:
            runs.append({"part": name, "count": 1})
    return named, blocks


def depth_keys(keys):
    return set(keys) | {"dual_attention_layers"}


def censuses_of(cls, entry, config):
    """One census for all batches, or one for one batch row and one for more."""
    sizes = census_newer.SIZES.get(cls.__name__, sizes_of)(entry[2])
    if cls.__name__ in ROW_BY_ROW:
        sizes = sizes[:1]
    runs = [[run(cls, entry, config, z) for z in some] for some in sizes]

    def counted(some, tallies, more):
        named, blocks = name_parts(parts_of(Fit(some, entry[2], cls.__name__ in census_newer.SIGNED), tallies), entry[1])
        return dict(more, blocks=blocks, parts=named)

    try:
        if len(sizes) > 1:
            return [counted(sizes[0] + sizes[1], runs[0] + runs[1], {})]
        return [counted(sizes[0], runs[0], {"batch": "one"})]
    except Different:
        return [counted(some, tallies, {"batch": batch})
                for some, tallies, batch in zip(sizes, runs, ("one", "more"))]


def census_of(class_name, models):
    import diffusers
    entry = CLASSES[class_name]
    cls = getattr(diffusers, class_name, None)
    if cls is None:
        return None
    out = []
    for name, config in models:
        model = {"name": name, "config": {k: v for k, v in config.items() if not k.startswith("_") and k not in OURS}}
        try:
            counted = censuses_of(cls, entry, config)
        except Missing as missing:
            print(f"{class_name}: {name}: {missing}", file=sys.stderr)
            continue
        for one in counted:
            if class_name in FORWARDS:
                one = dict({"forwards": FORWARDS[class_name]}, **one)
            same = next((other for other in out if {k: v for k, v in other.items() if k != "models"} == one), None)
            if same:
                same["models"].append(model)
            else:
                out.append(dict({"models": [model]}, **one))
        print(f"{class_name}: {name}", file=sys.stderr)
    return out


def dump(value, indent=0):
    """Writes JSON with one row of a table a line."""
    pad = "  " * indent
    flat = json.dumps(value)
    if not isinstance(value, (dict, list)) or len(flat) + len(pad) <= 150 and not has_rows(value):
        return flat
    if isinstance(value, list):
        return "[\n" + ",\n".join(pad + "  " + dump(v, indent + 1) for v in value) + "\n" + pad + "]"
    return "{\n" + ",\n".join(f"{pad}  {json.dumps(k)}: {dump(v, indent + 1)}" for k, v in value.items()) + "\n" + pad + "}"


def has_rows(value):
    if isinstance(value, list):
        return any(isinstance(v, dict) and "op" in v for v in value) and len(value) > 1
    return isinstance(value, dict) and any(has_rows(v) or isinstance(v, dict) and "before" in v for v in value.values())


def catalogue():
    out = {}
    for path in sorted((ROOT / "workloads" / "models").glob("*.json")):
        model = json.loads(path.read_text())
        config = model.get("config")
        if model.get("weights"):
            continue  # trained for this project: no other software runs it
        if config and config.get("_class_name") in CLASSES:
            out.setdefault(config["_class_name"], []).append((model["name"], config))
    return out


def vaes():
    """VAEs by class."""
    out = {}
    for path in sorted((ROOT / "workloads" / "vaes").glob("*.json")):
        vae = json.loads(path.read_text())
        out.setdefault(vae["config"]["_class_name"], []).append((vae["name"], vae["config"]))
    return out


def vae_censuses(name, class_name, models):
    import diffusers
    import census_around
    cls = getattr(diffusers, class_name, None)
    out = []
    for vae, config in models if cls else []:
        one = census_around.vae_census(cls, config, census_around.element_of(name))
        print(f"{class_name}: {vae}", file=sys.stderr)
        out.append(dict({"models": [{"name": vae, "config": config}]}, **one))
    return out


def encoder_censuses(name, encoder, config):
    import census_around
    one = census_around.encoder_census(config, census_around.element_of(name))
    print(f"{config['_class_name']}: {encoder}", file=sys.stderr)
    return [dict({"models": [{"name": encoder, "config": config}]}, **one)]


def jobs(name, found):
    """File, its class, its software, and what counts it."""
    for class_name, models in catalogue().items():
        yield class_name, class_name, SOFTWARE[name], lambda c=class_name, m=models: census_of(c, m)
    for class_name, models in vaes().items():
        yield class_name, class_name, SOFTWARE[name], lambda c=class_name, m=models: vae_censuses(name, c, m)
    software = dict(SOFTWARE[name], **ENCODERS_OF.get(name, {}))
    if any(found.get(package) != version for package, version in software.items()):
        print(f"census: text encoders need {software}", file=sys.stderr)
        return
    for path in sorted((ROOT / "workloads" / "text_encoders").glob("*.json")):
        encoder = json.loads(path.read_text())
        if "config" not in encoder:  # its sizes are known, but no config that could be built and counted
            continue
        yield encoder["name"], encoder["config"]["_class_name"], software, lambda e=encoder: encoder_censuses(
            name, e["name"], e["config"])


def python_of(name):
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "ditbench"
    peers = pathlib.Path(os.environ.get("DITBENCH_PEERS") or cache / "peers")
    return peers.parent / ("census-" + SOFTWARE[name]["diffusers"]) / "bin" / "python"


def run_all(args):
    """Runs this script once for each row of SOFTWARE. Returns the worst exit status; 77 if none of them could run."""
    worst, ran = 0, False
    if not args.installed:
        subprocess.run([str(ROOT / "ci" / "deps.sh"), "census"], check=True)
    for name in SOFTWARE:
        python = python_of(name)
        command = [str(python), __file__, "--out", args.out] + ["--check"] * args.check + args.files
        status = subprocess.run(command, check=False).returncode if python.exists() else 77
        print(f"census: {name}: " + {0: "ok", 77: "not installed"}.get(status, "differs"), file=sys.stderr)
        ran = ran or status != 77
        worst = max(worst, status if status != 77 else 0)
    return worst if ran else 77


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--out", default=str(ROOT / "workloads" / "profiles" / "census"))
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("--list", action="store_true", help="print the name of the census that these versions give")
    parser.add_argument("--all", action="store_true", help="for each row of SOFTWARE")
    parser.add_argument("--installed", action="store_true", help="with --all: install nothing")
    args = parser.parse_args()
    take_newer()
    if args.all:
        return run_all(args)
    found = versions()
    name = name_of(found)
    if args.list:
        print(name or "")
        return 0
    if not name:
        print(f"census: {found} is no row of SOFTWARE", file=sys.stderr)
        return 77
    folder = pathlib.Path(args.out) / name
    stale = []
    for file, class_name, software, count in jobs(name, found):
        if args.files and file not in args.files:
            continue
        counted = count()
        if not counted:
            continue
        text = dump({"schema": "ditbench.census/1", "name": name, "class": class_name, "software": software,
                     "models": counted}) + "\n"
        path = folder / f"{file}.json"
        if args.check:
            if not path.exists() or path.read_text() != text:
                stale.append(str(path))
        else:
            folder.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    for path in stale:
        print(f"census: {path} is not what this PyTorch dispatches", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
