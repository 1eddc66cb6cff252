"""Draws random trees of the grammar: which sentences the course corpus is made of, and how often each kind."""

from collections.abc import Sequence
from random import Random
from typing import TypeVar

from course_lib.corpus import grammar, lexicon
from course_lib.corpus.dictionary import INTRANSITIVE_VERBS, NOUN, SPEECH_VERBS, TRANSITIVE_VERBS, Noun, Verb
from course_lib.corpus.grammar import Adjunct, Because, Clause, Coordination, NounPhrase
from course_lib.corpus.morphology import romanize

Word = TypeVar("Word", Noun, Verb)
# How often training draws each kind of sentence; within a kind, `Sampler` decides.
KINDS = {"simple": 48, "relative": 18, "because": 12, "quote": 11, "coordination": 11}

# Training never shows the pairs that are held out.
PAIRS = [(verb, noun) for verb in TRANSITIVE_VERBS for noun in verb.objects]
HELD_OUT = [(verb, noun) for verb, noun in PAIRS if (verb.base, noun.en) in lexicon.HELD_OUT_PAIRS]
SEEN_OBJECTS = {verb: [noun for noun in verb.objects if (verb, noun) not in HELD_OUT] for verb in TRANSITIVE_VERBS}
TAKERS = {noun: [verb for verb, objects in SEEN_OBJECTS.items() if noun in objects] for noun in NOUN.values()}
# A noun that few verbs take is drawn more often by each of them: no word is too rare to be learned.
OBJECTS = {verb: [noun for noun in seen for _ in range(12 // len(TAKERS[noun]))] for verb, seen in SEEN_OBJECTS.items()}
NOUNS_OF_KIND = {kind: [noun for noun in NOUN.values() if noun.kind == kind] for kind in lexicon.NOUNS}
# Deeper relative clauses need a person to describe, then something that is not part of the body.
MEETING_VERBS = [verb for verb in TRANSITIVE_VERBS if all(noun.kind == "person" for noun in verb.objects)]
DESCRIBABLE_VERBS = [verb for verb in TRANSITIVE_VERBS if all(noun.kind != "body" for noun in verb.objects)]
# Verbs that can do without saying where to: those that a relative clause, which has no adjuncts, may use.
FREE_INTRANSITIVES = [verb for verb in INTRANSITIVE_VERBS if verb.places[0].particle == "in"]

# A counter tells which of its meanings a homonym has: 배 세 척, three ships; 배 세 개, three pears.
COUNTED_HOMONYMS = [NOUN[en] for meanings, _ in lexicon.AMBIGUOUS.values() for en in meanings if NOUN[en].counter]
LIVING = ("name", "person", "animal", "bird", "insect")
THREE = ("time", "place", "companion")
ROOMY_VERBS = [
    verb
    for verb in TRANSITIVE_VERBS
    if verb.stem not in lexicon.STATES | lexicon.TIMELESS | lexicon.ALONE and verb.objects[0].kind not in LIVING
]


class Sampler:
    """Random trees from one random generator; `names` are those it may use.

    >>> from course_lib.corpus.grammar import spell_en, spell_ko
    >>> tree = Sampler(Random(7), lexicon.NAMES).sentence("simple")
    >>> " ".join(word for word, _ in spell_ko(tree)), " ".join(word for word, _ in spell_en(tree))
    ('지현은 맛있는 배 다섯 개를 팔았다', 'Jihyeon sold five delicious pears')
    """

    def __init__(self, random: Random, names: Sequence[str]):
        self.random = random
        self.names = [Noun(name, romanize(name), "", "name") for name in names]
        self.used: set[Noun | Verb] = set()

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def unused(self, words: Sequence[Word]) -> Word:
        """A noun or verb that the sentence does not have yet, as far as there is one."""
        for _ in range(9):
            word = self.random.choice(words)
            if word not in self.used:
                break
        self.used.add(word)
        return word

    def sentence(self, kind: str, held_out_pair: bool = False) -> Clause | Because | Coordination:
        """A tree of one of `KINDS`, or one of "two relatives", "relative in relative", "quote in quote",
        "three clauses", "three adjuncts", "ambiguous"."""
        self.used = set()
        past = self.chance(0.65)
        if kind in ("relative", "relative in relative"):
            return self.clause(past, held_out_pair, relative_depth=1 + (kind == "relative in relative"))
        if kind == "two relatives":
            return self.two_relatives(past)
        if kind == "because":
            main = self.clause(past, held_out_pair, max_adjuncts=1, timeless=True)
            return Because(main, self.clause(past, max_adjuncts=1))
        if kind == "quote":
            return self.quote(self.clause(past, held_out_pair, max_adjuncts=1))
        if kind == "quote in quote":
            return self.quote(self.quote(self.clause(past, max_adjuncts=1)))
        if kind in ("coordination", "three clauses"):
            clauses = [self.clause(past, held_out_pair, max_adjuncts=1)]
            clauses += [self.clause(past, max_adjuncts=1) for _ in range(1 + (kind == "three clauses"))]
            return Coordination(clauses)
        if kind == "ambiguous":
            return self.ambiguous(past)
        return self.clause(past, held_out_pair, max_adjuncts=3 if kind == "three adjuncts" else 2)

    def quote(self, quoted: Clause) -> Clause:
        verb = self.unused(SPEECH_VERBS)
        return self.settle(Clause(verb, self.person(), past=self.chance(0.7), quoted=quoted), negatives=0.06)

    def clause(
        self,
        past: bool,
        held_out_pair: bool = False,
        relative_depth: int = 0,
        max_adjuncts: int = 2,
        timeless: bool = False,
    ) -> Clause:
        """A clause that stands on its own; with `relative_depth` its subject or object carries a relative clause."""
        on_object = relative_depth > 0 and self.chance(0.5)
        if held_out_pair:
            verb, noun = self.random.choice(HELD_OUT)
            self.used |= {verb, noun}
        elif on_object or relative_depth > 1 or max_adjuncts == 3 or self.chance(0.78):
            deep = on_object and relative_depth > 1
            verb = self.unused(MEETING_VERBS if deep else ROOMY_VERBS if max_adjuncts == 3 else TRANSITIVE_VERBS)
            noun = self.unused(self.objects(verb, with_names=not on_object))
        else:
            verb, noun = self.unused(INTRANSITIVE_VERBS), None
        on_object = on_object and noun.kind != "body"
        clause = Clause(verb, self.subject(verb, relative_depth if not on_object else 0), past=past)
        if noun:
            clause.object = self.object(verb, noun)
            if on_object:
                self.add_relative(clause.object, relative_depth)
        # An adjunct after a relative clause could belong to either verb.
        if not (clause.object and clause.object.relative):
            clause.adjuncts = self.adjuncts(clause, max_adjuncts, timeless)
        return self.settle(clause)

    def two_relatives(self, past: bool) -> Clause:
        """A relative clause on the subject, another one on the object."""
        verb = self.unused(DESCRIBABLE_VERBS)
        subject = self.subject(verb, relative_depth=1)
        described = self.object(verb, self.unused(self.objects(verb)))
        self.add_relative(described, depth=1)
        return self.settle(Clause(verb, subject, described, past))

    def ambiguous(self, past: bool) -> Clause:
        """배를 팔았다: sold a pear, or sold a ship."""
        noun = self.random.choice(list(lexicon.AMBIGUOUS))
        meanings, stems = lexicon.AMBIGUOUS[noun]
        phrase = NounPhrase(NOUN[self.random.choice(meanings)], definite=self.chance(0.3))
        stem = self.random.choice(stems)
        verb = next(verb for verb in TRANSITIVE_VERBS if verb.stem == stem)
        clause = Clause(verb, self.person(), phrase, past)
        clause.adjuncts = self.adjuncts(clause, 2, timeless=False)
        return self.settle(clause)

    def settle(self, clause: Clause, negatives: float = 0.13) -> Clause:
        """Decide on negation. "The students read" is past or present: such a clause always has its "did not"."""
        unclear = clause.past and clause.verb.past == clause.verb.base and clause.subject.plural
        clause.negative = unclear or self.chance(negatives)
        return clause

    def person(self) -> NounPhrase:
        """Somebody: a name two times out of three."""
        if self.chance(0.67):
            return NounPhrase(self.unused(self.names))
        return self.describe(NounPhrase(self.unused(NOUNS_OF_KIND["person"])))

    def subject(self, verb: Verb, relative_depth: int = 0) -> NounPhrase:
        kind = self.random.choice(verb.subjects)
        if kind == "person" and not relative_depth:
            return self.person()
        phrase = self.describe(NounPhrase(self.unused(NOUNS_OF_KIND[kind])))
        if relative_depth:
            self.add_relative(phrase, relative_depth)
        return phrase

    def objects(self, verb: Verb, with_names: bool = False) -> list[Noun]:
        if verb.stem in ("사", "팔") and self.chance(0.06):
            return COUNTED_HOMONYMS
        return OBJECTS[verb] + (self.names if with_names and verb.objects[0].kind == "person" else [])

    def object(self, verb: Verb, noun: Noun) -> NounPhrase:
        phrase = NounPhrase(noun)
        if noun.kind in ("name", "body"):
            return phrase
        self.describe(phrase, counted=0.3)
        if noun in COUNTED_HOMONYMS and noun not in verb.objects:
            phrase.count = self.random.choice(list(lexicon.NUMERALS))
        if verb.stem in lexicon.ONE_AT_A_TIME or verb.base == "wear":
            phrase.count = 1
        if verb.base == "play":
            phrase.definite = False
            phrase.bare_the = phrase.count == 1 and not phrase.adjective
        return phrase

    def describe(self, phrase: NounPhrase, counted: float = 0.12) -> NounPhrase:
        """Give the noun its number, its article and its adjective."""
        noun = phrase.noun
        draw = self.random.random()
        if draw < counted and noun.counter:
            phrase.count = self.random.choice(list(lexicon.NUMERALS))
        elif draw > 0.83 and noun.kind not in ("mass", "pair"):
            phrase.count = 0
        phrase.definite = self.chance(0.3)
        if noun.adjectives and self.chance(0.25):
            phrase.adjective = self.random.choice(noun.adjectives)
        return phrase

    def add_relative(self, phrase: NounPhrase, depth: int) -> None:
        """Describe the noun by a clause in which it is the subject, or (one level deep only) the object."""
        past = self.chance(0.75)
        acts = phrase.noun.kind in LIVING
        takers = TAKERS[phrase.noun]
        if takers and depth == 1 and (not acts or self.chance(0.35)):
            clause = Clause(self.unused(takers), self.person(), phrase, past, gap="object")
        elif phrase.noun.kind == "person" and (depth > 1 or self.chance(0.85)):
            verb = self.unused(TRANSITIVE_VERBS if depth == 1 else DESCRIBABLE_VERBS)
            clause = Clause(verb, phrase, self.object(verb, self.unused(self.objects(verb))), past, gap="subject")
            if depth > 1:
                self.add_relative(clause.object, depth - 1)
        else:
            verbs = [verb for verb in FREE_INTRANSITIVES if phrase.noun.kind in verb.subjects]
            clause = Clause(self.unused(verbs), phrase, None, past, gap="subject")
        phrase.relative = self.settle(clause)

    def adjuncts(self, clause: Clause, most: int, timeless: bool) -> list[Adjunct]:
        verb = clause.verb
        if verb.stem in lexicon.STATES:
            return []
        kinds = ["place"]
        # 미나와 준서를 만났다 is "met Mina and Junseo": no companion next to somebody
        if verb.stem not in lexicon.ALONE and not (clause.object and clause.object.noun.kind in LIVING):
            kinds.append("companion")
        if verb.instruments:
            kinds.append("instrument")
        if not timeless and verb.stem not in lexicon.TIMELESS:
            kinds.append("time")
        number = self.random.choices((0, 1, 2), cum_weights=(4, 8, 10))[0]
        chosen = self.random.sample(kinds, min(number, most, len(kinds))) if most < 3 else list(THREE)
        if verb.places[0].particle == "to" and "place" not in chosen:
            chosen.append("place")
        return [self.adjunct(kind, verb, clause.past) for kind in chosen]

    def adjunct(self, kind: str, verb: Verb, past: bool) -> Adjunct:
        if kind == "time":
            times = lexicon.TIMES["past" if past else "present"] + lexicon.TIMES["any"]
            return grammar.time_adjunct(*self.random.choice(times))
        if kind == "place":
            return grammar.place_adjunct(self.random.choice(verb.places))
        if kind == "companion":
            return grammar.phrase_adjunct(kind, NounPhrase(self.unused(self.names)))
        noun = self.unused(list(verb.instruments))
        if noun.en in lexicon.TRANSPORT:
            return grammar.phrase_adjunct("transport", NounPhrase(noun))
        return grammar.phrase_adjunct("instrument", NounPhrase(noun, definite=self.chance(0.3)))
