"""Sphinx extension: what a page makes of a notebook's cells.

* `hide-input` and `hide-output` fold the code or what it prints, as every other fold of the book is folded. The code
  that only asks a question or shows a solution is left out. Code that only defines something is as wide as other code
  and says what it defines; code of a drawing or of a result is one small word.
* An aside is one fold: its summary shows the question and the answer, the first paragraph.
* The code of a solution has the colors of all other code.
* Nothing can be run in a page: where an exercise waits for an answer, a line says where it can be solved, and
  `{bundle}` leads to all notebooks with their library.
"""

import re
from collections import Counter
from functools import lru_cache
from html import escape, unescape
from pathlib import Path

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxRole

PARTS = {"cell_code_source": "input", "cell_code_output": "output"}
ASKS = ("quiz(", "warm_up(", "show_solution(")
HOW = "book/how_to_use"
ASIDE = "Aside: "
DEFINED = re.compile(r"^(?:def|class) (\w+)", re.MULTILINE)
BUNDLE = "_downloads/transformer-course.zip"  # tools/book.py puts it there


class FoldCells(SphinxPostTransform):
    """Fold what the tags of a cell ask for, before MyST-NB does it in its own way."""

    default_priority = 198
    formats = ("html",)

    def run(self, **kwargs: object) -> None:
        codes = Counter()
        for cell in list(self.document.findall(nodes.container)):
            mode = cell.get("hide_mode") if cell.get("nb_element") == "cell_code" else None
            for part in list(cell.children) if mode else ():
                which = PARTS.get(part.get("nb_element"))
                if which == "input" and which in mode and part.astext().startswith(ASKS):
                    cell.remove(part)
                elif which and which in mode:
                    defined = _defined(cell, self.env.srcdir) if which == "input" else ""
                    words = defined or (_code(cell, codes) if which == "input" else _output(cell))
                    kind = f"{which} course-fold-definition" if defined else which
                    opening = f'<details class="course-fold course-fold-{kind}"><summary>{words}</summary>'
                    cell.replace(part, [_html(opening), part, _html("</details>")])
            if mode:
                cell["hide_mode"] = None


class FoldAsides(SphinxPostTransform):
    """Fold the section `Aside: …?` after its answer."""

    default_priority = 198
    formats = ("html",)

    def run(self, **kwargs: object) -> None:
        for section in list(self.document.findall(nodes.section)):
            title, *rest = section.children
            if title.astext().startswith(ASIDE):
                first = next((part for part in rest if not isinstance(part, nodes.target)), None)
                answer = [first] if isinstance(first, nodes.paragraph) else []
                for link in [link for part in answer for link in part.findall(nodes.reference)]:
                    link.parent.replace(link, link.children)  # a button holds no links
                evidence = [part for part in rest if part not in answer]
                opening, closing = _html('<details class="course-fold course-aside"><summary>'), _html("</summary>")
                shown = [nodes.inline("", "", *part.children, classes=["course-answer"]) for part in answer]
                section.children = []
                section += [opening, title, *shown, closing, *evidence, _html("</details>")]


def _output(cell: nodes.container) -> str:
    which = cell.get("which")  # where a prediction has several
    what = f"output{which}" if which else "the output"
    return f'<span class="course-closed">Show</span><span class="course-open">Hide</span> {what}'


def _defined(cell: nodes.container, root: str) -> str:
    """What a cell that only defines something is called: by its names, whose they are, and how long it is."""
    code = cell[0].astext() if len(cell) == 1 else ""
    names = [name for name in DEFINED.findall(code) if not name.startswith("_")]
    if not names:
        return ""
    whose = "The library’s" if set(names) <= library_names(root) else "Code of"
    written = ", ".join(f"<code>{name}</code>" for name in names)
    return f'{whose} {written}<span class="course-lines">{len(code.splitlines())} lines</span>'


@lru_cache(maxsize=1)
def library_names(root: str) -> frozenset[str]:
    """Every function and class that a module of the library defines at its top."""
    modules = (Path(root) / "course_lib").rglob("*.py")
    return frozenset(name for module in modules for name in DEFINED.findall(module.read_text(encoding="utf-8")))


def _code(cell: nodes.container, codes: Counter) -> str:
    """One word to see, as a page has thirty of them; who hears it hears which it is."""
    section = cell.parent
    while not isinstance(section, nodes.section):
        section = section.parent
    codes[title := section.next_node(nodes.title).astext()] += 1
    code = cell[0].astext() if len(cell) == 1 else ""
    what = ": imports" if code.startswith(("import ", "from ")) else ""
    return f'Code{what}<span class="visually-hidden"> {codes[title]} of “{escape(title)}”</span>'


class ColorSolutions(SphinxPostTransform):
    """Mark the words of a solution's code as Sphinx marks those of a cell."""

    default_priority = 198
    formats = ("html",)

    def run(self, **kwargs: object) -> None:
        for node in list(self.document.findall(nodes.raw)):
            if 'class="course-solution"' in node.astext():
                node.replace_self(_html(re.sub(r"<code>([^<]*)</code></pre>", _colored, node.astext())))


class WhereToSolve(SphinxPostTransform):
    """Put that line in the place of a check's "not attempted yet"."""

    default_priority = 198
    formats = ("html",)

    def run(self, **kwargs: object) -> None:
        for node in list(self.document.findall(nodes.raw)):
            if 'class="course-result"' in node.astext() and "not attempted" in node.astext():
                node.replace_self(_html(f'<p class="course-solve">{self._line()}</p>'))

    def _line(self) -> str:
        page = self.env.docname
        root = "../" * page.count("/")
        links = [
            f"Solve it in a notebook: download {_link(f'{root}_sources/{page}.ipynb', 'this one')} or "
            f"{_link(root + BUNDLE, 'all of them, with the library')}",
            _link(f"{self.app.builder.get_relative_uri(page, HOW)}#run-it-on-your-machine", "how to run them"),
        ]
        options = self.config.html_theme_options
        if options.get("repository_url") and options.get("launch_buttons", {}).get("colab_url"):
            repository = options["repository_url"].removeprefix("https://github.com/")
            where = f"{repository}/blob/{options.get('repository_branch') or 'main'}/{page}.ipynb"
            links.append(_link(f"{options['launch_buttons']['colab_url']}/github/{where}", "open it in Colab"))
        return " · ".join(links)


class Bundle(SphinxRole):
    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        address = "../" * self.env.docname.count("/") + BUNDLE
        return [nodes.reference("", self.text, refuri=address, internal=True)], []


def _colored(code: re.Match) -> str:
    words = highlight(unescape(code[1]), PythonLexer(stripnl=False), HtmlFormatter(nowrap=True)).rstrip("\n")
    return f'<code class="highlight">{words}</code></pre>'


def _link(address: str, words: str) -> str:
    return f'<a href="{escape(address)}">{words}</a>'


def _html(text: str) -> nodes.raw:
    return nodes.raw("", text, format="html")


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_post_transform(FoldCells)
    app.add_post_transform(FoldAsides)
    app.add_post_transform(ColorSolutions)
    app.add_post_transform(WhereToSolve)
    app.add_role("bundle", Bundle())
    return {"parallel_read_safe": True, "parallel_write_safe": True}
