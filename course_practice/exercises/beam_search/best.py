from course_practice.engine import Exercise, case
from course_practice.exercises.beam_search._tables import fresh


def best(hypotheses, alpha):
    """Of pairs (tokens without EOS, log-probability), the one with the best score: log-probability / length^alpha.

    EOS counts as a token of the length.

    >>> best([([5], -1.0), ([5, 6, 7], -1.6)], alpha=1.0)
    ([5, 6, 7], -1.6)
    """
    return max(hypotheses, key=lambda found: found[1] / (len(found[0]) + 1) ** alpha)


def with_a_loop(hypotheses, alpha):
    winner, best_score = None, float("-inf")
    for tokens, log_prob in hypotheses:
        score = log_prob / (len(tokens) + 1) ** alpha
        if score > best_score:
            winner, best_score = (tokens, log_prob), score
    return winner


_SENTENCES = {
    "short or long": [([5], -1.3863), ([5, 6, 7], -2.0794)],
    "four lengths": [([], -1.2), ([4], -1.9), ([4, 5], -2.6), ([4, 5, 6, 7], -3.4)],
    "the empty sentence": [([], -2.0), ([9, 8, 7], -2.5), ([9, 8], -4.0)],
    "not in order": [([4, 4, 4, 4, 4], -4.2), ([4], -1.5), ([4, 4, 4], -3.9), ([6, 7], -2.4)],
    "far apart": [([7], -9.0), ([7, 8, 9], -6.0)],
    "nearly equal": [([4], -1.0), ([4, 5, 6], -2.05), ([4, 5, 6, 7, 8], -3.2)],
    "a long one that is very improbable": [([3, 4], -0.8), ([3] * 9, -9.0), ([], -1.1)],
}


EXERCISE = Exercise(
    reference=best,
    call=fresh,
    cases=lambda: [
        case(found, alpha, about=f"{name}, alpha {alpha:g}")
        for name, found in _SENTENCES.items()
        for alpha in (0.0, 0.5, 0.7, 1.0, 2.0)
    ],
    alternatives=(with_a_loop,),
)
