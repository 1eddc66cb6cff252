"""Batches: nothing lost, nothing twice, shift and padding by definition, an order that can be continued anywhere."""

import inspect
from collections import Counter
from itertools import pairwise

import generated
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from course_lib.batching import (
    Batches,
    Position,
    buckets,
    encode_pairs,
    make_batch,
    pad,
    padding_share,
    shift,
)
from course_lib.bpe import BPE
from course_lib.bpe.byte_level import ByteBPE
from course_lib.corpus import Sentence, read_pairs
from course_lib.tokens import BOS, EOS, PAD

IDS = st.lists(st.integers(4, 50), max_size=7)
PAIRS = st.lists(st.tuples(IDS, IDS), min_size=1, max_size=25)


@given(PAIRS)
def test_a_batch_holds_its_pairs_shifted_and_padded(pairs):
    batch = make_batch(pairs, rows=range(10, 10 + len(pairs)))
    assert batch.rows == tuple(range(10, 10 + len(pairs)))
    for row, (src, tgt) in enumerate(pairs):
        n_src, n_tgt = len(src) + 1, len(tgt) + 1
        assert (batch.src_lengths[row], batch.tgt_lengths[row]) == (n_src, n_tgt)
        assert batch.src[row, :n_src].tolist() == [*src, EOS]
        assert batch.tgt_in[row, :n_tgt].tolist() == [BOS, *tgt]
        assert batch.tgt_out[row, :n_tgt].tolist() == [*tgt, EOS]
        assert (batch.src[row, n_src:] == PAD).all()
        assert (batch.tgt_in[row, n_tgt:] == PAD).all()
        assert (batch.tgt_out[row, n_tgt:] == PAD).all()
    assert batch.n_tokens == int((batch.tgt_out != PAD).sum())
    assert torch.equal(batch.tgt_in != PAD, batch.tgt_out != PAD)
    assert torch.equal(
        batch.tgt_in[:, 1:] * (batch.tgt_out[:, 1:] != PAD), batch.tgt_out[:, :-1] * (batch.tgt_out[:, 1:] != PAD)
    )
    assert batch.src.shape[1] == max(len(src) for src, _ in pairs) + 1


def test_a_label_has_its_end_and_an_input_its_beginning():
    assert shift([]) == ([BOS], [EOS])
    assert pad([[]]).shape == (1, 0)
    assert pad([]).shape == (0, 0)
    assert pad([[5], []], pad_id=9).tolist() == [[5], [9]]


@pytest.mark.parametrize("number", [1.5, 1.0, 1j])
def test_ids_are_whole_numbers(number):
    """A fraction would lose what stands behind its point, without a word."""
    for ids in ({"sequences": [[5], [number]]}, {"sequences": [[5], []], "pad_id": number}):
        with pytest.raises(ValueError, match=r"expected whole numbers, got torch\.(float32|complex64): encode first"):
            inspect.unwrap(pad)(**ids)  # the shape checks of the tests would object first


def test_a_batch_moves_to_a_device():
    batch = make_batch([([5], [6, 7])])
    moved = batch.to(torch.device("meta"))
    assert {moved.src.device.type, moved.tgt_out.device.type, moved.tgt_lengths.device.type} == {"meta"}
    assert moved.rows == batch.rows


@given(st.lists(st.integers(1, 12), max_size=40), st.integers(12, 40))
def test_buckets_keep_the_budget_and_everything_else(lengths, max_tokens):
    groups = buckets(lengths, max_tokens)
    assert sorted(i for group in groups for i in group) == list(range(len(lengths)))
    assert all(len(group) * max(lengths[i] for i in group) <= max_tokens for group in groups)
    longest = [max(lengths[i] for i in group) for group in groups]
    assert longest == sorted(longest)
    for group, following in pairwise(groups):  # no bucket could have taken one more
        assert (len(group) + 1) * lengths[following[0]] > max_tokens


def test_a_sentence_beyond_the_budget():
    with pytest.raises(ValueError, match="expected sentences of at most max_tokens=5 tokens, got 6 in number 1: raise"):
        buckets([5, 6], max_tokens=5)
    with pytest.raises(ValueError, match="got 7 in number 0"):
        Batches([([5], [5] * 6)], max_tokens=6)(0)


@given(PAIRS, st.integers(8, 30), st.integers(0, 3), st.booleans())
def test_an_epoch_has_every_pair_once(pairs, max_tokens, epoch, shuffle):
    batches = Batches(pairs, max_tokens, seed=5, shuffle=shuffle)
    rows = [row for batch in batches(epoch) for row in batch.rows]
    assert sorted(rows) == list(range(len(pairs)))
    for batch in batches(epoch):
        assert batch.src.numel() <= max_tokens
        assert batch.tgt_out.numel() <= max_tokens
        for row, tgt_out, length in zip(batch.rows, batch.tgt_out, batch.tgt_lengths, strict=True):
            assert tgt_out[:length].tolist() == [*pairs[row][1], EOS]


def order(batches, epoch):
    return [batch.rows for batch in batches(epoch)]


def test_the_order_depends_on_seed_and_epoch_alone():
    pairs = [([5] * (1 + i % 4), [6] * (1 + i % 3)) for i in range(60)]
    one, same, other = Batches(pairs, 20, seed=1), Batches(pairs, 20, seed=1), Batches(pairs, 20, seed=2)
    same(7)  # asking for another epoch changes nothing
    torch.manual_seed(99)
    assert order(one, 0) == order(same, 0)
    assert order(one, 0) == order(one, 0)
    assert order(one, 0) != order(one, 1)
    assert order(one, 0) != order(other, 0)
    assert {frozenset(rows) for rows in order(one, 0)} != {frozenset(rows) for rows in order(one, 1)}
    unshuffled = Batches(pairs, 20, shuffle=False)
    assert order(unshuffled, 0) == order(unshuffled, 1)


@given(st.integers(0, 30))
def test_a_stream_goes_on_where_it_stopped(stop):
    pairs = [([5] * (1 + i % 4), [6] * (1 + i % 3)) for i in range(20)]
    batches = Batches(pairs, 12, seed=3)
    whole = batches.stream()
    position = Position()
    for _ in range(stop):
        position, _ = next(whole)
    again = Batches(pairs, 12, seed=3).stream(position)
    for _ in range(12):
        (expected_position, expected), (found_position, found) = next(whole), next(again)
        assert (expected_position, expected.rows) == (found_position, found.rows)


def test_slices_of_an_epoch_and_an_empty_corpus():
    batches = Batches([([5], [6])] * 9, 4)
    epoch = batches(0)
    assert [batch.rows for batch in epoch[2:]] == [batch.rows for batch in epoch][2:]
    assert epoch[-1].rows == [batch.rows for batch in epoch][-1]
    assert len(Batches([], 4)(0)) == 0
    with pytest.raises(ValueError, match="expected at least one sentence pair, got none: is the corpus empty"):
        next(Batches([], 4).stream())


def test_similar_lengths_save_padding():
    sentences = generated.course()["train"][:1500]
    tokenizer = BPE.train([s.tgt_text for s in sentences] + [s.src_text for s in sentences], 200)
    pairs = encode_pairs(sentences, tokenizer)
    in_buckets = padding_share(Batches(pairs, 500)(0))
    as_they_come = padding_share(make_batch(pairs[i : i + 64]) for i in range(0, 1500, 64))
    assert in_buckets < 0.1 < 0.4 < as_they_come
    assert padding_share([make_batch([([5], [6]), ([7], [8])])]) == 0


def test_one_tokenizer_encodes_both_languages(tmp_path):
    (tmp_path / "it.tsv").write_text("eins zwei\tone two\tnote\n", encoding="utf-8")
    sentences = read_pairs(tmp_path / "it.tsv", held_out=0)["train"]
    for tokenizer in (BPE.train(["eins zwei one two"], 5), ByteBPE.train(["one two"], 5)):
        assert encode_pairs(sentences, tokenizer) == [(tokenizer.encode("eins zwei"), tokenizer.encode("one two"))]


def test_every_source_of_pairs_gives_the_same_type():
    sentences = generated.course()["depth"][:5]
    tokenizer = BPE.train([s.tgt_text for s in sentences], 10)
    batch = Batches(encode_pairs(sentences, tokenizer), 5000)(0)[0]
    assert Counter(tokenizer.decode(ids.tolist()) for ids in batch.tgt_out) == Counter(s.tgt_text for s in sentences)


def test_batches_can_be_compared_and_searched():
    one, other = make_batch([([7], [5])]), make_batch([([7], [5])])
    assert one in [other, one]
    assert one != other
    assert padding_share([]) == 0


def test_a_vocabulary_with_words_in_the_places_of_pads_and_ends_is_refused():
    """Batches fill up with id 0, losses leave it out, and searches end at 2, whatever the vocabulary says."""
    pairs = [Sentence(("a", "b"), ("c",))]
    other = BPE.train(["a b c"], 2, specials={"<unk>": 0})
    words = r"expected no words with the ids 0, 1, and 2 of <pad>, <bos>, and <eos>, got \{1: '<0x00>', 2: "
    with pytest.raises(ValueError, match=words):
        encode_pairs(pairs, other)
