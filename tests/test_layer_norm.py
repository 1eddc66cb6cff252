"""Layer norm against nn.LayerNorm, and the residual stream against its two formulas."""

import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import assert_equal, copy_norm, gradient
from torch import nn

from course_lib.layer_norm import LayerNorm, Residual, layer_norm


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.integers(0, 5), min_size=0, max_size=3),
    st.integers(1, 13),
    st.sampled_from([1e-5, 1e-12, 0.1]),
    st.integers(0, 99),
)
def test_equals_torch_with_gradients(shape, d_model, eps, seed):
    torch.manual_seed(seed)
    theirs = nn.LayerNorm(d_model, eps=eps).double()
    nn.init.normal_(theirs.weight)
    nn.init.normal_(theirs.bias)
    ours = LayerNorm(d_model).double()
    copy_norm(ours, theirs)
    x = (3 * torch.randn(*shape, d_model, dtype=torch.float64) + 5).requires_grad_()
    assert_equal(ours(x), theirs(x))
    if d_model > 1:
        for mine, reference in zip(
            gradient(ours(x), x, ours.gain, ours.bias), gradient(theirs(x), x, theirs.weight, theirs.bias), strict=True
        ):
            assert_equal(mine, reference)


def test_eps_stands_inside_the_root_and_the_variance_is_biased():
    x = torch.tensor([[0.0, 2.0]], dtype=torch.float64)
    one, zero = torch.ones(2, dtype=torch.float64), torch.zeros(2, dtype=torch.float64)
    assert_equal(layer_norm(x, one, zero, eps=3.0), torch.tensor([[-0.5, 0.5]], dtype=torch.float64), 1e-12)


def test_a_token_is_normalized_by_itself():
    x = torch.randn(3, 5, 7)
    changed = x.clone()
    changed[1, 2] += 4.0
    moved = (LayerNorm(7)(x) != LayerNorm(7)(changed)).any(dim=-1)
    assert moved.nonzero().tolist() == [[1, 2]]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_stays_finite_and_close(dtype):
    torch.manual_seed(0)
    x = torch.randn(3, 5, 64) * 3
    ours = LayerNorm(64).to(dtype)(x.to(dtype))
    assert ours.dtype == dtype
    torch.testing.assert_close(ours.float(), LayerNorm(64)(x), rtol=0.02, atol=0.03)


def test_large_numbers_in_half_precision():
    """The square of 300 is too large for float16: the result must not become the bias."""
    x = torch.tensor([[-300.0, 100.0, 400.0, 5000.0]])
    with torch.no_grad():
        ours, expected = LayerNorm(4).half()(x.half()), LayerNorm(4)(x)
    torch.testing.assert_close(ours.float(), expected, rtol=0.002, atol=0.002)


@pytest.mark.parametrize("norm_first", [False, True])
def test_residual_follows_its_formula(norm_first):
    residual = Residual(5, dropout=0.0, norm_first=norm_first).double()
    nn.init.normal_(residual.norm.gain)
    x = torch.randn(2, 3, 5, dtype=torch.float64)
    f = nn.Linear(5, 5).double()
    expected = x + f(residual.norm(x)) if norm_first else residual.norm(x + f(x))
    assert_equal(residual(x, f), expected, 1e-12)


def test_pre_norm_with_a_silent_sublayer_is_the_identity():
    x = torch.randn(2, 3, 5)
    assert torch.equal(Residual(5, norm_first=True)(x, torch.zeros_like), x)


@pytest.mark.parametrize("norm_first", [False, True])
def test_dropout_acts_on_the_sublayer_alone(norm_first):
    torch.manual_seed(0)
    residual = Residual(8, dropout=1.0, norm_first=norm_first)
    x = torch.randn(2, 3, 8)
    assert torch.equal(residual(x, lambda y: y * 9), x if norm_first else residual.norm(x))


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8, torch.int8, torch.bool])
def test_whole_numbers_are_refused_and_lose_no_fraction(dtype, unchecked):
    x = torch.tensor([[1, 2, 3, 4], [0, 0, 1, 7]]).to(dtype)
    message = f"expected x in floating-point numbers, got {dtype}: write x.float()"
    for norm in (
        lambda x: layer_norm(x, torch.ones(4), torch.zeros(4)),
        LayerNorm(4),
        Residual(4, norm_first=True).norm,
    ):
        with pytest.raises(TypeError, match=re.escape(message)):
            norm(x)
