"""Tags of a sentence: which phenomena of the grammar it shows. A tag makes a slice of every split."""

from collections.abc import Iterator

from course_lib.corpus.grammar import Because, Clause, Coordination, NounPhrase, Word, align
from course_lib.corpus.lexicon import HOMONYMS, ONE_TO_MANY
from course_lib.corpus.morphology import split_syllable


def clauses_of(tree: Clause | Because | Coordination) -> Iterator[Clause]:
    """All clauses, the outer before the inner ones; the first is the main clause."""
    if isinstance(tree, Because):
        yield from clauses_of(tree.main)
        yield from clauses_of(tree.cause)
    elif isinstance(tree, Coordination):
        for clause in tree.clauses:
            yield from clauses_of(clause)
    else:
        yield tree
        for phrase in phrases_of(tree):
            if phrase.relative:
                yield from clauses_of(phrase.relative)
        if tree.quoted:
            yield from clauses_of(tree.quoted)


def phrases_of(clause: Clause) -> list[NounPhrase]:
    """Subject and object, without the one that a relative clause leaves out."""
    phrases = {"subject": clause.subject, "object": clause.object}
    return [phrase for role, phrase in phrases.items() if phrase and role != clause.gap]


def tags_of(tree: Clause | Because | Coordination, kind: str, ko: list[Word], en: list[Word]) -> tuple[str, ...]:
    """The tags of a tree and its two spellings, in alphabetical order: its kind, and what its words show.

    Some come with what it is about, too: `relative:object` (the described noun is the object of its relative clause),
    `counter:권` (책 세 권, three books), `homonym:배` (one Korean form, several English words), `one to many:wear` (one
    English word, several Korean ones). `particle:은` says that the topic ends in a consonant, `particle:는` in a vowel.
    """
    clauses = list(clauses_of(tree))
    phrases = [phrase for clause in clauses for phrase in phrases_of(clause)]
    main = clauses[0]
    tags = {kind, "past" if main.past else "present"}
    for clause in clauses:
        tags |= lexical("homonym", clause.verb.stem, HOMONYMS) | lexical("one to many", clause.verb.base, ONE_TO_MANY)
        if clause.gap:
            tags |= {"relative", f"relative:{clause.gap}"}
        several = len(clause.adjuncts) > 1  # of time, place, companion, instrument, goal
        third = not (clause.past or clause.negative or clause.subject.plural)
        shown = {"quote": clause.quoted, "negation": clause.negative, "adjuncts": several, "third person": third}
        tags |= {tag for tag, there in shown.items() if there}
    for phrase in phrases:
        tags |= lexical("homonym", phrase.noun.ko, HOMONYMS)
        if phrase.adjective:
            tags |= lexical("homonym", phrase.adjective[0], HOMONYMS)
            tags |= lexical("one to many", phrase.adjective[1], ONE_TO_MANY)
        if phrase.count > 1:
            tags |= {"counter", f"counter:{phrase.noun.counter}"}
        if phrase.count == 0:
            tags.add("plural")  # 연필들, pencils
        if phrase.definite:
            tags.add("definite")  # 그 책, the book
    if any(text[0].isupper() for text, _ in en):
        tags.add("name")
    topic = main.subject
    last = topic.noun.counter if topic.count > 1 else "들" if topic.count == 0 else topic.noun.ko
    tags.add("particle:는" if split_syllable(last[-1])[2] == " " else "particle:은")
    links = align(ko, en)
    if any(i < k and j > m for i, j in links for k, m in links):
        tags.add("crossing")  # the verb moves from the end to the middle
    return tuple(sorted(tags))


def lexical(tag: str, word: str, words: set[str]) -> set[str]:
    """The tag, alone and with the word, if the word is one of `words`."""
    return {tag, f"{tag}:{word}"} if word in words else set()
