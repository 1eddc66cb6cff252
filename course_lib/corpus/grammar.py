"""One tree, two languages: the synchronous grammar that spells a sentence in Korean and in English.

Every spelled word is a pair (text, node). Two words with the same node mean the same thing, whichever language they are
in: that is the gold alignment. A word whose partner is nothing (a, the of a place, that) has the node None.
"""

from dataclasses import dataclass, field

from course_lib.corpus.dictionary import Noun, Place, Verb
from course_lib.corpus.lexicon import NUMERALS
from course_lib.corpus.morphology import conjugate, indefinite_article, with_particle

Word = tuple[str, object]


@dataclass(eq=False)
class NounPhrase:
    """A noun with what surrounds it. `count` is 1, 0 for a plural without number, or 2 to 5."""

    noun: Noun
    count: int = 1
    definite: bool = False
    bare_the: bool = False  # play the piano: an English "the" that Korean does not say
    adjective: tuple[str, str] | None = None
    relative: "Clause | None" = None

    @property
    def plural(self) -> bool:
        return self.count != 1 or self.noun.kind == "pair"


@dataclass(eq=False)
class Adjunct:
    """What else is said of the event; `kind` is time, place, companion, instrument, transport or goal."""

    kind: str
    ko: list[Word]
    en: list[Word]


@dataclass(eq=False)
class Clause:
    """A verb with its subject and object. In a relative clause one of the two is the noun that it describes:
    `gap` names it ("subject" or "object"), and it is spelled outside."""

    verb: Verb
    subject: NounPhrase
    object: NounPhrase | None = None
    past: bool = True
    negative: bool = False
    adjuncts: list[Adjunct] = field(default_factory=list)
    quoted: "Clause | None" = None
    gap: str = ""


@dataclass(eq=False)
class Because:
    """`main` because `cause`; Korean says the cause first."""

    main: Clause
    cause: Clause


@dataclass(eq=False)
class Coordination:
    """Clauses joined by and / -고."""

    clauses: list[Clause]


def place_adjunct(place: Place) -> Adjunct:
    """마을에서 / in the village: the preposition is in the Korean word too, the article is not."""
    node = object()
    kind = "goal" if place.preposition == "to" else "place"
    en = [(place.preposition, node), ("the", None), (place.en, node)]
    return Adjunct(kind, [(with_particle(place.ko, place.particle), node)], en)


def time_adjunct(ko: str, en: str) -> Adjunct:
    """매일 / every day: one Korean word, one or more English ones."""
    node = object()
    return Adjunct("time", [(ko, node)], [(word, node) for word in en.split("_")])


def phrase_adjunct(kind: str, phrase: NounPhrase) -> Adjunct:
    """미나와 / with Mina, 연필로 / with a pencil, 버스로 / by bus."""
    ko = spell_ko_phrase(phrase, "with" if kind == "companion" else "by")
    if kind == "transport":
        return Adjunct(kind, ko, [("by", phrase), (phrase.noun.en, phrase)])
    return Adjunct(kind, ko, [("with", phrase), *spell_en_phrase(phrase)])


# --- Korean: subject, adjuncts, object, verb; the verb's form says what the clause is for

KO_ORDER = ("time", "place", "companion", "instrument", "transport", "goal")


def spell_ko_phrase(phrase: NounPhrase, particle: str) -> list[Word]:
    """[relative clause] [그] [adjective] noun(들) [numeral counter], the particle on the last word."""
    words = spell_ko_clause(phrase.relative, "subject", "before noun") if phrase.relative else []
    if phrase.definite:
        words.append(("그", (phrase, "the")))
    if phrase.adjective:
        words.append((phrase.adjective[0], (phrase, "adjective")))
    words.append((phrase.noun.ko + ("들" if phrase.count == 0 else ""), phrase))
    if phrase.count > 1:
        words.append((NUMERALS[phrase.count][0], (phrase, "count")))
        unit = "unit" if phrase.noun.kind in ("mass", "pair") else "count"
        words.append((phrase.noun.counter, (phrase, unit)))
    text, node = words[-1]
    words[-1] = (with_particle(text, particle), node)
    return words


def spell_ko_clause(clause: Clause, subject_particle: str, ending: str) -> list[Word]:
    """`subject_particle` is "topic" in a main clause and "subject" inside another one; `ending` as in `ENDINGS`."""
    words = spell_ko_phrase(clause.subject, subject_particle) if clause.gap != "subject" else []
    for kind in KO_ORDER:
        words += [word for adjunct in clause.adjuncts if adjunct.kind == kind for word in adjunct.ko]
    if clause.object and clause.gap != "object":
        words += spell_ko_phrase(clause.object, "object")
    if clause.quoted:
        words += spell_ko_clause(clause.quoted, "subject", "quoted")
    if clause.negative:
        return [*words, (clause.verb.stem + "지", clause), (conjugate("않", ending, clause.past), (clause, "not"))]
    return [*words, (conjugate(clause.verb.stem, ending, clause.past), clause)]


def spell_ko(tree: Clause | Because | Coordination) -> list[Word]:
    """The whole sentence in Korean."""
    if isinstance(tree, Because):
        cause = spell_ko_clause(tree.cause, "subject", "because")
        return [*cause, ("때문에", tree), *spell_ko_clause(tree.main, "topic", "plain")]
    if isinstance(tree, Coordination):
        *first, last = tree.clauses
        words = [word for clause in first for word in spell_ko_clause(clause, "topic", "and")]
        return words + spell_ko_clause(last, "topic", "plain")
    return spell_ko_clause(tree, "topic", "plain")


# --- English: subject, verb, object, adjuncts in the other order

EN_ORDER = ("goal", "transport", "instrument", "companion", "place", "time")


def spell_en_phrase(phrase: NounPhrase) -> list[Word]:
    """[the | a | an] [numeral] [cups of] [adjective] noun [relative clause]."""
    noun = phrase.noun
    words = []
    if phrase.count > 1:
        words.append((NUMERALS[phrase.count][1], (phrase, "count")))
        if noun.kind in ("mass", "pair"):
            words += [("cups" if noun.kind == "mass" else "pairs", (phrase, "unit")), ("of", None)]
    if phrase.adjective:
        words.append((phrase.adjective[1], (phrase, "adjective")))
    words.append((noun.plural if phrase.plural else noun.en, phrase))
    if phrase.definite or phrase.bare_the:
        words.insert(0, ("the", (phrase, "the") if phrase.definite else None))
    elif not phrase.plural and noun.kind not in ("name", "mass"):
        words.insert(0, (indefinite_article(words[0][0]), None))
    if phrase.relative:
        words += [("that", None), *spell_en_clause(phrase.relative)]
    return words


def spell_en_verb(clause: Clause) -> list[Word]:
    """The verb in its tense, agreeing with the subject: reads, read, does not read, did not read."""
    verb, plural = clause.verb, clause.subject.plural
    if clause.negative:
        helper = "did" if clause.past else "do" if plural else "does"
        words = [(helper, (clause, "not")), ("not", (clause, "not"))]
        return words + [(word, clause) for word in verb.base.split(" ")]
    form = verb.past if clause.past else verb.base if plural else verb.third_person
    return [(word, clause) for word in form.split(" ")]


def spell_en_clause(clause: Clause, adjunct_order: tuple[str, ...] = EN_ORDER) -> list[Word]:
    """Subject, verb, object, what is quoted, adjuncts; without the noun that a relative clause describes."""
    words = spell_en_phrase(clause.subject) if clause.gap != "subject" else []
    words += spell_en_verb(clause)
    if clause.object and clause.gap != "object":
        words += spell_en_phrase(clause.object)
    if clause.quoted:
        words += [("that", None), *spell_en_clause(clause.quoted)]
    for kind in adjunct_order:
        words += [word for adjunct in clause.adjuncts if adjunct.kind == kind for word in adjunct.en]
    return words


def spell_en(tree: Clause | Because | Coordination, adjunct_order: tuple[str, ...] = EN_ORDER) -> list[Word]:
    """The whole sentence in English; an `adjunct_order` that starts with "time" puts the time before the subject."""
    if isinstance(tree, Because):
        return [*spell_en_clause(tree.main), ("because", tree), *spell_en_clause(tree.cause)]
    if isinstance(tree, Coordination):
        first, *rest = (spell_en_clause(clause) for clause in tree.clauses)
        return first + [word for words in rest for word in (("and", None), *words)]
    if adjunct_order[0] == "time":
        time = [word for adjunct in tree.adjuncts if adjunct.kind == "time" for word in adjunct.en]
        return time + spell_en_clause(tree, adjunct_order[1:])
    return spell_en_clause(tree, adjunct_order)


def align(ko: list[Word], en: list[Word]) -> tuple[tuple[int, int], ...]:
    """Pairs (Korean position, English position) of words with the same node."""
    places = {}
    for i, (_, node) in enumerate(ko):
        if node is not None:
            places.setdefault(node, []).append(i)
    return tuple(sorted([(i, j) for j, (_, node) in enumerate(en) if node in places for i in places[node]]))
