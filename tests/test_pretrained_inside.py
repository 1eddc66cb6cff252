"""What is seen and changed inside a model, against `transformers` with the same weights, changed in its own way."""

import pytest
import torch
from oracles import assert_equal
from test_pretrained_folders import decoder

from course_lib.attention_view import cut_key
from course_lib.masks import causal_mask
from course_lib.pretrained.folders import llama
from course_lib.pretrained.inside import (
    attention_weights,
    edit_weights,
    induction_scores,
    logit_lens,
    patch,
    silence,
    streams,
)

TOLERANCE = 1e-3  # both round their angles to single precision
IDS = torch.tensor([[3, 7, 11, 2, 19, 5, 7], [8, 1, 1, 4, 22, 9, 13]])


@pytest.fixture
def both(tmp_path):
    """A small Llama of 3 layers with 6 heads, 2 of keys and values: ours and theirs."""
    theirs = decoder("llama", tmp_path)
    return llama(tmp_path, torch.float64), theirs


def test_streams_and_weights_equal_theirs(both):
    ours, theirs = both
    reference = theirs(IDS, output_hidden_states=True, output_attentions=True, use_cache=False)
    found = streams(ours, IDS)
    assert found.shape == (3, 2, 7, 12)
    assert_equal(found[:2], torch.stack(reference.hidden_states[1:3]), TOLERANCE)
    assert_equal(ours.norm(found[2]), reference.hidden_states[3], TOLERANCE)  # theirs ends after the last norm
    assert_equal(attention_weights(ours, IDS), torch.stack(reference.attentions), TOLERANCE)
    assert_equal(logit_lens(ours, found[1]), theirs.lm_head(theirs.model.norm(reference.hidden_states[2])), TOLERANCE)


def test_the_same_weights_change_nothing(both):
    ours, _ = both
    before = ours(IDS)
    with edit_weights(ours, lambda layer, weights: weights):
        assert torch.equal(ours(IDS), before)


def test_silent_heads_equal_theirs_without_their_columns(both):
    ours, theirs = both
    before = ours(IDS)
    with edit_weights(ours, silence((0, 5), (2, 1), (2, 3))):
        quiet = ours(IDS)
    with torch.no_grad():
        for layer, head in [(0, 5), (2, 1), (2, 3)]:
            theirs.model.layers[layer].self_attn.o_proj.weight[:, 2 * head : 2 * head + 2] = 0
    assert_equal(quiet, theirs(IDS).logits, TOLERANCE)
    assert (quiet - before).abs().max() > 0.1
    assert torch.equal(ours(IDS), before)


def test_a_key_that_is_cut_equals_their_mask(both):
    """The first token, hidden from all that come after the third."""
    ours, theirs = both

    def cut(_layer, weights):
        return torch.cat([weights[:, :, :3], cut_key(weights[:, :, 3:], 0)], dim=2)

    with edit_weights(ours, cut):
        found = ours(IDS)
    mask = causal_mask(7)
    mask[3:, 0] = False
    hidden = torch.zeros(7, 7, dtype=torch.float64).masked_fill(~mask, -1e30)
    assert_equal(found, theirs(IDS, attention_mask=hidden.expand(2, 1, 7, 7)).logits, TOLERANCE)


def test_a_weight_taken_without_a_substitute_is_a_value_of_zero(both):
    ours, theirs = both

    def without(_layer, weights):
        return weights * torch.tensor([0.0, 1, 1, 1, 1, 1, 1])

    with edit_weights(ours, without):
        found = ours(IDS)
    for layer in theirs.model.layers:
        layer.self_attn.v_proj.register_forward_hook(
            lambda _module, _inputs, value: torch.cat([torch.zeros_like(value[:, :1]), value[:, 1:]], dim=1)
        )
    assert_equal(found, theirs(IDS).logits, TOLERANCE)


def test_edits_reach_each_step_of_writing(both):
    """Step by step, with the cache, as all at once."""
    ours, _ = both
    with edit_weights(ours, silence((1, 2))):
        whole = ours(IDS)
        logits, _ = ours.step(IDS[:, -1:], ours.start(IDS[:, :-1]))
    assert_equal(logits[:, 0], whole[:, -1])


def test_a_patched_stream_equals_theirs(both):
    ours, theirs = both
    before, other = ours(IDS), IDS.flip(1)
    given = streams(ours, other)[1][:, 4]
    with patch(ours, layer=1, place=4, stream=given):
        found = ours(IDS)

    def put(_module, _inputs, output):
        output[:, 4] = given
        return output

    theirs.model.layers[1].register_forward_hook(put)
    assert_equal(found, theirs(IDS).logits, TOLERANCE)
    assert torch.equal(found[:, :4], before[:, :4])
    with patch(ours, layer=1, place=4, stream=streams(ours, IDS)[1][:, 4]):
        assert_equal(ours(IDS), before)


def test_what_is_changed_is_as_before_even_after_an_error(both):
    ours, _ = both
    before = ours(IDS)
    for changed in (edit_weights(ours, silence((0, 0))), patch(ours, 0, 0, torch.zeros(1, 12).double())):
        with pytest.raises(KeyError), changed:
            raise KeyError
        assert torch.equal(ours(IDS), before)


def test_induction_scores_against_loops():
    weights = torch.rand(2, 5, 11, 11).tril()
    found = induction_scores(weights, period=4)
    for i in range(2):
        for head in range(5):
            seen = [weights[i, head, q, q - 4 + 1].item() for q in range(4, 11)]
            assert found[i, head].item() == pytest.approx(sum(seen) / len(seen))
    assert_equal(induction_scores(weights, period=10), weights[..., 10, 1])


@pytest.mark.parametrize("period", [0, 11])
def test_a_period_that_never_returns_is_refused(period):
    with pytest.raises(ValueError, match=f"expected a period from 1 to 10 for 11 tokens, got {period}: repeat"):
        induction_scores(torch.eye(11), period)
