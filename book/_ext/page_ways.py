"""Sphinx extension: `{course-ways}`, three ways through the course: hours, sections, and what one has at the end.

`book/ways.yml` names the sections, and `tools.ways` counts their minutes. With the option `sections`, each way lists
its sections with a link to each; without it, what it ends in.
"""

from pathlib import Path
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from page_map import required, title_of, totals
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

from tools import ways


def takes(env: BuildEnvironment) -> list[str]:
    """The hours of each way, to read and to practice."""
    env.note_dependency(str(ways.FILE))
    for chapter in {chapter for way in ways.ways() for chapter in way.sections}:
        env.note_dependency(str(Path(env.srcdir) / "chapters" / f"{chapter}.ipynb"))
    whole = totals(env)
    found = [minutes or 60 * (whole["main"] + whole["practice"]) for minutes in ways.minutes()]
    return [ways.hours(minutes).replace(" ", "\u00a0") for minutes in found]  # not broken across lines


class Ways(SphinxDirective):
    option_spec: ClassVar = {"sections": directives.flag}

    def run(self) -> list[nodes.Node]:
        listed = "sections" in self.options
        box = nodes.container(classes=["course-ways-listed" if listed else "course-ways"])
        before = None
        for way, time in zip(ways.ways(), takes(self.env), strict=True):
            item = nodes.container()
            end = f"[{way.ends}]({ways.address(*way.end)})"
            lines = [f"**{way.name}: {way.first}.** About {time}.", "", end]
            if listed:
                lines = [f"**{way.name}**, about {time}. {end}", "", *self.sections(way, before)]
            self.state.nested_parse(StringList(lines, source=self.env.docname), 0, item)
            box += item
            before = way
        return [box]

    def sections(self, way: ways.Way, before: ways.Way | None) -> list[str]:
        if not way.sections:
            names = required(self.env)
            first, last = (f"[{title_of(self.env, name)}](/chapters/{name}.ipynb)" for name in (names[0], names[-1]))
            return [f"* [Every chapter](/book/index.md#the-chapters), from {first} to {last}, with its exercises."]
        lines = [f"* What *{before.name[0].lower()}{before.name[1:]}* lists, and then:"] if before else []
        for chapter, names in way.sections.items():
            links = (f"[{name.replace('Exercise: ', 'exercise: ')}]({ways.address(chapter, name)})" for name in names)
            lines.append(f"* {title_of(self.env, chapter)}: {' · '.join(links)}")
        return lines


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("course-ways", Ways)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
