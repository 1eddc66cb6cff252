"""Where n² overtakes the matrices: milliseconds of the parts of an encoder layer, forward and backward.

    python -m experiments.cost_crossover

Batch 1, float32, one thread of a CPU; CPU time, the smallest of several runs. The *matrices* are the four projections
and the feed-forward network, which grow with n. The *core* is what stands between the projections: with the table of
weights ("plain"), its two products alone, in strips of 128 queries, and fused. `strips` holds forward passes over
8,192 tokens with blocks of scores of several sizes. About five minutes on one core.
"""

import time
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_lib.attention import scaled_dot_product_attention
from course_lib.encoder import FeedForward
from course_lib.reproducible import make_reproducible
from experiments import store

SIZES = {128: 4, 512: 8}  # d_model and heads
LENGTHS = {128: [128, 256, 512, 1024, 2048], 512: [256, 512, 1024, 2048, 3072]}
RUNS, SECONDS = 5, 2.0
LONG, LONG_HEADS, LONG_D_K = 8192, 8, 32
STRIPS = [(8, 512), (8, 128), (8, 32), (1, 128), (1, 32), (8, 8)]  # heads and queries at a time


def seconds(work: Callable[[], object]) -> float:
    """The smallest CPU time of at least RUNS runs, and of SECONDS in all."""
    work()  # the first call prepares what later ones use
    times = []
    while len(times) < RUNS or sum(times) < SECONDS:
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def in_strips(q: Tensor, k: Tensor, v: Tensor, size: int = 128) -> Tensor:
    return torch.cat([scaled_dot_product_attention(strip, k, v)[0] for strip in q.split(size, dim=-2)], dim=-2)


def products_alone(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return (q @ k.mT) @ v


def row(d_model: int, n_heads: int, n: int) -> dict:
    x = torch.randn(n, d_model, requires_grad=True)
    projections = [nn.Linear(d_model, d_model) for _ in range(4)]
    feed_forward = FeedForward(d_model, 4 * d_model)
    q, k, v = (torch.randn(n_heads, n, d_model // n_heads, requires_grad=True) for _ in range(3))
    works = {
        "projections": lambda: sum(layer(x).sum() for layer in projections),
        "feed-forward": lambda: feed_forward(x).sum(),
        "plain": lambda: scaled_dot_product_attention(q, k, v)[0].sum(),
        "products alone": lambda: products_alone(q, k, v).sum(),
        "strips": lambda: in_strips(q, k, v).sum(),
        "fused": lambda: F.scaled_dot_product_attention(q[None], k[None], v[None]).sum(),
    }
    return {name: float(f"{1000 * seconds(lambda w=work: w().backward()):.3g}") for name, work in works.items()}


@torch.no_grad()
def strips() -> list[dict]:
    q, k, v = torch.randn(3, LONG_HEADS, LONG, LONG_D_K)
    found = []
    for heads, queries in STRIPS:

        def work(heads=heads, queries=queries):
            for head in range(0, LONG_HEADS, heads):
                group = slice(head, head + heads)
                in_strips(q[group], k[group], v[group], queries)

        found.append({"heads": heads, "queries": queries, "bytes": 4 * heads * queries * LONG})
        found[-1]["seconds"] = float(f"{seconds(work):.2g}")
        print(found[-1], flush=True)
    fused = seconds(lambda: F.scaled_dot_product_attention(q[None], k[None], v[None]))
    return [*found, {"heads": 0, "queries": 0, "bytes": 0, "seconds": float(f"{fused:.2g}")}]


def main() -> None:
    make_reproducible(0)
    torch.set_num_threads(1)
    rows = []
    for d_model, n_heads in SIZES.items():
        for n in LENGTHS[d_model]:
            rows.append({"d_model": d_model, "heads": n_heads, "n": n, "milliseconds": row(d_model, n_heads, n)})
            print(rows[-1], flush=True)
    store(__file__, seeds=[0], rows=rows, strips=strips())


if __name__ == "__main__":
    main()
