"""Exercise: look up one query."""

import math

import torch
from torch.nn import functional as F

from course_practice.engine import Convention, Exercise, Mistake, case
from course_practice.exercises.attention._inputs import SPREAD
from course_practice.exercises.attention._steps import naive_softmax, share
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


def lookup_with_einsum(query, key, value):
    weights = torch.einsum("d,kd->k", query, key).softmax(dim=0)
    return torch.einsum("k,kv->v", weights, value)


def lookup_with_the_library(query, key, value):
    return F.scaled_dot_product_attention(query[None], key, value, scale=1.0)[0]


def _lookup(score=lambda q, k: k @ q, weigh=lambda s: s.softmax(dim=-1), mix=lambda w, k, v: w @ v):
    return lambda query, key, value: mix(weigh(score(query, key)), key, value)


def _distance(query, key):
    return -(key - query).norm(dim=-1)


def _squared_distance(query, key):
    return -(key - query).square().sum(dim=-1)


def _products(dim):
    return lambda query, key, value: (query * key).softmax(dim=dim) @ value


_NOT_ADDED_UP = (
    "Your scores are products that are not yet added up: each key has one number for every feature. A dot product adds "
    "them, so that each key gets one score."
)


def _root_d_k(query, key):
    return key @ query / math.sqrt(query.shape[-1])


EXERCISE = Exercise(
    title="Look up one query",
    task="One query asks a soft dictionary: score every key with a dot product (no scaling yet), softmax, and return "
    "the mean of the values by these weights. Scores may be large.",
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
    mistakes=(
        Convention(
            "scaled",
            _lookup(_root_d_k),
            "This is the scaled form, right in a Transformer. Here the plain dot product is wanted: the division "
            "comes in a later exercise.",
        ),
        Mistake(
            "hard-lookup",
            _lookup(mix=lambda w, k, v: v[w.argmax()]),
            "Your result is the value of the best key alone. That is a hard lookup. A soft one mixes *all* values.",
        ),
        Mistake(
            "best-value-times-its-weight",
            _lookup(mix=lambda w, k, v: w.max() * v[w.argmax()]),
            "Your result is the best value times its weight. The other values belong to the mean as well.",
        ),
        Mistake(
            "no-softmax",
            _lookup(weigh=lambda s: s),
            "Raw scores are not weights: they may be negative, and their sum is anything. What turns numbers into "
            "positive ones that sum to 1?",
        ),
        Mistake(
            "no-softmax-divided-by-the-number-of-keys",
            _lookup(weigh=lambda s: s / len(s)),
            "Your weights are the scores divided by their number. Their sum is anything, and scores may be negative: "
            "what turns numbers into positive ones that sum to 1?",
        ),
        Mistake(
            "exp-without-sum",
            _lookup(weigh=torch.exp),
            "Your weights are positive, but they do not sum to 1. What is missing after the exponential?",
        ),
        Mistake(
            "share-without-exp",
            _lookup(weigh=share),
            "Divided by their sum, the scores sum to 1, but some are negative, and the sum may be near 0. The "
            "exponential comes first.",
        ),
        Mistake(
            "share-of-absolute-scores",
            _lookup(weigh=lambda s: share(s.abs())),
            "With absolute values, the key that points *away* from the query counts as a good match. Softmax keeps "
            "the sign: e to the power of the score.",
        ),
        Mistake(
            "share-of-positive-scores",
            _lookup(weigh=lambda s: share(s.relu())),
            "Keys with a negative score get the weight 0. Softmax gives every key a weight above 0.",
        ),
        Mistake(
            "sigmoid",
            _lookup(weigh=torch.sigmoid),
            "Your weights judge every key alone, as a sigmoid does, so they do not sum to 1. Softmax lets the keys "
            "compete.",
        ),
        Mistake(
            "softmax-twice",
            _lookup(weigh=lambda s: s.softmax(dim=-1).softmax(dim=-1)),
            "Your weights are a softmax of a softmax: the second one makes them nearly equal. One is enough.",
        ),
        Mistake(
            "unstable-softmax",
            _lookup(weigh=naive_softmax),
            "Right for small scores, NaN for large ones: the exponential of 100 is infinite in float32. `softmax` "
            "subtracts the largest score first; the weights stay the same.",
        ),
        Mistake(
            "plain-mean",
            _lookup(weigh=lambda s: torch.full_like(s, 1 / len(s))),
            "Your result is the plain mean of the values: the query makes no difference. Where do its scores come in?",
        ),
        Mistake(
            "plain-sum",
            _lookup(mix=lambda w, k, v: v.sum(dim=0)),
            "Your result is the sum of all values, each with weight 1. Multiply each by its weight first.",
        ),
        Mistake(
            "mixes-the-keys",
            _lookup(mix=lambda w, k, v: w @ k),
            "Your result is a mean of the *keys*. Keys are what a query is compared with; what you hand out are the "
            "values.",
        ),
        Mistake(
            "returns-the-weights",
            _lookup(mix=lambda w, k, v: w),
            "These are the weights. One step is left: mix the values by them.",
        ),
        Mistake(
            "returns-the-scores",
            _lookup(weigh=lambda s: s, mix=lambda w, k, v: w),
            "These are the scores. Two steps are left: softmax, and the mean of the values.",
        ),
        Mistake(
            "mean-of-weighted-rows",
            _lookup(mix=lambda w, k, v: (w[:, None] * v).mean(dim=0)),
            "Your result is divided by the number of keys once too often. The weights sum to 1 already, so the "
            "weighted values are to be *summed*.",
        ),
        Mistake(
            "softmax-at-the-end",
            _lookup(weigh=lambda s: s, mix=lambda w, k, v: (w @ v).softmax(dim=-1)),
            "Your result is a softmax of (scores times values). The softmax belongs to the scores, before the values "
            "come in: values of 7 must give 7.",
        ),
        Mistake(
            "distance",
            _lookup(_distance),
            "Your scores are distances, which is a sensible choice, but another one. Here it is the dot product.",
        ),
        Mistake(
            "squared-distance",
            _lookup(_squared_distance),
            "Your scores are squared distances, with a minus. Such a score is *twice* the dot product less the squared "
            "lengths of key and query, so a long key loses. Here the dot product alone is wanted.",
        ),
        Mistake(
            "squared-distance-without-the-minus",
            _lookup(lambda q, k: -_squared_distance(q, k)),
            "Your scores are squared distances, so the key that lies farthest from the query gets the largest weight. "
            "Here the score is the dot product, which is large where a key fits.",
        ),
        Mistake(
            "cosine",
            _lookup(lambda q, k: F.cosine_similarity(k, q[None], dim=-1)),
            "Your scores are divided by the lengths of query and key (the cosine). The dot product keeps them: a "
            "longer query asks more decidedly.",
        ),
        Mistake("products-not-added-up", _products(0), _NOT_ADDED_UP),
        Mistake(
            "products-not-added-up-weighed-by-feature",
            _products(-1),
            f"{_NOT_ADDED_UP} The softmax then runs over the keys.",
        ),
        Mistake(
            "keys-transposed",
            _lookup(lambda q, k: q @ k),
            "The features of the query met the *numbers* of the keys. Each row of `key` is one key: multiply each row "
            "with the query.",
        ),
    ),
    hints=(
        "Three lines, three shapes: scores (k_len), weights (k_len), output (d_v).",
        "Each row of `key` is one key. A matrix times a vector takes the dot product of every row with the vector.",
        "`key @ query`, then `.softmax(dim=-1)`, then `weights @ value`.",
    ),
    alternatives=(lookup_key_by_key, lookup_with_einsum, lookup_with_the_library),
    difficulty=1,
    minutes=5,
)
