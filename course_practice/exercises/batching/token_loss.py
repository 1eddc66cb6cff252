import torch
from torch.nn import functional as F

from course_lib.tokens import PAD
from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn


def token_loss(logits, targets):
    """The mean cross-entropy of the real targets: logits (batch, tgt_len, vocab_size), targets (batch, tgt_len).

    >>> logits = torch.tensor([[[2.0, 0.0, 0.0], [0.0, 0.0, 9.0]]])
    >>> token_loss(logits, torch.tensor([[1, PAD]]))     # -ln softmax(2, 0, 0)[1]
    tensor(2.2395)
    """
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=PAD)


def with_chosen_rows(logits, targets):
    real = targets != PAD
    return F.cross_entropy(logits[real], targets[real])


def _cases():
    targets = torch.tensor([[4, 2, 0, 0], [5, 3, 6, 2], [2, 0, 0, 0]])
    return [
        case(torch.tensor([[[2.0, 0.0, 0.0], [0.0, 0.0, 9.0]]]), torch.tensor([[1, 0]]), about="one word and one pad"),
        case(randn(3, 4, 7, seed=1) * 2, targets, about="all sizes different"),
        case(randn(3, 4, 7, seed=2) * 3, torch.tensor([[4, 5], [6, 2]]).repeat(2, 2)[:3], about="no pads"),
        case(randn(3, 3, 3, seed=3) * 2, torch.tensor([[1, 2, 0], [2, 0, 0], [1, 1, 2]]), about="all sizes equal"),
        case(randn(2, 5, 6, seed=4) - 30, torch.tensor([[3, 4, 5, 4, 2], [2, 0, 0, 0, 0]]), about="very low logits"),
        case(randn(2, 3, 5, seed=5) * 2, torch.tensor([[0, 4, 2], [0, 0, 2]]), about="pads on the left"),
    ]


EXERCISE = Exercise(reference=token_loss, cases=_cases, alternatives=(with_chosen_rows,), trained=True)
