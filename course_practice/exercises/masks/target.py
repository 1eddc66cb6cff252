import torch

from course_lib.masks import causal_mask, padding_mask
from course_lib.tokens import PAD
from course_practice.engine import Exercise, case
from course_practice.exercises.masks._shared import one_infinity


def target_mask(ids):
    """The mask of a decoder's self-attention: a token sees itself and what came before it, except pads.

    (batch, 1, 1, n) & (n, n) → (batch, 1, n, n): each sentence gets its own table, every head the same one.

    >>> target_mask(torch.tensor([[5, 6, 0]])).int()
    tensor([[[[1, 0, 0],
              [1, 1, 0],
              [1, 1, 0]]]], dtype=torch.int32)
    """
    return padding_mask(ids) & causal_mask(ids.shape[1]).to(ids.device)


def by_logical_and(ids):
    n = ids.shape[1]
    real = (ids != PAD).unsqueeze(1).unsqueeze(2)
    return torch.logical_and(real, torch.tril(torch.ones(n, n, device=ids.device)))


EXERCISE = Exercise(
    reference=target_mask,
    canonical=one_infinity,
    cases=lambda: [
        case(torch.tensor([[5, 6, 0]]), about="one sentence, one pad"),
        case(torch.tensor([[5, 6, 7, 0, 0], [8, 9, 4, 6, 0]]), about="padding on the right"),
        case(torch.tensor([[0, 0, 5, 6], [0, 8, 9, 4], [5, 4, 7, 9]]), about="padding on the left"),
        case(torch.tensor([[7, 0, 0], [4, 5, 0], [6, 8, 9]]), about="as many sentences as tokens"),
        case(torch.tensor([[4], [5]]), about="a single token each"),
        case(torch.tensor([[0, 0], [4, 0], [2, 7]]), about="a sentence of pads alone"),
    ],
    alternatives=(by_logical_and,),
)
