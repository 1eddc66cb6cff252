"""Exercise: shift a padded batch."""

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.tokens import BOS, EOS, PAD
from course_practice.engine import Exercise, Mistake, case


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


def rolled(tgt):
    tgt_out = torch.cat([tgt, torch.zeros_like(tgt[:, :1])], dim=1)
    for row in tgt_out:
        row[int((row != PAD).sum())] = EOS
    tgt_in = tgt_out.roll(1, dims=1)
    tgt_in[:, 0] = BOS
    return tgt_in, tgt_out


def with_lists(tgt):
    rows = [[token for token in row if token != PAD] for row in tgt.tolist()]
    n = tgt.shape[1] + 1

    def filled(row):
        return row + [PAD] * (n - len(row))

    tgt_in = torch.tensor([filled([BOS, *row]) for row in rows])
    return tgt_in, torch.tensor([filled([*row, EOS]) for row in rows])


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


def _ends(tgt):
    return F.pad(tgt, (0, 1), value=PAD).scatter(1, (tgt != PAD).sum(dim=1, keepdim=True), EOS)


def _pads_before_the_end(tgt):
    return F.pad(tgt, (1, 0), value=BOS), F.pad(tgt, (0, 1), value=EOS)


def _as_long_as_before(tgt):
    tgt_in, tgt_out = shift(tgt)
    return tgt_in[:, :-1], tgt_out[:, :-1]


def _begin_in_both(tgt):
    tgt_in = F.pad(tgt, (1, 0), value=BOS)
    return tgt_in, tgt_in


def _begin_and_end_in_the_target(tgt):
    tgt_in, tgt_out = _begin_in_both(tgt)[0], F.pad(shift(tgt)[1], (1, 0), value=BOS)
    return tgt_in, tgt_out[:, :-1]


def _end_over_the_last_word(tgt):
    tgt_in, _tgt_out = shift(tgt)
    last = (tgt != PAD).sum(dim=1, keepdim=True) - 1
    return tgt_in, F.pad(tgt, (0, 1), value=PAD).scatter(1, last.clamp(min=0), EOS)


def _end_one_too_late(tgt):
    tgt_in, _tgt_out = shift(tgt)
    n = tgt.shape[1]
    lengths = (tgt != PAD).sum(dim=1, keepdim=True)
    return tgt_in, F.pad(tgt, (0, 1), value=PAD).scatter(1, (lengths + 1).clamp(max=n), EOS)


def _end_in_every_pad(tgt):
    tgt_in, tgt_out = shift(tgt)
    return tgt_in, tgt_out.masked_fill(tgt_out == PAD, EOS)


def _end_of_the_longest(tgt):
    tgt_out = F.pad(tgt, (0, 1), value=PAD)
    tgt_out[:, (tgt != PAD).sum(dim=1).max()] = EOS
    return F.pad(tgt, (1, 0), value=BOS), tgt_out


def _end_and_begin_exchanged(tgt):
    lengths = (tgt != PAD).sum(dim=1, keepdim=True)
    return F.pad(tgt, (1, 0), value=EOS), F.pad(tgt, (0, 1), value=PAD).scatter(1, lengths, BOS)


def _begin_stays_in_the_target(tgt):
    tgt_in, tgt_out = shift(tgt)
    return tgt_in, F.pad(tgt_out, (1, 0), value=BOS)


def _shifted_twice(tgt):
    tgt_in, tgt_out = shift(tgt)
    return tgt_in, F.pad(tgt_out[:, 1:], (0, 1), value=PAD)


def _begin_over_the_first_word(tgt):
    tgt_in = F.pad(tgt, (0, 1), value=PAD).clone()
    tgt_in[:, 0] = BOS
    return tgt_in, _ends(tgt)


EXERCISE = Exercise(
    title="Shift a padded batch",
    task="From tgt (batch, n), words with pads on the right, return (tgt_in, tgt_out), both (batch, n + 1): BOS before "
    "the words in the first, EOS directly behind each sentence's last word in the second.",
    reference=shift,
    call=_read_where_it_counts,
    cases=lambda: [
        case(torch.tensor([[7, 8]]), about="one sentence without pads"),
        case(torch.tensor([[7, 8, 9], [5, 0, 0]]), about="a long sentence and a short one"),
        case(torch.tensor([[6, 4, 0, 0, 0], [9, 5, 7, 0, 0]]), about="no sentence fills its row"),
        case(torch.tensor([[4, 0, 0], [5, 6, 0], [7, 8, 9]]), about="as many sentences as tokens"),
        case(torch.tensor([[8], [0]]), about="a sentence without words"),
    ],
    mistakes=(
        Mistake(
            "end-in-the-last-column",
            _pads_before_the_end,
            "In short sentences pads come before EOS. The loss leaves out every position whose target is a pad, so "
            "nothing ever asks the model for EOS after the last word of a short sentence. EOS comes directly after "
            "that word, at the position that equals the sentence's length.",
        ),
        Mistake(
            "not-shifted",
            lambda tgt: (_ends(tgt), _ends(tgt)),
            "Input and target are the same, so at each position the decoder reads the word it must write. The input "
            "begins with BOS, and that shifts it by one.",
        ),
        Mistake(
            "begin-in-both",
            _begin_in_both,
            "Your target begins with BOS, like the input, so each position must write what it reads. BOS is read, and "
            "never written.",
        ),
        Mistake(
            "begin-in-both-and-end",
            _begin_and_end_in_the_target,
            "Your target begins with BOS, like the input, so each position must write the word that it reads, and the "
            "longest sentence has no EOS. The target begins with the first word.",
        ),
        Mistake(
            "input-and-target-exchanged",
            lambda tgt: shift(tgt)[::-1],
            "The two results have changed places: first what is read, then what must be written.",
        ),
        Mistake(
            "no-end",
            lambda tgt: (F.pad(tgt, (1, 0), value=BOS), F.pad(tgt, (0, 1), value=PAD)),
            "The shift is right, but the target has no EOS: the model never learns to stop.",
        ),
        Mistake(
            "as-long-as-before",
            _as_long_as_before,
            "Both results are one token short: BOS and EOS come on top of the n words, so the last column is missing, "
            "and with it the end of the longest sentence.",
        ),
        Mistake(
            "without-a-place-for-the-end",
            lambda tgt: (F.pad(tgt, (1, 0), value=BOS)[:, :-1], tgt),
            "The shift is right, but nothing makes room for EOS, so the model never learns to stop. Both results are "
            "one token longer than `tgt`.",
        ),
        Mistake(
            "end-in-every-pad",
            _end_in_every_pad,
            "Every pad behind the sentence has become EOS. One EOS, directly behind the last word, is enough; behind "
            "it stands PAD, which the loss leaves out.",
        ),
        Mistake(
            "end-of-the-longest",
            _end_of_the_longest,
            "Every sentence has its EOS where the *longest* one ends. Each has its own length, so the position "
            "differs from row to row.",
        ),
        Mistake(
            "begins-with-a-pad",
            lambda tgt: (F.pad(tgt, (1, 0), value=PAD), _ends(tgt)),
            "The shift is right, but the input begins with a pad: where nothing has been written yet, the decoder "
            "reads BOS.",
        ),
        Mistake(
            "begin-and-end-exchanged",
            _end_and_begin_exchanged,
            "BOS and EOS have changed places: the input begins with BOS (1), and the target ends with EOS (2).",
        ),
        Mistake(
            "begin-stays-in-the-target",
            _begin_stays_in_the_target,
            "Your target still begins with BOS, so it is one token too long. BOS is read, and never written.",
        ),
        Mistake(
            "end-over-the-last-word",
            _end_over_the_last_word,
            "EOS has replaced the last word. Positions count from 0, so a sentence of n words has its EOS at "
            "position n.",
        ),
        Mistake(
            "end-one-too-late",
            _end_one_too_late,
            "A pad stands between the last word and EOS. Positions count from 0, so a sentence of n words has its EOS "
            "at position n.",
        ),
        Mistake(
            "shifted-twice",
            _shifted_twice,
            "Shifted twice: having read BOS alone, the decoder must write the *second* word. Compare your two results "
            "position by position.",
        ),
        Mistake(
            "begin-over-the-first-word",
            _begin_over_the_first_word,
            "BOS has replaced the first word of the input. It comes before the word, so the rest moves right by one.",
        ),
    ),
    hints=(
        "Write both rows for 7 8 PAD on paper. At which position must EOS stand?",
        "The input is a column of BOS and then `tgt`. The target is `tgt` and a column of pads, with EOS written at "
        "the position that equals the number of words.",
        "`lengths = (tgt != PAD).sum(dim=1, keepdim=True)`, `F.pad(tgt, (1, 0), value=BOS)`, and "
        "`F.pad(tgt, (0, 1), value=PAD).scatter(1, lengths, EOS)`.",
    ),
    alternatives=(cut_from_one_sequence, rolled, with_lists),
    difficulty=1,
    minutes=10,
)
