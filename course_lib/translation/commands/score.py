"""Score translations from the command line: `python -m course_lib score --help`."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from course_lib.bleu import SMOOTHING, corpus_bleu, sentence_bleu
from course_lib.bleu.chrf import chrf_signature, corpus_chrf, sentence_chrf
from course_lib.bpe.subwords import write_json
from course_lib.corpus import lines_of
from course_lib.fast.memory import keep_freed_memory
from course_lib.reproducible import make_reproducible
from course_lib.text import hidden
from course_lib.translation.commands import options as cli
from course_lib.translation.commands.options import number, whole
from course_lib.translation.report import bleu_note, evaluate, load_corpus, table
from course_lib.translation.run_folder import (
    check_data,
    files_of,
    names_of,
    open_translator,
    recorded_data,
    recorded_options,
)

DESCRIPTION = """\
Score translations against references with BLEU and chrF, or a trained translator on its corpus.

With files: line i of HYPOTHESES is compared with line i of every REFERENCE. The scores are
sacrebleu's, and each comes with its signature, which says how it was counted.
With --folder: the report that `train` prints, for any split, beam or average.

examples
  python -m course_lib score captions.en reference.en
  python -m course_lib score captions.en first.en second.en --lowercase --sentences
  python -m course_lib score captions.zh reference.zh --tokenize char
  python -m course_lib translate --folder runs/multi30k a.de | python -m course_lib score - a.en
  python -m course_lib score --folder runs/course
  python -m course_lib score --folder runs/multi30k --split val --beam 10 --average 3 --json -

what to expect
  A copy of the reference scores 100; another good translation scores less, so the number is
  of use beside that of another system on the same text. Compare scores of one signature only.
  Give the text as people read it, not tokenized. BLEU counts runs of four tokens: where no
  reference has so many, even a copy scores 0. That is so for short texts, and for Chinese,
  Japanese, or Thai, which put no spaces between words; --tokenize char takes characters.
  With --sentences each line is scored by the runs that it is long enough for.
  Text is compared as it is: a line tells where two spellings look the same and are not.
"""
COUNTING = ("tokenize", "lowercase", "smoothing", "smooth_value")  # as in `corpus_bleu`
WITH_FILES = (*COUNTING[1:], "chrf_words", "sentences")  # --tokenize is for both uses
WITH_FOLDER = ("data", "split", "reverse", "seed", "beam", "length_penalty", "average")


def parser() -> cli.Parser:
    """The options, with what they are for."""
    p = cli.Parser("python -m course_lib score", DESCRIPTION)
    group = p.add_argument_group("files")
    group.add_argument("texts", nargs="*", metavar="FILE", help="HYPOTHESES REFERENCE …; one - is the standard input")
    group.add_argument("--lowercase", action="store_true", default=None, help="make no difference of A and a")
    group.add_argument("--smoothing", choices=SMOOTHING, help="of precisions that are 0 (default: exp)")
    group.add_argument("--smooth-value", type=number(least=0), help="of floor (default: 0.1) or add-k (default: 1)")
    group.add_argument("--chrf-words", type=whole(0, 9), help="n-grams of words in chrF too; 2: chrF++ (default: 0)")
    group.add_argument("--sentences", action="store_true", default=None, help="scores of every line, too")

    group = p.add_argument_group("model")
    group.add_argument("--folder", type=cli.path, help="the folder of a training; what is left open is as it was there")
    cli.add_data(group)
    group.add_argument("--split", action="append", help="this one; may be repeated (default: all that were held out)")
    group.add_argument("--reverse", action="store_true", default=None, help="translate in the other direction")
    group.add_argument("--seed", type=cli.SEEDS, help="of the corpus")
    cli.add_search(group, "beam size; 1 is greedy", penalty=None)
    group.add_argument("--average", type=whole(1), metavar="N", help="weights: the mean of the last N checkpoints")
    cli.add_threads(group)

    group = p.add_argument_group("files or model")
    cli.add_tokenize(group, "13a, or as in the training")
    group = p.add_argument_group("output")
    group.add_argument("--json", type=cli.path, help="write the figures to this file; - prints them, and nothing else")
    return p


def main(arguments: Sequence[str] | None = None) -> int:
    """Score; 0 when all went well."""
    p = parser()
    options = p.parse_args(arguments)
    check(p, options)
    return cli.run_command(p.prog, lambda: run(options))


def check(p: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Leave with an error where the options contradict each other."""
    if bool(options.texts) == bool(options.folder) or len(options.texts) == 1:
        got = f"{len(options.texts)} of them" + (" and --folder" if options.folder else "")
        p.error(f"expected two files or more, or --folder, got {got}: name HYPOTHESES REFERENCE, or the training")
    here, others = ("files", WITH_FOLDER) if options.texts else ("--folder", WITH_FILES)
    if strange := [f"--{name.replace('_', '-')}" for name in others if getattr(options, name) is not None]:
        p.error(f"expected options for {here}, got {', '.join(strange)}: leave out what belongs to the other use")
    if options.smooth_value is not None and options.smoothing not in ("floor", "add-k"):
        p.error(f"expected --smooth-value with --smoothing floor or add-k, got {options.smoothing or 'exp'}: add one")
    if options.texts.count("-") > 1:
        p.error("expected the standard input once, got it twice: name a file")


def run(options: argparse.Namespace) -> None:
    """Score files, or a translator, and print or write the figures."""
    printed = str(options.json) == "-"
    if options.json and not printed:
        read = options.texts or [*names_of(options.data or "course"), *recorded_data(options.folder)]
        cli.check_file(options.json, reads=read, keeps=files_of(options.folder, options.json))
    figures, text = score_files(options) if options.texts else score_folder(options)
    if options.json and not printed:
        write_json(options.json, figures, indent=1)
    print(json.dumps(figures, indent=1) + "\n" if printed else text, end="")


def score_files(options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """The scores of the files that the options name, as data and as text."""
    texts = [read_lines(name) for name in options.texts]
    for name, lines in zip(options.texts[1:], texts[1:], strict=True):
        if len(lines) != len(texts[0]):
            raise ValueError(
                f"expected as many lines in {name} as in {options.texts[0]}, {len(texts[0])}, got {len(lines)}: "
                "line i of one belongs to line i of the other"
            )
    tell_hidden(options.texts, texts)
    hypotheses, references = texts[0], list(zip(*texts[1:], strict=True))
    if not hypotheses:
        raise ValueError(f"expected at least one line in {options.texts[0]}, got none: is it the right file?")
    given, words = vars(options), options.chrf_words or 0
    counting = {name: given[name] for name in COUNTING if given[name] is not None}
    bleu = corpus_bleu(hypotheses, references, **counting)
    if options.lowercase:
        hypotheses, references = [text.lower() for text in hypotheses], [[*map(str.lower, row)] for row in references]
    counted = {"score": bleu.score, "precisions": bleu.precisions, "brevity_penalty": bleu.brevity_penalty}
    counted |= {"hyp_len": bleu.statistics.hyp_len, "ref_len": bleu.statistics.ref_len, "signature": bleu.signature}
    how = chrf_signature(len(texts) - 1, bool(options.lowercase), words)
    chrf = {"score": corpus_chrf(hypotheses, references, word_order=words), "signature": how}
    figures: dict[str, Any] = {"lines": len(hypotheses), "bleu": counted, "chrf": chrf}
    text = f"{bleu}\n  {bleu.signature}\nchrF2{'+' * words} = {chrf['score']:.2f}\n  {chrf['signature']}\n"
    if note := bleu_note(bleu, references, options.tokenize or "13a", options.smoothing or "exp"):
        figures["note"] = note
        text += f"Note: {note}\n"
    if options.sentences:
        rows = list(zip(hypotheses, references, strict=True))
        scored = [(sentence_bleu(*row, **counting).score, sentence_chrf(*row, word_order=words)) for row in rows]
        figures["sentences"] = [{"bleu": one, "chrf": other} for one, other in scored]
        lines = [f"{number}\t{one:.2f}\t{other:.2f}" for number, (one, other) in enumerate(scored, start=1)]
        text = "\n".join(["line\tBLEU\tchrF", *lines]) + "\n\n" + text
    return figures, text


def tell_hidden(names: Sequence[str], texts: Sequence[Sequence[str]]) -> None:
    """Say on the standard error which files have lines that look like others and are not: they score as other text."""
    for name, lines in zip(names, texts, strict=True):
        if count := sum(map(hidden, lines)):
            print(
                f"{count} of {len(lines)} lines of {name} are not in NFC, or have characters that nobody sees: they "
                "are scored as other text than the same in NFC",
                file=sys.stderr,
            )


def score_folder(options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """The report on the translator in `options.folder`, as data and as text; what is None is as in its training."""
    make_reproducible(0, options.threads)
    keep_freed_memory()
    translator = open_translator(options.folder, options.average or 0)
    chosen = {"data": None, "reverse": False, "seed": 0, "beam": cli.BEAM, "length_penalty": 1.0, "tokenize": "13a"}
    for source in (recorded_options(options.folder), vars(options)):
        chosen |= {name: source[name] for name in chosen if source.get(name) is not None}
    if chosen["data"] is None:
        raise ValueError(f"expected options.json in {options.folder}, got none: name the training's sentences, --data")
    check_data(options.folder, vars(options))
    corpus = load_corpus(chosen["data"], chosen["seed"], chosen["reverse"])
    searched = chosen["beam"], chosen["length_penalty"]
    figures = evaluate(translator, corpus, *searched, options.split, quiet=False, tokenize=chosen["tokenize"])
    if not figures["exact_match"]:
        raise ValueError(f"expected sentences to score in {chosen['data']}, got none: name another file, or a --split")
    chosen |= {"folder": str(options.folder), "average": options.average}
    return figures | {"options": chosen}, table(figures) + "\n"


def read_lines(name: str) -> list[str]:
    """The lines of a UTF-8 file, or of the standard input, -."""
    data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    return lines_of(data, "the standard input" if name == "-" else name) if data else []
