"""Sphinx extension: Korean words are marked as Korean: a screen reader pronounces them, and a font draws them.

The search finds a term of the glossary by its Korean name, too, at its own line.
"""

import re

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform

KOREAN = re.compile(r"([\uac00-\ud7a3]+(?:[\s,·]+[\uac00-\ud7a3]+)*)")


class IndexKorean(SphinxTransform):
    """Entries of the index for each heading whose text begins with a Korean name, or several, in italics."""

    default_priority = 900

    def apply(self, **kwargs: object) -> None:
        for section in list(self.document.findall(nodes.section)):
            first = next((part for part in section.children if isinstance(part, nodes.paragraph)), None)
            name = first.children[0] if first is not None and first.children else None
            if isinstance(name, nodes.emphasis) and KOREAN.match(name.astext()) and section["ids"]:
                names = name.astext().rstrip(".").split(", ")
                entries = [("single", one, section["ids"][0], "main", None) for one in names]
                section.insert(1, addnodes.index(entries=entries))


class MarkKorean(SphinxPostTransform):
    default_priority = 300
    formats = ("html",)

    def run(self, **kwargs: object) -> None:
        for text in list(self.document.findall(nodes.Text)):
            if KOREAN.search(text) and not isinstance(text.parent, nodes.raw | nodes.literal_block | nodes.title):
                text.parent.replace(text, [self._marked(piece) for piece in KOREAN.split(text) if piece])

    @staticmethod
    def _marked(piece: str) -> nodes.Node:
        if not KOREAN.fullmatch(piece):
            return nodes.Text(piece)
        return nodes.raw("", f'<span lang="ko">{piece}</span>', format="html")


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_transform(IndexKorean)
    app.add_post_transform(MarkKorean)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
