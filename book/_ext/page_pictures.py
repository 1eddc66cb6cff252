"""Sphinx extension: pages without the small static pictures that figures carry for viewers that take HTML out.

A page shows the figure itself, light or dark; the picture would only add to its weight.
"""

import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

# As course_lib/figures/display.py writes it.
PICTURE = re.compile(r'<section class="course-alt">.*?</section>', re.DOTALL)


class PictureTransform(SphinxPostTransform):
    """Take the pictures out of a page's raw HTML, once its outputs are chosen."""

    default_priority = 900

    def run(self, **kwargs: object) -> None:
        for raw in self.document.findall(nodes.raw):
            if "html" in raw["format"].split():
                raw.children = [nodes.Text(PICTURE.sub("", raw.astext()))]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_post_transform(PictureTransform)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
