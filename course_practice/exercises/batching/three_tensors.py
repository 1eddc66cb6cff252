"""Exercise: three tensors of one batch."""

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from course_lib.batching import make_batch, pad, shift
from course_lib.tokens import BOS, EOS, PAD
from course_practice.engine import Convention, Exercise, Mistake, case


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


def cut_from_one_tensor(pairs):
    sources, targets = zip(*pairs, strict=True)
    whole = pad([[BOS, *tgt, EOS] for tgt in targets])
    return pad([[*src, EOS] for src in sources]), whole[:, :-1], whole[:, 1:]


def from_the_library(pairs):
    return make_batch(pairs)


def in_a_loop(pairs):
    src, tgt_in, tgt_out = [], [], []
    for source, target in pairs:
        src.append(torch.tensor([*source, EOS]))
        tgt_in.append(torch.tensor([BOS, *target]))
        tgt_out.append(torch.tensor([*target, EOS]))
    return tuple(pad_sequence(rows, batch_first=True, padding_value=PAD) for rows in (src, tgt_in, tgt_out))


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


def _with(src=lambda src: [*src, EOS], tgt_in=lambda tgt: [BOS, *tgt], tgt_out=lambda tgt: [*tgt, EOS]):
    def answer(pairs):
        sources, targets = zip(*pairs, strict=True)
        return pad([*map(src, sources)]), pad([*map(tgt_in, targets)]), pad([*map(tgt_out, targets)])

    return answer


def _ends_after_the_pads(pairs):
    sources, targets = (pad(side) for side in zip(*pairs, strict=True))
    return F.pad(sources, (0, 1), value=EOS), F.pad(targets, (1, 0), value=BOS), F.pad(targets, (0, 1), value=EOS)


def _target_ends_after_the_pads(pairs):
    return three_tensors(pairs)[0], *_ends_after_the_pads(pairs)[1:]


def _cut_without_end(pairs):
    whole = pad([[BOS, *tgt] for _src, tgt in pairs])
    return three_tensors(pairs)[0], whole[:, :-1], whole[:, 1:]


def _rolled(pairs):
    src, tgt_in, _tgt_out = three_tensors(pairs)
    return src, tgt_in, tgt_in.roll(-1, dims=1)


def _one_width(pairs):
    tensors = three_tensors(pairs)
    width = max(tensor.shape[1] for tensor in tensors)
    return tuple(F.pad(tensor, (0, width - tensor.shape[1]), value=PAD) for tensor in tensors)


def _sorted_apart(pairs):
    sources, targets = zip(*pairs, strict=True)
    return three_tensors(list(zip(sorted(sources, key=len), sorted(targets, key=len), strict=True)))


EXERCISE = Exercise(
    title="Three tensors of one batch",
    task="From pairs (source ids, target ids) without special tokens, return (src, tgt_in, tgt_out), padded on the "
    "right: EOS ends each source and each tgt_out, and BOS begins each tgt_in.",
    reference=three_tensors,
    call=_read_where_it_counts,
    cases=lambda: [
        case([([7, 8], [5, 6, 9])], about="one pair"),
        case([([7, 8, 9, 4], [5, 6]), ([7], [5])], about="a long pair and a short one"),
        case([([4], [8, 9, 6]), ([6, 5, 7], [9])], about="a short source with a long target"),
        case([([5, 6], [7, 8]), ([8, 4], [6, 5]), ([9, 9], [4, 7])], about="all of the same length"),
        case([([4, 5], [6]), ([7], [8, 9, 4, 5]), ([6, 7, 8], [])], about="a target without words"),
    ],
    mistakes=(
        Mistake(
            "source-without-end",
            _with(src=list),
            "The source has no EOS. In this course it ends with one, so that the decoder can see where the source "
            "ends.",
        ),
        Mistake(
            "source-with-begin",
            _with(src=lambda src: [BOS, *src, EOS]),
            "The source begins with BOS. Here only the decoder's input does.",
        ),
        Mistake(
            "source-begins-instead-of-ending",
            _with(src=lambda src: [BOS, *src]),
            "The source begins with BOS where it should end with EOS.",
        ),
        Mistake(
            "target-without-end",
            _with(tgt_in=lambda tgt: [BOS, *tgt][: max(1, len(tgt))], tgt_out=lambda tgt: tgt or [PAD]),
            "Your `tgt_out` has no EOS, so the model never learns to stop.",
        ),
        Mistake(
            "written-without-end",
            _with(tgt_out=list),
            "Your `tgt_out` ends with the last word, without EOS, so the model never learns to stop. And it is shorter "
            "than `tgt_in`, so a position has nothing to write.",
        ),
        Mistake(
            "end-is-read",
            _with(tgt_in=lambda tgt: [BOS, *tgt, EOS]),
            "Your `tgt_in` has EOS at its end, so it is longer than `tgt_out`: nothing is written after EOS, so it is "
            "not read either.",
        ),
        Mistake(
            "begin-is-written",
            _with(tgt_out=lambda tgt: [BOS, *tgt, EOS]),
            "Your `tgt_out` has BOS at its beginning, so it is longer than `tgt_in`, and each position would write "
            "what it reads. BOS is given, and never written.",
        ),
        Mistake(
            "end-missing-but-its-place-there",
            _with(tgt_out=lambda tgt: [*tgt, PAD]),
            "In `tgt_out` a pad stands where EOS belongs, so the model never learns to stop.",
        ),
        Mistake(
            "not-shifted",
            _with(tgt_in=lambda tgt: [*tgt, EOS]),
            "The two targets are the same, so the decoder reads the very word that it must write. `tgt_in` "
            "begins with BOS, and that shifts it by one.",
        ),
        Mistake(
            "both-with-both",
            _with(tgt_in=lambda tgt: [BOS, *tgt, EOS], tgt_out=lambda tgt: [BOS, *tgt, EOS]),
            "Both targets have BOS and EOS. What is read begins with BOS and has no EOS, and what is written is the "
            "other way around.",
        ),
        Mistake(
            "begin-in-both",
            _with(tgt_out=lambda tgt: [BOS, *tgt]),
            "The second target begins with BOS, like the first, so each position must write what it reads.",
        ),
        Mistake(
            "shifted-twice",
            _with(tgt_out=lambda tgt: [*tgt[1:], EOS, PAD] if tgt else [PAD]),
            "Shifted twice: having read BOS alone, the decoder must write the *second* word.",
        ),
        Mistake(
            "targets-exchanged",
            lambda pairs: tuple(three_tensors(pairs)[i] for i in (0, 2, 1)),
            "The two targets have changed places: first what is read, then what must be written.",
        ),
        Mistake(
            "begin-and-end-exchanged",
            _with(tgt_in=lambda tgt: [EOS, *tgt], tgt_out=lambda tgt: [*tgt, BOS]),
            "In the target BOS (1) and EOS (2) have changed places.",
        ),
        Mistake(
            "begin-and-end-exchanged-everywhere",
            _with(lambda src: [*src, BOS], lambda tgt: [EOS, *tgt], lambda tgt: [*tgt, BOS]),
            "BOS (1) and EOS (2) have changed places, in all three tensors.",
        ),
        Mistake(
            "words-cut-for-the-shift",
            _with(tgt_in=lambda tgt: [BOS, *tgt[:-1]], tgt_out=lambda tgt: [*tgt[1:], EOS]),
            "Words are lost: `tgt_in` lacks the last one, and `tgt_out` the first. BOS and EOS come in addition, so "
            "both rows have one token more than the target has words.",
        ),
        Mistake(
            "languages-exchanged",
            lambda pairs: three_tensors([(tgt, src) for src, tgt in pairs]),
            "Source and target have changed places: a pair is (source, target).",
        ),
        Mistake(
            "end-behind-the-pads",
            _ends_after_the_pads,
            "In short sentences EOS stands behind the pads, in the last column. Append it to each sentence first, and "
            "pad afterward.",
        ),
        Mistake(
            "end-behind-the-pads-of-the-target",
            _target_ends_after_the_pads,
            "In short targets EOS stands behind the pads, in the last column, so the model learns to write pads first. "
            "Append it to each target, and pad afterward.",
        ),
        Mistake(
            "cut-without-end",
            _cut_without_end,
            "The shift is right, but EOS is missing, and both targets are one column too narrow: cut from rows that "
            "have BOS *and* EOS.",
        ),
        Mistake(
            "rolled",
            _rolled,
            "You roll the first target to get the second, so its BOS comes in again at the end, where EOS is missing. "
            "`tgt_out` is the words of each target with EOS behind them.",
        ),
        Mistake(
            "sorted-apart",
            _sorted_apart,
            "You sort sources and targets each for themselves, so a source stands beside another sentence's "
            "translation. Nothing needs to be sorted here.",
        ),
        Convention(
            "one-width",
            _one_width,
            "Valid, but source and target have one width here, and the shorter side gets more pads than it needs. Pad "
            "each side to its own longest sentence.",
        ),
    ),
    hints=(
        "Write the three rows of the pair ([7, 8], [5, 6]) on paper. Which special token does each of them need?",
        "Append EOS to each source. For the targets, make two lists: BOS before the words, and EOS behind the words. "
        "Then pad each of the three lists of rows.",
        "`pad([[*src, EOS] for src, _ in pairs])`, and the same with `[BOS, *tgt]` and `[*tgt, EOS]`.",
    ),
    alternatives=(with_shift, cut_from_one_tensor, in_a_loop, from_the_library),
    difficulty=1,
    minutes=8,
)
