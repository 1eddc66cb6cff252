"""Exercise: the letters of attention."""

import math

import torch

from course_practice.engine import Exercise, Mistake
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


def with_matmul(query, key, value):
    scores = torch.matmul(query, key.transpose(2, 3))
    weights = (scores / math.sqrt(query.shape[-1])).softmax(dim=-1)
    return torch.matmul(weights, value)


def with_a_broadcast_and_a_sum(query, key, value):
    scores = (query[:, :, :, None] * key[:, :, None]).sum(dim=-1)
    weights = (scores / math.sqrt(query.shape[-1])).softmax(dim=-1)
    return (weights[..., None] * value[:, :, None]).sum(dim=-2)


def _letters(score, mix, scale=math.sqrt):
    def implementation(query, key, value):
        scores = torch.einsum(score, query, key)
        weights = (scores / scale(query.shape[-1])).softmax(dim=-1)
        return torch.einsum(mix, weights, value)

    return implementation


def _mixes_the_keys(query, key, value):
    return einsum_attention(query, key, key)


SCORE, MIX = "bhqd,bhkd->bhqk", "bhqk,bhkv->bhqv"


_SCORE_SLIPS = {
    "scores-keys-by-queries": (
        "bhqd,bhkd->bhkq",
        "The scores come out as (…, k_len, q_len), so the softmax runs over the queries. Queries first, keys last.",
    ),
    "features-have-two-letters": (
        "bhqd,bhke->bhqk",
        "The features of query and key have two different letters, so each is summed by itself and nothing is "
        "compared. One letter for both makes it a dot product.",
    ),
    "heads-mixed": (
        "bhqd,bgkd->bhqk",
        "The heads of query and key have two different letters: every head is compared with the sum over all heads.",
    ),
    "sentences-mixed": (
        "bhqd,ahkd->bhqk",
        "The sentences of query and key have two different letters: each sentence is compared with all the batch.",
    ),
    "keys-read-as-transposed": (
        "bhqd,bhdk->bhqk",
        "The keys are (batch, n_heads, k_len, d_k) as they come: einsum needs no transpose, the letters do that.",
    ),
}


_MIX_SLIPS = {
    "sums-over-the-queries": (
        "bhqk,bhqv->bhkv",
        "You sum over the queries. Which letter do `weights` and `value` share: the last axis of the one, the "
        "second-to-last of the other?",
    ),
    "values-not-tied-to-the-weights": (
        "bhqk,bhjv->bhqv",
        "The keys of `weights` and those of `value` have two different letters: the weights add up to 1 by "
        "themselves, and every query gets the plain sum of the values.",
    ),
    "heads-of-the-values-mixed": (
        "bhqk,bgkv->bhqv",
        "The heads of `weights` and `value` have two different letters: every head gets the values of all heads.",
    ),
    "output-transposed": (
        "bhqk,bhkv->bhvq",
        "The output has its last two axes swapped: (…, d_v, q_len) instead of (…, q_len, d_v).",
    ),
    "heads-behind-the-queries": (
        "bhqk,bhkv->bqhv",
        "Your output is (batch, q_len, n_heads, d_v), one step ahead: that is the order for merging the heads. Here "
        "the axes stay as they came.",
    ),
}


EXERCISE = Exercise(
    title="The letters of attention",
    task="Fill in the two einsum strings: query (batch, n_heads, q_len, d_k), key (batch, n_heads, k_len, d_k), value "
    "(batch, n_heads, k_len, d_v), output (batch, n_heads, q_len, d_v).",
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
    mistakes=(
        *(Mistake(name, _letters(score, MIX), message) for name, (score, message) in _SCORE_SLIPS.items()),
        *(Mistake(name, _letters(SCORE, mix), message) for name, (mix, message) in _MIX_SLIPS.items()),
        Mistake(
            "keys-not-summed",
            _letters(SCORE, "bhqk,bhkv->bhqkv"),
            "The keys are still there: your output has an axis for them. Leave their letter out after the arrow, and "
            "einsum sums over it.",
        ),
        Mistake(
            "heads-summed",
            _letters(SCORE, "bhqk,bhkv->bqv"),
            "Your output has lost its heads: a letter that is missing after the arrow is summed over.",
        ),
        Mistake(
            "heads-summed-in-the-scores",
            _letters("bhqd,bhkd->bqk", "bqk,bhkv->bhqv"),
            "Your scores have lost their heads: a letter that is missing after the arrow is summed over, so all heads "
            "of a sentence share the same weights.",
        ),
        Mistake(
            "sentences-summed-in-the-scores",
            _letters("bhqd,bhkd->hqk", "hqk,bhkv->bhqv"),
            "Your scores have lost the batch: a letter that is missing after the arrow is summed over, so all "
            "sentences share the same weights.",
        ),
        Mistake(
            "heads-behind-the-words",
            _letters("bqhd,bkhd->bhqk", "bhqk,bkhv->bqhv"),
            "Your letters read the heads as the third axis. Here they are the second one, right behind the batch: "
            "`query` is (batch, n_heads, q_len, d_k).",
        ),
        Mistake(
            "scores-without-batch-and-heads",
            _letters("bhqd,bhkd->qk", MIX),
            "Your scores are a single table, (q_len, k_len) or its transpose, for the whole batch. Without an arrow, "
            "einsum sums over every letter that both tensors have, `b` and `h` as well. After the arrow stands what "
            "is to stay.",
        ),
        Mistake(
            "three-letters-for-four-axes",
            _letters("bqd,bkd->bqk", "bqk,bkv->bqv"),
            "Your first string has three letters for `query`, which has four axes: batch, heads, queries, features. "
            "Each axis needs a letter.",
        ),
        Mistake(
            "mixes-the-keys",
            _mixes_the_keys,
            "Your output is a mean of the *keys*. Keys are what a query is compared with; what is handed out are the "
            "values.",
        ),
        Mistake(
            "no-scale",
            _letters(SCORE, MIX, scale=lambda d_k: 1.0),
            "The strings are right; the division by √d_k, which was there, is gone.",
        ),
        Mistake(
            "divides-by-d-k",
            _letters(SCORE, MIX, scale=lambda d_k: d_k),
            "The strings are right; the scores are divided by d_k where √d_k stood.",
        ),
        Mistake(
            "both-the-wrong-way-round",
            _letters("bhqd,bhkd->bhkq", "bhkq,bhkv->bhqv"),
            "The shapes agree, because two swaps hide each other: the scores are (…, k_len, q_len), so the softmax "
            "over the last axis runs over the *queries*. Put queries first, keys last, in both lines.",
        ),
    ),
    hints=(
        "Write each tensor's axes as letters first: `query` is b h q d. What are `key`, `scores`, `value`, the output?",
        "Letters that appear in both inputs are matched; letters missing after the arrow are summed over. Scores sum "
        "over the features, the output over the keys.",
        '`"bhqd,bhkd->bhqk"` compares every q with every k; the second string takes `bhqk` and `bhkv` and drops k.',
    ),
    alternatives=(with_an_ellipsis, with_matmul, with_a_broadcast_and_a_sum),
    difficulty=1,
    minutes=10,
)
