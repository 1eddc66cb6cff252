"""An exercise's text: a Markdown file with its title, task, hints, and the mistakes that people make.

    # The causal mask
    ★☆☆ · 5 min

    Return an (n, n) boolean mask, …

    ## Hints
    1. Draw the mask for three tokens: …

    ## Mistakes

    ### excludes-self
        - return torch.ones(n, n, dtype=torch.bool).tril()
        + return torch.ones(n, n, dtype=torch.bool).tril(-1)
    Your mask hides each token from itself. …

A mistake is its name, a diff of the solution, and what to tell whoever wrote it. `### name (with_two_loops)` makes it a
diff of another definition in the exercise's `.py`: another right answer, or a part of the solution. A block that begins
with `def` or `class` is a whole answer. `### ≈ name` says that it is valid elsewhere, by another convention. In a bug
hunt, `## Bugs` lists the bugs in the same form, each with a question: the starter has all of them, and what is said of
every selection of them is put together from these.
"""

import functools
import itertools
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from course_practice.engine.changes import Change, hunks_of, named
from course_practice.engine.model import Convention, Exercise, Mistake

_ENTRY = re.compile(
    r"(?P<kind>≈ )?(?P<name>[^(\n]+?)(?: \((?P<base>[\w.]+)\))?\n(?P<code>(?:    .*\n|\n)+)(?P<words>\S.*)", re.DOTALL
)
MOST = 25  # mistakes of an exercise, selections of bugs not counted
_WHOLE = ("def ", "class ", "@")
_COUNTS = ("None", "One", "Two", "Three", "Four", "Five")


def with_text(exercise: Exercise, path: Path, scope: str) -> Exercise:
    """The exercise of a `.py` file with what the Markdown file beside it says; `scope` is the module's name."""
    sections = _sections(path.read_text(encoding="utf-8"))
    title, begin = sections.pop(0)
    stars, _, task = begin.partition("\n")
    minutes = re.fullmatch(r"(★+)☆* · (\d+) min", stars.strip())
    parts = dict(sections)
    unknown = set(parts) - {"Hints", "Bugs", "Mistakes"}
    if minutes is None or unknown:
        wrong = f"the sections {sorted(unknown)}" if unknown else repr(stars)
        raise ValueError(f"{path.name}: expected '★★☆ · 10 min', Hints, Bugs and Mistakes, got {wrong}: correct it")
    hints = tuple(map(_joined, re.split(r"^\d\. ", parts.get("Hints", ""), flags=re.MULTILINE)[1:]))
    try:
        read = [_mistake(exercise, text, scope) for text in _entries(parts.get("Mistakes", ""))]
        bugs = [_mistake(exercise, text, scope) for text in _entries(parts.get("Bugs", ""))]
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from error
    names = [mistake.name for mistake in (*read, *exercise.mistakes)]
    wrong = len(hints) != 3 and f"three hints, got {len(hints)}"
    wrong = wrong or (len(names) > MOST and f"at most {MOST} mistakes, got {len(names)}")
    wrong = wrong or (len(set(names)) < len(names) and f"every mistake once, got {sorted(names)}")
    if wrong:
        raise ValueError(f"{path.name}: expected {wrong}: change the file")
    starter = exercise.starter or (_all_at_once(bugs).function if bugs else None)
    return replace(
        exercise,
        title=title,
        task=_joined(task),
        difficulty=len(minutes[1]),
        minutes=int(minutes[2]),
        hints=hints,
        mistakes=(*_left(bugs), *read, *exercise.mistakes),
        starter=starter,
    )


def _sections(text: str) -> list[tuple[str, str]]:
    """The title with what follows it, then each section `## …` with its text."""
    found = re.split(r"^##? (.*)$", text, flags=re.MULTILINE)[1:]
    return [(title.strip(), body.strip()) for title, body in zip(found[::2], found[1::2], strict=True)]


def _entries(section: str) -> list[str]:
    return re.split(r"^### ", section, flags=re.MULTILINE)[1:]


def _mistake(exercise: Exercise, entry: str, scope: str) -> Mistake:
    found = _ENTRY.fullmatch(entry.strip())
    if found is None:
        raise ValueError(f"expected a name, an indented diff, and a message under '### ', got {entry!r}: complete it")
    code = textwrap.dedent(found["code"]).strip("\n")
    if code.startswith(_WHOLE):
        change = Change(exercise.reference, exercise.reference, (), scope, text=code)
    else:
        base = named(found["base"], scope) if found["base"] else exercise.reference
        answer = base if base in exercise.alternatives else exercise.reference
        change = Change(answer, base, hunks_of(code), scope)
    kind: Callable = Convention if found["kind"] else Mistake
    return kind(found["name"], change, _joined(found["words"]))


def _left(bugs: list[Mistake]) -> Iterator[Mistake]:
    """A mistake for each selection of bugs that are still left, with a question about each; all of them is no answer.

    The heading `### axis: the axis of the mean` gives a bug its name, and the words for what was found.
    """
    for n_left in range(1, len(bugs)):
        for left in itertools.combinations(bugs, n_left):
            change = _all_at_once(left)
            found = [words for bug in bugs if bug not in left for words in [bug.name.partition(": ")[2]] if words]
            counted = f"{_COUNTS[len(bugs) - n_left]} of {_COUNTS[len(bugs)].lower()} found"
            names = f": {', '.join(found)}" if found else ""
            asked = " And ".join(bug.message for bug in left)
            name = "left-" + "-and-".join(bug.name.partition(": ")[0] for bug in left)
            yield Mistake(name, change, f"{counted}{names}. {asked[0].upper()}{asked[1:]}")


def _all_at_once(bugs: Sequence[Mistake]) -> Change:
    change = functools.reduce(lambda change, bug: change and change.with_other(bug.wrong), bugs[1:], bugs[0].wrong)
    if change is None:
        raise ValueError(f"expected bugs on different lines, got {[bug.name for bug in bugs]}: write them as one")
    return change


def _joined(text: str) -> str:
    return " ".join(text.split())
