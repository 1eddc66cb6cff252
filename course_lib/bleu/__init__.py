"""BLEU: how many pieces of a translation also stand in a reference.

Counting is apart from scoring: `bleu_statistics` counts a corpus, `bleu_score` turns the counts into a number.
Source: Papineni et al. 2002, "BLEU: a Method for Automatic Evaluation of Machine Translation"; smoothing:
Chen and Cherry 2014, "A Systematic Comparison of Smoothing Techniques for Sentence-Level BLEU".
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import course_lib
from course_lib.bleu.fast import MAX_ORDER, count_matches
from course_lib.bleu.tokenizers import TOKENIZERS

SMOOTHING = {"none": None, "floor": 0.1, "add-k": 1.0, "exp": None}  # method: its usual value, if it takes one

Tokens = Sequence[str]
References = Sequence[str | Sequence[str]]


def ngrams(tokens: Tokens, n: int) -> Counter[tuple[str, ...]]:
    """How often each run of `n` tokens occurs.

    >>> ngrams("the cat the cat".split(), 2)[("the", "cat")]
    2
    """
    return Counter(zip(*(tokens[i:] for i in range(n)), strict=False))


def modified_precision(hypothesis: Tokens, references: Sequence[Tokens], n: int) -> tuple[int, int]:
    """Matched and all n-grams of the hypothesis.

    Each matches as often as it stands in the reference that has it most often.

    >>> references = ["the cat sat".split(), "the dog saw the cat".split()]
    >>> modified_precision("the the the cat".split(), references, n=1)
    (3, 4)
    """
    counts = ngrams(hypothesis, n)
    most: Counter[tuple[str, ...]] = Counter()
    for reference in references:
        most |= ngrams(reference, n)  # the larger of two counts
    return (counts & most).total(), counts.total()  # the smaller of two counts


def closest_length(length: int, reference_lengths: Sequence[int]) -> int:
    """The reference length nearest to `length`; of a tie, the shorter one.

    >>> closest_length(10, [13, 8, 12])
    8
    """
    return min(reference_lengths, key=lambda candidate: (abs(candidate - length), candidate))


def brevity_penalty(hyp_len: int, ref_len: int) -> float:
    """1 for a long enough translation, else exp(1 - ref_len / hyp_len).

    Half the length costs a factor of e.

    >>> brevity_penalty(12, 12), round(brevity_penalty(6, 12), 3)
    (1.0, 0.368)
    """
    if hyp_len >= ref_len:
        return 1.0
    return math.exp(1 - ref_len / hyp_len) if hyp_len else 0.0


@dataclass(frozen=True)
class BleuStatistics:
    """What BLEU needs to know of a corpus: n-grams matched and all n-grams (n = 1 … 4), and lengths in tokens.

    Parts of a corpus add up: BLEU of the whole is the score of the sum, never the mean of scores.

    >>> one = BleuStatistics((2, 1, 0, 0), (2, 1, 0, 0), hyp_len=2, ref_len=2)
    >>> (one + one).matches
    (4, 2, 0, 0)
    """

    matches: tuple[int, ...] = (0,) * MAX_ORDER
    totals: tuple[int, ...] = (0,) * MAX_ORDER
    hyp_len: int = 0
    ref_len: int = 0

    def __add__(self, other: "BleuStatistics") -> "BleuStatistics":
        matches = tuple(map(sum, zip(self.matches, other.matches, strict=True)))
        totals = tuple(map(sum, zip(self.totals, other.totals, strict=True)))
        return BleuStatistics(matches, totals, self.hyp_len + other.hyp_len, self.ref_len + other.ref_len)


def bleu_statistics(hypotheses: Iterable[Tokens], references: Iterable[Sequence[Tokens]]) -> BleuStatistics:
    """Count a corpus: `modified_precision` for n = 1 … 4, faster, summed over its sentences.

    >>> bleu_statistics(["the cat sat down".split()], [["the cat sat".split(), "a cat sat down".split()]])
    BleuStatistics(matches=(4, 3, 2, 0), totals=(4, 3, 2, 1), hyp_len=4, ref_len=4)
    """
    matches: list[int] = []  # four numbers a sentence, in one list: thousands of small ones would wake the collector
    lengths: list[int] = []
    ref_len = 0
    for tokens, others in zip(hypotheses, references, strict=True):
        if len(others) == 1:
            matches += count_matches(tokens, others[0])
        else:
            matches += [modified_precision(tokens, others, n)[0] for n in range(1, MAX_ORDER + 1)]
        lengths.append(len(tokens))
        ref_len += len(others[0]) if len(others) == 1 else closest_length(len(tokens), list(map(len, others)))
    matched = tuple(sum(matches[n::MAX_ORDER]) for n in range(MAX_ORDER))
    totals = tuple(sum(length - n for length in lengths if length > n) for n in range(MAX_ORDER))
    return BleuStatistics(matched, totals, sum(lengths), ref_len)


@dataclass(frozen=True)
class BleuScore:
    """BLEU in percent, with everything it was made of; `signature` says how it was counted.

    >>> print(bleu_score(BleuStatistics((4, 3, 2, 1), (4, 3, 2, 1), hyp_len=4, ref_len=5)))
    BLEU = 77.88 100.0/100.0/100.0/100.0 (BP = 0.779 hyp_len = 4 ref_len = 5)
    """

    score: float
    precisions: tuple[float, ...]
    brevity_penalty: float
    statistics: BleuStatistics
    signature: str = ""

    def __str__(self) -> str:
        precisions = "/".join(f"{precision:.1f}" for precision in self.precisions)
        lengths = f"hyp_len = {self.statistics.hyp_len} ref_len = {self.statistics.ref_len}"
        return f"BLEU = {self.score:.2f} {precisions} (BP = {self.brevity_penalty:.3f} {lengths})"


def bleu_score(
    statistics: BleuStatistics, smoothing: str = "exp", smooth_value: float | None = None, effective_order: bool = False
) -> BleuScore:
    """brevity penalty × geometric mean of the four precisions.

    A precision of zero makes the product zero. `smoothing` gives it a value instead: "floor" counts `smooth_value` of
    a match, "add-k" adds `smooth_value` to matches and totals (n > 1), "exp" counts half a match, the next time a
    quarter, and so on; "none" leaves the zero. Orders without any n-gram have precision 0, unless `effective_order`
    leaves them out of the mean (for single sentences). Without one matching token the score is 0 in every case.

    >>> round(bleu_score(BleuStatistics((4, 3, 2, 1), (4, 3, 2, 1), hyp_len=4, ref_len=4)).score, 6)
    100.0
    >>> round(bleu_score(BleuStatistics((4, 3, 2, 0), (4, 3, 2, 1), hyp_len=4, ref_len=4)).score, 2)
    84.09
    """
    if smoothing not in SMOOTHING:
        raise ValueError(f"expected smoothing {', '.join(SMOOTHING)}, got {smoothing!r}: sacrebleu's default is 'exp'")
    value = SMOOTHING[smoothing] if smooth_value is None else smooth_value
    if value is not None and not 0 <= value < math.inf:
        raise ValueError(f"expected smooth_value to be 0 or more, got {value}: it counts matches")
    penalty = brevity_penalty(statistics.hyp_len, statistics.ref_len)
    precisions = [0.0] * MAX_ORDER
    if not any(statistics.matches):
        return BleuScore(0.0, tuple(precisions), penalty, statistics)
    order, missed = MAX_ORDER, 0
    for n, (matches, total) in enumerate(zip(statistics.matches, statistics.totals, strict=True)):
        added = value if smoothing == "add-k" and n else 0
        if not total + added:
            break
        if effective_order:
            order = n + 1
        if not matches + added and smoothing == "exp":
            missed += 1
            matches = 0.5**missed
        elif not matches + added and smoothing == "floor":
            matches = value
        precisions[n] = 100 * (matches + added) / (total + added)
    if min(precisions[:order]) == 0:
        return BleuScore(0.0, tuple(precisions), penalty, statistics)
    mean_log = sum(math.log(precision) for precision in precisions[:order]) / order
    return BleuScore(penalty * math.exp(mean_log), tuple(precisions), penalty, statistics)


def corpus_bleu(
    hypotheses: Sequence[str],
    references: References,
    tokenize: str = "13a",
    lowercase: bool = False,
    smoothing: str = "exp",
    smooth_value: float | None = None,
    effective_order: bool = False,
) -> BleuScore:
    """BLEU of a corpus: counts are summed over all sentences first, then scored once. Equal to sacrebleu's.

    `references[i]` is the reference of `hypotheses[i]`, or a list of several. `tokenize` is "13a", "none" (the text is
    split at spaces) or "char". Give the text as people read it, and never compare scores of different `tokenize`:
    `signature` says how the score was counted, in sacrebleu's form.

    >>> score = corpus_bleu(["The cat sat on the mat."], [["The cat sat on a mat.", "A cat is on the mat."]])
    >>> print(score)
    BLEU = 79.53 100.0/100.0/80.0/50.0 (BP = 1.000 hyp_len = 7 ref_len = 7)
    """
    if tokenize not in TOKENIZERS:
        raise ValueError(f"expected tokenize {', '.join(TOKENIZERS)}, got {tokenize!r}: sacrebleu's default is '13a'")
    split = TOKENIZERS[tokenize]
    check_pairs(hypotheses, references)
    read = (lambda text: split(text.lower())) if lowercase else split
    several = ([read(texts)] if isinstance(texts, str) else list(map(read, texts)) for texts in references)
    score = bleu_score(bleu_statistics(map(read, hypotheses), several), smoothing, smooth_value, effective_order)
    usual = SMOOTHING[smoothing]
    smooth = smoothing if usual is None else f"{smoothing}[{usual if smooth_value is None else smooth_value:.2f}]"
    numbers = {1 if isinstance(texts, str) else len(texts) for texts in references}
    nrefs = numbers.pop() if len(numbers) == 1 else "var"
    how = f"nrefs:{nrefs}|case:{'lc' if lowercase else 'mixed'}|eff:{'yes' if effective_order else 'no'}|tok:{tokenize}"
    return replace(score, signature=f"{how}|smooth:{smooth}|version:course_lib-{course_lib.__version__}")


def sentence_bleu(hypothesis: str, references: str | Sequence[str], **settings) -> BleuScore:
    """BLEU of one sentence, with the orders that it has (`effective_order`); `settings` as in `corpus_bleu`.

    >>> round(sentence_bleu("This is cat", "This is cat").score, 6)
    100.0
    """
    return corpus_bleu([hypothesis], [references], **{"effective_order": True, **settings})


def check_pairs(hypotheses: Sequence[str], references: References) -> None:
    """Refuse references that do not belong to the hypotheses one by one.

    >>> check_pairs(["a b", "c"], ["a", ["c", "d"]])
    """
    if isinstance(hypotheses, str) or isinstance(references, str):
        raise TypeError("expected lists of hypotheses and references, got one text: write [text], or sentence_bleu")
    if len(hypotheses) != len(references):
        got = f"{len(references)}: references[i] belongs to hypotheses[i]"
        raise ValueError(f"expected references for each of the {len(hypotheses)} hypotheses, got {got}")
    if not all(isinstance(texts, str) or texts for texts in references):
        raise ValueError("expected at least one reference for every hypothesis, got none for one of them: leave it out")
    for text in [*hypotheses, *(one for texts in references for one in ([texts] if isinstance(texts, str) else texts))]:
        if not isinstance(text, str):
            raise TypeError(f"expected texts, got {text!r} among them: join its words by spaces, or leave it out")
