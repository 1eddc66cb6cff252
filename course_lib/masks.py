"""Masks: what a token may see. Boolean everywhere, True = may attend."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from course_lib.tokens import PAD


def padding_mask(ids: Int[Tensor, "batch k_len"], pad_id: int = PAD) -> Bool[Tensor, "batch 1 1 k_len"]:
    """True at every real token, False at every pad.

    Pads are hidden as *keys*; the two axes of size 1 are heads and queries.

    >>> padding_mask(torch.tensor([[5, 6, 0]]))
    tensor([[[[ True,  True, False]]]])
    """
    return (ids != pad_id)[:, None, None, :]


def causal_mask(n: int, device: torch.device | str | None = None) -> Bool[Tensor, "n n"]:
    """True where query i (row) may attend to key j (column): j <= i.

    Source: Vaswani et al. 2017, section 3.2.3.

    >>> causal_mask(3).int()
    tensor([[1, 0, 0],
            [1, 1, 0],
            [1, 1, 1]], dtype=torch.int32)
    """
    return torch.ones(n, n, dtype=torch.bool, device=device).tril()


def check_mask(mask: Tensor, shape: Sequence[int]) -> None:
    """Refuse a mask that is not boolean, or does not broadcast to the `shape` of the scores.

    >>> check_mask(torch.tensor([[True, True, False]] * 2), shape=(2, 8, 5, 3))
    Traceback (most recent call last):
    ValueError: expected a mask that broadcasts to (2, 8, 5, 3), got (2, 3): write mask[:, None, None] if it hides pads
    """
    if mask.dtype != torch.bool:
        raise TypeError(
            f"expected a boolean mask, True = may attend, got {mask.dtype}: "
            "write mask.bool() for zeros and ones, mask == 0 for a mask of 0 and -inf"
        )
    fits = all(size in (wanted, 1) for size, wanted in zip(mask.shape[::-1], shape[::-1], strict=False))
    if not fits or mask.dim() > len(shape):
        of_pads = len(shape) > 2 and mask.shape == (shape[0], shape[-1])
        lacks_heads = len(shape) == 4 and mask.dim() == 3 and len(mask) == shape[0]
        if of_pads:
            advice = f"write mask[:{', None' * (len(shape) - 2)}] if it hides pads"
        else:
            advice = "write mask[:, None], the same for all heads" if lacks_heads else "cut it"
        raise ValueError(f"expected a mask that broadcasts to {tuple(shape)}, got {tuple(mask.shape)}: {advice}")


def masked_softmax(
    scores: Float[Tensor, "*batch q_len k_len"], mask: Bool[Tensor, "..."] | None = None
) -> Float[Tensor, "*batch q_len k_len"]:
    """Softmax over the keys (last axis) that the mask lets through.

    A row with nothing to see is all zeros. `mask` has any shape that broadcasts
    to that of `scores` (two axes are queries and keys), else ValueError;
    TypeError when it is not boolean.

    >>> scores = torch.tensor([[0.0, 0.0, 9.0]])
    >>> masked_softmax(scores, torch.tensor([True, True, False]))
    tensor([[0.5000, 0.5000, 0.0000]])
    """
    if mask is None:
        return scores.softmax(dim=-1)
    check_mask(mask, scores.shape)
    # A row of nothing but -inf would be NaN: an empty row keeps its scores.
    hidden = ~mask & mask.any(dim=-1, keepdim=True)
    weights = scores.masked_fill(hidden, -torch.inf).softmax(dim=-1)
    return weights.masked_fill(~mask, 0.0)
