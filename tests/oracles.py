"""Copies weights between course_lib and the libraries it is compared with."""

import torch
from torch import nn

from course_lib.layer_norm import LayerNorm
from course_lib.multi_head import MultiHeadAttention


@torch.no_grad()
def copy_linear(ours: nn.Linear, theirs: nn.Linear) -> None:
    ours.weight.copy_(theirs.weight)
    if theirs.bias is not None:
        ours.bias.copy_(theirs.bias)


@torch.no_grad()
def copy_norm(ours: LayerNorm, theirs: nn.LayerNorm) -> None:
    ours.gain.copy_(theirs.weight)
    ours.bias.copy_(theirs.bias)
    ours.eps = theirs.eps


@torch.no_grad()
def copy_attention(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    for linear, weight, bias in zip(
        (ours.w_q, ours.w_k, ours.w_v), theirs.in_proj_weight.chunk(3), theirs.in_proj_bias.chunk(3), strict=True
    ):
        linear.weight.copy_(weight)
        linear.bias.copy_(bias)
    copy_linear(ours.w_o, theirs.out_proj)


def copy_encoder_layer(ours: nn.Module, theirs: nn.TransformerEncoderLayer) -> None:
    copy_attention(ours.attention, theirs.self_attn)
    copy_linear(ours.feed_forward.w_1, theirs.linear1)
    copy_linear(ours.feed_forward.w_2, theirs.linear2)
    copy_norm(ours.residuals[0].norm, theirs.norm1)
    copy_norm(ours.residuals[1].norm, theirs.norm2)


def copy_decoder_layer(ours: nn.Module, theirs: nn.TransformerDecoderLayer) -> None:
    copy_attention(ours.self_attention, theirs.self_attn)
    copy_attention(ours.cross_attention, theirs.multihead_attn)
    copy_linear(ours.feed_forward.w_1, theirs.linear1)
    copy_linear(ours.feed_forward.w_2, theirs.linear2)
    for residual, norm in zip(ours.residuals, (theirs.norm1, theirs.norm2, theirs.norm3), strict=True):
        copy_norm(residual.norm, norm)


def copy_stack(ours: nn.Module, theirs: nn.TransformerEncoder | nn.TransformerDecoder) -> None:
    copy_layer = copy_encoder_layer if isinstance(theirs, nn.TransformerEncoder) else copy_decoder_layer
    for our_layer, their_layer in zip(ours.layers, theirs.layers, strict=True):
        copy_layer(our_layer, their_layer)
    if theirs.norm is not None:
        copy_norm(ours.norm, theirs.norm)


@torch.no_grad()
def scramble(module: nn.Module, seed: int = 0) -> nn.Module:
    """Every parameter random: a bias of 0 or a gain of 1 would hide a parameter that is never used."""
    generator = torch.Generator().manual_seed(seed)
    for parameter in module.parameters():
        noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
        scale = parameter.shape[-1] ** -0.5 if parameter.dim() > 1 else 0.3
        parameter.copy_((noise * scale + (1.0 if "norm" in type(module).__name__.lower() else 0.0)).to(parameter))
    return module


def gradient(output: torch.Tensor, *inputs: torch.Tensor, seed: int = 1) -> list[torch.Tensor]:
    """Gradients of a random weighted sum of `output`: a plain sum is blind to what a layer norm does."""
    generator = torch.Generator().manual_seed(seed)
    weights = torch.randn(output.shape, generator=generator, dtype=torch.float64).to(output)
    return list(torch.autograd.grad((output * weights).sum(), inputs, retain_graph=True))


def assert_equal(ours: torch.Tensor, theirs: torch.Tensor, tolerance: float = 1e-6) -> None:
    torch.testing.assert_close(ours, theirs, rtol=0.0, atol=tolerance)
