"""What is compared is the same wherever and whenever it is made: it depends on neither fonts nor clocks."""

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import matplotlib as mpl
from bs4 import BeautifulSoup
from fontTools.ttLib import TTFont
from nbformat import NotebookNode

from course_lib.figures.style import FONTS
from tools.gates.outputs import SAID
from tools.gates.parsing import calls, html, nodes, read, syntax_tree
from tools.nbval_plugin import SANITIZED, compared

# By these a cell would choose a font itself: as an argument, a name, a setting.
FONT_ARGUMENTS = {"family", "font", "fontfamily", "fontname", "fontproperties", "font_properties", "prop"}
FONT_NAMES = {"FontProperties", "font_manager", "set_family", "set_fontfamily", "set_fontname", "set_fontproperties"}
FONT_SETTING = re.compile(r"^(font\.|mathtext\.|svg\.fonttype|text\.usetex)")

SIZE = re.compile(r"(?<![\w-])(?:width|height):\s*[\d.]+(?:px|pt|in|cm)")

# What reads a clock: these wherever they stand, and those of the second line as attributes of a module or class.
METERS = {"perf_counter", "process_time", "thread_time", "monotonic", "default_timer", "timeit", "autorange"}
METERS |= {f"{name}_ns" for name in METERS} | {"blocked_autorange", "elapsed_time", "time_ns"}
TIMES = {("time", "time"), ("datetime", "now"), ("datetime", "today"), ("date", "today")}


def fonts(path: Path, shipped: Path = FONTS) -> list[str]:
    """Figures are written in the shipped fonts, which have every letter in them: no machine needs one of its own."""
    found = []
    for cell in read(path).cells:
        where = f"{path.name}, cell {cell.id!r}"
        chosen = next(_chosen_fonts(cell), None) if cell.cell_type == "code" else None
        if chosen:
            found.append(f"{where}: chooses a font ({chosen}), which another machine may lack: leave it to the style")
        missing = "".join(sorted(_drawn(cell) - _letters(shipped)))
        if missing:
            found.append(
                f"{where}: the figure holds {missing!r}, which the shipped fonts lack, so each machine draws it in "
                "its own way: write it otherwise, or cut the fonts anew (tools/fonts.py)"
            )
    return found


def sizes(path: Path, settings: Path = SANITIZED) -> list[str]:
    """No size of a picture is compared: it depends on the letters and numbers in the picture, on measured times too."""
    found = []
    for cell in read(path).cells:
        for data in (output.get("data", {}) for output in cell.get("outputs", [])):
            size = _size(compared(data.get("text/html", ""), settings))
            if size:
                found.append(
                    f"{path.name}, cell {cell.id!r}: a picture is compared with its size ({size}), which fonts and "
                    "measured times change: show it with show(figure, alt=…), whose size the comparison leaves out"
                )
    return found


def clocks(path: Path) -> list[str]:
    """Nothing that a clock measured is printed, or told in words: it may be drawn."""
    cells = [cell for cell in read(path).cells if cell.cell_type == "code"]
    trees, found = [syntax_tree(cell.source) for cell in cells], []
    measured = _measured(trees)
    for cell, tree in zip(cells, trees, strict=True):
        told = _told(cell, tree, measured)
        if told:
            found.append(
                f"{path.name}, cell {cell.id!r}: tells what a clock measured ({told}), which differs from one run to "
                "the next: draw it, with an alt that holds no times, or let an experiment measure and store it"
            )
    return found


def _chosen_fonts(cell: NotebookNode) -> Iterator[str]:
    for node in nodes(cell.source):
        match node:
            case ast.keyword(arg=str(name)) if name in FONT_ARGUMENTS:
                yield f"{name}=…"
            case ast.Attribute(attr=name) | ast.Name(id=name) | ast.alias(name=name) if name in FONT_NAMES:
                yield name
            case ast.Constant(value=str(text)) if FONT_SETTING.match(text):
                yield repr(text)


def _drawn(cell: NotebookNode) -> set[str]:
    """The letters in a cell's drawings: in their texts, and in the tokens of attention views."""
    found = set()
    for output in cell.get("outputs", []):
        for drawing in html(output.get("data", {}).get("text/html", ""))("svg"):
            data = json.loads(drawing.get("data-weights", "{}"))
            found.update(drawing.get_text(), *data.get("queries", []), *data.get("keys", []))
    return {letter for letter in found if not letter.isspace()}


@cache
def _letters(shipped: Path) -> set[str]:
    """Every letter of the fonts that figures are written in: matplotlib's own, and those that are shipped."""
    paths = [Path(mpl.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf", *shipped.glob("*-Regular.ttf")]
    return {chr(code) for path in paths for code in TTFont(path).getBestCmap()}


def _size(html: str) -> str | None:
    """The first size of a picture in a piece of HTML, as it is written there."""
    for tag in BeautifulSoup(html, "html.parser")(True):
        if tag.name in {"img", "svg", "canvas", "object", "embed"}:
            for name in ("width", "height", "viewbox"):
                if tag.has_attr(name):
                    return f'{name}="{tag[name]}"'
        if found := SIZE.search(tag.get("style", "")):
            return found[0]
    return None


def _measured(trees: list[ast.Module]) -> set[str]:
    """The notebook's names that hold what a clock measured, or functions that read one."""
    statements = [statement for tree in trees for statement in _statements(tree.body)]
    measured: set[str] = set()
    while True:
        new = {name for statement in statements for name in _names(statement, measured)} - measured
        if not new:
            return measured
        measured |= new


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run with a cell; not what stands inside of functions, whose names are their own."""
    for statement in body:
        yield statement
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for part in ("body", "orelse", "finalbody"):
                yield from _statements(getattr(statement, part, []))


def _names(statement: ast.stmt, measured: set[str]) -> Iterator[str]:
    """The names to which a statement gives something measured."""
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            if _reads(statement, measured):
                yield name
        case ast.ImportFrom(module="time" | "timeit", names=aliases):
            yield from (alias.asname or alias.name for alias in aliases if alias.name in METERS | {"time"})
        case ast.Assign(targets=targets, value=value) if _reads(value, measured):
            yield from (name for target in targets for name in _bases(target))
        case ast.AnnAssign(target=target, value=value) | ast.AugAssign(target=target, value=value):
            if value is not None and _reads(value, measured):
                yield from _bases(target)
        case ast.For(target=target, iter=value) if _reads(value, measured):
            yield from _bases(target)
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=holder))) if _reads(statement, measured):
            yield from _bases(holder)  # times.append(…)


def _bases(target: ast.expr) -> Iterator[str]:
    """The names that are bound or changed by an assignment to this target: `a` of `a`, of `a[0]`, of `(a.b, c)`."""
    match target:
        case ast.Name(id=name):
            yield name
        case ast.Subscript(value=inner) | ast.Attribute(value=inner) | ast.Starred(value=inner):
            yield from _bases(inner)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part in parts:
                yield from _bases(part)


def _reads(tree: ast.AST, measured: set[str]) -> str | None:
    """The first name in a piece of code that holds what a clock measured, or reads a clock."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) if name in measured:
                return name
            case ast.Attribute(attr=name) if name in METERS:
                return name
            case ast.Attribute(value=ast.Name(id=holder), attr=name) if (holder, name) in TIMES:
                return f"{holder}.{name}"
    return None


def _told(cell: NotebookNode, tree: ast.Module, measured: set[str]) -> str | None:
    """What of a clock a cell prints, ends in, or says of its figure."""
    pieces = [argument for call in calls(cell.source, "print", "display") for argument in call.args]
    last = tree.body[-1] if tree.body else None
    results = [output.data for output in cell.outputs if output.output_type == "execute_result"]
    if isinstance(last, ast.Expr) and results:
        figure = all(str(data.get("text/plain", "")).startswith(SAID) for data in results)
        words = [node.value for node in ast.walk(last) if isinstance(node, ast.keyword) and node.arg == "alt"]
        tells = not figure or any("\n" in str(data.get("text/plain", "")) for data in results)
        pieces += [last] if tells else words
    return next(filter(None, (_reads(piece, measured) for piece in pieces)), None)
