"""Sentence pairs: the course's own Korean–English corpus, and any file of pairs.

The course corpus is generated (`grammar` spells trees that `tree_sampler` draws), so every pair carries its gold word
alignment and tags that say which phenomena it shows. BLEU near 100 on it says nothing about real translation.
"""

import gzip
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from course_lib.corpus import lexicon
from course_lib.corpus.columns import check_columns
from course_lib.corpus.dictionary import NOUN
from course_lib.corpus.grammar import EN_ORDER, Because, Clause, Coordination, align, spell_en, spell_ko
from course_lib.corpus.tree_sampler import KINDS, Sampler
from course_lib.corpus.tree_tags import tags_of
from course_lib.sizes import check_whole
from course_lib.text import clean, twin

Words = tuple[str, ...]
GZIP = b"\x1f\x8b"  # how a packed file begins


@dataclass(frozen=True)
class Sentence:
    """One sentence in two languages: words, gold links (src position, tgt position), and tags.

    `readings` holds every correct target with its probability where the source allows several. The text is the words
    joined by single spaces, and the words are the text split at single spaces: nothing is lost either way.

    >>> pair = Sentence(("책을", "읽는다"), ("reads", "a", "book"), alignment=((0, 2), (1, 0)))
    >>> pair.src_text, pair.swapped().alignment
    ('책을 읽는다', ((0, 1), (2, 0)))
    """

    src: Words
    tgt: Words
    alignment: tuple[tuple[int, int], ...] = ()
    tags: Words = ()
    readings: tuple[tuple[float, Words], ...] = ()

    @property
    def src_text(self) -> str:
        return " ".join(self.src)

    @property
    def tgt_text(self) -> str:
        return " ".join(self.tgt)

    def swapped(self) -> "Sentence":
        """The other direction; there, one target is right."""
        links = tuple(sorted((j, i) for i, j in self.alignment))
        return replace(self, src=self.tgt, tgt=self.src, alignment=links, readings=())


@dataclass(frozen=True)
class Corpus:
    """Named splits of sentence pairs; `train`, `val` and `test` are always there.

    >>> corpus = Corpus("tiny", "ko", "en", {"train": [Sentence(("책",), ("book",))], "val": [], "test": []})
    >>> corpus["train"][0].tgt_text, corpus.swapped().src_language
    ('book', 'en')
    """

    name: str
    src_language: str
    tgt_language: str
    splits: dict[str, list[Sentence]] = field(repr=False)

    def __getitem__(self, split: str) -> list[Sentence]:
        if split not in self.splits:
            raise ValueError(f"expected one of the splits {', '.join(self.splits)}, got {split!r}: choose one of them")
        return self.splits[split]

    def swapped(self) -> "Corpus":
        """The corpus in the other direction."""
        splits = {name: [pair.swapped() for pair in pairs] for name, pairs in self.splits.items()}
        return Corpus(self.name, self.tgt_language, self.src_language, splits)


EVALUATION_SPLITS = {  # split: (how many, kinds of sentences)
    "test": (1000, tuple(KINDS)),
    "val": (500, tuple(KINDS)),
    "held_out_pairs": (500, tuple(KINDS)),
    "held_out_names": (500, tuple(KINDS)),
    "depth": (500, ("two relatives", "relative in relative", "quote in quote")),
    "length": (500, ("three clauses",)),
    "ambiguous": (300, ("ambiguous",)),
}
# Three adjuncts are a garden path for a search: "yesterday" stands first with probability .4, else behind the verb, in
# one of four orders, each with .15.
GARDEN_PATH_ORDERS = [("time", *EN_ORDER[:-1])] + [
    (*EN_ORDER[:3], *order.split())
    for order in ("companion place time", "place companion time", "companion time place", "place time companion")
]
GARDEN_PATH_PROBABILITIES = [0.4, 0.15, 0.15, 0.15, 0.15]


def course_corpus(seed: int = 0, n_train: int = 20_000) -> Corpus:
    """The course's Korean–English corpus: the same for the same seed, on every machine, in a second or two.

    Splits: `train`, `val`, `test`, and what training does not show: `held_out_pairs` (verb and object),
    `held_out_names`, `depth` (two relative clauses, side by side or nested, a quote in a quote), `length` (three
    clauses in a row). `ambiguous` has sources with two equally good readings, as 3 % of train. Nothing occurs twice.

    >>> pair = course_corpus(n_train=10)["test"][0]
    >>> pair.src_text
    '농부들이 밤에 플루트를 불었기 때문에 지현은 마당에서 그 빨간 신발을 닦았다'
    >>> pair.tgt_text
    'Jihyeon wiped the red shoes in the yard because farmers played the flute at night'
    """
    check_whole(0, n_train=n_train)
    seen: set[Words] = set()
    splits = {}
    for split, (size, kinds) in EVALUATION_SPLITS.items():
        splits[split] = generate(seed, split, size, {kind: KINDS.get(kind, 1) for kind in kinds}, seen)
    train = generate(seed, "train", n_train, KINDS | {"ambiguous": 3}, seen)
    return Corpus("course", "ko", "en", {"train": train} | splits)


def generate(seed: int, split: str, size: int, weights: dict[str, int], seen: set[Words]) -> list[Sentence]:
    """`size` new sentences of the kinds in `weights`; adds their two sides to `seen`."""
    random = Random(f"{seed} {split}")
    sampler = Sampler(random, lexicon.HELD_OUT_NAMES if split == "held_out_names" else lexicon.NAMES)
    kinds, chances = list(weights), list(weights.values())
    sentences = []
    while len(sentences) < size:
        kind = random.choices(kinds, chances)[0]
        sentence = spell(sampler.sentence(kind, split == "held_out_pairs"), kind, random)
        if split == "held_out_names" and "name" not in sentence.tags:
            continue
        targets = {sentence.tgt, *(words for _, words in sentence.readings)}
        if sentence.src not in seen and seen.isdisjoint(targets):
            seen |= {sentence.src} | targets
            sentences.append(sentence)
    return sentences


def spell(tree: Clause | Because | Coordination, kind: str, random: Random) -> Sentence:
    """The tree in both languages; of several readings, one is drawn."""
    ko, en = spell_ko(tree), spell_en(tree)
    spelled = [(1.0, en)]
    if kind == "ambiguous":
        spelled = [(0.5, en), (0.5, spell_en_otherwise(tree))]
    elif kind == "three adjuncts":
        orders = zip(GARDEN_PATH_PROBABILITIES, GARDEN_PATH_ORDERS, strict=True)
        spelled = [(probability, spell_en(tree, order)) for probability, order in orders]
        en = random.choices([words for _, words in spelled], GARDEN_PATH_PROBABILITIES)[0]
    readings = tuple((p, tuple([text for text, _ in words])) for p, words in spelled) if len(spelled) > 1 else ()
    src, tgt = (tuple([text for text, _ in words]) for words in (ko, en))
    return Sentence(src, tgt, links := align(ko, en), tags_of(tree, kind, tgt, links), readings)


def spell_en_otherwise(tree: Clause) -> list:
    """The other reading of an ambiguous clause: its object means the other thing."""
    drawn = tree.object.noun
    meanings, _ = lexicon.AMBIGUOUS[drawn.ko]
    other = replace(tree.object, noun=NOUN[meanings[meanings[0] == drawn.en]])
    return spell_en(replace(tree, object=other))


def tagged(sentences: Iterable[Sentence], tag: str) -> list[Sentence]:
    """The sentences that have `tag`: the slice of a split that shows one phenomenon."""
    return [sentence for sentence in sentences if tag in sentence.tags]


def read_pairs(path: str | Path | Sequence[str | Path], seed: int = 0, held_out: float = 0.05) -> Corpus:
    """A corpus from a UTF-8 file with one `src TAB tgt [TAB note]` a line (notes are ignored), plain or .gz.

    Two files, `[src, tgt]`, are read line by line: line i of one belongs to line i of the other. Every sentence is
    made clean (`course_lib.text`). A share of `held_out` of the sources goes to `val`, another to `test`, at random;
    pairs of one source stay together, and so do those of twins, which differ in case, spaces, or end marks only.
    Raises ValueError for another file, with what to do.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "pairs.tsv"
    ...     _ = path.write_text("Guten  Tag\\tgood day\\n", encoding="utf-8")
    ...     [pair] = read_pairs(path)["train"]
    >>> pair.src_text, pair.tgt_text
    ('Guten Tag', 'good day')
    """
    paths = [path] if isinstance(path, str | Path) else [*path]
    if len(paths) > 2:
        raise ValueError(f"expected one file of pairs, or two files, got {len(paths)}: name the source's, the target's")
    by_twin: dict[str, list[tuple[str, str]]] = {}
    for src, tgt in pairs_of_lines(paths[0]) if len(paths) == 1 else pairs_of_files(*paths):
        by_twin.setdefault(twin(src), []).append((src, tgt))
    if not 0 <= held_out < 0.5:
        raise ValueError(f"expected held_out from 0 to below 0.5, got {held_out}: val and test take that share each")
    sources = list(by_twin)
    Random(seed).shuffle(sources)
    n = round(len(sources) * held_out)
    parts = {"train": sources[2 * n :], "val": sources[:n], "test": sources[n : 2 * n]}
    splits = {
        split: [Sentence(tuple(src.split(" ")), tuple(tgt.split(" "))) for name in part for src, tgt in by_twin[name]]
        for split, part in parts.items()
    }
    return Corpus(Path(paths[0]).stem, "src", "tgt", splits)


def pairs_of_lines(path: str | Path) -> list[tuple[str, str]]:
    """Source and target of every line of a file that has both in a line, clean; empty lines are skipped."""
    rows = []
    for number, line in enumerate(text_lines(path), start=1):
        cells = [clean(cell) for cell in line.split("\t")]
        if not any(cells):
            continue
        if len(cells) < 2 or not all(cells[:2]):
            raise ValueError(
                f"expected 'source TAB target' in {path}, got {line[:60]!r} in line {number}: put a tab between the "
                "two sentences, and drop lines that lack one of them; two files are read with --data SOURCES TARGETS"
            )
        rows.append((number, cells))
    if rows:
        check_columns(rows, path)
    return [(src, tgt) for _, (src, tgt, *_notes) in rows]


def pairs_of_files(src_path: str | Path, tgt_path: str | Path) -> list[tuple[str, str]]:
    """Source and target of every line of two files, clean; lines that are empty in both are skipped."""
    sides = [[clean(line) for line in text_lines(path)] for path in (src_path, tgt_path)]
    longer, shorter = sorted(sides, key=len, reverse=True)
    while len(longer) > len(shorter) and not longer[-1]:  # only an end
        longer.pop()
    if len(sides[0]) != len(sides[1]):
        raise ValueError(
            f"expected as many lines in {tgt_path} as in {src_path}, {len(sides[0]):,}, got {len(sides[1]):,}: "
            "line i of one belongs to line i of the other"
        )
    pairs = []
    for number, (src, tgt) in enumerate(zip(*sides, strict=True), start=1):
        if bool(src) != bool(tgt):
            raise ValueError(
                f"expected a sentence in line {number} of {tgt_path if src else src_path}, as in the other file, got "
                "an empty line: drop the line from both files"
            )
        pairs += [(src, tgt)] if src else []
    return pairs


def text_lines(path: str | Path) -> list[str]:
    """The lines of a UTF-8 file, plain or .gz. NULs are refused: UTF-16 without a byte-order mark is read as such."""
    data = Path(path).read_bytes()
    if data.startswith(GZIP):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(f"expected a whole .gz file at {path}, got a broken one ({error}): pack it anew") from None
    if b"\0" in data:
        line = data[: data.index(b"\0")].count(b"\n") + 1
        raise ValueError(f"expected UTF-8 in {path}, got a NUL in line {line}, as UTF-16 has them: save it as UTF-8")
    return lines_of(data, path) if data else []


def lines_of(data: bytes, path: str | Path) -> list[str]:
    """Lines of a UTF-8 file, which end with a line feed, or a carriage return and one.

    Other line separators of Unicode may be part of a sentence. Carriage returns alone end lines if no line feed does.

    >>> lines_of(b"one\\r\\ntwo\\n", "a file"), lines_of(b"one\\rtwo", "a file")
    (['one', 'two'], ['one', 'two'])
    """
    end = b"\n" if b"\n" in data else b"\r"
    return decoded(data.removesuffix(end).split(end), path)


def decoded(lines: Iterable[bytes], path: str | Path, first: int = 1) -> list[str]:
    """The texts of UTF-8 lines, of which the first has the number `first` in its file.

    >>> decoded([b"\\xef\\xbb\\xbfone\\r", b"two"], "a file")
    ['one', 'two']
    """
    texts = []
    for number, line in enumerate(lines, start=first):
        line = line.removeprefix(b"\xef\xbb\xbf" if number == 1 else b"")
        try:
            texts.append(line.removesuffix(b"\r").decode("utf-8"))
        except UnicodeDecodeError as error:
            raise ValueError(
                f"expected UTF-8 in {path}, got the byte 0x{line[error.start]:02x} in line {number}: save it as UTF-8"
            ) from None
    return texts
