"""The Transformer: encoder, decoder, one vocabulary for both."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_lib.decoder import Decoder
from course_lib.encoder import Encoder
from course_lib.masks import causal_mask, padding_mask
from course_lib.positional_encoding import InputEmbedding, LearnedPositions, SinusoidalPositions
from course_lib.sizes import check_between, check_whole


@dataclass(frozen=True)
class TransformerConfig:
    """Everything that decides the shape of a `Transformer`.

    The defaults are the paper's base model. `positions` is "sinusoidal" or
    "learned" (then `max_len` is the longest sequence); `tied` lets source
    embedding, target embedding, and output layer share one matrix.
    Source: Vaswani et al. 2017, table 3 and section 3.4.

    >>> TransformerConfig(vocab_size=100, d_model=64).n_heads
    8
    """

    vocab_size: int
    d_model: int = 512
    n_heads: int = 8
    d_ff: int = 2048
    n_layers: int = 6
    dropout: float = 0.1
    norm_first: bool = False
    activation: str = "relu"
    positions: str = "sinusoidal"
    max_len: int = 512
    tied: bool = True

    @classmethod
    def base(cls, vocab_size: int = 37000) -> "TransformerConfig":
        """The paper's base model, with its English–German vocabulary."""
        return cls(vocab_size)


def parameter_count(config: TransformerConfig) -> int:
    """How many numbers a `Transformer` of this configuration trains.

    For the base model the paper's table 3 gives 65 million, rounded, with a
    vocabulary of "about 37000".

    >>> parameter_count(TransformerConfig.base())
    63082496
    """
    d, d_ff = config.d_model, config.d_ff
    attention = 4 * (d * d + d)  # W_Q, W_K, W_V, W_O with their biases
    feed_forward = d * d_ff + d_ff + d_ff * d + d
    norm = 2 * d  # gain and bias
    encoder_layer = attention + feed_forward + 2 * norm
    decoder_layer = 2 * attention + feed_forward + 3 * norm
    final_norms = 2 * norm if config.norm_first else 0
    matrices = 1 if config.tied else 3  # of vocab_size × d
    tables = (1 if config.tied else 2) * config.max_len * d if config.positions == "learned" else 0
    return config.n_layers * (encoder_layer + decoder_layer) + final_norms + matrices * config.vocab_size * d + tables


class Transformer(nn.Module):
    """Source ids and target ids in, a score for every word at every target
    position out.

    ValueError when the sizes of `config` do not fit together, and for ids
    outside the vocabulary. Source: Vaswani et al. 2017, figure 1.

    >>> config = TransformerConfig(11, d_model=8, n_heads=2, n_layers=2)
    >>> model = Transformer(config)
    >>> src, tgt_in = torch.tensor([[5, 6, 7, 2]]), torch.tensor([[1, 8, 9]])
    >>> model(src, tgt_in).shape
    torch.Size([1, 3, 11])
    """

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.config = c = config
        self.src_embedding = make_embedding(c)
        self.tgt_embedding = self.src_embedding if c.tied else make_embedding(c)
        shared = dict(
            n_layers=c.n_layers,
            d_model=c.d_model,
            n_heads=c.n_heads,
            d_ff=c.d_ff,
            dropout=c.dropout,
            norm_first=c.norm_first,
            activation=c.activation,
        )
        self.encoder = Encoder(**shared)
        self.decoder = Decoder(**shared)
        self.output = nn.Linear(c.d_model, c.vocab_size, bias=False)
        self.apply(initialize)
        if c.tied:
            self.output.weight = self.tgt_embedding.tokens.weight

    def encode(self, src: Int[Tensor, "batch src_len"]) -> Float[Tensor, "batch src_len d_model"]:
        """The memory: one vector for every source token."""
        return self.encoder(self.src_embedding(src), padding_mask(src))

    def decode(
        self,
        tgt_in: Int[Tensor, "batch tgt_len"],
        memory: Float[Tensor, "batch src_len d_model"],
        src_mask: Bool[Tensor, "batch 1 1 src_len"],
    ) -> Float[Tensor, "batch tgt_len d_model"]:
        """The vectors from which `output` predicts the next words."""
        tgt_mask = padding_mask(tgt_in) & causal_mask(tgt_in.shape[1]).to(tgt_in.device)
        return self.decoder(self.tgt_embedding(tgt_in), memory, tgt_mask, src_mask)

    def forward(
        self, src: Int[Tensor, "batch src_len"], tgt_in: Int[Tensor, "batch tgt_len"]
    ) -> Float[Tensor, "batch tgt_len vocab_size"]:
        return self.output(self.decode(tgt_in, self.encode(src), padding_mask(src)))

    def start(self, src: Int[Tensor, "batch src_len"]) -> "PrefixState":
        """The state of a search before its first step, one beam a sentence."""
        return PrefixState(self.encode(src), padding_mask(src), src.new_empty(len(src), 1, 0))

    def step(
        self, tokens: Int[Tensor, "batch beam"], state: "PrefixState"
    ) -> tuple[Float[Tensor, "batch beam vocab_size"], "PrefixState"]:
        """Write one token per beam, and score what may follow.

        Runs the decoder on all that is written so far.
        """
        state = replace(state, tokens=torch.cat([state.tokens, tokens[..., None]], dim=-1))
        beam = tokens.shape[1]
        memory = state.memory.repeat_interleave(beam, dim=0)
        src_mask = state.src_mask.repeat_interleave(beam, dim=0)
        hidden = self.decode(state.tokens.flatten(0, 1), memory, src_mask)
        return self.output(hidden[:, -1]).unflatten(0, tokens.shape), state


@dataclass(frozen=True)
class PrefixState:
    """What a search over the uncached `Transformer` remembers: the memory, and the tokens written on every beam.

    >>> state = PrefixState(torch.zeros(1, 3, 8), torch.ones(1, 1, 1, 3).bool(), torch.tensor([[[1, 5], [1, 6]]]))
    >>> state.reorder(torch.tensor([[1, 1, 0]])).tokens.tolist()
    [[[1, 6], [1, 6], [1, 5]]]
    """

    memory: Float[Tensor, "batch src_len d_model"]
    src_mask: Bool[Tensor, "batch 1 1 src_len"]
    tokens: Int[Tensor, "batch beam length"]

    def reorder(self, parents: Int[Tensor, "batch new_beam"]) -> "PrefixState":
        """New beam j of a sentence goes on from its old beam parents[:, j]."""
        return replace(self, tokens=self.tokens[torch.arange(len(parents), device=parents.device)[:, None], parents])

    def keep(self, sentences: Tensor) -> "PrefixState":
        """Go on with these sentences only (indices, or one boolean for each)."""
        return PrefixState(self.memory[sentences], self.src_mask[sentences], self.tokens[sentences])


def make_embedding(config: TransformerConfig) -> InputEmbedding:
    """The embedding with the positions that `config` names, whose numbers must be such as a model can have.

    >>> make_embedding(TransformerConfig(vocab_size=11, d_model=8, positions="rotary"))
    Traceback (most recent call last):
    ValueError: expected positions 'sinusoidal' or 'learned', got 'rotary': choose one of them
    """
    sizes = ("vocab_size", "d_model", "n_heads", "d_ff", "n_layers", "max_len")
    check_whole(**{name: getattr(config, name) for name in sizes})
    check_between(0, 1, dropout=config.dropout)
    if config.positions == "sinusoidal":
        positions = SinusoidalPositions(config.d_model)
    elif config.positions == "learned":
        positions = LearnedPositions(config.max_len, config.d_model)
    else:
        raise ValueError(f"expected positions 'sinusoidal' or 'learned', got {config.positions!r}: choose one of them")
    return InputEmbedding(config.vocab_size, config.d_model, positions, config.dropout)


def initialize(module: nn.Module) -> None:
    """Xavier's uniform weights and zero biases for a linear layer.

    Embeddings keep their own start. Source: Glorot and Bengio 2010, equation
    16. The Transformer's paper does not say how its weights start.

    >>> linear = nn.Linear(3, 5)
    >>> initialize(linear)
    >>> bool(linear.weight.abs().max() <= (6 / (3 + 5)) ** 0.5)
    True
    """
    if isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        if module.bias is not None:
            nn.init.zeros_(module.bias)
