"""Exercise: the last real state."""

import torch
from torch.nn import functional as F

from course_lib.seq2seq import last_hidden
from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.inputs import randn


def by_gather(outputs, lengths):
    index = (lengths - 1)[:, None, None].expand(-1, 1, outputs.shape[2])
    return outputs.gather(1, index).squeeze(1)


def row_by_row(outputs, lengths):
    return torch.stack([row[:length][-1] for row, length in zip(outputs, lengths.tolist(), strict=True)])


def with_one_hot(outputs, lengths):
    chosen = F.one_hot(lengths - 1, outputs.shape[1]).to(outputs.dtype)
    return torch.einsum("bs,bsd->bd", chosen, outputs)


def by_comparing_positions(outputs, lengths):
    chosen = torch.arange(outputs.shape[1]) == lengths[:, None] - 1
    return outputs[chosen]


def _batch(lengths, seq_len, d_model, about, seed=0):
    return case(randn(len(lengths), seq_len, d_model, seed=seed), torch.tensor(lengths), about=about)


def _cut(outputs, lengths):
    return torch.arange(outputs.shape[1]) < lengths[:, None]


def _mean(outputs, lengths):
    return (outputs * _cut(outputs, lengths)[..., None]).sum(dim=1) / lengths[:, None]


def _rows(outputs):
    return torch.arange(len(outputs))


EXERCISE = Exercise(
    title="The last real state",
    task="From outputs (batch, seq_len, d_model) and lengths (batch,), return each sentence's output at its last real "
    "token, shape (batch, d_model). Pads stand on the right.",
    reference=last_hidden,
    cases=lambda: [
        _batch([2], 3, 2, "one sentence, one pad"),
        _batch([3, 2], 5, 4, "no sentence fills its row", seed=1),
        _batch([5, 2, 4], 5, 7, "all sizes different", seed=2),
        _batch([1, 4, 2, 3], 4, 3, "as many sentences as positions", seed=3),
        _batch([3, 1, 2], 3, 3, "all sizes equal", seed=4),
        _batch([3, 3], 3, 5, "no pads", seed=5),
    ],
    mistakes=(
        Mistake(
            "reads-the-padding",
            lambda outputs, lengths: outputs[:, -1],
            "You take the last *column*, which is a pad in every sentence that is shorter than its row. Each sentence "
            "has an index of its own: its length − 1.",
        ),
        Mistake(
            "one-too-far",
            lambda outputs, lengths: outputs[_rows(outputs), lengths],
            "One position too far: the positions of a sentence are 0 … length − 1, so index `length` is the first pad, "
            "or lies outside the row.",
        ),
        Mistake(
            "one-too-early",
            lambda outputs, lengths: outputs[_rows(outputs), lengths - 2],
            "One position too early: the last of `length` tokens stands at index length − 1.",
        ),
        Mistake(
            "slice-instead-of-pairs",
            lambda outputs, lengths: outputs[:, lengths - 1],
            "With `:` in front, *every* sentence is read at *every* length, which gives (batch, batch, d_model). "
            "Replace the `:` by the sentences' own numbers, `torch.arange(batch)`.",
        ),
        Mistake(
            "axes-swapped",
            lambda outputs, lengths: outputs[lengths - 1, _rows(outputs)],
            "The two indices stand in the wrong order: the first axis is the batch, the second the position.",
        ),
        Mistake(
            "same-index-for-all",
            lambda outputs, lengths: outputs[:, int(lengths.max()) - 1],
            "One index serves all sentences here, that of the longest. Each sentence has its own.",
        ),
        Mistake(
            "index-of-the-shortest",
            lambda outputs, lengths: outputs[:, int(lengths.min()) - 1],
            "One index serves all sentences here, that of the shortest. Each sentence has its own.",
        ),
        Mistake(
            "index-of-the-first-sentence",
            lambda outputs, lengths: outputs[:, int(lengths[0]) - 1],
            "One index serves all sentences here, that of sentence 0. Each sentence has its own.",
        ),
        Mistake(
            "first-state",
            lambda outputs, lengths: outputs[:, 0],
            "This is the state after the *first* word. The last real one stands at index length − 1.",
        ),
        Mistake(
            "mean-of-the-words",
            _mean,
            "This is the mean over the real tokens. Here one state is wanted: the one at the last real token.",
        ),
        Mistake(
            "mean-of-everything",
            lambda outputs, lengths: outputs.mean(dim=1),
            "This is the mean over all positions, the pads included. Pick one position in each sentence.",
        ),
        Mistake(
            "sum-of-the-words",
            lambda outputs, lengths: (outputs * _cut(outputs, lengths)[..., None]).sum(dim=1),
            "This is the sum over the real tokens. Pick the last of them only.",
        ),
        Mistake(
            "axis-left",
            lambda outputs, lengths: last_hidden(outputs, lengths)[:, None],
            "The right states, with an axis of size 1 in the middle. `squeeze(1)` removes it.",
        ),
        Mistake(
            "first-feature-only",
            lambda outputs, lengths: last_hidden(outputs, lengths)[:, :1],
            "The right states, but only their first feature. An index for `gather` needs an entry for each number that "
            "it picks: (batch, 1, d_model), by `expand`.",
        ),
        Mistake(
            "last-sentence-only",
            lambda outputs, lengths: outputs[-1][lengths - 1],
            "All rows come from the last sentence of the batch. Row i belongs to sentence i.",
        ),
        Mistake(
            "first-sentence-only",
            lambda outputs, lengths: outputs[0][lengths - 1],
            "All rows come from sentence 0. Row i belongs to sentence i.",
        ),
    ),
    hints=(
        "Write down the index of the last real token of each sentence in a small batch. Is it the same for all?",
        "You need one index for each sentence: two tensors of indices, side by side, pick one pair a row.",
        "`torch.arange(len(outputs))` numbers the sentences; beside it stands `lengths - 1`.",
    ),
    alternatives=(by_gather, row_by_row, with_one_hot, by_comparing_positions),
    difficulty=1,
    minutes=5,
)
