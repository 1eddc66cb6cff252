"""Exercise: a dictionary from gold links."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import groupby
from statistics import mode

from course_practice.engine import Exercise, Mistake, case


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


def with_the_mode(pairs):
    groups = {}
    for src, tgt, links in pairs:
        for i, word in enumerate(src):
            partners = sorted(j for source, j in links if source == i)
            groups.setdefault(word, []).append(" ".join(tgt[j] for j in partners))
    return {word: tuple(mode(found).split()) for word, found in groups.items()}


def sorted_and_grouped(pairs):
    found = []
    for src, tgt, links in pairs:
        for i, word in enumerate(src):
            found.append((word, [tgt[j] for j in range(len(tgt)) if (i, j) in set(links)]))
    found.sort()
    best = {}
    for word, rows in groupby(found, key=lambda row: row[0]):
        groups = [group for _word, group in rows]
        best[word] = max(groups, key=groups.count)
    return best


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


def _counting(choose):
    """Count partners otherwise; `choose` picks from the groups and from the single partners of a word."""

    def answer(pairs):
        groups, singles = defaultdict(Counter), defaultdict(Counter)
        for src, tgt, links in pairs:
            for i, word in enumerate(src):
                partners = [tgt[j] for source, j in sorted(links) if source == i]
                groups[word][tuple(partners)] += 1
                singles[word].update(partners)
        return {word: choose(groups[word], singles[word]) for word in groups}

    return answer


def _commonest_single(groups, singles):
    return tuple(word for word, _ in singles.most_common(1))


def _commonest_link(pairs):
    counts = defaultdict(Counter)
    for src, tgt, links in pairs:
        for i, j in links:
            counts[src[i]][tgt[j]] += 1
    return {word: tuple(partner for partner, _ in found.most_common(1)) for word, found in counts.items()}


def _all_ever(groups, singles):
    return tuple(singles)


def _rarest(groups, singles):
    return min(groups, key=groups.get)


def _first_seen(groups, singles):
    return next(iter(groups))


def _last_seen(pairs):
    found = {}
    for pair in pairs:
        found |= dictionary([pair])
    return found


def _longest(groups, singles):
    return max(groups, key=len)


def _other_direction(pairs):
    turned = [(tgt, src, [(j, i) for i, j in links]) for src, tgt, links in pairs]
    return dictionary(turned)


def _links_turned(pairs):
    n = max(max(len(src), len(tgt)) for src, tgt, _ in pairs)
    padded = [
        ((*src, *[""] * (n - len(src))), (*tgt, *[""] * (n - len(tgt))), [(j, i) for i, j in links])
        for src, tgt, links in pairs
    ]
    return {word: tuple(filter(None, group)) for word, group in dictionary(padded).items() if word}


def _same_place(pairs):
    return dictionary([(src, tgt, [(i, i) for i in range(min(len(src), len(tgt)))]) for src, tgt, _ in pairs])


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


def _linked_only(pairs):
    """From target to source, by someone who leaves out words without a link."""
    groups = defaultdict(Counter)
    for src, tgt, links in pairs:
        for j in {j for _, j in links}:
            groups[tgt[j]][tuple(src[i] for i, target in sorted(links) if target == j)] += 1
    return {word: counts.most_common(1)[0][0] for word, counts in groups.items()}


def _by_the_alphabet(pairs):
    alphabetic = [(src, tgt, sorted(links, key=lambda link: tgt[link[1]])) for src, tgt, links in pairs]
    return _as_given(alphabetic)


def _as_given(pairs):
    groups = defaultdict(Counter)
    for src, tgt, links in pairs:
        for i, word in enumerate(src):
            groups[word][tuple(tgt[j] for source, j in links if source == i)] += 1
    return {word: counts.most_common(1)[0][0] for word, counts in groups.items()}


def _without_links(pairs):
    return {word: group[:1] for word, group in _neighbors(pairs).items()}


def _neighbors(pairs):
    counts = defaultdict(Counter)
    for src, tgt, _links in pairs:
        for word in src:
            counts[word].update(tgt)
    return {word: tuple(other for other, _ in found.most_common()) for word, found in counts.items()}


def _positions(pairs):
    numbered = [(src, range(len(tgt)), links) for src, tgt, links in pairs]
    return dictionary(numbered)


def _one_group_a_sentence(pairs):
    groups = defaultdict(Counter)
    for src, tgt, links in pairs:
        for word in dict.fromkeys(src):
            groups[word][tuple(tgt[j] for i, j in sorted(links) if src[i] == word)] += 1
    return {word: counts.most_common(1)[0][0] for word, counts in groups.items()}


EXERCISE = Exercise(
    title="A dictionary from gold links",
    task="From pairs (source words, target words, links (source position, target position)), return a dictionary: for "
    "every source word the group of target words, in the target's order, that it is linked to most often. An "
    "occurrence without a link may count as an empty group or not at all.",
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
    mistakes=(
        Mistake(
            "commonest-single-partner",
            _counting(_commonest_single),
            "Each word has one partner at most. 책을 is linked to two words at once, 'a' and 'book': count such a "
            "group as a whole.",
        ),
        Mistake(
            "commonest-single-link",
            _commonest_link,
            "You count each link by itself, so a word gets one partner at most. Collect the partners that a word has "
            "in one sentence, 'a' and 'book' for 책을, and count them as one group.",
        ),
        Mistake(
            "one-string",
            lambda pairs: {word: " ".join(group) for word, group in dictionary(pairs).items()},
            "The words are right, and a group is one string with spaces. It should be a tuple of words, because the "
            "translator takes it word by word.",
        ),
        Mistake(
            "all-partners-ever",
            _counting(_all_ever),
            "Every word that was ever linked to it is in the entry. Count the group of each sentence as a whole, and "
            "keep the commonest.",
        ),
        Mistake("rarest-group", _counting(_rarest), "You keep the group that occurs least often, not most often."),
        Mistake(
            "first-seen",
            _counting(_first_seen),
            "You keep the group of the first sentence that has the word. Another may be commoner: count them all.",
        ),
        Mistake(
            "last-seen",
            _last_seen,
            "A later group replaces an earlier one, although that may be commoner: count them all.",
        ),
        Mistake(
            "longest-group",
            _counting(_longest),
            "You keep the group with the most words. It is the one that occurs most often that counts.",
        ),
        Mistake(
            "target-to-source",
            _other_direction,
            "Your dictionary leads from the target to the source. The keys are the words of the source.",
        ),
        Mistake(
            "links-read-backwards",
            _links_turned,
            "The links are read backwards. The first number of a link is the position in the *source*.",
        ),
        Mistake(
            "same-place",
            _same_place,
            "Words at the same position are taken as partners. The links say which words belong together.",
        ),
        Mistake(
            "linked-words-to-source",
            _linked_only,
            "The keys are the linked words of the target, with their source words as groups. Turn it round: the keys "
            "are the words of the source.",
        ),
        Mistake(
            "positions",
            _positions,
            "Your groups hold positions. Look up the words that stand there: `tgt[j]`.",
        ),
        Mistake(
            "order-of-the-alphabet",
            _by_the_alphabet,
            "The words of a group come in the order of the alphabet. Keep them in the order of the target: 'a book', "
            "and not 'book a'.",
        ),
        Mistake(
            "order-of-the-links",
            _as_given,
            "The words of a group come in the order of the links. Sort the links, so that they come in the order of "
            "the target.",
        ),
        Mistake(
            "one-group-a-sentence",
            _one_group_a_sentence,
            "A word that stands twice in a sentence gets one group with the partners of both. Make a group for each "
            "*position* of the source.",
        ),
        Mistake(
            "links-not-used",
            _without_links,
            "You count which words stand in the same sentences. The links say which of them belong together.",
        ),
    ),
    hints=(
        "For one word of one sentence: which positions of the target is it linked to, and which words stand there?",
        "A `Counter` for every source word counts groups, and a group is a tuple of words. The commonest is the entry.",
        "`group = tuple(tgt[j] for source, j in sorted(links) if source == i)`, `groups[word][group] += 1`, and at the "
        "end `counts.most_common(1)[0][0]`.",
    ),
    alternatives=(with_plain_dictionaries, with_the_mode, sorted_and_grouped),
    difficulty=2,
    minutes=10,
)
