"""Masks against plain loops and against PyTorch's attention, with gradients, empty rows and half precision."""

import inspect
import math
import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracles import assert_equal, gradient
from torch import nn
from torch.nn import functional as F

from course_lib.attention import scaled_dot_product_attention
from course_lib.masks import causal_mask, masked_softmax, padding_mask
from course_practice.exercises.masks.writes import writer

seeds = st.integers(0, 10**6)


def by_hand(scores: list[float], mask: list[bool]) -> list[float]:
    """One row of a masked softmax, term by term."""
    exps = [math.exp(score - max(scores)) if keep else 0.0 for score, keep in zip(scores, mask, strict=True)]
    return [e / sum(exps) if sum(exps) else 0.0 for e in exps]


# causal_mask


@given(st.integers(0, 12))
def test_causal_mask_is_its_definition(n):
    mask = causal_mask(n)
    assert mask.dtype == torch.bool
    assert mask.tolist() == [[key <= query for key in range(n)] for query in range(n)]


def test_causal_mask_keeps_the_diagonal_and_every_row_sees_something():
    assert causal_mask(7).diagonal().all()
    assert causal_mask(7).sum(dim=1).tolist() == [1, 2, 3, 4, 5, 6, 7]


# padding_mask


@given(st.integers(0, 4), st.integers(0, 7), st.integers(0, 2), seeds)
def test_padding_mask_asks_every_token_by_itself(batch, k_len, pad_id, seed):
    ids = torch.randint(3, (batch, k_len), generator=torch.Generator().manual_seed(seed))
    mask = padding_mask(ids, pad_id)
    assert (mask.shape, mask.dtype) == ((batch, 1, 1, k_len), torch.bool)
    assert mask[:, 0, 0].tolist() == [[token != pad_id for token in row] for row in ids.tolist()]


def test_padding_mask_broadcasts_to_all_heads_and_queries():
    ids = torch.tensor([[5, 6, 0], [7, 0, 0]])
    weights = masked_softmax(torch.zeros(2, 5, 7, 3), padding_mask(ids))
    assert weights[0].unique(dim=0).tolist() == [[[0.5, 0.5, 0.0]] * 7]
    assert weights[1].unique(dim=0).tolist() == [[[1.0, 0.0, 0.0]] * 7]


def test_masks_are_joined_by_and():
    both = padding_mask(torch.tensor([[5, 0, 6], [0, 7, 8]])) & causal_mask(3)
    assert both.shape == (2, 1, 3, 3)
    assert both[:, 0].int().tolist() == [[[1, 0, 0], [1, 0, 0], [1, 0, 1]], [[0, 0, 0], [0, 1, 0], [0, 1, 1]]]


# masked_softmax

MASK_SHAPES = [(2, 3, 5, 7), (2, 1, 5, 7), (2, 1, 1, 7), (5, 7), (1, 7), (7,)]


@given(st.sampled_from(MASK_SHAPES), seeds)
def test_masked_softmax_is_the_sum_over_visible_keys(shape, seed):
    torch.manual_seed(seed)
    scores, mask = torch.randn(2, 3, 5, 7, dtype=torch.float64) * 3, torch.rand(shape) > 0.6
    rows = zip(scores.reshape(-1, 7).tolist(), mask.expand(2, 3, 5, 7).reshape(-1, 7).tolist(), strict=True)
    expected = torch.tensor([by_hand(*row) for row in rows], dtype=torch.float64).view(2, 3, 5, 7)
    assert_equal(masked_softmax(scores, mask), expected, 1e-12)


@given(
    st.lists(st.integers(1, 3), max_size=2),
    st.integers(1, 7),
    st.integers(1, 7),
    st.integers(1, 5),
    st.booleans(),
    seeds,
)
def test_attention_with_a_mask_equals_torch_with_gradients(batch, q_len, k_len, d_k, empty_row, seed):
    torch.manual_seed(seed)
    query, key, value = (
        torch.randn(*batch, length, d_k, dtype=torch.float64, requires_grad=True) for length in (q_len, k_len, k_len)
    )
    mask = torch.rand(*batch, q_len, k_len) > 0.4
    mask[..., 0] = True
    if empty_row:
        mask[..., -1, :] = False
    ours, _weights = scaled_dot_product_attention(query, key, value, mask)
    theirs = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    assert_equal(ours, theirs)
    for mine, reference in zip(gradient(ours, query, key, value), gradient(theirs, query, key, value), strict=True):
        assert_equal(mine, reference)


@pytest.mark.parametrize("sizes", [(2, 3, 5), (4, 4, 4)])
def test_attention_equals_the_module_that_means_ignore_by_true(sizes):
    batch, _heads, n = sizes
    module = nn.MultiheadAttention(6, 2, batch_first=True, dtype=torch.float64).eval()
    ids = torch.randint(1, 3, (batch, n))
    ids[1:, -2:] = 0
    x = torch.randn(batch, n, 6, dtype=torch.float64)
    _, theirs = module(x, x, x, key_padding_mask=ids == 0, attn_mask=~causal_mask(n), average_attn_weights=False)
    q, k, _v = F.linear(x, module.in_proj_weight, module.in_proj_bias).chunk(3, dim=-1)
    q, k = (y.view(batch, n, 2, 3).transpose(1, 2) for y in (q, k))
    ours = masked_softmax(q @ k.mT / math.sqrt(3), padding_mask(ids) & causal_mask(n))
    assert_equal(ours, theirs)


def test_the_module_gives_nan_or_zeros_where_there_is_nothing_to_see():
    module, x = nn.MultiheadAttention(6, 2, batch_first=True), torch.randn(1, 4, 6)
    last = {need: module(x, x, x, attn_mask=causal_mask(4), need_weights=need)[0][0, 3] for need in (True, False)}
    assert last[True].isnan().all()
    assert torch.equal(last[False], module.out_proj.bias)


def test_a_fully_masked_row_of_the_fused_function_is_zero_too():
    query, key, value = torch.randn(3, 2, 5, 7)
    mask = torch.tensor([[True], [False], [True], [True], [False]]).expand(5, 5)
    fused = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    assert torch.equal(fused[:, [1, 4]], torch.zeros(2, 2, 7))


def test_no_mask_is_a_plain_softmax():
    scores = torch.randn(2, 3, 5, dtype=torch.float64)
    assert_equal(masked_softmax(scores), scores.softmax(dim=-1), 0.0)
    assert_equal(masked_softmax(scores, torch.ones(3, 5, dtype=torch.bool)), scores.softmax(dim=-1), 0.0)


@given(seeds)
def test_a_hidden_score_may_be_anything(seed):
    torch.manual_seed(seed)
    scores, mask = torch.randn(3, 5), torch.rand(3, 5) > 0.5
    for anything in (1e30, float("inf"), float("-inf"), float("nan")):
        assert torch.equal(masked_softmax(scores.masked_fill(~mask, anything), mask), masked_softmax(scores, mask))


def test_visible_rows_sum_to_one_and_hidden_weights_are_exactly_zero():
    scores, mask = torch.randn(11, 13) * 30, torch.rand(11, 13) > 0.5
    mask[:, 4] = True
    weights = masked_softmax(scores, mask)
    assert (weights[~mask] == 0).all()
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(11))


def test_inputs_stay_as_they_are():
    scores, mask = torch.randn(3, 5), torch.rand(3, 5) > 0.5
    copies = scores.clone(), mask.clone()
    masked_softmax(scores, mask)
    assert torch.equal(scores, copies[0])
    assert torch.equal(mask, copies[1])


# A row with nothing to see


def test_a_row_with_nothing_to_see_is_zero_and_so_is_its_gradient():
    scores = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([[True], [False], [True]]).expand(3, 5)
    with torch.autograd.set_detect_anomaly(True):  # raises if a NaN appears even on the way
        weights = masked_softmax(scores, mask)
        (grad,) = gradient(weights, scores)
    assert weights[1].tolist() == [0.0] * 5
    assert grad[1].tolist() == [0.0] * 5
    assert_equal(weights[[0, 2]], scores[[0, 2]].softmax(dim=-1), 1e-12)


def test_left_padding_with_the_causal_mask_stays_finite():
    mask = padding_mask(torch.tensor([[0, 0, 5, 6], [0, 0, 0, 0]])) & causal_mask(4)
    weights = masked_softmax(torch.randn(2, 3, 4, 4), mask)
    assert weights.isfinite().all()
    assert weights.sum(dim=-1).round(decimals=5).tolist() == [[[0, 0, 1, 1]] * 3, [[0, 0, 0, 0]] * 3]


# Half precision, sizes, errors


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_keeps_its_type_and_stays_close(dtype):
    torch.manual_seed(0)
    scores, mask = torch.randn(5, 7) * 4, torch.rand(5, 7) > 0.4
    mask[2] = False
    weights = masked_softmax(scores.to(dtype), mask)
    assert weights.dtype == dtype
    torch.testing.assert_close(weights.float(), masked_softmax(scores.to(dtype).float(), mask), rtol=0, atol=0.01)


def test_half_precision_survives_the_most_extreme_scores():
    lowest = torch.finfo(torch.float16).min
    scores = torch.tensor([[lowest, lowest, -lowest], [lowest, 0.0, 0.0]], dtype=torch.float16)
    weights = masked_softmax(scores, torch.tensor([[True, True, False], [False, True, True]]))
    assert weights.tolist()[1] == [0.0, 0.5, 0.5]
    assert weights.isfinite().all()
    assert weights[0, 2] == 0


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("hidden", [5.0, "lowest", "largest"])
def test_a_visible_score_at_the_types_lowest_number_keeps_its_weight(dtype, hidden):
    limits = torch.finfo(dtype)
    other = {"lowest": limits.min, "largest": limits.max}.get(hidden, hidden)
    scores = torch.tensor([[limits.min, other, other], [limits.min, other, limits.min]], dtype=dtype)
    mask = torch.tensor([[True, False, False], [True, False, True]])
    assert masked_softmax(scores, mask).tolist() == [[1.0, 0.0, 0.0], [0.5, 0.0, 0.5]]


def test_a_mask_of_one_key_or_of_no_axis_hides_whole_rows():
    scores = torch.randn(2, 3, 5)
    assert_equal(masked_softmax(scores, torch.tensor(True)), scores.softmax(dim=-1))
    assert masked_softmax(scores, torch.tensor(False)).eq(0).all()
    rows = masked_softmax(scores, torch.tensor([[True], [False], [True]]))
    assert rows.sum(dim=-1).round(decimals=5).tolist() == [[1, 0, 1]] * 2


def test_the_causal_mask_is_made_where_it_is_wanted():
    assert causal_mask(3, "meta").device.type == "meta"
    assert causal_mask(3, device=torch.device("cpu")).device.type == "cpu"


@pytest.mark.parametrize("shape", [(0, 5), (3, 0), (0, 0), (2, 0, 3, 5), (1, 1)])
def test_empty_and_tiny_sizes(shape):
    weights = masked_softmax(torch.randn(shape), torch.ones(shape, dtype=torch.bool))
    assert weights.shape == shape
    assert torch.equal(weights, torch.ones(shape))


@pytest.mark.parametrize(("scores", "mask"), [((3, 3), (4, 3, 3)), ((3, 1), (3, 3)), ((3, 3), (1, 1, 3, 3))])
def test_a_mask_that_would_make_the_weights_larger_is_refused(scores, mask, unchecked):
    words = f"expected a mask that broadcasts to {scores}, got {mask}: cut it"
    with pytest.raises(ValueError, match=re.escape(words)):
        masked_softmax(torch.zeros(scores), torch.ones(mask, dtype=torch.bool))


@pytest.mark.parametrize(
    ("scores", "mask", "advice"),
    [
        ((2, 8, 5, 3), (2, 3), "write mask[:, None, None] if it hides pads"),
        ((4, 2, 7, 7), (4, 7), "write mask[:, None, None] if it hides pads"),
        ((2, 5, 3), (2, 3), "write mask[:, None] if it hides pads"),
        ((2, 8, 5, 3), (2, 5, 3), "write mask[:, None], the same for all heads"),
        ((2, 8, 5, 3), (2, 1, 3), "write mask[:, None], the same for all heads"),
        ((5, 3), (4,), "cut it"),
        ((3,), (3, 3), "cut it"),
    ],
)
def test_a_mask_that_does_not_fit_is_told_what_to_write(scores, mask, advice, unchecked):
    words = f"expected a mask that broadcasts to {scores}, got {mask}: {advice}"
    mask = torch.ones(mask, dtype=torch.bool)
    with pytest.raises(ValueError, match=re.escape(words)):
        masked_softmax(torch.zeros(scores), mask)
    if advice.startswith("write"):
        mask = mask[:, None, None] if "None, None" in advice else mask[:, None]
        assert masked_softmax(torch.zeros(scores), mask).shape == scores


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64, torch.uint8])
def test_a_mask_that_is_not_boolean_is_refused(dtype):
    unchecked = inspect.unwrap(masked_softmax)  # the shape checks of the tests would object first
    with pytest.raises(TypeError) as error:
        unchecked(torch.zeros(2, 3), torch.ones(2, 3, dtype=dtype))
    assert str(error.value) == (
        f"expected a boolean mask, True = may attend, got {dtype}: write "
        "mask.bool() for zeros and ones, mask == 0 for a mask of 0 and -inf"
    )


def test_the_advice_of_the_error_is_right():
    keep = torch.rand(3, 5) > 0.5
    additive = torch.zeros(3, 5).masked_fill(~keep, float("-inf"))
    assert torch.equal(keep.float().bool(), keep)
    assert torch.equal(additive == 0, keep)


# A model that writes: word vectors, masked self-attention in residual sums, an output matrix


def model_of(n_layers: int, seed: int) -> tuple:
    """Matrices for 11 words and 8 features."""
    generator = torch.Generator().manual_seed(seed)
    random = torch.randn(2 + 4 * n_layers, 11, 8, generator=generator, dtype=torch.float64) / 8**0.5
    inside = [matrix[:8] for matrix in random[2:]]
    return random[0], [tuple(inside[4 * i : 4 * i + 4]) for i in range(n_layers)], random[1].mT


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("n_layers", "hears"), [(1, False), (2, True), (3, True)])
def test_two_layers_hear_the_order_through_the_mask_alone(n_layers, hears, seed):
    model, ids = model_of(n_layers, seed), torch.tensor([[1, 5, 6, 7, 8, 9]])
    swapped = ids[:, [0, 3, 2, 1, 4, 5]]
    moved = (writer(ids, *model, n_heads=2) - writer(swapped, *model, n_heads=2))[0, -1].abs().max()
    assert (moved > 1e-6) == hears


@pytest.mark.parametrize("seed", range(5))
def test_a_model_that_writes_is_pytorch_s_encoder_layer_without_norms_and_network(seed):
    words, layers, output = model_of(2, seed)
    ids = torch.tensor([[1, 5, 6, 7], [1, 9, 4, 2]])
    x = words[ids]
    for w_q, w_k, w_v, w_o in layers:
        theirs = nn.MultiheadAttention(8, 2, bias=False, batch_first=True).double()
        theirs.in_proj_weight.data = torch.cat([w_q, w_k, w_v], dim=1).mT
        theirs.out_proj.weight.data = w_o.mT
        x = x + theirs(x, x, x, attn_mask=~causal_mask(4), need_weights=False)[0]
    assert_equal(writer(ids, words, layers, output, n_heads=2), x @ output)
