"""Exercise: what the decoder reads and what it must write."""

import torch
from torch.nn import functional as F

from course_lib.tokens import BOS, EOS, PAD
from course_practice.engine import Convention, Exercise, Mistake, case
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


def cut_from_one_sequence(target):
    whole = torch.cat([torch.full_like(target[:, :1], BOS), target, torch.full_like(target[:, :1], EOS)], dim=1)
    return whole[:, :-1], whole[:, 1:]


def with_lists(target):
    rows = target.tolist()
    return torch.tensor([[BOS, *row] for row in rows]), torch.tensor([[*row, EOS] for row in rows])


def by_filling(target):
    batch, tgt_len = target.shape
    tgt_in = torch.empty(batch, tgt_len + 1, dtype=target.dtype)
    tgt_out = tgt_in.clone()
    tgt_in[:, 0], tgt_in[:, 1:] = BOS, target
    tgt_out[:, -1], tgt_out[:, :-1] = EOS, target
    return tgt_in, tgt_out


def _column(target, token):
    return torch.full((len(target), 1), token)


def _join(target, *parts):
    """The parts side by side: a token stands for a column of it."""
    return torch.cat([_column(target, part) if isinstance(part, int) else part for part in parts], dim=1)


def _holds_floats(obj, given):
    """The name of the mistake, where one of the two results holds numbers with a fraction."""
    results = [as_tensor(result) for result in obj(*given.args)]
    return "floats" if any(result.is_floating_point() for result in results) else ""


def _floats(target):
    return tuple(result.float() for result in teacher_forcing(target))


def _two(tgt_in, tgt_out):
    """A wrong answer from what its two results are joined of; t stands for the target."""

    def wrong(target):
        return _join(target, *tgt_in(target)), _join(target, *tgt_out(target))

    return wrong


def _one_for_all(target):
    return torch.cat([torch.tensor([[BOS]]), target], dim=1), torch.cat([target, torch.tensor([[EOS]])], dim=1)


def _no_axis_for_words(dim):
    """BOS and EOS of one axis, joined along this axis."""
    return lambda target: (
        torch.cat([torch.tensor([BOS]), target], dim=dim),
        torch.cat([target, torch.tensor([EOS])], dim=dim),
    )


EXERCISE = Exercise(
    title="What the decoder reads, what it writes",
    task="From target (batch, tgt_len), without pads, return (tgt_in, tgt_out), both (batch, tgt_len + 1): at each "
    "position the decoder has read the tokens before, and must write the next one, the end included.",
    reference=teacher_forcing,
    cases=lambda: [
        case(torch.tensor([[7, 8]]), about="one sentence of two words"),
        case(torch.tensor([[4, 9, 5], [8, 6, 7]]), about="two sentences of three words"),
        case(torch.tensor([[5, 6, 4], [9, 8, 7], [4, 4, 5]]), about="all sizes equal"),
        case(torch.tensor([[6], [9]]), about="a single word"),
    ],
    excluded=_holds_floats,
    mistakes=(
        Convention(
            "floats",
            _floats,
            "The numbers are right, but they are floats now, and an embedding looks up whole numbers. "
            "`torch.full((batch, 1), BOS)` makes whole numbers; `torch.ones` and `torch.zeros` do not.",
        ),
        Mistake(
            "one-begin-for-all",
            _one_for_all,
            "Right for a single sentence. With several, there must be one BOS for each of them, and one EOS: a column "
            "(batch, 1), as `torch.full((len(target), 1), BOS)` makes it.",
        ),
        Mistake(
            "begin-without-an-axis-for-words",
            _no_axis_for_words(1),
            "BOS has one axis here, and `target` has two, (batch, tgt_len), so there is no axis 1 to join them along. "
            "Give each sentence its BOS: a column (batch, 1), as `torch.full((len(target), 1), BOS)` makes it.",
        ),
        Mistake(
            "begin-with-one-axis",
            _no_axis_for_words(-1),
            "BOS has one axis here, and `target` has two, (batch, tgt_len), so the two cannot be joined. Give each "
            "sentence its BOS: a column (batch, 1), as `torch.full((len(target), 1), BOS)` makes it.",
        ),
        Mistake(
            "cut-from-the-bare-target",
            _two(lambda t: [t[:, :-1]], lambda t: [t[:, 1:]]),
            "Input and target are one position apart, as they should be, but they are cut from a sentence without BOS "
            "and EOS, and here `target` has neither: put them on first.",
        ),
        Mistake(
            "not-shifted",
            _two(lambda t: [t, EOS], lambda t: [t, EOS]),
            "Input and target are the same, so at each position the decoder reads the word it must write. The input "
            "begins with BOS, and that shifts it by one.",
        ),
        Mistake(
            "begin-in-both",
            _two(lambda t: [BOS, t], lambda t: [BOS, t]),
            "Input and target are the same, so at each position the decoder reads the word it must write. BOS belongs "
            "to the input alone, and EOS to the target.",
        ),
        Mistake(
            "bare-in-both",
            _two(lambda t: [t], lambda t: [t]),
            "Input and target are the same, so at each position the decoder reads the word it must write; and nothing "
            "says where a sentence begins and ends.",
        ),
        Mistake(
            "begin-and-end-in-both",
            _two(lambda t: [BOS, t, EOS], lambda t: [BOS, t, EOS]),
            "Input and target are the same, so at each position the decoder reads the word it must write. Leave the "
            "last token out of the input and the first out of the target.",
        ),
        Mistake(
            "no-end",
            _two(lambda t: [BOS, t[:, :-1]], lambda t: [t]),
            "The shift is right, but the target has no EOS: the model never learns to stop.",
        ),
        Mistake(
            "no-end-and-input-too-long",
            _two(lambda t: [BOS, t], lambda t: [t]),
            "The input is right. The target lacks its last token: after the last word, EOS must be written.",
        ),
        Mistake(
            "end-in-the-input",
            _two(lambda t: [BOS, t, EOS], lambda t: [t, EOS]),
            "The target is right. The input is one token too long: once EOS is written nobody reads it.",
        ),
        Mistake(
            "begin-in-the-target",
            _two(lambda t: [BOS, t], lambda t: [BOS, t, EOS]),
            "The input is right. The target starts with BOS, which the decoder is given and need not write.",
        ),
        Mistake(
            "no-begin",
            _two(lambda t: [t], lambda t: [t[:, 1:], EOS]),
            "The first word is never a target: without BOS the decoder is given it. Begin the input with BOS.",
        ),
        Mistake(
            "end-overwrites-the-last-word",
            _two(lambda t: [BOS, t[:, :-1]], lambda t: [t[:, :-1], EOS]),
            "The last word is gone: BOS and EOS need a place of their own, so both results are one token longer than "
            "`target`.",
        ),
        Mistake(
            "swapped",
            lambda target: teacher_forcing(target)[::-1],
            "Both are right, but in the wrong order: (tgt_in, tgt_out).",
        ),
        Mistake(
            "begin-and-end-swapped",
            _two(lambda t: [EOS, t], lambda t: [t, BOS]),
            "BOS (1) and EOS (2) have changed places: a sentence begins with BOS and ends with EOS.",
        ),
        Mistake(
            "end-at-the-front-of-the-input",
            _two(lambda t: [EOS, t], lambda t: [t, EOS]),
            "The target is right. Your input begins with EOS; here it begins with BOS (1).",
        ),
        Mistake(
            "shifted-twice",
            _two(lambda t: [BOS, t[:, :-1]], lambda t: [t[:, 1:], EOS]),
            "Shifted twice: when the decoder has read BOS alone, you ask for the second word. Compare your two results "
            "position by position with the sentence.",
        ),
        Mistake(
            "pads-for-both",
            _two(lambda t: [PAD, t], lambda t: [t, PAD]),
            "The places are right, but they hold 0, which is PAD. Write BOS (1) and EOS (2): `F.pad` takes a `value`.",
        ),
        Mistake(
            "pad-for-the-end",
            _two(lambda t: [BOS, t], lambda t: [t, PAD]),
            "The input is right. The target ends with 0, which is PAD; the end is EOS (2).",
        ),
        Mistake(
            "pad-for-the-begin",
            _two(lambda t: [PAD, t], lambda t: [t, EOS]),
            "The target is right. The input begins with 0, which is PAD; the begin is BOS (1).",
        ),
        Mistake(
            "along-the-batch",
            lambda target: (
                torch.cat([torch.full_like(target[:1], BOS), target]),
                torch.cat([target, torch.full_like(target[:1], EOS)]),
            ),
            "You joined along axis 0, so BOS and EOS became sentences of their own. Words follow one another along "
            "axis 1.",
        ),
    ),
    hints=(
        "Write the two rows under each other for the sentence 7 8: what has been read before 7 is written?",
        "The input is the target moved right by one place, with BOS in the free place at the front. The target keeps "
        "its words and gains EOS.",
        "`F.pad(target, (1, 0), value=BOS)` puts a column in front, and `(0, 1)` one at the end.",
    ),
    alternatives=(with_pad, cut_from_one_sequence, with_lists, by_filling),
    difficulty=1,
    minutes=5,
)
