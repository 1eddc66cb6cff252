"""The strangers' answers that `tests/answers` holds, read from their files; its README says how they are written."""

import itertools
import re
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

from course_practice.engine.changes import applied, code_of, hunks_of, named
from course_practice.engine.source import runnable_source, source_of
from course_practice.exercises import registry

FOLDER = Path(__file__).parent / "answers"
MARKDOWN = MarkdownIt("commonmark").disable(["inline", "text_join"])  # its blocks alone are read
HEADING = re.compile(r"(?P<kind>Right|Wrong): (?P<title>[^→>]+?)( -> (?P<claim>[\w -]+))?")


@dataclass
class Answer:
    """One section of a file of answers."""

    exercise: str
    kind: str
    title: str
    claim: str | None
    given: str
    code: str = ""
    says: tuple[str, ...] = ()
    never_says: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.exercise}: {self.title}"


def read(exercise: str, text: str) -> list[Answer]:
    """The answers of one file."""
    found: list[Answer] = []
    given = heading = ""
    tokens = MARKDOWN.parse(text)
    for before, token in itertools.pairwise(tokens):
        if before.type == "heading_open" and before.tag == "h2":
            heading = token.content
            if match := HEADING.fullmatch(heading):
                found.append(Answer(exercise, match["kind"], match["title"], match["claim"], given))
            elif heading != "Given":
                raise ValueError(
                    f"{exercise}: expected 'Given', 'Right: …' or 'Wrong: … -> diagnosis', got {heading!r}"
                )
        elif token.type == "code_block" and heading == "Given":
            given = token.content
        elif token.type in ("code_block", "fence") and found[-1].code:
            raise ValueError(f"{exercise}: expected one block of code under {heading!r}, got two: give each a heading")
        elif token.type == "code_block":
            found[-1].code = token.content
        elif token.type == "fence" and token.info.split()[:1] == ["diff"]:
            needed, found[-1].code = from_diff(found[-1], token.info.removeprefix("diff").strip(), token.content)
            found[-1].given += needed
        elif token.type == "fence":
            raise ValueError(f"{exercise}: expected code that is indented, got a fence under {heading!r}: indent it")
        elif token.type == "inline" and token.content.startswith("Says: "):
            found[-1].says += (token.content.removeprefix("Says: "),)
        elif token.type == "inline" and token.content.startswith("Never says: "):
            found[-1].never_says += (token.content.removeprefix("Never says: "),)
    return found


def from_diff(answer: Answer, name: str, diff: str) -> tuple[str, str]:
    """What the solution needs of its own module, and its code with the diff applied; or another right answer's."""
    reference = registry()[answer.exercise].reference
    base = named(name, f"course_practice.exercises.{answer.exercise}") if name else reference
    try:
        code = applied(code_of(base), hunks_of(diff))
    except ValueError as error:
        raise ValueError(f"{answer}: {error}\nWrite its diff anew, or its whole code.") from error
    return runnable_source(base).removesuffix(source_of(base).rstrip()), "\n".join(code)


FILES = {f"{path.parent.name}.{path.stem}": path for path in sorted(FOLDER.glob("*/*.md"))}
ANSWERS = [one for name, path in FILES.items() for one in read(name, path.read_text("utf-8"))]
