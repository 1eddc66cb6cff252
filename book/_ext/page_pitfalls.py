"""Sphinx extension: the page of the pitfalls, written from data.

In book/pitfalls.md, `<!-- pitfalls -->` becomes the rows of book/pitfalls/*.yml, each with its snippet and with what
that prints, as `make pitfalls` stored it; `<!-- count -->` becomes their number.
"""

import json
from pathlib import Path

import yaml
from docutils import nodes
from page_map import exists, title_of
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform

SEVERITY = {
    "crash": "stops with an error",
    "silent": "runs, with wrong numbers",
    "misleading": "a wrong explanation",
}


def read(env: BuildEnvironment) -> dict[str, list[dict]]:
    """The rows of each chapter, each with the `output` of its snippet."""
    book = Path(env.srcdir) / "book"
    stored, files = book / "results" / "pitfalls.json", sorted((book / "pitfalls").glob("*.yml"))
    for path in (stored, *files):
        env.note_dependency(str(path))
    outputs = json.loads(stored.read_text(encoding="utf-8"))["outputs"]
    rows = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in files}
    if new := [row["id"] for found in rows.values() for row in found if row["id"] not in outputs]:
        raise ValueError(f"expected a stored output of each pitfall, got none of {', '.join(new)}: run make pitfalls")
    return {chapter: [row | {"output": outputs[row["id"]]} for row in found] for chapter, found in rows.items()}


def page(env: BuildEnvironment, text: str) -> str:
    """The page with its rows, a section for each chapter, and with their number."""
    rows = read(env)
    lines = []
    for chapter, pitfalls in rows.items():
        lines += [f"## {title_of(env, chapter)}", "", *(pitfall(env, chapter, row) for row in pitfalls)]
    return text.replace("<!-- pitfalls -->", "\n".join(lines)).replace(
        "<!-- count -->", str(sum(map(len, rows.values())))
    )


def pitfall(env: BuildEnvironment, chapter: str, row: dict) -> str:
    """The Markdown of one row."""
    check = f' `check("{row["exercise"]}", …)` recognizes it.' if "exercise" in row else ""
    return f"""(pitfall-{row["id"]})=
### {row["mistake"]}

*{SEVERITY[row["severity"]].capitalize()}.* {row["shows"]}

**Instead:** {row["instead"].rstrip(".")}.{check}{link(env, chapter, row.get("section"))}

<details><summary>See it happen</summary>

```python
{row["code"].rstrip()}
```

It prints:

```text
{row["output"].rstrip()}
```

</details>
"""


def link(env: BuildEnvironment, chapter: str, section: str | None) -> str:
    """Where the book says more: the heading in the chapter, else the chapter, else nothing."""
    if not exists(env, chapter):
        return ""
    where, anchor = ("Measured in", f"#{section}") if section else ("More in", "")
    return f" {where} [{title_of(env, chapter)}](/chapters/{chapter}.ipynb{anchor})."


def fill(app: Sphinx, docname: str, source: list[str]) -> None:
    if docname == "book/pitfalls":
        source[0] = page(app.env, source[0])


class FoldChapters(SphinxPostTransform):
    """One fold a chapter, its heading with the number of its rows, each of which carries its kind for the filter."""

    default_priority = 198
    formats = ("html",)

    def run(self, **kwargs: object) -> None:
        if self.env.docname != "book/pitfalls":
            return
        kinds = {f"{words.capitalize()}.": kind for kind, words in SEVERITY.items()}
        page = next(self.document.findall(nodes.section))
        for chapter in [part for part in page.children if isinstance(part, nodes.section)]:
            title, *rows = chapter.children
            for row in (part for part in rows if isinstance(part, nodes.section)):
                kind = next(part.astext() for part in row.findall(nodes.emphasis) if part.astext() in kinds)
                row["classes"] += ["course-pitfall", f"course-{kinds[kind]}"]
            many = sum(isinstance(part, nodes.section) for part in rows)
            count = nodes.raw("", f'<span class="course-count">{many}</span></summary>', format="html")
            chapter.children = []
            opening = nodes.raw("", '<details class="course-fold course-shelf"><summary>', format="html")
            chapter += [opening, title, count, *rows, nodes.raw("", "</details>", format="html")]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_post_transform(FoldChapters)
    app.connect("source-read", fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
