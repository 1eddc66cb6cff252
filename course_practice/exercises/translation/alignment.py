"""Exercise: from weights of tokens to weights of words."""

import numpy as np
import torch
from torch.nn import functional as F

from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.inputs import randn


def alignment(weights, src_words, tgt_words):
    """How much each target word looks at each source word.

    `weights` (tgt_len + 1, src_len + 1): row t is read where token t is *predicted*; the last row and the last column
    belong to EOS. `src_words` and `tgt_words` give the number of the word that each token belongs to. The tokens of a
    source word are added, those of a target word averaged.

    >>> weights = torch.tensor([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.0, 0.0, 1.0]])
    >>> alignment(weights, src_words=[0, 1], tgt_words=[0, 0])
    tensor([[0.3750, 0.3750]])
    """
    rows = weights[: len(tgt_words), : len(src_words)]
    source = F.one_hot(torch.tensor(src_words)).to(rows)
    target = F.one_hot(torch.tensor(tgt_words)).to(rows)
    return (target / target.sum(dim=0)).T @ rows @ source


def word_by_word(weights, src_words, tgt_words):
    table = []
    for t in range(max(tgt_words) + 1):
        rows = [i for i, word in enumerate(tgt_words) if word == t]
        line = []
        for s in range(max(src_words) + 1):
            columns = [j for j, word in enumerate(src_words) if word == s]
            line.append(sum(float(weights[i, j]) for i in rows for j in columns) / len(rows))
        table.append(line)
    return torch.tensor(table)


def with_index_add(weights, src_words, tgt_words):
    n_src, n_tgt = src_words[-1] + 1, tgt_words[-1] + 1
    kept = weights[:-1, :-1]
    by_source = kept.new_zeros(len(tgt_words), n_src).index_add(1, torch.tensor(src_words), kept)
    by_both = kept.new_zeros(n_tgt, n_src).index_add(0, torch.tensor(tgt_words), by_source)
    return by_both / torch.bincount(torch.tensor(tgt_words))[:, None]


def with_numpy(weights, src_words, tgt_words):
    w = np.asarray(weights)[:-1, :-1]
    w = np.stack([w[:, np.array(src_words) == s].sum(axis=1) for s in sorted(set(src_words))], axis=1)
    return np.stack([w[np.array(tgt_words) == t].mean(axis=0) for t in sorted(set(tgt_words))])


def _combine(weights, src_words, tgt_words, source="sum", target="mean"):
    """Both sides combined, each by the name of a reduction."""
    src, tgt = torch.tensor(src_words), torch.tensor(tgt_words)
    columns = [getattr(weights[:, src == s], source)(dim=1) for s in range(max(src_words) + 1)]
    table = torch.stack(columns, dim=1)
    return torch.stack([getattr(table[tgt == t], target)(dim=0) for t in range(max(tgt_words) + 1)])


def _cut(weights, src_words, tgt_words):
    return weights[: len(tgt_words), : len(src_words)]


def _mean_of_source(weights, src_words, tgt_words):
    return _combine(_cut(weights, src_words, tgt_words), src_words, tgt_words, source="mean")


def _sum_of_target(weights, src_words, tgt_words):
    return _combine(_cut(weights, src_words, tgt_words), src_words, tgt_words, target="sum")


def _both_exchanged(weights, src_words, tgt_words):
    return _combine(_cut(weights, src_words, tgt_words), src_words, tgt_words, source="mean", target="sum")


def _row_late(weights, src_words, tgt_words):
    return _combine(weights[1:, : len(src_words)], src_words, tgt_words)


def _end_kept(weights, src_words, tgt_words):
    src, tgt = [*src_words, max(src_words) + 1], [*tgt_words, max(tgt_words) + 1]
    return _combine(weights, src, tgt)


def _end_column_kept(weights, src_words, tgt_words):
    src = [*src_words, max(src_words) + 1]
    return _combine(weights[: len(tgt_words)], src, tgt_words)


def _end_row_kept(weights, src_words, tgt_words):
    tgt = [*tgt_words, max(tgt_words) + 1]
    return _combine(weights[:, : len(src_words)], src_words, tgt)


def _renormalized(weights, src_words, tgt_words):
    table = alignment(weights, src_words, tgt_words)
    return table / table.sum(dim=-1, keepdim=True)


def _first_tokens(weights, src_words, tgt_words):
    src = [src_words.index(word) for word in sorted(set(src_words))]
    tgt = [tgt_words.index(word) for word in sorted(set(tgt_words))]
    return weights[tgt][:, src]


def _first_token_of_source(weights, src_words, tgt_words):
    src = [src_words.index(word) for word in sorted(set(src_words))]
    return _combine(_cut(weights, src_words, tgt_words), src_words, tgt_words)[:, : len(src)] * 0 + torch.stack(
        [weights[: len(tgt_words)][torch.tensor(tgt_words) == t][:, src].mean(0) for t in range(max(tgt_words) + 1)]
    )


def _first_token_of_target(weights, src_words, tgt_words):
    tgt = [tgt_words.index(word) for word in sorted(set(tgt_words))]
    return _combine(weights[tgt][:, : len(src_words)], src_words, list(range(len(tgt))))


def _last_token_of_target(weights, src_words, tgt_words):
    last = {word: i for i, word in enumerate(tgt_words)}
    return _combine(weights[list(last.values())][:, : len(src_words)], src_words, list(range(len(last))))


def _largest_of_source(weights, src_words, tgt_words):
    return _combine(_cut(weights, src_words, tgt_words), src_words, tgt_words, source="amax")


def _tokens(weights, src_words, tgt_words):
    return _cut(weights, src_words, tgt_words)


def _weights(n_tgt, n_src, seed):
    return (2 * randn(n_tgt + 1, n_src + 1, seed=seed)).softmax(dim=-1)


HANDS = (
    torch.tensor(
        [[4, 2, 1, 0, 1], [2, 4, 0, 1, 1], [0, 1, 1, 5, 1], [0, 0, 3, 1, 4], [0, 1, 5, 1, 1], [0, 0, 0, 1, 7.0]]
    )
    / 8
)


def _row_and_column_late(weights, src_words, tgt_words):
    return _combine(weights[1:, 1:], src_words, tgt_words)


def _last_tokens(weights, src_words, tgt_words):
    tgt, src = ({word: i for i, word in enumerate(words)} for words in (tgt_words, src_words))
    return weights[list(tgt.values())][:, list(src.values())]


def _end_not_left_out(weights, src_words, tgt_words):
    return _combine(weights, src_words, tgt_words)


EXERCISE = Exercise(
    title="From tokens to words",
    task="From weights (tgt_len + 1, src_len + 1), whose last row and column belong to EOS, and the number of the word "
    "of each token on both sides, return (target words, source words): source tokens added, target tokens averaged, "
    "EOS left out.",
    reference=alignment,
    cases=lambda: [
        case(_weights(2, 3, seed=1), [0, 1, 2], [0, 1], about="each word is one token"),
        case(_weights(2, 4, seed=2), [0, 0, 1, 1], [0, 1], about="source words of two tokens"),
        case(_weights(5, 2, seed=3), [0, 1], [0, 0, 1, 1, 1], about="target words of two and three tokens"),
        case(HANDS, [0, 0, 1, 2], [0, 0, 1, 2, 3], about="the chapter's sentence"),
        case(_weights(7, 5, seed=4), [0, 1, 1, 1, 2], [0, 0, 1, 2, 2, 2, 2], about="all lengths different"),
        case(_weights(4, 4, seed=5), [0, 0, 1, 1], [0, 1, 1, 1], about="as many tokens on both sides"),
    ],
    mistakes=(
        Mistake(
            "mean-over-the-source",
            _mean_of_source,
            "The tokens of a source word are averaged, so a long word looks less important. What goes to its parts "
            "goes to the word: add them.",
        ),
        Mistake(
            "sum-over-the-target",
            _sum_of_target,
            "The tokens of a target word are added, so the row of a long word sums to more than 1. Average them.",
        ),
        Mistake(
            "sum-and-mean-exchanged",
            _both_exchanged,
            "The other way round: add the tokens of a *source* word, average those of a *target* word.",
        ),
        Mistake(
            "one-row-late",
            _row_late,
            "Each word is read one row too late. Row t is already the one where token t is predicted, and it is the "
            "*last* row, that of EOS, which goes.",
        ),
        Mistake(
            "end-kept",
            _end_kept,
            "EOS has become a word of its own on both sides: leave out the last row and the last column.",
        ),
        Mistake(
            "end-of-the-source-kept",
            _end_column_kept,
            "The source's EOS has become a word: leave out the last column too.",
        ),
        Mistake(
            "end-of-the-target-kept",
            _end_row_kept,
            "The target's EOS has become a word: leave out the last row too.",
        ),
        Mistake(
            "renormalized",
            _renormalized,
            "Your rows sum to 1 again. What goes to EOS belongs to no word, so leave the rows as they are.",
        ),
        Mistake(
            "first-tokens",
            _first_tokens,
            "You take the first token of each word, on both sides. Its other tokens belong to it as well.",
        ),
        Mistake(
            "first-token-of-the-source",
            _first_token_of_source,
            "Of a source word only the first token counts. Add all of its tokens.",
        ),
        Mistake(
            "first-token-of-the-target",
            _first_token_of_target,
            "Of a target word only the first token counts. Average all of its tokens.",
        ),
        Mistake(
            "last-token-of-the-target",
            _last_token_of_target,
            "Of a target word only the last token counts. Average all of its tokens.",
        ),
        Mistake(
            "largest-of-the-source",
            _largest_of_source,
            "Of a source word only the largest weight counts. Add the weights of all of its tokens.",
        ),
        Mistake(
            "tokens-left-as-they-are",
            _tokens,
            "EOS is gone, and the tokens are not yet put together into words.",
        ),
        Mistake(
            "row-and-column-late",
            _row_and_column_late,
            "The first row and the first column are left out. EOS stands in the *last* row and in the *last* column.",
        ),
        Mistake(
            "last-tokens",
            _last_tokens,
            "You take the last token of each word, on both sides. Its other tokens belong to it as well.",
        ),
        Mistake(
            "end-not-left-out",
            _end_not_left_out,
            "It stops with an error, because `weights` has one row and one column more than there are numbers of "
            "words. Leave out the last row and the last column, those of EOS.",
        ),
    ),
    hints=(
        "Leave out EOS first. Then put columns together, then rows: which of the two do you add, which average?",
        "A one-hot matrix (tokens, words) adds the tokens of each word when you multiply by it. To average, divide "
        "each of its columns by its sum.",
        "`source = F.one_hot(torch.tensor(src_words))`, likewise `target`, both as floats; then "
        "`(target / target.sum(dim=0)).T @ rows @ source`.",
    ),
    alternatives=(word_by_word, with_index_add, with_numpy),
    difficulty=2,
    minutes=12,
)
