"""Why a few tokens cost hardly more than one: vectors through a matrix, and writing with and without a cache.

    python -m experiments.cost_steps

`rows`: microseconds in which m vectors go through one matrix (d, d), in float32, for matrices that fit into the caches
of a CPU and for one that must come from memory; `read` is how many bytes a second a plain sum of that matrix reads.
`cache`: seconds in which a Transformer without and with a key-value cache writes texts of several lengths. CPU time of
one thread, the smallest of several runs. About six minutes on one core.
"""

import time
from collections.abc import Callable

import torch

from course_lib.fast.cached import CachedTransformer
from course_lib.reproducible import make_reproducible
from course_lib.tokens import BOS
from course_lib.transformer import Transformer, TransformerConfig
from experiments import store

WIDTHS = [128, 1024, 8192]
VECTORS = [1, 2, 4, 8, 16, 32, 64]
SECONDS, RUNS, AT_ONCE = 1.0, 5, 2**22
SIZES = {"small": {"d_model": 64, "n_heads": 4, "d_ff": 256, "n_layers": 2}}
SIZES["large"] = {"d_model": 256, "n_heads": 8, "d_ff": 1024, "n_layers": 4}
LENGTHS = [64, 128, 256, 512]


def seconds(work: Callable[[], object], runs: int | None = None) -> float:
    times = []
    while len(times) < (runs or RUNS) or (runs is None and sum(times) < SECONDS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def vectors(d: int) -> dict:
    """Each call goes through the matrix several times, so that the clock has enough to measure."""
    weight = torch.randn(d, d)
    times = max(1, AT_ONCE // d**2)
    found = []
    for m in VECTORS:
        x = torch.randn(m, d)
        spent = seconds(lambda x=x: [x @ weight for _ in range(times)])
        found.append(float(f"{1e6 * spent / times:.3g}"))
    read = 4 * d * d * times / seconds(lambda: [weight.sum() for _ in range(times)])
    return {"d": d, "vectors": VECTORS, "microseconds": found, "read": float(f"{read:.2g}")}


def write(model, state, tokens: torch.Tensor) -> None:
    for t in range(tokens.shape[1]):
        _, state = model.step(tokens[:, t : t + 1], state)


def cache(size: str, length: int) -> dict:
    config = TransformerConfig(1000, **SIZES[size], dropout=0.0, max_len=1024)
    model = Transformer(config).eval()
    cached = CachedTransformer(model)
    src, tokens = torch.randint(4, 1000, (1, 16)), torch.randint(4, 1000, (1, length))
    tokens[0, 0] = BOS
    found = {"size": size, "length": length}
    for name, one in (("plain", model), ("cached", cached)):
        spent = seconds(lambda one=one: write(one, one.start(src), tokens), runs=2)
        found[name] = float(f"{spent:.3g}")
    return found


@torch.no_grad()
def main() -> None:
    make_reproducible(0)
    torch.set_num_threads(1)
    rows = [vectors(d) for d in WIDTHS]
    for row in rows:
        print(row, flush=True)
    caches = []
    for size in SIZES:
        for length in LENGTHS:
            caches.append(cache(size, length))
            print(caches[-1], flush=True)
    store(__file__, seeds=[0], rows=rows, sizes=SIZES, cache=caches)


if __name__ == "__main__":
    main()
