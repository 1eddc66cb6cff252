"""Three controls on deep stacks: does post-norm need a warm-up, are the means to blame, and does size alone do harm?

    python -m experiments.layer_norm_controls

Task, model and optimizer are those of `experiments.layer_norm_depth`. The first control trains six post-norm layers
with Xavier's initial weights for 500 updates at a rate of 0.01, which stays as it is or rises from 0 over the first
200 updates, with ten seeds each. The second trains four layers with norms only for 200 updates, once as they are, and
once with an attention in layers 2 to 4 in which each token attends to itself alone. The third trains six layers with
residuals alone and PyTorch's weights for 150 updates, with an input that is ten times as large; so are six layers of
pre-norm and of γ, with Xavier's weights. About six minutes on two cores.
"""

from concurrent.futures import ProcessPoolExecutor

import torch
from torch import nn

from course_lib.reproducible import make_reproducible
from experiments import layer_norm_depth, store
from experiments.layer_norm_depth import SelfAttention, Stack, symbols

SEEDS = list(range(10))
WARMED, MEANS, LOUDER = 500, 200, 150  # updates
RATE, RATES, LOUD = 0.01, (0.0003, 0.001, 0.003, 0.01, 0.03), 10


def warmed(warmup):
    """One row for each seed; all of them are trained at once."""
    layer_norm_depth.SEEDS = SEEDS
    return layer_norm_depth.run("post-norm", 6, (RATE,), steps=WARMED, weights="Xavier", warmup=warmup)


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
    rows = layer_norm_depth.run("norm only", 4, (0.003,), steps=MEANS)
    layer_norm_depth.Stack = Stack
    return [{"means": means, **row} for row in rows]


class Loud(Stack):
    """Words and positions enter ten times as large."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.word.weight.data *= LOUD
        self.positions.table = LOUD * self.positions.table


@torch.no_grad()
def at_the_end(stack, seed):
    """Variety and size of the stream after six layers, before any training."""
    make_reproducible(seed)
    model = stack("residual only", 6).double()
    ends = []
    model.to_logits.register_forward_pre_hook(lambda _module, given: ends.append(given[0]))
    model(symbols(32, torch.Generator().manual_seed(seed)))
    (x,) = ends
    different = x - x.mean(dim=1, keepdim=True)
    share = different.square().sum(dim=(1, 2)) / x.square().sum(dim=(1, 2))
    return round(share.mean().item(), 3), round(x.std().item(), 2)


def louder():
    """Three seeds at each of five rates, and what the stream is like before the first update."""
    layer_norm_depth.SEEDS = SEEDS[:3]
    layer_norm_depth.Stack = Loud
    rows = layer_norm_depth.run("residual only", 6, RATES, steps=LOUDER)
    layer_norm_depth.Stack = Stack
    ends = {seed: at_the_end(Loud, seed) for seed in SEEDS[:3]}
    return [{"input": LOUD, **row, **dict(zip(("variety", "size"), ends[row["seed"]], strict=True))} for row in rows]


def loud(way):
    """The same input and rates, with Xavier's weights, in another way to join the sublayers."""
    layer_norm_depth.SEEDS = SEEDS[:3]
    layer_norm_depth.Stack = Loud
    rows = layer_norm_depth.run(way, 6, RATES, steps=LOUDER, weights="Xavier")
    layer_norm_depth.Stack = Stack
    return [{"input": LOUD, **row} for row in rows]


def main():
    with ProcessPoolExecutor(max_workers=2) as pool:
        warmup = [row for rows in pool.map(warmed, (0, 200)) for row in rows]
        means = [row for rows in pool.map(without_means, ("all layers", "first layer")) for row in rows]
        others = [row for rows in pool.map(loud, ("pre-norm", "gamma")) for row in rows]
    store(__file__, seeds=SEEDS, warmup=warmup, means=means, louder=louder(), loud=others)


if __name__ == "__main__":
    main()
