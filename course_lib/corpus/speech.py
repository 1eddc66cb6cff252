"""How sentences end when people type them: speech levels of verbs, adjectives as predicates, and their English.

The course's corpus has one level, 읽었다; people also write 읽었어요, 읽었습니다, 읽었어.
"""

from course_lib.corpus.morphology import join_syllable, past_stem, present_stem, split_syllable

# The speech levels, and how often typed sentences have each.
LEVELS = {"plain": 55, "polite": 24, "formal": 15, "casual": 6}
DOUBLED = {"run", "swim", "hit"}  # running
# Adjectives before a noun, and as predicates: 큰 모자, 모자가 크다, 모자가 커요. Two look back: 늙었다 is "is old".
PAST_LOOKING = {"늙은": "늙었", "오래된": "오래됐"}
PREDICATES = """큰 크 커 · 작은 작 작아 · 하얀 하얗 하얘 · 검은 검 검어 · 빨간 빨갛 빨개 ·
파란 파랗 파래 · 노란 노랗 노래 · 비싼 비싸 비싸 · 싼 싸 싸 · 긴 길 길어 ·
짧은 짧 짧아 · 무거운 무겁 무거워 · 가벼운 가볍 가벼워 · 따뜻한 따뜻하 따뜻해 · 차가운 차갑 차가워 ·
예쁜 예쁘 예뻐 · 맛있는 맛있 맛있어 · 젊은 젊 젊어 · 유명한 유명하 유명해 · 친절한 친절하 친절해 ·
조용한 조용하 조용해"""
PREDICATES = {before: (stem, open_form) for before, stem, open_form in map(str.split, PREDICATES.split("·"))}


def with_final(text: str, final: str) -> str:
    """The text with another final consonant in its last syllable.

    >>> with_final("커", "ㅆ"), with_final("갔", " ")
    ('컸', '가')
    """
    lead, vowel, _ = split_syllable(text[-1])
    return text[:-1] + join_syllable(lead, vowel, final)


def formal(stem: str) -> str:
    """Stem + ㅂ니다 / 습니다.

    >>> formal("가"), formal("읽"), formal("팔")
    ('갑니다', '읽습니다', '팝니다')
    """
    return with_final(stem, "ㅂ") + "니다" if split_syllable(stem[-1])[2] in " ㄹ" else stem + "습니다"


def ending(past: str, level: str) -> str:
    """A past tense, known by what stands before its -다.

    >>> [ending("읽었", level) for level in LEVELS]
    ['읽었다', '읽었어요', '읽었습니다', '읽었어']
    """
    return past + {"plain": "다", "polite": "어요", "formal": "습니다", "casual": "어"}[level]


def present(stem: str, level: str) -> str:
    """The present tense of a verb: the polite one is its past without ㅆ.

    >>> [present("돕", level) for level in LEVELS]
    ['돕는다', '도와요', '돕습니다', '도와']
    """
    if level == "plain":
        return present_stem(stem, "다")
    open_form = with_final(past_stem(stem), " ")
    return {"polite": open_form + "요", "formal": formal(stem), "casual": open_form}[level]


def state_of(stem: str, open_form: str, level: str) -> str:
    """The present of an adjective, or of 있 and 않, from the stem and the form before -요.

    >>> [state_of("있", "있어", level) for level in LEVELS]
    ['있다', '있어요', '있습니다', '있어']
    """
    return {"plain": stem + "다", "polite": open_form + "요", "formal": formal(stem), "casual": open_form}[level]


def predicate(adjective: str, past: bool, level: str) -> str:
    """An adjective, given as before a noun, at the end of a sentence.

    >>> [predicate("무거운", False, level) for level in LEVELS], predicate("빨간", True, "plain")
    (['무겁다', '무거워요', '무겁습니다', '무거워'], '빨갰다')
    """
    if adjective in PAST_LOOKING:
        return ending(PAST_LOOKING[adjective], level)
    stem, open_form = PREDICATES[adjective]
    if past:
        return ending(with_final(open_form, "ㅆ"), level)
    return state_of(stem, open_form, level)


def ing(base: str) -> str:
    """The English progressive form.

    >>> [ing(base) for base in ("read", "write", "see", "run", "wait for")]
    ['reading', 'writing', 'seeing', 'running', 'waiting for']
    """
    first, *rest = base.split(" ")
    if first in DOUBLED:
        first += first[-1]
    elif first.endswith("e") and not first.endswith("ee"):
        first = first[:-1]
    return " ".join([first + "ing", *rest])


def be(past: bool, plural: bool) -> str:
    """The form of "be" in the third person.

    >>> be(past=True, plural=False)
    'was'
    """
    return ("were" if plural else "was") if past else "are" if plural else "is"
