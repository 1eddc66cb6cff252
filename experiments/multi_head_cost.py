"""How long the parts of multi-head attention take with 1 to 16 heads: CPU seconds of one core, forward pass alone.

    python -m experiments.multi_head_cost

Batch 8, 512 tokens, d_model 64, float32. The fused call is `F.scaled_dot_product_attention`. Least of 15 runs each.
"Memory reused" writes the table where one stood before, and asks the system for no new memory.
"""

import time
from collections.abc import Callable

import torch
from torch.nn import functional as F

from course_lib.multi_head import MultiHeadAttention, merge_heads, split_heads
from experiments import store

BATCH, SEQ_LEN, D_MODEL, HEADS, RUNS = 8, 512, 64, [1, 2, 4, 8, 16], 15


def milliseconds(work: Callable[[], object]) -> float:
    """The least CPU time of several runs: other processes on the machine do not count."""
    times = []
    for _run in range(RUNS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return round(1000 * min(times), 2)


def parts(n_heads: int) -> dict[str, float]:
    attention = MultiHeadAttention(D_MODEL, n_heads)
    x = torch.randn(BATCH, SEQ_LEN, D_MODEL)
    q, k, v = (split_heads(layer(x), n_heads) for layer in (attention.w_q, attention.w_k, attention.w_v))
    scores = q @ k.mT
    weights = scores.softmax(dim=-1)
    table = torch.empty_like(scores)  # memory that is there already
    return {
        "the module": milliseconds(lambda: attention(x, x, x)),
        "one projection": milliseconds(lambda: attention.w_o(x)),
        "scores": milliseconds(lambda: q @ k.mT),
        "softmax": milliseconds(lambda: scores.softmax(dim=-1)),
        "scores, memory reused": milliseconds(lambda: torch.matmul(q, k.mT, out=table)),
        "softmax, memory reused": milliseconds(lambda: torch.softmax(scores, dim=-1, out=table)),
        "weighted means": milliseconds(lambda: weights @ v),
        "fused attention": milliseconds(lambda: merge_heads(F.scaled_dot_product_attention(q, k, v))),
    }


@torch.no_grad()
def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    runs = [parts(n_heads) for n_heads in HEADS]
    table = {name: [run[name] for run in runs] for name in runs[0]}
    for name, row in table.items():
        print(f"{name:22}", *(f"{value:8.2f}" for value in row))
    store(__file__, seeds=[0], heads=HEADS, batch=BATCH, seq_len=SEQ_LEN, d_model=D_MODEL, milliseconds=table)


if __name__ == "__main__":
    main()
