"""The recurrent translator: against nn.GRU, against loops, and the padding that must not be read."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import assert_equal, gradient, scramble
from torch import nn

from course_lib.seq2seq import AdditiveAttention, GRUEncoder, Seq2Seq, Seq2SeqConfig, last_hidden


def random_ids(batch, seq_len, lengths):
    ids = torch.randint(4, 13, (batch, seq_len))
    return ids.masked_fill(torch.arange(seq_len) >= torch.tensor(lengths)[:, None], 0)


def model(attention=True):
    return scramble(Seq2Seq(Seq2SeqConfig(13, 6, attention, dropout=0.3))).double().eval()


def test_last_hidden_equals_a_loop():
    outputs, lengths = torch.randn(3, 5, 7), torch.tensor([5, 1, 3])
    expected = torch.stack([row[n - 1] for row, n in zip(outputs, lengths.tolist(), strict=True)])
    assert torch.equal(last_hidden(outputs, lengths), expected)


def test_encoder_equals_a_gru_on_every_sentence_alone():
    encoder = GRUEncoder(6).double()
    x, lengths = torch.randn(4, 5, 6, dtype=torch.float64), torch.tensor([2, 5, 1, 3])
    outputs, last = encoder(x, lengths)
    for row, n in enumerate(lengths.tolist()):
        alone, state = encoder.gru(x[row : row + 1, :n])
        assert_equal(outputs[row, :n], alone[0])
        assert outputs[row, n:].eq(0).all()
        assert_equal(last[row], torch.cat([state[0, 0], state[1, 0]]))
    forward_last = last_hidden(outputs, lengths)[:, :3]
    assert_equal(forward_last, last[:, :3])


def test_odd_width_is_refused():
    with pytest.raises(ValueError, match="expected an even d_model, got 7: each direction takes half of it"):
        GRUEncoder(7)


@settings(max_examples=12, deadline=None)
@given(st.sampled_from([(2, 3, 5, 7), (1, 1, 1, 1), (4, 4, 4, 4)]), st.integers(0, 99))
def test_additive_attention_equals_loops(sizes, seed):
    batch, q_len, k_len, d_model = sizes
    torch.manual_seed(seed)
    attention = scramble(AdditiveAttention(d_model), seed).double()
    query, memory = torch.randn(batch, q_len, d_model).double(), torch.randn(batch, k_len, d_model).double()
    mask = torch.rand(batch, 1, k_len) > 0.3
    context, weights = attention(query, attention.w_k(memory), memory, mask)
    for b in range(batch):
        for i in range(q_len):
            energy = [
                attention.u.weight[0]
                @ torch.tanh(
                    attention.w_q.weight @ query[b, i] + attention.w_k.weight @ memory[b, j] + attention.w_k.bias
                )
                for j in range(k_len)
            ]
            shares = [torch.exp(e) * mask[b, 0, j] for j, e in enumerate(energy)]
            total = sum(shares).clamp(min=1e-300)
            assert_equal(weights[b, i], torch.stack(shares) / total)
            assert_equal(context[b, i], sum(s / total * m for s, m in zip(shares, memory[b], strict=True)))


def test_different_queries_look_at_different_places():
    attention = scramble(AdditiveAttention(6)).double()
    memory = torch.randn(1, 5, 6, dtype=torch.float64)
    _, weights = attention(torch.randn(1, 2, 6, dtype=torch.float64), attention.w_k(memory), memory)
    assert not torch.allclose(weights[0, 0], weights[0, 1])


def test_fixed_vector_decoder_equals_nn_gru_with_gradients():
    ours = model(attention=False)
    src, tgt_in = random_ids(3, 5, [5, 2, 3]), torch.randint(1, 13, (3, 7))
    theirs = nn.GRU(12, 6, batch_first=True).double()
    cell = ours.cell
    for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
        getattr(theirs, name + "_l0").data.copy_(getattr(cell, name))
    _, last = ours.encoder(ours.embedding(src), (src != 0).sum(1))
    context = last[:, None].expand(-1, 7, -1)
    hidden, _ = theirs(torch.cat([ours.embedding(tgt_in), context], dim=-1), last[None])
    reference = ours.output(torch.cat([hidden, context], dim=-1))
    mine = ours(src, tgt_in)
    assert_equal(mine, reference)
    assert_equal(gradient(mine, cell.weight_hh)[0], gradient(reference, theirs.weight_hh_l0)[0])
    assert_equal(gradient(mine, ours.embedding.weight)[0], gradient(reference, ours.embedding.weight)[0])


@pytest.mark.parametrize("attention", [True, False])
def test_padding_and_batch_mates_change_nothing(attention):
    ours = model(attention)
    src, tgt_in = random_ids(3, 7, [7, 2, 4]), torch.randint(1, 13, (3, 5))
    together = ours(src, tgt_in)
    for row, n in enumerate([7, 2, 4]):
        assert_equal(ours(src[row : row + 1, :n], tgt_in[row : row + 1])[0], together[row], 1e-9)


def test_steps_equal_teacher_forcing():
    ours = model()
    src, tgt_in = random_ids(3, 5, [5, 2, 3]), torch.randint(1, 13, (3, 7))
    state, steps = ours.start(src), []
    for t in range(7):
        logits, state = ours.step(tgt_in[:, t : t + 1], state)
        steps.append(logits)
    assert_equal(torch.cat(steps, dim=1), ours(src, tgt_in), 1e-9)


def test_reordered_and_kept_beams_go_on_with_their_own_history():
    ours = model()
    src = random_ids(3, 5, [5, 2, 3])
    _, state = ours.step(torch.ones(3, 1, dtype=torch.long), ours.start(src))
    state = state.reorder(torch.zeros(3, 2, dtype=torch.long))
    words = torch.tensor([[4, 5], [6, 7], [8, 9]])
    _, state = ours.step(words, state)
    state = state.reorder(torch.tensor([[1, 1, 0], [0, 1, 0], [1, 0, 0]])).keep(torch.tensor([2, 0]))
    logits, _ = ours.step(torch.tensor([[3, 4, 5], [6, 7, 8]]), state)
    for row, sentence, parents, last in ((0, 2, [9, 8, 8], [3, 4, 5]), (1, 0, [5, 5, 4], [6, 7, 8])):
        for beam in range(3):
            prefix = torch.tensor([[1, parents[beam], last[beam]]])
            assert_equal(logits[row, beam], ours(src[sentence : sentence + 1], prefix)[0, -1], 1e-9)


def test_pads_before_words_are_refused():
    message = "expected pads after the real tokens of every row, got a pad before one: pad on the right"
    with pytest.raises(ValueError, match=message):
        model().start(torch.tensor([[5, 6], [0, 5]]))


def test_an_empty_batch_is_refused():
    message = r"expected at least one token, got src \(0, 3\): leave empty batches out"
    with pytest.raises(ValueError, match=message):
        model().start(torch.zeros(0, 3, dtype=torch.long))


def test_an_id_outside_the_vocabulary_is_named():
    with pytest.raises(ValueError, match="expected ids from 0 to vocab_size - 1 = 12, got 13"):
        model()(torch.tensor([[5, 13]]), torch.tensor([[1]]))


def test_a_source_of_pads_alone_is_finite():
    ours = model()
    out = ours(random_ids(2, 3, [3, 0]), torch.randint(1, 13, (2, 4)))
    out.sum().backward()
    assert out.isfinite().all()
    assert all(p.grad.isfinite().all() for p in ours.parameters())


@pytest.mark.parametrize("attention", [True, False])
def test_every_parameter_learns_and_dropout_stops_in_eval(attention):
    ours = model(attention).train()
    src, tgt_in = random_ids(3, 5, [5, 2, 3]), torch.randint(1, 13, (3, 7))
    out = ours(src, tgt_in)
    out.square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in ours.parameters())
    assert not torch.equal(out, ours(src, tgt_in))
    ours.eval()
    assert torch.equal(ours(src, tgt_in), ours(src, tgt_in))


def test_state_dict_round_trip():
    ours, copy = model(), Seq2Seq(Seq2SeqConfig(13, 6)).double().eval()
    copy.load_state_dict(ours.state_dict())
    src, tgt_in = random_ids(2, 3, [3, 1]), torch.randint(1, 13, (2, 4))
    assert torch.equal(ours(src, tgt_in), copy(src, tgt_in))


@pytest.mark.parametrize(
    ("name", "value"),
    [("vocab_size", 0), ("d_model", 0), ("vocab_size", math.nan), ("dropout", math.nan), ("dropout", 2)],
)
def test_numbers_that_no_model_can_have_are_refused(name, value, unchecked):
    words = f"expected sizes of at least 1, dropout from 0 to 1, got Seq2SeqConfig.*{name}={value}.*choose"
    with pytest.raises(ValueError, match=words):
        Seq2Seq(Seq2SeqConfig(**{"vocab_size": 11, name: value}))
