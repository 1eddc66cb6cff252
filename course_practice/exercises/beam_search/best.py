"""Exercise: the best of several finished sentences."""

from course_practice.engine import Convention, Exercise, Mistake, case
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


def by_sorting(hypotheses, alpha):
    scored = sorted((-log_prob * (len(tokens) + 1) ** -alpha, i) for i, (tokens, log_prob) in enumerate(hypotheses))
    return hypotheses[scored[0][1]]


def with_tensors(hypotheses, alpha):
    import torch

    log_probs = torch.tensor([log_prob for _, log_prob in hypotheses], dtype=torch.float64)
    lengths = torch.tensor([len(tokens) + 1.0 for tokens, _ in hypotheses], dtype=torch.float64)
    return hypotheses[int((log_probs / lengths**alpha).argmax())]


def _by(score, choose=max):
    return lambda hypotheses, alpha: choose(hypotheses, key=lambda found: score(found[1], len(found[0]) + 1, alpha))


def _one_length(length):
    """All scores divided by the same length: the order does not change."""
    return lambda hypotheses, alpha: max(hypotheses, key=lambda found: found[1] / length**alpha)


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
    title="The best of the finished",
    task="hypotheses is a list of finished sentences (tokens without EOS, log-probability). Return the one whose "
    "log-probability / length^alpha is largest; its EOS counts as a token of the length.",
    reference=best,
    call=fresh,
    cases=lambda: [
        case(found, alpha, about=f"{name}, alpha {alpha:g}")
        for name, found in _SENTENCES.items()
        for alpha in (0.0, 0.5, 0.7, 1.0, 2.0)
    ],
    mistakes=(
        Mistake(
            "alpha-has-no-effect",
            lambda hypotheses, alpha: max(hypotheses, key=lambda found: found[1]),
            "The most probable sentence wins whatever `alpha` is. Dividing after the choice, or all by "
            "the same length, changes no order. Each sentence is divided by its *own* length to the power alpha before "
            "they are compared.",
        ),
        Mistake(
            "length-without-the-end",
            lambda hypotheses, alpha: max(hypotheses, key=lambda found: found[1] / max(len(found[0]), 1) ** alpha),
            "The length lacks EOS. Its log-probability is in the sum, so it counts as a token, too.",
        ),
        Mistake(
            "length-of-the-tokens",
            lambda hypotheses, alpha: max(hypotheses, key=lambda found: found[1] / len(found[0]) ** alpha),
            "The length lacks EOS, so that of the empty sentence is 0, and dividing by it stops. EOS counts as a "
            "token: `len(tokens) + 1`.",
        ),
        Mistake(
            "length-without-brackets",
            lambda hypotheses, alpha: max(hypotheses, key=lambda found: found[1] / len(found[0]) + 1**alpha),
            "You divide by the length without EOS and add 1 to the quotient, because a division comes before a sum. "
            "Put the length into parentheses: `(len(tokens) + 1) ** alpha`.",
        ),
        Mistake(
            "multiplied",
            _by(lambda p, n, alpha: p * n**alpha),
            "You multiply by length^alpha. Log-probabilities are negative, so this punishes long sentences even more: "
            "divide.",
        ),
        Mistake(
            "divided-by-the-length-always",
            _by(lambda p, n, alpha: p / n),
            "The result is the same whatever `alpha` is: you always divide by the length itself. "
            "Raise it to the power alpha, which for alpha = 0 divides by 1.",
        ),
        Mistake(
            "alpha-times-the-length",
            _by(lambda p, n, alpha: p / (alpha * n) if alpha else p),
            "You divide by alpha · length. It is the length to the *power* alpha: `length ** alpha`.",
        ),
        Mistake(
            "smallest",
            _by(lambda p, n, alpha: p / n**alpha, choose=min),
            "You return the worst one. Scores are negative, and the best is the one nearest to 0, the largest.",
        ),
        Mistake(
            "longest",
            _by(lambda p, n, alpha: n),
            "The longest sentence wins, however improbable it is. Compare log-probability / length^alpha.",
        ),
        Mistake(
            "shortest",
            _by(lambda p, n, alpha: -n),
            "The shortest sentence wins, however improbable it is. Compare log-probability / length^alpha.",
        ),
        Mistake(
            "probability-divided",
            _by(lambda p, n, alpha: 2.718281828459045**p / n**alpha),
            "You divide the *probability* by length^alpha, which punishes long sentences once more. Divide the "
            "log-probability.",
        ),
        Mistake(
            "a-bonus-for-length",
            _by(lambda p, n, alpha: p + alpha * n),
            "You add alpha for each token. That is another remedy for short sentences (a word reward); here the "
            "log-probability is *divided* by length^alpha.",
        ),
        Convention(
            "of-another-paper",
            _by(lambda p, n, alpha: p / ((5 + n) / 6) ** alpha),
            "This is the penalty of Wu et al. 2016, ((5 + length) / 6)^alpha, and many systems use it. Here it is "
            "the simpler length^alpha.",
        ),
        Mistake(
            "score-returned",
            lambda hypotheses, alpha: max(
                ((tokens, p / (len(tokens) + 1) ** alpha) for tokens, p in hypotheses), key=lambda found: found[1]
            ),
            "The right sentence, but the score stands beside it. Return the pair as it was given, with its "
            "log-probability.",
        ),
    ),
    hints=(
        "A score for each sentence, then the sentence with the largest score.",
        "The length of a sentence is `len(tokens) + 1`, because EOS counts. The power alpha belongs inside the "
        "comparison.",
        "`max(hypotheses, key=lambda found: found[1] / (len(found[0]) + 1) ** alpha)`.",
    ),
    alternatives=(with_a_loop, by_sorting, with_tensors),
    difficulty=1,
    minutes=5,
)
