"""Exercise: self-attention from three matrices."""

import torch
from torch.nn import functional as F

from course_lib.attention import scaled_dot_product_attention
from course_practice.engine import Exercise, Mistake
from course_practice.exercises.self_attention._steps import (
    attend,
    by_one,
    by_root_d_model,
    inputs,
    keys_from_w_q,
    root,
    softmax_over,
)


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


def with_einsum(x, w_q, w_k, w_v):
    q, k, v = (torch.einsum("...nd,df->...nf", x, w) for w in (w_q, w_k, w_v))
    weights = (torch.einsum("...qf,...kf->...qk", q, k) / q.size(-1) ** 0.5).softmax(-1)
    return torch.einsum("...qk,...kv->...qv", weights, v)


def with_fused_attention(x, w_q, w_k, w_v):
    return F.scaled_dot_product_attention(F.linear(x, w_q.T), F.linear(x, w_k.T), F.linear(x, w_v.T))


_COMMON = (
    ("keys-from-w-q", {"project": keys_from_w_q}, "Your keys come from `w_q`."),
    ("scaled-by-d-model", {"scale": by_root_d_model}, "Your scores are divided by √d_model, not by √d_k."),
    ("not-scaled", {"scale": by_one}, "Your scores are not divided by √d_k."),
    ("softmax-over-queries", {"weigh": softmax_over(-2)}, "Your columns sum to 1, not your rows."),
)


def _two_at_once():
    for number, (name, step, says) in enumerate(_COMMON):
        for other, other_step, also_says in _COMMON[number + 1 :]:
            if not step.keys() & other_step.keys():
                yield Mistake(f"{name}-and-{other}", attend(**step, **other_step), f"Two things. {says} {also_says}")


def _only(*names):
    return lambda x, w_q, w_k, w_v: tuple({"x": x, "q": x @ w_q, "k": x @ w_k, "v": x @ w_v}[name] for name in names)


EXERCISE = Exercise(
    title="Self-attention from three matrices",
    task="From x (…, n, d_model) and the matrices w_q, w_k (d_model, d_k), and w_v (d_model, d_v), compute "
    "self-attention, (…, n, d_v).",
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
    mistakes=(
        Mistake(
            "keys-from-w-q",
            attend(keys_from_w_q),
            "Your keys are the queries, so `w_k` makes no difference and i fits j exactly as well as j fits i. Which "
            "matrix makes keys?",
        ),
        Mistake(
            "queries-from-w-k",
            attend(_only("k", "k", "v")),
            "Your queries are the keys: `w_q` makes no difference, and the scores are symmetric.",
        ),
        Mistake(
            "queries-and-keys-exchanged",
            attend(_only("k", "q", "v")),
            "Your rows are keys and your columns are queries. Row i should say how well the query of token i fits the "
            "key of each token.",
        ),
        Mistake(
            "matrices-for-keys-and-values",
            attend(lambda x, w_q, w_k, w_v: (x @ w_q, w_k, w_v)),
            "Your keys and values are the matrices themselves, so every sentence would have the same ones. Each token "
            "makes its own from its vector: `x @ w_k` and `x @ w_v`.",
        ),
        Mistake(
            "values-from-w-k",
            attend(_only("q", "k", "k")),
            "You take the mean of the keys. By its key a token is found, but what it hands out is its *value*.",
        ),
        Mistake(
            "values-from-w-q",
            attend(_only("q", "k", "q")),
            "You take the mean of the queries. What a token hands out is its *value*, `x @ w_v`.",
        ),
        Mistake(
            "values-not-projected",
            attend(_only("q", "k", "x")),
            "You take the mean of the tokens themselves. What a token hands out is its value, `x @ w_v`.",
        ),
        Mistake(
            "scores-not-projected",
            attend(_only("x", "x", "v"), scale=lambda x, q: x.shape[-1] ** 0.5),
            "Your scores compare the tokens themselves, so neither `w_q` nor `w_k` makes a difference.",
        ),
        Mistake(
            "scaled-by-d-model",
            attend(scale=by_root_d_model),
            "Your scores come out divided by √d_model. A score is a sum of d_k products: what is the last axis of the "
            "queries?",
        ),
        Mistake(
            "scaled-by-the-length",
            attend(scale=root(lambda x, q: x.shape[-2])),
            "Your scores come out divided by the root of the number of tokens. A score is a sum over the d_k "
            "*features* of a query.",
        ),
        Mistake(
            "scaled-without-the-root",
            attend(scale=lambda x, q: q.shape[-1]),
            "Your scores come out divided by d_k itself, where the formula has its root.",
        ),
        Mistake(
            "not-scaled",
            attend(scale=by_one),
            "Your scores are not divided by √d_k, as those of chapter 02 are.",
        ),
        Mistake(
            "softmax-over-queries",
            attend(weigh=softmax_over(-2)),
            "The columns of your weights sum to 1, not the rows. The weights of each query must sum to 1 over the "
            "keys, the last axis.",
        ),
        Mistake(
            "no-softmax",
            attend(weigh=lambda scores: scores),
            "Your scores are used as weights. The softmax over the keys makes them positive, with the sum 1.",
        ),
        Mistake(
            "value-added",
            attend(mix=lambda weights, x, q, k, v: v + weights @ v),
            "Your output is the weighted mean plus the token's own value. Only the mean is wanted here.",
        ),
        *_two_at_once(),
    ),
    hints=(
        "All three, query, key, and value, come from the same x. What differs?",
        "The shapes: query and key (…, n, d_k), value (…, n, d_v), scores (…, n, n). A score is a sum of d_k products.",
        "`key = x @ w_k`, `value = x @ w_v`, and the scores are divided by `math.sqrt(w_k.shape[1])`.",
    ),
    alternatives=(with_one_matrix_for_the_scores, with_einsum, with_fused_attention),
    difficulty=1,
    minutes=5,
)
