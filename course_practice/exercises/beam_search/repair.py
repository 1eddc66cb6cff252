"""Exercise: bug hunt: four bugs in a beam search."""

from itertools import product

from course_lib.tokens import EOS
from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.beam_search._tables import Table, fresh


def small_beam_search(log_probs, k, max_len, alpha):
    """Beam search for one sentence: (tokens without EOS, log-probability) of the finished one with the best score."""
    beams, pool = [([], 0.0)], []
    for _step in range(max_len):
        found = [
            ([*tokens, token], total + gain)
            for tokens, total in beams
            for token, gain in enumerate(log_probs(tokens).tolist())
        ]
        found.sort(key=lambda f: f[1], reverse=True)
        pool += [f for f in found[:k] if f[0][-1] == EOS]
        beams = [f for f in found if f[0][-1] != EOS][:k]
    tokens, total = max(pool, key=lambda f: f[1] / len(f[0]) ** alpha)
    return tokens[:-1], total


def small_beam_search_starter(log_probs, k, max_len, alpha):
    beams, pool = [([], 0.0)] * k, []
    for _step in range(max_len):
        found = [
            ([*tokens, token], total + gain)
            for tokens, total in beams
            for token, gain in enumerate(log_probs(tokens).tolist())
        ]
        found.sort(key=lambda f: f[1], reverse=True)
        pool += [f for f in found[:k] if f[0][-1] == EOS]
        beams = found[:k]
        if len(pool) >= k:
            break
    tokens, total = max(pool, key=lambda f: f[1] / max_len**alpha)
    return tokens[:-1], total


def with_a_loop(log_probs, k, max_len, alpha):
    beams, pool = [([], 0.0)], []
    while max_len:
        found = []
        for tokens, total in beams:
            for token, gain in enumerate(log_probs(tokens)):
                found.append(([*tokens, token], total + float(gain)))
        beams = []
        for rank, (tokens, total) in enumerate(sorted(found, key=lambda f: -f[1])):
            if tokens[-1] == EOS:
                if rank < k:
                    pool.append((total / len(tokens) ** alpha, tokens[:-1], total))
            elif len(beams) < k:
                beams.append((tokens, total))
        max_len -= 1
    return max(pool)[1:]


def copies_that_count_for_nothing(log_probs, k, max_len, alpha):
    beams, pool = [([], 0.0)] + [([], float("-inf"))] * (k - 1), []
    for _step in range(max_len):
        found = [([*t, v], s + g) for t, s in beams for v, g in enumerate(log_probs(t).tolist())]
        found.sort(key=lambda f: f[1], reverse=True)
        pool.extend(f for f in found[:k] if f[0][-1] == EOS)
        beams = [f for f in found if f[0][-1] != EOS][:k]
    pool.sort(key=lambda f: f[1] * len(f[0]) ** -alpha)
    return pool[-1][0][:-1], pool[-1][1]


def stops_when_nothing_can_win(log_probs, k, max_len, alpha):
    beams, pool = [([], 0.0)], []
    for _step in range(max_len):
        found = sorted(
            (
                (total + gain, [*tokens, v])
                for tokens, total in beams
                for v, gain in enumerate(log_probs(tokens).tolist())
            ),
            reverse=True,
        )
        pool += [f for f in found[:k] if f[1][-1] == EOS]
        beams = [(tokens, total) for total, tokens in found if tokens[-1] != EOS][:k]
        best = max((total / len(tokens) ** alpha for total, tokens in pool), default=-float("inf"))
        if beams[0][1] / max_len**alpha <= best:
            break
    total, tokens = max(pool, key=lambda f: f[0] / len(f[1]) ** alpha)
    return tokens[:-1], total


def _half_repaired(copies=False, extended=False, early=False, one_length=False):
    """The repaired listing with some of its bugs left in."""

    def repaired(log_probs, k, max_len, alpha):
        beams, pool = [([], 0.0)] * (k if copies else 1), []
        for _step in range(max_len):
            found = [
                ([*tokens, token], total + gain)
                for tokens, total in beams
                for token, gain in enumerate(log_probs(tokens).tolist())
            ]
            found.sort(key=lambda f: f[1], reverse=True)
            pool += [f for f in found[:k] if f[0][-1] == EOS]
            beams = [f for f in found if extended or f[0][-1] != EOS][:k]
            if early and len(pool) >= k:
                break
        length = (lambda f: max_len) if one_length else (lambda f: len(f[0]))
        tokens, total = max(pool, key=lambda f: f[1] / length(f) ** alpha)
        return tokens[:-1], total

    return repaired


def _first_end(log_probs, k, max_len, alpha):
    beams, pool = [([], 0.0)], []
    for _step in range(max_len):
        found = [([*t, v], s + g) for t, s in beams for v, g in enumerate(log_probs(t).tolist())]
        found.sort(key=lambda f: f[1], reverse=True)
        pool += [f for f in found[:k] if f[0][-1] == EOS]
        beams = [f for f in found if f[0][-1] != EOS][:k]
        if pool:
            break
    tokens, total = max(pool, key=lambda f: f[1] / len(f[0]) ** alpha)
    return tokens[:-1], total


def _shrinks(log_probs, k, max_len, alpha):
    beams, pool = [([], 0.0)], []
    for _step in range(max_len):
        found = [([*t, v], s + g) for t, s in beams for v, g in enumerate(log_probs(t).tolist())]
        found.sort(key=lambda f: f[1], reverse=True)
        pool += [f for f in found[:k] if f[0][-1] == EOS]
        beams = [f for f in found[:k] if f[0][-1] != EOS]
    tokens, total = max(pool, key=lambda f: f[1] / len(f[0]) ** alpha)
    return tokens[:-1], total


_OPEN = {
    "copies": "how many *different* beginnings are there before the first word? Look at `beams` in the first line;",
    "extended": "what happens in the next step to a sentence that has just ended?",
    "early": "a full pool proves nothing while an open beam may still win;",
    "one_length": "by which length is each finished sentence divided in the last line but one?",
}


# Bugs hide each other: copies of one beginning leave little to go wrong, and with one length for all the most probable
# sentence wins however long the search went on. What cannot be told apart by its answers has one message.
_HIDDEN = [
    {"early", "one_length"},
    {"extended", "one_length"},
    {"extended", "early", "one_length"},
    {"copies", "early"},
    {"copies", "early", "one_length"},
    {"copies", "extended", "one_length"},
    {"copies", "extended", "early"},
]
_MORE = {
    ("one_length",): "Still open: by which length is each finished sentence divided in the last line but one? Another "
    "bug may hide behind this one.",
    ("copies", "one_length"): "Still open: how many *different* beginnings are there before the first word? Look at "
    "`beams` in the first line. While all beams are copies of one another, the other bugs hardly show.",
}


def _partial_repairs():
    names = list(_OPEN)
    for flags in product((False, True), repeat=len(names)):
        left = tuple(name for name, flag in zip(names, flags, strict=True) if flag)
        if not left or len(left) == len(names) or set(left) in _HIDDEN:
            continue
        said = ("Three of the four are repaired", "Two of four are repaired", "One of four is repaired")[len(left) - 1]
        clues = " ".join(f"({n}) {_OPEN[name]}" if len(left) > 1 else _OPEN[name] for n, name in enumerate(left, 1))
        clues = clues.removesuffix(";") + ("." if clues.endswith(";") else "")
        yield Mistake(
            "-and-".join(left).replace("_", "-"),
            _half_repaired(**dict.fromkeys(left, True)),
            _MORE.get(left, f"{said}. Still open: {clues}"),
        )


def _repaired(pooled=lambda found, k: found[:k], enough=None, result=lambda tokens, total, alpha: (tokens[:-1], total)):
    """The right answer with one of its steps exchanged."""

    def wrong(log_probs, k, max_len, alpha):
        beams, pool = [([], 0.0)], []
        for _step in range(max_len):
            found = [([*t, v], s + g) for t, s in beams for v, g in enumerate(log_probs(t).tolist())]
            found.sort(key=lambda f: f[1], reverse=True)
            pool += [f for f in pooled(found, k) if f[0][-1] == EOS]
            beams = [f for f in found if f[0][-1] != EOS][:k]
            if enough and enough(pool, k):
                break
        tokens, total = max(pool, key=lambda f: f[1] / len(f[0]) ** alpha)
        return result(tokens, total, alpha)

    return wrong


EXERCISE = Exercise(
    title="Bug hunt: a beam search",
    task="Find and repair the four planted bugs. log_probs(tokens) is the model, k the width. At each step the best k "
    "continuations that do not end go on, and those that end among the best k of all go to the pool. Search up to "
    "max_len tokens, and return (tokens without EOS, log-probability) of the finished sentence with the best "
    "log-probability / length^alpha.",
    reference=small_beam_search,
    starter=small_beam_search_starter,
    call=fresh,
    cases=lambda: [
        case(Table(63, end=-1.0), 2, 7, 0.0, about="width 2, α = 0"),
        case(Table(68, vocab_size=8), 3, 8, 1.0, about="width 3, α = 1"),
        case(Table(78, end=0.5), 3, 8, 1.0, about="width 3, α = 1"),
        case(Table(123), 2, 8, 1.0, about="width 2, α = 1"),
        case(Table(117), 3, 8, 1.0, about="width 3, α = 1"),
        *(case(Table(seed, end=1.0), k, 7, 0.0, about=f"width {k}, α = 0") for seed in (1, 3, 6) for k in (2, 3)),
        *(case(Table(seed, vocab_size=7, end=0.5), 4, 9, 1.0, about="width 4, α = 1") for seed in range(40, 44)),
        *(case(Table(seed, end=1.0), 3, 8, 0.6, about="width 3, α = 0.6") for seed in range(50, 54)),
        case(Table(9, end=2.0), 1, 8, 0.0, about="width 1"),
        case(Table(200, end=0.5), 1, 8, 0.0, about="an end that width 1 leaves out"),
        case(Table(214, end=0.5), 2, 8, 1.0, about="an end that width 2 leaves out"),
        case(Table(218, end=0.5), 2, 8, 1.0, about="a good sentence that ends late"),
    ],
    mistakes=(
        *_partial_repairs(),
        Mistake(
            "stops-at-the-first-end",
            _first_end,
            "Three of the four are repaired. Still open: you stop at the first end. An open beam may still lead to a "
            "better sentence, so go on to `max_len`.",
        ),
        Mistake(
            "beam-shrinks",
            _shrinks,
            "All four are repaired, but each sentence that ends takes its place in the beam with it, so fewer and "
            "fewer go on. Here the best `k` of those that do *not* end go on: choose first, then cut.",
        ),
        Mistake(
            "all-ends-pooled",
            _repaired(pooled=lambda found, k: found),
            "The four bugs are repaired, but now every sentence that ends goes to the pool. Only those belong there "
            "that end among the best `k` of all.",
        ),
        Mistake(
            "stops-one-later",
            _repaired(enough=lambda pool, k: len(pool) > k),
            "Three of the four are repaired. Still open: even more than `k` ends prove nothing while an open beam may "
            "still win.",
        ),
        Mistake(
            "end-kept",
            _repaired(result=lambda tokens, total, alpha: (tokens, total)),
            "The four bugs are repaired, but EOS stands in the list that you return.",
        ),
        Mistake(
            "score-returned",
            _repaired(result=lambda tokens, total, alpha: (tokens[:-1], total / len(tokens) ** alpha)),
            "The four bugs are repaired, but you return the score. Return the log-probability itself.",
        ),
    ),
    hints=(
        "One bug stands before the loop, two in its last three lines, and one behind it.",
        "Four questions. How many beginnings are there before the first word? May a finished sentence go on? Is the "
        "search over when the pool is full? Whose length divides a score?",
        "`beams = [([], 0.0)]`, `beams = [f for f in found if f[0][-1] != EOS][:k]`, no `break`, and `len(f[0])` for "
        "`max_len` in the last line but one.",
    ),
    alternatives=(with_a_loop, copies_that_count_for_nothing, stops_when_nothing_can_win),
    difficulty=3,
    minutes=15,
)
