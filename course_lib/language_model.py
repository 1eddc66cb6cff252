"""A decoder-only language model built from the parts of 2017 or of today, and sampling from it."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_lib.encoder import FeedForward
from course_lib.layer_norm import LayerNorm
from course_lib.masks import causal_mask
from course_lib.modern import GroupedQueryAttention, RMSNorm, SwiGLU, rotary_angles
from course_lib.positional_encoding import SinusoidalPositions, look_up
from course_lib.tokens import EOS, PAD
from course_lib.transformer import initialize


@dataclass(frozen=True)
class LanguageModelConfig:
    """The shape of a `LanguageModel`, and which of its parts are today's (the defaults) or those of 2017.

    Switched off, `rms_norm` gives layer norm, `rotary` sinusoidal positions, `swiglu` a feed-forward network with
    GELU; n_kv_heads = n_heads gives multi-head attention.
    """

    vocab_size: int
    d_model: int = 128
    n_heads: int = 4
    n_kv_heads: int = 2
    d_ff: int = 256
    n_layers: int = 4
    dropout: float = 0.0
    rms_norm: bool = True
    rotary: bool = True
    swiglu: bool = True


class Block(nn.Module):
    """Attention to the past, then the feed-forward network, both pre-norm.

    >>> block = Block(LanguageModelConfig(vocab_size=11, d_model=8, n_heads=2, n_kv_heads=1, d_ff=16))
    >>> block(torch.randn(1, 5, 8))[0].shape
    torch.Size([1, 5, 8])
    """

    def __init__(self, config: LanguageModelConfig):
        super().__init__()
        make_norm = RMSNorm if config.rms_norm else LayerNorm
        self.norm_1, self.norm_2 = make_norm(config.d_model), make_norm(config.d_model)
        self.attention = GroupedQueryAttention(config.d_model, config.n_heads, config.n_kv_heads)
        if config.swiglu:
            self.feed_forward = SwiGLU(config.d_model, config.d_ff)
        else:
            self.feed_forward = FeedForward(config.d_model, config.d_ff, "gelu")
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self,
        x: Float[Tensor, "batch seq_len d_model"],
        mask: Bool[Tensor, "..."] | None = None,
        angles: Float[Tensor, "seq_len half_d_k"] | None = None,
        cache: tuple[Tensor, Tensor] | None = None,
    ) -> tuple[Float[Tensor, "batch seq_len d_model"], tuple[Tensor, Tensor]]:
        mixed, _, cache = self.attention(self.norm_1(x), mask, angles, cache)
        x = x + self.dropout(mixed)
        return x + self.dropout(self.feed_forward(self.norm_2(x))), cache


@dataclass(frozen=True)
class LanguageState:
    """What generation remembers: keys and values of every layer (rows = batch · beam), and which tokens are real.

    >>> state = LanguageState([], torch.tensor([[[True], [False]]]))
    >>> state.reorder(torch.tensor([[1, 0, 0]])).real[..., 0]
    tensor([[False,  True,  True]])
    """

    caches: list[tuple[Tensor, Tensor]]
    real: Bool[Tensor, "batch beam length"]

    def reorder(self, parents: Int[Tensor, "batch new_beam"]) -> "LanguageState":
        """New beam j of a sentence goes on from its old beam parents[:, j]."""
        return self._take(self._rows().gather(1, parents))

    def keep(self, sentences: Tensor) -> "LanguageState":
        """Go on with these sentences only (indices, or one boolean for each)."""
        return self._take(self._rows()[sentences])

    def _rows(self) -> Int[Tensor, "batch beam"]:
        batch, beam, _ = self.real.shape
        return torch.arange(batch * beam, device=self.real.device).view(batch, beam)

    def _take(self, rows: Int[Tensor, "batch beam"]) -> "LanguageState":
        flat = rows.flatten()
        caches = [(key[flat], value[flat]) for key, value in self.caches]
        return LanguageState(caches, self.real.flatten(0, 1)[rows])


class LanguageModel(nn.Module):
    """Ids in, a score for every possible next id out, at every position; input and output share one matrix.

    Source: Radford et al. 2019 (decoder-only); Touvron et al. 2023 (the parts that are the defaults here).

    >>> config = LanguageModelConfig(vocab_size=11, d_model=8, n_heads=2, n_kv_heads=1, d_ff=16, n_layers=2)
    >>> model = LanguageModel(config)
    >>> model(torch.tensor([[1, 5, 6]])).shape
    torch.Size([1, 3, 11])
    """

    def __init__(self, config: LanguageModelConfig):
        super().__init__()
        self.config = config
        self.tokens = nn.Embedding(config.vocab_size, config.d_model)
        nn.init.normal_(self.tokens.weight, std=config.d_model**-0.5)
        self.positions = None if config.rotary else SinusoidalPositions(config.d_model)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.n_layers))
        self.norm = RMSNorm(config.d_model) if config.rms_norm else LayerNorm(config.d_model)
        self.dropout = nn.Dropout(config.dropout)
        self.output = nn.Linear(config.d_model, config.vocab_size, bias=False)
        self.apply(initialize)
        self.output.weight = self.tokens.weight

    def forward(self, ids: Int[Tensor, "batch seq_len"]) -> Float[Tensor, "batch seq_len vocab_size"]:
        return self.continued(ids, self.start(ids[:, :0]))[0]

    def start(self, prompt: Int[Tensor, "batch prompt_len"]) -> LanguageState:
        """The state after reading the prompt, which may be empty; `step` goes on with the next token."""
        width = self.config.d_model // self.config.n_heads
        empty = self.tokens.weight.new_zeros(len(prompt), self.config.n_kv_heads, 0, width)
        state = LanguageState([(empty, empty)] * self.config.n_layers, (prompt != PAD)[:, None, :0])
        return self.continued(prompt, state)[1] if prompt.shape[1] else state

    def step(
        self, tokens: Int[Tensor, "batch beam"], state: LanguageState
    ) -> tuple[Float[Tensor, "batch beam vocab_size"], LanguageState]:
        """Write one token per beam, score what may follow."""
        logits, state = self.continued(tokens.flatten()[:, None], state)
        return logits[:, -1].unflatten(0, tokens.shape), state

    def continued(
        self, ids: Int[Tensor, "rows n"], state: LanguageState
    ) -> tuple[Float[Tensor, "rows n vocab_size"], LanguageState]:
        """The scores at `n` more tokens per row: their positions go on where the cache ends."""
        past = state.real.shape[-1]
        real = torch.cat([state.real, (ids != PAD).view(*state.real.shape[:2], ids.shape[1])], dim=-1)
        newest = causal_mask(real.shape[-1])[past:].to(ids.device)
        mask = real.flatten(0, 1)[:, None, None] & newest
        x = look_up(self.tokens, ids) * math.sqrt(self.config.d_model)
        angles = None
        if self.positions is None:
            positions = torch.arange(past, real.shape[-1], device=ids.device)
            angles = rotary_angles(positions, self.config.d_model // self.config.n_heads)
        else:
            x = self.positions(x, offset=past)
        x, caches = self.dropout(x), []
        for block, cache in zip(self.blocks, state.caches, strict=True):
            x, cache = block(x, mask, angles, cache)
            caches.append(cache)
        return self.output(self.norm(x)), LanguageState(caches, real)


def top_k_filter(logits: Float[Tensor, "*shape vocab_size"], k: int) -> Float[Tensor, "*shape vocab_size"]:
    """Keep the k largest logits, set the others to −∞. Source: Fan et al. 2018, section 5.4.

    >>> top_k_filter(torch.tensor([1.0, 3.0, 2.0]), k=2)
    tensor([-inf, 3., 2.])
    """
    kept = logits.topk(min(k, logits.shape[-1]), dim=-1)
    return torch.full_like(logits, -math.inf).scatter(-1, kept.indices, kept.values)


def top_p_filter(logits: Float[Tensor, "*shape vocab_size"], p: float) -> Float[Tensor, "*shape vocab_size"]:
    """Keep the most probable words until their probabilities reach p together, at least one; the others get −∞.

    Source: Holtzman et al. 2020, section 3.1.

    >>> top_p_filter(torch.tensor([0.2, 0.5, 0.3]).log(), p=0.6).exp()
    tensor([0.0000, 0.5000, 0.3000])
    """
    ordered, index = logits.sort(dim=-1, descending=True)
    probs = ordered.softmax(dim=-1, dtype=torch.promote_types(ordered.dtype, torch.float32))
    before = probs.cumsum(dim=-1) - probs
    kept = ordered.masked_fill((before >= p) & (before > 0), -math.inf)
    return torch.full_like(logits, -math.inf).scatter(-1, index, kept)


@torch.no_grad()
def sample(
    step: Callable,
    state: object,
    tokens: Int[Tensor, "batch beam"],
    max_len: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float = 1.0,
    generator: torch.Generator | None = None,
) -> Int[Tensor, "batch beam length"]:
    """Draw up to `max_len` words after `tokens`, one after the other; after EOS a row holds pads.

    The temperature divides the logits: below 1 the likely words become likelier, above 1 less likely.

    >>> fixed = lambda tokens, state: (torch.tensor([[[0.0, 0.0, 1.0, 0.0, 9.0]]]), state)
    >>> sample(fixed, None, torch.tensor([[1]]), max_len=3, top_k=1)
    tensor([[[4, 4, 4]]])
    """
    if top_k is not None and top_k < 1:
        raise ValueError(f"expected top_k of at least 1, got {top_k}: one word must be left to draw")
    if not 0 <= top_p <= 1:
        raise ValueError(f"expected top_p from 0 to 1, got {top_p}: it is a share of the probability")
    if not temperature > 0:
        raise ValueError(f"expected a temperature above 0, got {temperature}: for the most probable word use top_k=1")
    drawn, finished = [tokens], torch.zeros_like(tokens, dtype=torch.bool)
    while len(drawn) <= max_len and not finished.all():
        logits, state = step(tokens, state)
        logits = logits.to(torch.promote_types(logits.dtype, torch.float32)) / temperature
        if top_k is not None:
            logits = top_k_filter(logits, top_k)
        if top_p < 1:
            logits = top_p_filter(logits, top_p)
        tokens = torch.multinomial(logits.softmax(dim=-1).flatten(0, 1), 1, generator=generator).view(tokens.shape)
        tokens = tokens.masked_fill(finished, PAD)
        finished = finished | (tokens == EOS)
        drawn.append(tokens)
    return torch.stack(drawn, dim=-1)[..., 1:]
