"""Sphinx extension: buttons that lead to the repository and to Colab, only where the course has a public address."""

from sphinx.application import Sphinx
from sphinx.config import Config

BUTTONS = ("use_repository_button", "use_issues_button")


def configure(app: Sphinx, config: Config) -> None:
    options = config.html_theme_options
    options.update(dict.fromkeys(BUTTONS, bool(options.get("repository_url"))))
    if not options.get("repository_url"):
        options["launch_buttons"] = {}


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("config-inited", configure)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
