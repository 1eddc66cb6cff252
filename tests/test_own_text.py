"""A reader's text as people have it, and a model that learns from it."""

from functools import partial
from itertools import count
from unicodedata import normalize

import pytest
import torch

from course_lib.own_text import LEAST, LENGTH, read_text, train_writer

LINES = ["the old clock in the hall strikes seven", "nobody winds the clock on Sundays"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_one_text_however_it_is_stored(tmp_path, end, form, mark):
    path = tmp_path / "my_text.txt"
    text = mark + normalize(form, end.join(["Café  au lait", "", "am Übergang"] * 300))
    path.write_bytes(text.encode("utf-8"))
    assert read_text(path) == ["Café au lait", "am Übergang"] * 300


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", rf"expected at least {LEAST:,} characters of text in .*my_text.txt, got 0: .* put more text"),
        (b"\xef\xbb\xbf\r\n \r\n", "got 0: "),
        (b"One sentence.", "got 13: "),
        ("Café\n".encode("latin-1") * 2000, "expected UTF-8 in .*my_text.txt, got the byte 0xe9 in line 1: save it"),
        ("Café\n".encode("utf-16-le") * 2000, "expected UTF-8 in .*my_text.txt, got a NUL in line 1"),
    ],
)
def test_texts_that_cannot_be_learned_are_refused_with_a_sentence(tmp_path, content, message):
    path = tmp_path / "my_text.txt"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_text(path)


def ticking():
    """A clock that goes on by a second whenever somebody looks."""
    return partial(next, count())


def test_a_repeated_text_is_learned_and_continued():
    said = []
    writer = train_writer(LINES * 90, minutes=1, say=said.append, clock=ticking())
    assert writer.updates == 59
    assert len(said) == 2 + 9
    assert max(writer.losses) < 2  # of two lines in turn, little is left to guess
    assert writer.write("nobody").startswith("nobody")
    assert writer.write("nobody", seed=1) == writer.write("nobody", seed=1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_neither_the_dtype_nor_the_numbers_of_later_cells_change(dtype):
    torch.set_default_dtype(dtype)
    try:
        torch.manual_seed(3)
        expected = torch.rand(4)
        torch.manual_seed(3)
        writer = train_writer(LINES * 40, minutes=0.05, say=str, clock=ticking())
        assert torch.get_default_dtype() == dtype
        assert torch.equal(torch.rand(4), expected)
        assert writer.model.tokens.weight.dtype == torch.float32
    finally:
        torch.set_default_dtype(torch.float32)


def test_a_long_beginning_leaves_room_for_a_word():
    writer = train_writer(LINES * 40, minutes=0.05, say=str, clock=ticking())
    assert writer.write("the old clock " * LENGTH)


def test_a_text_too_short_for_two_windows_is_refused():
    with pytest.raises(ValueError, match="expected a text of more than 256 tokens, got 2: give it more text"):
        train_writer(["a"], minutes=1)
