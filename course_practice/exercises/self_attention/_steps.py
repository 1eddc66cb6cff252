"""Self-attention in steps that can be exchanged one by one: what mistakes are made of."""

import math

from course_practice.engine import case
from course_practice.exercises.inputs import randn


def by_matrices(x, w_q, w_k, w_v):
    return x @ w_q, x @ w_k, x @ w_v


def root(size):
    return lambda x, q: math.sqrt(size(x, q))


by_root_d_k = root(lambda x, q: q.shape[-1])


def by_root_d_model(x, q):
    return math.sqrt(x.shape[-1])


def by_one(x, q):
    return 1.0


def softmax_over(axis):
    return lambda scores: scores.softmax(dim=axis)


over_keys = softmax_over(-1)


def mean(weights, x, q, k, v):
    return weights @ v


def attend(project=by_matrices, scale=by_root_d_k, weigh=over_keys, mix=mean):
    """`self_attention` step by step, each step replaceable by a wrong one."""

    def implementation(x, w_q, w_k, w_v):
        q, k, v = project(x, w_q, w_k, w_v)
        weights = weigh(q @ k.transpose(-2, -1) / scale(x, q))
        return mix(weights, x, q, k, v)

    return implementation


def keys_from_w_q(x, w_q, w_k, w_v):
    return x @ w_q, x @ w_q, x @ w_v


def inputs(lead, n, d_model, d_k, d_v, about, seed=0):
    """A case: x (…, n, d_model) and three matrices whose scores have a standard deviation of about 2."""
    scale = d_model**-0.5
    w_q, w_k = (randn(d_model, d_k, seed=seed + step, scale=1.5 * scale) for step in (1, 2))
    w_v = randn(d_model, d_v, seed=seed + 3, scale=scale)
    return case(randn(*lead, n, d_model, seed=seed), w_q, w_k, w_v, about=about)
