"""How a word changes its form: Korean particles and verb endings, English plurals, articles and verbs.

A Hangul syllable is one code point, built as 0xAC00 + (lead × 21 + vowel) × 28 + final. Particles and endings depend
on the last syllable, so all of Korean below is arithmetic on these three numbers.
"""

from functools import cache

FINALS = " ㄱㄲㄳㄴㄵㄶㄷㄹㄺㄻㄼㄽㄾㄿㅀㅁㅂㅄㅅㅆㅇㅈㅊㅋㅌㅍㅎ"
VOWELS = "ㅏㅐㅑㅒㅓㅔㅕㅖㅗㅘㅙㅚㅛㅜㅝㅞㅟㅠㅡㅢㅣ"

# name of the particle: (after a consonant, after a vowel)
PARTICLES = {"topic": "은 는", "subject": "이 가", "object": "을 를", "with": "과 와", "by": "으로 로"}
PARTICLES = {name: tuple(pair.split()) for name, pair in PARTICLES.items()} | {"in": ("에서",) * 2, "to": ("에",) * 2}

# Stems whose last consonant changes before a vowel; regular verbs may end in the same consonant (받다, 입다).
IRREGULAR = {"걷": "ㄷ", "듣": "ㄷ", "돕": "ㅂ", "부르": "르", "나르": "르"}

LEADS_IN_LATIN = "g kk n d tt r m b pp s ss - j jj ch k t p h"
VOWELS_IN_LATIN = "a ae ya yae eo e yeo ye o wa wae oe yo u wo we wi yu eu ui i"
FINALS_IN_LATIN = {" ": "", "ㄱ": "k", "ㄴ": "n", "ㄹ": "l", "ㅁ": "m", "ㅂ": "p", "ㅇ": "ng"}


def split_syllable(syllable: str) -> tuple[int, str, str]:
    """Number of the leading consonant, vowel, and final consonant (" " where there is none).

    >>> split_syllable("읽"), split_syllable("가")
    ((11, 'ㅣ', 'ㄺ'), (0, 'ㅏ', ' '))
    """
    code = ord(syllable) - 0xAC00
    if not 0 <= code < 11172:
        raise ValueError(f"expected one Hangul syllable, got {syllable!r}: these rules are for Korean words only")
    return code // 588, VOWELS[code // 28 % 21], FINALS[code % 28]


def join_syllable(lead: int, vowel: str, final: str = " ") -> str:
    """Undo `split_syllable`.

    >>> join_syllable(11, "ㅣ", "ㄺ")
    '읽'
    """
    return chr(0xAC00 + (lead * 21 + VOWELS.index(vowel)) * 28 + FINALS.index(final))


@cache
def with_particle(word: str, particle: str) -> str:
    """Attach the form of the particle that fits the last syllable: 로, unlike the others, also follows ㄹ.

    >>> [with_particle(word, "topic") for word in ("책", "모자")], with_particle("연필", "by")
    (['책은', '모자는'], '연필로')
    """
    final = split_syllable(word[-1])[2]
    vowel_form = final == " " or (particle == "by" and final == "ㄹ")
    return word + PARTICLES[particle][vowel_form]


def past_stem(stem: str) -> str:
    """Stem + 았/었, contracted: what stands before -다, -고, -기 in the past tense.

    >>> [past_stem(stem) for stem in ("읽", "가", "보", "치", "쓰", "걷", "돕", "부르", "수영하")]
    ['읽었', '갔', '봤', '쳤', '썼', '걸었', '도왔', '불렀', '수영했']
    """
    head, (lead, vowel, final) = stem[:-1], split_syllable(stem[-1])
    kind = IRREGULAR.get(stem)
    if stem[-1] == "하":
        return head + "했"
    if kind == "르":
        before = split_syllable(head[-1])
        bright = before[1] in "ㅏㅗ"
        return head[:-1] + join_syllable(before[0], before[1], "ㄹ") + ("랐" if bright else "렀")
    if kind == "ㄷ":
        return head + join_syllable(lead, vowel, "ㄹ") + "었"
    if kind == "ㅂ":
        return head + join_syllable(lead, vowel) + "왔"
    if final != " " or vowel == "ㅟ":
        return stem + ("았" if vowel in "ㅏㅑㅗ" else "었")
    bright = head and split_syllable(head[-1])[1] in "ㅏㅗ"
    contracted = {"ㅗ": "ㅘ", "ㅜ": "ㅝ", "ㅣ": "ㅕ", "ㅡ": "ㅏ" if bright else "ㅓ"}.get(vowel, vowel)
    return head + join_syllable(lead, contracted, "ㅆ")


def present_stem(stem: str, ending: str) -> str:
    """Stem + 는 / ㄴ: with `ending` "다" the plain present (읽는다), with "" the form before a noun (읽는).

    >>> [present_stem(stem, "다") for stem in ("읽", "가", "팔")]
    ['읽는다', '간다', '판다']
    >>> [present_stem(stem, "") for stem in ("읽", "가", "팔")]
    ['읽는', '가는', '파는']
    """
    lead, vowel, final = split_syllable(stem[-1])
    open_stem = stem[:-1] + join_syllable(lead, vowel) if final == "ㄹ" else stem
    if final in " ㄹ" and ending:
        return stem[:-1] + join_syllable(lead, vowel, "ㄴ") + ending
    return open_stem + "는" + ending


def past_before_noun(stem: str) -> str:
    """Stem + ㄴ/은, the past form before a noun: 책을 읽은 학생, a student that read a book.

    >>> [past_before_noun(stem) for stem in ("읽", "가", "팔", "걷", "돕")]
    ['읽은', '간', '판', '걸은', '도운']
    """
    head, (lead, vowel, final) = stem[:-1], split_syllable(stem[-1])
    kind = IRREGULAR.get(stem)
    if kind == "ㄷ":
        return head + join_syllable(lead, vowel, "ㄹ") + "은"
    if kind == "ㅂ":
        return head + join_syllable(lead, vowel) + "운"
    return head + join_syllable(lead, vowel, "ㄴ") if final in " ㄹ" else stem + "은"


# what the verb's form does in its clause: (form in the past, form in the present)
ENDINGS = {
    "plain": (lambda stem: past_stem(stem) + "다", lambda stem: present_stem(stem, "다")),
    "quoted": (lambda stem: past_stem(stem) + "다고", lambda stem: present_stem(stem, "다고")),
    "and": (lambda stem: past_stem(stem) + "고", lambda stem: stem + "고"),
    "because": (lambda stem: past_stem(stem) + "기", lambda stem: stem + "기"),
    "before noun": (past_before_noun, lambda stem: present_stem(stem, "")),
}


@cache
def conjugate(stem: str, ending: str, past: bool) -> str:
    """The verb's form for one of `ENDINGS`.

    >>> conjugate("팔", "quoted", past=False), conjugate("팔", "before noun", past=True)
    ('판다고', '판')
    """
    return ENDINGS[ending][0 if past else 1](stem)


def romanize(name: str) -> str:
    """A given name in Latin letters, syllable by syllable (Revised Romanization).

    >>> romanize("하준"), romanize("지영")
    ('Hajun', 'Jiyeong')
    """
    latin, leads, vowels = "", LEADS_IN_LATIN.split(), VOWELS_IN_LATIN.split()
    for syllable in name:
        lead, vowel, final = split_syllable(syllable)
        latin += leads[lead].strip("-") + vowels[VOWELS.index(vowel)] + FINALS_IN_LATIN[final]
    return latin.capitalize()


def add_s(word: str) -> str:
    """The regular plural of a noun, which is also the third person singular of a verb.

    >>> [add_s(word) for word in ("book", "box", "fly", "play", "go")]
    ['books', 'boxes', 'flies', 'plays', 'goes']
    """
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "ch", "sh", "o")) else "s")


def past_tense(verb: str) -> str:
    """The past of a regular English verb.

    >>> [past_tense(verb) for verb in ("help", "use", "carry", "play")]
    ['helped', 'used', 'carried', 'played']
    """
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return verb[:-1] + "ied"
    return verb + ("d" if verb.endswith("e") else "ed")


def indefinite_article(next_word: str) -> str:
    """`a`, or `an` before a vowel; no word of the course's dictionary is an exception ("hour", "use").

    >>> indefinite_article("old"), indefinite_article("big")
    ('an', 'a')
    """
    return "an" if next_word[0] in "aeiou" else "a"
