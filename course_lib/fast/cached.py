"""Search with a key-value cache: every step computes the new token alone."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_lib.fast import Packing, cross_heads, encode, heads, norm, packed_linear, residual, side_by_side
from course_lib.fast.attention import additive_mask
from course_lib.positional_encoding import look_up
from course_lib.tokens import PAD
from course_lib.transformer import Transformer


class Slots:
    """Keys and values of one layer in the order of writing, in a buffer that doubles when it is full.

    >>> slots = Slots(torch.empty(1, 2, 0, 4), torch.empty(1, 2, 0, 4))
    >>> for _ in range(3):
    ...     keys, values = slots.append(torch.ones(1, 2, 1, 4), torch.ones(1, 2, 1, 4))
    >>> keys.shape, slots.key.shape
    (torch.Size([1, 2, 3, 4]), torch.Size([1, 2, 6, 4]))
    """

    def __init__(self, key: Float[Tensor, "batch n_heads n d_k"], value: Float[Tensor, "batch n_heads n d_k"]):
        self.key, self.value, self.used = key, value, key.shape[2]

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Write new ones behind the used slots; return all."""
        start, self.used = self.used, self.used + key.shape[2]
        if self.used > self.key.shape[2]:
            more = 2 * self.used - self.key.shape[2]
            self.key, self.value = (F.pad(x, (0, 0, 0, more)) for x in (self.key, self.value))
        self.key[:, :, start : self.used], self.value[:, :, start : self.used] = key, value
        return self.key[:, :, : self.used], self.value[:, :, : self.used]

    def keep(self, sentences: Tensor) -> "Slots":
        return Slots(self.key[sentences, :, : self.used], self.value[sentences, :, : self.used])


@dataclass(frozen=True)
class CacheState:
    """What a search over `CachedTransformer` remembers.

    `cross` holds keys and values of the source, once per sentence whatever the number of beams. `own` holds those of
    all tokens ever written for a sentence: one slot per step and beam. `visible` tells which slots are the history of
    which beam, so beams change places without a key or value being moved. `weights` is the cross-attention of the
    last step, layer by layer, with the beams as they stood then; it has a column for every real source token, in order.
    `plans` and `output` are the decoder's linear layers, laid out for many small products.

    >>> visible = torch.eye(2, dtype=torch.bool)[None]
    >>> state = CacheState([], torch.zeros(1, 1, 1, 3), [], [], torch.neg, visible, length=1, weights=[])
    >>> state.reorder(torch.tensor([[1, 1, 0]])).visible.int()
    tensor([[[0, 1],
             [0, 1],
             [1, 0]]], dtype=torch.int32)
    """

    cross: list[tuple[Tensor, Tensor]]
    src_bias: Float[Tensor, "batch 1 1 src_len"]
    own: list[Slots]
    plans: list["LayerPlan"]
    output: Callable[[Tensor], Tensor]
    visible: Bool[Tensor, "batch beam slots"]
    length: int
    weights: list[Float[Tensor, "batch n_heads last_beam src_len"]]

    def reorder(self, parents: Int[Tensor, "batch new_beam"]) -> "CacheState":
        """New beam j of a sentence goes on from its old beam parents[:, j]."""
        return replace(self, visible=self.visible[torch.arange(len(parents), device=parents.device)[:, None], parents])

    def keep(self, sentences: Tensor) -> "CacheState":
        """Go on with these sentences only (indices, or one boolean for each)."""
        return replace(
            self,
            cross=[(key[sentences], value[sentences]) for key, value in self.cross],
            src_bias=self.src_bias[sentences],
            own=[slots.keep(sentences) for slots in self.own],
            visible=self.visible[sentences],
            weights=[weights[sentences] for weights in self.weights],
        )


class LayerPlan:
    """The linear layers of a decoder layer, each ready for many small products; 1 / √d_k is in the queries' weights."""

    def __init__(self, layer: nn.Module):
        own, cross, feed_forward = layer.self_attention, layer.cross_attention, layer.feed_forward
        d_model = own.w_q.weight.shape[0]
        scale = (d_model // own.n_heads) ** -0.5
        weight, bias = side_by_side((own.w_q, own.w_k, own.w_v))
        factor = torch.ones_like(bias).index_fill_(0, torch.arange(d_model, device=bias.device), scale)
        self.own_qkv = packed_linear(weight * factor[:, None], bias * factor)
        self.own_out = packed_linear(own.w_o.weight, own.w_o.bias)
        self.cross_query = packed_linear(cross.w_q.weight * scale, cross.w_q.bias * scale)
        self.cross_out = packed_linear(cross.w_o.weight, cross.w_o.bias)
        self.widen = packed_linear(feed_forward.w_1.weight, feed_forward.w_1.bias)
        self.narrow = packed_linear(feed_forward.w_2.weight, feed_forward.w_2.bias)


class CachedTransformer:
    """A `Transformer` to search with: `start` and `step` give the same scores, a step costs one token.

    Keys and values of earlier tokens do not change, because no token sees a later one: they are kept. Queries are
    not: each is used once. The beams of one sentence are the query rows of one product with its cached keys.
    A state is used up by `step`: go on with the one it returns.

    >>> from course_lib.transformer import TransformerConfig
    >>> model = Transformer(TransformerConfig(vocab_size=11, d_model=8, n_heads=2, d_ff=16, n_layers=2)).eval()
    >>> cached = CachedTransformer(model)
    >>> src, tokens = torch.tensor([[5, 6, 2]]), torch.tensor([[1]])
    >>> simple, _ = model.step(tokens, model.start(src))
    >>> fast, state = cached.step(tokens, cached.start(src))
    >>> torch.allclose(simple, fast, atol=1e-6), state.weights[-1].shape
    (True, torch.Size([1, 2, 1, 3]))
    """

    def __init__(self, model: Transformer):
        self.model = model

    @torch.no_grad()
    def start(self, src: Int[Tensor, "batch src_len"]) -> CacheState:
        """Encode the source, project its keys and values for every layer."""
        source = Packing(src != PAD)
        memory = encode(self.model, src, source)
        cross = [(key.contiguous(), value.contiguous()) for key, value in cross_heads(self.model, memory, source)]
        own = [Slots(key[:, :, :0], value[:, :, :0]) for key, value in cross]
        plans = [LayerPlan(layer) for layer in self.model.decoder.layers]
        output = packed_linear(self.model.output.weight, self.model.output.bias)
        nothing = torch.zeros(len(src), 1, 0, dtype=torch.bool, device=src.device)
        return CacheState(cross, additive_mask(source.mask, memory.dtype), own, plans, output, nothing, 0, [])

    @torch.no_grad()
    def step(
        self, tokens: Int[Tensor, "batch beam"], state: CacheState
    ) -> tuple[Float[Tensor, "batch beam vocab_size"], CacheState]:
        """Write one token per beam, score what may follow."""
        embedding, n_heads = self.model.tgt_embedding, self.model.config.n_heads
        x = look_up(embedding.tokens, tokens) * math.sqrt(embedding.tokens.embedding_dim)
        # Of the slots of this step every beam sees its own, unless it holds a pad.
        own = torch.eye(tokens.shape[1], dtype=torch.bool, device=tokens.device) & (tokens != PAD)[:, None]
        visible = torch.cat([state.visible, own], dim=-1)
        place = torch.where(tokens != PAD, visible.sum(dim=-1) - 1, state.length)
        x = x + embedding.positions.rows(0, state.length + 1)[place]
        bias = None if visible.all() else additive_mask(visible[:, None], x.dtype)
        blind = None if bias is None else ~visible.any(dim=-1, keepdim=True)
        all_weights = []

        def self_attention(y, plan, slots):
            query, key, value = heads(plan.own_qkv(y), n_heads, 3)
            mixed, _ = attend(query, *slots.append(key, value), bias)
            return plan.own_out(mixed if blind is None else mixed.masked_fill(blind, 0.0))

        def cross_attention(y, plan, key, value):
            (query,) = heads(plan.cross_query(y), n_heads, 1)
            mixed, weights = attend(query, key, value, state.src_bias)
            all_weights.append(weights)
            return plan.cross_out(mixed)

        layers = self.model.decoder.layers
        for layer, plan, own, cross in zip(layers, state.plans, state.own, state.cross, strict=True):
            first, second, third = layer.residuals
            activation = layer.feed_forward.activation
            x = residual(first, x, lambda y, plan=plan, own=own: self_attention(y, plan, own))
            x = residual(second, x, lambda y, plan=plan, cross=cross: cross_attention(y, plan, *cross))
            x = residual(third, x, lambda y, plan=plan, f=activation: plan.narrow(f(plan.widen(y))))
        logits = state.output(norm(self.model.decoder.norm, x))
        return logits, replace(state, visible=visible, length=state.length + 1, weights=all_weights)


def attend(query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None) -> tuple[Tensor, Tensor]:
    """Every beam a (scaled) query row: the mixed values with the heads side by side, and the weights."""
    scores = query @ key.mT
    weights = (scores if bias is None else scores + bias).softmax(dim=-1)
    return (weights @ value).transpose(1, 2).flatten(start_dim=2), weights
