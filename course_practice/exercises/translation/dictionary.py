from collections import Counter, defaultdict
from collections.abc import Mapping

from course_practice.engine import Exercise, case


def dictionary(pairs):
    """For every source word the group of target words that it is linked to most often.

    A pair is (source words, target words, links), a link is (source position, target position).

    >>> dictionary([(("책을", "읽는다"), ("reads", "a", "book"), ((0, 1), (0, 2), (1, 0)))])
    {'책을': ('a', 'book'), '읽는다': ('reads',)}
    """
    groups = defaultdict(Counter)
    for src, tgt, links in pairs:
        for i, word in enumerate(src):
            group = tuple(tgt[j] for source, j in sorted(links) if source == i)
            groups[word][group] += 1
    return {word: counts.most_common(1)[0][0] for word, counts in groups.items()}


def with_plain_dictionaries(pairs):
    seen = {}
    for src, tgt, links in pairs:
        for i in range(len(src)):
            group = []
            for j in range(len(tgt)):
                if (i, j) in links:
                    group.append(tgt[j])
            if group:
                counts = seen.setdefault(src[i], {})
                counts[tuple(group)] = counts.get(tuple(group), 0) + 1
    return {word: list(max(counts, key=counts.get)) for word, counts in seen.items()}


def _as_lines(obj, given):
    """Each word with its group, whatever the order and kind of the answer; words without partners are left out."""
    answer = obj(*given.args)
    if not isinstance(answer, Mapping):
        return answer
    lines = []
    for word, group in answer.items():
        if isinstance(group, str) and " " in group:
            return "a group is one string with spaces in it"
        group = [group] if isinstance(group, str) else group
        if not isinstance(group, list | tuple) or not all(isinstance(part, str) for part in group):
            return f"{word}: {group!r}, which is no group of words"
        if any(group):
            lines.append(f"{word}: {' '.join(group)}")
    return ", ".join(sorted(lines))


BOOKS = (("책을", "읽는다"), ("reads", "a", "book"), ((0, 1), (0, 2), (1, 0)))
THE_BOOK = (("그", "책을", "산다"), ("buys", "the", "book"), ((0, 1), (1, 2), (2, 0)))
BUYS_A_BOOK = (("책을", "산다"), ("buys", "a", "book"), ((0, 1), (0, 2), (1, 0)))
PEARS = (("배가", "달다"), ("pears", "are", "sweet"), ((0, 0), (1, 1), (1, 2)))
SHIP = (("배가", "크다"), ("the", "ship", "is", "big"), ((0, 1), (1, 2), (1, 3)))
SOUR_PEARS = (("배가", "시다"), ("pears", "are", "sour"), ((0, 0), (1, 1), (1, 2)))
READS_IT = (("그", "책을", "읽는다"), ("reads", "the", "book"), ((0, 1), (1, 2), (2, 0)))
THE_BOOK_ON_THE_DESK = (
    ("그", "책이", "그", "책상에", "있다"),
    ("the", "book", "is", "on", "the", "desk"),
    ((0, 0), (1, 1), (2, 4), (3, 3), (3, 5), (4, 2)),
)
LINKS_IN_ANOTHER_ORDER = (("책을", "읽는다"), ("reads", "a", "book"), ((1, 0), (0, 2), (0, 1)))
WAITS = (("비를", "기다린다"), ("waits", "for", "rain"), ((0, 2), (1, 0), (1, 1)))


EXERCISE = Exercise(
    reference=dictionary,
    call=_as_lines,
    cases=lambda: [
        case([BOOKS], about="one sentence"),
        case([BOOKS, BUYS_A_BOOK, THE_BOOK], about="책을 is 'a book' twice and 'book' once"),
        case([SHIP, PEARS, SOUR_PEARS], about="배가 is 'pears' twice and 'ship' once, and 'the' has no link"),
        case([THE_BOOK, BOOKS, READS_IT], about="책을 is 'book' twice and 'a book' once"),
        case([WAITS, WAITS, PEARS], about="links that cross"),
        case([PEARS, SHIP, PEARS, BUYS_A_BOOK, THE_BOOK, BOOKS, BUYS_A_BOOK], about="several sentences"),
        case([THE_BOOK_ON_THE_DESK, BOOKS], about="그 stands twice in a sentence"),
        case([LINKS_IN_ANOTHER_ORDER], about="links in another order"),
    ],
    alternatives=(with_plain_dictionaries,),
)
