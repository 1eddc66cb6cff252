"""Exercise: a batch norm that leaves the pads out."""

import torch
from torch.nn import functional as F

from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.inputs import randn


def masked_batch_norm(x, real, eps=1e-5):
    """Normalize each feature over the real tokens of the batch; pads give zeros.

    `x` is (batch, seq_len, d_model), `real` (batch, seq_len) with True at real tokens.

    >>> x = torch.tensor([[[1.0], [3.0]], [[5.0], [99.0]]])
    >>> masked_batch_norm(x, real=torch.tensor([[True, True], [True, False]]))[..., 0]
    tensor([[-1.2247,  0.0000],
            [ 1.2247,  0.0000]])
    """
    tokens = x[real]
    mean = tokens.mean(dim=0)
    variance = (tokens - mean).square().mean(dim=0)
    output = torch.zeros_like(x)
    output[real] = (tokens - mean) / torch.sqrt(variance + eps)
    return output


def with_a_mask(x, real, eps=1e-5):
    keep = real[..., None].to(x.dtype)
    mean = (x * keep).sum(dim=(0, 1)) / keep.sum()
    variance = ((x - mean) ** 2 * keep).sum(dim=(0, 1)) / keep.sum()
    return keep * (x - mean) / (variance + eps).sqrt()


def with_pytorchs_function(x, real, eps=1e-5):
    output = torch.zeros_like(x)
    output[real] = F.batch_norm(x[real], None, None, training=True, eps=eps)
    return output


def with_where(x, real, eps=1e-5):
    variance, mean = torch.var_mean(x[real], dim=0, unbiased=False)
    return torch.where(real.unsqueeze(-1), (x - mean) * (variance + eps) ** -0.5, 0.0)


def with_a_scatter(x, real, eps=1e-5):
    tokens = x[real]
    normalized = (tokens - tokens.mean(0)) / (tokens.var(0, correction=0) + eps).sqrt()
    return torch.zeros_like(x).masked_scatter(real[..., None].expand_as(x), normalized)


def _keep(x, real):
    return real[..., None].to(x.dtype)


def _all_tokens(x, real):
    return x.mean(dim=(0, 1)), x.var(dim=(0, 1), correction=0)


def _real_tokens(x, real):
    return x[real].mean(dim=0), x[real].var(dim=0, correction=0)


def _pads_as_zeros(x, real):
    return _all_tokens(x * _keep(x, real), real)


def _mean_of_all(x, real):
    mean = x.mean(dim=(0, 1))
    return mean, ((x - mean).square() * _keep(x, real)).sum(dim=(0, 1)) / real.sum()


def _variance_of_all(x, real):
    mean = x[real].mean(dim=0)
    return mean, (x - mean).square().mean(dim=(0, 1))


def _divided_by_all(x, real):
    keep = _keep(x, real)
    mean = (x * keep).sum(dim=(0, 1)) / real.numel()
    return mean, ((x - mean).square() * keep).sum(dim=(0, 1)) / real.numel()


def _variance_divided_by_all(x, real):
    mean = x[real].mean(dim=0)
    return mean, ((x - mean).square() * _keep(x, real)).sum(dim=(0, 1)) / real.numel()


def _pads_as_zeros_in_the_variance(x, real):
    mean = x[real].mean(dim=0)
    return mean, (x * _keep(x, real) - mean).square().sum(dim=(0, 1)) / real.sum()


def _each_sentence(x, real):
    keep, n = _keep(x, real), real.sum(dim=1)[:, None, None]
    mean = (x * keep).sum(dim=1, keepdim=True) / n
    return mean, ((x - mean).square() * keep).sum(dim=1, keepdim=True) / n


def _each_position(x, real):
    keep, n = _keep(x, real), real.sum(dim=0)[:, None].clamp(min=1)
    mean = (x * keep).sum(dim=0) / n
    return mean, ((x - mean).square() * keep).sum(dim=0) / n


def _each_token(x, real):
    return x.mean(dim=-1, keepdim=True), x.var(dim=-1, correction=0, keepdim=True)


def _one_for_all_features(x, real):
    return x[real].mean(), x[real].var(correction=0)


def _of(statistics=_real_tokens, size=lambda variance, eps: (variance + eps).sqrt(), zeros=True):
    def answer(x, real, eps=1e-5):
        mean, variance = statistics(x, real)
        normalized = (x - mean) / size(variance, eps)
        return normalized * _keep(x, real) if zeros else normalized

    return answer


def _cases():
    def lengths(*n):
        return torch.arange(max(n)) < torch.tensor(n)[:, None]

    zero_pads = lengths(4, 2, 3)
    return [
        case(torch.tensor([[[1.0], [3.0]], [[5.0], [99.0]]]), lengths(2, 1), about="one feature, one pad"),
        case(randn(2, 3, 5, seed=1) * 2 + 1, lengths(3, 2), about="all sizes different"),
        case(randn(4, 4, 4, seed=2) - 1, lengths(4, 1, 3, 2), about="all sizes equal"),
        case((randn(3, 4, 2, seed=3) + 2) * zero_pads[..., None], zero_pads, about="the pads are zeros"),
        case(randn(2, 5, 3, seed=4) + 3, lengths(5, 5), about="no pads"),
        case(randn(2, 4, 3, seed=5) + 1, lengths(4, 2).flip(1), about="pads on the left"),
        case(randn(2, 3, 4, seed=6), lengths(3, 2), eps=2.0, about="a large eps"),
    ]


EXERCISE = Exercise(
    title="A batch norm without the pads",
    task="Normalize each feature over the real tokens of the whole batch; pads give zeros.",
    reference=masked_batch_norm,
    cases=_cases,
    mistakes=(
        Mistake(
            "pads-counted",
            _of(_all_tokens),
            "The pads' outputs are zeros, but their *inputs* still count in mean and variance. Take the statistics of "
            "`x[real]`.",
        ),
        Mistake(
            "pads-counted-and-not-zeroed",
            _of(_all_tokens, zeros=False),
            "That is a batch norm of everything: the pads count in mean and variance, and they do not give zeros.",
        ),
        Mistake(
            "pads-as-zeros",
            _of(_pads_as_zeros),
            "Your pads count as zeros. They pull the mean toward 0 and are counted in the number of tokens. Leave "
            "them out of both.",
        ),
        Mistake(
            "pads-as-zeros-and-not-zeroed",
            _of(_pads_as_zeros, zeros=False),
            "Two things. Your pads count as zeros in mean and variance, and afterwards they do not give zeros.",
        ),
        Mistake(
            "pads-as-zeros-in-and-out",
            lambda x, real, eps=1e-5: _of(_all_tokens, zeros=False)(x * _keep(x, real), real, eps),
            "Two things. You put zeros at the pads at the start, so they count in mean and variance, and come out as "
            "other numbers. Zeros belong at the end.",
        ),
        Mistake(
            "pads-as-zeros-in-the-variance",
            _of(_pads_as_zeros_in_the_variance),
            "The mean is right. In your variance every pad counts as a zero, and adds the square of the mean. Multiply "
            "by the mask after you subtract.",
        ),
        Mistake(
            "pads-in-the-mean",
            _of(_mean_of_all),
            "Your variance leaves the pads out, and your mean does not.",
        ),
        Mistake(
            "pads-in-the-variance",
            _of(_variance_of_all),
            "Your mean leaves the pads out, and your variance does not.",
        ),
        Mistake(
            "divided-by-the-padded-size",
            _of(_divided_by_all),
            "The sums leave the pads out, but they are divided by batch · seq_len. How many tokens were added up? "
            "`real.sum()`.",
        ),
        Mistake(
            "variance-divided-by-the-padded-size",
            _of(_variance_divided_by_all),
            "The mean is right. The sum in your variance is divided by batch · seq_len, though only real tokens were "
            "added up.",
        ),
        Mistake(
            "pads-not-zeroed",
            _of(zeros=False),
            "Right at the real tokens. The pads must give zeros.",
        ),
        Mistake(
            "pads-unchanged",
            lambda x, real, eps=1e-5: torch.where(real[..., None], masked_batch_norm(x, real, eps), x),
            "Right at the real tokens. The pads come out as they went in, and they must give zeros.",
        ),
        Mistake(
            "not-put-back",
            lambda x, real, eps=1e-5: masked_batch_norm(x, real, eps)[real],
            "The numbers are right, but you return them as a list of the real tokens. Put them back where they were: "
            "`output[real] = …`, with zeros at the pads.",
        ),
        Mistake(
            "mask-inverted",
            lambda x, real, eps=1e-5: masked_batch_norm(x, ~real, eps),
            "You normalize the pads, and the real tokens give zeros. In `real`, True marks a real token.",
        ),
        Mistake(
            "each-sentence-by-itself",
            _of(_each_sentence),
            "Each sentence has its own mean and variance in your answer. A batch norm takes them over the whole batch.",
        ),
        Mistake(
            "each-position-by-itself",
            _of(_each_position),
            "Each position has its own mean and variance in your answer. Here they run over the positions as well.",
        ),
        Mistake(
            "layer-norm",
            _of(_each_token),
            "That is a layer norm with zeros at the pads: each token has its own mean. Here each *feature* has one, "
            "over the real tokens of the batch.",
        ),
        Mistake(
            "one-mean-for-all-features",
            _of(_one_for_all_features),
            "One mean and one variance for all the features. Each feature has its own: reduce over the tokens alone.",
        ),
        Mistake(
            "unbiased",
            _of(lambda x, real: (x[real].mean(dim=0), x[real].var(dim=0))),
            "Your outputs are slightly too small: PyTorch's `var` divides by n − 1 unless you write `unbiased=False`.",
        ),
        Mistake(
            "eps-outside-the-root",
            _of(size=lambda variance, eps: variance.sqrt() + eps),
            "Right for a small eps. A large one shows that yours is added to the root and not under it.",
        ),
        Mistake(
            "eps-fixed",
            _of(size=lambda variance, eps: (variance + 1e-5).sqrt()),
            "Right for eps = 1e-5. One case gives another eps, and your result does not change with it.",
        ),
        Mistake(
            "no-root",
            _of(size=lambda variance, eps: variance + eps),
            "Your numbers come out divided by the variance: the root is missing.",
        ),
    ),
    hints=(
        "Which tokens may enter the mean? And by how many do you divide? Pads may hold any numbers.",
        "`x[real]` is a table with one row for each real token of the batch. Mean and variance of each feature run "
        "over its rows. The results must go back to where the tokens were, and zeros stay at the pads.",
        "`output = torch.zeros_like(x)`, then `output[real] = (tokens - mean) / torch.sqrt(variance + eps)`.",
    ),
    alternatives=(with_a_mask, with_pytorchs_function, with_where, with_a_scatter),
    difficulty=2,
    minutes=15,
)
