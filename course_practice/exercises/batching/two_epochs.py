"""Exercise: two epochs of your own."""

import random
from random import Random

import numpy as np
import torch

from course_practice.engine import Convention, Exercise, Mistake, case
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


def with_torch(lengths, rows, seed):
    generator, epochs = torch.Generator().manual_seed(seed), []
    for _epoch in range(2):
        noise = torch.rand(len(lengths), generator=generator)
        batches = torch.argsort(torch.tensor(lengths) + noise).split(rows)
        epochs.append([batches[i].tolist() for i in torch.randperm(len(batches), generator=generator)])
    return epochs


def with_numpy(lengths, rows, seed):
    random = np.random.default_rng(seed)
    for _epoch in range(2):
        order = np.lexsort((random.random(len(lengths)), lengths))
        batches = np.array_split(order, -(-len(order) // rows))
        yield [batches[i] for i in random.permutation(len(batches))]


def _judged(obj, given):
    """By properties, since many epochs are right; sentences alone, so that equal faults give equal answers."""
    lengths, rows, seed = given.args
    before = _global_states()
    made = obj(list(lengths), rows, seed)
    made = list(made) if hasattr(made, "__next__") else made
    drawn = _global_states() != before
    if not isinstance(made, list | tuple):
        return made
    if len(made) != 2:
        return "no list of two epochs"
    epochs = _as_lists(made)
    for epoch in epochs:
        if problem := epoch if isinstance(epoch, str) else _problem(epoch, lengths, rows):
            return problem
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
    if widest in (sorted(widest), sorted(widest, reverse=True)):
        return "the batches are in the order of their length"
    return ""


def _global_states():
    return random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()


def _lengths(n, seed):
    random = Random(seed)
    return [min(30, max(3, round(random.gauss(12, 4.5)))) for _ in range(n)]


def _with(shuffled=True, sort=True, mixed=True, extra=0, draw=None, keep=lambda batches, rows: batches, again=False):
    """The right answer with one part exchanged."""

    def answer(lengths, rows, seed):
        random, epochs = Random(seed), []
        for _epoch in range(2):
            random = Random(seed) if again else random
            order = list(range(len(lengths)))
            if draw:
                order = draw(random, order)
            elif shuffled:
                random.shuffle(order)
            if sort:
                order.sort(key=lambda i: lengths[i])
            batches = [order[i : i + rows + extra] for i in range(0, len(order), rows + extra)]
            if mixed:
                random.shuffle(batches)
            epochs.append(keep(batches, rows))
        return epochs

    return answer


def _global_generator(lengths, rows, seed):
    random.seed(seed)
    return _with(draw=lambda _own, order: random.sample(order, len(order)))(lengths, rows, seed)


EXERCISE = Exercise(
    title="Two epochs of your own",
    task="Return two epochs, each a list of batches; a batch is a list of at most `rows` sentences, by their numbers "
    "0, 1, …. In each epoch: every sentence once, at most a tenth of the positions pads, the batches not in the order "
    "of their length. The second epoch has mostly other batches. Draw from a generator of your own, as `Random(seed)`.",
    reference=two_epochs,
    call=_judged,
    cases=lambda: [
        case(_lengths(643, 1), 8, 3, about="643 sentences, 8 a batch"),
        case(_lengths(1000, 2), 16, 0, about="1,000 sentences, 16 a batch, some left for a smaller one"),
        case(_lengths(803, 3), 5, 11, about="803 sentences, 5 a batch"),
    ],
    mistakes=(
        Mistake(
            "not-sorted",
            _with(sort=False),
            "More than a tenth of the positions are pads, because short and long sentences meet. Sort by length before "
            "you cut, all of them or inside large pools.",
        ),
        Mistake(
            "in-order",
            _with(mixed=False),
            "Little padding, but the batches come in the order of their length in every epoch. Shuffle the list of "
            "batches at the end.",
        ),
        Mistake(
            "same-batches",
            _with(shuffled=False),
            "In both epochs the same sentences meet, and only the order of the batches changes. Shuffle the sentences "
            "*before* you sort: a stable sort keeps equally long sentences in shuffled order.",
        ),
        Mistake(
            "same-epoch-twice",
            _with(again=True),
            "Both epochs are the same. Make one generator before the loop, and draw each epoch anew: a second "
            "generator from the same seed draws the same numbers, and a list that is put in twice is one and the same "
            "list.",
        ),
        Convention(
            "global-generator",
            _global_generator,
            "These are two good epochs, but drawn from a global generator, which every other part of a program draws "
            "from and can seed anew. Here a generator of your own decides: `Random(seed)`.",
        ),
        Mistake(
            "seed-not-used",
            lambda lengths, rows, seed: _with()(lengths, rows, 0),
            "These are two good epochs, but every seed gives the same ones. Make the generator from `seed`.",
        ),
        Mistake(
            "not-repeatable",
            lambda lengths, rows, seed: _with()(lengths, rows, Random().random()),
            "These are two good epochs, but a second call gives others. A generator that is made from `seed` draws the "
            "same numbers again, so that a training can be repeated.",
        ),
        Mistake(
            "rest-dropped",
            _with(keep=lambda batches, rows: [b for b in batches if len(b) == rows]),
            "Some sentences are missing. If you drop a batch that is not full, its sentences are not trained in this "
            "epoch.",
        ),
        Mistake(
            "with-replacement",
            _with(draw=lambda random, order: random.choices(order, k=len(order))),
            "Some sentences come twice, and so others are missing: you draw with replacement. An epoch has each "
            "sentence once.",
        ),
        Mistake(
            "too-many-rows",
            _with(extra=1),
            "Some batches have more than `rows` sentences.",
        ),
        Mistake(
            "lengths-returned",
            lambda lengths, rows, seed: [
                [[lengths[i] for i in batch] for batch in epoch] for epoch in _with()(lengths, rows, seed)
            ],
            "Your batches hold lengths. Return the *numbers* of the sentences, 0, 1, …, so that one can find them.",
        ),
        Mistake(
            "counted-from-one",
            _with(keep=lambda batches, rows: [[i + 1 for i in batch] for batch in batches]),
            "Some number in your batches belongs to no sentence. They go from 0 to `len(lengths) - 1`.",
        ),
        Mistake(
            "one-sentence-each",
            _with(keep=lambda batches, rows: [[i] for batch in batches for i in batch]),
            "Your batches are far from full. Put `rows` sentences into each where you can.",
        ),
        Mistake(
            "shuffle-returned",
            lambda lengths, rows, seed: [None, None],
            "Your epochs are None. `shuffle` changes the list itself and returns nothing: call it in a line of its "
            "own, and then take the list.",
        ),
        Mistake(
            "one-epoch",
            lambda lengths, rows, seed: _with()(lengths, rows, seed)[0],
            "That is no list of two epochs. Each epoch is a list of batches, and the result has two of them.",
        ),
    ),
    hints=(
        "Two shuffles are needed in each epoch, at two places. What does the first one mix, and what the second?",
        "Shuffle the numbers of the sentences, sort them by length (a stable sort keeps the shuffled order of equals), "
        "cut them into batches, and shuffle the list of batches.",
        "`order = random.sample(range(len(lengths)), len(lengths))`, then `order.sort(key=…)`, cut, and "
        "`random.shuffle(batches)`; `random = Random(seed)` stands before the loop.",
    ),
    alternatives=(sorted_after_a_shuffle, with_torch, with_numpy),
    difficulty=2,
    minutes=15,
)
