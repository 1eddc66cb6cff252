"""Sphinx extension: the map of the course, its hours, the list of its chapters, and `{chapter}`, a link to one.

A chapter exists where _toc.yml lists it. Until then it is shown as planned and nothing links to it.
"""

import re
from functools import lru_cache
from html import escape
from pathlib import Path
from xml.etree import ElementTree

import yaml
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective, SphinxRole

from course_lib.figures.machine import CORE, DRAWING, drawing, framed

BOOK = Path("book")
PARTS = BOOK / "chapters.yml"
WORDS = {"title", "desc", "style", "defs", "text"}  # what the small picture does without, and beside these:
MARGIN = {"paper", "margin"}
# What `make notebooks` writes into a chapter's opening table.
TAKES = re.compile(r"\| It takes you \| (\d+) minutes to read(?:, (\d+) for the asides)?, (\d+) to practice \|")
BLOCK = re.compile(r'<g class="(block[^"]*)" data-part="(\w+)" data-chapter="(\w+)">\n(.*?)</g>', re.DOTALL)
SHAPES = re.compile(r" *<title>(.*?)</title>\n")


def exists(env: BuildEnvironment, chapter: str) -> bool:
    return f"chapters/{chapter}" in env.found_docs


def chapters(env: BuildEnvironment) -> list[dict]:
    """The parts of book/chapters.yml."""
    env.note_dependency(str(Path(env.srcdir) / PARTS))
    return parts(env.srcdir)


def parts(root: str | Path) -> list[dict]:
    """The same outside of a page that is being read."""
    return _parsed((Path(root) / PARTS).read_text(encoding="utf-8"))


@lru_cache(maxsize=1)
def _parsed(text: str) -> list[dict]:
    return yaml.safe_load(text)


def required(env: BuildEnvironment) -> list[str]:
    """The chapters that the course counts on, and that have a block of the map: all but those of an optional part."""
    return [name for part in chapters(env) if not part.get("optional") for name in part["chapters"]]


def title_of(env: BuildEnvironment, chapter: str) -> str:
    """What the chapter is called everywhere: its number, and its name as book/chapters.yml states it."""
    titles = {name: entry["title"] for part in chapters(env) for name, entry in part["chapters"].items()}
    if chapter not in titles:
        raise ValueError(f"expected a chapter of book/chapters.yml, got {chapter!r}: use one of {', '.join(titles)}")
    return f"{chapter[:2]} · {titles[chapter]}"


def linked(svg: str, links: dict[str, tuple[str, str]]) -> str:
    """The picture with a link on every block whose chapter has an address and a title, and the others as planned.

    A link says the title and what goes into the block and out, as a term says what it means.
    """

    def block(found: re.Match) -> str:
        classes, part, chapter, content = found.groups()
        look = " ".join([name for name in classes.split() if name != "ready"] + ["ready"] * (chapter in links))
        shapes = SHAPES.search(content)
        group = f'<g class="{look}" data-part="{part}" data-chapter="{chapter}">{SHAPES.sub("", content)}</g>'
        if chapter not in links:
            return group
        address, title = links[chapter]
        means = escape(title) + (f": {shapes[1]}" if shapes else "")
        return f'<a href="{address}" class="course-term" data-hangul="" data-means="{means}">{group}</a>'

    return BLOCK.sub(block, svg).replace('role="img"', 'role="group"', 1)


def small(svg: str, chapter: str) -> str:
    """The middle of the picture without its words, with the blocks of one chapter marked; "" where it has none."""
    view = CORE.search(svg)[1]
    tree = ElementTree.fromstring(re.sub(r' (?:xmlns|id|marker-end)="[^"]*"', "", svg))
    for parent in list(tree.iter()):
        for child in list(parent):
            if child.tag in WORDS or child.get("class") in MARGIN:
                parent.remove(child)
    marked = [group for group in tree.iter("g") if group.attrib.pop("data-chapter", None) == chapter]
    for element in tree.iter():
        element.tail = element.text = None
        if element.attrib.pop("data-part", None):
            element.set("class", "here" if element in marked else "block")
    tree.attrib = {"viewBox": view, "aria-hidden": "true"}
    return ElementTree.tostring(tree, encoding="unicode") if marked else ""


def links(app: Sphinx, page: str) -> dict[str, tuple[str, str]]:
    """The address of each chapter that exists, as this page writes it, and its title."""
    names = {chapter for _, _, chapter, _ in BLOCK.findall(drawing()) if exists(app.env, chapter)}
    address = app.builder.get_relative_uri
    return {name: (address(page, f"chapters/{name}"), title_of(app.env, name)) for name in names}


class Here(SphinxPostTransform):
    """On top of a chapter, the map with the chapter's own blocks marked; it leads to the map."""

    default_priority = 198
    formats = ("html",)

    def run(self, **kwargs: object) -> None:
        folder, _, chapter = self.env.docname.rpartition("/")
        picture = small(drawing(), chapter) if folder == "chapters" else ""
        if picture:
            address = self.app.builder.get_relative_uri(self.env.docname, "book/index")
            link = f'<a class="course-here" href="{address}#the-map" title="The map of the course">'
            words = '<span class="visually-hidden">Where this chapter is on the map of the course</span>'
            section = next(iter(self.document.findall(nodes.section)))
            section.insert(1, nodes.raw("", f"{link}{picture}{words}</a>", format="html"))


class Map(SphinxDirective):
    """`{course-map}`: the picture of the Transformer, each block a link to its chapter."""

    def run(self) -> list[nodes.Node]:
        self.env.note_dependency(str(DRAWING))
        svg = linked(drawing(), links(self.env.app, self.env.docname))
        box = f'<div class="course-map" role="region" aria-label="Map of the course">{framed(svg)}</div>'
        return [nodes.raw("", box, format="html")]


class Machine(SphinxPostTransform):
    """The same picture as the figure of a chapter has its links on the page, too."""

    default_priority = 902  # it has its caption by then
    formats = ("html",)

    def run(self, **kwargs: object) -> None:
        for raw in self.document.findall(nodes.raw):
            if 'class="course-machine"' in (text := raw.astext()) and 'class="course-map"' not in text:
                raw.children = [nodes.Text(linked(text, links(self.app, self.env.docname)))]


def minutes(env: BuildEnvironment, chapter: str) -> tuple[int, int, int]:
    """What a chapter takes its reader: its main path, its asides, its exercises."""
    found = TAKES.search((Path(env.srcdir) / "chapters" / f"{chapter}.ipynb").read_text(encoding="utf-8"))
    return tuple(int(part or 0) for part in found.groups()) if found else (0, 0, 0)


def totals(env: BuildEnvironment) -> dict[str, int]:
    """What all chapters that count take together, in hours, and how many exercises they have."""
    names = [name for name in required(env) if exists(env, name)]
    for name in names:
        env.note_dependency(str(Path(env.srcdir) / "chapters" / f"{name}.ipynb"))
    takes = [minutes(env, name) for name in names]
    main, asides, practice = (round(sum(each) / 60) for each in zip(*takes, strict=True))
    block = round(sum(minutes(env, name)[0] for name in names if name[:2] <= "08") / 60)
    folder = Path(env.srcdir) / "course_practice" / "exercises"
    exercises = sum(len([*(folder / name[3:]).glob("[a-z]*.py")]) for name in names)
    return {
        "chapters": len(names), "main": main, "asides": asides, "practice": practice, "block": block,
        "exercises": exercises,
    }  # fmt: skip


class Hours(SphinxDirective):
    """`{course-hours}`: what the whole course takes, summed up from its chapters, and its number of exercises.

    A part that is optional is not in the sums; `{course-chapters}` shows what its chapters take.
    """

    def run(self) -> list[nodes.Node]:
        hours = totals(self.env)
        text = (
            f"The main path of the {hours['chapters']} chapters takes about **{hours['main']} hours** to read, the "
            f"first {hours['block']} of them up to the first Transformer block. Asides, which you may skip, "
            f"take another {hours['asides']}, and the **{hours['exercises']} exercises** about {hours['practice']}."
        )
        paragraph = nodes.paragraph()
        self.state.nested_parse(StringList([text], source=self.env.docname), 0, paragraph)
        return [*paragraph.children]


class Chapters(SphinxDirective):
    """`{course-chapters}`: every chapter, part by part."""

    def run(self) -> list[nodes.Node]:
        lines = []
        for part in chapters(self.env):
            lines += [f"**{part['part']}**", ""]
            optional = ", optional" * part.get("optional", False)
            for name, entry in part["chapters"].items():
                title = title_of(self.env, name)
                here = exists(self.env, name)
                lines.append(
                    f"* {f'[{title}](/chapters/{name}.ipynb)' if here else f'{title} *(planned)*'}. {entry['about']}"
                    + (f" *{minutes(self.env, name)[0]} minutes{optional}*" if here else "")
                )
            lines.append("")
        box = nodes.container(classes=["course-chapters"])
        self.state.nested_parse(StringList(lines, source=self.env.docname), 0, box)
        return [box]


class ChapterRole(SphinxRole):
    """`{chapter}`05_masks``: a link to 05 · Masks; "chapter 05" where it does not exist yet."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        title = title_of(self.env, self.text)
        if not exists(self.env, self.text):
            return [nodes.Text(f"chapter {self.text[:2]}")], []
        target = self.env.app.builder.get_relative_uri(self.env.docname, f"chapters/{self.text}")
        return [nodes.reference("", title, refuri=target, internal=True)], []


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("course-map", Map)
    app.add_directive("course-chapters", Chapters)
    app.add_directive("course-hours", Hours)
    app.add_post_transform(Here)
    app.add_post_transform(Machine)
    app.add_role("chapter", ChapterRole())
    return {"parallel_read_safe": True, "parallel_write_safe": True}
