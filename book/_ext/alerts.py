"""Sphinx extension: a quote that begins with `[!NOTE]`, as GitHub writes alerts, becomes an admonition.

Known kinds are GitHub's five: NOTE, TIP, IMPORTANT, WARNING, CAUTION, alone on the quote's first line. Every other
quote stays a quote.
"""

import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

KINDS = {
    "note": nodes.note,
    "tip": nodes.tip,
    "important": nodes.important,
    "warning": nodes.warning,
    "caution": nodes.caution,
}
MARK = re.compile(r"\[!(\w+)\]\s*", re.ASCII)


class AlertTransform(SphinxTransform):
    """Replace alert quotes by admonitions, once a page is parsed."""

    default_priority = 200

    def apply(self) -> None:
        for quote in list(self.document.findall(nodes.block_quote)):
            kind = _take_mark(quote)
            if kind:
                quote.replace_self(kind("", *quote.children))


def _take_mark(quote: nodes.block_quote) -> type[nodes.Admonition] | None:
    """The admonition a quote asks for; its mark is removed. None, and nothing removed, where it asks for none."""
    first = quote.children[0] if quote.children else None
    if not isinstance(first, nodes.paragraph):
        return None
    # a line break is a text of its own
    end = next((i for i, node in enumerate(first) if isinstance(node, nodes.Text) and "\n" in node), len(first))
    line = first[:end]
    plain = all(isinstance(node, nodes.Text) for node in line)
    mark = MARK.fullmatch("".join(node.astext() for node in line)) if plain else None
    kind = KINDS.get(mark[1].lower()) if mark else None
    if kind:
        del first[: end + 1]
        if not first.children:
            quote.remove(first)
    return kind


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_transform(AlertTransform)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
