"""Words of four sizes beside sinusoids of one size: two tasks, one that needs the place and one that needs the word.

    python -m experiments.positional_encoding_scale

One attention layer, d_model = 64. Two back: write the word that stands two positions before, 10 random words. Again:
does this word occur a second time in the sentence? 24 random words. The table of words begins with a standard deviation
of 1 or 1/√d_model, and is multiplied by √d_model or not. Two more starts tell the size of the sum from the ratio of its
parts. Each task at two learning rates with three seeds, until the loss is below 0.1 or the updates are used up. Two
controls repeat the loud starts on two back: with a layer norm before the attention, and with scores divided by 64, the
square of the factor. Dividing the scores by 64 is the same as W_Q and W_K an eighth as large with an eighth of the
learning rate, so two more repeat the balanced one, with five seeds, with either of these alone. Last, learned positions
beside the paper's words, on two back: as short as the library's, and as long as the words. About six minutes on one
core.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.positional_encoding import sinusoidal_encoding
from course_lib.reproducible import make_reproducible
from experiments import store

SEEDS = [0, 1, 2]
N, D = 16, 64
RATES = [0.003, 0.01]
WORDS = {
    "paper": (D**-0.5, math.sqrt(D), 1.0),
    "short": (D**-0.5, 1.0, 1.0),
    "default": (1.0, 1.0, 1.0),
    "default × √d": (1.0, math.sqrt(D), 1.0),
    "positions / √d": (1.0, 1.0, D**-0.5),  # positions drowned as in the last row, in a small sum
    "both × √d": (1.0, math.sqrt(D), math.sqrt(D)),  # nothing drowned, in a sum as large as in that row
}  # the table's standard deviation, what it is multiplied by, and what the positions are multiplied by
CONTROLS = {"layer norm first": (True, 1), "scores / 64": (False, D)}  # is there a norm, what the scores are divided by
# what W_Q and W_K are divided by at the start, and their learning rate
HALVES = {"none": (1, 1), "small start": (8, 1), "small steps": (1, 8), "both": (8, 8)}
LEARNED = {"std 1/√d": D**-0.5, "std 1": 1.0}  # the standard deviation with which learned positions begin
TASKS = {"two back": (10, 10, 300), "again": (24, 2, 600)}  # words, answers, updates


class Reader(nn.Module):
    """Words times a factor, sinusoids, one head with a residual connection, readout."""

    def __init__(
        self, n_words: int, n_answers: int, std: float, factor: float, places: float, control: tuple[bool, int]
    ):
        super().__init__()
        self.words, self.factor = nn.Embedding(n_words, D), factor
        nn.init.normal_(self.words.weight, std=std)
        self.w_q, self.w_k, self.w_v = (nn.Linear(D, D, bias=False) for _ in range(3))
        self.readout = nn.Linear(D, n_answers)
        norm_first, self.smaller = control
        self.norm = nn.LayerNorm(D) if norm_first else nn.Identity()
        self.register_buffer("places", places * sinusoidal_encoding(N, D))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.factor * self.words(ids) + self.places
        y = self.norm(x)
        scores = self.w_q(y) @ self.w_k(y).mT / math.sqrt(D) / self.smaller
        return self.readout(x + scores.softmax(dim=-1) @ self.w_v(y))


class LearnedReader(Reader):
    """The paper's words, with a learned vector for each position."""

    def __init__(self, n_words: int, n_answers: int, std: float):
        super().__init__(n_words, n_answers, *WORDS["paper"], (False, 1))
        del self.places
        self.places = nn.Parameter(std * torch.randn(N, D))


def example(task: str, ids: torch.Tensor) -> tuple[slice, torch.Tensor]:
    """Which positions answer, and what."""
    if task == "two back":
        return slice(2, None), ids[:, :-2]
    return slice(None), ((ids[:, :, None] == ids[:, None]).sum(dim=-1) > 1).long()


def train(
    task: str, words: str, lr: float, seed: int, control: tuple[bool, int] = (False, 1)
) -> tuple[int | None, float]:
    """The first update whose loss is below 0.1 (None: never), and the mean of the last ten losses."""
    make_reproducible(seed)
    n_words, n_answers, _steps = TASKS[task]
    return fit(Reader(n_words, n_answers, *WORDS[words], control), task, lr)


def fit(model: Reader, task: str, lr: float, slower: float = 1, updates: int | None = None) -> tuple[int | None, float]:
    """As in `train`; W_Q and W_K learn `slower` times as slowly."""
    n_words, _n_answers, steps = TASKS[task]
    steps = steps if updates is None else updates
    model.double()
    scoring = [model.w_q.weight, model.w_k.weight]
    others = [parameter for name, parameter in model.named_parameters() if name not in ("w_q.weight", "w_k.weight")]
    optimizer = torch.optim.Adam([{"params": others}, {"params": scoring, "lr": lr / slower}], lr=lr)
    losses = []
    for step in range(steps):
        ids = torch.randint(n_words, (64, N))
        where, target = example(task, ids)
        loss = F.cross_entropy(model(ids)[:, where].mT, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if losses[-1] < 0.1:
            return step, round(losses[-1], 3)
    return None, round(sum(losses[-10:]) / max(len(losses[-10:]), 1), 3)


def controlled() -> list[dict]:
    rows = []
    for control in CONTROLS:
        for words in ("default × √d", "both × √d"):
            for lr in RATES:
                runs = [train("two back", words, lr, seed, CONTROLS[control]) for seed in SEEDS]
                solved, loss = (list(found) for found in zip(*runs, strict=True))
                rows.append({"control": control, "words": words, "lr": lr, "solved": solved, "loss": loss})
                print(rows[-1], flush=True)
    return rows


def loud(smaller: float, seed: int) -> Reader:
    """The balanced large sum, with W_Q and W_K divided at the start."""
    make_reproducible(seed)
    model = Reader(*TASKS["two back"][:2], *WORDS["both × √d"], (False, 1)).double()
    with torch.no_grad():
        model.w_q.weight /= smaller
        model.w_k.weight /= smaller
    return model


@torch.no_grad()
def largest(model: Reader) -> float:
    """The largest weight of a query, the mean over all queries of 64 new sentences."""
    x = model.factor * model.words(torch.randint(len(model.words.weight), (64, N))) + model.places
    scores = model.w_q(x) @ model.w_k(x).mT / math.sqrt(D)
    return scores.softmax(dim=-1).amax(dim=-1).mean().item()


def halves() -> list[dict]:
    """What dividing the scores does, one half at a time: trained, and the largest weights after 0 and 5 updates."""
    rows = []
    for name, (smaller, slower) in HALVES.items():
        for lr in RATES:
            runs = [fit(loud(smaller, seed), "two back", lr, slower) for seed in range(5)]
            solved, loss = (list(found) for found in zip(*runs, strict=True))
            rows.append({"half": name, "lr": lr, "solved": solved, "loss": loss})
            rows[-1]["largest"] = [early(smaller, lr, slower, updates) for updates in (0, 5)]
            print(rows[-1], flush=True)
    return rows


def early(smaller: float, lr: float, slower: float, updates: int) -> float:
    found = []
    for seed in range(5):
        model = loud(smaller, seed)
        fit(model, "two back", lr, slower, updates)
        found.append(largest(model))
    return round(sum(found) / len(found), 2)


def learned() -> list[dict]:
    rows = []
    for name, std in LEARNED.items():
        for lr in RATES:
            runs = []
            for seed in SEEDS:
                make_reproducible(seed)
                runs.append(fit(LearnedReader(*TASKS["two back"][:2], std), "two back", lr))
            solved, loss = (list(found) for found in zip(*runs, strict=True))
            rows.append({"positions": name, "lr": lr, "solved": solved, "loss": loss})
            print(rows[-1], flush=True)
    return rows


def main() -> None:
    rows = []
    for task in TASKS:
        for words in WORDS:
            for lr in RATES:
                runs = [train(task, words, lr, seed) for seed in SEEDS]
                solved, loss = (list(found) for found in zip(*runs, strict=True))
                rows.append({"task": task, "words": words, "lr": lr, "solved": solved, "loss": loss})
                print(rows[-1], flush=True)
    store(__file__, seeds=SEEDS, d_model=D, rows=rows, controls=controlled(), halves=halves(), learned=learned())


if __name__ == "__main__":
    main()
