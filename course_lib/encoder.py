"""The encoder: self-attention and a feed-forward network, in a residual stream, stacked."""

from functools import partial

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_lib.layer_norm import LayerNorm, Residual
from course_lib.masks import padding_mask
from course_lib.multi_head import MultiHeadAttention
from course_lib.sizes import check_floating
from course_lib.tokens import PAD

ACTIVATIONS = {
    "relu": nn.functional.relu,
    "gelu": nn.functional.gelu,
    # Those of weights from elsewhere: GPT-2's formula of GELU, and Marian's "swish".
    "gelu_tanh": partial(nn.functional.gelu, approximate="tanh"),
    "silu": nn.functional.silu,
}


class FeedForward(nn.Module):
    """W_2 activation(W_1 x + b_1) + b_2, for every token by itself.

    The paper's activation is "relu"; BERT and GPT use "gelu".
    Source: Vaswani et al. 2017, section 3.3, equation 2.

    >>> import torch
    >>> FeedForward(d_model=4, d_ff=16)(torch.randn(1, 3, 4)).shape
    torch.Size([1, 3, 4])
    """

    def __init__(self, d_model: int, d_ff: int, activation: str = "relu"):
        super().__init__()
        if activation not in ACTIVATIONS:
            got = f"expected activation 'relu' or 'gelu', got {activation!r}"
            raise ValueError(f"{got}: choose one of the two")
        self.w_1 = nn.Linear(d_model, d_ff)
        self.w_2 = nn.Linear(d_ff, d_model)
        self.activation = ACTIVATIONS[activation]

    def forward(self, x: Float[Tensor, "*shape d_model"]) -> Float[Tensor, "*shape d_model"]:
        return self.w_2(self.activation(self.w_1(x)))


class EncoderLayer(nn.Module):
    """Self-attention, where tokens exchange, then the feed-forward network.

    Each stands in a residual sum with a norm of its own. `mask` hides pads as
    keys: True = may attend. Source: Vaswani et al. 2017, section 3.1.

    >>> import torch
    >>> layer = EncoderLayer(d_model=4, n_heads=2, d_ff=16)
    >>> layer(torch.randn(1, 3, 4)).shape
    torch.Size([1, 3, 4])
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
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff, activation)
        self.residuals = nn.ModuleList(Residual(d_model, dropout, norm_first) for _ in range(2))

    def forward(
        self, x: Float[Tensor, "batch seq_len d_model"], mask: Bool[Tensor, "..."] | None = None
    ) -> Float[Tensor, "batch seq_len d_model"]:
        x = self.residuals[0](x, lambda y: self.attention(y, y, y, mask)[0])
        return self.residuals[1](x, self.feed_forward)


class Encoder(nn.Module):
    """`n_layers` encoder layers, each with weights of its own.

    A pre-norm stack ends with one more norm. The other arguments are those of
    `EncoderLayer`.

    >>> import torch
    >>> encoder = Encoder(n_layers=2, d_model=4, n_heads=2, d_ff=16)
    >>> encoder(torch.randn(1, 3, 4)).shape
    torch.Size([1, 3, 4])
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
            EncoderLayer(d_model, n_heads, d_ff, dropout, norm_first, activation) for _ in range(n_layers)
        )
        self.norm = LayerNorm(d_model) if norm_first else nn.Identity()

    def forward(
        self, x: Float[Tensor, "batch seq_len d_model"], mask: Bool[Tensor, "..."] | None = None
    ) -> Float[Tensor, "batch seq_len d_model"]:
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)


def masked_mean(
    hidden: Float[Tensor, "batch seq_len d_model"], real: Bool[Tensor, "batch seq_len"]
) -> Float[Tensor, "batch d_model"]:
    """The mean over the real tokens alone; a row without any gives zeros.

    >>> import torch
    >>> hidden = torch.tensor([[[2.0], [4.0], [99.0]]])
    >>> masked_mean(hidden, torch.tensor([[True, True, False]]))
    tensor([[3.]])
    """
    check_floating(hidden=hidden)
    # A sum of many numbers is too large for float16.
    wide = torch.promote_types(hidden.dtype, torch.float32)
    total = hidden.masked_fill(~real[..., None], 0.0).sum(dim=1, dtype=wide)
    return (total / real.sum(dim=1, keepdim=True).clamp(min=1)).to(hidden.dtype)


class Classifier(nn.Module):
    """One label for a whole sentence: embed, encode, pool, project.

    `pooling="cls"` reads the vector of the first real token (put a special one
    there, as BERT does with [CLS]); `pooling="mean"` averages the real tokens.
    Source: Devlin et al. 2019, section 3.

    >>> import torch
    >>> embedding = nn.Embedding(10, 4)  # no positions here
    >>> encoder = Encoder(n_layers=1, d_model=4, n_heads=2, d_ff=8)
    >>> model = Classifier(embedding, encoder, d_model=4, n_classes=3)
    >>> model(torch.tensor([[5, 6, 7], [5, 6, 0]])).shape
    torch.Size([2, 3])
    """

    def __init__(self, embedding: nn.Module, encoder: nn.Module, d_model: int, n_classes: int, pooling: str = "cls"):
        super().__init__()
        if pooling not in ("cls", "mean"):
            got = f"expected pooling 'cls' or 'mean', got {pooling!r}"
            raise ValueError(f"{got}: choose one of the two")
        self.embedding = embedding
        self.encoder = encoder
        self.pooling = pooling
        self.output = nn.Linear(d_model, n_classes)

    def forward(self, ids: Int[Tensor, "batch seq_len"]) -> Float[Tensor, "batch n_classes"]:
        hidden = self.encoder(self.embedding(ids), padding_mask(ids))
        if self.pooling == "cls":
            first = (ids != PAD).int().argmax(dim=1)
            return self.output(hidden[torch.arange(len(ids)), first])
        return self.output(masked_mean(hidden, ids != PAD))
