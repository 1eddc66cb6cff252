"""BPE: by hand, the fast form against the plain one, and against `tokenizers` and `tiktoken`."""

import inspect
import itertools
import json
import random
import re
import subprocess
import sys
import unicodedata
from collections import Counter
from time import process_time

import generated
import pytest
import tiktoken
import tokenizers
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.tokenizer_files import export_tokenizers, import_gpt2, import_tokenizers, tiktoken_arguments
from course_lib.bpe import BPE, BYTES, MARK, apply_merges, merge, pair_counts, train_bpe, word_symbols
from course_lib.bpe.byte_level import BYTE_ORDER, CHARACTER_OF, ByteBPE, load_tokenizer
from course_lib.bpe.fast import Row, WordCache, merge_long
from course_lib.bpe.subwords import several
from course_lib.tokens import BOS, EOS, PAD, UNK

CLASSIC = {"low": 5, "lower": 2, "newest": 6, "widest": 3}
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=40)  # lone surrogates too
# The libraries know newer characters than an older Python does.
ASSIGNED = st.text(st.characters(exclude_categories=["Cs", "Cn"]), max_size=40)
TRICKY = st.text(st.sampled_from(" \n\t\r\x1c\x85\u3000ab1²½'stTdlrev_-!?é한글😀<>/w"), max_size=30)


@pytest.fixture(scope="module")
def course_texts():
    pairs = generated.course()["train"][:1500]
    return [pair.src_text for pair in pairs] + [pair.tgt_text for pair in pairs]


@pytest.fixture(scope="module")
def characters(course_texts):
    return BPE.train(course_texts, 500)


@pytest.fixture(scope="module")
def byte_level(course_texts):
    return ByteBPE.train([*course_texts, "I've 2 cats, she's 31!  ok\n\n  fin"], 500)


def texts_of(frequencies):
    return [word for word, frequency in frequencies.items() for _ in range(frequency)]


# --- by hand ---------------------------------------------------------------------------------------------------------


def test_the_classic_counts():
    words = {word_symbols(word): frequency for word, frequency in CLASSIC.items()}
    assert pair_counts(words) == {
        ("l", "o"): 7,
        ("o", "w</w>"): 5,
        ("o", "w"): 2,
        ("w", "e"): 8,
        ("e", "r</w>"): 2,
        ("n", "e"): 6,
        ("e", "w"): 6,
        ("e", "s"): 9,
        ("s", "t</w>"): 9,
        ("w", "i"): 3,
        ("i", "d"): 3,
        ("d", "e"): 3,
    }


def test_the_classic_merges_and_a_word_never_seen():
    merges = train_bpe(CLASSIC, 5)
    assert merges == [("e", "s"), ("es", "t</w>"), ("l", "o"), ("e", "w"), ("n", "ew")]
    assert apply_merges("lowest", merges) == ("lo", "w", "est</w>")
    assert apply_merges("lowest", []) == ("l", "o", "w", "e", "s", "t</w>")


def test_a_word_is_merged_by_rank_not_by_length_nor_from_the_left():
    merges = [("b", "c"), ("a", "b"), ("ab", "c</w>"), ("bc", "d</w>")]
    assert apply_merges("abcd", merges) == ("a", "bcd</w>")  # longest match and left to right would start with ab
    tokenizer = BPE.train(["abc abcd"], 0)
    vocab = tokenizer.vocab | {token: 600 + i for i, token in enumerate(["bc", "ab", "abc</w>", "bcd</w>"])}
    tokenizer = BPE(vocab, merges, tokenizer.specials)
    assert tokenizer.tokens(tokenizer.encode("abcd")) == ["a", "bcd</w>"]


def test_merge_is_about_symbols_not_letters():
    assert merge(("c", "a", "b"), ("a", "b")) == ("c", "ab")
    assert merge(("ca", "b"), ("a", "b")) == ("ca", "b")
    assert merge(("a", "a", "a"), ("a", "a")) == ("aa", "a")


def test_overlapping_pairs_count():
    # 10 words xxx have 20 pairs xx, more than 19 words xy; without the overlap they would have 10.
    tokenizer = ByteBPE.train(texts_of({"xxx": 10, "xy": 19}), 1)
    assert tokenizer.merges == [("x", "x")]


def test_training_ends_when_no_pair_is_left():
    assert BPE.train(["ab"], 9).merges == [("a", f"b{MARK}")]
    assert train_bpe({"ab": 1}, 9) == [("a", f"b{MARK}")]
    assert BPE.train([], 9).merges == []


# --- the fast form is the plain form ---------------------------------------------------------------------------------


@given(st.dictionaries(st.text("abc", min_size=1, max_size=8), st.integers(1, 6), max_size=12), st.integers(0, 30))
def test_fast_training_and_encoding_equal_the_plain_forms(frequencies, n_merges):
    tokenizer = BPE.train(texts_of(frequencies), n_merges)
    assert tokenizer.merges == train_bpe(frequencies, n_merges)
    for word in frequencies:
        assert tuple(tokenizer.tokens(tokenizer.encode(word))) == apply_merges(word, tokenizer.merges)


@given(st.dictionaries(st.text("ab", min_size=20, max_size=90), st.integers(1, 3), max_size=3), st.integers(0, 40))
def test_long_words_train_as_the_plain_form_says(frequencies, n_merges):
    assert BPE.train(texts_of(frequencies), n_merges).merges == train_bpe(frequencies, n_merges)


@pytest.mark.parametrize("word", ["a" * 200_000, "abc" * 70_000])
def test_training_on_one_long_word_takes_no_quadratic_time(word):
    """Steps are those of the places that are merged: together fewer than the word has symbols."""
    merged = Counter()

    class Counted(Row):
        def merge(self, pair, new):
            merged["places"] += len(self.places[pair])
            return super().merge(pair, new)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("course_lib.bpe.fast.Row", Counted)
        begun = process_time()
        tokenizer = ByteBPE.train([word], 20)
    assert len(tokenizer.merges) > 15
    assert merged["places"] < 3 * len(word)
    assert process_time() - begun < 30  # of the processor; a second, where visits are few but each looks at the word


@st.composite
def any_merges(draw):
    """Merges whose parts exist, in any order, some of them twice: most such lists come from no training."""
    tokens = ["a", "b", "c", "a</w>", "b</w>", "c</w>"]
    merges = []
    for _merge in range(draw(st.integers(0, 12))):
        left = draw(st.sampled_from([token for token in tokens if not token.endswith(MARK)]))
        merges.append((left, draw(st.sampled_from(tokens))))
        tokens.append("".join(merges[-1]))
    return draw(st.permutations(merges))


LETTERS = BPE.train(["a b c abc bca cab"], 0).vocab


@given(any_merges(), st.text("abc", min_size=1, max_size=12))
@settings(max_examples=400)
def test_encoding_equals_the_plain_form_for_every_list_of_merges(merges, word):
    vocab = dict(LETTERS)
    for pair in merges:
        vocab.setdefault("".join(pair), 4 + len(vocab))
    tokenizer = BPE(vocab, merges)
    expected = apply_merges(word, merges)
    assert tuple(tokenizer.tokens(tokenizer.encode(word))) == expected
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("course_lib.bpe.fast.LONG", 0)
        long = BPE(vocab, merges)
        assert tuple(long.tokens(long.encode(word))) == expected


def test_merges_in_an_order_that_no_training_gives():
    assert apply_merges("abc", [("ab", "c</w>"), ("a", "b")]) == ("abc</w>",)  # one pass in order would stop at ab
    assert apply_merges("abab", [("ab", "a"), ("a", "b")]) == ("aba", "b</w>")  # each join may open a lower rank


def test_fast_training_equals_the_plain_form_on_the_course(course_texts, characters):
    frequencies = Counter(word for text in course_texts for word in text.split(" "))
    assert characters.merges[:60] == train_bpe(frequencies, 60)


def test_a_full_cache_forgets_and_goes_on():
    cache = WordCache(str, {"ab": 0}, ["X"], limit=3)
    words = ["ab", "b", "a", "aab", "ab", "abab"]
    assert [cache[word] for word in words] == [
        tuple(map(ord, w.replace("ab", "X"))) for word in [*words] for w in [word]
    ]
    assert len(cache) <= 3


# --- nothing is lost, nothing becomes special ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["characters", "byte_level"])
@given(text=ANY_TEXT | TRICKY)
def test_every_text_comes_back(kind, characters, byte_level, text):
    tokenizer = {"characters": characters, "byte_level": byte_level}[kind]
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert tokenizer.encode_batch([text, text]) == [ids, ids]
    assert not set(ids) & set(tokenizer.specials.values())


@given(texts=st.lists(ANY_TEXT, max_size=4), text=ANY_TEXT, n_merges=st.integers(0, 40))
def test_every_text_comes_back_after_training_on_anything(texts, text, n_merges):
    for kind in (BPE, ByteBPE):
        tokenizer = kind.train(texts, n_merges)
        for given_text in (*texts, text):
            assert tokenizer.decode(tokenizer.encode(given_text)) == given_text


@given(
    st.lists(st.sampled_from(["<pad>", "<bos>", "<eos>", "<unk>", "<", "a", " ", "</w>", "<0x41>", "bos>"]), max_size=9)
)
def test_special_names_in_a_text(characters, byte_level, parts):
    text = "".join(parts)
    for tokenizer in (characters, byte_level):
        assert not {PAD, BOS, EOS, UNK} & set(tokenizer.encode(text))
        ids = tokenizer.encode(text, special=True)
        assert sum(i in (PAD, BOS, EOS, UNK) for i in ids) == sum(text.count(name) for name in tokenizer.specials)
        assert tokenizer.decode(ids, special=True) == text
        plain = text
        for name in tokenizer.specials:
            plain = plain.replace(name, "\0")
        assert tokenizer.decode(ids) == plain.replace("\0", "")


def test_training_on_marks_bytes_and_special_names_learns_none_of_them():
    texts = ["a</w>b <bos> <0x41>"] * 50
    plain = BPE.train(texts, 100)
    assert all(token.count(MARK) <= token.endswith(MARK) for token in plain.vocab)
    assert plain.tokens(plain.encode("</w>"))[0] == "<0x3C>"
    by_bytes = ByteBPE.train(texts, 100)
    assert not set(by_bytes.specials) & set(by_bytes.vocab)
    for tokenizer in (plain, by_bytes):
        assert tokenizer.decode(tokenizer.encode(texts[0])) == texts[0]


@given(st.lists(st.integers(0, 700), max_size=20))
def test_a_model_may_write_any_ids(characters, byte_level, ids):
    for tokenizer in (characters, byte_level):
        known = [i for i in ids if i < tokenizer.vocab_size]
        assert isinstance(tokenizer.decode(known), str)
        assert isinstance(tokenizer.decode(known, special=True), str)
        assert len(tokenizer.tokens(known)) == len(tokenizer.word_index(known)) == len(known)


def test_an_id_of_no_token(characters):
    with pytest.raises(ValueError, match=r"expected ids from 0 to \d+, got 99999: is this another tokenizer\?"):
        characters.decode([5, 99999])


def test_ids_may_be_a_tensor(characters, byte_level):
    for tokenizer in (characters, byte_level):
        ids = tokenizer.encode("책을 읽었다")
        assert tokenizer.decode(torch.tensor(ids)) == "책을 읽었다"
        with pytest.raises(TypeError):
            tokenizer.decode(torch.tensor([ids]))


def test_words_of_tokens(characters, byte_level):
    text = "그 배우들은 xyz 책 세 권을 읽었다"
    for tokenizer in (characters, byte_level):
        ids = tokenizer.encode(text)
        numbers = tokenizer.word_index(ids)
        for number, word in enumerate(text.split(" ")):
            part = [i for i, n in zip(ids, numbers, strict=True) if n == number]
            assert tokenizer.decode(part).strip() == word


def test_order_of_ids(characters, byte_level):
    assert characters.specials == byte_level.specials == {"<pad>": PAD, "<bos>": BOS, "<eos>": EOS, "<unk>": UNK}
    assert [characters.vocab[token] for token in BYTES] == list(range(4, 260))
    assert [byte_level.vocab[CHARACTER_OF[byte]] for byte in BYTE_ORDER] == list(range(4, 260))
    for tokenizer in (characters, byte_level):
        made = [tokenizer.vocab[left + right] for left, right in tokenizer.merges]
        assert made == list(range(tokenizer.vocab_size - 500, tokenizer.vocab_size))


# --- files -----------------------------------------------------------------------------------------------------------


def same(one, other):
    return type(one) is type(other) and (one.vocab, one.merges, one.specials) == (
        other.vocab,
        other.merges,
        other.specials,
    )


@pytest.mark.parametrize("kind", [BPE, ByteBPE])
def test_save_and_load(tmp_path, kind):
    tokenizer = kind.train(["a b \ud800 é😀"] * 2, 5)
    tokenizer.save(tmp_path / "it.json")
    assert same(kind.load(tmp_path / "it.json"), tokenizer)
    assert same(load_tokenizer(tmp_path / "it.json"), tokenizer)
    assert [path.name for path in tmp_path.iterdir()] == ["it.json"]
    other = BPE if kind is ByteBPE else ByteBPE
    with pytest.raises(ValueError, match=r"expected 'course_lib.bpe 1' of kind .*: use the class that saved it"):
        other.load(tmp_path / "it.json")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vocab": 3}, "expected ids by token in 'vocab', got 3: is the file broken?"),
        ({"specials": {"<pad>": "0"}}, "expected ids by token in 'specials'"),
        ({"merges": {"a": "b"}}, "expected a list of merges, got"),
        ({"merges": [["a", "b", "c"]]}, "expected two tokens in every merge"),
        ({"merges": [["a", "q"]]}, r"expected both parts and the result of every merge .*'a' \+ 'q' without 'q'"),
        ({"vocab": {"a": 0, "b": 0}}, "expected different ids from 0 to 1114111, got 6 ids, 4 of them different"),
        ({"vocab": {"a": 1 << 40}}, "expected different ids from 0 to"),
        ({"vocab": {"a": 9}, "specials": {}, "merges": []}, "expected 256 byte tokens .* or a special token '<unk>'"),
        ({"format": "course_lib.bpe 0"}, "got 'course_lib.bpe 0' of kind 'characters': use the class"),
    ],
)
def test_a_broken_file(tmp_path, change, message):
    path = tmp_path / "it.json"
    BPE.train(["a b"], 1).save(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(ValueError, match=message):
        BPE.load(path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
MODEL = {"type": "BPE", "end_of_word_suffix": MARK, "vocab": {"a": 0, "b": 1, "ab": 2, "<unk>": 3}, "merges": ["a b"]}
IMITATION = ["<", "/", "w", ">", "</", "</w", "</w>", "<unk>"]
FILE = {"pre_tokenizer": {"type": "WhitespaceSplit"}, "added_tokens": [], "normalizer": None, "model": MODEL}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "any.json"
    BPE.train(["a b ab"], 2).save(path)
    return path, json.loads(path.read_text())


@given(st.data())
def test_any_file_is_read_or_refused(saved, data):
    """A good file with one of its parts replaced by anything; or any bytes."""
    path, good = saved
    whole = data.draw(st.sampled_from([good, FILE]))
    part = whole["model"] if "model" in whole and data.draw(st.booleans()) else whole
    changed = part | {data.draw(st.sampled_from(sorted(part))): data.draw(JSON)}
    whole = {**whole, "model": changed} if part is not whole else changed
    path.write_bytes(data.draw(st.binary(max_size=20) | st.just(json.dumps(whole).encode())))
    refusal = ""
    try:
        tokenizer = (import_tokenizers if "model" in whole else load_tokenizer)(path)
    except ValueError as error:
        refusal = str(error)
    assert refusal.startswith("expected ") or isinstance(tokenizer.encode("ab xé <"), list)


def test_deep_nesting_is_refused(tmp_path):
    (tmp_path / "deep.json").write_text("[" * 200_000)
    with pytest.raises(ValueError, match=r"expected JSON in .*: the file is broken, write it anew"):
        BPE.load(tmp_path / "deep.json")


# --- equal to `tokenizers` and `tiktoken` ----------------------------------------------------------------------------


def their_byte_level(texts, n_merges):
    theirs = tokenizers.Tokenizer(tokenizers.models.BPE())
    theirs.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    theirs.decoder = tokenizers.decoders.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=256 + n_merges, show_progress=False, initial_alphabet=alphabet)
    theirs.train_from_iterator(texts, trainer)
    return theirs


def their_words(frequencies, n_merges):
    theirs = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="<unk>", end_of_word_suffix=MARK))
    theirs.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    base = {symbol for word in frequencies for symbol in word_symbols(word)} | {c for word in frequencies for c in word}
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=1 + len(base) + n_merges, show_progress=False, special_tokens=["<unk>"], end_of_word_suffix=MARK
    )
    theirs.train_from_iterator(texts_of(frequencies), trainer)
    return theirs


def merges_of(theirs):
    return [tuple(pair) for pair in json.loads(theirs.to_str())["model"]["merges"]]


def has_ties(frequencies, n_merges):
    words = {word_symbols(word): frequency for word, frequency in frequencies.items()}
    for pair in train_bpe(frequencies, n_merges):
        top = Counter(pair_counts(words)).most_common(2)
        if len(top) == 2 and top[0][1] == top[1][1]:
            return True
        words = {merge(symbols, pair): frequency for symbols, frequency in words.items()}
    return False


def test_merges_with_marks_equal_theirs_where_nothing_ties():
    compared = 0
    for seed in range(14):
        draw = random.Random(seed)
        words = {"".join(draw.choices("abcd", k=draw.randint(1, 7))): draw.randint(1, 900) for _ in range(50)}
        if has_ties(words, 7):
            continue
        compared += 1
        theirs = their_words(words, 7)
        ours = BPE.train(texts_of(words), 7)
        assert merges_of(theirs) == ours.merges
        for word in words:
            assert theirs.encode(word).tokens == ours.tokens(ours.encode(word))
    assert compared >= 6


def test_byte_level_merges_equal_theirs_ties_and_all(course_texts, byte_level):
    texts = [*course_texts, "I've 2 cats, she's 31!  ok\n\n  fin"]
    assert merges_of(their_byte_level(texts, 500)) == byte_level.merges
    for seed in range(15):
        draw = random.Random(seed)
        texts = [" ".join("".join(draw.choices("abcd", k=draw.randint(1, 6))) for _ in range(8)) for _ in range(6)]
        assert merges_of(their_byte_level(texts, 25)) == ByteBPE.train(texts, 25).merges


@pytest.fixture(scope="module")
def exported(tmp_path_factory, characters, byte_level):
    folder = tmp_path_factory.mktemp("exported")
    for name, tokenizer in (("characters", characters), ("bytes", byte_level)):
        export_tokenizers(tokenizer, folder / name)
        assert same(import_tokenizers(folder / name), tokenizer)
    return {name: tokenizers.Tokenizer.from_file(str(folder / name)) for name in ("characters", "bytes")}


@pytest.fixture(scope="module")
def encoding(byte_level):
    return tiktoken.Encoding(**tiktoken_arguments(byte_level))


@given(text=ASSIGNED | TRICKY)
@settings(max_examples=400)
def test_byte_level_ids_equal_theirs_on_every_text(exported, encoding, byte_level, text):
    ids = byte_level.encode(text)
    assert exported["bytes"].encode(text).ids == ids
    assert exported["bytes"].decode(ids) == text
    assert encoding.encode(text, disallowed_special=()) == ids
    marked = f"{text}<eos> <bos>{text}"
    assert encoding.encode(marked, allowed_special="all") == byte_level.encode(marked, special=True)


def test_byte_level_ids_equal_theirs_on_the_course(exported, encoding, byte_level):
    texts = [text for pair in generated.course()["test"][:300] for text in (pair.src_text, pair.tgt_text)]
    ids = byte_level.encode_batch(texts)
    assert [encoding.encode(text) for text in texts] == ids
    assert [one.ids for one in exported["bytes"].encode_batch(texts)] == ids


@given(st.data())
def test_ids_with_marks_equal_theirs(exported, characters, data):
    ends = sorted({token[0] for token in characters.vocab if len(token) == 1 + len(MARK) and token.endswith(MARK)})
    body = st.text(st.characters(exclude_categories=["Cs", "Cn"], exclude_characters=" "), max_size=6)
    word = st.tuples(body, st.sampled_from(ends)).map("".join)
    text = " ".join(data.draw(st.lists(word, min_size=1, max_size=5)))
    ids = characters.encode(text)
    assert exported["characters"].encode(text).ids == ids
    assert exported["characters"].decode(ids).rstrip(" ") == text


def test_words_split_as_gpt2_does():
    with_regex = tiktoken.Encoding(**tiktoken_arguments(ByteBPE.train([], 0)))
    for text in ["I'll it's 'SHE'S", "a  b\t\tc\n\n d \n", "x²½³ Ⅷ٣ 一二 _under_ é", "\x1ca\x1d \x85b", "𝟘𝒳 😀😀 𐄇x"]:
        pieces = with_regex.decode_tokens_bytes([i for piece in ByteBPE.split(text) for i in with_regex.encode(piece)])
        assert b"".join(pieces).decode() == text
        theirs = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False).pre_tokenize_str(text)
        ours = ["".join(CHARACTER_OF[byte] for byte in piece.encode()) for piece in ByteBPE.split(text)]
        assert ours == [piece for piece, _ in theirs]


@given(TRICKY | ASSIGNED)
def test_words_of_a_text_are_the_text(text):
    assert "".join(ByteBPE.split(text)) == text
    assert " ".join(BPE.split(text)) == text
    by_category = [{"L": "L", "N": "N"}.get(unicodedata.category(c)[0], "o") for c in text]
    for piece in ByteBPE.split(text):
        kinds = {by_category[text.index(c)] for c in piece.lstrip(" ") if not c.isspace()}
        assert len(kinds) <= 1 or piece[0] == "'"


def test_their_file_with_an_unknown_token(tmp_path):
    theirs = their_words({"low": 50, "lower": 21, "newest": 60, "widest": 35}, 5)
    path = tmp_path / "theirs.json"
    theirs.save(str(path))
    ours = import_tokenizers(path)
    assert ours.specials == {"<unk>": 0}
    for text in ("lowest newer", "lozw q", "wow qq"):
        assert ours.encode(text) == theirs.encode(text).ids


@pytest.mark.parametrize(
    ("change", "model", "message"),
    [
        ({}, {"type": "Unigram"}, "expected a BPE model in .*, got Unigram: course_lib would encode otherwise"),
        ({}, {"dropout": 0.1}, "expected a model without 'dropout' in .*, got 0.1"),
        ({}, {"fuse_unk": True}, "expected a model without 'fuse_unk'"),
        ({"truncation": {"max_length": 9}}, {}, "expected no truncation in .*, got {'max_length': 9}"),
        ({"padding": {"pad_id": 0}}, {}, "expected no padding in"),
        ({"post_processor": {"type": "RobertaProcessing"}}, {}, "expected no post-processor that adds tokens"),
        ({"added_tokens": [{"content": "a", "id": 9, "special": False}]}, {}, "expected no added tokens but special"),
        ({"added_tokens": [{"id": 9}]}, {}, "expected added tokens with their text as 'content'"),
        ({}, {"vocab": {b: i for i, b in enumerate(BYTES)}}, "expected all 256 byte tokens and byte_fallback"),
        ({}, {"vocab": {BYTES[0]: 0, "<unk>": 1}, "unk_token": "<unk>"}, "expected all 256 byte tokens"),
        ({}, {"vocab": {"a": 0, "<unk>": 1}, "merges": []}, "expected unk_token '<unk>' in .*, got None"),
        ({}, {"end_of_word_suffix": "@@"}, "expected ByteLevel, or words split at spaces with the suffix '</w>'"),
        ({"normalizer": {"type": "NFC"}}, {}, "expected no normalizer in .*, got {'type': 'NFC'}"),
        ({"pre_tokenizer": {"type": "Whitespace"}}, {}, "expected ByteLevel, or words split at spaces"),
        (
            {"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": True}},
            {"end_of_word_suffix": None},
            "expected ByteLevel with GPT-2's pattern and no added space",
        ),
        (
            {"added_tokens": [{"content": "<x>", "id": 9, "lstrip": True}]},
            {},
            "expected added tokens that take no spaces",
        ),
        ({}, {"vocab": {"a": 0}, "merges": []}, "expected 256 byte tokens"),
        (
            {},
            {
                "vocab": {t: i for i, t in enumerate(IMITATION)},
                "merges": ["< /", "</ w", "</w >"],
                "unk_token": "<unk>",
            },
            "keep '</w>'",
        ),
    ],
)
def test_files_that_would_encode_otherwise_are_refused(tmp_path, change, model, message):
    path = tmp_path / "theirs.json"
    path.write_text(json.dumps({**FILE, **change, "model": {**MODEL, **model}}))
    with pytest.raises(ValueError, match=message):
        import_tokenizers(path)


def test_a_byte_level_file_needs_all_bytes_and_no_other_alphabet(tmp_path):
    with pytest.raises(ValueError, match="expected a token for each of the 256 bytes, got 1: without them"):
        ByteBPE({"a": 9}, [])
    vocab = {character: i for i, character in enumerate([*CHARACTER_OF.values(), "한"], start=4)}
    with pytest.raises(
        ValueError, match="expected tokens in GPT-2's alphabet of bytes, got '한': make it a special token or use"
    ):
        ByteBPE(vocab, [])


def test_the_library_needs_none_of_the_others():
    blocked = (
        "import sys; sys.modules |= dict.fromkeys(['tokenizers', 'tiktoken', 'sacrebleu', 'regex', 'transformers']);"
    )
    program = (
        blocked + "import benchmarks.tokenizer_files, course_lib.bleu, course_lib.bleu.chrf, course_lib.corpus.multi30k"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("largest", range(88, 96))
def test_any_id_may_stand_before_the_bytes(largest):
    """Ids become characters inside; some of them mean something in a regular expression."""
    text = "a <b> <b> <b> - ]x<y"
    ours, plain = (BPE.train([text] * 3, 9, {"<mask>": i}) for i in (largest, 1000))
    assert ours.merges == plain.merges
    assert ours.decode(ours.encode(text)) == text


def test_the_checksum_knows_tokenizers_that_encode_otherwise(tmp_path):
    tokenizer = BPE.train(["low lower"], 4)
    tokenizer.save(tmp_path / "same.json")
    assert BPE.load(tmp_path / "same.json").checksum == tokenizer.checksum
    ids = {token: i for token, i in zip(tokenizer.vocab, reversed(tokenizer.vocab.values()), strict=True)}
    others = [
        BPE(ids, tokenizer.merges),
        BPE(tokenizer.vocab, tokenizer.merges[:-1]),
        BPE(tokenizer.vocab, tokenizer.merges[::-1]),
        BPE(tokenizer.vocab, tokenizer.merges, {"<pad>": 0}),
        ByteBPE.train(["low lower"], 4),
    ]
    assert len({other.checksum for other in [tokenizer, *others]}) == 1 + len(others)


def test_special_tokens_have_names_of_their_own():
    with pytest.raises(ValueError, match="expected special tokens with names of their own, got '_'"):
        ByteBPE.train(["a_b a_b"], 1, {"<pad>": 0, "_": 1})
    with pytest.raises(TypeError, match="expected a ByteBPE, got a BPE: tiktoken knows bytes alone"):
        inspect.unwrap(tiktoken_arguments)(BPE.train(["a"], 0))


@given(st.text("abc", max_size=60), st.integers(0, 12))
def test_long_words_are_merged_as_short_ones(word, n_merges):
    tokenizer = BPE.train(["abc abcc babab cabba aaaa bbcab"], n_merges)
    expected = tokenizer.encode(word)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("course_lib.bpe.fast.LONG", 0)
        assert BPE(tokenizer.vocab, tokenizer.merges, tokenizer.specials).encode(word) == expected


def test_a_text_without_spaces_takes_no_quadratic_time(monkeypatch):
    """The plain loop would look at all of the 40,000 pairs before each merge; the heap asks for a rank a few times."""
    asked, merged = Counter(), []

    def counting(symbols, rank, results):
        def count(pair, default):
            asked["ranks"] += 1
            return rank(pair, default)

        merged.append(len(symbols))
        return merge_long(symbols, count, results)

    monkeypatch.setattr("course_lib.bpe.fast.merge_long", counting)
    text = "\n".join(["cat"] * 10_000)
    tokenizer = BPE.train(["cat"] * 3, 5)
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert merged == [len(text)]
    assert asked["ranks"] <= 5 * len(text)


@pytest.mark.parametrize("kind", [BPE, ByteBPE])
def test_one_text_in_place_of_texts_is_refused(kind):
    tokenizer = kind.train(["low lower"], 2)
    works = [lambda texts: kind.train(texts, 2), tokenizer.encode_batch]
    for work in works:
        with pytest.raises(TypeError, match=r"expected a list of texts, got one text: write \[text\]"):
            work("low")


@pytest.mark.parametrize("kind", [BPE, ByteBPE])
def test_nonsense_is_refused_with_a_sentence(kind, unchecked):
    tokenizer = kind.train(["low lower"], 2)
    for odd in (-1, 2.5, None):
        with pytest.raises(ValueError, match=f"expected n_merges as a whole number of at least 0, got {odd}: it"):
            kind.train(["low lower"], odd)
    for odd in (None, 5, 3.5, b"low", ["low"]):
        for special in (False, True):
            with pytest.raises(TypeError, match=re.escape(f"expected texts, got {odd!r} among them: leave it out")):
                tokenizer.encode(odd, special=special)
    for odd in (None, 5, 3.5):
        for work in (tokenizer.encode_batch, lambda texts: kind.train(texts, 2)):
            with pytest.raises(TypeError, match=re.escape(f"expected a list of texts, got {odd}: write [text]")):
                work(odd)
        for parts in ((odd, []), ({"a": 5}, odd), ({"a": 5}, [], odd)):
            with pytest.raises(ValueError, match=f"expected (ids by token|a list of merges).*got {odd}: is the file"):
                kind(*parts)
    for odd in (None, 5, ["low"], "low", [[5, 6]], torch.tensor([[5, 6]])):
        for work in (tokenizer.decode, tokenizer.tokens, tokenizer.word_index):
            with pytest.raises(TypeError, match=r"expected a list of ids, got .*: give one text's ids at a time"):
                work(odd)
    for work in (tokenizer.decode, tokenizer.tokens, tokenizer.word_index):
        with pytest.raises(ValueError, match=r"expected ids from 0 to .*, got 99999: is this another tokenizer"):
            work([5, 99999])


def test_what_is_no_text_is_refused_and_texts_come_one_by_one():
    endless = inspect.unwrap(several)(itertools.chain(["low"], itertools.repeat(None)))
    assert next(endless) == "low"
    with pytest.raises(TypeError, match="expected texts, got None among them: leave it out, or write ''"):
        next(endless)


def test_a_token_that_is_half_a_character_is_not_exported(tmp_path):
    for text in ("a\ud800b", "low"):
        tokenizer = BPE.train([text], 2)
        if text == "low":
            export_tokenizers(tokenizer, tmp_path / "it.json")
            tokenizers.Tokenizer.from_file(str(tmp_path / "it.json"))
        else:
            with pytest.raises(ValueError, match=r"expected tokens of whole characters, got .*d800.*: `tokenizers`"):
                export_tokenizers(tokenizer, tmp_path / "it.json")
            assert not (tmp_path / "it.json").exists()


@pytest.mark.parametrize("version", [True, False])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_two_files_of_gpt2_are_read(version, end, tmp_path, course_texts):
    theirs = tokenizers.ByteLevelBPETokenizer()
    theirs.train_from_iterator([*course_texts[:300], "#version of #versions"], 500, special_tokens=["<|endoftext|>"])
    theirs.save_model(str(tmp_path))
    merges = tmp_path / "merges.txt"
    lines = merges.read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("#version")
    merges.write_bytes((end.join(lines[0 if version else 1 :]) + end).encode())
    ours = import_gpt2(tmp_path / "vocab.json", merges)
    assert ours.specials == {"<|endoftext|>": 0}
    for text in [*course_texts[:50], "It's 27 + 677, 한글 😀\n\n  #version", ""]:
        assert ours.encode(text) == theirs.encode(text).ids
    merges.write_text("#version: 0.2\na b c\n")
    with pytest.raises(ValueError, match="expected two tokens in every merge"):
        import_gpt2(tmp_path / "vocab.json", merges)
