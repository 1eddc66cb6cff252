"""Two known mistakes at once, and the lines of the learner's that a mistake is about."""

import ast
import difflib
import functools
import itertools
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from course_practice.engine.changes import Change, Hunk, code_of
from course_practice.engine.model import Convention, Mistake
from course_practice.engine.source import first_line, source_of

MOST = 400  # how many pairs, or larger groups, are tried at most
_COUNTS = ("No", "One", "Two", "Three")
_ALIKE, _SAME = 0.8, 0.88  # how much of a statement must be the same, names of variables aside; where no word is new


@functools.lru_cache(maxsize=8)  # a second try finds the answers of the first
def at_once(mistakes: tuple[Mistake, ...], most: int = 2) -> tuple[tuple[Mistake, tuple[Mistake, ...]], ...]:
    """Two mistakes at once (or up to `most`), where their changes touch different words of the same right answer.

    Each comes with the single ones that it is made of.

    Selections of bugs (`left-…`) are such already: of them only a single bug is taken, with something else beside it.
    """
    names = {m.name.removeprefix("left-") for m in mistakes}
    single = [m for m in mistakes if isinstance(m.wrong, Change) and not _is_of_several(m.name, names)]
    chosen = itertools.chain.from_iterable(itertools.combinations(single, n) for n in range(2, most + 1))
    found = []
    for some in itertools.islice(chosen, MOST):
        if sum(m.name.startswith("left-") for m in some) > 1 or len({m.name for m in some}) < len(some):
            continue  # two forms of one mistake would be told twice
        both = functools.reduce(lambda change, m: change and _joined(change, m.wrong), some[1:], some[0].wrong)
        if both:
            kind: Callable = Convention if all(isinstance(m, Convention) for m in some) else Mistake
            said = " And: ".join(m.beside_another for m in some)
            name = "-and-".join(m.name for m in some)
            found.append((kind(name, both, f"{_COUNTS[len(some)]} things. {said}"), some))
    return tuple(found)


def _joined(one: Change, other: Change) -> Change | None:
    """Both changes at once, also where they touch different words of one line; None where they touch the same."""
    if (both := one.with_other(other)) or not one.hunks or (one.answer, one.base) != (other.answer, other.base):
        return both
    base = code_of(one.base)
    codes = ([line.partition("  #")[0] for line in lines] for lines in (base, one.lines, other.lines))  # no comments
    words = _merged(*(re.findall(r"\w+|\s+|.", "\n".join(lines)) for lines in codes))
    try:
        compile("".join(words), "both", "exec")  # finds more than ast.parse, as a keyword that is given twice
    except SyntaxError:
        return None
    return (
        Change(one.answer, one.base, (Hunk(tuple(base), tuple("".join(words).split("\n"))),), one.scope)
        if words
        else None
    )


def _merged(base: Sequence[str], *others: Sequence[str]) -> list[str]:
    """What both others have made of the base, or nothing where both have changed the same.

    >>> "".join(_merged("abcd", "xbcd", "abc")), _merged("abcd", "xbcd", "ybcd")
    ('xbc', [])
    """
    changes = []
    for side, new in enumerate(others):
        codes = _changes(tuple(base), tuple(new))
        changes += [(begin, end, side, new[i:j]) for begin, end, i, j in codes]
    changes.sort(key=lambda change: change[:3])
    if any(end > begin for (_, end, *_), (begin, *_) in itertools.pairwise(changes)):
        return []
    words = list(base)
    for begin, end, _side, new in reversed(changes):
        words[begin:end] = new
    return words


@functools.lru_cache(maxsize=64)  # each mistake is put together with all others
def _changes(base: tuple[str, ...], new: tuple[str, ...]) -> list[tuple[int, int, int, int]]:
    """Where they differ: the begin and the end in both."""
    codes = difflib.SequenceMatcher(None, base, new, autojunk=False).get_opcodes()
    return [places for kind, *places in codes if kind != "equal"]


def _is_of_several(name: str, names: set[str]) -> bool:
    """Is this the name of several mistakes at once, joined by *and*?"""
    parts = name.removeprefix("left-").split("-and-")
    return len(parts) > 1 and all(part in names for part in parts)


def guilty_lines(change: Change, obj: Any) -> dict[int, str]:
    """The lines of the learner's code that correspond to those which the change made wrong, by number in their cell.

    None where that is unclear. A line corresponds when it says the same, whatever its variables are called, has a
    word that the mistake brings in, and no other line of the learner's is as near. If one of the changed lines has
    none, the others may well be right, so they are not shown either.
    """
    source = source_of(obj)
    if source is None or not change.hunks:
        return {}
    try:
        theirs = _statements(source)
    except SyntaxError:
        return {}
    right = {text for text, _ in _statements("\n".join(code_of(change.base)))}
    wrong = _statements("\n".join(change.lines))
    found: set[int | None] = set()
    for hunk, numbers in _new_lines(change):
        old, new = (_words("\n".join(lines)) for lines in (hunk.old, hunk.new))
        open_lines = [(text, line) for text, line in theirs if text not in right and not (old - new) & _words(text)]
        for text in (text for text, line in wrong if line in numbers):
            asked = _words(text) - old or (_words(text) if text in right else set())  # it was moved
            able = [(_likeness(text, other), line) for other, line in open_lines if not asked or asked & _words(other)]
            near = sorted(able, reverse=True)
            alike = _ALIKE if asked else _SAME
            if not near or near[0][0] < alike or not _words(text):  # of variables alone it says nothing
                found.add(None)
            elif len(near) == 1 or near[0][0] > near[1][0]:
                found.add(near[0][1])
    if None in found:
        return {}
    lines, first = source.splitlines(), first_line(obj) or 1
    return {first + line - 1: lines[line - 1].strip() for line in sorted(found)}


def authors_lines(change: Change, obj: Any) -> str:
    """How the right answer has it, as a hint: the lines that the learner lacks, where they are at most three."""
    theirs = {line.strip() for line in (source_of(obj) or "").splitlines()}
    new = [line.strip() for hunk, _ in _new_lines(change) for line in hunk.old if line not in hunk.new]
    lines = [line for line in new if line not in theirs]
    told = 0 < len(lines) <= len(new) <= 3
    return f"A right answer has {' and '.join(f'`{line}`' for line in lines)} here." if told else ""


def _new_lines(change: Change) -> Iterator[tuple[Hunk, set[int]]]:
    """The numbers of the lines that each hunk brings in, in the changed code."""
    moved = 0
    for (start, stop), hunk in sorted(zip(change.spans, change.hunks, strict=True), key=lambda pair: pair[0]):
        yield hunk, {start + moved + i + 1 for i, line in enumerate(hunk.new) if line not in hunk.old}
        moved += len(hunk.new) - (stop - start)


def _words(code: str) -> set[str]:
    return set(re.findall(r"\w+", code)) - {"_"}


@functools.lru_cache(maxsize=128)  # those of a right answer, and of its mistakes
def _statements(source: str) -> list[tuple[str, int]]:
    """Each statement, and the head of each block, with its variables made anonymous, and its line."""
    tree = ast.parse(textwrap.dedent(source))
    own = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    own |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef | ast.ClassDef):
            head = ast.unparse(node).splitlines()[0]
            found.append((re.sub(r"(?<!\.)\b\w+\b", lambda m: "_" if m[0] in own else m[0], head), node.lineno))
    return found


@functools.lru_cache(maxsize=4096)
def _likeness(a: str, b: str) -> float:
    words = [re.findall(r"\w+|\S", text) for text in (a, b)]
    return difflib.SequenceMatcher(None, *words, autojunk=False).ratio()
