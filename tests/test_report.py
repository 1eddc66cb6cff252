"""The report on a translator: every split by its name, and what is printed stays on its line."""

import unicodedata
import warnings
from types import SimpleNamespace

import pytest
import sacrebleu
import torch
from hypothesis import given
from hypothesis import strategies as st

from course_lib.bleu import corpus_bleu
from course_lib.corpus import Corpus, Sentence
from course_lib.translation import UnseenCharacter
from course_lib.translation.report import bleu_note, evaluate, first_look, load_corpus, one_line, samples, table

A = Sentence(("가", "나"), ("a", "b", "c", "d"), alignment=((0, 0), (1, 1)))
B = Sentence(("다",), ("e", "f", "g", "h"))


class Fixed:
    """Translates by a table; looks at the first source word only."""

    vocabulary = SimpleNamespace(encode=str.split)

    def translate(self, texts, beam_size, length_penalty, done):
        return [{"가 나": "a b c d", "다": "e f g x"}[text] for text in texts]

    def attention(self, src_text, tgt_text):
        weights = torch.zeros(1, len(tgt_text.split()), len(src_text.split()))
        weights[..., 0] = 1
        return weights


def test_every_split_by_its_name():
    splits = {"train": [A], "val": [A], "test": [A, B], "news": [B], "empty": []}
    found = evaluate(Fixed(), Corpus("c", "ko", "en", splits))
    assert found["exact_match"] == {"test": 0.5, "news": 0.0}
    # Runs of one to four words. Counts of both sentences are added first; a zero counts as a half.
    by_hand = {"test": 7 / 8 * 5 / 6 * 3 / 4 * 1 / 2, "news": 3 / 4 * 2 / 3 * 1 / 2 * 0.5 / 1}
    assert found["bleu"] == pytest.approx({name: 100 * product**0.25 for name, product in by_hand.items()}, abs=5e-3)
    assert found["alignment"] == {"test": 0.5}
    assert found["bleu_signature"].startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:course_lib-")
    assert evaluate(Fixed(), Corpus("c", "ko", "en", splits), splits=["val"])["exact_match"] == {"val": 1.0}
    lines = table(found).split("\n")
    assert [len(line) for line in lines[:3]] == [55, 55, 44]
    assert lines[1].split() == ["test", "0.500", "72.3", "74.0", "0.500"]  # chrF: the mean of 7/8, 5/6, 3/4, 1/2
    assert lines[3] == f"BLEU: {found['bleu_signature']}"


class Parrot:
    """A translator that repeats."""

    vocabulary = SimpleNamespace(encode=str.split)

    def translate(self, texts, beam_size, length_penalty, done):
        return list(texts)


WRITTEN = {
    "Chinese": ["昨天他写了新闻。", "他读书。", "我有3.5公里路要走,她说。"],
    "Japanese": ["彼は昨日、本を読んだ。", "猫が好きです。"],
    "Thai": ["ฉันชอบแมว", "เขาอ่านหนังสือ เมื่อวาน"],
    "captions": ["two dogs", "a man", "snow", "a red bike"],
}
ENGLISH = ["The cat sat on the mat.", "It's 3.5 km, she said.", "Two dogs run home.", "No."]


@pytest.mark.parametrize("tokenize", ["13a", "none", "char"])
@pytest.mark.parametrize("texts", [*WRITTEN.values(), ENGLISH, ["완전히 다른 문장이다.", "책이 책상 위에 있다"]])
def test_bleu_and_chrf_of_the_report_are_sacrebleus(texts, tokenize):
    pairs = [
        Sentence(tuple(a.split(" ")), tuple(b.split(" "))) for a, b in zip([*texts[1:], "No."], texts, strict=True)
    ]
    found = evaluate(Parrot(), Corpus("c", "en", "en", {"test": pairs}), tokenize=tokenize)
    hypotheses, references = [pair.src_text for pair in pairs], [[pair.tgt_text for pair in pairs]]
    assert found["bleu"]["test"] == round(sacrebleu.corpus_bleu(hypotheses, references, tokenize=tokenize).score, 2)
    chrf = sacrebleu.CHRF()
    assert found["chrf"]["test"] == round(chrf.corpus_score(hypotheses, references).score, 2)
    assert found["chrf_signature"].rsplit("|", 1)[0] == str(chrf.get_signature()).rsplit("|", 1)[0]
    assert f"|tok:{tokenize}|" in found["bleu_signature"]


@pytest.mark.parametrize("texts", WRITTEN.values(), ids=WRITTEN)
def test_a_perfect_translator_whose_bleu_is_0_is_told_why(texts):
    pairs = [Sentence((text,), (text,)) for text in texts]
    corpus = Corpus("c", "zh", "zh", {"test": pairs, "news": pairs[:1]})
    found = evaluate(Parrot(), corpus)
    assert found["exact_match"]["test"] == 1
    assert found["chrf"]["test"] == 100
    copied = sacrebleu.corpus_bleu(texts, [texts], tokenize="13a").score
    if copied == 0:
        assert found["notes"]["test"].startswith("no reference has 4 tokens (13a), so BLEU is 0 even for a copy: try")
    else:  # some references have runs of four
        assert "of 3 references have fewer than 4 tokens (13a), so the runs of 4 that" in found["notes"]["test"]
    assert f"news: {found['notes']['news']}" in table(found).splitlines()
    by_characters = evaluate(Parrot(), corpus, tokenize="char")
    assert by_characters["bleu"]["test"] == 100
    assert "notes" not in by_characters


def test_a_note_on_bleu_says_what_is_so():
    assert bleu_note(corpus_bleu(ENGLISH, ENGLISH), ENGLISH) == ""
    assert bleu_note(corpus_bleu(["No."] * 4, ENGLISH), ENGLISH) == (
        "no translation has 4 tokens (13a), so BLEU is 0 whatever is right: go by chrF"
    )
    half = [*ENGLISH[:2], "No.", "Yes."]
    assert bleu_note(corpus_bleu(half, half), half) == ""
    few = ["No.", "Yes.", ENGLISH[0]]
    assert bleu_note(corpus_bleu(few, few), few).startswith("2 of 3 references have fewer than 4 tokens (13a)")
    added = corpus_bleu(["a b"], ["a b"], smoothing="add-k")
    assert added.score == pytest.approx(100)
    assert bleu_note(added, ["a b"], smoothing="add-k").startswith("no reference has 4 tokens (13a), so BLEU finds no")
    assert bleu_note(corpus_bleu(["a"], ["a"], "char"), ["a"], "char").endswith("even for a copy: go by chrF")
    several = [["No.", ENGLISH[0]]]
    assert bleu_note(corpus_bleu([ENGLISH[0]], several), several) == ""


def test_corpora_by_name_and_by_file(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"src {n}\ttgt {n}\n" for n in range(40)))
    corpus = load_corpus(str(path), seed=1)
    assert (len(corpus["test"]), corpus["test"][0].src_text[:4]) == (2, "src ")
    assert load_corpus(str(path), seed=1, reverse=True)["test"] == [pair.swapped() for pair in corpus["test"]]
    assert len(load_corpus([str(path), str(path)], seed=1)["test"]) == 2
    with pytest.raises(FileNotFoundError, match=r"or a file of sentence pairs, got 'course', where there is no file"):
        load_corpus([str(path), "course"])
    for missing in (tmp_path / "none.tsv", tmp_path):
        with pytest.raises(FileNotFoundError, match="expected course, multi30k or a file of sentence pairs, got"):
            load_corpus(str(missing))


NO_BREAK_SPACES = {"\u00a0", "\u2007", "\u202f"}


@given(st.text() | st.text(" \n\t\u00a0\u2007\u202f\u3000ab"))
def test_a_translation_is_one_line_without_controls(text):
    line = one_line(text)
    assert len(line.splitlines()) <= 1
    assert not any(map(is_control, line))
    dropped = {character for character in text if character.isspace() or is_control(character)} - NO_BREAK_SPACES
    assert line.replace(" ", "") == "".join(character for character in text if character not in dropped)


def is_control(character):
    return unicodedata.category(character) == "Cc"


def test_samples_show_the_reference_where_it_differs():
    shown = samples([A, B], ["a b c d", "e\x1b[31m f"])
    assert shown == "  가 나\n→ a b c d\n\n  다\n→ e [31m f\n  (reference: e f g h)"


def test_a_source_that_is_too_long_is_left_out_and_counted(capsys):
    endless = Sentence(("가",) * 600, ("a",))
    found = evaluate(Fixed(), Corpus("c", "ko", "en", {"test": [A, endless]}))
    assert (found["exact_match"], found["left_out"]) == ({"test": 1.0}, {"test": 1})
    assert "test: 1 sources of more than 500 tokens were left out" in table(found)


def test_the_evaluation_shows_how_far_it_is(capsys):
    evaluate(Fixed(), Corpus("c", "ko", "en", {"test": [A]}), quiet=False)
    assert capsys.readouterr().err == ""  # not at a terminal


def test_the_first_look_shows_a_pair_and_counts_the_targets_that_training_has():
    again = Sentence(("라",), ("A", "b", "c", "d."))
    look = first_look(Corpus("c", "ko", "en", {"train": [A], "val": [], "test": [B, again, A]}))
    assert look.splitlines() == [
        "reads: '가 나' → 'a b c d'",
        "2 of 3 test targets are trained on, too, or differ from one in case or end marks only",
    ]
    assert first_look(Corpus("c", "ko", "en", {"train": [], "val": [], "test": []})) == ""
    long = Sentence(("a" * 999,), ("b" * 999,))
    assert len(first_look(Corpus("c", "ko", "en", {"train": [long], "val": [], "test": []}))) < 200


def test_held_out_text_with_new_characters_is_evaluated_without_a_word(recwarn):
    class Warning(Fixed):
        def translate(self, texts, *others, **settings):
            warnings.warn("new", UnseenCharacter, stacklevel=1)
            return super().translate(texts, *others, **settings)

    evaluate(Warning(), Corpus("c", "ko", "en", {"test": [A]}))
    assert not [one for one in recwarn if one.category is UnseenCharacter]
