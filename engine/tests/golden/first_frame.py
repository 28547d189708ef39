#!/usr/bin/env python3
"""Makes golden folders of clips that begin with a picture, whose tokens have times of their own: one forward, and the pipeline's loop.

    pip install torch==2.15.0 diffusers==0.42.1 safetensors==0.8.0
    engine/tests/golden/first_frame.py ltx OUT --loop 4            # as ltx_first_frame and e2e_ltx_first_frame were made
    pip install torch==2.6.0 diffusers==0.35.2 safetensors         # later ones have other sigmas of UniPC
    engine/tests/golden/first_frame.py wan OUT --loop 4            # as wan_first_frame and e2e_wan_first_frame were made
    engine/tests/golden/first_frame.py wan OUT --seed 7 --heads 3  # another one
    build/bin/ditbench golden OUT

Frames, rows and columns are cells of the latent. The timestep of the first frame's tokens is 0 in every step. Loops run from
embeddings, with latents of a picture that a tiny VAE made (Wan 2.2's of 16 pixels a cell), or that stand in the latents (LTX-Video);
first_frame_latents has them, and zeros behind them. What Wan's pipeline keeps of a step has its solver's first frame, which it
replaces before the next one: latents_1, latents_2, ... have it replaced.
"""
import argparse
from pathlib import Path

import ltx
import torch
from diffusers import (AutoencoderKLWan, FlowMatchEulerDiscreteScheduler, LTXImageToVideoPipeline, LTXVideoTransformer3DModel,
                       UniPCMultistepScheduler, WanImageToVideoPipeline, WanTransformer3DModel)
from loop import export_in_two_bytes, keeper, record, write_loop

CELL, TIME = 16, 4  # of Wan 2.2's VAE


def token_times(args, tokens, first):
    """[batch, tokens]: a time of each row, and 0 for its first frame."""
    times = (torch.rand(args.batch, 1) * 1000).repeat(1, tokens)
    times[:, :first] = 0
    return times


def watch_blocks(output, blocks):
    keep = keeper(output)
    for i, block in enumerate(blocks):
        block.register_forward_hook(keep(f"block_{i}"))
    blocks[0].attn1.register_forward_hook(keep("aux.block_0.attn1"))


# ---- Wan 2.2 TI2V-5B ---------------------------------------------------------------------------------------------------
def wan(args):
    return WanTransformer3DModel(num_attention_heads=args.heads, attention_head_dim=args.head, in_channels=args.channels,
                                 out_channels=args.channels, text_dim=args.text_dim, freq_dim=32, ffn_dim=3 * args.head * args.heads,
                                 num_layers=args.layers, cross_attn_norm=True, rope_max_seq_len=32)


def wan_inputs(args):
    frame = args.rows // 2 * (args.columns // 2)
    return {"hidden_states": torch.randn(args.batch, args.channels, args.frames, args.rows, args.columns),
            "encoder_hidden_states": torch.randn(args.batch, args.text, args.text_dim),
            "timestep": token_times(args, args.frames * frame, frame)}


def wan_forward(model, args, inputs):
    output = {}
    watch_blocks(output, model.blocks)
    output["output"] = model(**inputs, return_dict=False)[0]
    return output


def wan_loop(model, args):
    vae = AutoencoderKLWan(base_dim=4, decoder_base_dim=4, z_dim=args.channels, dim_mult=[1, 1, 1, 1], num_res_blocks=1, is_residual=True,
                           in_channels=12, out_channels=12, patch_size=2, scale_factor_temporal=TIME, scale_factor_spatial=CELL,
                           latents_mean=[0.1] * args.channels, latents_std=[0.8] * args.channels).eval()
    scheduler = UniPCMultistepScheduler(prediction_type="flow_prediction", use_flow_sigmas=True, num_train_timesteps=1000, flow_shift=5.0)
    pipe = WanImageToVideoPipeline(tokenizer=None, text_encoder=None, vae=vae, scheduler=scheduler, transformer=model, expand_timesteps=True)
    call = {"height": CELL * args.rows, "width": CELL * args.columns, "num_frames": TIME * (args.frames - 1) + 1,
            "num_inference_steps": args.loop, "guidance_scale": 5.0}
    inputs = {"latents": torch.randn(1, args.channels, args.frames, args.rows, args.columns),
              "prompt_embeds": torch.randn(1, args.text, args.text_dim),
              "negative_prompt_embeds": torch.randn(1, args.text, args.text_dim)}
    prepare, seen = pipe.prepare_latents, {}

    def prepared(*given, **more):
        made = prepare(*given, **more)
        seen["condition"] = made[1]
        return made

    pipe.prepare_latents = prepared
    output = record(pipe, {**inputs, "image": torch.rand(1, 3, call["height"], call["width"]), **call})
    for i in range(1, args.loop):
        output[f"latents_{i}"] = torch.cat([seen["condition"], output[f"latents_{i}"][:, :, 1:]], dim=2)
    output["latents_final"] = torch.cat([seen["condition"], output["latents_final"][:, :, 1:]], dim=2)
    first = torch.zeros_like(inputs["latents"])
    first[:, :, :1] = seen["condition"]
    write_loop(args.out, pipe, {**call, "first_frame": True}, inputs | {"first_frame_latents": first}, output,
               "from embeddings; first_frame_latents is the picture's latent, which is mixed into every step's input")


# ---- LTX-Video ---------------------------------------------------------------------------------------------------------
def ltx_model(args):
    return LTXVideoTransformer3DModel(
        in_channels=args.channels, out_channels=args.channels, num_layers=args.layers, num_attention_heads=args.heads,
        attention_head_dim=args.head, cross_attention_dim=args.heads * args.head, caption_channels=args.text_dim)


def ltx_inputs(args):
    inputs = ltx.make_inputs(args)
    frame = args.rows * args.columns
    return inputs | {"timestep": token_times(args, args.frames * frame, frame)}


def ltx_forward(model, args, inputs):
    output = {}
    watch_blocks(output, model.transformer_blocks)
    call = {name: x for name, x in inputs.items() if name not in ("img_shapes", "rope_interpolation_scale")}
    output["output"] = model(**call, num_frames=args.frames, height=args.rows, width=args.columns,
                             rope_interpolation_scale=(ltx.TIME / args.frame_rate, ltx.SPACE, ltx.SPACE), return_dict=False)[0]
    return output


def ltx_loop(model, args):
    """The pipeline's latents hold the picture's from the start; its solver sees the frames behind it alone, so predictions are taken
    from the transformer."""
    scheduler = FlowMatchEulerDiscreteScheduler(use_dynamic_shifting=True, base_shift=0.95, max_shift=2.05,
                                                base_image_seq_len=1024, max_image_seq_len=4096, shift_terminal=0.1)
    pipe = LTXImageToVideoPipeline(scheduler=scheduler, vae=None, text_encoder=None, tokenizer=None, transformer=model)
    frame = args.rows * args.columns
    latents = torch.randn(1, args.frames * frame, args.channels)
    inputs = {"latents": latents}
    for name, hidden in (("", 0), ("negative_", 2)):
        mask = torch.ones(1, args.text).long()
        mask[:, args.text - hidden:] = 0
        inputs.update({f"{name}prompt_embeds": torch.randn(1, args.text, args.text_dim), f"{name}prompt_attention_mask": mask})
    call = {"height": ltx.SPACE * args.rows, "width": ltx.SPACE * args.columns, "num_frames": ltx.TIME * (args.frames - 1) + 1,
            "frame_rate": args.frame_rate, "num_inference_steps": args.loop, "guidance_scale": 3.0}
    predictions, steps = [], []

    def predicted(_, __, made):
        negative, positive = made[0].float().chunk(2)
        predictions.append(negative + call["guidance_scale"] * (positive - negative))

    def stepped(_, __, ___, given):
        steps.append(given["latents"])
        return given

    hook = model.register_forward_hook(predicted)
    pipe.set_progress_bar_config(disable=True)
    pipe(**inputs, **call, output_type="latent", callback_on_step_end=stepped)
    hook.remove()
    output = {f"noise_pred_{i}": x for i, x in enumerate(predictions)} | {f"latents_{i + 1}": x for i, x in enumerate(steps)}
    output["latents_final"] = output.pop(f"latents_{args.loop}")
    output |= {"timesteps": scheduler.timesteps, "sigmas": scheduler.sigmas}
    first = torch.zeros_like(latents)
    first[:, :frame] = latents[:, :frame]
    write_loop(args.out, pipe, {**call, "first_frame": True}, inputs | {"first_frame_latents": first}, output,
               "from embeddings, with the mask of each; guidance_rescale 0; the first frame of the latents is the picture's")


KINDS = {"wan": (wan, wan_inputs, wan_forward, wan_loop), "ltx": (ltx_model, ltx_inputs, ltx_forward, ltx_loop)}
USUAL = {"wan": {"head": 12, "channels": 6, "rows": 4, "columns": 8}, "ltx": {"head": 8, "channels": 6, "rows": 4, "columns": 4}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("out", type=Path)
    for name, value in (("seed", 1), ("batch", 2), ("frames", 4), ("text", 7), ("layers", 2), ("heads", 4), ("text_dim", 20),
                        ("frame_rate", 24), ("loop", 0)):
        parser.add_argument("--" + name, type=int, default=value)
    for name in ("rows", "columns", "head", "channels"):
        parser.add_argument("--" + name, type=int)
    parser.add_argument("--unmasked", action="store_true")
    args = parser.parse_args()
    for name, value in USUAL[args.kind].items():
        if getattr(args, name) is None:
            setattr(args, name, value)
    make, inputs, forward, loop = KINDS[args.kind]
    torch.manual_seed(args.seed)
    model = make(args)
    export_in_two_bytes(args, model, make_inputs=lambda: inputs(args), forward=lambda given: forward(model, args, given),
                        loop=lambda: loop(model, args))


if __name__ == "__main__":
    main()
