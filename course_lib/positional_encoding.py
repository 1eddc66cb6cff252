"""Positional encoding: attention sees a set, this puts the order back."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


def sinusoidal_encoding(n_positions: int, d_model: int) -> Float[Tensor, "n_positions d_model"]:
    """PE(pos, 2i) = sin(pos / 10000^(2i/d_model)), PE(pos, 2i+1) = cos of the same angle.

    Each *pair* of columns is one clock; the clocks slow down from one radian to 1/10000 radian per position.
    The power is computed as an exponential of a logarithm, in double precision. An odd d_model lacks the last cosine.
    Source: Vaswani et al. 2017, section 3.5.

    >>> sinusoidal_encoding(n_positions=2, d_model=4)
    tensor([[0.0000, 1.0000, 0.0000, 1.0000],
            [0.8415, 0.5403, 0.0100, 0.9999]])
    """
    position = torch.arange(n_positions, dtype=torch.float64)[:, None]
    even = torch.arange(0, d_model, 2, dtype=torch.float64)
    angle = position * torch.exp(-math.log(10000.0) * even / d_model)
    table = torch.empty(n_positions, d_model, dtype=torch.float64)
    table[:, 0::2] = angle.sin()
    table[:, 1::2] = angle[:, : d_model // 2].cos()
    return table.to(torch.get_default_dtype())


class SinusoidalPositions(nn.Module):
    """Adds fixed sinusoids; the table grows when a longer sequence comes, so there is no longest one.

    >>> positions = SinusoidalPositions(d_model=4)
    >>> positions(torch.zeros(1, 2, 4))[0, 1]
    tensor([0.8415, 0.5403, 0.0100, 0.9999])
    """

    def __init__(self, d_model: int, n_positions: int = 256):
        super().__init__()
        self.register_buffer("table", sinusoidal_encoding(n_positions, d_model), persistent=False)

    def rows(self, start: int, stop: int) -> Float[Tensor, "n d_model"]:
        """The vectors of positions start … stop − 1."""
        if stop > len(self.table):
            self.table = sinusoidal_encoding(2 * stop, self.table.shape[1]).to(self.table)
        return self.table[start:stop]

    def forward(
        self, x: Float[Tensor, "batch seq_len d_model"], offset: int = 0
    ) -> Float[Tensor, "batch seq_len d_model"]:
        return x + self.rows(offset, offset + x.shape[1])


class LearnedPositions(nn.Module):
    """Adds one trained vector per position: nothing is learned about positions from `max_len` on.

    Source: Gehring et al. 2017; Vaswani et al. 2017, table 3, row E, found it as good as the sinusoids.

    >>> LearnedPositions(max_len=8, d_model=4)(torch.zeros(1, 9, 4))
    Traceback (most recent call last):
    ValueError: expected at most max_len=8 positions, got 9: cut the sequence or build the model with a larger max_len
    """

    def __init__(self, max_len: int, d_model: int):
        super().__init__()
        self.table = nn.Parameter(torch.randn(max_len, d_model) * d_model**-0.5)

    def rows(self, start: int, stop: int) -> Float[Tensor, "n d_model"]:
        """The vectors of positions start … stop − 1."""
        if stop > len(self.table):
            raise ValueError(
                f"expected at most max_len={len(self.table)} positions, got {stop}: "
                "cut the sequence or build the model with a larger max_len"
            )
        return self.table[start:stop]

    def forward(
        self, x: Float[Tensor, "batch seq_len d_model"], offset: int = 0
    ) -> Float[Tensor, "batch seq_len d_model"]:
        return x + self.rows(offset, offset + x.shape[1])


class InputEmbedding(nn.Module):
    """√d_model · E[ids] + positions, then dropout: what enters the first layer.

    The rows of E start with length about 1 (they may be the output layer's rows too); √d_model lifts them above the
    positions' √(d_model / 2). `offset` is the position of the first id: how many tokens a cache already holds.
    Source: Vaswani et al. 2017, sections 3.4, 3.5 and 5.4.

    >>> embedding = InputEmbedding(vocab_size=10, d_model=4, positions=SinusoidalPositions(4), dropout=0.0)
    >>> embedding(torch.tensor([[7, 10]]))
    Traceback (most recent call last):
    ValueError: expected ids from 0 to vocab_size - 1 = 9, got 10: use the vocabulary the model was built with
    """

    def __init__(self, vocab_size: int, d_model: int, positions: nn.Module, dropout: float = 0.1):
        super().__init__()
        self.tokens = nn.Embedding(vocab_size, d_model)
        nn.init.normal_(self.tokens.weight, std=d_model**-0.5)
        self.positions = positions
        self.dropout = nn.Dropout(dropout)

    def forward(self, ids: Int[Tensor, "batch seq_len"], offset: int = 0) -> Float[Tensor, "batch seq_len d_model"]:
        x = look_up(self.tokens, ids) * math.sqrt(self.tokens.embedding_dim)
        return self.dropout(self.positions(x, offset))


def look_up(embedding: nn.Embedding, ids: Int[Tensor, "*shape"]) -> Float[Tensor, "*shape d_model"]:
    """The embedding's rows for `ids`, with an error that says which id the vocabulary lacks.

    >>> look_up(nn.Embedding(3, 2), torch.tensor([0, 2])).shape
    torch.Size([2, 2])
    """
    try:
        return embedding(ids)
    except IndexError:
        last = embedding.num_embeddings - 1
        wrong = ids.max().item() if ids.max() > last else ids.min().item()
        raise ValueError(
            f"expected ids from 0 to vocab_size - 1 = {last}, got {wrong}: use the vocabulary the model was built with"
        ) from None
