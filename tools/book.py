"""Build the book from the stored outputs: `python -m tools.book [--output FOLDER]`. A warning is an error."""

import argparse
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tools import NO_GRAMMAR
from tools.bundle import bundle
from tools.environment import ROOT, environment
from tools.form import ANSI

# What pages are made of, besides the files that lie beside these folders; and where a build says what it was made of.
PARTS = ("book", "chapters", "course_lib", "course_practice", "tools")
MADE_OF = ".made-of"
# A build ends with the process that began it, whose end of a pipe closes even when it is killed. And what Sphinx would
# work out anew for each page is kept: the stem of a word, and what a pattern of file names means.
START = f"""
import functools, os, sys, threading
threading.Thread(target=lambda: (os.read(0, 1), os._exit(1)), daemon=True).start()
sys.modules["{NO_GRAMMAR}"] = None
from jupyter_book.cli.main import main
from sphinx.search.en import SearchEnglish
from sphinx.util import matching
SearchEnglish.stem = functools.cache(SearchEnglish.stem)
matching._translate_pattern = functools.cache(matching._translate_pattern)
main()
"""


def remove_remains(folder: Path) -> None:
    """Remove what killed builds left in the folder: a name says which process began it.

    Windows ends a process that is asked whether it runs: there, all remains stay.
    """
    for path in folder.glob("new-*") if os.name == "posix" else ():
        try:
            os.kill(int(path.name.split("-")[1]), 0)  # only asks whether it runs
        except PermissionError:  # it does, as somebody else's
            continue
        except (OSError, OverflowError, ValueError):
            shutil.rmtree(path, ignore_errors=True)


def made_of(source: Path = ROOT) -> str:
    """A digest of all that the pages are made of: the files of the course, Python, and the installed packages."""
    within = [path for part in PARTS for path in (source / part).rglob("*") if "__pycache__" not in path.parts]
    files = sorted(path for path in [*source.glob("*"), *within] if path.is_file())
    packages = sorted({path.name for folder in sys.path for path in Path(folder).glob("*.dist-info")})
    digest = hashlib.sha256(repr((sys.version, packages)).encode())
    for path in files:
        digest.update(path.relative_to(source).as_posix().encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def is_current(source: Path = ROOT, output: Path = ROOT) -> bool:
    """Whether the pages in `output`/_build/html are those that a build would make."""
    note = output / "_build" / "html" / MADE_OF
    return note.exists() and note.read_text(encoding="utf-8") == made_of(source)


def build(source: Path = ROOT, output: Path = ROOT) -> tuple[Path, str]:
    """Build `output`/_build/html from nothing; return its first page, and what went wrong ("" when nothing did).

    The pages are made in a folder beside it, which takes its place when it is whole: until then, and if something goes
    wrong, the old book can be read.
    """
    html = output / "_build" / "html"
    html.parent.mkdir(parents=True, exist_ok=True)
    remove_remains(html.parent)
    sources = made_of(source)  # as they are now: what changes during the build may be in no page
    made = tempfile.TemporaryDirectory(dir=html.parent, prefix=f"new-{os.getpid()}-")
    with tempfile.TemporaryDirectory() as home, made as beside:
        command = [sys.executable, "-c", START, "build", str(source), "--path-output", beside]
        command += ["--all", "--warningiserror", "--keep-going", "--quiet"]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        reads, writes = os.pipe()
        try:
            done = subprocess.run(command, cwd=source, env=environment(home), stdin=reads, **streams)
        finally:
            os.close(reads), os.close(writes)
        new = Path(beside, "_build", "html")
        failed = done.returncode != 0 or not (new / "index.html").exists()
        if source == ROOT and not failed:
            bundle(new / "_downloads")  # where the pages lead whoever wants to run them
        if not failed:
            (new / MADE_OF).write_text(sources, encoding="utf-8")
            if html.exists():
                html.rename(Path(beside, "old"))  # a page that no longer exists does not survive
            new.rename(html)
    return html / "index.html", ANSI.sub("", done.stdout) or "the build ended without a page" if failed else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output", type=Path, default=ROOT, help="the folder that receives _build (default: here)")
    output = parser.parse_args().output.resolve()

    def stop(number: int, frame: object) -> None:
        raise KeyboardInterrupt(number)

    for number in (signal.SIGINT, signal.SIGTERM):  # both end the build, and remove what it began
        signal.signal(number, stop)
    start = time.perf_counter()
    try:
        page, complaint = build(output=output)
    except KeyboardInterrupt as stopped:
        print("The build was stopped: an earlier book stands as it was.", file=sys.stderr)
        return 128 + stopped.args[0]
    if complaint:
        print(complaint, file=sys.stderr)
        print("The book was not built cleanly: every warning above is an error. The old one stands.", file=sys.stderr)
        return 1
    print(f"The book is built ({time.perf_counter() - start:.0f} s). Open {page.as_uri()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
