"""Weights and tokens as the figures take them: tensors, arrays or lists in, checked arrays out."""

from collections.abc import Sequence

import numpy as np


def as_array(values, name: str, minus_infinity: bool = False) -> np.ndarray:
    """A detached float64 copy of a tensor (any device, dtype, graph), an array or a list.

    NaN and infinity are refused; `minus_infinity`, the score of a hidden key, is let through where asked for.
    """
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = (values.double() if values.dtype.is_floating_point else values).numpy()
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"expected {name}: a tensor, an array or nested lists of numbers with rows of equal length, "
            f"got {type(values).__name__} ({error}). Convert it with torch.tensor first."
        ) from None
    if not (np.isfinite(array) | (minus_infinity & np.isneginf(array))).all():
        bad = "NaN" if np.isnan(array).any() else "infinite values"
        raise ValueError(
            f"expected {name}: finite numbers, got {bad}. "
            "Attention weights become NaN where a softmax sees a row of -inf only: use masked_softmax."
        )
    return array


def as_tokens(tokens: Sequence, length: int, name: str) -> list[str]:
    """One label per position."""
    if isinstance(tokens, str):
        raise TypeError(f"expected {name}: a list of tokens, got the string {tokens!r}. Split it: {name}=text.split().")
    labels = [str(token) for token in tokens]
    if len(labels) != length:
        raise ValueError(
            f"expected {name}: {length} tokens, one per position of the weights, got {len(labels)}. "
            "Rows of the weights are queries, columns are keys."
        )
    return labels


def as_allowed(mask, shape: tuple[int, ...]) -> np.ndarray:
    """The mask (True = may attend) as a boolean array of `shape`; leading axes of length 1 may be left over."""
    if mask is None:
        return np.ones(shape, dtype=bool)
    allowed = as_array(mask, "mask") != 0
    while allowed.ndim > len(shape) and allowed.shape[0] == 1:
        allowed = allowed[0]
    try:
        return np.broadcast_to(allowed, shape)
    except ValueError:
        raise ValueError(
            f"expected mask: a shape that broadcasts to {tuple(shape)}, got {allowed.shape}. "
            "Rows are queries, columns are keys, True = may attend."
        ) from None
