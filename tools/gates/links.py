"""Links of notebooks and markdown files lead to files and headings that exist, and the public address is one."""

import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote

import nbformat

from tools.gates.parsing import Part, anchor, markdown_parts, parts, read

# What only a published course has: pip finds it, Colab opens it, Pages shows it. Chapters cite pages of others.
OWN = re.compile(
    r"git\+https?://[\w./-]+|colab\.research\.google\.com/github/[\w./-]+|(?<![\w-])[\w-]+\.github\.io/[\w-]+"
)
SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*:|^//", re.IGNORECASE)


def contents(path: Path) -> list[Part]:
    """The parts of a notebook or a markdown file."""
    if path.suffix == ".ipynb":
        return list(parts(read(path)))
    return list(markdown_parts(path.read_text(encoding="utf-8"), nbformat.v4.new_markdown_cell(id="text")))


def anchors(path: Path) -> set[str]:
    """The anchors one may link to in a file: its headings, and the labels `(name)=` of the book's own pages."""
    return _anchors(path, path.read_bytes())


@lru_cache(maxsize=256)
def _anchors(path: Path, content: bytes) -> set[str]:
    headings = {anchor(part.text) for part in contents(path) if re.fullmatch(r"h\d", part.kind)}
    if path.suffix != ".md":
        return headings
    text = path.read_text(encoding="utf-8")
    labels = re.findall(r"^\(([\w-]+)\)=\s*$", text, re.MULTILINE) + re.findall(r"\bid=[\"']([\w-]+)", text)
    return headings | set(labels)


def dead_links(path: Path) -> list[str]:
    """Every link to a file of the repository leads to it, and to a heading that it has; every image has words."""
    found = []
    for part in contents(path):
        where = f"{path.name}, cell {part.cell.id!r}" if path.suffix == ".ipynb" else path.name
        if part.kind == "image" and not part.alt.strip():
            found.append(f"{where}: the image {part.text!r} has no alternative text: write it between the brackets")
        if part.kind == "image" and SCHEME.match(part.text):
            found.append(f"{where}: the image {part.text!r} comes from another host: keep a copy in book/_static")
        if part.kind not in {"link", "image"} or SCHEME.match(part.text):
            continue
        name, _, fragment = unquote(part.text).partition("#")
        target = (path.parent / name).resolve() if name else path
        if not target.exists():
            found.append(f"{where}: the link {part.text!r} leads nowhere: mend it, or add the file")
        elif fragment and target.suffix in {".md", ".ipynb"} and fragment not in anchors(target):
            found.append(f"{where}: {target.name} has no heading for '#{fragment}': mend the link")
    return found


def one_address(paths: Iterable[Path], url: str) -> list[str]:
    """Whoever names the course's repository or its pages names the address of _config.yml; without one, nobody does."""
    if not url:
        return [
            f"{path.name} names {place}, but the course has no address: run make address URL=none"
            for path in paths
            for place in sorted(set(OWN.findall(path.read_text(encoding="utf-8"))))
            if not (path.suffix == ".ipynb" and ".github.io/" in place)
        ]
    repository = url.removeprefix("https://github.com/")
    owner, name = repository.split("/")
    found = []
    for path in paths:
        text = path.read_text(encoding="utf-8")
        places = re.findall(r"github\.com/([\w.-]+/[\w-]+)", text) + re.findall(r"com/github/([\w.-]+/[\w-]+)", text)
        wrong = {place for place in places if place.split("/")[1] == name and place != repository}
        pages = re.findall(rf"(?<![\w-])([\w-]+\.github\.io/{re.escape(name)})\b", text)
        wrong |= {page for page in pages if page != f"{owner.lower()}.github.io/{name}"}
        found += [
            f"{path.name} names {place}, but the address is {url}: run make address URL={url}"
            for place in sorted(wrong)
        ]
    return found
