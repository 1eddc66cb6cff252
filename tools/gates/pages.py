"""The built book: it needs no other host, its links lead somewhere, its pictures have words."""

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup

from tools.gates.outputs import unnamed

LARGEST_PAGE = 1_500_000  # bytes: the HTML, and the images it shows

# What a browser loads by itself, by tag and attribute. A hyperlink loads nothing until it is followed.
LOADED = {
    "script": ("src",),
    "img": ("src", "srcset"),
    "iframe": ("src",),
    "source": ("src", "srcset"),
    "video": ("src", "poster"),
    "audio": ("src",),
    "track": ("src",),
    "embed": ("src",),
    "object": ("data",),
    "input": ("src",),
    "use": ("href", "xlink:href"),
    "image": ("href", "xlink:href"),
}
NOT_LOADED = {"canonical", "alternate", "author", "license", "search", "next", "prev", "index", "help", "bookmark"}
OUTSIDE = re.compile(r"^\s*(?:https?:)?//", re.IGNORECASE)
CSS_OUTSIDE = re.compile(r"(?:url\(\s*|@import\s+)[\"']?\s*((?:https?:)?//[^\"')\s]+)", re.IGNORECASE)
SCRIPT_OUTSIDE = re.compile(
    r"(?:\bfetch\(|\bimport\(|\bimport\s|\bfrom\s|importScripts\(|\.open\([^)]*?|\.(?:src|href)\s*=|new\s+(?:WebSocket|EventSource|Worker)\()"
    r"\s*[\"'`]((?:https?:|wss?:)?//[^\"'`]+)"
)
INSTEAD = "keep a copy in the book, or do without"


@lru_cache(maxsize=64)
def soup(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text(encoding="utf-8"), "lxml")


def pages(book: Path) -> list[Path]:
    """The pages of the book, without what stands in the folders of its machinery."""
    return sorted(path for path in book.rglob("*.html") if not path.relative_to(book).parts[0].startswith("_"))


def outside_resources(book: Path) -> list[str]:
    """No page loads anything from another host."""
    found = []
    for path in pages(book):
        for what, address in _loaded(soup(path)):
            found.append(f"{path.relative_to(book)}: {what} loads {address}: {INSTEAD}")
    for path in sorted(book.rglob("*.css")):
        for address in CSS_OUTSIDE.findall(path.read_text(encoding="utf-8", errors="replace")):
            found.append(f"{path.relative_to(book)}: loads {address}: {INSTEAD}")
    return found


def _loaded(page: BeautifulSoup) -> Iterator[tuple[str, str]]:
    for tag, attributes in LOADED.items():
        for element in page(tag):
            for value in (element.get(attribute) or "" for attribute in attributes):
                yield from ((f"<{tag}>", part.strip()) for part in value.split(",") if OUTSIDE.match(part))
    for link in page("link"):
        if OUTSIDE.match(link.get("href") or "") and not NOT_LOADED & {rel.lower() for rel in link.get("rel") or []}:
            yield "<link>", link["href"]
    for element in page(style=True):
        yield from (("a style attribute", address) for address in CSS_OUTSIDE.findall(element["style"]))
    for element in page("style"):
        yield from (("<style>", address) for address in CSS_OUTSIDE.findall(element.string or ""))
    for element in page("script", src=False):
        yield from (("a script", address) for address in SCRIPT_OUTSIDE.findall(element.string or ""))
    for element in page("meta", attrs={"http-equiv": True}):
        if re.search(r"url=\s*(?:https?:)?//", element.get("content", ""), re.IGNORECASE):
            yield "<meta>", element["content"]


def dead_links(book: Path) -> list[str]:
    """Every link within the book leads to a page, and to a place on it."""
    found, anchors = [], {}
    for path in pages(book):
        for link in soup(path)("a", href=True):
            address = urlsplit(link["href"])
            if address.scheme or address.netloc:
                continue
            target = (path.parent / unquote(address.path)).resolve() if address.path else path.resolve()
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                found.append(f"{path.relative_to(book)}: the link {link['href']!r} leads nowhere: mend it")
            elif address.fragment and target.suffix == ".html":
                if target not in anchors:
                    page = soup(target)
                    anchors[target] = {t["id"] for t in page(id=True)} | {
                        t["name"] for t in page("a", attrs={"name": True})
                    }
                if unquote(address.fragment) not in anchors[target] | {"", "top"}:
                    found.append(f"{path.relative_to(book)}: nothing at {link['href']!r}: mend the link")
    return found


def figures_without_words(book: Path) -> list[str]:
    """Every drawing and image has a name that a screen reader can say."""
    return [f"{path.relative_to(book)}: {what}" for path in pages(book) for what in unnamed(soup(path))]


def titles(book: Path) -> list[str]:
    """Every page has a title, and one heading of the first level (the theme's printed copy aside)."""
    found = []
    for path in pages(book):
        page = soup(path)
        if page.find("meta", attrs={"http-equiv": re.compile("refresh", re.IGNORECASE)}):
            continue
        headings = [heading for heading in page("h1") if not heading.find_parent(id="jb-print-docs-body")]
        if len(headings) != 1:
            found.append(
                f"{path.relative_to(book)}: {len(headings)} headings of the first level: expected the title alone"
            )
        if not (page.title and page.title.get_text(strip=True)):
            found.append(f"{path.relative_to(book)}: no title: give the page a first heading")
    return found


def too_heavy(book: Path) -> list[str]:
    """A page's own bytes, its HTML and its images, stay below the limit."""
    found = []
    for path in pages(book):
        sources = {image["src"] for image in soup(path)("img", src=True) if not urlsplit(image["src"]).scheme}
        images = {(path.parent / unquote(urlsplit(source).path)).resolve() for source in sources}
        size = path.stat().st_size + sum(image.stat().st_size for image in images if image.is_file())
        if size > LARGEST_PAGE:
            found.append(f"{path.relative_to(book)}: {size:,} bytes of its own, at most {LARGEST_PAGE:,}: show less")
    return found
