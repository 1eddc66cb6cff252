"""Sphinx extension: formulas without a network, from the parts of MathJax that a page needs.

The package sphinx-mathjax-offline brings all of MathJax (26 MB, 1.2 MB of it on every page). Formulas here need its
core, TeX, the fonts, and hidden MathML for screen readers; left out is the menu, which makes every formula a stop of
the Tab key.
"""

import shutil
from importlib.util import find_spec
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

PARTS = ("startup.js", "core.js", "input/tex.js", "input/tex/extensions", "output/chtml.js", "output/chtml/fonts")
PARTS += ("a11y/assistive-mml.js",)


def source() -> Path:
    """The folder with MathJax that the package brings."""
    spec = find_spec("sphinx-mathjax-offline")
    if spec is None:
        raise ModuleNotFoundError(
            "expected the package sphinx-mathjax-offline, got none: install requirements.txt (make does it)"
        )
    return Path(spec.origin).parent / "static" / "mathjax"


def configure(app: Sphinx, config: Config) -> None:
    config.mathjax_path = "mathjax/startup.js"
    config.mathjax3_config = {
        "loader": {"load": ["input/tex", "output/chtml", "a11y/assistive-mml"]},
    }


def copy(app: Sphinx, error: Exception | None) -> None:
    if error is not None or app.builder.format != "html":
        return
    target = Path(app.outdir) / "_static" / "mathjax"
    for part in PARTS:
        (target / part).parent.mkdir(parents=True, exist_ok=True)
        if (source() / part).is_dir():
            shutil.copytree(source() / part, target / part, dirs_exist_ok=True)
        else:
            shutil.copy(source() / part, target / part)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("config-inited", configure, priority=100)  # before MyST completes the settings
    app.connect("build-finished", copy)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
