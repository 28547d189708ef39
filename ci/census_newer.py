"""The newest classes of ci/census.py: what a forward of each takes on the meta device, and what stands in for the operators that
the meta device has not.

Masks have values, which a meta tensor has not. Here every token of a text is valid, so that what a mask selects has a size, which the
host would wait for. What is selected is concatenated with what is not, so other masks move as many elements.
"""
import contextlib

from census import Size, meta, sizes_of


def flux2(config, z):
    import torch
    ids = dict(img_ids=meta(z.B, z.S, 4, dtype=torch.int64), txt_ids=meta(z.B, z.T, 4, dtype=torch.int64))
    if config.get("guidance_embeds"):
        ids["guidance"] = meta(z.B, dtype=torch.float32)
    return {}, dict(hidden_states=meta(z.B, z.S, config["in_channels"]), timestep=meta(z.B),
                    encoder_hidden_states=meta(z.B, z.T, config["joint_attention_dim"]), **ids)


def qwen_image(config, z):
    # Its pipeline gives no mask where the prompts of a call are as long as each other.
    return {}, dict(hidden_states=meta(z.B, z.S, config["in_channels"]), timestep=meta(z.B),
                    encoder_hidden_states=meta(z.B, z.T, config["joint_attention_dim"]),
                    img_shapes=[[(1, z.h, z.h)]] * z.B)


def ltx(config, z):
    import torch
    return {}, dict(hidden_states=meta(z.B, z.S, config["in_channels"]), timestep=meta(z.B, dtype=torch.int64),
                    encoder_hidden_states=meta(z.B, z.T, config["caption_channels"]),
                    encoder_attention_mask=meta(z.B, z.T, dtype=torch.int64), num_frames=z.F, height=z.h, width=z.w,
                    rope_interpolation_scale=(8 / 25, 32, 32))


def mochi(config, z):
    import torch
    return {}, dict(hidden_states=meta(z.B, config["in_channels"], z.F, 2 * z.h, 2 * z.w),
                    encoder_hidden_states=meta(z.B, z.T, config["text_embed_dim"]), timestep=meta(z.B, dtype=torch.int64),
                    encoder_attention_mask=meta(z.B, z.T, dtype=torch.bool))


GLYPHS, PICTURE = 256, 729  # of HunyuanVideo 1.5: constants of the pipelines and of the class


def hunyuan_video15(config, z):
    import torch
    prompt = z.T - GLYPHS - PICTURE  # T is the rows of all texts
    return {}, dict(hidden_states=meta(z.B, config["in_channels"], z.F, z.h, z.w), timestep=meta(z.B),
                    encoder_hidden_states=meta(z.B, prompt, config["text_embed_dim"]),
                    encoder_attention_mask=meta(z.B, prompt, dtype=torch.bool),
                    encoder_hidden_states_2=meta(z.B, GLYPHS, config["text_embed_2_dim"]),
                    encoder_attention_mask_2=meta(z.B, GLYPHS, dtype=torch.bool),
                    image_embeds=meta(z.B, PICTURE, config["image_embed_dim"]))


def lumina2(config, z):
    import torch
    return {}, dict(hidden_states=meta(z.B, config["in_channels"], 2 * z.h, 2 * z.w), timestep=meta(z.B),
                    encoder_hidden_states=meta(z.B, z.T, config["cap_feat_dim"]),
                    encoder_attention_mask=meta(z.B, z.T, dtype=torch.bool))


def tables_on_host(model):
    """Lumina-Image 2.0 keeps tables of positions on the host and moves them in every forward."""
    rope = model.rope_embedder
    rope.freqs_cis = rope._precompute_freqs_cis(rope.axes_dim, rope.axes_lens, rope.theta)


def z_image(config, z):
    return {}, dict(x=[meta(config["in_channels"], 1, 2 * z.h, 2 * z.w)] * z.B, t=meta(z.B),
                    cap_feats=[meta(z.T, config["cap_feat_dim"])] * z.B)


# As in census.py: class: its inputs; keys of the config that count blocks; lists of blocks per key; sizes that vary.
REFINERS = ["noise_refiner", "context_refiner"]
CLASSES = {
    "Flux2Transformer2DModel": (flux2, {"num_layers": ["transformer_blocks"],
                                        "num_single_layers": ["single_transformer_blocks"]}, "T"),
    "QwenImageTransformer2DModel": (qwen_image, {"num_layers": ["transformer_blocks"]}, "T"),
    "LTXVideoTransformer3DModel": (ltx, {"num_layers": ["transformer_blocks"]}, "TFE"),
    "MochiTransformer3DModel": (mochi, {"num_layers": ["transformer_blocks"]}, "TFE"),
    "HunyuanVideo15Transformer3DModel": (hunyuan_video15, {"num_layers": ["transformer_blocks"]}, "TFE"),
    "Lumina2Transformer2DModel": (lumina2, {"num_refiner_layers": REFINERS, "num_layers": ["layers"]}, "TE"),
    "ZImageTransformer2DModel": (z_image, {"n_refiner_layers": REFINERS, "n_layers": ["layers"]}, "TE"),
}
PREPARE = {"Lumina2Transformer2DModel": tables_on_host}
# They go through the texts of a batch one by one.
ROW_BY_ROW = {"MochiTransformer3DModel", "HunyuanVideo15Transformer3DModel", "Lumina2Transformer2DModel", "ZImageTransformer2DModel"}


def filled_sizes(_letters):
    """Sizes whose tokens are multiples of 32, as Z-Image fills them up, of one picture and of several."""
    square = [(8, 32), (16, 64), (24, 32), (32, 96), (40, 160), (48, 64)]
    return ([Size(1, h, h, 1, T) for h, T in square],
            [Size(B, h, h, 1, T) for B, (h, T) in zip([2, 3, 2, 4, 3, 2], square)])


def sizes_beside(letters):
    """Sizes whose texts have rows of glyphs and of a picture besides."""
    return [[Size(z.B, z.h, z.w, z.F, z.T + GLYPHS + PICTURE) for z in some] for some in sizes_of(letters)]


# Numbers of rows less those.
SIGNED = {"HunyuanVideo15Transformer3DModel"}
SIZES = {"HunyuanVideo15Transformer3DModel": sizes_beside, "ZImageTransformer2DModel": filled_sizes}


def stand_ins(tally):
    """While it is entered, boolean indices, nonzero and sums of masks of meta tensors have sizes, and there is autocast for them."""
    import torch
    from torch.overrides import TorchFunctionMode
    none = {}  # masks that select nothing, by id; they are kept, so that no other tensor gets it

    def fresh(*shape, dtype):
        with torch.utils._python_dispatch._disable_current_modes():
            return torch.empty(*shape, dtype=dtype, device="meta")

    def places(mask):
        """The indices that a mask selects, and the host's wait for how many they are."""
        out = fresh(0 if id(mask) in none else mask.numel(), mask.dim(), dtype=torch.int64)
        tally.add("kernel", "nonzero", [mask], [out], launches=1)
        tally.add("wait", "nonzero", [], [], bytes=8)
        return out

    def select(x, mask):
        rows = places(mask)
        out = fresh(rows.shape[0], *x.shape[mask.dim():], dtype=x.dtype)
        tally.add("kernel", "index", [out, rows], [out], gathers=True, launches=1)
        return out

    class Mode(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            if func is torch.nonzero and args[0].is_meta:
                return places(args[0])
            if func is torch.Tensor.__getitem__ and args[0].is_meta and isinstance(args[1], torch.Tensor) and (
                    args[1].dtype == torch.bool):
                return select(*args)
            if func is torch.Tensor.tolist and args[0].is_meta:  # sums of masks
                tally.add("wait", "item", [], [], bytes=args[0].numel() * args[0].element_size())
                return [tally.text] * args[0].numel()
            out = func(*args, **(kwargs or {}))
            if func is torch.Tensor.__invert__ and args[0].is_meta and out.dtype == torch.bool:
                none[id(out)] = out
            return out

    @contextlib.contextmanager
    def entered():
        autocast = torch.autocast

        def on_device(kind, *more, **named):  # what it covers is in float32 already
            return contextlib.nullcontext() if kind == "meta" else autocast(kind, *more, **named)

        torch.autocast = on_device
        try:
            with Mode():
                yield
        finally:
            torch.autocast = autocast

    return entered()
