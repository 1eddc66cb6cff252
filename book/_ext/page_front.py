"""Sphinx extension: `{course-start}`, what a newcomer reads first: where to begin, how long it takes, what it ends in.

Every number is counted or was measured: none is written here.
"""

import json
from pathlib import Path

import yaml
from docutils import nodes
from page_figure import FILE
from page_map import exists, required, title_of, totals
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

FIRST, SEEN = "01_seq2seq", "05_masks"  # where to begin, and a chapter to look into
SECTION = "the-causal-mask"


class Start(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        env = self.env
        book = Path(env.srcdir) / "book"
        for path in (Path(env.srcdir) / FILE, *sorted((book / "pitfalls").glob("*.yml"))):
            env.note_dependency(str(path))
        stored = json.loads((Path(env.srcdir) / FILE).read_text(encoding="utf-8"))
        mistakes = sum(len(yaml.safe_load(p.read_text(encoding="utf-8"))) for p in (book / "pitfalls").glob("*.yml"))
        hours = totals(env)
        facts = {
            f"{hours['main']} + {hours['practice']} hours": f"to read {len(required(env))} chapters, and to practice",
            f"{hours['exercises']} exercises": "whose checks name your mistake",
            f"{mistakes} mistakes": "that others made, each with what it does",
            f"{stored['exact_match_on_test']:.1%} right": f"of {stored['test_sentences']:,} sentences new to your "
            f"translator, after {stored['training_seconds']} seconds of training on a CPU",
        }
        rows = "".join(f"<div><dt>{name}</dt><dd>{words}</dd></div>" for name, words in facts.items())
        html = f'<p class="course-buttons">{self.buttons()}</p><dl class="course-facts">{rows}</dl>'
        return [nodes.raw("", html, format="html")]

    def buttons(self) -> str:
        uri = self.env.app.builder.get_relative_uri
        links = []
        if exists(self.env, FIRST):
            words = f"Start with {title_of(self.env, FIRST)}"
            links.append(f'<a class="course-first" href="{uri(self.env.docname, f"chapters/{FIRST}")}">{words}</a>')
        if exists(self.env, SEEN):
            address = f"{uri(self.env.docname, f'chapters/{SEEN}')}#{SECTION}"
            links.append(f'<a href="{address}">See a piece of a chapter</a>')
        return " ".join(links)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("course-start", Start)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
