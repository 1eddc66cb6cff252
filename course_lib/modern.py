"""From 2017 to today: RMSNorm, rotary positions, SwiGLU, grouped-query attention."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_lib.attention import scaled_dot_product_attention
from course_lib.multi_head import merge_heads, split_heads
from course_lib.sizes import check_floating


class RMSNorm(nn.Module):
    """gain · x / √(mean of squares + eps): a layer norm without mean and bias.

    Half-precision numbers are normalized in single precision, lest their
    squares be too large. TypeError for whole numbers.
    Source: Zhang and Sennrich 2019, equation 4.

    >>> RMSNorm(2)(torch.tensor([1.0, 7.0]))    # their root mean square is 5
    tensor([0.2000, 1.4000], grad_fn=<MulBackward0>)
    """

    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(d_model))
        self.eps = eps

    def forward(self, x: Float[Tensor, "*shape d_model"]) -> Float[Tensor, "*shape d_model"]:
        check_floating(x=x)
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        normalized = wide * torch.rsqrt(wide.square().mean(dim=-1, keepdim=True) + self.eps)
        return self.gain * normalized.to(x.dtype)


def rotary_angles(
    positions: Int[Tensor, " seq_len"], d_k: int, base: float = 10000.0
) -> Float[Tensor, "seq_len half_d_k"]:
    """position / base^(2i / d_k) for pair i: how far a query or key is turned.

    Source: Su et al. 2021, section 3.2.2. Raises ValueError for an odd d_k, and
    for positions in a table.

    >>> rotary_angles(torch.tensor([0, 3]), d_k=4)
    tensor([[0.0000, 0.0000],
            [3.0000, 0.0300]])
    """
    if d_k % 2:
        raise ValueError(f"expected an even d_k, got {d_k}: RoPE turns pairs")
    if positions.dim() != 1:
        got = f"expected positions in one row, got {tuple(positions.shape)}"
        raise ValueError(f"{got}: all sentences share them, so take positions[0]")
    # bfloat16 cannot count beyond 256
    wide = torch.promote_types(torch.get_default_dtype(), torch.float32)
    return positions[:, None] * base ** (-torch.arange(0, d_k, 2, device=positions.device, dtype=wide) / d_k)


def rotate(
    x: Float[Tensor, "*batch seq_len d_k"], angles: Float[Tensor, "*#batch seq_len half_d_k"], layout: str = "half"
) -> Float[Tensor, "*batch seq_len d_k"]:
    """Turn every pair of features by its angle.

    Then query · key depends on the *distance* of their positions alone. Which
    features form pair i: (2i, 2i + 1) in the "interleaved" layout of the paper,
    (i, i + d_k / 2) in the "half" layout of Hugging Face's Llama.
    Weights trained with one layout are wrong with the other. Rotate queries
    and keys, never values. TypeError for whole numbers, ValueError unless each
    pair of each token has an angle.

    >>> x = torch.tensor([[1.0, 2.0, 3.0, 4.0]])
    >>> quarter_turn = torch.full((1, 2), torch.pi / 2)
    >>> rotate(x, quarter_turn, layout="interleaved").round()
    tensor([[-2.,  1., -4.,  3.]])
    >>> rotate(x, quarter_turn, layout="half").round()
    tensor([[-3., -4.,  1.,  2.]])
    """
    if layout not in ("interleaved", "half"):
        known = "'interleaved' or 'half'"
        raise ValueError(f"expected layout {known}, got {layout!r}: take the weights' own")
    check_floating(x=x)
    if x.shape[-2:] != (angles.shape[-2], 2 * angles.shape[-1]):
        wanted = "expected an angle for each token and pair"
        got = f"got {tuple(angles.shape)} for x {tuple(x.shape)}"
        raise ValueError(f"{wanted}, {got}: see rotary_angles")
    cos, sin = angles.cos().to(x), angles.sin().to(x)
    if layout == "interleaved":
        first, second = x[..., 0::2], x[..., 1::2]
    else:
        first, second = x.chunk(2, dim=-1)
    pairs = (first * cos - second * sin, first * sin + second * cos)
    return torch.stack(pairs, dim=-1).flatten(-2) if layout == "interleaved" else torch.cat(pairs, dim=-1)


class SwiGLU(nn.Module):
    """W_2 (silu(W_1 x) ⊙ W_3 x): hidden features that are gated by others.

    Three matrices instead of two: with d_ff times 2/3 it has as many
    parameters. Source: Shazeer 2020, equation 6.

    >>> SwiGLU(d_model=4, d_ff=8)(torch.randn(1, 3, 4)).shape
    torch.Size([1, 3, 4])
    """

    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.w_1 = nn.Linear(d_model, d_ff, bias=False)
        self.w_2 = nn.Linear(d_ff, d_model, bias=False)
        self.w_3 = nn.Linear(d_model, d_ff, bias=False)

    def forward(self, x: Float[Tensor, "*shape d_model"]) -> Float[Tensor, "*shape d_model"]:
        return self.w_2(nn.functional.silu(self.w_1(x)) * self.w_3(x))


class GroupedQueryAttention(nn.Module):
    """Multi-head attention whose neighboring query heads share keys and values.

    n_kv_heads = n_heads is multi-head attention, 1 is multi-query attention;
    the cache shrinks by the ratio. `angles` (see `rotary_angles`) turn queries
    and keys. `cache` holds keys and values of earlier tokens; the third result
    is the cache with the new ones behind. A head is `d_k` features wide,
    d_model / n_heads when it is None.
    Source: Ainslie et al. 2023; Shazeer 2019 for n_kv_heads = 1.

    >>> attention = GroupedQueryAttention(8, n_heads=4, n_kv_heads=2)
    >>> output, weights, (key, value) = attention(torch.randn(1, 5, 8))
    >>> weights.shape, key.shape
    (torch.Size([1, 4, 5, 5]), torch.Size([1, 2, 5, 2]))
    """

    def __init__(self, d_model: int, n_heads: int, n_kv_heads: int, layout: str = "half", d_k: int | None = None):
        super().__init__()
        if min(n_heads, n_kv_heads) < 1 or (d_k is None and d_model % n_heads) or n_heads % n_kv_heads:
            raise ValueError(
                "expected d_model divisible by n_heads and n_heads by "
                f"n_kv_heads, got {d_model}, {n_heads} and {n_kv_heads}: every "
                "key-value head serves n_heads / n_kv_heads query heads, and a "
                "head is d_model / n_heads features wide unless you give d_k"
            )
        d_k = d_k or d_model // n_heads
        self.n_heads, self.n_kv_heads, self.layout = n_heads, n_kv_heads, layout
        self.w_q = nn.Linear(d_model, n_heads * d_k, bias=False)
        self.w_k = nn.Linear(d_model, n_kv_heads * d_k, bias=False)
        self.w_v = nn.Linear(d_model, n_kv_heads * d_k, bias=False)
        self.w_o = nn.Linear(n_heads * d_k, d_model, bias=False)

    def forward(
        self,
        x: Float[Tensor, "batch seq_len d_model"],
        mask: Bool[Tensor, "..."] | None = None,
        angles: Float[Tensor, "... seq_len half_d_k"] | None = None,
        cache: tuple[Tensor, Tensor] | None = None,
    ) -> tuple[
        Float[Tensor, "batch seq_len d_model"], Float[Tensor, "batch n_heads seq_len k_len"], tuple[Tensor, Tensor]
    ]:
        query = split_heads(self.w_q(x), self.n_heads)
        key = split_heads(self.w_k(x), self.n_kv_heads)
        value = split_heads(self.w_v(x), self.n_kv_heads)
        if angles is not None:
            query, key = rotate(query, angles, self.layout), rotate(key, angles, self.layout)
        if cache is not None:
            key, value = torch.cat([cache[0], key], dim=2), torch.cat([cache[1], value], dim=2)
        group = self.n_heads // self.n_kv_heads
        shared = key.repeat_interleave(group, dim=1), value.repeat_interleave(group, dim=1)
        output, weights = scaled_dot_product_attention(query, *shared, mask)
        return self.w_o(merge_heads(output)), weights, (key, value)
