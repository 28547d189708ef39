"""Counts what a pipeline runs around its transformer: text encoders and the decoders of VAEs. ci/census.py calls it."""
import contextlib
import json
import pathlib
from fractions import Fraction

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Types that a pipeline's pieces run in: papers of autumn 2024 ran fp16, in which T5 keeps its wo in fp32.
FP16 = {"diffusers-0.30.3"}


class Linear:
    """Coefficients of products of the sizes that vary, which the runs determine and whose rest they check."""

    def __init__(self, samples, squares=()):
        self.samples, self.known = samples, {}
        letters = [c for c in samples[0] if len({s[c] for s in samples}) > 1]
        self.monomials = [""]
        for letter in letters:
            self.monomials += [m + letter for m in self.monomials]
        self.monomials = sorted(self.monomials, key=lambda m: -len(m)) + [m for m in squares if set(m) <= set(letters)]

    def value(self, sample, monomial):
        out = 1
        for letter in monomial:
            out *= sample[letter]
        return out

    def polynomial(self, values):
        values = tuple(values)
        if values not in self.known:
            self.known[values] = self.find(values)
        return self.known[values]

    def find(self, values):
        from census import Different
        for monomials in [[""]] + [[m] for m in self.monomials] + [self.monomials]:
            found = self.solve(monomials, values)
            if found is not None:
                return found
        raise Different(f"no polynomial of {self.monomials} gives {values}")

    def solve(self, monomials, values):
        rows = [[Fraction(self.value(s, m)) for m in monomials] + [Fraction(v)] for s, v in zip(self.samples, values)]
        n, taken, at = len(monomials), 0, {}
        for column in range(n):
            pivot = next((i for i in range(taken, len(rows)) if rows[i][column]), None)
            if pivot is None:
                continue
            rows[taken], rows[pivot] = rows[pivot], rows[taken]
            lead = rows[taken][column]
            rows[taken] = [v / lead for v in rows[taken]]
            for i in range(len(rows)):
                if i != taken and rows[i][column]:
                    factor = rows[i][column]
                    rows[i] = [a - factor * b for a, b in zip(rows[i], rows[taken])]
            at[column] = taken
            taken += 1
        if taken == len(rows) and len(rows) > 1:
            return None  # nothing is left that would check it
        if any(row[n] for row in rows[taken:]):
            return None
        out = {m or "1": rows[at[i]][n] for i, m in enumerate(monomials) if i in at and rows[at[i]][n]}
        if any(v.denominator != 1 for v in out.values()):
            return None
        return {m: int(v) for m, v in sorted(out.items(), key=lambda item: (-len(item[0]), item[0]))}


def element_of(name):
    import torch
    return torch.float16 if name in FP16 else torch.bfloat16


@contextlib.contextmanager
def attention_whole(tally):
    """scaled_dot_product_attention is one operator, with its sizes."""
    import torch
    from census import attention_kept_whole
    functional = torch.nn.functional
    whole, stand_in = functional.scaled_dot_product_attention, attention_kept_whole(tally)
    autocast, torch.autocast = torch.autocast, lambda *_args, **_more: contextlib.nullcontext()  # meta has none

    def attend(query, key, value, attn_mask=None, *args, **more):
        out = stand_in(query, key, value, attn_mask)
        B, H, rows, D = query.shape
        tally.nodes[-1].update(batch=B, heads=H, queries=rows, keys=key.shape[-2], dim=D)
        return out

    functional.scaled_dot_product_attention = attend
    try:
        yield
    finally:
        functional.scaled_dot_product_attention, torch.autocast = whole, autocast


def new_tally():
    from census import Tally
    tally = Tally()
    tally.whole, tally.scalar = True, 1
    return tally


def part_of(samples, runs, squares=()):
    """A part of one half from the nodes that the runs of `samples` dispatched."""
    from census import fused_kernels, half_of
    fused = [[row for rows in fused_kernels(nodes).values() for row in rows] for nodes in runs]
    return {"before": half_of(Linear(samples, squares), runs, fused)}


def renumbered(nodes, keep):
    """The nodes `keep`, whose inputs from elsewhere come from nowhere."""
    place = {old: new for new, old in enumerate(keep)}
    out = []
    for old in keep:
        node = dict(nodes[old])
        node["reads"] = [(key, dtype, count, place.get(writer)) for key, dtype, count, writer in node["reads"]]
        out.append(node)
    return out


# ---- text encoders ---------------------------------------------------------------------------------------------------

# class: its config's class, where its layers are, whether it gets a mask, and what it is asked for
ENCODERS = {
    "T5EncoderModel": ("T5Config", "encoder.block", False, {}),
    "UMT5EncoderModel": ("UMT5Config", "encoder.block", True, {}),
    "CLIPTextModel": ("CLIPTextConfig", "text_model.encoder.layers", False, {"output_hidden_states": True}),
    "CLIPTextModelWithProjection": ("CLIPTextConfig", "text_model.encoder.layers", False,
                                    {"output_hidden_states": True}),
    "BertModel": ("BertConfig", "encoder.layer", True, {}),
    "LlamaModel": ("LlamaConfig", "layers", True, {"output_hidden_states": True}),
}


def find(model, path):
    for name in path.split("."):
        model = getattr(model, name)
    return model


def build_encoder(config, dtype):
    import torch
    import transformers
    config_class, path, masked, asked = ENCODERS[config["_class_name"]]
    cls = getattr(transformers, config["_class_name"])
    known = {k: v for k, v in config.items() if not k.startswith("_")}
    with torch.device("meta"):
        model = cls(getattr(transformers, config_class)(**known))
    if config["_class_name"] == "CLIPTextModel" and not hasattr(model, "text_model"):
        path = path.removeprefix("text_model.")
    keep = (getattr(cls, "_keep_in_fp32_modules", None) or []) if dtype == torch.float16 else []
    for name, tensor in list(model.named_parameters()) + list(model.named_buffers()):
        if tensor.is_floating_point() and not any(word in name.split(".") for word in keep):
            tensor.data = tensor.data.to(dtype)
    return model.to("meta").eval(), find(model, path), masked, asked


def encoder_census(config, dtype):
    """One entry of "models": its begin, its layers and its head, for prompts of any length."""
    import torch
    from census import hook_modules, make_mode, name_parts
    model, layers, masked, asked = build_encoder(config, dtype)
    samples = [{"T": tokens} for tokens in (16, 24, 40, 56, 72)]
    tallies, tally = [], None

    class Now:  # the hooks stay, the tally is each run's own
        def __getattr__(self, name):
            return getattr(tally, name)

        def __setattr__(self, name, value):
            setattr(tally, name, value)

    hook_modules(model, Now(), [[(layer,) for layer in layers]])
    for sample in samples:
        tally = new_tally()
        ids = torch.empty(1, sample["T"], dtype=torch.int64, device="meta")
        more = dict(asked, attention_mask=torch.empty_like(ids)) if masked else asked
        with torch.no_grad(), attention_whole(tally), make_mode(tally):
            model(ids, **more)
        tallies.append(tally)
    parts = {}
    for place in dict.fromkeys(node["place"] for node in tallies[0].nodes):
        runs = [renumbered(one.nodes, [i for i, n in enumerate(one.nodes) if n["place"] == place]) for one in tallies]
        parts[place] = part_of(samples, runs, ("TT",))
    named, blocks = name_parts(parts, {"layers": None})
    return {"blocks": blocks, "parts": named}


# ---- VAEs ------------------------------------------------------------------------------------------------------------

SPREAD = [(4, 5), (6, 7), (8, 11), (10, 6), (5, 9), (7, 4)]
# class: latent frames of the runs, how many of them one call of the decoder takes (0: all)
VAES = {"AutoencoderKL": ([1], 0), "AutoencoderKLCogVideoX": ([7, 9], 2), "AutoencoderKLWan": ([5, 6], 1),
        "AutoencoderKLHunyuanVideo": ([2, 3, 5], 0)}
GROWS = {"AutoencoderKLWan"}  # its result is catted anew with every frame


def build_vae(cls, config, dtype):
    import inspect
    import torch
    takes = inspect.signature(cls.__init__).parameters
    with torch.device("meta"):
        model = cls(**{k: v for k, v in config.items() if k in takes and not k.startswith("_")})
    return model.to("meta").to(dtype).eval()


def decode_schedule(model, class_name):
    """How the class cuts latents: its own numbers, in latents, but for blends, which are in pixels and frames."""
    _, chunk = VAES[class_name]
    spatial, times = 2 ** (len(getattr(model.config, "block_out_channels", [0] * 4)) - 1), 1
    if class_name != "AutoencoderKL":
        spatial, times = 8, 4
    out = {"pixels": spatial, "frames": times}
    if chunk:
        out["chunk"] = chunk
    if hasattr(model, "tile_sample_stride_height"):
        tile = [model.tile_sample_min_height, model.tile_sample_min_width]
        step = [model.tile_sample_stride_height, model.tile_sample_stride_width]
        out["tile"], out["step"] = [t // spatial for t in tile], [s // spatial for s in step]
        out["blend"] = [t - s for t, s in zip(tile, step)]
    elif hasattr(model, "tile_overlap_factor_height"):
        tile = [model.tile_latent_min_height, model.tile_latent_min_width]
        px = [model.tile_sample_min_height, model.tile_sample_min_width]
        over = [model.tile_overlap_factor_height, model.tile_overlap_factor_width]
        out["tile"] = tile
        out["step"] = [int(t * (1 - o)) for t, o in zip(tile, over)]
        out["blend"] = [int(p * o) for p, o in zip(px, over)]
    elif hasattr(model, "tile_overlap_factor"):
        tile, px, over = model.tile_latent_min_size, model.tile_sample_min_size, model.tile_overlap_factor
        out["tile"], out["step"], out["blend"] = [tile] * 2, [int(tile * (1 - over))] * 2, [int(px * over)] * 2
    if getattr(model, "use_framewise_decoding", False):
        stride = model.tile_sample_stride_num_frames
        out["tile_frames"] = model.tile_sample_min_num_frames // times + 1
        out["step_frames"] = stride // times
        out["blend_frames"] = model.tile_sample_min_num_frames - stride
    return out


def decode_run(model, class_name, frames, height, width, dtype):
    """The nodes of one decode, by place."""
    import torch
    from census import make_mode
    tally = new_tally()
    calls = [0]

    def enter(*_):
        tally.place = ("chunk", calls[0])

    def leave(*_):
        tally.place = ("behind", calls[0])
        calls[0] += 1

    hooks = [model.decoder.register_forward_pre_hook(enter), model.decoder.register_forward_hook(leave)]
    shape = [1, model.config.get("latent_channels") or model.config["z_dim"], frames, height, width]
    if class_name == "AutoencoderKL":
        del shape[2]
    z = torch.empty(shape, dtype=dtype, device="meta")
    if hasattr(model, "use_framewise_decoding"):
        model.use_framewise_decoding = False  # the schedule has it
    with torch.no_grad(), attention_whole(tally), make_mode(tally):
        model.decode(z, return_dict=False)
    for hook in hooks:
        hook.remove()
    return tally, calls[0]


def kept(tally, wanted):
    return renumbered(tally.nodes, [i for i, node in enumerate(tally.nodes) if wanted(node)])


def decode_parts(model, class_name, dtype):
    framed, chunk = VAES[class_name]
    samples, runs = {}, {}

    def add(part, sample, nodes):
        if nodes:
            samples.setdefault(part, []).append(sample)
            runs.setdefault(part, []).append(nodes)

    for frames in framed:
        for height, width in SPREAD:
            tally, calls = decode_run(model, class_name, frames, height, width, dtype)
            size = {"H": height, "W": width}
            add("before", dict(size, F=frames), kept(tally, lambda n: n["place"][0] == "begin"))
            done = 0
            for i in range(calls):
                taken = chunk + frames % chunk if chunk and not i else chunk or frames
                name = ("first", "second")[i] if i < 2 else "next"
                add(name, dict(size, F=taken), kept(tally, lambda n: n["place"] == ("chunk", i)))
                done += taken
                if class_name in GROWS and i:
                    add("grow", dict(size, D=4 * done - 3),
                        kept(tally, lambda n: n["place"] == ("behind", i) and n["op"] == "cat"))
            out_frames = 4 * done - 3 if done % 2 or chunk != 2 else 4 * done
            add("after", dict(size, D=1 if class_name == "AutoencoderKL" else out_frames),
                kept(tally, lambda n: n["place"] == ("behind", calls - 1)
                     and not (class_name in GROWS and n["op"] == "cat")))
    return {name: part_of(samples[name], runs[name], ("FFHHWW", "HHWW")) for name in samples}


def single_frame(model, class_name, dtype):
    """A decoder's call with one latent frame, which takes other branches."""
    if class_name != "AutoencoderKLHunyuanVideo":
        return {}
    sizes = [{"H": h, "W": w} for h, w in SPREAD]
    tallies = [decode_run(model, class_name, 1, s["H"], s["W"], dtype)[0] for s in sizes]
    return {"single": part_of(sizes, [kept(t, lambda n: n["place"][0] == "chunk") for t in tallies], ("HHWW",))}


def tile_parts(model, dtype, frames):
    """One line of a blend in each direction, and the join of tiles, over pixels of decoded tiles."""
    import torch
    from census import make_mode
    out = {}

    def count(name, letters, call, sizes):
        samples, runs = [], []
        for size in sizes:
            tally = new_tally()
            with torch.no_grad(), make_mode(tally):
                call(size)
            samples.append({c: size[c] for c in letters})
            runs.append(renumbered(tally.nodes, range(len(tally.nodes))))
        out[name] = part_of(samples, runs)

    def pixels(size):
        shape = (1, 3, size["D"], 8 * size["H"], 8 * size["W"])
        return torch.empty(shape if frames else shape[:2] + shape[3:], dtype=dtype, device="meta")

    sizes = [{"D": d if frames else 1, "H": h, "W": w} for d, (h, w) in zip((5, 9, 17, 5, 13, 9), SPREAD)]
    sizes += [dict(s, D=s["D"] + 4) for s in sizes if frames]
    if not hasattr(model, "blend_v"):
        return out
    count("blend_rows", "DW", lambda s: model.blend_v(pixels(s), pixels(s), 1), sizes)
    count("blend_columns", "DH", lambda s: model.blend_h(pixels(s), pixels(s), 1), sizes)
    if hasattr(model, "blend_t"):
        count("blend_frames", "HW", lambda s: model.blend_t(pixels(s), pixels(s), 1), sizes)
    # The halves of a picture, catted: a row of tiles, all rows, and the frames of a tile are each joined so.
    count("join", "DHW", lambda s: torch.cat([pixels(dict(s, H=s["H"] // 2)), pixels(dict(s, H=s["H"] - s["H"] // 2))],
                                             -2), sizes)
    return out


def vae_census(cls, config, dtype):
    model = build_vae(cls, config, dtype)
    schedule = decode_schedule(model, cls.__name__)
    parts = decode_parts(model, cls.__name__, dtype)
    parts.update(single_frame(model, cls.__name__, dtype))
    parts.update(tile_parts(model, dtype, cls.__name__ != "AutoencoderKL"))
    if json.dumps(parts.get("next")) == json.dumps(parts.get("second")):
        parts.pop("next", None)
    return {"decode": dict(schedule, parameters=sum(p.numel() for p in model.decoder.parameters())), "blocks": {},
            "parts": parts}
