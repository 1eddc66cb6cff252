"""A small model with known logits, and how answers made of groups of positions are compared."""

from collections.abc import Callable, Sequence
from numbers import Integral

import torch
from torch import Tensor

from course_lib.tokens import PAD
from course_practice.engine import Case
from course_practice.exercises.inputs import seeded


class Toy:
    """A model without training: the logits depend on the token that is read and on the real tokens of the source.

    >>> Toy(7)(torch.tensor([[5, 6, 2]]), torch.tensor([[1, 4]])).shape
    torch.Size([1, 2, 7])
    """

    def __init__(self, vocab_size: int, seed: int = 0):
        self.vocab_size, generator = vocab_size, seeded(seed)
        self.table = torch.randn(vocab_size, vocab_size, generator=generator, dtype=torch.float64) * 2
        self.of_source = torch.randn(vocab_size, vocab_size, generator=generator, dtype=torch.float64)

    def __call__(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        real = (src != PAD)[..., None]
        source = (self.of_source[src] * real).sum(dim=1, keepdim=True) / real.sum(dim=1, keepdim=True).clamp(min=1)
        return self.table[tgt_in] + source

    def __repr__(self) -> str:
        return f"a model with {self.vocab_size} tokens"


def positions(answer: object) -> list[list[int]] | str:
    """Groups of positions as plain lists, or a sentence that says what the answer is instead."""
    if isinstance(answer, Tensor) or hasattr(answer, "tolist"):
        answer = answer.tolist()
    if not isinstance(answer, Sequence) or isinstance(answer, str):
        return f"no list of lists of numbers, but {type(answer).__name__}"
    groups = [group.tolist() if hasattr(group, "tolist") else group for group in answer]
    if not all(isinstance(group, Sequence) and not isinstance(group, str) for group in groups):
        return "no list of lists of numbers"
    if not all(isinstance(i, Integral) and not isinstance(i, bool) for group in groups for i in group):
        return "something in the lists is no whole number"
    return [[int(i) for i in group] for group in groups]


def complete(groups: list[list[int]], n: int) -> str:
    """What is wrong with the positions 0 … n − 1 in these groups, or nothing."""
    found = sorted(i for group in groups for i in group)
    if len(set(found)) < len(found):
        return "some sentence stands there twice"
    if not set(found) <= set(range(n)):
        return f"some number does not lie between 0 and {n - 1}"
    return "" if len(found) == n else "some sentences are missing"


def as_lengths(obj: Callable, given: Case) -> object:
    """Groups of positions as the lengths in each group: any order of equally long sentences, and of groups, is right.

    >>> as_lengths(lambda lengths, max_tokens: [[1], [2, 0]], Case(([3, 9, 3], 9)))
    '3 3 | 9'
    """
    lengths = list(given.args[0])  # before the answer may change them
    made = obj(*given.args)
    if made is None or made is ... or isinstance(made, str):
        return made
    groups = positions(list(made) if hasattr(made, "__next__") else made)
    if isinstance(groups, str):
        return groups
    by_length = [sorted(lengths[i] for i in group) for group in groups if all(0 <= i < len(lengths) for i in group)]
    shown = " | ".join(" ".join(map(str, group)) for group in sorted(by_length))
    problem = complete(groups, len(lengths))
    if not problem and not all(groups):
        problem = "an empty group"
    return f"{shown} ({problem})" if problem else shown
