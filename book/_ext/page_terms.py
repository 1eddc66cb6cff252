"""Sphinx extension: the first use of a term in a chapter is a link to the glossary, which carries what it says there.

Where a chapter links to a term itself, its link is used. Words that mean other things as well are left to the chapters.
The script of the book shows it beside the link: under the pointer, at the keyboard's focus, at the first touch. Without
a script the link leads to the glossary, as it does everywhere.
"""

import re
from functools import lru_cache
from html import escape

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

GLOSSARY = "book/glossary"
LINK = re.compile(r'<a class="reference internal" (href="[^"#]*glossary\.html#([^"]+)")')
# Of one word, these mean what the glossary says wherever they stand.
PLAIN = {
    *("ablation", "autocast", "autoregressive", "bfloat16", "dilation", "dropout", "embedding", "entropy", "logits"),
    *("optimizer", "softmax", "subword", "variance"),
}
NOT_IN = (nodes.reference, nodes.literal, nodes.title, nodes.table, nodes.raw, nodes.strong, nodes.emphasis, nodes.math)


class FirstUses(SphinxPostTransform):
    """Link them, once the links of the chapter itself are known."""

    default_priority = 199
    formats = ("html",)

    def run(self, **kwargs: object) -> None:
        page = self.env.docname
        if not page.startswith("chapters/") or GLOSSARY not in self.env.found_docs:
            return
        address = self.app.builder.get_relative_uri(page, GLOSSARY)
        linked = {link.get("refuri", "").partition("#")[2] for link in self.document.findall(nodes.reference)}
        terms = {name: at for name, at in terms_of(self.env.get_doctree(GLOSSARY)).items() if at not in linked}
        for paragraph in self.document.findall(nodes.paragraph):
            for text in list(paragraph.findall(nodes.Text)):
                around = text.parent
                while around is not paragraph and not isinstance(around, NOT_IN):
                    around = around.parent
                if around is paragraph and not isinstance(paragraph.parent, nodes.entry):
                    text.parent.replace(text, list(with_links(text, terms, address)))


def with_links(text: str, terms: dict[str, str], address: str):
    """The text with a link on each of the terms, which are then used up."""
    while terms:
        found = _any_of(*terms).search(text)
        if not found:
            break
        at = terms.pop(found[1].lower())
        yield nodes.Text(text[: found.start()])
        yield nodes.reference("", found[0], refuri=f"{address}#{at}", internal=True)
        text = text[found.end() :]
    yield nodes.Text(text)


@lru_cache(maxsize=1)
def _any_of(*terms: str) -> re.Pattern:
    names = "|".join(map(re.escape, sorted(terms, key=len, reverse=True)))
    return re.compile(rf"(?<![\w-])({names})s?(?![\w-])", re.IGNORECASE)


def terms_of(glossary: nodes.document) -> dict[str, str]:
    """The terms that mean one thing: of several words, or among those above; and the place of each."""
    sections = [part for part in glossary.findall(nodes.section) if isinstance(part.parent, nodes.section)]
    names, known = {part[0].astext().lower(): part["ids"][0] for part in sections}, meanings(glossary)
    return {name: at for name, at in names.items() if at in known and (name in PLAIN or {*" -"} & {*name})}


def meanings(glossary: nodes.document) -> dict[str, tuple[str, str]]:
    """The Korean name and the meaning of each term, by every place that leads to it."""
    found = {}
    for section in glossary.findall(nodes.section):
        first = next((part for part in section.children if isinstance(part, nodes.paragraph)), None)
        if first is not None and isinstance(first[0], nodes.emphasis):
            said = " ".join("".join(part.astext() for part in first[1:]).split())
            found |= dict.fromkeys(section["ids"], (first[0].astext().rstrip("."), said))
    return found


def explained(body: str, known: dict[str, tuple[str, str]]) -> str:
    """The page with the meaning in each link to a term.

    >>> explained('<a class="reference internal" href="glossary.html#key">keys</a>', {"key": ("키", "A vector")})
    '<a class="reference internal course-term" data-hangul="키" data-means="A vector" href="glossary.html#key">keys</a>'
    """

    def term(found: re.Match) -> str:
        if found[2] not in known:
            return found[0]
        korean, means = map(escape, known[found[2]])
        return f'<a class="reference internal course-term" data-hangul="{korean}" data-means="{means}" {found[1]}'

    return LINK.sub(term, body)


def explain(app: Sphinx, page: str, template: str, context: dict, doctree: object) -> None:
    if app.builder.name == "html" and page != GLOSSARY and GLOSSARY in app.env.found_docs and "body" in context:
        if not hasattr(app, "course_terms"):
            app.course_terms = meanings(app.env.get_doctree(GLOSSARY))
        context["body"] = explained(context["body"], app.course_terms)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_post_transform(FirstUses)
    app.connect("html-page-context", explain)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
