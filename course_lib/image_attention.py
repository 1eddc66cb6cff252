"""Self-attention over an image: every pixel of a feature map is a token."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.attention import scaled_dot_product_attention


class ImageAttention(nn.Module):
    """x + γ · attention over all pixels, in the shape of x; and the weights.

    The projections are 1×1 convolutions: one linear map, the same for every
    pixel. γ starts at 0, so the block starts as the identity. The weights are
    (batch, pixels, pixels), with the pixels in row-major order.
    Source: Zhang et al. 2019, section 3 (there without the 1 / √d_k).

    >>> block = ImageAttention(channels=4, d_k=2)
    >>> x = torch.randn(1, 4, 3, 5)
    >>> output, weights = block(x)
    >>> torch.equal(output, x), weights.shape
    (True, torch.Size([1, 15, 15]))
    """

    def __init__(self, channels: int, d_k: int):
        super().__init__()
        self.w_q = nn.Conv2d(channels, d_k, kernel_size=1)
        self.w_k = nn.Conv2d(channels, d_k, kernel_size=1)
        self.w_v = nn.Conv2d(channels, d_k, kernel_size=1)
        self.w_o = nn.Conv2d(d_k, channels, kernel_size=1)
        self.gamma = nn.Parameter(torch.zeros(()))

    def forward(
        self, x: Float[Tensor, "batch channels height width"]
    ) -> tuple[Float[Tensor, "batch channels height width"], Float[Tensor, "batch pixels pixels"]]:
        query, key, value = (w(x).flatten(start_dim=2).mT for w in (self.w_q, self.w_k, self.w_v))
        mixed, weights = scaled_dot_product_attention(query, key, value)
        mixed = mixed.mT.unflatten(-1, x.shape[2:])
        return x + self.gamma * self.w_o(mixed), weights
