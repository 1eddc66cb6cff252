"""The decoder: it writes the target while it looks at the source."""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from course_lib.encoder import FeedForward
from course_lib.layer_norm import LayerNorm, Residual
from course_lib.multi_head import MultiHeadAttention


class DecoderLayer(nn.Module):
    """Masked self-attention, cross-attention, feed-forward.

    `tgt_mask` (causal, and pads as keys) is for the self-attention; `src_mask`
    hides the source's pads from the cross-attention, whose queries come from
    the target, keys and values from `memory`, the encoder's output.
    Source: Vaswani et al. 2017, section 3.1.

    >>> import torch
    >>> layer = DecoderLayer(d_model=4, n_heads=2, d_ff=16)
    >>> x, memory = torch.randn(1, 5, 4), torch.randn(1, 3, 4)
    >>> layer(x, memory).shape
    torch.Size([1, 5, 4])
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_ff: int,
        dropout: float = 0.1,
        norm_first: bool = False,
        activation: str = "relu",
    ):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff, activation)
        self.residuals = nn.ModuleList(Residual(d_model, dropout, norm_first) for _ in range(3))

    def forward(
        self,
        x: Float[Tensor, "batch tgt_len d_model"],
        memory: Float[Tensor, "batch src_len d_model"],
        tgt_mask: Bool[Tensor, "..."] | None = None,
        src_mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "batch tgt_len d_model"]:
        x = self.residuals[0](x, lambda y: self.self_attention(y, y, y, tgt_mask)[0])
        x = self.residuals[1](x, lambda y: self.cross_attention(y, memory, memory, src_mask)[0])
        return self.residuals[2](x, self.feed_forward)


class Decoder(nn.Module):
    """`n_layers` decoder layers, each with weights of its own.

    A pre-norm stack ends with one more norm. The other arguments are those of
    `DecoderLayer`.

    >>> import torch
    >>> decoder = Decoder(n_layers=2, d_model=4, n_heads=2, d_ff=16)
    >>> x, memory = torch.randn(1, 5, 4), torch.randn(1, 3, 4)
    >>> decoder(x, memory).shape
    torch.Size([1, 5, 4])
    """

    def __init__(
        self,
        n_layers: int,
        d_model: int,
        n_heads: int,
        d_ff: int,
        dropout: float = 0.1,
        norm_first: bool = False,
        activation: str = "relu",
    ):
        super().__init__()
        self.layers = nn.ModuleList(
            DecoderLayer(d_model, n_heads, d_ff, dropout, norm_first, activation) for _ in range(n_layers)
        )
        self.norm = LayerNorm(d_model) if norm_first else nn.Identity()

    def forward(
        self,
        x: Float[Tensor, "batch tgt_len d_model"],
        memory: Float[Tensor, "batch src_len d_model"],
        tgt_mask: Bool[Tensor, "..."] | None = None,
        src_mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "batch tgt_len d_model"]:
        for layer in self.layers:
            x = layer(x, memory, tgt_mask, src_mask)
        return self.norm(x)
