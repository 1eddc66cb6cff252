"""A second grammar of the course's English, as one regular expression: agreement, articles, number, clauses.

It knows the words, not how the corpus makes sentences. Tests compare the corpus with it.
"""

import re
from functools import cache

from course_lib.corpus import lexicon
from course_lib.corpus.dictionary import INTRANSITIVE_VERBS, NOUN, SPEECH_VERBS, TRANSITIVE_VERBS
from course_lib.corpus.morphology import romanize


def any_of(words):
    return "(?:" + "|".join(sorted(set(words), key=len, reverse=True)) + ")"


kinds = {kind: [noun for noun in NOUN.values() if noun.kind == kind] for kind in lexicon.NOUNS}
COUNTABLE = [noun for noun in NOUN.values() if noun.kind not in ("mass", "pair")]
ADJECTIVES = {en for pairs in lexicon.ADJECTIVES.values() for _, en in pairs}
SINGULAR = [noun.en for noun in COUNTABLE]
VOWEL = "(?=[aeiou])"
ADJ = f"(?:{any_of(ADJECTIVES)} )?"
NAME = any_of(romanize(name) for name in lexicon.NAMES + lexicon.HELD_OUT_NAMES)
NUMERAL = "(?:two|three|four|five)"
ONE = f"(?:(?:an {VOWEL}|a (?!{VOWEL})|the ){ADJ}{any_of(SINGULAR)}|{NAME})"
MANY = f"(?:(?:the )?(?:{NUMERAL} )?{ADJ}{any_of(noun.plural for noun in COUNTABLE)})"
MASS = f"(?:(?:the )?(?:{NUMERAL} cups of )?{ADJ}{any_of(noun.en for noun in kinds['mass'])})"
PAIRS = f"(?:(?:the )?(?:{NUMERAL} pairs of )?{ADJ}{any_of(noun.en for noun in kinds['pair'])})"
THING = f"(?:{ONE}|{MANY}|{MASS}|{PAIRS})"


def verb_phrases(verbs, rest):
    """Verb and what follows it, for a subject that is one, and for several."""
    past, base = any_of(verb.past for verb in verbs), any_of(verb.base for verb in verbs)
    third = any_of(verb.third_person for verb in verbs)
    return (
        f"(?:(?:{past}|{third}|(?:does|did) not {base}){rest})",
        f"(?:(?:{past}|{base}|(?:do|did) not {base}){rest})",
    )


PLACES = any_of(row.split()[1] for row in lexicon.PLACES.split("·"))
TIMES = any_of(en.replace("_", " ") for row in lexicon.TIMES.values() for _, en in row)
GOAL = f"(?: to the {PLACES})?(?: by {any_of(lexicon.TRANSPORT)})?"
TOOL = f"(?: with (?:an {VOWEL}|a (?!{VOWEL})|the ){any_of(SINGULAR)})?"
ADJUNCTS = f"{GOAL}{TOOL}(?: with {NAME})?(?: (?:in|on|at) the {PLACES})?(?: {TIMES})?"


def clause(one, many, thing, adjuncts=ADJUNCTS):
    transitive = verb_phrases(TRANSITIVE_VERBS, f" {thing}{adjuncts}")
    intransitive = verb_phrases(INTRANSITIVE_VERBS, adjuncts)
    return f"(?:{one} (?:{transitive[0]}|{intransitive[0]})|{many} (?:{transitive[1]}|{intransitive[1]}))"


def with_relatives(one, many, thing):
    """The same noun phrases, each with a relative clause; in it, the described noun is the subject or the object."""
    transitive = verb_phrases(TRANSITIVE_VERBS, f" {thing}")
    intransitive = verb_phrases(INTRANSITIVE_VERBS, "")
    gap = verb_phrases(TRANSITIVE_VERBS, "")
    as_object = f"(?:{ONE} {gap[0]}|{MANY} {gap[1]})"
    relative_one = f"(?: that (?:{transitive[0]}|{intransitive[0]}|{as_object}))?"
    relative_many = f"(?: that (?:{transitive[1]}|{intransitive[1]}|{as_object}))?"
    relative_thing = f"(?:{ONE}{relative_one}|{MANY}{relative_many}|(?:{MASS}|{PAIRS})(?: that {as_object})?)"
    return f"(?:{one}{relative_one})", f"(?:{many}{relative_many})", relative_thing


PHRASES = with_relatives(ONE, MANY, THING)
DEEP_PHRASES = with_relatives(ONE, MANY, PHRASES[2])
SIMPLE = clause(ONE, MANY, THING)
SAYS, SAY = verb_phrases(SPEECH_VERBS, " that")
SPEAKER = f"(?:{ONE} {SAYS}|{MANY} {SAY})"
PATTERNS = [
    SIMPLE,
    f"{SIMPLE} because {SIMPLE}",
    f"{SIMPLE}(?: and {SIMPLE}){{1,2}}",
    f"{SPEAKER} {SIMPLE}",
    f"{SPEAKER} {SPEAKER} {SIMPLE}",
    clause(*PHRASES),
    clause(*DEEP_PHRASES),
]


@cache
def compiled() -> list[re.Pattern]:
    """Made at the first use: it takes longer than importing the corpus."""
    return [re.compile(pattern) for pattern in PATTERNS]


def is_sentence(text: str) -> bool:
    """True where the text is one of the sentences that the course's English allows."""
    return any(pattern.fullmatch(text) for pattern in compiled())
