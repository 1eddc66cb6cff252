"""Attention over pixels: against nn.MultiheadAttention on the flattened map, and γ."""

import pytest
import torch
from oracles import assert_equal, gradient
from torch import nn

from course_lib.image_attention import ImageAttention


def block(channels, d_k, gamma):
    torch.manual_seed(0)
    ours = ImageAttention(channels, d_k).double()
    nn.init.constant_(ours.gamma, gamma)
    return ours


@pytest.mark.parametrize(
    ("batch", "channels", "height", "width", "d_k"), [(2, 3, 5, 7, 11), (4, 4, 4, 4, 4), (1, 2, 1, 1, 1)]
)
def test_equals_attention_over_the_flattened_pixels(batch, channels, height, width, d_k):
    ours = block(channels, d_k, gamma=0.7)
    x = torch.randn(batch, channels, height, width, dtype=torch.float64, requires_grad=True)
    output, weights = ours(x)
    tokens = x.permute(0, 2, 3, 1).reshape(batch, height * width, channels)
    query, key, value = (tokens @ w.weight[:, :, 0, 0].T + w.bias for w in (ours.w_q, ours.w_k, ours.w_v))
    mixed = (
        nn.functional.scaled_dot_product_attention(query, key, value) @ ours.w_o.weight[:, :, 0, 0].T + ours.w_o.bias
    )
    reference = x + 0.7 * mixed.reshape(batch, height, width, channels).permute(0, 3, 1, 2)
    assert_equal(output, reference)
    assert_equal(gradient(output, x)[0], gradient(reference, x)[0])
    assert_equal(weights.sum(-1), torch.ones(batch, height * width, dtype=torch.float64))


def test_starts_as_the_identity_and_gamma_learns_first():
    ours = block(3, 2, gamma=0.0)
    x = torch.randn(2, 3, 5, 7, dtype=torch.float64)
    output, _ = ours(x)
    assert torch.equal(output, x)
    (output * torch.randn_like(output)).sum().backward()
    assert ours.gamma.grad.abs() > 0
    assert ours.w_v.weight.grad.eq(0).all()


def test_weights_are_in_row_major_order():
    ours = block(1, 1, gamma=1.0)
    with torch.no_grad():
        for w in (ours.w_q, ours.w_k):
            w.weight.fill_(1.0)
            w.bias.zero_()
    x = torch.zeros(1, 1, 3, 5, dtype=torch.float64)
    x[0, 0, 1, 2] = 9.0
    _, weights = ours(x)
    assert weights[0, 1 * 5 + 2].argmax().item() == 1 * 5 + 2


def test_a_far_pixel_counts_and_order_does_not():
    ours = block(3, 2, gamma=1.0)
    x = torch.randn(1, 3, 4, 4, dtype=torch.float64)
    changed = x.clone()
    changed[0, :, 3, 3] += 1.0
    assert (ours(changed)[0][0, :, 0, 0] - ours(x)[0][0, :, 0, 0]).abs().sum() > 1e-9
    assert_equal(ours(x.flip(3))[0], ours(x)[0].flip(3), 1e-9)
