"""Scaled dot-product attention against F.scaled_dot_product_attention, loops, and its own properties."""

import inspect
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import assert_equal, gradient
from torch.nn import functional as F

from course_lib.attention import scaled_dot_product_attention

LEADS = st.lists(st.integers(1, 3), max_size=3).map(tuple)
SIZES = st.integers(1, 9)
SEEDS = st.integers(0, 999)


def random_inputs(lead, q_len, k_len, d_k, d_v, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    shapes = [(*lead, q_len, d_k), (*lead, k_len, d_k), (*lead, k_len, d_v)]
    return [torch.randn(s, generator=generator, dtype=torch.float64).to(dtype).requires_grad_() for s in shapes]


def by_loops(query, key, value):
    """Equation 1 of the paper for one sentence, with numbers instead of tensors: slow, and obviously right."""
    q, k, v = query.tolist(), key.tolist(), value.tolist()
    rows = []
    for asked in q:
        exps = [math.exp(sum(a * b for a, b in zip(asked, found, strict=True)) / math.sqrt(len(asked))) for found in k]
        rows.append([sum(e * row[n] for e, row in zip(exps, v, strict=True)) / sum(exps) for n in range(len(v[0]))])
    return torch.tensor(rows, dtype=torch.float64)


# Against the library and against loops


@settings(max_examples=60)
@given(LEADS, SIZES, SIZES, SIZES, SIZES, SEEDS)
def test_output_and_gradients_equal_pytorch(lead, q_len, k_len, d_k, d_v, seed):
    ours, theirs = (random_inputs(lead, q_len, k_len, d_k, d_v, seed) for _ in range(2))
    output, _ = scaled_dot_product_attention(*ours)
    expected = F.scaled_dot_product_attention(*theirs)
    assert_equal(output, expected)
    for a, b in zip(gradient(output, *ours), gradient(expected, *theirs), strict=True):
        assert_equal(a, b)


@settings(max_examples=40)
@given(SIZES, SIZES, SIZES, SIZES, SEEDS)
def test_masked_output_and_gradients_equal_pytorch(q_len, k_len, d_k, d_v, seed):
    mask = torch.rand(2, 1, q_len, k_len, generator=torch.Generator().manual_seed(seed)) > 0.4
    mask[..., 0] = True  # no empty row: what PyTorch does there depends on its kernel
    ours, theirs = (random_inputs((2, 3), q_len, k_len, d_k, d_v, seed) for _ in range(2))
    output, _ = scaled_dot_product_attention(*ours, mask)
    expected = F.scaled_dot_product_attention(*theirs, attn_mask=mask)
    assert_equal(output, expected)
    for a, b in zip(gradient(output, *ours), gradient(expected, *theirs), strict=True):
        assert_equal(a, b)


@pytest.mark.parametrize("sizes", [(2, 3, 5, 7), (5, 2, 3, 11), (4, 4, 4, 4), (1, 1, 1, 1), (1, 7, 2, 3)])
def test_output_equals_loops(sizes):
    query, key, value = random_inputs((), *sizes)
    assert_equal(scaled_dot_product_attention(query, key, value)[0], by_loops(query, key, value))


@settings(max_examples=20)
@given(SIZES, SIZES, SIZES, SEEDS)
def test_weights_are_what_an_identity_of_values_gives_back(q_len, k_len, d_k, seed):
    query, key, _ = random_inputs((2,), q_len, k_len, d_k, 1, seed)
    identity = torch.eye(k_len, dtype=torch.float64).expand(2, k_len, k_len)
    _, weights = scaled_dot_product_attention(query, key, identity)
    assert_equal(weights, F.scaled_dot_product_attention(query, key, identity))


# Properties


@settings(max_examples=30)
@given(LEADS, SIZES, SIZES, SIZES, SEEDS)
def test_values_of_sevens_come_back_as_sevens(lead, q_len, k_len, d_k, seed):
    query, key, value = random_inputs(lead, q_len, k_len, d_k, 5, seed)
    output, weights = scaled_dot_product_attention(query, key, torch.full_like(value, 7.0))
    assert_equal(output, torch.full_like(output, 7.0))
    assert_equal(weights.sum(dim=-1), torch.ones_like(weights[..., 0]))
    assert (weights >= 0).all()


@settings(max_examples=30)
@given(SIZES, SIZES, SIZES, SEEDS)
def test_keys_have_no_order_and_queries_do_not_meet(q_len, k_len, d_k, seed):
    query, key, value = random_inputs((2,), q_len, k_len, d_k, 3, seed)
    output, weights = scaled_dot_product_attention(query, key, value)
    order = torch.randperm(k_len, generator=torch.Generator().manual_seed(seed))
    shuffled, moved = scaled_dot_product_attention(query, key[:, order], value[:, order])
    assert_equal(shuffled, output)
    assert_equal(moved, weights[..., order])
    assert_equal(scaled_dot_product_attention(query.flip(1), key, value)[0], output.flip(1))
    assert_equal(scaled_dot_product_attention(query[:, :1], key, value)[0], output[:, :1])


def test_output_is_linear_in_the_values():
    query, key, value = random_inputs((2,), 3, 5, 7, 11)
    other = torch.randn_like(value)
    together, _ = scaled_dot_product_attention(query, key, 2 * value + other)
    apart = [scaled_dot_product_attention(query, key, v)[0] for v in (value, other)]
    assert_equal(together, 2 * apart[0] + apart[1])


def test_the_same_vector_added_to_all_keys_changes_nothing():
    query, key, value = random_inputs((2,), 3, 5, 7, 11)
    shift = torch.randn(7, dtype=torch.float64)
    for a, b in zip(
        scaled_dot_product_attention(query, key + shift, value),
        scaled_dot_product_attention(query, key, value),
        strict=True,
    ):
        assert_equal(a, b)


def test_spread_of_the_scores_is_one_at_every_width():
    generator = torch.Generator().manual_seed(0)
    for d_k in (4, 64, 1024):
        query, key = (torch.randn(200, d_k, generator=generator).double() for _ in range(2))
        _, weights = scaled_dot_product_attention(query, key, key)
        scores = weights.log() - weights.log().mean(dim=-1, keepdim=True)
        assert scores.std().item() == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("seed", range(3))
def test_gradient_descent_ends_at_the_nearest_query_with_the_wanted_weights(seed):
    """As chapter 02 says: what is learned depends on the start, and it is the nearest of all queries that will do."""
    generator = torch.Generator().manual_seed(seed)
    key, start, wanted = (torch.randn(n, 5, generator=generator, dtype=torch.float64) for n in (3, 1, 1))
    value = torch.eye(3, dtype=torch.float64)  # the output is the weights
    target, _ = scaled_dot_product_attention(wanted, key, value)
    query = start.clone().requires_grad_()
    optimizer = torch.optim.SGD([query], lr=3.0)
    for _step in range(1500):
        optimizer.zero_grad()
        (scaled_dot_product_attention(query, key, value)[0] - target).square().sum().backward()
        optimizer.step()
    differences = key[1:] - key[:1]
    nearest = start + (wanted - start) @ differences.T @ torch.linalg.pinv(differences).T
    assert_equal(query.detach(), nearest, 1e-6)
    assert not torch.allclose(nearest, wanted, atol=0.1)


# Masks


def test_a_row_with_nothing_to_see_is_zero_and_so_are_its_gradients():
    query, key, value = random_inputs((2,), 3, 5, 7, 11)
    mask = torch.ones(3, 5, dtype=torch.bool)
    mask[1] = False
    output, weights = scaled_dot_product_attention(query, key, value, mask)
    assert output[:, 1].eq(0).all()
    assert weights[:, 1].eq(0).all()
    of_query, of_key, of_value = gradient(output, query, key, value)
    assert of_query[:, 1].eq(0).all()
    assert all(g.isfinite().all() for g in (of_query, of_key, of_value))


def test_hidden_keys_do_not_matter():
    query, key, value = random_inputs((2,), 3, 5, 7, 11)
    mask = torch.tensor([True, True, False, True, False])
    output, weights = scaled_dot_product_attention(query, key, value, mask)
    assert weights[..., ~mask].eq(0).all()
    assert_equal(output, scaled_dot_product_attention(query, key[:, mask], value[:, mask])[0])


# Types and edges


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_lower_precision_stays_close_and_keeps_its_type(dtype):
    exact = random_inputs((2, 3), 5, 7, 11, 13)
    output, weights = scaled_dot_product_attention(*(t.detach().to(dtype) for t in exact))
    assert output.dtype == weights.dtype == dtype
    tolerance = {torch.float16: 1e-2, torch.bfloat16: 8e-2, torch.float32: 1e-5}[dtype]
    assert_equal(output.double(), scaled_dot_product_attention(*exact)[0], tolerance)


def test_half_precision_does_not_overflow_where_the_unscaled_scores_would():
    query, key = torch.full((1, 64), 40.0), torch.stack([torch.full((64,), x) for x in (40.0, 39.0)])
    value = torch.tensor([[3.0], [5.0]])
    assert (query.half() @ key.half().T).isinf().any()
    output, weights = scaled_dot_product_attention(query.half(), key.half(), value.half())
    assert output.item() == 3.0
    assert weights.isfinite().all()


def test_large_scores_do_not_overflow():
    query, key, value = random_inputs((), 3, 5, 7, 2)
    _, weights = scaled_dot_product_attention(query * 1e4, key * 1e4, value)
    assert_equal(weights.sum(dim=-1), torch.ones(3, dtype=torch.float64))


@pytest.mark.parametrize(
    ("lead", "q_len", "k_len"), [((0,), 3, 5), ((2,), 0, 5), ((2,), 3, 0), ((2, 0), 3, 5), ((2,), 1, 1)]
)
def test_empty_sizes_equal_pytorch(lead, q_len, k_len):
    query, key, value = random_inputs(lead, q_len, k_len, 7, 11)
    output, weights = scaled_dot_product_attention(query, key, value)
    assert output.shape == (*lead, q_len, 11)
    assert weights.shape == (*lead, q_len, k_len)
    assert_equal(output, F.scaled_dot_product_attention(query, key, value))


def test_transposed_inputs_are_taken_as_they_come():
    query, key, value = random_inputs((2,), 3, 5, 7, 11)
    as_stored = [t.detach().transpose(-2, -1).contiguous().transpose(-2, -1) for t in (query, key, value)]
    assert_equal(scaled_dot_product_attention(*as_stored)[0], scaled_dot_product_attention(query, key, value)[0])


# Errors: the annotations would speak first, so these call the function beneath them


def test_widths_that_differ_are_refused():
    query, key, value = torch.zeros(2, 3, 5), torch.zeros(2, 7, 4), torch.zeros(2, 7, 11)
    expected = "expected keys of width d_k = 5, got 4: project queries and keys to one width with two learned matrices"
    with pytest.raises(ValueError, match=expected):
        inspect.unwrap(scaled_dot_product_attention)(query, key, value)


def test_more_keys_than_values_are_refused():
    query, key, value = torch.zeros(2, 3, 5), torch.zeros(2, 7, 5), torch.zeros(2, 6, 11)
    expected = "expected one value for each of the 7 keys, got 6: make keys and values from the same tokens"
    with pytest.raises(ValueError, match=expected):
        inspect.unwrap(scaled_dot_product_attention)(query, key, value)
