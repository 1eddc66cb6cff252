"""Multi-head attention against nn.MultiheadAttention, a loop over heads, and its own properties."""

import inspect
import math
import re
from unittest import mock

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import assert_equal, copy_attention, gradient, scramble
from torch import nn

from course_lib.masks import causal_mask, padding_mask
from course_lib.multi_head import MultiHeadAttention, merge_heads, split_heads
from course_lib.probes import dependency, leak_probe, pad_probe
from course_lib.stored import results
from experiments import multi_head_question

DTYPE = torch.float64


def pair(d_model, n_heads, seed=0):
    """Our module and PyTorch's with the same random weights, biases included."""
    torch.manual_seed(seed)
    theirs = scramble(nn.MultiheadAttention(d_model, n_heads, batch_first=True).double(), seed)
    ours = MultiHeadAttention(d_model, n_heads).double()
    copy_attention(ours, theirs)
    return ours, theirs


def by_loops(module, query, key, value, mask):
    """The formula of the paper with a loop over sentences, heads, queries and keys: slow, and obviously right."""
    batch, q_len, d_model = query.shape
    d_k = d_model // module.n_heads
    q, k, v = module.w_q(query), module.w_k(key), module.w_v(value)
    concat = torch.zeros(batch, q_len, d_model, dtype=query.dtype)
    for b in range(batch):
        for h in range(module.n_heads):
            part = slice(h * d_k, (h + 1) * d_k)
            for i in range(q_len):
                seen = [j for j in range(key.shape[1]) if mask[b, h, i, j]]
                exponentials = [math.exp(sum(q[b, i, part] * k[b, j, part]).item() / math.sqrt(d_k)) for j in seen]
                for j, exponential in zip(seen, exponentials, strict=True):
                    concat[b, i, part] += exponential / sum(exponentials) * v[b, j, part]
    return module.w_o(concat)


# Split and merge


@settings(max_examples=40)
@given(st.integers(0, 4), st.integers(0, 7), st.integers(1, 5), st.integers(1, 6))
def test_head_i_is_slice_i_of_every_token(batch, seq_len, n_heads, d_k):
    x = torch.randn(batch, seq_len, n_heads * d_k)
    heads = split_heads(x, n_heads)
    assert heads.shape == (batch, n_heads, seq_len, d_k)
    for i in range(n_heads):
        assert torch.equal(heads[:, i], x[..., i * d_k : (i + 1) * d_k])
    assert torch.equal(merge_heads(heads), x)


@settings(max_examples=20)
@given(st.integers(1, 4), st.integers(1, 5), st.integers(1, 6), st.integers(1, 4))
def test_merged_heads_lie_side_by_side(batch, n_heads, seq_len, d_v):
    heads = torch.randn(batch, n_heads, seq_len, d_v)
    assert torch.equal(merge_heads(heads), torch.cat(heads.unbind(dim=1), dim=-1))


def test_split_takes_a_transposed_tensor():
    x = torch.randn(5, 2, 12).transpose(0, 1)
    assert torch.equal(split_heads(x, 3), split_heads(x.contiguous(), 3))


def test_split_refuses_what_does_not_divide():
    with pytest.raises(
        ValueError, match="expected a last axis divisible by n_heads=3, got 8 features: choose another number"
    ):
        split_heads(torch.randn(2, 5, 8), 3)


# Equal to PyTorch


@settings(max_examples=25)
@given(
    batch=st.integers(1, 4),
    q_len=st.integers(1, 7),
    k_len=st.integers(1, 7),
    n_heads=st.integers(1, 5),
    d_k=st.integers(1, 6),
    hidden=st.floats(0, 0.8),
    seed=st.integers(0, 999),
)
def test_equals_torch_with_gradients(batch, q_len, k_len, n_heads, d_k, hidden, seed):
    ours, theirs = pair(n_heads * d_k, n_heads, seed)
    query = torch.randn(batch, q_len, n_heads * d_k, dtype=DTYPE, requires_grad=True)
    key, value = (torch.randn(batch, k_len, n_heads * d_k, dtype=DTYPE, requires_grad=True) for _ in range(2))
    mask = torch.rand(batch, n_heads, q_len, k_len) >= hidden
    mask[..., seed % k_len] = True  # PyTorch gives NaN where a row sees nothing
    output, weights = ours(query, key, value, mask)
    expected, expected_weights = theirs(
        query, key, value, attn_mask=~mask.flatten(0, 1), need_weights=True, average_attn_weights=False
    )
    assert_equal(output, expected)
    assert_equal(weights, expected_weights)
    for mine, reference in zip(gradient(output, query, key, value), gradient(expected, query, key, value), strict=True):
        assert_equal(mine, reference)


def test_gradients_of_the_weights_equal_torchs():
    ours, theirs = pair(15, 3)
    x = torch.randn(2, 7, 15, dtype=DTYPE)
    layers = (ours.w_q, ours.w_k, ours.w_v)
    mine = gradient(ours(x, x, x)[0], *(p for layer in layers for p in layer.parameters()), *ours.w_o.parameters())
    reference = gradient(theirs(x, x, x)[0], theirs.in_proj_weight, theirs.in_proj_bias, *theirs.out_proj.parameters())
    assert_equal(torch.cat(mine[0:6:2]), reference[0])
    assert_equal(torch.cat(mine[1:6:2]), reference[1])
    assert_equal(mine[6], reference[2])
    assert_equal(mine[7], reference[3])


@pytest.mark.parametrize("sizes", [(2, 3, 5, 4, 7), (4, 4, 4, 4, 4)], ids=["all different", "all equal"])
def test_equals_plain_loops(sizes):
    batch, q_len, k_len, n_heads, d_k = sizes
    ours = scramble(MultiHeadAttention(n_heads * d_k, n_heads).double())
    query = torch.randn(batch, q_len, n_heads * d_k, dtype=DTYPE)
    key, value = (torch.randn(batch, k_len, n_heads * d_k, dtype=DTYPE) for _ in range(2))
    mask = torch.rand(batch, n_heads, q_len, k_len) > 0.3
    assert_equal(ours(query, key, value, mask)[0], by_loops(ours, query, key, value, mask), 1e-9)


def test_without_biases_there_are_none():
    module = MultiHeadAttention(12, 3, bias=False)
    assert sum(p.numel() for p in module.parameters()) == 4 * 12**2
    assert not module(*[torch.zeros(1, 2, 12)] * 3)[0].any()


# Masks


def test_rows_with_nothing_to_see_give_the_bias_of_w_o_and_finite_gradients():
    ours = scramble(MultiHeadAttention(6, 2).double())
    x = torch.randn(2, 3, 6, dtype=DTYPE, requires_grad=True)
    mask = torch.ones(2, 1, 3, 3, dtype=torch.bool)
    mask[0, 0, 1] = False
    output, weights = ours(x, x, x, mask)
    assert not weights[0, :, 1].any()
    assert_equal(output[0, 1], ours.w_o.bias.detach())
    assert gradient(output, x)[0].isfinite().all()


@pytest.mark.parametrize(
    ("mask", "heads_differ"),
    [
        (causal_mask(4), False),
        (causal_mask(4)[None, None], False),
        (padding_mask(torch.tensor([[5, 6, 7, 0], [5, 0, 0, 0]])), False),
        (torch.eye(3, 4, dtype=torch.bool)[:, None, :], True),
    ],
    ids=["(n, n)", "(1, 1, n, n)", "(batch, 1, 1, k_len)", "(n_heads, 1, k_len)"],
)
def test_masks_broadcast_to_batch_heads_queries_keys(mask, heads_differ):
    ours = MultiHeadAttention(12, 3)
    x = torch.randn(2, 4, 12)
    output, weights = ours(x, x, x, mask)
    full = mask.expand(2, 3, 4, 4)
    assert torch.equal(weights == 0, ~full)
    assert_equal(output, ours(x, x, x, full.clone())[0], 1e-6)
    assert ((weights == 0).unique(dim=1).shape[1] > 1) == heads_differ


@settings(max_examples=10)
@given(st.integers(2, 6), st.integers(1, 4), st.integers(0, 99))
def test_causal_mask_lets_nothing_leak(seq_len, n_heads, seed):
    torch.manual_seed(seed)
    ours = MultiHeadAttention(4 * n_heads, n_heads).double()
    x = torch.randn(2, seq_len, 4 * n_heads, dtype=DTYPE)

    def causal(x):
        return ours(x, x, x, causal_mask(x.shape[1]))[0]

    assert leak_probe(causal, x)
    assert torch.equal(dependency(causal, x) > 1e-9, causal_mask(seq_len))


def test_padding_moves_no_real_output():
    ours, embedding = MultiHeadAttention(8, 2), nn.Embedding(10, 8)

    def encode(ids):
        x = embedding(ids)
        return ours(x, x, x, padding_mask(ids))[0]

    assert pad_probe(encode, torch.tensor([[5, 6, 7], [8, 9, 4]]))


# Properties


def test_every_token_hears_every_other_and_every_head_every_feature():
    ours = scramble(MultiHeadAttention(12, 4).double())
    x = torch.randn(2, 5, 12, dtype=DTYPE)
    assert (dependency(lambda x: ours(x, x, x)[0], x) > 1e-9).all()
    edited = x.clone()
    edited[..., 0] += torch.randn(5)
    moved = (ours(edited, edited, edited)[1] - ours(x, x, x)[1]).abs().amax(dim=(0, 2, 3))
    assert (moved > 1e-9).all()


def test_every_parameter_gets_a_gradient():
    ours = scramble(MultiHeadAttention(12, 4).double())
    query, key, value = (torch.randn(2, n, 12, dtype=DTYPE) for n in (3, 5, 5))
    (ours(query, key, value)[0] * torch.randn(2, 3, 12)).sum().backward()
    silent = [name for name, p in ours.named_parameters() if p.grad is None or p.grad.abs().max() < 1e-12]
    assert silent == ["w_k.bias"]  # it moves all scores of a row alike, and a softmax does not notice


@pytest.mark.parametrize("layer", ["w_q", "w_k", "w_v"])
def test_bias_of_the_keys_does_nothing_and_that_of_the_values_moves_all_outputs_alike(layer):
    ours = scramble(MultiHeadAttention(12, 4).double())
    x = torch.randn(2, 5, 12, dtype=DTYPE)
    before = ours(x, x, x)[0]
    with torch.no_grad():
        getattr(ours, layer).bias += torch.randn(12)
    moved = ours(x, x, x)[0] - before
    assert (moved.abs().max() < 1e-12) == (layer == "w_k")
    assert ((moved - moved[:, :1]).abs().max() < 1e-12) == (layer != "w_q")


@pytest.mark.parametrize("sizes", [(2, 7, 3, 5), (4, 4, 4, 4)], ids=["all different", "all equal"])
def test_output_is_a_sum_of_heads_with_two_low_rank_maps_each(sizes):
    batch, seq_len, n_heads, d_k = sizes
    ours = MultiHeadAttention(n_heads * d_k, n_heads, bias=False).double()
    x = torch.randn(batch, seq_len, n_heads * d_k, dtype=DTYPE)
    w_q, w_k, w_v, w_o = (layer.weight.T for layer in (ours.w_q, ours.w_k, ours.w_v, ours.w_o))
    total = torch.zeros_like(x)
    for i in range(n_heads):
        own = slice(i * d_k, (i + 1) * d_k)
        where, what = w_q[:, own] @ w_k[:, own].T, w_v[:, own] @ w_o[own]
        assert torch.linalg.matrix_rank(where) == torch.linalg.matrix_rank(what) == d_k
        total += (x @ where @ x.mT / math.sqrt(d_k)).softmax(dim=-1) @ x @ what
    assert_equal(ours(x, x, x)[0], total)


@settings(max_examples=10)
@given(st.permutations(range(5)))
def test_memory_is_a_set_and_queries_keep_their_order(order):
    ours = scramble(MultiHeadAttention(12, 3).double())
    query, memory = torch.randn(2, 5, 12, dtype=DTYPE), torch.randn(2, 5, 12, dtype=DTYPE)
    expected, weights = ours(query, memory, memory)
    output, shuffled = ours(query, memory[:, order], memory[:, order])
    assert_equal(output, expected, 1e-12)
    assert_equal(shuffled, weights[..., order], 1e-12)
    assert_equal(ours(query[:, order], memory, memory)[0], expected[:, order], 1e-12)


@pytest.mark.parametrize("n_heads", [1, 2, 4, 8])
def test_parameters_do_not_depend_on_the_number_of_heads(n_heads):
    assert sum(p.numel() for p in MultiHeadAttention(32, n_heads).parameters()) == 4 * 32 * 32 + 4 * 32


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_stays_close(dtype):
    torch.manual_seed(0)
    ours = MultiHeadAttention(12, 3)
    x, mask = torch.randn(2, 5, 12), causal_mask(5)
    expected = ours(x, x, x, mask)[0]
    output, weights = ours.to(dtype)(x.to(dtype), x.to(dtype), x.to(dtype), mask)
    assert output.dtype == weights.dtype == dtype
    assert not weights[:, :, 0, 1:].any()
    torch.testing.assert_close(output.float(), expected, rtol=0.05, atol=0.03)


@pytest.mark.parametrize(("batch", "q_len", "k_len"), [(0, 3, 5), (2, 0, 5), (2, 3, 0), (1, 1, 1)])
def test_empty_and_tiny_inputs(batch, q_len, k_len):
    ours = MultiHeadAttention(6, 3)
    memory = torch.randn(batch, k_len, 6)
    output, weights = ours(torch.randn(batch, q_len, 6), memory, memory)
    assert output.shape == (batch, q_len, 6)
    assert weights.shape == (batch, 3, q_len, k_len)
    assert output.isfinite().all()


@pytest.mark.parametrize(("d_model", "n_heads"), [(6, 4), (8, 3), (8, 0), (8, -2), (2, 4)])
def test_sizes_that_do_not_divide_are_refused(d_model, n_heads):
    words = f"expected d_model divisible by n_heads, got d_model={d_model} and n_heads={n_heads}: every head takes"
    with pytest.raises(ValueError, match=words):
        MultiHeadAttention(d_model, n_heads)


# The stored experiments


@pytest.mark.parametrize("name", ["one head, linear", "two heads, linear"])
def test_stored_question_is_what_its_script_measures(name, monkeypatch):
    monkeypatch.setattr(multi_head_question, "STEPS", multi_head_question.EVERY)
    stored = results("multi_head_question")["runs"][name]
    runs = multi_head_question.trained(multi_head_question.MODELS[name], rate=0.003)
    assert [run["both"] for run in runs] == [pytest.approx(run["both"][:1], abs=0.005) for run in stored[4:]]


@pytest.mark.parametrize("shape", [(5, 6), (2, 2, 5, 6), (6,)])
def test_another_number_of_axes_is_refused(shape):
    x, attention = torch.zeros(shape), MultiHeadAttention(6, 3)
    words = re.escape(f"expected (batch, seq_len, d_model), got {shape}: x[None] is a batch of one sequence")
    unchecked = inspect.unwrap(type(attention).forward), inspect.unwrap(split_heads)  # the shape checks would object
    for work in (lambda: unchecked[0](attention, x, x, x), lambda: unchecked[1](x, 3)):
        with mock.patch("course_lib.multi_head.split_heads", unchecked[1]), pytest.raises(ValueError, match=words):
            work()


@pytest.mark.parametrize("n_heads", [0, -1, 4])
def test_heads_that_do_not_divide_the_features_are_refused(n_heads):
    with pytest.raises(ValueError, match=f"expected a last axis divisible by n_heads={n_heads}, got 6 features"):
        split_heads(torch.zeros(1, 2, 6), n_heads)


@pytest.mark.parametrize("batches", [(2, 1, 1), (1, 2, 2), (2, 2, 1)])
def test_batches_of_other_sizes_are_refused(batches):
    """A batch of one would be stretched without a word: every sentence would look at the same one."""
    attention = MultiHeadAttention(6, 3)
    forward = inspect.unwrap(type(attention).forward)
    words = "expected query, key, and value of one batch, got {}, {}, and {}"
    with pytest.raises(ValueError, match=words.format(*batches)):
        forward(attention, *(torch.zeros(batch, 4, 6) for batch in batches))
