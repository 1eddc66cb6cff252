from collections import Counter
from functools import cache
from itertools import combinations_with_replacement, permutations
from math import factorial, prod

import numpy as np
import torch

from course_lib.bleu.significance import scores_of_sums, sentence_counts
from course_practice.engine import Exercise, case

GOOD = "differences of corpora drawn with replacement, the same draw for both translators"


def resampled_differences(first, second, n_resamples):
    """BLEU of the second translator minus that of the first, on sentences drawn again and again."""
    rng = np.random.default_rng(0)
    differences = []
    for _ in range(n_resamples):
        drawn = rng.integers(len(first), size=len(first))
        one, other = scores_of_sums(np.array([first[drawn].sum(0), second[drawn].sum(0)]))
        differences.append(other - one)
    return differences


def all_at_once(first, second, n_resamples):
    drawn = np.random.default_rng(0).choice(len(first), (n_resamples, len(first)))
    return scores_of_sums(second[drawn].sum(1)) - scores_of_sums(first[drawn].sum(1))


def as_kind(obj, given):
    """What the differences are, in words: every source of chance is right."""
    first, second, n_resamples = given.args[0].copy(), given.args[1].copy(), given.args[2]
    try:
        answer = obj(*given.args)
    except IndexError as error:
        if "out of bounds for axis 0" in str(error):
            return "rows that do not exist"
        raise
    if answer is None or isinstance(answer, str | dict) or (isinstance(answer, tuple) and len(answer) != n_resamples):
        return answer
    found = np.asarray(answer.detach() if isinstance(answer, torch.Tensor) else answer, dtype=float)
    if found.shape == (n_resamples, 1):  # each an array of one score
        found = found[:, 0]
    if found.ndim == 0:
        return "one number"
    if found.shape != (n_resamples,):
        if found.ndim == 1:
            return "another number of differences than n_resamples"
        return f"an array of shape {found.shape} where {n_resamples} numbers were asked for"
    got = Counter((found.round(6) + 0.0).tolist())
    if len(got) == 1:
        return "always the same number"
    for kind, chances in _kinds(first.tobytes(), second.tobytes()).items():
        if got.keys() <= chances.keys() and _as_often(got, chances, n_resamples):
            return kind
    # The mean tells apart what has no kind, else any two mistakes at once would answer like any other two.
    return f"differences that no draw of the sentences gives, or gives as often: {found.mean():.4g} on average"


def _as_often(got, chances, n):
    """Every value within five standard deviations of how often chance gives it."""
    return all(abs(got[value] - n * p) <= 5 * (n * p * (1 - p)) ** 0.5 + 2 for value, p in chances.items())


@cache
def _kinds(first, second):
    """For each kind of answer, its possible values and their chances."""
    first, second = (np.frombuffer(counts, dtype=int).reshape(-1, 10) for counts in (first, second))
    n = len(first)
    draws = [tuple(draw) for draw in combinations_with_replacement(range(n), n)]
    chance = {d: factorial(n) / prod(factorial(d.count(i)) for i in range(n)) / n**n for d in draws}
    score = {(who, d): _bleu(counts, d) for who, counts in enumerate((first, second)) for d in draws}
    alone = [[_bleu(counts, (i,)) for i in range(n)] for counts in (first, second)]
    whole = tuple(range(n))
    kinds = {
        GOOD: [(score[1, d] - score[0, d], chance[d]) for d in draws],
        "the signs turned": [(score[0, d] - score[1, d], chance[d]) for d in draws],
        "no signs": [(abs(score[1, d] - score[0, d]), chance[d]) for d in draws],
        "not the same draw": [(score[1, d] - score[0, e], chance[d] * chance[e]) for d in draws for e in draws],
        "means of sentences": [(sum(alone[1][i] - alone[0][i] for i in d) / n, chance[d]) for d in draws],
        "means of sentences, the signs turned": [
            (sum(alone[0][i] - alone[1][i] for i in d) / n, chance[d]) for d in draws
        ],
        "one sentence left out": [
            (_bleu(second, d) - _bleu(first, d), 1 / n) for d in (whole[:i] + whole[i + 1 :] for i in range(n))
        ],
        "half of the sentences": [
            (_bleu(second, d) - _bleu(first, d), n ** -float(n // 2)) for d in np.ndindex(*[n] * (n // 2))
        ],
        "half without replacement": [
            (_bleu(second, d) - _bleu(first, d), 1 / len(list(permutations(whole, n // 2))))
            for d in permutations(whole, n // 2)
        ],
        "translators exchanged": [
            (_mixed(second, first, flips) - _mixed(first, second, flips), 2.0**-n) for flips in np.ndindex(*[2] * n)
        ],
        "scores of the second alone": [(score[1, d], chance[d]) for d in draws],
        "scores of the first alone": [(score[0, d], chance[d]) for d in draws],
    }
    return {kind: _added_up(values) for kind, values in kinds.items()}


def _added_up(values):
    chances = Counter()
    for value, p in values:
        chances[round(float(value), 6) + 0.0] += p  # -0.0 is 0.0
    return chances


def _bleu(counts, rows):
    return scores_of_sums(counts[list(rows)].sum(0)[None])[0]


def _mixed(one, other, flips):
    keep = np.array(flips, dtype=bool)[:, None]
    return scores_of_sums(np.where(keep, one, other).sum(0)[None])[0]


def _cases():
    references = ["a b c d e f", "g h i j k", "l m n o p q r"]
    one = sentence_counts(["a b c x e f", "g h i j k", "l m n o x q"], references)
    two = sentence_counts(["a b c d e", "g x i j k", "l m n o p q r"], references)
    three = sentence_counts(["a b c d e f", "g h i j", "l m n o p y r"], references)
    four = ["a b c d e", "f g h i j k", "l m n o", "p q r s t u v"]
    five = sentence_counts(["a b c d e", "f g h x j k", "l m n o", "p q r s y u v"], four)
    six = sentence_counts(["a b c z e", "f g h i j", "l m n o", "p q r s t u v"], four)
    return [
        case(one, two, 500, about="three sentences"),
        case(two, three, 500, about="three other sentences"),
        case(five, six, 500, about="four sentences"),
    ]


EXERCISE = Exercise(reference=resampled_differences, call=as_kind, cases=_cases, alternatives=(all_at_once,))
