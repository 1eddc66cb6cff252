"""What a drawing of a chapter shows: words for controls, letters that a phone shows large enough, in the page's fonts,
one color a thing."""

import re
from collections.abc import Iterator
from pathlib import Path

from bs4 import BeautifulSoup, Tag

from tools.gates.parsing import html, read

PHONE, SMALLEST = 358, 10.5  # pixels: a drawing on a screen of 390, and its letters (11, less what a legend adds)
COLORS = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#999999"}  # of course_lib.figures.style
CODE = "Course Code, monospace"  # of course_lib.figures.symbols
SYMBOL = re.compile(r"[a-z]|(?!d_)\w*_\w*")  # `n`, `n_layers`; d_model is a term


def controls(path: Path) -> list[str]:
    """What a control of a figure changes is said in words."""
    found = []
    for cell, drawn in _html(path):
        for label in drawn.select(".course-controls label"):
            name = label.find(string=re.compile(r"\S")).strip()
            if SYMBOL.fullmatch(name):
                found.append(f"{path.name}, cell {cell!r}: a control is called {name!r}: name the choice in words")
    return found


def letters(path: Path) -> list[str]:
    """The text of a drawing is not smaller than 11 pixels where the screen is a phone's, which shows no broad one."""
    found = {}
    for cell, drawn in _html(path):
        for drawing in drawn.select("svg[viewbox]:has(text):not(.course-broad svg)"):
            wide = float(drawing["viewbox"].split()[2])
            shown = min(float(drawing.get("width", PHONE)), PHONE)
            for text in drawing("text"):
                size = float(_inherited(text, "font-size") or 16) * shown / wide
                if size < SMALLEST and text.get_text(strip=True):
                    found[cell] = f"{text.get_text(strip=True)[:30]!r} has {size:.1f} pixels on a phone"
    return [f"{path.name}, cell {cell!r}: {what}: write larger, or draw less wide" for cell, what in found.items()]


def one_color(path: Path) -> list[str]:
    """What has a name beside its curve or in a legend has one color throughout the chapter."""
    found: dict[str, dict[str, str]] = {}
    for cell, drawn in _html(path):
        for drawing in drawn.select("svg[role=img]"):
            before = None
            for part in drawing.select("path, use, rect, text"):
                if part.find_parent(["defs", "clipPath"]):
                    continue
                if part.name == "text" and before and _inherited(part, "text-anchor") in (None, "start"):
                    found.setdefault(part.get_text(strip=True), {}).setdefault(before, cell)
                ink = {_inherited(part, "stroke"), _inherited(part, "fill")} & COLORS
                before = min(ink, default=None) if part.name != "text" else None
    return [
        f"{path.name}: {name!r} is {', '.join(f'{color} in {cell!r}' for color, cell in its.items())}: "
        "give it one color, colors={…}"
        for name, its in found.items()
        if len(its) > 1 and not re.fullmatch(r"[\d.,−]*", name)
    ]


def typeface(path: Path) -> list[str]:
    """A drawing is written in the page's fonts: its text's, and for names of code its code's."""
    found = []
    for cell, drawn in _html(path):
        for text in drawn.select("svg text"):
            code = text.select(f'[font-family="{CODE}"], .code')
            written = text.get_text()
            if any(part not in code for part in [text, *text.select("tspan")] if _font(part)):
                found.append(f"{path.name}, cell {cell!r}: {written!r} has a font of its own: draw it by show")
            for name in code:
                written = written.replace(name.get_text(), "", 1)
            if re.search(r"\w_\w", written) and "|" not in written:
                found.append(f"{path.name}, cell {cell!r}: {written!r} shows an underscore: run the cell again")
    return found


def _font(part: Tag) -> bool:
    return part.has_attr("font-family") or "font" in part.get("style", "")


def _html(path: Path) -> Iterator[tuple[str, BeautifulSoup]]:
    for cell in read(path).cells:
        for output in cell.get("outputs", []):
            if "<svg" in (text := output.get("data", {}).get("text/html", "")) or "course-controls" in text:
                yield cell.id, html(text)


def _inherited(part: Tag, name: str) -> str | None:
    while part is not None and part.name != "svg":
        if part.get(name):
            return part[name].lower()
        part = part.parent
    return None
