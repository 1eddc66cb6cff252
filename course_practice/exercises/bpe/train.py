"""Exercise: learn the merges."""

from collections import Counter
from itertools import pairwise

from course_lib.bpe import MARK, merge, pair_counts, train_bpe, word_symbols
from course_practice.engine import Convention, Exercise, Mistake, case
from course_practice.exercises.bpe._forms import CLASSIC, replayed


def first_seen_of_a_tie(frequencies, n_merges):
    words = {word_symbols(word): n for word, n in frequencies.items()}
    merges = []
    for _step in range(n_merges):
        counts = pair_counts(words)
        if not counts:
            break
        merges.append(max(counts, key=counts.get))
        words = {merge(symbols, merges[-1]): n for symbols, n in words.items()}
    return merges


def last_of_a_tie(frequencies, n_merges):
    corpus = [([*word[:-1], word[-1] + MARK], n) for word, n in frequencies.items()]
    merges = []
    while len(merges) < n_merges:
        counts = {}
        for symbols, n in corpus:
            for i in range(len(symbols) - 1):
                pair = symbols[i], symbols[i + 1]
                counts[pair] = counts.get(pair, 0) + n
        if not counts:
            return merges
        best = max(counts, key=lambda pair: (counts[pair], pair))
        merges.append(best)
        for symbols, _n in corpus:
            i = 0
            while i < len(symbols) - 1:
                if (symbols[i], symbols[i + 1]) == best:
                    symbols[i : i + 2] = ["".join(best)]
                i += 1
    return merges


def by_recursion(frequencies, n_merges, words=None):
    words = {word_symbols(word): n for word, n in frequencies.items()} if words is None else words
    top = pair_counts(words).most_common(1)
    if not top or n_merges == 0:
        return []
    best = top[0][0]
    merged = {merge(symbols, best): n for symbols, n in words.items()}
    return [best, *by_recursion(frequencies, n_merges - 1, merged)]


def _learn(spell=word_symbols, counts_of=pair_counts, choose=max, join=merge, extra=0):
    """The plain trainer with one part exchanged."""

    def learn(frequencies, n_merges):
        words = [(spell(word), n) for word, n in frequencies.items()]
        merges = []
        while len(merges) < n_merges + extra:
            counts = Counter()
            for symbols, n in words:
                counts.update(counts_of({symbols: n}))
            if not counts:
                break
            merges.append(choose(counts, key=counts.get))
            words = [(join(symbols, merges[-1]), n) for symbols, n in words]
        return merges

    return learn


def _types(words):
    return Counter(pair for symbols in words for pair in pairwise(symbols))


def _longest_first(counts, key):
    return max(counts, key=lambda pair: (len("".join(pair)), counts[pair]))


def _counted_once(frequencies, n_merges):
    counts = pair_counts({word_symbols(word): n for word, n in frequencies.items()})
    return [pair for pair, _n in counts.most_common(n_merges)]


def _across_words(frequencies, n_merges):
    text = [symbol for word, n in frequencies.items() for _ in range(n) for symbol in word_symbols(word)]
    merges, symbols = [], tuple(text)
    for _step in range(n_merges):
        counts = Counter(pairwise(symbols))
        if not counts:
            break
        merges.append(max(counts, key=counts.get))
        symbols = merge(symbols, merges[-1])
    return merges


def _never_merged(frequencies, n_merges):
    counts = pair_counts({word_symbols(word): n for word, n in frequencies.items()})
    return [max(counts, key=counts.get)] * n_merges if counts else []


def _stops_at_single_pairs(frequencies, n_merges):
    words, merges = {word_symbols(word): n for word, n in frequencies.items()}, []
    while len(merges) < n_merges:
        counts = pair_counts(words)
        if not counts or max(counts.values()) < 2:
            break
        merges.append(max(counts, key=counts.get))
        words = {merge(symbols, merges[-1]): n for symbols, n in words.items()}
    return merges


def _frequencies_lost(frequencies, n_merges):
    words, merges = {word_symbols(word): n for word, n in frequencies.items()}, []
    while len(merges) < n_merges and (counts := pair_counts(words)):
        merges.append(max(counts, key=counts.get))
        words = {merge(symbols, merges[-1]): 1 for symbols in words}
    return merges


def _counts_pile_up(frequencies, n_merges):
    words, merges, counts = {word_symbols(word): n for word, n in frequencies.items()}, [], Counter()
    for _step in range(n_merges):
        counts.update(pair_counts(words))
        if not counts:
            break
        merges.append(max(counts, key=counts.get))
        words = {merge(symbols, merges[-1]): n for symbols, n in words.items()}
    return merges


def _as_text(symbols, pair):
    return tuple(" ".join(symbols).replace(" ".join(pair), "".join(pair)).split(" "))


def _never_stops(frequencies, n_merges):
    words, merges = {word_symbols(word): n for word, n in frequencies.items()}, []
    for _step in range(n_merges):
        counts = pair_counts(words)
        merges.append(max(counts, key=counts.get))
        words = {merge(symbols, merges[-1]): n for symbols, n in words.items()}
    return merges


EXERCISE = Exercise(
    title="Learn the merges",
    task="`frequencies` maps words to how often they occur. Return a list of `n_merges` pairs, the commonest of each "
    "step, in the order in which you merge them; fewer if no pair is left. Any rule for ties is right.",
    reference=train_bpe,
    call=replayed,
    cases=lambda: [
        case(dict(CLASSIC), 4, about="low, lower, newest, and widest"),
        case({"ab": 2, "cab": 3, "abc": 4}, 1, about="one merge"),
        case({"low": 5}, 0, about="no merges wanted"),
        case({"ab": 1}, 9, about="fewer pairs than merges wanted"),
        case({"banana": 3, "bandana": 2, "nab": 4}, 5, about="a pair twice in a word"),
        case({"aaaa": 2, "aaab": 3, "b": 50}, 4, about="equal letters, and a word of one letter"),
        case({"to": 90, "toe": 1, "oat": 1, "goat": 1, "float": 1}, 3, about="one word much commoner than the others"),
        case(dict(CLASSIC), 13, about="all thirteen merges"),
        case({"th": 6, "hat": 5, "that": 4, "at": 3, "tat": 1}, 6, about="words that begin and end alike"),
    ],
    mistakes=(
        Mistake(
            "counted-once",
            _counted_once,
            "These are the commonest pairs of the first step. After each merge the pairs are other ones: count again.",
        ),
        Mistake(
            "frequency-forgotten",
            _learn(counts_of=_types),
            "You count each word once, however often it occurs. A word of frequency 90 brings each of its pairs 90 "
            "times.",
        ),
        Mistake(
            "least-common",
            _learn(choose=min),
            "You merge the pair that is *least* common. The commonest one shortens the corpus most.",
        ),
        Mistake(
            "last-in-the-alphabet",
            _learn(choose=lambda counts, key: max(counts)),
            "You merge the pair that is last in the alphabet. The maximum is meant by the count: "
            "`max(counts, key=counts.get)`.",
        ),
        Mistake(
            "never-merged",
            _never_merged,
            "The same pair comes again and again, because the words never change. Put the merged symbols in the place "
            "of the old ones before you count again.",
        ),
        Mistake(
            "stops-at-single-pairs",
            _stops_at_single_pairs,
            "You stop when every pair occurs once. The task wants `n_merges` pairs as long as any pair is left.",
        ),
        Mistake(
            "as-text",
            _learn(join=_as_text),
            "Symbols were joined of which only the letters next to the border fit. Replacing inside a text does this: "
            "compare whole symbols, as `merge` does.",
        ),
        Mistake(
            "frequencies-lost",
            _frequencies_lost,
            "The first merge is right. After it each word counts once: take the frequency of a word along when you "
            "merge its symbols.",
        ),
        Mistake(
            "counts-pile-up",
            _counts_pile_up,
            "The first merge is right. After it your counts still hold those of the steps before: begin each step "
            "with an empty counter.",
        ),
        Mistake(
            "longest-first",
            _learn(choose=_longest_first),
            "You prefer the longest symbol. The count alone decides.",
        ),
        Mistake(
            "mark-forgotten",
            _learn(spell=tuple),
            "The last character of each word has no mark. Begin with `word_symbols(word)`.",
        ),
        Convention(
            "mark-of-its-own",
            _learn(spell=lambda word: (*word, MARK)),
            "Valid where the mark is a symbol of its own, as in Algorithm 1 of the paper. Here it belongs to the last "
            "character: w</w> is one symbol.",
        ),
        Mistake(
            "across-words",
            _across_words,
            "A pair crosses the border of two words. Count within each word, and give its pairs the word's frequency.",
        ),
        Mistake(
            "one-merge-too-many",
            _learn(extra=1),
            "One merge too many: `n_merges` says how many you return.",
        ),
        Mistake(
            "one-merge-too-few",
            _learn(extra=-1),
            "One merge is missing: `n_merges` says how many you return.",
        ),
        Mistake(
            "returns-the-joined-symbols",
            lambda frequencies, n_merges: ["".join(pair) for pair in train_bpe(frequencies, n_merges)],
            "You return the symbols that the merges make. Return the pairs: encoding needs to know both parts.",
        ),
        Mistake(
            "never-stops",
            _never_stops,
            "It stops with an error when every word is a single symbol: then no pair is left, and the list ends early.",
        ),
    ),
    hints=(
        "A loop: count, choose, join, again and again. What must be different in the second round?",
        "Keep the words as a dictionary from symbols to frequency. In each round, count its pairs, append the "
        "commonest one to the list, and merge it in all words. Leave the loop when no pair is left.",
        "`counts = pair_counts(words)`, `best = max(counts, key=counts.get)`, and "
        "`words = {merge(symbols, best): n for symbols, n in words.items()}`.",
    ),
    alternatives=(first_seen_of_a_tie, last_of_a_tie, by_recursion),
    difficulty=2,
    minutes=15,
)
