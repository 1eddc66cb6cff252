"""Multi-head attention: several questions at once."""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from course_lib.attention import scaled_dot_product_attention


def split_heads(
    x: Float[Tensor, "batch seq_len d_model"],
    n_heads: int,
) -> Float[Tensor, "batch n_heads seq_len d_k"]:
    """Cut the last axis into n_heads slices; put the heads before the tokens.

    A slice is d_k = d_model / n_heads features wide. ValueError when that is no
    whole number, or x has another number of axes.

    >>> import torch
    >>> x = torch.arange(8.0).view(1, 2, 4)
    >>> split_heads(x, n_heads=2)[0, 0]    # head 0: two features of each token
    tensor([[0., 1.],
            [4., 5.]])
    """
    if x.dim() != 3:
        got = f"expected (batch, seq_len, d_model), got {tuple(x.shape)}"
        raise ValueError(f"{got}: x[None] is a batch of one sequence")
    batch, seq_len, d_model = x.shape
    if n_heads < 1 or d_model % n_heads:
        raise ValueError(
            f"expected a last axis divisible by n_heads={n_heads}, "
            f"got {d_model} features: choose another number of heads"
        )
    return x.view(batch, seq_len, n_heads, d_model // n_heads).transpose(1, 2)


def merge_heads(
    x: Float[Tensor, "batch n_heads seq_len d_v"],
) -> Float[Tensor, "batch seq_len d_model"]:
    """Undo `split_heads`: lay the heads side by side again, head 0 first.

    >>> import torch
    >>> x = torch.randn(2, 3, 8)
    >>> torch.equal(merge_heads(split_heads(x, n_heads=4)), x)
    True
    """
    return x.transpose(1, 2).flatten(start_dim=2)


class MultiHeadAttention(nn.Module):
    """Several heads of attention side by side, mixed by W_O.

    Concat(head_1 … head_h) W_O, head_i = Attention(Q W_Q^i, K W_K^i, V W_V^i);
    `w_q`, `w_k`, `w_v` hold the projections of all heads side by side.
    Self-attention passes one tensor three times; cross-attention passes the
    target as `query` and the memory as `key` and `value`. `mask` is boolean
    (True = may attend) and broadcasts to (batch, n_heads, q_len, k_len).
    ValueError when d_model is no multiple of n_heads.
    Source: Vaswani et al. 2017, section 3.2.2 (there without biases).

    >>> import torch
    >>> attention = MultiHeadAttention(d_model=8, n_heads=2)
    >>> x = torch.randn(1, 5, 8)
    >>> output, weights = attention(x, x, x)
    >>> output.shape, weights.shape
    (torch.Size([1, 5, 8]), torch.Size([1, 2, 5, 5]))
    """

    def __init__(self, d_model: int, n_heads: int, bias: bool = True):
        super().__init__()
        if n_heads < 1 or d_model % n_heads:
            raise ValueError(
                "expected d_model divisible by n_heads, "
                f"got d_model={d_model} and n_heads={n_heads}: "
                "every head takes d_model / n_heads features"
            )
        self.n_heads = n_heads
        self.w_q = nn.Linear(d_model, d_model, bias)
        self.w_k = nn.Linear(d_model, d_model, bias)
        self.w_v = nn.Linear(d_model, d_model, bias)
        self.w_o = nn.Linear(d_model, d_model, bias)

    def forward(
        self,
        query: Float[Tensor, "batch q_len d_model"],
        key: Float[Tensor, "batch k_len d_model"],
        value: Float[Tensor, "batch k_len d_model"],
        mask: Bool[Tensor, "..."] | None = None,
    ) -> tuple[Float[Tensor, "batch q_len d_model"], Float[Tensor, "batch n_heads q_len k_len"]]:
        q = split_heads(self.w_q(query), self.n_heads)
        k = split_heads(self.w_k(key), self.n_heads)
        v = split_heads(self.w_v(value), self.n_heads)
        if not len(q) == len(k) == len(v):
            raise ValueError(
                "expected query, key, and value of one batch, got "
                f"{len(q)}, {len(k)}, and {len(v)}: sentence i of one belongs "
                "to sentence i of the others"
            )
        heads, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.w_o(merge_heads(heads)), weights
