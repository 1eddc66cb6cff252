"""A decoder-only language model built from the parts of 2017 or of today."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_lib.encoder import FeedForward
from course_lib.layer_norm import LayerNorm
from course_lib.masks import causal_mask
from course_lib.modern import GroupedQueryAttention, RMSNorm, SwiGLU, rotary_angles
from course_lib.positional_encoding import SinusoidalPositions, look_up
from course_lib.sizes import check_between, check_whole
from course_lib.tokens import PAD
from course_lib.transformer import initialize


class RopeScaling(NamedTuple):
    """Llama 3.1's slower rotations, for texts longer than those of the first training.

    In `length` positions, a pair of features that turns fewer than `low` times is slowed down by `factor`, one that
    turns more than `high` times is not, and one between them is slowed down in part. Source: `apply_scaling` in the
    code that Meta published with Llama 3.1.

    >>> RopeScaling(factor=8.0, low=1.0, high=4.0, length=8192).slower(d_k=8, base=500_000.0)
    tensor([1.0000, 1.0000, 0.3711, 0.1250])
    """

    factor: float
    low: float
    high: float
    length: int

    def slower(self, d_k: int, base: float) -> Float[Tensor, " half_d_k"]:
        """What the speed of each pair is multiplied by."""
        speed = base ** (-torch.arange(0, d_k, 2, dtype=torch.float64) / d_k)
        turns = self.length * speed / (2 * math.pi)
        kept = ((turns - self.low) / (self.high - self.low)).clamp(0, 1)
        return (kept + (1 - kept) / self.factor).to(torch.get_default_dtype())


@dataclass(frozen=True)
class LanguageModelConfig:
    """The shape of a `LanguageModel`, and which of its parts are today's (the defaults) or those of 2017.

    Switched off, `rms_norm` gives layer norm, and `swiglu` a feed-forward network with GELU; n_kv_heads = n_heads
    gives multi-head attention. `positions` is "rotary", "sinusoidal", or "none". A head is `d_k` features wide,
    d_model / n_heads when it is None. `rope_base` and `rope_layout` are those of `rotary_angles` and `rotate`, `eps`
    is that of the norms. `tied` gives input and output one matrix; `scaled` multiplies the embedding by √d_model. No
    position sees a token `pad_id`: with weights from elsewhere, give theirs, or -1 where every id is a word. These may
    have biases in W_Q, W_K, and W_V (`qkv_bias`, Qwen2), norms of queries and keys (`qk_norm`, Qwen3), or rotations for
    longer texts (`rope_scaling`, Llama 3).

    >>> llama_3_2_1b = LanguageModelConfig(
    ...     vocab_size=128256, d_model=2048, n_heads=32, n_kv_heads=8, d_ff=8192, n_layers=16,
    ...     rope_base=500_000, eps=1e-5, scaled=False,
    ... )
    >>> llama_3_2_1b.head_width
    64
    """

    vocab_size: int
    d_model: int = 128
    n_heads: int = 4
    n_kv_heads: int = 2
    d_ff: int = 256
    n_layers: int = 4
    dropout: float = 0.0
    rms_norm: bool = True
    positions: str = "rotary"
    swiglu: bool = True
    d_k: int | None = None
    rope_base: float = 10000.0
    rope_layout: str = "half"
    eps: float = 1e-6
    tied: bool = True
    scaled: bool = True
    pad_id: int = PAD
    qkv_bias: bool = False
    qk_norm: bool = False
    rope_scaling: RopeScaling | None = None

    def __post_init__(self):
        if self.positions not in ("rotary", "sinusoidal", "none"):
            raise ValueError(f"expected positions 'rotary', 'sinusoidal', or 'none', got {self.positions!r}: pick one")
        sizes = ("vocab_size", "d_model", "n_heads", "n_kv_heads", "d_ff", "n_layers")
        check_whole(**{name: getattr(self, name) for name in sizes}, d_k=1 if self.d_k is None else self.d_k)
        check_between(0, 1, dropout=self.dropout, eps=self.eps)
        check_between(1, math.inf, rope_base=self.rope_base)
        if self.qkv_bias and self.qk_norm:
            raise ValueError(
                "expected qkv_bias or qk_norm, got both: no model that the course reads has them at once, so drop one"
            )

    @property
    def head_width(self) -> int:
        """Features of one head."""
        return self.d_k or self.d_model // self.n_heads

    def make_norm(self) -> nn.Module:
        """A new norm over d_model features."""
        return (RMSNorm if self.rms_norm else LayerNorm)(self.d_model, self.eps)


class NormedHeads(nn.Linear):
    """W_Q or W_K followed by a norm of each head's features: for a given gain, the scores stay in range.

    Source: Henry et al. 2020 (with L2 norms); Yang et al. 2025, section 2 (Qwen3, with RMSNorm).

    >>> projection = NormedHeads(d_model=4, n_heads=3, d_k=2, eps=0.0)
    >>> projection(torch.randn(1, 5, 4)).unflatten(-1, (3, 2)).square().mean(dim=-1).allclose(torch.ones(1, 5, 3))
    True
    """

    def __init__(self, d_model: int, n_heads: int, d_k: int, eps: float):
        super().__init__(d_model, n_heads * d_k, bias=False)
        self.norm = RMSNorm(d_k, eps)

    def forward(self, x: Float[Tensor, "*shape d_model"]) -> Float[Tensor, "*shape d_out"]:
        heads = super().forward(x).unflatten(-1, (-1, len(self.norm.gain)))
        return self.norm(heads).flatten(-2)


class Block(nn.Module):
    """Attention to the past, then the feed-forward network, both pre-norm.

    >>> block = Block(LanguageModelConfig(vocab_size=11, d_model=8, n_heads=2, n_kv_heads=1, d_ff=16))
    >>> block(torch.randn(1, 5, 8))[0].shape
    torch.Size([1, 5, 8])
    """

    def __init__(self, config: LanguageModelConfig):
        super().__init__()
        self.norm_1, self.norm_2 = config.make_norm(), config.make_norm()
        sizes = config.d_model, config.n_heads, config.n_kv_heads
        self.attention = attention = GroupedQueryAttention(*sizes, config.rope_layout, config.d_k)
        if config.qkv_bias:
            for projection in (attention.w_q, attention.w_k, attention.w_v):
                projection.bias = nn.Parameter(torch.zeros(projection.out_features))
        if config.qk_norm:
            attention.w_q = NormedHeads(config.d_model, config.n_heads, config.head_width, config.eps)
            attention.w_k = NormedHeads(config.d_model, config.n_kv_heads, config.head_width, config.eps)
        if config.swiglu:
            self.feed_forward = SwiGLU(config.d_model, config.d_ff)
        else:
            self.feed_forward = FeedForward(config.d_model, config.d_ff, "gelu")
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self,
        x: Float[Tensor, "batch seq_len d_model"],
        mask: Bool[Tensor, "..."] | None = None,
        angles: Float[Tensor, "... seq_len half_d_k"] | None = None,
        cache: tuple[Tensor, Tensor] | None = None,
    ) -> tuple[Float[Tensor, "batch seq_len d_model"], tuple[Tensor, Tensor]]:
        mixed, _, cache = self.attention(self.norm_1(x), mask, angles, cache)
        x = x + self.dropout(mixed)
        return x + self.dropout(self.feed_forward(self.norm_2(x))), cache


@dataclass(frozen=True)
class LanguageState:
    """What generation remembers: keys and values of every layer (rows = batch · beam), and which tokens are real."""

    caches: list[tuple[Tensor, Tensor]]
    real: Bool[Tensor, "batch beam length"]


class LanguageModel(nn.Module):
    """Ids in, a score for every possible next id out, at every position.

    Pads take no position: prompts padded on the left, so that their ends meet, give what each of them gives alone.
    `offset` is the position of the first word: the same text, placed elsewhere.

    Source: Radford et al. 2019 (decoder-only); Touvron et al. 2023 (the parts that are the defaults here).

    >>> config = LanguageModelConfig(vocab_size=11, d_model=8, n_heads=2, n_kv_heads=1, d_ff=16, n_layers=2)
    >>> model = LanguageModel(config)
    >>> model(torch.tensor([[1, 5, 6]])).shape
    torch.Size([1, 3, 11])
    >>> state = model.start(torch.tensor([[5, 6, 7], [0, 0, 8]]))
    >>> together, _ = model.step(torch.tensor([[9], [9]]), state)
    >>> alone, _ = model.step(torch.tensor([[9]]), model.start(torch.tensor([[8]])))
    >>> torch.allclose(together[1:], alone, atol=1e-5)
    True
    """

    def __init__(self, config: LanguageModelConfig):
        super().__init__()
        self.config = config
        self.tokens = nn.Embedding(config.vocab_size, config.d_model)
        nn.init.normal_(self.tokens.weight, std=config.d_model**-0.5)
        self.positions = SinusoidalPositions(config.d_model) if config.positions == "sinusoidal" else None
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.n_layers))
        self.norm = config.make_norm()
        self.dropout = nn.Dropout(config.dropout)
        self.output = nn.Linear(config.d_model, config.vocab_size, bias=False)
        self.apply(initialize)
        if config.tied:
            self.output.weight = self.tokens.weight

    def forward(self, ids: Int[Tensor, "batch seq_len"], offset: int = 0) -> Float[Tensor, "batch seq_len vocab_size"]:
        return self.continued(ids, self.start(ids[:, :0]), offset)[0]

    def start(self, prompt: Int[Tensor, "batch prompt_len"]) -> LanguageState:
        """The state after reading the prompt, which may be empty; `step` goes on with the next token."""
        empty = self.tokens.weight.new_zeros(len(prompt), self.config.n_kv_heads, 0, self.config.head_width)
        state = LanguageState([(empty, empty)] * self.config.n_layers, prompt[:, None, :0].bool())
        return self.continued(prompt, state)[1] if prompt.shape[1] else state

    def step(
        self, tokens: Int[Tensor, "batch beam"], state: LanguageState
    ) -> tuple[Float[Tensor, "batch beam vocab_size"], LanguageState]:
        """Write one token per beam, score what may follow."""
        logits, state = self.continued(tokens.flatten()[:, None], state)
        return logits[:, -1].unflatten(0, tokens.shape), state

    def continued(
        self, ids: Int[Tensor, "rows n"], state: LanguageState, offset: int = 0
    ) -> tuple[Float[Tensor, "rows n vocab_size"], LanguageState]:
        """The scores at `n` more tokens per row: their positions go on where the cache ends, `offset` further on."""
        past = state.real.shape[-1]
        real = torch.cat([state.real, (ids != self.config.pad_id).view(*state.real.shape[:2], ids.shape[1])], dim=-1)
        newest = causal_mask(real.shape[-1])[past:].to(ids.device)
        mask = real.flatten(0, 1)[:, None, None] & newest
        x = look_up(self.tokens, ids)
        if self.config.scaled:
            x = x * math.sqrt(self.config.d_model)
        angles = None
        # Pads take no position: each row counts its real tokens.
        place = (real.cumsum(dim=-1) - 1).clamp(min=0).flatten(0, 1)[:, past:]
        if self.positions is not None:
            x = x + self.positions.rows(offset, offset + real.shape[-1])[place]
        elif self.config.positions == "rotary":
            width, base = self.config.head_width, self.config.rope_base
            angles = rotary_angles(place.flatten() + offset, width, base)
            if self.config.rope_scaling is not None:
                angles = angles * self.config.rope_scaling.slower(width, base).to(angles)
            angles = angles.unflatten(0, place.shape)[:, None]  # shared by the heads
        x, caches = self.dropout(x), []
        for block, cache in zip(self.blocks, state.caches, strict=True):
            x, cache = block(x, mask, angles, cache)
            caches.append(cache)
        return self.output(self.norm(x)), LanguageState(caches, real)


def windows(
    ids: Int[Tensor, " tokens"], length: int
) -> tuple[Int[Tensor, "n_windows length"], Int[Tensor, "n_windows length"]]:
    """One long text cut into windows: what a model reads, and what it should say, each id one step later.

    The windows lie end to end, so that every id but the first is a target at most once; what does not fill a window at
    the end is left out. ValueError when there is no id to predict for a whole window.

    >>> read, said = windows(torch.arange(8), length=3)
    >>> read
    tensor([[0, 1, 2],
            [3, 4, 5]])
    >>> said
    tensor([[1, 2, 3],
            [4, 5, 6]])
    """
    if not 0 < length < len(ids):
        raise ValueError(
            f"expected a length from 1 to {len(ids) - 1} for a text of {len(ids)} ids, got {length}: "
            "a window needs one id more than it reads"
        )
    n_windows = (len(ids) - 1) // length
    return ids[: n_windows * length].view(-1, length), ids[1 : n_windows * length + 1].view(-1, length)
