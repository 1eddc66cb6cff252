"""Exercise: the halves of an attention, put together."""

import torch
from torch import Tensor

from course_practice.engine import Exercise, Mistake, case
from course_practice.engine.compare import as_tensor
from course_practice.exercises.inputs import randn


def merge(output_a, size_a, output_b, size_b):
    """The output over all keys, and its size, from those over two halves.

    `output` (q_len, d_v) is what attention gives over one half of the keys, and
    `size` (q_len,) is the logarithm of its sum of exp(score). What sees no key has
    the output 0 and the size −∞, also if that holds for both halves.
    Source: Milakov and Gimelshein 2018, section 3.1.

    >>> one, log = torch.tensor([[2.0]]), torch.tensor([4.0]).log()
    >>> other, log_b = torch.tensor([[8 / 3]]), torch.tensor([12.0]).log()
    >>> merge(one, log, other, log_b)[0]
    tensor([[2.5000]])
    """
    size = torch.logaddexp(size_a, size_b)
    share_a, share_b = (size_a - size).exp(), (size_b - size).exp()
    output = share_a[:, None] * output_a + share_b[:, None] * output_b
    # Where both sizes are −∞, the shares are not a number.
    return output.masked_fill(size[:, None] == -torch.inf, 0.0), size


def softmax_of_the_sizes(output_a, size_a, output_b, size_b):
    sizes = torch.stack([size_a, size_b])
    shares = sizes.softmax(dim=0).nan_to_num()
    return (shares[..., None] * torch.stack([output_a, output_b])).sum(dim=0), sizes.logsumexp(dim=0)


def from_the_larger(output_a, size_a, output_b, size_b):
    largest = torch.maximum(size_a, size_b).clamp(min=torch.finfo(size_a.dtype).min)
    a, b = torch.exp(size_a - largest), torch.exp(size_b - largest)
    total = a + b  # 0 where both are hidden
    output = (a.unsqueeze(1) * output_a + b.unsqueeze(1) * output_b) / total.where(total > 0, 1.0).unsqueeze(1)
    return output, largest + torch.log(total)


def by_a_sigmoid(output_a, size_a, output_b, size_b):
    seen = size_b > -torch.inf  # else the share of the second half is 0
    share = torch.sigmoid(size_b - size_a).where(seen, 0.0)[:, None]
    return torch.lerp(output_a, output_b, share), torch.logaddexp(size_b, size_a)


def _join(share, size=torch.logaddexp):
    """Another share of the first half, and another size."""

    def wrong(output_a, size_a, output_b, size_b):
        first = share(size_a, size_b)
        first = first[:, None] if isinstance(first, Tensor) else first
        return first * output_a + (1 - first) * output_b, size(size_a, size_b)

    return wrong


def _share(a, b):
    return torch.sigmoid(a - b)


def _without_a_maximum(output_a, size_a, output_b, size_b):
    a, b = size_a.exp(), size_b.exp()
    return (a[:, None] * output_a + b[:, None] * output_b) / (a + b)[:, None], (a + b).log()


def _not_divided(output_a, size_a, output_b, size_b):
    largest = torch.maximum(size_a, size_b)
    a, b = (size_a - largest).exp(), (size_b - largest).exp()
    return a[:, None] * output_a + b[:, None] * output_b, torch.logaddexp(size_a, size_b)


def _maximum_left_out(output_a, size_a, output_b, size_b):
    output, size = merge(output_a, size_a, output_b, size_b)
    return output, size - torch.maximum(size_a, size_b)


def _output_alone(output_a, size_a, output_b, size_b):
    return merge(output_a, size_a, output_b, size_b)[0]


def _sum_below_the_largest(output_a, size_a, output_b, size_b):
    output, size = merge(output_a, size_a, output_b, size_b)
    return output, (size - torch.maximum(size_a, size_b)).exp()


def _from_the_first_size(output_a, size_a, output_b, size_b):
    return merge(output_a, size_a, output_b, size_b)[0], size_a + (size_b - size_a).exp().log1p()


def _both_in_a_row(output_a, size_a, output_b, size_b):
    return torch.cat([output_a, output_b]), torch.cat([size_a, size_b])


def _stacked(output_a, size_a, output_b, size_b):
    return torch.stack([output_a, output_b]), torch.stack([size_a, size_b])


def _axis_forgotten(output_a, size_a, output_b, size_b):
    size = torch.logaddexp(size_a, size_b)
    return (size_a - size).exp() * output_a + (size_b - size).exp() * output_b, size


def _softmax_over_queries(output_a, size_a, output_b, size_b):
    shares = torch.stack([size_a, size_b]).softmax(dim=1)[..., None]
    return shares[0] * output_a + shares[1] * output_b, torch.logaddexp(size_a, size_b)


def _nan_where_both_are_hidden(output_a, size_a, output_b, size_b):
    size = torch.logaddexp(size_a, size_b)
    share_a, share_b = (size_a - size).exp(), (size_b - size).exp()
    return share_a[:, None] * output_a + share_b[:, None] * output_b, size


def _size_zero_where_both_are_hidden(output_a, size_a, output_b, size_b):
    output, size = merge(output_a, size_a, output_b, size_b)
    return output, size.masked_fill(size == -torch.inf, 0.0)


def _hidden_twice(obj, given):
    """The name of the mistake, where two halves without a key to see change what a third one adds to them."""
    hidden, none, output, size = given.args
    if not none.isneginf().all():
        return ""
    merged = [as_tensor(part) for part in obj(hidden, none, hidden.clone(), none.clone())]
    if any(part.isnan().any() for part in merged):
        return "both-hidden"
    after = [as_tensor(part) for part in obj(*merged, output.clone(), size.clone())]
    same = all(torch.allclose(a.to(b), b, atol=1e-5) for a, b in zip(after, (output, size), strict=True))
    return "" if same else "both-hidden-and-heard"


def _case(q_len, d_v, about, seed, shift_a=0.0, shift_b=0.0):
    return case(
        randn(q_len, d_v, seed=seed),
        randn(q_len, seed=seed + 1) + shift_a,
        randn(q_len, d_v, seed=seed + 2),
        randn(q_len, seed=seed + 3) + shift_b,
        about=about,
    )


EXERCISE = Exercise(
    title="Two halves of the keys",
    task="Two machines hold half of the keys each. For the same queries, each has computed its output (q_len, d_v), "
    "the attention over its own keys, and its size (q_len,), the logarithm of its sum of exp(score). Return output and "
    "size over all keys. A size may be 120, or −120. A half whose keys are all hidden from a query has the output 0 "
    "and the size −∞, and so have the two together if that holds for both.",
    reference=merge,
    excluded=_hidden_twice,
    cases=lambda: [
        case(
            torch.tensor([[2.0]]),
            torch.tensor([4.0]).log(),
            torch.tensor([[8 / 3]]),
            torch.tensor([12.0]).log(),
            about="the numbers of the text: 5/2",
        ),
        _case(2, 3, "two queries", 0),
        _case(5, 2, "five queries", 10),
        _case(3, 3, "all sizes equal", 20),
        _case(4, 7, "the second half fits better", 30, shift_b=4.0),
        _case(3, 2, "large scores", 40, shift_a=120.0, shift_b=121.0),
        _case(3, 2, "scores far below zero", 50, shift_a=-120.0, shift_b=-121.0),
        case(
            torch.zeros(2, 3),
            torch.full((2,), float("-inf")),
            randn(2, 3, seed=60),
            randn(2, seed=61),
            about="a half in which every key is hidden: its size is −∞",
        ),
    ],
    mistakes=(
        Mistake(
            "both-hidden",
            _nan_where_both_are_hidden,
            "Right wherever a query sees a key on one of the two machines. Where both hide all their keys from it, "
            "−∞ − (−∞) is not a number, and NaN stays NaN when a third machine is merged. Give back what such a "
            "machine has: the output 0 and the size −∞.",
        ),
        Mistake(
            "both-hidden-and-heard",
            _size_zero_where_both_are_hidden,
            "Right wherever a query sees a key on one of the two machines. Where both hide all their keys from it, "
            "what you return still counts when a third machine is merged. Its size should be −∞, the logarithm of 0.",
        ),
        Mistake(
            "plain-mean",
            _join(lambda a, b: 0.5),
            "Your output is the plain mean of the two, as if both halves fit equally well. The sizes say how well they "
            "fit: a half counts by its sum of exponentials.",
        ),
        Mistake(
            "plain-mean-and-sizes-added",
            _join(lambda a, b: 0.5, lambda a, b: a + b),
            "Two things are left. Your output is the plain mean, but a half counts by its sum of exponentials. And you "
            "add the sizes, which are logarithms: the sums under them add up.",
        ),
        Mistake(
            "sum-of-outputs",
            lambda output_a, size_a, output_b, size_b: (output_a + output_b, torch.logaddexp(size_a, size_b)),
            "Your output is the sum of the two. Each is a weighted mean already, so the shares of the two must sum "
            "to 1.",
        ),
        Mistake(
            "shares-exchanged",
            _join(lambda a, b: _share(b, a)),
            "The shares are exchanged: the half that fits better counts less. Look at what is subtracted from what in "
            "the exponent.",
        ),
        Mistake(
            "logarithms-as-shares",
            _join(lambda a, b: a / (a + b)),
            "You take the logarithms themselves as shares. Take exp first, of their difference to the larger one.",
        ),
        Mistake(
            "logarithms-as-shares-and-added",
            _join(lambda a, b: a / (a + b), lambda a, b: a + b),
            "You treat the sizes as if they were the sums themselves. They are logarithms: take exp of their "
            "differences to the larger one.",
        ),
        Mistake(
            "no-maximum",
            _without_a_maximum,
            "Right for small scores. But exp(120) is infinite in float32, and exp(−120) is 0: subtract the larger "
            "size before you take exp.",
        ),
        Mistake(
            "maximum-not-put-back",
            _maximum_left_out,
            "The output is right, but the size is too small by what you subtracted inside the exponent. Add the "
            "larger size again, after the logarithm.",
        ),
        Mistake(
            "sizes-added",
            _join(_share, lambda a, b: a + b),
            "The output is right, but the size is not: adding logarithms multiplies the sums. `torch.logaddexp` adds "
            "the sums.",
        ),
        Mistake(
            "largest-size",
            _join(_share, torch.maximum),
            "The output is right, but the size is that of the better half alone. The sums of both halves add up.",
        ),
        Mistake(
            "mean-of-sizes",
            _join(_share, lambda a, b: (a + b) / 2),
            "The output is right, but the size is the mean of the two logarithms. The sums under them add up.",
        ),
        Mistake(
            "sum-without-its-logarithm",
            _join(_share, lambda a, b: torch.logaddexp(a, b).exp()),
            "The output is right. The size should be the *logarithm* of the sum, so that it can be merged again.",
        ),
        Mistake(
            "sum-below-the-largest",
            _sum_below_the_largest,
            "The output is right. Your size is the sum that is left after the larger size was subtracted: take its "
            "logarithm, and add the larger size again.",
        ),
        Mistake(
            "from-the-first-size",
            _from_the_first_size,
            "The output is right, and so is the size, until every key of the first half is hidden: its size is −∞, and "
            "−∞ + ∞ is not a number. Start from the *larger* of the two sizes.",
        ),
        Mistake(
            "output-alone",
            _output_alone,
            "The output is right, and the size is missing. Return both, so that a third machine can be merged next.",
        ),
        Mistake(
            "in-a-row",
            _both_in_a_row,
            "The two machines come one behind the other, as if each had queries of its own. They have the same "
            "queries: each query needs one output, made of two.",
        ),
        Mistake(
            "stacked",
            _stacked,
            "The two machines are stacked, not merged. Each query needs one output, made of two.",
        ),
        Mistake(
            "axis-forgotten",
            _axis_forgotten,
            "A share is one number a query, (q_len,), and an output has d_v numbers, (q_len, d_v). Give the shares a "
            "last axis, `[:, None]`, so that each multiplies its row.",
        ),
        Mistake(
            "better-half-alone",
            _join(lambda a, b: (a >= b).float()),
            "Each query takes the half that fits better and forgets the other. Both count, by their sums.",
        ),
        Mistake(
            "softmax-over-the-queries",
            _softmax_over_queries,
            "The size is right, but the shares of one *machine* sum to 1, over the queries. For each query the shares "
            "of the two machines sum to 1.",
        ),
        Mistake(
            "not-divided",
            _not_divided,
            "The shares do not sum to 1: divide by the sum of the two exponentials.",
        ),
        Mistake(
            "first-half-alone",
            lambda output_a, size_a, output_b, size_b: (output_a, size_a),
            "This is the first half alone.",
        ),
    ),
    hints=(
        "An output is a fraction: a weighted sum of values above the line, the sum of exponentials below it. What are "
        "the numerators of the two halves?",
        "The share of a half is exp(its size) divided by the sum of both. Subtract the common size inside the "
        "exponent, so that nothing overflows.",
        "`size = torch.logaddexp(size_a, size_b)`, and `(size_a - size).exp()[:, None] * output_a` plus the "
        "same for b. Where `size` is −∞, set the output to 0.",
    ),
    alternatives=(softmax_of_the_sizes, from_the_larger, by_a_sigmoid),
    difficulty=2,
    minutes=10,
)
