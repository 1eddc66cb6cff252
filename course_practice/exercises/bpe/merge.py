"""Exercise: merge a pair."""

import re
from functools import reduce
from itertools import pairwise

from course_lib.bpe import merge
from course_practice.engine import Convention, Exercise, Mistake, case
from course_practice.exercises.bpe._forms import as_line


def with_a_stack(symbols, pair):
    def push(done, symbol):
        hit = done and not done[-1][1] and (done[-1][0], symbol) == pair
        return [*done[:-1], (done[-1][0] + symbol, True)] if hit else [*done, (symbol, False)]

    return tuple(symbol for symbol, _joined in reduce(push, symbols, []))


def with_one_look_ahead(symbols, pair):
    merged, skip = [], False
    for i, symbol in enumerate(symbols):
        if skip:
            skip = False
        elif i + 1 < len(symbols) and (symbol, symbols[i + 1]) == pair:
            merged.append(symbol + symbols[i + 1])
            skip = True
        else:
            merged.append(symbol)
    return merged


def by_recursion(symbols, pair):
    if len(symbols) < 2:
        return tuple(symbols)
    if tuple(symbols[:2]) == pair:
        return ("".join(pair), *by_recursion(symbols[2:], pair))
    return (symbols[0], *by_recursion(symbols[1:], pair))


def with_a_regular_expression(symbols, pair):
    found = rf"(?<!\S){re.escape(' '.join(pair))}(?!\S)"
    return re.sub(found, lambda _match: "".join(pair), " ".join(symbols)).split(" ")


def _scan(symbols, is_hit, advance=2, limit=None):
    """Merge from left to right where `is_hit` says so, at most `limit` times."""
    merged, i, hits = [], 0, 0
    while i < len(symbols):
        if i + 1 < len(symbols) and is_hit(symbols[i], symbols[i + 1]) and (limit is None or hits < limit):
            merged.append(symbols[i] + symbols[i + 1])
            i, hits = i + advance, hits + 1
        else:
            merged.append(symbols[i])
            i += 1
    return merged


def _exactly(pair):
    return lambda left, right: (left, right) == pair


def _as_text(symbols, pair):
    return " ".join(symbols).replace(" ".join(pair), "".join(pair)).split(" ")


def _from_the_right(symbols, pair):
    backward = _scan(symbols[::-1], lambda right, left: (left, right) == pair)
    turned = {pair[1] + pair[0]: "".join(pair)}
    return [turned.get(symbol, symbol) for symbol in backward[::-1]]


def _pair_stays(symbols, pair):
    merged = []
    for i, symbol in enumerate(symbols):
        if tuple(symbols[i : i + 2]) == pair:
            merged.append("".join(pair))
        merged.append(symbol)
    return merged


def _stops_one_early(symbols, pair):
    merged, i = [], 0
    while i < len(symbols) - 1:
        width = 2 if symbols[i : i + 2] == pair else 1
        merged.append("".join(symbols[i : i + width]))
        i += width
    return merged


def _every_pair_joined(symbols, pair):
    hits = [found == pair for found in pairwise(symbols)]
    merged = []
    for i, symbol in enumerate(symbols):
        if i < len(hits) and hits[i]:
            merged.append("".join(pair))
        elif i == 0 or not hits[i - 1]:
            merged.append(symbol)
    return merged


def _by_twos(symbols, pair):
    merged = []
    for i in range(0, len(symbols), 2):
        merged += ["".join(pair)] if symbols[i : i + 2] == pair else symbols[i : i + 2]
    return merged


EXERCISE = Exercise(
    title="Merge a pair",
    task="Join every occurrence of `pair` in `symbols`, from left to right, and return the new tuple of symbols. "
    "A symbol can take part in one join only.",
    reference=merge,
    call=as_line,
    cases=lambda: [
        case(("n", "e", "w", "e", "s", "t</w>"), ("e", "s"), about="one occurrence"),
        case(("l", "o", "w</w>"), ("e", "s"), about="no occurrence"),
        case(("b", "a", "n", "a", "n", "a</w>"), ("a", "n"), about="two occurrences"),
        case(("a", "a", "a"), ("a", "a"), about="three equal symbols"),
        case(("a", "a", "a", "a", "a", "b</w>"), ("a", "a"), about="five equal symbols"),
        case(("w", "id", "es", "t</w>"), ("es", "t</w>"), about="at the end"),
        case(("s", "e", "t</w>"), ("e", "s"), about="the two symbols in the other order"),
        case(("th", "e", "se</w>"), ("e", "s"), about="the second symbol only begins like the pair's"),
        case(("ca", "b", "a", "b</w>"), ("a", "b"), about="longer symbols with the same letters"),
        case(("x", "ab", "c", "a", "bc"), ("a", "bc"), about="the same letters, cut otherwise"),
        case(("a</w>",), ("a", "b"), about="a single symbol"),
    ],
    mistakes=(
        Mistake(
            "as-text",
            _as_text,
            "Symbols were joined of which only the letters next to the border fit: in (th, e, se</w>), s is no "
            "symbol. Replacing inside a text does this. Compare whole symbols.",
        ),
        Mistake(
            "same-letters",
            lambda symbols, pair: _scan(symbols, lambda left, right: left + right == "".join(pair)),
            "You also join (ab, c) when the pair is (a, bc): the letters are the same, but it is another pair. "
            "Compare the two symbols, not what they make.",
        ),
        Mistake(
            "second-symbol-stays",
            lambda symbols, pair: _scan(symbols, _exactly(pair), advance=1),
            "After a join, its second symbol stands there again. Move on by two.",
        ),
        Mistake(
            "both-symbols-stay",
            _pair_stays,
            "The joined symbol is there, and so are its two parts. It takes their place.",
        ),
        Mistake(
            "first-one-only",
            lambda symbols, pair: _scan(symbols, _exactly(pair), limit=1),
            "Only the first occurrence is joined: (b, a, n, a, n, a</w>) has two pairs (a, n).",
        ),
        Convention(
            "from-the-right",
            _from_the_right,
            "Valid if one agrees to go from right to left. Here, as in other libraries, a merge goes from left to "
            "right: (a, a, a) becomes (aa, a).",
        ),
        Mistake(
            "either-order",
            lambda symbols, pair: _scan(symbols, lambda left, right: (left, right) in (pair, pair[::-1])),
            "You also join the two symbols where they stand in the other order. (s, e) is not (e, s).",
        ),
        Mistake(
            "last-symbol-missing",
            _stops_one_early,
            "The last symbol is missing where it was not joined. It has no right neighbor, but it still belongs to "
            "the word.",
        ),
        Mistake(
            "one-string",
            lambda symbols, pair: "".join(merge(symbols, pair)),
            "You return one string. Return the symbols, as a tuple or a list: the next merge needs them apart.",
        ),
        Mistake(
            "separated-by-spaces",
            lambda symbols, pair: " ".join(merge(symbols, pair)),
            "The symbols are right, but they stand in one string. Return them as a tuple or a list.",
        ),
        Mistake(
            "nothing-joined",
            lambda symbols, pair: symbols,
            "No pair is joined anywhere. What do you compare? A list never equals a tuple, so `['e', 's'] == ('e', "
            "'s')` is False.",
        ),
        Mistake(
            "step-by-step-over-neighbors",
            lambda symbols, pair: [a + b if (a, b) == pair else a for a, b in pairwise(symbols)],
            "Two things are left. You look at each pair of neighbors in turn, so the second symbol of a joined pair "
            "begins a pair of its own: move on by two after a join. And the last symbol of the word has no right "
            "neighbor, so it is lost.",
        ),
        Mistake(
            "overlaps-join-twice",
            _every_pair_joined,
            "Where pairs overlap, a symbol is joined twice: (a, a, a) becomes (aa, aa). Go on behind both.",
        ),
        Mistake(
            "by-twos",
            _by_twos,
            "You look at the places 0, 2, 4, … alone, so a pair that begins between them is not seen. Move on by two "
            "only after a join.",
        ),
        Mistake(
            "pair-not-joined",
            lambda symbols, pair: [pair if s == "".join(pair) else s for s in merge(symbols, pair)],
            "At the right places stands the pair itself. A merge makes one longer symbol of it: `''.join(pair)`.",
        ),
        Mistake(
            "joins-alone",
            lambda symbols, pair: ["".join(pair) for found in pairwise(symbols) if found == pair],
            "Only the joined symbols are there. All others stay in the word, too.",
        ),
    ),
    hints=(
        "Go through the symbols with an index. At each position there are two cases: does the pair begin here or not?",
        "If it does, append the joined symbol and move on by two; otherwise append one symbol and move on by one.",
        "`if symbols[i : i + 2] == pair: merged.append(''.join(pair)); i += 2`, and in all other cases "
        "`merged.append(symbols[i]); i += 1`.",
    ),
    alternatives=(with_one_look_ahead, with_a_stack, by_recursion, with_a_regular_expression),
    difficulty=2,
    minutes=10,
)
