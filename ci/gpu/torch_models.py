"""Implements FLUX.1, SD3 and PixArt in plain PyTorch, to measure them beside ditbench where diffusers is not installed.

Architectures, configuration keys and parameter names are those of diffusers, so that a state dict of either loads; q, k
and v are one product, as diffusers' fuse_qkv_projections makes them, and positions are tables made once. Checked against
recorded tensors by `python3 ci/gpu/torch_models.py FOLDER` (a golden folder: config.json, weights, inputs, output).
"""

import json
import math
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F


def sinusoid(t, dim=256):
    """[B] -> [B, dim], cosines first."""
    half = dim // 2
    frequencies = torch.exp(-math.log(10000) * torch.arange(half, device=t.device, dtype=torch.float32) / half)
    angles = t.float()[:, None] * frequencies
    return torch.cat([angles.cos(), angles.sin()], dim=-1)


def attend(q, k, v, mask=None):
    """q, k, v [B, S, H, D] -> [B, S, H D]."""
    out = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), attn_mask=mask)
    return out.transpose(1, 2).flatten(2)


def rotate(x, cos, sin):
    """Interleaved pairs; cos, sin [S, 1, D / 2]."""
    pairs = x.float().unflatten(-1, (-1, 2))
    a, b = pairs.unbind(-1)
    return torch.stack([a * cos - b * sin, b * cos + a * sin], dim=-1).flatten(-2).type_as(x)


def rms(x, weight, eps=1e-6):
    scale = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + eps)
    return (x.float() * scale).type_as(x) * weight


def norm(x, shift, scale):
    """LayerNorm without parameters, modulated per batch entry."""
    return F.layer_norm(x, x.shape[-1:], eps=1e-6) * (1 + scale[:, None]) + shift[:, None]


class Mlp(nn.Module):
    """Two layers around an activation; names of TimestepEmbedding and PixArtAlphaTextProjection."""

    def __init__(self, inside, hidden, outside, activation):
        super().__init__()
        self.linear_1, self.linear_2 = nn.Linear(inside, hidden), nn.Linear(hidden, outside)
        self.activation = activation

    def forward(self, x):
        return self.linear_2(self.activation(self.linear_1(x)))


class GeluProjection(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.proj = nn.Linear(width, inner)

    def forward(self, x):
        return F.gelu(self.proj(x), approximate="tanh")


class FeedForward(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.net = nn.ModuleList([GeluProjection(width, inner), nn.Identity(), nn.Linear(inner, width)])

    def forward(self, x):
        return self.net[2](self.net[0](x))


class Weight(nn.Module):
    """A norm's weight alone."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))


class Modulation(nn.Module):
    def __init__(self, width, chunks):
        super().__init__()
        self.linear = nn.Linear(width, chunks * width)
        self.chunks = chunks

    def forward(self, activated):
        return self.linear(activated).chunk(self.chunks, dim=-1)


class Qkv(nn.Module):
    """to_q, to_k, to_v of one stream (or add_*_proj of the text's), with norms of q and k where the model has them."""

    def __init__(self, width, heads, dim, normed, stream=""):
        super().__init__()
        self.heads, self.stream = heads, stream
        names = ("add_q_proj", "add_k_proj", "add_v_proj") if stream else ("to_q", "to_k", "to_v")
        self.names = names
        for name in names:
            setattr(self, name, nn.Linear(width, heads * dim))
        self.normed = ("norm_added_q", "norm_added_k") if stream else ("norm_q", "norm_k")
        if not normed:
            self.normed = ()
        for name in self.normed:
            setattr(self, name, Weight(dim))
        self.fused = None

    def fuse(self):
        layers = [getattr(self, name) for name in self.names]
        fused = nn.Linear(layers[0].in_features, sum(layer.out_features for layer in layers)).to(layers[0].weight)
        with torch.no_grad():
            fused.weight.copy_(torch.cat([layer.weight for layer in layers]))
            fused.bias.copy_(torch.cat([layer.bias for layer in layers]))
        self.fused = fused
        for name in self.names:
            delattr(self, name)

    def forward(self, x):
        if self.fused is not None:
            q, k, v = self.fused(x).chunk(3, dim=-1)
        else:
            q, k, v = (getattr(self, name)(x) for name in self.names)
        q, k, v = (y.unflatten(-1, (self.heads, -1)) for y in (q, k, v))
        if self.normed:
            q, k = rms(q, getattr(self, self.normed[0]).weight), rms(k, getattr(self, self.normed[1]).weight)
        return q, k, v


class JointAttention(nn.Module):
    """Attention of an image and a text stream together: parameters of both under one name, as in diffusers."""

    def __init__(self, width, heads, dim, normed, text_out=True):
        super().__init__()
        self.image, self.text = Qkv(width, heads, dim, normed), Qkv(width, heads, dim, normed, "added")
        self.to_out = nn.ModuleList([nn.Linear(heads * dim, width)])
        self.to_add_out = nn.Linear(heads * dim, width) if text_out else None


class Combined(nn.Module):
    """Timestep, pooled text and, of distilled models, guidance."""

    def __init__(self, pooled, width, guided):
        super().__init__()
        self.timestep_embedder = Mlp(256, width, width, F.silu)
        self.text_embedder = Mlp(pooled, width, width, F.silu)
        self.guidance_embedder = Mlp(256, width, width, F.silu) if guided else None

    def forward(self, timestep, pooled, guidance=None):
        dtype = pooled.dtype
        embedded = self.timestep_embedder(sinusoid(timestep).to(dtype))
        if self.guidance_embedder is not None:
            embedded = embedded + self.guidance_embedder(sinusoid(guidance).to(dtype))
        return embedded + self.text_embedder(pooled)


class DoubleBlock(nn.Module):
    """FLUX's first blocks and SD3's: two streams that attend together. SD3.5's second attention is not built."""

    def __init__(self, width, heads, dim, normed, last=False):
        super().__init__()
        self.norm1, self.norm1_context = Modulation(width, 6), Modulation(width, 2 if last else 6)
        self.attn = JointAttention(width, heads, dim, normed, not last)
        self.ff = FeedForward(width, 4 * width)
        self.ff_context = None if last else FeedForward(width, 4 * width)

    def forward(self, x, text, activated, cos, sin):
        shift, scale, gate, shift_mlp, scale_mlp, gate_mlp = self.norm1(activated)
        if self.ff_context is None:
            text_scale, text_shift = self.norm1_context(activated)
        else:
            text_shift, text_scale, *text_rest = self.norm1_context(activated)
        image = self.attn.image(norm(x, shift, scale))
        words = self.attn.text(norm(text, text_shift, text_scale))
        q, k, v = (torch.cat(pair, dim=1) for pair in zip(words, image))
        if cos is not None:
            q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        out = attend(q, k, v)
        length = text.shape[1]
        x = x + gate[:, None] * self.attn.to_out[0](out[:, length:])
        x = x + gate_mlp[:, None] * self.ff(norm(x, shift_mlp, scale_mlp))
        if self.ff_context is None:
            return x, text
        text_gate, text_shift_mlp, text_scale_mlp, text_gate_mlp = text_rest
        text = text + text_gate[:, None] * self.attn.to_add_out(out[:, :length])
        text = text + text_gate_mlp[:, None] * self.ff_context(norm(text, text_shift_mlp, text_scale_mlp))
        return x, text


class SingleBlock(nn.Module):
    """FLUX's other blocks: one stream, attention beside the MLP."""

    def __init__(self, width, heads, dim):
        super().__init__()
        self.norm = Modulation(width, 3)
        self.proj_mlp, self.proj_out = nn.Linear(width, 4 * width), nn.Linear(5 * width, width)
        self.attn = Qkv(width, heads, dim, True)

    def forward(self, x, activated, cos, sin):
        shift, scale, gate = self.norm(activated)
        normed = norm(x, shift, scale)
        q, k, v = self.attn(normed)
        out = attend(rotate(q, cos, sin), rotate(k, cos, sin), v)
        mlp = F.gelu(self.proj_mlp(normed), approximate="tanh")
        return x + gate[:, None] * self.proj_out(torch.cat([out, mlp], dim=-1))


class Head(nn.Module):
    """Of AdaLayerNormContinuous: scale first, then shift."""

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, 2 * width)

    def forward(self, x, activated):
        scale, shift = self.linear(activated).chunk(2, dim=-1)
        return norm(x, shift, scale)


class Flux(nn.Module):
    blocks = ("transformer_blocks", "single_transformer_blocks")

    def __init__(self, config):
        super().__init__()
        heads, dim = config["num_attention_heads"], config["attention_head_dim"]
        width = heads * dim
        self.axes = config.get("axes_dims_rope", (16, 56, 56))
        self.x_embedder = nn.Linear(config["in_channels"], width)
        self.context_embedder = nn.Linear(config["joint_attention_dim"], width)
        self.time_text_embed = Combined(config["pooled_projection_dim"], width, config.get("guidance_embeds", False))
        self.transformer_blocks = nn.ModuleList(
            DoubleBlock(width, heads, dim, True) for _ in range(config["num_layers"]))
        self.single_transformer_blocks = nn.ModuleList(
            SingleBlock(width, heads, dim) for _ in range(config["num_single_layers"]))
        self.norm_out = Head(width)
        self.proj_out = nn.Linear(width, config.get("out_channels") or config["in_channels"])

    def tables(self, text_ids, image_ids):
        ids = torch.cat([text_ids, image_ids]).double()
        angles = torch.cat([
            ids[:, axis, None] * 10000.0 ** -(torch.arange(0, dim, 2, device=ids.device).double() / dim)
            for axis, dim in enumerate(self.axes)
        ], dim=-1)
        return angles.cos().float()[:, None], angles.sin().float()[:, None]

    def forward(self, x, text, pooled, timestep, guidance, cos, sin):
        """x [B, S, in], text [B, T, text], timestep and guidance [B] in [0, 1] and as they are."""
        guidance = guidance * 1000 if guidance is not None else None
        activated = F.silu(self.time_text_embed(timestep * 1000, pooled, guidance))
        x, text = self.x_embedder(x), self.context_embedder(text)
        for block in self.transformer_blocks:
            x, text = block(x, text, activated, cos, sin)
        length = text.shape[1]
        x = torch.cat([text, x], dim=1)
        for block in self.single_transformer_blocks:
            x = block(x, activated, cos, sin)
        return self.proj_out(self.norm_out(x[:, length:], activated))


class Patches(nn.Module):
    def __init__(self, channels, width, patch):
        super().__init__()
        self.proj = nn.Conv2d(channels, width, patch, patch)

    def forward(self, x):
        return self.proj(x).flatten(2).transpose(1, 2)


def sincos(height, width, dim, base, scale):
    """[height * width, dim]: columns in the first half, rows in the second, each [sin | cos]."""
    rows = torch.arange(height).float() / (height / base) / scale
    columns = torch.arange(width).float() / (width / base) / scale
    omega = 10000.0 ** -(torch.arange(dim // 4).double() / (dim / 4))

    def one(positions):
        angles = positions.double()[:, None] * omega
        return torch.cat([angles.sin(), angles.cos()], dim=-1)

    x, y = one(columns)[None].expand(height, -1, -1), one(rows)[:, None].expand(-1, width, -1)
    return torch.cat([x, y], dim=-1).flatten(0, 1).float()


def unpatch(x, height, width, patch):
    """[B, height width, patch patch C] -> [B, C, height patch, width patch]."""
    x = x.unflatten(1, (height, width)).unflatten(-1, (patch, patch, -1))
    return x.permute(0, 5, 1, 3, 2, 4).flatten(4, 5).flatten(2, 3)


class Sd3(nn.Module):
    blocks = ("transformer_blocks",)

    def __init__(self, config):
        super().__init__()
        heads, dim = config["num_attention_heads"], config["attention_head_dim"]
        width, layers = heads * dim, config["num_layers"]
        if config.get("dual_attention_layers"):
            raise NotImplementedError("second attention of SD3.5")
        self.config, self.patch = config, config["patch_size"]
        self.pos_embed = Patches(config["in_channels"], width, self.patch)
        self.time_text_embed = Combined(config["pooled_projection_dim"], width, False)
        self.context_embedder = nn.Linear(config["joint_attention_dim"], width)
        normed = config.get("qk_norm") is not None
        self.transformer_blocks = nn.ModuleList(
            DoubleBlock(width, heads, dim, normed, last=i == layers - 1) for i in range(layers))
        self.norm_out = Head(width)
        self.proj_out = nn.Linear(width, self.patch**2 * config.get("out_channels", config["in_channels"]))

    def positions(self, height, width):
        """Of a latent; the middle of the table of pos_embed_max_size."""
        most, base = self.config["pos_embed_max_size"], self.config["sample_size"] // self.patch
        rows, columns = height // self.patch, width // self.patch
        table = sincos(most, most, self.proj_out.in_features, base, 1.0).unflatten(0, (most, most))
        top, left = (most - rows) // 2, (most - columns) // 2
        return table[top:top + rows, left:left + columns].flatten(0, 1)

    def forward(self, x, text, pooled, timestep, positions):
        """x [B, C, h, w], timestep [B] in [0, 1000]."""
        rows, columns = x.shape[2] // self.patch, x.shape[3] // self.patch
        activated = F.silu(self.time_text_embed(timestep, pooled))
        x, text = self.pos_embed(x) + positions, self.context_embedder(text)
        for block in self.transformer_blocks:
            x, text = block(x, text, activated, None, None)
        return unpatch(self.proj_out(self.norm_out(x, activated)), rows, columns, self.patch)


class CrossQkv(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.to_q, self.to_k, self.to_v = (nn.Linear(width, width) for _ in range(3))
        self.to_out = nn.ModuleList([nn.Linear(width, width)])

    def forward(self, x, text, mask):
        q, k, v = (y.unflatten(-1, (self.heads, -1)) for y in (self.to_q(x), self.to_k(text), self.to_v(text)))
        return self.to_out[0](attend(q, k, v, mask))


class SelfAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.qkv = Qkv(width, heads, width // heads, False)
        self.to_out = nn.ModuleList([nn.Linear(width, width)])

    def forward(self, x):
        return self.to_out[0](attend(*self.qkv(x)))


class PixArtBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.scale_shift_table = nn.Parameter(torch.zeros(6, width))
        self.attn1, self.attn2 = SelfAttention(width, heads), CrossQkv(width, heads)
        self.ff = FeedForward(width, 4 * width)

    def forward(self, x, text, modulated, mask):
        shift, scale, gate, shift_mlp, scale_mlp, gate_mlp = (self.scale_shift_table + modulated).unbind(1)
        x = x + gate[:, None] * self.attn1(norm(x, shift, scale))
        x = x + self.attn2(x, text, mask)
        return x + gate_mlp[:, None] * self.ff(norm(x, shift_mlp, scale_mlp))


class Emb(nn.Module):
    """Timestep and, where the config asks for it, resolution and aspect ratio."""

    def __init__(self, width, sized):
        super().__init__()
        self.timestep_embedder = Mlp(256, width, width, F.silu)
        self.resolution_embedder = Mlp(256, width // 3, width // 3, F.silu) if sized else None
        self.aspect_ratio_embedder = Mlp(256, width // 3, width // 3, F.silu) if sized else None

    def forward(self, timestep, resolution, aspect_ratio, dtype):
        embedded = self.timestep_embedder(sinusoid(timestep).to(dtype))
        if self.resolution_embedder is None:
            return embedded
        sizes = self.resolution_embedder(sinusoid(resolution.flatten()).to(dtype)).unflatten(0, (-1, 2)).flatten(1)
        ratio = self.aspect_ratio_embedder(sinusoid(aspect_ratio.flatten()).to(dtype))
        return embedded + torch.cat([sizes, ratio], dim=-1)


class AdaLnSingle(nn.Module):
    def __init__(self, width, sized):
        super().__init__()
        self.emb, self.linear = Emb(width, sized), nn.Linear(width, 6 * width)


class PixArt(nn.Module):
    blocks = ("transformer_blocks",)

    def __init__(self, config):
        super().__init__()
        heads, dim = config["num_attention_heads"], config["attention_head_dim"]
        width = heads * dim
        self.config, self.patch, self.width = config, config["patch_size"], width
        sized = config.get("use_additional_conditions")
        self.sized = config["sample_size"] == 128 if sized is None else sized
        self.pos_embed = Patches(config["in_channels"], width, self.patch)
        self.adaln_single = AdaLnSingle(width, self.sized)
        self.caption_projection = Mlp(config["caption_channels"], width, width,
                                      lambda x: F.gelu(x, approximate="tanh"))
        self.transformer_blocks = nn.ModuleList(PixArtBlock(width, heads) for _ in range(config["num_layers"]))
        self.scale_shift_table = nn.Parameter(torch.zeros(2, width))
        self.proj_out = nn.Linear(width, self.patch**2 * config["out_channels"])

    def positions(self, height, width):
        scale = self.config.get("interpolation_scale") or max(self.config["sample_size"] // 64, 1)
        return sincos(height // self.patch, width // self.patch, self.width, self.config["sample_size"] // self.patch,
                      scale)

    def forward(self, x, text, mask, timestep, resolution, aspect_ratio, positions):
        """x [B, C, h, w], mask [B, T] of ones and zeros or None, timestep [B] in [0, 1000]."""
        rows, columns = x.shape[2] // self.patch, x.shape[3] // self.patch
        embedded = self.adaln_single.emb(timestep, resolution, aspect_ratio, x.dtype)
        modulated = self.adaln_single.linear(F.silu(embedded)).unflatten(-1, (6, -1))
        bias = None if mask is None else ((1 - mask) * -10000.0).to(x.dtype)[:, None, None]
        x, text = self.pos_embed(x) + positions.to(x.dtype), self.caption_projection(text)
        for block in self.transformer_blocks:
            x = block(x, text, modulated, bias)
        shift, scale = (self.scale_shift_table + embedded[:, None]).unbind(1)
        return unpatch(self.proj_out(norm(x, shift, scale)), rows, columns, self.patch)


CLASSES = {"FluxTransformer2DModel": Flux, "SD3Transformer2DModel": Sd3, "PixArtTransformer2DModel": PixArt}


def own_name(name):
    """A parameter of diffusers under the name that it has here."""
    name = name.replace("pos_embed.pos_embed", "pos_embed.table")
    for text in ("add_q_proj", "add_k_proj", "add_v_proj", "norm_added_q", "norm_added_k"):
        name = name.replace(".attn." + text, ".attn.text." + text)
    if name.startswith("transformer_blocks.") and ".attn." in name and ".attn.text." not in name:
        for image in ("to_q", "to_k", "to_v", "norm_q", "norm_k"):
            name = name.replace(".attn." + image, ".attn.image." + image)
    for own in ("to_q", "to_k", "to_v"):
        name = name.replace(".attn1." + own, ".attn1.qkv." + own)
    return name


def load(model, state):
    """Loads a state dict of diffusers. Raises KeyError where a parameter is missing."""
    named = {own_name(name): value for name, value in state.items()}
    missing = [name for name in model.state_dict() if name not in named]
    if missing:
        raise KeyError(f"the state dict has no {missing[0]}")
    model.load_state_dict({name: named[name] for name in model.state_dict()})


def fuse(model):
    for module in list(model.modules()):
        if isinstance(module, Qkv):
            module.fuse()


def check(folder):
    """Relative L2 of the output to the recorded one, fp32."""
    from safetensors.torch import load_file

    config = json.load(open(f"{folder}/config.json"))
    inputs, expected = load_file(f"{folder}/inputs.safetensors"), load_file(f"{folder}/output.safetensors")
    model = CLASSES[config["_class_name"]](config).eval()
    load(model, load_file(f"{folder}/diffusion_pytorch_model.safetensors"))
    fuse(model)
    with torch.no_grad():
        out = run(model, inputs)
    return ((out - expected["output"]).norm() / expected["output"].norm()).item()


def run(model, inputs):
    """A forward on inputs by diffusers' names."""
    x, text, timestep = inputs["hidden_states"], inputs["encoder_hidden_states"], inputs["timestep"]
    if isinstance(model, Flux):
        cos, sin = model.tables(inputs["txt_ids"], inputs["img_ids"])
        return model(x, text, inputs["pooled_projections"], timestep, inputs.get("guidance"), cos, sin)
    positions = model.positions(x.shape[2], x.shape[3])
    if isinstance(model, Sd3):
        return model(x, text, inputs["pooled_projections"], timestep, positions)
    sizes = [inputs.get("added_cond_kwargs." + key, inputs.get(key)) for key in ("resolution", "aspect_ratio")]
    return model(x, text, inputs.get("encoder_attention_mask"), timestep, *sizes, positions)


if __name__ == "__main__":
    worst = 0.0
    for path in sys.argv[1:]:
        distance = check(path)
        worst = max(worst, distance)
        print(f"{path}: relative L2 {distance:.3g}")
    sys.exit(worst > 1e-5)
