"""The benchmarks run, compare like with like, and say what is missing. No test looks at a time."""

import json
import os
import re
import runpy
import socket
import subprocess
import sys
import threading
from concurrent.futures import ProcessPoolExecutor
from unittest import mock

import forked
import pytest
import torch
from packaging.utils import canonicalize_name
from torch.utils.flop_counter import FlopCounterMode

from benchmarks import __main__ as command
from benchmarks import attention, bleu, bpe, fresh_process, report, search, training_step
from benchmarks.contender_process import Apart
from benchmarks.machine import PACKAGES
from benchmarks.peers import marian, subwords
from benchmarks.text import Language
from benchmarks.timing import FASTEST, Disagreement, Settings, Work, gather, measure
from benchmarks.translators import TINY, sentences
from course_lib.batching import make_batch
from course_lib.transformer import Transformer
from tools.environment import ROOT

QUICK = Settings(rounds=2, threads=1, quick=True)
NUMBERS = {"median", "min", "max"}


# --- everything, at tiny sizes


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    path = tmp_path_factory.mktemp("results") / "benchmarks.json"
    arguments = ["--quick", "--threads", "1", "--json", str(path)]
    with mock.patch.object(sys, "argv", ["benchmarks", *arguments]), pytest.raises(SystemExit) as ended:
        runpy.run_path(str(ROOT / "benchmarks" / "__main__.py"), run_name="__main__")
    assert ended.value.code == 0
    return json.loads(path.read_text(encoding="utf-8"))


def test_every_contender_is_measured_or_left_out(stored):
    titles = {
        "training step, tiny": 6,
        "greedy search": 5,
        "beam search, 4 beams": 3,
        "BPE training": 5,
        "BPE encoding, 0.01 MB": 5,
        "BPE encoding, 0.02 MB": 5,
        "corpus BLEU": 3,
        "attention, 16 tokens": 4,
    }
    works = {work["title"]: work for work in stored["works"]}
    assert works.keys() - {"attention, 16 tokens, memory"} == titles.keys()
    for title, number in titles.items():
        work = works[title]
        left_out = [line for line in work["left out"] if title != "beam search, 4 beams" or "x-transf" not in line]
        assert len(work["contenders"]) + len(left_out) == number, title
        assert all("is left out: the package" in line for line in work["left out"])


def test_results_have_the_form(stored):
    assert {"day", "machine", "threads", "versions", "title", "about", "columns", "rows"} <= stored.keys()
    assert all(len(row) == len(stored["columns"]) for row in stored["rows"])
    assert stored["versions"].keys() == {"Python", "torch", "numpy", *PACKAGES.values()}
    assert {"processor", "instructions", "cores"} <= stored["machine"].keys()
    for work in stored["works"]:
        peers = {name for name, row in work["contenders"].items() if not row["course"]}
        assert peers
        assert work["fastest other"] in peers
        for row in work["contenders"].values():
            ratios = list(row.get("against", {}).values())
            for numbers in (row[work["unit"]], row["beside the fastest"], *ratios):
                assert numbers.keys() >= NUMBERS
                assert 0 < numbers["min"] <= numbers["median"] <= numbers["max"]
            assert not row["course"] or row["against"].keys() == peers


def test_results_name_no_machine(stored):
    text = json.dumps(stored)
    assert str(ROOT) not in text
    assert os.path.expanduser("~") not in text
    assert not re.search(rf"\b{re.escape(socket.gethostname())}\b", text)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", stored["day"])
    assert not re.search(r"\d\d:\d\d", text)


# --- ratios


def test_ratios_are_taken_round_by_round():
    """A slow moment that hits all contenders of a round leaves no trace in the ratio."""
    times = {"ours": [1.0, 10.0, 1.0], "peer": [2.0, 20.0, 3.0], "slower": [4.0, 40.0, 4.0]}
    turns = {name: iter(values) for name, values in times.items()}
    calls = {name: turn.__next__ for name, turn in turns.items()}
    aims = {("ours", FASTEST): 1.5, ("ours", "slower"): 3.0}
    work = Work("w", "about", calls, ("ours",), amount=10, things="words", aims=aims, warm_up=False)
    found = measure(work, Settings(rounds=3))
    ours = found["contenders"]["ours"]
    assert found["fastest other"] == "peer"
    assert ours["against"]["peer"] == {"median": 2.0, "min": 2.0, "max": 3.0, "aim": 1.5}
    assert ours["against"]["slower"] == {"median": 4.0, "min": 4.0, "max": 4.0, "aim": 3.0}
    assert ours["words/s"] == {"median": 10.0, "min": 1.0, "max": 10.0}
    assert found["contenders"]["slower"]["beside the fastest"]["median"] == 0.5
    assert report.rows(found)[0] == ["w", "ours", "1.00 s", "2.00 (2.00–3.00)"]
    assert "ours against peer: 2.00 (2.00–3.00), aim 1.5" in report.text(found)


def test_useful_operations_are_those_of_the_matrix_products():
    """Of a sentence without pads, except that the simple form computes both halves of the decoder's n × n scores."""
    m, n = 7, 5
    model = Transformer(TINY)
    batch = make_batch([(list(range(4, 3 + m)), list(range(4, 3 + n)))])
    with FlopCounterMode(display=False) as counter:
        model(batch.src, batch.tgt_in)
    unseen = TINY.n_layers * 2 * 2 * TINY.d_model * (n * n - n * (n + 1) // 2)
    assert training_step.useful_flops(TINY, batch) == 3 * (counter.get_total_flops() - unseen)


@pytest.mark.skipif(not fresh_process.tells_memory(), reason="this system does not tell")
def test_memory_is_what_the_work_added():
    # In a process of its own: in this one, other tests may have left freed memory that is taken up again.
    code = "from benchmarks.fresh_process import extra_memory; print(extra_memory(lambda: b'x' * (64 << 20)))"
    told = subprocess.run([sys.executable, "-c", code], cwd=ROOT, text=True, capture_output=True, check=True).stdout
    megabytes = float(told)
    assert 60 < megabytes < 80


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the C library of this system has no such setting")
def test_memory_of_attention_is_that_of_its_tensors():
    """The same again and again; what glibc keeps, left alone, adds a quarter and more."""
    found = []
    for _ in range(2):  # as `run_alone`, but each process is forked from one that has PyTorch
        with ProcessPoolExecutor(1, mp_context=forked.context()) as process:
            found.append(process.submit(attention.peak_memory, attention.COURSE, [4, 256, 512, 8], 1).result())
    assert max(found) < 1.05 * min(found)
    assert max(found) < 17


def test_a_contender_apart_has_its_own_process():
    apart = Apart(Settings(threads=1), threading.Event)
    try:
        assert apart.process.submit(os.getpid).result() != os.getpid()
        assert not apart.call("is_set")
        assert 0.5 <= apart.seconds("wait", 0.5) < 500  # seconds, no milliseconds
        apart.call("set")
        assert apart.call("is_set")  # it remembers
    finally:
        apart.close()


def test_what_is_missing_there_is_missing_here(monkeypatch):
    """The process is forked from one that has PyTorch; the test above makes one anew."""
    monkeypatch.setattr("benchmarks.contender_process.get_context", lambda name: forked.context())
    missing = "raise ModuleNotFoundError('No module', name='nltk')"
    made, left_out = gather({"nltk": lambda: Apart(Settings(threads=1), exec, missing)})
    assert made == {}
    assert left_out == {"nltk": "nltk is left out: the package nltk is not installed (make bench installs it)"}


# --- contenders that compute something else are refused


def test_wrong_training_is_refused(monkeypatch):
    monkeypatch.setattr(marian, "copy_weights", lambda theirs, ours: None)
    with pytest.raises(Disagreement, match=r"expected loss [\d.]+ of 'Hugging Face Marian', got [\d.]+: it does other"):
        next(training_step.works(QUICK))


def test_training_with_another_gradient_is_refused(monkeypatch):
    """The loss is right, its gradient twice as long."""

    def doubled(*given):
        loss = training_step.textbook_loss(*given)
        return 2 * loss - loss.detach()

    monkeypatch.setattr(training_step, "simple_loss", doubled)
    with pytest.raises(Disagreement, match=r"expected gradient .* of 'course, simple form', got"):
        next(training_step.works(QUICK))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda tokens: tokens[:-1], "expected lengths"),
        (lambda tokens: [5] * len(tokens), "expected number of sentences like the course's 3 of 'Hugging Face Marian'"),
    ],
)
def test_wrong_search_is_refused(change, words, monkeypatch):
    right = marian.Marian.greedy
    monkeypatch.setattr(marian.Marian, "greedy", lambda *given: [change(tokens) for tokens in right(*given)])
    with pytest.raises(Disagreement, match=words):
        next(search.works(QUICK))


def test_wrong_score_is_refused(monkeypatch):
    right = bleu.sacrebleu
    monkeypatch.setattr(bleu, "sacrebleu", lambda *texts: lambda: right(*texts)() + 1e-6)
    with pytest.raises(Disagreement, match=r"expected BLEU .* of 'sacrebleu', got"):
        next(bleu.works(QUICK))


def test_wrong_attention_is_refused(monkeypatch):
    right = attention.weights

    def larger(ours, name):
        factor = 1.01 if name == attention.KERNEL else 1.0
        return {key: factor * value for key, value in right(ours, name).items()}

    monkeypatch.setattr(attention, "weights", larger)
    with pytest.raises(Disagreement, match=r"expected sum of squares .* of 'the fused kernel bare'"):
        next(attention.works(QUICK))


def fake_run_alone(function, threads, contender, n_merges=100, **arguments):
    """What a process would answer, without one."""
    return {"seconds": 1.0, "number": n_merges, "digest": "other" if contender == "Tokenizers" else "same"}


def test_wrong_merges_are_refused(monkeypatch):
    monkeypatch.setattr(bpe, "run_alone", fake_run_alone)
    with pytest.raises(Disagreement, match="expected merges, as a digest, same of 'tokenizers', got other"):
        next(bpe.works(QUICK))


def test_a_text_too_short_is_refused(monkeypatch):
    monkeypatch.setattr(bpe, "run_alone", lambda *given, **named: {"seconds": 1.0, "number": 99, "digest": "same"})
    with pytest.raises(Disagreement, match="expected 100 merges of 'course, ByteBPE', got 99: take a longer text"):
        next(bpe.works(QUICK))


# --- missing contenders


@pytest.mark.parametrize(
    ("work", "module", "name", "rest"),
    [
        (training_step, "x_transformers", "x-transformers", "Hugging Face Marian"),
        (search, "ctranslate2", "CTranslate2", "nn.Transformer, no cache"),
        (bleu, "nltk.translate.bleu_score", "nltk", "sacrebleu"),
        (bpe, "sentencepiece", "sentencepiece", "tokenizers"),
    ],
)
def test_missing_contender_is_left_out(work, module, name, rest, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(bpe, "run_alone", lambda *given, **named: {"seconds": 1.0, "number": 100, "digest": "same"})
    found = next(work.works(QUICK))
    assert name not in found.calls
    assert rest in found.calls
    reason = f"the package {PACKAGES[module.split('.')[0]]} is not installed (make bench installs it)"
    assert found.left_out[name] == f"{name} is left out: {reason}"


def test_other_missing_modules_are_errors():
    with pytest.raises(ModuleNotFoundError):
        gather({"broken": lambda: __import__("benchmarks.nothing")})


def test_slow_contender_waits_for_its_flag(monkeypatch):
    monkeypatch.setattr(bpe, "run_alone", lambda *given, **named: {"seconds": 1.0, "number": 8000, "digest": "same"})
    monkeypatch.setattr(bpe, "read_text", lambda *given: "a text")
    work = next(bpe.works(Settings()))
    assert work.left_out[bpe.SUBWORD_NMT] == "subword-nmt is left out: it takes minutes (--slow measures it, too)"


# --- text, sentences, the command


def test_words_follow_zipfs_law():
    words = " ".join(Language(n_words=1000, seed=7).lines(300_000)).lower().split()
    counts = [words.count(word) for word in Language(n_words=1000, seed=7).words[:8]]
    for rank, count in enumerate(counts, start=1):
        assert count == pytest.approx(counts[0] / rank, rel=0.2)


def test_texts_are_cut_at_lines():
    text = "가\n나다\nxyz"
    assert [bpe.beginning(text, n) for n in (3, 9, 10, 12, 14, 99)] == ["가", "가", "가\n나다", "가\n나다", text, text]


def test_sentences_have_all_lengths():
    batch = sentences(TINY, n=18, shortest=2, longest=19)
    assert sorted(batch.src_lengths.tolist()) == sorted(batch.tgt_lengths.tolist()) == list(range(2, 20))
    assert (batch.src_lengths != batch.tgt_lengths).any()
    assert int(torch.stack([batch.src.max(), batch.tgt_out.max()]).max()) < TINY.vocab_size


def test_digest_sees_order_and_borders():
    different = [[[1, 2], [3]], [[1], [2, 3]], [[3], [1, 2]], [[1, 23]], [["1", "2"], ["3"]]]
    assert len({subwords.digest(values) for values in different}) == len(different)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["blue"], "expected works among training, search, bpe, bleu, attention, got blue"),
        (["--rounds", "0"], "expected at least one round and one thread, got 0 and"),
        (["--text", "nowhere.txt"], "expected a text file after --text, got nowhere.txt: there is none"),
    ],
)
def test_wrong_arguments_are_refused(arguments, words, capsys):
    with pytest.raises(SystemExit):
        command.main(arguments)
    assert words in capsys.readouterr().err


def test_a_part_writes_nothing_unless_asked(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(command, "FILE", tmp_path / "never.json")
    assert command.main(["bleu", "--quick", "--threads", "1"]) == 0
    assert command.main(["bleu", "--quick", "--threads", "1", "--json", str(tmp_path / "asked.json")]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["asked.json"]
    assert "corpus BLEU: 20 made-up sentences" in capsys.readouterr().out


def test_help_teaches(capsys):
    with pytest.raises(SystemExit):
        command.main(["--help"])
    text = capsys.readouterr().out
    assert all(
        word in text for word in (*command.WORKS, "--quick", "--rounds", "--json", "--threads", "Read the ratios")
    )


def test_every_peer_is_pinned():
    text = "".join((ROOT / name).read_text("utf-8") for name in ("requirements.txt", "requirements-bench.txt"))
    lines = [line for line in text.splitlines() if re.match(r"[\w-]+==[\w.]+( |$)", line)]
    pinned = {canonicalize_name(line.partition("==")[0]) for line in lines}
    assert set(PACKAGES.values()) <= pinned
