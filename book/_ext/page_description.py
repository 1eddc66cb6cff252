"""Sphinx extension: what a search engine or a shared link shows of a page, its title and a sentence about it.

A chapter's sentence is that of book/chapters.yml; another page's is what its first section says.
"""

from textwrap import shorten

from docutils import nodes
from markupsafe import escape
from page_map import parts
from page_search import places
from sphinx.application import Sphinx

from tools.address import pages

LENGTH = 160  # of the sentence
TAGS = (
    '<meta name="description" content="{about}">',
    '<meta property="og:title" content="{title}">',
    '<meta property="og:description" content="{about}">',
    '<meta property="og:type" content="article">',
    '<meta property="og:site_name" content="{site}">',
    '<meta name="twitter:card" content="{card}">',
)
# Only an address of its own makes it a picture that others can load.
PICTURE = (
    '<meta property="og:image" content="{address}/_static/card.png">',
    '<meta property="og:image:alt" content="The encoder and the decoder of the Transformer">',
)


def about(app: Sphinx, page: str) -> str:
    """The sentence about a page, "" where it says nothing."""
    sentences = {name: entry["about"] for part in parts(app.srcdir) for name, entry in part["chapters"].items()}
    if page.startswith("chapters/"):
        return sentences.get(page.removeprefix("chapters/"), "")
    if page not in app.env.found_docs:
        return ""
    said = next((prose for _id, _title, prose, _code in places(app.env.get_doctree(page)) if prose), "")
    return shorten(said, LENGTH, placeholder=" …")


def describe(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None) -> None:
    sentence = about(app, page)
    if app.builder.name == "html" and sentence:
        url = app.config.html_theme_options.get("repository_url")
        words = {"about": escape(sentence), "title": escape(context["title"]), "site": escape(app.config.html_title)}
        words |= {"card": "summary_large_image", "address": pages(url)} if url else {"card": "summary"}
        tags = TAGS + PICTURE if url else TAGS
        context["metatags"] = context.get("metatags", "") + "".join(tag.format(**words) for tag in tags)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", describe)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
