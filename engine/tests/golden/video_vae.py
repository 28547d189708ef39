#!/usr/bin/env python3
"""Makes the folders of the video VAEs, vae_wan and vae_hunyuan_video, and the clips of sampling loops by them: it decodes
latents_final of e2e_wan_unipc and e2e_hunyuan_video as their pipelines do, and adds image_raw and image_u8 there.

    pip install torch==2.6.0 diffusers==0.33.1 safetensors
    engine/tests/golden/video_vae.py engine/tests/golden

With a second argument, residual, it makes vae_wan_residual alone, the VAE of Wan 2.2, which needs diffusers==0.35.2.
"""
import json
import sys
from pathlib import Path

import diffusers
import torch
from diffusers import AutoencoderKLHunyuanVideo, AutoencoderKLWan
from safetensors.torch import load_file, save_file

WAN = {
    "_class_name": "AutoencoderKLWan",
    "_diffusers_version": "0.33.1",
    "base_dim": 4,
    "z_dim": 16,
    "dim_mult": [1, 2, 2, 4],
    "num_res_blocks": 1,
    "attn_scales": [],
    "temperal_downsample": [False, True, True],
    "dropout": 0.0,
}
WAN_RESIDUAL = {
    "_class_name": "AutoencoderKLWan",
    "_diffusers_version": "0.35.2",
    "base_dim": 4,
    "decoder_base_dim": 6,
    "z_dim": 8,
    "dim_mult": [1, 1, 2, 2],
    "num_res_blocks": 1,
    "attn_scales": [],
    "temperal_downsample": [False, True, True],
    "dropout": 0.0,
    "is_residual": True,
    "in_channels": 12,
    "out_channels": 12,
    "patch_size": 2,
    "latents_mean": [-0.8, -0.7, -0.9, 0.1, -0.2, 1.0, -0.2, 1.5],
    "latents_std": [2.8, 1.5, 2.3, 2.7, 1.2, 1.8, 2.6, 2.1],
    "scale_factor_temporal": 4,
    "scale_factor_spatial": 16,
}
HUNYUAN = {
    "_class_name": "AutoencoderKLHunyuanVideo",
    "_diffusers_version": "0.33.1",
    "in_channels": 3,
    "out_channels": 3,
    "latent_channels": 16,
    "down_block_types": ["HunyuanVideoDownBlock3D"] * 4,
    "up_block_types": ["HunyuanVideoUpBlock3D"] * 4,
    "block_out_channels": [8, 8, 16, 16],
    "layers_per_block": 1,
    "act_fn": "silu",
    "norm_num_groups": 4,
    "scaling_factor": 0.476986,
    "spatial_compression_ratio": 8,
    "temporal_compression_ratio": 4,
    "mid_block_add_attention": True,
}


def randomise(model):
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            parameter.normal_(0, 0.1)
        elif name.endswith("gamma") or parameter.dim() == 1:
            parameter.normal_(1, 0.1)
        else:
            parameter.normal_(0, parameter[0].numel() ** -0.5)


def distance(a, b):
    return ((a.double() - b.double()).norm() / b.double().norm()).item()


def table(tensors):
    lines = ["| tensor | dtype | shape | rms | max abs |", "|---|---|---|---|---|"]
    for name, value in tensors.items():
        kind = {torch.float32: "F32", torch.int64: "I64", torch.uint8: "U8"}[value.dtype]
        x = value.double()
        rms, most = x.pow(2).mean().sqrt().item(), x.abs().max().item()
        lines.append(f"| `{name}` | {kind} | {list(value.shape)} | {rms:.4g} | {most:.4g} |")
    return "\n".join(lines) + "\n"


def save(path, tensors):
    save_file({key: value.contiguous() for key, value in tensors.items()}, path)
    path.chmod(0o644)


def code(model, inputs):
    result = {"output": model.decode(inputs["latents"], return_dict=False)[0]}
    if "encode_image" in inputs:
        moments = model.encode(inputs["encode_image"]).latent_dist
        result |= {"encode_mean": moments.mean, "encode_logvar": moments.parameters.chunk(2, 1)[1]}
    return result


def make(out, name, kind, config, inputs, text):
    model = kind.from_config(config).float().eval()
    randomise(model)
    output = code(model, inputs)
    exact = code(model.double(), {key: value.double() for key, value in inputs.items()})
    model.float()
    folder = out / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    save(folder / "diffusion_pytorch_model.safetensors", model.state_dict())
    save(folder / "inputs.safetensors", inputs)
    save(folder / "output.safetensors", output)
    far = ", ".join(f"{key} {distance(output[key], exact[key]):.2g}" for key in output)
    (folder / "README.md").write_text(
        f"# {name}\n\nClass `{config['_class_name']}` of diffusers {diffusers.__version__} (PyTorch {torch.__version__.split('+')[0]}), float32 on "
        f"CPU, random weights; made by `video_vae.py`.\n\n{text}\n\n`latents` is what `vae.decode` receives. float32 against "
        f"float64, relative L2: {far}.\n\n### inputs\n\n{table(inputs)}\n### outputs\n\n{table(output)}")
    return model


def add_clip(folder, vae, decode):
    """Decodes a loop's final latents; everything else in the folder stays."""
    output = load_file(folder / "output.safetensors")
    raw = decode(output["latents_final"])
    levels = ((raw / 2 + 0.5).clamp(0, 1) * 255).round().to(torch.uint8)
    clip = {"image_raw": raw, "image_u8": levels.permute(0, 2, 3, 4, 1).contiguous()}
    save(folder / "output.safetensors", output | clip)
    run = json.loads((folder / "e2e.json").read_text())
    run = {key: value for key, value in run.items() if key not in ("vae", "output")}
    at = list(run).index("transformer") + 1
    run = dict(list(run.items())[:at] + [("vae", vae)] + list(run.items())[at:])
    (folder / "e2e.json").write_text(json.dumps(run, indent=1) + "\n")
    page = (folder / "README.md").read_text().split("\n| `image_raw`")[0].rstrip("\n")
    rows = "\n".join(table(clip).split("\n")[2:])
    (folder / "README.md").write_text(page + "\n" + rows)


def wan_clip(model):
    mean = torch.tensor(model.config.latents_mean).view(1, -1, 1, 1, 1)
    scale = 1.0 / torch.tensor(model.config.latents_std).view(1, -1, 1, 1, 1)
    return lambda latents: model.decode(latents / scale + mean, return_dict=False)[0]


def main():
    out = Path(sys.argv[1])
    torch.set_num_threads(1)
    torch.manual_seed(1)
    with torch.no_grad():
        if sys.argv[2:] == ["residual"]:
            make(out, "vae_wan_residual", AutoencoderKLWan, WAN_RESIDUAL,
                 {"latents": torch.randn(1, 8, 3, 2, 3), "encode_image": torch.rand(1, 3, 5, 32, 48) * 2 - 1},
                 "Wan 2.2's: shortcuts around stages, patches of two by two pixels. 3 latent frames give 9 frames, and 5 give 2.")
            return
        wan = make(out, "vae_wan", AutoencoderKLWan, WAN,
                   {"latents": torch.randn(1, 16, 4, 3, 5), "encode_image": torch.rand(1, 3, 13, 16, 24) * 2 - 1},
                   "4 latent frames, one at a time with the cache carried over, give 13 frames, and 13 frames give 4.")
        hunyuan = make(out, "vae_hunyuan_video", AutoencoderKLHunyuanVideo, HUNYUAN,
                       {"latents": torch.randn(1, 16, 6, 3, 4), "encode_image": torch.rand(1, 3, 21, 16, 24) * 2 - 1},
                       "6 latent frames are decoded as tiles of 5 and 3, which overlap by two, and give 21 frames; 21 frames are "
                       "encoded as tiles of 17 and 9, and give 6.")
        add_clip(out / "e2e_wan_unipc", "vae_wan", wan_clip(wan))
        add_clip(out / "e2e_hunyuan_video", "vae_hunyuan_video",
                 lambda latents: hunyuan.decode(latents / hunyuan.config.scaling_factor, return_dict=False)[0])


if __name__ == "__main__":
    main()
