"""The book as one file: what paper shows, and a PDF, an EPUB and a zip whose links hold."""

import re
import zipfile
from pathlib import Path, PurePosixPath

import nbformat
import pikepdf
import pytest
from browser import launch
from bs4 import BeautifulSoup
from lxml import etree

from tools import chromium
from tools.editions import __main__ as command
from tools.editions import epub, pdf, site
from tools.editions.fragments import BOOK, read

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGNgYGAAAAAEAAH2FzhVAAAAAElFTkSuQmCC"  # a black one
FIGURE = (
    '<div hidden="hidden" class="course-figure" data-course="explore"><div class="course-controls">n</div>{0}</div>'
)
FRAMES = (
    '<div class="course-frame" data-text="One."><svg viewBox="0 0 9 9" width="90"><text>1</text></svg></div>'
    '<div class="course-frame" data-text="Two." hidden><svg viewBox="0 0 9 9"><text>2</text></svg></div>'
)
FIRST = """<h1>The book<a class="headerlink" href="#the-book">#</a></h1>
<p>A lead<span class="course-screen" data-paper=".">: click</span></p><div class="course-translator"><p>Try</p></div>
<style>p { color: red }</style><svg><style>rect { fill: none }</style></svg>
<p><a href="../chapters/01_one.html#sums">sums</a>
<a href="../_downloads/all.zip">all of them</a> <a href="https://example.org/">elsewhere</a></p>"""
CHAPTER = f"""<h1>01 · One</h1><section id="sums"><h2>Sums of 한국어</h2>
<p>A formula: <math display="inline"><msup><mi>x</mi><mn>2</mn></msup></math>. <a href="#sums">here</a></p>
<div class="course-quiz"><p class="course-quiz-lead">Recall.</p><fieldset id="quiz-one-sum"><legend>1. What?</legend>
<details class="course-quiz-fold"><summary>Show the options</summary>
<details><summary>two</summary><div><p>No.</p></div></details>
<details data-right><summary>three</summary><div><p>Yes.</p></div></details></details></fieldset></div>
<details class="course-fold course-fold-input"><summary>Code</summary><pre>drawing()</pre></details>
<details class="course-fold course-fold-output"><summary>Show the output</summary><pre>42</pre></details>
<div class="course-act course-predict"><p><strong>Predict, then run.</strong> How many?</p><pre>add(4, 5)</pre>
<details class="course-fold course-fold-output"><summary>Show the output</summary><pre>Nine</pre></details>
<details><summary>What you saw</summary><p>It adds.</p></details></div>
<div class="course-act course-predict"><p><strong>Predict, then run.</strong> Where?</p>
<details class="course-fold course-fold-output"><summary>Show the output</summary>
{FIGURE.format(FRAMES)}</details></div>
</section><section id="exercise-add"><div class="course-act course-exercise">
<h3>Exercise: Add</h3><p class="course-solve">Solve it</p>
<div class="course-solution" aria-label="Hints and solution of one.add"><details><summary>Hint 1 of 3</summary>
<p>Think.</p></details><details><summary>Solution</summary><pre><code>def add(): ...</code></pre></details></div></div>
<div class="course-act course-say"><p><strong>In one sentence:</strong> why?</p>
<details><summary>A model answer</summary><p>Because.</p></details></div></section>
<script>alert(1)</script>"""


@pytest.fixture
def book(tmp_path) -> Path:
    """A built book of two pages, in the folder of its sources."""
    (tmp_path / "_toc.yml").write_text(
        "root: book/index\nparts:\n  - caption: Part I\n    chapters:\n      - file: chapters/01_one\n"
    )
    alt = f'<section class="course-alt"><img alt="One." width="1" src="data:image/png;base64,{PIXEL}"></section>'
    cell = nbformat.v4.new_code_cell("show()", outputs=[nbformat.v4.new_output("display_data", {"text/html": alt})])
    html = tmp_path / "_build" / "html"
    for folder in ("book", "chapters", "_static/fonts"):
        (html / folder).mkdir(parents=True)
    (tmp_path / "chapters").mkdir()
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / "chapters" / "01_one.ipynb")
    (html / "_static" / "pygments.css").write_text('html[data-theme="light"] .highlight .k { color: #005b82 }\n')
    for name, body in (("book/index", FIRST), ("chapters/01_one", CHAPTER)):
        head = '<link rel="stylesheet" href="../_static/pygments.css">'
        article = f'<article class="bd-article"><section id="top">{body}</section></article>'
        (html / f"{name}.html").write_text(f"<html><head>{head}</head><body>{article}</body></html>", encoding="utf-8")
    (html / "index.html").write_text("<a href='book/index.html'>The book</a>")
    return html


def test_editions_shows_what_can_be_read_without_a_click(book):
    (front, chapter), behind = read(book, book.parents[1])
    shown = str(chapter.article)
    assert not chapter.article.select("details, summary, script, button, .course-controls, .headerlink")
    assert [item.get_text() for item in chapter.article.select("ol.paper-options li")] == ["two", "three"]
    assert "42" in shown
    for elsewhere in ("drawing()", "Yes.", "Think.", "def add", "Solve it", "<text>2", "Nine", "adds", "Because"):
        assert elsewhere not in shown
    said = {name: BeautifulSoup(one.html({chapter.name: "01"}), "lxml").get_text() for name, one in behind.items()}
    assert "Think." in said["hints"]
    assert "def add" in said["solutions"]
    assert re.search(r"What\? → B \(three\).*No.*Yes.*How many\?.*Nine.*It adds", said["reasons"], re.DOTALL)
    assert re.search(r"Exercise: Add\s*def add.*In one sentence: why\?\s*Because", said["solutions"], re.DOTALL)
    assert said["solutions"].count("Exercise: Add") == 1
    back = [link for one in behind.values() for link in re.findall(r'href="([^"]+)"', one.html({chapter.name: "01"}))]
    anchors = ["exercise-add", "quiz-one-sum", "sums", "exercise-add", "exercise-add"]
    assert back == [f"{BOOK}{chapter.name}#{anchor}" for anchor in anchors]
    links = [link["href"] for link in front.article.select("a")]
    assert links == [f"{BOOK}chapters/01_one#sums", "https://example.org/"]
    assert "all of them" in front.article.get_text()
    assert "translator" in front.article.get_text()
    assert [style.get_text() for style in front.article.select("style")] == ["rect { fill: none }"]


def test_pdf_has_contents_bookmarks_tags_and_links_that_lead_inside(book, tmp_path):
    with launch():
        pass
    target = tmp_path / "book.pdf"
    assert pdf.write(book, target, book.parents[1]) == 7
    with pikepdf.open(target) as whole:
        sheets = [page.objgen for page in whole.pages]
        links = [link for page in whole.pages for link in page.get("/Annots", [])]
        inside = [link for link in links if "/Dest" in link]
        assert {str(link.A.URI) for link in links if "/A" in link} == {"https://example.org/"}
        assert len(inside) >= 8
        assert all(link.Dest[0].objgen in sheets for link in inside)
        assert [page.label for page in whole.pages] == ["i", "ii", "iii", "1", "H1", "A1", "S1"]
        with whole.open_outline() as marks:
            assert [mark.title for mark in marks.root] == ["The book", "Part I", "Appendices"]
            assert [mark.title for mark in marks.root[1].children[0].children] == ["Sums of 한국어"]
        fonts = [
            font
            for page in whole.pages
            for font in page.Resources.get("/Font", {}).values()
            if "/FontDescriptor" not in font and "/DescendantFonts" not in font
        ]
        assert fonts == [] or all(font.Subtype == "/Type3" for font in fonts), "every font is embedded"
        keys = [int(page.StructParents) for page in whole.pages]
        assert len(set(keys)) == len(keys)
        assert whole.Root.MarkInfo.Marked
        assert [whole.docinfo["/Title"], whole.open_metadata()["dc:description"]] == ["The book", "A lead."]


def test_epub_is_xhtml_whose_links_and_pictures_are_there(book, tmp_path):
    target = tmp_path / "book.epub"
    assert epub.write(book, target, book.parents[1]) == 5
    with zipfile.ZipFile(target) as packed:
        first = packed.infolist()[0]
        assert (first.filename, first.compress_type) == ("mimetype", zipfile.ZIP_STORED)
        names = set(packed.namelist())
        trees = {name: etree.fromstring(packed.read(name)) for name in names if name.endswith((".xhtml", ".opf"))}
        listed = {item.get("href") for item in trees["book.opf"].iter("{*}item")}
    assert listed == names - {"mimetype", "META-INF/container.xml", "book.opf"}
    for name, tree in trees.items():
        assert not list(tree.iter("{*}script"))
        for element in tree.iter(etree.Element):
            for address in filter(None, (element.get("href"), element.get("src"))):
                if not address.startswith("https://"):
                    check_address(name, address, trees, names)
    chapter = trees["chapters/01_one.xhtml"]
    assert [math.nsmap[math.prefix] for math in chapter.iter("{*}math")] == [epub.MATHML]
    told = [trees["book.opf"].findtext(".//{*}description"), *(image.get("alt") for image in chapter.iter("{*}img"))]
    assert told == ["A lead.", "One."]


def check_address(name, address, trees, names):
    path, _, anchor = address.partition("#")
    parts = list(PurePosixPath(name).parent.parts)
    for part in path.split("/") if path else ():
        parts = parts[:-1] if part == ".." else [*parts, part]
    file = "/".join(parts) if path else name
    assert file in names, (name, address)
    assert not anchor or trees[file].xpath("//*[@id=$anchor]", anchor=anchor), (name, address)


def test_a_figure_without_its_stored_picture_is_named(book, tmp_path):
    nbformat.write(nbformat.v4.new_notebook(), tmp_path / "chapters" / "01_one.ipynb")
    with pytest.raises(
        RuntimeError, match=r"expected 1 figures with a stored picture in chapters/01_one\.ipynb, got 0"
    ):
        epub.write(book, tmp_path / "book.epub", tmp_path)
    assert not list(tmp_path.glob("*book.epub*"))


def test_zip_has_the_same_bytes_for_the_same_pages(book, tmp_path):
    first, second = tmp_path / "a.zip", tmp_path / "b.zip"
    assert site.write(book, first) == 3
    for path in book.rglob("*.html"):
        path.touch()
    site.write(book, second)
    assert first.read_bytes() == second.read_bytes()
    with zipfile.ZipFile(first) as packed:
        assert packed.testzip() is None
        packed.extractall(tmp_path / "out")
    folder = tmp_path / "out" / site.FOLDER
    (link,) = BeautifulSoup((folder / "start.html").read_text("utf-8"), "lxml").select("a")
    assert (folder / link["href"]).is_file()


def test_what_is_interrupted_leaves_the_old_file(book, tmp_path, monkeypatch):
    target = tmp_path / "book.zip"
    target.write_bytes(b"old")

    def stop(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(site, "_add", stop)
    with pytest.raises(KeyboardInterrupt):
        site.write(book, target)
    assert target.read_bytes() == b"old"
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".book")]


def test_the_command_says_where_the_file_is_and_how_large(book, tmp_path, capsys):
    assert command.main(["zip", "--built", "--output", str(tmp_path)]) == 0
    found = re.fullmatch(r"(\S+\.zip) \(3 pages, 0\.0 MB, 0 s\)\n", capsys.readouterr().out)
    assert zipfile.is_zipfile(found[1])


@pytest.mark.parametrize(
    ("current", "said"),
    [
        (True, "The pages are taken as they stand: nothing has changed since they were built."),
        (False, "Building the pages first, which takes minutes: none stand here, or something has changed."),
    ],
)
def test_pages_are_built_only_where_something_has_changed(current, said, book, tmp_path, capsys, monkeypatch):
    built = []
    monkeypatch.setattr(command, "is_current", lambda output: current)
    monkeypatch.setattr(command, "build", lambda output: built.append(output) or (book / "index.html", ""))
    assert command.main(["zip", "--output", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines()[0] == said
    assert built == ([] if current else [tmp_path])


def test_without_a_browser_or_pages_the_command_says_so(book, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(chromium, "missing", lambda: "expected a Chromium (chromium), got none: install one")
    assert command.main(["pdf", "--built", "--output", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert said == "expected a Chromium (chromium), got none: install one\nNo pdf was written.\n"
    assert command.main(["epub", "--built", "--output", str(tmp_path)]) == 1
    assert "expected a page of the book in" in capsys.readouterr().err
    assert command.main(["zip", "--built", "--output", str(tmp_path / "elsewhere")]) == 1
    assert "got no such file: leave out --built" in capsys.readouterr().err


def test_numbers_of_the_first_sheets():
    assert [pdf.roman(number) for number in (1, 4, 9, 14, 40)] == ["i", "iv", "ix", "xiv", "xl"]
