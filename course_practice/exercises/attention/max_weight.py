import math

import torch

from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn


def max_weight(query, key, scaled):
    """How sharp is attention? The largest weight of a query, on average.

    query (q_len, d_k) · key (k_len, d_k) → one number, from 1 / k_len (no
    preference) to 1 (one key takes all)

    >>> max_weight(torch.zeros(3, 2), torch.eye(2), scaled=True)
    tensor(0.5000)
    """
    scores = query @ key.transpose(-2, -1)
    if scaled:
        scores = scores / math.sqrt(query.shape[-1])
    return scores.softmax(dim=-1).amax(dim=-1).mean()


def max_weight_query_by_query(query, key, scaled):
    scale = 1 / query.shape[1] ** 0.5 if scaled else 1.0
    largest = [float((key @ q * scale).softmax(dim=0).max()) for q in query]
    return sum(largest) / len(largest)


def _experiment(q_len, k_len, d_k, scaled, about, seed=0):
    query, key = randn(q_len, d_k, seed=seed).double(), randn(k_len, d_k, seed=seed + 1).double()
    return case(query, key, scaled, about=f"{about}, {'scaled' if scaled else 'not scaled'}")


EXERCISE = Exercise(
    reference=max_weight,
    cases=lambda: [
        case(torch.zeros(2, 3), torch.ones(5, 3), True, about="no preference"),
        _experiment(5, 3, 7, True, "seven features", seed=3),
        _experiment(5, 3, 7, False, "seven features", seed=3),
        _experiment(7, 16, 64, True, "64 features", seed=6),
        _experiment(7, 16, 64, False, "64 features", seed=6),
        _experiment(3, 3, 3, True, "all sizes equal", seed=9),
        _experiment(2, 5, 1, False, "one feature", seed=12),
    ],
    alternatives=(max_weight_query_by_query,),
)
