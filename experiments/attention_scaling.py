"""What dividing the scores by √d_k changes in training: at every learning rate, free queries and learned projections.

    python -m experiments.attention_scaling

Free queries: 100 queries have sixteen random keys each, and plain gradient descent moves the queries alone until they
fetch the value of their key 0. Learned projections: a query is a noisy copy of one of sixteen random tokens and must
fetch its value; two `nn.Linear` layers, as PyTorch begins them, make queries and keys, and Adam trains them. About
twenty minutes on one core.
"""

import torch
from torch import nn

from course_lib.reproducible import make_reproducible
from experiments import store

WIDTHS = [4, 64, 512]
N_KEYS = 16
FREE_SEEDS, FREE_STEPS = [0, 1, 2, 3, 4], 1000
FREE_RATES = [10 ** (power / 2) for power in range(-8, 5)]
LEARNED_SEEDS, LEARNED_STEPS = [0, 1, 2], 400
LEARNED_RATES = [10 ** (power / 2) for power in range(-8, -1)]


def fetched(d_k: int, scale: float, lr: float, seed: int) -> float:
    """The share of 100 queries that end within 0.1 of the value of their key 0."""
    generator = torch.Generator().manual_seed(seed)
    query = torch.randn(100, 1, d_k, generator=generator, dtype=torch.float64)
    key = torch.randn(100, N_KEYS, d_k, generator=generator, dtype=torch.float64)
    value = torch.randn(100, N_KEYS, 1, generator=generator, dtype=torch.float64)
    optimizer = torch.optim.SGD([query.requires_grad_()], lr=lr)
    for _step in range(FREE_STEPS):
        output = (scale * query @ key.mT).softmax(dim=-1) @ value
        loss = (output - value[:, :1]).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return ((output - value[:, :1]).abs() < 0.1).double().mean().item()


def sentences(n: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Noisy copies of the first token of each sentence, the tokens (n, 16, 32), their values (n, 16, 8)."""
    x, value = (torch.randn(n, N_KEYS, width, generator=generator) for width in (32, 8))
    return x[:, :1] + 0.5 * torch.randn(n, 1, 32, generator=generator), x, value


def learned(d_k: int, scale: float, lr: float, seed: int) -> tuple[float, float]:
    """Standard deviation of the scores at the start, and mean squared error on new sentences after training."""
    make_reproducible(seed)
    generator = torch.Generator().manual_seed(seed)
    w_q, w_k = (nn.Linear(32, d_k, bias=False) for _ in range(2))
    optimizer = torch.optim.Adam([*w_q.parameters(), *w_k.parameters()], lr=lr)

    def attend(noisy, x, value):
        scores = scale * w_q(noisy) @ w_k(x).mT
        return scores, (scores.softmax(dim=-1) @ value - value[:, :1]).square().mean()

    new = sentences(1000, torch.Generator().manual_seed(1000 + seed))
    with torch.no_grad():
        at_start = attend(*new)[0].std().item()
    for _step in range(LEARNED_STEPS):
        _scores, loss = attend(*sentences(64, generator))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        return at_start, attend(*new)[1].item()


def main() -> None:
    free, projected, at_start = {}, {}, {}
    for d_k in WIDTHS:
        for name, scale in (("scaled", d_k**-0.5), ("not scaled", 1.0)):
            free[f"{name}, {d_k}"] = [[fetched(d_k, scale, lr, seed) for lr in FREE_RATES] for seed in FREE_SEEDS]
            print(name, d_k, free[f"{name}, {d_k}"], flush=True)
    for d_k in WIDTHS:
        for name, scale in (("scaled", d_k**-0.5), ("not scaled", 1.0)):
            runs = [[learned(d_k, scale, lr, seed) for lr in LEARNED_RATES] for seed in LEARNED_SEEDS]
            projected[f"{name}, {d_k}"] = [[round(loss, 4) for _, loss in row] for row in runs]
            at_start[f"{name}, {d_k}"] = [round(row[0][0], 3) for row in runs]
            print(name, d_k, projected[f"{name}, {d_k}"], at_start[f"{name}, {d_k}"], flush=True)
    store(
        __file__,
        seeds=FREE_SEEDS,
        free={"steps": FREE_STEPS, "rates": FREE_RATES, "fetched": free},
        learned={
            "seeds": LEARNED_SEEDS,
            "steps": LEARNED_STEPS,
            "rates": LEARNED_RATES,
            "error": projected,
            "std_at_start": at_start,
        },
    )


if __name__ == "__main__":
    main()
