"""Exercise: the score of a corpus."""

import math

from course_lib.bleu import (
    BleuStatistics,
    bleu_score,
    bleu_statistics,
    brevity_penalty,
    closest_length,
    modified_precision,
)
from course_practice.engine import Convention, Exercise, Mistake, case


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


def from_the_library(hypotheses, references):
    return bleu_score(bleu_statistics(hypotheses, references), smoothing="none").score


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


def _parts(hypotheses, references):
    return [(one, several) for one, several in zip(hypotheses, references, strict=True)]


def _mean_of_scores(hypotheses, references):
    scores = [corpus_score([one], [several]) for one, several in _parts(hypotheses, references)]
    return sum(scores) / len(scores)


def _mean_of_smoothed_scores(hypotheses, references):
    parts = [bleu_statistics([one], [several]) for one, several in _parts(hypotheses, references)]
    return sum(bleu_score(part).score for part in parts) / len(parts)


def _score(hypotheses, references, penalty=None, length=closest_length, mean=None):
    """The score with one of its parts exchanged."""
    counts = bleu_statistics(hypotheses, references)
    ref_len = sum(length(len(one), list(map(len, several))) for one, several in _parts(hypotheses, references))
    factor = brevity_penalty(counts.hyp_len, ref_len) if penalty is None else penalty(counts.hyp_len, ref_len)
    if 0 in counts.matches:
        return 0.0
    precisions = [m / t for m, t in zip(counts.matches, counts.totals, strict=True)]
    return 100 * factor * (math.prod(precisions) ** 0.25 if mean is None else mean(precisions))


def _precisions_averaged(hypotheses, references):
    log = 0.0
    for n in (1, 2, 3, 4):
        found = [modified_precision(one, several, n) for one, several in _parts(hypotheses, references)]
        precision = sum(m / t if t else 0.0 for m, t in found) / len(found)
        if precision == 0:
            return 0.0
        log += math.log(precision) / 4
    counts = bleu_statistics(hypotheses, references)
    return 100 * brevity_penalty(counts.hyp_len, counts.ref_len) * math.exp(log)


def _plain_mean_with_zeros(hypotheses, references):
    counts = bleu_statistics(hypotheses, references)
    precisions = [m / t if t else 0.0 for m, t in zip(counts.matches, counts.totals, strict=True)]
    return 100 * brevity_penalty(counts.hyp_len, counts.ref_len) * sum(precisions) / 4


def _penalty_averaged(hypotheses, references):
    def one_by_one(_hyp_len, _ref_len):
        parts = [bleu_statistics([one], [several]) for one, several in _parts(hypotheses, references)]
        return sum(brevity_penalty(part.hyp_len, part.ref_len) for part in parts) / len(parts)

    return _score(hypotheses, references, penalty=one_by_one)


def _negative_totals(hypotheses, references):
    counts = bleu_statistics(hypotheses, references)
    totals = [sum(len(one) - n for one in hypotheses) for n in range(4)]
    if 0 in counts.matches:
        return 0.0
    precisions = [m / t for m, t in zip(counts.matches, totals, strict=True)]
    return 100 * brevity_penalty(counts.hyp_len, counts.ref_len) * math.prod(precisions) ** 0.25


def _log_of_zero(hypotheses, references):
    counts = bleu_statistics(hypotheses, references)
    logs = [math.log(m / t) for m, t in zip(counts.matches, counts.totals, strict=True)]
    return 100 * brevity_penalty(counts.hyp_len, counts.ref_len) * math.exp(sum(logs) / 4)


def _with(**parts):
    return lambda hypotheses, references: _score(hypotheses, references, **parts)


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


def _precisions_of_long_ones_averaged(hypotheses, references):
    log = 0.0
    for n in (1, 2, 3, 4):
        found = [modified_precision(one, several, n) for one, several in _parts(hypotheses, references)]
        shares = [m / t for m, t in found if t]
        if not sum(shares):
            return 0.0
        log += math.log(sum(shares) / len(shares)) / 4
    counts = bleu_statistics(hypotheses, references)
    return 100 * brevity_penalty(counts.hyp_len, counts.ref_len) * math.exp(log)


def _of_counts(score):
    def wrong(hypotheses, references):
        counts = bleu_statistics(hypotheses, references)
        penalty = brevity_penalty(counts.hyp_len, counts.ref_len)
        return 100 * penalty * score(counts.matches, counts.totals)

    return wrong


def _up_to_three(matches, totals):
    return math.prod(m / t for m, t in zip(matches[:3], totals[:3], strict=True)) ** (1 / 3)


def _one_added(matches, totals):
    return math.prod((m + 1) / (t + 1) for m, t in zip(matches, totals, strict=True)) ** 0.25


def _zeros_left_out(matches, totals):
    logs = [math.log(m / t) for m, t in zip(matches, totals, strict=True) if m]
    return math.exp(sum(logs) / max(len(logs), 1))


def _closest_to_the_sum(hypotheses, references):
    every = [len(one) for several in references for one in several]
    hyp_len = sum(map(len, hypotheses))
    return _score(hypotheses, references, penalty=lambda c, r: brevity_penalty(c, closest_length(hyp_len, every)))


def _first_references_for_all(hypotheses, references):
    counts = bleu_statistics(hypotheses, references)
    found = bleu_statistics(hypotheses, [references[0]] * len(hypotheses))
    if 0 in found.matches:
        return 0.0
    shares = [m / t for m, t in zip(found.matches, found.totals, strict=True)]
    return 100 * brevity_penalty(counts.hyp_len, counts.ref_len) * math.prod(shares) ** 0.25


EXERCISE = Exercise(
    title="The score of a corpus",
    task="`hypotheses` is a list of token lists, and `references[i]` holds the references of `hypotheses[i]`: one or "
    "several token lists. Return BLEU in percent, without smoothing. If no n-gram of some length matches, it is 0.",
    reference=corpus_score,
    cases=_cases,
    rtol=1e-9,
    atol=1e-9,
    mistakes=(
        Mistake(
            "mean-of-scores",
            _mean_of_scores,
            "This is the mean of the sentences' scores. Add up matches, totals, and lengths over the corpus, and "
            "score the sums once.",
        ),
        Mistake(
            "mean-of-smoothed-scores",
            _mean_of_smoothed_scores,
            "This is the mean of smoothed scores of sentences. Add up matches, totals, and lengths over the corpus, "
            "and score the sums once.",
        ),
        Mistake(
            "precisions-averaged",
            _precisions_averaged,
            "The precisions come out averaged over sentences. A long sentence should count for more: add up matches "
            "and totals first, then divide.",
        ),
        Mistake(
            "penalty-averaged",
            _penalty_averaged,
            "The brevity penalty comes out averaged over sentences. Add up both lengths first: a short sentence and a "
            "long one may make up for each other.",
        ),
        Mistake(
            "plain-mean-with-zeros",
            _plain_mean_with_zeros,
            "The four precisions are averaged as they are, so that a corpus without a 4-gram in common still scores. "
            "Take their geometric mean, the fourth root of the product, which is 0 then.",
        ),
        Mistake(
            "no-penalty",
            _with(penalty=lambda hyp_len, ref_len: 1.0),
            "The brevity penalty is missing.",
        ),
        Mistake(
            "penalty-upside-down",
            _with(penalty=lambda c, r: 1.0 if c >= r else math.exp(1 - c / r)),
            "The fraction in the brevity penalty is upside down: a short corpus gets a bonus.",
        ),
        Mistake(
            "shortest-reference",
            _with(length=lambda length, lengths: min(lengths)),
            "The length of the shortest reference counts here. It should be the one closest to the hypothesis.",
        ),
        Mistake(
            "longest-reference",
            _with(length=lambda length, lengths: max(lengths)),
            "The length of the longest reference counts here. It should be the one closest to the hypothesis.",
        ),
        Mistake(
            "longer-of-a-tie",
            _with(length=lambda length, lengths: min(lengths, key=lambda r: (abs(r - length), -r))),
            "Of two reference lengths that are equally close, the longer one counts here. It should be the shorter.",
        ),
        Mistake(
            "first-reference-only",
            lambda hypotheses, references: corpus_score(hypotheses, [several[:1] for several in references]),
            "Only the first reference of each sentence counts.",
        ),
        Mistake(
            "first-length-only",
            _with(length=lambda length, lengths: lengths[0]),
            "The length of the first reference counts here. It should be the one closest to the hypothesis.",
        ),
        Mistake(
            "arithmetic-mean",
            _with(mean=lambda precisions: sum(precisions) / 4),
            "The precisions come out in a plain mean. BLEU takes the geometric mean.",
        ),
        Mistake(
            "log-missing",
            _with(mean=lambda precisions: math.exp(sum(precisions) / 4)),
            "The logarithm is missing: a perfect corpus gets more than 100.",
        ),
        Mistake(
            "root-missing",
            _with(mean=math.prod),
            "The fourth root of the product is missing.",
        ),
        Mistake(
            "negative-totals",
            _negative_totals,
            "A sentence of one word has no 4-gram, but here it has 1 − 3 = −2 of them, which makes the total smaller.",
        ),
        Mistake(
            "smoothed",
            lambda hypotheses, references: bleu_score(bleu_statistics(hypotheses, references)).score,
            "This is smoothed: without any matching 4-gram the score should be 0.",
        ),
        Mistake(
            "log-of-zero",
            _log_of_zero,
            "It stops with an error when no n-gram of some length matches: the logarithm of 0 does not exist. The "
            "score is 0 there.",
        ),
        Convention(
            "share-not-percent",
            lambda hypotheses, references: corpus_score(hypotheses, references) / 100,
            "Valid where scores lie between 0 and 1, as in the paper. Here BLEU is given in percent.",
        ),
        Mistake(
            "precisions-of-long-sentences-averaged",
            _precisions_of_long_ones_averaged,
            "The precisions come out averaged over the sentences that have such n-grams. A long sentence should count "
            "for more: add up matches and totals first, then divide.",
        ),
        Mistake(
            "up-to-three-words",
            _of_counts(_up_to_three),
            "Only runs of one, two, and three words count. BLEU goes up to four: `range(1, 5)`.",
        ),
        Mistake(
            "all-lengths-in-one-fraction",
            _of_counts(lambda matches, totals: sum(matches) / sum(totals) if all(matches) else 0.0),
            "The matches of all four lengths are added up before you divide. Each length has a precision of its own.",
        ),
        Mistake(
            "one-added",
            _of_counts(_one_added),
            "One is added to every count. That is a smoothing, and here there should be none.",
        ),
        Mistake(
            "zeros-left-out",
            _of_counts(_zeros_left_out),
            "A length without a match is left out of the mean. It makes the product zero, so the score is 0.",
        ),
        Mistake(
            "closest-to-the-sum",
            _closest_to_the_sum,
            "One reference length is chosen for the whole corpus. Choose one for each hypothesis, and add them up.",
        ),
        Mistake(
            "references-of-the-first-for-all",
            _first_references_for_all,
            "Every hypothesis is compared with the references of the first one.",
        ),
    ),
    hints=(
        "Four matches, four totals, two lengths: ten sums over the whole corpus, and one formula at the end.",
        "For each sentence add `modified_precision(hypothesis, several, n)` to the sums of n = 1 … 4, the length of "
        "the hypothesis, and `closest_length(…)` of its references.",
        "`100 * brevity_penalty(hyp_len, ref_len) * math.prod(precisions) ** 0.25`, and 0 if one of the four sums of "
        "matches is 0.",
    ),
    alternatives=(n_by_n, sum_of_statistics, from_the_library),
    difficulty=2,
    minutes=15,
)
