import math

import torch

from course_lib.attention import scaled_dot_product_attention
from course_practice.engine import Exercise
from course_practice.exercises.self_attention._inputs import inputs


def self_attention(x, w_q, w_k, w_v):
    """Attention of a sentence to itself: x asks, x is asked, x answers.

    x (…, n, d_model), w_q and w_k (d_model, d_k), w_v (d_model, d_v)
    → (…, n, d_v)

    >>> x, one = torch.tensor([[0.0], [3.0]]), torch.ones(1, 1)
    >>> self_attention(x, 0 * one, one, one)    # no query: the plain mean
    tensor([[1.5000],
            [1.5000]])
    """
    output, _weights = scaled_dot_product_attention(x @ w_q, x @ w_k, x @ w_v)
    return output


def self_attention_starter(x, w_q, w_k, w_v):
    """x (…, n, d_model) → (…, n, d_v)"""
    query = x @ w_q
    key = ...
    value = ...
    scores = query @ key.mT / ...
    return scores.softmax(dim=-1) @ value


def with_one_matrix_for_the_scores(x, w_q, w_k, w_v):
    scores = x @ (w_q @ w_k.T) @ x.transpose(-2, -1) / w_q.shape[1] ** 0.5
    return torch.softmax(scores, dim=-1) @ x @ w_v


def step_by_step(x, w_q, w_k, w_v):
    query, key, value = x @ w_q, x @ w_k, x @ w_v
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return scores.softmax(dim=-1) @ value


EXERCISE = Exercise(
    reference=self_attention,
    starter=self_attention_starter,
    cases=lambda: [
        inputs((), 2, 3, 2, 2, "two tokens"),
        inputs((2,), 5, 7, 3, 11, "all sizes different", seed=10),
        inputs((4,), 4, 4, 4, 4, "all sizes equal", seed=20),
        inputs((4,), 4, 2, 7, 3, "queries wider than the tokens", seed=30),
        inputs((2, 3), 3, 5, 2, 5, "two axes before the tokens", seed=40),
        inputs((2,), 1, 3, 2, 4, "a single token", seed=50),
    ],
    alternatives=(with_one_matrix_for_the_scores, step_by_step),
    trained=("x",),
)
