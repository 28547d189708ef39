"""Muon: matrices of blocks move along the nearest orthogonal matrix of their momentum, everything else by AdamW.

Sources: Jordan et al., "Muon: An optimizer for hidden layers in neural networks" (2024): Nesterov momentum 0.95, five
Newton-Schulz steps with coefficients 3.4445, -4.7750, 2.0315. Liu et al., "Muon is Scalable for LLM Training" (2025): a factor
0.2 sqrt(the longer side) gives its steps the size of AdamW's, so that one rate serves both.
"""

import torch


def orthogonal(matrices, rounds=5):
    """The nearest orthogonal matrices of [n, rows, columns], roughly: singular values come to 0.7..1.2."""
    wide = matrices.shape[1] <= matrices.shape[2]
    x = (matrices if wide else matrices.transpose(1, 2)).bfloat16()
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(rounds):
        square = x @ x.transpose(1, 2)
        x = 3.4445 * x + (-4.7750 * square + 2.0315 * square @ square) @ x
    return (x if wide else x.transpose(1, 2)).float()


class Muon(torch.optim.Optimizer):
    def __init__(self, matrices, others, rate, momentum=0.95, betas=(0.9, 0.99), eps=1e-8):
        groups = [{"params": matrices, "kind": "matrix"}, {"params": others, "kind": "other"}]
        super().__init__(groups, {"lr": rate, "momentum": momentum, "betas": betas, "eps": eps})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            (self._matrices if group["kind"] == "matrix" else self._others)(group)

    def _matrices(self, group):
        """Matrices of one shape are made orthogonal together."""
        by_shape = {}
        for p in group["params"]:
            if p.grad is not None:
                by_shape.setdefault(p.shape, []).append(p)
        for shape, params in by_shape.items():
            moves = []
            for p in params:
                kept = self.state[p].setdefault("momentum", torch.zeros_like(p))
                kept.lerp_(p.grad, 1 - group["momentum"])
                moves.append(p.grad.lerp(kept, group["momentum"]))
            scale = 0.2 * max(shape) ** 0.5
            for p, move in zip(params, orthogonal(torch.stack(moves))):
                p.sub_(move, alpha=group["lr"] * scale)

    def _others(self, group):
        fast, slow = group["betas"]
        for p in group["params"]:
            if p.grad is None:
                continue
            state = self.state[p]
            if not state:
                state.update(step=0, first=torch.zeros_like(p), second=torch.zeros_like(p))
            state["step"] += 1
            state["first"].lerp_(p.grad, 1 - fast)
            state["second"].mul_(slow).addcmul_(p.grad, p.grad, value=1 - slow)
            size = (state["second"] / (1 - slow ** state["step"])).sqrt_().add_(group["eps"])
            p.addcdiv_(state["first"], size, value=-group["lr"] / (1 - fast ** state["step"]))
