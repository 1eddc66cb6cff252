import torch
from torch.nn import functional as F

from course_lib.tokens import BOS, EOS
from course_practice.engine import Exercise, case
from course_practice.engine.compare import as_tensor


def teacher_forcing(target):
    """The decoder's input and its target, each one token longer than `target` (batch, tgt_len).

    >>> teacher_forcing(torch.tensor([[7, 8]]))
    (tensor([[1, 7, 8]]), tensor([[7, 8, 2]]))
    """
    begin = torch.full((len(target), 1), BOS)
    end = torch.full((len(target), 1), EOS)
    return torch.cat([begin, target], dim=1), torch.cat([target, end], dim=1)


def with_pad(target):
    return F.pad(target, (1, 0), value=BOS), F.pad(target, (0, 1), value=EOS)


def _holds_floats(obj, given):
    """The name of the mistake, where one of the two results holds numbers with a fraction."""
    results = [as_tensor(result) for result in obj(*given.args)]
    return "floats" if any(result.is_floating_point() for result in results) else ""


EXERCISE = Exercise(
    reference=teacher_forcing,
    cases=lambda: [
        case(torch.tensor([[7, 8]]), about="one sentence of two words"),
        case(torch.tensor([[4, 9, 5], [8, 6, 7]]), about="two sentences of three words"),
        case(torch.tensor([[5, 6, 4], [9, 8, 7], [4, 4, 5]]), about="all sizes equal"),
        case(torch.tensor([[6], [9]]), about="a single word"),
    ],
    excluded=_holds_floats,
    alternatives=(with_pad,),
)
