"""Exercise: bug hunt in an update on several processes."""

import math
from itertools import pairwise, product

import torch

from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.inputs import randn


def update(weight, inputs, targets, world, rate, clip):
    """One step of a linear model on `world` processes, one after the other."""
    tokens = sum(len(rows) for rows in inputs)
    gradients = []
    for rank in range(world):
        x = torch.cat(inputs[rank::world])
        y = torch.cat(targets[rank::world])
        mean = x.T @ (x @ weight - y) / tokens
        gradients.append(mean * world)
    gradient = torch.stack(gradients).mean(dim=0)  # as DDP adds them up
    gradient = gradient * min(1.0, clip / gradient.norm())
    return weight - rate * gradient


def starter_repair(weight, inputs, targets, world, rate, clip):
    share = len(inputs) // world
    gradients = []
    for rank in range(world):
        mine = slice(rank * share, (rank + 1) * share)
        x = torch.cat(inputs[mine])
        y = torch.cat(targets[mine])
        mean = x.T @ (x @ weight - y) / len(x)
        gradients.append(mean * min(1.0, clip / mean.norm()))
    gradient = torch.stack(gradients).sum(dim=0)  # as DDP adds them up
    return weight - rate * gradient


def in_one_process(weight, inputs, targets, world, rate, clip):
    x, y = torch.cat(list(inputs)), torch.cat(list(targets))
    gradient = x.T @ (x @ weight - y) / len(x)
    norm = gradient.norm()
    return weight - rate * (gradient * clip / norm if norm > clip else gradient)


def shares_by_tokens(weight, inputs, targets, world, rate, clip):
    total, parts = sum(map(len, inputs)), []
    for rank in range(world):
        x, y = torch.cat(inputs[rank::world]), torch.cat(targets[rank::world])
        mean = x.T @ (x @ weight - y) / len(x)
        parts.append(mean * len(x) / total)
    gradient = sum(parts)
    return weight - rate * gradient * torch.clamp(clip / gradient.norm(), max=1.0)


def with_autograd(weight, inputs, targets, world, rate, clip):
    moved = weight.clone().requires_grad_()
    for rank in range(world):
        for x, y in list(zip(inputs, targets, strict=True))[rank::world]:
            (0.5 * (x @ moved - y).square().sum() / sum(len(rows) for rows in inputs)).backward()
    torch.nn.utils.clip_grad_norm_([moved], clip)
    return (moved - rate * moved.grad).detach()


def contiguous_shares(weight, inputs, targets, world, rate, clip):
    tokens, gradient = sum(len(rows) for rows in inputs), torch.zeros_like(weight)
    bounds = [round(rank * len(inputs) / world) for rank in range(world + 1)]
    for start, stop in pairwise(bounds):
        x, y = torch.cat(inputs[start:stop]), torch.cat(targets[start:stop])
        gradient += x.T @ (x @ weight - y) / tokens
    return weight - rate * gradient / max(1.0, float(gradient.norm()) / clip)


def _weighted_by_sentences(weight, inputs, targets, world, rate, clip):
    gradient = torch.zeros_like(weight)
    for rank in range(world):
        x, y = torch.cat(inputs[rank::world]), torch.cat(targets[rank::world])
        gradient += len(inputs[rank::world]) / len(inputs) * (x.T @ (x @ weight - y)) / len(x)
    return weight - rate * gradient * min(1.0, clip / gradient.norm())


def _step_clipped(weight, inputs, targets, world, rate, clip):
    x, y = torch.cat(inputs), torch.cat(targets)
    step = rate * x.T @ (x @ weight - y) / len(x)
    return weight - step * min(1.0, clip / step.norm())


def _shares_rounded_up(weight, inputs, targets, world, rate, clip):
    share, tokens, gradient = math.ceil(len(inputs) / world), sum(map(len, inputs)), torch.zeros_like(weight)
    for rank in range(world):
        mine = slice(rank * share, (rank + 1) * share)
        x, y = torch.cat(inputs[mine]), torch.cat(targets[mine])
        gradient += x.T @ (x @ weight - y) / tokens
    return weight - rate * gradient * min(1.0, clip / gradient.norm())


def _update(rows=False, tokens=False, clip=False, mean=False, clipping=True, rate=1.0):
    """The repaired update with some of its bugs left in (True), or another one put in."""

    def wrong(weight, inputs, targets, world, rate_, clip_):
        share, total = len(inputs) // world, sum(len(x) for x in inputs)
        gradients = []
        for rank in range(world):
            mine = slice(rank * share, (rank + 1) * share) if rows else slice(rank, None, world)
            x, y = torch.cat(inputs[mine]), torch.cat(targets[mine])
            gradient = x.T @ (x @ weight - y)
            gradient = gradient / len(x) if tokens else gradient / total * world
            if clip:
                gradient = gradient * min(1.0, clip_ / gradient.norm())
            gradients.append(gradient)
        stacked = torch.stack(gradients)
        gradient = stacked.sum(dim=0) if mean else stacked.mean(dim=0)
        if clipping and not clip:
            gradient = gradient * min(1.0, clip_ / gradient.norm())
        return weight - rate * rate_ * gradient

    return wrong


def _scaled(weight, inputs, targets, rate, clip, factor):
    """A step down the right gradient times a factor, clipped after."""
    x, y = torch.cat(inputs), torch.cat(targets)
    gradient = factor * x.T @ (x @ weight - y) / len(x)
    return weight - rate * gradient * min(1.0, clip / gradient.norm())


def _element_by_element(weight, inputs, targets, world, rate, clip):
    x, y = torch.cat(inputs), torch.cat(targets)
    return weight - rate * (x.T @ (x @ weight - y) / len(x)).clamp(-clip, clip)


def _parts_clipped(weight, inputs, targets, world, rate, clip):
    """Right but for the clipping, which limits each process's part of a sum."""
    tokens, gradient = sum(map(len, inputs)), torch.zeros_like(weight)
    for rank in range(world):
        x, y = torch.cat(inputs[rank::world]), torch.cat(targets[rank::world])
        part = x.T @ (x @ weight - y) / tokens
        gradient = gradient + part * min(1.0, clip / part.norm())
    return weight - rate * gradient


_OPEN = {
    "rows": "five sentences on two processes: which of them does nobody have?",
    "tokens": "by how many tokens is a process's gradient divided, and by how many in a single process?",
    "clip": "whose norm is limited: that of each part, or that of the whole gradient?",
    "mean": "with two equal parts, how large is what comes out, compared with one of them?",
}


def _partial_repairs():
    found = ("Three of four are repaired", "Two of four are repaired", "One of four is repaired")
    for left in product((False, True), repeat=4):
        names = [name for name, open_ in zip(_OPEN, left, strict=True) if open_]
        if 1 <= len(names) <= 3:
            clues = [f"({i}) {_OPEN[name]}" if len(names) > 1 else _OPEN[name] for i, name in enumerate(names, 1)]
            yield Mistake(
                "-and-".join(f"{name}-left" for name in names),
                _update(**dict.fromkeys(names, True)),
                f"{found[len(names) - 1]}. Still open: {' '.join(clues)}",
                points=names != ["tokens"],  # it is also right to give every process all the sentences
            )


def _case(lengths, d, world, clip, about, seed, rate=0.1):
    inputs = [randn(n, d, seed=seed + i) for i, n in enumerate(lengths)]
    targets = [3 * randn(n, seed=seed + 50 + i) for i, n in enumerate(lengths)]
    return case(randn(d, seed=seed + 99), inputs, targets, world, rate, clip, about=about)


EXERCISE = Exercise(
    title="Bug hunt: an update on several processes",
    task="This is one step of a linear model, y = x · weight, on `world` processes, which the loop plays one after the "
    "other. A sentence is a tensor (n, d) of inputs and one (n,) of targets, and the loss is the mean of "
    "(x · weight − y)² / 2 over all tokens. Find the four bugs: the step must be the same for every `world`.",
    reference=update,
    starter=starter_repair,
    cases=lambda: [
        _case([2, 2], 2, 2, 100.0, "two equal sentences, nothing to clip", 0),
        _case([2, 5, 1, 4], 3, 2, 100.0, "sentences of different length", 100),
        _case([2, 3, 1, 4, 2], 3, 2, 100.0, "five sentences on two processes", 200),
        _case([3, 3, 3, 3], 3, 2, 0.5, "a gradient that is clipped", 300),
        _case([1, 6, 2, 3, 2, 4, 1], 5, 3, 0.7, "seven sentences on three processes, clipped", 400),
        _case([3, 1, 2], 3, 1, 0.5, "a single process", 500),
        _case([2, 1, 3, 2], 2, 3, 0.4, "four sentences on three processes, and a large rate", 600, rate=2.0),
    ],
    mistakes=(
        *_partial_repairs(),
        Mistake(
            "parts-clipped",
            _parts_clipped,
            "Only the clipping is left: you limit each process's part before the parts are added up. Limit the norm of "
            "the whole gradient, after the sum.",
        ),
        Mistake(
            "not-clipped",
            _update(clipping=False),
            "The four bugs are gone, and so is the clipping. Clip the whole gradient, after the processes have added "
            "it up.",
        ),
        Mistake(
            "averaged-once-too-often",
            lambda weight, inputs, targets, world, rate, clip: update(
                weight, [x / world**0.5 for x in inputs], [y / world**0.5 for y in targets], world, rate, clip
            ),
            "The gradient is too small by the number of processes: it is divided by the tokens of *all*, and then "
            "averaged on top. Multiply by `world`, or take the sum.",
            points=False,
        ),
        Mistake(
            "weighted-by-sentences",
            _weighted_by_sentences,
            "The mean of each process counts by its number of *sentences*. It has to count by its number of tokens, "
            "since the loss is a mean over tokens.",
        ),
        Mistake(
            "step-clipped",
            _step_clipped,
            "The four bugs are gone, but now the *step*, rate · gradient, is limited. Limit the gradient, and multiply "
            "by the rate afterwards.",
        ),
        Mistake(
            "shares-rounded-up",
            _shares_rounded_up,
            "Nobody is left out, but with four sentences on three processes, and shares of two, the last process has "
            "none, and `torch.cat` stops. Deal them out, `inputs[rank::world]`, or share them as evenly as possible.",
        ),
        Mistake(
            "by-sentences",
            lambda weight, inputs, targets, world, rate, clip: _scaled(
                weight, inputs, targets, rate, clip, len(torch.cat(inputs)) / len(inputs)
            ),
            "The gradient is divided by the number of sentences. The mean is over tokens.",
        ),
        Mistake(
            "element-by-element",
            _element_by_element,
            "Each number of the gradient is limited by itself, which also turns its direction. Limit the *norm* of "
            "the whole gradient.",
        ),
        Mistake(
            "always-at-the-limit",
            lambda weight, inputs, targets, world, rate, clip: _scaled(weight, inputs, targets, rate, clip, 1e9),
            "The gradient always gets the norm `clip`. Clipping only makes it smaller: `min(1.0, clip / norm)`.",
        ),
    ),
    hints=(
        "Try one process: which line does something else there than with two? Four lines hold a bug: the shares, the "
        "division, the clipping, and the sum.",
        "`//` leaves sentences over. A mean of means is not the mean. The whole gradient has one norm. DDP averages.",
        "`inputs[rank::world]`; divide by all tokens and multiply by `world`; `.mean(dim=0)`; clip behind that line.",
    ),
    alternatives=(in_one_process, shares_by_tokens, with_autograd, contiguous_shares),
    difficulty=3,
    minutes=15,
)
