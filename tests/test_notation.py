"""Formulas and signatures speak as the notation page does, and the page says each thing once."""

import ast
import re

import complaints
import pytest

from tools.environment import LIBRARY, ROOT, chapters
from tools.form import read
from tools.gates import notation
from tools.gates.parsing import syntax_tree

each_chapter = pytest.mark.parametrize("path", chapters(), ids=lambda path: path.stem)
MODULES = sorted(LIBRARY.rglob("*.py"))

PAGE = r"""# Notation

| Symbol | Code | Shape | Chapter |
|---|---|---|---|
| $q$, $Q$ | `query` | | {chapter}`02_attention` |
| $d_k$ | `d_k` | | {chapter}`02_attention` |
| $i$ | | | {chapter}`02_attention` |
| $W^Q$ | `w_q` | | {chapter}`04_multi_head` |

## Letters of one chapter

| Symbol | Meaning | Chapter |
|---|---|---|
| $p$ | probability | {chapter}`97_doubling` |
| $\eta$ | rate | {chapter}`02_attention` |
"""


@each_chapter
def test_every_symbol_of_a_chapter_has_its_meaning(path):
    complaints.none(notation.unknown_symbols(path))


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        (r"$\frac{q_i}{\sqrt{d_k}}$ and $Q W_i^Q p'$", None),
        ("a price of 5 \\$ and `code with $z$ in it`", None),
        ("$k_i$", "$k$ in $k_i$ is not in notation.md: use a symbol of its tables, or add this one"),
        ("$q_z$", "$z$ in $q_z$ is not in"),
        ("$d_{model}$", "$d$ in $d_{model}$ is not in"),
        ("$W_Q$", "$W$ in $W_Q$ is not in"),
        (r"$\mathrm{Softmax}(q)$", "$Softmax$ in"),
        (r"$\eta q$", r"$\eta$ in $\eta q$ belongs to 02_attention: use another letter, or add this one"),
        ("$$\nq +\ny\n$$", "$y$ in $q + y$ is not in"),
    ],
)
def test_a_symbol_without_a_meaning_is_found(formula, words, tmp_path):
    import nbformat

    page, path = tmp_path / "notation.md", tmp_path / "97_doubling.ipynb"
    page.write_text(PAGE, encoding="utf-8")
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(formula, id="formula")])
    nbformat.write(nb, path)
    found = notation.unknown_symbols(path, page)
    assert any(words in one for one in found) if words else found == []


def test_a_letter_has_one_meaning(tmp_path):
    page = tmp_path / "notation.md"
    page.write_text(PAGE + "| $q$ | quiet | {chapter}`05_masks` |\n", encoding="utf-8")
    with pytest.raises(ValueError, match=re.escape("notation.md: expected one meaning of $q$, got two: rename one")):
        notation.table(page)


# Names of code

ANNOTATIONS = {"Float", "Int", "Bool", "Shaped"}


def names(tree: ast.AST) -> set[str]:
    """The parameters of the public functions, and the axes that annotations name."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and (node.name == "__init__" or not node.name.startswith("_")):
            found |= {argument.arg for argument in ast.walk(node.args) if isinstance(argument, ast.arg)}
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in ANNOTATIONS:
            axes = [part.value for part in ast.walk(node.slice) if isinstance(part, ast.Constant)]
            found |= {axis.strip("*") for text in axes if isinstance(text, str) for axis in text.split()}
    return found


def foreign(tree: ast.AST) -> list[str]:
    elsewhere = notation.names_elsewhere()
    return [f"{name}: the notation page has {elsewhere[name]}" for name in sorted(names(tree) & set(elsewhere))]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(LIBRARY)))
def test_the_library_names_things_as_the_page_does(path):
    complaints.none(foreign(ast.parse(path.read_text(encoding="utf-8"))))


@each_chapter
def test_chapters_name_things_as_the_page_does(path):
    cells = [cell.source for cell in read(path).cells if cell.cell_type == "code"]
    complaints.none([complaint for source in cells for complaint in foreign(syntax_tree(source))])


def test_a_foreign_name_is_found():
    source = 'def attend(query: Float[Tensor, "bsz q_len"], num_heads): ...\n\n\ndef _inner(nhead): ...'
    assert [complaint.split(":")[0] for complaint in foreign(ast.parse(source))] == ["bsz", "num_heads"]


def test_the_page_names_what_the_library_has():
    """Each name of the first tables stands in the library; a page of wishes would decide nothing."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in LIBRARY.rglob("*.py"))
    cells = [cells for heading, cells in notation.rows() if heading in {"Tensors", "Sizes", notation.NAMES}]
    for name in {name for row in cells for name in re.findall(r"`(\w+)`", row[0 if len(row) == 2 else 1])}:
        assert re.search(rf"\b{name}\b", text), f"{name} is nowhere in course_lib"


def test_the_chapters_of_the_page_are_planned():
    planned = (ROOT / "book" / "chapters.yml").read_text(encoding="utf-8")
    named = re.findall(r"\{chapter\}`(\w+)`", notation.PAGE.read_text(encoding="utf-8"))
    assert named
    assert all(f" {chapter}:" in planned for chapter in named)
