#!/usr/bin/env python3
"""Makes the folders of VAEs of diffusers 0.42.1: of clips vae_ltx_video, vae_ltx_video_timestep, vae_ltx_video_causal, vae_mochi,
vae_hunyuan_video15, vae_hunyuan_video15_unmatched, of pictures vae_dc and vae_dc_interpolate; and of encoders the folders whose names
have _encoder.

    pip install torch==2.15.0 diffusers==0.42.1 safetensors==0.8.0
    engine/tests/golden/later_vae.py OUT [FOLDER...]

Weights are rounded to bf16 and stored so, the encoder's only where something is encoded; diffusers computes in float32. `temb` of the
inputs is the decode timestep. Noise that a decoder adds is that of torch.manual_seed(0) before the decode. encode_logvar is as it leaves
the encoder, before it is clamped.
"""
import json
import sys
from pathlib import Path

import diffusers
import torch
from diffusers import AutoencoderDC, AutoencoderKLCogVideoX, AutoencoderKLHunyuanVideo15, AutoencoderKLLTXVideo, AutoencoderKLMochi

from video_vae import distance, save, table

LTX = {"_class_name": "AutoencoderKLLTXVideo", "_diffusers_version": "0.42.1", "in_channels": 3, "out_channels": 3, "latent_channels": 6,
       "block_out_channels": [4, 4, 4], "down_block_types": ["LTXVideoDownBlock3D"] * 3, "downsample_type": ["conv"] * 3,
       "layers_per_block": [1, 1, 1, 1], "spatio_temporal_scaling": [True, True, False], "patch_size": 2, "patch_size_t": 1,
       "resnet_norm_eps": 1e-6, "scaling_factor": 1.0, "encoder_causal": True}
HUNYUAN15 = {"_class_name": "AutoencoderKLHunyuanVideo15", "_diffusers_version": "0.42.1", "in_channels": 3, "out_channels": 3,
             "downsample_match_channel": True, "scaling_factor": 1.03682}
DC = {"_class_name": "AutoencoderDC", "_diffusers_version": "0.42.1", "in_channels": 3, "encoder_block_types": "ResBlock",
      "decoder_norm_types": "rms_norm", "decoder_act_fns": "silu", "scaling_factor": 0.41407}
KINDS = {
    "vae_dc": (AutoencoderDC, {
        **DC, "latent_channels": 8, "attention_head_dim": 4, "encoder_block_out_channels": [8, 16, 16, 32],
        "encoder_layers_per_block": [1, 1, 1, 1], "encoder_qkv_multiscales": [[], [], [], []],
        "decoder_block_types": ["ResBlock", "ResBlock", "EfficientViTBlock", "EfficientViTBlock"],
        "decoder_block_out_channels": [8, 16, 16, 32], "decoder_layers_per_block": [2, 1, 1, 2],
        "decoder_qkv_multiscales": [[], [], [5], [3, 5]], "upsample_block_type": "pixel_shuffle"},
        [2, 8, 4, 5], None, "8 x 8 pixels a latent. Attention in the two coarse stages, at one and at two scales."),
    "vae_dc_interpolate": (AutoencoderDC, {
        **DC, "latent_channels": 4, "attention_head_dim": 8, "encoder_block_out_channels": [8, 8, 16],
        "encoder_layers_per_block": [1, 1, 1], "encoder_qkv_multiscales": [[], [], []],
        "decoder_block_types": ["ResBlock", "EfficientViTBlock", "EfficientViTBlock"],
        "decoder_block_out_channels": [8, 8, 16], "decoder_layers_per_block": [1, 1, 1],
        "decoder_qkv_multiscales": [[], [], [5]], "upsample_block_type": "interpolate", "decoder_in_shortcut": False},
        [1, 4, 4, 2], None, "4 x 4 pixels a latent. So few positions in the coarsest stage that the library attends by scores."),
    "vae_dc_encoder": (AutoencoderDC, {
        **DC, "latent_channels": 8, "attention_head_dim": 4, "encoder_block_types": ["ResBlock", "ResBlock", "EfficientViTBlock"],
        "encoder_block_out_channels": [8, 16, 32], "encoder_layers_per_block": [1, 2, 1], "encoder_qkv_multiscales": [[], [], [5]],
        "downsample_block_type": "pixel_unshuffle", "decoder_block_types": "ResBlock", "decoder_block_out_channels": [8, 8, 8],
        "decoder_layers_per_block": [1, 1, 1], "decoder_qkv_multiscales": [[], [], []], "upsample_block_type": "pixel_shuffle"},
        [1, 8, 4, 3], None, "The encoder: cells become channels, led around by their means; attention in the coarsest stage.", [2, 3, 16, 20]),
    "vae_dc_encoder_strides": (AutoencoderDC, {
        **DC, "latent_channels": 4, "attention_head_dim": 8, "encoder_block_types": ["ResBlock", "EfficientViTBlock"],
        "encoder_block_out_channels": [8, 16], "encoder_layers_per_block": [2, 1], "encoder_qkv_multiscales": [[], []],
        "downsample_block_type": "conv", "encoder_out_shortcut": False, "decoder_block_types": "ResBlock",
        "decoder_block_out_channels": [8, 8], "decoder_layers_per_block": [1, 1], "decoder_qkv_multiscales": [[], []],
        "upsample_block_type": "pixel_shuffle"},
        [1, 4, 3, 2], None, "The encoder with convolutions of stride 2, and nothing around its last one.", [1, 3, 12, 8]),
    "vae_cogvideox_encoder": (AutoencoderKLCogVideoX, {
        "_class_name": "AutoencoderKLCogVideoX", "_diffusers_version": "0.42.1", "in_channels": 3, "out_channels": 3, "latent_channels": 4,
        "block_out_channels": [4, 8, 8], "down_block_types": ["CogVideoXDownBlock3D"] * 3, "up_block_types": ["CogVideoXUpBlock3D"] * 3,
        "layers_per_block": 1, "norm_num_groups": 2, "norm_eps": 1e-6, "act_fn": "silu", "temporal_compression_ratio": 4,
        "scaling_factor": 0.7, "use_quant_conv": False, "use_post_quant_conv": False},
        [1, 4, 3, 4, 3], None, "The encoder: 17 frames are encoded as 9 + 8.", [1, 3, 17, 16, 12]),
    "vae_cogvideox_encoder_quant": (AutoencoderKLCogVideoX, {
        "_class_name": "AutoencoderKLCogVideoX", "_diffusers_version": "0.42.1", "in_channels": 3, "out_channels": 3, "latent_channels": 3,
        "block_out_channels": [4, 4], "down_block_types": ["CogVideoXDownBlock3D"] * 2, "up_block_types": ["CogVideoXUpBlock3D"] * 2,
        "layers_per_block": 1, "norm_num_groups": 2, "norm_eps": 1e-6, "act_fn": "silu", "temporal_compression_ratio": 2,
        "scaling_factor": 0.7, "use_quant_conv": True, "use_post_quant_conv": True},
        [1, 3, 2, 3, 3], None, "One picture, a layer behind the encoder, and time that shortens once.", [2, 3, 1, 6, 10]),
    "vae_ltx_video": (AutoencoderKLLTXVideo, {
        **LTX, "decoder_block_out_channels": [4, 8, 8], "decoder_layers_per_block": [1, 2, 1, 1], "decoder_causal": False,
        "decoder_spatio_temporal_scaling": [True, True, False], "decoder_inject_noise": [False] * 4, "upsample_residual": [False] * 3,
        "upsample_factor": [1] * 3, "timestep_conditioning": False},
        [2, 6, 3, 3, 4], None, "As 0.9.0: no timestep; blocks that change their width. 3 latent frames give 9."),
    "vae_ltx_video_timestep": (AutoencoderKLLTXVideo, {
        **LTX, "decoder_block_out_channels": [8, 16], "decoder_layers_per_block": [1, 2, 1], "decoder_causal": False,
        "decoder_spatio_temporal_scaling": [True, True], "decoder_inject_noise": [True, True, False], "upsample_residual": [True, True],
        "upsample_factor": [2, 2], "timestep_conditioning": True, "spatial_compression_ratio": 8, "temporal_compression_ratio": 4},
        [1, 6, 3, 3, 5], 0.05, "As 0.9.1: a timestep of 0.05, noise, selections around upsamplings that halve the channels."),
    "vae_ltx_video_causal": (AutoencoderKLLTXVideo, {
        **LTX, "decoder_block_out_channels": [8, 8], "decoder_layers_per_block": [1, 1, 1], "decoder_causal": True, "patch_size": 4,
        "decoder_spatio_temporal_scaling": [True, False], "decoder_inject_noise": [False] * 3, "upsample_residual": [True, False],
        "upsample_factor": [1, 1], "timestep_conditioning": False, "spatial_compression_ratio": 8, "temporal_compression_ratio": 2},
        [1, 6, 4, 3, 4], None, "Convolutions look back only; patches of 4 x 4 pixels; a selection that repeats channels."),
    "vae_ltx_video_encoder": (AutoencoderKLLTXVideo, {
        **LTX, "block_out_channels": [4, 8, 8], "layers_per_block": [1, 2, 1, 1], "decoder_block_out_channels": [4, 4, 4],
        "decoder_layers_per_block": [1, 1, 1, 1], "decoder_causal": False, "decoder_spatio_temporal_scaling": [True, True, False],
        "decoder_inject_noise": [False] * 4, "upsample_residual": [False] * 3, "upsample_factor": [1] * 3, "timestep_conditioning": False},
        [1, 6, 2, 4, 3], None, "The encoder as in 0.9.0: convolutions of stride 2, blocks that change their width.", [2, 3, 9, 16, 24]),
    "vae_ltx_video_encoder_folds": (AutoencoderKLLTXVideo, {
        **LTX, "block_out_channels": [4, 8, 16, 16], "layers_per_block": [1, 1, 2, 1], "down_block_types": ["LTXVideo095DownBlock3D"] * 4,
        "downsample_type": ["spatial", "temporal", "spatiotemporal", "conv"], "spatio_temporal_scaling": [True, True, True, True],
        "decoder_block_out_channels": [4, 4, 4], "decoder_layers_per_block": [1, 1, 1, 1], "decoder_causal": False,
        "decoder_spatio_temporal_scaling": [True, True, False], "decoder_inject_noise": [False] * 4, "upsample_residual": [False] * 3,
        "upsample_factor": [1] * 3, "timestep_conditioning": False, "spatial_compression_ratio": 8, "temporal_compression_ratio": 4},
        [1, 6, 2, 4, 3], None, "The encoder as from 0.9.5 on: cells become channels, led around by their means.", [1, 3, 9, 24, 16]),
    "vae_mochi": (AutoencoderKLMochi, {
        "_class_name": "AutoencoderKLMochi", "_diffusers_version": "0.42.1", "in_channels": 15, "out_channels": 3, "latent_channels": 4,
        "encoder_block_out_channels": [32, 32, 32], "decoder_block_out_channels": [32, 32, 64], "layers_per_block": [1, 1, 0, 0],
        "act_fn": "silu", "temporal_expansions": [2, 3], "spatial_expansions": [2, 2], "add_attention_block": [False] * 4,
        "latents_mean": [-0.1, 0.2, 0.0, 0.3], "latents_std": [0.9, 1.1, 0.8, 1.2], "scaling_factor": 1.0},
        [1, 4, 3, 4, 5], None, "3 latent frames give 18, of which the first 5 are dropped. Norms have 32 groups, whatever the width."),
    "vae_hunyuan_video15": (AutoencoderKLHunyuanVideo15, {
        **HUNYUAN15, "latent_channels": 4, "block_out_channels": [4, 4, 8, 8], "layers_per_block": 1, "spatial_compression_ratio": 8,
        "temporal_compression_ratio": 4, "upsample_match_channel": True},
        [1, 4, 4, 3, 4], None, "4 latent frames give 13. Upsamplings in time lead 8 channels to 8, and 8 to 4; one of rows and columns "
        "keeps 4."),
    "vae_hunyuan_video15_encoder": (AutoencoderKLHunyuanVideo15, {
        **HUNYUAN15, "latent_channels": 2, "block_out_channels": [4, 8, 8, 8], "layers_per_block": 1, "spatial_compression_ratio": 8,
        "temporal_compression_ratio": 4, "upsample_match_channel": True},
        [1, 2, 2, 4, 3], None, "The encoder: space halves once by itself, then twice with time; the last channels' means are of two.",
        [1, 3, 9, 16, 24]),
    "vae_hunyuan_video15_encoder_unmatched": (AutoencoderKLHunyuanVideo15, {
        **HUNYUAN15, "latent_channels": 2, "block_out_channels": [4, 8, 8, 8], "layers_per_block": 1, "spatial_compression_ratio": 4,
        "temporal_compression_ratio": 2, "upsample_match_channel": False, "downsample_match_channel": False},
        [1, 2, 1, 2, 3], None, "Changes of resolution keep their channels, and two stages have none; one picture.", [1, 3, 1, 8, 12]),
    "vae_hunyuan_video15_unmatched": (AutoencoderKLHunyuanVideo15, {
        **HUNYUAN15, "latent_channels": 4, "block_out_channels": [4, 4, 8, 16], "layers_per_block": 1, "spatial_compression_ratio": 4,
        "temporal_compression_ratio": 2, "upsample_match_channel": False, "downsample_match_channel": True},
        [1, 4, 3, 4, 3], None, "Upsamplings keep their channels, and a block has none; a latent frame is two frames."),
}


def randomise(model):
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            parameter.normal_(0, 0.1)
        elif parameter.dim() == 1:
            parameter.normal_(1, 0.1)
        elif "per_channel_scale" in name or "table" in name:
            parameter.normal_(0, 0.3)
        elif parameter.dim() > 1:
            parameter.normal_(0, parameter[0].numel() ** -0.5)


def decode(model, latents, temb):
    torch.manual_seed(0)
    more = {} if temb is None else {"temb": torch.tensor([temb], dtype=latents.dtype).expand(len(latents))}
    return model.decode(latents, **more, return_dict=False)[0]


def moments(model, picture):
    """What an encoder gives; AutoencoderDC knows no deviation."""
    if isinstance(model, AutoencoderDC):
        latent = model.encode(picture).latent
        return {"encode_mean": latent, "encode_logvar": torch.full_like(latent, -30.0)}
    mean, logvar = (model._encode(picture) if isinstance(model, AutoencoderKLCogVideoX) else model.encoder(picture)).split(
        model.config.latent_channels, dim=1)[:2]
    return {"encode_mean": mean, "encode_logvar": logvar}


def make(out, name):
    kind, config, shape, temb, text, *picture = KINDS[name]
    torch.manual_seed(1)
    arguments = {key: value for key, value in config.items() if not key.startswith("_")}
    model = kind(**arguments).eval()
    randomise(model.decoder)
    if kind is AutoencoderKLLTXVideo:
        model.latents_mean.normal_(0, 0.3)
        model.latents_std.uniform_(0.5, 2)
    if config.get("timestep_conditioning"):
        model.decoder.timestep_scale_multiplier.fill_(1000)
    model = model.to(torch.bfloat16).float()
    inputs = {"latents": torch.randn(shape)} | ({} if temb is None else {"temb": torch.tensor([temb])})
    output = {"output": decode(model, inputs["latents"], temb)}
    if picture:
        randomise(model.encoder)
        model = model.to(torch.bfloat16).float()
        inputs["encode_image"] = torch.rand(picture[0]) * 2 - 1
        output |= moments(model, inputs["encode_image"])
    noisy = any(config.get("decoder_inject_noise", []))
    far = "not comparable, as noise is drawn in its type" if noisy else \
        f'{distance(output["output"], decode(model.double(), inputs["latents"].double(), temb)):.2g}'
    folder = out / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    weights = {key: value.to(torch.bfloat16) for key, value in model.state_dict().items()
               if picture or not key.startswith("encoder.")}
    save(folder / "diffusion_pytorch_model.safetensors", weights)
    save(folder / "inputs.safetensors", inputs)
    save(folder / "output.safetensors", output)
    (folder / "README.md").write_text(
        f"# {name}\n\nClass `{config['_class_name']}` of diffusers {diffusers.__version__} (PyTorch {torch.__version__.split('+')[0]}), float32 on "
        f"CPU, random weights in bf16; made by `later_vae.py`.\n\n{text}\n\n`latents` is what `vae.decode` receives. float32 against "
        f"float64, relative L2: {far}.\n\n### inputs\n\n{table(inputs)}\n### outputs\n\n{table(output)}")


def main():
    torch.set_num_threads(1)
    with torch.no_grad():
        for name in sys.argv[2:] or KINDS:
            make(Path(sys.argv[1]), name)


if __name__ == "__main__":
    main()
