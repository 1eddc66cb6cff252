"""chrF: F-score of character n-grams, a second opinion on a translation: it needs no tokenizer and forgives endings.

Source: Popović 2015, "chrF: character n-gram F-score for automatic MT evaluation"; with words (chrF++): Popović 2017.
"""

from collections.abc import Sequence

import course_lib
from course_lib.bleu import References, check_pairs, ngrams
from course_lib.sizes import check_between

PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")

Counts = list[tuple[int, int, int]]  # for each order: n-grams of the hypothesis, of the reference, and of both


def count_overlap(hypothesis: Sequence[str], reference: Sequence[str], n: int) -> tuple[int, int, int]:
    """N-grams of the hypothesis (none, if the reference has none), of the reference, and of both.

    >>> count_overlap("banana", "bandana", 2)
    (5, 6, 4)
    """
    counts, others = ngrams(hypothesis, n), ngrams(reference, n)
    return counts.total() if others else 0, others.total(), (counts & others).total()


def chrf_counts(hypothesis: str, reference: str, char_order: int = 6, word_order: int = 0) -> Counts:
    """Overlaps of characters, without spaces, for n = 1 … `char_order`, then of words for n = 1 … `word_order`."""
    letters = ["".join(text.split()) for text in (hypothesis, reference)]
    words = split_words(hypothesis), split_words(reference)
    counts = [count_overlap(*letters, n) for n in range(1, char_order + 1)]
    return counts + [count_overlap(*words, n) for n in range(1, word_order + 1)]


def split_words(text: str) -> list[str]:
    """Words, with one punctuation mark cut from the end, or else from the front: "(yes)" is "(yes" and ")".

    >>> split_words("(yes), no")
    ['(yes)', ',', 'no']
    """
    words = []
    for word in text.split():
        if len(word) > 1 and word[-1] in PUNCTUATION:
            words += [word[:-1], word[-1]]
        elif len(word) > 1 and word[0] in PUNCTUATION:
            words += [word[0], word[1:]]
        else:
            words.append(word)
    return words


def chrf_score(counts: Counts, beta: float = 2) -> float:
    """F-score in percent of the mean precision and the mean recall over the orders that both sides have.

    With `beta` = 2, recall weighs twice as much as precision.

    >>> round(chrf_score([(5, 6, 4)]), 2)
    68.97
    """
    both = [(hyp, ref, matched) for hyp, ref, matched in counts if hyp and ref]
    if not any(matched for _, _, matched in both):
        return 0.0
    # In sacrebleu's order of operations, so that of two references that are equally good the same one is the best.
    precision = recall = 0.0
    for hyp, ref, matched in both:
        precision += matched / hyp
        recall += matched / ref
    precision, recall = precision / len(both), recall / len(both)
    score = (1 + beta**2) * precision * recall
    return 100 * (score / (beta**2 * precision + recall))


def corpus_chrf(
    hypotheses: Sequence[str], references: References, char_order: int = 6, word_order: int = 0, beta: float = 2
) -> float:
    """chrF of a corpus, in percent: counts are summed over all sentences, each against its best reference.

    `references` as in `corpus_bleu`. `word_order=2` makes it chrF++. Equal to sacrebleu's.

    >>> round(corpus_chrf(["the cat sat"], ["the cats sat"]), 2)
    68.66
    """
    check_pairs(hypotheses, references)
    check_between(0, 10**9, beta=beta)
    if min(char_order, word_order) < 0 or char_order + word_order == 0:
        raise ValueError(f"expected n-grams to count, got char_order {char_order}, word_order {word_order}: raise one")
    total = [(0, 0, 0)] * (char_order + word_order)
    for hypothesis, texts in zip(hypotheses, references, strict=True):
        texts = [texts] if isinstance(texts, str) else texts
        counts = [chrf_counts(hypothesis, text, char_order, word_order) for text in texts]
        best = max(counts, key=lambda one: chrf_score(one, beta))
        total = [tuple(map(sum, zip(*pair, strict=True))) for pair in zip(total, best, strict=True)]
    return chrf_score(total, beta)


def chrf_signature(n_references: int = 1, lowercase: bool = False, word_order: int = 0) -> str:
    """How a chrF score was counted, in sacrebleu's form; `lowercase` says that the texts were lowered before.

    >>> chrf_signature(2)[:40]
    'nrefs:2|case:mixed|eff:yes|nc:6|nw:0|spa'
    """
    case, version = "lc" if lowercase else "mixed", f"course_lib-{course_lib.__version__}"
    return f"nrefs:{n_references}|case:{case}|eff:yes|nc:6|nw:{word_order}|space:no|version:{version}"


def sentence_chrf(hypothesis: str, references: str | Sequence[str], **settings) -> float:
    """chrF of one sentence; `settings` as in `corpus_chrf`.

    >>> round(sentence_chrf("cat", ["dog", "cats"]), 2)
    68.86
    """
    return corpus_chrf([hypothesis], [references], **settings)
