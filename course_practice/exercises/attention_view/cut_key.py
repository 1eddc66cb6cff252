"""Exercise: cut one key."""

import torch

from course_lib.attention_view import cut_key
from course_lib.masks import causal_mask, masked_softmax
from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.inputs import randn


def by_a_mask(weights, key):
    others = torch.arange(weights.shape[-1]) != key
    rest = weights * others
    total = rest.sum(-1, keepdim=True)
    return torch.where(total > 0, rest / total, torch.zeros_like(rest))


def by_what_is_left(weights, key):
    kept = weights.masked_fill(torch.nn.functional.one_hot(torch.tensor(key), weights.shape[-1]).bool(), 0.0)
    return torch.nn.functional.normalize(kept, p=1, dim=-1)


def by_the_scores(weights, key):
    seen = weights > 0
    seen[..., key] = False
    return masked_softmax(weights.clamp(min=1e-30).log(), seen)


def _zeroed(weights, key):
    kept = weights.clone()
    kept[..., key] = 0.0
    return kept


def _divided(weights, key):
    kept = _zeroed(weights, key)
    return kept / kept.sum(dim=-1, keepdim=True)


def _row(weights, key):
    kept = weights.clone()
    kept[..., key, :] = 0.0
    return kept


def _column_sums(weights, key):
    kept = _zeroed(weights, key)
    return kept / kept.sum(dim=-2, keepdim=True).clamp(min=1e-12)


def _softmax(weights, key):
    kept = weights.clone()
    kept[..., key] = -torch.inf
    return kept.softmax(dim=-1)


def _softmax_of_zero(weights, key):
    return _zeroed(weights, key).softmax(dim=-1)


def _shared_evenly(weights, key):
    kept = _zeroed(weights, key)
    share = weights[..., [key]] / (weights.shape[-1] - 1)
    share = share.expand_as(weights).clone()
    share[..., key] = 0.0
    return kept + share


def _removed(weights, key):
    kept = torch.cat([weights[..., :key], weights[..., key + 1 :]], dim=-1)
    return kept / kept.sum(dim=-1, keepdim=True).clamp(min=1e-12)


def _whole(weights, key):
    kept = _zeroed(weights, key)
    return kept / kept.sum()


def _next_key(weights, key):
    return cut_key(weights, (key + 1) % weights.shape[-1])


EXERCISE = Exercise(
    title="Cut one key",
    task="Return the weights (…, q_len, k_len) without one key: its column is 0, and the rest of each row sums to 1 "
    "again, in the old proportions. A row that has nothing else becomes all zeros.",
    reference=cut_key,
    cases=lambda: [
        case(torch.tensor([[0.6, 0.3, 0.1], [0.2, 0.4, 0.4]]), 0, about="three keys, the first one cut"),
        case(randn(4, 5, seed=1).softmax(dim=-1), 2, about="four queries, five keys"),
        case(torch.tensor([[0.0, 1.0], [0.5, 0.5]]), 1, about="a row that has nothing else"),
        case(masked_softmax(randn(2, 3, 5, 5, seed=2), causal_mask(5)), 1, about="a causal mask"),
        case(randn(3, 3, seed=3).softmax(dim=-1), 2, about="as many queries as keys"),
        case((3 * randn(2, 4, 3, 7, seed=4)).softmax(dim=-1), 6, about="the last key of seven"),
    ],
    mistakes=(
        Mistake(
            "not-renormalized",
            _zeroed,
            "The column is gone, and the rows no longer sum to 1. Then the head also says *less*, and you could not "
            "tell which of the two had an effect. Divide each row by its sum.",
        ),
        Mistake(
            "divided-by-zero",
            _divided,
            "A row that has nothing but this key is divided by 0 and comes out as NaN. It should be all zeros: "
            "`.clamp(min=1e-12)` below the line.",
        ),
        Mistake(
            "row-zeroed",
            _row,
            "A whole row is 0: you took out a *query*. Rows are queries, and the key is a column, the last axis.",
        ),
        Mistake(
            "summed-over-queries",
            _column_sums,
            "The columns sum to 1, and the rows should: add up over the keys, `dim=-1`.",
        ),
        Mistake(
            "softmax-again",
            _softmax,
            "The weights went through a second softmax, so the proportions of the others have changed. They are "
            "weights already: divide by their sum.",
        ),
        Mistake(
            "softmax-of-the-rest",
            _softmax_of_zero,
            "After the softmax the key that was cut has some weight again, for e⁰ is 1. Divide by the sum instead.",
        ),
        Mistake(
            "shared-evenly",
            _shared_evenly,
            "Each of the others got the same share of what was cut. Keep their proportions: divide by the sum.",
        ),
        Mistake(
            "column-removed",
            _removed,
            "The column is missing, so the table is narrower than the values. Keep it, with zeros.",
        ),
        Mistake(
            "whole-table",
            _whole,
            "You divide by the sum of the whole table. Each *row* should sum to 1.",
        ),
        Mistake(
            "next-key",
            _next_key,
            "You cut the key after the one asked for. Keys are counted from 0.",
        ),
    ),
    hints=(
        "Which axis belongs to the keys? And what must each row sum to afterwards?",
        "Copy with `.clone()`, set `[..., key]` to 0, and divide by the sum over the keys with `keepdim=True`.",
        "`kept / kept.sum(dim=-1, keepdim=True).clamp(min=1e-12)`.",
    ),
    alternatives=(by_a_mask, by_what_is_left, by_the_scores),
    difficulty=1,
    minutes=6,
)
