"""Reading notebooks and markdown for the gates.

Gates look, and change nothing: what one of them has read, parsed, or rendered, the next one finds.
"""

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import nbformat
from bs4 import BeautifulSoup
from IPython.core.inputtransformer2 import TransformerManager
from markdown_it import MarkdownIt
from markdown_it.token import Token
from nbformat import NotebookNode

from tools.template import ASIDE

FORMULA = re.compile(r"\$\$.*?\$\$|\$[^$\n]+\$", re.DOTALL)
MARKDOWN = MarkdownIt("commonmark").enable("table")


class Part(NamedTuple):
    """One thing a reader meets, from top to bottom: a heading, a list item, a link, an image, or a code cell."""

    kind: str  # "h1" … "h6", "item", "link", "image", "code"
    text: str  # a heading's words, a link's or image's target, a cell's source
    cell: NotebookNode
    alt: str = ""


def read(path: Path) -> NotebookNode:
    """A notebook to look at. Whoever changes one reads it with `tools.form`."""
    return _notebook(path.read_bytes())


@lru_cache(maxsize=32)
def _notebook(content: bytes) -> NotebookNode:
    return nbformat.reads(content.decode("utf-8"), as_version=4)


@lru_cache(maxsize=128)
def html(text: str) -> BeautifulSoup:
    """The HTML of an output, to look at."""
    return BeautifulSoup(text, "html.parser")


@lru_cache(maxsize=4096)
def markdown(source: str) -> list[Token]:
    """The tokens of a markdown text, to look at."""
    return MARKDOWN.parse(source)


def syntax_tree(source: str) -> ast.Module:
    """The syntax tree of a code cell; `%magics` become the calls they stand for. Empty where the code is not Python."""
    try:
        return parsed(source)
    except SyntaxError:
        return ast.Module(body=[], type_ignores=[])


@lru_cache(maxsize=2048)
def parsed(source: str) -> ast.Module:
    """The syntax tree of a code cell, to look at, or SyntaxError."""
    return ast.parse(TransformerManager().transform_cell(source))


@lru_cache(maxsize=2048)
def nodes(source: str) -> tuple[ast.AST, ...]:
    """All of a cell's syntax tree, outer before inner."""
    return tuple(ast.walk(syntax_tree(source)))


def calls(source: str, *names: str) -> list[ast.Call]:
    """Every call of one of these functions in a cell, in order."""
    return [node for node in _named_calls(source) if node.func.id in names]


@lru_cache(maxsize=2048)
def _named_calls(source: str) -> tuple[ast.Call, ...]:
    found = (node for node in nodes(source) if isinstance(node, ast.Call))
    return tuple(node for node in found if isinstance(node.func, ast.Name))


def strings(call: ast.Call) -> list[str]:
    """The plain strings among a call's positional arguments."""
    return [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]


def parts(nb: NotebookNode) -> Iterator[Part]:
    """The notebook as the parts that gates look at."""
    for cell in nb.cells:
        if cell.cell_type == "code":
            yield Part("code", cell.source, cell)
        elif cell.cell_type == "markdown":
            yield from markdown_parts(cell.source, cell)


def markdown_parts(source: str, cell: NotebookNode | None = None) -> Iterator[Part]:
    """Headings, list items, links and images of a markdown text."""
    tokens = markdown(source)
    for position, token in enumerate(tokens):
        if token.type == "heading_open":
            yield Part(token.tag, plain(tokens[position + 1]), cell)
        elif token.type == "list_item_open":
            yield Part("item", "", cell)
        for child in token.children or []:
            if child.type == "link_open":
                yield Part("link", child.attrs["href"], cell)
            elif child.type == "image":
                yield Part("image", child.attrs["src"], cell, alt=child.content)
        if token.type in {"html_block", "inline"}:
            raw = token.content if token.type == "html_block" else "".join(_html_of(token))
            for target in re.findall(r"<a\s[^>]*href=[\"']([^\"']+)", raw):
                yield Part("link", target, cell)
            for tag in re.findall(r"<img\s[^>]*>", raw):
                target, alt = (re.search(rf"\b{name}=[\"']([^\"']*)", tag) for name in ("src", "alt"))
                yield Part("image", target.group(1) if target else "", cell, alt=alt.group(1) if alt else "")


class Placed(NamedTuple):
    """A cell and where it is: its section, its heading of the third level ("" above the first), in an aside or not."""

    cell: NotebookNode
    section: str
    heading: str

    @property
    def aside(self) -> bool:
        return self.heading.startswith(ASIDE)


def placed(nb: NotebookNode) -> Iterator[Placed]:
    """Every cell with the headings that it is under; its own first heading counts."""
    section = heading = ""
    for cell in nb.cells:
        own = []
        if cell.cell_type == "markdown":
            own = [part for part in markdown_parts(cell.source) if part.kind in {"h1", "h2", "h3"}]
        for number, part in enumerate(own):
            section, heading = (section, part.text) if part.kind == "h3" else (part.text, "")
            if number == 0:
                yield Placed(cell, section, heading)
        if not own:
            yield Placed(cell, section, heading)


def words(source: str) -> int:
    """How many words of prose a markdown text has. A formula counts as one word, a block of code as none.

    >>> words("The **score** is $q k^T$, [see](a.md):\\n\\n```python\\nx = 1\\n```")
    5
    """
    count = 0
    for token in markdown(FORMULA.sub("formula", source)):
        text = re.sub(r"<[^>]*>", " ", token.content) if token.type == "html_block" else ""
        if token.type == "inline":
            text = "".join(
                " " if c.type.endswith("break") else c.content for c in token.children if c.type != "html_inline"
            )
        count += sum(any(map(str.isalnum, word)) for word in text.split())
    return count


def tags(cell: NotebookNode) -> list[str]:
    """The tags of a cell."""
    return cell.metadata.get("tags", [])


def _html_of(token: Token) -> Iterator[str]:
    return (child.content for child in token.children or [] if child.type == "html_inline")


def plain(token: Token) -> str:
    """The words of an inline token, without emphasis and link targets."""
    return "".join(child.content for child in token.children or [] if child.type in {"text", "code_inline"})


def anchor(heading: str) -> str:
    """The anchor that GitHub, Jupyter Book and most viewers give to a heading.

    >>> anchor("Pitfalls, measured")
    'pitfalls-measured'
    """
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
