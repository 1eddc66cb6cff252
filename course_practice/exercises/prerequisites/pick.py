import torch

from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn, seeded


def pick(logits, targets):
    """Of each word's logits (batch, seq_len, n_words), the one of its target (batch, seq_len): (batch, seq_len).

    >>> pick(torch.tensor([[[10.0, 11.0], [20.0, 21.0]]]), torch.tensor([[1, 0]]))
    tensor([[11., 20.]])
    """
    return logits.gather(-1, targets[..., None]).squeeze(-1)


def with_three_indices(logits, targets):
    batch, seq_len = targets.shape
    return logits[torch.arange(batch)[:, None], torch.arange(seq_len), targets]


def _batch(batch, seq_len, n_words, about, seed=0):
    targets = torch.randint(n_words, (batch, seq_len), generator=seeded(seed))
    return case(randn(batch, seq_len, n_words, seed=seed), targets, about=about)


EXERCISE = Exercise(
    reference=pick,
    cases=lambda: [
        case(torch.tensor([[[10.0, 11.0], [20.0, 21.0]]]), torch.tensor([[1, 0]]), about="one sentence of two words"),
        _batch(2, 3, 5, "all sizes different", seed=1),
        _batch(3, 4, 2, "a vocabulary of two words", seed=2),
        _batch(3, 3, 3, "all sizes equal", seed=3),
        _batch(1, 1, 4, "a single word", seed=4),
    ],
    alternatives=(with_three_indices,),
)
