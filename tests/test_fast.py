"""The fast forms against the simple ones and against torch's own, outputs and gradients, in float64."""

import dataclasses
import inspect
import re
from random import Random

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import assert_equal, gradient, scramble
from torch.autograd.graph import saved_tensors_hooks

from course_lib.attention import scaled_dot_product_attention
from course_lib.fast import Packing, dropout
from course_lib.fast import attention as fast_attention
from course_lib.fast import fast_loss as packed_loss
from course_lib.fast import loss as loss_module
from course_lib.fast.attention import FusedMultiHeadAttention, additive_mask, fused_attention, mix
from course_lib.fast.loss import linear_cross_entropy
from course_lib.masks import masked_softmax
from course_lib.multi_head import MultiHeadAttention
from course_lib.tokens import EOS, PAD
from course_lib.transformer import Transformer, TransformerConfig

SMALL = TransformerConfig(vocab_size=17, d_model=6, n_heads=3, d_ff=11, n_layers=2, dropout=0.1)


@pytest.fixture(params=["plain", "kernel"])
def form(request, monkeypatch):
    monkeypatch.setattr(fast_attention, "SHORT", 32 if request.param == "plain" else 0)
    return request.param


def model(**changes):
    torch.manual_seed(0)
    return scramble(Transformer(dataclasses.replace(SMALL, **changes))).double().eval()


def random_batch(batch, src_len, tgt_len, side="right"):
    """Every length from 0 to all, some with the EOS column that tgt[:, :-1] leaves in tgt_in."""
    src = torch.randint(4, 17, (batch, src_len))
    src[torch.arange(src_len) >= torch.randint(0, src_len + 1, (batch, 1))] = PAD
    lengths = torch.randint(0, tgt_len + 1, (batch, 1))
    column = torch.arange(tgt_len + 1)
    tgt = (
        torch.randint(4, 17, (batch, tgt_len + 1))
        .masked_fill(column == lengths, EOS)
        .masked_fill(column > lengths, PAD)
    )
    tgt_in, tgt_out = tgt[:, :-1], tgt[:, 1:]
    return tuple(x.flip(1) if side == "left" and x is src else x for x in (src, tgt_in, tgt_out))


def simple_loss(ours, src, tgt_in, tgt_out, smoothing, reduction="sum"):
    logits = ours(src, tgt_in).flatten(0, 1)
    return F.cross_entropy(logits, tgt_out.flatten(), ignore_index=PAD, label_smoothing=smoothing, reduction=reduction)


@settings(max_examples=15, deadline=None)
@given(
    st.sampled_from([(2, 5, 7), (5, 3, 2), (4, 4, 4), (1, 1, 1)]),
    st.fixed_dictionaries(
        {},
        optional={
            "norm_first": st.just(True),
            "tied": st.just(False),
            "activation": st.just("gelu"),
            "positions": st.just("learned"),
        },
    ),
    st.sampled_from(["left", "right"]),
    st.integers(0, 99),
)
def test_packed_loss_equals_the_simple_one_with_all_gradients(sizes, changes, side, seed):
    ours = model(**changes)
    torch.manual_seed(seed)
    src, tgt_in, tgt_out = random_batch(*sizes, side)
    expected = simple_loss(ours, src, tgt_in, tgt_out, 0.1)
    loss = packed_loss(ours, src, tgt_in, tgt_out, 0.1, reduction="sum")
    assert_equal(loss, expected)
    parameters = [p for n, p in ours.named_parameters() if "table" not in n or len(p) >= sizes[2]]
    reference = torch.autograd.grad(expected, parameters, allow_unused=True)
    for mine, theirs in zip(torch.autograd.grad(loss, parameters, allow_unused=True), reference, strict=True):
        assert_equal(torch.zeros(()) if mine is None else mine, torch.zeros_like(mine) if theirs is None else theirs)


def test_packed_loss_with_the_fused_kernel(form):
    ours = model()
    src, tgt_in, tgt_out = random_batch(5, 7, 6)
    src[0] = PAD
    expected = simple_loss(ours, src, tgt_in, tgt_out, 0.1, "mean")
    loss = packed_loss(ours, src, tgt_in, tgt_out, 0.1)
    assert_equal(loss, expected)
    parameters = list(ours.parameters())
    for mine, theirs in zip(
        torch.autograd.grad(loss, parameters), torch.autograd.grad(expected, parameters), strict=True
    ):
        assert_equal(mine, theirs)


@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_pads_inside_a_sentence_are_packed_away(positions):
    ours = model(positions=positions)
    src = torch.tensor([[5, 0, 6, 0, 7], [0, 0, 0, 8, 0]])
    tgt_in = torch.tensor([[0, 1, 0, 5, 6], [1, 0, 0, 9, 0]])
    tgt_out = torch.tensor([[0, 5, 0, 6, 2], [9, 0, 0, 0, 0]])
    assert_equal(packed_loss(ours, src, tgt_in, tgt_out), simple_loss(ours, src, tgt_in, tgt_out, 0.0, "mean"))


@pytest.mark.parametrize("batch", [0, 3])
def test_no_targets_give_zero_and_no_gradient(batch):
    ours = model()
    empty = torch.zeros(batch, 5, dtype=torch.long)
    loss = packed_loss(ours, empty, empty, empty)
    loss.backward()
    assert loss.item() == 0.0
    assert all(p.grad is None or p.grad.eq(0).all() for p in ours.parameters())


def test_messages():
    ours, ids = model(), torch.tensor([[5, 6]])
    with pytest.raises(ValueError, match="expected reduction 'mean' or 'sum', got 'none': choose one of the two"):
        packed_loss(ours, ids, ids, ids, reduction="none")
    message = "expected a real token in tgt_in wherever tgt_out has one, got a pad: shift the target by one"
    with pytest.raises(ValueError, match=message):
        packed_loss(ours, ids, torch.tensor([[1, 0]]), ids)
    with pytest.raises(ValueError, match="expected ids from 0 to vocab_size - 1 = 16, got 17"):
        packed_loss(ours, torch.tensor([[17]]), ids, ids)
    with pytest.raises(
        ValueError, match=r"expected as many queries as keys with causal=True, got 1 and 3: pass the rows"
    ):
        fused_attention(torch.ones(1, 1, 2), torch.ones(1, 3, 2), torch.ones(1, 3, 2), causal=True)


def test_autocast_to_bfloat16_stays_close(form):
    ours = model().float()
    src, tgt_in, tgt_out = random_batch(5, 7, 6)
    with torch.autocast("cpu", torch.bfloat16):
        loss = packed_loss(ours, src, tgt_in, tgt_out, 0.1)
    loss.backward()
    grad = ours.output.weight.grad.clone()
    ours.zero_grad()
    expected = simple_loss(ours, src, tgt_in, tgt_out, 0.1, "mean")
    expected.backward()
    torch.testing.assert_close(loss, expected, rtol=0.02, atol=0.02)
    assert F.cosine_similarity(grad.flatten(), ours.output.weight.grad.flatten(), dim=0) > 0.995


def test_training_mode_draws_dropout_and_the_seed_repeats_it():
    ours = model(dropout=0.3).train()
    batch = random_batch(5, 7, 6)
    losses = []
    for seed in (0, 1, 0):
        torch.manual_seed(seed)
        losses.append(packed_loss(ours, *batch).item())
    assert losses[0] == losses[2] != losses[1]


@pytest.mark.parametrize("p", [0.1, 0.5, 0.003])
def test_dropout_keeps_its_share_and_its_mean(p):
    torch.manual_seed(0)
    x = torch.ones(997, 331, requires_grad=True)
    out = dropout(x, p, training=True)
    assert out.unique().tolist() == pytest.approx([0.0, 1 / (1 - p)])
    assert (out == 0).float().mean().item() == pytest.approx(p, abs=4 * (p / out.numel()) ** 0.5)
    columns, rows = (out == 0).float().mean(dim=0), (out == 0).float().mean(dim=1)
    assert columns.std().item() == pytest.approx((p * (1 - p) / 997) ** 0.5, rel=0.2)
    assert rows.std().item() == pytest.approx((p * (1 - p) / 331) ** 0.5, rel=0.2)
    out.sum().backward()
    assert torch.equal(x.grad, out)


def test_dropout_off():
    x = torch.randn(3, 5)
    assert torch.equal(dropout(x, 0.9, training=False), x)
    assert torch.equal(dropout(x, 0.0, training=True), x)
    assert dropout(x, 1.0, training=True).eq(0).all()


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 5), st.integers(0, 7), st.integers(0, 99))
def test_packing_round_trip(batch, seq_len, seed):
    torch.manual_seed(seed)
    real = torch.rand(batch, seq_len) > 0.4
    packing = Packing(real)
    ids = torch.arange(batch * seq_len).view(batch, seq_len)
    x = torch.randn(int(real.sum()), 3, dtype=torch.float64)
    padded = packing.pad(x)
    assert torch.equal(packing.unpad(padded), x)
    assert torch.equal(packing.mask[:, 0, 0].sum(dim=1), real.sum(dim=1))
    assert padded[~packing.mask[:, 0, 0]].eq(0).all()
    rows = [ids[b][real[b]] for b in range(batch)]
    assert torch.equal(packing.pack(ids), torch.cat(rows) if rows else ids.flatten())


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 11), st.integers(1, 13), st.sampled_from([0.0, 0.1, 1.0]), st.sampled_from([1, 30, 10**6]))
def test_linear_cross_entropy_equals_torch_with_gradients(n, vocab_size, smoothing, chunk):
    torch.manual_seed(n)
    hidden = torch.randn(n, 5, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(vocab_size, 5, dtype=torch.float64, requires_grad=True)
    targets = torch.randint(0, vocab_size, (n,))
    before, loss_module.CHUNK = loss_module.CHUNK, chunk
    try:
        mine = linear_cross_entropy(hidden, weight, targets, smoothing)
    finally:
        loss_module.CHUNK = before
    theirs = F.cross_entropy(hidden @ weight.T, targets, label_smoothing=smoothing, reduction="sum")
    assert_equal(mine, theirs)
    for one, other in zip(
        torch.autograd.grad(3 * mine, (hidden, weight)), torch.autograd.grad(3 * theirs, (hidden, weight)), strict=True
    ):
        assert_equal(one, other)


def test_linear_cross_entropy_survives_certain_errors_and_skips_gradients():
    hidden, weight = torch.tensor([[1000.0]]), torch.tensor([[1.0], [-1.0]])
    assert linear_cross_entropy(hidden, weight, torch.tensor([1])).item() == pytest.approx(2000.0)
    with torch.no_grad():
        loss = linear_cross_entropy(hidden.requires_grad_(), weight, torch.tensor([0]))
    assert loss.grad_fn is None


@settings(max_examples=15, deadline=None)
@given(
    st.sampled_from([(2, 3, 5, 7, 11, 13), (4, 4, 4, 4, 4, 4), (1, 1, 1, 1, 1, 1), (1, 2, 3, 3, 0, 4)]),
    st.booleans(),
    st.integers(0, 99),
)
def test_fused_attention_equals_the_simple_one_with_gradients(sizes, kernel, seed):
    batch, n_heads, q_len, k_len, d_k, d_v = sizes
    torch.manual_seed(seed)
    query, key, value = (
        torch.randn(batch, n_heads, n, d, dtype=torch.float64, requires_grad=True)
        for n, d in ((q_len, d_k), (k_len, d_k), (k_len, d_v))
    )
    mask = torch.rand(batch, 1, q_len, k_len) > 0.5
    mask[0, 0, 0] = False
    before, fast_attention.SHORT = fast_attention.SHORT, 0 if kernel else 32
    try:
        mine = fused_attention(query, key, value, mask)
        theirs, _ = scaled_dot_product_attention(query, key, value, mask)
        assert_equal(mine, theirs)
        assert mine[0, :, 0].eq(0).all()
        for one, other in zip(gradient(mine, query, key, value), gradient(theirs, query, key, value), strict=True):
            assert_equal(one, other)
    finally:
        fast_attention.SHORT = before


def test_causal_fused_attention(form):
    query, key, value = torch.randn(3, 2, 3, 5, 7, dtype=torch.float64)
    causal = torch.ones(5, 5, dtype=torch.bool).tril()
    expected, _ = scaled_dot_product_attention(query, key, value, causal)
    assert_equal(fused_attention(query, key, value, causal=True), expected)
    padding = torch.tensor([True, True, False, True, False])
    expected, _ = scaled_dot_product_attention(query, key, value, causal & padding)
    assert_equal(fused_attention(query, key, value, padding, causal=True), expected)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_fused_attention_in_half_precision(form, dtype):
    query, key, value = torch.randn(3, 2, 3, 5, 8)
    mask = torch.rand(2, 1, 5, 5) > 0.4
    mask[0, 0, 2] = False
    out = fused_attention(query.to(dtype), key.to(dtype), value.to(dtype), mask)
    expected, _ = scaled_dot_product_attention(query, key, value, mask)
    torch.testing.assert_close(out.float(), expected, rtol=0.03, atol=0.03)


def test_additive_mask_hides_whatever_the_scores_are_and_leaves_empty_rows_finite():
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        bias = additive_mask(torch.tensor([[True, False], [False, False]]), dtype)
        assert bias.dtype == dtype
        scores = torch.tensor([torch.finfo(dtype).min, torch.finfo(dtype).max], dtype=dtype)
        assert (scores + bias).softmax(dim=-1)[0].tolist() == [1, 0]
        assert bias[1].isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_scores_too_large_for_half_precision_are_those_of_pytorch(form, dtype):
    """300 · 300 · 64 / 8 is far beyond float16; with the sign turned it is far below what is hidden, too."""
    for sign in (1, -1):
        query, key = torch.full((1, 2, 3, 64), 300.0, dtype=dtype), torch.full((1, 2, 3, 64), 300.0 * sign, dtype=dtype)
        value = torch.arange(3.0, dtype=dtype)[:, None].expand(1, 2, 3, 64)
        for mask in (None, torch.tensor([[True, False, True]]), torch.tensor([[True], [False], [True]])):
            expected = F.scaled_dot_product_attention(query, key, value, mask)
            found = fused_attention(query, key, value, mask)
            torch.testing.assert_close(found, expected.nan_to_num(0.0))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_gradients_stay_finite_beside_rows_with_nothing_to_see(form, dtype):
    parts = [part.to(dtype).requires_grad_() for part in torch.randn(3, 2, 3, 40, 8)]
    mask = torch.rand(2, 1, 40, 40) > 0.4
    mask[0, 0, 2] = mask[1] = False
    fused_attention(*parts, mask).sum().backward()
    assert all(part.grad.isfinite().all() for part in parts)
    assert parts[0].grad[1].eq(0).all()


@pytest.mark.parametrize("bias", [True, False])
def test_fused_multi_head_attention_equals_the_simple_one(form, bias):
    simple, fused = MultiHeadAttention(6, 3, bias).double(), FusedMultiHeadAttention(6, 3, bias).double()
    scramble(simple)
    fused.load_state_dict(simple.state_dict())
    x, y = torch.randn(2, 5, 6, dtype=torch.float64), torch.randn(2, 7, 6, dtype=torch.float64)
    mask = torch.rand(2, 1, 5, 5) > 0.3
    for query, memory, m in ((x, x, mask), (x, y, None)):
        expected, _ = simple(query, memory, memory, m)
        output, none = fused(query, memory, memory, m)
        assert none is None
        assert_equal(output, expected)
    causal = torch.ones(5, 5, dtype=torch.bool).tril()
    assert_equal(fused(x, x, x, mask, causal=True)[0], simple(x, x, x, mask & causal)[0])


def test_what_the_simple_attention_refuses_is_refused(monkeypatch):
    """The annotations would speak first, so these call the functions beneath them."""
    monkeypatch.setattr(fast_attention, "scaled_dot_product_attention", inspect.unwrap(scaled_dot_product_attention))
    attend = inspect.unwrap(fused_attention)
    q, k, v = torch.ones(1, 1, 40, 4), torch.ones(1, 1, 50, 4)[:, :, :40], torch.ones(1, 1, 50, 4)
    with pytest.raises(ValueError, match="expected one value for each of the 40 keys, got 50"):
        attend(q, k, v)
    with pytest.raises(ValueError, match="expected keys of width d_k = 4, got 3"):
        attend(q, k[..., :3], v[:, :, :40])
    monkeypatch.setattr("course_lib.attention.masked_softmax", inspect.unwrap(masked_softmax))
    with pytest.raises(TypeError, match=r"expected a boolean mask, True = may attend, got torch\.float32"):
        attend(q, k, v[:, :, :40], torch.ones(40, 40))
    attention = FusedMultiHeadAttention(d_model=4, n_heads=2)
    with pytest.raises(ValueError, match="expected as many queries as keys with causal=True, got 3 and 5"):
        attention(*(torch.ones(1, n, 4) for n in (3, 5, 5)), causal=True)


def test_masks_that_the_simple_attention_refuses_are_refused(form, unchecked):
    """Batch axes, masks cut from the scores' shape, and one of their sizes changed or one axis more."""
    random, said = Random(0), {"result": 0, "refusal": 0}
    for _ in range(300):
        batch = [random.choice([1, 2, 3]) for _ in range(random.randint(0, 2))]
        q_len, k_len = random.choice([1, 4, 40]), random.choice([1, 5, 40])
        query, key, value = torch.randn(*batch, q_len, 3), torch.randn(*batch, k_len, 3), torch.randn(*batch, k_len, 2)
        scores = [*batch, q_len, k_len]
        shape = [random.choice([size, size, 1]) for size in scores[random.randint(0, len(scores)) :]]
        change = random.choice(["none", "one size", "one axis"])
        if change == "one size" and shape:
            shape[random.randrange(len(shape))] = random.choice([1, 2, 4, 5])
        mask = torch.rand([2, *shape] if change == "one axis" else shape) > 0.4
        try:
            expected, _ = scaled_dot_product_attention(query, key, value, mask)
        except ValueError as error:
            said["refusal"] += 1
            with pytest.raises(ValueError, match=re.escape(str(error))):
                fused_attention(query, key, value, mask)
        else:
            said["result"] += 1
            assert_equal(fused_attention(query, key, value, mask), expected, 1e-5)
    assert min(said.values()) > 50


@pytest.mark.parametrize(("q_len", "k_len"), [(2, 5), (2, 50), (1, 2), (5, 2), (40, 3)])
def test_a_causal_mixture_of_other_queries_than_keys_is_refused(q_len, k_len):
    query, key, value = torch.zeros(1, 1, q_len, 4), torch.zeros(1, 1, k_len, 4), torch.zeros(1, 1, k_len, 1)
    words = f"expected as many queries as keys with causal=True, got {q_len} and {k_len}: pass the rows of the causal"
    for attend in (mix, fused_attention):
        with pytest.raises(ValueError, match=words):
            attend(query, key, value, causal=True)


@pytest.mark.parametrize("n", [2, 5, 50])
def test_a_causal_mixture_with_a_bias_is_refused(n):
    x = torch.zeros(1, 1, n, 4)
    with pytest.raises(ValueError, match="expected causal=True without a bias, got both: write the causal mask into"):
        mix(x, x, x, torch.zeros(1, 1, 1, n), causal=True)


@pytest.mark.parametrize("n", [5, fast_attention.SHORT, fast_attention.SHORT + 1])
@pytest.mark.parametrize("mask_of", [lambda n: torch.arange(n) < 4, lambda n: torch.tensor(True)])
def test_masks_with_few_axes(n, mask_of):
    q, k, v = torch.randn(3, 2, n, 4, generator=torch.Generator().manual_seed(0))
    expected, _ = scaled_dot_product_attention(q, k, v, mask_of(n))
    torch.testing.assert_close(fused_attention(q, k, v, mask_of(n)), expected)


@pytest.mark.parametrize("mask", [None, (256,), (256, 256), (1, 256, 256)])
@pytest.mark.parametrize("axes", [(), (4,), (2, 2)])
def test_long_rows_are_mixed_without_their_weights(axes, mask):
    """Where PyTorch passes its kernel over, autograd keeps as many numbers as there are weights."""
    query, key, value = (torch.randn(*axes, 256, 16, requires_grad=True) for _ in range(3))
    bias = None if mask is None else additive_mask(torch.rand(mask[-len(axes) - 2 :]) > 0.3, torch.float32)
    kept = {}

    def note(tensor):
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes() // 4
        return tensor

    with saved_tensors_hooks(note, lambda tensor: tensor):
        output = fast_attention.mix(query, key, value, bias)
    weights = (query @ key.mT / 4 + (0 if bias is None else bias)).softmax(dim=-1)
    torch.testing.assert_close(output, weights @ value, rtol=1e-4, atol=1e-5)
    of_the_bias = 0 if bias is None else bias.numel()
    assert sum(kept.values()) < 5 * query.numel() + of_the_bias < weights.numel() + of_the_bias


def test_many_tokens_in_half_precision():
    """In bfloat16 a sum of thousands of losses of ln V would stand still."""
    generator = torch.Generator().manual_seed(0)
    hidden, weight = (torch.randn(n, 8, generator=generator).bfloat16() for n in (8000, 3000))
    targets = torch.randint(3000, (8000,), generator=generator)
    weight.requires_grad_()
    wide = weight.detach().float().requires_grad_()
    loss, expected = linear_cross_entropy(hidden, weight, targets), linear_cross_entropy(hidden.float(), wide, targets)
    torch.testing.assert_close(loss, expected, rtol=1e-3, atol=0)
    loss.backward()
    expected.backward()
    assert (weight.grad.float() - wide.grad).norm() / wide.grad.norm() < 0.01


def test_targets_of_another_length_are_refused():
    model = Transformer(TransformerConfig(vocab_size=11, d_model=8, n_heads=2, d_ff=16, n_layers=1))
    with pytest.raises(ValueError, match=r"expected tgt_in and tgt_out of one shape, got \(1, 1\) and \(1, 3\)"):
        inspect.unwrap(packed_loss)(model, torch.tensor([[5]]), torch.tensor([[1]]), torch.tensor([[5, 6, 2]]))


def test_sources_and_targets_of_other_numbers_are_refused():
    """One source would be translated into every target, without a word."""
    model = Transformer(TransformerConfig(11, d_model=8, n_heads=2, d_ff=16, n_layers=1))
    src, tgt = torch.tensor([[5, 6, 2]]), torch.tensor([[1, 7], [1, 8]])
    with pytest.raises(ValueError, match="expected as many sources as targets, got 1 and 2: they are pairs"):
        inspect.unwrap(packed_loss)(model, src, tgt, tgt)


def test_a_target_for_each_row_and_a_share_are_needed():
    for targets, smoothing in ((torch.tensor([1]), 0.0), (torch.tensor([1, 2, 3]), 2.0)):
        with pytest.raises(ValueError, match="expected a target for each row and smoothing from 0 to 1, got 3 rows"):
            inspect.unwrap(linear_cross_entropy)(torch.zeros(3, 4), torch.zeros(6, 4), targets, smoothing)
