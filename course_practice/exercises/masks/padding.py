import torch

from course_lib.masks import padding_mask
from course_lib.tokens import PAD
from course_practice.engine import Exercise, case
from course_practice.exercises.masks._shared import one_infinity


def with_unsqueeze(ids, pad_id=PAD):
    return (ids != pad_id).unsqueeze(1).unsqueeze(2)


def _one_row_for_all_queries(mask):
    """A (batch, heads, q_len, k_len) mask with equal rows says the same as (batch, 1, 1, k_len)."""
    mask = one_infinity(mask)
    return mask[:, :1, :1] if mask.dim() == 4 and mask.numel() and (mask == mask[:, :1, :1]).all() else mask


EXERCISE = Exercise(
    reference=padding_mask,
    cases=lambda: [
        case(torch.tensor([[5, 6, 0]]), about="one sentence, one pad"),
        case(torch.tensor([[5, 6, 7, 0, 0], [8, 9, 4, 6, 5]]), about="padding on the right"),
        case(torch.tensor([[0, 0, 5, 6, 7], [0, 8, 9, 4, 6]]), about="padding on the left"),
        case(torch.tensor([[5, 0, 6, 7], [4, 5, 0, 8], [6, 7, 8, 9]]), about="a pad between two words"),
        case(torch.tensor([[7, 0, 0], [4, 5, 0], [6, 8, 9]]), about="as many sentences as tokens"),
        case(torch.tensor([[0, 6, 3, 1], [4, 0, 1, 1]]), pad_id=1, about="pad_id=1, and 0 is a word"),
        case(torch.tensor([[0, 0], [4, 0], [2, 7]]), about="a sentence of pads alone"),
    ],
    canonical=_one_row_for_all_queries,
    alternatives=(with_unsqueeze,),
)
