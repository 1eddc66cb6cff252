import torch

from course_lib.tokens import EOS, PAD
from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn


def exact_match(logits, tgt_out):
    """The share of sentences in which every real target, EOS too, has the largest logit at its position.

    logits (batch, tgt_len, vocab_size), tgt_out (batch, tgt_len) with pads on the right.

    >>> logits = torch.tensor([[[0.0, 0, 9, 0], [0, 0, 0, 9]], [[0, 0, 9, 0], [0, 0, 0, 9]]])
    >>> exact_match(logits, torch.tensor([[2, 0], [3, 2]]))
    tensor(0.5000)
    """
    right = (logits.argmax(dim=-1) == tgt_out) | (tgt_out == PAD)
    return right.all(dim=-1).float().mean()


def by_counting_errors(logits, tgt_out):
    wrong = (logits.argmax(-1) != tgt_out) & (tgt_out != PAD)
    return (wrong.sum(1) == 0).float().mean().item()


def _sentences(targets, errors=(), vocab_size=7, seed=0):
    """Logits whose argmax are the targets (something else at pads), but for the errors (row, position)."""
    n = max(map(len, targets))
    tgt_out = torch.tensor([[*row, *[PAD] * (n - len(row))] for row in targets])
    logits = randn(*tgt_out.shape, vocab_size, seed=seed)
    wanted = torch.where(tgt_out == PAD, 5, tgt_out)
    for row, position in errors:
        wanted[row, position] = 3 if wanted[row, position] != 3 else 4
    return logits.scatter_add(-1, wanted[..., None], torch.full((*tgt_out.shape, 1), 20.0)), tgt_out


EXERCISE = Exercise(
    reference=exact_match,
    cases=lambda: [
        case(*_sentences([[4, 6, EOS]]), about="one sentence, all right"),
        case(*_sentences([[4, 6, 5, EOS], [6, EOS]], [(0, 1)], seed=1), about="a short one right, a long one not"),
        case(*_sentences([[4, EOS], [6, 5, EOS], [5, 4, EOS]], [(0, 1)], seed=2), about="an EOS missed"),
        case(*_sentences([[4, 5, 6, EOS], [5, EOS], [6, 6, EOS]], [(1, 0), (2, 0)], seed=3), about="first words wrong"),
        case(
            *_sentences([[3, 4, 5, 4, 3, EOS], [5, EOS], *[[4, 3, EOS]] * 4], [(0, 4), (2, 0), (3, 0)], 6, seed=4),
            about="all sizes equal",
        ),
        case(
            *_sentences([[4, 5, 6, 4, EOS], [5, 4, EOS], [6, EOS], [4, 4, 4, EOS]], [(0, 2), (3, 3)], seed=5),
            about="four sentences of four lengths",
        ),
    ],
    alternatives=(by_counting_errors,),
)
