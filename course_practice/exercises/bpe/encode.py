"""Exercise: encode a word."""

from itertools import pairwise

from course_lib.bpe import MARK, apply_merges, merge, train_bpe, word_symbols
from course_practice.engine import Convention, Exercise, Mistake, case
from course_practice.exercises.bpe._forms import CLASSIC, as_line


def one_pass_in_order(word, merges):
    symbols = word_symbols(word)
    for pair in merges:
        symbols = merge(symbols, pair)
    return symbols


def best_pair_everywhere(word, merges):
    symbols, rank = word_symbols(word), {pair: i for i, pair in enumerate(merges)}
    while pairs := [pair for pair in pairwise(symbols) if pair in rank]:
        symbols = merge(symbols, min(pairs, key=rank.get))
    return list(symbols)


def in_place(word, merges):
    symbols = [*word[:-1], word[-1] + "</w>"]
    for left, right in merges:
        i = 0
        while i < len(symbols) - 1:
            if symbols[i] == left and symbols[i + 1] == right:
                symbols[i : i + 2] = [left + right]
            i += 1
    return symbols


def _from(spell=word_symbols, order=list):
    """One pass through the merges, spelled or ordered otherwise."""

    def encode(word, merges):
        symbols = spell(word)
        for pair in order(merges):
            symbols = merge(symbols, pair)
        return symbols

    return encode


def _longest_match(word, merges):
    symbols, tokens = word_symbols(word), {left + right for left, right in merges}
    found, i = [], 0
    while i < len(symbols):
        ends = [j for j in range(len(symbols), i + 1, -1) if "".join(symbols[i:j]) in tokens]
        end = ends[0] if ends else i + 1
        found.append("".join(symbols[i:end]))
        i = end
    return found


def _any_merge(word, merges, last=False):
    """Join the leftmost (or the rightmost) pair that is any merge at all."""
    symbols = word_symbols(word)
    while places := [i for i, pair in enumerate(pairwise(symbols)) if pair in merges]:
        i = places[-1 if last else 0]
        symbols = (*symbols[:i], symbols[i] + symbols[i + 1], *symbols[i + 2 :])
    return symbols


def _one_place_each(word, merges):
    symbols = word_symbols(word)
    for pair in merges:
        if pair in (pairs := list(pairwise(symbols))):
            i = pairs.index(pair)
            symbols = (*symbols[:i], symbols[i] + symbols[i + 1], *symbols[i + 2 :])
    return symbols


def _one_merge(word, merges):
    for pair in merges:
        if merge(word_symbols(word), pair) != word_symbols(word):
            return merge(word_symbols(word), pair)
    return word_symbols(word)


def _starts_anew(word, merges):
    symbols = word_symbols(word)
    for pair in merges:
        symbols = merge(word_symbols(word), pair)
    return symbols


def _starts_anew_and_never_before(word, merges):
    for pair in merges:
        symbols = merge(word_symbols(word), pair)
    return symbols


def _stops_at_a_gap(word, merges):
    symbols = word_symbols(word)
    for pair in merges:
        if pair not in pairwise(symbols):
            break
        symbols = merge(symbols, pair)
    return symbols


def _one_walk(word, merges):
    symbols, i = list(word_symbols(word)), 0
    while i < len(symbols) - 1:
        if (symbols[i], symbols[i + 1]) in merges:
            symbols[i : i + 2] = [symbols[i] + symbols[i + 1]]
        else:
            i += 1
    return symbols


def _pairs_of_characters_only(word, merges):
    symbols = word_symbols(word)
    pairs = set(pairwise(symbols))
    for pair in merges:
        symbols = merge(symbols, pair) if pair in pairs else symbols
    return symbols


def _as_text(word, merges):
    text = " ".join(word_symbols(word))
    for left, right in merges:
        text = text.replace(f"{left} {right}", left + right)
    return text.split(" ")


def _last_learned_first(word, merges):
    symbols, rank = word_symbols(word), {pair: i for i, pair in enumerate(merges)}
    while pairs := [pair for pair in pairwise(symbols) if pair in rank]:
        symbols = merge(symbols, max(pairs, key=rank.get))
    return symbols


def _mark_added(word, merges):
    *first, last = _from(spell=tuple)(word, merges)
    return [*first, last + MARK]


# Learned from words in which b c is commoner than a b.
BORDERS = (("b", "c"), ("a", "b"), ("ab", "c</w>"), ("bc", "d</w>"))


def _cases():
    thirteen = train_bpe(CLASSIC, 13)
    return [
        case("lowest", thirteen[:5], about="a word never seen, five merges"),
        case("lowest", [], about="no merges"),
        case("low", thirteen, about="a word of the corpus"),
        case("w", thirteen, about="a word of one letter"),
        case("lowest", thirteen, about="all thirteen merges"),
        case("newer", thirteen, about="another word never seen"),
        case("lolow", thirteen, about="a pair twice in a word"),
        case("esest", thirteen, about="a pair inside the word and at its end"),
        case("abcd", list(BORDERS), about="two merges that want the same letter"),
        case("abc", list(BORDERS), about="three letters, the last with its mark"),
        case("abcx", [("b", "c"), ("a", "b"), ("a", "bc")], about="a long token made of a late pair"),
        case("abcabcd", list(BORDERS), about="both in one word"),
        case("abc", [("a", "b"), ("b", "c</w>")], about="two merges that want the letter in the middle"),
        case("cbax", [("b", "a"), ("c", "b")], about="the right one of two was learned first"),
        case("abcde", [("a", "b"), ("ab", "c"), ("c", "d")], about="a long merge learned before a short one"),
    ]


EXERCISE = Exercise(
    title="Encode a word",
    task="Cut `word` into symbols: first its characters, the last one with the mark </w>, and then all merges by "
    "their rank, the one that was learned first before the others. Return the symbols.",
    reference=apply_merges,
    call=as_line,
    cases=_cases,
    mistakes=(
        Mistake(
            "longest-match",
            _longest_match,
            "You take the longest token that fits, from the left. That gives real tokens, but other ones than "
            "training had: rank decides, not length.",
        ),
        Mistake(
            "from-the-left",
            _any_merge,
            "You join the leftmost pair that is any merge. Of all pairs in the word, the one that was learned first "
            "comes first, wherever it stands.",
        ),
        Mistake(
            "from-the-right",
            lambda word, merges: _any_merge(word, merges, last=True),
            "You join the rightmost pair that is any merge. Of all pairs in the word, the one that was learned first "
            "comes first, wherever it stands.",
        ),
        Mistake(
            "last-learned-first",
            _last_learned_first,
            "Of all pairs in the word you join the one that was learned *last*. The one that was learned first comes "
            "first, and it has the smallest rank.",
        ),
        Mistake(
            "one-walk-from-the-left",
            _one_walk,
            "You walk through the word once and join whatever is a merge. Of all pairs in the word, the one that was "
            "learned first comes first, wherever it stands.",
        ),
        Mistake(
            "by-the-alphabet",
            _from(order=sorted),
            "The merges run in the order of the alphabet. Keep the order of the list: it is that in which they were "
            "learned.",
        ),
        Mistake(
            "pairs-of-characters-only",
            _pairs_of_characters_only,
            "Only pairs of characters are joined. A later merge joins what earlier ones made: look at the pairs of the "
            "word as it is by then.",
        ),
        Mistake(
            "longest-merge-first",
            _from(order=lambda merges: sorted(merges, key=lambda pair: -len("".join(pair)))),
            "The merges run from long to short. A long one needs the symbols that shorter ones make: keep the order "
            "of the list.",
        ),
        Mistake(
            "shortest-merge-first",
            _from(order=lambda merges: sorted(merges, key=lambda pair: len("".join(pair)))),
            "The merges run from short to long. Training may learn a long one before a short one: keep the order of "
            "the list.",
        ),
        Mistake(
            "as-text",
            _as_text,
            "Symbols were joined of which only the letters next to the border fit: in (new, er</w>), w and er</w> are "
            "no two symbols. Replacing inside a text does this. Compare whole symbols.",
        ),
        Mistake(
            "mark-added-at-the-end",
            _mark_added,
            "The mark comes too late: it is added after the merges, so no merge at the end of a word fits. Begin with "
            "`word_symbols(word)`.",
        ),
        Mistake(
            "last-merge-first",
            _from(order=reversed),
            "The merges run from the last to the first. A later merge needs the symbols that earlier ones make.",
        ),
        Mistake(
            "mark-forgotten",
            _from(spell=tuple),
            "The last character has no mark, so no merge at the end of a word fits. Begin with `word_symbols(word)`.",
        ),
        Convention(
            "mark-of-its-own",
            _from(spell=lambda word: (*word, MARK)),
            "Valid where the mark is a symbol of its own. Here it belongs to the last character: t</w> is one symbol.",
        ),
        Mistake(
            "one-place-each",
            _one_place_each,
            "Each merge joins one place only. A merge joins every occurrence of its pair, as in training.",
        ),
        Mistake(
            "one-merge",
            _one_merge,
            "You stop after the first merge that fits. The later ones go on with the symbols that it made.",
        ),
        Mistake(
            "starts-anew",
            _starts_anew,
            "Each merge begins again with the characters, so only the last merge of the list shows. Go on with the "
            "symbols that the merges before it have made.",
        ),
        Mistake(
            "starts-anew-and-never-before",
            _starts_anew_and_never_before,
            "Each merge begins again with the characters, so only the last one shows, and without any merge there is "
            "nothing to return. Let `symbols` begin with the characters before the loop, and merge what `symbols` "
            "holds.",
        ),
        Mistake(
            "stops-at-a-gap",
            _stops_at_a_gap,
            "You stop at the first merge that does not occur in the word. Later ones may still fit.",
        ),
        Mistake(
            "no-merges",
            lambda word, merges: word_symbols(word),
            "These are the characters, and no merge was applied. Does the result of `merge` replace the symbols?",
        ),
        Mistake(
            "one-string",
            lambda word, merges: " ".join(apply_merges(word, merges)),
            "The symbols are right, but they stand in one string. Return them as a tuple or a list.",
        ),
    ),
    hints=(
        "What did training do with each word, step by step? Encoding does the same again.",
        "Begin with the characters, the last one marked. Take the merges in the order in which they were learned, and "
        "join each of them everywhere.",
        "`symbols = word_symbols(word)`, then `for pair in merges: symbols = merge(symbols, pair)`.",
    ),
    alternatives=(one_pass_in_order, best_pair_everywhere, in_place),
    difficulty=2,
    minutes=10,
)
