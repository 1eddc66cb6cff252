"""How good a translator is: figures of every split, as data and as a table. `train` and `score` share them."""

import re
import time
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from course_lib.bleu import MAX_ORDER, BleuScore, References, corpus_bleu
from course_lib.bleu.chrf import chrf_signature, corpus_chrf
from course_lib.bleu.tokenizers import TOKENIZERS
from course_lib.corpus import Corpus, Sentence, course_corpus, read_pairs
from course_lib.corpus.multi30k import multi30k
from course_lib.text import twin
from course_lib.translation import LONGEST, UnseenCharacter, alignment_accuracy, exact_match

BAR = "{desc} {percentage:3.0f}% |{bar}| {elapsed}, {remaining} left"
NOT_TESTED = ("train", "val")  # training looked at these
SPACES = re.compile(r"[^\S\u00a0\u2007\u202f]+")  # but no no-break spaces, which French has before "?"
CONTROLS = dict.fromkeys([*range(32), *range(127, 160)], " ")  # line feeds, tabs, escapes of terminals


def load_corpus(data: str | Sequence[str], seed: int = 0, reverse: bool = False) -> Corpus:
    """The corpus that `--data` names: course, multi30k, a file with one `source TAB target` a line, or two files."""
    names = [data] if isinstance(data, str) else data
    missing = next((name for name in names if not Path(name).is_file()), None)
    if data == "course":
        corpus = course_corpus(seed)
    elif data == "multi30k":
        corpus = multi30k()
    elif missing is None:
        corpus = read_pairs(data, seed=seed)
    else:
        raise FileNotFoundError(
            f"expected course, multi30k or a file of sentence pairs, got {missing!r}, where there is no file: "
            "check the path"
        )
    return corpus.swapped() if reverse else corpus


def evaluate(
    translator: Any,
    corpus: Corpus,
    beam_size: int = 1,
    length_penalty: float = 1.0,
    splits: Iterable[str] | None = None,
    quiet: bool = True,
    tokenize: str = "13a",
) -> dict[str, Any]:
    """Exact match (0 … 1), BLEU and chrF (0 … 100), and alignment accuracy (0 … 1), each by the name of the split.

    Without `splits`, all that training did not see. Alignment is there where a split has gold links. BLEU and chrF are
    those of the plain text, as their signatures say, and `tokenize` is that of `corpus_bleu`. `evaluation_seconds` is
    what all of it took. Sentences that are too long to read are left out, and `left_out` counts them; `notes` say where
    BLEU has next to nothing to count. A bar shows the way, unless `quiet`.

    >>> class Parrot:
    ...     vocabulary = type("Words", (), {"encode": str.split})
    ...     def translate(self, texts, beam_size, length_penalty, done):
    ...         return list(texts)
    >>> pairs = [Sentence(("to", "be", "or", "not"), ("to", "be", "or", "what"))]
    >>> found = evaluate(Parrot(), Corpus("tiny", "en", "en", {"train": [], "val": [], "test": pairs}))
    >>> found["exact_match"], found["bleu"], found["chrf"], found["alignment"]
    ({'test': 0.0}, {'test': 59.46}, {'test': 46.5}, {})
    """
    begun = time.perf_counter()
    names = [name for name in corpus.splits if name not in NOT_TESTED] if splits is None else splits
    found: dict[str, Any] = {"exact_match": {}, "bleu": {}, "chrf": {}, "alignment": {}}
    for name in names:
        pairs = [pair for pair in corpus[name] if not too_long(translator, pair)]
        if len(pairs) < len(corpus[name]):
            found.setdefault("left_out", {})[name] = len(corpus[name]) - len(pairs)
        if not pairs:
            continue
        aligned = any(pair.alignment for pair in pairs)
        work = len(pairs) * (2 if aligned else 1)
        with tqdm(total=work, desc=f"evaluating {name}", disable=quiet or None, bar_format=BAR) as bar:
            sources = [pair.src_text for pair in pairs]
            with warnings.catch_warnings():  # what training never had is in the figures
                warnings.simplefilter("ignore", UnseenCharacter)
                texts = translator.translate(sources, beam_size, length_penalty=length_penalty, done=bar.update)
            references = [pair.tgt_text for pair in pairs]
            bleu = corpus_bleu(texts, references, tokenize)
            found["exact_match"][name] = round(exact_match(texts, pairs), 4)
            found["bleu"][name] = round(bleu.score, 2)
            found["bleu_signature"] = bleu.signature
            found["chrf"][name] = round(corpus_chrf(texts, references), 2)
            found["chrf_signature"] = chrf_signature()
            if note := bleu_note(bleu, references, tokenize):
                found.setdefault("notes", {})[name] = note
            if aligned:
                found["alignment"][name] = round(alignment_accuracy(translator, pairs, done=bar.update), 4)
    return found | {"evaluation_seconds": round(time.perf_counter() - begun, 1)}


def first_look(corpus: Corpus) -> str:
    """What shows at a glance whether the pairs are those that were meant: one of them, and what the splits share.

    >>> pairs = [Sentence(("ein", "Hund"), ("a", "dog")), Sentence(("der", "Hund"), ("A", "dog."))]
    >>> print(first_look(Corpus("tiny", "de", "en", {"train": pairs[:1], "val": [], "test": pairs[1:]})))
    reads: 'ein Hund' → 'a dog'
    1 of 1 test targets are trained on, too, or differ from one in case or end marks only
    """
    lines = [f"reads: {pair.src_text[:80]!r} → {pair.tgt_text[:80]!r}" for pair in corpus["train"][:1]]
    if test := corpus["test"]:
        trained = {twin(pair.tgt_text) for pair in corpus["train"]}
        count = sum(twin(pair.tgt_text) in trained for pair in test)
        lines.append(
            f"{count:,} of {len(test):,} test targets are trained on, too, or differ from one in case or end marks only"
        )
    return "\n".join(lines)


def too_long(translator: Any, pair: Sentence) -> bool:
    """Whether the source has more tokens than a translator reads. Short texts are not even encoded."""
    return len(pair.src_text) > LONGEST and len(translator.vocabulary.encode(pair.src_text)) > LONGEST


def bleu_note(bleu: BleuScore, references: References, tokenize: str = "13a", smoothing: str = "exp") -> str:
    """What to know of a BLEU that has next to no run of four tokens to count, and what to do; usually nothing.

    So it is with texts of few words, and with those that put no spaces between words.

    >>> texts = ["昨天他写了新闻。", "他读书。"]
    >>> bleu_note(corpus_bleu(texts, texts), texts)
    'no reference has 4 tokens (13a), so BLEU is 0 even for a copy: try --tokenize char, or go by chrF'
    >>> bleu_note(corpus_bleu(texts, texts, "char"), texts, "char")
    ''
    """
    split = TOKENIZERS[tokenize]
    texts = [text for several in references for text in ([several] if isinstance(several, str) else several)]
    short = sum(len(split(text)) < MAX_ORDER for text in texts)
    instead = "go by chrF" if tokenize == "char" else "try --tokenize char, or go by chrF"
    zero = smoothing != "add-k"  # which counts one match of one where there is nothing to count
    if short == len(texts):
        says = "is 0 even for a copy" if zero else f"finds no run of {MAX_ORDER} to count"
        return f"no reference has {MAX_ORDER} tokens ({tokenize}), so BLEU {says}: {instead}"
    if zero and not bleu.statistics.totals[-1]:
        return f"no translation has {MAX_ORDER} tokens ({tokenize}), so BLEU is 0 whatever is right: go by chrF"
    if short > len(texts) / 2:
        fewer = f"{short:,} of {len(texts):,} references have fewer than {MAX_ORDER} tokens ({tokenize})"
        return f"{fewer}, so the runs of {MAX_ORDER} that BLEU counts come from the others alone: {instead}"
    return ""


def table(found: dict[str, Any]) -> str:
    """The figures that `evaluate` gives, a line for every split, and how BLEU was counted.

    >>> print(table({"exact_match": {"test": 0.5}, "bleu": {"test": 61.23}, "chrf": {"test": 75.0}, "alignment": {}}))
    split            exact match    BLEU    chrF  alignment
    test                   0.500    61.2    75.0
    """
    lines = [f"{'split':<16}{'exact match':>12}{'BLEU':>8}{'chrF':>8}{'alignment':>11}"]
    for name, exact in found["exact_match"].items():
        line = f"{name:<16}{exact:>12.3f}{found['bleu'][name]:>8.1f}{found['chrf'][name]:>8.1f}"
        lines.append(line + (f"{found['alignment'][name]:>11.3f}" if name in found["alignment"] else ""))
    for name, count in found.get("left_out", {}).items():
        lines.append(f"{name}: {count} sources of more than {LONGEST} tokens were left out")
    lines += [f"{name}: {note}" for name, note in found.get("notes", {}).items()]
    if "bleu_signature" in found:
        lines.append(f"BLEU: {found['bleu_signature']}")
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
    return " ".join(filter(None, SPACES.split(text.translate(CONTROLS))))
