"""What bends a token that stands alone? Nine models, two rates, three seeds, alone and in a sentence of six words.

    python -m experiments.encoder_alone

Every pair of a word and a position has a label, drawn at random: all that is needed stands in the token itself. A
token's vector is the sum of two learned vectors, one for the word and one for the position. The label is read from the
stream by one linear layer. About a minute on one core.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap
from torch.nn import functional as F

from course_lib.encoder import FeedForward
from course_lib.layer_norm import LayerNorm
from course_lib.multi_head import MultiHeadAttention
from experiments import store

N_WORDS, SEQ_LEN, N_LABELS = 8, 6, 8
D_MODEL, D_FF, N_HEADS = 16, 32, 2
RATES, SEEDS, STEPS, BATCH = [0.003, 0.01], [0, 1, 2], 400, 64


class Attend(nn.Module):
    """The output of self-attention, without its weights."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(D_MODEL, N_HEADS)

    def forward(self, x: Tensor) -> Tensor:
        return self.attention(x, x, x)[0]


class AttendEqually(Attend):
    """The same, with all weights held equal: they no longer depend on the query."""

    def forward(self, x: Tensor) -> Tensor:
        return self.attention.w_o(self.attention.w_v(x).mean(dim=1, keepdim=True).expand_as(x))


class AttendWithOneQuery(Attend):
    """The same, with one trained query for all tokens: the weights depend on the keys alone."""

    def __init__(self) -> None:
        super().__init__()
        self.query = nn.Parameter(torch.randn(D_MODEL) / 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.attention(self.query.expand_as(x), x, x)[0]


class Labels(nn.Module):
    """Logits of the labels: the parts add to the stream one after the other, and one linear layer reads it."""

    def __init__(self, *parts: nn.Module, norm: bool = False):
        super().__init__()
        self.word = nn.Embedding(N_WORDS, D_MODEL)
        self.position = nn.Embedding(SEQ_LEN, D_MODEL)
        self.parts = nn.ModuleList(parts)
        self.norm = LayerNorm(D_MODEL) if norm else nn.Identity()
        self.readout = nn.Linear(D_MODEL, N_LABELS)

    def forward(self, words: Tensor, positions: Tensor) -> Tensor:
        x = self.word(words) + self.position(positions)
        for part in self.parts:
            x = x + part(x)
        return self.readout(self.norm(x))


def two_linear() -> nn.Module:
    return nn.Sequential(nn.Linear(D_MODEL, D_FF), nn.Linear(D_FF, D_MODEL))


def feed_forward() -> nn.Module:
    return FeedForward(D_MODEL, D_FF)


MODELS = {
    "readout alone": lambda: Labels(),
    "attention": lambda: Labels(Attend()),
    "attention, equal weights": lambda: Labels(AttendEqually()),
    "attention, one query": lambda: Labels(AttendWithOneQuery()),
    "attention, two linear layers": lambda: Labels(Attend(), two_linear()),
    "attention, feed-forward": lambda: Labels(Attend(), feed_forward()),
    "equal weights, feed-forward": lambda: Labels(AttendEqually(), feed_forward()),
    "feed-forward": lambda: Labels(feed_forward()),
    "attention, norm": lambda: Labels(Attend(), norm=True),
}


def every_token() -> tuple[Tensor, Tensor]:
    """All 48 pairs of a word and a position, each alone."""
    pairs = torch.cartesian_prod(torch.arange(N_WORDS), torch.arange(SEQ_LEN))
    return pairs[:, :1], pairs[:, 1:]


def sentences(n: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Sentences of six words drawn at random, in their positions."""
    return torch.randint(N_WORDS, (n, SEQ_LEN), generator=generator), torch.arange(SEQ_LEN).expand(n, -1)


def trained(build: Callable[[], nn.Module], rate: float, alone: bool) -> list[dict]:
    """Train a model for each seed, all at once, and count the labels it names."""
    models, tables = [], []
    for seed in SEEDS:
        torch.manual_seed(seed)
        tables.append(torch.randint(N_LABELS, (N_WORDS, SEQ_LEN)))
        models.append(build().double())
    parameters, _buffers = stack_module_state(models)
    forward = vmap(functional_call, in_dims=(None, 0, (0, None)))
    generators = [torch.Generator().manual_seed(seed) for seed in SEEDS]
    optimizer = torch.optim.Adam(parameters.values(), lr=rate)

    def run(n: int) -> tuple[Tensor, Tensor]:
        drawn = [every_token() if alone else sentences(n, generator) for generator in generators]
        words, positions = torch.stack([words for words, _ in drawn]), drawn[0][1]
        labels = torch.stack([table[w, positions] for table, w in zip(tables, words, strict=True)])
        return forward(models[0], parameters, (words, positions)), labels

    losses = []
    for _step in range(STEPS):
        logits, labels = run(BATCH)
        loss = F.cross_entropy(logits.movedim(-1, 1), labels, reduction="none").mean(dim=(1, 2))
        optimizer.zero_grad()
        loss.sum().backward()
        optimizer.step()
        losses.append(loss.detach())
    with torch.no_grad():
        logits, labels = run(2000)
    shares = (logits.argmax(dim=-1) == labels).double().mean(dim=(1, 2)).tolist()
    loss = (sum(losses[-20:]) / 20).tolist()
    return [
        {"rate": rate, "seed": seed, "share": round(share, 4), "loss": round(end, 3)}
        for seed, share, end in zip(SEEDS, shares, loss, strict=True)
    ]


def main() -> None:
    rows = []
    for name, build in MODELS.items():
        n_parameters = sum(p.numel() for p in build().parameters())
        runs = {}
        for where in ("alone", "in a sentence"):
            runs[where] = [run for rate in RATES for run in trained(build, rate, where == "alone")]
        rows.append({"model": name, "parameters": n_parameters, **runs})
        print(name, n_parameters, {where: [r["share"] for r in found] for where, found in runs.items()}, flush=True)
    path = store(__file__, seeds=SEEDS, rates=RATES, steps=STEPS, rows=rows)
    print("wrote", path.name)


if __name__ == "__main__":
    main()
