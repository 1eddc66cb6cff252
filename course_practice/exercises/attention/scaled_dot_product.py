import math

import torch
from torch.nn import functional as F

from course_lib.attention import scaled_dot_product_attention
from course_practice.engine import Exercise, case
from course_practice.exercises.attention._inputs import SPREAD, queries


def attention_with_einsum(query, key, value):
    scores = torch.einsum("...qd,...kd->...qk", query, key) * query.shape[-1] ** -0.5
    weights = F.softmax(scores, dim=-1)
    return torch.einsum("...qk,...kv->...qv", weights, value), weights


def step_by_step(query, key, value):
    scores = query @ key.transpose(-2, -1)
    scores = scores / math.sqrt(query.shape[-1])
    weights = scores.softmax(dim=-1)
    output = weights @ value
    return output, weights


EXERCISE = Exercise(
    reference=scaled_dot_product_attention,
    cases=lambda: [
        case(torch.tensor([[1.0, 0.0]]), torch.eye(2), torch.tensor([[10.0], [20.0]]), about="one query, two keys"),
        queries((), 3, 5, 7, 2, "one sentence, without a batch axis"),
        queries((2,), 3, 7, 5, 11, "a batch of two", seed=3),
        queries((2, 3), 5, 7, 11, 13, "two sentences, three heads", seed=6),
        queries((2,), 7, 3, 5, 4, "more queries than keys", seed=9),
        queries((3,), 3, 3, 3, 3, "all sizes equal", seed=12),
        queries((2,), 5, 1, 3, 4, "a single key", seed=15),
        queries((2,), 2, 3, 64, 5, "d_k = 64", seed=18),
        queries((1,), 3, 5, 7, 2, "large scores", scale=SPREAD, seed=21),
    ],
    alternatives=(attention_with_einsum, step_by_step),
    trained=True,
)
