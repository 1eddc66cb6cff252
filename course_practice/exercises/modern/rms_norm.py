"""Exercise: the norm without a mean."""

import math

import torch
from torch.nn import functional as F

from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.inputs import randn


def rms_norm(x, gain, eps=1e-6):
    """gain · x / √(mean of the squares + eps), for each token alone.

    >>> rms_norm(torch.tensor([1.0, 7.0]), gain=torch.ones(2))
    tensor([0.2000, 1.4000])
    """
    mean_square = x.square().mean(dim=-1, keepdim=True)
    return gain * x / (mean_square + eps).sqrt()


def with_pytorchs_function(x, gain, eps=1e-6):
    return F.rms_norm(x, x.shape[-1:], gain, eps)


def by_the_length(x, gain, eps=1e-6):
    d = x.shape[-1]
    length = (x.norm(dim=-1, keepdim=True) ** 2 + d * eps).sqrt()
    return math.sqrt(d) * x / length * gain


def with_rsqrt(x, gain, eps=1e-6):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * gain


def token_by_token(x, gain, eps=1e-6):
    rows = [gain * row / (row @ row / len(row) + eps) ** 0.5 for row in x.reshape(-1, x.shape[-1])]
    return torch.stack(rows).view(x.shape)


def _by_root(mean_square, eps):
    return (mean_square + eps).sqrt()


def _of(dim=-1, size=_by_root, gained=lambda normalized, gain: gain * normalized):
    """The norm with one of its steps exchanged."""

    def answer(x, gain, eps=1e-6):
        return gained(x / size(x.square().mean(dim=dim, keepdim=True), eps), gain)

    return answer


def _layer_norm(x, gain, eps=1e-6):
    return gain * F.layer_norm(x, x.shape[-1:], eps=eps)


def _by_standard_deviation(x, gain, eps=1e-6):
    return gain * x / (x.var(dim=-1, keepdim=True, correction=0) + eps).sqrt()


def _centered_above_alone(x, gain, eps=1e-6):
    return gain * (x - x.mean(dim=-1, keepdim=True)) / (x.square().mean(dim=-1, keepdim=True) + eps).sqrt()


def _length_one(x, gain, eps=1e-6):
    return gain * x / (x.square().sum(dim=-1, keepdim=True) + eps).sqrt()


def _length_one_without_eps(x, gain, eps=1e-6):
    return gain * x / x.square().sum(dim=-1, keepdim=True).sqrt()


def _square_of_the_mean(x, gain, eps=1e-6):
    return gain * x / (x.mean(dim=-1, keepdim=True).square() + eps).sqrt()


def _mean_size(x, gain, eps=1e-6):
    return gain * x / (x.abs().mean(dim=-1, keepdim=True) + eps)


def _of_everything(x, gain, eps=1e-6):
    return gain * x / (x.square().mean() + eps).sqrt()


def _no_keepdim(x, gain, eps=1e-6):
    return gain * x / (x.square().mean(dim=-1) + eps).sqrt()


def _minus_one(x, gain, eps=1e-6):
    d = x.shape[-1]
    return gain * x / (x.square().sum(dim=-1, keepdim=True) / max(d - 1, 1) + eps).sqrt()


def _cases():
    one = torch.ones(4)
    return [
        case(torch.tensor([[1.0, 7.0], [-3.0, 4.0]]), torch.ones(2), about="two tokens by hand"),
        case(torch.tensor([[2.0, -2.0, 2.0, 2.0]]), torch.tensor([3.0, 1.0, 6.0, 9.0]), about="a gain"),
        case(3 * randn(2, 3, 5, seed=1) + 5, randn(5, seed=2), about="all sizes different"),
        case(randn(4, 4, 4, seed=4) - 2, randn(4, seed=5), about="all sizes equal"),
        case(randn(3, 7, seed=7) * 1e-3, torch.ones(7), about="tokens of tiny numbers"),
        case(randn(2, 5, seed=8), torch.ones(5), eps=3.0, about="a large eps"),
        case(torch.zeros(2, 4), one, about="tokens of zeros"),
        case(randn(2, 3, 4, 6, seed=9), randn(6, seed=10), about="four axes"),
    ]


EXERCISE = Exercise(
    title="The norm without a mean",
    task="Return gain · x / √(mean of the squares + eps), where the mean runs over the features of each token.",
    reference=rms_norm,
    cases=_cases,
    mistakes=(
        Mistake(
            "layer-norm",
            _layer_norm,
            "That is a layer norm: the mean of your tokens is 0. RMSNorm subtracts nothing.",
        ),
        Mistake(
            "centered-above-alone",
            _centered_above_alone,
            "The divisor is right, and above the line you subtract the mean. RMSNorm subtracts nothing.",
        ),
        Mistake(
            "divided-by-the-standard-deviation",
            _by_standard_deviation,
            "Your divisor is the standard deviation, which takes the mean away before it squares. RMSNorm squares x "
            "as it is.",
        ),
        Mistake(
            "length-one",
            _length_one,
            "Your tokens have length 1, so they are too small by a factor of √d: take the *mean* of the squares, not "
            "their sum.",
        ),
        Mistake(
            "length-one-without-eps",
            _length_one_without_eps,
            "Your tokens have length 1, so they are too small by a factor of √d: take the *mean* of the squares, not "
            "their sum. And eps plays no part in your result.",
        ),
        Mistake(
            "no-root",
            _of(size=lambda mean_square, eps: mean_square + eps),
            "You divide by the mean square itself. Doubling x should change nothing, and with your answer it halves "
            "the result: a root is missing.",
        ),
        Mistake(
            "square-of-the-mean",
            _square_of_the_mean,
            "You square the mean. RMSNorm takes the mean of the squares: 1 and 7 have the mean square 25, not 16.",
        ),
        Mistake(
            "mean-of-the-sizes",
            _mean_size,
            "You divide by the mean of |x|. For (1, 7) that is 4; the root of the mean of the *squares* is 5.",
        ),
        Mistake(
            "eps-outside-the-root",
            _of(size=lambda mean_square, eps: mean_square.sqrt() + eps),
            "Right on ordinary tokens. Where the numbers are tiny or eps is large, your eps turns out to be added to "
            "the root; it belongs under it.",
        ),
        Mistake(
            "no-eps",
            _of(size=lambda mean_square, eps: mean_square.sqrt()),
            "Right on ordinary tokens. A token of zeros becomes 0 / 0, because eps plays no part in your result.",
        ),
        Mistake(
            "eps-fixed",
            _of(size=lambda mean_square, eps: (mean_square + 1e-6).sqrt()),
            "Right for eps = 1e-6. One case gives another eps, and your result does not change with it.",
        ),
        Mistake(
            "eps-as-a-lower-limit",
            _of(size=lambda mean_square, eps: mean_square.clamp(min=eps).sqrt()),
            "Your eps counts only where the mean square is smaller. It is added to every mean square, under the root.",
        ),
        Mistake(
            "one-less",
            _minus_one,
            "You divide the sum of the squares by d − 1. This is a plain mean: divide by d.",
        ),
        Mistake(
            "gain-added",
            _of(gained=lambda normalized, gain: gain + normalized),
            "Right up to the gain: you add it. It multiplies.",
        ),
        Mistake(
            "gain-divides",
            _of(gained=lambda normalized, gain: normalized / gain),
            "Right up to the gain: you divide by it. It multiplies.",
        ),
        Mistake(
            "no-gain",
            _of(gained=lambda normalized, gain: normalized),
            "The normalization is right. The gain is missing: it multiplies each feature at the end.",
        ),
        Mistake(
            "one-plus-gain",
            _of(gained=lambda normalized, gain: (1 + gain) * normalized),
            "You multiply by 1 + gain. Some models store their gains that way (Gemma does); here the gain itself is "
            "the factor.",
        ),
        Mistake(
            "over-the-tokens",
            _of(dim=-2),
            "Your mean runs over the tokens of a sentence, so that they change one another. It runs over the features "
            "of one token, the last axis.",
        ),
        Mistake(
            "over-the-first-axis",
            _of(dim=0),
            "Your mean runs over the first axis. It runs over the features of one token, the last axis.",
        ),
        Mistake(
            "over-axis-1",
            _of(dim=1),
            "Right where x is a table of tokens. In a batch of sentences axis 1 runs over the tokens: the features are "
            "always the last axis, `dim=-1`.",
        ),
        Mistake(
            "over-everything",
            _of_everything,
            "You have one mean for the whole batch. Each token has its own: `dim=-1`.",
        ),
        Mistake(
            "no-keepdim",
            _no_keepdim,
            "The mean has lost its last axis, so it does not line up with the tokens. Keep it with a 1: "
            "`keepdim=True`.",
        ),
    ),
    hints=(
        "For (1, 7) compute three numbers on paper: the squares, their mean, and its root. Along which axis do they "
        "run in `x`?",
        "Nothing is subtracted. The mean of the squares runs over the last axis, with `keepdim=True`. Where does eps "
        "stand?",
        "`mean_square = x.square().mean(dim=-1, keepdim=True)`, and then `gain * x / (mean_square + eps).sqrt()`.",
    ),
    alternatives=(with_pytorchs_function, by_the_length, with_rsqrt, token_by_token),
    difficulty=1,
    minutes=6,
)
