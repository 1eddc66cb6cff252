"""Positions beyond the trained length: which repair helps which kind, and what many keys do.

    python -m experiments.positional_encoding_length

Two back: one attention layer writes at each position the random word that stands two positions before. It trains on
sixteen words, and reads up to 256. Next to no positions at all there are a learned table, sinusoids, both with random
offsets in training, and a learned number for each distance, at the rate of the others and at ten times that rate.
Previous word: two causal layers behind a BOS, with learned positions, sinusoids, or none. All of it three times. About
three minutes on one core.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.positional_encoding import LearnedPositions, SinusoidalPositions
from course_lib.reproducible import make_reproducible
from experiments import store

SEEDS = [0, 1, 2]
N_WORDS, N, D = 10, 16, 32
LONGEST, MAX_OFFSET, CLIP = 256, 48, 8
STEPS, LONGER, CAUSAL = 800, 2400, 1000  # with offsets, each row of the table is trained in some updates only
KINDS = ["none", "learned", "sinusoidal", "sinusoidal, longer"]
KINDS += ["learned, offsets", "sinusoidal, offsets", "distances", "distances at 0.1"]


class Distances(nn.Module):
    """One learned number for each distance from −clip to clip, added to the scores."""

    def __init__(self, clip: int = CLIP):
        super().__init__()
        self.clip, self.table = clip, nn.Parameter(torch.zeros(2 * clip + 1))

    def forward(self, n: int) -> torch.Tensor:
        place = torch.arange(n)
        return self.table[(place[None] - place[:, None]).clamp(-self.clip, self.clip) + self.clip]


class Attention(nn.Module):
    """One head, with a residual connection."""

    def __init__(self, d: int, distances: nn.Module | None = None, causal: bool = False):
        super().__init__()
        self.w_q, self.w_k, self.w_v = (nn.Linear(d, d, bias=False) for _ in range(3))
        self.distances, self.causal = distances, causal

    def forward(self, x: torch.Tensor, factor: float = 1.0, window: int | None = None) -> torch.Tensor:
        n, d = x.shape[1:]
        scores = self.w_q(x) @ self.w_k(x).mT / math.sqrt(d)
        if self.distances:
            scores = scores + self.distances(n)
        if self.causal:
            scores = scores.masked_fill(torch.ones(n, n).triu(1).bool(), float("-inf"))
        if window:
            place = torch.arange(n)
            scores = scores.masked_fill((place[None] - place[:, None]).abs() > window, float("-inf"))
        self.weights = (factor * scores).softmax(dim=-1)
        return x + self.weights @ self.w_v(x)


class Reader(nn.Module):
    """Words, positions, layers of attention, readout."""

    def __init__(self, positions: nn.Module | None, layers: list[Attention], n_ids: int):
        super().__init__()
        self.words, self.positions = nn.Embedding(n_ids, D), positions
        self.layers, self.readout = nn.ModuleList(layers), nn.Linear(D, N_WORDS)

    def forward(
        self, ids: torch.Tensor, offset: int = 0, factor: float = 1.0, window: int | None = None
    ) -> torch.Tensor:
        x = self.words(ids)
        if self.positions:
            x = self.positions(x, offset)
        for layer in self.layers:
            x = layer(x, factor, window)
        return self.readout(x)


def make_positions(kind: str) -> nn.Module | None:
    return {
        "learned": lambda: LearnedPositions(LONGEST, D),
        "sinusoidal": lambda: SinusoidalPositions(D),
    }.get(kind.split(",")[0], lambda: None)()


def train(model, draw, steps, lr, offsets=False, table_lr=None):
    """Position t ≥ 2 gives back word t − 2 of those drawn; Adam with a rate that falls to 0.

    The table of distances may have a rate of its own: its few numbers are added up to a score as they are, where the
    others are multiplied with each other.
    """
    model.double()
    own = [parameter for name, parameter in model.named_parameters() if name.endswith("distances.table")]
    others = [parameter for name, parameter in model.named_parameters() if not name.endswith("distances.table")]
    groups = [{"params": others}, {"params": own, "lr": table_lr or lr}] if own else others
    optimizer = torch.optim.Adam(groups, lr=lr)
    fade = torch.optim.lr_scheduler.LinearLR(optimizer, 1, 0, steps)
    for _step in range(steps):
        words, ids = draw(64, N)
        offset = torch.randint(MAX_OFFSET + 1, ()).item() if offsets else 0
        loss = F.cross_entropy(model(ids, offset)[:, 2:].mT, words[:, : N - 2])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        fade.step()
    return model


def random_words(n_sentences, n, generator=None):
    words = torch.randint(N_WORDS, (n_sentences, n), generator=generator)
    return words, words


def behind_a_bos(n_sentences, n, generator=None):
    """The ids begin with a BOS, so that word t − 2 is the word before that of position t."""
    words = torch.randint(N_WORDS, (n_sentences, n - 1), generator=generator)
    return words, F.pad(words, (1, 0), value=N_WORDS)


@torch.no_grad()
def by_position(model, draw, n, n_sentences=500, factor=1.0, window=None):
    """The share of right words at the positions 2 … n − 1."""
    words, ids = draw(n_sentences, n, torch.Generator().manual_seed(1))
    logits = torch.cat([model(part, factor=factor, window=window) for part in ids.split(50)])
    guess = logits[:, 2:].argmax(dim=-1)
    return (guess == words[:, : n - 2]).double().mean(dim=0)


def with_factor(model, n, factor):
    """The share of right words, and the mean weight on the word that must be found."""
    right = by_position(model, random_words, n, 50, factor).mean().item()
    weight = model.layers[0].weights.diagonal(offset=-2, dim1=1, dim2=2).mean().item()
    return {"right": round(right, 3), "weight": round(weight, 3)}


def in_and_out(right):
    """Mean up to the trained length, and beyond it."""
    inside, outside = right[: N - 2], right[N - 2 :]
    return [round(inside.mean().item(), 3), round(outside.mean().item(), 3) if len(outside) else None]


def two_back() -> tuple[list, dict]:
    rows, curves = [], {}
    for kind in KINDS:
        for seed in SEEDS:
            make_reproducible(seed)
            distances = Distances() if "distances" in kind else None
            model = Reader(make_positions(kind), [Attention(D, distances)], N_WORDS)
            steps, table_lr = (LONGER if "," in kind else STEPS), (0.1 if kind == "distances at 0.1" else None)
            train(model, random_words, steps, 0.01, "offsets" in kind, table_lr)
            found = {n: by_position(model, random_words, n) for n in (16, 24, 32, 64)}
            row = {"kind": kind, "seed": seed} | {f"{n}": in_and_out(right) for n, right in found.items()}
            if distances or "sinusoidal" in kind:
                for n in (16, 64, 256) if distances else (64,):
                    row[f"all {n}"] = [with_factor(model, n, factor) for factor in (1.0, math.log(n) / math.log(N))]
            if distances:
                row["larger 256"] = {factor: with_factor(model, LONGEST, factor) for factor in (1.5, 4, 16)}
            if kind == "learned, offsets" or "sinusoidal" in kind:  # hide the keys at distances that training lacks
                row["near 64"] = in_and_out(by_position(model, random_words, 64, window=N - 1))
            if kind in ("learned", "sinusoidal", "learned, offsets", "sinusoidal, offsets"):
                right = by_position(model, random_words, 48, 1000)
                curves.setdefault(kind, []).append([round(share, 3) for share in right.tolist()])
            rows.append(row)
            print(row, flush=True)
    return rows, curves


def previous_word() -> list:
    rows = []
    for kind in ("none", "learned", "sinusoidal"):
        for seed in SEEDS:
            make_reproducible(seed)
            layers = [Attention(D, causal=True) for _ in range(2)]
            model = Reader(make_positions(kind), layers, N_WORDS + 1)
            train(model, behind_a_bos, CAUSAL, 0.005)
            found = {n: by_position(model, behind_a_bos, n) for n in (16, 24, 32, 64)}
            rows.append({"kind": kind, "seed": seed} | {f"{n}": in_and_out(right) for n, right in found.items()})
            print(rows[-1], flush=True)
    return rows


def main() -> None:
    rows, curves = two_back()
    store(__file__, seeds=SEEDS, trained_on=N, rows=rows, by_position=curves, previous_word=previous_word())


if __name__ == "__main__":
    main()
