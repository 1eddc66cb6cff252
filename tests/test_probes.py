"""The probes: they pass sound models, and each planted bug is found with its own sentence."""

import inspect
import math

import pytest
import torch
from torch import nn

from course_lib import decoder as decoder_module
from course_lib.encoder import Classifier, Encoder
from course_lib.language_model import LanguageModel, LanguageModelConfig
from course_lib.masks import causal_mask, padding_mask
from course_lib.positional_encoding import InputEmbedding, SinusoidalPositions
from course_lib.probes import Verdict, dependency, leak_probe, pad_probe, random_token_floor, record_attention
from course_lib.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.transformer import Transformer, TransformerConfig

SRC = torch.tensor([[5, 6, 7, 8, 2], [9, 4, 2, 0, 0]])
TGT = torch.tensor([[1, 8, 9, 4], [1, 6, 5, 0]])


def transformer(**changes):
    torch.manual_seed(0)
    return Transformer(TransformerConfig(11, d_model=8, n_heads=2, d_ff=13, n_layers=2, **changes)).eval()


@pytest.mark.parametrize("norm_first", [False, True])
def test_the_transformer_passes_both_probes(norm_first):
    model = transformer(norm_first=norm_first)
    assert leak_probe(lambda tgt_in: model(SRC, tgt_in), TGT)
    assert pad_probe(lambda src: model(src, TGT), SRC)
    assert pad_probe(lambda tgt_in: model(SRC, tgt_in), TGT)
    assert pad_probe(model.encode, SRC)
    for side in ("left", "right"):
        assert pad_probe(lambda src: model(src, TGT), SRC, side=side)
        assert pad_probe(lambda tgt_in: model(SRC, tgt_in), TGT, side=side)
        assert pad_probe(lambda src: model(src, TGT), SRC.flip(1), side=side)


def test_the_recurrent_model_passes_both_probes():
    model = Seq2Seq(Seq2SeqConfig(11, 8)).eval()
    assert leak_probe(lambda tgt_in: model(SRC, tgt_in), TGT)
    assert pad_probe(lambda src: model(src, TGT), SRC)


def test_an_encoder_leaks_by_design():
    model = transformer()
    assert str(leak_probe(model.encode, SRC)).startswith("FAILED: output ")


@pytest.mark.parametrize("diagonal", [1, 2])
def test_a_mask_off_by_one_is_found(diagonal, monkeypatch):
    model = transformer()
    wrong = torch.ones(4, 4, dtype=torch.bool).tril(diagonal)
    monkeypatch.setattr("course_lib.transformer.causal_mask", lambda n: wrong)
    verdict = leak_probe(lambda tgt_in: model(SRC, tgt_in), TGT)
    assert not verdict
    assert verdict.found.endswith("later")
    assert verdict.advice == "look at the mask of the self-attention"


def test_an_unmasked_source_is_found(monkeypatch):
    model = transformer()
    monkeypatch.setattr(
        "course_lib.transformer.padding_mask", lambda ids: torch.ones(len(ids), 1, 1, ids.shape[1]).bool()
    )
    verdict = pad_probe(model.encode, SRC)
    assert not verdict
    assert verdict.found.endswith("when 3 pads are appended")
    assert verdict.advice == "hide pads as keys, and leave them out of means"


def test_a_leak_of_one_id_needs_the_whole_vocabulary():
    def everyone_sees_id_3(ids):
        mask = causal_mask(ids.shape[1]) | (ids == 3)[:, None, :]
        return (mask * ids[:, None, :]).sum(dim=-1).float()

    ids = torch.tensor([[5, 6, 7, 8]])
    assert leak_probe(everyone_sees_id_3, ids)
    verdict = leak_probe(everyone_sees_id_3, ids, vocab=range(11))
    assert str(verdict).startswith("FAILED: output 0 moves when token 1 is edited, 1 later")
    assert leak_probe(lambda ids: ids.cumsum(dim=1).float(), ids, vocab=range(11))


def test_the_largest_move_over_the_vocabulary_counts():
    moved = dependency(lambda ids: ids.float(), torch.tensor([[5, 6]]), vocab=(4, 9, 7))
    assert moved.tolist() == [[4.0, 0.0], [0.0, 3.0]]


def test_pads_on_the_left_need_the_mask_and_the_positions():
    def model(counted, masked):
        def f(ids):
            real = ids != 0
            positions = (real.cumsum(dim=1) - 1).clamp(min=0) if counted else torch.arange(ids.shape[1])
            visible = real if masked else torch.ones_like(real)
            return (ids * visible + visible).cumsum(dim=1) + 10.0 * positions

        return f

    ids = torch.tensor([[5, 6, 7], [8, 0, 0]])
    verdicts = {(c, m): pad_probe(model(c, m), ids, side="left") for c in (True, False) for m in (True, False)}
    assert [key for key, verdict in verdicts.items() if verdict] == [(True, True)]
    assert str(verdicts[True, True]) == "passed: no real output moves when pads are prepended"
    assert str(verdicts[False, True]) == (
        "FAILED: outputs move by up to 30.00 when 3 pads are prepended\n"
        "        hide pads as keys, and count positions from the first real token"
    )
    assert pad_probe(model(False, True), ids), "appended pads shift nothing"
    assert pad_probe(lambda ids: ids.sum(dim=1), ids, side="left"), "a classifier has no token axis"
    unchecked = inspect.unwrap(pad_probe)  # the type checks of the tests would object first
    with pytest.raises(ValueError, match="expected side='right' or 'left', got 'both'"):
        unchecked(model(True, True), ids, side="both")


@pytest.mark.parametrize("rotary", [True, False])
def test_a_language_model_does_not_notice_pads_on_the_left(rotary):
    torch.manual_seed(0)
    positions = "rotary" if rotary else "sinusoidal"
    config = LanguageModelConfig(11, d_model=8, n_heads=2, n_kv_heads=1, d_ff=13, n_layers=2, positions=positions)
    model = LanguageModel(config).eval()
    assert pad_probe(model, SRC)
    assert pad_probe(model, SRC, side="left")


def test_dropout_and_nan_are_named_first():
    model = transformer().train()
    twice = Verdict(False, "two runs on the same input differ", "call model.eval() first, to switch dropout off")
    assert leak_probe(lambda tgt_in: model(SRC, tgt_in), TGT) == twice
    assert pad_probe(model.encode, SRC) == twice
    nothing_to_see = Verdict(False, "an output is not a finite number", "does a token have nothing to attend to?")
    assert leak_probe(lambda ids: ids * math.nan, TGT) == nothing_to_see
    assert pad_probe(lambda ids: ids * (math.nan if ids.shape[1] > 5 else 1.0), SRC) == nothing_to_see


def test_dependency_is_the_mask():
    torch.manual_seed(0)
    layer = decoder_module.DecoderLayer(6, 2, 8).double().eval()
    x, memory = torch.randn(2, 5, 6, dtype=torch.float64), torch.randn(2, 3, 6, dtype=torch.float64)
    mask = causal_mask(5)
    mask[4, 1] = False
    matrix = dependency(lambda x: layer(x, memory, mask), x)
    assert torch.equal(matrix > 1e-9, mask)


def test_edited_ids_stay_inside_the_vocabulary():
    seen = []
    dependency(lambda ids: seen.append(ids.clone()) or ids.float(), TGT)
    assert len(seen) == 5
    assert all(set(ids.unique().tolist()) <= set(TGT.unique().tolist()) for ids in seen)
    for k, ids in enumerate(seen[1:]):
        assert torch.equal((ids != TGT).any(dim=0), torch.arange(4) == k)
        assert (ids[:, k] != TGT[:, k]).all()
    dependency(lambda ids: seen.append(ids.clone()) or ids.float(), torch.full((1, 2), 5))
    assert seen[-1].tolist() == [[5, 4]]


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_a_classifier_passes_the_pad_probe_and_a_plain_mean_fails(pooling, monkeypatch):
    embedding = InputEmbedding(11, 8, SinusoidalPositions(8))
    model = Classifier(embedding, Encoder(1, 8, 2, 13), 8, n_classes=5, pooling=pooling).eval()
    assert pad_probe(model, SRC)
    monkeypatch.setattr("course_lib.encoder.masked_mean", lambda hidden, real: hidden.mean(dim=1))
    assert bool(pad_probe(model, SRC)) == (pooling == "cls")


def test_the_floor():
    assert random_token_floor(math.log(7), 7)
    assert random_token_floor(math.log(7) - 0.049, 7)
    within = random_token_floor(2.26, 10)
    assert str(within) == "passed: loss 2.26 is not below the floor ln 10 = 2.30 by more than chance"
    for loss in (math.nan, math.inf):
        assert str(random_token_floor(loss, 10)).startswith(f"FAILED: loss {loss} says nothing about the floor")
    with pytest.raises(ValueError, match="expected n_words of at least 1, got 0"):
        random_token_floor(1.0, 0)
    verdict = random_token_floor(0.194, 10)
    assert not verdict
    assert str(verdict) == (
        "FAILED: loss 0.19 is below the floor ln 10 = 2.30\n"
        "        the model sees the target: mask off by one, labels not shifted?"
    )


def test_recorded_weights_are_those_of_the_pass():
    model = transformer()
    with record_attention(model) as weights:
        model(SRC, TGT)
    assert {name: tuple(w.shape) for name, w in weights.items()} == {
        **{f"encoder.layers.{i}.attention": (2, 2, 5, 5) for i in range(2)},
        **{f"decoder.layers.{i}.self_attention": (2, 2, 4, 4) for i in range(2)},
        **{f"decoder.layers.{i}.cross_attention": (2, 2, 4, 5) for i in range(2)},
    }
    for w in weights.values():
        torch.testing.assert_close(w.sum(dim=-1), torch.ones(w.shape[:-1]))
    assert weights["decoder.layers.0.cross_attention"][1, ..., 3:].eq(0).all()
    x = model.src_embedding(SRC)
    expected = model.encoder.layers[0].attention(x, x, x, padding_mask(SRC))[1]
    assert torch.equal(weights["encoder.layers.0.attention"], expected)


def test_recorded_steps_of_a_recurrent_decoder_are_joined():
    model = Seq2Seq(Seq2SeqConfig(11, 8)).eval()
    with record_attention(model) as weights:
        model(SRC, TGT)
    assert weights["attention"].shape == (2, 4, 5)
    before = len(weights)
    model(SRC, TGT[:, :2])
    assert len(weights) == before
    assert weights["attention"].shape == (2, 4, 5)


def test_hooks_are_gone_even_after_an_error():
    model = transformer()

    def fail():
        with record_attention(model):
            raise KeyError("stop")

    with pytest.raises(KeyError):
        fail()
    assert not any(m._forward_hooks for m in model.modules())


def test_torch_attention_is_recorded_too():
    attention = nn.MultiheadAttention(6, 2, batch_first=True)
    x = torch.randn(1, 3, 6)
    with record_attention(attention) as weights:
        attention(x, x, x, average_attn_weights=False)
    assert weights[""].shape == (1, 2, 3, 3)
