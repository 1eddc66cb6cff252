"""Exercise: draw the sentences again."""

import random
from collections import Counter
from functools import cache
from itertools import combinations_with_replacement, permutations
from math import factorial, prod

import numpy as np
import torch

from course_lib.bleu.significance import paired_bootstrap, scores_of_sums, sentence_counts
from course_practice.engine import Exercise, Mistake, case

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


def by_how_often(first, second, n_resamples):
    n = len(first)
    times = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), size=n_resamples)
    return scores_of_sums(times @ second) - scores_of_sums(times @ first)


def from_the_library(first, second, n_resamples):
    return paired_bootstrap(first, second, n_resamples).differences


def with_python_lists(first, second, n_resamples):
    differences = []
    for _ in range(n_resamples):
        rows = random.choices(range(len(first)), k=len(first))
        sums = np.array([[sum(column) for column in zip(*counts[rows], strict=True)] for counts in (first, second)])
        one, other = scores_of_sums(sums)
        differences.append(float(other) - float(one))
    return differences


# --- what a list of differences can be ------------------------------------------------------------------------------


def as_kind(obj, given):
    """What the differences are, in words: every source of chance is right."""
    first, second, n_resamples = given.args
    try:
        answer = obj(first.copy(), second.copy(), n_resamples)
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
    return "differences that no draw of the sentences gives, or gives as often"


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


# --- wrong answers --------------------------------------------------------------------------------------------------


def _scores(counts, drawn):
    return scores_of_sums(counts[drawn].sum(1))


def _drawn(first, n_resamples, seed=0, size=None):
    return np.random.default_rng(seed).integers(len(first), size=(n_resamples, size or len(first)))


def _not_paired(first, second, n_resamples):
    return _scores(second, _drawn(first, n_resamples, 1)) - _scores(first, _drawn(first, n_resamples, 2))


def _not_replaced(first, second, n_resamples):
    drawn = np.array([np.random.default_rng(i).permutation(len(first)) for i in range(n_resamples)])
    return _scores(second, drawn) - _scores(first, drawn)


def _means_of_sentences(first, second, n_resamples):
    drawn = _drawn(first, n_resamples)
    return (scores_of_sums(second)[drawn] - scores_of_sums(first)[drawn]).mean(1)


def _half(first, second, n_resamples):
    drawn = _drawn(first, n_resamples, size=len(first) // 2)
    return _scores(second, drawn) - _scores(first, drawn)


def _half_not_replaced(first, second, n_resamples):
    rng = np.random.default_rng(0)
    drawn = np.array([rng.permutation(len(first))[: len(first) // 2] for _ in range(n_resamples)])
    return _scores(second, drawn) - _scores(first, drawn)


def _one_left_out(first, second, n_resamples):
    rng = np.random.default_rng(0)
    drawn = np.array([np.delete(np.arange(len(first)), rng.integers(len(first))) for _ in range(n_resamples)])
    return _scores(second, drawn) - _scores(first, drawn)


def _exchanged(first, second, n_resamples):
    keep = np.random.default_rng(0).integers(2, size=(n_resamples, len(first)))
    return scores_of_sums(keep @ second + (1 - keep) @ first) - scores_of_sums(keep @ first + (1 - keep) @ second)


def _rows_of_the_chapter(first, second, n_resamples):
    return [np.diff(scores_of_sums(np.array([first[393:].sum(0), second[393]])))[0] for _ in range(n_resamples)]


def _p_value(first, second, n_resamples):
    return float(np.mean(np.array(resampled_differences(first, second, n_resamples)) <= 0))


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


EXERCISE = Exercise(
    title="Draw the sentences again",
    task="`first` and `second` hold the counts of two translators, a row for each test sentence. Draw as many rows as "
    "there are, with replacement, and score both translators on that draw with `scores_of_sums`. Return the "
    "differences, second minus first, of `n_resamples` draws.",
    reference=resampled_differences,
    call=as_kind,
    cases=_cases,
    mistakes=(
        Mistake(
            "not-paired",
            _not_paired,
            "The two translators are scored on different draws. Use the same rows for both: an easy draw is easy for "
            "both of them, and the difference should not feel it.",
        ),
        Mistake(
            "always-the-same",
            _not_replaced,
            "Every draw gives the same difference. Either each sentence is drawn exactly once (draw with replacement), "
            "or the generator starts from the same seed each time (make it before the loop).",
        ),
        Mistake(
            "means-of-sentences",
            _means_of_sentences,
            "These are means of the sentences' scores. Add up the counts of the rows that were drawn, and score the "
            "sum.",
        ),
        Mistake(
            "sign-turned",
            lambda first, second, n_resamples: [-d for d in resampled_differences(first, second, n_resamples)],
            "The differences come out as first minus second.",
        ),
        Mistake(
            "signs-dropped",
            lambda first, second, n_resamples: [abs(d) for d in resampled_differences(first, second, n_resamples)],
            "The differences have lost their signs. Without them you cannot see how often the second translator loses.",
        ),
        Mistake(
            "other-size",
            _half,
            "Each draw has fewer rows than the test set. Smaller test sets vary more: draw as many rows as there are.",
        ),
        Mistake(
            "half-without-replacement",
            _half_not_replaced,
            "Each draw is a part of the test set, without any row twice. Draw as many rows as there are, with "
            "replacement.",
        ),
        Mistake(
            "one-left-out",
            _one_left_out,
            "Each draw leaves one sentence out (a jackknife). Draw as many rows as there are, with replacement.",
        ),
        Mistake(
            "randomization",
            _exchanged,
            "The translators are exchanged at random. That is another test, randomization. Here the sentences are "
            "drawn again.",
        ),
        Mistake(
            "rows-that-do-not-exist",
            _rows_of_the_chapter,
            "You draw rows that do not exist. 394 is the number of sentences in the chapter's test set; here there are "
            "`len(first)`, numbered from 0.",
        ),
        Mistake(
            "one-number",
            _p_value,
            "One number comes back. Return all the differences, one for each draw.",
        ),
        Mistake(
            "second-alone",
            lambda first, second, n_resamples: _scores(second, _drawn(first, n_resamples)),
            "These are the scores of the second translator. Subtract those of the first on the same draws.",
        ),
        Mistake(
            "another-number-of-draws",
            lambda first, second, n_resamples: resampled_differences(first, second, n_resamples + 1),
            "You return another number of differences. There should be one for each of `n_resamples` draws.",
        ),
    ),
    hints=(
        "A draw is a list of row numbers. Which of the two translators does it belong to?",
        "`rng.integers(len(first), size=len(first))` draws with replacement. Take these rows of both arrays, and add "
        "each up with `.sum(0)`.",
        "`one, other = scores_of_sums(np.array([first[drawn].sum(0), second[drawn].sum(0)]))`, and keep `other - one`.",
    ),
    alternatives=(all_at_once, by_how_often, from_the_library, with_python_lists),
    difficulty=2,
    minutes=12,
)
