"""Sphinx extension: what a reader is asked to do stands in a card, and a mistake is marked as one.

* A prediction: from `**Predict, then run.**` to the fold "What you saw", with the guess, the code, and what it prints.
  Where the guess asks in nearly the same words, one of the two is seen: the longer.
* A question: from `**In one sentence:**` to the fold "A model answer".
* An exercise: from its heading to its solution; the heading's stars and minutes are set apart.
* A pitfall: each section under "Pitfalls, measured".
* The opening table, whose first row is no heading.
* Each section of a chapter, which is laid out when it comes near or when there is time (`course.js`).

The words stay as they are in the chapter; only what groups them is added, and the form is the style sheet's.
"""

import re
from html import unescape

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

EXERCISE = "Exercise: "
PITFALLS = "Pitfalls, measured"
SOLUTION = "show_solution("
ASKED = {"Predict, then run.": ("predict", "What you saw"), "In one sentence:": ("say", "A model answer")}
LEGEND = re.compile(r"<legend[^>]*>(.*?)</legend>", re.DOTALL)
SAME = 0.7  # of the words of the shorter question, and all its numbers; else each says something of its own
EFFORT = re.compile(r" · ([★☆]+ · \d+ min)$")


class Acts(SphinxPostTransform):
    """Group the acts, before the cells among them are folded."""

    default_priority = 197
    formats = ("html",)

    def run(self, **kwargs: object) -> None:
        for table in self.document.findall(nodes.table):
            if table.astext().lstrip().startswith("You will build"):
                table["classes"].append("course-opening")
        chapter = self.env.docname.startswith("chapters/")
        for section in list(self.document.findall(nodes.section)):
            if chapter and isinstance(section.parent, nodes.section):
                section["classes"].append("course-later")
            if section.children:
                for card, parts in asked(section):
                    number_outputs(parts)
                    if card == "predict" and asked_twice(parts):
                        card += " course-asked"
                    wrap(section, card, parts[0], parts[-1])
                title = section[0].astext()
                if title.startswith(EXERCISE):
                    solutions = [part for part in section if source(part).startswith(SOLUTION)]
                    if solutions:
                        wrap(section, "exercise", section[0], solutions[-1])
                    set_apart(next(section.findall(nodes.title)))
                elif title == PITFALLS:
                    for part in section.findall(nodes.section):
                        if part.parent is section:
                            part["classes"].append("course-pitfall")


def asked(section: nodes.section) -> list[tuple[str, list[nodes.Node]]]:
    """The kind of each question among the section's own parts, and the parts from it to the end of its answer."""
    found, card, first, answer = [], "", 0, ""
    for number, part in enumerate(section):
        bold = next(part.findall(nodes.strong), None) if isinstance(part, nodes.paragraph) else None
        opening = bold.astext() if bold is not None and part.astext().startswith(bold.astext()) else ""
        if opening in ASKED:
            (card, answer), first = ASKED[opening], number
        elif card and answer and isinstance(part, nodes.raw) and f"<summary>{answer}</summary>" in part.astext():
            answer = ""
        if card and not answer and isinstance(part, nodes.raw) and "</details>" in part.astext():
            found.append((card, section[first : number + 1]))
            card = ""
    return found


def asked_twice(parts: list[nodes.Node]) -> bool:
    """Whether the text in front asks what the guess asks, in as many words or more. Where it has fewer, it goes."""
    found = (LEGEND.search(raw.astext()) for part in parts for raw in part.findall(nodes.raw))
    legend = next((unescape(re.sub("<[^>]+>", "", match[1])) for match in found if match), "")
    bold, *question = parts[0].children
    text = "".join(part.astext() for part in question)
    shorter, longer = sorted((text, legend), key=len)
    told = _telling(shorter)
    missing = told - _telling(longer)
    if not told or len(missing) > (1 - SAME) * len(told) or any(map(str.isdigit, missing)):
        return False
    if len(text) < len(legend):
        parts[0].children = [bold]
        return False
    return True


def _telling(text: str) -> set[str]:
    """Its numbers and longer words, without their endings: short words tell no question from another."""
    words = re.findall(r"\d+|[^\W\d_]{4,}", text.lower())
    return {re.sub("(?:ing|ed|e?s|e)$", "", word) for word in words}


def number_outputs(parts: list[nodes.Node]) -> None:
    """Where a prediction has several outputs to show, each says which it is."""
    hidden = [part for part in parts if "output" in (part.get("hide_mode") or "")]
    for number, part in enumerate(hidden, 1):
        part["which"] = f" {number} of {len(hidden)}" if len(hidden) > 1 else ""


def wrap(section: nodes.section, card: str, first: nodes.Node, last: nodes.Node) -> None:
    """Put a box around two parts of a section and all between them."""
    opening = nodes.raw("", f'<div class="course-act course-{card}">', format="html")
    section.insert(section.index(first), opening)
    section.insert(section.index(last) + 1, nodes.raw("", "</div>", format="html"))


def set_apart(title: nodes.title) -> None:
    """Mark the kind in front of an exercise's name, and the stars and minutes behind it."""
    kind, effort = EXERCISE, EFFORT.search(title[-1].astext())
    if effort and isinstance(title[-1], nodes.Text):
        rest = title[-1].astext()[: effort.start()]
        dot = nodes.inline("", " · ", classes=["visually-hidden"])
        title.replace(
            title[-1], [nodes.Text(rest), nodes.inline("", "", dot, nodes.Text(effort[1]), classes=["course-effort"])]
        )
    first = title[0].astext()
    title.replace(title[0], [nodes.inline("", kind, classes=["course-kind"]), nodes.Text(first.removeprefix(kind))])


def source(part: nodes.Node) -> str:
    """The code of a cell, or nothing."""
    cell = isinstance(part, nodes.container) and part.get("nb_element") == "cell_code"
    return part[0].astext() if cell and part.children else ""


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_post_transform(Acts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
