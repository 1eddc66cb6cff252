"""Text that people bring: what looks the same is the same, and what one sees is never changed."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.text import clean, hidden, is_mark, twin

SENTENCE = "하준은 책을 읽는다"
JOINERS = "a\u0301\u200c\u200d\u0627\u0653\u0dd9\u0dca\u1100\u1161\u11a8 \u200b😀\ufe0f\u094d\u0915"


@pytest.mark.parametrize(
    "text",
    [
        unicodedata.normalize("NFD", SENTENCE),
        SENTENCE.replace(" ", "\u00a0"),
        SENTENCE.replace(" ", "\u3000"),
        SENTENCE.replace(" ", " \u202f\t"),
        SENTENCE.replace(" ", "\u200b "),
        SENTENCE + "\r\r",
        "\ufeff" + SENTENCE,
        SENTENCE.replace("책", "책\u00ad"),
        SENTENCE.replace("읽", "\u2060읽\u200e"),
        SENTENCE.replace("하준", "하\u200d준"),
        "\x00".join(SENTENCE),
    ],
    ids=ascii,
)
def test_what_looks_the_same_is_the_same(text):
    assert clean(text) == SENTENCE


@pytest.mark.parametrize(
    "text",
    [
        "می\u200cخواهم",  # Persian: without the joiner, other letters are seen
        "ශ්\u200dරී ලංකා",  # Sinhala
        "അവന്\u200d",  # Malayalam, at the end of a word
        "क्\u200dष",  # Hindi
        "ᬩ᭄\u200cᬩ",  # Balinese
        "𑂍𑂹\u200d𑂍",  # Kaithi
        "👨\u200d👩\u200d👧 ❤\ufe0f\u200d🔥 🏳\ufe0f\u200d🌈",
        "é ü ệ ñ 각",
        "ﬁ ½ Ａ ①",  # compatibility forms look different
        "don’t “say” … —",
    ],
)
def test_what_one_sees_stays(text):
    assert clean(text) == text
    assert not hidden(text)


@given(st.text() | st.text(JOINERS))
def test_cleaning_twice_changes_nothing_more(text):
    once = clean(text)
    assert clean(once) == once
    assert unicodedata.is_normalized("NFC", once)
    assert once == " ".join(once.split())
    assert not {"\ufeff", "\u200b", "\xad", "\r", "\x00", "\u202e"} & set(once)
    assert clean(unicodedata.normalize("NFD", once)) == once


@pytest.mark.parametrize(
    "text", ["Go away.", "go  away", "GO AWAY !", " Go away…", "go away。", "¡Go away!", "Go\u00a0away ?!"]
)
def test_twins_differ_in_case_spaces_and_end_marks_only(text):
    assert twin(text) == "go away"


def test_others_are_no_twins():
    texts = ["go away", "go, away", "goaway", "go away 2", "...", "!", "", "gö away", "é", "e"]
    assert len({*map(twin, texts)}) == len(texts)


def test_marks_are_neither_letters_nor_digits():
    assert all(map(is_mark, ".,!?。「—“€+😀❤\ufe0f\u200d©"))
    assert not any(map(is_mark, "aé한字ก\u0e31\u0915\u094d5½ \t\u0301"))
