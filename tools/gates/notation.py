"""Symbols of formulas and names of code are those of book/notation.md, and each has one meaning."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tools.environment import ROOT
from tools.gates.parsing import read

PAGE = ROOT / "book" / "notation.md"
LOCAL, NAMES = "Letters of one chapter", "Names"  # sections with a meaning of their own
FORMULA = re.compile(r"\$\$(.+?)\$\$|(?<![\\$])\$([^$\n]+(?:\n[^$\n]+)*?)\$", re.DOTALL)
TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[A-Za-z]|[{}^_']|\d+(?:\.\d+)?|\S")

# Commands that build a formula and name nothing. Every other command is a symbol.
STRUCTURE = {
    *(r"\frac", r"\tfrac", r"\dfrac", r"\sqrt", r"\sum", r"\prod", r"\int", r"\partial", r"\nabla", r"\infty", r"\pi"),
    *(r"\top", r"\cdot", r"\times", r"\odot", r"\oplus", r"\pm", r"\circ", r"\dots", r"\ldots", r"\cdots", r"\vdots"),
    *(r"\le", r"\leq", r"\ge", r"\geq", r"\ne", r"\neq", r"\ll", r"\gg", r"\approx", r"\equiv", r"\sim", r"\propto"),
    *(r"\to", r"\mapsto", r"\in", r"\notin", r"\subset", r"\forall", r"\exists", r"\mid", r"\mathbb", r"\lim", r"\det"),
    *(r"\ln", r"\log", r"\exp", r"\sin", r"\cos", r"\tanh", r"\max", r"\min", r"\arg", r"\left", r"\right", r"\big"),
    *(
        r"\bigl",
        r"\bigr",
        r"\Big",
        r"\Bigl",
        r"\Bigr",
        r"\lVert",
        r"\rVert",
        r"\Vert",
        r"\lvert",
        r"\rvert",
        r"\lfloor",
    ),
    *(r"\rfloor", r"\lceil", r"\rceil", r"\langle", r"\rangle", r"\quad", r"\qquad", r"\limits", r"\displaystyle"),
    *(r"\bar", r"\hat", r"\tilde", r"\overline", r"\underbrace", r"\overbrace", r"\Rightarrow", r"\rightarrow"),
}
WORDS = {r"\text", r"\textbf", r"\mbox"}  # plain words, which need no entry
NAMED = {r"\mathrm", r"\operatorname", r"\mathit"}  # a name of several letters: one symbol


def symbols(formula: str, known: frozenset[str] = frozenset()) -> Iterator[str]:
    """The symbols of a formula, each in one spelling; a script that `known` does not join to its letter is one more.

    >>> list(symbols(r"w_j = \\frac{e^{s_j}}{d_k}", frozenset({"d_k"})))
    ['w', 'j', 'e', 's', 'j', 'd_k']
    >>> list(symbols(r"\\mathrm{softmax}(W_i^Q x') + \\text{plain words}", frozenset({"W^Q"})))
    ['softmax', 'W^Q', 'i', 'x']
    """
    yield from _symbols(TOKEN.findall(formula), known)


def _symbols(tokens: list[str], known: frozenset[str]) -> Iterator[str]:
    position = 0
    while position < len(tokens):
        token = tokens[position]
        position += 1
        if token in {r"\begin", r"\end"} | WORDS:
            _, position = _group(tokens, position)
            continue
        if token in NAMED:
            group, position = _group(tokens, position)
            base = "".join(group)
        elif re.fullmatch(r"[A-Za-z]|\\[A-Za-z]+", token) and token not in STRUCTURE:
            base = token
        else:
            continue
        scripts: dict[str, list[str]] = {}
        while position < len(tokens) and tokens[position] in {"_", "^", "'"}:
            kind = tokens[position]
            position += 1
            if kind != "'":
                scripts[kind], position = _group(tokens, position)
        yield from _with_scripts(base, scripts, known)


def _with_scripts(base: str, scripts: dict[str, list[str]], known: frozenset[str]) -> Iterator[str]:
    """The longest known name that the letter and its scripts make, then what the other scripts hold."""
    plain = {kind: "".join(t for t in group if t not in NAMED | {"{", "}", r"\top"}) for kind, group in scripts.items()}
    for joined in ("_^", "^", "_"):
        name = base + "".join(kind + plain[kind] for kind in joined if kind in scripts)
        if set(joined) <= scripts.keys() and name in known:
            yield name
            break
    else:
        joined = ""
        yield base
    for kind, group in scripts.items():
        if kind not in joined:
            yield from _symbols(group, known)


def _group(tokens: list[str], position: int) -> tuple[list[str], int]:
    """The next token, or what the next braces hold, and where the rest begins."""
    if position < len(tokens) and tokens[position] in NAMED | WORDS:
        group, end = _group(tokens, position + 1)
        return [tokens[position], "{", *group, "}"], end
    if position >= len(tokens) or tokens[position] != "{":
        return tokens[position : position + 1], position + 1
    depth = 0
    for end in range(position, len(tokens)):
        depth += {"{": 1, "}": -1}.get(tokens[end], 0)
        if depth == 0:
            return tokens[position + 1 : end], end + 1
    return tokens[position + 1 :], len(tokens)


def rows(page: Path = PAGE) -> Iterator[tuple[str, list[str]]]:
    """The rows of the page's tables, each with the heading that it stands under."""
    heading = ""
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
        elif line.startswith("| ") and not line.startswith(("| Symbol", "| Code", "| Here", "| Word")):
            yield heading, [cell.strip() for cell in line.strip("|").split("|")]


def spelled(symbol: str) -> str:
    r"""A symbol of the first column as `symbols` names it.

    >>> spelled(r"d_{\mathrm{model}}"), spelled("W^Q"), spelled(r"\mathrm{softmax}")
    ('d_model', 'W^Q', 'softmax')
    """
    return re.sub(r"\\mathrm|[{}]", "", symbol)


@cache
def table(page: Path = PAGE) -> dict[str, list[str]]:
    """The symbols of the page, and for each the chapters in which it may stand: an empty list means all of them."""
    found: dict[str, list[str]] = {}
    for heading, cells in rows(page):
        chapters = re.findall(r"\{chapter\}`(\w+)`", cells[-1]) if heading == LOCAL else []
        for symbol in re.findall(r"\$([^$]+)\$", cells[0]):
            if spelled(symbol) in found:
                raise ValueError(f"{page.name}: expected one meaning of ${symbol}$, got two: rename one of them")
            found[spelled(symbol)] = chapters
    return found


def unknown_symbols(path: Path, page: Path = PAGE) -> list[str]:
    """Every symbol of a chapter's formulas stands in the table of the notation, and its letters are this chapter's."""
    meanings = table(page)
    found = []
    for cell in read(path).cells:
        if cell.cell_type != "markdown":
            continue
        for match in FORMULA.finditer(re.sub(r"`[^`]*`", "", cell.source)):
            formula = match[1] or match[2]
            for symbol in dict.fromkeys(symbols(formula, frozenset(meanings))):
                where = f"{path.name}, cell {cell.id!r}: ${symbol}$ in ${' '.join(formula.split())}$"
                if symbol not in meanings:
                    found.append(f"{where} is not in {page.name}: use a symbol of its tables, or add this one")
                elif meanings[symbol] and path.stem not in meanings[symbol]:
                    found.append(
                        f"{where} belongs to {', '.join(meanings[symbol])}: use another letter, or add this one"
                    )
    return found


def names_elsewhere(page: Path = PAGE) -> dict[str, str]:
    """Names of other libraries, each with the names of this course for it."""
    pairs = [cells for heading, cells in rows(page) if heading == NAMES]
    return {other: here for here, elsewhere in pairs for other in re.findall(r"`(\w+)`", elsewhere)}
