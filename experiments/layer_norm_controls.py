"""Two controls on deep stacks: does post-norm need a warm-up, and is it the taking of means that stops a stack?

    python -m experiments.layer_norm_controls

Task, model and optimizer are those of `experiments.layer_norm_depth`. The first control trains six post-norm layers
with Xavier's initial weights for 500 updates at a rate of 0.01, which stays as it is or rises from 0 over the first
200 updates, with ten seeds each. The second trains four layers with norms only for 200 updates, once as they are, and
once with an attention in layers 2 to 4 in which each token attends to itself alone. About three minutes on two cores.
"""

from concurrent.futures import ProcessPoolExecutor

from torch import nn

from experiments import layer_norm_depth, store
from experiments.layer_norm_depth import SelfAttention, Stack

SEEDS = list(range(10))
RATE = 0.01


def warmed(warmup):
    """One row for each seed; all of them are trained at once."""
    layer_norm_depth.SEEDS = SEEDS
    return layer_norm_depth.run("post-norm", 6, (RATE,), steps=500, weights="Xavier", warmup=warmup)


class FirstMeans(Stack):
    """Only the first attention takes means: in the others each token attends to itself, with the same matrices."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        for number, f in enumerate(self.sublayers):
            if isinstance(f, SelfAttention) and number:
                self.sublayers[number] = nn.Sequential(f.attention.w_v, f.attention.w_o)


def without_means(means):
    """Three seeds, with PyTorch's initial weights, at a rate of 0.003."""
    layer_norm_depth.SEEDS = SEEDS[:3]
    layer_norm_depth.Stack = {"all layers": Stack, "first layer": FirstMeans}[means]
    rows = layer_norm_depth.run("norm only", 4, (0.003,), steps=200)
    layer_norm_depth.Stack = Stack
    return [{"means": means, **row} for row in rows]


def main():
    with ProcessPoolExecutor(max_workers=2) as pool:
        warmup = [row for rows in pool.map(warmed, (0, 200)) for row in rows]
        means = [row for rows in pool.map(without_means, ("all layers", "first layer")) for row in rows]
    store(__file__, seeds=SEEDS, warmup=warmup, means=means)


if __name__ == "__main__":
    main()
