"""Every pitfall happens as the page says: its snippet runs, prints what is stored, and fits the page."""

import json
import re
import sys
from importlib import import_module
from itertools import takewhile
from types import SimpleNamespace

import pytest
import yaml

from course_practice.exercises import registry
from tools import pitfalls
from tools.environment import CHAPTERS, ROOT
from tools.gates.links import contents
from tools.gates.parsing import anchor, calls

sys.path.insert(0, str(ROOT / "book" / "_ext"))
page_pitfalls = import_module("page_pitfalls")

ROWS = pitfalls.rows()
STORED = json.loads(pitfalls.STORED.read_text(encoding="utf-8"))["outputs"]
PLANNED = [
    name
    for part in yaml.safe_load((ROOT / "book" / "chapters.yml").read_text(encoding="utf-8"))
    for name in part["chapters"]
]
NUMBER = re.compile(r"(?<![\w.])[-−]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?")
ERROR = re.compile(r"^\w+Error: ", re.MULTILINE)

each_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])


def same(ours: str, theirs: str) -> bool:
    """Whether two outputs say the same: the same words, and numbers that differ by a last digit at most.

    Other processors add in another order: a number that is rounded to two digits may fall to the other side, and a
    tensor of ones is shown as `1.` or as `1.00`.
    """
    words = ["".join(NUMBER.sub("#", text).split()) for text in (ours, theirs)]
    numbers = [[float(n.replace(",", "").replace("−", "-")) for n in NUMBER.findall(text)] for text in (ours, theirs)]
    return words[0] == words[1] and all(abs(a - b) <= 0.011 + 1e-3 * abs(b) for a, b in zip(*numbers, strict=True))


@each_row
def test_a_snippet_prints_what_is_stored(row):
    assert same(pitfalls.output(row["code"]), STORED[row["id"]]), "look at the output, then run make pitfalls"


def test_outputs_are_compared_with_care():
    """Fixtures: another last digit is the same; another number, another word and one number more are not."""
    stored = "rows: tensor([1.00, 0.25])\n"
    assert same("rows: tensor([1., 0.26])\n", stored)
    assert same("x: [ 0.50, -0.25]\n", "x: [0.50, -0.25]\n")
    for other in ("rows: tensor([1.00, 0.28])\n", "row: tensor([1.00, 0.25])\n", "rows: tensor([1.00])\n", ""):
        assert not same(other, stored)


def test_no_output_is_left_over():
    assert set(STORED) ^ {row["id"] for row in ROWS} == set(), "run make pitfalls"


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"severity": None}, "expected also severity: add them"),
        ({"cure": "x"}, "got cure, which no row has: take it away"),
        ({"id": "Softmax twice"}, "expected an id such as softmax-twice, got 'Softmax twice'"),
        ({"shows": "It is zero"}, "expected whole sentences in `shows`, got 'It is zero': end them with a period"),
        ({"mistake": "One."}, "expected a heading in `mistake`, got 'One.': leave the period out"),
        ({"code": "1\n" * 13}, "expected `code` of at most 12 lines: shorten it"),
    ],
)
def test_a_row_in_another_form_is_refused(change, complaint, tmp_path):
    row = {key: value for key, value in (ROWS[0] | change).items() if key != "chapter" and value is not None}
    (tmp_path / "05_masks.yml").write_text(yaml.safe_dump([row]), encoding="utf-8")
    with pytest.raises(ValueError, match=f"^05_masks, {row['id']}: {re.escape(complaint)}$"):
        pitfalls.rows(tmp_path)


def test_rows_name_what_there_is():
    for row in ROWS:
        assert row["chapter"] in PLANNED
        assert row["severity"] in page_pitfalls.SEVERITY
        assert row.get("exercise", "masks.causal") in registry()


def test_outputs_fit_the_page_and_say_what_the_severity_says():
    for row in ROWS:
        output = STORED[row["id"]]
        assert max(map(len, [*row["code"].splitlines(), *output.splitlines()])) <= pitfalls.WIDTH, row["id"]
        assert output.strip(), f"{row['id']}: print what happens"
        assert bool(ERROR.search(output)) == (row["severity"] == "crash"), f"{row['id']}: a crash stops with an error"


def test_pitfalls_have_ids_of_their_own():
    assert len({row["id"] for row in ROWS}) == len(ROWS)


# The page


class Environment(SimpleNamespace):
    """What the extension asks of Sphinx: where the sources are, and which pages there are."""

    def __init__(self, *chapters: str):
        super().__init__(srcdir=ROOT, found_docs={f"chapters/{name}" for name in chapters})

    def note_dependency(self, path: str) -> None:
        pass


def test_the_page_shows_every_row_and_counts_them():
    text = (ROOT / "book" / "pitfalls.md").read_text(encoding="utf-8")
    assert pitfalls.START in text, "the page says what comes before each snippet"
    shown = page_pitfalls.page(Environment(), text)
    assert f"# {len(ROWS)} ways to get a Transformer wrong" in shown
    assert shown.count("\n### ") == len(ROWS)
    for row in ROWS:
        assert f"(pitfall-{row['id']})=" in shown
        assert STORED[row["id"]].rstrip() in shown


def test_a_pitfall_without_a_stored_output_is_named(tmp_path):
    new, folder = ROWS[0] | {"id": "quite-new"}, tmp_path / "book" / "pitfalls"
    folder.mkdir(parents=True)
    (folder / "05_masks.yml").write_text(yaml.safe_dump([ROWS[0], new]), encoding="utf-8")
    (tmp_path / "book" / "results").symlink_to(ROOT / "book" / "results")
    page = Environment()
    page.srcdir = tmp_path
    with pytest.raises(ValueError, match=r"^expected a stored output .* got none of quite-new: run make"):
        page_pitfalls.read(page)


def test_rows_link_to_the_heading_that_measures_them():
    page, link = Environment("05_masks"), page_pitfalls.link
    measured = " Measured in [05 · Masks](/chapters/05_masks.ipynb#a-row-with-nothing-to-see)."
    assert link(page, "05_masks", "a-row-with-nothing-to-see") == measured
    assert link(page, "05_masks", None) == " More in [05 · Masks](/chapters/05_masks.ipynb)."
    assert link(Environment(), "05_masks", "a-row-with-nothing-to-see") == "", "nothing links to a planned chapter"


def measures(chapter: str, heading: str) -> bool:
    """Whether code that does not only ask the reader stands in a section, or in those under it."""
    parts = contents(CHAPTERS / f"{chapter}.ipynb")
    levels = [int(part.kind[1]) if re.fullmatch(r"h\d", part.kind) else 0 for part in parts]
    start = next((n for n, part in enumerate(parts) if levels[n] and anchor(part.text) == heading), None)
    if start is None:
        return False
    after = range(start + 1, len(parts))
    below = takewhile(lambda n: not levels[n] or levels[n] > levels[start], after)
    code = [parts[n].text for n in below if parts[n].kind == "code"]
    return any(not calls(text, "quiz", "warm_up", "check", "show_solution") for text in code)


@pytest.mark.parametrize("row", [row for row in ROWS if "section" in row], ids=lambda row: row["id"])
def test_the_section_of_a_pitfall_measures_something(row):
    assert measures(row["chapter"], row["section"])


@pytest.mark.parametrize("heading", ["summed-over-the-values", "further-reading", "quiz"])
def test_a_section_that_is_not_there_or_only_asks_measures_nothing(heading):
    assert not measures("02_attention", heading)
