"""Cached search steps against the uncached model: any beams, any reordering, any history."""

import dataclasses

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import assert_equal, scramble

from course_lib.fast import packed_linear
from course_lib.fast.cached import CachedTransformer
from course_lib.probes import record_attention
from course_lib.tokens import BOS, EOS, PAD
from course_lib.transformer import Transformer, TransformerConfig

SMALL = TransformerConfig(vocab_size=17, d_model=6, n_heads=3, d_ff=11, n_layers=2, dropout=0.1)


def model(**changes):
    torch.manual_seed(0)
    return scramble(Transformer(dataclasses.replace(SMALL, **changes))).double().eval()


def random_src(batch, src_len, shortest=1):
    src = torch.randint(4, 17, (batch, src_len))
    return src.masked_fill(torch.arange(src_len) >= torch.randint(shortest, src_len + 1, (batch, 1)), PAD)


@settings(max_examples=10, deadline=None)
@given(
    st.integers(1, 4),
    st.integers(1, 6),
    st.lists(st.tuples(st.integers(1, 4), st.booleans()), min_size=1, max_size=7),
    st.fixed_dictionaries(
        {},
        optional={
            "norm_first": st.just(True),
            "tied": st.just(False),
            "activation": st.just("gelu"),
            "positions": st.just("learned"),
        },
    ),
    st.integers(0, 999),
)
def test_a_random_search_gives_the_same_scores_cached_and_uncached(batch, src_len, moves, changes, seed):
    ours = model(**changes)
    cached = CachedTransformer(ours)
    torch.manual_seed(seed)
    src = random_src(batch, src_len, shortest=0)
    simple_state, fast_state = ours.start(src), cached.start(src)
    tokens = torch.full((batch, 1), BOS)
    for new_beam, drop in moves:
        expected, simple_state = ours.step(tokens, simple_state)
        logits, fast_state = cached.step(tokens, fast_state)
        assert_equal(logits, expected)
        parents = torch.randint(0, tokens.shape[1], (len(tokens), new_beam))
        simple_state, fast_state = simple_state.reorder(parents), fast_state.reorder(parents)
        if drop and len(tokens) > 1:
            kept = torch.randperm(len(tokens))[:-1]
            simple_state, fast_state = simple_state.keep(kept), fast_state.keep(kept)
            parents = parents[kept]
        tokens = torch.tensor([PAD, EOS, 4, 5, 6, 7])[torch.randint(0, 6, parents.shape)]


def test_weights_of_a_step_are_those_of_the_simple_pass():
    ours = model()
    src, tgt = random_src(3, 5), torch.randint(4, 17, (3, 4))
    with record_attention(ours) as recorded:
        ours(src, tgt)
    cached = CachedTransformer(ours)
    state, rows = cached.start(src), []
    for t in range(4):
        _, state = cached.step(tgt[:, t : t + 1], state)
        rows.append(torch.stack(state.weights))
    width = rows[0].shape[-1]
    for layer in range(2):
        weights = torch.cat([row[layer] for row in rows], dim=2)
        expected = recorded[f"decoder.layers.{layer}.cross_attention"]
        assert_equal(weights, expected[..., :width])
        assert expected[..., width:].eq(0).all()


def test_memory_is_kept_once_per_sentence():
    ours = model()
    cached = CachedTransformer(ours)
    _, state = cached.step(torch.ones(2, 1, dtype=torch.long), cached.start(random_src(2, 5)))
    state = state.reorder(torch.zeros(2, 4, dtype=torch.long))
    _, after = cached.step(torch.randint(4, 17, (2, 4)), state)
    assert after.cross is state.cross
    assert after.cross[0][0].shape[0] == 2


def test_a_long_search_equals_teacher_forcing():
    ours = model(norm_first=True)
    cached = CachedTransformer(ours)
    src, tgt = random_src(2, 5), torch.randint(4, 17, (2, 300))
    state, steps = cached.start(src), []
    for t in range(300):
        logits, state = cached.step(tgt[:, t : t + 1], state)
        steps.append(logits)
    assert_equal(torch.cat(steps, dim=1), ours(src, tgt))


def test_weights_changed_after_training_are_used():
    ours = model()
    cached = CachedTransformer(ours)
    src, tokens = random_src(2, 5), torch.ones(2, 1, dtype=torch.long)
    scramble(ours, seed=1)
    logits, _ = cached.step(tokens, cached.start(src))
    assert_equal(logits, ours(src, tokens))


@pytest.mark.parametrize("changes", [{}, {"norm_first": True, "activation": "gelu", "tied": False}])
def test_single_precision_goes_through_the_packed_kernel(changes):
    ours = model(**changes).float()
    cached = CachedTransformer(ours)
    src, tgt = random_src(3, 5), torch.randint(4, 17, (3, 6))
    state, steps = cached.start(src), []
    for t in range(6):
        logits, state = cached.step(tgt[:, t : t + 1], state)
        steps.append(logits)
    assert_equal(torch.cat(steps, dim=1), ours(src, tgt), 1e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("shape", [(3,), (64, 3), (2, 5, 3), (0, 3), (1, 1, 3)])
def test_packed_linear_equals_linear(dtype, shape):
    linear = torch.nn.Linear(3, 7, dtype=dtype)
    x = torch.randn(shape, dtype=dtype)
    with torch.no_grad():
        assert_equal(packed_linear(linear.weight, linear.bias)(x), linear(x), 1e-5)
        assert_equal(packed_linear(linear.weight)(x), x @ linear.weight.T, 1e-5)
        assert_equal(
            packed_linear(linear.weight)(x.expand(5, *shape).mT.contiguous().mT),
            x.expand(5, *shape) @ linear.weight.T,
            1e-5,
        )


def test_the_end_of_learned_positions_is_named():
    cached = CachedTransformer(model(positions="learned", max_len=5))
    state, tokens = cached.start(random_src(1, 5)), torch.ones(1, 1, dtype=torch.long)
    for _ in range(5):
        _, state = cached.step(tokens, state)
    with pytest.raises(ValueError, match="expected at most max_len=5 positions, got 6"):
        cached.step(tokens, state)


def test_an_empty_batch_passes():
    cached = CachedTransformer(model())
    src = torch.zeros(0, 3, dtype=torch.long)
    logits, state = cached.step(torch.zeros(0, 1, dtype=torch.long), cached.start(src))
    assert logits.shape == (0, 1, 17)
    assert state.reorder(torch.zeros(0, 4, dtype=torch.long)).visible.shape == (0, 4, 1)


@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_pads_take_no_position(positions):
    ours, tgt = model(positions=positions), [BOS, 8, 9]
    cached, expected = CachedTransformer(ours), ours(torch.tensor([[5, 6, 7]]), torch.tensor([tgt]))[0]
    for src, tokens in (([0, 0, 5, 6, 7], tgt), ([0, 5, 0, 6, 7], [PAD, PAD, *tgt]), ([5, 6, 7, 0], [BOS, PAD, 8, 9])):
        state, steps = cached.start(torch.tensor([src])), []
        for token in tokens:
            logits, state = cached.step(torch.tensor([[token]]), state)
            steps.append(logits[0])
        kept = torch.tensor([token != PAD for token in tokens])
        assert_equal(torch.cat(steps)[kept], expected)


def test_a_beam_that_has_seen_only_pads_mixes_nothing():
    model = Transformer(TransformerConfig(vocab_size=11, d_model=8, n_heads=2, d_ff=16, n_layers=2)).eval().double()
    src, cached = torch.tensor([[5, 6, EOS]]), CachedTransformer(model)
    simple_state, state = model.start(src), cached.start(src)
    for token in (PAD, 7, 8):
        simple, simple_state = model.step(torch.tensor([[token]]), simple_state)
        fast, state = cached.step(torch.tensor([[token]]), state)
        assert_equal(fast, simple)
