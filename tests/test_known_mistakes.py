"""Each mistake that people are known to make is measured or recognized: the places in known_mistakes.yml exist."""

import re
from functools import cache
from itertools import takewhile
from pathlib import Path

import pytest
import yaml

from course_practice import quizzes
from course_practice.exercises import registry
from tools import pitfalls
from tools.environment import CHAPTERS, ROOT
from tools.gates.links import contents
from tools.gates.reading import anchor, calls

KNOWN = yaml.safe_load((ROOT / "tests" / "known_mistakes.yml").read_text(encoding="utf-8"))
MEASURES_NOTHING = ("quiz", "warm_up", "check", "show_solution")


def wrong_place(place: str) -> str | None:
    """What is wrong with a place, or None where something is measured or recognized there."""
    kind, _, name = place.partition(":")
    if kind == "pitfall":
        return None if name in _pitfalls() else f"no row has the id {name!r}"
    if kind == "check":
        exercise, _, mistake = name.partition("/")
        if exercise not in registry():
            return f"no exercise is called {exercise!r}"
        names = {known.name for known in registry()[exercise].mistakes}
        return None if mistake in names else f"{exercise} recognizes no mistake {mistake!r}"
    if kind == "section":
        chapter, _, heading = name.partition("#")
        return _wrong_section(CHAPTERS / f"{chapter}.ipynb", heading)
    if kind == "question":
        return None if name in quizzes.registry() else f"no question is called {name!r}"
    return f"expected pitfall:, check:, section:, or question:, got {place!r}"


@cache
def _pitfalls() -> dict[str, str]:
    """The section that measures each pitfall, "" where none does."""
    return {
        row["id"]: f"section:{row['chapter']}#{row['section']}" if "section" in row else "" for row in pitfalls.rows()
    }


@cache
def _parts(chapter: Path) -> list:
    return contents(chapter)


@cache
def _wrong_section(chapter: Path, heading: str) -> str | None:
    """A section measures something if code stands in it, or in the sections under it, that does not only ask."""
    if not chapter.exists():
        return f"there is no {chapter.name}"
    parts = _parts(chapter)
    start = next((i for i, part in enumerate(parts) if _level(part) and anchor(part.text) == heading), None)
    if start is None:
        return f"{chapter.name} has no heading {heading!r}"
    below = takewhile(lambda part: not _level(part) or _level(part) > _level(parts[start]), parts[start + 1 :])
    code = [part.text for part in below if part.kind == "code"]
    return None if any(not calls(text, *MEASURES_NOTHING) for text in code) else f"{heading!r} measures nothing"


def _level(part) -> int:
    return int(part.kind[1]) if re.fullmatch(r"h\d", part.kind) else 0


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known["mistake"])
def test_a_known_mistake_has_a_place(known):
    assert set(known) in ({"mistake", "places"}, {"mistake", "outside"}), "name places, or say why there is none"
    if "outside" in known:
        assert known["outside"].endswith("."), "a whole sentence"
    else:
        assert known["places"], "add a pitfall, or name where the mistake is measured or recognized"
        assert len(set(known["places"])) == len(known["places"])
        assert [wrong for place in known["places"] if (wrong := wrong_place(place))] == []
        told = {_pitfalls().get(place.removeprefix("pitfall:")) for place in known["places"]}
        assert not told.intersection(known["places"]), "the pitfall's row names this section"


def test_each_mistake_stands_there_once():
    assert len({known["mistake"] for known in KNOWN}) == len(KNOWN)


def test_few_mistakes_are_left_outside():
    assert sum("outside" in known for known in KNOWN) <= 5


def test_the_section_of_a_pitfall_measures_something():
    sections = filter(None, _pitfalls().values())
    assert [wrong for section in sections if (wrong := wrong_place(section))] == []


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("pitfall:sumed-over-queries", "no row has the id"),
        ("check:attention.repair/summed-over-values", "attention.repair recognizes no mistake"),
        ("check:attention.repare/queries", "no exercise is called"),
        ("section:02_attention#summed-over-the-values", "02_attention.ipynb has no heading"),
        ("section:02_attentoin#summed-over-the-queries", "there is no 02_attentoin.ipynb"),
        ("section:02_attention#further-reading", "measures nothing"),
        ("section:02_attention#quiz", "measures nothing"),
        ("question:attention.axes", "no question is called"),
        ("02_attention", "expected pitfall:"),
    ],
)
def test_a_wrong_place_is_refused(place, words):
    assert words in wrong_place(place)


@pytest.mark.parametrize(
    "place",
    [
        "pitfall:summed-over-queries",
        "check:attention.repair/queries",
        "section:02_attention#summed-over-the-queries",
        "section:05_masks#pitfalls-measured",
        "question:attention.axis",
    ],
)
def test_a_right_place_is_taken(place):
    assert wrong_place(place) is None
