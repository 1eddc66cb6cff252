"""Tags of a sentence: which phenomena of the grammar it shows. A tag makes a slice of every split."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from course_lib.corpus.grammar import Because, Clause, Coordination, NounPhrase
from course_lib.corpus.lexicon import HOMONYMS, ONE_TO_MANY
from course_lib.corpus.morphology import split_syllable

SHARED = {"homonym": HOMONYMS, "one to many": ONE_TO_MANY}


def clauses_of(tree: Clause | Because | Coordination) -> Iterator[Clause]:
    """All clauses, the outer before the inner ones; the first is the main clause."""
    if isinstance(tree, Clause):
        yield tree
        for phrase in phrases_of(tree):
            if phrase.relative:
                yield from clauses_of(phrase.relative)
        if tree.quoted:
            yield from clauses_of(tree.quoted)
    else:
        for clause in [tree.main, tree.cause] if isinstance(tree, Because) else tree.clauses:
            yield from clauses_of(clause)


def phrases_of(clause: Clause) -> list[NounPhrase]:
    """Subject and object, without the one that a relative clause leaves out."""
    phrases = [clause.subject] if clause.gap != "subject" else []
    return [*phrases, clause.object] if clause.object and clause.gap != "object" else phrases


def tags_of(tree: Clause | Because | Coordination, kind: str, en: Sequence, links: Sequence) -> tuple[str, ...]:
    """The tags of a tree, its English words, and its alignment, in alphabetical order: its kind, and what they show.

    Some come with what it is about, too: `relative:object` (the described noun is the object of its relative clause),
    `counter:권` (책 세 권, three books), `homonym:배` (one Korean form, several English words), `one to many:wear` (one
    English word, several Korean ones). `particle:은` says that the topic ends in a consonant, `particle:는` in a vowel.
    """
    clauses = list(clauses_of(tree))
    phrases = [phrase for clause in clauses for phrase in phrases_of(clause)]
    main = clauses[0]
    tags = {kind, "past" if main.past else "present"}
    for clause in clauses:
        tags.update(lexical("homonym", clause.verb.stem), lexical("one to many", clause.verb.base))
        if clause.gap:
            tags |= {"relative", f"relative:{clause.gap}"}
        several = len(clause.adjuncts) > 1  # of time, place, companion, instrument, goal
        third = not (clause.past or clause.negative or clause.subject.plural)
        shown = {"quote": clause.quoted, "negation": clause.negative, "adjuncts": several, "third person": third}
        tags |= {tag for tag, there in shown.items() if there}
    for phrase in phrases:
        tags.update(lexical("homonym", phrase.noun.ko))
        if phrase.adjective:
            tags.update(lexical("homonym", phrase.adjective[0]), lexical("one to many", phrase.adjective[1]))
        if phrase.count > 1:
            tags |= {"counter", f"counter:{phrase.noun.counter}"}
        if phrase.count == 0:
            tags.add("plural")  # 연필들, pencils
        if phrase.definite:
            tags.add("definite")  # 그 책, the book
    if not "".join(en).islower():
        tags.add("name")
    topic = main.subject
    last = topic.noun.counter if topic.count > 1 else "들" if topic.count == 0 else topic.noun.ko
    tags.add("particle:는" if split_syllable(last[-1])[2] == " " else "particle:은")
    if any(j > m for (_, j), (_, m) in pairwise(links)):  # sorted: where any cross, neighbors do
        tags.add("crossing")  # the verb moves from the end to the middle
    return tuple(sorted(tags))


def lexical(tag: str, word: str) -> tuple[str, ...]:
    """The tag, alone and with the word, if the word is one of those that it is for."""
    return (tag, f"{tag}:{word}") if word in SHARED[tag] else ()
