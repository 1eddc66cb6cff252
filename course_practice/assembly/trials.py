"""The parts of the machine that your kept answers may supply, and how each is tried before it stands in."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from course_practice.inputs import randn


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


class MisfitError(TypeError):
    """A result that cannot stand in the machine; its words say why."""


class WrongTypeError(MisfitError):
    """A result in another number type than the input's."""


class CutPathError(MisfitError):
    """Right numbers from which no gradient flows back, or only a part of it."""


STEP = 1e-6  # how far each input is moved to see how the result moves; all numbers are float64


def _check_path(f: Callable[[], torch.Tensor], inputs: dict[str, list[torch.Tensor]]) -> None:
    """Does the result move as the gradients say when the inputs of one name are moved, each by a little?

    No other implementation is needed: the result itself, computed twice, tells what the gradient has to be.
    """

    def number() -> torch.Tensor:
        output = f()
        return (output * randn(*output.shape, seed=9)).sum()

    total, flat = number(), [tensor for tensors in inputs.values() for tensor in tensors]
    asked = [tensor for tensor in flat if tensor.requires_grad] if total.requires_grad else []
    found = torch.autograd.grad(total, asked, allow_unused=True) if asked else ()
    gradients = {id(tensor): one for tensor, one in zip(asked, found, strict=True) if one is not None}
    for name, tensors in inputs.items():
        steps = [randn(*tensor.shape, seed=31 + place).double() for place, tensor in enumerate(tensors)]
        pairs = list(zip(tensors, steps, strict=True))
        told = [(gradients[id(tensor)] * step).sum().item() for tensor, step in pairs if id(tensor) in gradients]
        said = sum(told)
        ends = []
        with torch.no_grad():
            for sign in (1, -2, 1):  # there, to the other side, and back
                for tensor, step in pairs:
                    tensor.add_(step, alpha=sign * STEP)
                ends.append(number().item())
        seen = (ends[0] - ends[1]) / (2 * STEP)
        if abs(seen - said) > 1e-4 * max(abs(seen), abs(said), 1.0):
            how_much = "only a part of the gradient flows" if told else "no gradient flows"
            raise CutPathError(
                f"The numbers are right, but {how_much} back to {name}: look for what cuts the path, such as "
                "`.detach()`, `.item()`, or `torch.no_grad()`."
            )


def _with_gradient(f: Callable[..., torch.Tensor], **inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
    inputs = {name: x.double().requires_grad_() for name, x in inputs.items()}
    output = f(*inputs.values())
    dtype = next(iter(inputs.values())).dtype
    if output.dtype != dtype:
        got = f"Expected the {dtype} of the input, got {output.dtype}"
        raise WrongTypeError(f"{got}: give new tensors the input's dtype.")
    if not output.requires_grad:
        raise CutPathError(
            f"The numbers may be right, but no gradient flows back to {' or '.join(inputs)}: look for what cuts the "
            "path, such as `.detach()`, `.item()`, or `torch.no_grad()`."
        )
    weighted = (output * randn(*output.shape, seed=9)).sum()
    found = torch.autograd.grad(weighted, [*inputs.values()], allow_unused=True, retain_graph=True)
    if output.isfinite().all() and all(one is None or one.isfinite().all() for one in found):
        _check_path(lambda: f(*inputs.values()), {name: [x] for name, x in inputs.items()})
    return output.detach(), *(one if one is not None else torch.zeros(1) for one in found)


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
    return _with_gradient(lambda scores: f(scores, _mask()), scores=randn(3, 2, 5, 5))


def _try_attention(f: Callable) -> tuple:
    query, key, value = (randn(3, 2, 5, d, seed=seed) for seed, d in ((3, 3), (4, 3), (7, 7)))
    inputs = {"query": query, "key": key, "value": value}
    return f(query, key, value)[1], *_with_gradient(lambda q, k, v: f(q, k, v, _mask())[0], **inputs)


def _try_split(f: Callable) -> tuple:
    return _with_gradient(lambda x: f(x, 3), x=randn(2, 5, 21))


def _try_merge(f: Callable) -> tuple:
    return _with_gradient(f, x=randn(2, 3, 5, 7).transpose(1, 2).contiguous().transpose(1, 2))


def _try_norm(f: Callable) -> tuple:
    inputs = {"x": randn(2, 5, 7), "gain": randn(7, seed=1), "bias": randn(7, seed=2)}
    return _with_gradient(lambda x, gain, bias: f(x, gain, bias, 1e-5), **inputs)


def _try_module(cls: Callable, sizes: tuple, masks: tuple = (), **inputs: torch.Tensor) -> tuple:
    """What the machine needs of a layer: it is built with the library's arguments, keeps the shape, and trains.

    Gradients flow back to its inputs, too, else what stands below it in the machine would not learn.
    """
    torch.default_generator.manual_seed(0)
    module = cls(*sizes).double()
    if not isinstance(module, nn.Module):
        raise TypeError(f"expected a module, got a {type(module).__name__}")
    streams = {name: x.double().requires_grad_() for name, x in inputs.items()}
    run = lambda: module(*streams.values(), *masks)  # noqa: E731
    if run().isfinite().all():
        groups = {name: [x] for name, x in streams.items()}
        _check_path(run, {**groups, "its parameters": [*module.parameters()]})
    output = run()
    output.square().sum().backward()
    trained = sum(p.numel() for p in module.parameters() if p.grad is not None)
    return torch.tensor(output.shape), torch.tensor(trained), output.isfinite().all()


def _try_feed_forward(cls: Callable) -> tuple:
    return _try_module(cls, (6, 11, "relu"), x=randn(2, 5, 6))


def _try_encoder_layer(cls: Callable) -> tuple:
    mask = torch.ones(2, 1, 1, 5, dtype=torch.bool)
    return _try_module(cls, (6, 3, 11, 0.0, False, "relu"), masks=(mask,), x=randn(2, 5, 6))


def _try_decoder_layer(cls: Callable) -> tuple:
    order, real = torch.ones(5, 5, dtype=torch.bool).tril(), torch.ones(2, 1, 1, 7, dtype=torch.bool)
    streams = {"x": randn(2, 5, 6), "the memory": randn(2, 7, 6, seed=1)}
    return _try_module(cls, (6, 3, 11, 0.0, False, "relu"), masks=(order, real), **streams)


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
