"""The translator: text in, text out, the same one by one or many at once, and after saving and loading."""

import inspect
import warnings
from unittest import mock

import pytest
import torch

from course_lib.bpe import BPE
from course_lib.bpe.byte_level import ByteBPE
from course_lib.bpe.subwords import several
from course_lib.corpus import Sentence
from course_lib.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.transformer import Transformer, TransformerConfig
from course_lib.translation import Translator, UnseenCharacter, alignment_accuracy, exact_match

TEXTS = ["eins", "zwei drei vier", "", "drei eins", "vier vier vier vier zwei", "neu Ω 한국어"]


def make_translator(kind, seed=0):
    torch.manual_seed(seed)
    vocabulary = BPE.train(["eins zwei drei vier", "one two three four"], n_merges=40)
    if kind == "gru":
        model = Seq2Seq(Seq2SeqConfig(vocabulary.vocab_size, d_model=8))
    else:
        config = TransformerConfig(vocabulary.vocab_size, d_model=8, n_heads=2, d_ff=16, n_layers=2)
        model = Transformer(config)
    return Translator(model.double(), vocabulary)


both = pytest.mark.parametrize("kind", ["transformer", "gru"])


@both
@pytest.mark.parametrize("beam_size", [1, 3])
def test_many_at_once_or_one_by_one(kind, beam_size):
    translator = make_translator(kind)
    together = translator.translate(TEXTS, beam_size, max_len=9)
    assert together == [translator.translate([text], beam_size, max_len=9)[0] for text in TEXTS]
    assert translator.translate([], beam_size) == []


@both
def test_saved_and_loaded_it_is_the_same(kind, tmp_path):
    translator = make_translator(kind)
    translator.save(tmp_path)
    loaded = Translator.load(tmp_path)
    assert loaded.model.config == translator.model.config
    loaded.model.double().load_state_dict(translator.model.state_dict())
    assert loaded.translate(TEXTS, max_len=7) == translator.translate(TEXTS, max_len=7)
    (tmp_path / "vocabulary.json").unlink()
    with pytest.raises(
        FileNotFoundError, match=r"expected model\.pt and vocabulary\.json in .*, got no vocabulary\.json"
    ):
        Translator.load(tmp_path)


@both
def test_attention_is_by_words_and_read_where_the_word_is_predicted(kind):
    translator = make_translator(kind)
    src, tgt = "zwei drei neu vier", "two three one"
    assert len(translator.vocabulary.encode(tgt)) == 3  # one token a word: the first row is read at BOS
    weights = translator.attention(src, tgt)
    assert weights.shape[1:] == (3, 4)
    # Weights of a row are the words' share of 1; the rest goes to the end of the sentence.
    assert (weights >= 0).all()
    assert (weights.sum(dim=-1) < 1).all()
    # The row of the first word depends on no target word; that of the third on the first, also in the GRU, which looks
    # at the source before it reads the last word.
    other = translator.attention(src, "four three one")
    torch.testing.assert_close(other[:, 0], weights[:, 0])
    assert not torch.allclose(other[:, 2], weights[:, 2])


def test_one_text_instead_of_a_list_is_refused():
    with pytest.raises(TypeError, match=r"expected a list of texts, got one text: write \[text\]"):
        make_translator("gru").translate("eins")


def test_exact_match_accepts_every_reading():
    pair = Sentence(("배를",), ("a", "pear"), readings=((0.5, ("a", "pear")), (0.5, ("a", "ship"))))
    assert [exact_match([text], [pair]) for text in ("a pear", "a ship", "a leg")] == [1.0, 1.0, 0.0]
    assert exact_match([], []) == 0.0


def test_alignment_counts_linked_words_only():
    class Fixed:
        def attention(self, src_text, tgt_text):
            return torch.tensor([[[0.9, 0.1], [0.2, 0.8], [0.5, 0.4]]])

    pair = Sentence(("가", "나"), ("a", "b", "the"), alignment=((0, 0), (0, 1)))
    assert alignment_accuracy(Fixed(), [pair]) == 0.5


@pytest.mark.parametrize(
    ("options", "message"), [({"beam_size": 0}, "beam_size"), ({"length_penalty": 99}, "length_p")]
)
def test_impossible_searches_are_refused(options, message):
    with pytest.raises(ValueError, match=f"expected {message}"):
        make_translator("transformer").translate(["eins"], **options)


@pytest.mark.parametrize(("src", "tgt", "shape"), [("", "eins", (1, 0)), ("eins", "", (0, 1)), ("", "", (0, 0))])
def test_attention_of_nothing(src, tgt, shape):
    assert make_translator("transformer").attention(src, tgt).shape[1:] == shape


@both
@pytest.mark.parametrize("beam_size", [1, 3])
def test_nothing_is_translated_into_nothing(kind, beam_size):
    translator, told = make_translator(kind), []
    assert translator.translate([""], beam_size, max_len=9) == [""]
    found = translator.translate(["", "eins", "", "zwei drei"], beam_size, max_len=9, done=told.append)
    assert [found[0], found[2]] == ["", ""]
    assert [found[1], found[3]] == translator.translate(["eins", "zwei drei"], beam_size, max_len=9)
    assert sum(told) == 4


def test_a_vocabulary_with_words_in_the_places_of_pads_and_ends_is_refused():
    with pytest.raises(ValueError, match="expected no words with the ids 0, 1, and 2"):
        Translator(make_translator("gru").model, BPE.train(["eins"], 2, specials={"<pad>": 0}))
    Translator(make_translator("gru").model, BPE.train(["eins"], 2, specials={"<pad>": 0, "<s>": 1, "</s>": 2}))


def test_the_joiner_of_an_emoji_is_left_out_without_a_word():
    vocabulary = BPE.train(["one two"], n_merges=2)
    config = TransformerConfig(vocabulary.vocab_size, d_model=8, n_heads=2, d_ff=16, n_layers=1)
    translator = Translator(Transformer(config), vocabulary, characters="one two")
    assert list(translator.unknown("one 👨\u200d👩")) == ["👨", "👩"]
    assert translator.as_read("one 👨\u200d👩") == "one"


def test_what_is_no_text_is_refused():
    search, unchecked = inspect.unwrap(Translator.search), inspect.unwrap(several)  # the shape checks would object
    for texts in ([None], ["eins", 5]):
        words = f"expected texts, got {texts[-1]} among them: leave it out"
        with mock.patch("course_lib.translation.several", unchecked), pytest.raises(TypeError, match=words):
            search(make_translator("gru"), texts)


def bytewise(characters=None):
    torch.manual_seed(0)
    vocabulary = ByteBPE.train(["eins zwei drei, vier", "one two three four"], n_merges=9)
    config = TransformerConfig(vocabulary.vocab_size, d_model=8, n_heads=2, d_ff=16, n_layers=1)
    return Translator(Transformer(config), vocabulary, characters)


LEFT_OUT = "was never seen in training and is left out"
GUESS = "was never seen in training: the translation is a guess"


@pytest.mark.parametrize(
    ("text", "unknown", "read"),
    [
        ("eins, drei.", {".": LEFT_OUT}, "eins, drei"),
        ("eins 😀 ö\u0308rei", {"😀": LEFT_OUT, "ö": GUESS, "\u0308": GUESS}, "eins ö\u0308rei"),
        ("eins 2", {"2": GUESS}, "eins 2"),
        ("«eins» – zwei!", dict.fromkeys("«»–!", LEFT_OUT), "eins zwei"),
        ("\ufeff ei\u200bns\u00a0zwei\r", {}, "eins zwei"),
        ("one", {"o": GUESS}, "one"),  # the letters of the targets are no letters of the sources
        ("...", {".": LEFT_OUT}, ""),
        ("", {}, ""),
    ],
)
def test_unknown_characters_are_named_and_marks_among_them_are_not_read(text, unknown, read):
    translator = bytewise(characters="eins zwei drei, vier")
    assert translator.unknown(text) == unknown
    assert translator.as_read(text) == read
    assert translator.unknown(read) == {character: fate for character, fate in unknown.items() if fate == GUESS}
    assert bytewise().unknown(text) == {}  # bytes alone do not tell


def test_without_the_characters_of_training_the_vocabulary_tells():
    translator = make_translator("gru")
    assert translator.unknown("drei. zwei! one") == {".": LEFT_OUT, "!": LEFT_OUT}
    assert translator.unknown("drei <") == {}  # a vocabulary always spells this one by its byte
    known = Translator(translator.model, translator.vocabulary, characters="eins zwei drei vier")
    assert known.unknown("zwe") == {}
    assert known.unknown("eiz") == {"z": GUESS.replace("seen", "seen at this place of a word")}


def test_who_translates_is_warned_once_with_the_first_text():
    translator = bytewise(characters="eins zwei")
    with pytest.warns(UnseenCharacter) as warned:
        texts = translator.translate(["eins", "eins.", "zwei. ö"], beam_size=1, max_len=5)
    assert [str(one.message) for one in warned] == [f"text 2: '.' {LEFT_OUT}; text 3: 'ö' {GUESS}"]
    assert texts[0] == texts[1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        translator.translate(["eins zwei"], beam_size=1, max_len=5)


def test_the_characters_of_training_are_kept(tmp_path):
    translator = bytewise(characters="eins, zwei")
    translator.save(tmp_path)
    assert Translator.load(tmp_path).characters == translator.characters == frozenset("eins, zw")
    bytewise().save(tmp_path)
    assert Translator.load(tmp_path).characters is None


def test_attention_is_of_the_text_as_read():
    translator = bytewise(characters="eins zwei")
    clean = translator.attention("eins zwei", "one two")
    torch.testing.assert_close(translator.attention("eins\u00a0zwei .", "one two"), clean)
