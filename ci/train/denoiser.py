"""Denoiser: what the trainings of shapes-pixart, shapes-flux and shapes-latte share: the codec, the text table, noise levels,
the loss, validation, sampling, and the folder that ships. A model's own script says what differs."""

import contextlib
import importlib.metadata
import json
import math
import struct
from pathlib import Path

import diffusers
import numpy as np
import torch
from torch import nn
from torch.nn import functional

import run
import shapes
from muon import Muon

TEXT_WIDTH = 128
# Mean and inverse deviation of 2p - 1 over 20,000 training pictures, rounded: latent = (2p - 1 - SHIFT) * SCALE.
SHIFT, SCALE = -0.1, 1.53
TRAIN_TIMES = 1000
NULL_SHARE = 0.1
SNR_LIMIT = 5.0
VALIDATION_TIMES = [62, 187, 312, 437, 562, 687, 812, 937]  # of the noise schedule; flow takes the levels of equal SNR


# ---- codec and text --------------------------------------------------------------------------------------------------
def encode(pictures):
    """Pictures [..., 3, 32, 32] in 0..1 to latents [..., 12, 16, 16]: channel 4 c + 2 dy + dx has colour c of pixels (2y + dy,
    2x + dx)."""
    return functional.pixel_unshuffle((2 * pictures - 1 - SHIFT) * SCALE, 2)


def decode(latents):
    return ((functional.pixel_shuffle(latents, 2) / SCALE + SHIFT + 1) / 2).clamp(0, 1)


class Text(nn.Module):
    """prompt_embeds[i] = W[word_i] + P[slot_i]."""

    def __init__(self):
        super().__init__()
        self.W = nn.Parameter(torch.randn(shapes.WORDS, TEXT_WIDTH))
        self.P = nn.Parameter(torch.randn(shapes.SLOTS, TEXT_WIDTH))

    def forward(self, slots):
        return self.W[slots] + self.P

    def pooled(self, slots):
        """The mean over the slots that are not padding."""
        kept = (slots != shapes.PAD).unsqueeze(-1)
        return (self(slots) * kept).sum(1) / kept.sum(1)


class Denoiser(nn.Module):
    """A transformer with its text table. `call(transformer, latents, times, text, slots)` says how the class is called."""

    def __init__(self, transformer, call):
        super().__init__()
        self.transformer, self.text, self.call = transformer, Text(), call

    def forward(self, latents, times, slots):
        return self.call(self.transformer, latents, times, self.text, slots)


@torch.no_grad()
def begin_as_identity(transformer):
    """Xavier weights, and zeros where a branch joins the stream, so that each block starts as the identity."""
    joins = ("to_out.0", "to_add_out", "ff.net.2", "ff_context.net.2", "proj_out", "proj_mlp_out")
    for name, module in transformer.named_modules():
        if isinstance(module, nn.Linear):
            if name.endswith(joins):
                nn.init.zeros_(module.weight)
            else:
                nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
    for name, table in transformer.named_parameters():
        if name.endswith("scale_shift_table"):
            table.zero_()
            if len(table) == 6:  # shift, scale, gate of attention and of the MLP
                table[2] = table[5] = 1


# ---- noise levels ----------------------------------------------------------------------------------------------------
class Noise:
    """Linear betas; the model tells the noise, or the velocity alpha noise - sigma x (Salimans & Ho 2022)."""

    def __init__(self, velocity):
        self.velocity = velocity
        betas = torch.linspace(1e-4, 2e-2, TRAIN_TIMES, dtype=torch.float64)
        self.products = torch.cumprod(1 - betas, 0)

    def levels(self, times):
        product = self.products[times.long()]
        return product.sqrt().float(), (1 - product).sqrt().float()

    def draw(self, count, generator):
        """Times, one in each of `count` parts, so that a step sees all levels; closer together where there is less noise: above
        600 there is hardly a picture left to tell anything of."""
        part = (torch.arange(count) + torch.rand(count, generator=generator)) / count
        return (TRAIN_TIMES * part ** 1.5).long().clamp(max=TRAIN_TIMES - 1)

    def target(self, clean, noise, alpha, sigma):
        return alpha * noise - sigma * clean if self.velocity else noise

    def weight(self, alpha, sigma):
        """Min-SNR (Hang et al. 2023): of the error of the clean picture, the SNR up to a limit."""
        snr = (alpha / sigma) ** 2
        return snr.clamp(max=SNR_LIMIT) / (snr + 1 if self.velocity else snr)

    def clean(self, said, noisy, alpha, sigma):
        return alpha * noisy - sigma * said if self.velocity else (noisy - sigma * said) / alpha

    def validation_times(self):
        return torch.tensor(VALIDATION_TIMES)

    def scheduler(self, solver):
        common = {"num_train_timesteps": TRAIN_TIMES, "beta_start": 1e-4, "beta_end": 2e-2, "beta_schedule": "linear",
                  "prediction_type": "v_prediction" if self.velocity else "epsilon"}
        if solver == "ddim":
            return diffusers.DDIMScheduler(**common, clip_sample=False, timestep_spacing="trailing")
        return diffusers.DPMSolverMultistepScheduler(**common, solver_order=2, algorithm_type="dpmsolver++")

    @staticmethod
    def begin(scheduler, steps):
        scheduler.set_timesteps(steps)


class Flow:
    """A straight path; the model tells noise - x. Times are logit-normal (Esser et al. 2024)."""

    def levels(self, times):
        return 1 - times / TRAIN_TIMES, times / TRAIN_TIMES

    def draw(self, count, generator):
        part = (torch.arange(count) + torch.rand(count, generator=generator)) / count
        return TRAIN_TIMES * torch.sigmoid(math.sqrt(2) * torch.erfinv((2 * part - 1).clamp(-0.99999, 0.99999)))

    def target(self, clean, noise, alpha, sigma):
        return noise - clean

    def weight(self, alpha, sigma):
        return torch.ones_like(alpha)

    def clean(self, said, noisy, alpha, sigma):
        return noisy - sigma * said

    def validation_times(self):
        alpha, sigma = Noise(False).levels(torch.tensor(VALIDATION_TIMES))
        return TRAIN_TIMES * sigma / (alpha + sigma)

    def scheduler(self, _):
        return diffusers.FlowMatchEulerDiscreteScheduler(num_train_timesteps=TRAIN_TIMES, shift=1.0)

    @staticmethod
    def begin(scheduler, steps):
        """Noise levels as FluxPipeline gives them, and the engine: by itself the scheduler would take others."""
        scheduler.set_timesteps(sigmas=np.linspace(1, 1 / steps, steps))


OBJECTIVES = {"noise": lambda: Noise(False), "velocity": lambda: Noise(True), "flow": Flow}


def rows(x, like):
    """x [n] so that it multiplies `like` [n, ...]."""
    return x.view(-1, *[1] * (like.dim() - 1))


def noisy_of(objective, clean, times, noise):
    alpha, sigma = (rows(x, clean) for x in objective.levels(times))
    return alpha * clean + sigma * noise, alpha, sigma


# ---- arithmetic of a step --------------------------------------------------------------------------------------------
def plain_attention(query, key, value, **others):
    """Attention as products and a softmax. Heads here are small: PyTorch's own, in bfloat16, takes half of a step."""
    if any(x is not None and x is not False and x != 0 for x in others.values()):
        raise ValueError(f"plain_attention: unknown {others}")
    return torch.softmax(query * query.shape[-1] ** -0.5 @ key.transpose(-1, -2), -1) @ value


@contextlib.contextmanager
def products_in(name, device):
    """Matrix products in this type; parameters, sums of gradients and the optimiser stay in float32."""
    own = functional.scaled_dot_product_attention
    if name == "float32":
        yield
        return
    if device == "cuda":
        with torch.autocast("cuda", getattr(torch, name), cache_enabled=False):
            yield
        return
    functional.scaled_dot_product_attention = plain_attention
    try:
        with torch.autocast("cpu", getattr(torch, name)):
            yield
    finally:
        functional.scaled_dot_product_attention = own


# ---- training --------------------------------------------------------------------------------------------------------
class Training:
    """A model's training. `clip`: it has frames."""

    def __init__(self, args, name, model, clip=False):
        self.args, self.name, self.model, self.clip = args, name, model, clip
        self.objective = OBJECTIVES[args.objective]()
        facts = {key: getattr(args, key) for key in ("objective", "optimiser", "batch", "rate", "steps", "warm_up", "seed",
                                                  "products", "compile", "cooldown", "restart")}
        model.to(args.device)
        self.step_model = torch.compile(model) if args.compile else model
        self.run = run.Run(args, model, optimiser_of(args, model), facts | {"model": name})

    def begin(self):
        """Called once, before the first step of a call."""

    def data(self, split, first, count):
        return shapes.samples(split, first, count, self.clip)

    def batch(self, split, first, count, generator):
        pictures, slots = self.data(split, first, count)
        slots = torch.from_numpy(slots).long()
        if split == "train":
            slots[torch.rand(count, generator=generator) < NULL_SHARE] = shapes.NULL
        clean = encode(torch.from_numpy(pictures))
        return clean, torch.randn(clean.shape, generator=generator), slots

    def inputs_of(self, step):
        """Arrays of a step: noisy latents, times, slots, what the model shall tell, and the weight of its error."""
        generator = run.generator_of(self.args.seed, step)
        clean, noise, slots = self.batch("train", step * self.args.batch, self.args.batch, generator)
        times = self.objective.draw(self.args.batch, generator)
        noisy, alpha, sigma = noisy_of(self.objective, clean, times, noise)
        return noisy, times, slots, self.objective.target(clean, noise, alpha, sigma), self.objective.weight(alpha, sigma)

    def loss_of(self, noisy, times, slots, target, weight):
        with products_in(self.args.products, self.args.device):
            said = self.step_model(noisy, times, slots).float()
        return ((said - target) ** 2 * weight).mean()

    def averaged(self):
        """Puts the average's values into the model. Returns the model's own, for load_state_dict."""
        own = {name: x.clone() for name, x in self.model.state_dict().items()}
        self.model.load_state_dict(self.run.average.values)
        return own

    def model_of(self, *inputs):
        """What the model says, from main memory to main memory."""
        return self.model(*(x.to(self.args.device) for x in inputs)).cpu()

    @torch.no_grad()
    def validate(self):
        """Mean square error of the noise that the average implies, at 8 levels. Noise and SNR are those of every objective."""
        losses = []
        count = self.args.validation
        clean, noise, slots = self.batch("validation", 0, count, run.generator_of(0, 0, stream=1))
        for time in self.objective.validation_times():
            times = time.repeat(count)
            noisy, alpha, sigma = noisy_of(self.objective, clean, times, noise)
            found = self.objective.clean(self.model_of(noisy, times, slots), noisy, alpha, sigma)
            losses.append((((found - clean) * alpha / sigma) ** 2).mean().item())
        return losses

    @torch.no_grad()
    def sample(self, slots, seed=0, steps=None, guidance=None):
        """Pictures of captions, by the class's own solver."""
        steps, guidance = steps or self.args.sample_steps, guidance or self.args.guidance
        scheduler = self.objective.scheduler(self.args.solver)
        self.objective.begin(scheduler, steps)
        slots = torch.as_tensor(np.asarray(slots)).long()
        shape = (len(slots), shapes.FRAMES, 12, 16, 16) if self.clip else (len(slots), 12, 16, 16)
        latents = torch.randn(shape, generator=run.generator_of(seed, 0, stream=2))
        both = torch.cat([slots, torch.full_like(slots, shapes.NULL)]) if guidance > 1 else slots
        for time in scheduler.timesteps:
            twice = torch.cat([latents] * (len(both) // len(slots)))
            said = self.model_of(twice, time.repeat(len(both)), both)
            if guidance > 1:
                with_text, without = said.chunk(2)
                said = without + guidance * (with_text - without)
            latents = scheduler.step(said, time, latents).prev_sample
        return decode(latents).numpy()

    def look(self, _):
        """What the log tells every --look steps: losses of the average, and each --pictures-every-th what the rule reads."""
        own = self.averaged()
        told = {"validation": [round(x, 5) for x in self.validate()]}
        if self.run.step % (self.args.look * self.args.pictures_every) == 0:
            told["pictures"] = self.pictures(self.args.pictures)
        self.model.load_state_dict(own)
        return told

    def pictures(self, count, split="held-out", name=None):
        """Samples captions, draws them into the folder, and says which shares of their words the rule finds."""
        _, slots = shapes.samples(split, 0, count, self.clip)
        found = self.sample(slots)
        shares, whole = shapes.read(found, slots)
        draw(found, self.args.folder / f"{name or f'pictures-{self.run.step:06d}'}.png")
        (self.args.folder / "captions.txt").write_text("".join(f"{i} {shapes.text_of(s)}\n" for i, s in enumerate(slots)))
        return {key: round(x, 4) for key, x in shares.items()}

    def train(self):
        self.run.train(self.inputs_of, self.loss_of, self.args.look, self.look)


def options(name, minutes, batch, rate, steps, objective, sample_steps, guidance, solver="dpm"):
    parser = run.options(name, minutes, batch, rate, steps)
    parser.add_argument("--objective", choices=OBJECTIVES, default=objective)
    parser.add_argument("--optimiser", choices=["adamw", "muon"], default="adamw")
    parser.add_argument("--products", choices=["float32", "bfloat16"], default="float32",
                        help="type of a step's matrix products; bfloat16 is faster on processors that have it, slower on others")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu",
                        help="where the steps run; on a GPU a step is one CUDA graph, and the threads render ahead of it")
    parser.add_argument("--compile", action="store_true", help="fuse a step's passes by torch.compile, which needs a C++ compiler")
    parser.add_argument("--look", type=int, default=200, help="steps between lines of the log; default %(default)d")
    parser.add_argument("--validation", type=int, default=128, help="pictures for the loss of the log")
    parser.add_argument("--pictures-every", type=int, default=5, help="lines of the log between pictures")
    parser.add_argument("--pictures", type=int, default=48)
    parser.add_argument("--sample-steps", type=int, default=sample_steps)
    parser.add_argument("--guidance", type=float, default=guidance)
    parser.add_argument("--solver", choices=["dpm", "ddim"], default=solver, help="of noise and velocity; flow has Euler's")
    parser.add_argument("--read", type=int, metavar="COUNT", help="train nothing: sample so many held-out captions and read them")
    parser.add_argument("--export", type=Path, metavar="OUT", help="train nothing: write the average as a diffusers folder")
    return parser


def optimiser_of(args, model):
    if args.optimiser == "adamw":
        return torch.optim.AdamW(model.parameters(), lr=args.rate, betas=(0.9, 0.99), weight_decay=0.0, fused=True,
                                 capturable=args.device == "cuda")
    inner = [p for name, p in model.named_parameters() if p.dim() == 2 and "block" in name and "table" not in name]
    known = {id(p) for p in inner}
    return Muon(inner, [p for p in model.parameters() if id(p) not in known], args.rate)


def draw(pictures, path, across=12):
    """A sheet of pictures, each three times as large; clips as rows of frames."""
    import PIL.Image
    if pictures.ndim == 5:
        across = pictures.shape[1]
        pictures = pictures.reshape(-1, 3, shapes.EDGE, shapes.EDGE)
    down = -(-len(pictures) // across)
    sheet = np.ones((down * 34, across * 34, 3), np.float32)
    for i, picture in enumerate(pictures):
        y, x = i // across * 34 + 1, i % across * 34 + 1
        sheet[y:y + 32, x:x + 32] = picture.transpose(1, 2, 0)
    image = PIL.Image.fromarray((sheet * 255).round().astype(np.uint8))
    image.resize((image.width * 3, image.height * 3), PIL.Image.NEAREST).save(path)


# ---- what ships ------------------------------------------------------------------------------------------------------
def half(values):
    """Float16 values that are finite and not large, or an end with a reason."""
    out = {}
    for name, x in values.items():
        if not torch.isfinite(x).all() or x.abs().max() > 1000:
            raise SystemExit(f"{name} has values that are not finite or larger than 1000: nothing is written")
        out[name] = x.to(torch.float16).contiguous()
    return out


def export(training, out):
    """Writes the average as a diffusers folder with text table, codec, scheduler, log and a card."""
    from safetensors.torch import save_file
    out.mkdir(parents=True, exist_ok=True)
    values = {name: x.cpu() for name, x in training.run.average.values.items()}
    weights = half({name.removeprefix("transformer."): x for name, x in values.items() if name.startswith("transformer.")})
    text = half({name: values[f"text.{name}"] for name in ("W", "P")})
    for name, tensors in (("diffusion_pytorch_model", weights), ("text", text)):
        save_file(tensors, out / f"{name}.safetensors", {"format": "pt"})
        (out / f"{name}.safetensors").chmod(0o644)
    training.model.transformer.save_config(out)
    training.objective.scheduler(training.args.solver).save_config(out)
    codec = {"_class_name": "PixelShuffle", "block_size": 2, "latent_channels": 12, "shift_factor": SHIFT,
             "scaling_factor": SCALE}
    (out / "vae").mkdir(exist_ok=True)
    (out / "vae" / "config.json").write_text(json.dumps(codec, indent=2) + "\n")
    shapes.write_vocabulary(out)
    log = (training.args.folder / "log.jsonl").read_text()
    (out / "log.jsonl").write_text(log)
    (out / "README.md").write_text(card(training, log))
    print(f"wrote {out}: {sum(x.numel() for x in weights.values())} values")


def card(training, log):
    lines = [json.loads(line) for line in log.splitlines()]
    read = [line for line in lines if "pictures" in line]
    args, last = training.args, lines[-1]
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("torch", "diffusers", "numpy"))
    cooled = ", falling along a line from step {} for {} steps".format(*args.cooldown) if args.cooldown else ""
    if args.restart:
        cooled += ", then {} falling along a line for {} steps".format(*args.restart)
    shares = "\n".join(f"| {name} | {share:.3f} |" for name, share in (read[-1]["pictures"] if read else {}).items())
    return f"""# {training.name}

A small {type(training.model.transformer).__name__} that draws captions of shapes, {f"clips of {shapes.FRAMES} frames of " if training.clip else ""}32 x 32 pixels. MIT license. Its data are rendered;
nobody's pictures, captions or weights went into it. The values here are the moving average of training, in float16.

Made by `ci/train/{training.name.replace("-", "_")}.py`: {training.run.step} steps of {args.batch}, {training.run.seconds / 60:.0f} minutes, objective {args.objective},
on {training.run.processor}, optimiser {args.optimiser}, highest rate {args.rate}{cooled}, seed {args.seed}; {versions}. `log.jsonl` has the losses.

Losses of the noise at eight levels, from little noise to much, at the end: {", ".join(f"{x:.4f}" for x in last.get("validation", []))}.

Words of held-out captions that the rule found{f" at step {read[-1]['step']}" if read else ""}, {args.sample_steps} steps, guidance {args.guidance}:

| | |
| --- | --- |
{shares or "| none read | |"}
"""


def main(parser, name, transformer_of, call, clip=False, training=Training):
    args = run.start(parser)
    training = training(args, name, Denoiser(transformer_of(), call), clip)
    if args.read:
        training.averaged()
        print(json.dumps(training.pictures(args.read, name="read")))
    elif args.export:
        export(training, args.export)
    else:
        training.begin()
        training.train()
