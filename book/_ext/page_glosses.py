"""What each Korean word of a test sentence of the front page means: the English that its reference has for it."""

from functools import cache

from course_lib.corpus import lexicon
from course_lib.corpus.dictionary import INTRANSITIVE_VERBS, NOUN, SPEECH_VERBS, TRANSITIVE_VERBS, Verb
from course_lib.corpus.morphology import ENDINGS, add_s, conjugate, past_stem, romanize
from course_lib.corpus.speech import PREDICATES, formal, ing, with_final
from course_lib.corpus.typed import SPLIT_VERBS, SYLLABLES, UNCONTRACTED, Typed

SMALL = {"그": ["the"], "안": ["not"], "않": ["not"], "때문에": ["because"], "있": ["is", "are", "was", "were"]}
OF_NAMES = {*SYLLABLES, *"".join(lexicon.NAMES)}  # each name has two of these syllables


def verb_starts(stem: str) -> set[str]:
    """What the forms of a verb begin with: 읽, 읽었, 읽어."""
    past = past_stem(stem)
    starts = {stem, past, with_final(past, " "), formal(stem)}
    starts |= {past[:-1] + UNCONTRACTED.get(past[-1], past[-1])}
    if stem in SPLIT_VERBS:
        starts |= {stem.removesuffix("하"), "하", "했", "해", "합"}
    return starts | {conjugate(stem, ending, tense) for ending in ENDINGS for tense in (False, True)}


def adjective_starts(before_noun: str) -> set[str]:
    """What the forms of an adjective begin with: 무거운, 무겁, 무거워, 무거웠."""
    stem, open_form = PREDICATES.get(before_noun, (before_noun, before_noun))
    return {before_noun, stem, open_form, formal(stem), with_final(open_form, "ㅆ"), before_noun[:-1]} - {""}


def verb_meanings(verb: Verb) -> list[str]:
    return [verb.past, verb.third_person, ing(verb.base), verb.base]


@cache
def meanings() -> list[tuple[str, list[str]]]:
    """What Korean words begin with, the longest first, and the English that it may be."""
    places = [row.split()[:2] for row in lexicon.PLACES.split("·")]
    times = [(ko.removesuffix("에"), en.replace("_", " ")) for pairs in lexicon.TIMES.values() for ko, en in pairs]
    adjectives = {pair for pairs in lexicon.ADJECTIVES.values() for pair in pairs}
    found = [*SMALL.items()]
    found += [(noun.ko + "들", [noun.plural]) for noun in NOUN.values()]
    found += [(noun.ko, [noun.en, noun.plural]) for noun in NOUN.values()]
    found += [(ko, [en, add_s(en)]) for ko, en in places]
    found += [(ko, [en]) for ko, en in [*times, *lexicon.NUMERALS.values()]]
    found += [(start, [en]) for ko, en in adjectives for start in adjective_starts(ko)]
    for verb in [*TRANSITIVE_VERBS, *INTRANSITIVE_VERBS, *SPEECH_VERBS]:
        found += [(start, verb_meanings(verb)) for start in verb_starts(verb.stem)]
    return sorted(found, key=lambda entry: -len(entry[0]))


def gloss(word: str, reference: str) -> str:
    """The words of the reference that stand for a Korean word; "" where it has none, as for a counter.

    >>> [gloss(word, "Yejin peels four apples") for word in ("예진은", "사과", "네", "개를", "깎는다")]
    ['Yejin', 'apples', 'four', '', 'peels']
    """
    written = f" {reference} "
    name = romanize(word[:2]) if set(word[:2]) <= OF_NAMES else ""
    if name and f" {name} " in written:
        return name
    for start, english in meanings():
        for one in english:
            if word.startswith(start) and f" {one} " in written:
                return one
    return ""


def glosses(pair: Typed) -> list[str]:
    return [gloss(word, pair.tgt_text) for word in pair.src_text.split(" ")]
