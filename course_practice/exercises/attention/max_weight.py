"""Exercise: how decided is attention?."""

import math

import torch
from torch.nn import functional as F

from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.attention._steps import softmax
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


def max_weight_by_logsumexp(query, key, scaled):
    scores = torch.einsum("qd,kd->qk", query, key)
    scores = scores * query.size(-1) ** -0.5 if scaled else scores
    return (scores.max(dim=-1).values - scores.logsumexp(dim=-1)).exp().mean()


def max_weight_of_the_library(query, key, scaled):
    identity = torch.eye(len(key), dtype=key.dtype)
    weights = F.scaled_dot_product_attention(query, key, identity, scale=None if scaled else 1.0)
    return torch.topk(weights, 1).values.mean().item()


def _largest(
    scale=lambda q, k: math.sqrt(q.shape[-1]),
    weigh=softmax,
    pick=lambda w: w.amax(dim=-1).mean(),
    when=lambda scaled: scaled,
):
    def implementation(query, key, scaled):
        scores = query @ key.transpose(-2, -1)
        return pick(weigh(scores / scale(query, key) if when(scaled) else scores))

    return implementation


def _experiment(q_len, k_len, d_k, scaled, about, seed=0):
    query, key = randn(q_len, d_k, seed=seed).double(), randn(k_len, d_k, seed=seed + 1).double()
    return case(query, key, scaled, about=f"{about}, {'scaled' if scaled else 'not scaled'}")


EXERCISE = Exercise(
    title="How sharp is attention?",
    task="Return the largest weight of each query, averaged over the queries. With scaled=True divide the scores by "
    "√d_k first, with False leave them.",
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
    mistakes=(
        Mistake(
            "never-scales",
            _largest(when=lambda scaled: False),
            "The argument `scaled` makes no difference: the undivided scores reach the softmax with True as well. Is "
            "the quotient computed, and kept?",
        ),
        Mistake(
            "always-scales",
            _largest(when=lambda scaled: True),
            "The argument `scaled` makes no difference: divided scores reach the softmax with False as well. There "
            "they stay as they are.",
        ),
        Mistake(
            "divides-by-d-k",
            _largest(scale=lambda q, k: q.shape[-1]),
            "Your scores come out divided by d_k. A sum of d_k terms spreads like √d_k; divided by d_k, they leave no "
            "preference.",
        ),
        Mistake(
            "root-of-the-number-of-keys",
            _largest(scale=lambda q, k: math.sqrt(k.shape[0])),
            "Your scores come out divided by the root of the number of keys. How many terms has one score?",
        ),
        Mistake(
            "root-of-the-number-of-queries",
            _largest(scale=lambda q, k: math.sqrt(q.shape[0])),
            "Your scores come out divided by the root of the number of queries. How many terms has one score?",
        ),
        Mistake(
            "scales-the-weights",
            lambda query, key, scaled: (
                (query @ key.mT).softmax(dim=-1).amax(dim=-1).mean() / (math.sqrt(query.shape[-1]) if scaled else 1)
            ),
            "Your result comes out divided after the softmax. The scores are to be scaled, before it: afterwards the "
            "weights no longer sum to 1.",
        ),
        Mistake(
            "largest-of-all",
            _largest(pick=lambda w: w.max()),
            "That is the one largest weight of the whole table. Each query has a largest weight of its own; the mean "
            "of those is asked for.",
        ),
        Mistake(
            "one-for-each-query",
            _largest(pick=lambda w: w.amax(dim=-1)),
            "These are the largest weights, one for each query. Their mean is asked for, one number.",
        ),
        Mistake(
            "max-over-the-queries",
            _largest(pick=lambda w: w.amax(dim=0).mean()),
            "Your result is the mean of the largest weights of each *key*. Each query (row) has its own: the maximum "
            "over the last axis.",
        ),
        Mistake(
            "mean-instead-of-max",
            _largest(pick=lambda w: w.mean()),
            "The mean weight is always 1 / k_len, because each row sums to 1. Take the *largest* of each row first.",
        ),
        Mistake(
            "a-pair-has-no-mean",
            _largest(pick=lambda w: w.max(dim=-1).mean()),
            "With a `dim`, `max` gives a pair, the largest weights and their places, and a pair has no mean. Take its "
            "`values`, or `amax`, which gives the values alone.",
        ),
        Mistake(
            "mean-before-the-maximum",
            _largest(pick=lambda w: w.mean(dim=0).max()),
            "You take the mean over the queries first, and then the largest of these means. Each query has its own "
            "favorite, which the mean hides: the maximum of each row comes first.",
        ),
        Mistake(
            "median-instead-of-mean",
            _largest(pick=lambda w: w.amax(dim=-1).median()),
            "That is the median of the largest weights. Their mean is asked for.",
        ),
        Mistake(
            "first-query-only",
            _largest(pick=lambda w: w[0].max()),
            "That is the first query's largest weight. Take all queries, and the mean.",
        ),
        Mistake(
            "place-instead-of-weight",
            _largest(pick=lambda w: w.argmax(dim=-1).double().mean()),
            "Your result says *where* the largest weights stand. Their size is asked for: `amax`, or the `values` of "
            "`max`.",
        ),
        Mistake(
            "largest-score",
            _largest(weigh=lambda s: s),
            "That is the largest *score*. A weight is what comes out of the softmax.",
        ),
        Mistake(
            "softmax-over-the-queries",
            _largest(weigh=lambda s: s.softmax(dim=0)),
            "The weights come from a softmax over the queries. Each query shares out 1 among the keys: the last axis.",
        ),
        Mistake(
            "softmax-over-everything",
            _largest(weigh=lambda s: s.flatten().softmax(dim=0).view_as(s)),
            "The weights of the whole table make 1 together. Each row makes 1 by itself.",
        ),
        Mistake(
            "never-scales-and-largest-of-all",
            _largest(when=lambda scaled: False, pick=lambda w: w.max()),
            "Two things: `scaled` makes no difference, and the mean over the queries is missing.",
        ),
        Mistake(
            "divides-by-d-k-and-largest-of-all",
            _largest(scale=lambda q, k: q.shape[-1], pick=lambda w: w.max()),
            "Two things: the scores come out divided by d_k instead of its root, and the mean over the queries is "
            "missing.",
        ),
    ),
    hints=(
        "Scores, perhaps scaled; weights; one number for each query; one number.",
        "A row of weights belongs to one query. Which axis do softmax and maximum run over, and what does the mean "
        "run over?",
        "`weights.amax(dim=-1).mean()`, after `scores / math.sqrt(query.shape[-1])` where `scaled` is True.",
    ),
    alternatives=(max_weight_query_by_query, max_weight_by_logsumexp, max_weight_of_the_library),
    difficulty=2,
    minutes=10,
)
