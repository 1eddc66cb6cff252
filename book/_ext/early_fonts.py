"""Sphinx extension: the fonts of text stand in the style sheet itself, so that no line moves when they arrive.

A browser shows the first lines when it has read the style sheet. Letters that come in a file of their own come later,
and where they are narrower than the machine's, a line breaks elsewhere.
"""

import re
from base64 import b64encode
from pathlib import Path

from sphinx.application import Sphinx

EARLY = re.compile(r'url\("(fonts/Course(?:Text|Code)-(?:Regular|Semibold)\.woff)"\)')


def embed(app: Sphinx, problem: Exception | None) -> None:
    sheet = Path(app.outdir) / "_static" / "course.css"
    if problem is None and sheet.exists():

        def data(found: re.Match) -> str:
            return f'url("data:font/woff;base64,{b64encode((sheet.parent / found[1]).read_bytes()).decode()}")'

        sheet.write_text(EARLY.sub(data, sheet.read_text(encoding="utf-8")), encoding="utf-8")
        code = sheet.with_name("pygments.css")  # a page is light until a script says otherwise
        light = code.read_text(encoding="utf-8").replace('html[data-theme="light"]', 'html:not([data-theme="dark"])')
        code.write_text(light, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", embed)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
