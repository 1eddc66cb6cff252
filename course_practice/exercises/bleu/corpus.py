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


def _words(*texts):
    return [text.split() for text in texts]


OLD = "the old man sold a red bike yesterday"
BOUGHT = "the old man bought a red bike yesterday"
TEA = "he likes green tea"


def _cases():
    return [
        case(_words(BOUGHT), [_words(OLD)], about="one wrong word of eight"),
        case(_words(BOUGHT, TEA), [_words(OLD), _words(TEA)], about="two sentences"),
        case(_words(OLD, "she likes black tea"), [_words(OLD), _words(TEA)], about="one of them without a 4-gram"),
        case(_words("the old man sold"), [_words(OLD)], about="half the length"),
        case(
            _words("a b c d", "a b c d e f g h x y z w"),
            [_words("a b c d e f g h"), _words("a b c d e f g h")],
            about="one too short, one too long",
        ),
        case(
            _words("a b c d e f", "k l m n o"),
            [_words("a b c d x f g h", "a b y d e f"), _words("k l m n", "k z m n o p")],
            about="two references each, lengths that tie",
        ),
        case(
            _words("a b c d e f g h", "x y", "z"),
            [_words("a b c d e f g h"), _words("x y"), _words("z")],
            about="short sentences",
        ),
        case(
            _words("a b c d e f", "k l m n o p"),
            [_words("a b c d e f g", "a b c d"), _words("k l m n o q", "k l m n o p q r s")],
            about="the shorter reference is not the closer one",
        ),
        case(_words("a b c x y z"), [_words("a b c d e f")], about="no 4-gram in all"),
        case(
            _words("a b c d e f g"),
            [_words("a b c d e f g h i", "b c d e q r", "x y c d e f g z")],
            about="three references",
        ),
        case(_words("a b c d e f g h i j"), [_words("a b c d e f g")], about="longer than the reference"),
        case(
            _words("a b c d e", "k l m n o"),
            [_words("a b c d e f g", "a b c d e f g h i"), _words("k l m n o p", "k l m n o p q r")],
            about="all references are longer",
        ),
    ]


EXERCISE = Exercise(
    reference=corpus_score,
    cases=_cases,
    rtol=1e-9,
    atol=1e-9,
    alternatives=(
        n_by_n,
        sum_of_statistics,
    ),
)
