"""Sequence to sequence with recurrent networks: one vector for a whole sentence, and attention that repairs it."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from course_lib.masks import masked_softmax
from course_lib.positional_encoding import look_up
from course_lib.tokens import PAD


def last_hidden(
    outputs: Float[Tensor, "batch seq_len d_model"], lengths: Int[Tensor, " batch"]
) -> Float[Tensor, "batch d_model"]:
    """The output at each row's own last real token: index −1 would read pads.

    >>> outputs = torch.tensor([[[1.0], [2.0], [3.0]], [[4.0], [5.0], [0.0]]])
    >>> last_hidden(outputs, lengths=torch.tensor([3, 2]))
    tensor([[3.],
            [5.]])
    """
    return outputs[torch.arange(len(outputs)), lengths - 1]


class GRUEncoder(nn.Module):
    """A GRU that reads the sentence in both directions and never reads a pad.

    Returns the vectors of all tokens (zeros at pads) and one for the sentence:
    the last states of both directions. `lengths` counts the real tokens, which
    come first in every row; an empty row is read as one pad.
    Source: Cho et al. 2014 (GRU); Bahdanau et al. 2015, section 3.2.

    >>> encoder, x = GRUEncoder(d_model=4), torch.randn(2, 5, 4)
    >>> outputs, last = encoder(x, lengths=torch.tensor([5, 3]))
    >>> outputs.shape, last.shape
    (torch.Size([2, 5, 4]), torch.Size([2, 4]))
    """

    def __init__(self, d_model: int):
        super().__init__()
        if d_model % 2:
            problem = f"expected an even d_model, got {d_model}"
            raise ValueError(f"{problem}: each direction takes half of it")
        self.gru = nn.GRU(d_model, d_model // 2, batch_first=True, bidirectional=True)

    def forward(
        self, x: Float[Tensor, "batch seq_len d_model"], lengths: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "batch seq_len d_model"], Float[Tensor, "batch d_model"]]:
        packed = pack_padded_sequence(x, lengths.cpu().clamp(min=1), batch_first=True, enforce_sorted=False)
        outputs, last = self.gru(packed)
        outputs, _ = pad_packed_sequence(outputs, batch_first=True, total_length=x.shape[1])
        return outputs, torch.cat([last[0], last[1]], dim=-1)


class AdditiveAttention(nn.Module):
    """score = tanh(query W_q + key W_k) · u: a small network compares the two.

    `keys` are `w_k(memory)`: they do not depend on the query, so one
    computation per sentence is enough. `mask` hides pads, True = may attend.
    Source: Bahdanau et al. 2015, appendix A.1.2.

    >>> attention = AdditiveAttention(d_model=4)
    >>> query, memory = torch.randn(1, 2, 4), torch.randn(1, 3, 4)
    >>> context, weights = attention(query, attention.w_k(memory), memory)
    >>> context.shape, weights.shape
    (torch.Size([1, 2, 4]), torch.Size([1, 2, 3]))
    """

    def __init__(self, d_model: int):
        super().__init__()
        self.w_q = nn.Linear(d_model, d_model, bias=False)
        self.w_k = nn.Linear(d_model, d_model)
        self.u = nn.Linear(d_model, 1, bias=False)

    def forward(
        self,
        query: Float[Tensor, "batch q_len d_model"],
        keys: Float[Tensor, "batch k_len d_model"],
        memory: Float[Tensor, "batch k_len d_model"],
        mask: Bool[Tensor, "batch 1 k_len"] | None = None,
    ) -> tuple[Float[Tensor, "batch q_len d_model"], Float[Tensor, "batch q_len k_len"]]:
        compared = torch.tanh(self.w_q(query)[:, :, None] + keys[:, None])
        weights = masked_softmax(self.u(compared).squeeze(-1), mask)
        return weights @ memory, weights


@dataclass(frozen=True)
class Seq2SeqConfig:
    """The shape of a `Seq2Seq`; `attention=False` leaves it one vector."""

    vocab_size: int
    d_model: int = 256
    attention: bool = True
    dropout: float = 0.1


@dataclass(frozen=True)
class RecurrentState:
    """What `Seq2Seq` remembers: the source, and one hidden vector per beam.

    A beam is one of several targets that are written side by side.

    >>> source, mask = torch.zeros(1, 3, 2), torch.ones(1, 1, 3).bool()
    >>> hidden = torch.tensor([[[5.0, 5.0], [6.0, 6.0]]])
    >>> state = RecurrentState(source, source, mask, source[:, :1], hidden)
    >>> state.reorder(torch.tensor([[1, 1, 0]])).hidden[..., 0]
    tensor([[6., 6., 5.]])
    """

    memory: Float[Tensor, "batch src_len d_model"]
    keys: Float[Tensor, "batch src_len d_model"]
    src_mask: Bool[Tensor, "batch 1 src_len"]
    last: Float[Tensor, "batch 1 d_model"]
    hidden: Float[Tensor, "batch beam d_model"]

    def reorder(self, parents: Int[Tensor, "batch new_beam"]) -> "RecurrentState":
        """New beam j of a sentence goes on from its old beam parents[:, j]."""
        sentences = torch.arange(len(parents), device=parents.device)[:, None]
        return replace(self, hidden=self.hidden[sentences, parents])

    def keep(self, sentences: Tensor) -> "RecurrentState":
        """Go on with these sentences only (indices, or one boolean each)."""
        kept = (getattr(self, name)[sentences] for name in self.__dataclass_fields__)
        return RecurrentState(*kept)


class Seq2Seq(nn.Module):
    """GRU encoder, GRU decoder, and attention or one fixed vector between them.

    At every step: context from the *previous* hidden vector, then the new
    hidden vector from the last word and the context. Each step needs the one
    before, so the target is computed step by step, even in training.
    Pads must come last in `src`, else ValueError.
    Source: Bahdanau et al. 2015, section 3.1.

    >>> model = Seq2Seq(Seq2SeqConfig(vocab_size=11, d_model=8))
    >>> src, tgt_in = torch.tensor([[5, 6, 7, 2]]), torch.tensor([[1, 8, 9]])
    >>> model(src, tgt_in).shape
    torch.Size([1, 3, 11])
    """

    def __init__(self, config: Seq2SeqConfig):
        super().__init__()
        self.config = config
        if not (min(config.vocab_size, config.d_model) >= 1 and 0 <= config.dropout <= 1):
            expected = "expected sizes of at least 1, dropout from 0 to 1"
            raise ValueError(f"{expected}, got {config}: choose others")
        d_model = config.d_model
        self.embedding = nn.Embedding(config.vocab_size, d_model)
        self.encoder = GRUEncoder(d_model)
        self.attention = AdditiveAttention(d_model) if config.attention else None
        self.cell = nn.GRUCell(2 * d_model, d_model)
        self.output = nn.Linear(2 * d_model, config.vocab_size)
        self.dropout = nn.Dropout(config.dropout)

    def start(self, src: Int[Tensor, "batch src_len"]) -> RecurrentState:
        """Read the source; the encoder's last vector starts the decoder."""
        if not src.numel():
            problem = f"expected at least one token, got src {tuple(src.shape)}"
            raise ValueError(f"{problem}: leave empty batches out")
        real = src != PAD
        if (real[:, 1:] & ~real[:, :-1]).any():
            problem = "expected pads after the real tokens of every row"
            raise ValueError(f"{problem}, got a pad before one: pad on the right")
        x = self.dropout(look_up(self.embedding, src))
        memory, last = self.encoder(x, real.sum(dim=1))
        keys = self.attention.w_k(memory) if self.attention else memory
        return RecurrentState(memory, keys, real[:, None], last[:, None], last[:, None])

    def advance(
        self, tokens: Int[Tensor, "batch beam"], state: RecurrentState
    ) -> tuple[Float[Tensor, "batch beam features"], RecurrentState]:
        """One step: what `output` predicts a word from, and the new state."""
        if self.attention:
            context, _ = self.attention(state.hidden, state.keys, state.memory, state.src_mask)
        else:
            context = state.last.expand_as(state.hidden)
        word = self.dropout(look_up(self.embedding, tokens))
        x = torch.cat([word, context], dim=-1).flatten(0, 1)
        hidden = self.cell(x, state.hidden.flatten(0, 1)).view_as(state.hidden)
        features = self.dropout(torch.cat([hidden, context], dim=-1))
        return features, replace(state, hidden=hidden)

    def step(
        self, tokens: Int[Tensor, "batch beam"], state: RecurrentState
    ) -> tuple[Float[Tensor, "batch beam vocab_size"], RecurrentState]:
        """Write one token per beam, score what may follow."""
        features, state = self.advance(tokens, state)
        return self.output(features), state

    def forward(
        self, src: Int[Tensor, "batch src_len"], tgt_in: Int[Tensor, "batch tgt_len"]
    ) -> Float[Tensor, "batch tgt_len vocab_size"]:
        """Teacher forcing: the decoder is given the true words, one by one."""
        state = self.start(src)
        features = []
        for tokens in tgt_in.split(1, dim=1):
            feature, state = self.advance(tokens, state)
            features.append(feature)
        return self.output(torch.cat(features, dim=1))
