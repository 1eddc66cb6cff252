"""The largest piece of memory that attention asks for at once: with the table of scores, and fused.

    python -m experiments.attention_memory

The largest single allocation, as PyTorch's profiler sees it on a CPU. Memory of another kind of kernel may differ.
"""

import torch
from torch.nn import functional as F

from course_lib.attention import scaled_dot_product_attention
from course_lib.reproducible import make_reproducible
from experiments import store

LENGTHS = [512, 1024, 2048, 4096, 8192]
D_K = 64


def largest_piece(attend, n: int) -> int:
    """Bytes of the largest single allocation while n queries attend to n keys."""
    q, k, v = torch.randn(3, 1, 1, n, D_K)
    kind = torch.profiler.ProfilerActivity.CPU
    with torch.profiler.profile(activities=[kind], profile_memory=True) as seen:
        attend(q, k, v)
    return max(event.self_cpu_memory_usage for event in seen.events())


def main() -> None:
    make_reproducible(0)
    table = [largest_piece(scaled_dot_product_attention, n) for n in LENGTHS]
    fused = [largest_piece(F.scaled_dot_product_attention, n) for n in LENGTHS]
    print(LENGTHS, table, fused)
    store(__file__, seeds=[0], lengths=LENGTHS, d_k=D_K, table=table, fused=fused)


if __name__ == "__main__":
    main()
