import torch

from course_practice.engine import Exercise, case
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


EXERCISE = Exercise(reference=masked_batch_norm, cases=_cases, alternatives=(with_a_mask,))
