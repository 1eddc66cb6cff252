"""Exercise: scaled dot-product attention."""

import math

import torch
from torch.nn import functional as F

from course_lib.attention import scaled_dot_product_attention
from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.attention._inputs import SPREAD, queries
from course_practice.exercises.attention._steps import (
    attend,
    divided_by_d_k,
    dots,
    naive_softmax,
    reshaped,
    root,
    share,
    softmax,
    softmax_over,
    unscaled,
)


def attention_with_einsum(query, key, value):
    scores = torch.einsum("...qd,...kd->...qk", query, key) * query.shape[-1] ** -0.5
    weights = F.softmax(scores, dim=-1)
    return torch.einsum("...qk,...kv->...qv", weights, value), weights


def attention_query_by_query(query, key, value):
    weights = []
    for i in range(query.shape[-2]):
        scores = (query[..., i : i + 1, :] * key).sum(dim=-1) / math.sqrt(key.shape[-1])
        exps = (scores - scores.amax(dim=-1, keepdim=True)).exp()
        weights.append(exps / exps.sum(dim=-1, keepdim=True))
    weights = torch.stack(weights, dim=-2)
    return (weights[..., None] * value[..., None, :, :]).sum(dim=-2), weights


def attention_of_the_library(query, key, value):
    output = F.scaled_dot_product_attention(query, key, value)
    ones = torch.eye(key.shape[-2], dtype=value.dtype).expand(*key.shape[:-1], key.shape[-2])
    return output, F.scaled_dot_product_attention(query, key, ones)  # values of an identity: the weights come back


def _softmax_at_the_end(query, key, value, mask=None):
    scores = dots(query, key) / math.sqrt(query.shape[-1])
    return (scores @ value).softmax(dim=-1), scores


def _unpacks_three_sizes(query, key, value, mask=None):
    _batch, _q_len, d_k = query.shape
    weights = (dots(query, key) / math.sqrt(d_k)).softmax(dim=-1)
    return weights @ value, weights


def _hides_the_future(scores):
    return scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), -math.inf).softmax(dim=-1)


def _one_maximum_for_all(scores):
    exps = (scores - scores.max()).exp()
    return exps / exps.sum(dim=-1, keepdim=True)


def _shared_among_all(scores):
    exps = (scores - scores.amax(dim=-1, keepdim=True)).exp()
    return exps / exps.sum()


def _cut_off(scores):
    return naive_softmax(scores.clamp(-60.0, 60.0))


def _scaled_after_the_softmax(query, key, value, mask=None):
    weights = softmax(dots(query, key)) / math.sqrt(query.shape[-1])
    return weights @ value, weights


EXERCISE = Exercise(
    title="Scaled dot-product attention",
    task="Return (output, weights): softmax(Q Kᵀ / √d_k) V and the softmax itself, for any number of leading axes.",
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
    mistakes=(
        Mistake(
            "no-scale",
            attend(scale=unscaled),
            "The scores are not scaled. They are sums of d_k terms and spread like √d_k: divide by that before the "
            "softmax.",
        ),
        Mistake(
            "divides-by-d-k",
            attend(scale=divided_by_d_k),
            "Your scores come out divided by d_k, where the formula has its *root*. The standard deviation of a sum "
            "of d_k terms grows like √d_k; divided by d_k, the weights come out too even.",
        ),
        Mistake(
            "root-of-the-number-of-keys",
            attend(scale=root(lambda q, k, v: k.shape[-2])),
            "Your scores come out divided by the root of the number of *keys*. A score is a sum over features: how "
            "many terms has it?",
        ),
        Mistake(
            "divided-by-eight",
            attend(scale=lambda s, q, k, v: s / 8.0),
            "Your scores come out divided by 8 in every case. That is √d_k for d_k = 64 alone: take the width from "
            "the shape.",
        ),
        Mistake(
            "root-of-all-heads-together",
            attend(scale=root(lambda q, k, v: q.shape[-1] * (q.shape[-3] if q.dim() > 3 else 1))),
            "With heads, your scores come out divided by the root of the width of all heads together (d_model). The "
            "scores of one head have d_k terms.",
        ),
        Mistake(
            "scaled-after-the-softmax",
            _scaled_after_the_softmax,
            "Your weights come out divided *after* the softmax. The rows no longer sum to 1, and the softmax was as "
            "sharp as before: scale the scores.",
        ),
        Mistake(
            "softmax-over-the-queries",
            attend(weigh=softmax_over(-2)),
            "Your softmax runs over the queries: the columns sum to 1, and a query may get nothing at all. Each row "
            "(each query) shares out 1 among the *keys*: the last axis.",
        ),
        Mistake(
            "softmax-over-axis-1",
            attend(weigh=softmax_over(1)),
            "Axis 1 is the keys only without a batch; with one it is the queries, with heads the heads. Count from "
            "the end: `dim=-1`.",
        ),
        Mistake(
            "softmax-without-dim",
            attend(weigh=lambda s: F.softmax(s, dim=1 if s.dim() in (2, 4) else 0)),
            "Without `dim=`, softmax picks an axis by old rules, in a batch the sentences. Name it: `dim=-1`.",
        ),
        Mistake(
            "softmax-over-everything",
            attend(weigh=lambda s: s.flatten(-2).softmax(dim=-1).view_as(s)),
            "Your softmax runs over the whole table, so that all its weights together make 1. Each *row* makes 1.",
        ),
        Mistake(
            "softmax-over-all-sentences",
            attend(weigh=lambda s: s.flatten().softmax(dim=-1).view_as(s)),
            "All weights together make 1, with those of all sentences and heads. Each *row* makes 1.",
        ),
        Mistake(
            "no-softmax",
            attend(weigh=lambda s: s),
            "The softmax is missing: scores may be negative and do not sum to 1, so the output is no mean.",
        ),
        Mistake(
            "share-without-exp",
            attend(weigh=share),
            "Your weights are the scores divided by their sum. Some are negative, and the sum may be near 0: the "
            "exponential comes first.",
        ),
        Mistake(
            "exp-without-sum",
            attend(weigh=torch.exp),
            "The exponentials are not divided by their sum: the rows do not sum to 1.",
        ),
        Mistake(
            "sigmoid",
            attend(weigh=torch.sigmoid),
            "Your weights judge every key alone, as a sigmoid does, so the rows do not sum to 1. Softmax lets the "
            "keys compete.",
        ),
        Mistake(
            "softmax-twice",
            attend(weigh=lambda s: s.softmax(dim=-1).softmax(dim=-1)),
            "Your weights are a softmax of a softmax: the second one sees numbers between 0 and 1 and makes them "
            "nearly equal.",
        ),
        Mistake(
            "unstable-softmax",
            attend(weigh=naive_softmax),
            "Right for small scores, NaN for large ones: the exponential of 100 is infinite in float32. `softmax` "
            "subtracts each row's largest score first, and the weights stay the same.",
        ),
        Mistake(
            "one-maximum-for-all",
            attend(weigh=_one_maximum_for_all),
            "A query whose scores lie far below those of another gets 0 divided by 0, as when one maximum is "
            "subtracted for all. Each query (row) needs its own.",
        ),
        Mistake(
            "large-scores-cut-off",
            attend(weigh=_cut_off),
            "Right for small scores, but large ones come out equal, as when they are cut off at a bound. To subtract "
            "each row's largest score keeps their differences, which are all that a softmax sees.",
        ),
        Mistake(
            "exponentials-shared-among-all",
            attend(weigh=_shared_among_all),
            "The exponentials come out divided by a sum over the whole tensor. Each *row* is divided by its own sum: "
            "over the last axis, kept as an axis of size 1.",
        ),
        Mistake(
            "softmax-at-the-end",
            _softmax_at_the_end,
            "Your output is a softmax of (QKᵀ)V. The softmax belongs to the scores, before the values: values of 7 "
            "must give 7.",
        ),
        Mistake(
            "reshape-instead-of-transpose",
            attend(score=reshaped),
            "Reshaped (or viewed) to (d_k, k_len), the keys have the right *shape* and are cut to pieces. Rows must "
            "become columns: `transpose(-2, -1)`.",
        ),
        Mistake(
            "no-transpose",
            attend(score=lambda q, k: q @ k),
            "The keys are not transposed. A dot product needs the features of `query` (its last axis) to meet the "
            "features of `key`, also its last: swap the last two axes of `key`.",
        ),
        Mistake(
            "transposes-axes-1-and-2",
            attend(score=lambda q, k: q @ k.transpose(1, 2)),
            "You swap axes 1 and 2: right for (batch, k_len, d_k) alone. Without a batch, or with heads, the last two "
            "axes have other numbers: count from the end.",
        ),
        Mistake(
            "three-axes-only",
            attend(score=lambda q, k: torch.bmm(q, k.transpose(1, 2)), mix=lambda w, k, v: torch.bmm(w, v)),
            "Right for (batch, tokens, features) alone: `bmm` and axes 1 and 2 need three axes exactly. With `@` and "
            "axes counted from the end, any number may stand in front.",
        ),
        Mistake(
            "unpacks-three-sizes",
            _unpacks_three_sizes,
            "You unpack exactly three sizes from the shape. Here there may be two axes, or four: `query.shape[-1]` is "
            "the width in any case.",
        ),
        Mistake(
            "keys-ask-queries",
            attend(score=lambda q, k: k @ q.transpose(-2, -1)),
            "Query and key have changed places: you have one row for each *key*. Each query gets a row, each key a "
            "column.",
        ),
        Mistake(
            "weights-transposed",
            attend(mix=lambda w, k, v: w.transpose(-2, -1) @ v),
            "Your output sums over the queries: the weights are turned round before the product. With values of ones "
            "the output must be ones: try it.",
        ),
        Mistake(
            "mixes-the-keys",
            attend(mix=lambda w, k, v: w @ k),
            "Your output is a mean of the *keys*. They are there to be compared; what is handed out are the values.",
        ),
        Mistake(
            "causal-mask",
            attend(weigh=_hides_the_future),
            "The keys that stand after the query get no weight. That is a causal mask (chapter 05); here every query "
            "sees every key.",
        ),
        Mistake(
            "hard-choice",
            attend(mix=lambda w, k, v: F.one_hot(w.argmax(dim=-1), w.shape[-1]).to(v.dtype) @ v),
            "Each query gets the value of its best key alone. The output is the mean of *all* values, by weight.",
        ),
        Mistake(
            "output-only",
            attend(give=lambda output, weights: output),
            "The output is right. Return the weights as well: (output, weights).",
        ),
        Mistake(
            "weights-are-none",
            attend(give=lambda output, weights: (output, None)),
            "The output is right, but None stands where the weights belong. (PyTorch's fused call has no weights to "
            "give, because it does not keep them: make them yourself.)",
        ),
        Mistake(
            "weights-only",
            attend(give=lambda output, weights: weights),
            "The weights are right. One step is left, the mean of the values; return (output, weights).",
        ),
        Mistake(
            "no-scale-and-output-only",
            attend(scale=unscaled, give=lambda output, weights: output),
            "Two things: the scores are not divided by √d_k, and the weights belong to the answer: (output, weights).",
        ),
        Mistake(
            "no-scale-and-softmax-over-the-queries",
            attend(scale=unscaled, weigh=softmax_over(-2)),
            "Two things: the scores are not divided by √d_k, and the softmax runs over the queries, not the keys.",
        ),
        Mistake(
            "no-scale-and-softmax-over-axis-1",
            attend(scale=unscaled, weigh=softmax_over(1)),
            "Two things: the scores are not divided by √d_k, and `dim=1` is the keys only when there is no batch.",
        ),
        Mistake(
            "divides-by-d-k-and-softmax-over-the-queries",
            attend(scale=divided_by_d_k, weigh=softmax_over(-2)),
            "Two things: you divide by d_k instead of its root, and the softmax runs over the queries.",
        ),
        Mistake(
            "no-scale-and-transposes-axes-1-and-2",
            attend(score=lambda q, k: q @ k.transpose(1, 2), scale=unscaled),
            "Two things: the division by √d_k is missing, and axes 1 and 2 are the last two only with a batch and "
            "without heads.",
        ),
        Mistake(
            "no-scale-and-unstable",
            attend(scale=unscaled, weigh=naive_softmax),
            "Two things: the division by √d_k is missing, and exponentials of large scores overflow: subtract each "
            "row's largest score first.",
        ),
        Mistake(
            "no-scale-and-sums-over-the-queries",
            attend(scale=unscaled, mix=lambda w, k, v: torch.einsum("...qk,...qv->...kv", w, v)),
            "Two things: the division by √d_k is missing, and the output sums over the queries instead of the keys.",
        ),
    ),
    hints=(
        "Four steps, four lines: scores, scaling, weights, output. Write the shape behind each.",
        "Each query shares out a weight of 1 among the keys. So which axis does the softmax run over, and which axis "
        "does the last product sum over?",
        "`scores = query @ key.transpose(-2, -1) / math.sqrt(d_k)`, softmax over the last axis, `weights @ value`.",
    ),
    alternatives=(attention_with_einsum, attention_query_by_query, attention_of_the_library),
    difficulty=2,
    minutes=10,
)
