"""Two known mistakes at once, and the lines of the learner's that a mistake is about."""

import ast
import difflib
import functools
import itertools
import re
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

from course_practice.engine.changes import Change, code_of
from course_practice.engine.model import Convention, Mistake
from course_practice.engine.source import first_line, source_of

MOST = 400  # how many pairs, or larger groups, are tried at most
_COUNTS = ("No", "One", "Two", "Three")
_ALIKE = 0.8  # how much of a statement must be the same, names of variables aside


def at_once(mistakes: tuple[Mistake, ...], most: int = 2) -> Iterator[Mistake]:
    """Two mistakes at once (or up to `most`), where their changes touch different lines of the same right answer.

    Selections of bugs (`left-…`) are such already: of them only a single bug is taken, with something else beside it.
    """
    names = {m.name.removeprefix("left-") for m in mistakes}
    single = [m for m in mistakes if isinstance(m.wrong, Change) and not _is_of_several(m.name, names)]
    chosen = itertools.chain.from_iterable(itertools.combinations(single, n) for n in range(2, most + 1))
    for some in itertools.islice(chosen, MOST):
        if sum(m.name.startswith("left-") for m in some) > 1:
            continue
        both = functools.reduce(lambda change, m: change and change.with_other(m.wrong), some[1:], some[0].wrong)
        if both:
            kind: Callable = Convention if all(isinstance(m, Convention) for m in some) else Mistake
            said = " And: ".join(_without_praise(m.message) for m in some)
            yield kind("-and-".join(m.name for m in some), both, f"{_COUNTS[len(some)]} things. {said}")


def _is_of_several(name: str, names: set[str]) -> bool:
    """Is this the name of several mistakes at once, joined by *and*?"""
    parts = name.removeprefix("left-").split("-and-")
    return len(parts) > 1 and all(part in names for part in parts)


def _without_praise(message: str) -> str:
    """A message without its beginning that says what else is right: beside another mistake that need not be true.

    >>> _without_praise("The values are right, but two axes are too many. One table serves all.")
    'Two axes are too many. One table serves all.'
    >>> _without_praise("Right in evaluation. In training nothing is dropped.")
    'In training nothing is dropped.'
    """
    first, _, rest = message.partition(". ")
    if not re.search(r"\b(right|found|repaired|correct)\b", first, re.IGNORECASE):
        return message
    _, turn, after = re.sub(r"; |, and ", ", but ", first).partition(", but ")
    rest = re.sub(r"^Still open: ", "", rest)
    kept = f"{after}. {rest}" if turn and rest else after if turn else rest
    return (kept[:1].upper() if kept.isascii() else kept[:1]) + kept[1:] or message


def guilty_lines(change: Change, obj: Any) -> dict[int, str]:
    """The lines of the learner's code that correspond to those which the change made wrong, by number in their cell.

    None where that is unclear. A line corresponds when it says the same, whatever its variables are called, and no
    other line of the learner's is as near.
    """
    source = source_of(obj)
    if source is None or not change.hunks:
        return {}
    try:
        theirs = _statements(source)
    except SyntaxError:
        return {}
    right = {text for text, _ in _statements("\n".join(code_of(change.base)))}
    found: set[int] = set()
    for text in (text for text, line in _statements("\n".join(change.lines)) if line in _new_lines(change)):
        near = sorted(((_likeness(text, other), line) for other, line in theirs if other not in right), reverse=True)
        if near and near[0][0] >= _ALIKE and (len(near) == 1 or near[0][0] > near[1][0]):
            found.add(near[0][1])
    lines, first = source.splitlines(), first_line(obj) or 1
    return {first + line - 1: lines[line - 1].strip() for line in sorted(found)}


def authors_lines(change: Change) -> str:
    """How the right answer has it, as a hint; nothing where it is more than three lines."""
    lines = [line.strip() for hunk in change.hunks for line in hunk.old if line not in hunk.new]
    return f"A right answer has {' and '.join(f'`{line}`' for line in lines)} here." if 0 < len(lines) <= 3 else ""


def _new_lines(change: Change) -> set[int]:
    """The numbers of the lines that a change brings in, in the changed code."""
    found, moved = set(), 0
    for (start, stop), hunk in sorted(zip(change.spans, change.hunks, strict=True), key=lambda pair: pair[0]):
        found |= {start + moved + i + 1 for i, line in enumerate(hunk.new) if line not in hunk.old}
        moved += len(hunk.new) - (stop - start)
    return found


def _statements(source: str) -> list[tuple[str, int]]:
    """Each statement, and the head of each block, with its variables made anonymous, and its line."""
    tree = ast.parse(textwrap.dedent(source))
    own = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    own |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef | ast.ClassDef):
            head = ast.unparse(node).splitlines()[0]
            found.append((re.sub(r"\b\w+\b", lambda m: "_" if m[0] in own else m[0], head), node.lineno))
    return found


def _likeness(a: str, b: str) -> float:
    words = [re.findall(r"\w+|\S", text) for text in (a, b)]
    return difflib.SequenceMatcher(None, *words, autojunk=False).ratio()
