"""Exercise: the causal mask."""

import torch

from course_lib.masks import causal_mask
from course_practice.engine import Convention, Exercise, Mistake, case
from course_practice.exercises.masks._shared import NEG_INF, one_infinity, ones


def by_comparing_positions(n):
    positions = torch.arange(n)
    return positions[None, :] <= positions[:, None]


def with_two_loops(n):
    return torch.tensor([[key <= query for key in range(n)] for query in range(n)])


def by_hiding_the_future(n):
    return ~torch.ones(n, n).triu(diagonal=1).bool()


EXERCISE = Exercise(
    title="The causal mask",
    task="Return an (n, n) boolean mask, True where query i (row) may attend to key j (column): j <= i.",
    reference=causal_mask,
    cases=lambda: [case(n, about=f"{n} token{'s' * (n != 1)}") for n in (1, 2, 3, 5, 8)],
    canonical=one_infinity,
    mistakes=(
        Mistake(
            "excludes-self",
            lambda n: ones(n).tril(-1),
            "Your mask hides each token from itself. Token 0 then has nothing to look at: keep the diagonal, j <= i.",
        ),
        Mistake(
            "one-too-far",
            lambda n: ones(n).tril(1),
            "Each token sees one token of its future, and key i + 1 is the very word that row i must predict. Where "
            "does the last True of row 0 belong?",
        ),
        Mistake(
            "transposed",
            lambda n: ones(n).triu(),
            "Your mask shows the future and hides the past. Rows are queries, columns keys: keep the lower triangle.",
        ),
        Mistake(
            "only-itself",
            lambda n: torch.eye(n, dtype=torch.bool),
            "Every token sees itself alone, so no information flows between tokens. Its past must be visible, too.",
        ),
        Mistake(
            "hides-nothing",
            ones,
            "Your mask lets every token see every other, the future included. Which cells of row 0 must be False?",
        ),
        Mistake(
            "four-axes",
            lambda n: ones(n).tril()[None, None],
            "The values are right, but two axes are too many. One table (n, n) serves all sentences and heads as it "
            "is: PyTorch lines shapes up from the right.",
        ),
        Mistake(
            "zero-times-infinity",
            lambda n: (1 - torch.ones(n, n).tril()) * NEG_INF,
            "The cells that should stay visible are NaN, which is what zero times infinity gives. And no infinities "
            "are needed here: True = may attend.",
        ),
        Convention(
            "true-means-ignore",
            lambda n: ones(n).triu(1),
            "Valid for `nn.MultiheadAttention`, where True means ignore; here True means *may attend*. Add a `~`.",
        ),
        Convention(
            "additive",
            lambda n: torch.full((n, n), NEG_INF).triu(1),
            "Valid as a mask to *add* (0 and −∞). Here masks are boolean: compare it with 0, and you have True = may "
            "attend.",
        ),
    ),
    hints=(
        "Draw the mask for three tokens: which cells of rows 0, 1, and 2 are True?",
        "Row i is query i, and column j is key j. Past and present mean j <= i, a lower triangle with its diagonal.",
        "`torch.ones(n, n, dtype=torch.bool)` is all True; `.tril()` keeps the lower triangle.",
    ),
    alternatives=(by_comparing_positions, with_two_loops, by_hiding_the_future),
    difficulty=1,
    minutes=5,
)
