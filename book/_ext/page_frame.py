"""Sphinx extension: a page loads one style sheet and three scripts, not eight of each.

A browser shows nothing until it has asked for every style sheet and script that it sees in a page, and has read the
sheets: on a slow phone that takes longer than the page itself. So the sheets of the theme and of the course become one,
in the same order, without the rules of the theme whose classes no page and no script names. The small scripts become
one, too; the theme's two large ones, at the end of a page, stay: all in one they would be one long task.
"""

import re
from pathlib import Path
from zlib import crc32

import tinycss2
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

SHEET = re.compile(r'\s*<link [^>]*?href="((?:\.\./)*)_static/([^"?]+\.css)[^"]*"[^>]*>')
SCRIPT = re.compile(r'\s*<script defer="defer" src="((?:\.\./)*)_static/([^"?]+\.js)[^"]*"></script>')
IMPORT = re.compile(r'@import "([^"]+)";')
NOTES = re.compile(r'@charset "UTF-8";|/\*# sourceMappingURL=.*?\*/')
URL = re.compile(r"url\((?![\"']?(?:data:|#))[\"']?([^\"')]+)[\"']?\)")
NAME = re.compile(r"[.#]((?:\\.|[\w-])+)")
THEMES = "pydata-sphinx-theme.css"  # the only sheet that is long, and made for every kind of site
SHEETS, SCRIPTS = "course.css", "frame.js"
WAITS = '<script defer="defer"'  # the page of the search waits for none of its scripts
KEPT = ("pygments.css",)  # the EPUB reads the colors of code here


def used(sheet: str, words: set[str]) -> str:
    """The sheet without the selectors that ask for a class or an id that is none of the words.

    >>> used(".a,.b .c{color:red}@media print{.c{color:red}}.b:not(.c){top:0}p{top:0}", {"a", "b"})
    '.a{color:red}.b:not(.c){top:0}p{top:0}'
    """
    return "".join(_used(tinycss2.parse_stylesheet(sheet, skip_comments=True, skip_whitespace=True), words))


def _used(rules: list, words: set[str]) -> list[str]:
    found = []
    for rule in rules:
        head = tinycss2.serialize(rule.prelude) if rule.type in ("qualified-rule", "at-rule") else ""
        if rule.type == "qualified-rule":
            kept = [one for one in re.split(r",(?![^(\[]*[)\]])", head) if _is_used(one, words)]
            found += [f"{','.join(kept)}{{{tinycss2.serialize(rule.content)}}}"] if kept else []
        elif rule.type == "at-rule" and rule.lower_at_keyword in ("media", "supports"):
            inside = "".join(_used(tinycss2.parse_rule_list(rule.content, True, True), words))
            found += [f"@{rule.at_keyword}{head}{{{inside}}}"] if inside else []
        elif rule.type == "at-rule" and rule.lower_at_keyword != "charset":
            found.append(rule.serialize())
    return found


def _is_used(selector: str, words: set[str]) -> bool:
    """Does everything that a selector asks for occur? What begins with bs- is put together by Bootstrap's script."""
    names = NAME.findall(re.sub(r":(?:not|is|where|has)\([^()]*\)", "", selector))
    return all(name.replace("\\", "") in words or name.startswith("bs-") for name in names)


def whole(path: Path, static: Path) -> str:
    """A sheet with those that it imports, its addresses as seen from the folder of all sheets."""

    def seen(found: re.Match) -> str:
        return f'url("{(path.parent / found[1]).resolve().relative_to(static.resolve()).as_posix()}")'

    text = URL.sub(seen, NOTES.sub("", path.read_text(encoding="utf-8")))
    return IMPORT.sub(lambda found: whole((path.parent / found[1]).resolve(), static), text)


def same(pages: dict[Path, str], pattern: re.Pattern, where: str = "") -> list[str]:
    """The files that pages load in this way, in order; all of these pages load the same."""
    loaded = {tuple(name for _up, name in pattern.findall(page)) for page in pages.values() if where in page}
    if len(loaded) != 1:
        raise ExtensionError(f"expected the same files in every page, got {sorted(loaded)}: see page_frame.py")
    return list(loaded.pop())


def one(page: str, pattern: re.Pattern, tag: str) -> str:
    """The page with one tag in the place of the first of many.

    >>> one('<link href="../_static/a.css"><p><link href="../_static/b.css">', SHEET, '<link href="{}_static/c.css">')
    '<link href="../_static/c.css"><p>'
    """
    first = pattern.search(page)
    return page[: first.start()] + tag.format(first[1]) + pattern.sub("", page[first.start() :])


def bundle(app: Sphinx, problem: Exception | None) -> None:
    out, static = Path(app.outdir), Path(app.outdir, "_static")
    if problem is not None or app.builder.name != "html" or not (static / "styles" / THEMES).exists():
        return
    texts = {path: path.read_text(encoding="utf-8") for path in out.rglob("*.html") if static not in path.parents}
    pages = {path: text for path, text in texts.items() if SHEET.search(text)}  # one only sends to another
    scripts = {path: path.read_text(encoding="utf-8") for path in static.rglob("*.js")}
    words = set(re.findall(r"[\w-]+", "".join([*pages.values(), *scripts.values()])))
    sheets, small = same(pages, SHEET), same(pages, SCRIPT, where=WAITS)
    whole_sheets = ((name, whole(static / name, static)) for name in sheets)
    rules = "\n".join(used(text, words) if name.endswith(THEMES) else text for name, text in whole_sheets)
    (static / SHEETS).write_text(rules, encoding="utf-8")
    # A script that begins with "use strict" would make all strict that follow: behind a semicolon it is a mere string.
    (static / SCRIPTS).write_text("".join(f";\n{scripts[static / name]}\n" for name in small), encoding="utf-8")
    for path, page in pages.items():
        page = one(page, SHEET, f'<link rel="stylesheet" href="{{}}_static/{SHEETS}?v={version(static / SHEETS)}">')
        if WAITS in page:
            source = f"{{}}_static/{SCRIPTS}?v={version(static / SCRIPTS)}"
            page = one(page, SCRIPT, f'<script defer src="{source}"></script>')
        path.write_text(page, encoding="utf-8")
    for name in {*sheets, "basic.css"} - {SHEETS, *KEPT}:
        (static / name).unlink(missing_ok=True)
    sheets_of_the_theme = static / "styles"
    if not any(sheets_of_the_theme.iterdir()):
        sheets_of_the_theme.rmdir()


def version(path: Path) -> str:
    """A few letters that change with the file, so that no browser takes an old one."""
    return f"{crc32(path.read_bytes()):08x}"


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", bundle, priority=900)  # after what changes the sheets and scripts
    return {"parallel_read_safe": True, "parallel_write_safe": True}
