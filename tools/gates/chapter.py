"""The form of a chapter: how it is stored, how it begins, which sections it has, how long it is, its markdown."""

import json
import re
from itertools import pairwise
from pathlib import Path

from tools import template
from tools.cost import rows
from tools.form import normal_form, text_of
from tools.gates.parsing import Part, calls, markdown, parts, read, strings, words

MADE = "run make notebooks"
ROLE = re.compile(r"\{[\w:-]+\}$")
NOT_SHOWN = re.compile(r"<(?:script|style|iframe|link|object|embed)\b", re.IGNORECASE)
UNKNOWN_TAG = re.compile(r"</?(?!(?:details|summary|a|br|img|kbd|span|sub|sup)\b)[a-z][^>]*>", re.IGNORECASE)


def stored_form(path: Path) -> list[str]:
    """The file is what `make notebooks` writes: readable ids, no counters, no widget state, nothing else."""
    nb = read(path)
    ids = [cell.get("id", "") for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]]  # as they are
    twice = sorted({cell_id for cell_id in ids if ids.count(cell_id) > 1})
    if twice:
        return [f"{path.name}: the cell id {twice[0]!r} stands twice: give one of the cells another"]
    if path.read_text(encoding="utf-8") == text_of(normal_form(nb)):
        return []
    for cell, normal in zip(nb.cells, normal_form(nb).cells, strict=True):
        if cell != normal:
            return [f"{path.name}, cell {cell.get('id', '')!r}: not stored in the normal form: {MADE}"]
    return [f"{path.name}: not stored in the normal form (metadata or layout of the file): {MADE}"]


def set_up(path: Path, url: str) -> list[str]:
    """Below the title is the set-up cell, the same in every chapter; seeds are set before anything is computed."""
    cells = read(path).cells
    first = cells[1] if len(cells) > 1 else None
    found = []
    if first is None or first.cell_type != "code" or first.source != template.set_up_cell(url):
        found.append(f"{path.name}: the cell below the title is not the set-up cell of tools/template.py: {MADE}")
    elif template.SET_UP_TAG not in first.metadata.get("tags", []):
        found.append(f"{path.name}: the set-up cell has no tag {template.SET_UP_TAG!r}: add it")
    code = [cell.source for cell in cells if cell.cell_type == "code"][1:3]
    if not any(calls(source, "make_reproducible") for source in code):
        found.append(f"{path.name}: no make_reproducible(…) right after the set-up: call it in the cell of the imports")
    return found


def sections(path: Path) -> list[str]:
    """The chapter has its sections, in their order, each with what belongs into it."""
    content = list(parts(read(path)))
    titles = [part.text for part in content if part.kind == "h2"]
    found = [f"{path.name}: {complaint}" for complaint in _order(titles)]
    if len([part for part in content if part.kind == "h1"]) != 1:
        found.append(f"{path.name}: expected one heading of the first level, the title: make the others '##'")
    for title, check in {
        "Warm-up": _has_questions(1),
        "Pitfalls, measured": _pitfalls,
        "Exercises": _exercises(template.JOINING_EXERCISES),
        "Quiz": _has_questions(template.QUIZ_QUESTIONS),
        "Recap": _recap,
        "What now": _what_now,
        "Further reading": _reading,
    }.items():
        if title in titles:
            found += [f"{path.name}, ## {title}: {complaint}" for complaint in check(_section(content, title))]
    found += [f"{path.name}: {complaint}" for complaint in _exercises(template.EXERCISES)(content)]
    if not any(calls(part.text, "explore", "attention_view") for part in content if part.kind == "code"):
        found.append(f"{path.name}: no interactive figure: add one with explore(…) or attention_view(…)")
    return found


def _order(titles: list[str]) -> list[str]:
    required = [*template.BEFORE, *template.AFTER]
    missing = [title for title in required if titles.count(title) != 1]
    if missing:
        return [f"expected the section '## {title}' once, got it {titles.count(title)} times" for title in missing]
    start, end = len(template.BEFORE), len(titles) - len(template.AFTER)
    if tuple(titles[:start]) != template.BEFORE or tuple(titles[end:]) != template.AFTER:
        return [f"expected the order {' · '.join(template.BEFORE)} · its own sections · {' · '.join(template.AFTER)}"]
    if start == end:
        return [
            f"no section of its own between '## {template.BEFORE[-1]}' and '## {template.AFTER[0]}': teach something"
        ]
    return []


def _section(content: list[Part], title: str) -> list[Part]:
    start = next(i for i, part in enumerate(content) if part.kind == "h2" and part.text == title)
    rest = content[start + 1 :]
    end = next((i for i, part in enumerate(rest) if part.kind == "h2"), len(rest))
    return rest[:end]


def _blocks(section: list[Part]) -> dict[str, list[Part]]:
    """The parts under each heading of the third level."""
    blocks: dict[str, list[Part]] = {}
    for part in section:
        if part.kind == "h3":
            blocks[part.text] = []
        elif blocks:
            blocks[list(blocks)[-1]].append(part)
    return blocks


def _has_questions(least: int):
    def check(section: list[Part]) -> list[str]:
        code = [part.text for part in section if part.kind == "code"]
        shown = {name for source in code for call in calls(source, "quiz", "warm_up") for name in strings(call)}
        return [] if len(shown) >= least else [f"expected at least {least} questions of quiz(…), got {len(shown)}"]

    return check


def _pitfalls(section: list[Part]) -> list[str]:
    blocks = {title: block for title, block in _blocks(section).items() if not title.startswith(template.ASIDE)}
    found = [
        f"'### {title}' measures nothing: add a cell that shows the effect"
        for title, block in blocks.items()
        if not any(part.kind == "code" for part in block)
    ]
    least, most = template.PITFALLS
    if not least <= len(blocks) <= most:
        found.append(
            f"expected {least} to {most} headings '###', one a pitfall, got {len(blocks)}: "
            "keep those that teach most, the page of pitfalls shows the others"
        )
    return found


def _exercises(least: int):
    def check(section: list[Part]) -> list[str]:
        count = sum(part.kind == "h3" and part.text.startswith("Exercise: ") for part in section)
        return [] if count >= least else [f"expected at least {least} '### Exercise: …', got {count}"]

    return check


def _recap(section: list[Part]) -> list[str]:
    lines = sum(part.kind == "item" for part in section)
    expected = f"expected a list of 1 to {template.RECAP_LINES} lines"
    return [] if 1 <= lines <= template.RECAP_LINES else [f"{expected}, got {lines}"]


def _what_now(section: list[Part]) -> list[str]:
    links = [part for part in section if part.kind == "link" and part.text.partition("#")[0].endswith(".ipynb")]
    return [] if links else ["expected a link to the chapter that goes on from here, got none"]


def _reading(section: list[Part]) -> list[str]:
    links = [part for part in section if part.kind == "link" and part.text.startswith("http")]
    return [] if links else ["expected links to papers, got none"]


def title(path: Path) -> list[str]:
    """The title says the chapter's number and name, as the book calls it everywhere."""
    titles = [part.text for part in parts(read(path)) if part.kind == "h1"]
    expected = template.title(path.stem, "…")
    if titles and re.fullmatch(re.escape(expected).replace("…", r"\S.*"), titles[0]):
        return []
    return [f"{path.name}: expected a title like '# {expected}', got {titles[0] if titles else 'none'!r}: mend it"]


def opening_table(path: Path, costs: dict[str, dict]) -> list[str]:
    """The table under the title: what to build, what to know, and what it takes, which is computed."""
    nb = read(path)
    opening = next((c.source for c in nb.cells if c.cell_type == "markdown" and c.source.startswith("# ")), "")
    missing = [name for name in (template.BUILD, template.NEED) if f"| {name} |" not in opening]
    if missing:
        return [f"{path.name}: the table under the title has no row '| {missing[0]} | … |': add it"]
    if path.stem not in costs:
        return [f"{path.name}: its cost is not in book/results/chapters.json: {MADE}"]
    return [
        f"{path.name}: expected the row '{row}' in the table under the title: {MADE}, never type it"
        for row in rows(nb, costs[path.stem])
        if row not in opening.split("\n")
    ]


def cost(name: str, measured: dict) -> list[str]:
    """A run takes no longer, and no more memory, than a reader's laptop gives."""
    limit = template.LONG_TRAINING.get(name, template.YARDSTICKS)
    most = template.LARGE_MODEL.get(name, template.MEMORY_MB)
    took, memory = measured["seconds"] / measured["yardstick"], measured["memory_mb"]
    found = [f"{took:.0f} yardsticks, at most {limit}: train less"] if took > limit else []
    found += [f"{memory} MB, at most {most}: keep less"] if memory > most else []
    return [f"{name}: {what} (python -m tools.notebooks --times measures it)" for what in found]


def length(path: Path) -> list[str]:
    """Practice comes early."""
    nb, found = read(path), []
    before = 0
    for cell in (cell for cell in nb.cells if cell.cell_type == "markdown"):
        start, exercise, _ = cell.source.partition("### Exercise: ")
        before += words(template.COMPUTED_ROW.sub("", start))
        if exercise:
            break
    if before > template.WORDS_TO_FIRST_EXERCISE:
        found.append(
            f"{path.name}: {before:,} words before the first exercise, at most {template.WORDS_TO_FIRST_EXERCISE:,}: "
            "put one into the section that teaches it"
        )
    return found


def lists(path: Path) -> list[str]:
    """A list is meant as one: a line of a paragraph that happens to begin with '1.' or '-' would be one, too."""
    found = []
    for cell in (cell for cell in read(path).cells if cell.cell_type == "markdown"):
        lines = cell.source.split("\n")
        opened = [t for t in markdown(cell.source) if t.type.endswith("_list_open") and t.level == 0]
        for first in (token.map[0] for token in opened):
            if first > 0 and lines[first - 1].strip():
                found.append(
                    f"{path.name}, cell {cell.id!r}: {lines[first]!r} begins a list in the middle of a paragraph: "
                    "break the line elsewhere, or put a blank line before the list"
                )
    return found


def markdown_everyone_renders(path: Path) -> list[str]:
    """Markdown cells hold what the book, JupyterLab, VS Code, Colab and GitHub all render: no raw directives."""
    found = []
    for cell in read(path).cells:
        where = f"{path.name}, cell {cell.id!r}"
        if cell.cell_type == "raw":
            found.append(f"{where}: a raw cell, which most viewers leave out: use markdown")
        if cell.cell_type != "markdown":
            continue
        tokens = markdown(cell.source)
        verbatim = [line for t in tokens if t.map and t.type in {"fence", "code_block"} for line in range(*t.map)]
        lines = [line for number, line in enumerate(cell.source.split("\n")) if number not in verbatim]
        raw = [line for line in lines if re.match(r"\s*>[\s>]*\[!\w+\]", line)]
        raw += [f"```{t.info.strip()}" for t in tokens if t.type == "fence" and t.info.strip().startswith("{")]
        raw += [line for line in lines if re.match(r"\s*(:{3,}|\+\+\+|% |\([\w-]+\)=\s*$)", line)]
        inline = [child for token in tokens for child in token.children or []]
        raw += [
            before.content
            for before, code in pairwise(inline)
            if code.type == "code_inline" and ROLE.search(before.content)
        ]
        html = [token.content for token in [*tokens, *inline] if token.type in {"html_block", "html_inline"}]
        raw += [match.group() for match in map(NOT_SHOWN.search, html) if match]
        if not raw and (tags := [match.group() for match in map(UNKNOWN_TAG.search, html) if match]):
            found.append(
                f"{where}: {tags[0]!r} is taken for a tag, so readers do not see it: write it as code, in backticks"
            )
        if raw:
            found.append(
                f"{where}: {raw[0].strip()!r} shows as it is outside of the book: use plain markdown, '> **Note.** …'"
            )
    return found
