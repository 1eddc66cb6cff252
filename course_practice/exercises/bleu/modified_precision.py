from course_lib.bleu import modified_precision, ngrams
from course_practice.engine import Exercise, case


def gram_by_gram(hypothesis, references, n):
    matched = 0
    for gram, count in ngrams(hypothesis, n).items():
        matched += min(count, max(ngrams(reference, n)[gram] for reference in references))
    return matched, max(len(hypothesis) - n + 1, 0)


THREE = [["the", "a", "the"], ["the"], ["the", "b", "a"]]


EXERCISE = Exercise(
    reference=modified_precision,
    cases=lambda: [
        case(["the", "the", "the", "cat"], [["the", "cat", "sat"]], 1, about="a word too often"),
        case(["the", "the", "the", "the"], THREE, 1, about="three references"),
        case(["the", "the", "cat", "sat"], [["the", "cat"], ["the", "the", "sat"]], 1, about="each has a part"),
        case(["a", "rose", "is", "a", "rose"], [["a", "rose", "is", "red"]], 2, about="pairs of words"),
        case(["a", "b", "a", "b", "a", "b"], [["a", "b", "c", "a", "b"], ["b", "a", "b"]], 2, about="repeated pairs"),
        case(["a", "b", "c", "d"], [["x", "b", "c", "d", "y"], ["a", "b", "c"]], 3, about="three words in a row"),
        case(["a", "b"], [["a", "b", "c", "d"]], 4, about="a hypothesis shorter than n"),
        case([], [["a", "b"]], 1, about="an empty hypothesis"),
        case(["a", "b", "a"], [["b", "a"], ["c"]], 1, about="the second reference shares nothing"),
        case(["a", "a", "b", "b"], [["a", "b"], ["a", "a"]], 1, about="two references, each twice of one"),
    ],
    alternatives=(gram_by_gram,),
)
