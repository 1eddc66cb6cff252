"""Sphinx extension: the map of the paper's equations, written from data.

In book/equations.md, `<!-- equations -->` becomes the rows of book/equations.yml, each with its formula and with
links to where it is built, computed, and proved.
"""

from itertools import groupby
from pathlib import Path

import yaml
from page_map import exists, title_of
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

TITLES = {
    "3": "Model architecture",
    "3.1": "Encoder and decoder stacks",
    "3.2": "Attention",
    "3.3": "Position-wise feed-forward networks",
    "3.4": "Embeddings and softmax",
    "3.5": "Positional encoding",
}


def page(env: BuildEnvironment) -> str:
    """All rows, under a heading for each section of the paper."""
    path = Path(env.srcdir) / "book" / "equations.yml"
    env.note_dependency(str(path))
    lines = []
    for section, rows in groupby(yaml.safe_load(path.read_text(encoding="utf-8")), key=lambda row: row["section"][:3]):
        lines += [f"## {section} · {TITLES[section]}", ""]
        lines += [equation(env, row) for row in rows]
    return "\n".join(lines)


def equation(env: BuildEnvironment, row: dict) -> str:
    """The Markdown of one row."""
    number = f", equation {row['number']}" if "number" in row else ""
    chapter = title_of(env, row["chapter"])
    if exists(env, row["chapter"]):
        chapter = f"[{chapter}](/chapters/{row['chapter']}.ipynb#{row['heading']})"
    library = f"`{row['library']}`" if row["library"] else "not needed: a property"
    tests = ", ".join(f"`{test}`" for test in [f"test_equations.py::test_{row['id']}", *row["proof"]])
    return f"""(equation-{row["id"].replace("_", "-")})=
### {row["title"]}

*Section {row["section"]}{number}.*

$$
{row["formula"].strip()}
$$

* **Chapter:** {chapter}
* **Library:** {library}
* **Tests:** {tests}

{row["differs"]}
"""


def fill(app: Sphinx, docname: str, source: list[str]) -> None:
    if docname == "book/equations":
        source[0] = source[0].replace("<!-- equations -->", page(app.env))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
