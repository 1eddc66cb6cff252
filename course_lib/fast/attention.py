"""Attention without the weights: the same mixture of values from fused kernels, weights on request."""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from course_lib.attention import scaled_dot_product_attention
from course_lib.masks import check_mask
from course_lib.multi_head import MultiHeadAttention, merge_heads, split_heads

SHORT = 32
"""Up to this many keys, on a CPU, three plain matrix operations are faster than the fused kernel."""


def additive_mask(mask: Bool[Tensor, "..."], dtype: torch.dtype) -> Float[Tensor, "..."]:
    """0 where the mask is True, −∞ where it is False: to be added to scores.

    A row with nothing to see is left at 0: it gets some weights instead of NaN.

    >>> additive_mask(torch.tensor([[True, False], [False, False]]), torch.float16)
    tensor([[0., -inf],
            [0., 0.]], dtype=torch.float16)
    """
    hidden = ~mask & mask.any(dim=-1, keepdim=True)
    return torch.zeros_like(mask, dtype=dtype).masked_fill_(hidden, -torch.inf)


def four_axes(x: Tensor) -> Tensor:
    """With fewer than four axes, PyTorch's kernel for CPUs is passed over without a word.

    >>> four_axes(torch.zeros(3, 5, 8)).shape
    torch.Size([1, 3, 5, 8])
    """
    return x[(None,) * (4 - x.dim())]


def mix(
    query: Float[Tensor, "*batch q_len d_k"],
    key: Float[Tensor, "*batch k_len d_k"],
    value: Float[Tensor, "*batch k_len d_v"],
    bias: Float[Tensor, "..."] | None = None,
    causal: bool = False,
) -> Float[Tensor, "*batch q_len d_v"]:
    """softmax(Q Kᵀ / √d_k + bias) V. Short rows: plain operations; long rows: one kernel that never stores the weights.

    On a CPU, PyTorch has this kernel for up to two axes of batch and values as wide as the keys; else it stores them.
    `causal` lets query i see keys 0 … i and spares the fused kernel half its work; ValueError with a `bias`, or with
    another number of queries than keys.

    >>> mix(torch.zeros(1, 2, 4), torch.zeros(1, 2, 4), torch.tensor([[[1.0], [3.0]]]), causal=True)
    tensor([[[1.],
             [2.]]])
    """
    if causal:
        check_as_many(query, key)
    if causal and bias is not None:
        raise ValueError("expected causal=True without a bias, got both: write the causal mask into the bias")
    if bias is not None:
        bias = torch.atleast_2d(bias)
    # The fused kernel also adds up products in float32: the scores of float16 may be too large for itself.
    if key.device.type != "cpu" or key.shape[-2] > SHORT or key.dtype == torch.float16:
        if bias is not None:
            bias = four_axes(bias.to(query.dtype))
        mixed = F.scaled_dot_product_attention(*map(four_axes, (query, key, value)), bias, is_causal=causal)
        return mixed.reshape(*query.shape[:-1], value.shape[-1])
    # A column for each query: PyTorch's softmax is several times slower along a short last axis.
    scores = key @ (query * max(1, query.shape[-1]) ** -0.5).mT
    if causal:
        bias = additive_mask(scores.new_ones(scores.shape[-2:], dtype=torch.bool).tril(), scores.dtype)
    if bias is not None:
        scores = scores + bias.mT
    return scores.softmax(dim=-2).mT @ value


def check_as_many(query: Float[Tensor, "*batch q_len d_k"], key: Float[Tensor, "*batch k_len d_k"]) -> None:
    """Refuse a causal mask without rows of its own: which keys come before a query is open.

    >>> check_as_many(torch.zeros(1, 4), torch.zeros(3, 4))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: expected as many queries as keys with causal=True, got 1 and 3: pass the rows of the causal mask ...
    """
    if query.shape[-2] != key.shape[-2]:
        raise ValueError(
            f"expected as many queries as keys with causal=True, got {query.shape[-2]} and {key.shape[-2]}: "
            "pass the rows of the causal mask that belong to these queries as mask"
        )


def fused_attention(
    query: Float[Tensor, "*batch q_len d_k"],
    key: Float[Tensor, "*batch k_len d_k"],
    value: Float[Tensor, "*batch k_len d_v"],
    mask: Bool[Tensor, "..."] | None = None,
    causal: bool = False,
) -> Float[Tensor, "*batch q_len d_v"]:
    """The first result of `scaled_dot_product_attention`, in less time and memory.

    `mask` as there; a query with nothing to see gets zeros. `causal=True` stands for a causal mask, for as many
    queries as keys. Source: Dao et al. 2022 (the kernel).

    >>> q, k, v = torch.randn(3, 1, 2, 5, 4)
    >>> mask = torch.tensor([True, True, True, False, False])
    >>> torch.allclose(fused_attention(q, k, v, mask), scaled_dot_product_attention(q, k, v, mask)[0], atol=1e-6)
    True
    """
    if key.shape[-1] != query.shape[-1] or value.shape[-2] != key.shape[-2]:
        scaled_dot_product_attention(query, key, value)  # says what is wrong; a kernel would read behind the end
    if mask is not None:
        batch = torch.broadcast_shapes(query.shape[:-2], key.shape[:-2])
        check_mask(mask, (*batch, query.shape[-2], key.shape[-2]))
    if causal:
        check_as_many(query, key)
    if causal and mask is not None:
        mask, causal = mask & mask.new_ones(query.shape[-2], query.shape[-2]).tril(), False
    if mask is None:
        return mix(query, key, value, causal=causal)
    output = mix(query, key, value, additive_mask(mask, query.dtype))
    return output.masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)


class FusedMultiHeadAttention(MultiHeadAttention):
    """`MultiHeadAttention` with the same parameters and a fused kernel; instead of the weights comes None.

    >>> simple = MultiHeadAttention(d_model=8, n_heads=2)
    >>> fused = FusedMultiHeadAttention(d_model=8, n_heads=2)
    >>> _ = fused.load_state_dict(simple.state_dict())
    >>> x = torch.randn(1, 5, 8)
    >>> torch.allclose(fused(x, x, x)[0], simple(x, x, x)[0], atol=1e-6)
    True
    """

    def forward(
        self,
        query: Float[Tensor, "batch q_len d_model"],
        key: Float[Tensor, "batch k_len d_model"],
        value: Float[Tensor, "batch k_len d_model"],
        mask: Bool[Tensor, "..."] | None = None,
        causal: bool = False,
    ) -> tuple[Float[Tensor, "batch q_len d_model"], None]:
        projected = self.w_q(query), self.w_k(key), self.w_v(value)
        heads = fused_attention(*(split_heads(x, self.n_heads) for x in projected), mask, causal)
        return self.w_o(merge_heads(heads)), None
