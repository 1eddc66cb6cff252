"""Exercises of chapter 05, masks."""

import torch

from course_lib.exercises.engine import Convention, Exercise, Mistake, case
from course_lib.masks import causal_mask


def _comparison(n):
    positions = torch.arange(n)
    return positions[None, :] <= positions[:, None]


def _loops(n):
    return torch.tensor([[key <= query for key in range(n)] for query in range(n)])


def _upper_inverted(n):
    return ~torch.ones(n, n).triu(diagonal=1).bool()


CAUSAL = Exercise(
    id="masks.causal",
    title="The causal mask",
    task="Return an (n, n) boolean mask, True where query i (row) may attend to key j (column): j <= i.",
    reference=causal_mask,
    cases=lambda: [case(n, about=f"{n} token{'s' * (n != 1)}") for n in (1, 2, 3, 5, 8)],
    mistakes=(
        Mistake(
            "excludes-self",
            lambda n: torch.ones(n, n).tril(-1).bool(),
            "Your mask hides each token from itself. Token 0 then has nothing to look at: keep the diagonal, j <= i.",
        ),
        Mistake(
            "one-too-far",
            lambda n: torch.ones(n, n).tril(1).bool(),
            "Your mask lets each token see one token of the future (tril(1)): key j = i + 1 must be hidden.",
        ),
        Mistake(
            "transposed",
            lambda n: torch.ones(n, n).triu().bool(),
            "Your mask shows the future and hides the past. Rows are queries, columns keys: keep the lower triangle.",
        ),
        Convention(
            "true-means-ignore",
            lambda n: torch.ones(n, n).triu(1).bool(),
            "Valid for `nn.MultiheadAttention`, where True means ignore; here True means *may attend*. Add a `~`.",
        ),
    ),
    hints=(
        "Draw the mask for three tokens: which cells of row 0, row 1, row 2 are True?",
        "Row i is the query, column j the key. Past and present mean j <= i: a lower triangle with its diagonal.",
        "`torch.ones(n, n, dtype=torch.bool)` is all True; `.tril()` keeps the lower triangle.",
    ),
    alternatives=(_comparison, _loops, _upper_inverted),
    difficulty=1,
    minutes=5,
)

EXERCISES = [CAUSAL]
