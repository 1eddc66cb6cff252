import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.tokens import BOS, EOS, PAD
from course_practice.engine import Exercise, case


def shift(tgt):
    """What the decoder reads and what it must write, each one token longer than `tgt` (batch, n), padded right.

    >>> shift(torch.tensor([[7, 8, 9], [5, 0, 0]]))
    (tensor([[1, 7, 8, 9],
            [1, 5, 0, 0]]), tensor([[7, 8, 9, 2],
            [5, 2, 0, 0]]))
    """
    lengths = (tgt != PAD).sum(dim=1, keepdim=True)
    tgt_in = F.pad(tgt, (1, 0), value=BOS)
    tgt_out = F.pad(tgt, (0, 1), value=PAD).scatter(1, lengths, EOS)
    return tgt_in, tgt_out


def cut_from_one_sequence(tgt):
    batch, n = tgt.shape
    whole = torch.full((batch, n + 2), PAD)
    whole[:, 0], whole[:, 1 : n + 1] = BOS, tgt
    whole[torch.arange(batch), (tgt != PAD).sum(dim=1) + 1] = EOS
    return whole[:, :-1], whole[:, 1:]


def _read_where_it_counts(obj, given):
    """Where the target is a pad, no loss counts what is read: an EOS there, or a pad, is the same."""
    tgt = given.args[0]
    shape = (tgt.shape[0], tgt.shape[1] + 1)
    behind = torch.arange(shape[1]) > (tgt != PAD).sum(dim=1, keepdim=True)
    made = obj(*given.args, **given.kwargs)
    if not (isinstance(made, tuple | list) and len(made) == 2 and isinstance(made[0], Tensor)):
        return made
    if made[0].shape != shape or made[0].is_complex():
        return made
    return made[0].masked_fill(behind, PAD), made[1]


def _what_is_read_after_the_end(obj, given):
    """A remark on a `tgt_in` that was cut from the row of `tgt_out`: it reads EOS where the chapter has a pad."""
    if torch.equal(obj(*given.args, **given.kwargs)[0], shift(*given.args)[0]):
        return ""
    return (
        "Your first result is not quite the page's: in short rows, EOS is where a pad should be. "
        "That does no harm, because its target is a pad, which no loss counts."
    )


EXERCISE = Exercise(
    reference=shift,
    call=_read_where_it_counts,
    remark=_what_is_read_after_the_end,
    cases=lambda: [
        case(torch.tensor([[7, 8]]), about="one sentence without pads"),
        case(torch.tensor([[7, 8, 9], [5, 0, 0]]), about="a long sentence and a short one"),
        case(torch.tensor([[6, 4, 0, 0, 0], [9, 5, 7, 0, 0]]), about="no sentence fills its row"),
        case(torch.tensor([[4, 0, 0], [5, 6, 0], [7, 8, 9]]), about="as many sentences as tokens"),
        case(torch.tensor([[8], [0]]), about="a sentence without words"),
    ],
    alternatives=(cut_from_one_sequence,),
)
