"""Layer normalization and the residual stream it keeps in range."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.sizes import check_floating


def layer_norm(
    x: Float[Tensor, "*shape d_model"],
    gain: Float[Tensor, " d_model"],
    bias: Float[Tensor, " d_model"],
    eps: float = 1e-5,
) -> Float[Tensor, "*shape d_model"]:
    """gain · (x − mean) / √(variance + eps) + bias, for each token by itself.

    Mean and variance run over the features. The variance divides by d_model,
    and eps stands under the root. Half-precision numbers are normalized in
    single precision: the square of 256 is already too large for float16.
    TypeError for whole numbers, which would lose their fractions.
    Source: Ba, Kiros, and Hinton 2016, equations 3 and 4.

    >>> one, zero = torch.ones(4), torch.zeros(4)
    >>> layer_norm(torch.tensor([4.0, 4.0, 0.0, 0.0]), gain=one, bias=zero)
    tensor([ 1.0000,  1.0000, -1.0000, -1.0000])
    """
    check_floating(x=x)
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    mean = wide.mean(dim=-1, keepdim=True)
    variance = (wide - mean).square().mean(dim=-1, keepdim=True)
    normalized = (wide - mean) / torch.sqrt(variance + eps)
    return gain * normalized.to(x.dtype) + bias


class LayerNorm(nn.Module):
    """`layer_norm` with a trained gain (1 at first) and bias (0 at first).

    >>> LayerNorm(2)(torch.tensor([[1.0, 3.0]]))
    tensor([[-1.0000,  1.0000]], grad_fn=<AddBackward0>)
    """

    def __init__(self, d_model: int, eps: float = 1e-5):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, x: Float[Tensor, "*shape d_model"]) -> Float[Tensor, "*shape d_model"]:
        return layer_norm(x, self.gain, self.bias, self.eps)


class Residual(nn.Module):
    """A sublayer with a way around it: x + f(x), and a norm.

    The norm follows the sum (post-norm, as in the paper), or it precedes f
    (pre-norm). Pre-norm leaves the stream itself untouched, so a stack of it
    usually ends with one last norm. Dropout acts on what f returns, never on
    the sum.
    Source: Vaswani et al. 2017, sections 3.1 and 5.4 (post-norm);
    Xiong et al. 2020 (pre-norm).

    >>> residual = Residual(d_model=2, dropout=0.0, norm_first=True)
    >>> x = torch.tensor([[1.0, 3.0]])
    >>> residual(x, lambda y: 10 * y)    # 10 · (−1, 1) is added to the stream
    tensor([[-9.0000, 13.0000]], grad_fn=<AddBackward0>)
    """

    def __init__(self, d_model: int, dropout: float = 0.1, norm_first: bool = False):
        super().__init__()
        self.norm = LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.norm_first = norm_first

    def forward(
        self, x: Float[Tensor, "*shape d_model"], sublayer: Callable[[Tensor], Tensor]
    ) -> Float[Tensor, "*shape d_model"]:
        if self.norm_first:
            return x + self.dropout(sublayer(self.norm(x)))
        return self.norm(x + self.dropout(sublayer(x)))
