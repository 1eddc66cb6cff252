"""How good a translator is: figures of every split, as data and as a table. `train` and `score` share them."""

import re
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from course_lib.bleu import corpus_bleu
from course_lib.corpus import Corpus, Sentence, course_corpus, read_pairs
from course_lib.corpus.multi30k import multi30k
from course_lib.translation import alignment_accuracy, exact_match

NOT_TESTED = ("train", "val")  # training looked at these
SPACES = re.compile(r"[^\S\u00a0\u2007\u202f]+")  # but no no-break spaces, which French has before "?"
CONTROLS = dict.fromkeys([*range(32), *range(127, 160)], " ")  # line feeds, tabs, escapes of terminals


def load_corpus(data: str, seed: int = 0, reverse: bool = False) -> Corpus:
    """The corpus that `--data` names: course, multi30k, or a file with one `source TAB target` a line.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".tsv") as file:
    ...     _ = file.write("Hund\\tdog\\n")
    ...     file.flush()
    ...     load_corpus(file.name, reverse=True)["train"][0].src_text
    'dog'
    """
    if data == "course":
        corpus = course_corpus(seed)
    elif data == "multi30k":
        corpus = multi30k()
    elif Path(data).is_file():
        corpus = read_pairs(data, seed=seed)
    else:
        raise FileNotFoundError(
            f"expected course, multi30k or a file of sentence pairs, got {data!r}, where there is no file: "
            "check the path"
        )
    return corpus.swapped() if reverse else corpus


def evaluate(
    translator: Any,
    corpus: Corpus,
    beam_size: int = 1,
    length_penalty: float = 1.0,
    splits: Iterable[str] | None = None,
) -> dict[str, Any]:
    """Exact match (0 … 1), BLEU (0 … 100) and alignment accuracy (0 … 1), each by the name of the split.

    Without `splits`, all that training did not see. Alignment is there where a split has gold links. BLEU is that of
    the plain text, as `bleu_signature` says, and `evaluation_seconds` is what all of it took.

    >>> class Parrot:
    ...     def translate(self, texts, beam_size, length_penalty):
    ...         return list(texts)
    >>> pairs = [Sentence(("to", "be", "or", "not"), ("to", "be", "or", "what"))]
    >>> found = evaluate(Parrot(), Corpus("tiny", "en", "en", {"train": [], "val": [], "test": pairs}))
    >>> found["exact_match"], found["bleu"], found["alignment"]
    ({'test': 0.0}, {'test': 59.46}, {})
    """
    begun = time.perf_counter()
    names = [name for name in corpus.splits if name not in NOT_TESTED] if splits is None else splits
    found: dict[str, Any] = {"exact_match": {}, "bleu": {}, "alignment": {}}
    for name in names:
        pairs = corpus[name]
        if not pairs:
            continue
        texts = translator.translate([pair.src_text for pair in pairs], beam_size, length_penalty)
        bleu = corpus_bleu(texts, [pair.tgt_text for pair in pairs])
        found["exact_match"][name] = round(exact_match(texts, pairs), 4)
        found["bleu"][name] = round(bleu.score, 2)
        found["bleu_signature"] = bleu.signature
        if any(pair.alignment for pair in pairs):
            found["alignment"][name] = round(alignment_accuracy(translator, pairs), 4)
    return found | {"evaluation_seconds": round(time.perf_counter() - begun, 1)}


def table(found: dict[str, Any]) -> str:
    """The figures that `evaluate` gives, a line for every split.

    >>> print(table({"exact_match": {"test": 0.5}, "bleu": {"test": 61.23}, "alignment": {}}))
    split            exact match    BLEU  alignment
    test                   0.500    61.2
    """
    lines = [f"{'split':<16}{'exact match':>12}{'BLEU':>8}{'alignment':>11}"]
    for name, exact in found["exact_match"].items():
        line = f"{name:<16}{exact:>12.3f}{found['bleu'][name]:>8.1f}"
        lines.append(line + (f"{found['alignment'][name]:>11.3f}" if name in found["alignment"] else ""))
    return "\n".join(lines)


def samples(pairs: Sequence[Sentence], texts: Sequence[str]) -> str:
    """Sources and their translations to read, with the reference where it says something else.

    >>> print(samples([Sentence(("zwei", "Hunde"), ("two", "dogs"))], ["two cats"]))
      zwei Hunde
    → two cats
      (reference: two dogs)
    """
    parts = []
    for pair, text in zip(pairs, texts, strict=True):
        reference = "" if text == pair.tgt_text else f"\n  (reference: {pair.tgt_text})"
        parts.append(f"  {pair.src_text}\n→ {one_line(text)}{reference}")
    return "\n\n".join(parts)


def one_line(text: str) -> str:
    """A translation to print: a model that knows little may write line feeds and other control characters.

    >>> one_line("two\\n\\tdogs ")
    'two dogs'
    """
    return single_spaces(text.translate(CONTROLS))


def single_spaces(text: str) -> str:
    """The words of a line, joined by single spaces; spaces that do not break a line are part of a word.

    >>> single_spaces(" two\\t  dogs ")
    'two dogs'
    """
    return " ".join(filter(None, SPACES.split(text)))
