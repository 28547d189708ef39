"""Run: what every training script does around its steps: options, learning rate, averages, checkpoints, the log."""

import argparse
import hashlib
import json
import math
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch

CHECKPOINT, CHECKPOINT_SECONDS = "checkpoint.pt", 600


def cooldown(text):
    """Reads "6600:3400"."""
    first, _, count = text.partition(":")
    if not (first.isdecimal() and count.isdecimal() and int(count) > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not STEP:COUNT")
    return [int(first), int(count)]


def restart(text):
    """Reads "5e-4:5000"."""
    try:
        rate, count = text.split(":")
        rate, count = float(rate), int(count)
    except ValueError:
        rate = count = 0
    if not (0 < rate < 1 and count > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not RATE:COUNT")
    return [rate, count]


def options(name, minutes, batch, rate, steps):
    """The options that all scripts have."""
    parser = argparse.ArgumentParser(description=f"Trains {name} on shapes, or goes on with it.")
    parser.add_argument("folder", type=Path, help="checkpoint, log and pictures; goes on where its checkpoint ends")
    parser.add_argument("--minutes", type=float, default=minutes, help="of training in this call; default %(default)g")
    parser.add_argument("--steps", type=int, default=steps,
                        help="at which the learning rate has reached its end, and training stops; default %(default)d")
    parser.add_argument("--batch", type=int, default=batch)
    parser.add_argument("--rate", type=float, default=rate, help="the highest learning rate; default %(default)g")
    parser.add_argument("--warm-up", type=int, default=200, help="steps until the highest rate; default %(default)d")
    parser.add_argument("--cooldown", type=cooldown, metavar="STEP:COUNT",
                        help="from this step the learning rate falls along a line, and training stops after so many steps")
    parser.add_argument("--restart", type=restart, metavar="RATE:COUNT",
                        help="after the cooldown begin at this rate anew, fall along a line, and stop after so many steps")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.set_defaults(device="cpu")
    return parser


def start(parser):
    """Reads the options and makes the folder. A folder with a checkpoint knows its own options: nobody need repeat them."""
    args = parser.parse_args()
    path = args.folder / CHECKPOINT
    if path.exists():
        facts = torch.load(path, weights_only=True, mmap=True, map_location="cpu")["facts"]
        parser.set_defaults(**{key: value for key, value in facts.items() if hasattr(args, key)})
        args = parser.parse_args()
    if args.minutes <= 0 or args.steps < 1 or args.batch < 1 or args.threads < 1:
        raise SystemExit("minutes, steps, batch and threads must be positive")
    if args.restart and not args.cooldown:
        raise SystemExit("--restart goes on after a cooldown; this run has none (--cooldown STEP:COUNT)")
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    args.folder.mkdir(parents=True, exist_ok=True)
    return args


def last_step(args):
    if not args.cooldown:
        return args.steps
    return sum(args.cooldown) + (args.restart[1] if args.restart else 0)


def rate_of(step, args, end=2e-5):
    """What rate_at says, up to the cooldown; from there a line down to `end`. A restart is another line down to `end`."""
    first, count = args.cooldown or (step, 1)
    if args.restart and step >= first + count:
        peak, steps = args.restart
        return peak + (end - peak) * (step - first - count) / steps
    if step <= first:
        return rate_at(step, args.rate, args.steps, args.warm_up, end)
    begin = rate_at(first, args.rate, args.steps, args.warm_up, end)
    return begin + (end - begin) * (step - first) / count


def rate_at(step, peak, steps, warm_up, end=2e-5):
    """A line up to the peak, then a cosine down to `end`."""
    if step < warm_up:
        return peak * (step + 1) / warm_up
    share = min(1.0, (step - warm_up) / max(1, steps - warm_up))
    return end + 0.5 * (peak - end) * (1 + math.cos(math.pi * share))


def generator_of(seed, step, stream=0):
    """The numbers of a step depend on its number alone: a run that stops and goes on draws what one run draws."""
    digest = hashlib.sha256(f"{seed} {stream} {step}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:7], "little"))


class Average:
    """The moving average of a model's parameters, which is what ships."""

    def __init__(self, model, decay=0.999):
        self.decay, self.steps = decay, 0
        self.values = {name: p.detach().clone() for name, p in model.state_dict().items()}
        self.share = torch.zeros((), device=next(model.parameters()).device)

    def begin(self):
        """Sets the share that the next values get."""
        self.steps += 1
        self.share.fill_(1 - min(self.decay, (1 + self.steps) / (10 + self.steps)))

    @torch.no_grad()
    def take(self, model):
        for name, p in model.state_dict().items():
            if p.is_floating_point():
                self.values[name].lerp_(p, self.share)
            else:
                self.values[name].copy_(p)


class Steps:
    """Takes steps on the CPU, one after another: gradients, their norm, the optimiser, the average."""

    def __init__(self, run, loss_of):
        self.run, self.loss_of = run, loss_of
        device = next(run.model.parameters()).device
        self.total, self.finite = torch.zeros((), device=device), torch.ones((), dtype=torch.bool, device=device)

    def arithmetic(self, inputs):
        loss = self.loss_of(*inputs)
        self.run.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.run.model.parameters(), 1.0)
        self.finite.logical_and_(torch.isfinite(norm))
        self.run.optimiser.step()
        self.run.average.take(self.run.model)
        self.total += loss.detach()

    def take(self, inputs, rate):
        for group in self.run.optimiser.param_groups:
            group["lr"] = rate
        self.run.average.begin()
        self.arithmetic(inputs)
        self.check()

    def check(self):
        if not self.finite:
            raise SystemExit(f"step {self.run.step}: the gradient is not finite; the checkpoint before stays")

    def mean(self, count):
        """The mean loss of the last `count` steps, which are all since the last call."""
        self.check()
        mean = self.total.item() / count
        self.total.zero_()
        return mean


class GraphSteps(Steps):
    """Takes steps on a GPU. The first few run as they are, on a stream of their own; then one is recorded as a CUDA graph and
    played again with other inputs: small models would wait for launches otherwise. A gradient that is not finite is seen when
    somebody asks for the loss."""
    BEFORE = 3

    def __init__(self, run, loss_of):
        super().__init__(run, loss_of)
        self.graph, self.inputs, self.count = None, None, 0
        self.rate = torch.zeros((), device="cuda")
        for group in run.optimiser.param_groups:
            group["lr"] = self.rate

    def take(self, inputs, rate):
        self.rate.fill_(rate)
        self.run.average.begin()
        if self.inputs is None:
            self.inputs = [x.to("cuda") for x in inputs]
        for own, new in zip(self.inputs, inputs):
            own.copy_(new, non_blocking=True)
        if self.count < self.BEFORE:
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                self.arithmetic(self.inputs)
            torch.cuda.current_stream().wait_stream(stream)
        else:
            if not self.graph:
                self.run.optimiser.zero_grad(set_to_none=True)
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph):
                    self.arithmetic(self.inputs)
                self.graph = graph
            self.graph.replay()
        self.count += 1


class Run:
    """Steps of a model until the time or the steps are over, with a checkpoint every ten minutes and at a signal."""

    def __init__(self, args, model, optimiser, facts):
        self.args, self.model, self.optimiser, self.facts = args, model, optimiser, facts
        self.average, self.step, self.seconds = Average(model), 0, 0.0
        self.path, self.stopped = args.folder / CHECKPOINT, False
        self.processor = torch.cuda.get_device_name() if args.device == "cuda" else "the CPU"  # of the last steps
        if self.path.exists():
            self._load()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)

    def _stop(self, *_):
        self.stopped = True

    def _load(self):
        kept = torch.load(self.path, weights_only=True, map_location=self.args.device)
        different = {k: (kept["facts"][k], v) for k, v in self.facts.items() if kept["facts"].get(k, v) != v}
        if "cooldown" in different and not kept["facts"]["cooldown"] and kept["step"] <= self.args.cooldown[0]:
            del different["cooldown"]  # it begins later: up to here both trainings are one
        if "restart" in different and not kept["facts"]["restart"] and kept["step"] <= sum(self.args.cooldown):
            del different["restart"]
        if different:
            raise SystemExit(f"{self.path} is of another run: (there, now) {different}; name another folder")
        self.model.load_state_dict(kept["model"])
        self.optimiser.load_state_dict(kept["optimiser"])
        for group in self.optimiser.param_groups:
            group["capturable"] = self.args.device == "cuda"
        self.average.values, self.average.steps = kept["average"], kept["step"]
        self.step, self.seconds, self.processor = kept["step"], kept["seconds"], kept.get("processor", "the CPU")
        print(f"goes on at step {self.step}, after {self.seconds / 60:.1f} minutes", flush=True)

    def save(self):
        kept = {"facts": self.facts, "model": self.model.state_dict(), "optimiser": self.optimiser.state_dict(),
                "average": self.average.values, "step": self.step, "seconds": self.seconds,
                "processor": self.processor}
        new = self.path.with_suffix(".new")
        torch.save(kept, new)
        with open(new, "rb") as file:
            os.fsync(file.fileno())
        new.rename(self.path)

    def log(self, **values):
        line = {"step": self.step, "seconds": round(self.seconds, 1)} | values
        with open(self.args.folder / "log.jsonl", "a") as file:
            file.write(json.dumps(line) + "\n")
        print(json.dumps(line), flush=True)

    def inputs(self, inputs_of, last):
        """Yields inputs_of(step) for each step to come. For a GPU the threads work ahead, into page-locked memory."""
        if self.args.device == "cpu":
            yield from map(inputs_of, range(self.step, last))
            return
        with ThreadPoolExecutor(self.args.threads) as pool:
            ahead = []
            for step in range(self.step, last):
                ahead.append(pool.submit(lambda step: [x.pin_memory() for x in inputs_of(step)], step))
                if len(ahead) > 2 * self.args.threads:
                    yield ahead.pop(0).result()
            while ahead:
                yield ahead.pop(0).result()

    def train(self, inputs_of, loss_of, every, look):
        """inputs_of(step) gives a step's arrays, in main memory; loss_of(*arrays) its loss; look(run) tells what the log shall
        have, every so many steps and at the end."""
        end, saved, count = self.seconds + 60 * self.args.minutes, self.seconds, 0
        last = last_step(self.args)
        steps = (Steps if self.args.device == "cpu" else GraphSteps)(self, loss_of)
        inputs = self.inputs(inputs_of, last)
        while self.step < last and self.seconds < end and not self.stopped:
            began = time.monotonic()
            rate = rate_of(self.step, self.args)
            steps.take(next(inputs), rate)
            self.step, count = self.step + 1, count + 1
            look_now = self.step % every == 0 or self.step == last
            mean = steps.mean(count) if look_now else 0.0
            self.seconds += time.monotonic() - began
            if look_now:
                self.log(loss=round(mean, 6), rate=rate, **look(self))
                count = 0
            if self.seconds - saved >= CHECKPOINT_SECONDS:
                steps.check()
                self.save()
                saved = self.seconds
        inputs.close()
        steps.check()
        self.save()
        print(f"stopped at step {self.step} of {last}, after {self.seconds / 60:.1f} minutes", flush=True)
