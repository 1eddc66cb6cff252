import torch
from torch import Tensor

from course_lib.batching import pad
from course_lib.tokens import PAD
from course_practice.engine import Exercise, case


def pad_starter(sequences, pad_id=PAD):
    """Sequences of different lengths as one tensor, filled up on the right."""
    longest = max(...)
    rows = [[*sequence, *[...] * (longest - ...)] for sequence in sequences]
    return torch.tensor(rows)


def with_two_lists(sequences, pad_id=PAD):
    longest = max(len(sequence) for sequence in sequences)
    rows = [list(sequence) + [pad_id] * (longest - len(sequence)) for sequence in sequences]
    return torch.tensor(rows)


def _as_ids(obj, given):
    """Ids are whole numbers in a tensor: an embedding takes nothing else."""
    made = obj(*given.args, **given.kwargs)
    if isinstance(made, list | tuple):
        return "no tensor, but nested lists"
    if isinstance(made, Tensor) and made.is_floating_point() and all(given.args[0]):  # a tensor of nothing is float
        return "a tensor of floating-point numbers"
    return made


EXERCISE = Exercise(
    reference=pad,
    starter=pad_starter,
    call=_as_ids,
    cases=lambda: [
        case([[5, 6, 7], [5]], about="a long sentence and a short one"),
        case([[4], [8, 9, 6, 7], [5, 6]], about="the longest in the middle"),
        case([[4, 5], [6, 7, 8]], pad_id=9, about="another number for pads"),
        case([[7, 8], [5, 4]], about="two of the same length"),
        case([[6, 5, 4, 7]], about="a single sentence"),
        case([[8, 8, 5], [], [9]], pad_id=3, about="one of them empty"),
    ],
    alternatives=(with_two_lists,),
)
