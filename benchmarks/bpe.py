"""Byte-pair encoding: learning merges from a text, and encoding a text for the first time.

Each measurement runs in a process of its own, so that no contender finds warm caches. The course's `ByteBPE` has to
learn the merges of the `tokenizers` library, and to give its ids; the other contenders cut words in their own ways.
The text is one that every reader has: Python's own standard library.
"""

import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.fresh_process import run_alone
from benchmarks.peers import subwords
from benchmarks.text import Language
from benchmarks.timing import Call, Disagreement, LeftOut, Settings, Work, agree, gather

COURSE, CHARACTERS, TOKENIZERS = "course, ByteBPE", "course, BPE", "tokenizers"
NO_OFFSETS, SENTENCEPIECE, SUBWORD_NMT = "tokenizers, without offsets", "sentencepiece", "subword-nmt"
CLASSES = {
    COURSE: subwords.CourseBytes,
    CHARACTERS: subwords.CourseCharacters,
    TOKENIZERS: subwords.Tokenizers,
    NO_OFFSETS: subwords.TokenizersNoOffsets,
    SENTENCEPIECE: subwords.SentencePiece,
    SUBWORD_NMT: subwords.SubwordNMT,
}
MEGABYTE = 1_000_000
TRAINING = "{merges} merges from {size:.3g} MB {text}, read from a file; threads for those who can use them: {threads}."
ENCODING = "{size:.3g} MB {text}, {merges} merges, line by line, one thread, caches cold."


def works(settings: Settings) -> Iterator[Work]:
    """Training on the whole text; encoding its beginning, then all of it."""
    small, large = (0.01, 0.02) if settings.quick else (1, 10)
    n_merges = 100 if settings.quick else 8000
    of = "of the sources of Python's standard library"
    if settings.text or settings.quick:
        of = "of your text" if settings.text else "of made-up text"
    words = {"merges": n_merges, "text": of, "threads": settings.threads}
    with tempfile.TemporaryDirectory() as folder:
        paths = {size: Path(folder, f"{size}.txt") for size in (small, large)}
        whole = read_text(settings, int(large * MEGABYTE))
        for size, path in paths.items():
            path.write_text(beginning(whole, int(size * MEGABYTE)), encoding="utf-8", newline="\n")
        yield training(paths[large], n_merges, TRAINING.format(size=megabytes(paths[large]), **words), settings)
        for size, aim in ((small, 1.7), (large, 3.0)):
            about = ENCODING.format(size=megabytes(paths[size]), **words)
            yield encoding(f"BPE encoding, {size:g} MB", paths[size], about, aim)


def read_text(settings: Settings, n_bytes: int) -> str:
    """The text to measure on: the reader's, or Python's modules in alphabetical order; made-up sentences for a try."""
    if settings.text:
        return settings.text.read_text(encoding="utf-8")
    if settings.quick:
        return "\n".join(Language(n_words=500).lines(n_bytes))
    parts, size = [], 0
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("[a-z]*/*.py")):
        if size > n_bytes:
            break
        parts.append(path.read_text(encoding="utf-8", errors="replace"))
        size += len(parts[-1])
    return "\n".join(parts)


def beginning(text: str, n_bytes: int) -> str:
    """The lines at the beginning that fill `n_bytes`, as far as there are so many.

    >>> beginning("one\\ntwo\\nthree", n_bytes=9)
    'one\\ntwo'
    """
    part = text.encode()[: n_bytes + 1]
    return text if len(part) <= n_bytes else part[: part.rfind(b"\n")].decode()


def megabytes(path: Path) -> float:
    """The size of a file."""
    return path.stat().st_size / MEGABYTE


def training(path: Path, n_merges: int, about: str, settings: Settings) -> Work:
    """Learning merges. The first run of a contender leaves its tokenizer beside the text."""

    def subword_nmt() -> str:
        if not (settings.slow or settings.quick):
            raise LeftOut("it takes minutes (--slow measures it, too)")
        return installed(SUBWORD_NMT)

    makers = {name: partial(installed, name) for name in (COURSE, CHARACTERS, TOKENIZERS, SENTENCEPIECE)}
    contenders, left_out = gather(makers | {SUBWORD_NMT: subword_nmt})
    run = partial(run_alone, subwords.train, settings.threads, path=str(path), n_merges=n_merges)
    first = {name: run(contender=contender, folder=str(path.parent)) for name, contender in contenders.items()}
    check("merges", first)
    for name, found in first.items():
        if found["number"] < n_merges:
            raise Disagreement(f"expected {n_merges} merges of {name!r}, got {found['number']}: take a longer text")
    return compared("BPE training", about, path, calls(run, contenders), left_out, aim=1.1)


def encoding(title: str, path: Path, about: str, aim: float) -> Work:
    """Encoding with what training left beside the text; `tokenizers` loads the file of `ByteBPE`."""
    names = (COURSE, CHARACTERS, TOKENIZERS, NO_OFFSETS, SENTENCEPIECE)
    contenders, left_out = gather({name: partial(installed, name) for name in names})
    run = partial(run_alone, subwords.encode, 1, path=str(path), folder=str(path.parent))
    check("ids", {name: run(contender=contender) for name, contender in contenders.items()})
    return compared(title, about, path, calls(run, contenders), left_out, aim)


def installed(name: str) -> str:
    """The name of a contender's class, once its library has shown that it is there."""
    return type(CLASSES[name]()).__name__


def calls(run: Callable[..., dict[str, Any]], contenders: dict[str, str]) -> dict[str, Call]:
    """For every contender a call that runs it in a new process."""
    return {name: lambda c=contender: run(contender=c)["seconds"] for name, contender in contenders.items()}


def check(what: str, first: dict[str, dict[str, Any]]) -> None:
    """Those who split text as `ByteBPE` does find the same as it does, token by token."""
    same = {name: found["digest"] for name, found in first.items() if name in (TOKENIZERS, NO_OFFSETS)}
    agree(f"{what}, as a digest,", same, first[COURSE]["digest"])


def compared(title: str, about: str, path: Path, runs: dict[str, Call], left_out: dict[str, str], aim: float) -> Work:
    """A work over the bytes of a file; the aim is for the tokenizer that does what `tokenizers` does."""
    return Work(
        title,
        about,
        runs,
        ours=(COURSE, CHARACTERS),
        left_out=left_out,
        amount=megabytes(path),
        things="MB",
        aims={(COURSE, TOKENIZERS): aim},
        warm_up=False,
    )
