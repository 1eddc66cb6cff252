import torch

from course_practice.engine import Exercise, case
from course_practice.exercises.attention._inputs import SPREAD
from course_practice.exercises.inputs import randn


def _one_query(d_k, k_len, d_v, about, scale=1.0, seed=0):
    query, key = randn(d_k, seed=seed, scale=scale), randn(k_len, d_k, seed=seed + 1, scale=scale)
    return case(query, key, randn(k_len, d_v, seed=seed + 2), about=about)


def soft_lookup(query, key, value):
    """One query asks a soft dictionary: the weighted mean of the values.

    query (d_k) · key (k_len, d_k) · value (k_len, d_v) → output (d_v)

    >>> key, value = torch.eye(2), torch.tensor([[10.0], [20.0]])
    >>> soft_lookup(torch.tensor([0.0, 0.0]), key, value)
    tensor([15.])
    """
    scores = key @ query
    weights = scores.softmax(dim=-1)
    return weights @ value


def starter_soft_lookup(query, key, value):
    """The mean of the values, weighted by how well their keys fit."""
    scores = ...  # (k_len): one number for each key
    weights = scores.softmax(dim=...)  # (k_len): positive, their sum is 1
    return weights @ ...  # (d_v): the mean


def lookup_key_by_key(query, key, value):
    scores = torch.stack([(query * k).sum() for k in key])
    exps = (scores - scores.max()).exp()
    return sum(weight * v for weight, v in zip(exps / exps.sum(), value, strict=True))


EXERCISE = Exercise(
    reference=soft_lookup,
    starter=starter_soft_lookup,
    cases=lambda: [
        case(torch.tensor([1.0, 0.0]), torch.eye(2), torch.tensor([[10.0], [20.0]]), about="two keys"),
        _one_query(2, 3, 5, "three keys"),
        _one_query(7, 5, 3, "seven features", seed=3),
        _one_query(3, 3, 3, "all sizes equal", seed=6),
        _one_query(5, 1, 2, "a single key", seed=9),
        _one_query(3, 7, 2, "large scores", scale=SPREAD, seed=12),
    ],
    alternatives=(lookup_key_by_key,),
)
