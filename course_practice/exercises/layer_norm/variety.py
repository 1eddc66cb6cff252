import torch

from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn


def variety(x):
    """The share of the squared length of a sentence's tokens that lies in their differences from the mean token.

    `x` is (batch, seq_len, d_model), the result (batch,): 0 where all tokens are alike, 1 where their mean is 0.

    >>> variety(torch.tensor([[[0.0, 4.0], [4.0, 0.0], [8.0, 8.0]]]))
    tensor([0.4000])
    """
    different = x - x.mean(dim=1, keepdim=True)
    return different.square().sum(dim=(1, 2)) / x.square().sum(dim=(1, 2))


def by_what_is_common(x):
    common = x.shape[1] * x.mean(dim=1).square().sum(dim=-1)
    return 1 - common / x.square().sum(dim=(-2, -1))


def _cases():
    by_hand = torch.tensor([[[0.0, 4.0], [4.0, 0.0], [8.0, 8.0]]])
    return [
        case(by_hand, about="the three tokens of the text"),
        case(torch.ones(1, 3, 2) * torch.tensor([1.0, 5.0]), about="three equal tokens"),
        case(torch.cat([by_hand, by_hand.flip(1) * 10 - 30]), about="two sentences"),
        case(randn(2, 3, 5, seed=1) + 0.5, about="all sizes different"),
        case(randn(3, 3, 3, seed=2) - 1, about="all sizes equal"),
        case(torch.tensor([[[3.0, -1.0], [-3.0, 1.0]]]), about="two opposite tokens"),
    ]


EXERCISE = Exercise(reference=variety, cases=_cases, alternatives=(by_what_is_common,))
