"""Sentences as people type them: their endings against tables written by hand, and what they mean."""

import re
from random import Random

import pytest
from doctests import run_doctests

from course_lib.corpus import speech, typed
from course_lib.corpus.dictionary import INTRANSITIVE_VERBS, NOUN, TRANSITIVE_VERBS
from course_lib.corpus.lexicon import ADJECTIVES
from course_lib.corpus.morphology import split_syllable
from course_lib.corpus.typed import MIXTURE, TypedSampler, page_test, typed_sentences

# stem: polite and formal present
PRESENT = """
읽 읽어요 읽습니다
쓰 써요 씁니다
끼 껴요 낍니다
치 쳐요 칩니다
켜 켜요 켭니다
불 불어요 붑니다
운전하 운전해요 운전합니다
마시 마셔요 마십니다
키우 키워요 키웁니다
건너 건너요 건넙니다
부르 불러요 부릅니다
돕 도와요 돕습니다
만들 만들어요 만듭니다
팔 팔아요 팝니다
보 봐요 봅니다
나르 날라요 나릅니다
쉬 쉬어요 쉽니다
걷 걸어요 걷습니다
춤추 춤춰요 춤춥니다
살 살아요 삽니다
날 날아요 납니다
오 와요 옵니다
가 가요 갑니다
"""
# before a noun: plain, polite, and formal present, plain past
PREDICATES = """
큰 크다 커요 큽니다 컸다
작은 작다 작아요 작습니다 작았다
하얀 하얗다 하얘요 하얗습니다 하얬다
빨간 빨갛다 빨개요 빨갛습니다 빨갰다
비싼 비싸다 비싸요 비쌉니다 비쌌다
긴 길다 길어요 깁니다 길었다
무거운 무겁다 무거워요 무겁습니다 무거웠다
예쁜 예쁘다 예뻐요 예쁩니다 예뻤다
맛있는 맛있다 맛있어요 맛있습니다 맛있었다
친절한 친절하다 친절해요 친절합니다 친절했다
"""
ALL = typed_sentences("a test", 3000, set())


@pytest.mark.parametrize("module", [speech, typed])
def test_worked_examples(module):
    assert run_doctests(module)


@pytest.mark.parametrize("row", PRESENT.strip().splitlines())
def test_the_present_of_a_verb(row):
    stem, *forms = row.split()
    assert [speech.present(stem, level) for level in ("polite", "formal")] == forms


@pytest.mark.parametrize("row", PREDICATES.strip().splitlines())
def test_an_adjective_at_the_end_of_a_sentence(row):
    adjective, *forms = row.split()
    found = [speech.predicate(adjective, False, level) for level in ("plain", "polite", "formal")]
    assert [*found, speech.predicate(adjective, True, "plain")] == forms


def test_every_adjective_but_one_is_a_predicate():
    adjectives = {ko for pairs in ADJECTIVES.values() for ko, _ in pairs}
    assert adjectives - speech.PREDICATES.keys() - speech.PAST_LOOKING.keys() == {"새"}  # 새 stands before a noun alone


def test_sentences_are_the_same_for_the_same_seed():
    assert typed_sentences("a test", 50, set()) == ALL[:50]
    assert {pair.kind for pair in ALL} == MIXTURE.keys()
    assert len({pair.src_text for pair in ALL}) == len(ALL)


def test_the_particles_fit_the_word_before():
    """을 after a consonant, 를 after a vowel, on every noun of every sentence."""
    nouns = sorted({noun.ko for noun in NOUN.values()}, key=len, reverse=True)
    found = 0
    for word in {word for pair in ALL for word in pair.src_text.split(" ")}:
        match = re.fullmatch(f"({'|'.join(nouns)})(들)?([은는이가을를])", word)
        if match:
            closed = split_syllable((match[2] or match[1])[-1])[2] != " "
            assert (match[3] in "은이을") == closed, word
            found += 1
    assert found > 300


def test_all_kinds_of_nouns_are_subjects_and_every_verb_is_used():
    subjects = {pair.tgt_text.split(" ")[1] for pair in ALL if pair.tgt_text.startswith(("a ", "an "))}
    assert len(subjects & NOUN.keys()) > 90
    assert {NOUN[en].kind for en in subjects & NOUN.keys()} >= {
        "person",
        "animal",
        "bird",
        "insect",
        "goods",
        "thing",
        "body",
    }
    words = {word for pair in ALL for word in pair.tgt_text.split(" ")}
    for verb in TRANSITIVE_VERBS + INTRANSITIVE_VERBS:
        assert words & {verb.base.split(" ")[0], verb.past.split(" ")[0], verb.third_person.split(" ")[0]}, verb.base


MEANINGS = """
마시 차 drink tea
고치 차 fix car
먹 배 eat pear
타 배 take ship
건너 다리 cross bridge
씻 다리 wash leg
쓰 편지 write letter
쓰 모자 wear hat
쓰 망치 use hammer
쓰 코끼리 use elephant
치 기타 play guitar
치 공 hit ball
부르 노래 sing song
부르 토끼 call rabbit
타 트럭 take truck
타 소 ride cow
"""


@pytest.mark.parametrize("row", MEANINGS.strip().splitlines())
def test_a_homonym_means_what_fits(row):
    stem, ko, base, en = row.split()
    noun = next(noun for noun in NOUN.values() if noun.ko == ko)
    verb, noun = TypedSampler(Random(0)).meanings(stem, noun)
    assert (verb.base, noun.en) == (base, en)


def test_the_sentences_of_the_test_are_as_many_as_the_page_says():
    assert len(page_test()) == len({pair.src_text for pair in page_test()}) == 1000


def test_words_come_back():
    words = {word for pair in ALL for word in pair.src_text.split(" ")}
    assert typed.from_front_coded(typed.front_coded(words)) == words
