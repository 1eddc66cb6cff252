"""Attention over an image in steps that can be exchanged one by one: what mistakes are made of."""

import math

from course_practice.engine import case
from course_practice.exercises.inputs import randn


def by_flatten(x):
    return x.flatten(start_dim=2).mT


def by_view(x):
    return x.reshape(x.shape[0], -1, x.shape[1])


def back_by_unflatten(tokens, x):
    return tokens.mT.unflatten(2, x.shape[2:])


def back_by_view(tokens, x):
    return tokens.reshape(x.shape)


def back_by_columns(tokens, x):
    return tokens.mT.unflatten(2, (x.shape[3], x.shape[2])).mT


def root_d_k(x, query, key):
    return math.sqrt(query.shape[-1])


def residual(x, image, gamma):
    return x + gamma * image


def keys(tokens, w_q, w_k, w_v):
    return tokens @ w_q, tokens @ w_k, tokens @ w_v


def attend(cut=by_flatten, project=keys, scale=root_d_k, axis=2, back=back_by_unflatten, add=residual, w_o=True):
    """The block step by step, each step replaceable by a wrong one."""

    def implementation(x, w_q, w_k, w_v, w_out, gamma):
        query, key, value = project(cut(x), w_q, w_k, w_v)
        scores = query @ key.mT / scale(x, query, key)
        weights = scores.softmax(dim=axis) if axis is not None else scores
        mixed = weights @ value
        return add(x, back(mixed @ w_out if w_o else mixed, x), gamma)

    return implementation


def inputs(batch, channels, height, width, d_k, d_v, gamma, about, seed=0):
    """A case: x, four matrices whose scores have a standard deviation of about 2, and γ."""
    scale = channels**-0.5
    w_q, w_k = (randn(channels, d_k, seed=seed + step, scale=1.5 * scale) for step in (1, 2))
    w_v = randn(channels, d_v, seed=seed + 3, scale=scale)
    w_o = randn(d_v, channels, seed=seed + 4, scale=d_v**-0.5)
    x = randn(batch, channels, height, width, seed=seed)
    return case(x, w_q, w_k, w_v, w_o, gamma, about=about)
