"""The whole model against nn.Transformer and against Hugging Face's Marian, and its promises one by one."""

import dataclasses
import inspect
import math
from unittest import mock

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from marian_oracle import marian_pair
from oracles import assert_equal, copy_stack, gradient, scramble
from torch import nn

from course_lib.decoder import DecoderLayer
from course_lib.masks import causal_mask
from course_lib.multi_head import MultiHeadAttention
from course_lib.tokens import PAD
from course_lib.transformer import Transformer, TransformerConfig, parameter_count

SMALL = TransformerConfig(vocab_size=17, d_model=6, n_heads=3, d_ff=11, n_layers=2, dropout=0.1)


def random_ids(batch, seq_len, first=None):
    lengths = torch.randint(1, seq_len + 1, (batch, 1))
    ids = torch.randint(4, 17, (batch, seq_len)).masked_fill(torch.arange(seq_len) >= lengths, PAD)
    if first is not None:
        ids[:, 0] = first
    return ids


def model(seed=0, **changes):
    torch.manual_seed(seed)
    return Transformer(dataclasses.replace(SMALL, **changes)).double().eval()


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@settings(max_examples=8, deadline=None)
@given(st.sampled_from([(2, 5, 7), (3, 1, 2), (4, 4, 4), (1, 1, 1)]), st.booleans(), st.sampled_from(["relu", "gelu"]))
def test_equals_nn_transformer_with_gradients(sizes, norm_first, activation):
    batch, src_len, tgt_len = sizes
    ours = model(norm_first=norm_first, activation=activation)
    theirs = scramble(
        nn.Transformer(6, 3, 2, 2, 11, 0.0, activation, batch_first=True, norm_first=norm_first).double().eval()
    )
    if not norm_first:  # nn.Transformer ends both stacks with a norm even in post-norm form; the paper does not
        theirs.encoder.norm = theirs.decoder.norm = None
    theirs.encoder.enable_nested_tensor = False
    copy_stack(ours.encoder, theirs.encoder)
    copy_stack(ours.decoder, theirs.decoder)
    src, tgt = random_ids(batch, src_len), random_ids(batch, tgt_len)
    reference = ours.output(
        theirs(
            ours.src_embedding(src),
            ours.tgt_embedding(tgt),
            tgt_mask=~causal_mask(tgt_len),
            src_key_padding_mask=src == PAD,
            tgt_key_padding_mask=tgt == PAD,
            memory_key_padding_mask=src == PAD,
        )
    )
    mine = ours(src, tgt)
    assert_equal(mine, reference)
    shared = ours.src_embedding.tokens.weight
    assert_equal(gradient(mine, shared)[0], gradient(reference, shared)[0])
    assert_equal(
        gradient(mine, ours.encoder.layers[0].feed_forward.w_1.weight)[0],
        gradient(reference, theirs.encoder.layers[0].linear1.weight)[0],
    )


@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_equals_marian_with_gradients(activation):
    pytest.importorskip("transformers")
    ours, theirs = marian_pair(activation=activation)
    src, tgt_in = random_ids(3, 5), random_ids(3, 7, first=1)
    their_masks = {"attention_mask": (src != PAD).long(), "decoder_attention_mask": (tgt_in != PAD).long()}
    reference = theirs(input_ids=src, decoder_input_ids=tgt_in, use_cache=False, **their_masks).logits
    mine = ours(src, tgt_in)
    real = (tgt_in != PAD)[..., None]
    assert_equal(mine * real, reference * real)
    assert_equal(
        gradient(mine * real, ours.src_embedding.tokens.weight)[0],
        gradient(reference * real, theirs.model.shared.weight)[0],
    )


def test_base_has_the_papers_size():
    config = TransformerConfig.base()
    with torch.device("meta"):
        base = Transformer(config)
    counted = sum(p.numel() for p in base.parameters())
    assert counted == parameter_count(config) == 63_082_496
    assert counted == pytest.approx(65e6, rel=0.04)


@settings(max_examples=12, deadline=None)
@given(
    st.sampled_from([(17, 6, 3, 11, 2), (5, 5, 5, 5, 5), (1, 1, 1, 1, 1)]),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["sinusoidal", "learned"]),
)
def test_formula_counts_the_parameters(sizes, norm_first, tied, positions):
    config = TransformerConfig(*sizes, norm_first=norm_first, tied=tied, positions=positions, max_len=7)
    assert parameter_count(config) == sum(p.numel() for p in Transformer(config).parameters())


def test_tied_weights_are_one_parameter_and_stay_one():
    ours = model()
    assert ours.output.weight is ours.src_embedding.tokens.weight
    assert ours.tgt_embedding is ours.src_embedding
    optimizer = torch.optim.SGD(ours.parameters(), lr=0.1)
    before = ours.output.weight.detach().clone()
    ours(random_ids(2, 3), random_ids(2, 5)).square().mean().backward()
    optimizer.step()
    assert not torch.equal(ours.output.weight, before)
    assert torch.equal(ours.output.weight, ours.src_embedding.tokens.weight)
    copy = model(seed=1)
    copy.load_state_dict(ours.state_dict())
    assert copy.output.weight is copy.src_embedding.tokens.weight


def test_untied_weights_are_three_parameters():
    ours = model(tied=False)
    matrices = [ours.output.weight, ours.src_embedding.tokens.weight, ours.tgt_embedding.tokens.weight]
    assert len({m.data_ptr() for m in matrices}) == 3


@pytest.mark.parametrize("changes", [{}, {"norm_first": True}, {"tied": False}, {"positions": "learned"}])
def test_every_parameter_learns(changes):
    ours = model(**changes).train()
    ours(torch.randint(4, 17, (2, 5)), torch.randint(4, 17, (2, 7))).square().sum().backward()
    silent = [
        n for n, p in ours.named_parameters() if p.grad is None or not p.grad.isfinite().all() or p.grad.eq(0).all()
    ]
    # a key's bias adds the same score to all keys of a query: softmax cannot see it
    assert [n for n in silent if not n.endswith("w_k.bias")] == []


def test_state_dict_round_trip(tmp_path):
    ours = model(positions="learned")
    torch.save({"config": dataclasses.asdict(ours.config), "weights": ours.state_dict()}, tmp_path / "model.pt")
    saved = torch.load(tmp_path / "model.pt", weights_only=True)
    copy = Transformer(TransformerConfig(**saved["config"])).double().eval()
    copy.load_state_dict(saved["weights"])
    src, tgt = random_ids(2, 3), random_ids(2, 5)
    assert torch.equal(ours(src, tgt), copy(src, tgt))


def test_dropout_in_training_only():
    ours = model(dropout=0.3)
    src, tgt = random_ids(2, 3), random_ids(2, 5)
    assert torch.equal(ours(src, tgt), ours(src, tgt))
    ours.train()
    assert not torch.equal(ours(src, tgt), ours(src, tgt))


def test_batch_mates_and_padding_change_nothing():
    ours = model()
    src, tgt = random_ids(5, 7), random_ids(5, 6)
    together = ours(src, tgt)
    for row in range(5):
        s, t = src[row][src[row] != PAD], tgt[row][tgt[row] != PAD]
        assert_equal(ours(s[None], t[None])[0], together[row, : len(t)], 1e-9)


@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
@pytest.mark.parametrize("src", [[0, 0, 5, 6, 7], [5, 6, 7, 0, 0], [0, 5, 0, 6, 7]])
def test_pads_on_any_side_change_nothing(positions, src):
    ours, tgt = model(positions=positions), torch.tensor([[1, 8, 9]])
    expected = ours(torch.tensor([[5, 6, 7]]), tgt)
    assert_equal(ours(torch.tensor([src]), tgt), expected)
    assert_equal(ours(torch.tensor([src]), torch.tensor([[0, 0, 1, 8, 9]]))[:, 2:], expected)
    assert_equal(ours(torch.tensor([src]), torch.tensor([[1, 0, 8, 9, 0]]))[:, [0, 2, 3]], expected)


def test_rows_of_pads_alone_are_finite():
    ours = model()
    src, tgt = random_ids(3, 5), random_ids(3, 7)
    src[1] = tgt[1] = tgt[2] = PAD
    out = ours(src, tgt)
    out.square().sum().backward()
    assert out.isfinite().all()
    assert all(p.grad.isfinite().all() for p in ours.parameters())


def test_an_empty_batch_passes():
    out = model()(torch.zeros(0, 3, dtype=torch.long), torch.zeros(0, 5, dtype=torch.long))
    assert out.shape == (0, 5, 17)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_stays_close(dtype):
    ours = model().float()
    src, tgt = random_ids(3, 5), random_ids(3, 7)
    src[1] = PAD
    expected = ours(src, tgt)
    out = ours.to(dtype)(src, tgt)
    assert out.dtype == dtype
    torch.testing.assert_close(out.float(), expected, rtol=0.1, atol=0.1)


def test_bfloat16_autocast_stays_close():
    ours = model().float()
    src, tgt = random_ids(3, 5), random_ids(3, 7)
    with torch.autocast("cpu", torch.bfloat16):
        out = ours(src, tgt)
    torch.testing.assert_close(out.float(), ours(src, tgt), rtol=0.1, atol=0.1)


def test_messages():
    with pytest.raises(
        ValueError, match="expected ids from 0 to vocab_size - 1 = 16, got 17: use the vocabulary the model"
    ):
        model()(torch.tensor([[17]]), torch.tensor([[1]]))
    with pytest.raises(ValueError, match="expected at most max_len=3 positions, got 4: cut the sequence or build"):
        model(positions="learned", max_len=3)(torch.tensor([[5]]), torch.tensor([[1, 5, 6, 7]]))
    with pytest.raises(ValueError, match="expected d_model divisible by n_heads, got d_model=6 and n_heads=4"):
        model(n_heads=4)
    with pytest.raises(
        ValueError, match="expected positions 'sinusoidal' or 'learned', got 'rotary': choose one of them"
    ):
        model(positions="rotary")


def test_loss_starts_near_the_logarithm_of_the_vocabulary():
    torch.manual_seed(0)
    ours = Transformer(TransformerConfig(vocab_size=500, d_model=64, n_heads=4, d_ff=128, n_layers=2)).eval()
    src, tgt = torch.randint(4, 500, (16, 9)), torch.randint(4, 500, (16, 9))
    loss = nn.functional.cross_entropy(ours(src, tgt).flatten(0, 1), torch.randint(4, 500, (16 * 9,)))
    assert loss.item() == pytest.approx(math.log(500), abs=0.8)


def test_steps_equal_the_parallel_pass():
    ours = model()
    src, tgt = random_ids(3, 5), random_ids(3, 7, first=1)
    state, steps = ours.start(src), []
    for t in range(7):
        logits, state = ours.step(tgt[:, t : t + 1], state)
        steps.append(logits)
    assert_equal(torch.cat(steps, dim=1), ours(src, tgt), 1e-9)


def test_reordered_and_kept_beams_go_on_with_their_own_history():
    ours = model()
    src = random_ids(3, 5)
    _, state = ours.step(torch.ones(3, 1, dtype=torch.long), ours.start(src))
    state = state.reorder(torch.zeros(3, 2, dtype=torch.long))
    _, state = ours.step(torch.tensor([[4, 5], [6, 7], [8, 9]]), state)
    state = state.reorder(torch.tensor([[1, 1, 0], [0, 1, 0], [1, 0, 0]])).keep(torch.tensor([True, False, True]))
    logits, _ = ours.step(torch.tensor([[6, 7, 8], [3, 4, 5]]), state)
    for row, sentence, parents, last in ((0, 0, [5, 5, 4], [6, 7, 8]), (1, 2, [9, 8, 8], [3, 4, 5])):
        for beam in range(3):
            prefix = torch.tensor([[1, parents[beam], last[beam]]])
            assert_equal(logits[row, beam], ours(src[sentence : sentence + 1], prefix)[0, -1], 1e-9)


@pytest.mark.parametrize("name", ["vocab_size", "d_model", "d_ff", "n_layers"])
@pytest.mark.parametrize("size", [0, -1])
def test_sizes_of_nothing_are_refused(name, size):
    with pytest.raises(ValueError, match=f"expected {name} as a whole number of at least 1, got {size}: it counts"):
        Transformer(TransformerConfig(**{"vocab_size": 11, name: size}))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("dropout", math.nan), ("dropout", 1.5), ("dropout", -0.1), ("max_len", 0), ("max_len", -1)],
        *[
            ("n_heads", 0),
            ("n_heads", 2.0),
            ("d_model", 512 / 8),
            ("d_ff", 8.5),
            ("n_layers", 1.0),
            ("vocab_size", math.nan),
            ("vocab_size", None),
        ],
    ],
)
def test_numbers_that_no_model_can_have_are_refused(name, value, unchecked):
    words = f"expected {name} (as a whole number of at least 1|from 0 to 1), got {value}: "
    with pytest.raises(ValueError, match=words):
        Transformer(TransformerConfig(**{"vocab_size": 11, name: value}))


def test_a_configuration_without_words_is_counted_all_the_same():
    config = TransformerConfig(vocab_size=0)
    assert parameter_count(dataclasses.replace(config, vocab_size=3)) == parameter_count(config) + 3 * config.d_model


def test_sources_and_targets_of_other_numbers_are_refused():
    """One source would be translated into every target, without a word."""
    model = Transformer(TransformerConfig(11, d_model=8, n_heads=2, d_ff=16, n_layers=1))
    src = torch.tensor([[5, 6, 2]])
    plain = inspect.unwrap(MultiHeadAttention.forward)  # the shape checks of the tests would object first
    layer = inspect.unwrap(DecoderLayer.forward)
    with (
        mock.patch.object(MultiHeadAttention, "forward", plain),
        pytest.raises(ValueError, match="of one batch, got 2"),
    ):
        layer(model.decoder.layers[0], torch.zeros(2, 2, 8), model.encode(src))


def test_a_causal_mask_of_ones_own_takes_a_length_alone(monkeypatch):
    """Chapter 17 puts the reader's `causal_mask(n)` into the machine."""
    model = Transformer(TransformerConfig(11, d_model=8, n_heads=2, d_ff=16, n_layers=1)).eval()
    ids = torch.tensor([[5, 6, 2]])
    before = model(ids, ids)
    monkeypatch.setattr("course_lib.transformer.causal_mask", lambda n: torch.ones(n, n).tril().bool())
    assert_equal(model(ids, ids), before)
