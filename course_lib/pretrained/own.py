"""The reader's own parts of chapter 20 in a real model."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from course_lib import modern
from course_lib.attention import scaled_dot_product_attention
from course_lib.language_model import LanguageModel
from course_lib.modern import GroupedQueryAttention, RMSNorm
from course_lib.multi_head import merge_heads, split_heads


@contextmanager
def own_parts(
    model: LanguageModel,
    rms_norm: Callable | None = None,
    rotate: Callable | None = None,
    grouped_attention: Callable | None = None,
) -> Iterator[None]:
    """Inside the `with` block the model computes with these functions, written as the exercises of chapter 20 ask.

    `rms_norm(x, gain, eps)`, `rotate(x, positions, base)` in the half layout, and `grouped_attention(query, key, value,
    mask)`, which returns outputs alone. What is not given stays the library's. Right parts change no logit.
    The rows of a batch have to stand at the same positions. ValueError for `rotate` where rotations are scaled
    (`rope_scaling`), because the exercise's function knows positions and base alone.

    >>> from course_lib.language_model import LanguageModelConfig
    >>> model = LanguageModel(LanguageModelConfig(vocab_size=11, d_model=8, n_heads=2, n_kv_heads=1, d_ff=16))
    >>> ids = torch.tensor([[1, 5, 6]])
    >>> before = model(ids)
    >>> with own_parts(model, rms_norm=lambda x, gain, eps: gain * torch.zeros_like(x)):
    ...     model(ids).abs().max().item(), before.abs().max().item() > 0
    (0.0, True)
    >>> torch.equal(model(ids), before)
    True
    """
    if rotate is not None and model.config.rope_scaling is not None:
        raise ValueError("expected a model without rope_scaling for your own rotate, got one: leave rotate out")
    changed: list[nn.Module] = []
    for module in model.modules():
        if isinstance(module, RMSNorm) and rms_norm is not None:
            module.forward = own_norm(module, rms_norm)
            changed.append(module)
        elif isinstance(module, GroupedQueryAttention) and (rotate or grouped_attention):
            module.forward = own_attention(module, model.config.rope_base, rotate, grouped_attention)
            changed.append(module)
    try:
        yield
    finally:
        for module in changed:
            del module.forward  # the class's own is left


def own_norm(module: RMSNorm, rms_norm: Callable) -> Callable:
    """A norm's forward pass by the reader's function."""
    return lambda x: rms_norm(x, module.gain, module.eps)


def own_attention(
    module: GroupedQueryAttention, base: float, rotate: Callable | None, grouped_attention: Callable | None
) -> Callable:
    """An attention's forward pass by the reader's functions; where one is missing, by the library's."""

    def turned(x: Tensor, angles: Tensor) -> Tensor:
        if rotate is None:
            return modern.rotate(x, angles, module.layout)
        return rotate(x, angles[0, 0, :, 0], base)  # the first pair turns by one radian a position

    def mixed(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        if grouped_attention is not None:
            return grouped_attention(query, key, value, mask)
        group = module.n_heads // module.n_kv_heads
        key, value = key.repeat_interleave(group, dim=1), value.repeat_interleave(group, dim=1)
        return scaled_dot_product_attention(query, key, value, mask)[0]

    def forward(x: Tensor, mask: Tensor, angles: Tensor | None, cache: tuple[Tensor, Tensor]):
        query = split_heads(module.w_q(x), module.n_heads)
        key = split_heads(module.w_k(x), module.n_kv_heads)
        value = split_heads(module.w_v(x), module.n_kv_heads)
        if angles is not None:
            query, key = turned(query, angles), turned(key, angles)
        key, value = torch.cat([cache[0], key], dim=2), torch.cat([cache[1], value], dim=2)
        return module.w_o(merge_heads(mixed(query, key, value, mask))), None, (key, value)

    return forward
