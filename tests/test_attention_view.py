"""Entropy, alignment by head, and edits of the weights, against things computed in another way."""

import copy

import generated
import pytest
import torch
from torch.distributions import Categorical

from course_lib.attention_view import cut_key, edit_attention, entropy, head_alignment, sum_words, word_rows
from course_lib.corpus import course_corpus, tagged
from course_lib.masks import causal_mask, masked_softmax
from course_lib.probes import record_attention
from course_lib.stored import model
from course_lib.transformer import Transformer, TransformerConfig
from experiments.attention_view_differ import donors, likeliest, outputs_of, replaced
from experiments.attention_view_heads import CROSS

OWN = "decoder.layers.0.self_attention"


@pytest.fixture
def transformer():
    torch.manual_seed(0)
    config = TransformerConfig(13, d_model=12, n_heads=3, d_ff=17, n_layers=2, norm_first=True)
    return Transformer(config).double().eval()


@pytest.fixture
def ids():
    return torch.randint(4, 13, (2, 7)), torch.randint(4, 13, (2, 5))


@torch.no_grad()
def test_an_edit_that_changes_nothing_leaves_the_logits_equal(transformer, ids):
    plain = transformer(*ids)
    with edit_attention(transformer, lambda name, weights: weights):
        assert torch.equal(transformer(*ids), plain)
    with edit_attention(transformer, lambda name, weights: 0 * weights):
        assert not torch.allclose(transformer(*ids), plain)
    assert torch.equal(transformer(*ids), plain)  # the hooks are gone


def test_the_hooks_are_gone_after_an_error(transformer, ids):
    def fails(name, weights):
        raise RuntimeError(name)

    with pytest.raises(RuntimeError, match=r"encoder\.layers\.0"), edit_attention(transformer, fails):
        transformer(*ids)
    transformer(*ids)


@torch.no_grad()
@pytest.mark.parametrize("head", [0, 1, 2])
def test_a_head_without_weights_is_a_head_without_its_columns_of_w_o(transformer, ids, head):
    changed = copy.deepcopy(transformer)
    changed.get_submodule(OWN).w_o.weight[:, 4 * head : 4 * head + 4] = 0

    def silent(name, weights):
        return weights if name != OWN else weights.index_fill(1, torch.tensor(head), 0.0)

    with edit_attention(transformer, silent):
        assert torch.allclose(transformer(*ids), changed(*ids), atol=1e-12)


@torch.no_grad()
def test_recorded_weights_are_the_edited_ones(transformer, ids):
    with edit_attention(transformer, lambda name, weights: cut_key(weights, 1)), record_attention(transformer) as seen:
        transformer(*ids)
    assert all((weights[..., 1] == 0).all() for weights in seen.values())


def test_entropy_is_that_of_torch_over_the_logarithm_of_the_keys():
    weights = torch.randn(2, 3, 5, 7).softmax(dim=-1)
    expected = Categorical(probs=weights).entropy() / torch.tensor(7.0).log()
    torch.testing.assert_close(entropy(weights), expected)
    causal = entropy(masked_softmax(torch.zeros(5, 5), causal_mask(5)), causal_mask(5))
    torch.testing.assert_close(causal, torch.tensor([0.0, 1, 1, 1, 1]))  # equal weights on what may be seen


def test_head_alignment_counts_linked_words_alone():
    weights = torch.randn(4, 3, 6, 5).softmax(dim=-1)
    links = [(0, 0), (3, 2), (4, 2), (1, 5)]
    for layer in range(4):
        for head in range(3):
            best = weights[layer, head].argmax(dim=-1).tolist()
            expected = ((best[0] == 0) + (best[2] in (3, 4)) + (best[5] == 1)) / 3
            assert head_alignment(weights, links)[layer, head].item() == pytest.approx(expected)


def test_rows_of_words_give_the_map_of_the_translator():
    translator = model("translator")
    vocabulary = translator.vocabulary
    pairs = [
        pair
        for pair in generated.course()["test"][:40]
        if len(vocabulary.encode(pair.tgt_text)) == len(pair.tgt)  # words of one token: one row each
    ][:3]
    assert pairs
    rows = word_rows(pairs, vocabulary)
    with torch.no_grad(), record_attention(translator.model) as recorded:
        translator.model(rows.src, rows.tgt_in)
    found = sum_words(rows.of(recorded["decoder.layers.1.cross_attention"]), rows.words)
    start = 0
    for pair in pairs:
        expected = translator.attention(pair.src_text, pair.tgt_text).transpose(0, 1)
        got = found[start : start + len(pair.tgt), :, : len(pair.src)]
        torch.testing.assert_close(got, expected, atol=1e-5, rtol=0)
        start += len(pair.tgt)


def test_an_edit_of_rows_changes_one_row_of_each_copy():
    vocabulary = model("translator").vocabulary
    rows = word_rows(generated.course()["test"][:2], vocabulary)
    weights = torch.rand(len(rows.row), 3, rows.tgt_in.shape[1], rows.src.shape[1])
    edit = rows.edit(["here"], lambda w: 0 * w)
    assert torch.equal(edit("elsewhere", weights), weights)
    changed = (edit("here", weights) != weights).any(dim=-1).any(dim=1)
    assert torch.equal(changed.nonzero()[:, 1], rows.row)


def test_an_output_put_back_where_it_was_changes_no_prediction():
    """The patching of experiments.attention_view_differ: nothing by itself, and another sentence's reading does."""
    translator, pairs = model("translator"), tagged(course_corpus()["test"], "simple")[:40]
    rows = word_rows(pairs, translator.vocabulary)
    before = likeliest(translator.model, rows, translator.model.start(rows.src))
    own = outputs_of(translator.model, rows)
    assert torch.equal(replaced(translator.model, CROSS, rows, own), before)
    places = [(n, j, len(pair.tgt)) for n, pair in enumerate(pairs) for j in range(len(pair.tgt))]
    donor = donors(rows, places, before == rows.target, same=False)
    assert (donor >= 0).any()
    for b, c in enumerate(donor.tolist()):
        if c >= 0:
            assert places[b][1:] == places[c][1:]
            assert places[b][0] != places[c][0]
            assert rows.target[b] != rows.target[c]
    changed = replaced(translator.model, CROSS, rows, {name: own[name][donor] for name in CROSS})
    assert not torch.equal(changed[donor >= 0], before[donor >= 0])
    assert torch.equal(likeliest(translator.model, rows, translator.model.start(rows.src)), before)  # no hook is left
