"""Can one head tell a word's two neighbors apart? Two rates, four seeds, ten models, and how each of them learns.

    python -m experiments.multi_head_question

Sentences of six words are drawn at random from ten. Every word with two neighbors must name the word before it and
the word after it. Queries and keys come from learned vectors for the positions (in some models from the words, too),
values from the words (in some models from the positions, too); what attention returns goes through one readout for each
of the two answers. About nine minutes on one core.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap
from torch.nn import functional as F

from course_lib.multi_head import MultiHeadAttention
from experiments import store

N_WORDS, SEQ_LEN, D_MODEL, HIDDEN = 10, 6, 16, 64
RATES, SEEDS, STEPS, EVERY = [0.01, 0.003], [0, 1, 2, 3], 3000, 250
NARROW = 6  # hidden features with which a readout of two layers has about as many parameters as a linear one


class EqualWeights(MultiHeadAttention):
    """One head whose weights are held at one half for each neighbor."""

    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        ones = torch.ones(SEQ_LEN - 1, dtype=value.dtype)
        neighbors = ones.diag(1) + ones.diag(-1)
        weights = neighbors / neighbors.sum(dim=-1, keepdim=True)
        return self.w_o(weights @ self.w_v(value)), weights.expand(len(value), 1, -1, -1)


class Neighbors(nn.Module):
    """Logits of the word before and of the word after, for words with two neighbors, and the attention weights."""

    def __init__(
        self,
        attention: nn.Module,
        before: nn.Module,
        after: nn.Module,
        words_ask: bool = False,
        values_know: bool = False,
        words_are_asked: bool | None = None,
    ):
        super().__init__()
        self.word = nn.Embedding(N_WORDS, D_MODEL)
        self.position = nn.Embedding(SEQ_LEN, D_MODEL)
        self.attention, self.before, self.after, self.words_ask = attention, before, after, words_ask
        self.values_know = values_know  # their positions, too
        self.words_are_asked = words_ask if words_are_asked is None else words_are_asked  # they stand in the keys, too

    def forward(self, ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        words, positions = self.word(ids), self.position.weight.expand(len(ids), -1, -1)
        asks = positions + words if self.words_ask else positions
        asked = positions + words if self.words_are_asked else positions
        told = words + positions if self.values_know else words
        seen, weights = self.attention(asks, asked, told)
        return self.before(seen[:, 1:-1]), self.after(seen[:, 1:-1]), weights


def linear() -> nn.Module:
    return nn.Linear(D_MODEL, N_WORDS)


def two_layers(hidden: int = HIDDEN) -> nn.Module:
    return nn.Sequential(nn.Linear(D_MODEL, hidden), nn.ReLU(), nn.Linear(hidden, N_WORDS))


def one_head() -> nn.Module:
    return MultiHeadAttention(D_MODEL, n_heads=1)


def two_heads() -> nn.Module:
    return MultiHeadAttention(D_MODEL, n_heads=2)


MODELS = {
    "one head, linear": lambda: Neighbors(one_head(), linear(), linear()),
    "one head, two layers": lambda: Neighbors(one_head(), two_layers(), two_layers()),
    "one head, two narrow layers": lambda: Neighbors(one_head(), two_layers(NARROW), two_layers(NARROW)),
    "equal weights, two layers": lambda: Neighbors(EqualWeights(D_MODEL, 1), two_layers(), two_layers()),
    "one head, words ask too, linear": lambda: Neighbors(one_head(), linear(), linear(), words_ask=True),
    "values know positions, linear": lambda: Neighbors(one_head(), linear(), linear(), values_know=True),
    "values know, words in the keys": lambda: Neighbors(one_head(), linear(), linear(), False, True, True),
    "values know, words in queries": lambda: Neighbors(one_head(), linear(), linear(), True, True, False),
    "words + positions, linear": lambda: Neighbors(one_head(), linear(), linear(), True, True),
    "two heads, linear": lambda: Neighbors(two_heads(), linear(), linear()),
}


def shares(models: nn.Module, parameters: dict[str, Tensor]) -> list[list[float]]:
    """For each seed, the shares of right answers on 2,000 new sentences: the word before, the word after, both."""
    ids = torch.randint(N_WORDS, (2000, SEQ_LEN), generator=torch.Generator().manual_seed(99))
    with torch.no_grad():
        before, after, _weights = vmap(functional_call, in_dims=(None, 0, None))(models, parameters, (ids,))
    hits = before.argmax(dim=-1) == ids[:, :-2], after.argmax(dim=-1) == ids[:, 2:]
    kinds = torch.stack([*hits, hits[0] & hits[1]], dim=1).double()  # (seeds, kinds, sentences, positions)
    return [[round(share, 4) for share in row] for row in kinds.mean(dim=(2, 3)).tolist()]


def trained(build: Callable[[], nn.Module], rate: float) -> list[dict]:
    """Train a model for each seed, all at once: what they reach on the way and at the end, where position 2 looks."""
    models = []
    for seed in SEEDS:
        torch.manual_seed(seed)
        models.append(build().double())
    parameters, _buffers = stack_module_state(models)
    forward = vmap(functional_call, in_dims=(None, 0, 0))
    generators = [torch.Generator().manual_seed(seed) for seed in SEEDS]
    optimizer = torch.optim.Adam(parameters.values(), lr=rate)
    both, losses = [], []
    for step in range(1, STEPS + 1):
        ids = torch.stack([torch.randint(N_WORDS, (32, SEQ_LEN), generator=generator) for generator in generators])
        before, after, weights = forward(models[0], parameters, (ids,))
        loss = loss_of(before, ids[..., :-2]) + loss_of(after, ids[..., 2:])
        optimizer.zero_grad()
        loss.sum().backward()
        optimizer.step()
        losses.append(loss.detach())
        if step % EVERY == 0:
            both.append([share for _, _, share in shares(models[0], parameters)])
    at_2 = weights[:, 0, :, 2].detach()
    return [
        {
            "rate": rate,
            "seed": seed,
            "both": list(way),
            "shares": end,
            "loss": round(loss.item(), 3),
            "weights": [[round(weight, 3) for weight in head] for head in rows.tolist()],
        }
        for seed, way, end, loss, rows in zip(
            SEEDS, zip(*both, strict=True), shares(models[0], parameters), sum(losses[-200:]) / 200, at_2, strict=True
        )
    ]


def loss_of(logits: Tensor, words: Tensor) -> Tensor:
    """The mean cross-entropy of each seed: logits (seeds, sentences, positions, words)."""
    return F.cross_entropy(logits.movedim(-1, 1), words, reduction="none").mean(dim=(1, 2))


def main() -> None:
    runs = {}
    for name, build in MODELS.items():
        runs[name] = [run for rate in RATES for run in trained(build, rate)]
        for run in runs[name]:
            print(name, run, flush=True)
    every = list(range(EVERY, STEPS + 1, EVERY))
    path = store(__file__, seeds=SEEDS, rates=RATES, steps=every, words=N_WORDS, d_model=D_MODEL, runs=runs)
    print("wrote", path.name)


if __name__ == "__main__":
    main()
