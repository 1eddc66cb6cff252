"""Measure the course's library side by side with what a reader would otherwise use.

The contenders of a work take turns, in this one process or in ones of their own, where that is fairer, after they have
shown that they do the same. Read the ratios, not the seconds: seconds wander by a factor of three between machines and
hours. A contender whose package is missing is left out; `make bench` installs all of them.
"""

import argparse
import sys
from pathlib import Path

from benchmarks.machine import cores

WORKS = {
    "training": "one update of a translator's weights, three sizes",
    "search": "greedy search and beam search",
    "bpe": "learning subwords, and encoding with them",
    "bleu": "scoring a corpus",
    "attention": "long sequences: time and memory",
}
FILE = Path(__file__).resolve().parents[1] / "book" / "results" / "benchmarks.json"
EXAMPLES = """\
examples:
  python -m benchmarks                           everything; writes book/results/benchmarks.json
  python -m benchmarks bleu bpe                  two works; writes nothing
  python -m benchmarks --quick                   tiny sizes: does everything work? The times mean nothing
  python -m benchmarks bpe --text corpus.txt     tokenizers on a text of yours

A quiet machine gives narrow spreads. On a busy one set OMP_WAIT_POLICY=PASSIVE, lest waiting threads take the cores
that others need; the results file says which policy there was.
"""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    works = "\n".join(f"  {name:10} {what}" for name, what in WORKS.items())
    found = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=f"{__doc__}\nworks:\n{works}",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    found.add_argument("works", nargs="*", metavar="WORK", help=f"{', '.join(WORKS)} (default: all)")
    found.add_argument("--rounds", type=int, default=7, help="how often each contender takes its turn (default: 7)")
    found.add_argument("--threads", type=int, default=min(2, cores()), help="for all who use several (default: 2)")
    found.add_argument("--quick", action="store_true", help="tiny sizes and two rounds")
    found.add_argument("--slow", action="store_true", help="measure contenders that take minutes, too")
    found.add_argument("--text", type=Path, help="a UTF-8 text of 10 MB for bpe, instead of Python's own sources")
    found.add_argument("--json", type=Path, metavar="FILE", help="where the results go")
    return found


def main(arguments: list[str] | None = None) -> int:
    """Read the command line and measure."""
    options = parser().parse_args(arguments)
    if unknown := set(options.works) - set(WORKS):
        parser().error(f"expected works among {', '.join(WORKS)}, got {', '.join(sorted(unknown))}")
    if options.rounds < 1 or options.threads < 1:
        parser().error(f"expected at least one round and one thread, got {options.rounds} and {options.threads}")
    if options.text and not options.text.is_file():
        parser().error(f"expected a text file after --text, got {options.text}: there is none")
    return run(options)


def run(options: argparse.Namespace) -> int:
    """Measure the chosen works, print each as soon as it is there, write the file of a full run."""
    from benchmarks import attention, bleu, bpe, report, search, training_step
    from benchmarks.timing import Settings, measure

    modules = {"training": training_step, "search": search, "bpe": bpe, "bleu": bleu, "attention": attention}
    rounds = min(options.rounds, 2) if options.quick else options.rounds
    settings = Settings(rounds, options.threads, options.quick, options.slow, options.text)
    measured = []
    for name in options.works or WORKS:
        for work in modules[name].works(settings):
            measured.append(measure(work, settings))
            print(report.text(measured[-1]), flush=True)
    whole = not (options.works or options.quick or options.text)
    if path := options.json or (FILE if whole else None):
        report.write(path, report.results(measured, settings))
        print(f"\nThe results are in {path}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
