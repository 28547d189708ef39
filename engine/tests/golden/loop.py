"""What the exporters of golden folders share: a folder's tensors, and a pipeline's loop step by step."""
import json

import torch
from export import randomise
from safetensors.torch import save_file


def write_tensors(folder, **files):
    """NAME.safetensors for each NAME=tensors."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, tensors in files.items():
        save_file({key: value.clone().contiguous() for key, value in tensors.items()}, folder / f"{name}.safetensors")
        (folder / f"{name}.safetensors").chmod(0o644)


def write_folder(folder, model, inputs, output, weights=None):
    """A model's folder: config.json, its weights (or those given), inputs and output."""
    folder.mkdir(parents=True, exist_ok=True)
    config = {"_class_name": type(model).__name__} | {k: v for k, v in model.config.items() if not k.startswith("_")}
    (folder / "config.json").write_text(json.dumps(config, indent=2, default=list) + "\n")
    write_tensors(folder, diffusion_pytorch_model=weights or model.state_dict(), inputs=inputs, output=output)


def text_mask(args):
    """Hides, unless `unmasked`, a token in the middle of every text and those at its end, whose number differs by text."""
    mask = torch.ones(args.batch, args.text).long()
    for b in range(0 if args.unmasked else args.batch):
        mask[b, args.text - 1 - b % args.text:] = 0
        mask[b, args.text // 2] = 0
    mask[:, 0] = 1
    return mask


def guided_texts(tokens, width):
    """Embeddings and masks of a prompt and of a negative one, of which the last two tokens are hidden."""
    out = {}
    for name, hidden in (("", 0), ("negative_", 2)):
        mask = torch.ones(1, tokens).long()
        mask[:, tokens - hidden:] = 0
        out.update({f"{name}prompt_embeds": torch.randn(1, tokens, width), f"{name}prompt_attention_mask": mask})
    return out


def keeper(output):
    """A maker of hooks: keep(NAME...) puts what a module gives into `output`, by these names."""
    def keep(*names):
        def hook(_, __, result):
            parts = result if isinstance(result, tuple) else (result,)
            output.update({name: part.clone() for name, part in zip(names, parts)})
        return hook
    return keep


def export_in_two_bytes(args, model, make_inputs, forward, loop):
    """A model's folder whose weights are bf16 (make_inputs(), forward(inputs)), and with args.loop that of its loop (loop())."""
    model = model.float().eval()
    with torch.no_grad():
        randomise(model)
        for parameter in model.parameters():  # .bfloat16() would leave those alone that the library keeps in float32
            parameter.copy_(parameter.bfloat16())
        inputs = make_inputs()
        output = forward(inputs)
    weights = {name: tensor.bfloat16() for name, tensor in model.state_dict().items()}
    write_folder(args.out, model, inputs, output, weights)
    if args.loop:  # the hooks of `forward` change nothing that is not written yet
        with torch.no_grad():
            loop()


def record(pipe, call):
    """Calls the pipeline: predictions, latents, timesteps and sigmas of every step."""
    scheduler, output = pipe.scheduler, {}
    step = scheduler.step
    pipe.set_progress_bar_config(disable=True)

    def keep(noise_pred, timestep, sample, **more):
        i = len([name for name in output if name.startswith("noise_pred")])
        made = step(noise_pred, timestep, sample, **more)
        output.update({f"noise_pred_{i}": noise_pred, f"latents_{i + 1}": made[0]})
        return made

    scheduler.step = keep
    pipe(**call, output_type="latent")
    final = output.pop(f"latents_{call['num_inference_steps']}")
    output.update(latents_final=final, timesteps=scheduler.timesteps, sigmas=scheduler.sigmas)
    return output


def write_loop(out, pipe, call, inputs, output, note):
    """The folder e2e_NAME beside the model's: e2e.json, inputs and output."""
    folder, scheduler = out.parent / f"e2e_{out.name}", pipe.scheduler
    settings = {"_class_name": type(scheduler).__name__} | {k: v for k, v in scheduler.config.items() if not k.startswith("_")}
    document = {"pipeline": type(pipe).__name__, "transformer": out.name, "scheduler": settings, **call, "note": note}
    write_tensors(folder, inputs=inputs, output=output)
    (folder / "e2e.json").write_text(json.dumps(document, indent=1) + "\n")
