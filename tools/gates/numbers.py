"""Every number of the prose is held to something: an output, a line of code, arithmetic, or a source.

Numbers of two digits or more, decimals, percentages, shares (`9 of 10`), and multiples (`4 times`) are looked for;
years, numbers of sections and chapters, and small counting words are not. A number is held, in this order, by

- arithmetic beside it that comes out right (`12 + 12 + 6 = 30`), or a share beside it (`8 of 30`, so 27%);
- an output or the code of the cell before or after it, in its section;
- a setting of an experiment that the section names, an output, or code, where a word beside both is the same;
- an earlier sentence that says the same of the same, or a chapter that its paragraph links to;
- a paper that its sentence names with the year, or by a link or section.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple

from markdown_it.token import Token
from nbformat import NotebookNode

from tools.gates.arithmetic import equations, formula_equations, rows
from tools.gates.evidence import (
    PAIR,
    WRITTEN,
    Holder,
    Number,
    fits,
    holders,
    measures,
    number,
    same,
    sections,
    share,
    stems,
)
from tools.gates.notation import FORMULA
from tools.gates.parsing import markdown, nodes, read

BEFORE, AFTER = 4, 4
SMALL = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9}
LARGE = {"ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16}
LARGE |= {"seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50}
LARGE |= {"sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
POWERS = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
COUNTS, TENS = "|".join(SMALL), "|".join([*LARGE, *POWERS])
SPELLED = re.compile(
    rf"\b(?:(a|{COUNTS}|{'|'.join(LARGE)}|[\d.,]*\d) ({'|'.join(POWERS)})|({'|'.join(LARGE)}))\b(?!-)", re.IGNORECASE
)
SHARE = re.compile(
    r"(?<![\d.,])(\d+)(?: (?:of|out of)(?: the| all)?| [a-z]+ (?:in|out of)| in) (\d+)(?![\d.,]*\d)"
    r"|(?<![\d.,/])(\d+)/(\d+)(?![\d/])"
)
TIMES = re.compile(r"(?<![\w.,])([1-9])(?= times\b)")
SHARED = re.compile(r"(?: to| and| or|,) [\d.]+\s?%")  # in "60 to 67%" both are percentages
# Measurements in words, which no number could be held to: six labels in ten, nearly half, two of three seeds.
ABOUT = r"about|nearly|almost|roughly|around|over|(?:more|less|fewer) than|at (?:most|least)|up to|not even|only"
IN_WORDS = re.compile(
    rf"\b(?:{COUNTS}|{TENS})(?: [a-z]+){{0,2}} (?:in|of|out of)(?: the| all| a| its| our)? (?:{TENS})\b"
    rf"|\b(?!one\b)(?:{COUNTS})(?: [a-z]+)? (?:in|of|out of)(?: the| all)? \d\d+\b(?!\s?%)"
    rf"|\b(?!one\b)(?:{COUNTS}) (?:of|out of)(?: the| all)? (?:{COUNTS}) "
    rf"(?:runs|seeds|trainings|models|cases|sentences)\b"
    rf"|\b(?:{COUNTS})(?: [a-z]+)? in (?:{COUNTS})\b"
    rf"|\b(?:{ABOUT})(?: an?| the)? (?:half|twice|(?:{COUNTS}|{TENS})? ?(?:times|thirds?|quarters?|fifths?|tenths?))\b",
    re.IGNORECASE,
)
NEARLY = re.compile(rf"\b(?:{ABOUT}|some|near|to|below|above)\W+(\w+ )?$")
ZEROS = re.compile(r"[-−]?0[\d,e]")  # no number begins like this
YEAR = re.compile(r"(?:19|20)\d\d")
PLACE = re.compile(
    r"\b(?:sections?|chapters?|tables?|figures?|appendix|equations?|pages?|questions?|request|version)\W*"
    r"(?:[\d.]+(?:, | and |, and | to ))*$",
    re.IGNORECASE,
)
LINK, HIDDEN = "\ue002", "\ue000"  # a link to another host begins here; here was code or a formula
SOURCE = re.compile(rf"{LINK}|[A-Z][a-z]+(?: et al\.)?,? \(?{YEAR.pattern}\b|\b(?:section|table|appendix)s? [\dA-Z]")
SENTENCE = re.compile(r"(?<=[.!?:])(?<!al\.)[\"”)*]*\s+(?=[A-Z“\"(*])")
SKIPPED = {"title", "further-reading"}  # the opening table has a gate of its own; a list of papers is a source


class Paragraph(NamedTuple):
    """A paragraph, item, or cell of a table as a reader sees it, with HIDDEN for code and formulas."""

    text: str
    links: tuple[str, ...] = ()
    worked: str = ""  # what the formulas of its cell work out exactly


class Claim(NamedTuple):
    """A number that the prose states: where, beside which words, and whether it says "about"."""

    numbers: tuple[Number, ...]  # one; or three, a share and its two parts
    start: int
    end: int
    near: frozenset[str]
    about: bool

    @property
    def text(self) -> str:
        return self.numbers[0].text


def paragraphs(source: str) -> Iterator[Paragraph]:
    """The paragraphs, items, and rows of tables of a markdown text, without its headings."""
    formulas = [match[1] or match[2] for match in FORMULA.finditer(re.sub(r"`[^`]*`", "", source))]
    worked = " ".join(e.text for formula in formulas for e in formula_equations(formula) if e.exact)
    tokens = markdown(FORMULA.sub(_hidden, source))
    row: list[Paragraph] = []
    for before, token in pairwise(tokens):
        if token.type == "inline" and before.type in {"th_open", "td_open"}:
            row.append(_paragraph(token, worked))
        elif token.type == "inline" and before.type != "heading_open":
            yield _paragraph(token, worked)
        elif token.type == "tr_close":
            links = tuple(link for cell in row for link in cell.links)
            yield Paragraph(" | ".join(cell.text for cell in row), links, worked)
            row = []


def _hidden(formula: re.Match) -> str:
    """A letter in place of a formula; one that only sets a name to a number stays."""
    plain = re.sub(r"\\mathrm|[{}]", "", formula[1] or formula[2]).strip()
    return plain if re.fullmatch(r"(?:[A-Za-z]\w*\s*=\s*)?[\d.,]+", plain) else HIDDEN


def _paragraph(token: Token, worked: str) -> Paragraph:
    text, links, inside = "", [], False
    for part in token.children or []:
        if part.type == "link_open":
            links.append(part.attrs["href"])
            inside = True
            text += LINK if part.attrs["href"].startswith("http") else ""
        elif part.type == "link_close":
            inside = False
        elif part.type.endswith("break"):
            text += " "
        elif not inside and part.type in {"text", "code_inline"}:
            text += part.content if part.type == "text" else HIDDEN
    return Paragraph(text, tuple(links), worked)


def claims(text: str) -> Iterator[Claim]:
    """The numbers of a paragraph that have to be held.

    >>> [claim.text for claim in claims("In 2017 the 3 models got 62% right in sixteen of 1,000 cases, 4 times more.")]
    ['sixteen', '4', '62%', '1,000']
    """
    found: list[tuple[re.Match, tuple[Number, ...]]] = []
    for match in SHARE.finditer(text):
        part, whole = filter(None, match.groups())
        if part == "1" and not match[3]:  # 1 in 10: the 10 is what has to be held
            continue
        if max(len(part), len(whole)) > 1 and (match[3] or int(part) <= int(whole)):
            parts = (Number(float(digits), 0, False, digits) for digits in (part, whole))
            found.append((match, (Number(int(part) / max(1, int(whole)), 6, False, match[0]), *parts)))
    for pattern, reads in ((SPELLED, _spelled), (TIMES, _digit), (WRITTEN, number)):
        for match in pattern.finditer(text):
            if not any(other.start() < match.end() and match.start() < other.end() for other, _ in found):
                one = reads(match)
                shared = match.re is WRITTEN and SHARED.match(text, match.end())
                found.append((match, (one._replace(percent=True) if shared else one,)))
    for match, numbers in found:
        one, before = numbers[0], text[: match.start()]
        small = (
            match.re is WRITTEN and not one.places and not one.percent and one.value < 10 and not ZEROS.match(one.text)
        )
        if not small and not (YEAR.fullmatch(one.text) and not before.endswith("= ")) and not PLACE.search(before):
            near = stems(" ".join([*_words(before)[-BEFORE:], match[0], *_words(text[match.end() :])[:AFTER]]))
            yield Claim(numbers, match.start(), match.end(), near, bool(NEARLY.search(before)))


def _words(text: str) -> list[str]:
    """The words of a text, without numbers and signs."""
    return [word for word in text.split() if any(map(str.isalpha, word))]


def _digit(match: re.Match) -> Number:
    return Number(float(match[1]), 0, False, match[1])


def _spelled(match: re.Match) -> Number:
    """`sixteen` or `two hundred`, which are exact, or `63.1 million`, which is rounded."""
    count, power, word = (part.lower() if part else "" for part in match.groups())
    many = {"a": 1} | SMALL | LARGE
    if word or count in many:
        return Number(float(many[word or count] * POWERS.get(power, 1)), 0, False, match[0])
    decimals, zeros = len(count.partition(".")[2]), len(str(POWERS[power])) - 1
    return Number(float(f"{count.replace(',', '')}e{zeros}"), decimals - zeros, False, match[0])


def numbers(path: Path) -> list[str]:
    """Every number of the prose and of the descriptions of figures is held to something."""
    return [
        f"{path.name}, cell {cell!r}: nothing here holds the number {claim.text!r} in "
        f"'{_around(paragraph.text, claim.start, claim.end)}': print it, show the arithmetic, or name the source"
        for cell, paragraph, claim, why in judged(path)
        if not why
    ]


def words(path: Path) -> list[str]:
    """A measurement is written in digits, which can be held to something."""
    return [
        f"{path.name}, cell {cell.id!r}: '{match[0]}' says a measurement in words: write it in digits"
        for cell, paragraph in _prose(path)
        for match in IN_WORDS.finditer(paragraph.text)
    ]


def sums(path: Path) -> list[str]:
    """What the prose and its formulas work out by hand comes out right."""
    found = []
    for cell in (cell for cell in read(path).cells if cell.cell_type == "markdown"):
        formulas = [match[1] or match[2] for match in FORMULA.finditer(re.sub(r"`[^`]*`", "", cell.source))]
        texts = [equations(paragraph.text) for paragraph in paragraphs(cell.source)]
        found += [
            f"{path.name}, cell {cell.id!r}: '{equation.text}' does not come out: {equation.left.value} and "
            f"{equation.right.value}"
            for equation in chain(*texts, *map(formula_equations, formulas))
            if not equation.true
        ]
    return found


def _prose(path: Path) -> Iterator[tuple[NotebookNode, Paragraph]]:
    for cell in read(path).cells:
        if cell.cell_type == "markdown" and cell.id not in SKIPPED:
            yield from ((cell, paragraph) for paragraph in paragraphs(cell.source))


def _around(text: str, start: int, end: int) -> str:
    return text[max(0, start - 40) : end + 30].replace(LINK, "").replace(HIDDEN, "…").strip()


class Place(NamedTuple):
    """Where a paragraph is: its section, and how many cells that measure come before."""

    section: int
    cell: int


def judged(path: Path) -> Iterator[tuple[str, Paragraph, Claim, str]]:
    """Every claim of a chapter: the cell, the paragraph, and what holds it ("" where nothing does)."""
    section = count = 0
    own, told = holders(path), []
    for cell in read(path).cells:
        section += sections(cell)
        count += measures(cell)
        place = Place(section, count)
        if cell.cell_type == "markdown" and cell.id not in SKIPPED:
            for paragraph in paragraphs(cell.source):
                for claim in claims(paragraph.text):
                    why = held_by(claim, paragraph, place, own, told, path)
                    if why:
                        told += [Holder(one, claim.near, "told", *place) for one in claim.numbers]
                    yield cell.id, paragraph, claim, why
        elif measures(cell):
            for text in alternatives(cell.source):
                for claim in claims(text):
                    yield cell.id, Paragraph(text), claim, held_by(claim, Paragraph(text), place, own, told, path)


def held_by(
    claim: Claim, paragraph: Paragraph, place: Place, own: Iterable[Holder], told: Iterable[Holder], path: Path
) -> str:
    """What holds a claim; "" where nothing does."""
    text, one = paragraph.text, claim.numbers[0]
    if any(ZEROS.match(number.text) for number in claim.numbers):
        return ""
    worked = _worked(text, paragraph.worked)
    if claim.text in worked or any(same(one, number(match)) for match in WRITTEN.finditer(worked)):
        return "arithmetic"
    decimals = len(claim.numbers) == 1 and (one.percent or one.places > 1)
    if decimals and any(fits(one, share(*pair)) for pair in PAIR.findall(text) if int(pair[1])):
        return "share"
    words = stems(text)
    near = [
        h
        for h in own
        if h.kind != "set" and 0 <= h.cell - place.cell <= 1 and (not h.dense or not h.words or h.words & words)
    ]
    if _meets(claim, near):
        return "near"
    for name, some in (
        ("setting", (h for h in own if h.kind == "set")),
        ("section", (h for h in own if 0 <= place.section - h.section <= 1)),
        ("told", told),
        ("chapter", (h for h in own if h.kind != "set") if _digits(one) > 2 else ()),
        *((link, holders(other)) for link, other in _linked(paragraph, path)),
    ):
        agree = fits if name == "setting" else same
        if any(not h.words.isdisjoint(claim.near) and agree(one, h.number) for h in some):
            return name
    return "source" if _sourced(text, claim.start) else ""


def _digits(number: Number) -> int:
    """How many digits a number has, without leading zeros.

    >>> [_digits(claim.numbers[0]) for claim in claims("It is 0.05, then 4.17, then 400.")]
    [1, 3, 3]
    """
    return len(f"{number.value:.{max(number.places, 0)}f}".replace(".", "").lstrip("0"))


@lru_cache(maxsize=256)
def _worked(text: str, formulas: str) -> str:
    """What arithmetic holds in a paragraph: its own, that of its rows, that of its formulas."""
    return " ".join([*worked_out(text), *rows(text), formulas])


def worked_out(text: str) -> Iterator[str]:
    """The numbers that arithmetic holds: all of an exact equation, of a rounded one the result."""
    for equation in equations(text):
        if equation.exact:
            yield equation.text
        elif equation.true:
            yield from (text[side.start : side.end] for side in equation[:2] if side.places is not None)


def _meets(claim: Claim, near: list[Holder]) -> bool:
    """Is the number, or the share, in what is near?"""
    if len(claim.numbers) == 1:
        return any(fits(claim.numbers[0], h.number, claim.about) for h in near)
    one, part, whole = claim.numbers
    if any(abs(h.number.value - one.value) < 1e-9 for h in near if " of " in h.number.text):
        return True
    lines: dict[tuple, set[float]] = {}
    for h in near:
        lines.setdefault((h.cell, h.kind, h.words), set()).add(h.number.value)
    if any({part.value, whole.value} - {1} <= values for values in lines.values()):
        return True
    if "/" in one.text:
        return any(
            h.number.places > 1
            and fits(one._replace(places=h.number.places, value=round(one.value, h.number.places)), h.number)
            for h in near
        )
    fractions = (h.number.value / (100 if h.number.percent else 1) for h in near if h.number.places or h.number.percent)
    return any(0 < f <= 1 and int(f * whole.value + 0.5) == part.value for f in fractions)


def _linked(paragraph: Paragraph, path: Path) -> Iterator[tuple[str, Path]]:
    """The chapters that a paragraph links to."""
    for link in paragraph.links:
        name = link.partition("#")[0]
        if name.endswith(".ipynb") and (path.parent / name).exists():
            yield name, path.parent / name


def _sourced(text: str, start: int) -> bool:
    """Does the sentence around this place name a paper with its year, link to one, or name a section?"""
    ends = [0, *(end.end() for end in SENTENCE.finditer(text)), len(text) + 1]
    sentence = next(text[low:high] for low, high in pairwise(ends) if low <= start < high)
    return bool(SOURCE.search(sentence))


def alternatives(source: str) -> Iterator[str]:
    """The words that an author has written for who cannot see a figure: `alt="…"`, without what code puts in."""
    for node in nodes(source):
        if isinstance(node, ast.keyword) and node.arg == "alt":
            yield "".join(
                part.value
                for part in ast.walk(node.value)
                if isinstance(part, ast.Constant) and isinstance(part.value, str)
            )
