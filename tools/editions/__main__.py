"""Make the book as one file: `python -m tools.editions pdf|epub|zip [--output FOLDER]`.

Pages that changed come first.
"""

import argparse
import sys
import time
from pathlib import Path

from tools import chromium
from tools.book import build, is_current
from tools.editions import epub, pdf, site
from tools.environment import ROOT

NAME = "transformer-course"
MAKERS = {"pdf": pdf.write, "epub": epub.write, "zip": site.write}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.editions", description=__doc__.split("\n")[0])
    parser.add_argument("kind", choices=["pdf", "epub", "zip"])
    parser.add_argument("--output", type=Path, default=ROOT, help="the folder that receives _build (default: here)")
    parser.add_argument("--built", action="store_true", help="take the pages as they were built before")
    options = parser.parse_args(arguments)
    start = time.perf_counter()
    folder = options.output.resolve() / "_build"
    target = folder / f"{NAME}{'-pages' * (options.kind == 'zip')}.{options.kind}"
    try:
        if options.kind == "pdf" and chromium.missing():
            raise RuntimeError(chromium.missing())
        pages = MAKERS[options.kind](built(folder, options.built), target)
    except RuntimeError as error:
        print(error, file=sys.stderr)
        stands = f" {target} is still the old one." if target.exists() else ""
        print(f"No {options.kind} was written.{stands}", file=sys.stderr)
        return 1
    size, seconds = target.stat().st_size / 1e6, time.perf_counter() - start
    print(f"{target} ({pages:,} pages, {size:.1f} MB, {seconds:.0f} s)")
    return 0


def built(folder: Path, as_they_are: bool) -> Path:
    """The folder of the book's pages, which are built unless nothing has changed, or they shall stay as they are."""
    html = folder / "html"
    if as_they_are and not (html / "index.html").exists():
        raise RuntimeError(f"expected {html / 'index.html'}, got no such file: leave out --built")
    if not as_they_are and is_current(output=folder.parent):
        print("The pages are taken as they stand: nothing has changed since they were built.", flush=True)
    elif not as_they_are:
        print("Building the pages first, which takes minutes: none stand here, or something has changed.", flush=True)
        _, complaint = build(output=folder.parent)
        if complaint:
            raise RuntimeError(complaint)
    return html


if __name__ == "__main__":
    sys.exit(main())
