"""How long one layer takes on sentences of n tokens: self-attention, two recurrent layers, and a convolution.

    python -m experiments.self_attention_cost

Forward and backward, d = 64, float32, one thread of a CPU: milliseconds of CPU time, the smallest of several runs. The
recurrent layers are PyTorch's own, self-attention uses the course's function, and its three projections are counted.
"""

import time

import torch
from torch import nn

from course_lib.attention import scaled_dot_product_attention
from course_lib.reproducible import make_reproducible
from experiments import store

D = 64
SIZES = [(batch, n) for batch in (1, 32) for n in (16, 64, 256)]
SIZES += [(1, 1024)]
RUNS, SECONDS = 7, 1.5


class SelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.w_q, self.w_k, self.w_v = (nn.Linear(D, D, bias=False) for _ in range(3))

    def forward(self, x):
        return scaled_dot_product_attention(self.w_q(x), self.w_k(x), self.w_v(x))[0]


class Convolution(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Conv1d(D, D, kernel_size=3, padding=1, bias=False)

    def forward(self, x):
        return self.layer(x.mT).mT


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.layer = kind(D, D, batch_first=True)

    def forward(self, x):
        return self.layer(x)[0]


def milliseconds(layer: nn.Module, batch: int, n: int) -> float:
    """The smallest time of one forward and backward pass: at least RUNS of them, and SECONDS in all."""
    x = torch.randn(batch, n, D, requires_grad=True)
    times = []
    while len(times) < RUNS or (sum(times) < SECONDS and len(times) < 2000):
        start = time.process_time()
        layer(x).sum().backward()
        times.append(time.process_time() - start)
    return 1000 * min(times)


def main() -> None:
    make_reproducible(0)
    torch.set_num_threads(1)
    layers = {
        "self-attention": SelfAttention(),
        "RNN": Recurrent(nn.RNN),
        "GRU": Recurrent(nn.GRU),
        "convolution": Convolution(),
    }
    rows = []
    for batch, n in SIZES:
        times = {name: float(f"{milliseconds(layer, batch, n):.2g}") for name, layer in layers.items()}
        rows.append({"batch": batch, "n": n, "milliseconds": times})
        print(rows[-1], flush=True)
    store(__file__, seeds=[0], d=D, rows=rows)


if __name__ == "__main__":
    main()
