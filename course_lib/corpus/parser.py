"""Is this a sentence of the corpus's English? A parser of the grammar that `grammar` spells.

It judges form alone: the order of words, articles, number, and what a verb needs beside it. Whether a man can eat a
book it does not ask.
"""

from collections.abc import Iterator, Sequence

from course_lib.corpus import lexicon
from course_lib.corpus.dictionary import INTRANSITIVE_VERBS, NOUN, SPEECH_VERBS, TRANSITIVE_VERBS, Verb
from course_lib.corpus.lexicon import HELD_OUT_NAMES, NAMES, NUMERALS
from course_lib.corpus.morphology import indefinite_article, romanize

PEOPLE = {romanize(name) for name in (*NAMES, *HELD_OUT_NAMES)}
NOUNS = {noun.en: noun for noun in NOUN.values()}
PLURALS = {noun.plural: noun for noun in NOUN.values()}
ADJECTIVES = {english for row in lexicon.ADJECTIVES.values() for _, english in row}
COUNTS = {english for _, english in NUMERALS.values()}
PLACES = {english: preposition for _, english, preposition in map(str.split, lexicon.PLACES.split("·"))}
TIMES = [english.split("_") for row in lexicon.TIMES.values() for _, english in row]
UNITS = {"mass": "cups", "pair": "pairs"}


def is_sentence(words: Sequence[str]) -> bool:
    """Does the grammar have a sentence of these words, whatever it means?

    >>> is_sentence("the boys that drove a taxi laugh in the village".split())
    True
    >>> is_sentence("the boys that drove a taxi laughs in the village".split())
    False
    """
    return len(words) in _Parser(words).sentence()


class _Parser:
    """Each method yields where a phrase that begins at word i may end."""

    def __init__(self, words: Sequence[str]):
        self.words = words

    def at(self, i: int, *expected: str) -> bool:
        return tuple(self.words[i : i + len(expected)]) == expected

    def sentence(self) -> set[int]:
        """A clause, one because of another, or clauses joined by and."""
        first = set(self.clause(0))
        because = {end for i in first if self.at(i, "because") for end in self.clause(i + 1)}
        joined, newest = set(first), first
        while newest:
            newest = {end for i in newest if self.at(i, "and") for end in self.clause(i + 1)} - joined
            joined |= newest
        return joined | because

    def clause(self, i: int) -> Iterator[int]:
        """Subject, verb, and what follows."""
        for j, plural in self.phrase(i):
            yield from self.predicate(j, plural)

    def predicate(self, i: int, plural: bool) -> Iterator[int]:
        for j in self.verb(i, plural, TRANSITIVE_VERBS):
            for k, _plural in self.phrase(j):
                yield from self.adjuncts(k)
        for j in self.verb(i, plural, INTRANSITIVE_VERBS):
            yield from self.adjuncts(j)
        for j in self.verb(i, plural, SPEECH_VERBS):
            if self.at(j, "that"):
                yield from self.clause(j + 1)

    def verb(self, i: int, plural: bool, verbs: Sequence[Verb]) -> Iterator[int]:
        """A verb in a form that goes with its subject."""
        helpers = ("did", "do" if plural else "does")
        negated = any(self.at(i, helper, "not") for helper in helpers)
        ends = set()
        for verb in verbs:
            forms = [verb.base] if negated else [verb.past, verb.base if plural else verb.third_person]
            start = i + 2 if negated else i
            for form in (form.split(" ") for form in forms):
                if self.at(start, *form):
                    ends.add(start + len(form))
        yield from ends

    def phrase(self, i: int) -> Iterator[tuple[int, bool]]:
        """A name, or a noun with what surrounds it; and whether it is plural."""
        if i < len(self.words) and self.words[i] in PEOPLE:
            yield i + 1, False
        for j, plural in self.noun(i):
            yield j, plural
            if self.at(j, "that"):
                for end in self.relative(j + 1, plural):
                    yield end, plural

    def noun(self, i: int) -> Iterator[tuple[int, bool]]:
        """[the | a | an] [numeral] [cups of] [adjective] noun."""
        words, article = self.words, ""
        if i < len(words) and words[i] in ("the", "a", "an"):
            article, i = words[i], i + 1
        start = i
        counted, unit = i < len(words) and words[i] in COUNTS, ""
        i += counted
        if counted and any(self.at(i, unit, "of") for unit in UNITS.values()):
            unit, i = words[i], i + 2
        i += i < len(words) and words[i] in ADJECTIVES
        if i == len(words):
            return
        singular, plural = NOUNS.get(words[i]), PLURALS.get(words[i])
        if counted:
            if plural and article in ("", "the") and unit == UNITS.get(plural.kind, ""):
                yield i + 1, True
            return
        if plural and plural.kind != "mass" and article in ("", "the"):
            yield i + 1, True
        if singular and singular.kind == "mass" and article in ("", "the"):
            yield i + 1, False
        if singular and singular.kind not in UNITS and article in ("the", indefinite_article(words[start])):
            yield i + 1, False

    def relative(self, i: int, plural: bool) -> Iterator[int]:
        """After "that": a clause without its subject, which is the noun described, or without its object."""
        for j in self.verb(i, plural, TRANSITIVE_VERBS):
            yield from (end for end, _plural in self.phrase(j))
        yield from self.verb(i, plural, INTRANSITIVE_VERBS)
        for j, of_subject in self.phrase(i):
            yield from self.verb(j, of_subject, TRANSITIVE_VERBS)

    def adjuncts(self, i: int) -> set[int]:
        """What else is said, in the order of the grammar; all of it may be missing."""
        ends = {i}
        for kind in (self.goal, self.transport, self.instrument, self.companion, self.place, self.time):
            ends |= {end for start in ends for end in kind(start)}
        return ends

    def goal(self, i: int) -> Iterator[int]:
        if self.at(i, "to", "the") and i + 2 < len(self.words) and self.words[i + 2] in PLACES:
            yield i + 3

    def transport(self, i: int) -> Iterator[int]:
        if any(self.at(i, "by", vehicle) for vehicle in lexicon.TRANSPORT):
            yield i + 2

    def instrument(self, i: int) -> Iterator[int]:
        if self.at(i, "with"):
            yield from (end for end, plural in self.noun(i + 1) if not plural)

    def companion(self, i: int) -> Iterator[int]:
        if self.at(i, "with") and i + 1 < len(self.words) and self.words[i + 1] in PEOPLE:
            yield i + 2

    def place(self, i: int) -> Iterator[int]:
        if any(self.at(i, preposition, "the", english) for english, preposition in PLACES.items()):
            yield i + 3

    def time(self, i: int) -> Iterator[int]:
        yield from (i + len(time) for time in TIMES if self.at(i, *time))
