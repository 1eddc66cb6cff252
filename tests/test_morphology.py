"""Korean and English forms against tables written by hand, and against Unicode's own decomposition."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.corpus.dictionary import INTRANSITIVE_VERBS, NOUN, SPEECH_VERBS, TRANSITIVE_VERBS
from course_lib.corpus.lexicon import HELD_OUT_NAMES, NAMES
from course_lib.corpus.morphology import (
    conjugate,
    indefinite_article,
    join_syllable,
    romanize,
    split_syllable,
    with_particle,
)

# stem: past, present, past and present before a noun
FORMS = """
읽 읽었다 읽는다 읽은 읽는
쓰 썼다 쓴다 쓴 쓰는
입 입었다 입는다 입은 입는
신 신었다 신는다 신은 신는
끼 꼈다 낀다 낀 끼는
치 쳤다 친다 친 치는
켜 켰다 켠다 켠 켜는
불 불었다 분다 분 부는
타 탔다 탄다 탄 타는
운전하 운전했다 운전한다 운전한 운전하는
먹 먹었다 먹는다 먹은 먹는
마시 마셨다 마신다 마신 마시는
깎 깎았다 깎는다 깎은 깎는
따 땄다 딴다 딴 따는
씻 씻었다 씻는다 씻은 씻는
빨 빨았다 빤다 빤 빠는
닦 닦았다 닦는다 닦은 닦는
들 들었다 든다 든 드는
키우 키웠다 키운다 키운 키우는
건너 건넜다 건넌다 건넌 건너는
열 열었다 연다 연 여는
닫 닫았다 닫는다 닫은 닫는
고치 고쳤다 고친다 고친 고치는
그리 그렸다 그린다 그린 그리는
찍 찍었다 찍는다 찍은 찍는
부르 불렀다 부른다 부른 부르는
만나 만났다 만난다 만난 만나는
돕 도왔다 돕는다 도운 돕는
기다리 기다렸다 기다린다 기다린 기다리는
가르치 가르쳤다 가르친다 가르친 가르치는
사랑하 사랑했다 사랑한다 사랑한 사랑하는
좋아하 좋아했다 좋아한다 좋아한 좋아하는
만들 만들었다 만든다 만든 만드는
던지 던졌다 던진다 던진 던지는
심 심었다 심는다 심은 심는
사 샀다 산다 산 사는
팔 팔았다 판다 판 파는
찾 찾았다 찾는다 찾은 찾는
보 봤다 본다 본 보는
숨기 숨겼다 숨긴다 숨긴 숨기는
나르 날랐다 나른다 나른 나르는
잃어버리 잃어버렸다 잃어버린다 잃어버린 잃어버리는
자 잤다 잔다 잔 자는
웃 웃었다 웃는다 웃은 웃는
울 울었다 운다 운 우는
놀 놀았다 논다 논 노는
달리 달렸다 달린다 달린 달리는
걷 걸었다 걷는다 걸은 걷는
춤추 춤췄다 춤춘다 춤춘 춤추는
노래하 노래했다 노래한다 노래한 노래하는
수영하 수영했다 수영한다 수영한 수영하는
일하 일했다 일한다 일한 일하는
쉬 쉬었다 쉰다 쉰 쉬는
날 날았다 난다 난 나는
가 갔다 간다 간 가는
오 왔다 온다 온 오는
살 살았다 산다 산 사는
말하 말했다 말한다 말한 말하는
생각하 생각했다 생각한다 생각한 생각하는
믿 믿었다 믿는다 믿은 믿는
설명하 설명했다 설명한다 설명한 설명하는
않 않았다 않는다 않은 않는
듣 들었다 듣는다 들은 듣는
뛰 뛰었다 뛴다 뛴 뛰는
담그 담갔다 담근다 담근 담그는
"""
FORMS = {line.split()[0]: line.split()[1:] for line in FORMS.strip().splitlines()}

ENGLISH_FORMS = """
read reads read · write writes wrote · use uses used · wear wears wore · play plays played · hit hits hit
take takes took · ride rides rode · drive drives drove · eat eats ate · drink drinks drank · peel peels peeled
pick picks picked · wash washes washed · wipe wipes wiped · raise raises raised · cross crosses crossed
open opens opened · close closes closed · fix fixes fixed · draw draws drew · sing sings sang
call calls called · meet meets met · help helps helped · wait_for waits_for waited_for · teach teaches taught
love loves loved · like likes liked · make makes made · throw throws threw · plant plants planted
buy buys bought · sell sells sold · find finds found · see sees saw · hide hides hid · carry carries carried
lose loses lost · sleep sleeps slept · laugh laughs laughed · cry cries cried · run runs ran · walk walks walked
dance dances danced · swim swims swam · work works worked · rest rests rested · fly flies flew · go goes went
come comes came · live lives lived · say says said · think thinks thought · believe believes believed
explain explains explained
"""
ENGLISH_FORMS = {
    base: (third, past)
    for base, third, past in (
        row.replace("_", "-").split() for line in ENGLISH_FORMS.strip().splitlines() for row in line.split(" · ")
    )
}

PLURALS = """
child children · woman women · man men · mouse mice · goose geese · butterfly butterflies · fly flies
fox foxes · box boxes · bus buses · brush brushes · dress dresses · potato potatoes · tomato tomatoes
peach peaches · piano pianos · cello cellos · photo photos · strawberry strawberries · key keys · donkey donkeys
story stories · house houses · bridge bridges · boy boys
"""
PLURALS = dict(row.split() for line in PLURALS.strip().splitlines() for row in line.split(" · "))

VERBS = TRANSITIVE_VERBS + INTRANSITIVE_VERBS + SPEECH_VERBS


def test_every_verb_of_the_dictionary_is_in_the_table():
    assert {verb.stem for verb in VERBS} <= set(FORMS)
    assert {verb.base.replace(" ", "-") for verb in VERBS} == set(ENGLISH_FORMS)


@pytest.mark.parametrize("stem", FORMS)
def test_korean_verb_forms(stem):
    past, present, past_noun, present_noun = FORMS[stem]
    forms = [conjugate(stem, ending, past) for ending in ("plain", "before noun") for past in (True, False)]
    assert forms == [past, present, past_noun, present_noun]
    assert conjugate(stem, "quoted", True) == past + "고"
    assert conjugate(stem, "quoted", False) == present + "고"
    assert conjugate(stem, "because", True) == past[:-1] + "기"
    assert conjugate(stem, "because", False) == stem + "기"
    assert conjugate(stem, "and", True) == past[:-1] + "고"
    assert conjugate(stem, "and", False) == stem + "고"


def test_english_verb_forms():
    for verb in VERBS:
        third, past = ENGLISH_FORMS[verb.base.replace(" ", "-")]
        assert (verb.third_person, verb.past) == (third.replace("-", " "), past.replace("-", " "))


def test_english_plurals():
    for noun in NOUN.values():
        if noun.kind in ("mass", "pair"):
            assert noun.plural == noun.en
        elif noun.en in PLURALS:
            assert noun.plural == PLURALS[noun.en]
        else:
            assert noun.plural == noun.en + "s"
            assert noun.en[-1] not in "sxyo"
            assert not noun.en.endswith(("sh", "ch"))


@given(st.integers(0xAC00, 0xD7A3).map(chr))
def test_a_syllable_is_its_parts(syllable):
    assert join_syllable(*split_syllable(syllable)) == syllable
    final = len(unicodedata.normalize("NFD", syllable)) == 3
    assert (split_syllable(syllable)[2] != " ") == final
    expected = {"topic": "은", "subject": "이", "object": "을", "with": "과"}
    vowel = {"topic": "는", "subject": "가", "object": "를", "with": "와"}
    for particle in expected:
        assert with_particle(syllable, particle) == syllable + (expected if final else vowel)[particle]
    rieul = unicodedata.normalize("NFD", syllable).endswith("\u11af")
    assert with_particle(syllable, "by") == syllable + ("으로" if final and not rieul else "로")


@pytest.mark.parametrize("character", ["a", "ㄱ", "漢", "1"])
def test_only_syllables_have_parts(character):
    with pytest.raises(
        ValueError, match=r"expected one Hangul syllable, got .*: these rules are for Korean words only"
    ):
        split_syllable(character)


def test_romanized_names():
    by_hand = {
        "하준": "Hajun",
        "서윤": "Seoyun",
        "도현": "Dohyeon",
        "은지": "Eunji",
        "예나": "Yena",
        "재민": "Jaemin",
        "성진": "Seongjin",
        "현우": "Hyeonu",
        "지원": "Jiwon",
        "소희": "Sohui",
        "경민": "Gyeongmin",
        "채원": "Chaewon",
        "혜진": "Hyejin",
        "규민": "Gyumin",
        "태연": "Taeyeon",
        "나리": "Nari",
    }
    for name, latin in by_hand.items():
        assert romanize(name) == latin
    latin = [romanize(name) for name in NAMES + HELD_OUT_NAMES]
    assert len(set(latin)) == len(latin)


def test_held_out_names_are_made_of_known_syllables():
    assert not set(NAMES) & set(HELD_OUT_NAMES)
    for name in HELD_OUT_NAMES:
        for place, syllable in enumerate(name):
            assert any(known[place] == syllable for known in NAMES)


def test_articles_need_no_exceptions():
    # Words that begin with a vowel letter but a consonant sound, or the other way round.
    exceptions = ("hour", "honest", "heir", "honor", "uni", "use", "usu", "uti", "one", "eu", "ewe", "ur")
    words = {noun.en for noun in NOUN.values()} | {en for noun in NOUN.values() for _, en in noun.adjectives}
    assert not [word for word in words if word.startswith(exceptions)]
    assert [indefinite_article(word) for word in ("apple", "umbrella", "old", "book", "young")] == [
        "an",
        "an",
        "an",
        "a",
        "a",
    ]
