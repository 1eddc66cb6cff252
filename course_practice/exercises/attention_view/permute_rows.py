import numpy as np
import torch

from course_practice.engine import Exercise, case
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


GOOD = "in each copy one row, each head in an order of its own, the real keys alone"


def as_kind(obj, given):
    """What the answer is, in words: every source of chance is right."""
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
    moved = [(p != torch.arange(p.shape[1])).any(dim=-1) for p in per_copy]
    if 2 * sum(bool(m.any()) for m in moved) < len(moved):
        return "most copies as they were"
    if not torch.stack(moved).any(dim=0).all():
        return "some heads as they were in all copies"
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


def _case(copies, n_heads, q_len, k_len, shortest, seed, about):
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randint(q_len, (copies,), generator=generator)
    lengths = torch.randint(shortest, k_len + 1, (copies,), generator=generator)
    hidden = torch.arange(k_len) >= lengths[:, None, None, None]
    scores = 2 * randn(copies, n_heads, q_len, k_len, seed=seed)
    return case(scores.masked_fill(hidden, -torch.inf).softmax(dim=-1), rows, lengths, about=about)


EXERCISE = Exercise(
    reference=permute_rows,
    call=as_kind,
    cases=lambda: [
        _case(30, 3, 4, 5, 5, seed=1, about="thirty copies without pads"),
        _case(40, 2, 5, 7, 4, seed=2, about="forty copies of different lengths"),
        _case(6, 6, 6, 6, 6, seed=3, about="all sizes equal"),
        _case(25, 8, 3, 6, 3, seed=4, about="eight heads, many pads"),
    ],
    alternatives=(with_sorted_noise,),
)
