import math

from course_lib.bleu import (
    BleuStatistics,
    bleu_score,
    bleu_statistics,
    brevity_penalty,
    closest_length,
    modified_precision,
)
from course_practice.engine import Exercise, case


def corpus_score(hypotheses, references):
    """BLEU in percent, without smoothing."""
    matched, total = [0] * 4, [0] * 4
    hyp_len = ref_len = 0
    for hypothesis, several in zip(hypotheses, references, strict=True):
        for n in range(4):
            found = modified_precision(hypothesis, several, n + 1)
            matched[n], total[n] = matched[n] + found[0], total[n] + found[1]
        hyp_len += len(hypothesis)
        ref_len += closest_length(len(hypothesis), [len(one) for one in several])
    if 0 in matched:
        return 0.0
    precisions = [m / t for m, t in zip(matched, total, strict=True)]
    return 100 * brevity_penalty(hyp_len, ref_len) * math.prod(precisions) ** 0.25


def sum_of_statistics(hypotheses, references):
    parts = [bleu_statistics([one], [several]) for one, several in zip(hypotheses, references, strict=True)]
    return bleu_score(sum(parts, BleuStatistics()), smoothing="none").score


def n_by_n(hypotheses, references):
    pairs = list(zip(hypotheses, references, strict=True))
    log = 0.0
    for n in (1, 2, 3, 4):
        found = [modified_precision(one, several, n) for one, several in pairs]
        matched, total = sum(m for m, _t in found), sum(t for _m, t in found)
        if matched == 0:
            return 0
        log += (math.log(matched) - math.log(total)) / 4
    ref_len = sum(closest_length(len(one), list(map(len, several))) for one, several in pairs)
    hyp_len = sum(len(one) for one, _several in pairs)
    return 100 * math.exp(log + min(0, 1 - ref_len / hyp_len))


def words(*texts):
    return [text.split() for text in texts]


def _case(*pairs, about):
    """A corpus of hypotheses, each with its references behind it."""
    hypotheses, references = zip(*((text.split(), words(*several)) for text, *several in pairs), strict=True)
    return case(list(hypotheses), list(references), about=about)


OLD = "the old man sold a red bike yesterday"
BOUGHT = "the old man bought a red bike yesterday"
TEA = "he likes green tea"
EIGHT = "a b c d e f g h"


def _cases():
    return [
        _case((BOUGHT, OLD), about="one wrong word of eight"),
        _case((BOUGHT, OLD), (TEA, TEA), about="two sentences"),
        _case((OLD, OLD), ("she likes black tea", TEA), about="one of them without a 4-gram"),
        _case(("the old man sold", OLD), about="half the length"),
        _case(("a b c d", EIGHT), (f"{EIGHT} x y z w", EIGHT), about="one too short, one too long"),
        _case(
            ("a b c d e f", "a b c d x f g h", "a b y d e f"),
            ("k l m n o", "k l m n", "k z m n o p"),
            about="two references each, lengths that tie",
        ),
        _case((EIGHT, EIGHT), ("x y", "x y"), ("z", "z"), about="short sentences"),
        _case(
            ("a b c d e f", "a b c d e f g", "a b c d"),
            ("k l m n o p", "k l m n o q", "k l m n o p q r s"),
            about="the shorter reference is not the closer one",
        ),
        _case(("a b c x y z", "a b c d e f"), about="no 4-gram in all"),
        _case(("a b c", "a b c d"), ("x y", "x y"), about="all too short for a 4-gram"),
        _case(("a b c d e f g", f"{EIGHT} i", "b c d e q r", "x y c d e f g z"), about="three references"),
        _case((f"{EIGHT} i j", "a b c d e f g"), about="longer than the reference"),
        _case(
            ("a b c d e", "a b c d e f g", f"{EIGHT} i"),
            ("k l m n o", "k l m n o p", "k l m n o p q r"),
            about="all references are longer",
        ),
    ]


EXERCISE = Exercise(
    reference=corpus_score,
    cases=_cases,
    rtol=1e-5,  # a sum in float32 is right, too
    atol=1e-9,
    alternatives=(n_by_n, sum_of_statistics),
)
