"""Compare an answer with what was expected, and say the difference in a plain sentence."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from torch import Tensor

from course_practice.engine.values import plain, safe_text, shared

# How far apart two right answers may be where such numbers are expected: (relative, absolute).
_COARSE = {torch.float16: (1e-2, 1e-3), torch.bfloat16: (5e-2, 1e-2)}
_DIGITS = {torch.float16: "three", torch.bfloat16: "two"}


@dataclass(frozen=True)
class Difference:
    """Why an answer is not the expected one: a slug, and a sentence that says expected, then got."""

    kind: str
    sentence: str


def difference(expected: Any, got: Any, rtol: float, atol: float) -> Difference | None:
    """None where the answer is right: same values in the same shape, whatever its container, in a type as fine.

    A tensor may be answered with an array or nested lists, a pair with a list of two, booleans with 0 and 1. How near
    is near enough depends on the type of what is expected, never on that of the answer.

    >>> wrong = (1.03 * torch.ones(2)).bfloat16()
    >>> difference(torch.ones(2), wrong, 1e-4, 1e-5).kind, difference(torch.ones(2).bfloat16(), wrong, 1e-4, 1e-5)
    ('coarser', None)
    """
    if got is None and expected is None:  # a mistake's answer, compared with the learner's
        return None
    if got is None:
        return Difference("returned-none", "It returned None: is a `return` missing?")
    if isinstance(expected, tuple):
        return _tuple_difference(expected, got, rtol, atol)
    if isinstance(expected, str):
        same = isinstance(got, str) and expected == got
        return None if same else Difference("wrong-values", f"Expected {expected!r}, got {brief(got)}.")
    want, have = as_tensor(expected), as_tensor(got)
    if isinstance(got, tuple) and (want is None or have is None or have.shape != want.shape):
        return Difference("wrong-type", f"Expected {_kind_of(want)}, got a tuple of {len(got)}.")
    if want is None or have is None:
        return Difference("wrong-type", f"Expected {_kind_of(want)}, got {brief(got)}.")
    if have.shape != want.shape:
        return Difference("wrong-shape", f"Expected the shape {tuple(want.shape)}, got {tuple(have.shape)}.")
    if have.is_complex():
        return Difference("wrong-type", f"Expected {_kind_of(want)}, got complex numbers ({have.dtype}).")
    rtol, atol = max((rtol, atol), _COARSE.get(want.dtype, (0.0, 0.0)))
    want_wide, have_wide = want.double(), have.double()
    if torch.allclose(want_wide, have_wide, rtol=rtol, atol=atol, equal_nan=True):
        return None
    if _is_coarser(have.dtype, want.dtype):
        return Difference(
            "coarser",
            f"Expected {want.dtype}, got {have.dtype}, which keeps {_DIGITS[have.dtype]} digits: leave the conversion "
            "out, or give new tensors the type of the input (`dtype=x.dtype`).",
        )
    if not have_wide.isfinite().all() and want_wide.isfinite().all():
        what = "NaN" if have.isnan().any() else "infinity"
        return Difference("not-finite", f"The answer contains {what}; every expected value is finite.")
    if want.is_floating_point() and not have.is_floating_point():
        return Difference("wrong-type", f"Expected floating-point numbers, got {have.dtype}: fractions are lost.")
    if want.dtype == torch.bool and not ((have == 0) | (have == 1)).all():
        return Difference("wrong-type", f"Expected booleans, got other numbers ({have.dtype}).")
    single = want.dim() == 0
    return Difference(
        "wrong-values", "The value is not right." if single else "The shape is right, the values are not."
    )


def _is_coarser(dtype: torch.dtype, expected: torch.dtype) -> bool:
    """Has a half precision fewer digits than the floating-point type that is expected?"""
    halves = dtype in _COARSE and expected.is_floating_point
    return halves and torch.finfo(dtype).eps > torch.finfo(expected).eps


def _tuple_difference(expected: tuple, got: Any, rtol: float, atol: float) -> Difference | None:
    if not isinstance(got, tuple | list) or len(got) != len(expected):
        count = len(got) if isinstance(got, tuple | list) else 1
        return Difference("wrong-type", f"Expected {len(expected)} results, in this order; got {count}.")
    found = {}
    for number, (want, have) in enumerate(zip(expected, got, strict=True), start=1):
        if (have is None) != (want is None):
            return Difference("returned-none", f"Result {number} of {len(expected)} is None.")
        if wrong := difference(want, have, rtol, atol):
            found[number] = wrong
    if not found:
        return None
    first = next(iter(found.values()))
    numbers = [str(number) for number, wrong in found.items() if wrong == first]
    which = f"Result {numbers[0]}" if len(numbers) == 1 else f"Results {', '.join(numbers[:-1])} and {numbers[-1]}"
    return Difference(first.kind, f"{which} of {len(expected)}: {first.sentence}")


def as_tensor(value: Any) -> Tensor | None:
    """A detached CPU tensor of anything that holds numbers, or None."""
    try:
        return _as_tensor(plain(value))
    except Exception:  # numbers out of range
        return None


def _as_tensor(value: Any) -> Tensor | None:
    if isinstance(value, Tensor):
        return value
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biufc":
        return shared(value)
    if isinstance(value, Fraction):
        value = float(value)
    if isinstance(value, bool | int | float):
        return torch.tensor(value, dtype=torch.float64 if isinstance(value, float) else None)
    if isinstance(value, list | tuple) and value:
        parts = [_as_tensor(part) for part in value]
        if all(part is not None and part.shape == parts[0].shape for part in parts):
            kinds = {part.dtype for part in parts}  # [0, 0.5] is a list of floats
            return torch.stack(parts) if len(kinds) == 1 or kinds == {torch.int64, torch.float64} else None
    return None


def pattern(expected: Any, got: Any, inputs: list[Any]) -> Difference | None:
    """A mistake recognizable in any exercise: an input handed back, a transpose, a constant, a factor."""
    if isinstance(expected, tuple) and isinstance(got, tuple | list) and len(expected) == len(got):
        wrong = [n for n, (e, g) in enumerate(zip(expected, got, strict=True)) if difference(e, g, 1e-4, 1e-5)]
        found = [pattern(expected[n], got[n], inputs) for n in wrong]
        if len(set(found)) != 1:
            return None
        if found[0] is None or len(wrong) == len(got):
            return found[0]
        which = f"Result{'s' * (len(wrong) > 1)} {' and '.join(str(n + 1) for n in wrong)} of {len(got)}"
        return Difference(found[0].kind, f"{which}: {found[0].sentence}")
    want, have = as_tensor(expected), as_tensor(got)
    if want is None or have is None or want.dim() == 0 or have.is_complex():
        return None
    alike = [i for x in inputs if (i := as_tensor(x)) is not None and i.shape == have.shape]
    if have.numel() > 1 and any(torch.equal(i, have) for i in alike):
        return Difference("returns-input", "You hand back an input unchanged.")
    want, have = want.double(), have.double()
    if have.dim() >= 2 and have.transpose(-2, -1).shape == want.shape and _close(have.transpose(-2, -1), want):
        return Difference("transposed", "Your result is the expected one with its last two axes swapped.")
    if have.shape != want.shape or not have.isfinite().all():
        return None
    if have.numel() > 1 and (have == have.flatten()[0]).all():
        return Difference("constant", f"Every value of your result is {have.flatten()[0].item():g}.")
    factor = (have * want).sum() / (want * want).sum()
    if factor.isfinite() and factor.abs() > 1e-6 and _close(have, factor * want):
        return Difference("scaled", f"Your result is the expected one times {factor.item():.4g}.")
    return None


def _close(a: Tensor, b: Tensor) -> bool:
    return torch.allclose(a, b, rtol=1e-4, atol=1e-5)


def other_numbers(a: Any, b: Any) -> bool:
    """Are these numbers, and not the same ones? The last digit may differ: it depends on where in memory they lie."""
    pairs = zip(a, b, strict=False) if isinstance(a, tuple) and isinstance(b, tuple) else [(a, b)]
    numbers = [(as_tensor(x), as_tensor(y)) for x, y in pairs]
    return any(x is not None and y is not None and difference(x, y, 1e-4, 1e-5) for x, y in numbers)


def is_zero_one(expected: Any, got: Any) -> bool:
    """Were booleans expected, and are these other numbers?"""
    if isinstance(expected, tuple) and isinstance(got, tuple | list):
        return any(map(is_zero_one, expected, got))
    want, have = as_tensor(expected), as_tensor(got)
    return want is not None and have is not None and want.dtype == torch.bool and have.dtype != torch.bool


def is_not_a_tensor(expected: Any, got: Any) -> bool:
    """Was a tensor expected, and is this a list or an array that holds the same?"""
    if isinstance(expected, tuple) and isinstance(got, tuple | list):
        return any(map(is_not_a_tensor, expected, got))
    return isinstance(expected, torch.Tensor) and expected.dim() > 0 and not isinstance(got, torch.Tensor)


def is_a_list_of_tensors(expected: Any, got: Any) -> bool:
    """Was a tensor expected, and is this a list whose items are tensors, so that `torch.tensor` refuses it?"""
    if isinstance(expected, tuple) and isinstance(got, tuple | list):
        return any(map(is_a_list_of_tensors, expected, got))
    is_a_list = is_not_a_tensor(expected, got) and isinstance(got, tuple | list)
    return is_a_list and any(isinstance(item, torch.Tensor) for item in got)


def brief(value: Any, limit: int = 400) -> str:
    """A value as a reader wants to see it: a tensor rounded to four digits, anything else by its own name."""
    value = plain(value)
    if isinstance(value, tuple | list) and any(isinstance(v, Tensor) for v in value):
        return "\n".join(f"({number}) {brief(v, limit // len(value))}" for number, v in enumerate(value, start=1))
    if isinstance(value, Tensor):
        with torch._tensor_str.printoptions(precision=4, threshold=60, edgeitems=2, sci_mode=False):
            text = str(value).removeprefix("tensor(").removesuffix(")")
        text = "\n".join(line.removeprefix("       ") for line in text.splitlines())
    else:
        text = safe_text(repr, value)
    return text if len(text) <= limit else f"{text[:limit]} …"


def _kind_of(want: Tensor | None) -> str:
    if want is None:
        return "something else"
    kind = "booleans" if want.dtype == torch.bool else "numbers"
    return f"a tensor of {kind} of shape {tuple(want.shape)}" if want.dim() else f"one {kind[:-1]}"


def first_lines(text: str, count: int = 10) -> str:
    """The beginning of a text.

    >>> first_lines("one\\ntwo", count=1)
    'one\\n…'
    """
    lines = text.splitlines()
    return "\n".join(lines[:count] + ["…"] * (len(lines) > count))
