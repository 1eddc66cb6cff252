"""Sphinx extension: `{course-start}`, what a newcomer reads first: where to begin, how long it takes, what it ends in.

Every number is counted or was measured: none is written here.
"""

import json
from pathlib import Path

import yaml
from docutils import nodes
from page_map import exists, required, totals
from page_ways import takes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

FILE = Path("course_lib/stored/translator.json")
ASKS, TEST = "00_prerequisites", "warm-up"  # the chapter with the self-test
FIRST = "01_seq2seq"  # where to begin if it is passed
SEEN, SECTION = "05_masks", "the-causal-mask"  # a chapter to look into


class Start(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        env = self.env
        book = Path(env.srcdir) / "book"
        for path in (Path(env.srcdir) / FILE, *sorted((book / "pitfalls").glob("*.yml"))):
            env.note_dependency(str(path))
        translator = json.loads((Path(env.srcdir) / FILE).read_text(encoding="utf-8"))
        mistakes = sum(len(yaml.safe_load(p.read_text(encoding="utf-8"))) for p in (book / "pitfalls").glob("*.yml"))
        hours = totals(env)
        facts = {
            takes(env)[0]: 'for <a href="#three-ways-through">a model of your own</a> that writes; '
            f"the whole course takes {takes(env)[-1]}",
            f"{hours['exercises']} exercises": f"in {len(required(env))} chapters, whose checks name your mistake",
            f"{mistakes} mistakes": "that people make, each with what it does to a model",
            f"{translator['exact_match']['test']:.1%} right": "of 1,000 new sentences: the translator of "
            f"chapter 17, after {translator['updates']:,} updates on a CPU",
        }
        rows = "".join(f"<div><dt>{name}</dt><dd>{words}</dd></div>" for name, words in facts.items())
        html = f'<p class="course-buttons">{self.buttons()}</p>{self.begin()}<dl class="course-facts">{rows}</dl>'
        return [nodes.raw("", html, format="html")]

    def address(self, chapter: str) -> str:
        return self.env.app.builder.get_relative_uri(self.env.docname, f"chapters/{chapter}")

    def buttons(self) -> str:
        links = []
        if exists(self.env, FIRST):
            links.append(f'<a class="course-first" href="{self.address(FIRST)}">Start with chapter {FIRST[:2]}</a>')
        if exists(self.env, SEEN):
            links.append(f'<a href="{self.address(SEEN)}#{SECTION}">Look into chapter {SEEN[:2]}</a>')
        return " ".join(links)

    def begin(self) -> str:
        if not exists(self.env, ASKS) or not exists(self.env, FIRST):
            return ""
        asks = f'<a href="{self.address(ASKS)}#{TEST}">Five questions</a>'
        return f'<p class="course-begin">New to tensors or gradients? {asks} say whether to begin with {ASKS[:2]}.</p>'


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("course-start", Start)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
