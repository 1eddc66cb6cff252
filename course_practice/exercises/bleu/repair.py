"""Exercise: bug hunt: a scorer with four bugs."""

import math
from itertools import product

from course_lib.bleu import bleu_score, bleu_statistics, brevity_penalty, modified_precision, ngrams
from course_practice.engine import Exercise, Mistake, case


def repaired_bleu(hypotheses, references):
    """BLEU in percent, with one reference a sentence."""
    matched, total = [0] * 4, [0] * 4
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        for n in range(1, 5):
            grams, others = ngrams(hypothesis, n), ngrams(reference, n)
            matched[n - 1] += (grams & others).total()
            total[n - 1] += grams.total()
    if 0 in matched:
        return 0.0
    logs = [math.log(m / t) for m, t in zip(matched, total, strict=True)]
    hyp_len = sum(map(len, hypotheses))
    ref_len = sum(map(len, references))
    penalty = min(1, math.exp(1 - ref_len / hyp_len))
    return 100 * penalty * math.exp(sum(logs) / 4)


def starter_repair(hypotheses, references):
    matched, total = [0] * 4, [0] * 4
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        for n in range(1, 5):
            grams, others = ngrams(hypothesis, n), ngrams(reference, n)
            matched[n - 1] += len(set(grams) & set(others))
            total[n - 1] += others.total()
    if 0 in matched:
        return 0.0
    logs = [math.log10(m / t) for m, t in zip(matched, total, strict=True)]
    hyp_len = sum(map(len, hypotheses))
    ref_len = sum(map(len, references))
    penalty = min(1, math.exp(1 - hyp_len / ref_len))
    return 100 * penalty * math.exp(sum(logs) / 4)


def from_the_library(hypotheses, references):
    counts = bleu_statistics(hypotheses, [[reference] for reference in references])
    return bleu_score(counts, smoothing="none").score


def with_the_parts(hypotheses, references):
    mean = 1.0
    for n in (1, 2, 3, 4):
        found = [modified_precision(h, [r], n) for h, r in zip(hypotheses, references, strict=True)]
        matched, total = (sum(numbers) for numbers in zip(*found, strict=True))
        mean *= (matched / total) ** 0.25 if total else 0.0
    return 100 * mean * brevity_penalty(sum(map(len, hypotheses)), sum(map(len, references)))


def in_base_ten(hypotheses, references):
    matched, total = [0] * 4, [0] * 4
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        for n in range(4):
            found = modified_precision(hypothesis, [reference], n + 1)
            matched[n] += found[0]
            total[n] += found[1]
    if 0 in matched:
        return 0.0
    log = sum(math.log10(m / t) for m, t in zip(matched, total, strict=True)) / 4
    return 100 * 10**log * brevity_penalty(sum(map(len, hypotheses)), sum(map(len, references)))


def _bleu(sets=False, total=False, base=False, penalty=False, clip=True):
    """The repaired scorer with some of its bugs left in."""

    def score(hypotheses, references):
        matches, totals = [0] * 4, [0] * 4
        for hypothesis, reference in zip(hypotheses, references, strict=True):
            for n in range(1, 5):
                grams, others = ngrams(hypothesis, n), ngrams(reference, n)
                if sets:
                    matches[n - 1] += len(grams.keys() & others.keys())
                elif clip:
                    matches[n - 1] += (grams & others).total()
                else:
                    matches[n - 1] += sum(count for gram, count in grams.items() if gram in others)
                totals[n - 1] += others.total() if total else grams.total()
        if 0 in matches:
            return 0.0
        log = math.log10 if base else math.log
        mean = sum(log(m / t) for m, t in zip(matches, totals, strict=True)) / 4
        c, r = sum(map(len, hypotheses)), sum(map(len, references))
        return 100 * min(1, math.exp(1 - (c / r if penalty else r / c))) * math.exp(mean)

    return score


_OPEN = {
    "sets": "a word that both have twice matches twice, and a set knows it once",
    "total": "a precision divides by the n-grams of the hypothesis",
    "base": "does the logarithm belong to `exp`?",
    "penalty": "which of the two lengths stands above the other when a translation is too short?",
}


def _partial_repairs():
    found = ("Three of the four are repaired", "Two of four are repaired", "One of four is repaired")
    for left in product((False, True), repeat=4):
        names = [name for name, open_ in zip(_OPEN, left, strict=True) if open_]
        if 1 <= len(names) <= 3:
            clues = [f"({n}) {_OPEN[name]}" if len(names) > 1 else _OPEN[name] for n, name in enumerate(names, 1)]
            text = f"{found[len(names) - 1]}. Still open: {'; '.join(clues)}"
            yield Mistake(
                "-and-".join(f"{name}-left" for name in names),
                _bleu(**dict.fromkeys(names, True)),
                text if text.endswith("?") else f"{text}.",
                points=names != ["total"],  # it is also right to exchange hypothesis and reference
            )


def _words(*texts):
    return [text.split() for text in texts]


OLD = "the old man sold a red bike yesterday"


def _sets_in_both(hypotheses, references):
    matches, totals = [0] * 4, [0] * 4
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        for n in range(1, 5):
            grams, others = set(ngrams(hypothesis, n)), set(ngrams(reference, n))
            matches[n - 1] += len(grams & others)
            totals[n - 1] += len(grams)
    if 0 in matches:
        return 0.0
    penalty = brevity_penalty(sum(map(len, hypotheses)), sum(map(len, references)))
    return 100 * penalty * math.prod(m / t for m, t in zip(matches, totals, strict=True)) ** 0.25


def _of_precisions(mean=None, penalty=brevity_penalty):
    def score(hypotheses, references):
        counts = bleu_statistics(hypotheses, [[reference] for reference in references])
        if 0 in counts.matches:
            return 0.0
        shares = [m / t for m, t in zip(counts.matches, counts.totals, strict=True)]
        return 100 * penalty(counts.hyp_len, counts.ref_len) * (mean or (lambda p: math.prod(p) ** 0.25))(shares)

    return score


EXERCISE = Exercise(
    title="Bug hunt: a scorer with four bugs",
    task="Find and repair the four planted bugs. The scorer takes token lists, one reference for each hypothesis, and "
    "returns BLEU in percent, without smoothing.",
    reference=repaired_bleu,
    starter=starter_repair,
    cases=lambda: [
        case(_words("the old man bought a red bike yesterday"), _words(OLD), about="one wrong word of eight"),
        case(_words("the old man sold a"), _words(OLD), about="three words are missing"),
        case(_words(f"{OLD} and then he left"), _words(OLD), about="four words too many"),
        case(_words("a b a b a b c"), _words("a b a b c d"), about="words that come twice"),
        case(_words("a b c d e", "f g h"), _words("a b c d e", "f g h i j k"), about="two sentences"),
        case(_words("a b c x"), _words("a b c d"), about="no 4-gram matches"),
        case(_words(OLD), _words(OLD), about="a perfect translation"),
        case(_words("a b c d d d d"), _words("x a b c d y"), about="a word four times"),
    ],
    rtol=1e-9,
    atol=1e-9,
    mistakes=(
        *_partial_repairs(),
        Mistake(
            "not-clipped",
            _bleu(clip=False),
            "A word that the reference has once matches each time the hypothesis repeats it. Clip: `grams & others`.",
        ),
        Mistake(
            "sets-in-both",
            _sets_in_both,
            "Each different n-gram counts once, among the matches and among all. One that comes twice counts twice in "
            "both.",
        ),
        Mistake(
            "no-cap",
            _of_precisions(penalty=lambda c, r: math.exp(1 - r / c)),
            "The four bugs are repaired, but a translation that is longer than its reference now gets a bonus. The "
            "penalty is at most 1.",
        ),
        Mistake(
            "not-in-percent",
            _of_precisions(mean=lambda shares: math.prod(shares) ** 0.25 / 100),
            "The four bugs are repaired, but a perfect translation gets 1. The listing was right to multiply by 100.",
            points=False,
        ),
        Mistake(
            "log-missing",
            _of_precisions(mean=lambda shares: math.exp(sum(shares) / 4)),
            "The logarithm is missing: a perfect translation gets more than 100. Which logarithm does `exp` undo?",
        ),
    ),
    hints=(
        "Each of four lines holds one bug: the one that counts matches, the one that counts totals, the logarithms, "
        "and the penalty. Test them on a short sentence, a long one, and one that repeats words.",
        "What does a set do with a word that comes twice? Whose n-grams does a precision divide by? Which logarithm "
        "does `exp` undo? What is exp(1 − c / r) for c < r?",
        "`(grams & others).total()`, `grams.total()`, `math.log`, and `1 - ref_len / hyp_len`.",
    ),
    alternatives=(with_the_parts, in_base_ten, from_the_library),
    difficulty=3,
    minutes=15,
)
