"""Translating from the command line: a line for a line, whatever the line is, and quiet ends."""

import io
import json
import os
import subprocess
import sys
import unicodedata
from itertools import islice

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from small_run import make_run, make_translator

from course_lib.bpe import BPE
from course_lib.bpe.byte_level import ByteBPE
from course_lib.translation import Translator
from course_lib.translation.commands.translate import LONGEST, blocks, looked_at, main
from course_lib.translation.report import one_line

ODD = "eins\r\n\n  zwei \t drei \nне 한국어 😀 e\u0301\u2028vier\x00\n \u3000\nvier\u0085eins"
ODD_TEXTS = ["eins", "", "zwei drei", "не 한국어 😀 e\u0301 vier\x00", "", "vier eins"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("run"))


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "source.txt"
    path.write_bytes(b"\xef\xbb\xbf" + ODD.encode())
    return path


def translate(folder, *options, code=0):
    assert main(["--folder", str(folder), "--threads", "1", "--max-len", "6", *map(str, options)]) == code


def expected(folder, n_best=1, length_penalty=1.0):
    """Hypotheses of a beam of 3, sentence by sentence, and their texts."""
    translator = Translator.load(folder)
    found = [translator.search([text], 3, length_penalty, 6)[0][:n_best] if text else [] for text in ODD_TEXTS]
    return [[(h, one_line(translator.vocabulary.decode(h.tokens))) for h in hypotheses] for hypotheses in found]


def test_a_line_for_every_line(folder, source, capsysbinary):
    translate(folder, source, "--beam", 3)
    wanted = [hypotheses[0][1] if hypotheses else "" for hypotheses in expected(folder)]
    assert any(wanted)
    assert capsysbinary.readouterr().out.decode().split("\n") == [*wanted, ""]


def test_standard_input_and_a_file_as_output(folder, source, tmp_path, monkeypatch, capsysbinary):
    translate(folder, source, "--beam", 1)
    wanted = capsysbinary.readouterr().out
    for name in ("-", None):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(source.read_bytes())))
        output = tmp_path / "new" / "target.txt"
        translate(folder, "--beam", 1, "--output", output, *([name] if name else []))
        assert output.read_bytes() == wanted
    assert capsysbinary.readouterr().out == b""


def test_nothing_in_nothing_out(folder, tmp_path, capsys):
    (tmp_path / "empty").touch()
    translate(folder, tmp_path / "empty")
    assert capsys.readouterr() == ("", "")


def test_several_translations_with_their_scores(folder, source, capsysbinary):
    translate(folder, source, "--beam", 3, "--n-best", 2, "--scores", "--length-penalty", 0.5)
    lines = []
    for number, hypotheses in enumerate(expected(folder, 2, 0.5), start=1):
        lines += [(str(number), h.log_prob / h.length**0.5, text) for h, text in hypotheses] or [("",)]
    found = [tuple(line.split("\t")) for line in capsysbinary.readouterr().out.decode().split("\n")]
    assert len(lines) == 2 * 4 + 2
    assert [(row[0], row[2:]) for row in found] == [(row[0], row[2:]) for row in [*lines, ("",)]]
    assert [float(row[1]) for row in found if row[1:]] == pytest.approx([row[1] for row in lines if row[1:]], abs=6e-5)


def test_without_a_beam_that_of_the_training_counts(folder, source, tmp_path, capsysbinary):
    run = make_run(tmp_path / "run")
    (run / "options.json").write_text('{"beam": 1}')
    translate(run, source)
    greedy = capsysbinary.readouterr().out
    translate(run, source, "--beam", 1)
    assert greedy == capsysbinary.readouterr().out
    translate(run, source, "--n-best", 2)
    assert len(capsysbinary.readouterr().out.splitlines()) == 2 * 4 + 2


@pytest.mark.parametrize("subwords", [BPE, ByteBPE])
def test_attention_shows_the_source_word_of_every_word(subwords, source, tmp_path, capsysbinary):
    make_translator(subwords=subwords).save(tmp_path / "run")
    translate(tmp_path / "run", source, "--beam", 1, "--attention")
    lines = capsysbinary.readouterr().out.decode().split("\n")
    words = [line.split(" ← ")[0].strip() for line in lines if " ← " in line]
    texts = [line for line in lines if line and " ← " not in line]
    assert words
    assert words == [word for text in texts for word in text.split(" ")]


def test_attention_takes_the_largest_weight_and_keeps_columns():
    weights = torch.tensor([[0.25, 0.5], [1.0, 0.0], [0.1, 0.125]])
    assert looked_at("가 abc", "x 나다 y", weights) == (
        "  x    ← abc  0.50\n"
        "  나다 ← 가   1.00\n"
        "  y    ← abc  0.12\n"
    )  # fmt: skip


def test_a_very_long_line_is_cut_and_said(folder, tmp_path, capsys):
    path = tmp_path / "long"
    path.write_text("eins\n" + "q" * LONGEST * 2 + "\n")
    translate(folder, path, "--beam", 1)
    out, err = capsys.readouterr()
    assert out.count("\n") == 2
    said = f"line 2 has {2 * LONGEST + 1:,} tokens: only the first {LONGEST} are read\n"
    assert err == f"line 2: 'q' was never seen in training: the translation is a guess\n{said}"


class Pieces(io.BufferedIOBase):
    """A stream from which `read1` gives one piece after the other, and which counts the calls."""

    def __init__(self, pieces):
        self.pieces, self.calls = iter(pieces), 0

    def read1(self, size=-1):
        self.calls += 1
        return next(self.pieces, b"")


@given(
    st.lists(st.sampled_from([b"a", b"\n", b"\r\n", b"\xc3\xa9", b"\xe2\x80\xa8", b"bc\nd"]), max_size=12),
    st.integers(1, 3),
)
def test_blocks_are_the_lines_wherever_the_stream_is_cut(pieces, size):
    data = b"".join(pieces)
    lines = data.removesuffix(b"\n").split(b"\n") if data else []
    found = list(blocks(Pieces(pieces), "a stream", size))
    assert [line for block in found for line in block] == [line.removesuffix(b"\r").decode() for line in lines]
    old = [piece.replace(b"\r\n", b"\n").replace(b"\n", b"\r") for piece in pieces]
    again = [line for block in blocks(Pieces(old), "a stream", size) for line in block]
    assert again == [line for block in found for line in block]
    assert all(1 <= len(block) <= size for block in found)


def test_a_line_is_given_before_the_next_is_waited_for():
    stream = Pieces([b"eins\nzw", b"ei\n", b"drei\n"])
    source = blocks(stream, "a stream")
    assert (next(source), stream.calls) == (["eins"], 1)
    assert (next(source), stream.calls) == (["zwei"], 2)


def test_a_stream_without_end_takes_no_memory():
    stream = Pieces(b"eins\n" * 1000 for _ in iter(int, 1))
    assert len(list(islice(blocks(stream, "a stream", size=100), 25))) == 25
    assert stream.calls == 3


def one_error(capsys) -> str:
    """What stands on standard error: one line."""
    text = capsys.readouterr().err
    assert text.startswith("python -m course_lib translate: ")
    assert text.count("\n") == 1
    return text


def test_text_that_is_not_utf8_is_named_with_its_line(folder, tmp_path, capsys):
    (tmp_path / "latin1").write_bytes("eins\nfünf\n".encode("latin-1"))
    translate(folder, tmp_path / "latin1", code=1)
    assert "expected UTF-8 in" in (text := one_error(capsys))
    assert "got the byte 0xfc in line 2: save it as UTF-8" in text


def tear(path):
    path.write_bytes(path.read_bytes()[:-100])


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda run: (run / "model.pt").unlink(), "got no model.pt: train into that folder first"),
        (lambda run: tear(run / "model.pt"), "the file is torn or was changed"),
        (lambda run: tear(run / "vocabulary.json"), "the file is broken, write it anew"),
        (lambda run: (run / "options.json").write_text("{"), "the file is broken, write it anew"),
    ],
)
def test_a_folder_without_a_whole_translator_is_refused(damage, words, source, tmp_path, capsys):
    run = make_run(tmp_path / "run")
    damage(run)
    translate(run, source, code=1)
    assert words in one_error(capsys)


def test_the_standard_input_is_not_overwritten(folder, source, monkeypatch, capsys):
    before, stdin = source.read_bytes(), os.dup(0)
    with open(source, "rb") as file:
        os.dup2(file.fileno(), 0)
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(file))
        try:
            translate(folder, "--output", source, code=1)
        finally:
            os.dup2(stdin, 0)
            os.close(stdin)
    assert "expected --output other than the files that are read" in one_error(capsys)
    assert source.read_bytes() == before


def test_no_break_spaces_that_a_model_writes_are_kept():
    assert one_line("Ça\u00a0va\u202f?\n") == "Ça\u00a0va\u202f?"


def test_files_that_cannot_be_used_are_refused(folder, source, tmp_path, capsys):
    translate(tmp_path / "nowhere", source, code=1)
    assert f"expected model.pt and vocabulary.json in {tmp_path / 'nowhere'}" in one_error(capsys)
    translate(folder, tmp_path / "nowhere", code=1)
    assert "nowhere', got 'No such file or directory'" in one_error(capsys)
    translate(folder, source, "--output", tmp_path, code=1)
    assert "got 'Is a directory'" in one_error(capsys)
    translate(folder, source, "--output", source, code=1)
    assert "expected --output other than the files that are read" in one_error(capsys)
    assert source.stat().st_size > len(ODD)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--beam 2 --n-best 3", "expected --n-best of at most --beam, 2, got 3: raise --beam"),
        ("--max-len 1000000000000", "expected a whole number from 1 to 10000, got '1000000000000'"),
        ("--length-penalty nan", "expected a number at least -10 and at most 10, got 'nan'"),
    ],
)
def test_wrong_options_are_refused(options, words, capsys):
    with pytest.raises(SystemExit) as left:
        main(["--folder", "run", *options.split()])
    assert left.value.code == 2
    assert words in one_error(capsys)


class Terminal(io.StringIO):
    """What a person types: lines, then whatever `end` raises."""

    def __init__(self, lines, end):
        super().__init__()
        self.lines, self.end = iter(lines), end

    def isatty(self):
        return True

    def reconfigure(self, **settings):
        pass

    def readline(self, size=-1):
        for line in self.lines:
            return line
        raise self.end


@pytest.mark.parametrize(("end", "code"), [(EOFError, 0), (KeyboardInterrupt, 130)])
def test_typed_sentences_are_answered_until_the_end(end, code, folder, monkeypatch, capsysbinary):
    monkeypatch.setattr(sys, "stdin", Terminal(["eins\n", "\n", "zwei\n"], end))
    translate(folder, "--beam", 1, code=code)
    out, err = capsysbinary.readouterr()
    assert out.count(b"\n") == 3
    assert b"> " not in out  # it is no terminal: the prompt goes elsewhere
    assert err.decode().startswith(
        f"Type a sentence and press Enter; Ctrl-D ends. Translating with {folder}.\n> > > > "
    )
    assert b"Traceback" not in err


def test_a_reader_that_stops_early_is_no_error(folder, tmp_path):
    path = tmp_path / "long"
    path.write_text("eins zwei\n" * 2000)
    command = [sys.executable, "-m", "course_lib", "translate", "--folder", str(folder), "--max-len", "2", str(path)]
    pipes = dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
    process = subprocess.Popen([*command, "--beam", "1"], **pipes)
    assert process.stdout.readline().endswith(b"\n")
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(60) == 130


@pytest.mark.parametrize("place", ["pairs.tsv", "run/pairs.tsv", "link.tsv", "run/model.pt"])
def test_what_a_training_reads_or_keeps_is_not_overwritten(place, source, tmp_path, capsys):
    run, pairs = make_run(tmp_path / "run"), tmp_path / place.replace("link", "pairs").replace("model.pt", "pairs.tsv")
    pairs.write_text("eins\tone\n")
    (tmp_path / "link.tsv").symlink_to(pairs)
    (run / "options.json").write_text(json.dumps({"data": str(pairs)}))
    before = (tmp_path / place).read_bytes()
    translate(run, source, "--output", tmp_path / place, code=1)
    assert "expected --output other than the files that are read or kept" in one_error(capsys)
    assert (tmp_path / place).read_bytes() == before


def test_a_translation_that_fails_leaves_the_old_output(folder, tmp_path, capsys):
    source, output = tmp_path / "source.txt", tmp_path / "output.txt"
    source.write_bytes(b"eins\n" * 300 + b"\xff\n")
    output.write_text("precious")
    translate(folder, source, "--output", output, code=1)
    assert "expected UTF-8" in one_error(capsys)
    assert output.read_text() == "precious"


def test_what_looks_the_same_is_translated_the_same(folder, tmp_path, capsysbinary):
    texts = ["eins zwei", "drei vier"]
    (tmp_path / "plain").write_text("\n".join(texts))
    translate(folder, tmp_path / "plain", "--attention")
    wanted = capsysbinary.readouterr()
    odd = "\ufeffeins\u00a0zw\u200bei\r\r\n\ufeffdrei\u3000vi\xader\x00"
    (tmp_path / "odd").write_bytes(odd.encode())
    translate(folder, tmp_path / "odd", "--attention")
    assert capsysbinary.readouterr() == wanted


def test_decomposed_letters_are_those_that_training_had(tmp_path, capsys):
    translator = make_translator()
    vocabulary = BPE.train(["큰 개 é", "a big dog"], n_merges=9)
    assert vocabulary.vocab_size <= translator.model.config.vocab_size
    made = Translator(translator.model, vocabulary, characters="큰 개é")
    texts = ["큰 개", "é 큰"]
    spelled = [unicodedata.normalize("NFD", text) for text in texts]
    assert spelled != texts
    assert made.translate(spelled, max_len=6) == made.translate(texts, max_len=6)
    assert made.unknown(spelled[0]) == {}


def test_characters_that_training_never_had_are_named_at_their_first_line_and_counted(folder, tmp_path, capsys):
    (tmp_path / "new").write_text("eins\nzwei.\ndrei ö vier.\n\neins €\n.\n")
    translate(folder, tmp_path / "new")
    out, err = capsys.readouterr()
    assert err.splitlines() == [
        "line 2: '.' was never seen in training and is left out",
        "line 3: 'ö' was never seen in training: the translation is a guess",
        "line 5: '€' was never seen in training and is left out",
        "never seen in training: '.' in 3 lines",
    ]
    assert out.splitlines()[3::2] == ["", ""]  # nothing is left of the last line
    (tmp_path / "old").write_text("eins\nzwei\ndrei ö vier\n\neins\n\n")
    translate(folder, tmp_path / "old")
    assert capsys.readouterr().out == out


def test_what_training_had_is_not_told(folder, tmp_path, capsys):
    (tmp_path / "known").write_text("eins zwei\tdrei\r\n vier\u00a0eins\n")
    translate(folder, tmp_path / "known")
    assert capsys.readouterr().err == ""


def test_the_commonest_new_characters_are_counted_at_the_end(folder, tmp_path, capsys):
    (tmp_path / "new").write_text("#&+%$!?*=;:~\n" * 3 + "#\n")
    translate(folder, tmp_path / "new")
    *first, last = capsys.readouterr().err.splitlines()
    assert [line[:9] for line in first] == [f"line 1: {mark!r}"[:9] for mark in "#&+%$!?*=;:~"]
    assert last.startswith("never seen in training: '#' in 4 lines, '&' in 3 lines")
    assert last.count(" in 3 lines") == 9
