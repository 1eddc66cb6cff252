"""What a stored output may hold: the same on every machine, seen by everyone."""

import platform
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from bs4 import BeautifulSoup, Tag
from bs4.element import CData, PreformattedString
from nbformat import NotebookNode

from tools.gates.parsing import html, parsed, read
from tools.template import HIDE_OUTPUT

LARGEST_OUTPUT, LARGEST_NOTEBOOK = 330_000, 2_000_000  # bytes

# Tags and comments by which a cell would escape the strict comparison.
ESCAPE_TAG = re.compile(r"^(nbval-.*|raises-exception|skip-execution)$")
ESCAPE_COMMENT = re.compile(r"^\s*#\s*(NBVAL_\w+|PYTEST_VALIDATE_IGNORE_OUTPUT)", re.MULTILINE)

MACHINE = {
    "a path of one machine": re.compile(
        r"(?<![\w.:/])/(home|root|tmp|Users|usr|opt|var|mnt|work|workspace|content|private)/\w|[A-Z]:\\\w|site-packages"
    ),
    "a host name or address": re.compile(r"\blocalhost\b|\b\d{1,3}(\.\d{1,3}){3}\b"),
    "an object's address in memory": re.compile(r"\b0x[0-9a-fA-F]{6,}\b"),
    "a time of day or a date": re.compile(r"\b\d\d:\d\d:\d\d\b|\[\d\d:\d\d<|\b20\d\d-\d\d-\d\d\b"),
    "a timing": re.compile(
        r"(?<![\w.])\d[\d.,]*\s?(ns|[µμ]s|us|ms|s|secs?|seconds?|mins?|minutes?|it/s|s/it)(?![\w/])|\bper second\b"
    ),
}
# How the text form of a figure begins that carries its alternative text.
SAID = ("Figure: ", "Explore: ", "Attention view: ", "Play: ")
# What tells too much where it stands in the first line of an output whose prediction is still open.
TELLS = re.compile(r"\btensor\(|\btorch\.Size|\b(?:True|False|passed|failed)\b|nan\b", re.IGNORECASE)
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?<!,)")
DRAWN = {"svg", "img", "canvas", "object", "embed"}
PICTURES = {"image/png", "image/jpeg", "image/gif", "image/svg+xml", "application/pdf"}


def texts(cell: NotebookNode) -> Iterator[str]:
    """What a reader reads in a cell's outputs: streams, text, and the words of HTML (no drawings, no scripts)."""
    for output in cell.get("outputs", []):
        if output.output_type == "stream":
            yield output.text
        for kind, data in output.get("data", {}).items():
            if kind == "text/html":
                yield _words_of(data)
            elif kind.startswith("text/"):
                yield str(data)


@lru_cache(maxsize=512)
def _words_of(text: str) -> str:
    return " ".join(_said(html(text)))


def _said(tag: Tag) -> Iterator[str]:
    """The texts of a piece of HTML, without those of its drawings and scripts."""
    for part in tag.children:
        if not isinstance(part, Tag):
            yield from () if isinstance(part, PreformattedString) and not isinstance(part, CData) else (part,)
        elif part.name not in {"svg", "script", "style"}:
            yield from _said(part)


def erroring_cells(path: Path) -> list[str]:
    """No cell has failed, and none may fail or change its output unseen."""
    found = []
    for cell in read(path).cells:
        where = f"{path.name}, cell {cell.id!r}"
        if cell.cell_type == "code":
            try:
                parsed(cell.source)
            except SyntaxError as error:
                found.append(f"{where}: not Python ({error.msg}, line {error.lineno}): is a heading in a code cell?")
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                found.append(
                    f"{where}: the stored output is an error ({output.ename}): mend the cell, then make notebooks"
                )
            if 'class="course-error"' in output.get("data", {}).get("text/html", ""):
                found.append(f"{where}: what is played stops with an error: mend the cell, then make notebooks")
            if output.output_type == "stream" and output.name == "stderr":
                found.append(f"{where}: a warning is stored ({output.text.strip()[:60]!r}): mend what causes it")
        escapes = [tag for tag in cell.metadata.get("tags", []) if ESCAPE_TAG.match(tag)]
        escapes += [match.group(1) for match in ESCAPE_COMMENT.finditer(cell.source)]
        if escapes:
            found.append(f"{where}: {escapes[0]!r} lets the cell escape the comparison: remove it")
    return found


def machine_traces(path: Path) -> list[str]:
    """No output tells of the machine it was made on, or of the time it took."""
    patterns = dict(MACHINE)
    if len(platform.node()) > 3:
        patterns["this machine's name"] = re.compile(rf"(?<!\w){re.escape(platform.node())}(?!\w)")
    found = []
    for cell in read(path).cells:
        seen = [*texts(cell)]
        for what, pattern in patterns.items():
            match = next(filter(None, map(pattern.search, seen)), None)
            if match:
                found.append(
                    f"{path.name}, cell {cell.id!r}: the output shows {what} ({match.group(0)!r}), "
                    "which differs from one run to the next: print something that does not"
                )
    return found


def answers_in_sight(path: Path) -> list[str]:
    """JupyterLab shows the first line of a folded output: it is a heading, and neither the answer nor markup."""
    found, cells = [], read(path).cells
    for number, cell in enumerate(cells):
        if HIDE_OUTPUT not in cell.metadata.get("tags", []) or not cell.outputs:
            continue
        first = _first_line(cell.outputs[0])
        asked = next((c.source for c in reversed(cells[:number]) if c.cell_type == "markdown"), "") + cell.source
        new = [each for each in NUMBER.findall(first) if each not in asked]
        told = TELLS.search(first) or re.match(r"\s*<", first)
        if new or told:
            found.append(
                f"{path.name}, cell {cell.id!r}: the folded output begins with {first.strip()[:60]!r}, which Jupyter "
                f"shows before the reader has predicted ({new[0] if new else told[0]!r}): print a heading first"
            )
    return found


def _first_line(output: NotebookNode) -> str:
    """What JupyterLab shows of a folded output: the first line that is not empty, of HTML before plain text."""
    data = output.get("data", {})
    text = output.get("text") or data.get("text/html") or data.get("text/plain", "")
    return next(filter(None, text.split("\n")), "")


def figures_without_words(path: Path) -> list[str]:
    """Every picture came through `show(fig, alt=…)` and its relatives: it has words for who cannot see it."""
    found = []
    for cell in read(path).cells:
        where = f"{path.name}, cell {cell.id!r}"
        for data in (output.get("data", {}) for output in cell.get("outputs", [])):
            bare = PICTURES & set(data) and not str(data.get("text/plain", "")).startswith(SAID)
            if bare or str(data.get("text/plain", "")).startswith("<Figure size"):
                found.append(f"{where}: a picture without alternative text: end the cell with show(figure, alt=…)")
            found += [f"{where}: {what}" for what in unnamed(html(data.get("text/html", "")))]
    return found


def unnamed(soup: BeautifulSoup) -> list[str]:
    """The drawings and images of a piece of HTML that a screen reader could not name; one with links is a group."""
    found = []
    for tag in (tag for tag in soup(True) if tag.name in DRAWN):
        if tag.name == "svg" and tag.find_parent("svg"):
            continue
        around = [tag, *tag.parents]
        hidden = tag.has_attr("hidden") or any(a.get("aria-hidden") == "true" for a in around)
        pictures = [a for a in around if a.get("role") == "img" or (a is tag and a.get("role") == "group")]
        named = any(str(a.get("aria-label", "")).strip() or a.get("aria-labelledby") for a in pictures)
        if tag.name == "img":
            link = tag.find_parent(["a", "button"])  # whose own words name what the image only decorates
            decorates = tag.get("alt") == "" and link and (link.get_text(strip=True) or link.get("aria-label"))
            named = named or bool(tag.get("alt", "").strip() or decorates)
        if tag.name == "svg":
            named = named or bool(tag.find("title", recursive=False))
        if not (named or hidden):
            found.append(f"a <{tag.name}> without alternative text: give it role='img' and an aria-label")
    return found


def too_heavy(path: Path) -> list[str]:
    """No output is too large for a page that should open at once, on a phone as well."""
    found = []
    if path.stat().st_size > LARGEST_NOTEBOOK:
        found.append(f"{path.name}: {path.stat().st_size:,} bytes, at most {LARGEST_NOTEBOOK:,}: draw or print less")
    for cell in read(path).cells:
        for output in cell.get("outputs", []):
            size = sum(len(str(data).encode()) for data in [*output.get("data", {}).values(), output.get("text", "")])
            if size > LARGEST_OUTPUT:
                found.append(
                    f"{path.name}, cell {cell.id!r}: an output of {size:,} bytes, at most {LARGEST_OUTPUT:,}: "
                    "fewer frames, or simpler drawings"
                )
    return found
