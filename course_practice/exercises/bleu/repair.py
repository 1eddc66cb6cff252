import math

from course_lib.bleu import brevity_penalty, modified_precision, ngrams
from course_practice.engine import Exercise, case
from course_practice.exercises.bleu.corpus import BOUGHT, OLD, words


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


def with_the_parts(hypotheses, references):
    mean = 1.0
    for n in (1, 2, 3, 4):
        found = [modified_precision(h, [r], n) for h, r in zip(hypotheses, references, strict=True)]
        matched, total = (sum(numbers) for numbers in zip(*found, strict=True))
        mean *= (matched / total) ** 0.25 if total else 0.0
    return 100 * mean * brevity_penalty(sum(map(len, hypotheses)), sum(map(len, references)))


EXERCISE = Exercise(
    reference=repaired_bleu,
    cases=lambda: [
        case(words(BOUGHT), words(OLD), about="one wrong word of eight"),
        case(words("the old man sold a"), words(OLD), about="three words are missing"),
        case(words(f"{OLD} and then he left"), words(OLD), about="four words too many"),
        case(words("a b a b a b c"), words("a b a b c d"), about="words that come twice"),
        case(words("a b c d e", "f g h"), words("a b c d e", "f g h i j k"), about="two sentences"),
        case(words("a b c x"), words("a b c d"), about="no 4-gram matches"),
        case(words(OLD), words(OLD), about="a perfect translation"),
        case(words("a b c d d d d"), words("x a b c d y"), about="a word four times"),
    ],
    rtol=1e-5,  # a sum in float32 is right, too
    atol=1e-9,
    alternatives=(with_the_parts,),
)
