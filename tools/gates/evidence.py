"""What can hold a number of the prose: the outputs of a chapter, its code, and the settings of its experiments."""

import ast
import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from nbformat import NotebookNode

from tools.environment import LIBRARY, ROOT
from tools.gates.outputs import SAID
from tools.gates.parsing import calls, nodes, read, tags

# A number as prose writes it. No letter, underscore, or slash stands before it: W_1, GPT-2, and float32 are names.
WRITTEN = re.compile(
    r"(?<![\w.,^_/])(?<![A-Za-z]-)[-−]?(\d{1,3}(?:,\d{3})+|\d+|(?=\.\d))(\.\d+)?(?:e([-−+]?\d+))?(\s?%)?"
    r"(?![\d_⁰¹²³⁴⁵⁶⁷⁸⁹⁻]|[.,]\d|[A-Za-z])"
)
# A number as an output writes it, and two of them as a share.
PRINTED = re.compile(r"(?<![\d.])(\d{1,3}(?:,\d{3})+(?!\d)|\d+|(?=\.\d))(\.\d*)?(?:e([-+]?\d+))?(\s?%)?")
PAIR = re.compile(r"(?<![\d.,])(\d+)(?: of (?:all |the )?| ?/ ?)(\d+)(?!\d|[.,]\d)")
EXPERIMENT = re.compile(r"\bexperiments\.(\w+)|\bresults\(\s*\"(\w+)\"")
PRACTICE = ("quiz", "warm_up", "check", "show_solution")
SILENT = {"the", "and", "for", "with", "that", "from", "thi", "are", "was", "its", "not", "but", "one", "all", "tens"}
FEW = 4  # values that a setting takes in the rows of an experiment
MANY = 20  # numbers in an output, from which on a line must share a word with the sentence that it holds


class Number(NamedTuple):
    """A number as it is written: 62.5 has one decimal, and is a percentage or not."""

    value: float
    places: int
    percent: bool
    text: str


class Holder(NamedTuple):
    """A number that can hold one of the prose, with the words beside it."""

    number: Number
    words: frozenset[str]
    kind: str  # "shown", "code", or "set" by an experiment
    section: int
    cell: int  # how many cells that measure come before, and this one
    dense: bool = False  # one of many


def number(match: re.Match) -> Number:
    """The number that WRITTEN or PRINTED has found.

    >>> number(WRITTEN.search("in 62.5% of cases"))
    Number(value=62.5, places=1, percent=True, text='62.5%')
    """
    digits, decimals, power, percent = match.groups()
    exponent = int((power or "0").replace("−", "-"))
    value = float(f"{digits.replace(',', '') or 0}{decimals or ''}e{exponent}")
    return Number(value, max(0, len(decimals or ".") - 1 - exponent), bool(percent), match[0].strip())


def fits(claim: Number, held: Number, about: bool = False) -> bool:
    """Does one number say the other, rounded as at school? To a whole number only where the prose says "about".

    >>> def written(text): return number(WRITTEN.search(text))
    >>> fits(written("93%"), written("0.9312")), fits(written("0.13"), written("0.1298"))
    (True, True)
    >>> fits(written("94%"), written("0.9312")), fits(written("60%"), written("60"))
    (False, False)
    """
    if claim.percent and not held.percent:  # a fraction; 60 is none, nor is 1
        held = Number(100 * held.value, max(held.places - 2, 0), True, held.text) if held.places > 0 else held
        return held.percent and held.value <= 1000 and _rounded(held.value, claim.places) == claim.value
    if held.percent and not claim.percent:
        return claim.places >= 2 and abs(held.value / 100 - claim.value) < 1e-9
    if claim.places or claim.percent or about:
        return held.places >= claim.places and _rounded(held.value, claim.places) == claim.value
    return abs(held.value - claim.value) <= 1e-9 * max(1, claim.value)


def same(claim: Number, held: Number) -> bool:
    """Is it the same number, digit by digit? 0.62 is 62%.

    >>> same(number(WRITTEN.search("62%")), number(WRITTEN.search("0.62")))
    True
    """
    whole = not claim.percent and claim.value == int(claim.value) == held.value  # 27 is 27.0
    return whole or (fits(claim, held) and held.places == claim.places + 2 * (claim.percent and not held.percent))


def _rounded(value: float, places: int) -> float:
    return round(int(value * 10**places + 0.5 + 1e-7) / 10**places, places)


@lru_cache(maxsize=4096)
def stems(text: str) -> frozenset[str]:
    """The beginnings of a text's words, and the names that it sets, by which it is compared with another.

    >>> sorted(stems("the shares of n_layers=2")), sorted(stems("d = 32"))
    (['laye', 'n_layers=', 'shar'], ['d='])
    """
    names = re.findall(r"([^\W\d]\w*) ?=(?!=)", text)
    words = re.findall(r"[^\W\d_]{3,}", text.replace("_", " "))
    return frozenset(re.sub(r"(?<=\w\w[^\Ws])s$", "", word.lower())[:4] for word in words) - SILENT | {
        f"{n}=" for n in names
    }


def measures(cell: NotebookNode) -> bool:
    """Is this code that measures or shows something: no set-up, no question, no exercise?"""
    return cell.cell_type == "code" and "remove-cell" not in tags(cell) and not calls(cell.source, *PRACTICE)


@lru_cache(maxsize=32)
def holders(path: Path) -> tuple[Holder, ...]:
    """Everything in a chapter that can hold a number."""
    return tuple(_holders(read(path).cells))


def _holders(cells: list[NotebookNode]) -> Iterator[Holder]:
    section = count = 0
    for cell in cells:
        section += sections(cell)
        count += measures(cell)
        for names in EXPERIMENT.findall(cell.source):
            yield from (Holder(*found, "set", section, count) for found in of_experiment("".join(names)))
        if measures(cell):
            yield from (Holder(*found, "code", section, count) for found in of_code(cell.source))
            for text in shown(cell):
                found = [*of_output(text)]
                yield from (Holder(*one, "shown", section, count, len(found) > MANY) for one in found)


def sections(cell: NotebookNode) -> int:
    """How many sections begin in a cell."""
    return len(re.findall(r"^## ", cell.source, re.MULTILINE)) if cell.cell_type == "markdown" else 0


def of_code(source: str) -> Iterator[tuple[Number, frozenset[str]]]:
    """The numbers of code, without those of its texts and comments, each with the words of its line.

    >>> [found.text for found, _ in of_code('x = 2**10  # 7\\ny = "8"')]
    ['2 ** 10', '2', '10']
    """
    lines = source.split("\n")
    for node in nodes(source):
        if not hasattr(node, "lineno"):
            continue
        words = stems(lines[node.lineno - 1])
        if isinstance(node, ast.Constant) and type(node.value) in {int, float}:
            yield _constant(node.value), words
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "import " in node.value:
            yield from of_code(node.value)  # a program for another process
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Pow | ast.Add | ast.Sub):
            try:
                value = eval(compile(ast.Expression(node), "", "eval"), {"__builtins__": {}})
            except Exception:  # it has names: no constant
                continue
            if isinstance(value, int):
                yield Number(value, 0, False, ast.unparse(node)), words
        elif isinstance(node, ast.Name | ast.Attribute):
            name = node.id if isinstance(node, ast.Name) else node.attr
            yield from ((Number(int(digits), 0, False, name), words) for digits in re.findall(r"\d+", name))


def _constant(value: float) -> Number:
    places = len(f"{value:.12f}".rstrip("0").partition(".")[2])
    return Number(float(value), places, False, repr(value))


def shown(cell: NotebookNode) -> Iterator[str]:
    """What a cell has printed, and of its figures the numbers that they draw, without the sentence of their author."""
    for output in cell.outputs:
        text = output.get("text", "") or output.get("data", {}).get("text/plain", "")
        yield text.partition("\n")[2] if text.startswith(SAID) and not calls(cell.source, "shapes") else text


def of_output(text: str) -> Iterator[tuple[Number, frozenset[str]]]:
    """The numbers that a cell has shown, each with the words of its line; shares (`9 of 10`) also as fractions."""
    for line in text.split("\n"):
        words = stems(line)
        yield from ((number(match), words) for match in PRINTED.finditer(line))
        yield from ((share(*pair), words) for pair in PAIR.findall(line) if int(pair[1]))


def share(part: str, whole: str) -> Number:
    return Number(int(part) / int(whole), 6, False, f"{part} of {whole}")


@lru_cache(maxsize=64)
def of_experiment(name: str) -> tuple[tuple[Number, frozenset[str]], ...]:
    """The settings of an experiment: the numbers of its code, and of its results those that many rows share."""
    script, stored = ROOT / "experiments" / f"{name}.py", LIBRARY / "stored" / f"{name}.json"
    found = [*of_code(script.read_text(encoding="utf-8"))] if script.exists() else []
    if stored.exists():
        settings: dict[str, Counter] = {}
        _collect(json.loads(stored.read_text(encoding="utf-8")), "", settings)
        few = {key: values for key, values in settings.items() if len(values) <= FEW}
        found += [(_constant(value), stems(key)) for key, values in few.items() for value in values]
    return tuple(found)


def _collect(found: object, key: str, settings: dict[str, Counter]) -> None:
    """Count the values under each key of stored results."""
    if isinstance(found, dict):
        for name, value in found.items():
            _collect(value, f"{key} {name}" if isinstance(value, dict) else str(name), settings)
    elif isinstance(found, list):
        settings.setdefault(f"number of {key}", Counter())[len(found)] += 1
        for value in found:
            _collect(value, key, settings)
    elif isinstance(found, int | float) and not isinstance(found, bool):
        settings.setdefault(key, Counter())[found] += 1
