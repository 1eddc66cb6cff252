"""The columns of a file of pairs: whether the first two hold sentences, as far as a look at all lines can tell."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

NEARLY_ALL = 0.9  # of the lines
FEW = 0.05  # of the lines may have another number of columns
NUMBER = re.compile(r"[#+-]?\d+(?:[.,]\d+)*(?:e[+-]?\d+)?%?", re.IGNORECASE)
NAME = re.compile(r"[!-~]*\d[!-~]*")  # s12, doc_3.txt, 2021-03-05
CODE = re.compile(r"[a-z]{2,3}(?:[_-][a-z]{2,8})*", re.IGNORECASE)  # eng, pt_BR, zh-Hans
ADDRESS = re.compile(r"(?:https?://|www\.)\S+", re.IGNORECASE)
MANY = 10  # lines for each of a few words


def check_columns(rows: Sequence[tuple[int, Sequence[str]]], path: str | Path) -> None:
    """Refuse a file whose first two columns hold no sentences, or whose lines have different numbers of columns.

    A row is the number of a line and its cells. Raises ValueError.

    >>> rows = [(1, ["1276", "Hello", "2481", "Hola"]), (2, ["1277", "Bye", "2482", "Adiós"])]
    >>> check_columns(rows, "pairs.tsv")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: expected a sentence in column 1 of pairs.tsv, got numbers, such as '1277': ... cut -f2,4
    """
    all_cells = [cells for _, cells in rows]
    width = usual(map(len, all_cells))
    columns = [[cells[i] for cells in all_cells if len(cells) > i and cells[i]] for i in range(width)]
    kinds = [kind(cells, width) for cells in columns]
    for number in range(1, 3 if width > 2 else 2):
        what = kinds[number - 1]
        if what and (number == 1 or what != "labels"):  # a target may be the name of a class
            example = columns[number - 1][len(columns[number - 1]) // 2][:60]  # the first may be a heading
            raise ValueError(
                f"expected a sentence in column {number} of {path}, got {what}, such as {example!r}: "
                f"{advice(columns, kinds, len(rows))}"
            )
    filled = [max(i for i, cell in enumerate(cells, start=1) if cell) for cells in all_cells]
    most = usual(filled)  # one tab more or less at a line's end tells nothing
    odd = [i for i, cells in enumerate(all_cells) if len(cells) != width and filled[i] != most]
    if len(odd) > FEW * len(rows):
        number, cells = rows[odd[0]]
        raise ValueError(
            f"expected the same number of columns in every line of {path}, got {width} in most lines and {len(cells)} "
            f"in line {number} ({len(odd)} of {len(rows)} lines differ): write tabs inside of sentences as spaces, and "
            "drop notes that only some lines have, cut -f1,2"
        )


def usual(numbers: Iterable[int]) -> int:
    """The commonest number; of equally common ones, the first.

    >>> usual([2, 3, 3])
    3
    """
    return Counter(numbers).most_common(1)[0][0]


def kind(cells: Sequence[str], width: int) -> str:
    """What a column holds instead of sentences; nothing where it may hold some.

    >>> kind(["eng", "eng", "deu"], width=3), kind(["hi", "hi", "go"], width=2), kind(["s1.2", "s1.3"], width=3)
    ('language codes', '', 'names with numbers')
    >>> kind(["train"] * 20 + ["test"] * 5, width=3)
    'labels'
    """

    def nearly_all(pattern: re.Pattern) -> bool:
        others = sum(not pattern.fullmatch(cell) for cell in cells)
        return others <= max((1 - NEARLY_ALL) * len(cells), len(cells) > 2)  # one may be a heading

    if not cells:
        return ""
    if nearly_all(NUMBER):
        return "numbers"
    if nearly_all(ADDRESS):
        return "addresses"
    words = len(set(cells))
    few = 1 < len(cells) > 2 * words - 2  # again and again
    many = len(cells) >= max(2, words) * MANY
    # A small file of two columns may begin with the words hi, hi, and go; pt_BR is no word.
    if few and nearly_all(CODE) and (width > 2 or many or all("_" in cell or "-" in cell for cell in cells)):
        return "language codes"
    if width > 2 and nearly_all(NAME):
        return "names with numbers"
    return "labels" if width > 2 and many and not any(" " in cell for cell in cells) else ""


def advice(columns: Sequence[Sequence[str]], kinds: Sequence[str], lines: int) -> str:
    """What to do with columns of these kinds.

    >>> advice([["1.2"], ["Hello"], ["Hola"]], ["numbers", "", ""], lines=1)
    'keep the columns with sentences, cut -f2,3'
    """
    full = [len(cells) >= NEARLY_ALL * lines for cells in columns]
    sentences = [number for number, what in enumerate(kinds, start=1) if full[number - 1] and not what]
    if len(sentences) > 1:
        return "keep the columns with sentences, cut -f" + ",".join(map(str, sentences[:2]))
    if len(kinds) == 2:
        return "put the two sentences there, or, to translate numbers, give each side in a file of its own"
    return "put the two sentences into the first two columns"
