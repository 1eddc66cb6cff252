"""The book as a PDF: Chromium prints each page, and the parts are joined with their links, bookmarks and tags.

The appendices come first, numbered for themselves (H1, A1, S1), so that a chapter can name their pages; then the
chapters, whose numbers go on from one to the next; at last the contents, which name all pages.
"""

import io
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from pathlib import Path

import pikepdf
from bs4 import BeautifulSoup, Tag
from pikepdf import Array, Dictionary, Name, OutlineItem, Pdf, String
from playwright.sync_api import Error

from course_lib import __version__
from course_lib.figures.display import css, script
from tools import chromium
from tools.editions.fragments import BOOK, RIGHTS, Page, authors, read
from tools.environment import ROOT

STYLE = Path(__file__).with_name("pdf.css")
WIDTH = 605  # CSS pixels between the margins of pdf.css, so that drawings are laid out as they are printed
# Sections that every chapter has: the contents leave them out, the bookmarks do not.
EVERYWHERE = {"Warm-up", "The question", "Quiz", "Recap", "What now", "Further reading"}
NOTE = (
    "The book’s pages on paper. Interactive figures show one of their states. The code that draws them, which a page "
    "folds, is in the notebooks. Hints, the answers to the questions, and the solutions of the exercises stand at the "
    "end, and their pages are numbered H, A, and S."
)
ROMAN = ((100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))


@dataclass
class Part:
    """A printed page of the book: its sheets, and where its anchors are."""

    name: str
    title: str
    pdf: Pdf
    first: int  # the number of its first sheet
    style: str  # D for 1, 2, 3; r for i, ii, iii
    letter: str = ""

    def __post_init__(self):
        self.anchors = {"": (0, None)}  # the sheet and the place on it
        where = {page.objgen: number for number, page in enumerate(self.pdf.pages)}
        for key, target in self.pdf.Root.get("/Dests", {}).items():
            self.anchors[key.removeprefix("/")] = (where[target[0].objgen], target)

    def number(self, anchor: str = "") -> str:
        """What stands at the foot of the sheet that an anchor is on."""
        count = self.first + self.anchors.get(anchor, self.anchors[""])[0]
        return f"{self.letter}{roman(count) if self.style == 'r' else count}"


def roman(number: int) -> str:
    """A number as the first sheets of a book bear it.

    >>> roman(1), roman(4), roman(19)
    ('i', 'iv', 'xix')
    """
    letters = ""
    for value, letter in ROMAN:
        letters += letter * (number // value)
        number %= value
    return letters


def write(book: Path, target: Path, source: Path = ROOT) -> int:
    """Print the built book; return the number of sheets."""
    pages, behind = read(book, source)
    links = "".join(str(link) for link in _stylesheets(book))
    titles = {page.name: page.title for page in pages}
    wanted = _targets([str(page.article) for page in pages] + [one.html(titles) for one in behind.values()])
    with printer() as sheet:

        def printed(name: str, title: str, html: str, first: int, style: str = "D", letter: str = "") -> Part:
            anchors = wanted.get(name, set()) | set(re.findall(r'<section[^>]* id="([^"]+)"', html))
            html = _document(links, title, html, sorted(anchors), first, style, letter)
            return Part(name, title, Pdf.open(io.BytesIO(sheet(book, html))), first, style, letter)

        ends = [
            printed(one.name, one.title, one.html(titles), 1, letter=one.letter)
            for one in behind.values()
            if one.sections
        ]
        parts: list[Part] = []
        sheets = 1
        for page in pages[1:]:
            name_pages(page, ends)
            parts.append(printed(page.name, page.title, str(page.article), sheets))
            sheets += len(parts[-1].pdf.pages)
        front, lead = pages[0], pages[0].lead
        _open(front, _contents(pages, parts, ends))
        parts.insert(0, printed(front.name, front.title, str(front.article), 1, "r"))
    joined = join([*parts, *ends])
    outline(joined, pages, [*parts, *ends])
    with joined.open_metadata() as about:
        about.update({"dc:title": front.title, "dc:creator": [authors()], "dc:language": {"en"}, "dc:rights": RIGHTS})
        about["dc:description"] = lead
    joined.docinfo["/Title"], joined.docinfo["/Subject"] = front.title, lead
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        joined.save(beside, object_stream_mode=pikepdf.ObjectStreamMode.generate, compress_streams=True)
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)
    return len(joined.pages)


@contextmanager
def printer() -> Iterator:
    """A function that prints HTML as it would stand in the book's folder."""
    browser = chromium.started()
    try:
        window = browser.new_page(viewport={"width": WIDTH, "height": 900})
        window.emulate_media(media="print", color_scheme="light", reduced_motion="reduce")

        def sheet(book: Path, html: str) -> bytes:
            place = book / f".paper-{os.getpid()}.html"
            try:
                place.write_text(html, encoding="utf-8")
                window.goto(place.as_uri())
                window.evaluate("document.fonts.ready")
                return window.pdf(prefer_css_page_size=True, tagged=True, print_background=True)
            except Error as error:
                raise RuntimeError(f"Chromium did not print: {error}") from error
            finally:
                place.unlink(missing_ok=True)

        yield sheet
    finally:
        browser.close()


def _stylesheets(book: Path) -> list:
    """Those of the book's pages, as a file beside index.html names them."""
    head = BeautifulSoup((book / "book" / "index.html").read_text(encoding="utf-8"), "lxml").head
    links = head.select("link[rel=stylesheet]")
    for link in links:
        link["href"] = link["href"].removeprefix("../")
    return links


def _targets(texts: list[str]) -> dict[str, set[str]]:
    """The anchors that links of the book lead to, by page."""
    found: dict[str, set[str]] = {}
    for text in texts:
        for name, anchor in re.findall(rf'href="{re.escape(BOOK)}([^"#]*)#([^"]+)"', text):
            found.setdefault(name, set()).add(anchor)
    return found


def _document(links: str, title: str, html: str, anchors: list[str], first: int, style: str, letter: str) -> str:
    # Chromium notes where an anchor is if a link of the same document leads to it, even one that is not shown.
    hidden = "".join(f'<a href="#{escape(anchor)}"></a>' for anchor in anchors)
    count = "counter(page, lower-roman)" if style == "r" else f'"{letter}" counter(page)'
    heading = title.replace("\\", "\\\\").replace('"', '\\"')
    own = f'@page {{ @top-right {{ content: "{heading}"; }} @bottom-center {{ content: {count}; }} }}'
    looks = f"{links}{css('figure', 'controls', 'attention_view')}<style>{STYLE.read_text('utf-8')}{own}</style>"
    return (
        f'<!doctype html><html lang="en" data-theme="light" data-mode="light" style="counter-reset: page {first - 1}">'
        f'<head><meta charset="utf-8"><title>{escape(title)}</title>{looks}</head><body class="paper">'
        f"<div hidden>{hidden}</div>"
        f'<main class="bd-main"><div class="bd-content"><div class="bd-article-container">{html}</div></div></main>'
        f"{script('attention_view')}</body></html>"
    )


def name_pages(page: Page, ends: list[Part]) -> None:
    """Behind each link to an appendix, the number of the page."""
    by_name = {end.name: end for end in ends}
    for link in page.article.select(".paper-see a"):
        name, _, anchor = link["href"].removeprefix(BOOK).partition("#")
        link.append(f": page {by_name[name].number(anchor)}")


def _open(front: Page, contents: Tag) -> None:
    """The title gets a sheet of its own, and the contents follow."""
    title = front.article.find("h1")
    imprint = f"Version {__version__}, printed in {time.strftime('%B %Y')}. © {escape(authors())}. {RIGHTS}."
    sheet = BeautifulSoup(f'<div class="paper-title"><p>{NOTE}</p><p>{imprint}</p></div>', "lxml").body.div
    title.insert_before(sheet)
    about = title.find_next_sibling("p")
    sheet.insert(0, title.extract())
    if about is not None:
        sheet.insert(1, about.extract())
    sheet.insert_after(contents)


def _contents(pages: list[Page], parts: list[Part], ends: list[Part]) -> Tag:
    """Every page and its sections, with the numbers of their sheets."""
    lines, last = [], ""
    for page, part in zip(pages[1:], parts, strict=True):
        if page.part != last:
            lines.append(f'<p class="paper-part">{escape(page.part)}</p>')
            last = page.part
        lines.append(_line(part, page.title, "", "paper-chapter"))
        if page.name.startswith("chapters/"):
            own = [(anchor, title) for anchor, title in page.sections() if title not in EVERYWHERE]
            lines += [_line(part, title, anchor, "paper-section") for anchor, title in own]
    lines.append('<p class="paper-part">Appendices</p>' if ends else "")
    lines += [_line(end, end.title, "", "paper-chapter") for end in ends]
    html = f'<nav class="paper-contents" aria-label="Contents"><h2>Contents</h2>{"".join(lines)}</nav>'
    return BeautifulSoup(html, "lxml").body.nav


def _line(part: Part, title: str, anchor: str, kind: str) -> str:
    address = f"{BOOK}{part.name}" + f"#{anchor}" * bool(anchor)
    return (
        f'<p class="{kind}"><a href="{address}"><span>{escape(title)}</span>'
        f'<span class="paper-number">{part.number(anchor)}</span></a></p>'
    )


def join(parts: list[Part]) -> Pdf:
    """One document of them all. Links between the parts lead inside it; each keeps its tags for screen readers."""
    whole = Pdf.new()
    starts: dict[str, int] = {}
    for part in parts:
        starts[part.name] = len(whole.pages)
        whole.pages.extend(part.pdf.pages)
    for part in parts:
        for sheet in whole.pages[starts[part.name] : starts[part.name] + len(part.pdf.pages)]:
            for link in sheet.get("/Annots", []):
                _aim(link, part, {one.name: one for one in parts}, starts, whole)
    _tags(whole, parts, starts)
    labels = Array()
    for part in parts:
        prefix = {"/P": String(part.letter)} if part.letter else {}
        labels.extend([starts[part.name], Dictionary({"/S": Name(f"/{part.style}"), "/St": part.first, **prefix})])
    whole.Root.PageLabels = Dictionary(Nums=labels)
    whole.Root.Lang = String("en")
    whole.Root.MarkInfo = Dictionary(Marked=True)
    whole.Root.ViewerPreferences = Dictionary(DisplayDocTitle=True)
    whole.Root.PageMode = Name.UseOutlines
    return whole


def _aim(link: Dictionary, part: Part, parts: dict[str, Part], starts: dict[str, int], whole: Pdf) -> None:
    """Let a link that names a page of the book lead to its sheet."""
    address = str(link.A.get("/URI", "")) if "/A" in link else ""
    if address.startswith(BOOK):
        name, _, anchor = address.removeprefix(BOOK).partition("#")
        del link["/A"]
        link.Dest = _place(parts.get(name, part), anchor, starts, whole)
    elif "/Dest" in link:
        link.Dest = _place(part, str(link.Dest).removeprefix("/"), starts, whole)


def _place(part: Part, anchor: str, starts: dict[str, int], whole: Pdf) -> Array:
    number, target = part.anchors.get(anchor, part.anchors[""])
    sheet = whole.pages[starts[part.name] + number].obj
    if target is None:
        return Array([sheet, Name.Fit])
    return Array([sheet, Name.XYZ, target[2], target[3], 0])


def _tags(whole: Pdf, parts: list[Part], starts: dict[str, int]) -> None:
    """Join the trees of tags: their roots under one, the keys that lead from the sheets to them counted on."""
    kids, numbers, names, used = Array(), Array(), Array(), 0
    root = whole.make_indirect(Dictionary(Type=Name.StructTreeRoot))
    for count, part in enumerate(parts):
        if "/StructTreeRoot" not in part.pdf.Root:
            continue
        _rename(part.pdf, f"p{count:02d}-")
        tree = whole.copy_foreign(part.pdf.Root.StructTreeRoot)
        for kid in tree.K if isinstance(tree.K, Array) else [tree.K]:
            kid.P = root
            kids.append(kid)
        largest = 0
        for key, value in _leaves(tree.ParentTree, "/Nums"):
            largest = max(largest, int(key))
            numbers.extend([used + int(key), value])
        for key, value in _leaves(tree.get("/IDTree", Dictionary()), "/Names"):
            names.extend([String(f"p{count:02d}-{key}"), value])
        for sheet in whole.pages[starts[part.name] : starts[part.name] + len(part.pdf.pages)]:
            for holder, key in [
                (sheet.obj, "/StructParents"),
                *((a, "/StructParent") for a in sheet.get("/Annots", [])),
            ]:
                if key in holder:
                    holder[key] = used + int(holder[key])
        used += largest + 1
    root.K, root.ParentTree, root.ParentTreeNextKey = kids, Dictionary(Nums=numbers), used
    if len(names):
        root.IDTree = Dictionary(Names=names)
    whole.Root.StructTreeRoot = root


def _leaves(tree: Dictionary, key: str) -> Iterator[tuple]:
    for kid in tree.get("/Kids", []):
        yield from _leaves(kid, key)
    pairs = tree.get(key, [])
    for number in range(0, len(pairs), 2):
        yield pairs[number], pairs[number + 1]


def _rename(pdf: Pdf, before: str) -> None:
    """Names of table headers, unique in a part, made unique in the whole."""
    for element in pdf.objects:
        if isinstance(element, Dictionary) and element.get("/Type") == Name.StructElem:
            if "/ID" in element:
                element.ID = String(before + str(element.ID))
            for one in element.A if isinstance(element.get("/A"), Array) else []:
                if "/Headers" in one:
                    one.Headers = Array([String(before + str(name)) for name in one.Headers])


def outline(whole: Pdf, pages: list[Page], parts: list[Part]) -> None:
    """Bookmarks: parts of the book, pages, and their sections."""
    starts, at = {}, 0
    for part in parts:
        starts[part.name] = at
        at += len(part.pdf.pages)
    found = {page.name: page for page in pages}
    groups: dict[str, OutlineItem] = {}
    with whole.open_outline() as marks:
        for part in parts:
            page = found.get(part.name)
            item = OutlineItem(part.title, _place(part, "", starts, whole))
            for anchor, title in page.sections() if page else []:
                item.children.append(OutlineItem(title, _place(part, anchor, starts, whole)))
            item.is_closed = True
            caption = page.part if page else "Appendices"
            if not caption:
                marks.root.append(item)
                continue
            if caption not in groups:
                groups[caption] = OutlineItem(caption, _place(part, "", starts, whole))
                marks.root.append(groups[caption])
            groups[caption].children.append(item)
