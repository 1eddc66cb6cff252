"""Scaled dot-product attention: a soft dictionary."""

import math

from jaxtyping import Bool, Float
from torch import Tensor

from course_lib.masks import masked_softmax


def scaled_dot_product_attention(
    query: Float[Tensor, "*batch q_len d_k"],
    key: Float[Tensor, "*batch k_len d_k"],
    value: Float[Tensor, "*batch k_len d_v"],
    mask: Bool[Tensor, "..."] | None = None,
) -> tuple[Float[Tensor, "*batch q_len d_v"], Float[Tensor, "*batch q_len k_len"]]:
    """softmax(Q Kᵀ / √d_k) V, each query's weighted mean, and the weights.

    `mask` is boolean, True = may attend, of any shape that broadcasts to
    (*batch, q_len, k_len). ValueError when query and key differ in width, or
    key and value in number.
    Source: Vaswani et al. 2017, section 3.2.1, equation 1.

    >>> import torch
    >>> key, value = torch.eye(2), torch.tensor([[10.0], [20.0]])
    >>> query = torch.tensor([[0.0, 0.0]])
    >>> scaled_dot_product_attention(query, key, value)
    (tensor([[15.]]), tensor([[0.5000, 0.5000]]))
    """
    d_k = query.shape[-1]
    if key.shape[-1] != d_k:
        raise ValueError(
            f"expected keys of width d_k = {d_k}, got {key.shape[-1]}: "
            "project queries and keys to one width with two learned matrices"
        )
    if value.shape[-2] != key.shape[-2]:
        raise ValueError(
            f"expected one value for each of the {key.shape[-2]} keys, "
            f"got {value.shape[-2]}: make keys and values from the same tokens"
        )
    # Divided before the product: plain scores may be too large for float16.
    scores = (query / math.sqrt(d_k)) @ key.transpose(-2, -1)
    weights = masked_softmax(scores, mask)
    return weights @ value, weights
