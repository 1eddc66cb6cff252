"""The gates of the library and of the built book close: broken trees are refused, whole ones pass."""

from pathlib import Path

import pytest

from tools.gates import imports, links, pages

FLOORS = {"tokens": 0, "masks": 1, "model": 2, "figures": 3}
WHOLE = {
    "__init__.py": "__version__ = ''\n",
    "tokens.py": '"""Ids."""\n',
    "masks.py": 'from course_lib.tokens import PAD\n\n\ndef hide(x):\n    """Hide x.\n\n    >>> hide(1)\n    """\n',
    "model.py": "import course_lib.masks\nfrom course_lib import __version__, tokens\n",
    "figures/__init__.py": "from course_lib.figures.draw import line\n",
    "figures/draw.py": "import math\n",
}
BROKEN = [
    (imports.downward, {"masks.py": "from course_lib.model import Model\n"}, "imports model, from floor 1 up to 2"),
    (imports.downward, {"masks.py": "def f():\n    import course_lib.model\n"}, "imports model, from floor 1 up to 2"),
    (imports.downward, {"masks.py": "from course_lib import model\n"}, "imports model, from floor 1 up to 2"),
    (
        imports.downward,
        {"figures/draw.py": "from course_lib.tokens import PAD\n"},
        "figures knows arrays and strings only",
    ),
    (imports.downward, {"model.py": "from course_practice import check\n"}, "practice stands on the library"),
    (imports.downward, {"masks.py": "from .tokens import PAD\n"}, "write the module's whole name"),
    (imports.downward, {"news.py": ""}, "course_lib.news stands on no floor"),
    (imports.downward, {"masks.py": "import course_lib.nothing\n"}, "imports nothing, which stands on no floor"),
    (imports.circles, {"tokens.py": "import course_lib.masks\n"}, "in a circle: masks → tokens → masks"),
    (imports.circles, {"tokens.py": "import course_lib.model\n", "masks.py": ""}, "model → tokens → model"),
]


def tree(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def complaints(gate, root: Path) -> list[str]:
    return gate(root, FLOORS) if gate is imports.downward else gate(root)


@pytest.mark.parametrize("gate", [imports.downward, imports.circles])
def test_library_in_order_passes(gate, tmp_path):
    assert complaints(gate, tree(tmp_path / "course_lib", WHOLE)) == []


@pytest.mark.parametrize(("gate", "change", "words"), BROKEN)
def test_library_out_of_order_is_refused(gate, change, words, tmp_path):
    found = complaints(gate, tree(tmp_path / "course_lib", WHOLE | change))
    assert any(words in complaint for complaint in found), found


PRACTICE = {
    "engine/checking.py": "from course_practice.engine.run import Limit\n",
    "engine/run.py": "from course_practice.markup import inline_html\n",
    "suggest/__init__.py": "from course_practice.engine import checking\n",
    "markup.py": "",
}


def test_the_lowest_packages_of_practice_import_nothing_from_above(tmp_path):
    root = tree(tmp_path / "course_practice", PRACTICE)
    assert imports.handed_in(root) + imports.circles_of_files(root) == []
    tree(root, {"engine/run.py": "def f():\n    from course_practice.suggest import nearest_repair\n"})
    assert imports.handed_in(root) == ["course_practice/engine/run.py imports suggest: hand it in"]
    tree(root, {"engine/run.py": "from course_practice.engine import checking\n"})
    (found,) = imports.circles_of_files(root)
    assert "in a circle: engine.checking → engine.run → engine.checking" in found


def test_undocumented_definition_is_refused(tmp_path):
    root = tree(
        tmp_path, {"masks.py": WHOLE["masks.py"], "bare.py": "def f(): ...\n", "dry.py": 'def f():\n    """F."""\n'}
    )
    assert imports.documented(root / "masks.py") == []
    assert "'f' has no docstring" in imports.documented(root / "bare.py")[0]
    assert "'f' shows no example" in imports.documented(root / "dry.py")[0]
    assert imports.documented(root / "dry.py", examples=False) == []


PAGE = """<html lang="en"><head><title>{title}</title><link rel="canonical" href="https://example.org/{title}">
<link rel="stylesheet" href="style.css"></head><body><h1 id="top-of-{title}">{title}</h1>
<a href="https://example.org">away</a> <a href="b.html#top-of-b">b</a> <a href="#top-of-{title}">here</a>
<img src="_images/a.svg" alt="A circle"> <svg role="img" aria-label="A line"><svg></svg></svg>
<svg aria-hidden="true"></svg><a href="b.html"><img src="_images/a.svg" alt=""> b</a>
<script>var home = "https://example.org"; // a text, loads nothing
</script></body></html>"""
BOOK = {
    "index.html": PAGE.format(title="a"),
    "b.html": PAGE.format(title="b"),
    "_images/a.svg": "<svg/>",
    "style.css": "body { background: url(a.svg) }",
}
LOADS = "loads https://cdn.example.org/x"
BROKEN_BOOK = [
    (pages.outside_resources, '<script src="https://cdn.example.org/x"></script>', f"<script> {LOADS}"),
    (pages.outside_resources, '<script src="//cdn.example.org/x"></script>', "<script> loads //cdn.example.org/x"),
    (pages.outside_resources, '<link rel="stylesheet" href="https://cdn.example.org/x">', f"<link> {LOADS}"),
    (pages.outside_resources, '<link rel="preload" href="https://cdn.example.org/x">', f"<link> {LOADS}"),
    (pages.outside_resources, '<img alt="" src="https://cdn.example.org/x">', f"<img> {LOADS}"),
    (pages.outside_resources, '<img alt="" srcset="a.png 1x, https://cdn.example.org/x 2x">', f"<img> {LOADS}"),
    (pages.outside_resources, '<iframe src="https://cdn.example.org/x"></iframe>', f"<iframe> {LOADS}"),
    (pages.outside_resources, '<p style="background: url(https://cdn.example.org/x)">', f"a style attribute {LOADS}"),
    (pages.outside_resources, '<style>@import "https://cdn.example.org/x";</style>', f"<style> {LOADS}"),
    (pages.outside_resources, '<script>fetch("https://cdn.example.org/x")</script>', f"a script {LOADS}"),
    (pages.outside_resources, '<script>s.src = "https://cdn.example.org/x"</script>', f"a script {LOADS}"),
    (pages.outside_resources, '<script>import("https://cdn.example.org/x")</script>', f"a script {LOADS}"),
    (pages.dead_links, '<a href="c.html">c</a>', "the link 'c.html' leads nowhere"),
    (pages.dead_links, '<a href="b.html#nothing">b</a>', "nothing at 'b.html#nothing'"),
    (pages.dead_links, '<a href="#nothing">b</a>', "nothing at '#nothing'"),
    (pages.figures_without_words, "<svg></svg>", "a <svg> without alternative text"),
    (pages.figures_without_words, '<svg role="img" aria-label=""></svg>', "a <svg> without alternative text"),
    (pages.figures_without_words, '<img src="_images/a.svg">', "a <img> without alternative text"),
    (
        pages.figures_without_words,
        '<a href="b.html"><img src="_images/a.svg" alt=""></a>',
        "a <img> without alternative",
    ),
    (pages.figures_without_words, "<canvas></canvas>", "a <canvas> without alternative text"),
    (pages.titles, "<h1>Again</h1>", "2 headings of the first level"),
    (pages.too_heavy, "x" * 1_500_000, "at most 1,500,000"),
]


@pytest.mark.parametrize("gate", sorted({gate for gate, *_ in BROKEN_BOOK}, key=lambda gate: gate.__name__))
def test_book_in_order_passes(gate, tmp_path):
    assert gate(tree(tmp_path, BOOK)) == []


@pytest.mark.parametrize(("gate", "html", "words"), BROKEN_BOOK)
def test_book_out_of_order_is_refused(gate, html, words, tmp_path):
    found = gate(tree(tmp_path, BOOK | {"b.html": BOOK["b.html"].replace("</body>", html + "</body>")}))
    assert any(words in complaint for complaint in found), found


def test_stylesheet_that_loads_from_another_host_is_refused(tmp_path):
    css = "@font-face { src: url('https://cdn.example.org/x') }"
    assert pages.outside_resources(tree(tmp_path, BOOK | {"style.css": css})) == [
        f"style.css: {LOADS}: " + pages.INSTEAD
    ]


def test_dead_link_of_a_markdown_file_is_refused(tmp_path):
    tree(tmp_path, {"a.md": "# A\n\n[b](b.md#the-end) [c](https://c.org) ![c](b.md)\n", "b.md": "# B\n\n## The end\n"})
    assert links.dead_links(tmp_path / "a.md") == []
    tree(tmp_path, {"b.md": "# B\n"})
    assert "b.md has no heading for '#the-end'" in links.dead_links(tmp_path / "a.md")[0]
    (tmp_path / "b.md").unlink()
    assert "the link 'b.md#the-end' leads nowhere" in links.dead_links(tmp_path / "a.md")[0]
