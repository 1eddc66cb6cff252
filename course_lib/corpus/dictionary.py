"""The tables of `lexicon` as objects: nouns, places, and verbs with everything that may stand beside them."""

from dataclasses import dataclass

from course_lib.corpus import lexicon
from course_lib.corpus.morphology import add_s, past_tense


@dataclass(frozen=True, eq=False)
class Noun:
    """A noun in both languages; `counter` is what it is counted with (책 세 권), "" if it is not counted."""

    ko: str
    en: str
    plural: str
    kind: str
    counter: str = ""
    adjectives: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, eq=False)
class Place:
    """A place: `particle` is the Korean one (마을에서, 마을에), `preposition` the English one (in, at, on, to)."""

    ko: str
    en: str
    preposition: str
    particle: str = "in"


@dataclass(frozen=True, eq=False)
class Verb:
    """A verb with its subjects (kinds of nouns), objects, instruments and places."""

    stem: str
    base: str
    past: str
    subjects: tuple[str, ...] = ("person",)
    objects: tuple[Noun, ...] = ()
    instruments: tuple[Noun, ...] = ()
    places: tuple[Place, ...] = ()

    @property
    def third_person(self) -> str:
        """The form after he, she, it: of "wait for" it is "waits for"."""
        first, *rest = self.base.split(" ")
        return " ".join([add_s(first), *rest])


def read_nouns() -> dict[str, Noun]:
    """All nouns of the tables, by their English word."""
    nouns = {}
    for kind, rows in lexicon.NOUNS.items():
        for row in rows.split(";"):
            ko, english, counter, classes = row.split()
            en, _, plural = english.partition("/")
            plural = plural or (en if kind in ("mass", "pair") else add_s(en))
            adjectives = [pair for name in classes.split(",") if name != "-" for pair in lexicon.ADJECTIVES[name]]
            nouns[en] = Noun(ko, en, plural, kind, counter.strip("-"), tuple(adjectives))
    return nouns


def read_places(words: list[str], slot: str) -> tuple[Place, ...]:
    """Places of a verb; `slot` is the word before them in the table: "in" 에서, "at" 에, "to" 에 and English "to"."""
    rows = [row.split() for row in lexicon.PLACES.split("·")]
    if words == ["outside"]:
        words = lexicon.OUTSIDE
    elif not words or words == ["anywhere"]:
        words = [en for _, en, _ in rows if en not in lexicon.NOT_ANYWHERE]
    particle = "in" if slot == "in" else "to"
    return tuple(Place(ko, en, "to" if slot == "to" else prep, particle) for ko, en, prep in rows if en in words)


def read_verbs(table: str) -> list[Verb]:
    """One verb for each line: `stem english/past: objects or subjects, with instruments, in/at/to places`."""
    verbs = []
    for line in table.strip().splitlines():
        head, _, words = line.partition(":")
        stem, english = head.split(" ", 1)
        base, _, past = english.partition("/")
        slots = {"": []}
        for word in words.split():
            if word in ("with", "in", "at", "to"):
                slots[word] = []
            else:
                slots[list(slots)[-1]].append(word)
        transitive = table is lexicon.TRANSITIVE
        place = next((slot for slot in ("in", "at", "to") if slot in slots), "in")
        subjects, objects = (("person",), find_nouns(slots[""])) if transitive else (tuple(slots[""]), ())
        instruments = find_nouns(lexicon.TRANSPORT if place == "to" else slots.get("with", ()))
        places = read_places(slots.get(place, []), place)
        verbs.append(Verb(stem, base, past or past_tense(base), subjects, objects, instruments, places))
    return verbs


def find_nouns(words: list[str] | tuple[str, ...]) -> tuple[Noun, ...]:
    """Nouns by their English word, or all of a kind: `@animal`."""
    found = []
    for word in words:
        found += [noun for noun in NOUN.values() if noun.kind == word[1:]] if word[0] == "@" else [NOUN[word]]
    return tuple(found)


NOUN = read_nouns()
TRANSITIVE_VERBS = read_verbs(lexicon.TRANSITIVE)
INTRANSITIVE_VERBS = read_verbs(lexicon.INTRANSITIVE)
SPEECH_VERBS = read_verbs(lexicon.SPEECH)
