"""Exercise: bug hunt: four bugs in six lines."""

import math

import torch
from torch.nn import functional as F

from course_lib.attention import scaled_dot_product_attention
from course_lib.masks import causal_mask, padding_mask
from course_lib.tokens import PAD
from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.inputs import randn
from course_practice.exercises.masks._shared import NEG_INF, ones, real_queries
from course_practice.exercises.masks.target import target_mask


def self_attention(query, key, value, ids):
    """Masked self-attention of a decoder: query, key, value (batch, n_heads, n, d_k), ids (batch, n)."""
    n = ids.shape[1]
    real = (ids != PAD)[:, None, None, :]
    order = torch.ones(n, n, dtype=torch.bool).tril()
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    scores = scores.masked_fill(~(real & order), float("-inf"))
    return scores.softmax(dim=-1) @ value


def self_attention_starter(query, key, value, ids):
    n = ids.shape[1]
    real = (ids != PAD)[:, None, :, None]
    order = torch.ones(n, n, dtype=torch.bool).triu()
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    scores.masked_fill(~(real | order), float("-inf"))
    return scores.softmax(dim=-1) @ value


def from_the_library(query, key, value, ids):
    mask = padding_mask(ids) & causal_mask(ids.shape[1])
    output, _weights = scaled_dot_product_attention(query, key, value, mask)
    return output


def with_torch_attention(query, key, value, ids):
    n = ids.shape[1]
    mask = (ids != PAD)[:, None, None, :] & torch.ones(n, n).tril().bool()
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)


def with_an_additive_mask(query, key, value, ids):
    n = ids.shape[1]
    future = torch.full((n, n), float("-inf")).triu(1)
    pads = torch.zeros(ids.shape).masked_fill(ids == PAD, float("-inf"))[:, None, None, :]
    scores = torch.einsum("bhqd,bhkd->bhqk", query, key) / query.shape[-1] ** 0.5
    return torch.einsum("bhqk,bhkd->bhqd", (scores + future + pads).softmax(-1), value)


def _half_repaired(rows=False, upper=False, either=False):
    """The repaired listing with some of its bugs left in."""

    def repaired(query, key, value, ids):
        real = (ids != PAD)[:, None, :, None] if rows else (ids != PAD)[:, None, None, :]
        order = ones(ids.shape[1]).triu() if upper else ones(ids.shape[1]).tril()
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        mask = real | order if either else real & order
        return scores.masked_fill(~mask, NEG_INF).softmax(dim=-1) @ value

    return repaired


def _masks_differently(real=padding_mask, order=causal_mask, fill=NEG_INF):
    """The repaired listing with one part exchanged."""

    def repaired(query, key, value, ids):
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        return scores.masked_fill(~(real(ids) & order(ids.shape[1])), fill).softmax(dim=-1) @ value

    return repaired


def _without_mask(query, key, value, ids):
    return (query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])).softmax(dim=-1) @ value


def _hides_rows_too(query, key, value, ids):
    mask = padding_mask(ids) & real_queries(ids) & causal_mask(ids.shape[1])
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return scores.masked_fill(~mask, NEG_INF).softmax(dim=-1) @ value


def _hides_rows_too_without_nan(query, key, value, ids):
    return _hides_rows_too(query, key, value, ids).nan_to_num(0.0)


def _only(padding):
    def attention(query, key, value, ids):
        mask = padding_mask(ids) if padding else causal_mask(ids.shape[1])
        return scaled_dot_product_attention(query, key, value, mask)[0]

    return attention


def _repair_cases():
    def tensors(*shape, seed):
        return [randn(*shape, seed=seed + step) for step in range(3)]

    return [
        case(*tensors(1, 1, 3, 2, seed=0), torch.tensor([[5, 6, 0]]), about="one sentence, one pad"),
        case(*tensors(1, 2, 4, 3, seed=3), torch.tensor([[5, 6, 7, 8]]), about="no pads"),
        case(
            *tensors(2, 3, 5, 7, seed=6), torch.tensor([[5, 6, 7, 0, 0], [8, 9, 4, 6, 5]]), about="padding on the right"
        ),
        case(*tensors(3, 3, 3, 3, seed=9), torch.tensor([[5, 0, 0], [6, 7, 0], [8, 9, 4]]), about="all sizes equal"),
        case(
            *tensors(2, 3, 4, 5, seed=12), torch.tensor([[5, 0, 7, 8], [9, 4, 0, 6]]), about="a pad between two words"
        ),
        case(
            torch.full((1, 1, 3, 16), 64.0),  # scores of −16,384, −16,383, and −16,382, exactly
            torch.cat([torch.arange(3.0)[:, None] / 16, torch.zeros(3, 15)], dim=1)[None, None] - 64.0,
            randn(1, 1, 3, 2, seed=17),
            torch.tensor([[5, 6, 0]]),
            about="all scores lie far below zero",
        ),
    ]


EXERCISE = Exercise(
    title="Bug hunt: four bugs in six lines",
    task="Find the four bugs, so that each token attends to the real tokens up to and including itself.",
    reference=self_attention,
    starter=self_attention_starter,
    cases=_repair_cases,
    mistakes=(
        Mistake(
            "mask-not-applied",
            _without_mask,
            "The result is still attention without any mask, so at least one bug is left: the masked scores never "
            "arrive. What does `masked_fill` return, and which line keeps it?",
        ),
        Mistake(
            "one-bug-left-rows",
            _half_repaired(rows=True),
            "Three of four found. The order is right now; real words still see the pads. Which axis do the pads lie "
            "on?",
        ),
        Mistake(
            "one-bug-left-triangle",
            _half_repaired(upper=True),
            "Three of four found. Pads are hidden now; run a leak probe in your head: which tokens does row 0 see?",
        ),
        Mistake(
            "one-bug-left-or",
            _half_repaired(either=True),
            "Three of four found. Both masks are right now, but a cell gets through with one permission of two.",
        ),
        Mistake(
            "two-bugs-left-rows-and-triangle",
            _half_repaired(rows=True, upper=True),
            "Two of four found. Print both masks for three tokens, one pad: is each of them as you would draw it?",
        ),
        Mistake(
            "two-bugs-left-rows-and-or",
            _half_repaired(rows=True, either=True),
            "Two of four found. The order is right. Look at the padding mask's axes, and at how the two masks are "
            "joined.",
        ),
        Mistake(
            "two-bugs-left-triangle-and-or",
            _half_repaired(upper=True, either=True),
            "Two of four found. The padding mask is right. Look at the order mask, and at how the two masks are "
            "joined.",
        ),
        Mistake(
            "three-bugs-left",
            _half_repaired(rows=True, upper=True, either=True),
            "One of four found: the mask now arrives. Print both masks and their join for three tokens, one of them a "
            "pad.",
        ),
        Mistake(
            "fills-with-zero",
            _masks_differently(fill=0.0),
            "Both masks are right and they arrive, but a score of 0 is not a low score: exp(0) = 1. Fill with −∞.",
        ),
        Mistake(
            "not-low-enough",
            _masks_differently(fill=-100.0),
            "Both masks are right and they arrive, but hidden keys win where the visible scores lie far below zero "
            "(one case has −16,384). Fill with −∞.",
        ),
        Mistake(
            "weights-zeroed-after-the-softmax",
            lambda query, key, value, ids: (
                (query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]))
                .softmax(dim=-1)
                .masked_fill(~target_mask(ids), 0.0)
                @ value
            ),
            "Both masks are right, but they come after the softmax: the weights that remain in a row no longer "
            "sum to 1. Mask the scores instead.",
        ),
        Mistake(
            "order-alone",
            _only(padding=False),
            "The order is right, but the padding mask no longer has any effect: real tokens still see the pads.",
        ),
        Mistake(
            "padding-alone",
            _only(padding=True),
            "Pads are hidden, but the order mask no longer has any effect: tokens see their future.",
        ),
        Mistake(
            "hides-rows-too",
            _hides_rows_too,
            "Pads are hidden as keys *and* as queries now, and a query with nothing to see gives NaN. Keys are enough.",
        ),
        Mistake(
            "hides-rows-too-as-zeros",
            _hides_rows_too_without_nan,
            "Pads are hidden as keys *and* as queries now. Keys are enough: what a pad's own row computes is ignored "
            "later.",
        ),
    ),
    hints=(
        "Check one mask at a time: print `real`, `order`, and their join for the ids `[[5, 6, 0]]`, and draw what you "
        "expect.",
        "Four questions: on which axis are the pads hidden? Which triangle is the past? How many permissions does a "
        "cell need? Does the mask reach the last line?",
        "`[:, None, None, :]`, `.tril()`, `&`, and `scores = scores.masked_fill(…)`.",
    ),
    alternatives=(from_the_library, with_torch_attention, with_an_additive_mask),
    difficulty=3,
    minutes=15,
)
