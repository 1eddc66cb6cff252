"""Self-attention against two recurrent layers, of which one has a kernel and the other does not.

    python -m experiments.cost_recurrent

Forward and backward, float32, one thread of a CPU: milliseconds of CPU time, the smallest of several runs. PyTorch
runs `nn.LSTM` as one kernel of oneDNN on an x86 CPU, and `nn.GRU` as a loop of small calls. The control is the same
LSTM with the kernel switched off. Self-attention has its four projections. About four minutes on one core.
"""

import time

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.attention import scaled_dot_product_attention
from course_lib.reproducible import make_reproducible
from experiments import store

PLANS = [(64, 1, n) for n in (64, 256, 1024, 2048)] + [(64, 16, n) for n in (64, 256, 1024)]
RUNS, SECONDS = 3, 1.0


class SelfAttention(nn.Module):
    def __init__(self, d: int, fused: bool):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(d, d) for _ in range(4))
        self.fused = fused

    def forward(self, x):
        q, k, v = (layer(x) for layer in self.layers[:3])
        if self.fused:  # the kernel wants an axis of heads
            mixed = F.scaled_dot_product_attention(q[:, None], k[:, None], v[:, None])[:, 0]
        else:
            mixed = scaled_dot_product_attention(q, k, v)[0]
        return self.layers[3](mixed)


class Recurrent(nn.Module):
    def __init__(self, kind: type[nn.Module], d: int, kernel: bool = True):
        super().__init__()
        self.layer, self.kernel = kind(d, d, batch_first=True), kernel

    def forward(self, x):
        with torch.backends.mkldnn.flags(enabled=self.kernel):
            return self.layer(x)[0]


def milliseconds(layer: nn.Module, batch: int, n: int, d: int) -> float:
    x = torch.randn(batch, n, d, requires_grad=True)
    layer(x).sum().backward()  # the first call prepares what later ones use
    times = []
    while len(times) < RUNS or (sum(times) < SECONDS and len(times) < 1000):
        start = time.process_time()
        layer(x).sum().backward()
        times.append(time.process_time() - start)
    return float(f"{1000 * min(times):.2g}")


def main() -> None:
    make_reproducible(0)
    torch.set_num_threads(1)
    rows = []
    for d, batch, n in PLANS:
        layers = {
            "GRU": Recurrent(nn.GRU, d),
            "LSTM": Recurrent(nn.LSTM, d),
            "LSTM without its kernel": Recurrent(nn.LSTM, d, kernel=False),
            "self-attention": SelfAttention(d, fused=False),
            "self-attention, fused": SelfAttention(d, fused=True),
        }
        times = {name: milliseconds(layer, batch, n, d) for name, layer in layers.items()}
        rows.append({"d": d, "batch": batch, "n": n, "milliseconds": times})
        print(rows[-1], flush=True)
    store(__file__, seeds=[0], rows=rows)


if __name__ == "__main__":
    main()
