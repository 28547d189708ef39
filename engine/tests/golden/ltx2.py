#!/usr/bin/env python3
"""Exports a golden folder of LTX-2's transformer from diffusers, its video alone: config, random weights, inputs, one forward.

    pip install torch==2.15.0 diffusers==0.42.1 safetensors==0.8.0
    engine/tests/golden/ltx2.py OUT --loop 4                                     # as ltx2 and e2e_ltx2 were made
    engine/tests/golden/ltx2.py OUT --rope interleaved --wide --plain --unmasked --frames 1 --columns 5 --layers 1   # as ltx2_wide
    build/bin/ditbench golden OUT

The forward is told isolate_modalities, so that nothing of the sound reaches the video; the script runs it beside two sounds and
stops where the videos differ. Frames, rows and columns are cells of the latent. Without --unmasked every text has tokens that the
mask hides, in its middle and at its end. num_frames, height and width of the call are img_shapes here.
"""
import argparse
import types
from pathlib import Path

import torch
from diffusers import FlowMatchEulerDiscreteScheduler, LTX2Pipeline, LTX2VideoTransformer3DModel
from loop import export_in_two_bytes, guided_texts, keeper, record, text_mask, write_loop

TIME, SPACE = 8, 32  # of the VAE
SOUNDS = 3           # tokens


def make_inputs(args):
    width = args.heads * args.head if args.wide else args.text_dim
    return {
        "hidden_states": torch.randn(args.batch, args.frames * args.rows * args.columns, args.channels),
        "encoder_hidden_states": torch.randn(args.batch, args.text, width),
        "encoder_attention_mask": text_mask(args),
        "timestep": torch.rand(args.batch) * 1000,
        "img_shapes": torch.tensor([[args.frames, args.rows, args.columns]] * args.batch),
        "fps": torch.tensor([float(args.frame_rate)]),
    }


def run(model, args, inputs):
    """The video beside a sound that is drawn anew."""
    frames, height, width = inputs["img_shapes"][0].tolist()
    config, batch = model.config, args.batch
    told = config["audio_cross_attention_dim"] if args.wide else args.text_dim
    return model(**{name: inputs[name] for name in ("hidden_states", "encoder_hidden_states", "encoder_attention_mask", "timestep")},
                 audio_hidden_states=torch.randn(batch, SOUNDS, config["audio_in_channels"]),
                 audio_encoder_hidden_states=torch.randn(batch, args.text, told), num_frames=frames, height=height, width=width,
                 fps=float(args.frame_rate), audio_num_frames=SOUNDS, isolate_modalities=True, return_dict=False)[0]


def forward(model, args, inputs):
    output = {}
    keep = keeper(output)
    for i, block in enumerate(model.transformer_blocks):
        block.register_forward_hook(keep(f"block_{i}"))
    model.transformer_blocks[0].attn1.register_forward_hook(keep("aux.block_0.attn1"))
    model.transformer_blocks[0].attn2.register_forward_hook(keep("aux.block_0.attn2"))
    for name in ("proj_in",) if args.wide else ("proj_in", "caption_projection"):
        getattr(model, name).register_forward_hook(keep(f"aux.{name}"))
    model.time_embed.register_forward_hook(keep("aux.time_embed.0", "aux.time_embed.1"))
    other = run(model, args, inputs)
    output["output"] = run(model, args, inputs)
    assert torch.equal(other, output["output"]), "the sound reaches the video"
    return output


class Absent(torch.nn.Module):
    """What the pipeline asks of its other parts when it is to give latents; connectors give what they get."""
    device, dtype = torch.device("cpu"), torch.float32
    spatial_compression_ratio, temporal_compression_ratio, mel_compression_ratio = SPACE, TIME, 4
    config = types.SimpleNamespace(sample_rate=16000, mel_hop_length=160, mel_bins=64, latent_channels=8, scaling_factor=1.0)
    latents_mean, latents_std = torch.zeros(1), torch.ones(1)

    def forward(self, embeds, mask, **_):
        return embeds, embeds, mask


def loop(model, args):
    """The pipeline's own loop, guided by the empty prompt alone, from embeddings as its connectors would give them."""
    scheduler = FlowMatchEulerDiscreteScheduler(use_dynamic_shifting=True, base_shift=0.95, max_shift=2.05,
                                                base_image_seq_len=1024, max_image_seq_len=4096, shift_terminal=0.1)
    # The sound's scheduler is a copy; it must not be the one whose steps are recorded.
    scheduler.__deepcopy__ = lambda _: FlowMatchEulerDiscreteScheduler.from_config(scheduler.config)
    pipe = LTX2Pipeline(scheduler=scheduler, vae=Absent(), audio_vae=Absent(), text_encoder=None, tokenizer=None,
                        connectors=Absent(), transformer=model, vocoder=None)
    pipe._unpack_audio_latents = pipe._denormalize_audio_latents = lambda latents, *_, **__: latents
    whole = model.forward
    model.forward = lambda **call: whole(**{**call, "isolate_modalities": True})
    inputs = {"latents": torch.randn(1, args.frames * args.rows * args.columns, args.channels)}
    inputs.update(guided_texts(args.text, args.text_dim))
    call = {"height": SPACE * args.rows, "width": SPACE * args.columns, "num_frames": TIME * (args.frames - 1) + 1,
            "frame_rate": float(args.frame_rate), "num_inference_steps": args.loop, "guidance_scale": 3.0}
    sounds = round(call["num_frames"] / args.frame_rate * 16000 / 160 / TIME)
    alone = {"stg_scale": 0.0, "modality_scale": 1.0, "guidance_rescale": 0.0, "audio_guidance_scale": 3.0, "audio_stg_scale": 0.0,
             "audio_modality_scale": 1.0, "audio_guidance_rescale": 0.0,
             "audio_latents": torch.randn(1, sounds, model.config["audio_in_channels"])}
    output = record(pipe, {**inputs, **call, **alone})
    write_loop(args.out, pipe, call, inputs, output,
               "isolate_modalities; from embeddings behind the connectors, with the mask of each; stg_scale 0, modality_scale 1, guidance_rescale 0")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    for name, value in (("seed", 1), ("batch", 2), ("frames", 3), ("rows", 4), ("columns", 5), ("text", 7), ("layers", 2),
                        ("heads", 4), ("head", 8), ("text_dim", 20), ("channels", 6), ("frame_rate", 24), ("loop", 0)):
        parser.add_argument("--" + name, type=int, default=value)
    parser.add_argument("--rope", default="split", choices=("split", "interleaved"))
    parser.add_argument("--wide", action="store_true", help="text as wide as the stream (use_prompt_embeddings false)")
    parser.add_argument("--unmasked", action="store_true")
    parser.add_argument("--plain", action="store_true", help="MLPs without biases, frequencies in float, a marker of key frames")
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    model = LTX2VideoTransformer3DModel(
        in_channels=args.channels, out_channels=args.channels, num_layers=args.layers, num_attention_heads=args.heads,
        attention_head_dim=args.head, cross_attention_dim=args.heads * args.head, caption_channels=args.text_dim,
        audio_in_channels=3, audio_out_channels=3, audio_num_attention_heads=args.heads, audio_attention_head_dim=2,
        audio_cross_attention_dim=2 * args.heads, rope_type=args.rope, use_prompt_embeddings=not args.wide,
        ff_bias=not args.plain, rope_double_precision=not args.plain, use_keyframes_abs_pos_embedding=args.plain,
        perturbed_attn=args.plain)
    export_in_two_bytes(args, model, make_inputs=lambda: make_inputs(args),
                        forward=lambda inputs: forward(model, args, inputs), loop=lambda: loop(model, args))


if __name__ == "__main__":
    main()
