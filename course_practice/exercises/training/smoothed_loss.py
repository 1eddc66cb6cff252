import torch
from torch.nn import functional as F

from course_lib.tokens import PAD
from course_lib.training import label_smoothed_loss
from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn


def with_soft_targets(logits, targets, smoothing=0.1):
    wanted = (1 - smoothing) * F.one_hot(targets, logits.shape[-1]) + smoothing / logits.shape[-1]
    losses, real = -(wanted * logits.log_softmax(dim=-1)).sum(dim=-1), targets != PAD
    return losses[real].sum() / real.sum().clamp(min=1)


def _cases():
    by_hand = torch.tensor([[[1 / 8, 1 / 2, 1 / 4, 1 / 8]]]).log()
    ids = torch.tensor([[3, 1, 4, 2], [5, 2, PAD, PAD], [2, PAD, PAD, PAD]])
    return [
        case(by_hand, torch.tensor([[1]]), smoothing=0.4, about="one token by hand"),
        case(by_hand, torch.tensor([[1]]), smoothing=0.0, about="no smoothing"),
        case(randn(1, 3, 5, seed=1), torch.tensor([[4, 1, 3]]), about="a sentence without pads"),
        case(randn(1, 3, 5, seed=2), torch.tensor([[4, 2, PAD]]), smoothing=0.2, about="a sentence with a pad"),
        case(randn(3, 4, 7, seed=3), ids, smoothing=0.3, about="sentences of different lengths"),
        case(randn(3, 4, 7, seed=4), ids, smoothing=0.0, about="different lengths, no smoothing"),
        case(randn(5, 5, 5, seed=5), torch.arange(25).view(5, 5) % 4 + 1, smoothing=0.5, about="all sizes equal"),
        case(100 * randn(2, 3, 7, seed=6), torch.tensor([[1, 2, 3], [4, 5, 6]]), about="large logits"),
    ]


EXERCISE = Exercise(reference=label_smoothed_loss, cases=_cases, alternatives=(with_soft_targets,), trained=True)
