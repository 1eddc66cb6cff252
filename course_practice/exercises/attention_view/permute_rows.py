"""Exercise: exchange the weights of one row."""

import random

import numpy as np
import torch

from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.inputs import randn


def permute_rows(weights, rows, lengths):
    """In each copy, the weights of one row in a new order, drawn for each head by itself.

    `weights` is (copies, n_heads, q_len, k_len). Of copy b the row rows[b] is changed, and of its keys the first
    lengths[b]; those behind them are pads.

    >>> weights = torch.tensor([[[[0.7, 0.3, 0.0], [0.5, 0.5, 0.0]]]])
    >>> changed = permute_rows(weights, torch.tensor([0]), torch.tensor([2]))
    >>> sorted(changed[0, 0, 0].tolist()) == sorted(weights[0, 0, 0].tolist())
    True
    """
    changed = weights.clone()
    for b, (row, n) in enumerate(zip(rows.tolist(), lengths.tolist(), strict=True)):
        for head in range(weights.shape[1]):
            changed[b, head, row, :n] = weights[b, head, row, torch.randperm(n)]
    return changed


def with_sorted_noise(weights, rows, lengths):
    copies = torch.arange(len(rows))
    row = weights[copies, :, rows]
    noise = torch.rand(row.shape)
    pads = torch.arange(row.shape[-1]) >= lengths[:, None, None]
    order = noise.masked_fill(pads, 2.0).argsort(dim=-1, stable=True)  # pads stay behind, in their order
    changed = weights.clone()
    changed[copies, :, rows] = row.gather(-1, order)
    return changed


def with_random_sample(weights, rows, lengths):
    table = weights.tolist()
    for copy, row, n in zip(table, rows.tolist(), lengths.tolist(), strict=True):
        for head in copy:
            head[row] = random.sample(head[row][:n], n) + head[row][n:]
    return torch.tensor(table)


def with_numpy(weights, rows, lengths):
    rng, changed = np.random.default_rng(3), np.array(weights)
    for b in range(len(changed)):
        row, n = int(rows[b]), int(lengths[b])
        changed[b, :, row, :n] = rng.permuted(changed[b, :, row, :n], axis=-1)
    return torch.from_numpy(changed)


# --- what the answer is, in words: every source of chance is right ---

GOOD = "in each copy one row, each head in an order of its own, the real keys alone"


def as_kind(obj, given):
    weights, rows, lengths = (value.clone() for value in given.args)
    answer = obj(*given.args)
    if answer is None or isinstance(answer, str | dict):
        return answer
    found = answer.detach() if isinstance(answer, torch.Tensor) else torch.as_tensor(np.array(answer))
    if found.shape != weights.shape:
        return f"a tensor of shape {tuple(found.shape)} where {tuple(weights.shape)} was given"
    return _kind(found.to(weights), weights, rows, lengths)


def _kind(found, weights, rows, lengths):
    copies = torch.arange(len(rows))
    if torch.equal(found, weights):
        return "nothing has changed"
    rest = torch.ones(weights.shape[:3], dtype=torch.bool)
    rest[copies, :, rows] = False
    new, old = found[copies, :, rows], weights[copies, :, rows]
    if not torch.equal(found[rest], weights[rest]):
        return "another row has changed, and this one has not" if torch.equal(new, old) else "other rows have changed"
    pads = (torch.arange(weights.shape[-1]) >= lengths[:, None, None]).expand_as(new)
    if new[pads].any():
        return "pads got some weight"
    if not torch.allclose(new.sort(dim=-1).values, old.sort(dim=-1).values):
        if torch.allclose(new.flatten(1).sort(dim=-1).values, old.flatten(1).sort(dim=-1).values):
            return "weights have moved from one head to another"
        kept = torch.allclose(new.sum(dim=-1), old.sum(dim=-1), atol=1e-4)
        return "other numbers than those of the row" if kept else "rows that no longer sum to 1"
    places = (new[..., :, None] == old[..., None, :]).int().argmax(dim=-1)  # where each weight came from
    per_copy = [places[b, :, :n] for b, n in enumerate(lengths.tolist())]
    if all((p == p[0]).all() for p in per_copy):
        return "the same order in all heads"
    groups = [[p for p in per_copy if p.shape[1] == n] for n in sorted(set(lengths.tolist()))]
    if all((p == group[0]).all() for group in groups for p in group):
        return "the same orders in all copies"
    shifts = [(p - torch.arange(p.shape[1])) % p.shape[1] for p in per_copy]
    if all((s == s[:, :1]).all() for s in shifts):
        return "the rows go round"
    if all((p[:, -1] == p.shape[1] - 1).all() for p in per_copy):
        return "the last real key keeps its weight everywhere"
    if all((p[:, 0] == 0).all() for p in per_copy):
        return "the first key keeps its weight everywhere"
    if any(_one_never_moves(torch.cat(group)) for group in groups):
        return "some real keys never move"
    steps = torch.cat([row[:, :n].diff(dim=-1).flatten() for row, n in zip(new, lengths.tolist(), strict=True)])
    if (steps >= 0).all() or (steps <= 0).all():
        return "the weights in the order of their size"
    return GOOD


def _one_never_moves(places):
    """Does a key keep its weight in all of these rows? In a dozen of them no key does by chance."""
    return len(places) >= 12 and bool((places == torch.arange(places.shape[1])).all(dim=0).any())


# --- wrong answers ---


def _in_each(change):
    """One row of each copy, (n_heads, n), replaced by what `change` makes of it."""

    def answer(weights, rows, lengths):
        changed = weights.clone()
        for b, (row, n) in enumerate(zip(rows.tolist(), lengths.tolist(), strict=True)):
            changed[b, :, row, :n] = change(weights[b, :, row, :n])
        return changed

    return answer


def _all_rows(weights, rows, lengths):
    changed = weights
    for row in range(weights.shape[2]):
        changed = permute_rows(changed, torch.full_like(rows, row), lengths)
    return changed


def _with_pads(weights, rows, lengths):
    return permute_rows(weights, rows, torch.full_like(lengths, weights.shape[-1]))


def _late(weights, rows, lengths):
    return permute_rows(weights, (rows + 1) % weights.shape[2], lengths)


def _one_for_all_copies(weights, rows, lengths):
    changed = weights.clone()
    for n in set(lengths.tolist()):
        orders = [torch.randperm(n) for _ in range(weights.shape[1])]
        for b in (lengths == n).nonzero()[:, 0].tolist():
            for head, order in enumerate(orders):
                changed[b, head, rows[b], :n] = weights[b, head, rows[b], order]
    return changed


def _all_but_the_last(weights, rows, lengths):
    return permute_rows(weights, rows, lengths - 1)


def _all_but_the_first(row):
    return torch.stack([torch.cat([head[:1], head[1:][torch.randperm(len(head) - 1)]]) for head in row])


def _rolled(row):
    return torch.stack([head.roll(int(torch.randint(1, len(head), ()))) for head in row])


def _case(copies, n_heads, q_len, k_len, shortest, seed, about):
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randint(q_len, (copies,), generator=generator)
    lengths = torch.randint(shortest, k_len + 1, (copies,), generator=generator)
    hidden = torch.arange(k_len) >= lengths[:, None, None, None]
    scores = 2 * randn(copies, n_heads, q_len, k_len, seed=seed)
    return case(scores.masked_fill(hidden, -torch.inf).softmax(dim=-1), rows, lengths, about=about)


EXERCISE = Exercise(
    title="Exchange the weights of a row",
    task="In each copy b of `weights` (copies, n_heads, q_len, k_len), give the weights of row `rows[b]` a random new "
    "order, for each head by itself. Keys from `lengths[b]` on are pads and keep their weight of 0. All other rows "
    "stay as they are. Any source of chance is right.",
    reference=permute_rows,
    call=as_kind,
    cases=lambda: [
        _case(30, 3, 4, 5, 5, seed=1, about="thirty copies without pads"),
        _case(40, 2, 5, 7, 4, seed=2, about="forty copies of different lengths"),
        _case(6, 6, 6, 6, 6, seed=3, about="all sizes equal"),
        _case(25, 8, 3, 6, 3, seed=4, about="eight heads, many pads"),
    ],
    mistakes=(
        Mistake(
            "all-rows",
            _all_rows,
            "Other rows of a copy have changed, too. Then a word may flip because an earlier one went wrong: change "
            "row `rows[b]` of copy b alone.",
        ),
        Mistake(
            "another-row",
            _late,
            "Another row has changed than the one asked for. In copy b it is row `rows[b]`, counted from 0.",
        ),
        Mistake(
            "pads-permuted-in",
            _with_pads,
            "Pads got some weight. Their vectors never meant anything to the decoder, so that would be another "
            "experiment: exchange the first `lengths[b]` weights only.",
        ),
        Mistake(
            "one-order-for-all-heads",
            _in_each(lambda row: row[:, torch.randperm(row.shape[1])]),
            "All heads get the same new order, so they still agree with each other, on one wrong word. Draw one for "
            "each head.",
        ),
        Mistake(
            "one-order-for-all-copies",
            _one_for_all_copies,
            "All copies get the same new order. One order may hit or miss by luck: draw one for each copy.",
        ),
        Mistake(
            "other-numbers",
            _in_each(lambda row: torch.rand(row.shape).softmax(dim=-1)),
            "Those are other numbers than before. Asked is another *order* of the same weights, so that the row stays "
            "as sharp as it was.",
        ),
        Mistake(
            "sums-changed",
            _in_each(lambda row: row[:, torch.randint(row.shape[1], (row.shape[1],))]),
            "Some weights came twice and others not at all, so the row no longer sums to 1. Draw without replacement: "
            "`torch.randperm`.",
        ),
        Mistake(
            "heads-exchanged",
            _in_each(lambda row: row.flatten()[torch.randperm(row.numel())].view(row.shape)),
            "Weights have moved from one head to another. Each head keeps its own, at other keys.",
        ),
        Mistake(
            "turned-round",
            _in_each(_rolled),
            "The rows go round: neighbors stay neighbors. Draw an order, `torch.randperm(n)`.",
        ),
        Mistake(
            "last-key-stays",
            _all_but_the_last,
            "The last real key keeps its weight in every row. Keys 0 to lengths[b] − 1 are real, which is lengths[b] "
            "of them: exchange all of these.",
        ),
        Mistake(
            "shortest-length-for-all",
            lambda weights, rows, lengths: permute_rows(weights, rows, torch.full_like(lengths, int(lengths.min()))),
            "In the longer copies some real keys never move: their weights are exchanged as if these copies were as "
            "short as another one. Copy b has `lengths[b]` real keys.",
        ),
        Mistake(
            "rows-alone",
            lambda weights, rows, lengths: permute_rows(weights, rows, lengths)[torch.arange(len(rows)), :, rows],
            "Only the changed rows come back. Return all the weights, (copies, n_heads, q_len, k_len), with these rows "
            "in their places.",
        ),
        Mistake(
            "first-key-stays",
            _in_each(_all_but_the_first),
            "Key 0 keeps its weight in every row. It is a word like the others: exchange all real keys.",
        ),
        Mistake(
            "sorted",
            _in_each(lambda row: row.sort(dim=-1).values),
            "The weights come back sorted by their size: another order, but no random one. Draw it, with "
            "`torch.randperm(n)`.",
        ),
        Mistake(
            "nothing-changed",
            lambda weights, rows, lengths: weights.clone(),
            "The weights come back as they were. `torch.randperm(n)` draws an order; did you put the result back?",
        ),
    ),
    hints=(
        "One row of one head of one copy is `weights[b, head, rows[b]]`. How many of its entries are real keys?",
        "`torch.randperm(n)` draws an order of n keys. Take one for each head of each copy, and write into a clone.",
        "In two loops: `changed[b, head, rows[b], :n] = weights[b, head, rows[b], torch.randperm(n)]` with "
        "`n = int(lengths[b])`.",
    ),
    alternatives=(with_sorted_noise, with_random_sample, with_numpy),
    difficulty=2,
    minutes=12,
)
