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

    ### one-too-far
        - return torch.ones(n, n, dtype=torch.bool).tril()
        + return torch.ones(n, n, dtype=torch.bool).tril(1)
    Each token sees one token of its future. …

A mistake is its name, a diff of the solution, and what to tell whoever wrote it. The diff is complete: the lines of the
solution that change, each after a `-`, and what is written instead, after a `+`. Lines next to them follow two spaces,
where it would not be clear otherwise which lines are meant. `### name (by_comparing_positions)` makes it a diff of
another definition in the exercise's `.py`: another right answer, or part of the solution. Where a mistake can be made
in several of them, a line `@ by_comparing_positions` begins its next diff. A block that begins with `def` or `class` is
a whole answer. What is right all the same stands before the fault, in a field of its own, because beside another
mistake only the fault is told: `**But right:** The values are right, but` and in the next line `**Fault:** two axes are
too many.` `### ≈ name` says that it is valid elsewhere, by another convention. In a bug hunt, `## Bugs` lists the bugs
in the same form, each with a question: the starter has all of them (their first diffs), and what is said of every
selection of them is put together from these. The diagnosis `left-axis-and-scale` names the bugs that are still there.
"""

import itertools
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from course_practice.engine.changes import Change, hunks_of, named
from course_practice.engine.model import Convention, Exercise, Mistake

_ENTRY = re.compile(
    r"(?P<kind>≈ )?(?P<name>[^(\n]+?)(?: \((?P<base>[\w.]+)\))?\n(?P<code>(?:    [^\n]*\n|\n)+)"
    r"(?:\*\*But right:\*\* (?P<but_right>.+)\n\*\*Fault:\*\* )?(?P<fault>(?!\*\*(?:But right|Fault):)\S.*)",
    re.DOTALL,
)
_ANOTHER = re.compile(r"^@ ([\w.]+)$", re.MULTILINE)
MOST = 25  # mistakes of an exercise, selections of bugs not counted
_WHOLE = ("def ", "class ", "@")
_COUNTS = ("None", "One", "Two", "Three", "Four", "Five")


def with_text(exercise: Exercise, path: Path, scope: str) -> Exercise:
    """The exercise of a `.py` file with what the Markdown file beside it says; `scope` is the module's name."""
    where = f"{path.parent.name}/{path.name}"
    sections = _sections(path.read_text(encoding="utf-8"))
    title, begin = sections.pop(0)
    stars, _, task = begin.partition("\n")
    minutes = re.fullmatch(r"(★+)☆* · (\d+) min", stars.strip())
    parts = dict(sections)
    unknown = set(parts) - {"Hints", "Bugs", "Mistakes"}
    if minutes is None or unknown:
        wrong = f"the sections {sorted(unknown)}" if unknown else repr(stars)
        raise ValueError(f"{where}: expected '★★☆ · 10 min', Hints, Bugs and Mistakes, got {wrong}: correct it")
    hints = tuple(map(_joined, re.split(r"^\d\. ", parts.get("Hints", ""), flags=re.MULTILINE)[1:]))
    try:
        bugs = [_forms(exercise, text, scope) for text in _entries(parts.get("Bugs", ""))]
        read = [_forms(exercise, text, scope) for text in _entries(parts.get("Mistakes", ""))]
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error
    names = [mistake.name for mistake in (*(forms[0] for forms in read), *exercise.mistakes)]
    wrong = len(hints) != 3 and f"three hints, got {len(hints)}"
    wrong = wrong or (len(names) > MOST and f"at most {MOST} mistakes, got {len(names)}")
    wrong = wrong or (len(set(names)) < len(names) and f"every mistake once, got {sorted(names)}")
    if wrong:
        raise ValueError(f"{where}: expected {wrong}: change the file")
    starter = exercise.starter or (_all_at_once(bugs)[0].function if bugs else None)
    return replace(
        exercise,
        title=title,
        task=_joined(task),
        difficulty=len(minutes[1]),
        minutes=int(minutes[2]),
        hints=hints,
        mistakes=(*_left(bugs), *itertools.chain.from_iterable(read), *exercise.mistakes),
        starter=starter,
    )


def _sections(text: str) -> list[tuple[str, str]]:
    """The title with what follows it, then each section `## …` with its text."""
    found = re.split(r"^##? (.*)$", text, flags=re.MULTILINE)[1:]
    return [(title.strip(), body.strip()) for title, body in zip(found[::2], found[1::2], strict=True)]


def _entries(section: str) -> list[str]:
    return re.split(r"^### ", section, flags=re.MULTILINE)[1:]


def _forms(exercise: Exercise, entry: str, scope: str) -> list[Mistake]:
    """The mistake of an entry, once for each of its diffs."""
    found = _ENTRY.fullmatch(entry.strip())
    if found is None:
        raise ValueError(f"expected a name, an indented diff, and a message under '### ', got {entry!r}: complete it")
    code = textwrap.dedent(found["code"]).strip("\n")
    kind: Callable = Convention if found["kind"] else Mistake
    first, *others = _ANOTHER.split(code)
    diffs = [(found["base"], first), *zip(others[::2], others[1::2], strict=True)]
    changes = [_change(exercise, base, diff.strip("\n"), scope) for base, diff in diffs]
    fault, but_right = _joined(found["fault"]), _joined(found["but_right"] or "")
    return [kind(found["name"], change, fault, but_right) for change in changes]


def _change(exercise: Exercise, name: str | None, code: str, scope: str) -> Change:
    if code.startswith(_WHOLE):
        return Change(exercise.reference, exercise.reference, (), scope, text=code)
    base = named(name, scope) if name else exercise.reference
    answer = base if base in exercise.alternatives else exercise.reference
    return Change(answer, base, hunks_of(code), scope)


def _left(bugs: list[list[Mistake]]) -> Iterator[Mistake]:
    """A mistake for each selection of bugs that are still left, with a question about each, also for all of them.

    The heading `### axis: the axis of the mean` gives a bug its name, and the words for what was found.
    """
    for n_left in range(1, len(bugs) + 1):
        for left in itertools.combinations(bugs, n_left):
            found = [words for bug in bugs if bug not in left for words in [bug[0].name.partition(": ")[2]] if words]
            counted = f"{_COUNTS[len(bugs) - n_left]} of {_COUNTS[len(bugs)].lower()} found"
            names = f": {', '.join(found)}" if found else ""
            asked = " And ".join(bug[0].fault for bug in left)
            name = "left-" + "-and-".join(bug[0].name.partition(": ")[0] for bug in left)
            for change in _all_at_once(left):
                yield Mistake(name, change, f"{asked[0].upper()}{asked[1:]}", but_right=f"{counted}{names}.")


def _all_at_once(bugs: Sequence[list[Mistake]]) -> list[Change]:
    """All of these bugs as one change: of the solution, and of each other right answer that takes them all."""
    first, *others = bugs
    found = [form.wrong for form in first]
    for bug in others:
        both = [change.with_other(form.wrong) for change in found for form in bug]
        found = [change for change in both if change]
    if not found:
        raise ValueError(f"expected bugs on different lines, got {[bug[0].name for bug in bugs]}: write them as one")
    return found


def _joined(text: str) -> str:
    return " ".join(text.split())
