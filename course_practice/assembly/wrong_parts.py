"""Wrong parts to put into the right machine: what do training and the probes say of each?

>>> with put_in(WRONG_PARTS["no padding masks"]):  # inside, the library's Transformer hides no pads
...     pass
"""

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from course_lib.attention import scaled_dot_product_attention
from course_lib.masks import masked_softmax
from course_lib.positional_encoding import sinusoidal_encoding


@contextmanager
def put_in(parts: dict[str, Any]) -> Iterator[None]:
    """Inside the block every name of `parts`, such as `course_lib.transformer.causal_mask`, is the object beside it.

    Behind the block, also after an error, each name is again what it was before. Python looks a name up in the module
    that *uses* it, so name it there: `course_lib.transformer.causal_mask`, not `course_lib.masks.causal_mask`.

    >>> from course_lib import transformer
    >>> with put_in({"course_lib.transformer.causal_mask": "mine"}):
    ...     transformer.causal_mask
    'mine'
    """
    before = []
    try:
        for place, part in parts.items():
            module, _, name = place.rpartition(".")
            owner = importlib.import_module(module)
            before.append((owner, name, getattr(owner, name)))
            setattr(owner, name, part)
        yield
    finally:
        for owner, name, part in reversed(before):
            setattr(owner, name, part)


def sines_alone(n_positions: int, d_model: int) -> Tensor:
    """The sine in both channels of a pair."""
    table = sinusoidal_encoding(n_positions, d_model)
    table[:, 1::2] = table[:, 0::2][:, : d_model // 2]
    return table


def norm_of_a_sample(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    """The variance divides by d_model − 1, and ε stands beside the root."""
    return gain * (x - x.mean(dim=-1, keepdim=True)) / (x.std(dim=-1, keepdim=True) + eps) + bias


def hides_nothing(ids: Tensor) -> Tensor:
    """A padding mask that lets all pads through."""
    return torch.ones(len(ids), 1, 1, ids.shape[1], dtype=torch.bool, device=ids.device)


def unscaled(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Attention without the division by √d_k."""
    weights = masked_softmax(query @ key.mT, mask)
    return weights @ value, weights


def scores_without_gradient(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The right numbers, but nothing that makes the queries and keys can learn."""
    return scaled_dot_product_attention(query.detach(), key.detach(), value, mask)


def cut_without_transpose(x: Tensor, n_heads: int) -> Tensor:
    """Heads of whole tokens: the shape is right."""
    return x.reshape(len(x), n_heads, x.shape[1], -1)


def merge_without_transpose(x: Tensor) -> Tensor:
    """The same on the way back."""
    return x.reshape(len(x), x.shape[2], -1)


def one_ahead(n: int, device: torch.device | None = None) -> Tensor:
    """A causal mask that shows the next token too."""
    return torch.ones(n, n, dtype=torch.bool, device=device).tril(1)


# What is wrong: where the machine looks the part up, and the wrong part.
WRONG_PARTS: dict[str, dict[str, Callable]] = {
    "norm: d − 1, ε outside": {"course_lib.layer_norm.layer_norm": norm_of_a_sample},
    "positions: sine twice": {"course_lib.positional_encoding.sinusoidal_encoding": sines_alone},
    "no padding masks": {"course_lib.transformer.padding_mask": hides_nothing},
    "no division by √d_k": {"course_lib.multi_head.scaled_dot_product_attention": unscaled},
    "scores without a gradient": {
        "course_lib.multi_head.scaled_dot_product_attention": scores_without_gradient,
    },
    "heads cut without transpose": {
        "course_lib.multi_head.split_heads": cut_without_transpose,
        "course_lib.multi_head.merge_heads": merge_without_transpose,
    },
    "causal mask one ahead": {"course_lib.transformer.causal_mask": one_ahead},
}
