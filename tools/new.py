"""Lay out a new exercise or chapter, and list what is still open in it.

    python -m tools.new exercise masks.prefix       make new-exercise NAME=masks.prefix
    python -m tools.new chapter sampling            make new-chapter NAME=sampling

Everything that one has to think about begins with TODO; a test finds those that are left.
"""

import re
import sys
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from tools.environment import ROOT
from tools.form import normal_form, read, text_of
from tools.template import AFTER, BEFORE, BUILD, EXERCISES, HIDE_INPUT, NEED, QUIZ_QUESTIONS, SET_UP_TAG

OPEN = re.compile(r"\bTODO\b[^\n\"`]*")
# Where what is laid out here stands. Nothing is open in a file of another kind.
ROOMS = ("book", "chapters", "course_lib", "course_practice", "tests")
KINDS = (".ipynb", ".md", ".py", ".yml")

TEXT = """\
# TODO a title
★☆☆ · 5 min
TODO the task: what comes in, with its shape, and what goes out.
## Hints
1. TODO where to begin, as a question.
2. TODO the idea.
3. TODO the line that is missing, in words or in code.
## Mistakes
### doubled
    - return x
    + return x * 2
TODO what the result of a likely mistake does ("Your result is twice as large"), and what to think of.
"""

CODE = '''\
import torch

from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn


def {name}(x):
    """TODO the solution, or the library's own function in its place."""
    return x


def written_another_way(x):
    """TODO another right answer."""
    return x.clone()


EXERCISE = Exercise(
    reference={name},
    # TODO the smallest first, one with all sizes different, one with all sizes equal.
    cases=lambda: [
        case(torch.zeros(1, 1), about="a single zero"),
        case(randn(2, 3), about="two rows of three"),
        case(randn(2, 2), about="all sizes equal"),
    ],
    alternatives=(written_another_way,),
)
'''

ANSWERS = """\
# {id}

## Wrong: TODO somebody's answer -> doubled
    def twice(x):
        return x + x
"""

MODULE = '''\
"""TODO what this module is about, in a sentence."""

from jaxtyping import Float
from torch import Tensor


def {name}(x: Float[Tensor, "batch d_model"]) -> Float[Tensor, "batch d_model"]:
    """TODO what it does, with shapes, units, errors, and its source.

    >>> import torch
    >>> {name}(torch.ones(1, 2))
    tensor([[1., 1.]])
    """
    return x
'''

TEST = '''\
"""TODO what is compared with what."""

import torch

from course_lib.{name} import {name}


def test_{name}_equals_an_independent_judge():
    x = torch.randn(3, 5)
    assert torch.equal({name}(x), x)  # TODO PyTorch's own result, or a property that must hold
'''

QUESTION = """
## question_{number}
TODO a question?

- [x] TODO the right answer. — TODO why it is right.
- [ ] TODO something that people believe. — TODO why it is wrong.
- [ ] TODO something else that people believe. — TODO why it is wrong.
"""

SECTIONS = {
    "Warm-up": "Three questions from earlier chapters. Answer from memory, then choose.",
    "The question": "TODO what fails without the idea of this chapter.",
    "Pitfalls, measured": "TODO three to five, each with a heading and a cell that measures what it does.",
    "Exercises": "",
    "Quiz": "",
    "Recap": "- TODO at most six lines.",
    "What now": "TODO what still fails, and the chapter that mends it.",
    "Further reading": "- TODO the papers, with their addresses, and what to read in them.",
}


class Refused(Exception):
    """What was asked for cannot be laid out; the message says what to do."""


def new_exercise(name: str, root: Path = ROOT) -> list[Path]:
    """Write the files of an exercise, its cells in the chapter, and its row; the files that were written or changed."""
    subject, _, stem = name.partition(".")
    if not (subject.isidentifier() and stem.isidentifier()):
        raise Refused(f"expected SUBJECT.NAME, as masks.prefix, got {name!r}: name it like that")
    chapter = chapter_of(subject, root)
    text = root / "course_practice" / "exercises" / subject / f"{stem}.md"
    if text.exists():
        raise Refused(f"expected an exercise that is not there yet, got {name}: {text.relative_to(root)} is it")
    files = {
        text: TEXT,
        text.with_suffix(".py"): CODE.format(name=stem),
        root / "tests" / "answers" / subject / f"{stem}.md": ANSWERS.format(id=name),
    }
    package = text.parent / "__init__.py"
    if not package.exists():
        files[package] = f'"""Exercises of chapter {chapter.stem[:2]}, {subject}: one file each."""\n'
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    with_cells(chapter, exercise_cells(name), before="## Quiz")
    rows = add_row(chapter, f"TODO what {name} practices", [], [], [name], root)
    return [*files, chapter, rows]


def new_chapter(subject: str, root: Path = ROOT) -> list[Path]:
    """Write a chapter's module, test, questions, first exercises, notebook, and rows; the files in question."""
    if not subject.isidentifier() or list(root.glob(f"chapters/??_{subject}.ipynb")):
        raise Refused(f"expected the name of a module that no chapter has yet, got {subject!r}: name another")
    number = max(int(path.stem[:2]) for path in root.glob("chapters/[0-9][0-9]_*.ipynb")) + 1
    chapter = root / "chapters" / f"{number:02}_{subject}.ipynb"
    quizzes = root / "course_practice" / "quizzes" / f"{subject}.md"
    questions = "".join(QUESTION.format(number=n + 1) for n in range(QUIZ_QUESTIONS))
    files = {
        root / "course_lib" / f"{subject}.py": MODULE.format(name=subject),
        root / "tests" / f"test_{subject}.py": TEST.format(name=subject),
        quizzes: f"# Questions of chapter {number:02}, {subject}.\n{questions}",
        chapter: text_of(notebook(number, subject)),
    }
    for path, content in files.items():
        path.write_text(content, encoding="utf-8")
    last = sorted(root.glob("chapters/[0-9][0-9]_*.ipynb"))[-2].stem
    contents, parts = root / "_toc.yml", root / "book" / "chapters.yml"
    after(contents, rf"( *- file: chapters/){last}\n", rf"\g<0>\g<1>{chapter.stem}\n")
    entry = f'    {chapter.stem}: {{ title: {subject.replace("_", " ").capitalize()}, about: "TODO a sentence." }}\n'
    after(parts, rf"    {last}: .*\n", r"\g<0>" + entry)
    floors = root / "tools" / "gates" / "imports.py"
    after(floors, r'    \("translation", "__main__"\),\n', f'    ("{subject}",),\n' + r"\g<0>")
    test = f"test_{subject}.py::test_{subject}_equals_an_independent_judge"
    rows = add_row(chapter, f"TODO what {subject} does", [f"{subject}.{subject}"], [test], [], root)
    made = [*files, contents, parts, floors, rows]
    for n in range(EXERCISES):
        made += new_exercise(f"{subject}.exercise_{n + 1}", root)
    return list(dict.fromkeys(made))


def chapter_of(subject: str, root: Path = ROOT) -> Path:
    """The notebook that teaches a subject."""
    found = list(root.glob(f"chapters/??_{subject}.ipynb"))
    if not found:
        subjects = ", ".join(path.stem[3:] for path in sorted(root.glob("chapters/[0-9][0-9]_*.ipynb")))
        raise Refused(f"expected the subject of a chapter ({subjects}), got {subject!r}: make new-chapter lays one out")
    return found[0]


def exercise_cells(name: str) -> list[NotebookNode]:
    """The task, the stub, and the folded solution."""
    stem = name.partition(".")[2]
    stub = f'def my_{stem}(x):\n    """TODO what it returns."""\n    ...\n\n\ncheck("{name}", my_{stem})'
    return [
        markdown("### Exercise: TODO a title · ★☆☆ · 5 min\n\nTODO the task: what comes in, and what goes out."),
        code(stub),
        code(f'show_solution("{name}")', HIDE_INPUT),
    ]


def notebook(number: int, subject: str) -> NotebookNode:
    """A chapter with all its sections, and nothing in them yet."""
    title = subject.replace("_", " ").capitalize()
    table = f"| {BUILD} | TODO |\n|---|---|\n| {NEED} | TODO |"
    imports = [
        f"from course_lib.{subject} import {subject}",
        "from course_lib.reproducible import make_reproducible",
        "from course_practice import check, quiz, show_solution, warm_up",
        "",
        "make_reproducible(0)",
    ]
    cells = [
        markdown(f"# {number:02} · {title}\n\nTODO the promise, in one sentence.\n\n{table}"),
        code("pass", SET_UP_TAG),
        code("\n".join(imports), HIDE_INPUT),
    ]
    for section in (*BEFORE, "TODO a section of its own", *AFTER):
        cells.append(markdown(f"## {section}\n\n{SECTIONS.get(section, 'TODO teach something.')}".strip()))
        if section == "Warm-up":
            cells.append(code('warm_up("masks.polarity", "attention.axis", "bpe.why")  # TODO three', HIDE_INPUT))
        if section == "Quiz":
            asked = "".join(f'    "{subject}.question_{n + 1}",\n' for n in range(QUIZ_QUESTIONS))
            cells.append(code(f"quiz(\n{asked})", HIDE_INPUT))
    return normal_form(nbformat.v4.new_notebook(cells=cells))


def markdown(source: str) -> NotebookNode:
    return nbformat.v4.new_markdown_cell(source)


def code(source: str, *tags: str) -> NotebookNode:
    return nbformat.v4.new_code_cell(source, metadata={"tags": [*tags]})


def with_cells(path: Path, cells: list[NotebookNode], before: str) -> None:
    """Put cells into a notebook, before the one that begins with these words."""
    nb = read(path)
    place = next(n for n, cell in enumerate(nb.cells) if cell.source.startswith(before))
    nb.cells[place:place] = cells
    path.write_text(text_of(normal_form(nb)), encoding="utf-8")


def add_row(chapter: Path, what: str, code: list[str], tests: list[str], exercises: list[str], root: Path) -> Path:
    """A row of book/systems.yml, after the others of its chapter."""
    path = root / "book" / "systems.yml"
    lists = "".join(
        f"  {name}: [{', '.join(values)}]\n"
        for name, values in (("code", code), ("tests", tests), ("exercises", exercises))
    )
    rows = re.split(r"(?m)^(?=- what:)", path.read_text(encoding="utf-8"))
    place = max(n for n, row in enumerate(rows) if n and re.search(r"  at: (\S+)", row)[1][:2] <= chapter.stem[:2])
    rows.insert(place + 1, f"- what: {what}\n  at: {chapter.stem}#exercises\n{lists}")
    path.write_text("".join(rows), encoding="utf-8")
    return path


def after(path: Path, pattern: str, new: str) -> None:
    """Change the one place of a file that a pattern finds."""
    text, found = re.subn(pattern, new, path.read_text(encoding="utf-8"), count=1)
    if not found:
        raise Refused(f"expected {pattern!r} in {path.name}, got none: add the chapter there")
    path.write_text(text, encoding="utf-8")


def still_open(root: Path = ROOT) -> list[str]:
    """Every TODO in the places where something is laid out, with its file and line."""
    files = [path for room in ROOMS for path in sorted((root / room).rglob("*")) if path.suffix in KINDS]
    return [
        f"{path.relative_to(root)}:{number}: {found[0].strip()}"
        for path in files
        if path.name != "test_new.py"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        for found in [OPEN.search(line)]
        if found
    ]


NEXT = {
    "exercise": "Then: make notebooks NOTEBOOKS=chapters/{chapter}.ipynb, and .venv/bin/python -m pytest -n0 "
    'tests/test_exercise*.py -k "[{name}"',
    "chapter": "Then: a block in the map (course_lib/figures/transformer.svg), a place in the weeks of book/teach.md, "
    "pitfalls in book/pitfalls/, make sync, make notebooks, and make test. CONTRIBUTING.md says more.",
}


def main(kind: str = "", name: str = "") -> int:
    lay_out = {"exercise": new_exercise, "chapter": new_chapter}.get(kind)
    if lay_out is None or not name:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        made = lay_out(name)
    except Refused as refused:
        print(refused, file=sys.stderr)
        return 1
    print("Written:", *(f"  {path.relative_to(ROOT)}" for path in made), sep="\n")
    print("Still open:", *(f"  {line}" for line in still_open()), sep="\n")
    chapter = next(path.stem for path in made if path.suffix == ".ipynb")
    print(NEXT[kind].format(chapter=chapter, name=name))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
