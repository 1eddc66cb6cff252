"""The parts of today: against torch, against Llama's published code, against loops and properties."""

import inspect
import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import assert_equal, gradient, scramble
from torch import nn

from course_lib.masks import causal_mask
from course_lib.modern import GroupedQueryAttention, RMSNorm, SwiGLU, rotary_angles, rotate
from course_lib.multi_head import MultiHeadAttention


@pytest.fixture(autouse=True)
def _double():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)
    yield
    torch.set_default_dtype(before)


@pytest.mark.parametrize("shape", [(2, 3, 5), (4, 4, 4), (0, 7), (1,)])
def test_rms_norm_equals_torch_with_gradients(shape):
    ours, theirs = scramble(RMSNorm(shape[-1], eps=1e-3)), nn.RMSNorm(shape[-1], eps=1e-3)
    theirs.weight.data.copy_(ours.gain)
    x = (torch.randn(shape) + 2).requires_grad_()
    assert_equal(ours(x), theirs(x))
    for mine, reference in zip(gradient(ours(x), x, ours.gain), gradient(theirs(x), x, theirs.weight), strict=True):
        assert_equal(mine, reference)


def test_rms_norm_is_not_layer_norm():
    x = torch.randn(3, 5)
    assert not torch.allclose(RMSNorm(5)(x), RMSNorm(5)(x + 1))
    centered = x - x.mean(dim=-1, keepdim=True)
    assert_equal(RMSNorm(5, eps=1e-5)(centered), nn.LayerNorm(5, eps=1e-5)(x))


def test_rms_norm_of_large_numbers_in_half_precision():
    x = torch.tensor([[-300.0, 100.0, 400.0, 5000.0]])
    with torch.no_grad():
        ours, expected = RMSNorm(4).half()(x.half()), RMSNorm(4)(x)
    assert ours.dtype == torch.float16
    torch.testing.assert_close(ours.double(), expected, rtol=0.002, atol=0.002)


@settings(max_examples=12, deadline=None)
@given(st.sampled_from(["interleaved", "half"]), st.integers(1, 7), st.integers(0, 50))
def test_scores_depend_on_the_distance_alone(layout, half, shift):
    torch.set_default_dtype(torch.float64)
    query, key = torch.randn(2, 3, 1, 2 * half)
    angles = rotary_angles(torch.arange(80), 2 * half)
    score = lambda q, k: (rotate(query, angles[[q]], layout) * rotate(key, angles[[k]], layout)).sum(-1)  # noqa: E731
    assert_equal(score(7, 4), score(7 + shift, 4 + shift))
    assert_equal(score(4, 7), score(4 + shift, 7 + shift))
    assert_equal(rotate(query, angles[[9]], layout).norm(dim=-1), query.norm(dim=-1))
    assert torch.equal(rotate(query, angles[[0]], layout), query)


def test_mixed_layouts_lose_the_property():
    query, key = torch.randn(2, 1, 8)
    angles = rotary_angles(torch.arange(20), 8)
    mixed = [
        (rotate(query, angles[[q]], "half") * rotate(key, angles[[k]], "interleaved")).sum()
        for q, k in ((7, 4), (13, 10))
    ]
    assert abs(mixed[0] - mixed[1]) > 1e-3


def test_interleaved_layout_is_a_complex_product():
    x, positions = torch.randn(2, 5, 6), torch.tensor([0, 3, 4, 11, 2])
    angles = rotary_angles(positions, 6, base=100.0)
    expected_angles = torch.tensor([[p / 100 ** (2 * i / 6) for i in range(3)] for p in positions.tolist()])
    assert_equal(angles, expected_angles)
    turned = torch.view_as_complex(x.view(2, 5, 3, 2)) * torch.polar(torch.ones_like(angles), angles)
    assert_equal(rotate(x, angles, "interleaved"), torch.view_as_real(turned).flatten(-2))


def test_half_layout_equals_llama():
    llama = pytest.importorskip("transformers.models.llama.modeling_llama")
    query, key = torch.randn(2, 2, 3, 5, 8)
    angles = rotary_angles(torch.arange(5), 8)
    doubled = torch.cat([angles, angles], dim=-1)[None]
    their_query, their_key = llama.apply_rotary_pos_emb(query, key, doubled.cos(), doubled.sin())
    assert_equal(rotate(query, angles, "half"), their_query)
    assert_equal(rotate(key, angles, "half"), their_key)


def test_one_layout_is_the_other_with_features_reordered():
    x, angles = torch.randn(2, 5, 8), rotary_angles(torch.arange(5), 8)
    order = torch.tensor([0, 2, 4, 6, 1, 3, 5, 7])
    assert_equal(rotate(x[..., order], angles, "half"), rotate(x, angles, "interleaved")[..., order])


def test_rotation_keeps_half_precision():
    x, angles = torch.randn(2, 5, 8), rotary_angles(torch.arange(5), 8)
    out = rotate(x.bfloat16(), angles)
    assert out.dtype == torch.bfloat16
    torch.testing.assert_close(out.double(), rotate(x, angles), rtol=0.03, atol=0.03)


def test_swiglu_gates_feature_by_feature():
    ours = scramble(SwiGLU(5, 7))
    x = torch.randn(2, 3, 5)
    gate, up = x @ ours.w_1.weight.T, x @ ours.w_3.weight.T
    assert_equal(ours(x), (gate / (1 + torch.exp(-gate)) * up) @ ours.w_2.weight.T)


@pytest.mark.parametrize(("n_heads", "n_kv_heads"), [(6, 1), (6, 2), (6, 3), (6, 6), (1, 1)])
def test_grouped_query_attention_equals_a_loop_over_groups_and_torch(n_heads, n_kv_heads):
    d_k, seq_len = 2, 5
    ours = scramble(GroupedQueryAttention(n_heads * d_k, n_heads, n_kv_heads))
    x = torch.randn(3, seq_len, n_heads * d_k, requires_grad=True)
    output, weights, (key, value) = ours(x, causal_mask(seq_len))
    assert key.shape == value.shape == (3, n_kv_heads, seq_len, d_k)
    group, heads = n_heads // n_kv_heads, []
    for head in range(n_heads):
        shared = slice(head // group * d_k, (head // group + 1) * d_k)
        q = x @ ours.w_q.weight[head * d_k : (head + 1) * d_k].T
        k, v = x @ ours.w_k.weight[shared].T, x @ ours.w_v.weight[shared].T
        scores = (q @ k.mT / d_k**0.5).masked_fill(~causal_mask(seq_len), -torch.inf)
        assert_equal(weights[:, head], scores.softmax(-1))
        heads.append(scores.softmax(-1) @ v)
    reference = torch.cat(heads, dim=-1) @ ours.w_o.weight.T
    assert_equal(output, reference)
    assert_equal(gradient(output, x)[0], gradient(reference, x)[0])
    q = (x @ ours.w_q.weight.T).unflatten(-1, (n_heads, d_k)).transpose(1, 2)
    fused = nn.functional.scaled_dot_product_attention(q, key, value, is_causal=True, enable_gqa=True)
    assert_equal(output, fused.transpose(1, 2).flatten(2) @ ours.w_o.weight.T)


def test_one_group_per_head_is_multi_head_attention():
    ours, classic = GroupedQueryAttention(6, 3, 3), MultiHeadAttention(6, 3, bias=False)
    classic.load_state_dict(ours.state_dict())
    x, mask = torch.randn(2, 5, 6), torch.rand(2, 1, 5, 5) > 0.3
    output, weights, _ = ours(x, mask)
    expected, expected_weights = classic(x, x, x, mask)
    assert_equal(output, expected)
    assert_equal(weights, expected_weights)


@pytest.mark.parametrize("layout", ["interleaved", "half"])
def test_cached_tokens_equal_all_at_once(layout):
    ours = GroupedQueryAttention(12, 3, 1, layout)
    x, angles = torch.randn(2, 7, 12), rotary_angles(torch.arange(7), 4)
    whole, _, _ = ours(x, causal_mask(7), angles)
    cache, parts = None, []
    for start, stop in ((0, 4), (4, 5), (5, 7)):
        mask = causal_mask(stop)[start:]
        part, _, cache = ours(x[:, start:stop], mask, angles[start:stop], cache)
        parts.append(part)
    assert_equal(torch.cat(parts, dim=1), whole)


def test_values_are_not_rotated():
    ours = GroupedQueryAttention(12, 3, 1)
    x = torch.randn(2, 5, 12)
    _, _, (key, value) = ours(x, None, rotary_angles(torch.arange(5), 4))
    _, _, (plain_key, plain_value) = ours(x)
    assert torch.equal(value, plain_value)
    assert not torch.equal(key, plain_key)


def test_messages():
    with pytest.raises(ValueError, match="expected layout 'interleaved' or 'half', got 'pairs': take the weights' own"):
        rotate(torch.ones(1, 2), torch.ones(1, 1), "pairs")
    with pytest.raises(ValueError, match="expected an even d_k, got 5: RoPE turns pairs"):
        rotary_angles(torch.arange(3), 5)
    message = "expected d_model divisible by n_heads and n_heads by n_kv_heads, got"
    with pytest.raises(ValueError, match=f"{message} 7, 2 and 1: every key-value head serves"):
        GroupedQueryAttention(7, 2, 1)
    with pytest.raises(ValueError, match=f"{message} 8, 4 and 3: every key-value head serves"):
        GroupedQueryAttention(8, 4, 3)


def test_angles_tell_positions_apart_whatever_the_default():
    torch.set_default_dtype(torch.bfloat16)
    try:
        angles = rotary_angles(torch.arange(1001), d_k=4)
    finally:
        torch.set_default_dtype(torch.float32)
    assert angles[:, 0].tolist() == list(range(1001))


@pytest.mark.parametrize(("n_heads", "n_kv_heads"), [(4, 0), (0, 1), (-4, -2)])
def test_no_heads_are_refused(n_heads, n_kv_heads):
    with pytest.raises(ValueError, match="expected d_model divisible by n_heads"):
        GroupedQueryAttention(8, n_heads, n_kv_heads)


def test_positions_in_a_table_are_refused():
    """With n = d_k / 2 positions, a table (1, n) would give angles of a wrong shape, without a word."""
    with pytest.raises(ValueError, match=r"expected positions in one row, got \(1, 4\): .* take positions\[0\]"):
        inspect.unwrap(rotary_angles)(torch.arange(4)[None], d_k=8)


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8, torch.int8, torch.bool])
def test_whole_numbers_are_refused_and_lose_no_fraction(dtype, unchecked):
    x = torch.tensor([[1, 2, 3, 4], [0, 0, 1, 7]]).to(dtype)
    message = f"expected x in floating-point numbers, got {dtype}: write"
    turn = lambda x: rotate(x, rotary_angles(torch.arange(2), d_k=4))  # noqa: E731
    for part in (RMSNorm(4), turn, lambda x: turn(x[None, None])):
        with pytest.raises(TypeError, match=message):
            part(x)


@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize(
    ("x", "angles"), [((5, 4), (5, 1)), ((5, 4), (1, 2)), ((2, 3, 5, 4), (3, 2)), ((5, 5), (5, 2))]
)
def test_angles_of_another_number_of_tokens_or_pairs_are_refused(x, angles, layout, unchecked):
    words = f"expected an angle for each token and pair, got {angles} for x {x}: see rotary_angles"
    with pytest.raises(ValueError, match=re.escape(words)):
        rotate(torch.ones(x), torch.ones(angles), layout)


@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_each_sentence_may_have_angles_of_its_own(layout):
    x, positions = torch.randn(2, 3, 5, 4), torch.tensor([[0, 1, 2, 3, 4], [0, 0, 0, 7, 8]])
    angles = torch.stack([rotary_angles(row, d_k=4) for row in positions])
    turned = rotate(x, angles[:, None], layout)
    for row in range(2):
        assert_equal(turned[row], rotate(x[row], angles[row], layout))
