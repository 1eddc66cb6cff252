"""Exercise: which outputs does each token reach?"""

import torch

from course_practice.engine import Exercise, Mistake, case
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


def with_every_other_id(f, ids, vocab_size):
    before, columns = f(ids), []
    for k in range(ids.shape[1]):
        column = torch.zeros(ids.shape[1], dtype=torch.bool)
        for token in range(vocab_size):
            after = f(torch.cat([ids[:, :k], torch.full((len(ids), 1), token), ids[:, k + 1 :]], dim=1))
            column |= (after - before).abs().sum(dim=(0, 2)) > 1e-6
        columns.append(column)
    return torch.stack(columns, dim=1)


def in_one_batch(f, ids, vocab_size):
    batch, n = ids.shape
    steps = torch.eye(n, dtype=ids.dtype)[:, None, :]  # one edit a row
    after = f(((ids + steps) % vocab_size).reshape(n * batch, n)).unflatten(0, (n, batch))
    return (after != f(ids)).any(dim=3).any(dim=1).T


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
    of_one_sentence = torch.tensor([[3, 1, 4, 1], [5, 2, 6, 5]])
    return [
        case(Listener("all hear all", full), _ids(2, 5, 11), 11, about="a free encoder"),
        case(Listener("the past", full.tril()), _ids(3, 4, 11, seed=1), 11, about="a causal encoder"),
        case(Listener("the neighbors", full.triu(-1).tril(1)), _ids(2, 6, 10, seed=2), 10, about="a window"),
        case(Listener("some hear some", some), _ids(2, 7, 13, seed=3), 13, about="any table"),
        case(Listener("very quiet", full.tril(), strength=1e-3), _ids(2, 5, 11), 11, about="small outputs"),
        case(
            Listener("only where a sentence begins with 5", full.triu(1), only=5),
            of_one_sentence,
            11,
            about="heard in one sentence of two",
        ),
        case(
            Listener("only where a sentence begins with 5", full.triu(1), only=5),
            of_one_sentence.flip(0),
            11,
            about="heard in the other sentence",
        ),
        case(
            Listener("the last alone", torch.eye(7).roll(1, 0), vocab_size=11),
            torch.full((1, 4), 10),
            11,
            about="all ids the last",
        ),
        case(Listener("all hear all", full, vocab_size=2), _ids(1, 7, 2), 2, about="a vocabulary of two"),
        case(Listener("louder and louder", full, says=(1.0,)), _ids(2, 3, 9, seed=4), 11, about="outputs that rise"),
        case(Listener("quieter", full, says=(-1.0,)), _ids(2, 3, 9, seed=4), 11, about="outputs that fall"),
    ]


def _found(edit=None, compare=None, table=None, sentences=None):
    """`reach` with one step done otherwise."""

    def answer(f, ids, vocab_size):
        if sentences is not None:
            ids = ids[sentences]
        before, n = f(ids), ids.shape[1]
        columns = []
        for k in range(n):
            edited = ids.clone()
            edited[:, k] = (ids[:, k] + 1) % vocab_size if edit is None else edit(ids[:, k], vocab_size)
            moved = f(edited) - before
            columns.append((moved.abs() > 1e-6).any(dim=2).any(dim=0) if compare is None else compare(moved))
        found = torch.stack(columns, dim=1)
        return found if table is None else table(found)

    return answer


def _amounts(f, ids, vocab_size):
    changes = []
    for k in range(ids.shape[1]):
        edited = ids.clone()
        edited[:, k] = (ids[:, k] + 1) % vocab_size
        changes.append((f(edited) - f(ids)).abs().amax(dim=(0, 2)))
    return torch.stack(changes, dim=1)


def _deleted(f, ids, vocab_size):
    before, n = f(ids), ids.shape[1]
    table = torch.zeros(n, n, dtype=torch.bool)
    for k in range(n):
        rest = torch.cat([ids[:, :k], ids[:, k + 1 :]], dim=1)
        table[: n - 1, k] = (f(rest) != before[:, : n - 1]).any(dim=2).any(dim=0)
    return table


def _in_place(f, ids, vocab_size):
    before, edited, columns = f(ids), ids.clone(), []
    for k in range(ids.shape[1]):
        edited[:, k] = (edited[:, k] + 1) % vocab_size
        columns.append((f(edited) != before).any(dim=2).any(dim=0))
    return torch.stack(columns, dim=1)


EXERCISE = Exercise(
    title="Who reaches whom?",
    task="Return an (n, n) boolean table, True at (q, k) where output q of f moves when token k is edited.",
    reference=reach,
    cases=_cases,
    mistakes=(
        Mistake(
            "transposed",
            _found(table=lambda found: found.T),
            "Your table has the edited token as its row. Rows are outputs, columns are edited tokens.",
        ),
        Mistake(
            "first-sentence-only",
            _found(sentences=slice(0, 1)),
            "You look at the first sentence alone. What moves may depend on the sentence: look at all of the batch.",
        ),
        Mistake(
            "all-sentences-must-move",
            _found(compare=lambda moved: (moved.abs() > 1e-6).any(dim=2).all(dim=0)),
            "You ask that an output moves in *every* sentence. Once is enough: `any` over the batch.",
        ),
        Mistake(
            "sums-cancel",
            _found(compare=lambda moved: (moved.sum(dim=2).abs() > 1e-6).any(dim=0)),
            "Where some features go up, some go down, and some stay, no output moves in your table, although it does. "
            "Take absolute changes before you add any, and ask whether *any* feature moved.",
        ),
        Mistake(
            "signed-sums",
            _found(compare=lambda moved: (moved.sum(dim=2) > 1e-6).any(dim=0)),
            "Changes up and down cancel in your sum, and a sum that falls counts as no move. Take absolute changes "
            "before you add any.",
        ),
        Mistake(
            "rises-alone",
            _found(compare=lambda moved: (moved > 1e-6).any(dim=2).any(dim=0)),
            "Your table sees an output that rises, and none that falls. Take the absolute change.",
        ),
        Mistake(
            "threshold-too-high",
            _found(compare=lambda moved: (moved.abs() > 0.01).any(dim=2).any(dim=0)),
            "Small changes count, too: your threshold is above the outputs of a quiet model. Exact zero is the "
            "question, so allow for rounding alone.",
        ),
        Mistake(
            "first-feature-of-the-first-output",
            _found(compare=lambda moved: (moved.abs() > 1e-6).any(dim=2).any(dim=0)[:1].expand(moved.shape[1])),
            "Every row of your table is the first: it says what output 0 does. Look at each output by itself.",
        ),
        Mistake(
            "edits-stay",
            _in_place,
            "Your edits add up: when token 2 is edited, tokens 0 and 1 still are. Begin each time with a fresh copy.",
        ),
        Mistake(
            "edited-to-zero",
            _found(edit=lambda tokens, vocab_size: torch.zeros_like(tokens)),
            "You write the id 0 everywhere. Where the token is 0 already, nothing was edited: choose an id that "
            "differs.",
        ),
        Mistake(
            "edited-to-the-last",
            _found(edit=lambda tokens, vocab_size: torch.full_like(tokens, vocab_size - 1)),
            "Where a token is the last id already, your edit leaves it as it is, so nothing was edited there. Choose "
            "an id that differs for every token.",
        ),
        Mistake(
            "edited-beyond-the-last",
            _found(edit=lambda tokens, vocab_size: tokens + 1),
            "Where a token is the last id, one more is no id at all, and f stops with an error. Go round, as a clock "
            "does: the remainder `% vocab_size` makes an id of each sum.",
        ),
        Mistake(
            "one-answer-for-all",
            _found(table=lambda found: found.all()),
            "One answer for the whole table is not enough to see *where* something is cut off. Return the table.",
        ),
        Mistake(
            "itself-alone",
            _found(table=lambda found: found & torch.eye(len(found), dtype=torch.bool)),
            "Only the diagonal of your table is filled: it says whether an output moves with its *own* token. Ask of "
            "each edit which of all the outputs move.",
        ),
        Mistake(
            "amounts",
            _amounts,
            "Your table says how *much* an output moves. The question is whether it moves: compare with a small number "
            "such as 1e-6.",
        ),
        Mistake(
            "deleted",
            _deleted,
            "You delete the token, so that all later ones move up by a position and the outputs no longer match. Edit "
            "it: write another id in its place.",
        ),
        Mistake(
            "unmoved",
            _found(table=lambda found: ~found),
            "Your table is True where an output stays the same. True should mean that it moves.",
        ),
    ),
    hints=(
        "One column at a time: edit token k in every sentence, run f again, and see which outputs differ.",
        "An edit must change the id and stay below vocab_size. Take the absolute change, then ask whether any feature "
        "and any sentence moved.",
        "`edited = ids.clone()`, `edited[:, k] = (ids[:, k] + 1) % vocab_size`, and "
        "`table[:, k] = ((f(edited) - before).abs() > 1e-6).any(dim=2).any(dim=0)`.",
    ),
    alternatives=(cell_by_cell, with_every_other_id, in_one_batch),
    difficulty=2,
    minutes=10,
)
