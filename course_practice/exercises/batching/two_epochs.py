import random
from itertools import pairwise
from random import Random

import numpy as np
import torch

from course_practice.engine import Exercise, case
from course_practice.exercises.batching._forms import complete, positions

GOOD = "two epochs, each with every sentence once and little padding, of other batches"


def two_epochs(lengths, rows, seed):
    """Two epochs: shuffled, sorted inside pools of 20 batches, cut into batches, and the batches shuffled again.

    >>> [sorted(sum(epoch, [])) for epoch in two_epochs([4, 9, 5, 8], rows=2, seed=1)]
    [[0, 1, 2, 3], [0, 1, 2, 3]]
    """
    random, pool = Random(seed), 20 * rows
    epochs = []
    for _ in range(2):
        order = random.sample(range(len(lengths)), len(lengths))
        batches = []
        for start in range(0, len(order), pool):
            members = sorted(order[start : start + pool], key=lambda i: lengths[i])
            batches += [members[i : i + rows] for i in range(0, len(members), rows)]
        random.shuffle(batches)
        epochs.append(batches)
    return epochs


def sorted_after_a_shuffle(lengths, rows, seed):
    random = Random(seed)

    def one():
        order = list(range(len(lengths)))
        random.shuffle(order)
        order.sort(key=lambda i: lengths[i])
        batches = [order[i : i + rows] for i in range(0, len(order), rows)]
        random.shuffle(batches)
        return batches

    return one(), one()


def _judged(obj, given):
    """By properties, since many epochs are right; sentences alone, so that equal faults give equal answers."""
    (mine, rows, seed), lengths = given.args, list(given.args[0])  # an answer that changes its list is told so
    before = _global_states()
    made = obj(mine, rows, seed)
    made = list(made) if hasattr(made, "__next__") else made
    drawn = _global_states() != before
    if not isinstance(made, list | tuple):
        return made
    if len(made) != 2:
        return "no list of two epochs"
    epochs = _as_lists(made)
    for epoch in epochs:
        if problem := epoch if isinstance(epoch, str) else _problem(epoch, lengths, rows):
            same = epochs[0] == epochs[1] and not isinstance(epoch, str)
            return f"{problem}, and both epochs are the same" if same else problem
    same = [{frozenset(group) for group in epoch if group} for epoch in epochs]
    if epochs[0] == epochs[1]:
        return "both epochs are the same"
    if 2 * len(same[0] & same[1]) >= len(same[0]):
        return "both epochs have the same batches, in another order"
    if drawn:
        return "right, but drawn from a global generator"
    again, other = _as_lists(obj(list(lengths), rows, seed)), _as_lists(obj(list(lengths), rows, seed + 1))
    if again != epochs:
        return "called again with the same seed, it gives other epochs"
    return "another seed gives the same epochs" if other == epochs else GOOD


def _as_lists(made):
    return [positions(list(epoch) if hasattr(epoch, "__next__") else epoch) for epoch in made]


def _problem(groups, lengths, rows):
    groups = [group for group in groups if group]
    if sorted(i for group in groups for i in group) == sorted(lengths):
        return "these are the lengths of the sentences"
    if problem := complete(groups, len(lengths)):
        return problem
    if any(len(group) > rows for group in groups):
        return "a batch has too many rows"
    if len(groups) > 1.2 * len(lengths) / rows + 1:
        return "many batches are far from full"
    widest = [max(lengths[i] for i in group) for group in groups]
    if sum(len(g) * w for g, w in zip(groups, widest, strict=True)) * 0.9 > sum(lengths):
        return "more than a tenth of the positions are pads"
    steps = list(pairwise(widest))  # in pools that are sorted, hardly any goes the other way
    if min(sum(a > b for a, b in steps), sum(a < b for a, b in steps)) < len(steps) / 5:
        return "the batches are in the order of their length"
    return ""


def _global_states():
    return random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()


def _lengths(n, seed):
    random = Random(seed)
    return [min(30, max(3, round(random.gauss(12, 4.5)))) for _ in range(n)]


EXERCISE = Exercise(
    reference=two_epochs,
    call=_judged,
    cases=lambda: [
        case(_lengths(643, 1), 8, 3, about="643 sentences, 8 a batch"),
        case(_lengths(1000, 2), 16, 0, about="1,000 sentences, 16 a batch, some left for a smaller one"),
        case(_lengths(803, 3), 5, 11, about="803 sentences, 5 a batch"),
    ],
    alternatives=(sorted_after_a_shuffle,),
)
