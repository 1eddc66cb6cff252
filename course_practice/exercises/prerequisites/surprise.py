import torch

from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn, seeded


def surprise(logits, targets):
    """The mean cross-entropy of logits (batch, n_words) and targets (batch,), in nats.

    >>> surprise(torch.zeros(2, 4), torch.tensor([0, 3]))  # ln 4
    tensor(1.3863)
    """
    log_probs = logits.log_softmax(dim=-1)
    picked = log_probs[torch.arange(len(targets)), targets]
    return -picked.mean()


def with_the_largest_subtracted(logits, targets):
    shifted = logits - logits.max(dim=-1, keepdim=True).values
    right = shifted.gather(1, targets.view(-1, 1)).squeeze(1)
    return (shifted.exp().sum(dim=-1).log() - right).mean()


def _batch(batch, n_words, about, seed=0):
    return case(randn(batch, n_words, seed=seed), torch.randint(n_words, (batch,), generator=seeded(seed)), about=about)


EXERCISE = Exercise(
    reference=surprise,
    cases=lambda: [
        case(torch.zeros(1, 4), torch.tensor([2]), about="four equal logits"),
        case(torch.tensor([[0.0, 2.0], [1.0, -1.0]]), torch.tensor([1, 1]), about="one right, one wrong"),
        _batch(3, 5, "all sizes different", seed=1),
        _batch(4, 4, "as many words as guesses", seed=2),
        case(torch.tensor([[100.0, 99.0]]), torch.tensor([1]), about="two large logits, nearly equal"),
        case(torch.tensor([[0.0, 200.0, 50.0], [-300.0, 0.0, 90.0]]), torch.tensor([2, 0]), about="logits far apart"),
    ],
    alternatives=(with_the_largest_subtracted,),
)
