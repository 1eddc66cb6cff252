"""What training and search have in common: sizes, a batch of made-up sentences, our weights for the peers."""

from random import Random
from typing import NamedTuple

import torch
from torch import nn

from course_lib.batching import Batch, make_batch
from course_lib.layer_norm import LayerNorm
from course_lib.multi_head import MultiHeadAttention
from course_lib.tokens import BOS, EOS, PAD, UNK
from course_lib.transformer import Transformer, TransformerConfig

MIDDLE = TransformerConfig(vocab_size=8000, d_model=256, n_heads=8, d_ff=512, n_layers=3, max_len=128)
TINY = TransformerConfig(vocab_size=50, d_model=16, n_heads=4, d_ff=32, n_layers=2, max_len=16)
Sizes = tuple[int, int, int]  # sentences, their shortest length, their longest


class Layer(NamedTuple):
    """The parts of an encoder or decoder layer of ours that have weights; an encoder layer has no `cross`."""

    own: MultiHeadAttention
    cross: MultiHeadAttention | None
    feed_forward: nn.Module
    norms: list[LayerNorm]


def layers(stack: nn.Module) -> list[Layer]:
    """The layers of an encoder or decoder, taken apart."""
    return [
        Layer(
            own=layer.self_attention if hasattr(layer, "self_attention") else layer.attention,
            cross=getattr(layer, "cross_attention", None),
            feed_forward=layer.feed_forward,
            norms=[residual.norm for residual in layer.residuals],
        )
        for layer in stack.layers
    ]


def copy_linear(theirs: nn.Linear, ours: nn.Linear) -> None:
    """Give a linear layer our weights."""
    theirs.load_state_dict(ours.state_dict())


def copy_norm(theirs: nn.LayerNorm, ours: LayerNorm) -> None:
    """Give a layer norm our gain and bias."""
    theirs.load_state_dict({"weight": ours.gain, "bias": ours.bias})


def endless(model: Transformer) -> Transformer:
    """The same model, which never ends a sentence: every search writes as many tokens as it may.

    The output layer's rows of PAD, BOS and EOS become zero, and so do these tokens' scores. Among all other scores,
    which are as often positive as negative, there are always larger ones.
    """
    with torch.no_grad():
        model.output.weight[[PAD, BOS, EOS]] = 0.0
    return model


def sentences(config: TransformerConfig, n: int, shortest: int, longest: int) -> Batch:
    """`n` pairs of random words; each side has from `shortest` to `longest` tokens, its EOS or BOS counted.

    All lengths between are equally frequent.

    >>> batch = sentences(TINY, n=100, shortest=8, longest=24)
    >>> batch.src.shape, round((batch.src != PAD).float().mean().item(), 2)
    (torch.Size([100, 24]), 0.67)
    """
    random = Random(0)
    lengths = [shortest + round(i * (longest - shortest) / (n - 1)) for i in range(n)]
    side = lambda length: random.choices(range(UNK + 1, config.vocab_size), k=length - 1)  # noqa: E731
    others = random.sample(lengths, n)
    return make_batch([(side(src), side(tgt)) for src, tgt in zip(lengths, others, strict=True)])
