"""Exercise: a softmax with a mask."""

import math

import torch

from course_lib.masks import causal_mask, masked_softmax, padding_mask
from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.inputs import randn
from course_practice.exercises.masks._shared import NEG_INF


def zero_then_renormalize(scores, mask=None):
    if mask is None:
        return scores.softmax(dim=-1)
    weights = scores.softmax(dim=-1) * mask
    total = weights.sum(dim=-1, keepdim=True)
    return torch.where(total > 0, weights / total, torch.zeros_like(weights))


def infinity_then_nan_to_num(scores, mask=None):
    if mask is None:
        return scores.softmax(dim=-1)
    return torch.softmax(scores.masked_fill(mask.logical_not(), float("-inf")), dim=-1).nan_to_num(0.0)


def exponentials_by_hand(scores, mask=None):
    if mask is None:
        return scores.softmax(dim=-1)
    exps = torch.exp(scores - scores.amax(dim=-1, keepdim=True)) * mask
    return exps / exps.sum(dim=-1, keepdim=True).clamp(min=torch.finfo(scores.dtype).tiny)


def _softmax_cases():
    half = randn(3, 5, seed=5).half()
    some = randn(2, 3, 5, 7, seed=4) > -0.5
    some[1, 2, 3] = False
    padded = torch.tensor([[4, 5, 6, 7, 0, 0, 0], [0, 0, 0, 8, 9, 4, 5]])
    return [
        case(torch.tensor([[1.0, 2.0, 3.0]]), mask=torch.tensor([[True, True, False]]), about="the last key hidden"),
        case(torch.zeros(2, 2), mask=torch.tensor([[True, False], [False, False]]), about="an empty row"),
        case(randn(5, 5, seed=1), mask=causal_mask(5), about="causal"),
        case(randn(2, 3, 5, 7, seed=2), mask=padding_mask(padded), about="padding, several heads"),
        case(randn(2, 3, 5, 7, seed=3), mask=some, about="any mask, one row empty"),
        case(randn(3, 3, 3, seed=6), mask=causal_mask(3), about="all sizes equal"),
        case(randn(2, 5, seed=7) + 100.0, mask=torch.tensor([True, False, True, True, False]), about="large scores"),
        case(half, mask=torch.tensor([[True, True, False, True, False]]), about="float16"),
        case(
            torch.tensor([[-20.0, -21.0, -22.0], [-20.0, -21.0, -22.0]]).half(),
            mask=torch.tensor([[True, True, False], [False, False, False]]),
            about="an empty row in float16, scores below zero",
        ),
        case(
            torch.tensor([[-60.0, -61.0, 0.0]]),
            mask=torch.tensor([[True, True, False]]),
            about="what is visible lies far below what is hidden",
        ),
        case(
            torch.tensor([[-2e4, -2e4 - 1, -2e4 + 10]]),
            mask=torch.tensor([[True, True, False]]),
            about="all scores lie far below zero",
        ),
        case(
            torch.tensor([[71.0, 70.0, 72.0], [-41.0, -40.0, -42.0]]),
            mask=torch.tensor([[True, True, False], [True, True, False]]),
            about="one row lies far below the other",
        ),
        case(
            torch.tensor([[300.0, 0.0, 1.0, 2.0]]),
            mask=torch.tensor([[True, True, True, False]]),
            about="one score lies far above all others",
        ),
        case(randn(2, 3, 5, seed=8), mask=None, about="no mask"),
    ]


def _mistake(name, implementation, message):
    """A mistake in what the stub leaves open: without a mask it is right."""

    def answer(scores, mask=None):
        return scores.softmax(dim=-1) if mask is None else implementation(scores, mask)

    return Mistake(name, answer, message)


def _masked(scores, mask, fill=NEG_INF, axis=-1):
    return scores.masked_fill(~mask, fill).softmax(dim=axis)


def _nan_in_whole_rows(weights):
    """Whether a hidden key beside a NaN is NaN or 0 depends on how it was hidden, not on the mistake."""
    if not weights.is_floating_point() or weights.dim() == 0:
        return weights
    return weights.masked_fill(weights.isnan().any(dim=-1, keepdim=True), math.nan)


def _zeroed(weights, mask):
    return weights.masked_fill(~mask, 0.0)


def _one_maximum(scores, mask):
    """The share of each exponential, shifted by the one largest score of all rows: NaN where all of a row are 0."""
    exps = (scores.float() - scores.max()).exp() * mask
    return exps / exps.sum(dim=-1, keepdim=True)


def _from_the_mean(scores, mask):
    """The share of each exponential, shifted by its row's mean: infinity over infinity where one score stands out."""
    exps = (scores - scores.mean(dim=-1, keepdim=True)).exp() * mask
    return exps / exps.sum(dim=-1, keepdim=True)


def _share(weights, guard):
    return weights / (weights.sum(dim=-1, keepdim=True) + guard)


EXERCISE = Exercise(
    title="A softmax with a mask",
    task="Return softmax(scores) over the last axis with weight 0 wherever mask is False; a row without any True is "
    "all zeros.",
    reference=masked_softmax,
    cases=_softmax_cases,
    canonical=_nan_in_whole_rows,
    rtol=2e-3,  # one case is in float16, and an answer in float64 is more exact than the expected one
    mistakes=(
        _mistake(
            "empty-row-nan",
            _masked,
            "Right where a row has something to see. A row with nothing to see is 0 / 0 = NaN: set it to zero "
            "afterwards.",
        ),
        _mistake(
            "empty-row-uniform",
            lambda scores, mask: _masked(scores, mask, torch.finfo(scores.dtype).min),
            "Right wherever there is something to see. In an empty row all scores are equally low, so the softmax is "
            "uniform: every hidden key gets weight. Set hidden weights to zero afterwards.",
        ),
        _mistake(
            "too-large-for-half",
            lambda scores, mask: _zeroed(_masked(scores, mask, -1e9), mask),
            "Right in float32; float16 ends at −65504, so −1e9 cannot be stored. `torch.finfo(scores.dtype).min` fits "
            "every type.",
        ),
        _mistake(
            "too-large-for-half-and-empty-row-uniform",
            lambda scores, mask: _masked(scores, mask, -1e9),
            "Two cases break it: float16 cannot store −1e9, and a row with nothing to see becomes uniform instead of "
            "zero.",
        ),
        _mistake(
            "not-low-enough",
            lambda scores, mask: _zeroed(_masked(scores, mask, -100.0), mask),
            "A hidden key wins where all scores lie far below zero (one case has −20,000): its fill is not low "
            "enough. `torch.finfo(scores.dtype).min` lies below all.",
        ),
        _mistake(
            "not-low-enough-and-empty-row-uniform",
            lambda scores, mask: _masked(scores, mask, -100.0),
            "Two cases break it: beside visible scores of −20,000 a hidden key wins, since its fill is not low "
            "enough; and a row with nothing to see becomes uniform instead of zero.",
        ),
        _mistake(
            "zeroed-without-renormalizing",
            lambda scores, mask: _zeroed(scores.softmax(dim=-1), mask),
            "Hidden weights are zero, but the visible ones no longer sum to 1: hidden keys still stood in the "
            "denominator. Where must the mask act so that they do not?",
        ),
        _mistake(
            "small-number-in-the-denominator",
            lambda scores, mask: _share(_zeroed(scores.softmax(dim=-1), mask), 1e-9),
            "Almost: where the visible scores lie far below the hidden ones, your weights are too small. A small "
            "number added to the denominator does that, once it is larger than the sum itself. Mask before the "
            "softmax, with −∞.",
        ),
        _mistake(
            "softmax-twice",
            lambda scores, mask: _zeroed(scores.softmax(dim=-1), mask).softmax(dim=-1),
            "Your weights are a softmax of weights, and that revives the zeros: exp(0) = 1. One softmax, with the "
            "hidden scores at −∞ before it.",
        ),
        _mistake(
            "softmax-twice-then-zeroed",
            lambda scores, mask: _zeroed(_zeroed(scores.softmax(dim=-1), mask).softmax(dim=-1), mask),
            "Your weights are a softmax of weights, which revives the zeros (exp(0) = 1), and cutting them again "
            "leaves rows that do not sum to 1. One softmax is enough.",
        ),
        _mistake(
            "fills-with-zero",
            lambda scores, mask: scores.masked_fill(~mask, 0.0).softmax(dim=-1),
            "Hidden scores come out as 0, which is not a low score: exp(0) = 1. Which score has exp(score) = 0?",
        ),
        _mistake(
            "fills-with-zero-then-zeroed",
            lambda scores, mask: _zeroed(scores.masked_fill(~mask, 0.0).softmax(dim=-1), mask),
            "Hidden scores come out as 0, and exp(0) = 1 stays in the denominator: visible weights do not sum to 1.",
        ),
        _mistake(
            "adds-zero-one-mask",
            lambda scores, mask: (scores + mask).softmax(dim=-1),
            "Your visible scores come out 1 higher, and nothing is hidden: a mask that is *added* holds 0 and −∞, not "
            "1 and 0.",
        ),
        _mistake(
            "adds-zero-one-mask-then-zeroed",
            lambda scores, mask: _zeroed((scores + mask).softmax(dim=-1), mask),
            "Your visible scores come out 1 higher, and the hidden keys still stand in the denominator. A mask that "
            "is *added* holds 0 and −∞.",
        ),
        _mistake(
            "zero-times-infinity",
            lambda scores, mask: (scores + (~mask).to(scores.dtype) * NEG_INF).softmax(dim=-1),
            "Even visible weights are NaN, which is what zero times infinity gives. `masked_fill` writes −∞ only "
            "where it belongs.",
        ),
        _mistake(
            "all-zero",
            lambda scores, mask: (scores + (~mask).to(scores.dtype) * NEG_INF).softmax(dim=-1).nan_to_num(0.0),
            "Every weight is 0. Two common causes: 0 · ∞ = NaN, swept away by `nan_to_num`; or one line hides where "
            "the mask is False and the other where it is True.",
        ),
        _mistake(
            "mask-not-applied",
            lambda scores, mask: scores.softmax(dim=-1),
            "Your result is the softmax without a mask. Does a line compute something that nobody keeps? "
            "`masked_fill` returns a new tensor.",
        ),
        _mistake(
            "true-means-ignore",
            lambda scores, mask: _zeroed(_masked(scores, ~mask), ~mask),
            "You hide what the mask lets through. Here True means *may attend*: lower the scores where the mask is "
            "False, `~mask`.",
        ),
        _mistake(
            "true-means-ignore-and-empty-row-nan",
            lambda scores, mask: _masked(scores, ~mask),
            "You hid what the mask lets through: fill where it is False, `~mask`. Rows with nothing to see are NaN as "
            "well.",
        ),
        _mistake(
            "true-means-ignore-and-empty-row-uniform",
            lambda scores, mask: _masked(scores, ~mask, torch.finfo(scores.dtype).min),
            "You hid what the mask lets through: fill where it is False, `~mask`. Rows with nothing to see need zeros "
            "as well.",
        ),
        _mistake(
            "softmax-over-queries",
            lambda scores, mask: _zeroed(_masked(scores, mask, axis=-2).nan_to_num(0.0), mask),
            "Your columns sum to 1, not your rows. The weights of each *query* must sum to 1 over "
            "the keys, the last axis.",
        ),
        _mistake(
            "softmax-over-queries-and-nan",
            lambda scores, mask: _masked(scores, mask, axis=-2),
            "Your columns sum to 1, not your rows: the softmax must run over the keys, the last axis. And a row "
            "with nothing to see gives NaN.",
        ),
        _mistake(
            "one-maximum-for-all",
            lambda scores, mask: _one_maximum(scores, mask).nan_to_num(0.0),
            "Right while the rows are alike. A row that lies far below another comes out as zeros: its exponentials "
            "are too small to store. Each row needs a maximum of its own.",
        ),
        _mistake(
            "one-maximum-for-all-and-empty-row-nan",
            _one_maximum,
            "Two cases break it: a row that lies far below another is 0 / 0 (each row needs a maximum of its own), "
            "and so is a row with nothing to see.",
        ),
        _mistake(
            "mean-instead-of-maximum",
            lambda scores, mask: torch.where(mask.any(dim=-1, keepdim=True), _from_the_mean(scores, mask), 0.0),
            "Right unless one score stands out: 225 above the mean of its row, its exponential is too large for "
            "float32. Subtract the row's largest score, then no exponential exceeds 1.",
        ),
        _mistake(
            "mean-instead-of-maximum-swept-away",
            lambda scores, mask: _from_the_mean(scores, mask).nan_to_num(0.0),
            "Right unless one score stands out: 225 above the mean of its row, its exponential is too large for "
            "float32, and `nan_to_num` turns the row into zeros. Subtract the row's largest score.",
        ),
        _mistake(
            "mean-instead-of-maximum-and-empty-row-nan",
            _from_the_mean,
            "Two cases break it: a score far above the mean of its row has an exponential too large for float32 "
            "(subtract the row's largest score), and an empty row is 0 / 0.",
        ),
        _mistake(
            "softmax-over-everything",
            lambda scores, mask: scores.masked_fill(~mask, NEG_INF).flatten().softmax(dim=0).view_as(scores),
            "All cells together sum to 1. Instead, each *row* that sees anything must sum to 1: the last axis.",
        ),
        _mistake(
            "exponentials-overflow",
            lambda scores, mask: torch.nan_to_num(
                scores.exp() * mask / (scores.exp() * mask).sum(dim=-1, keepdim=True), nan=0.0
            ),
            "Right in exact arithmetic, but exp(100) is too large for float32. Subtract each row's largest score "
            "first, or let `softmax` do it.",
        ),
        _mistake(
            "exponentials-overflow-and-small-number",
            lambda scores, mask: scores.exp() * mask / (scores.exp() * mask).sum(dim=-1, keepdim=True).clamp(min=1e-6),
            "Two things break it: exp(100) is too large for float32, and a row of very low scores comes out as zeros, "
            "because its exponentials are too small beside the smallest denominator that you allow. Subtract each "
            "row's largest visible score first.",
        ),
        _mistake(
            "exponentials-overflow-and-empty-row-nan",
            lambda scores, mask: scores.exp() * mask / (scores.exp() * mask).sum(dim=-1, keepdim=True),
            "Two cases break it: exp(100) is too large for float32 (subtract each row's largest score first), and an "
            "empty row is 0 / 0.",
        ),
    ),
    hints=(
        "Which score has an exponential of exactly 0? And what does a row of only such scores divide by?",
        "Lower the hidden scores *before* the softmax, so that they drop out of the denominator as well. "
        "Then take care of the empty row.",
        "`scores.masked_fill(~mask, lowest)`, one softmax over the last axis, then `masked_fill(~mask, 0.0)`.",
    ),
    alternatives=(infinity_then_nan_to_num, zero_then_renormalize, exponentials_by_hand),
    difficulty=2,
    minutes=10,
)
