"""Numbers that a caller chose, refused in one form where nothing can be made with them."""

from torch import Tensor


def check_whole(least: int = 1, **numbers: object) -> None:
    """Refuse what counts nothing: a fraction, NaN, or less than `least`.

    >>> check_whole(beam_size=0)
    Traceback (most recent call last):
    ValueError: expected beam_size as a whole number of at least 1, got 0: it counts
    """
    for name, number in numbers.items():
        if not (hasattr(number, "__index__") and number >= least):
            raise ValueError(f"expected {name} as a whole number of at least {least}, got {number!r}: it counts")


def check_between(least: float, most: float, **numbers: object) -> None:
    """Refuse a number outside these bounds, NaN, and what is no number.

    >>> check_between(0, 1, dropout=float("nan"))
    Traceback (most recent call last):
    ValueError: expected dropout from 0 to 1, got nan: choose another
    """
    for name, number in numbers.items():
        if not (hasattr(number, "__float__") and least <= number <= most):
            raise ValueError(f"expected {name} from {least} to {most}, got {number!r}: choose another")


def check_floating(**tensors: Tensor) -> None:
    """Refuse whole numbers and truth values: a result in their type would lose its fractions.

    >>> import torch
    >>> check_floating(x=torch.tensor([1, 2]))
    Traceback (most recent call last):
    TypeError: expected x in floating-point numbers, got torch.int64: write x.float()
    """
    for name, tensor in tensors.items():
        if not tensor.is_floating_point():
            raise TypeError(f"expected {name} in floating-point numbers, got {tensor.dtype}: write {name}.float()")


def check_targets(targets: Tensor, vocab_size: int) -> None:
    """Refuse ids outside the vocabulary, such as the −100 by which other libraries leave a target out.

    >>> import torch
    >>> check_targets(torch.tensor([[7, -100]]), vocab_size=11)
    Traceback (most recent call last):
    ValueError: expected targets from 0 to vocab_size - 1 = 10, got -100: PAD = 0 says that there is none
    """
    outside = targets[(targets < 0) | (targets >= vocab_size)]
    if len(outside):
        known = f"targets from 0 to vocab_size - 1 = {vocab_size - 1}"
        raise ValueError(f"expected {known}, got {outside[0]}: PAD = 0 says that there is none")
