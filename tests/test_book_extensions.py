"""The book's own extensions: alerts, the map, the pages written from data, the formulas."""

import doctest
import html
import json
import re
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import nbformat
import pytest
import torch
import yaml
from browser import launch
from bs4 import BeautifulSoup
from cells import from_text
from fontTools.ttLib import TTFont
from PIL import Image
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

from course_lib.corpus.dictionary import NOUN
from course_lib.corpus.typed import page_test
from course_lib.figures import heatmap
from course_lib.figures.display import css
from course_lib.figures.machine import drawing
from course_practice import check
from tools import formula_font
from tools.environment import ROOT, chapters
from tools.form import text_of

BOOK = ROOT / "book"
sys.path.insert(0, str(BOOK / "_ext"))

EXTENSIONS = ("formulas", "page_data", "page_description", "page_glosses", "page_map")
formulas, page_data, page_description, page_glosses, page_map = map(import_module, EXTENSIONS)

TOC = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
LISTED = [entry["file"] for part in TOC["parts"] for entry in part["chapters"]]
CHAPTERS = [Path(file).name for file in LISTED if file.startswith("chapters/")]
PLANNED = [name for part in yaml.safe_load((BOOK / "chapters.yml").read_text("utf-8")) for name in part["chapters"]]
SVG = drawing()


class Environment(SimpleNamespace):
    """What the extensions ask of Sphinx: where the sources are, and which pages there are."""

    def __init__(self, srcdir: Path = ROOT, chapters: tuple[str, ...] = ()):
        super().__init__(srcdir=srcdir, found_docs={f"chapters/{name}" for name in chapters})

    def note_dependency(self, path: str) -> None:
        assert Path(path).exists()


# Alerts

ALERTS = """# Page

> **Note.** Plain text, **bold**, `code` and a [link](#page).

> **Tip.**
>
> First paragraph.
>
> * a list
>   > **Warning.**
>   > inside of it

> **Important.** $x^2$

> **Caution.**
> ```python
> danger()
> ```

> **Danger.** unknown kind

> **Note** without a full stop

> An ordinary quote, **Note.** inside.

> *Note.* not bold

> **Note.**
"""


@pytest.fixture(scope="module")
def alerts(tmp_path_factory) -> BeautifulSoup:
    """One page with every kind of quote, built by Sphinx."""
    folder = tmp_path_factory.mktemp("alerts")
    (folder / "index.md").write_text(ALERTS, encoding="utf-8")
    settings = {
        "extensions": ["myst_parser", "alerts"],
        "source_suffix": {".rst": "restructuredtext"},  # Sphinx would change its own default, for the next one too
        "myst_enable_extensions": ["dollarmath"],
        "myst_heading_anchors": 2,
    }
    with docutils_namespace():
        warnings = (folder / "warnings").open("w+")
        app = Sphinx(folder, None, folder / "out", folder / "trees", "html", settings, status=None, warning=warnings)
        app.build()
    warnings.seek(0)
    assert warnings.read() == ""
    return BeautifulSoup((folder / "out" / "index.html").read_text(encoding="utf-8"), "html.parser")


def test_the_five_kinds_become_admonitions(alerts):
    kinds = [next(k for k in one["class"] if k != "admonition") for one in alerts.select(".admonition")]
    assert kinds == ["note", "tip", "warning", "important", "caution", "note"]
    titles = [title.get_text() for title in alerts.select(".admonition-title")]
    assert titles == ["Note", "Tip", "Warning", "Important", "Caution", "Note"]
    assert not any(one.select(":scope > p > strong:first-child") for one in alerts.select(".admonition:not(.note)"))


def test_what_an_alert_holds_keeps_its_form(alerts):
    note, tip = alerts.select(".admonition")[:2]
    assert note.strong.get_text() == "bold"
    assert note.code.get_text() == "code"
    assert note.a["href"] == "#page"
    assert note.select("p")[1].get_text().startswith("Plain text")
    assert tip.select_one("li .admonition.warning")
    assert alerts.select_one(".admonition.important .math")
    assert "danger()" in alerts.select_one(".admonition.caution pre").get_text()


def test_other_quotes_stay_quotes(alerts):
    quotes = [" ".join(quote.get_text().split()) for quote in alerts("blockquote")]
    assert quotes == [
        "Danger. unknown kind",
        "Note without a full stop",
        "An ordinary quote, Note. inside.",
        "Note. not bold",
    ]


# Cells

CELLS = """%% markdown title
# 05 · Masks

두 문장 and `코드`.

<details><summary>What you saw</summary>

Two **bold** words, $x^2$ and

* a list.

</details>

%% code shown
1 + 1

%% code answer hide-output
print("forty-two")

%% code figure hide-input
from IPython.display import HTML
HTML("<p>a drawing</p>")

%% code both hide-input hide-output
print("both")

%% code defines hide-input
def first():
    return 1

class Second: ...

%% code imports hide-input
import math

%% code asks hide-input
quiz("masks.x")

%% code stub
check("masks.causal", my_mask)
"""
WAITING = '<div class="course-result" role="status"><p>masks.causal: not attempted yet. Run the cell again.</p></div>'
PASSED = '<div class="course-result" role="status"><p>masks.causal: passed.</p></div>'


def cells_page(folder: Path, url: str = "", result: str = WAITING) -> BeautifulSoup:
    """One chapter of such cells, built by Sphinx in the book's theme."""
    (folder / "chapters").mkdir(parents=True)
    (folder / "book").mkdir()
    nb = from_text(CELLS)
    outputs = {"shown": "2", "answer": "forty-two", "figure": "<p>a drawing</p>", "both": "both"}
    outputs |= {"asks": "<p>a question</p>", "stub": result}
    for cell in (cell for cell in nb.cells if cell.id in outputs):
        kind = "text/html" if outputs[cell.id].startswith("<") else "text/plain"
        cell.outputs = [nbformat.v4.new_output("display_data", data={kind: outputs[cell.id]})]
    (folder / "chapters" / "05_masks.ipynb").write_text(text_of(nb), encoding="utf-8")
    (folder / "book" / "how_to_use.md").write_text("# How\n\n## Run it on your machine\n", encoding="utf-8")
    (folder / "index.md").write_text(
        "# Home\n\n```{toctree}\nchapters/05_masks\nbook/how_to_use\n```\n", encoding="utf-8"
    )
    options = {"repository_url": url, "launch_buttons": {"colab_url": "https://colab.research.google.com"}}
    settings = {
        "extensions": ["myst_nb", "public_address", "notebook_cells", "korean"],
        "source_suffix": {".rst": "restructuredtext"},
        "html_theme": "sphinx_book_theme",
        "html_theme_options": options,
        "nb_execution_mode": "off",
        "myst_enable_extensions": ["dollarmath"],
        "myst_heading_anchors": 2,
    }
    with docutils_namespace():
        said = (folder / "warnings").open("w+")
        app = Sphinx(folder, None, folder / "out", folder / "trees", "html", settings, status=None, warning=said)
        app.build()
    page = (folder / "out" / "chapters" / "05_masks.html").read_text(encoding="utf-8")
    return BeautifulSoup(page, "html.parser")


@pytest.fixture(scope="module")
def cells(tmp_path_factory) -> BeautifulSoup:
    return cells_page(tmp_path_factory.mktemp("cells"))


def test_tags_fold_the_code_and_what_it_prints(cells):
    folds = [
        (" ".join(fold.summary.get_text(" ").split()), fold.find_parent(class_="cell"))
        for fold in cells.select(".course-fold")
    ]
    assert [words for words, _ in folds] == [
        "Show Hide the output",
        "Code 1 of “05 · Masks”",
        "Code 2 of “05 · Masks”",
        "Show Hide the output",
        "Code of first , Second 4 lines",
        "Code: imports 3 of “05 · Masks”",
    ]
    answer, figure = folds[0][1], folds[1][1]
    assert "forty-two" in answer.select_one("details .cell_output").get_text()
    assert not answer.select("details .cell_input")
    assert "HTML(" in figure.select_one("details .cell_input").get_text()
    assert not figure.select("details .cell_output")
    assert not cells.select("details[open], details.hide"), "closed at first, in the book's own form alone"


def test_code_that_asks_a_question_is_left_out(cells):
    assert "quiz(" not in cells.select_one("article").get_text()
    assert "a question" in cells.get_text()


def test_markdown_inside_of_a_fold_is_rendered(cells):
    fold = next(d for d in cells("details") if d.summary.get_text() == "What you saw")
    assert fold.strong.get_text() == "bold"
    assert fold.select_one("li").get_text().strip() == "a list."
    assert fold.select_one(".math")


def test_an_exercise_says_where_it_can_be_solved(cells):
    line = cells.select_one(".course-solve")
    assert "not attempted" not in cells.get_text()
    assert [link["href"] for link in line("a")] == [
        "../_sources/chapters/05_masks.ipynb",
        "../_downloads/transformer-course.zip",
        "../book/how_to_use.html#run-it-on-your-machine",
    ]


def test_without_an_address_nothing_leads_to_a_repository(cells):
    assert not re.findall(r"github\.com|colab", str(cells.select_one("header.bd-header, .bd-header-article")))
    assert "colab" not in str(cells.select_one("article"))


def test_with_an_address_an_exercise_opens_in_colab(tmp_path):
    page = cells_page(tmp_path, url="https://github.com/someone/their-fork")
    colab = "https://colab.research.google.com/github/someone/their-fork/blob/main/chapters/05_masks.ipynb"
    assert page.select_one(".course-solve")("a")[-1]["href"] == colab
    header = str(page.select_one(".bd-header-article"))
    assert colab in header.replace("master", "main")
    assert "https://github.com/someone/their-fork" in header


def test_a_check_that_says_more_stays_as_it_is(tmp_path):
    page = cells_page(tmp_path, result=PASSED)
    assert not page.select(".course-solve")
    assert "masks.causal: passed." in page.get_text()


def test_korean_words_are_marked(cells):
    marked = [span.get_text() for span in cells.select("article [lang=ko]")]
    assert marked[0] == "두 문장"
    assert "and" not in "".join(marked)


# The map


def test_the_map_shows_the_chapters_that_exist_as_ready():
    ready = {chapter for classes, _, chapter, _ in page_map.BLOCK.findall(SVG) if "ready" in classes.split()}
    there = set(CHAPTERS) & set(page_map.required(Environment()))
    assert ready == there, "give the blocks of course_lib/figures/transformer.svg the class `ready` as in _toc.yml"


def test_the_map_has_every_chapter_of_the_plan_that_is_not_optional():
    assert {chapter for _, _, chapter, _ in page_map.BLOCK.findall(SVG)} == set(page_map.required(Environment()))
    assert set(PLANNED) - set(page_map.required(Environment())) == {"00_prerequisites"}
    assert sorted(PLANNED) == PLANNED
    assert set(CHAPTERS) <= set(PLANNED)
    assert sorted(CHAPTERS) == CHAPTERS


def test_blocks_link_to_the_chapters_that_have_an_address():
    picture = page_map.linked(SVG, {"05_masks": ("../chapters/05_masks.html", "05 · Masks")})
    tree = ElementTree.fromstring(picture)
    space = {"s": "http://www.w3.org/2000/svg"}
    links = tree.findall(".//s:a", space)
    assert {link.get("href") for link in links} == {"../chapters/05_masks.html"}
    assert all(link.find("s:g", space).get("data-chapter") == "05_masks" for link in links)
    assert all(link.find(".//s:text", space) is not None for link in links)
    assert links[0].get("data-means") == "05 · Masks: (batch, 1, 1, src_len), True = may attend"
    assert links[0].find(".//s:title", space) is None, "a browser would say it a second time"
    ready = {g.get("data-chapter") for g in tree.findall(".//s:g", space) if "ready" in g.get("class", "").split()}
    assert ready == {"05_masks"}
    assert tree.get("role") == "group", "the links inside of an image could not be reached"


def test_the_picture_stands_alone_too():
    tree = ElementTree.fromstring(SVG)
    names = {element.get("id"): element.text for element in tree.iter() if element.get("id")}
    assert all(names[part].strip() for part in tree.get("aria-labelledby").split())
    assert "prefers-color-scheme: dark" in SVG
    assert not re.search(r"https?://(?!www\.w3\.org)", SVG)


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_is_called_the_same_everywhere(name):
    nb = json.loads((ROOT / "chapters" / f"{name}.ipynb").read_text(encoding="utf-8"))
    title = next("".join(cell["source"]).split("\n")[0] for cell in nb["cells"] if cell["cell_type"] == "markdown")
    assert title == f"# {page_map.title_of(Environment(), name)}"


def test_an_unknown_chapter_is_refused():
    with pytest.raises(ValueError, match=re.escape("expected a chapter of book/chapters.yml, got '21_future'")):
        page_map.title_of(Environment(), "21_future")


def test_each_block_says_its_part():
    parts = {}
    for _, part, _, content in page_map.BLOCK.findall(SVG):
        parts.setdefault(part, []).append(BeautifulSoup(content, "html.parser").find("text").get_text())
    assert [*parts] == ["input", "encoder", "decoder", "output", "inside", "around"]
    assert "03 self-attention" in parts["encoder"]
    assert "05 causal, padding" in parts["decoder"]
    assert parts["input"].count("07 embedding + position") == 2, "both sides have it"
    assert SVG.count("data-chapter=") == sum(map(len, parts.values())), "a block without a part is no link"


def test_what_has_a_shape_says_it():
    told = {part for _, part, _, content in page_map.BLOCK.findall(SVG) if not page_map.SHAPES.search(content)}
    assert told == {"around"}


def test_a_narrow_place_shows_the_middle_of_the_picture():
    left, _, width, height = map(float, page_map.CORE.search(SVG)[1].split())
    assert 'viewBox="180 0 540' in page_map.framed(SVG)
    assert f'viewBox="0 0 {width + 2 * left:g} {height:g}"' in SVG, "the middle stands in the middle"
    smallest = 358 * 17 / width  # on a screen of 390 pixels
    assert smallest >= 11
    assert "font: 17px" in SVG
    margin = SVG[SVG.index('<g class="margin">') : SVG.index('<g class="around">')]
    assert "data-chapter" not in margin, "what is cut off leads nowhere"


def test_the_small_map_marks_a_chapter_without_words():
    tree = ElementTree.fromstring(page_map.small(SVG, "08_layer_norm"))
    assert len([group for group in tree.iter("g") if group.get("class") == "here"]) == 5
    assert "".join(tree.itertext()) == ""
    assert not [element for element in tree.iter() if element.get("id") or element.get("data-part")]
    assert not [element for element in tree.iter() if element.get("class") in {"margin", "paper"}]
    assert page_map.small(SVG, "21_future") == ""


def test_the_picture_of_a_shared_link_is_named_where_the_course_has_an_address():
    def tags(url):
        app = SimpleNamespace(
            srcdir=ROOT,
            builder=SimpleNamespace(name="html"),
            config=SimpleNamespace(html_title="The course", html_theme_options={"repository_url": url}),
        )
        context = {"title": "05 · Masks"}
        page_description.describe(app, "chapters/05_masks", "", context, None)
        head = BeautifulSoup(context["metatags"], "html.parser")
        return {tag.get("property") or tag["name"]: tag["content"] for tag in head("meta")}

    assert tags("https://github.com/You/fork")["og:image"] == "https://you.github.io/fork/_static/card.png"
    assert tags("https://github.com/You/fork")["twitter:card"] == "summary_large_image"
    assert "og:image" not in tags("")
    assert tags("")["twitter:card"] == "summary"
    card = Image.open(BOOK / "_static" / "card.png")
    assert card.size == (1200, 630)
    assert (BOOK / "_static" / "card.png").stat().st_size <= 120_000


@pytest.mark.parametrize("name", CHAPTERS)
def test_the_front_page_knows_what_a_chapter_takes(name):
    main, _, practice = page_map.minutes(Environment(), name)
    assert main >= 5
    assert practice >= 20


def test_the_front_page_shows_what_the_check_says(tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSFORMER_COURSE_HOME", str(tmp_path))
    page = (BOOK / "index.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)\n\n\ncheck\(\"masks.causal\", my_causal_mask\)\n```", page, re.DOTALL)
    names = {"torch": torch}
    exec(code, names)
    (shown,) = re.findall(r"```text\n(.*?)\n```", page, re.DOTALL)
    assert str(check("masks.causal", names["my_causal_mask"])).split("\n")[0] == shown


# Results


def results(folder: Path, **files) -> str:
    (folder / "book" / "results").mkdir(parents=True)
    (folder / "book" / "chapters.yml").write_text((BOOK / "chapters.yml").read_text("utf-8"), encoding="utf-8")
    for name, content in files.items():
        (folder / "book" / "results" / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return page_data.results(Environment(folder, ("05_masks",)))


def test_results_without_a_file(tmp_path):
    assert results(tmp_path) == "Nothing has been measured yet."


def test_results_show_what_chapters_cost(tmp_path):
    costs = {"seconds": 6.3, "memory_mb": 387, "cores": 2, "python": "3.11", "torch": "2.13.0"}
    text = results(tmp_path, chapters={"05_masks": costs, "06_image_attention": costs})
    assert "| [05 · Masks](/chapters/05_masks.ipynb) | 6.3 | 387 | 3.11 | 2.13.0 |" in text
    assert "image" not in text, "a chapter that is not in the book has no row"


def test_results_show_tables_and_leave_other_files(tmp_path):
    table = {"title": "Speed", "about": "Ratios.", "columns": ["what", "ratio"], "rows": [["a|b", 1.5]]}
    text = results(tmp_path, speed=table, raw={"numbers": [1]}, list=[1])
    ratio = page_data.bar(1.5)
    assert text == f"## Speed\n\nRatios.\n\n| what | ratio |\n| --- | --- |\n| a\\|b | {ratio} |"


def test_a_range_is_not_broken_across_lines():
    assert page_data.cell("0.80 (0.50–0.90)") == "0.80 (0.50\u2060–\u20600.90)"
    assert page_data.cell("640 ms") == "640\u00a0ms"
    assert page_data.cell("masks – or not") == "masks – or not"


def test_a_long_name_breaks_between_its_words():
    assert page_data.cell("nn.MultiheadAttention") == "nn.Multihead<wbr>Attention"
    assert page_data.cell("PyTorch") == "PyTorch"


# The glosses of the first page


def test_words_of_the_first_page_are_glossed_by_their_reference():
    """All but counters, as in 책 세 권, and no gloss is more than the reference says."""
    pairs = [(pair, page_glosses.glosses(pair)) for pair in page_test()]
    counters = {noun.counter for noun in NOUN.values()} | {"명", "마리", "개"}
    for pair, found in pairs:
        for word, gloss in zip(pair.src_text.split(" "), found, strict=True):
            assert f" {gloss} " in f" {pair.tgt_text} " if gloss else any(map(word.startswith, counters)), word


# Formulas


INLINE, DISPLAYED = re.compile(r"(?<![\\$])\$([^$\n]+?)\$"), re.compile(r"\$\$(.+?)\$\$", re.DOTALL)


def formulas_of(text: str) -> list[str]:
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)
    return DISPLAYED.findall(prose) + INLINE.findall(DISPLAYED.sub("", prose))


def all_formulas() -> list[str]:
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "book").glob("*.md")]
    texts += [
        cell.source for path in chapters() for cell in nbformat.read(path, 4).cells if cell.cell_type == "markdown"
    ]
    rows = yaml.safe_load((ROOT / "book" / "equations.yml").read_text(encoding="utf-8"))
    return [*(formula for text in texts for formula in formulas_of(text)), *(row["formula"] for row in rows)]


def test_every_formula_is_typeset_with_letters_of_the_shipped_font():
    found = [formulas.mathml(formula, "inline") for formula in all_formulas()]
    assert len(found) > 400
    letters = set("".join(html.unescape(re.sub(r"<mtext>.*?</mtext>|<[^>]+>", "", one)) for one in found))
    assert set(TTFont(formula_font.PATH).getBestCmap()) >= set(map(ord, letters))


@pytest.mark.parametrize("formula", [r"\nothing x", r"\begin{nothing} a & b \end{nothing}"])
def test_a_formula_that_stays_tex_is_refused(formula):
    with pytest.raises(ValueError, match=r"expected a formula that latex2mathml knows, got .* write it otherwise"):
        formulas.mathml(formula, "inline")


@pytest.mark.parametrize(
    ("formula", "part"),
    [
        (r"\mathrm{softmax}(x)", "<mtext>softmax</mtext><mo"),
        (r"\cos\alpha", '<mi>cos</mi><mspace width="0.167em"></mspace><mi>α</mi>'),
        (r"e^{\ln 4}", '<mi>ln</mi><mspace width="0.167em"></mspace><mn>4</mn>'),
        ("a / b", '<mo lspace="0" rspace="0">/</mo>'),
        ("a = -b", '<mo lspace="0.278em" rspace="0.278em">=</mo><mo lspace="0" rspace="0">−</mo>'),
        ("(a) - b", "<mo>−</mo>"),
        (r"\begin{gathered} a \\\\ b \end{gathered}", "</mtr><mtr>"),
        (r"\begin{aligned} a \\[1ex] b \end{aligned}", "<mi>a</mi></mtd></mtr><mtr>"),
        (r"\begin{aligned} \text{a} ={}& b \end{aligned}", 'rspace="0.278em">=</mo><mi></mi></mtd>'),
        (r"\begin{aligned} a &= b \end{aligned}", '<mtd columnalign="right"><mi>a</mi></mtd>'),
    ],
)
def test_formulas_have_the_spaces_and_rows_of_tex(formula, part):
    assert part in formulas.mathml(formula, "block")


# The script of the pages

FILTERED = """<section><h1>Pitfalls</h1><div data-course-filter></div>
<section id=masks><h2>Masks</h2><section id=a><h3>Half precision overflows</h3></section>
<section id=b><h3>The diagonal</h3></section></section>
<section id=heads><h2>Heads</h2><section id=c><h3>Half the features</h3></section></section></section>"""
MISSED = "<div data-course-missed hidden><p>Look at these again</p></div>"


@pytest.fixture
def open_page(tmp_path):
    """Opens a page with the book's script, in a browser of its own."""
    script = f"<script>DOCUMENTATION_OPTIONS = {{}};{(BOOK / '_static' / 'course.js').read_text('utf-8')}</script>"
    with launch() as browser:

        def new(body: str):
            path = tmp_path / "page.html"
            path.write_text(f"<!doctype html><title>Page</title>{script}{body}", encoding="utf-8")
            page = browser.new_page()
            page.goto(path.as_uri())
            return page

        yield new


def test_an_address_unfolds_what_it_names_and_a_misspelled_one_is_no_error(open_page):
    page = open_page(f"{FILTERED}<details><p id='one two'>One</p></details>")
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    for name in ("%", "%E0%A4%A", "one%20two"):
        page.goto(f"{page.url.partition('#')[0]}#{name}")
        page.reload()
    assert (errors, page.get_by_text("One").is_visible()) == ([], True)


def test_the_filter_keeps_rows_with_all_words(open_page):
    page = open_page(FILTERED)

    def visible() -> list[str]:
        return [name for name in ("masks", "a", "b", "heads", "c") if page.locator(f"#{name}").is_visible()]

    box, count = page.get_by_label("Filter by words"), page.get_by_role("status")
    assert count.inner_text() == "3 mistakes"
    box.focus()
    page.keyboard.type("HALF")
    assert visible() == ["masks", "a", "heads", "c"]
    page.keyboard.type(" overflows")
    assert visible() == ["masks", "a"], "a chapter without a row that fits is hidden with its heading"
    assert count.inner_text() == "1 of 3 mistakes"
    box.fill("nothing of the kind")
    assert visible() == []
    box.fill("")
    assert visible() == ["masks", "a", "b", "heads", "c"]


def test_missed_questions_are_listed_with_a_link_to_each(open_page):
    page = open_page(MISSED)
    assert not page.get_by_text("Look at these again").is_visible()
    kept = {"masks.empty_row": "/book/chapters/05_masks.html", "bad.entry": "javascript:alert(1)", "worse": 7}
    links = page.locator("[data-course-missed] a")
    keep = "kept => localStorage.setItem('transformer-course-missed', JSON.stringify(kept))"
    for _ in range(20):  # a browser writes down what it keeps in time
        page.evaluate(keep, kept)
        page.reload()
        if links.count():
            break
    assert links.count() == 1
    assert links.first.get_attribute("href") == "/book/chapters/05_masks.html#quiz-masks-empty-row"
    assert links.first.inner_text() == "masks: empty row"
    for _ in range(20):
        page.evaluate("localStorage.setItem('transformer-course-missed', 'no JSON')")
        page.reload()
        if not links.count():
            break
    assert not page.get_by_text("Look at these again").is_visible()


SHELVES = """<section><h1>Pitfalls</h1><div data-course-filter></div>
<section id=masks><h2>Masks<a>#</a></h2><details><summary>2</summary>
<section id=a class=course-crash><h3>Half</h3></section>
<section id=b class=course-silent><h3>Row</h3></section></details></section>
<section id=heads><h2>Heads<a>#</a></h2><details><summary>1</summary>
<section id=c class=course-silent><h3>Features</h3></section></details></section></section>"""


def test_the_catalogue_is_filtered_by_chapter_and_kind_and_unfolds_what_is_found(open_page):
    page = open_page(SHELVES)

    def visible() -> list[str]:
        return [name for name in "abc" if page.locator(f"#{name}").is_visible()]

    assert visible() == []
    page.get_by_label("Kind").select_option("runs, with wrong numbers")
    assert visible() == ["b", "c"]
    page.get_by_label("Chapter").select_option("Masks")
    assert visible() == ["b"]
    assert page.get_by_role("status").inner_text() == "1 of 3 mistakes"
    page.get_by_label("Kind").select_option("all")
    page.get_by_label("Chapter").select_option("all")
    assert visible() == [], "folded again"
    page.goto(page.url + "#c")
    assert visible() == ["c"], "what an address names is unfolded"


READ = """<div data-course-progress hidden></div><div class=course-chapters><ul>
<li><p><a href="/chapters/05_masks.html">05</a>. Masks. <em>40 minutes</em></p></li>
<li><p><a href="/chapters/06_image.html">06</a>. Images. <em>30 minutes</em></p></li></ul></div>"""


def test_the_front_page_knows_where_its_reader_was(open_page):
    page = open_page(READ)
    assert not page.locator("[data-course-progress]").is_visible()
    last = {"title": "05 · Masks", "place": "a-row", "name": "A <b>row</b>", "share": 0.5, "when": 2}
    kept = {"/chapters/05_masks.html": last, "javascript:alert(1)": {**last, "when": 9}, "/bad": 7, "/worse": None}
    for _ in range(20):  # a browser writes down what it keeps in time
        page.evaluate("kept => localStorage.setItem('transformer-course-read', JSON.stringify(kept))", kept)
        page.reload()
        if page.locator("[data-course-progress] a").count():
            break
    link = page.locator("[data-course-progress] a")
    assert link.get_attribute("href") == "/chapters/05_masks.html#a-row"
    assert link.inner_text() == "05 · Masks, “A <b>row</b>”"
    assert page.locator(".course-chapters li em:last-child").all_inner_texts() == [" · 50% seen", "30 minutes"]


# The static pictures of figures


def test_pages_carry_figures_without_their_static_pictures(tmp_path):
    figure = heatmap([[0.9, 0.1]], ["the"], ["cat", "sat"], alt="A map.")
    html = figure._repr_html_()
    assert html.count("data:image/png;base64,") == 2, "the cells are one, the static picture is the other"
    (tmp_path / "index.md").write_text(f"# Page\n\n```{{raw}} html\n{html}\n```\n", encoding="utf-8")
    settings = {"extensions": ["myst_parser", "page_pictures"]}
    with docutils_namespace():
        Sphinx(tmp_path, None, tmp_path / "out", tmp_path / "trees", "html", settings, status=None).build()
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert figure.page() in page
    assert page.count("data:image/png;base64,") == 1
    assert "course-alt" not in page.replace(css("figure"), "")


# What a page leaves out, keeps in one line, and says of terms


@pytest.mark.parametrize(
    "name", ["page_captions", "page_data", "page_glosses", "page_search", "page_terms", "page_weight"]
)
def test_worked_examples_of_extensions_run(name):
    assert doctest.testmod(import_module(name)) == (
        0,
        {"page_captions": 4, "page_data": 1, "page_glosses": 1, "page_search": 4, "page_terms": 1, "page_weight": 16}[
            name
        ],
    )


TERMS = """\
# 05 · Of √d_k

A Softmax and (3.75, 4, −1). **softmax** Two softmaxes, `logits`, and the [logits](../book/glossary.md#logits).
"""


def test_the_first_use_of_a_term_leads_to_the_glossary_and_says_what_it_means(tmp_path):
    (tmp_path / "index.md").write_text("# Book\n\n```{toctree}\nchapters/05\nbook/glossary\n```\n", encoding="utf-8")
    for name, text in (("chapters/05", TERMS), ("book/glossary", (BOOK / "glossary.md").read_text(encoding="utf-8"))):
        (tmp_path / name).parent.mkdir()
        (tmp_path / f"{name}.md").write_text(text, encoding="utf-8")
    extensions = ["myst_parser", "page_lines", "page_terms", "page_weight"]
    settings = {"extensions": extensions, "myst_heading_anchors": 4}
    with docutils_namespace():
        Sphinx(tmp_path, None, tmp_path / "out", tmp_path / "trees", "html", settings, status=None).build()
    page = BeautifulSoup((tmp_path / "out" / "chapters" / "05.html").read_text(encoding="utf-8"), "html.parser")
    links = page.select("a.course-term")
    assert [(link.get_text(), link["href"]) for link in links] == [
        ("Softmax", "../book/glossary.html#softmax"),
        ("logits", "../book/glossary.html#logits"),
    ]
    assert links[0]["data-hangul"] == "소프트맥스"
    assert links[0]["data-means"].startswith("It turns numbers into positive")
    assert "(3.75,\u00a04,\u00a0−1)" in page.get_text()
    assert str(page.h1.contents[1]) == "<sub>k</sub>"
    assert page.h1.contents[0] == "05\u00a0·\u00a0Of √d"
    assert page.select_one("script[src*='doctools.js']").has_attr("defer")
