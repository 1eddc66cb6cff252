"""Exercise: the mean of the words."""

import torch

from course_lib.encoder import masked_mean
from course_practice.engine import Convention, Exercise, Mistake, case
from course_practice.exercises.inputs import counting, randn


def with_a_product(hidden, real):
    weights = real / real.sum(dim=1, keepdim=True).clamp(min=1)
    return torch.einsum("bnd,bn->bd", hidden.nan_to_num(), weights.to(hidden.dtype))


def sentence_by_sentence(hidden, real):
    rows = [
        words[keep].mean(dim=0) if keep.any() else words.new_zeros(words.shape[1])
        for words, keep in zip(hidden, real, strict=True)
    ]
    return torch.stack(rows)


def as_attention(hidden, real):
    scores = torch.zeros(real.shape).masked_fill(~real, float("-inf"))
    weights = scores.softmax(dim=-1).nan_to_num()[:, None, :]
    return (weights.to(hidden.dtype) @ hidden.where(real[..., None], 0.0)).squeeze(1)


def with_nanmean(hidden, real):
    return hidden.masked_fill(~real[..., None], float("nan")).nanmean(dim=1).nan_to_num()


def _real(*lengths, n):
    return torch.arange(n) < torch.tensor(lengths)[:, None]


def _hidden(*shape, seed, real, pad=None):
    """Random vectors, with one number in all the pads."""
    hidden = randn(*shape, seed=seed)
    return hidden if pad is None else hidden.masked_fill(~real[..., None], pad)


def _mean(total=None, count=None, clamp=True):
    """The mean with another sum or another count."""

    def mean(hidden, real):
        wide = real[..., None]
        added = total(hidden, wide) if total else hidden.masked_fill(~wide, 0.0).sum(dim=1)
        n = count(hidden, wide) if count else wide.sum(dim=1)
        return added / (n.clamp(min=1) if clamp and isinstance(n, torch.Tensor) else n)

    return mean


def _first_ones(hidden, real):
    """The mean over as many tokens from the left as there are words."""
    return _mean()(hidden, torch.arange(real.shape[1]) < real.sum(dim=1, keepdim=True))


def _cases():
    first = _real(2, n=3)
    by_hand = torch.tensor([[[2.0, 4.0], [4.0, 0.0], [99.0, 99.0]]])
    sizes = _real(7, 3, 5, n=7)
    square = _real(4, 1, 2, 3, n=4)
    middle = torch.tensor([[True, False, True, True, False], [False, True, True, False, True]])
    empty = _real(5, 0, 2, n=5)
    return [
        case(by_hand, first, about="two words and a pad"),
        case(counting(2, 3, 2), _real(3, 3, n=3), about="no pads"),
        case(_hidden(3, 7, 5, seed=1, real=sizes), sizes, about="all sizes different"),
        case(_hidden(4, 4, 4, seed=2, real=square), square, about="all sizes equal"),
        case(_hidden(2, 5, 3, seed=3, real=middle), middle, about="pads in the middle"),
        case(_hidden(3, 5, 2, seed=4, real=empty), empty, about="a row of pads alone"),
        case(
            _hidden(2, 4, 3, seed=5, real=_real(4, 2, n=4), pad=float("inf")),
            _real(4, 2, n=4),
            about="infinity at pads",
        ),
    ]


EXERCISE = Exercise(
    title="The mean of the words",
    task="hidden (batch, seq_len, d_model), real (batch, seq_len) booleans: the mean over the real tokens, "
    "(batch, d_model). A row without any gives zeros, and infinity at a pad does no harm.",
    reference=masked_mean,
    cases=_cases,
    mistakes=(
        Mistake(
            "plain-mean",
            lambda hidden, real: hidden.mean(dim=1),
            "The argument `real` makes no difference: the pads' vectors are in the mean. The attention mask did not "
            "remove them, because it hides pads as keys alone.",
        ),
        Mistake(
            "no-axis-for-features",
            lambda hidden, real: (hidden * real).sum(dim=1) / real.sum(dim=1),
            "The axis of the features is missing in `real` (batch, seq_len), and shapes line up from the right, so it "
            "does not fit `hidden` (batch, seq_len, d_model). Write `real[..., None]` for the sum and for the count.",
        ),
        Mistake(
            "divided-by-the-length",
            _mean(count=lambda hidden, wide: hidden.shape[1]),
            "The sum is right, and it is divided by the length with pads. How many terms does it have?",
        ),
        Mistake(
            "zeroed-then-mean",
            lambda hidden, real: (hidden * real[..., None]).mean(dim=1),
            "The sum is divided by the length with pads, so that padding shrinks the vector; and 0 · ∞ is NaN: use "
            "`masked_fill` or `where`.",
        ),
        Mistake(
            "mean-of-pads",
            lambda hidden, real: _mean()(hidden, ~real),
            "That is the mean of the *pads*. In `real`, True marks a word.",
        ),
        Mistake(
            "counted-from-the-left",
            _first_ones,
            "Right where all words stand in front. You average the first tokens, as many as there are words. But a pad "
            "may stand between words: `real` says *which* tokens are words, not only how many.",
        ),
        Mistake(
            "one-count-for-the-batch",
            _mean(count=lambda hidden, wide: wide.sum()),
            "The sum is divided by the number of words in the whole batch. Each sentence has a count of its own: which "
            "axis does it run over?",
        ),
        Mistake(
            "mean-of-counts",
            _mean(count=lambda hidden, wide: wide.sum(dim=1).double().mean().item()),
            "Every sentence is divided by the average length of the batch. Each has a count of its own.",
        ),
        Mistake(
            "sum",
            _mean(count=lambda hidden, wide: 1),
            "That is the sum over the words. Divide by how many there are.",
        ),
        Mistake(
            "over-the-features",
            lambda hidden, real: hidden.masked_fill(~real[..., None], 0.0).mean(dim=-1),
            "You averaged over the *features*: one number for each token is left. The tokens stand on axis 1.",
        ),
        Mistake(
            "nan-for-an-empty-row",
            _mean(clamp=False),
            "Right, but for a row without words, which gives 0/0 = NaN. A count of at least 1 turns it into zeros.",
        ),
        Mistake(
            "zero-times-nan",
            _mean(total=lambda hidden, wide: (hidden * wide).sum(dim=1)),
            "Right, but 0 · ∞ is NaN, so what stands at a pad can still spoil the sentence. `masked_fill` or `where` "
            "writes the zeros instead.",
        ),
        Mistake(
            "zero-times-nan-and-empty-row",
            _mean(total=lambda hidden, wide: (hidden * wide).sum(dim=1), clamp=False),
            "Right for sentences with words and finite numbers at pads. A row of pads alone gives 0/0 (count at least "
            "1), and 0 · ∞ is NaN (write zeros with `masked_fill`).",
        ),
        Mistake(
            "max",
            lambda hidden, real: hidden.masked_fill(~real[..., None], float("-inf")).amax(dim=1),
            "That is the largest value of each feature, not the mean.",
        ),
        Convention(
            "axis-kept",
            lambda hidden, real: masked_mean(hidden, real)[:, None],
            "The values are right; the axis of the tokens is still there, with size 1. Leave out `keepdim` in the sum "
            "over the vectors.",
        ),
        Mistake(
            "all-sentences-together",
            lambda hidden, real: hidden[real].mean(dim=0),
            "Indexing with `real` puts the words of all sentences into one row, so you get one vector for the whole "
            "batch. Each sentence needs a mean of its own.",
        ),
        Mistake(
            "all-words-for-every-sentence",
            lambda hidden, real: hidden[real].mean(dim=0).expand(len(hidden), -1),
            "Every sentence gets the same vector, the mean over the words of the whole batch. Each needs a mean of its "
            "own.",
        ),
        Mistake(
            "cut-at-the-longest",
            lambda hidden, real: hidden[:, : real.sum(dim=1).max()].mean(dim=1),
            "All sentences are cut to the same length and divided by it. Each has a length of its own, and a pad may "
            "stand between words.",
        ),
        Mistake(
            "minus-infinity",
            _mean(total=lambda hidden, wide: hidden.masked_fill(~wide, float("-inf")).sum(dim=1)),
            "Minus infinity hides a score from a softmax. Here you add up, and a sum stays as it is when you add 0.",
        ),
    ),
    hints=(
        "A mean is a sum divided by a count. Over which axis does the sum run, and what is the count of each sentence?",
        "`real` is (batch, seq_len) and hidden (batch, seq_len, d_model): give `real` one more axis. Write zeros at "
        "the pads with `masked_fill`, because 0 · ∞ is NaN.",
        "`hidden.masked_fill(~real[..., None], 0.0).sum(dim=1)`, divided by "
        "`real.sum(dim=1, keepdim=True).clamp(min=1)`.",
    ),
    alternatives=(sentence_by_sentence, with_a_product, as_attention, with_nanmean),
    difficulty=2,
    minutes=10,
)
