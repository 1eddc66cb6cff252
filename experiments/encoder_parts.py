"""What does a pre-norm layer lose without attention, or without its network? Labels of tokens that stand alone.

    python -m experiments.encoder_parts

The task of `encoder_alone`: each pair of a word and a position has one of eight labels, drawn at random, and stands
alone. The model is one pre-norm encoder layer with its norms. Left out in its turn: attention, or the feed-forward
network. A last arm has two more attentions in the network's place, with no fewer parameters than the whole layer. Two
seeds choose each arm's rate on a grid of about 1.6, by the mean loss, and ten other seeds give its results. Ten
minutes on one core.
"""

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.nn import functional as F

from course_lib.encoder import Encoder
from experiments import store

N_LABELS, N_HEADS, UPDATES = 8, 2, 400
RATES = [0.0025, 0.004, 0.0063, 0.01, 0.016, 0.025, 0.04, 0.063]
CHOOSING, SEEDS = [100, 101], list(range(10))
SIZES = [(8, 6, 16), (18, 9, 6), (24, 12, 8)]  # words, positions, d_model
# how many layers, and what is left out of each
ARMS = {
    "attention and feed-forward": (1, ""),
    "no attention": (1, "attention"),
    "no feed-forward": (1, "feed-forward"),
    "attention three times": (3, "feed-forward"),
}


class Skip(nn.Module):
    """In the place of a residual: the stream goes on, and the part adds nothing."""

    def forward(self, x: Tensor, _part: nn.Module) -> Tensor:
        return x


class Labels(nn.Module):
    """Logits of the labels of tokens that stand alone."""

    def __init__(self, n_words: int, n_positions: int, d_model: int, arm: str):
        super().__init__()
        n_layers, without = ARMS[arm]
        self.word = nn.Embedding(n_words, d_model)
        self.position = nn.Embedding(n_positions, d_model)
        self.encoder = Encoder(n_layers, d_model, N_HEADS, 4 * d_model, dropout=0.0, norm_first=True)
        for layer in self.encoder.layers:
            if without == "attention":
                layer.residuals[0], layer.attention = Skip(), nn.Identity()
            if without == "feed-forward":
                layer.residuals[1], layer.feed_forward = Skip(), nn.Identity()
        self.readout = nn.Linear(d_model, N_LABELS)

    def forward(self, words: Tensor, positions: Tensor) -> Tensor:
        x = self.word(words) + self.position(positions)
        return self.readout(self.encoder(x[:, None])[:, 0])


def train(size: tuple[int, int, int], arm: str, cases: list[tuple[float, int]]) -> list[tuple[float, float]]:
    """Loss and share of labels named for each (rate, seed). All train at once: a row of `flat` is one model."""
    n_words, n_positions, _d_model = size
    words, positions = torch.cartesian_prod(torch.arange(n_words), torch.arange(n_positions)).T
    models, tables = [], []
    for _rate, seed in cases:
        torch.manual_seed(seed)
        tables.append(torch.randint(N_LABELS, (len(words),)))
        models.append(Labels(*size, arm).eval())  # there is no dropout to switch off, and vmap refuses it
    labels = torch.stack(tables)
    shapes = {name: parameter.shape for name, parameter in models[0].named_parameters()}
    flat = torch.stack([nn.utils.parameters_to_vector(model.parameters()) for model in models]).detach()
    rates = torch.tensor([[rate] for rate, _seed in cases])
    first, second = torch.zeros_like(flat), torch.zeros_like(flat)

    def logits_of(weights: Tensor) -> Tensor:
        parts = weights.split([shape.numel() for shape in shapes.values()])
        named = {name: part.view(shape) for part, (name, shape) in zip(parts, shapes.items(), strict=True)}
        return functional_call(models[0], named, (words, positions))

    for update in range(1, UPDATES + 1):
        flat.requires_grad_()
        logits = vmap(logits_of)(flat)
        losses = F.cross_entropy(logits.movedim(-1, 1), labels, reduction="none").mean(dim=1)
        (slope,) = torch.autograd.grad(losses.sum(), flat)
        first = 0.9 * first + 0.1 * slope  # Adam
        second = 0.999 * second + 0.001 * slope.square()
        direction = first / (1 - 0.9**update) / ((second / (1 - 0.999**update)).sqrt() + 1e-8)
        falling = min(1, 2 * (1 - update / (UPDATES + 1)))  # in the second half, the rate falls to zero
        flat = flat.detach() - falling * rates * direction

    with torch.no_grad():
        logits = vmap(logits_of)(flat)
    losses = F.cross_entropy(logits.movedim(-1, 1), labels, reduction="none").mean(dim=1)
    named = (logits.argmax(dim=-1) == labels).double().mean(dim=1)
    return [*zip(losses.tolist(), named.tolist(), strict=True)]


def run(size: tuple[int, int, int], arm: str) -> dict:
    """Choose the rate with two seeds, then train ten others at it."""
    found = train(size, arm, [(rate, seed) for rate in RATES for seed in CHOOSING])
    means = torch.tensor([loss for loss, _share in found]).view(len(RATES), len(CHOOSING)).mean(dim=1)
    best = RATES[means.nan_to_num(torch.inf).argmin()]
    shares = [round(share, 4) for _loss, share in train(size, arm, [(best, seed) for seed in SEEDS])]
    n_words, n_positions, d_model = size
    return {
        **{"labels": n_words * n_positions, "d_model": d_model, "arm": arm},
        "parameters": sum(p.numel() for p in Labels(*size, arm).parameters()),
        "rate": best,
        "tried": [float(f"{loss:.3g}") for loss in means.tolist()],
        "named": shares,
    }


def main() -> None:
    torch.set_num_threads(1)
    rows = []
    for size in SIZES:
        for arm in ARMS:
            rows.append(run(size, arm))
            print(rows[-1], flush=True)
    store(__file__, seeds=SEEDS, choosing=CHOOSING, rates=RATES, updates=UPDATES, sizes=SIZES, rows=rows)


if __name__ == "__main__":
    main()
