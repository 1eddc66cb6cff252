"""Exercise: fill up with pads."""

from itertools import zip_longest

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from course_lib.batching import pad
from course_lib.tokens import EOS, PAD
from course_practice.engine import Convention, Exercise, Mistake, case


def pad_starter(sequences, pad_id=PAD):
    """Sequences of different lengths as one tensor, filled up on the right."""
    longest = max(...)
    rows = [[*sequence, *[...] * (longest - ...)] for sequence in sequences]
    return torch.tensor(rows)


def with_two_lists(sequences, pad_id=PAD):
    longest = max(len(sequence) for sequence in sequences)
    rows = [list(sequence) + [pad_id] * (longest - len(sequence)) for sequence in sequences]
    return torch.tensor(rows)


def with_pad_sequence(sequences, pad_id=PAD):
    rows = [torch.tensor(sequence, dtype=torch.long) for sequence in sequences]
    return pad_sequence(rows, batch_first=True, padding_value=pad_id)


def with_zip_longest(sequences, pad_id=PAD):
    return torch.tensor(list(zip_longest(*sequences, fillvalue=pad_id))).T


def written_into_a_full_tensor(sequences, pad_id=PAD):
    padded = torch.full((len(sequences), max(map(len, sequences))), pad_id)
    for row, sequence in zip(padded, sequences, strict=True):
        row[: len(sequence)] = torch.tensor(sequence, dtype=torch.long)
    return padded


def _filled(width=lambda sequences: max(map(len, sequences)), fill=lambda sequence, pad_id: pad_id, left=False):
    def answer(sequences, pad_id=PAD):
        longest = width(sequences)
        rows = []
        for sequence in sequences:
            pads = [fill(sequence, pad_id)] * (longest - len(sequence))
            rows.append([*pads, *sequence] if left else [*sequence[:longest], *pads])
        return torch.tensor(rows, dtype=torch.long).view(len(rows), max(map(len, rows)))

    return answer


def _ragged(width=lambda sequences: max(map(len, sequences)), pads=lambda missing: missing):
    """As the reader's own, this stops with an error where the rows come out in different lengths."""

    def answer(sequences, pad_id=PAD):
        longest = width(sequences)
        return torch.tensor([[*sequence, *[pad_id] * pads(longest - len(sequence))] for sequence in sequences])

    return answer


def _sorted(sequences, pad_id=PAD):
    return pad(sorted(sequences, key=len, reverse=True), pad_id)


def _from_the_beginning(sequences, pad_id=PAD):
    longest = max(map(len, sequences))
    return torch.tensor([([*s] * longest)[:longest] if s else [pad_id] * longest for s in sequences])


def _as_ids(obj, given):
    """Ids are whole numbers in a tensor: an embedding takes nothing else."""
    made = obj(*given.args, **given.kwargs)
    if isinstance(made, list | tuple):
        return "no tensor, but nested lists"
    if isinstance(made, Tensor) and made.is_floating_point() and all(given.args[0]):  # a tensor of nothing is float
        return "a tensor of floating-point numbers"
    return made


EXERCISE = Exercise(
    title="Fill up with pads",
    task="Make one tensor (batch, longest) of lists of different lengths: `pad_id` stands behind the shorter ones.",
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
    mistakes=(
        Convention(
            "left",
            _filled(left=True),
            "Valid, and usual for batches that a decoder-only model continues. Here the pads stand on the right, "
            "behind the sentence.",
        ),
        Mistake(
            "pad-id-not-used",
            _filled(fill=lambda sequence, pad_id: PAD),
            "You fill up with 0, whatever `pad_id` says. Write `pad_id` where the pads go.",
        ),
        Mistake(
            "filled-with-the-end",
            _filled(fill=lambda sequence, pad_id: EOS),
            "You fill up with EOS (2). A sentence has one EOS at most, and behind it stands `pad_id`.",
        ),
        Mistake(
            "cut-to-the-shortest",
            _filled(width=lambda sequences: min(map(len, sequences))),
            "You cut all to the length of the shortest. No token may be lost: fill up to the longest.",
        ),
        Mistake(
            "as-long-as-the-first",
            _filled(width=lambda sequences: len(sequences[0])),
            "All have the length of the *first* sentence, so longer ones are cut. Fill up to the longest.",
        ),
        Mistake(
            "one-pad-too-many",
            _filled(width=lambda sequences: max(map(len, sequences)) + 1),
            "There is one column too many: even the longest sentence gets a pad.",
        ),
        Mistake(
            "one-column-for-a-sentence",
            lambda sequences, pad_id=PAD: pad(sequences, pad_id).T,
            "Each *column* holds a sentence. Here each row does: `pad_sequence`, for example, needs"
            " `batch_first=True`.",
        ),
        Mistake(
            "the-last-token-again",
            _filled(fill=lambda sequence, pad_id: sequence[-1] if sequence else pad_id),
            "You repeat the last token of the sentence. The model could not tell it from a word: write `pad_id`.",
        ),
        Mistake(
            "from-the-beginning-again",
            _from_the_beginning,
            "Short sentences begin again from their first token. The model could not tell it from words: write "
            "`pad_id`.",
        ),
        Mistake(
            "sorted",
            _sorted,
            "The rows have changed their order: long sentences come first. Each sentence keeps its place, or a source "
            "and its target do not fit together.",
        ),
        Mistake(
            "floating-point-ids",
            lambda sequences, pad_id=PAD: pad(sequences, pad_id).double(),
            "The numbers are right, but they are floating-point numbers, which no embedding can look up. "
            "`torch.zeros` makes such a tensor unless it is told `dtype=torch.long`.",
        ),
        Mistake(
            "lists-returned",
            lambda sequences, pad_id=PAD: pad(sequences, pad_id).tolist(),
            "These are lists. Make one tensor of them with `torch.tensor`.",
        ),
        Mistake(
            "number-of-sequences",
            _ragged(width=len),
            "You fill up to the *number* of the sequences, so the rows differ in length. The width is the length of "
            "the longest one: `max(map(len, sequences))`.",
        ),
        Mistake(
            "largest-not-longest",
            _ragged(width=lambda sequences: len(max(sequences))),
            "The largest is not the longest one: `max` compares lists like words in a dictionary, by their first "
            "number. Compare their lengths.",
        ),
        Mistake(
            "one-pad-each",
            _ragged(pads=lambda missing: min(missing, 1)),
            "A row that needs several pads gets one, so the rows differ in length. Add as many as are missing.",
        ),
        Mistake(
            "in-one-row",
            lambda sequences, pad_id=PAD: torch.tensor([token for sequence in sequences for token in sequence]),
            "All tokens stand in one row. Each sentence has a row of its own.",
        ),
    ),
    hints=(
        "How many pads does a sentence of length 1 need in a batch whose longest sentence has 3 tokens?",
        "The width is the length of the longest sequence. Each sequence is followed by as many pads as it is shorter.",
        "`longest = max(map(len, sequences))`, and `[*sequence, *[pad_id] * (longest - len(sequence))]` for each row.",
    ),
    alternatives=(with_two_lists, with_pad_sequence, with_zip_longest, written_into_a_full_tensor),
    difficulty=1,
    minutes=6,
)
