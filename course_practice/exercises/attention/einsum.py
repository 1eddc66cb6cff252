import math

import torch

from course_practice.engine import Exercise
from course_practice.exercises.attention._inputs import queries


def einsum_attention(query, key, value):
    """Scaled dot-product attention of many heads, by the letters of its axes.

    b batch · h head · q query · k key · d feature of query and key ·
    v feature of value. A letter that is missing after the arrow is summed
    over: `d` in the scores, `k` in the output.

    >>> query, key = torch.zeros(1, 1, 2, 4), torch.zeros(1, 1, 3, 4)
    >>> value = torch.tensor([[[[3.0], [6.0], [9.0]]]])
    >>> einsum_attention(query, key, value).flatten()
    tensor([6., 6.])
    """
    scores = torch.einsum("bhqd,bhkd->bhqk", query, key)
    weights = (scores / math.sqrt(query.shape[-1])).softmax(dim=-1)
    return torch.einsum("bhqk,bhkv->bhqv", weights, value)


def starter_einsum(query, key, value):
    """Attention with heads: b, h, q, k, d (query and key), v (value)."""
    scores = torch.einsum(..., query, key)
    weights = (scores / math.sqrt(query.shape[-1])).softmax(dim=-1)
    return torch.einsum(..., weights, value)


def with_an_ellipsis(query, key, value):
    scores = torch.einsum("...id,...jd->...ij", query, key)
    weights = (scores / math.sqrt(query.shape[-1])).softmax(dim=-1)
    return torch.einsum("...ij,...jd->...id", weights, value)


EXERCISE = Exercise(
    reference=einsum_attention,
    starter=starter_einsum,
    cases=lambda: [
        queries((1, 1), 1, 2, 2, 1, "one query, two keys"),
        queries((2, 3), 5, 7, 11, 13, "all sizes different", seed=3),
        queries((3, 2), 7, 5, 4, 6, "more queries than keys", seed=6),
        queries((2, 3), 4, 4, 5, 7, "as many queries as keys", seed=9),
        queries((3, 3), 3, 3, 3, 3, "all sizes equal", seed=12),
        queries((2, 1), 3, 1, 5, 2, "a single key", seed=15),
    ],
    alternatives=(with_an_ellipsis,),
    trained=True,
)
