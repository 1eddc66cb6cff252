"""The cards of what a reader is asked to do, the marks of pitfalls, and the captions of figures."""

import sys
from html import escape
from importlib import import_module
from pathlib import Path

import nbformat
import pytest
from browser import launch
from bs4 import BeautifulSoup
from cells import from_text
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

from course_lib.figures import attention_view, box, explore, heatmap, new_figure, play, shapes
from tools.environment import ROOT
from tools.form import text_of

sys.path.insert(0, str(ROOT / "book" / "_ext"))
page_acts = import_module("page_acts")
page_captions = import_module("page_captions")

CHAPTER = """%% markdown title
# 05 · Masks

**In one sentence:** why?

<details><summary>A model answer</summary>

Because.

</details>

After the answer.

**Predict, then run.** How many?

%% code guess hide-input
quiz("masks.x")

%% code first hide-output
print("one")

%% code second hide-input hide-output
print("two")

%% markdown saw
<details><summary>What you saw</summary>

Two.

</details>

After the prediction. **Predict, then run.** is not how this paragraph begins.

<details><summary>Details</summary>

Nobody asked.

</details>

## Masks

### Exercise: Mask `this` · ★★☆ · 10 min

Do it.

%% code stub
check("masks.causal", my_mask)

%% code solution hide-input
show_solution("masks.causal")

%% markdown rest
After the exercise.

## Pitfalls, measured

### A mask too many

It hides.
"""


@pytest.fixture(scope="module")
def chapter(tmp_path_factory) -> BeautifulSoup:
    folder = tmp_path_factory.mktemp("acts")
    (folder / "chapters").mkdir()
    nb = from_text(CHAPTER)
    for cell in nb.cells:
        if cell.cell_type == "code":
            cell.outputs = [nbformat.v4.new_output("display_data", data={"text/html": f"<p>{cell.id} shown</p>"})]
    (folder / "chapters" / "05_masks.ipynb").write_text(text_of(nb), encoding="utf-8")
    (folder / "index.md").write_text("# Home\n\n```{toctree}\nchapters/05_masks\n```\n", encoding="utf-8")
    settings = {
        "extensions": ["myst_nb", "notebook_cells", "page_acts"],
        "source_suffix": {".rst": "restructuredtext"},
        "nb_execution_mode": "off",
        "suppress_warnings": ["myst"],
    }
    with docutils_namespace(), Path(folder, "warnings").open("w+") as said:
        app = Sphinx(folder, None, folder / "out", folder / "trees", "html", settings, status=None, warning=said)
        app.build()
    page = (folder / "out" / "chapters" / "05_masks.html").read_text(encoding="utf-8")
    return BeautifulSoup(page, "html.parser")


def words(card) -> str:
    return " ".join(card.get_text(" ").split())


def test_a_prediction_is_one_card_from_its_question_to_what_was_seen(chapter):
    (card,) = chapter.select(".course-predict")
    assert words(card).startswith("Predict, then run. How many?")
    assert all(f"{name} shown" in words(card) for name in ("guess", "first", "second"))
    assert words(card).endswith("What you saw Two.")
    assert "After" not in words(card)


@pytest.mark.parametrize(
    ("text", "legend", "seen"),
    [
        ("How many of the 8 sentences are right after training?", "How many sentences are right?", ["text"]),
        ("How many sentences are right?", "Of 8 sentences, how many are right after training?", ["legend"]),
        ("How many sentences are right after 300 updates?", "How many of the sentences are right?", ["text"]),
        ("How many are right of 300 sentences?", "How many sentences are right after all?", ["text", "legend"]),
        ("What happens now?", "How many sentences are right?", ["text", "legend"]),
    ],
)  # fmt: skip
def test_a_question_asked_twice_is_seen_once(text, legend, seen):
    bold = nodes.strong("", "Predict, then run.")
    parts = [nodes.paragraph("", "", bold, nodes.Text(" " + text)), nodes.raw("", f"<legend>{legend}</legend>")]
    hidden = page_acts.asked_twice(parts)
    assert seen == ["text"] * (text in parts[0].astext()) + ["legend"] * (not hidden)


def test_outputs_of_one_prediction_say_which_they_are(chapter):
    folds = [words(fold.summary) for fold in chapter.select(".course-fold-output")]
    assert folds == ["Show Hide output 1 of 2", "Show Hide output 2 of 2"]


def test_a_question_and_its_answer_are_one_card(chapter):
    (card,) = chapter.select(".course-say")
    assert words(card) == "In one sentence: why? A model answer Because."


def test_an_exercise_is_one_card_from_its_heading_to_its_solution(chapter):
    (card,) = chapter.select(".course-exercise")
    assert card.parent["id"].startswith("exercise-mask-this")
    assert words(card.h3).startswith("Exercise: Mask this · ★★☆ · 10 min")
    assert card.h3.select_one(".course-kind").get_text() == "Exercise: "
    assert card.h3.select_one(".course-effort").get_text() == " · ★★☆ · 10 min"
    assert "solution shown" in words(card)
    assert "After the exercise." not in words(card)


def test_a_pitfall_is_marked_and_nothing_else_is(chapter):
    (row,) = chapter.select(".course-pitfall")
    assert row["id"] == "a-mask-too-many"
    assert len(chapter.select(".course-act")) == 3


def dot(x):
    figure, ax = new_figure(2, 1)
    ax.plot([x], [1], "o")
    return figure


@pytest.mark.parametrize(
    ("figure", "said"),
    [
        (heatmap([[1.0]], ["a"], alt="All <on> a."), "All <on> a."),
        (attention_view(["a"], [[1.0]], alt="It looks at itself."), "It looks at itself."),
        (explore(dot, alt="It moves.", x=(1, 2)), "It moves."),
        (explore(dot, alt=lambda x: f"It is at {x}.", x=(1, 2), default={"x": 2}), "It is at 2."),
        (explore(lambda x: f"<p>{x}</p>", alt="It counts.", x=(1, 2)), "It counts."),
        (play(dot, alt="It is played.", x=(1, 2)), "It is played."),
        (play(lambda x: f"<{x}>", alt="It is said.", x="a"), "It is said."),
        (shapes(box("X", "2 3"), "@", box("W", "3 4"), "=", box("Y", "2 4")), "One <row>: the shape of Y."),
        (
            shapes([box("a", "2"), "=", box("b", "2")], [box("b", "2"), "x, y", box("c d", "2")]),
            "One <row>: the shapes of b and c d.",
        ),
    ],
)
def test_a_caption_says_what_stands_for_the_figure(figure, said):
    page = BeautifulSoup(page_captions.captioned(figure.page(), "Figure 5.1", "One <row>"), "html.parser")
    caption = page.select_one(".course-captioned > .course-caption")
    assert caption.b.get_text() == "Figure 5.1"
    assert caption.select_one("b + span").get_text() == said
    assert caption.select_one("b + span").has_attr("aria-hidden") == (f'aria-label="{escape(said)}' in figure.page())


def test_names_of_shapes_are_raised_in_their_caption():
    figure = shapes(box("X", "2 3"), "@", box("W^Q", "3 4"), "=", box("xW^Q_i", "2 4"))
    html = page_captions.captioned(figure.page(), "Figure 5.1", "x_i")
    assert "x_i: the shape of <i>x</i><i>W</i><sup>Q</sup><sub>i</sub>." in html


def test_a_caption_has_emphasis_symbols_and_code_and_breaks_no_number():
    figure = heatmap([[1.0]], ["a"], alt="*flies* falls to 1e-15 for d_k = 4 and <tgt_len>.")
    html = page_captions.captioned(figure.page(), "Figure 5.1", "One row")
    told = '<em>flies</em> falls to <span class="course-tied">1e-15</span> for <i>d</i><sub>k</sub> = 4'
    assert f"{told} and &lt;<code>tgt_len</code>&gt;." in html


def test_the_caption_of_a_figure_changes_with_its_words(tmp_path):
    figure = explore(dot, alt=lambda x: f"x_i is at {x}.", x=(1, 2, 3), default={"x": 2})
    script = (ROOT / "book" / "_static" / "course.js").read_text(encoding="utf-8")
    html = page_captions.captioned(figure.page(), "Figure 5.1", "A dot")
    (tmp_path / "page.html").write_text(f"<!doctype html><script>{script}</script>{html}", encoding="utf-8")
    with launch() as browser:
        page = browser.new_page()
        page.goto((tmp_path / "page.html").as_uri())
        caption = page.locator(".course-caption b + span")
        assert caption.inner_html() == "<i>x</i><sub>i</sub> is at 2."
        page.locator("input[type=range]").focus()
        page.keyboard.press("ArrowRight")
        assert caption.inner_html() == "<i>x</i><sub>i</sub> is at 3."
