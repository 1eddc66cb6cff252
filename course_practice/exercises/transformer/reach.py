import torch

from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn, seeded


def reach(f, ids, vocab_size):
    """(n, n) booleans: True at (q, k) where output q moves when token k is edited.

    `f` takes ids (batch, n), all below vocab_size, and gives back outputs (batch, n, d).
    """
    before, n = f(ids), ids.shape[1]
    table = torch.zeros(n, n, dtype=torch.bool)
    for k in range(n):
        edited = ids.clone()
        edited[:, k] = (ids[:, k] + 1) % vocab_size
        moved = (f(edited) - before).abs().amax(dim=2)
        table[:, k] = (moved > 1e-6).any(dim=0)
    return table


def cell_by_cell(f, ids, vocab_size):
    n = ids.shape[1]
    table = [[False] * n for _ in range(n)]
    for k in range(n):
        other = torch.where(torch.arange(n) == k, (ids + 1) % vocab_size, ids)
        for q in range(n):
            table[q][k] = not torch.allclose(f(other)[:, q], f(ids)[:, q], rtol=0, atol=1e-7)
    return torch.tensor(table)


class Listener:
    """A model with a name that says who listens to whom: every output is a sum of what its tokens say."""

    def __init__(self, name, table, strength=1.0, only=None, vocab_size=13, says=(1.0, -1.0, 0.0)):
        self.name, self.table, self.strength, self.only = name, table, strength, only
        self.vocab_size, self.says = vocab_size, torch.tensor(says, dtype=torch.float64)

    def __call__(self, ids):
        n = ids.shape[1]
        if ids.min() < 0 or ids.max() >= self.vocab_size:
            raise IndexError(
                f"f expected ids from 0 to {self.vocab_size - 1}, got {ids.min()} to {ids.max()}: keep each edit below "
                "vocab_size"
            )
        said = (1.0 + ids.double())[..., None] * self.says
        heard = self.strength * self.table[:n, :n].double() @ said
        if self.only is not None:  # the token that switches listening on
            heard = heard * (ids[:, :1] == self.only)[..., None]
        return heard

    def __repr__(self):
        return f"<a model: {self.name}>"


def _ids(batch, n, vocab_size, seed=0):
    return torch.randint(0, vocab_size, (batch, n), generator=seeded(seed))


def _cases():
    full = torch.ones(7, 7)
    some = randn(7, 7, seed=3) > 0
    after_5 = Listener("only where a sentence begins with 5", full.triu(1), only=5)
    last = Listener("the last alone", torch.eye(7).roll(1, 0), vocab_size=11)
    of_one_sentence = torch.tensor([[3, 1, 4, 1], [5, 2, 6, 5]])
    return [
        case(Listener("all hear all", full), _ids(2, 5, 11), 11, about="a free encoder"),
        case(Listener("the past", full.tril()), _ids(3, 4, 11, seed=1), 11, about="a causal encoder"),
        case(Listener("the neighbors", full.triu(-1).tril(1)), _ids(2, 6, 10, seed=2), 10, about="a window"),
        case(Listener("some hear some", some), _ids(2, 7, 13, seed=3), 13, about="any table"),
        case(Listener("very quiet", full.tril(), strength=1e-3), _ids(2, 5, 11), 11, about="small outputs"),
        case(after_5, of_one_sentence, 11, about="heard in one sentence of two"),
        case(after_5, of_one_sentence.flip(0), 11, about="heard in the other sentence"),
        case(last, torch.full((1, 4), 10), 11, about="all ids the last"),
        case(Listener("all hear all", full, vocab_size=2), _ids(1, 7, 2), 2, about="a vocabulary of two"),
        case(Listener("louder and louder", full, says=(1.0,)), _ids(2, 3, 9, seed=4), 11, about="outputs that rise"),
        case(Listener("quieter", full, says=(-1.0,)), _ids(2, 3, 9, seed=4), 11, about="outputs that fall"),
    ]


EXERCISE = Exercise(reference=reach, cases=_cases, alternatives=(cell_by_cell,))
