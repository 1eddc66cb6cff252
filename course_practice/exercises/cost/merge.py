import torch

from course_practice.engine import Exercise, case
from course_practice.engine.compare import as_tensor
from course_practice.exercises.inputs import randn


def merge(output_a, log_sum_a, output_b, log_sum_b):
    """The output over all keys, and its log-sum, from those over two halves.

    `output` (q_len, d_v) is what attention gives over one half of the keys, and
    `log_sum` (q_len,) is the logarithm of its sum of exp(score). What sees no key has
    the output 0 and the log-sum −∞, also if that holds for both halves.
    Source: Milakov and Gimelshein 2018, section 3.1.

    >>> one, log = torch.tensor([[2.0]]), torch.tensor([4.0]).log()
    >>> other, log_b = torch.tensor([[8 / 3]]), torch.tensor([12.0]).log()
    >>> merge(one, log, other, log_b)[0]
    tensor([[2.5000]])
    """
    log_sum = torch.logaddexp(log_sum_a, log_sum_b)
    share_a, share_b = (log_sum_a - log_sum).exp(), (log_sum_b - log_sum).exp()
    output = share_a[:, None] * output_a + share_b[:, None] * output_b
    # Where both log-sums are −∞, the shares are not a number.
    return output.masked_fill(log_sum[:, None] == -torch.inf, 0.0), log_sum


def softmax_of_the_log_sums(output_a, log_sum_a, output_b, log_sum_b):
    log_sums = torch.stack([log_sum_a, log_sum_b])
    shares = log_sums.softmax(dim=0).nan_to_num()
    return (shares[..., None] * torch.stack([output_a, output_b])).sum(dim=0), log_sums.logsumexp(dim=0)


def _hidden_twice(obj, given):
    """The name of the mistake, where two halves without a key to see change what a third one adds to them."""
    hidden, none, output, log_sum = given.args
    if not none.isneginf().all():
        return ""
    merged = [as_tensor(part) for part in obj(hidden, none, hidden.clone(), none.clone())]
    if any(part.isnan().any() for part in merged) or merged[0].any():
        return "both-hidden"
    after = [as_tensor(part) for part in obj(*merged, output.clone(), log_sum.clone())]
    same = all(torch.allclose(a.to(b), b, atol=1e-5) for a, b in zip(after, (output, log_sum), strict=True))
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
            about="a half in which every key is hidden: its log-sum is −∞",
        ),
    ],
    alternatives=(softmax_of_the_log_sums,),
)
