"""Sentences as people type them: the words of the lexicon with any subject and object, in more endings and orders.

The course's corpus has one way to say a thing. Here a sentence has 이/가 or 은/는, a plain, polite, formal, or casual
ending, 봤다 or 보았다, 안 읽었다 or 읽지 않았다, 읽고 있다, and its parts in many orders. The English is in one order.
The front page's translator learns from such sentences; no chapter does.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from course_lib.corpus import lexicon
from course_lib.corpus.dictionary import INTRANSITIVE_VERBS, NOUN, TRANSITIVE_VERBS, Noun, Place, Verb
from course_lib.corpus.grammar import (
    EN_ORDER,
    KO_ORDER,
    Adjunct,
    Because,
    Clause,
    Coordination,
    NounPhrase,
    phrase_adjunct,
    place_adjunct,
    spell_en,
    spell_en_phrase,
    spell_ko_clause,
    spell_ko_phrase,
    time_adjunct,
)
from course_lib.corpus.morphology import past_stem, romanize, split_syllable, with_particle
from course_lib.corpus.speech import LEVELS, PAST_LOOKING, PREDICATES, be, ending, ing, predicate, present, state_of
from course_lib.corpus.tree_sampler import KINDS, LIVING, Sampler

# How often each kind of sentence is drawn: the course's, with its own main clause or a typed one, and plain ones.
MIXTURE = {"course": 12, "course, typed": 18, "plain": 62, "adjective": 8}

OF_PERSONS = [*lexicon.ADJECTIVES["human"], *lexicon.ADJECTIVES["size"], *lexicon.ADJECTIVES["look"]]
MEANING = dict(pair for pairs in lexicon.ADJECTIVES.values() for pair in pairs)

UNCONTRACTED = {"봤": "보았", "췄": "추었", "했": "하였", "꼈": "끼었"}
# 수영하다 is 수영 안 하다, 좋아하다 is 안 좋아하다.
SPLIT_VERBS = {"수영하", "운전하", "노래하", "일하"}
# Verbs that say something without their object: 미나가 먹었다.
OBJECT_FREE = {"읽", "먹", "마시", "운전하", "그리", "가르치", "돕", "기다리"}

# What a verb with several meanings means where the object is none of the lexicon's, and more objects that decide.
USUAL = {"쓰": "use", "치": "hit", "타": "ride", "부르": "call"}
MORE_OBJECTS = {("쓰", "book"): "write", ("쓰", "song"): "write", ("타", "car"): "take", ("타", "truck"): "take"}
# Somebody may be the object of these verbs alone, and an animal of some more: no sentence is cruel.
KIND = set(str.split("보 만나 돕 기다리 가르치 사랑하 좋아하 부르 찾 그리 키우 씻 찍 닦"))
KIND_TO_ANIMALS = KIND | set(str.split("사 팔 타 나르 숨기 잃어버리"))
TAKE_ODD = {"person": KIND, "animal": KIND_TO_ANIMALS, "bird": KIND_TO_ANIMALS}
# Which noun a homonym is where nothing decides: as a subject, and as the object of a verb that takes neither.
AS_SUBJECT = {"배": "ship", "다리": "bridge", "차": "car"}
AS_OBJECT = {"배": "pear", "다리": "bridge", "차": "car"}

ALL_PLACES = [row.split() for row in lexicon.PLACES.split("·")]
PLACE_NOUNS = [Noun(ko, en, f"{en}s", "place", "") for ko, en, _ in ALL_PLACES if en not in NOUN]
PLACE_NOUNS = [noun for noun in PLACE_NOUNS if not noun.en.endswith(("y", "ch", "s"))]
COUNTERS = {"person": "명", "animal": "마리", "bird": "마리", "insect": "마리"}
NOUNS = [*NOUN.values()]
BY_KIND = {kind: [noun for noun in NOUNS if noun.kind == kind] for kind in lexicon.NOUNS}
VERBS = {verb.stem: [] for verb in TRANSITIVE_VERBS}
for _verb in TRANSITIVE_VERBS:
    VERBS[_verb.stem].append(_verb)

# Syllables of given names, so that any name can be spelled.
SYLLABLES = str.split("""
가 강 건 경 광 규 기 길 나 남 다 대 도 동 두 라 루 리 마 만 명 무 문 미 민 바 범 병 보 봉 빈 사 상 새 서 석 선 설
성 세 소 솔 송 수 순 슬 승 시 신 아 안 애 연 영 예 오 옥 완 용 우 운 원 유 윤 율 은 의 이 인 일 임 자 재 정 제 종
주 준 지 진 찬 창 채 철 초 춘 치 태 하 학 한 해 향 현 형 혜 호 홍 화 환 효 후 훈 휘 희
""")
TAKEN = {noun.ko for noun in NOUNS} | {ko for ko, _, _ in ALL_PLACES} | {"수영", "운전", "노래", "오늘", "어제", "매일"}


@dataclass(frozen=True)
class Typed:
    """A sentence as somebody types it, its translation, which kind of `MIXTURE` it is, and the names made up for it."""

    src_text: str
    tgt_text: str
    kind: str
    made_up: tuple[str, ...] = ()


@dataclass(eq=False)
class Both:
    """Two phrases joined by and / 와."""

    first: NounPhrase
    second: NounPhrase
    plural = True


Phrase = NounPhrase | Both


@dataclass(eq=False)
class TypedClause:
    """A `Clause` whose subject and object may be two."""

    verb: Verb
    subject: Phrase
    object: Phrase | None
    past: bool
    negative: bool
    progressive: bool = False
    adjuncts: list[Adjunct] = field(default_factory=list)


def english_phrase(phrase: Phrase) -> list[str]:
    """One phrase, or two with "and" between them.

    >>> english_phrase(Both(NounPhrase(NOUN["cat"]), NounPhrase(NOUN["egg"], count=2)))
    ['a', 'cat', 'and', 'two', 'eggs']
    """
    if isinstance(phrase, Both):
        return [*english_phrase(phrase.first), "and", *english_phrase(phrase.second)]
    return [word for word, _ in spell_en_phrase(phrase)]


def english_verb(clause: TypedClause) -> list[str]:
    """The verb in its tense, negated or in the progressive form where the clause is.

    >>> clause = TypedClause(VERBS["읽"][0], NounPhrase(NOUN["cat"]), None, past=False, negative=True)
    >>> english_verb(clause), english_verb(replace(clause, progressive=True))
    (['does', 'not', 'read'], ['is', 'not', 'reading'])
    """
    verb, past, plural = clause.verb, clause.past, clause.subject.plural
    if clause.progressive:
        return [be(past, plural), *["not"] * clause.negative, ing(verb.base)]
    if clause.negative:
        return ["did" if past else "do" if plural else "does", "not", verb.base]
    return [verb.past if past else verb.base if plural else verb.third_person]


def english(clause: TypedClause) -> str:
    """The plain order: subject, verb, object, adjuncts.

    >>> subject, what, time = NounPhrase(NOUN["cat"]), NounPhrase(NOUN["book"]), time_adjunct("어제", "yesterday")
    >>> english(TypedClause(VERBS["읽"][0], subject, what, past=True, negative=False, adjuncts=[time]))
    'a cat read a book yesterday'
    """
    words = [*english_phrase(clause.subject), *english_verb(clause)]
    words += english_phrase(clause.object) if clause.object else []
    for kind in EN_ORDER:
        words += [word for adjunct in clause.adjuncts if adjunct.kind == kind for word, _ in adjunct.en]
    return " ".join(words)


class TypedSampler:
    """Random typed sentences from one random generator.

    >>> found = TypedSampler(Random(4)).sentence("plain")
    >>> found.src_text, found.tgt_text
    ('문 다섯 개를 민우가 마당에서 닫았다', 'Minu closed five doors in the yard')
    """

    def __init__(self, random: Random):
        self.random = random
        self.course = Sampler(random, lexicon.NAMES)
        self.made_up: list[str] = []

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def drawn(self, shares: dict[str, int]) -> str:
        return self.random.choices([*shares], [*shares.values()])[0]

    def sentence(self, kind: str | None = None) -> Typed:
        """One of a kind of `MIXTURE`, or of a kind drawn by its shares."""
        kind, self.made_up = kind or self.drawn(MIXTURE), []
        if kind == "adjective":
            ko, en = self.adjective()
        elif kind == "plain":
            ko, en = self.plain(self.clause())
        else:
            ko, en = self.of_course(typed=kind != "course")
        return Typed(" ".join(ko), en, kind, tuple(self.made_up))

    # --- what is said

    def name(self) -> Noun:
        """One of the lexicon's names, or two syllables that could be one."""
        if self.chance(0.6):
            ko = self.random.choice(lexicon.NAMES)
        else:
            ko = "".join(self.random.sample(SYLLABLES, 2))
            while ko in TAKEN:
                ko = "".join(self.random.sample(SYLLABLES, 2))
            self.made_up.append(ko)
        return Noun(ko, romanize(ko), "", "name")

    def phrase(self, noun: Noun, counted: float = 0.08, said: float = 0.2) -> NounPhrase:
        """The noun alone, or with 그, an adjective, a number."""
        phrase = NounPhrase(noun)
        if noun.kind == "name":
            return phrase
        draw = self.random.random()
        if draw < counted:
            phrase.noun = replace(noun, counter=noun.counter or COUNTERS.get(noun.kind, "개"))
            phrase.count = self.random.choice([*lexicon.NUMERALS])
        elif draw > 0.88 and noun.kind not in ("mass", "pair"):
            phrase.count = 0
        phrase.definite = self.chance(0.1)
        if noun.kind not in ("body", "place") and self.chance(said):
            phrase.adjective = self.random.choice(self.adjectives_of(noun, own=0.7))
        return phrase

    def adjectives_of(self, noun: Noun, own: float) -> Sequence[tuple[str, str]]:
        """Those of its own, or all; somebody is not cheap or delicious."""
        if noun.kind == "person":
            return OF_PERSONS
        return noun.adjectives if noun.adjectives and self.chance(own) else [*MEANING.items()]

    def subject(self, kinds: Sequence[str] = ()) -> Phrase:
        """Somebody or something; mostly of the kinds that a verb wants."""
        kind = self.random.choice(kinds) if kinds and self.chance(0.45) else ""
        first = self.actor(kind)
        if self.chance(0.07):
            second = self.actor("" if self.chance(0.2) else first.noun.kind)
            if second.noun.ko != first.noun.ko:
                return Both(first, second)
        return first

    def actor(self, kind: str) -> NounPhrase:
        draw = self.random.random()
        if kind == "name" or (kind in ("", "person") and draw < 0.3):
            return NounPhrase(self.name())
        if kind in BY_KIND:
            nouns = BY_KIND[kind]
        elif draw < 0.55:
            nouns = BY_KIND["person"]
        elif draw < 0.83:
            nouns = [noun for kind in LIVING[2:] for noun in BY_KIND[kind]]
        else:
            nouns = NOUNS
        noun = self.random.choice(nouns)
        return self.phrase(NOUN[AS_SUBJECT.get(noun.ko, noun.en)])

    def object_of(self, verb: Verb) -> tuple[Verb, Phrase]:
        """What the verb takes, or anything; and the verb in the meaning that fits."""
        stem = verb.stem
        draw = self.random.random()
        if draw < 0.6:
            noun = self.random.choice(verb.objects)
            if noun.kind == "person" and self.chance(0.4):
                noun = self.name()
        elif draw < 0.63:
            noun = self.random.choice(PLACE_NOUNS)
        elif draw < 0.67 and stem in KIND:
            noun = self.name()
        else:
            noun = self.random.choice(NOUNS)
            while stem not in TAKE_ODD.get(noun.kind, VERBS):
                noun = self.random.choice(NOUNS)
        verb, noun = self.meanings(stem, noun)
        phrase = self.phrase(noun, counted=0.12)
        if self.chance(0.07):
            other = self.random.choice(verb.objects)
            living = noun.kind in LIVING
            if other.ko != noun.ko and (other.kind in LIVING or not living):
                _, other = self.meanings(stem, other)
                return verb, Both(phrase, self.phrase(other))
        return verb, phrase

    def meanings(self, stem: str, noun: Noun) -> tuple[Verb, Noun]:
        """The verb of this stem, and the noun of this spelling, that go together; else the usual ones."""
        same = [other for other in NOUNS if other.ko == noun.ko] or [noun]
        for verb in VERBS[stem]:
            for other in same:
                if other in verb.objects:
                    return verb, other
        usual = MORE_OBJECTS.get((stem, noun.en), USUAL.get(stem))
        if noun.kind == "name":
            usual = USUAL.get(stem)
        verb = next((verb for verb in VERBS[stem] if verb.base == usual), VERBS[stem][0])
        return verb, NOUN[AS_OBJECT[noun.ko]] if noun.ko in AS_OBJECT else noun

    def clause(self) -> TypedClause:
        """Subject, verb, and perhaps an object, a time, a place, a companion, an instrument."""
        past = self.chance(0.66)
        what = None
        if self.chance(0.72):
            verb, what = self.object_of(self.random.choice(TRANSITIVE_VERBS))
            if verb.stem in OBJECT_FREE and self.chance(0.08):
                first = verb.base.split(" ")[0]
                verb, what = replace(verb, base=first, past=verb.past.split(" ")[0]), None
            if verb.base == "play":
                for phrase in (what.first, what.second) if isinstance(what, Both) else (what,):
                    phrase.bare_the = phrase.count == 1 and not phrase.adjective and not phrase.definite
        else:
            verb = self.random.choice(INTRANSITIVE_VERBS)
        clause = TypedClause(verb, self.subject(verb.subjects), what, past, negative=self.chance(0.14))
        clause.adjuncts = self.adjuncts(clause)
        return clause

    def adjuncts(self, clause: TypedClause) -> list[Adjunct]:
        verb, found = clause.verb, []
        if verb.places[0].particle == "to":
            at = verb.base == "live"
            if self.chance(0.92):
                found.append(self.place("in" if at and self.chance(0.3) else "to", "to" if not at else ""))
            if verb.instruments and self.chance(0.12):
                found.append(phrase_adjunct("transport", NounPhrase(self.random.choice(verb.instruments))))
        elif self.chance(0.33):
            found.append(self.place("in"))
        if self.chance(0.3):
            times = lexicon.TIMES["past" if clause.past else "present"] + lexicon.TIMES["any"]
            ko, en = self.random.choice(times)
            found.append(time_adjunct(ko.removesuffix("에") if ko != "밤에" and self.chance(0.15) else ko, en))
        if verb.instruments and clause.object and self.chance(0.2):
            tool = NounPhrase(self.random.choice(verb.instruments), definite=self.chance(0.1))
            found.append(phrase_adjunct("instrument", tool))
        # 미나와 준서를 만났다 is "met Mina and Junseo": no companion next to somebody
        if not self.living(clause.object) and self.chance(0.09):
            found.append(self.companion())
        return found

    @staticmethod
    def living(phrase: Phrase | None) -> bool:
        if isinstance(phrase, Both):
            return phrase.first.noun.kind in LIVING or phrase.second.noun.kind in LIVING
        return phrase is not None and phrase.noun.kind in LIVING

    def place(self, particle: str, preposition: str = "") -> Adjunct:
        ko, en, usual = self.random.choice(ALL_PLACES)
        adjunct = place_adjunct(Place(ko, en, preposition or usual, particle))
        return adjunct

    def companion(self) -> Adjunct:
        noun = self.name() if self.chance(0.7) else self.random.choice(BY_KIND["person"] + BY_KIND["animal"])
        phrase = NounPhrase(noun)
        adjunct = phrase_adjunct("companion", phrase)
        return replace(adjunct, ko=[(word, None) for word in self.korean_phrase(phrase, "with")])

    # --- how it is typed

    def korean_phrase(self, phrase: Phrase, particle: str) -> list[str]:
        """The phrase with its particle ("" for none): 지민은 or 지민이는, 미나와 or 미나하고, 두 명의 아이가."""
        if isinstance(phrase, Both):
            return [*self.korean_phrase(phrase.first, "with"), *self.korean_phrase(phrase.second, particle)]
        noun = phrase.noun
        if noun.kind == "name" and split_syllable(noun.ko[-1])[2] != " " and self.chance(0.3):
            phrase = NounPhrase(replace(noun, ko=noun.ko + "이"))
        words = [word for word, _ in spell_ko_phrase(phrase, particle or "object")]
        if not particle:
            words[-1] = words[-1][:-1]
        elif particle == "with" and self.chance(0.25):
            bare = words[-1][:-1]
            closed = split_syllable(bare[-1])[2] != " "
            words[-1] = bare + self.random.choice(["하고", "이랑" if closed else "랑"])
        if phrase.count > 1 and not phrase.adjective and self.chance(0.2):
            *before, _, number, _ = words
            last = with_particle(noun.ko, particle) if particle else noun.ko
            direct = noun.kind in LIVING and self.chance(0.5)
            words = [*before, number, *([] if direct else [noun.counter + "의"]), last]
        return words

    def main_clause(self, clause: TypedClause) -> list[str]:
        """Everything but the verb, in some order."""
        topic = "topic" if self.chance(0.3) else "subject"
        parts = [(adjunct.kind, self.words_of(adjunct)) for adjunct in clause.adjuncts]
        parts.sort(key=lambda part: KO_ORDER.index(part[0]))
        what = [("object", self.korean_phrase(clause.object, "object"))] if clause.object else []
        draw = self.random.random()
        early = {"time": 0.55, "place": 0.3, "goal": 0.05}
        before = []
        if 0.45 < draw < 0.8:
            before = [part for part in parts if self.chance(early.get(part[0], 0))]
            parts = [part for part in parts if part not in before]
        who = ("subject", self.korean_phrase(clause.subject, topic))
        order = [*before, who, *parts, *what]
        if 0.8 < draw < 0.88 and what:
            order = [*what, who, *parts]
        elif draw > 0.88:
            self.random.shuffle(order)
        elif 0.03 < draw < 0.07 and what and not isinstance(clause.object, Both):
            order[-1] = ("object", self.korean_phrase(clause.object, ""))
        elif draw < 0.015 and not isinstance(clause.subject, Both):
            order[0] = ("subject", self.korean_phrase(clause.subject, ""))
        kinds = [kind for kind, _ in order]
        # 미나와 before a noun that is no thing would read as "Mina and".
        if "companion" in kinds and kinds[kinds.index("companion") + 1 :][:1] == ["subject"]:
            order.sort(key=lambda part: part[0] == "companion")
        return [word for _, words in order for word in words]

    def words_of(self, adjunct: Adjunct) -> list[str]:
        words = [word for word, _ in adjunct.ko]
        if adjunct.kind == "goal" and self.chance(0.08):
            bare = words[-1].removesuffix("에")
            words[-1] = bare + ("로" if split_syllable(bare[-1])[2] in " ㄹ" else "으로")
        return words

    def verb_words(self, stem: str, past: bool, negative: bool, progressive: bool = False) -> list[str]:
        level = self.drawn(LEVELS)
        if progressive:
            words = [stem + "고"]
            if negative and self.chance(0.5):
                return [*words, "있지", self.tensed("않", past, level)]
            form = ending("있었", level) if past else state_of("있", "있어", level)
            return [*["안"] * negative, *words, form]
        if negative and self.chance(0.4):
            return [stem + "지", self.tensed("않", past, level)]
        form = self.tensed(stem, past, level)
        if negative and stem in SPLIT_VERBS and self.chance(0.7):
            noun = stem.removesuffix("하")
            return [noun, "안", form.removeprefix(noun)]
        return [*["안"] * negative, form]

    def tensed(self, stem: str, past: bool, level: str) -> str:
        if not past:
            return stem + "다" if level == "plain" and self.chance(0.02) else present(stem, level)
        form = past_stem(stem)
        if form[-1] in UNCONTRACTED and self.chance(0.12 if form[-1] == "했" else 0.4):
            form = form[:-1] + UNCONTRACTED[form[-1]]
        return ending(form, level)

    def plain(self, clause: TypedClause) -> tuple[list[str], str]:
        stative = clause.verb.stem in lexicon.STATES
        clause.progressive = not stative and self.chance(0.09)
        verb = self.verb_words(clause.verb.stem, clause.past, clause.negative, clause.progressive)
        return [*self.main_clause(clause), *verb], english(clause)

    def adjective(self) -> tuple[list[str], str]:
        """모자가 크다: the hat is big."""
        noun = self.random.choice(PLACE_NOUNS) if self.chance(0.06) else self.random.choice(NOUNS)
        noun = NOUN.get(AS_SUBJECT.get(noun.ko, ""), noun)
        ko, en = self.random.choice(self.adjectives_of(noun, own=0.6))
        if ko == "새":
            ko, en = "큰", "big"
        phrase = self.phrase(noun, counted=0.02, said=0)
        if noun.kind == "person" and self.chance(0.4):
            phrase = NounPhrase(self.name())
        past, level = self.chance(0.2) and ko not in PAST_LOOKING, self.drawn(LEVELS)
        negative = self.chance(0.12) and ko not in PAST_LOOKING
        verb = [*["안"] * negative, predicate(ko, past, level)]
        if negative and self.chance(0.5):
            form = ending("않았", level) if past else state_of("않", "않아", level)
            verb = [PREDICATES[ko][0] + "지", form]
        words = self.korean_phrase(phrase, "topic" if self.chance(0.35) else "subject")
        en = [*english_phrase(phrase), be(past, phrase.plural), *["not"] * negative, en]
        return [*words, *verb], " ".join(en)

    def of_course(self, typed: bool) -> tuple[list[str], str]:
        """A sentence of the course's kinds; typed, its main clause has other particles, endings, and orders."""
        tree = self.course.sentence(self.drawn(KINDS))
        en = " ".join(word for word, _ in spell_en(tree))
        return [*self.typed_tree(tree, typed)], en

    def typed_tree(self, tree: Clause | Because | Coordination, typed: bool) -> Iterator[str]:
        topic = "subject" if typed and self.chance(0.6) else "topic"
        before: list = []
        main = tree
        if isinstance(tree, Because):
            before, main = [*spell_ko_clause(tree.cause, "subject", "because"), ("때문에", tree)], tree.main
        elif isinstance(tree, Coordination):
            *first, main = tree.clauses
            before = [word for clause in first for word in spell_ko_clause(clause, topic, "and")]
        yield from (word for word, _ in before)
        words = [word for word, _ in spell_ko_clause(main, topic, "plain")]
        if typed:
            words = words[: -2 if main.negative else -1] + self.verb_words(main.verb.stem, main.past, main.negative)
        yield from words


def typed_sentences(seed: int | str, size: int, seen: set[str], kind: str | None = None) -> list[Typed]:
    """`size` sentences whose Korean is not in `seen`; adds it. The same for the same seed, on every machine.

    >>> [sentence.tgt_text for sentence in typed_sentences("an example", 2, set(), "adjective")]
    ['a flower was white', 'a brush is big']
    """
    sampler = TypedSampler(Random(f"{seed}"))
    found = []
    while len(found) < size:
        sentence = sampler.sentence(kind)
        if sentence.src_text not in seen:
            seen.add(sentence.src_text)
            found.append(sentence)
    return found


def page_test(size: int = 1000) -> list[Typed]:
    """The sentences that judge the front page's translator; its training has none of them.

    >>> page_test(1)[0].src_text
    '재영이 현수와 탁자를 친다'
    """
    return typed_sentences("page test", size, set())


def front_coded(words: Iterable[str]) -> str:
    """Words in order, each without the letters that it shares with the one before: a digit says how many.

    >>> front_coded(["책을", "책", "새", "책은"])
    '0새0책1은1을'
    """
    text, before = "", ""
    for word in sorted(set(words)):
        shared = next(n for n in range(9, -1, -1) if word[:n] == before[:n] and n <= len(before))
        text, before = f"{text}{shared}{word[shared:]}", word
    return text


def from_front_coded(text: str) -> set[str]:
    """Undo `front_coded`.

    >>> sorted(from_front_coded("0새0책1은1을"))
    ['새', '책', '책은', '책을']
    """
    words = [""]
    for shared, rest in re.findall(r"(\d)([^\d]*)", text):
        words.append(words[-1][: int(shared)] + rest)
    return {*words[1:]}
