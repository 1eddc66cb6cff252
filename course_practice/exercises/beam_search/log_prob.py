import torch
from torch.nn import functional as F

from course_lib.tokens import EOS, PAD
from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn, seeded


def log_prob(logits, tgt_out):
    """log P of each sentence: (batch,). `tgt_out` ends with EOS; behind it stand pads.

    >>> log_prob(torch.zeros(1, 3, 4), torch.tensor([[3, 2, 0]]))  # two tokens, each with 1/4
    tensor([-2.7726])
    """
    each = logits.log_softmax(dim=-1).gather(-1, tgt_out[..., None])[..., 0]
    return each.masked_fill(tgt_out == PAD, 0.0).sum(dim=-1)


def with_cross_entropy(logits, tgt_out):
    return -F.cross_entropy(logits.mT, tgt_out, ignore_index=PAD, reduction="none").sum(dim=1)


def _case(batch, n, vocab_size, lengths, about, seed):
    tgt_out = torch.randint(3, vocab_size, (batch, n), generator=seeded(seed))
    for row, length in zip(tgt_out, lengths, strict=True):
        row[length - 1], row[length:] = EOS, PAD
    return case(randn(batch, n, vocab_size, seed=seed), tgt_out, about=about)


EXERCISE = Exercise(
    reference=log_prob,
    cases=lambda: [
        _case(1, 3, 5, [3], "one sentence", 0),
        _case(2, 5, 7, [5, 3], "a sentence with pads", 1),
        _case(3, 2, 5, [1, 2, 2], "an empty sentence, of which EOS alone is left", 2),
        _case(4, 4, 4, [4, 2, 3, 1], "all sizes equal", 3),
    ],
    alternatives=(with_cross_entropy,),
)
