"""Exercise: cross-attention."""

import math

import torch
from torch.nn import functional as F

from course_lib.attention import scaled_dot_product_attention
from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.inputs import randn


def cross_attention(x, memory, w_q, w_k, w_v, src_mask):
    """One head: the target (batch, tgt_len, d_model) asks the memory (batch, src_len, d_model).

    `src_mask` (batch, 1, src_len) is True at real words of the source.

    >>> x, memory, table = torch.zeros(1, 2, 1), torch.tensor([[[4.0], [6.0], [99.0]]]), torch.ones(1, 1)
    >>> cross_attention(x, memory, table, table, table, torch.tensor([[[True, True, False]]]))
    tensor([[[5.],
             [5.]]])
    """
    output, _weights = scaled_dot_product_attention(x @ w_q, memory @ w_k, memory @ w_v, src_mask)
    return output


def with_pytorch(x, memory, w_q, w_k, w_v, src_mask):
    return F.scaled_dot_product_attention(x @ w_q, memory @ w_k, memory @ w_v, attn_mask=src_mask)


def with_one_matrix(x, memory, w_q, w_k, w_v, src_mask):
    key, value = (memory @ torch.cat([w_k, w_v], dim=1)).split([w_k.shape[1], w_v.shape[1]], dim=-1)
    scores = torch.einsum("btd,bsd->bts", x @ w_q, key) / math.sqrt(w_q.shape[1])
    weights = torch.where(src_mask, scores, torch.tensor(-torch.inf)).softmax(dim=-1)
    return torch.einsum("bts,bsv->btv", weights, value)


def with_a_loop(x, memory, w_q, w_k, w_v, src_mask):
    outputs = []
    for sentence, words, seen in zip(x, memory, src_mask, strict=True):
        words = words[seen[0]]
        scores = (sentence @ w_q) @ (words @ w_k).T
        outputs.append((scores / w_k.shape[1] ** 0.5).softmax(dim=-1) @ (words @ w_v))
    return torch.stack(outputs)


def _of(
    sources=lambda x, memory: (x, memory, memory),
    matrices=lambda q, k, v: (q, k, v),
    mask=lambda mask, x, memory: mask,
    divisor=lambda w_q, x: math.sqrt(w_q.shape[1]),
    dim=-1,
):
    """Cross-attention with one of its parts exchanged."""

    def attention(x, memory, w_q, w_k, w_v, src_mask):
        q, k, v = (a @ w for a, w in zip(sources(x, memory), matrices(w_q, w_k, w_v), strict=True))
        scores, seen = q @ k.mT / divisor(w_q, x), mask(src_mask, x, memory)
        if seen is not None:
            scores = scores.masked_fill(~seen, -1e30)
        return scores.softmax(dim=dim) @ v

    return attention


def _over_queries(x, memory, w_q, w_k, w_v, src_mask):
    weights = ((x @ w_q) @ (memory @ w_k).mT / math.sqrt(w_q.shape[1])).softmax(dim=-2)
    return weights.masked_fill(~src_mask, 0.0) @ (memory @ w_v)


def _zeroed_after(x, memory, w_q, w_k, w_v, src_mask):
    weights = ((x @ w_q) @ (memory @ w_k).mT / math.sqrt(w_q.shape[1])).softmax(dim=-1)
    return (weights * src_mask) @ (memory @ w_v)


def _asked_by_the_memory(x, memory, w_q, w_k, w_v, src_mask):
    scores = (memory @ w_q) @ (x @ w_k).mT / math.sqrt(w_q.shape[1])
    return scores.masked_fill(~src_mask.mT, -torch.inf).softmax(dim=-1) @ (x @ w_v)


def _zeroed_memory(x, memory, w_q, w_k, w_v, src_mask):
    memory = memory * src_mask.mT
    scores = (x @ w_q) @ (memory @ w_k).mT / math.sqrt(w_q.shape[1])
    return scores.softmax(dim=-1) @ (memory @ w_v)


def _causal(mask, x, memory):
    return torch.ones(x.shape[1], memory.shape[1], dtype=torch.bool).tril()


def _and_causal(mask, x, memory):
    return mask & _causal(mask, x, memory)


def _and_square_causal(join):
    """A causal mask of the target's own, as wide as the target, joined with that of the source."""

    def mask(src_mask, x, memory):
        return join(src_mask, torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril())

    return _of(mask=mask)


def _cases():
    def one(batch, tgt_len, src_len, d_model, d_k, d_v, real, about, seed):
        made = [
            randn(batch, tgt_len, d_model, seed=seed),
            randn(batch, src_len, d_model, seed=seed + 1),
            randn(d_model, d_k, seed=seed + 2),
            randn(d_model, d_k, seed=seed + 3),
            randn(d_model, d_v, seed=seed + 4),
        ]
        mask = (torch.arange(src_len) < torch.tensor(real)[:, None])[:, None]
        return case(*made, mask, about=about)

    return [
        one(1, 2, 3, 2, 2, 2, [3], "one sentence, no pads", 0),
        one(2, 3, 5, 7, 4, 6, [5, 2], "pads in the second source", 10),
        one(3, 3, 3, 3, 3, 3, [3, 2, 1], "all sizes equal", 20),
        one(2, 5, 3, 4, 2, 3, [1, 3], "a target longer than the source", 30),
    ]


EXERCISE = Exercise(
    title="Cross-attention",
    task="One head of cross-attention. The target x (batch, tgt_len, d_model) asks, the memory (batch, src_len, "
    "d_model) answers, and src_mask (batch, 1, src_len) is True at real source words. Return (batch, tgt_len, d_v).",
    reference=cross_attention,
    cases=_cases,
    mistakes=(
        Mistake(
            "self-attention",
            _of(sources=lambda x, memory: (x, x, x), mask=lambda mask, x, memory: None),
            "The memory makes no difference: this is self-attention of the target. Keys and values come from `memory`.",
        ),
        Mistake(
            "memory-alone",
            _of(sources=lambda x, memory: (memory, memory, memory)),
            "The target makes no difference: queries come from `x`. The output has one row for each *target* position.",
        ),
        Mistake(
            "roles-exchanged",
            _of(sources=lambda x, memory: (memory, x, x), mask=lambda mask, x, memory: None),
            "The roles are exchanged: the target asks, so queries come from `x`, and keys and values from `memory`.",
        ),
        Mistake(
            "asked-by-the-memory",
            _asked_by_the_memory,
            "One row for each *source* word came out: the memory asks here, and the mask was turned to fit. The target "
            "asks: queries come from `x`, keys and values from `memory`, and `src_mask` fits as it is.",
        ),
        Mistake(
            "pads-zeroed-in-the-memory",
            _zeroed_memory,
            "Right without pads. A pad whose vector is zero is still a key: its score is 0, and the exponential of 0 "
            "is 1, so it takes a share of the weights. Hide its *score* before the softmax.",
        ),
        Mistake(
            "no-mask",
            _of(mask=lambda mask, x, memory: None),
            "Right without pads. With pads the target attends to them, because `src_mask` makes no difference.",
        ),
        Mistake(
            "causal-instead",
            _of(mask=_causal),
            "Position 0 sees the first source word alone, position 1 the first two: you masked causally. The source "
            "is finished when the decoder begins, so every position may see all its real words.",
        ),
        Mistake(
            "causal-as-well",
            _of(mask=_and_causal),
            "Pads are hidden, but so are the later words of the source. It is finished when the decoder begins: no "
            "causal mask here.",
        ),
        Mistake(
            "square-causal-mask",
            _and_square_causal(lambda src_mask, causal: causal & src_mask),
            "You join a causal mask, (tgt_len, tgt_len), to that of the source, (batch, 1, src_len). The source is "
            "finished when the decoder begins: no causal mask here, `src_mask` alone.",
        ),
        Mistake(
            "square-causal-mask-behind",
            _and_square_causal(lambda src_mask, causal: src_mask & causal),
            "You join a causal mask, (tgt_len, tgt_len), to `src_mask`, (batch, 1, src_len). Every position of the "
            "target may see all of the source, which is finished when the decoder begins: no causal mask here.",
        ),
        Mistake(
            "true-hides",
            _of(mask=lambda mask, x, memory: ~mask),
            "You hide the real words and attend to the pads. Here True = may attend.",
        ),
        Mistake(
            "keys-and-values-exchanged",
            _of(matrices=lambda q, k, v: (q, v, k)),
            "Keys and values have each other's matrix: `w_k` makes what is compared, `w_v` what is carried away.",
        ),
        Mistake(
            "queries-and-keys-exchanged",
            _of(matrices=lambda q, k, v: (k, q, v)),
            "The target goes through `w_k` and the memory through `w_q`. The target asks: its queries are made with "
            "`w_q`, and the memory's keys with `w_k`.",
        ),
        Mistake(
            "values-through-w-k",
            _of(matrices=lambda q, k, v: (q, k, k)),
            "Your values went through `w_k`, and `w_v` makes no difference. A copied line?",
        ),
        Mistake(
            "softmax-over-queries",
            _over_queries,
            "Your columns sum to 1: the target positions compete for each source word, and later positions change "
            "earlier ones. Each row has its own softmax over the source words.",
        ),
        Mistake(
            "weights-zeroed-after-the-softmax",
            _zeroed_after,
            "Pads have the weight 0, but what remains in a row no longer sums to 1. Mask before the softmax.",
        ),
        Mistake(
            "scores-times-the-mask",
            lambda x, memory, w_q, w_k, w_v, src_mask: (
                ((x @ w_q) @ (memory @ w_k).mT / math.sqrt(w_q.shape[1]) * src_mask).softmax(dim=-1) @ (memory @ w_v)
            ),
            "A pad gets the score 0, and the exponential of 0 is 1: pads still have weight. A hidden score must be so "
            "low that its exponential is 0.",
        ),
        Mistake(
            "not-scaled",
            _of(divisor=lambda w_q, x: 1.0),
            "The scores are not divided by √d_k, so the weights are too sharp.",
        ),
        Mistake(
            "scaled-by-d-model",
            _of(divisor=lambda w_q, x: math.sqrt(x.shape[-1])),
            "Your scores come out divided by √d_model. Queries and keys have d_k entries: divide by √d_k.",
        ),
    ),
    hints=(
        "Three projections: which of `x` and `memory` does each of them read?",
        "The target asks, so queries are made from `x`; keys and values both from `memory`. The mask hides columns, "
        "and it broadcasts as it is.",
        "`scaled_dot_product_attention(x @ w_q, memory @ w_k, memory @ w_v, src_mask)` returns the output and the "
        "weights.",
    ),
    alternatives=(with_pytorch, with_one_matrix, with_a_loop),
    difficulty=1,
    minutes=10,
)
