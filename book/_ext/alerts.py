"""Sphinx extension: a quote that begins with a bold word, `> **Important.** …`, becomes an admonition.

So written it reads well wherever a notebook is opened. The words are Note, Tip, Important, Warning and Caution, each
with its full stop; every other quote stays a quote.
"""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

KINDS = {
    "Note.": nodes.note,
    "Tip.": nodes.tip,
    "Important.": nodes.important,
    "Warning.": nodes.warning,
    "Caution.": nodes.caution,
}


class AlertTransform(SphinxTransform):
    """Replace such quotes by admonitions, once a page is parsed."""

    default_priority = 200

    def apply(self) -> None:
        for quote in list(self.document.findall(nodes.block_quote)):
            kind = _take_word(quote)
            if kind:
                quote.replace_self(kind("", *quote.children))


def _take_word(quote: nodes.block_quote) -> type[nodes.Admonition] | None:
    """The admonition a quote asks for; its word is removed. None, and nothing removed, where it asks for none."""
    first = quote.children[0] if quote.children else None
    if not isinstance(first, nodes.paragraph):
        return None
    said = [node for node in first if node.astext().strip()]  # there are empty texts around bold words
    kind = KINDS.get(said[0].astext()) if said and isinstance(said[0], nodes.strong) else None
    if kind:
        del first[: first.index(said[0]) + 1]
        while first.children and not first[0].astext().strip() and isinstance(first[0], nodes.Text):
            del first[0]
        if first.children and isinstance(first[0], nodes.Text):
            first[0] = nodes.Text(first[0].lstrip())
        if not first.children:
            quote.remove(first)
    return kind


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_transform(AlertTransform)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
