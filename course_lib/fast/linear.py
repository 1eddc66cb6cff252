"""Linear layers whose weights are laid out once for the processor's matrix kernel."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

ROWS = 64
"""The layout is chosen for products with about this many rows; it serves others as well."""


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
