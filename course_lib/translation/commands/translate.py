"""Translate from the command line: `python -m course_lib translate --help`."""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from io import BufferedIOBase
from typing import Any
from unicodedata import combining, east_asian_width

from tqdm.auto import tqdm

from course_lib.beam_search import Hypothesis
from course_lib.corpus import decoded
from course_lib.fast.memory import keep_freed_memory
from course_lib.files import written_whole
from course_lib.reproducible import make_reproducible
from course_lib.translation import LONGEST
from course_lib.translation.commands import options as cli
from course_lib.translation.commands.options import whole
from course_lib.translation.report import one_line
from course_lib.translation.run_folder import files_of, open_translator, recorded_data, recorded_options

DESCRIPTION = """\
Translate a file, the standard input, or what you type, a sentence a line.

The translator is the one that `train --folder` left. Without FILE it reads the
standard input; at a terminal it asks for sentences until Ctrl-D.

examples
  python -m course_lib translate --folder runs/course
  python -m course_lib translate --folder runs/multi30k captions.de --output captions.en
  echo "ein Hund" | python -m course_lib translate --folder runs/multi30k --n-best 3 --scores
  python -m course_lib translate --folder runs/course --attention korean.txt | less
  python -m course_lib translate --folder runs/multi30k a.de | python -m course_lib score - a.en

what to expect
  A line for every line, in order; an empty line stays empty. Output comes as soon as a
  block is done, so a file of any size takes little memory. The translator knows the
  sentences it was trained on: words from elsewhere come out as best it can.
  The text is read as in training: in NFC, with one space between words, and without
  characters that nobody sees. Characters that training never had are named on the standard
  error, each at its first line: punctuation and symbols are left out, letters are a guess.
"""

BLOCK = 256  # lines translated together at most
TOLD = 10  # characters that training never had, counted at the end


def parser() -> cli.Parser:
    """The options, with what they are for."""
    p = cli.Parser("python -m course_lib translate", DESCRIPTION)
    group = p.add_argument_group("data")
    group.add_argument("file", nargs="?", default="-", metavar="FILE", help="UTF-8 text; - is the standard input")

    group = p.add_argument_group("model")
    group.add_argument("--folder", type=cli.path, required=True, help="the folder of the training")
    cli.add_search(group, "beam size; 1 is greedy (default: as after the training)")
    group.add_argument("--max-len", type=whole(1, 20 * LONGEST), help="tokens at most (default: by the source's)")
    cli.add_threads(group)

    group = p.add_argument_group("output")
    group.add_argument("--output", type=cli.path, help="write to this file instead of the standard output")
    group.add_argument("--scores", action="store_true", help="`score TAB translation`: log-probability by length")
    numbers = whole(1, cli.MOST_BEAMS)
    group.add_argument("--n-best", type=numbers, help="so many translations a line, after `number of the line TAB`")
    group.add_argument("--attention", action="store_true", help="below, the source word each word looked at most")
    return p


def main(arguments: Sequence[str] | None = None) -> int:
    """Translate; 0 when all went well."""
    p = parser()
    options = p.parse_args(arguments)
    if options.n_best and options.beam and options.n_best > options.beam:
        p.error(f"expected --n-best of at most --beam, {options.beam}, got {options.n_best}: raise --beam")
    return cli.run_command(p.prog, lambda: run(options))


def run(options: argparse.Namespace) -> None:
    """Open the translator and what it reads and writes, and translate block by block."""
    make_reproducible(0, options.threads)
    keep_freed_memory()
    translator = open_translator(options.folder)
    if options.beam is None:
        options.beam = max(recorded_options(options.folder).get("beam", cli.BEAM), options.n_best or 1)
    typed = options.file == "-" and sys.stdin.isatty()
    with ExitStack() as stack:
        if typed:
            print(f"Type a sentence and press Enter; Ctrl-D ends. Translating with {options.folder}.", file=sys.stderr)
            source: Iterable[list[str]] = ([line] for line in type_lines())
        else:
            stream = sys.stdin.buffer if options.file == "-" else stack.enter_context(open(options.file, "rb"))
            source = blocks(stream, "the standard input" if options.file == "-" else options.file)
        if options.output:
            reads = [options.file, *recorded_data(options.folder)]
            cli.check_file(options.output, "--output", reads, files_of(options.folder, options.output))
        target = stack.enter_context(written_whole(options.output)) if options.output else sys.stdout.buffer
        quiet = typed or (options.output is None and sys.stdout.isatty())  # two things on one screen
        bar = stack.enter_context(tqdm(unit=" lines", disable=True if quiet else None))
        done, unknown = 0, Counter()
        for lines in source:
            tell_unknown(translator, lines, unknown, start=done + 1)
            for text in translate_lines(translator, lines, options, start=done + 1):
                target.write(text.encode("utf-8", "replace"))
            target.flush()
            done += len(lines)
            bar.update(len(lines))
    commonest = unknown.most_common(TOLD)
    if often := [f"{character!r} in {count:,} lines" for character, count in commonest if count > 1]:
        print(f"never seen in training: {', '.join(often)}", file=sys.stderr)


def tell_unknown(translator: Any, lines: Sequence[str], unknown: Counter[str], start: int = 1) -> None:
    """Name the characters that training never had, each at its first line, and count the lines that have it."""
    for number, line in enumerate(lines, start):
        fates = translator.unknown(line)
        for character in [each for each in fates if each not in unknown]:
            print(f"line {number}: {character!r} {fates[character]}", file=sys.stderr)
        unknown.update(fates.keys())


def translate_lines(
    translator: Any, lines: Sequence[str], options: argparse.Namespace, start: int = 1
) -> Iterator[str]:
    """What to write for each line, with its line feeds. `start` is the number of the first.

    A line of which nothing is read stays empty, whatever the options.
    """
    sources = [translator.as_read(line) for line in lines]
    for row, text in enumerate(sources):
        ids = translator.vocabulary.encode(text)
        if len(ids) > LONGEST:
            print(f"line {start + row} has {len(ids):,} tokens: only the first {LONGEST} are read", file=sys.stderr)
            sources[row] = translator.vocabulary.decode(ids[:LONGEST])
    texts = [text for text in sources if text]
    found = iter(translator.search(texts, options.beam, options.length_penalty, options.max_len))
    for row, text in enumerate(sources):
        hypotheses = next(found)[: options.n_best or 1] if text else []
        yield "".join(_spell(translator, text, one, options, start + row) for one in hypotheses) or "\n"


def looked_at(src_text: str, tgt_text: str, weights: Any) -> str:
    """Each target word with the source word it looked at most, and how much; `weights` has a row a target word.

    >>> import torch
    >>> print(looked_at("책을 읽는다", "reads books", torch.tensor([[0.1, 0.8], [0.7, 0.2]])), end="")
      reads ← 읽는다  0.80
      books ← 책을    0.70
    """
    src, tgt = src_text.split(" "), tgt_text.split(" ")
    partners = [int(row.argmax()) for row in weights]
    widths = [max(map(_width, words), default=0) for words in (tgt, [src[partner] for partner in partners])]
    lines = ""
    for word, row, partner in zip(tgt, weights, partners, strict=True):
        pair = zip((word, src[partner]), widths, strict=True)
        left, right = (text + " " * (width - _width(text)) for text, width in pair)
        lines += f"  {left} ← {right}  {row[partner]:.2f}\n"
    return lines


def blocks(stream: BufferedIOBase, name: str, size: int = BLOCK) -> Iterator[list[str]]:
    """The lines of a UTF-8 stream, in blocks: what has arrived, at most `size` lines.

    It waits only while there is no whole line, so what is typed or written slowly is answered line by line. Lines end
    as in `corpus.lines_of`.

    >>> import io
    >>> list(blocks(io.BytesIO("eins\\r\\nzwei\\n\\ndrei".encode()), "a file", size=2))
    [['eins', 'zwei'], [''], ['drei']]
    """
    done, begun = 0, []  # whole lines so far; the parts of a line that has no end yet
    while chunk := stream.read1(1 << 16):
        first, *others = chunk.split(b"\n")
        begun.append(first)
        if others:
            lines = [b"".join(begun), *others[:-1]]
            begun = [others[-1]]
            for start in range(0, len(lines), size):
                block = lines[start : start + size]
                yield decoded(block, name, done + 1)
                done += len(block)
    if rest := b"".join(begun):
        lines = [rest] if done else rest.removesuffix(b"\r").split(b"\r")
        for start in range(0, len(lines), size):
            yield decoded(lines[start : start + size], name, done + start + 1)


def type_lines() -> Iterator[str]:
    """What the reader types, until Ctrl-D."""
    with suppress(ImportError):  # lets `input` edit a line and remember the ones before; Windows has none
        import readline  # noqa: F401
    sys.stdin.reconfigure(errors="replace")
    while True:
        if not sys.stdout.isatty():  # `input` would write its prompt among the translations
            print("> ", end="", file=sys.stderr, flush=True)
        try:
            yield input("> " if sys.stdout.isatty() else "")
        except EOFError:
            print(file=sys.stderr)
            return


def _spell(translator: Any, source: str, hypothesis: Hypothesis, options: argparse.Namespace, number: int) -> str:
    text = one_line(translator.vocabulary.decode(hypothesis.tokens))
    fields = [str(number)] if options.n_best else []
    fields += [f"{hypothesis.score(options.length_penalty):.4f}"] if options.scores else []
    line = "\t".join([*fields, text]) + "\n"
    if options.attention and text:
        line += looked_at(source, text, translator.attention(source, text).mean(dim=0))
    return line


def _width(text: str) -> int:
    """Columns of a terminal: East Asian characters take two, combining marks none."""
    return sum(0 if combining(mark) else 1 + (east_asian_width(mark) in "WF") for mark in text)
