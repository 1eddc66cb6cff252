import torch

from course_lib.encoder import masked_mean
from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import counting, randn


def sentence_by_sentence(hidden, real):
    rows = [
        words[keep].mean(dim=0) if keep.any() else words.new_zeros(words.shape[1])
        for words, keep in zip(hidden, real, strict=True)
    ]
    return torch.stack(rows)


def _real(*lengths, n):
    return torch.arange(n) < torch.tensor(lengths)[:, None]


def _hidden(*shape, seed, real, pad=None):
    """Random vectors, with one number in all the pads."""
    hidden = randn(*shape, seed=seed)
    return hidden if pad is None else hidden.masked_fill(~real[..., None], pad)


def _cases():
    first = _real(2, n=3)
    by_hand = torch.tensor([[[2.0, 4.0], [4.0, 0.0], [99.0, 99.0]]])
    sizes = _real(7, 3, 5, n=7)
    square = _real(4, 1, 2, 3, n=4)
    middle = torch.tensor([[True, False, True, True, False], [False, True, True, False, True]])
    empty = _real(5, 0, 2, n=5)
    return [
        case(by_hand, first, about="two words and a pad"),
        case(counting(2, 3, 2), _real(3, 3, n=3), about="no pads"),
        case(_hidden(3, 7, 5, seed=1, real=sizes), sizes, about="all sizes different"),
        case(_hidden(4, 4, 4, seed=2, real=square), square, about="all sizes equal"),
        case(_hidden(2, 5, 3, seed=3, real=middle), middle, about="pads in the middle"),
        case(_hidden(3, 5, 2, seed=4, real=empty), empty, about="a row of pads alone"),
        case(
            _hidden(2, 4, 3, seed=5, real=_real(4, 2, n=4), pad=float("inf")),
            _real(4, 2, n=4),
            about="infinity at pads",
        ),
    ]


EXERCISE = Exercise(reference=masked_mean, cases=_cases, alternatives=(sentence_by_sentence,), trained=True)
