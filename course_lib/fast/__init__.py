"""The Transformer's training step without work on padding: same parameters, same loss, less time.

Every function here computes what a simple module of the course computes, from that module's own parameters:
positions are packed (real tokens only) wherever tokens do not meet, padded only inside attention; the projections of
one input are one product; the vocabulary is projected only where there is a target.
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_lib.fast.attention import additive_mask, mix
from course_lib.fast.loss import linear_cross_entropy
from course_lib.layer_norm import LayerNorm, Residual
from course_lib.positional_encoding import InputEmbedding, look_up
from course_lib.tokens import PAD
from course_lib.transformer import Transformer

ROWS = 64
"""`packed_linear` lays weights out for products with about this many rows; it serves others as well."""


class Packing:
    """Where the real tokens of a padded batch stand, and the slots they take when every row starts with its own.

    Sentence after sentence, only its real tokens: n vectors. `pad` lays them out as (batch, length) again, pads all
    on the right and zero; `unpad` undoes it.

    >>> packing = Packing(torch.tensor([[True, True, False], [False, False, True]]))
    >>> packing.pad(torch.tensor([[5.0], [6.0], [7.0]]))[..., 0]
    tensor([[5., 6.],
            [7., 0.]])
    """

    def __init__(self, real: Bool[Tensor, "batch seq_len"]):
        counts = real.sum(dim=1)
        self.batch, self.length = len(real), int(counts.max()) if len(real) else 0
        self.rows, self.columns = real.nonzero(as_tuple=True)
        self.places = (real.cumsum(dim=1) - 1)[self.rows, self.columns]
        self.slots = self.rows * self.length + self.places
        self.mask = (torch.arange(self.length, device=real.device) < counts[:, None])[:, None, None]

    def pack(self, ids: Int[Tensor, "batch seq_len"]) -> Int[Tensor, " n"]:
        return ids[self.rows, self.columns]

    def pad(self, x: Float[Tensor, "n features"]) -> Float[Tensor, "batch length features"]:
        padded = x.new_zeros(self.batch * self.length, x.shape[1]).index_copy_(0, self.slots, x)
        return padded.view(self.batch, self.length, x.shape[1])

    def unpad(self, x: Float[Tensor, "batch length features"]) -> Float[Tensor, "n features"]:
        return x.flatten(0, 1).index_select(0, self.slots)


def heads(x: Float[Tensor, "batch length features"], n_heads: int, n: int) -> tuple[Tensor, ...]:
    """`n` projections side by side, cut into `n` tensors of shape (batch, n_heads, length, d_k).

    >>> query, key, value = heads(torch.randn(2, 5, 3 * 8), n_heads=4, n=3)
    >>> query.shape
    torch.Size([2, 4, 5, 2])
    """
    return x.unflatten(-1, (n, n_heads, -1)).permute(2, 0, 3, 1, 4).unbind(0)


def dropout(x: Float[Tensor, "*shape features"], p: float, training: bool) -> Float[Tensor, "*shape features"]:
    """`F.dropout`, from 16 random bits a number on a CPU, where drawing is most of the work.

    >>> dropout(torch.ones(4), p=0.5, training=True).unique()     # 0, or 1 / (1 - p)
    tensor([0., 2.])
    """
    if not training or p in (0.0, 1.0) or x.device.type != "cpu":
        return F.dropout(x, p, training)
    bits = torch.empty((x.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None).view(torch.int16)
    keep = bits[: x.numel()].view(x.shape) >= round(p * 2**16) - 2**15
    return (x * keep).mul_(1 / (1 - p))


def side_by_side(linears: tuple[nn.Linear, ...] | list[nn.Linear]) -> tuple[Tensor, Tensor | None]:
    """Weight and bias of one linear layer that does the work of several."""
    bias = None if linears[0].bias is None else torch.cat([linear.bias for linear in linears])
    return torch.cat([linear.weight for linear in linears]), bias


def project(
    linears: tuple[nn.Linear, ...] | list[nn.Linear], x: Float[Tensor, "*shape d_in"]
) -> Float[Tensor, "*shape d_out"]:
    """The outputs of several linear layers on the same input side by side, from one matrix product.

    >>> layers = [nn.Linear(3, 2), nn.Linear(3, 5)]
    >>> project(layers, torch.randn(4, 3)).shape
    torch.Size([4, 7])
    """
    return F.linear(x, *side_by_side(linears))


def packed_linear(weight: Float[Tensor, "d_out d_in"], bias: Tensor | None = None) -> Callable[[Tensor], Tensor]:
    """x → x Wᵀ + b for many x and one W, without gradients.

    A matrix kernel copies its right factor into an order of its own; for a tall W and few rows x this copy costs
    as much as the product. With oneDNN (PyTorch on Intel, AMD and Arm Linux) in float32 the copy is made here,
    once; in all other cases the function is `F.linear`.

    >>> weight, x = torch.randn(5, 3), torch.randn(2, 3)
    >>> torch.allclose(packed_linear(weight)(x), x @ weight.T, atol=1e-6)
    True
    """
    weight, bias = weight.detach(), None if bias is None else bias.detach()
    kernel = getattr(torch.ops.mkldnn, "_linear_pointwise", None) if torch.backends.mkldnn.is_available() else None
    plain = weight.device.type != "cpu" or weight.dtype != torch.float32 or torch.is_autocast_enabled("cpu")
    if kernel is None or plain:
        return lambda x: F.linear(x, weight, bias)
    packed = torch.ops.mkldnn._reorder_linear_weight(weight, ROWS)
    return lambda x: kernel(x, packed, bias, "none", [], "")


def norm(module: nn.Module, x: Float[Tensor, "*shape d_model"]) -> Float[Tensor, "*shape d_model"]:
    """`LayerNorm` in one kernel; any other module (the end of a post-norm stack) as it is.

    >>> norm(LayerNorm(2), torch.tensor([1.0, 3.0])).detach()
    tensor([-1.0000,  1.0000])
    """
    if isinstance(module, LayerNorm):
        return F.layer_norm(x, x.shape[-1:], module.gain, module.bias, module.eps)
    return module(x)


def residual(
    module: Residual, x: Float[Tensor, "*shape d_model"], sublayer: Callable[[Tensor], Tensor]
) -> Float[Tensor, "*shape d_model"]:
    """`Residual` with the fast norm and dropout.

    >>> simple, x = Residual(d_model=4).eval(), torch.randn(3, 4)
    >>> torch.allclose(residual(simple, x, torch.tanh), simple(x, torch.tanh), atol=1e-6)
    True
    """
    y = sublayer(norm(module.norm, x) if module.norm_first else x)
    x = x + dropout(y, module.dropout.p, module.training)
    return x if module.norm_first else norm(module.norm, x)


def embed(module: InputEmbedding, ids: Int[Tensor, "batch seq_len"], packing: Packing) -> Float[Tensor, "n d_model"]:
    """`InputEmbedding` of the real tokens; the position of each counts the real ones before it.

    >>> from course_lib.positional_encoding import SinusoidalPositions
    >>> simple, ids = InputEmbedding(10, 4, SinusoidalPositions(4)).eval(), torch.tensor([[5, 6], [0, 7]])
    >>> torch.allclose(embed(simple, ids, Packing(ids != PAD)), simple(ids)[ids != PAD])
    True
    """
    x = look_up(module.tokens, packing.pack(ids)) * math.sqrt(module.tokens.embedding_dim)
    x = x + module.positions.rows(0, ids.shape[1])[packing.places]
    return dropout(x, module.dropout.p, module.training)


def self_attention(attention, x: Float[Tensor, "n d_model"], packing: Packing, **mask) -> Float[Tensor, "n d_model"]:
    """`MultiHeadAttention` of a sequence to itself, packed; `mask` goes to `mix`.

    >>> from course_lib.multi_head import MultiHeadAttention
    >>> simple, x = MultiHeadAttention(d_model=4, n_heads=2), torch.randn(1, 3, 4)
    >>> packed = self_attention(simple, x[0], Packing(torch.tensor([[True, True, True]])))
    >>> torch.allclose(packed, simple(x, x, x)[0][0], atol=1e-6)
    True
    """
    qkv = packing.pad(project((attention.w_q, attention.w_k, attention.w_v), x))
    mixed = mix(*heads(qkv, attention.n_heads, 3), **mask)
    return attention.w_o(packing.unpad(mixed.transpose(1, 2).flatten(start_dim=2)))


def encode(model: Transformer, src: Int[Tensor, "batch src_len"], packing: Packing) -> Float[Tensor, "n d_model"]:
    """`model.encode`, packed."""
    x = embed(model.src_embedding, src, packing)
    bias = additive_mask(packing.mask, x.dtype)
    for layer in model.encoder.layers:
        x = residual(layer.residuals[0], x, lambda y, a=layer.attention: self_attention(a, y, packing, bias=bias))
        x = residual(layer.residuals[1], x, layer.feed_forward)
    return norm(model.encoder.norm, x)


def cross_heads(
    model: Transformer, memory: Float[Tensor, "n d_model"], packing: Packing
) -> list[tuple[Tensor, Tensor]]:
    """Keys and values of the cross-attention of every decoder layer, from one product."""
    cross = [layer.cross_attention for layer in model.decoder.layers]
    projected = packing.pad(project([w for attention in cross for w in (attention.w_k, attention.w_v)], memory))
    parts = heads(projected, model.config.n_heads, 2 * len(cross))
    return list(zip(parts[0::2], parts[1::2], strict=True))


def decode(
    model: Transformer,
    tgt_in: Int[Tensor, "batch tgt_len"],
    packing: Packing,
    memory: Float[Tensor, "m d_model"],
    source: Packing,
) -> Float[Tensor, "n d_model"]:
    """`model.decode`, packed."""
    x = embed(model.tgt_embedding, tgt_in, packing)
    bias = additive_mask(source.mask, x.dtype)

    def cross_attention(attention, y, key, value):
        (query,) = heads(packing.pad(attention.w_q(y)), attention.n_heads, 1)
        mixed = mix(query, key, value, bias)
        return attention.w_o(packing.unpad(mixed.transpose(1, 2).flatten(start_dim=2)))

    for layer, (key, value) in zip(model.decoder.layers, cross_heads(model, memory, source), strict=True):
        first, second, third = layer.residuals
        x = residual(first, x, lambda y, a=layer.self_attention: self_attention(a, y, packing, causal=True))
        x = residual(second, x, lambda y, a=layer.cross_attention, k=key, v=value: cross_attention(a, y, k, v))
        x = residual(third, x, layer.feed_forward)
    return norm(model.decoder.norm, x)


def fast_loss(
    model: Transformer,
    src: Int[Tensor, "batch src_len"],
    tgt_in: Int[Tensor, "batch tgt_len"],
    tgt_out: Int[Tensor, "batch tgt_len"],
    label_smoothing: float = 0.0,
    reduction: str = "mean",
) -> Float[Tensor, ""]:
    """The label-smoothed cross-entropy of `model(src, tgt_in)` against `tgt_out`, pads left out.

    Equal to `F.cross_entropy(logits.flatten(0, 1), tgt_out.flatten(), ignore_index=PAD, label_smoothing=...)`, except
    that a batch without targets gives 0, not NaN. `reduction` is "mean" (over the real targets) or "sum".

    >>> from course_lib.transformer import TransformerConfig
    >>> model = Transformer(TransformerConfig(vocab_size=11, d_model=8, n_heads=2, d_ff=16, n_layers=2)).eval()
    >>> src, tgt_in, tgt_out = torch.tensor([[5, 6, 2]]), torch.tensor([[1, 7, 0]]), torch.tensor([[7, 2, 0]])
    >>> simple = F.cross_entropy(model(src, tgt_in).flatten(0, 1), tgt_out.flatten(), ignore_index=PAD)
    >>> torch.allclose(fast_loss(model, src, tgt_in, tgt_out), simple)
    True
    """
    if len(src) != len(tgt_in):
        raise ValueError(f"expected as many sources as targets, got {len(src)} and {len(tgt_in)}: they are pairs")
    if reduction not in ("mean", "sum"):
        raise ValueError(f"expected reduction 'mean' or 'sum', got {reduction!r}: choose one of the two")
    if model.output.bias is not None:
        raise ValueError(
            "expected an output layer without a bias, got one: train a model that has one with its logits, "
            "`F.cross_entropy(model(src, tgt_in).flatten(0, 1), …)`"
        )
    if tgt_in.shape != tgt_out.shape:
        raise ValueError(
            f"expected tgt_in and tgt_out of one shape, got {tuple(tgt_in.shape)} and {tuple(tgt_out.shape)}: "
            "both come from one target, shifted by one"
        )
    if ((tgt_out != PAD) & (tgt_in == PAD)).any():
        raise ValueError("expected a real token in tgt_in wherever tgt_out has one, got a pad: shift the target by one")
    source, target = Packing(src != PAD), Packing(tgt_in != PAD)
    hidden = decode(model, tgt_in, target, encode(model, src, source), source)
    wanted = target.pack(tgt_out)
    if not (wanted != PAD).all():
        hidden, wanted = hidden[wanted != PAD], wanted[wanted != PAD]
    loss = linear_cross_entropy(hidden, model.output.weight, wanted, label_smoothing)
    return loss if reduction == "sum" else loss / max(1, len(wanted))
