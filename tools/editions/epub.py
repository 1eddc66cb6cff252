"""The book as an EPUB 3: one XHTML file a page, formulas as MathML, figures as the pictures that the notebooks store.

It is made from the built pages, as the PDF is, so that both say the same. (Sphinx's own EPUB builder packs the pages
with their scripts and folds, and its XHTML breaks at the HTML of the notebooks' outputs.)
"""

import os
import re
import time
import uuid
import zipfile
from base64 import b64decode
from html import escape
from pathlib import Path, PurePosixPath

from bs4 import BeautifulSoup
from lxml import etree, html

from tools import address
from tools.editions.fragments import BOOK, RIGHTS, Page, authors, read
from tools.environment import LIBRARY, ROOT
from tools.form import read as read_notebook

STYLE = Path(__file__).with_name("epub.css")
EARLIEST = (1980, 1, 1, 0, 0, 0)
XHTML, SVG, MATHML = "http://www.w3.org/1999/xhtml", "http://www.w3.org/2000/svg", "http://www.w3.org/1998/Math/MathML"
EPUB, XLINK = "http://www.idpf.org/2007/ops", "http://www.w3.org/1999/xlink"
# Names of SVG that are not all lower-case, as HTML's parser makes them.
CAPITALS = {
    name.lower(): name for name in ("viewBox", "preserveAspectRatio", "markerWidth", "markerHeight", "refX", "refY")
}
KINDS = {".png": "image/png", ".css": "text/css", ".woff": "font/woff", ".woff2": "font/woff2", ".txt": "text/plain"}
# How it can be read: all that is drawn is also said.
ACCESS = "".join(
    f'<meta property="schema:{name}">{value}</meta>'
    for name, values in (
        ("accessMode", ("textual", "visual")),
        ("accessModeSufficient", ("textual",)),
        ("accessibilityFeature", ("alternativeText", "MathML", "structuralNavigation", "tableOfContents")),
        ("accessibilityHazard", ("none",)),
    )
    for value in values
)
ALT = re.compile(r'<section class="course-alt">(.*?)</section>', re.DOTALL)


def write(book: Path, target: Path, source: Path = ROOT) -> int:
    """Pack the built book; return its number of pages (files)."""
    pages, behind = read(book, source)
    files: dict[str, bytes] = {}
    for page in pages:
        _pictures(page, source, files)
    titles = {page.name: page.title for page in pages}
    bodies = {page.name: (page.title, str(page.article)) for page in pages}
    bodies |= {one.name: (one.title, one.html(titles)) for one in behind.values() if one.sections}
    spine = list(bodies)
    for name, (title, body) in bodies.items():
        files[f"{name}.xhtml"] = xhtml(name, title, body, set(bodies))
    files["nav.xhtml"] = _contents(pages, bodies)
    files["epub.css"] = STYLE.read_bytes() + _code_colors(book).encode()
    for path in sorted((book / "_static" / "fonts").glob("Course*")):
        if path.stem.startswith(("CourseMath", "CourseHangul-Regular")):
            files[f"fonts/{path.name}"] = path.read_bytes()
    files["fonts/CourseHangul-OFL.txt"] = (LIBRARY / "figures" / "fonts" / "OFL.txt").read_bytes()
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        _pack(beside, files, spine, pages[0].title, pages[0].lead)
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)
    return len(spine)


def _pictures(page: Page, source: Path, files: dict[str, bytes]) -> None:
    """The stored picture for each drawn figure; what has none is HTML, and stays."""
    drawn = [one for one in page.article.select(".course-figure") if not one.find_parent(class_="course-figure")]
    notebook = source / f"{page.name}.ipynb"
    if not notebook.exists():
        for figure in drawn:
            for data in figure.select("[data-weights]"):
                data.decompose()
        return
    stored = [found for text in _outputs(notebook) for found in ALT.findall(text)]
    if len(stored) != len(drawn):
        raise RuntimeError(
            f"expected {len(drawn)} figures with a stored picture in {page.name}.ipynb, got {len(stored)}: "
            f"run make notebooks NOTEBOOKS={page.name}.ipynb"
        )
    for number, (figure, still) in enumerate(zip(drawn, stored, strict=True), start=1):
        image = BeautifulSoup(still, "lxml").find("img")
        if image is None:
            continue
        name = f"images/{PurePosixPath(page.name).name}-{number:02d}.png"
        files[name] = b64decode(image["src"].partition(",")[2])
        said = figure.select_one(".course-frame:not([hidden])")
        alt = said["data-text"] if said is not None and said.get("data-text") else image["alt"]
        picture = f'<img src="{BOOK}{name}" alt="{escape(alt)}" width="{image["width"]}">'
        replaced = BeautifulSoup(f'<figure class="paper-figure">{picture}</figure>', "lxml").body.figure
        for shown in figure.select(".course-still, .paper-shown"):
            if shown.name == "p":
                replaced.append(shown.extract())
        caption = figure.find_next_sibling(class_="course-caption")
        figure.replace_with(replaced)
        if caption is not None:
            caption.name = "figcaption"
            replaced.append(caption.extract())


def _outputs(notebook: Path) -> list[str]:
    cells = [cell for cell in read_notebook(notebook).cells if cell.cell_type == "code"]
    shown = [cell for cell in cells if "remove-cell" not in cell.metadata.get("tags", [])]
    return [output["data"].get("text/html", "") for cell in shown for output in cell.outputs if "data" in output]


def xhtml(name: str, title: str, body: str, known: set[str]) -> bytes:
    """A page as XHTML, whose links lead to the other files."""
    root = "../" * name.count("/")
    head = etree.Element(f"{{{XHTML}}}head")
    etree.SubElement(head, f"{{{XHTML}}}title").text = title
    etree.SubElement(head, f"{{{XHTML}}}link", rel="stylesheet", type="text/css", href=f"{root}epub.css")
    page = etree.Element(f"{{{XHTML}}}html", nsmap={None: XHTML, "epub": EPUB}, lang="en")
    page.set("{http://www.w3.org/XML/1998/namespace}lang", "en")
    page.append(head)
    inside = etree.SubElement(page, f"{{{XHTML}}}body")
    inside.append(_named(html.fragment_fromstring(body), XHTML))
    ids: set[str] = set()
    for element in inside.iter(etree.Element):
        for key in ("href", f"{{{XLINK}}}href", "src"):
            if element.get(key, "").startswith(BOOK):
                path, _, anchor = element.get(key).removeprefix(BOOK).partition("#")
                path += ".xhtml" * (path in known)
                element.set(key, root + path + f"#{anchor}" * bool(anchor))
        if element.get("id") in ids:
            del element.attrib["id"]
        ids.add(element.get("id", ""))
    return etree.tostring(page, xml_declaration=True, encoding="utf-8", doctype="<!DOCTYPE html>")


def _named(element: etree._Element, space: str) -> etree._Element:
    """The element with what is in it, each name in its namespace."""
    space = {"svg": SVG, "math": MATHML, "foreignobject": XHTML}.get(element.tag, space)
    tag = CAPITALS.get(element.tag, element.tag) if space == SVG else element.tag
    own = {None: space} if element.tag in ("svg", "math") else {}
    made = etree.Element(f"{{{space}}}{tag}", nsmap=own | ({"xlink": XLINK} if space == SVG else {}))
    for key, value in element.attrib.items():
        if key.startswith(("xmlns", "data-", "on")) or (key == "style" and "--" in value):
            continue
        if space == SVG and key in ("href", "xlink:href"):
            key = f"{{{XLINK}}}href"
        if re.fullmatch(r"[A-Za-z_][\w.-]*|\{.*", key):
            made.set(CAPITALS.get(key, key) if space == SVG else key, value)
    made.text, made.tail = element.text, element.tail
    for child in element:
        if isinstance(child.tag, str):
            made.append(_named(child, space if made.tag.startswith(f"{{{SVG}}}") or space == MATHML else XHTML))
        elif child.tail:  # a comment goes, what follows it stays
            if len(made):
                made[-1].tail = (made[-1].tail or "") + child.tail
            else:
                made.text = (made.text or "") + child.tail
    return made


def _code_colors(book: Path) -> str:
    """The light colors of the book's code."""
    rules = (book / "_static" / "pygments.css").read_text(encoding="utf-8")
    found = re.findall(r'html\[data-theme="light"\] (\.highlight \.\w+ \{[^}]*\})', rules)
    return "".join(f"{rule}\n" for rule in found)


def _contents(pages: list[Page], bodies: dict[str, tuple[str, str]]) -> bytes:
    """The list of contents that a reading program shows: parts, pages, and their sections."""
    parts: dict[str, list[str]] = {}
    by_name = {page.name: page for page in pages}
    for name, (title, _) in bodies.items():
        page = by_name.get(name)
        link = f'<a href="{name}.xhtml">{escape(title)}</a>'
        sections = "".join(
            f'<li><a href="{name}.xhtml#{anchor}">{escape(words)}</a></li>'
            for anchor, words in (page.sections() if page and name.startswith("chapters/") else [])
        )
        part = page.part if page else "Appendices"
        parts.setdefault(part, []).append(f"<li>{link}{f'<ol>{sections}</ol>' if sections else ''}</li>")
    lines = "".join(
        f"<li><span>{escape(part)}</span><ol>{''.join(lines)}</ol></li>" if part else "".join(lines)
        for part, lines in parts.items()
    )
    return (
        f'<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE html>\n<html xmlns="{XHTML}" xmlns:epub="{EPUB}" lang="en" '
        'xml:lang="en"><head><title>Contents</title></head><body>'
        f'<nav epub:type="toc"><h1>Contents</h1><ol>{lines}</ol></nav></body></html>'
    ).encode()


def _pack(target: Path, files: dict[str, bytes], spine: list[str], title: str, about: str) -> None:
    """The zip: first its kind, not compressed, then where the list of files is, then the files."""
    items, places = [], {name: f"f{number}" for number, name in enumerate(sorted(files))}
    for name, place in places.items():
        kind = KINDS.get(PurePosixPath(name).suffix, "application/xhtml+xml")
        has = [
            word
            for word, mark in (("mathml", b"<math"), ("svg", b"<svg"))
            if mark in files[name] and kind.endswith("xhtml+xml")
        ]
        has += ["nav"] * (name == "nav.xhtml")
        properties = f' properties="{" ".join(has)}"' if has else ""
        items.append(f'<item id="{place}" href="{name}" media-type="{kind}"{properties}/>')
    order = "".join(f'<itemref idref="{places[f"{name}.xhtml"]}"/>' for name in spine)
    identifier = address.address() or uuid.uuid5(uuid.NAMESPACE_DNS, title).urn
    changed = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    package = (
        '<?xml version="1.0" encoding="utf-8"?>\n<package xmlns="http://www.idpf.org/2007/opf" version="3.0" '
        'unique-identifier="id" xml:lang="en"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f'<dc:identifier id="id">{escape(identifier)}</dc:identifier><dc:title>{escape(title)}</dc:title>'
        f"<dc:language>en</dc:language><dc:creator>{escape(authors())}</dc:creator><dc:rights>{RIGHTS}</dc:rights>"
        f"<dc:description>{escape(about)}</dc:description>"
        f'<meta property="dcterms:modified">{changed}</meta>{ACCESS}</metadata>'
        f"<manifest>{''.join(items)}</manifest><spine>{order}</spine></package>"
    )
    container = (
        '<?xml version="1.0"?>\n<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
        '<rootfiles><rootfile full-path="book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
    )
    contents = {"META-INF/container.xml": container.encode(), "book.opf": package.encode()} | dict(
        sorted(files.items())
    )
    with zipfile.ZipFile(target, "w") as packed:
        packed.writestr(zipfile.ZipInfo("mimetype", EARLIEST), b"application/epub+zip")
        for name, content in contents.items():
            entry = zipfile.ZipInfo(name, EARLIEST)
            entry.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(entry, content)
