import inspect
import math

import torch

from course_lib.masks import causal_mask, masked_softmax, padding_mask
from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn


def infinity_then_nan_to_num(scores, mask=None):
    if mask is None:
        return scores.softmax(dim=-1)
    return torch.softmax(scores.masked_fill(mask.logical_not(), float("-inf")), dim=-1).nan_to_num(0.0)


def lowest_then_zeroed(scores, mask=None):
    if mask is None:
        return scores.softmax(dim=-1)
    lowest = torch.finfo(scores.dtype).min
    weights = scores.masked_fill(~mask, lowest).softmax(dim=-1)
    return weights.masked_fill(~mask, 0.0)


def exponentials_by_hand(scores, mask=None):
    if mask is None:
        return scores.softmax(dim=-1)
    top = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).amax(dim=-1, keepdim=True)
    exps = torch.where(mask, torch.exp(scores - top), 0.0)
    return exps / exps.sum(dim=-1, keepdim=True).clamp(min=torch.finfo(scores.dtype).tiny)


def _softmax_cases():
    half = randn(3, 5, seed=5).half()
    some = randn(2, 3, 5, 7, seed=4) > -0.5
    some[1, 2, 3] = False
    two, low = torch.tensor([True, True, False]), torch.tensor([[-20.0, -21.0, -22.0]] * 2)
    padded = torch.tensor([[4, 5, 6, 7, 0, 0, 0], [0, 0, 0, 8, 9, 4, 5]])
    return [
        case(torch.tensor([[1.0, 2.0, 3.0]]), mask=two[None], about="the last key hidden"),
        case(torch.zeros(2, 2), mask=torch.tensor([[True, False], [False, False]]), about="an empty row"),
        case(randn(5, 5, seed=1), mask=causal_mask(5), about="causal"),
        case(randn(2, 3, 5, 7, seed=2), mask=padding_mask(padded), about="padding, several heads"),
        case(randn(2, 3, 5, 7, seed=3), mask=some, about="any mask, one row empty"),
        case(randn(3, 3, 3, seed=6), mask=causal_mask(3), about="all sizes equal"),
        case(randn(2, 5, seed=7) + 100.0, mask=torch.tensor([True, False, True, True, False]), about="large scores"),
        case(half, mask=torch.tensor([[True, True, False, True, False]]), about="float16"),
        case(low.half(), mask=torch.stack([two, ~two & two]), about="an empty row in float16, scores below zero"),
        case(low[:1].half() + two[None].logical_not() * 22, mask=two[None], about="float16, a hidden score far above"),
        case(torch.tensor([[-2e4, -2e4 - 1, -2e4 + 10]]), mask=two[None], about="all scores lie far below zero"),
        case(
            torch.tensor([[71.0, 70, 72], [-41, -40, -42]]), mask=two.repeat(2, 1), about="one row far below the other"
        ),
        case(torch.tensor([[300.0, 0, 1, 2]]), mask=torch.arange(4)[None] < 3, about="one score far above all others"),
        case(randn(2, 3, 5, seed=8), mask=None, about="no mask"),
    ]


def _nan_in_whole_rows(weights):
    """Whether a hidden key beside a NaN is NaN or 0 depends on how it was hidden, not on the mistake."""
    if not weights.is_floating_point() or weights.dim() == 0:
        return weights
    return weights.masked_fill(weights.isnan().any(dim=-1, keepdim=True), math.nan)


def _calls_the_library(obj, given):
    """Is the function to be written called by its own name?"""
    code = getattr(inspect.unwrap(obj), "__code__", None)
    return "calls-masked-softmax" if code is not None and "masked_softmax" in code.co_names else ""


EXERCISE = Exercise(
    reference=masked_softmax,
    cases=_softmax_cases,
    canonical=_nan_in_whole_rows,
    rtol=2e-3,
    alternatives=(infinity_then_nan_to_num, lowest_then_zeroed, exponentials_by_hand),
    excluded=_calls_the_library,
    trained=True,
)
