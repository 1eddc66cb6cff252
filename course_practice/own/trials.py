"""The parts of the machine that your kept answers may supply, and how each is tried before it stands in."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from course_practice.exercises.inputs import randn


@dataclass(frozen=True)
class Part:
    """A part of the machine that an exercise can supply.

    `used` names the places where the machine looks the part up, `course_lib.transformer.causal_mask` for example.
    `trial` uses it as the machine does, and `call` says in words how: what yours gives back there has to be what the
    library's gives back.
    """

    exercise: str
    used: tuple[str, ...]
    trial: Callable[[Any], Any]
    call: str
    advice: str = "Mend it, and check it again."

    @property
    def name(self) -> str:
        return self.used[0].rpartition(".")[2]


class WrongTypeError(TypeError):
    """A result in another number type than the input's."""


def _with_gradient(f: Callable[..., torch.Tensor], *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
    inputs = tuple(x.double().requires_grad_() for x in inputs)
    output = f(*inputs)
    if output.dtype != inputs[0].dtype:
        got = f"Expected the {inputs[0].dtype} of the input, got {output.dtype}"
        raise WrongTypeError(f"{got}: give new tensors the input's dtype.")
    return output.detach(), *torch.autograd.grad((output * randn(*output.shape, seed=9)).sum(), inputs)


def _mask() -> torch.Tensor:
    """Three sentences, two heads: causal, pads, and a sentence of pads alone."""
    mask = torch.ones(3, 2, 5, 5, dtype=torch.bool).tril()
    mask[1, ..., 3:] = False
    mask[2] = False
    return mask


def _try_mask(f: Callable) -> torch.Tensor:
    """A mask is joined with another one by `&`."""
    return f(5) & torch.ones(3, 1, 1, 5, dtype=torch.bool)


def _try_padding(f: Callable) -> torch.Tensor:
    ids = torch.tensor([[5, 6, 7], [5, 6, 0]])
    return f(ids) & torch.ones(3, 3, dtype=torch.bool)


def _try_softmax(f: Callable) -> tuple:
    return _with_gradient(lambda scores: f(scores, _mask()), randn(3, 2, 5, 5))


def _try_attention(f: Callable) -> tuple:
    sizes = [randn(3, 2, 5, d, seed=d) for d in (3, 3, 7)]
    return f(*sizes)[1], *_with_gradient(lambda q, k, v: f(q, k, v, _mask())[0], *sizes)


def _try_split(f: Callable) -> tuple:
    return _with_gradient(lambda x: f(x, 3), randn(2, 5, 21))


def _try_merge(f: Callable) -> tuple:
    return _with_gradient(f, randn(2, 3, 5, 7).transpose(1, 2).contiguous().transpose(1, 2))


def _try_norm(f: Callable) -> tuple:
    return _with_gradient(lambda x, gain, bias: f(x, gain, bias, 1e-5), randn(2, 5, 7), randn(7, seed=1), randn(7))


def _try_module(cls: Callable, sizes: tuple, *inputs: torch.Tensor, masks: tuple = ()) -> tuple:
    """What the machine needs of a layer: it is built with the library's arguments, keeps the shape, and trains."""
    torch.default_generator.manual_seed(0)
    module = cls(*sizes).double()
    if not isinstance(module, nn.Module):
        raise TypeError(f"expected a module, got a {type(module).__name__}")
    x = [x.double().requires_grad_() for x in inputs]
    output = module(*x, *masks)
    output.square().sum().backward()
    trained = sum(p.numel() for p in module.parameters() if p.grad is not None)
    return torch.tensor(output.shape), torch.tensor(trained), output.isfinite().all()


def _try_feed_forward(cls: Callable) -> tuple:
    return _try_module(cls, (6, 11, "relu"), randn(2, 5, 6))


def _try_encoder_layer(cls: Callable) -> tuple:
    mask = torch.ones(2, 1, 1, 5, dtype=torch.bool)
    return _try_module(cls, (6, 3, 11, 0.0, False, "relu"), randn(2, 5, 6), masks=(mask,))


def _try_decoder_layer(cls: Callable) -> tuple:
    order, real = torch.ones(5, 5, dtype=torch.bool).tril(), torch.ones(2, 1, 1, 7, dtype=torch.bool)
    return _try_module(cls, (6, 3, 11, 0.0, False, "relu"), randn(2, 5, 6), randn(2, 7, 6), masks=(order, real))


# In the order in which they are put in: a part comes after those that it is made of.
PARTS = (
    Part(
        "masks.padding",
        ("course_lib.transformer.padding_mask", "course_lib.encoder.padding_mask"),
        _try_padding,
        "padding_mask(ids) & causal_mask(n)",
    ),
    Part("masks.causal", ("course_lib.transformer.causal_mask",), _try_mask, "padding_mask(ids) & causal_mask(n)"),
    Part(
        "masks.softmax",
        ("course_lib.attention.masked_softmax",),
        _try_softmax,
        "masked_softmax(scores, mask) with its gradient, where a row may see nothing",
    ),
    Part(
        "attention.scaled_dot_product",
        ("course_lib.multi_head.scaled_dot_product_attention",),
        _try_attention,
        "scaled_dot_product_attention(query, key, value, mask) with its gradient, where a row may see nothing",
        "Give it a fourth parameter, mask=None, let masked_softmax make its weights, and check it again.",
    ),
    Part("multi_head.split_heads", ("course_lib.multi_head.split_heads",), _try_split, "split_heads(x, n_heads)"),
    Part("multi_head.merge_heads", ("course_lib.multi_head.merge_heads",), _try_merge, "merge_heads(x)"),
    Part(
        "positional_encoding.sinusoidal",
        ("course_lib.positional_encoding.sinusoidal_encoding",),
        lambda f: (f(17, 8).double(), f(6, 4).double()),
        "sinusoidal_encoding(n_positions, d_model)",
    ),
    Part(
        "layer_norm.norm",
        ("course_lib.layer_norm.layer_norm",),
        _try_norm,
        "layer_norm(x, gain, bias, eps) with its gradient",
    ),
    Part(
        "encoder.feed_forward",
        ("course_lib.encoder.FeedForward", "course_lib.decoder.FeedForward"),
        _try_feed_forward,
        "FeedForward(d_model, d_ff, activation)(x), and trains it",
    ),
    Part(
        "encoder.layer",
        ("course_lib.encoder.EncoderLayer",),
        _try_encoder_layer,
        "EncoderLayer(d_model, n_heads, d_ff, dropout, norm_first, activation)(x, mask), and trains it",
    ),
    Part(
        "decoder.layer",
        ("course_lib.decoder.DecoderLayer",),
        _try_decoder_layer,
        "DecoderLayer(d_model, n_heads, d_ff, dropout, norm_first, activation)(x, memory, tgt_mask, src_mask), and "
        "trains it",
    ),
)
