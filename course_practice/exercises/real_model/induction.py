import torch

from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn


def induction_scores(weights, period):
    """The mean weight on the token after the earlier copy, a number a head.

    weights is (heads, 2 * period, 2 * period): attention of a text of
    `period` random tokens that is written twice.

    >>> weights = torch.tensor([[[1.0, 0, 0, 0], [0, 1, 0, 0],
    ...                          [0, 0.8, 0.2, 0], [0, 0, 0.4, 0.6]]])
    >>> induction_scores(weights, period=2)   # 0.8 and 0.4
    tensor([0.6000])
    """
    second = torch.arange(period, 2 * period)
    return weights[:, second, second - period + 1].mean(dim=-1)


def with_a_diagonal(weights, period):
    stripe = weights.diagonal(offset=1 - period, dim1=1, dim2=2)
    return stripe[:, 1:].mean(dim=-1)


def one_by_one(weights, period):
    scores = []
    for head in weights:
        found = [head[i, i - period + 1] for i in range(period, 2 * period)]
        scores.append(sum(found) / period)
    return torch.stack(scores)


def _weights(heads, period, seed, causal=True):
    scores = 2 * randn(heads, 2 * period, 2 * period, seed=seed)
    if causal:
        future = torch.ones(2 * period, 2 * period, dtype=torch.bool).triu(1)
        scores = scores.masked_fill(future, -torch.inf)
    return scores.softmax(dim=-1)


def _cases():
    by_hand = torch.tensor([[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0.8, 0.2, 0], [0, 0, 0.4, 0.6]])
    after, same = torch.eye(6).tril(-3), torch.eye(6).tril(-3)
    for i in range(6):
        after[i, max(i - 2, 0)] = 1.0  # the token after the earlier copy, where there is one
        same[i, max(i - 3, 0)] = 1.0  # the earlier copy itself
    return [
        case(by_hand[None], 2, about="two tokens, written twice, by hand"),
        case(torch.stack([after, same]), 3, about="a head that does it always, and another"),
        case(_weights(3, 5, seed=1), 5, about="three heads, five tokens"),
        case(_weights(8, 4, seed=2), 4, about="all sizes equal"),
        case(_weights(2, 7, seed=3, causal=False), 7, about="two heads without a causal mask"),
        case(_weights(9, 3, seed=4), 3, about="nine heads"),
    ]


EXERCISE = Exercise(
    reference=induction_scores, cases=_cases, alternatives=(with_a_diagonal, one_by_one), trained=("weights",)
)
