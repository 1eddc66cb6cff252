import torch
from torch import Tensor

from course_lib.batching import pad, shift
from course_lib.tokens import BOS, EOS, PAD
from course_practice.engine import Exercise, case


def three_tensors(pairs):
    """src, tgt_in, and tgt_out of pairs (source ids, target ids) without special tokens.

    >>> for tensor in three_tensors([([7, 8], [5, 6]), ([7], [5])]):
    ...     print(tensor.tolist())
    [[7, 8, 2], [7, 2, 0]]
    [[1, 5, 6], [1, 5, 0]]
    [[5, 6, 2], [5, 2, 0]]
    """
    src = pad([[*src, EOS] for src, _ in pairs])
    tgt_in = pad([[BOS, *tgt] for _, tgt in pairs])
    tgt_out = pad([[*tgt, EOS] for _, tgt in pairs])
    return src, tgt_in, tgt_out


def with_shift(pairs):
    read, write = zip(*(shift(tgt) for _src, tgt in pairs), strict=True)
    return pad([[*src, EOS] for src, _tgt in pairs]), pad(read), pad(write)


def _read_where_it_counts(obj, given):
    """A batch counts as its three tensors. Where the target is a pad, no loss counts what is read."""
    made = obj(*given.args, **given.kwargs)
    if all(hasattr(made, name) for name in ("src", "tgt_in", "tgt_out")):
        made = made.src, made.tgt_in, made.tgt_out
    if not (isinstance(made, tuple | list) and len(made) == 3 and isinstance(made[1], Tensor)):
        return made
    right = three_tensors(*given.args)
    if made[1].shape != right[1].shape or made[1].is_complex():
        return tuple(made)
    return made[0], made[1].masked_fill(right[2] == PAD, PAD), made[2]


def _what_is_read_after_the_end(obj, given):
    """A remark on a `tgt_in` that was cut from the row of `tgt_out`: it differs from the chapter's table."""
    made = obj(*given.args, **given.kwargs)
    tgt_in = made.tgt_in if hasattr(made, "tgt_in") else made[1]
    if torch.equal(tgt_in, three_tensors(*given.args)[1]):
        return ""
    return (
        "Your `tgt_in` is not quite the page's: in short rows, EOS is where a pad should be. "
        "That does no harm, because its target is a pad, which no loss counts."
    )


EXERCISE = Exercise(
    reference=three_tensors,
    call=_read_where_it_counts,
    remark=_what_is_read_after_the_end,
    cases=lambda: [
        case([([7, 8], [5, 6, 9])], about="one pair"),
        case([([7, 8, 9, 4], [5, 6]), ([7], [5])], about="a long pair and a short one"),
        case([([4], [8, 9, 6]), ([6, 5, 7], [9])], about="a short source with a long target"),
        case([([5, 6], [7, 8]), ([8, 4], [6, 5]), ([9, 9], [4, 7])], about="all of the same length"),
        case([([4, 5], [6]), ([7], [8, 9, 4, 5]), ([6, 7, 8], [])], about="a target without words"),
    ],
    alternatives=(with_shift,),
)
