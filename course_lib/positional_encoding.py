"""Positional encoding: attention sees a set, this puts the order back."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.sizes import check_whole
from course_lib.tokens import PAD


def sinusoidal_encoding(n_positions: int, d_model: int) -> Float[Tensor, "n_positions d_model"]:
    """Sine of pos / 10000^(2i/d_model) in channel 2i, the cosine in 2i + 1.

    Each *pair* of channels is one clock. The first turns by one radian per
    position, the last, in a wide table, by little more than 1/10000. The power
    is computed as an exponential of a logarithm, in double precision. An odd
    d_model lacks the last cosine. Source: Vaswani et al. 2017, section 3.5.

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
    """Adds fixed sinusoids; the table grows when a longer sequence comes.

    >>> positions = SinusoidalPositions(d_model=4)
    >>> positions(torch.zeros(1, 2, 4))[0, 1]
    tensor([0.8415, 0.5403, 0.0100, 0.9999])
    """

    def __init__(self, d_model: int, n_positions: int = 256):
        super().__init__()
        self.register_buffer("table", sinusoidal_encoding(n_positions, d_model), persistent=False)

    def rows(self, start: int, stop: int) -> Float[Tensor, "n d_model"]:
        """The vectors of positions start … stop − 1."""
        check_whole(0, offset=start)
        if stop > len(self.table):
            self.table = sinusoidal_encoding(2 * stop, self.table.shape[1]).to(self.table)
        return self.table[start:stop]

    def forward(
        self, x: Float[Tensor, "batch seq_len d_model"], offset: int = 0
    ) -> Float[Tensor, "batch seq_len d_model"]:
        return x + self.rows(offset, offset + x.shape[1])


class LearnedPositions(nn.Module):
    """Adds one trained vector per position; the table ends at `max_len`.

    Source: Gehring et al. 2017; Vaswani et al. 2017, table 3, row E, found it
    as good as the sinusoids.

    >>> LearnedPositions(max_len=8, d_model=4)(torch.zeros(1, 7, 4)).shape
    torch.Size([1, 7, 4])
    """

    def __init__(self, max_len: int, d_model: int):
        super().__init__()
        self.table = nn.Parameter(torch.randn(max_len, d_model) * d_model**-0.5)

    def rows(self, start: int, stop: int) -> Float[Tensor, "n d_model"]:
        """The vectors of positions start … stop − 1."""
        check_whole(0, offset=start)
        if stop > len(self.table):
            raise ValueError(
                f"expected at most max_len={len(self.table)} positions, "
                f"got {stop}: "
                "cut the sequence or build the model with a larger max_len"
            )
        return self.table[start:stop]

    def forward(
        self, x: Float[Tensor, "batch seq_len d_model"], offset: int = 0
    ) -> Float[Tensor, "batch seq_len d_model"]:
        return x + self.rows(offset, offset + x.shape[1])


class InputEmbedding(nn.Module):
    """√d_model · E[ids] + positions, then dropout: what enters the first layer.

    The rows of E start with a length of about 1 (they may be the output
    layer's rows, too), and √d_model lifts them above the positions'
    √(d_model / 2). Positions count real tokens: pads take none, on whichever
    side they are. `offset` is the position of the first: how many tokens a
    cache already holds. Source: Vaswani et al. 2017, sections 3.4, 3.5, 5.4.

    >>> embedding = InputEmbedding(10, 4, positions=SinusoidalPositions(4))
    >>> embedding(torch.tensor([[7, 3, 2]])).shape
    torch.Size([1, 3, 4])
    """

    def __init__(self, vocab_size: int, d_model: int, positions: nn.Module, dropout: float = 0.1):
        super().__init__()
        self.tokens = nn.Embedding(vocab_size, d_model)
        nn.init.normal_(self.tokens.weight, std=d_model**-0.5)
        self.positions = positions
        self.dropout = nn.Dropout(dropout)

    def forward(self, ids: Int[Tensor, "batch seq_len"], offset: int = 0) -> Float[Tensor, "batch seq_len d_model"]:
        x = look_up(self.tokens, ids) * math.sqrt(self.tokens.embedding_dim)
        rows = self.positions.rows(offset, offset + ids.shape[1])
        real, column = ids != PAD, torch.arange(ids.shape[1], device=ids.device)
        place = torch.where(real, real.cumsum(dim=1) - 1, column)
        return self.dropout(x + rows[place])


def look_up(embedding: nn.Embedding, ids: Int[Tensor, "*shape"]) -> Float[Tensor, "*shape d_model"]:
    """The embedding's rows for `ids`; on a CPU, an error says which is missing.

    >>> look_up(nn.Embedding(3, 2), torch.tensor([0, 2])).shape
    torch.Size([2, 2])
    """
    try:
        return embedding(ids)
    except IndexError:
        last = embedding.num_embeddings - 1
        wrong = ids.max().item() if ids.max() > last else ids.min().item()
        known = f"ids from 0 to vocab_size - 1 = {last}"
        advice = "use the vocabulary the model was built with"
        raise ValueError(f"expected {known}, got {wrong}: {advice}") from None
