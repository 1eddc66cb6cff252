"""The built book: it needs no other host, its links lead somewhere, its pictures have words."""

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup, Tag

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


# A word of code with its color. Half of a page's elements are such, and none of them loads or leads anywhere.
COLORED = re.compile(r'<span class="[a-z0-9]{1,3}">([^<]*)</span>')


@lru_cache(maxsize=64)
def soup(path: Path) -> BeautifulSoup:
    return BeautifulSoup(COLORED.sub(r"\1", path.read_text(encoding="utf-8")), "lxml")


@lru_cache(maxsize=64)
def tags(path: Path) -> dict[str, list[Tag]]:
    """The elements of a page by their names: it is walked once for all gates."""
    found = defaultdict(list)
    for tag in soup(path)(True):
        found[tag.name].append(tag)
    return found


def pages(book: Path) -> list[Path]:
    """The pages of the book, without what stands in the folders of its machinery."""
    return sorted(path for path in book.rglob("*.html") if not path.relative_to(book).parts[0].startswith("_"))


def outside_resources(book: Path) -> list[str]:
    """No page loads anything from another host."""
    found = []
    for path in pages(book):
        for what, address in _loaded(tags(path)):
            found.append(f"{path.relative_to(book)}: {what} loads {address}: {INSTEAD}")
    for path in sorted(book.rglob("*.css")):
        for address in CSS_OUTSIDE.findall(path.read_text(encoding="utf-8", errors="replace")):
            found.append(f"{path.relative_to(book)}: loads {address}: {INSTEAD}")
    return found


def _loaded(page: dict[str, list[Tag]]) -> Iterator[tuple[str, str]]:
    for tag, attributes in LOADED.items():
        for element in page.get(tag, ()):
            for value in (element.get(attribute) or "" for attribute in attributes):
                yield from ((f"<{tag}>", part.strip()) for part in value.split(",") if OUTSIDE.match(part))
    for link in page.get("link", ()):
        if OUTSIDE.match(link.get("href") or "") and not NOT_LOADED & {rel.lower() for rel in link.get("rel") or []}:
            yield "<link>", link["href"]
    for element in (tag for tag in chain.from_iterable(page.values()) if tag.get("style")):
        yield from (("a style attribute", address) for address in CSS_OUTSIDE.findall(element["style"]))
    for element in page.get("style", ()):
        yield from (("<style>", address) for address in CSS_OUTSIDE.findall(element.string or ""))
    for element in (script for script in page.get("script", ()) if not script.has_attr("src")):
        yield from (("a script", address) for address in SCRIPT_OUTSIDE.findall(element.string or ""))
    for element in (meta for meta in page.get("meta", ()) if meta.has_attr("http-equiv")):
        if re.search(r"url=\s*(?:https?:)?//", element.get("content", ""), re.IGNORECASE):
            yield "<meta>", element["content"]


def dead_links(book: Path) -> list[str]:
    """Every link within the book leads to a page, and to a place on it."""
    found, anchors = [], {}
    for path in pages(book):
        for link in (link for link in tags(path).get("a", ()) if link.has_attr("href")):
            address = urlsplit(link["href"])
            if address.scheme or address.netloc:
                continue
            target = _target(path, address.path)
            if not target.exists():
                found.append(f"{path.relative_to(book)}: the link {link['href']!r} leads nowhere: mend it")
            elif address.fragment and target.suffix == ".html":
                if target not in anchors:
                    page = tags(target)
                    anchors[target] = {tag.get("id") for tag in chain.from_iterable(page.values())}
                    anchors[target] |= {link.get("name") for link in page.get("a", ())} | {"", "top"}
                if unquote(address.fragment) not in anchors[target]:
                    found.append(f"{path.relative_to(book)}: nothing at {link['href']!r}: mend the link")
    return found


@lru_cache(maxsize=256)
def _target(path: Path, link: str) -> Path:
    """Where the path of a link on a page leads."""
    target = (path.parent / unquote(link)).resolve() if link else path.resolve()
    return target / "index.html" if target.is_dir() else target


def figures_without_words(book: Path) -> list[str]:
    """Every drawing and image has a name that a screen reader can say."""
    return [f"{path.relative_to(book)}: {what}" for path in pages(book) for what in unnamed(soup(path))]


def titles(book: Path) -> list[str]:
    """Every page has a title, and one heading of the first level (the theme's printed copy aside)."""
    found = []
    for path in pages(book):
        page = tags(path)
        if any(re.search("refresh", meta.get("http-equiv", ""), re.IGNORECASE) for meta in page.get("meta", ())):
            continue
        headings = [heading for heading in page.get("h1", ()) if not heading.find_parent(id="jb-print-docs-body")]
        if len(headings) != 1:
            found.append(
                f"{path.relative_to(book)}: {len(headings)} headings of the first level: expected the title alone"
            )
        if not any(title.get_text(strip=True) for title in page.get("title", ())[:1]):
            found.append(f"{path.relative_to(book)}: no title: give the page a first heading")
    return found


def too_heavy(book: Path) -> list[str]:
    """A page's own bytes, its HTML and its images, stay below the limit."""
    found = []
    for path in pages(book):
        sources = {
            image["src"]
            for image in tags(path).get("img", ())
            if image.get("src") and not urlsplit(image["src"]).scheme
        }
        images = {(path.parent / unquote(urlsplit(source).path)).resolve() for source in sources}
        size = path.stat().st_size + sum(image.stat().st_size for image in images if image.is_file())
        if size > LARGEST_PAGE:
            found.append(f"{path.relative_to(book)}: {size:,} bytes of its own, at most {LARGEST_PAGE:,}: show less")
    return found
