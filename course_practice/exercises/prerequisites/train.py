import torch
from torch.nn import functional as F

from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import seeded


def train(src, tgt, n_words, lr, steps):
    """A table of logits (n_words, n_words) that learned by gradient descent which word follows which.

    >>> train(torch.tensor([[0]]), torch.tensor([[1]]), n_words=2, lr=1.0, steps=1)
    tensor([[-0.5000,  0.5000],
            [ 0.0000,  0.0000]])
    """
    table = torch.zeros(n_words, n_words, requires_grad=True)
    optimizer = torch.optim.SGD([table], lr=lr)
    for _step in range(steps):
        logits = table[src]
        loss = F.cross_entropy(logits.flatten(0, 1), tgt.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return table.detach()


def starter_train(src, tgt, n_words, lr, steps):
    """(n_words, n_words): row i holds the logits of what follows word i."""
    table = torch.zeros(n_words, n_words, requires_grad=True)
    optimizer = torch.optim.SGD([table], lr=lr)  # noqa: F841 (the reader's lines need it)
    for _step in range(steps):
        logits = ...  # noqa: F841
        loss = ...  # noqa: F841
        ...  # three more lines
    return table.detach()


def with_the_gradient_by_hand(src, tgt, n_words, lr, steps):
    table = torch.zeros(n_words, n_words)
    seen, next_ones = src.flatten(), F.one_hot(tgt.flatten(), n_words).float()
    for _step in range(steps):
        too_much = (table[seen].softmax(dim=-1) - next_ones) / len(seen)
        table = table - lr * torch.zeros(n_words, n_words).index_add(0, seen, too_much)
    return table


def _text(batch, seq_len, n_words, about, lr=0.5, steps=3, seed=0):
    ids = torch.randint(n_words, (batch, seq_len + 1), generator=seeded(seed))
    return case(ids[:, :-1], ids[:, 1:], n_words=n_words, lr=lr, steps=steps, about=about)


EXERCISE = Exercise(
    reference=train,
    starter=starter_train,
    cases=lambda: [
        case(torch.tensor([[0]]), torch.tensor([[1]]), n_words=2, lr=1.0, steps=1, about="one pair, one step"),
        case(torch.tensor([[0]]), torch.tensor([[1]]), n_words=2, lr=1.0, steps=2, about="one pair, two steps"),
        _text(2, 3, 5, "all sizes different", steps=4, seed=1),
        _text(3, 3, 3, "all sizes equal", seed=2),
        _text(1, 7, 4, "a single sentence", lr=2.0, steps=5, seed=3),
    ],
    alternatives=(with_the_gradient_by_hand,),
)
