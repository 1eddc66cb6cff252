import math

import torch

from course_practice.engine import Exercise
from course_practice.exercises.attention._inputs import queries


def repaired_attention(query, key, value):
    """Attention for a batch, without its three bugs."""
    d_k = query.shape[-1]
    # A reshape keeps the numbers in order, so it is no transpose.
    scores = torch.bmm(query, key.transpose(1, 2))
    scores = scores / math.sqrt(d_k)  # a score is a sum of d_k terms, not of k_len
    weights = scores.softmax(dim=2)  # axis 1 is the queries, axis 2 the keys
    return torch.bmm(weights, value), weights


def starter_repair(query, key, value):
    batch, k_len, d_k = key.shape
    scores = torch.bmm(query, key.reshape(batch, d_k, k_len))
    scores = scores / math.sqrt(k_len)
    weights = scores.softmax(dim=1)
    return torch.bmm(weights, value), weights


def repaired_with_einsum(query, key, value):
    scores = torch.einsum("bqd,bkd->bqk", query, key)
    weights = (scores / math.sqrt(query.shape[-1])).softmax(dim=-1)
    return torch.einsum("bqk,bkv->bqv", weights, value), weights


EXERCISE = Exercise(
    reference=repaired_attention,
    starter=starter_repair,
    cases=lambda: [
        queries((1,), 1, 2, 2, 1, "one query, two keys"),
        queries((2,), 3, 5, 7, 11, "all sizes different", seed=3),
        queries((3,), 7, 4, 5, 2, "more queries than keys", seed=6),
        queries((2,), 3, 7, 4, 5, "four features", seed=9),
        queries((3,), 3, 3, 3, 3, "all sizes equal", seed=12),
        queries((2,), 3, 1, 5, 4, "a single key", seed=15),
    ],
    alternatives=(repaired_with_einsum,),
    trained=True,
)
