import torch

from course_lib.masks import causal_mask
from course_practice.engine import Exercise, case
from course_practice.exercises.masks._shared import one_infinity


def pack(sentences):
    """One row of ids, their positions, and the mask with which each token sees its own sentence so far.

    >>> ids, positions, mask = pack([[5, 6], [7]])
    >>> ids, positions
    (tensor([5, 6, 7]), tensor([0, 1, 0]))
    >>> mask.int()
    tensor([[1, 0, 0],
            [1, 1, 0],
            [0, 0, 1]], dtype=torch.int32)
    """
    ids = torch.cat([torch.tensor(tokens) for tokens in sentences])
    positions = torch.cat([torch.arange(len(tokens)) for tokens in sentences])
    sentence = torch.cat([torch.full((len(tokens),), i) for i, tokens in enumerate(sentences)])
    same = sentence[:, None] == sentence[None, :]
    return ids, positions, same & causal_mask(len(ids))


def with_block_diagonal(sentences):
    blocks = [causal_mask(len(tokens)) for tokens in sentences]
    ids = torch.tensor([token for tokens in sentences for token in tokens])
    return ids, torch.cat([torch.arange(len(block)) for block in blocks]), torch.block_diag(*blocks)


EXERCISE = Exercise(
    reference=pack,
    canonical=one_infinity,
    cases=lambda: [
        case([[5, 6], [7]], about="two sentences"),
        case([[7, 9, 5, 12], [4, 6]], about="a long one first"),
        case([[8], [4, 6, 9], [5, 7]], about="three of different lengths"),
        case([[5, 6, 5], [5, 6, 5]], about="the same sentence twice"),
        case([[4, 6], [7, 5]], about="two of the same length"),
        case([[4, 5, 6]], about="a single sentence"),
    ],
    alternatives=(with_block_diagonal,),
)
