"""Three ways through the course, as `book/ways.yml` lists them: sections, and the minutes that they take a reader.

The minutes are counted as in a chapter's opening table (`tools.cost`): the main path of the sections, without asides,
and what their exercises say. Going from section to section takes longer than the sum, as readers have shown.
"""

import re
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import yaml

from tools.cost import minutes_to_practice, seconds_to_read
from tools.environment import ROOT
from tools.gates.parsing import Placed, anchor, parts, placed, read

FILE = ROOT / "book" / "ways.yml"
MEASURED = 1.15  # two readers took 199 and 204 minutes for an evening whose parts add up to 175
STARS = re.compile(r" · ★.*$")  # after an exercise's name: how hard it is, and its minutes


class Way(NamedTuple):
    """A way: its name, what it ends in (in three words, in a sentence, at a section), and the sections it adds."""

    name: str
    first: str
    ends: str
    end: tuple[str, str]
    sections: dict[str, list[str]]


def ways() -> list[Way]:
    """All ways, the shortest first. The last one has no sections of its own: it is every chapter."""
    entries = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return [Way(**{"sections": {}, **entry, "end": tuple(entry["end"])}) for entry in entries]


def notebook(chapter: str) -> Path:
    return ROOT / "chapters" / f"{chapter}.ipynb"


def headings(chapter: str) -> dict[str, str]:
    """The anchor of each section of a chapter, by its heading; an exercise's is its name, without stars and minutes."""
    found = (part.text for part in parts(read(notebook(chapter))) if part.kind in {"h2", "h3"})
    return {STARS.sub("", text): anchor(text) for text in found}


def address(chapter: str, section: str) -> str:
    """Where the section is: its notebook, from the root of the course, and its anchor."""
    known = headings(chapter)
    if section not in known:
        raise ValueError(
            f"expected a section of {chapter}, got {section!r}: correct it in book/ways.yml, "
            f"the chapter has {', '.join(known)}"
        )
    return f"/chapters/{chapter}.ipynb#{known[section]}"


def cells(chapter: str, sections: list[str]) -> list[Placed]:
    """The cells of these sections, without asides."""
    wanted = set(sections)
    there = (place for place in placed(read(notebook(chapter))) if not place.aside)
    return [place for place in there if {place.section, STARS.sub("", place.heading)} & wanted]


@lru_cache(maxsize=1)
def minutes() -> list[int]:
    """What each way takes a reader from its first section to its last: to read, to practice, and to find one's way.

    The last way's minutes are those of its chapters' opening tables, which the pages add up: 0 here.
    """
    so_far, found = 0.0, []
    for way in ways():
        for chapter, sections in way.sections.items():
            there = cells(chapter, sections)
            so_far += seconds_to_read(there) / 60 + minutes_to_practice({place.heading for place in there})
        found.append(round(MEASURED * so_far) if way.sections else 0)
    return found


def hours(minutes: float) -> str:
    """To the half hour below five hours, and to the hour above.

    >>> hours(160), hours(700), hours(31)
    ('2½ hours', '12 hours', '½ hour')
    """
    halves = round(minutes / 30) if minutes < 300 else 2 * round(minutes / 60)
    whole, half = divmod(halves, 2)
    return f"{whole or ''}{'½' * half} hour{'s' * (halves > 2)}"
