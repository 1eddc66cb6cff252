"""Exercise: how much the tokens of a sentence differ."""

import torch
from torch.nn import functional as F

from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.inputs import randn


def variety(x):
    """The share of the squared length of a sentence's tokens that lies in their differences from the mean token.

    `x` is (batch, seq_len, d_model), the result (batch,): 0 where all tokens are alike, 1 where their mean is 0.

    >>> variety(torch.tensor([[[0.0, 4.0], [4.0, 0.0], [8.0, 8.0]]]))
    tensor([0.4000])
    """
    different = x - x.mean(dim=1, keepdim=True)
    return different.square().sum(dim=(1, 2)) / x.square().sum(dim=(1, 2))


def by_what_is_common(x):
    common = x.shape[1] * x.mean(dim=1).square().sum(dim=-1)
    return 1 - common / x.square().sum(dim=(-2, -1))


def by_variances(x):
    return x.var(dim=1, unbiased=False).sum(dim=-1) / x.pow(2).mean(dim=1).sum(dim=-1)


def by_norms(x):
    return (torch.linalg.matrix_norm(x - x.mean(1, keepdim=True)) / torch.linalg.matrix_norm(x)) ** 2


def sentence_by_sentence(x):
    shares = []
    for sentence in x:
        mean = sum(sentence) / len(sentence)
        different = sum(float(((token - mean) ** 2).sum()) for token in sentence)
        shares.append(different / sum(float((token**2).sum()) for token in sentence))
    return torch.tensor(shares)


def _of(dim=1, total=lambda x, different: x.square().sum(dim=(1, 2)), over=(1, 2), end=lambda share: share):
    def answer(x):
        different = x - x.mean(dim=dim, keepdim=True)
        return end(different.square().sum(dim=over) / total(x, different))

    return answer


def _cosines(x):
    return 1 - F.cosine_similarity(x[:, :-1], x[:, 1:], dim=-1).mean(dim=1)


def _mean_pairs(x):
    return 1 - F.cosine_similarity(x[:, :, None], x[:, None], dim=-1).mean(dim=(1, 2))


def _lengths(x):
    return (x - x.mean(dim=1, keepdim=True)).norm(dim=-1).sum(dim=1) / x.norm(dim=-1).sum(dim=1)


def _cases():
    by_hand = torch.tensor([[[0.0, 4.0], [4.0, 0.0], [8.0, 8.0]]])
    return [
        case(by_hand, about="the three tokens of the text"),
        case(torch.ones(1, 3, 2) * torch.tensor([1.0, 5.0]), about="three equal tokens"),
        case(torch.cat([by_hand, by_hand.flip(1) * 10 - 30]), about="two sentences"),
        case(randn(2, 3, 5, seed=1) + 0.5, about="all sizes different"),
        case(randn(3, 3, 3, seed=2) - 1, about="all sizes equal"),
        case(torch.tensor([[[3.0, -1.0], [-3.0, 1.0]]]), about="two opposite tokens"),
    ]


EXERCISE = Exercise(
    title="How much the tokens differ",
    task="Return (batch,): for each sentence, the squared lengths of (token − mean token), added up, as a share of the "
    "squared lengths of the tokens.",
    reference=variety,
    cases=_cases,
    mistakes=(
        Mistake(
            "mean-over-the-features",
            _of(dim=2),
            "You subtract from each token the mean of its own *features*. The mean token of a sentence is the mean "
            "over its tokens, axis 1.",
        ),
        Mistake(
            "mean-over-the-batch",
            _of(dim=0),
            "You subtract the mean over the *batch*, so a sentence alone would have the variety 0. Each sentence has a "
            "mean token of its own, over axis 1.",
        ),
        Mistake(
            "mean-over-tokens-and-batch",
            _of(dim=(0, 1)),
            "You subtract the mean token of the whole batch. Each sentence has a mean token of its own: average over "
            "axis 1 alone.",
        ),
        Mistake(
            "mean-over-tokens-and-features",
            _of(dim=(1, 2)),
            "You subtract one number from a whole sentence. The mean token is a vector: average over the tokens "
            "alone, axis 1.",
        ),
        Mistake(
            "for-one-sentence",
            lambda x: (x - x.mean(dim=0)).square().sum() / x.square().sum(),
            "One number comes out: these lines are for one sentence, whose tokens are axis 0. In a batch they are "
            "axis 1, and each sentence has a mean token and a share of its own.",
        ),
        Mistake(
            "not-divided",
            _of(total=lambda x, different: 1.0),
            "Your numbers grow with the size of the vectors. A share has the squared lengths of the tokens below the "
            "line.",
        ),
        Mistake(
            "mean-of-the-squares",
            _of(total=lambda x, different: different[0].numel()),
            "That is a variance, which grows with the size of the vectors. Divide by the mean square of the tokens.",
        ),
        Mistake(
            "divided-by-itself",
            _of(total=lambda x, different: different.square().sum(dim=(1, 2))),
            "Your share is 1 wherever it is a number: the differences stand above and below the line. Below it belong "
            "the tokens as they are.",
        ),
        Mistake(
            "divided-by-what-is-common",
            _of(total=lambda x, different: (x - different).square().sum(dim=(1, 2))),
            "Below the line stands the mean token, once for each token, so your number may grow beyond 1. Below it "
            "belong the tokens as they are.",
        ),
        Mistake(
            "one-number-for-the-batch",
            lambda x: _of(total=lambda x, different: x.square().sum(), over=(0, 1, 2))(x).expand(len(x)),
            "All the sentences come out alike: you add up over the batch as well. Each sentence has a share of its "
            "own.",
        ),
        Mistake(
            "one-number",
            _of(total=lambda x, different: x.square().sum(), over=(0, 1, 2)),
            "You add up over the batch as well, so one number comes out. Each sentence has a share of its own: sum "
            "over axes 1 and 2.",
        ),
        Mistake(
            "a-number-for-each-token",
            _of(total=lambda x, different: x.square().sum(dim=2), over=2),
            "There is a share for each token now. Add up over the tokens as well, above and below the line, and then "
            "divide.",
        ),
        Mistake(
            "a-number-for-each-feature",
            _of(total=lambda x, different: x.square().sum(dim=1), over=1),
            "There is a share for each feature now. Add up over the features as well, above and below the line, and "
            "then divide.",
        ),
        Mistake(
            "mean-of-the-tokens-shares",
            lambda x: _of(total=lambda x, different: x.square().sum(dim=2), over=2)(x).mean(dim=1),
            "You average the shares of the tokens. Add up the squares of the whole sentence first, and divide once.",
        ),
        Mistake(
            "mean-of-the-features-shares",
            lambda x: _of(total=lambda x, different: x.square().sum(dim=1), over=1)(x).mean(dim=1),
            "You average the shares of the features. Add up the squares of the whole sentence first, and divide once.",
        ),
        Mistake(
            "rooted",
            _of(end=lambda share: share.sqrt()),
            "Almost: your result is the root of the share. Here the lengths are squared, above and below the line.",
        ),
        Mistake(
            "lengths-not-squared",
            _lengths,
            "You add up lengths. Here *squared* lengths are added up, above and below the line.",
        ),
        Mistake(
            "what-is-common",
            _of(end=lambda share: 1 - share),
            "That is the share that all tokens have in common, so equal tokens give 1. The variety is the rest.",
        ),
        Mistake(
            "unbiased",
            lambda x: x.var(dim=1).sum(dim=-1) / x.square().mean(dim=1).sum(dim=-1),
            "Too large by a factor of n/(n − 1): PyTorch's `var` divides by n − 1 unless you write `unbiased=False`.",
        ),
        Mistake(
            "cosine-of-neighbors",
            _cosines,
            "That is one minus the mean cosine of neighbors, which does not see the lengths. Here the squares are "
            "added up.",
        ),
        Mistake(
            "cosine-of-pairs",
            _mean_pairs,
            "That is one minus the mean cosine of all pairs, which does not see the lengths. Here the squares are "
            "added up.",
        ),
        Mistake(
            "variance-over-a-sum",
            lambda x: x.var(dim=1).sum(dim=-1) / x.square().sum(dim=(1, 2)),
            "Above the line stands a variance, which is divided by n − 1, and below it a sum, which is not. Take the "
            "sum of the squares in both places.",
        ),
        Mistake(
            "added-before-squared",
            lambda x: (x - x.mean(dim=1, keepdim=True)).sum(dim=(1, 2)).square() / x.sum(dim=(1, 2)).square(),
            "You add up first and square the sum. The differences from a mean add up to 0, so nothing is left of them. "
            "Square first.",
        ),
        Mistake(
            "mean-token-once",
            lambda x: x.mean(dim=1).square().sum(dim=-1) / x.square().sum(dim=(1, 2)),
            "Above the line stands the mean token, which all have in common. The variety is about what is left when "
            "it is subtracted from each token.",
        ),
    ),
    hints=(
        "Two sums of squares, one above the line and one below. Compute both for (0, 4), (4, 0), (8, 8), whose mean "
        "token is (4, 4).",
        "The mean token is the mean over axis 1, with `keepdim=True` so that it can be subtracted from each token. "
        "Both sums run over tokens and features, axes 1 and 2.",
        "`different = x - x.mean(dim=1, keepdim=True)`, and `.square().sum(dim=(1, 2))` of this and of `x`.",
    ),
    alternatives=(by_what_is_common, by_variances, by_norms, sentence_by_sentence),
    difficulty=1,
    minutes=10,
)
