"""Positions: the formula entry by entry, its properties, and what the error messages say."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.positional_encoding import (
    InputEmbedding,
    LearnedPositions,
    SinusoidalPositions,
    look_up,
    sinusoidal_encoding,
)


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 60), st.integers(1, 33))
def test_every_entry_follows_the_formula(n_positions, d_model):
    table = sinusoidal_encoding(n_positions, d_model)
    for pos in range(0, n_positions, 7):
        for column in range(d_model):
            pair = column // 2
            angle = pos / 10000 ** (2 * pair / d_model)
            expected = math.sin(angle) if column % 2 == 0 else math.cos(angle)
            assert table[pos, column].item() == pytest.approx(expected, abs=1e-6)


def test_far_positions_keep_their_precision():
    assert sinusoidal_encoding(20001, 4)[20000, 0].item() == pytest.approx(math.sin(20000), abs=1e-6)


def test_norm_is_constant_and_a_shift_is_a_rotation():
    table = sinusoidal_encoding(50, 8).double()
    torch.testing.assert_close(table.norm(dim=1), torch.full((50,), 2.0, dtype=torch.float64), rtol=0, atol=1e-6)
    shift = torch.linalg.lstsq(table[:40], table[5:45]).solution
    torch.testing.assert_close(table[:40] @ shift, table[5:45], rtol=0, atol=1e-5)


def test_table_follows_the_default_dtype():
    before = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float64)
        assert sinusoidal_encoding(3, 5).dtype == torch.float64
    finally:
        torch.set_default_dtype(before)


@pytest.mark.parametrize("positions", [SinusoidalPositions(6), LearnedPositions(19, 6)])
@pytest.mark.parametrize(("offset", "length"), [(-10, 3), (-2, 1), (-1, 4), (-1, 1)])
def test_places_before_the_first_are_refused(positions, offset, length):
    message = f"expected offset as a whole number of at least 0, got {offset}: it counts"
    with pytest.raises(ValueError, match=message):
        positions(torch.zeros(2, length, 6), offset=offset)
    with pytest.raises(ValueError, match=message):
        InputEmbedding(11, 6, positions)(torch.full((2, length), 5), offset=offset)


@pytest.mark.parametrize("positions", [SinusoidalPositions(6), LearnedPositions(19, 6)])
@pytest.mark.parametrize("offset", [0, 4])
def test_pads_take_no_position(positions, offset):
    embedding = InputEmbedding(11, 6, positions, dropout=0.0)
    alone = embedding(torch.tensor([[5, 6, 7]]), offset)[0]
    for ids in ([0, 0, 5, 6, 7], [5, 6, 7, 0, 0], [0, 5, 0, 6, 7]):
        padded = torch.tensor([ids, [8, 9, 8, 9, 8]])
        assert torch.equal(embedding(padded, offset)[0][padded[0] != 0], alone)


@pytest.mark.parametrize("positions", [SinusoidalPositions(6, n_positions=4), LearnedPositions(19, 6)])
def test_offset_continues_where_the_first_part_ended(positions):
    x = torch.randn(2, 17, 6)
    whole = positions(x)
    parts = torch.cat([positions(x[:, :5]), positions(x[:, 5:], offset=5)], dim=1)
    assert torch.equal(whole, parts)
    assert not torch.equal(whole[0, 0] - x[0, 0], whole[0, 1] - x[0, 1])


def test_sinusoidal_table_grows_and_keeps_its_dtype():
    positions = SinusoidalPositions(6, n_positions=2).double()
    out = positions(torch.zeros(1, 31, 6, dtype=torch.float64))
    assert out.dtype == torch.float64
    torch.testing.assert_close(out[0].float(), sinusoidal_encoding(31, 6))
    assert positions.state_dict() == {}


def test_learned_positions_say_where_they_end():
    positions = LearnedPositions(7, 4)
    assert positions(torch.zeros(2, 7, 4)).shape == (2, 7, 4)
    message = "expected at most max_len=7 positions, got 8: cut the sequence or build the model with a larger max_len"
    with pytest.raises(ValueError, match=message):
        positions(torch.zeros(2, 8, 4))
    with pytest.raises(ValueError, match="got 8"):
        positions(torch.zeros(2, 1, 4), offset=7)


def test_input_embedding_scales_by_the_root_of_d_model():
    embedding = InputEmbedding(11, 16, SinusoidalPositions(16), dropout=0.0)
    ids = torch.tensor([[3, 10], [7, 3]])
    expected = 4.0 * embedding.tokens.weight[ids] + sinusoidal_encoding(2, 16)
    torch.testing.assert_close(embedding(ids), expected)


def test_input_embedding_starts_with_rows_of_length_one():
    torch.manual_seed(0)
    weight = InputEmbedding(997, 64, SinusoidalPositions(64)).tokens.weight
    assert weight.norm(dim=1).mean().item() == pytest.approx(1.0, abs=0.02)


def test_dropout_acts_in_training_only():
    embedding = InputEmbedding(11, 16, SinusoidalPositions(16), dropout=0.5)
    ids = torch.tensor([[3, 10]])
    assert (embedding(ids) == 0).any()
    embedding.eval()
    assert torch.equal(embedding(ids), embedding(ids))


@pytest.mark.parametrize("wrong", [11, -1])
def test_an_id_outside_the_vocabulary_is_named(wrong):
    embedding = torch.nn.Embedding(11, 4)
    message = f"expected ids from 0 to vocab_size - 1 = 10, got {wrong}: use the vocabulary the model was built with"
    with pytest.raises(ValueError, match=message):
        look_up(embedding, torch.tensor([[3, wrong]]))


def test_empty_batch_passes():
    embedding = InputEmbedding(11, 4, SinusoidalPositions(4))
    assert embedding(torch.zeros(0, 5, dtype=torch.long)).shape == (0, 5, 4)


def test_hugging_faces_table_holds_the_same_numbers_in_halves():
    from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding

    halves = MarianSinusoidalPositionalEmbedding(53, 14).create_weight()
    interleaved = torch.stack(halves.chunk(2, dim=1), dim=-1).flatten(1)
    torch.testing.assert_close(interleaved, sinusoidal_encoding(53, 14), rtol=0, atol=1e-6)


def test_a_step_is_the_same_rotation_at_every_position():
    from course_practice.exercises.positional_encoding.shift import shift

    table = sinusoidal_encoding(60, 22).double()
    for distance in (-7, 0, 1, 20):
        here = torch.arange(max(0, -distance), 60 - max(0, distance))
        moved = table[here] @ shift(distance, 22).double()
        torch.testing.assert_close(moved, table[here + distance], rtol=0, atol=1e-6)
