from course_lib.bpe import merge, pair_counts, train_bpe, word_symbols
from course_practice.engine import Exercise, case
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


EXERCISE = Exercise(
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
    alternatives=(first_seen_of_a_tie,),
)
