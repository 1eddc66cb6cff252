"""Sphinx extension: Korean words are marked as Korean: a screen reader pronounces them, and a font draws them."""

import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

KOREAN = re.compile(r"([\uac00-\ud7a3]+(?:[\s,·]+[\uac00-\ud7a3]+)*)")


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
    app.add_post_transform(MarkKorean)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
