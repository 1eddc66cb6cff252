import torch

from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn


def update(weight, inputs, targets, world, rate, clip):
    """One step of a linear model on `world` processes, one after the other."""
    tokens = sum(len(rows) for rows in inputs)
    gradients = []
    for rank in range(world):
        x = torch.cat(inputs[rank::world])
        y = torch.cat(targets[rank::world])
        mean = x.T @ (x @ weight - y) / tokens * world
        gradients.append(mean)
    gradient = torch.stack(gradients).mean(dim=0)  # as DDP does
    gradient = gradient * min(1.0, clip / gradient.norm())
    return weight - rate * gradient


def in_one_process(weight, inputs, targets, world, rate, clip):
    x, y = torch.cat(list(inputs)), torch.cat(list(targets))
    gradient = x.T @ (x @ weight - y) / len(x)
    norm = gradient.norm()
    return weight - rate * (gradient * clip / norm if norm > clip else gradient)


def _case(lengths, d, world, clip, about, seed, rate=0.1):
    inputs = [randn(n, d, seed=seed + i) for i, n in enumerate(lengths)]
    targets = [3 * randn(n, seed=seed + 50 + i) for i, n in enumerate(lengths)]
    return case(randn(d, seed=seed + 99), inputs, targets, world, rate, clip, about=about)


EXERCISE = Exercise(
    reference=update,
    cases=lambda: [
        _case([2, 2], 2, 2, 100.0, "two equal sentences, nothing to clip", 0),
        _case([2, 5, 1, 4], 3, 2, 100.0, "sentences of different length", 100),
        _case([2, 3, 1, 4, 2], 3, 2, 100.0, "five sentences on two processes", 200),
        _case([3, 3, 3, 3], 3, 2, 0.5, "a gradient that is clipped", 300),
        _case([1, 6, 2, 3, 2, 4, 1], 5, 3, 0.7, "seven sentences on three processes, clipped", 400),
        _case([3, 1, 2], 3, 1, 0.5, "a single process", 500),
        _case([2, 1, 3, 2], 2, 3, 0.4, "four sentences on three processes, and a large rate", 600, rate=2.0),
    ],
    alternatives=(in_one_process,),
)
