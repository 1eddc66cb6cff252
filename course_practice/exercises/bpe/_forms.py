"""How answers made of symbols are compared: as one line of text, and lists of merges by what they do."""

from collections import Counter
from collections.abc import Callable, Mapping

from course_lib.bpe import Pair, merge, pair_counts, word_symbols
from course_practice.engine import Case

CLASSIC = {"low": 5, "lower": 2, "newest": 6, "widest": 3}
GOOD = "as many merges as asked for, each of them the commonest pair of its step"


def as_line(obj: Callable, given: Case) -> object:
    """A list or tuple of symbols as one line.

    >>> as_line(lambda: ["lo", "w</w>"], Case(()))
    'lo · w</w>'
    """
    answer = obj(*given.args)
    if isinstance(answer, list | tuple):
        return " · ".join(symbol if isinstance(symbol, str) else repr(symbol) for symbol in answer)
    return answer


def as_counts(obj: Callable, given: Case) -> object:
    """The counts of pairs as one line, whatever the order and the kind of dictionary; zeros are left out.

    >>> as_counts(lambda: {("w", "e"): 2, ("l", "o"): 7, ("o", "l"): 0}, Case(()))
    'l o 7, w e 2'
    """
    answer = obj(*given.args)
    if not isinstance(answer, Mapping):
        return answer
    named = {" ".join(map(str, pair)) if isinstance(pair, tuple) else str(pair): n for pair, n in answer.items()}
    return ", ".join(f"{name} {n}" for name, n in sorted(named.items()) if n != 0)


def replayed(obj: Callable, given: Case, spell: Callable[[str], str] = str) -> object:
    """What a list of merges does, step by step: any rule for ties is right.

    >>> replayed(lambda frequencies, n_merges: [("o", "w</w>")], Case(({"low": 2, "so": 3}, 1)))
    'o w</w>: merge 1 occurs 2 times here, and another pair 3 times'
    """
    frequencies, n_merges = given.args
    words, answer = folded(frequencies, spell), obj(frequencies, n_merges)  # in this order: it may change them
    if not isinstance(answer, list | tuple):
        return answer
    if not all(isinstance(pair, list | tuple) and len(pair) == 2 and {*map(type, pair)} == {str} for pair in answer):
        return f"no list of pairs of symbols: {list(answer)}"
    problem = _problem([*map(tuple, answer)], n_merges, words)
    return f"{', '.join(map(' '.join, answer))}: {problem}" if problem else GOOD


def _problem(merges: list[Pair], n_merges: int, words: Mapping[tuple[str, ...], int]) -> str:
    """What is wrong with the first merge that is not the commonest, or with their number."""
    for number, pair in enumerate(merges, start=1):
        if number > n_merges:
            break
        counts = pair_counts(words)
        most = max(counts.values(), default=0)
        if not most:
            return f"before merge {number}, no pair is left"
        if counts[pair] < most:
            return f"merge {number} occurs {counts[pair]} times here, and another pair {most} times"
        words = {merge(symbols, pair): n for symbols, n in words.items()}
    if len(merges) == n_merges or (len(merges) < n_merges and not pair_counts(words)):
        return ""
    return f"{len(merges)} merges where {n_merges} were asked for"


def folded(frequencies: Mapping[str, int], spell: Callable[[str], str]) -> Counter:
    """Words as symbols with their frequencies; words that are spelled alike are added up."""
    words: Counter[tuple[str, ...]] = Counter()
    for word, n in frequencies.items():
        words[word_symbols(spell(word))] += n
    return words
