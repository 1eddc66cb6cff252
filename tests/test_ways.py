"""The three ways through the course lead to sections that exist, in the order of the book, and that need no others."""

import pytest
from doctests import run_doctests

from course_practice.assembly.trials import PARTS
from course_practice.exercises import registry
from tools import cost, ways
from tools.gates import links
from tools.gates.parsing import calls, read, strings

EVENING, WEEKEND, WHOLE = ways.ways()
STEPS = [(way, chapter) for way in (EVENING, WEEKEND) for chapter in way.sections]


def asked(way):
    """The exercises in the way's own sections."""
    there = [place for chapter, names in way.sections.items() for place in ways.cells(chapter, names)]
    return {name for place in there for call in calls(place.cell.source, "check") for name in strings(call)}


@pytest.mark.parametrize(("way", "chapter"), STEPS, ids=lambda each: each if isinstance(each, str) else each.name)
def test_sections_exist_in_the_order_of_the_chapter_and_have_cells(way, chapter):
    known = [*ways.headings(chapter)]
    places = [known.index(name) for name in way.sections[chapter]]
    assert places == sorted(set(places))
    assert all(ways.cells(chapter, [name]) for name in way.sections[chapter])
    for name in way.sections[chapter]:
        path, _, fragment = ways.address(chapter, name).partition("#")
        assert fragment in links.anchors(ways.ROOT / path.strip("/"))


@pytest.mark.parametrize("way", ways.ways(), ids=lambda way: way.name)
def test_a_way_goes_up_and_ends_in_a_section_of_its_own(way):
    assert [*way.sections] == sorted(way.sections)
    chapter, section = way.end
    assert ways.address(chapter, section)
    if way.sections:
        assert chapter == [*way.sections][-1]
        there = ways.cells(chapter, way.sections[chapter])
        assert section in {name for place in there for name in (place.section, place.heading)}


def test_a_section_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match=r"expected a section of 05_masks, got 'The mask': correct it in"):
        ways.address("05_masks", "The mask")


def test_an_answer_that_a_section_takes_up_was_asked_for_on_the_way():
    known = asked(EVENING)
    for way in (EVENING, WEEKEND):
        known |= asked(way)
        for chapter, names in way.sections.items():
            for place in ways.cells(chapter, names):
                used = {name for call in calls(place.cell.source, "mine") for name in strings(call)}
                assert used <= known, f"{chapter}, {place.section}: add the exercise to book/ways.yml"


def test_a_weekend_asks_for_every_part_of_ones_own_transformer():
    parts = {part.exercise for part in PARTS}
    assert parts <= asked(EVENING) | asked(WEEKEND)
    assert parts <= set(registry())


def test_all_sections_take_what_the_opening_tables_say():
    """A way of all sections of a chapter takes what `make notebooks` writes into the chapter, but for its rounding."""
    for chapter in WEEKEND.sections:
        nb = read(ways.notebook(chapter))
        there = ways.cells(chapter, [*ways.headings(chapter)])
        title = 60  # the paragraph above the first section
        assert 0 <= cost.minutes_to_read(nb) * 60 - cost.seconds_to_read(there) < 300 + title
        row, _ = cost.rows(nb, {"seconds": 1, "memory_mb": 1})
        practice = cost.minutes_to_practice({place.heading for place in there})
        assert row.endswith(f", {practice} to practice |")


def test_an_evening_is_an_evening_and_a_weekend_a_weekend():
    evening, weekend, _ = ways.minutes()
    assert 60 <= evening <= 210
    assert 2 * evening <= weekend <= 16 * 60


def test_hours_are_halves_below_five_and_grow():
    shown = [ways.hours(minutes) for minutes in (60, 90, 299, 301, 1200)]
    assert shown == ["1 hour", "1½ hours", "5 hours", "5 hours", "20 hours"]


def test_worked_examples_run():
    run_doctests(ways)
