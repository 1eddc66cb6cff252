"""Questions are written as Markdown.

    ## by_hand
    The exponentials of three scores are 1, 3, and 4. The third key is hidden. Which weights remain?

    - [x] {{ weights(1, 3) }} — The hidden key also drops out of the sum, so the denominator is 1 + 3 = 4.
    - [ ] 1/8, 3/8 — These sum to a half.

`## name (guess)` is asked before a cell runs, and `## name (many)` may have several right options. What stands in
`{{ … }}` is computed, and written as an f-string writes it: `{{ share:.2f }}`.
"""

import re
from typing import Any

from course_practice.quizzes.engine.model import Option, Question

_COMPUTED = re.compile(r"\{\{ (.+?) \}\}")
_HEADING = re.compile(r"(?P<name>\w+)(?: \((?P<kind>guess|many)\))?")
_OPTION = re.compile(r"\[(?P<mark>[x ])\] (?P<text>.+?) — (?P<why>.+)")


def read(subject: str, text: str, scope: dict[str, Any]) -> dict[str, Question]:
    """The questions of a text by id, `<subject>.<name>`; `scope` has the names that it computes with.

    >>> text = "# Sums\\n\\n## two\\nOne plus one?\\n\\n- [x] {{ one + one }} — Yes.\\n- [ ] 11 — Those are digits.\\n"
    >>> read("sums", text, {"one": 1})["sums.two"].right
    ('2',)
    """
    text = _COMPUTED.sub(lambda found: re.sub(r"^-(?=\d)", "−", eval(f'f"""{{{found[1]}}}"""', dict(scope))), text)
    found: dict[str, Question] = {}
    parts = re.split(r"^## (.*)$", text, flags=re.MULTILINE)[1:]
    for heading, body in zip(parts[::2], parts[1::2], strict=True):
        name = _HEADING.fullmatch(heading)
        if name is None:
            raise ValueError(f"{subject}.md: expected '## name', maybe with '(guess)' or '(many)', got {heading!r}")
        asked, *lines = re.split(r"^- ", body, flags=re.MULTILINE)
        question = Question(
            id=f"{subject}.{name['name']}",
            text=asked.strip(),
            options=[_option(f"{subject}.md, {heading}", line.strip()) for line in lines],
            **({name["kind"]: True} if name["kind"] else {}),
        )
        if question.id in found:
            raise ValueError(f"{subject}.md: expected every question once, got {heading!r} twice: rename one")
        found[question.id] = question
    return found


def _option(where: str, line: str) -> Option:
    found = _OPTION.fullmatch(line)
    if found is None:
        raise ValueError(f"{where}: expected '- [x] text — reason', got {line!r}: write it so")
    return Option(found["text"], found["mark"] == "x", found["why"])
