"""Sphinx extension: without a public address, no page leads to a repository or to Colab."""

from sphinx.application import Sphinx
from sphinx.config import Config

NEEDS_ADDRESS = ("use_repository_button", "use_issues_button", "use_edit_page_button", "use_source_button")


def configure(app: Sphinx, config: Config) -> None:
    options = config.html_theme_options
    if not options.get("repository_url"):
        options.update(dict.fromkeys(NEEDS_ADDRESS, False), repository_url="", launch_buttons={})


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("config-inited", configure)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
