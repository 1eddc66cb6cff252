"""Exercise: layer normalization."""

import torch
from torch.nn import functional as F

from course_lib.layer_norm import layer_norm
from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.inputs import randn


def with_var_mean(x, gain, bias, eps=1e-5):
    variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
    return (x - mean) * torch.rsqrt(variance + eps) * gain + bias


def with_std(x, gain, bias, eps=1e-5):
    mean = x.mean(dim=-1, keepdim=True)
    std = x.std(dim=-1, keepdim=True, unbiased=False)
    return bias + gain * (x - mean) / (std**2 + eps) ** 0.5


def with_pytorchs_function(x, gain, bias, eps=1e-5):
    return F.layer_norm(x, x.shape[-1:], gain, bias, eps)


def token_by_token(x, gain, bias, eps=1e-5):
    rows = []
    for row in x.reshape(-1, x.shape[-1]):
        centered = row - row.sum() / len(row)
        size = (centered @ centered / len(row) + eps).sqrt()
        rows.append(gain * centered / size + bias)
    return torch.stack(rows).view(x.shape)


def _affine(normalized, gain, bias):
    return gain * normalized + bias


def _of(dim=-1, center=True, correction=0, size=lambda variance, eps: (variance + eps).sqrt(), affine=_affine):
    """Layer normalization with one of its steps exchanged."""

    def answer(x, gain, bias, eps=1e-5):
        mean = x.mean(dim=dim, keepdim=True)
        variance = x.var(dim=dim, keepdim=True, correction=correction)
        return affine((x - mean if center else x) / size(variance, eps), gain, bias)

    return answer


def _outside(variance, eps):
    return variance.sqrt() + eps


def _no_root(variance, eps):
    return variance + eps


def _whole(x, gain, bias, eps=1e-5):
    return gain * (x - x.mean()) / (x.var(correction=0) + eps).sqrt() + bias


def _over_all_but_the_first(x, gain, bias, eps=1e-5):
    return _of(dim=tuple(range(1, x.dim())))(x, gain, bias, eps)


def _difference_of_squares(x, gain, bias, eps=1e-5):
    mean = x.mean(dim=-1, keepdim=True)
    variance = x.square().mean(dim=-1, keepdim=True) - mean.square()
    return gain * (x - mean) / (variance + eps).sqrt() + bias


def _root_mean_square(x, gain, bias, eps=1e-5):
    return gain * x / (x.square().mean(dim=-1, keepdim=True) + eps).sqrt() + bias


def _by_root_mean_square(x, gain, bias, eps=1e-5):
    centered = x - x.mean(dim=-1, keepdim=True)
    return gain * centered / (x.square().mean(dim=-1, keepdim=True) + eps).sqrt() + bias


def _by_length(x, gain, bias, eps=1e-5):
    centered = x - x.mean(dim=-1, keepdim=True)
    return gain * centered / (centered.square().sum(dim=-1, keepdim=True) + eps).sqrt() + bias


def _by_length_at_least_eps(x, gain, bias, eps=1e-5):
    return gain * F.normalize(x - x.mean(dim=-1, keepdim=True), dim=-1, eps=eps) + bias


def _no_keepdim(x, gain, bias, eps=1e-5):
    return gain * (x - x.mean(dim=-1)) / (x.var(dim=-1, correction=0) + eps).sqrt() + bias


def _no_keepdim_and_unbiased(x, gain, bias, eps=1e-5):
    return gain * (x - x.mean(dim=-1)) / (x.var(dim=-1) + eps).sqrt() + bias


def _no_keepdim_by_hand(x, gain, bias, eps=1e-5):
    mean = x.mean(dim=-1)
    variance = (x - mean).square().mean(dim=-1)
    return gain * (x - mean) / (variance + eps).sqrt() + bias


def _by_length_alone(x, gain, bias, eps=1e-5):
    return gain * x / (x.square().sum(dim=-1, keepdim=True) + eps).sqrt() + bias


def _mean_alone_divided(x, gain, bias, eps=1e-5):
    variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
    return gain * x - mean / (variance + eps).sqrt() + bias


def _by_length_and_eps(x, gain, bias, eps=1e-5):
    centered = x - x.mean(dim=-1, keepdim=True)
    return gain * centered / (centered.norm(dim=-1, keepdim=True) + eps) + bias


def _cases():
    one, zero = torch.ones(4), torch.zeros(4)
    return [
        case(torch.tensor([[1.0, 3.0, 1.0, 3.0], [4.0, 4.0, 0.0, 0.0]]), one, zero, about="two tokens by hand"),
        case(torch.tensor([[0.0, 8.0, 6.0, 6.0]]), torch.tensor([3.0, 1.0, 6.0, 9.0]), one, about="gain and bias"),
        case(3 * randn(2, 3, 5, seed=1) + 5, randn(5, seed=2), randn(5, seed=3), about="all sizes different"),
        case(randn(4, 4, 4, seed=4) - 2, randn(4, seed=5), randn(4, seed=6), about="all sizes equal"),
        case(randn(3, 7, seed=7) * 1e-3, torch.ones(7), torch.zeros(7), about="tokens of tiny numbers"),
        case(randn(2, 5, seed=8), torch.ones(5), torch.zeros(5), eps=3.0, about="a large eps"),
        case(torch.full((2, 4), 7.0), one, torch.tensor([1.0, 2.0, 3.0, 4.0]), about="a token of equal numbers"),
        case(torch.tensor([[0.1, 8.3, 0.7, 7.9], [1.2, 5.4, 0.9, 6.1]]) + 1e3, one, zero, about="far from zero"),
    ]


EXERCISE = Exercise(
    title="Layer normalization",
    task="Return gain · (x − mean) / √(variance + eps) + bias, with mean and variance of each token's features.",
    reference=layer_norm,
    cases=_cases,
    mistakes=(
        Mistake(
            "unbiased",
            _of(correction=1),
            "Your outputs are too small by a factor of √((d − 1)/d): your variance divides by d − 1. PyTorch's `var` "
            "and `std` do that unless you write `unbiased=False`.",
        ),
        Mistake(
            "eps-outside-the-root",
            _of(size=_outside),
            "Right on ordinary tokens. Where the numbers are tiny or eps is large, it shows that your eps is added "
            "to the root and not under it: √(variance + eps).",
        ),
        Mistake(
            "unbiased-and-eps-outside-the-root",
            _of(correction=1, size=_outside),
            "Two things. Your variance divides by d − 1 (write `unbiased=False`), and your eps is added to the root, "
            "where the formula has it under the root.",
        ),
        Mistake(
            "no-root",
            _of(size=_no_root),
            "Your numbers come out divided by the variance. What is the unit of a variance, if x is in meters? The "
            "root is missing.",
        ),
        Mistake(
            "unbiased-and-no-root",
            _of(correction=1, size=_no_root),
            "Two things. Your numbers come out divided by the variance, not by its root, and the variance itself "
            "divides by d − 1 (write `unbiased=False`).",
        ),
        Mistake(
            "not-centered",
            _of(center=False),
            "The size is right, but the mean of your tokens is not 0: subtract it above the line as well.",
        ),
        Mistake(
            "root-mean-square",
            _root_mean_square,
            "That is another norm, without a mean (RMSNorm, chapter 20). Here the mean is subtracted first.",
        ),
        Mistake(
            "divided-by-the-root-mean-square",
            _by_root_mean_square,
            "Above the line the mean is subtracted, but your divisor is computed from x as it is. The variance is the "
            "mean square of x − mean.",
        ),
        Mistake(
            "only-centered",
            _of(size=lambda variance, eps: 1.0),
            "The mean is 0 now, but the size is what it was: divide by √(variance + eps).",
        ),
        Mistake(
            "only-centered-without-gain-and-bias",
            _of(size=lambda variance, eps: 1.0, affine=lambda normalized, gain, bias: normalized),
            "The mean is 0 now. Two steps are missing: divide by √(variance + eps), then apply gain and bias.",
        ),
        Mistake(
            "divided-by-the-length",
            _by_length,
            "Your tokens come out too small by a factor of √d: you divide by the length of the vector. The variance "
            "is the *mean* of the squares, not their sum.",
        ),
        Mistake(
            "divided-by-the-length-at-least-eps",
            _by_length_at_least_eps,
            "Your tokens come out with length 1, too small by a factor of √d. The variance is the *mean* of the "
            "squares, not their sum, and eps is added to it under the root.",
        ),
        Mistake(
            "no-keepdim",
            _no_keepdim,
            "Mean and variance have lost their last axis, (…), so they do not line up with the tokens of x, "
            "(…, d_model). Keep it with a 1: `keepdim=True`.",
        ),
        Mistake(
            "no-keepdim-and-unbiased",
            _no_keepdim_and_unbiased,
            "Two things. Mean and variance have lost their last axis: keep it with a 1, `keepdim=True`, so that they "
            "line up with the tokens of x, (…, d_model). And your variance divides by d − 1 (write `unbiased=False`).",
        ),
        Mistake(
            "no-keepdim-for-the-mean-first",
            _no_keepdim_by_hand,
            "The mean has lost its last axis, (…), so it does not line up with the tokens of x, (…, d_model). Keep it "
            "with a 1, `keepdim=True`, and do so for the variance as well.",
        ),
        Mistake(
            "length-one",
            _by_length_alone,
            "Your tokens have length 1. Here the mean is subtracted first, and the divisor is the root of the *mean* "
            "of the squares, not of their sum.",
        ),
        Mistake(
            "no-eps",
            _of(size=lambda variance, eps: variance.sqrt()),
            "Right wherever a token has different numbers. A token of equal numbers becomes 0 / 0, because eps plays "
            "no part in your result.",
        ),
        Mistake(
            "unbiased-and-no-eps",
            _of(correction=1, size=lambda variance, eps: variance.sqrt()),
            "Two things. Your variance divides by d − 1 (write `unbiased=False`), and eps plays no part, so a token of "
            "equal numbers becomes 0 / 0.",
        ),
        Mistake(
            "eps-fixed",
            _of(size=lambda variance, eps: (variance + 1e-5).sqrt()),
            "Right for eps = 1e-5. One case gives another eps, and your result does not change with it.",
        ),
        Mistake(
            "eps-as-a-lower-limit",
            _of(size=lambda variance, eps: variance.clamp(min=eps).sqrt()),
            "Your eps counts only where the variance is smaller. It is added to every variance, under the root.",
        ),
        Mistake(
            "eps-as-a-lower-limit-of-the-root",
            _of(size=lambda variance, eps: variance.sqrt().clamp(min=eps)),
            "Your eps counts only where the root of the variance is smaller. It is added to every variance, under the "
            "root.",
        ),
        Mistake(
            "over-axis-2",
            _of(dim=2),
            "Right where x has three axes. It may have two, (n, d_model), or four: the features are always the last "
            "axis, `dim=-1`.",
        ),
        Mistake(
            "over-the-tokens",
            _of(dim=-2),
            "Each *feature* now has mean 0 over the tokens of a sentence. Mean and variance belong to one token: they "
            "run over its features, the last axis.",
        ),
        Mistake(
            "over-the-first-axis",
            _of(dim=0),
            "Your mean and variance run over the first axis, so that the sentences of a batch change one another. They "
            "belong to one token: the last axis.",
        ),
        Mistake(
            "over-the-sentence",
            _of(dim=(-2, -1)),
            "Your mean and variance run over all the numbers of a sentence, so that its tokens change one another. "
            "They belong to one token: the last axis alone.",
        ),
        Mistake(
            "over-all-axes-but-the-first",
            _over_all_but_the_first,
            "Right where x is a table of tokens. In a batch of sentences your mean and variance run over the tokens as "
            "well, so that they change one another. The features are the last axis alone.",
        ),
        Mistake(
            "over-everything",
            _whole,
            "You have one mean and one variance for the whole batch. Each token has its own: `dim=-1`.",
        ),
        Mistake(
            "bias-before-gain",
            _of(affine=lambda normalized, gain, bias: gain * (normalized + bias)),
            "Your bias comes out multiplied by the gain. The gain multiplies the normalized token alone, and the bias "
            "is added at the end.",
        ),
        Mistake(
            "gain-and-bias-exchanged",
            _of(affine=lambda normalized, gain, bias: bias * normalized + gain),
            "Gain and bias have changed places: the gain multiplies, the bias is added.",
        ),
        Mistake(
            "no-bias",
            _of(affine=lambda normalized, gain, bias: gain * normalized),
            "Right up to the last step: the bias is missing.",
        ),
        Mistake(
            "no-gain",
            _of(affine=lambda normalized, gain, bias: normalized + bias),
            "The bias is added, but the gain has no effect: it multiplies the normalized token first.",
        ),
        Mistake(
            "neither-gain-nor-bias",
            _of(affine=lambda normalized, gain, bias: normalized),
            "The normalization is right. What is missing comes after it: multiply by the gain and add the bias.",
        ),
        Mistake(
            "unbiased-and-neither-gain-nor-bias",
            _of(correction=1, affine=lambda normalized, gain, bias: normalized),
            "Two things. Your variance divides by d − 1 (write `unbiased=False`), and gain and bias are missing.",
        ),
        Mistake(
            "difference-of-squares",
            _difference_of_squares,
            "Right on paper, and wrong for a token far from zero: the mean of the squares minus the square of the mean "
            "is a small difference of two huge numbers, and float32 has no digits left for it. Subtract first, then "
            "square.",
        ),
        Mistake(
            "over-axis-1",
            _of(dim=1),
            "Right where x is a table of tokens. In a batch of sentences, axis 1 runs over the tokens, so that they "
            "change one another. The features are always the last axis: `dim=-1`.",
        ),
        Mistake(
            "mean-alone-divided",
            _mean_alone_divided,
            "Only the mean is divided by the root, since x − mean stands without parentheses. Subtract first, then "
            "divide the difference.",
        ),
        Mistake(
            "divided-by-the-length-and-eps",
            _by_length_and_eps,
            "You divide by the length of the vector, so that your tokens come out too small by a factor of √d. The "
            "variance is the *mean* of the squares, not their sum, and eps is added to it under the root.",
        ),
    ),
    hints=(
        "Compute three numbers of the token (1, 3, 1, 3) on paper: its mean, its variance, and the root of that. Along "
        "which axis do they run in `x`?",
        "Mean and variance run over the last axis, with `keepdim=True` so that they line up with the tokens. PyTorch's "
        "`var` divides by d − 1 unless you write `unbiased=False`. Where does eps stand?",
        "`mean = x.mean(dim=-1, keepdim=True)`, `variance = (x - mean).square().mean(dim=-1, keepdim=True)`, and then "
        "one line with `torch.sqrt(variance + eps)`, `gain`, and `bias`.",
    ),
    alternatives=(with_var_mean, with_std, with_pytorchs_function, token_by_token),
    difficulty=1,
    minutes=10,
)
