"""The report on a translator: every split by its name, and what is printed stays on its line."""

import unicodedata
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from course_lib.corpus import Corpus, Sentence
from course_lib.translation.report import evaluate, load_corpus, one_line, samples, table

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
    assert [len(line) for line in lines] == [47, 47, 36]
    assert lines[1].split() == ["test", "0.500", "72.3", "0.500"]


def test_corpora_by_name_and_by_file(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"src {n}\ttgt {n}\n" for n in range(40)))
    corpus = load_corpus(str(path), seed=1)
    assert (len(corpus["test"]), corpus["test"][0].src_text[:4]) == (2, "src ")
    assert load_corpus(str(path), seed=1, reverse=True)["test"] == [pair.swapped() for pair in corpus["test"]]
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
