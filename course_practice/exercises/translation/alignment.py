import torch
from torch.nn import functional as F

from course_practice.engine import Exercise, case
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


def _weights(n_tgt, n_src, seed):
    return (2 * randn(n_tgt + 1, n_src + 1, seed=seed)).softmax(dim=-1)


HANDS = (
    torch.tensor(
        [[4, 2, 1, 0, 1], [2, 4, 0, 1, 1], [0, 1, 1, 5, 1], [0, 0, 3, 1, 4], [0, 1, 5, 1, 1], [0, 0, 0, 1, 7.0]]
    )
    / 8
)


EXERCISE = Exercise(
    reference=alignment,
    cases=lambda: [
        case(_weights(2, 3, seed=1), [0, 1, 2], [0, 1], about="each word is one token"),
        case(_weights(2, 4, seed=2), [0, 0, 1, 1], [0, 1], about="source words of two tokens"),
        case(_weights(5, 2, seed=3), [0, 1], [0, 0, 1, 1, 1], about="target words of two and three tokens"),
        case(HANDS, [0, 0, 1, 2], [0, 0, 1, 2, 3], about="the chapter's sentence"),
        case(_weights(7, 5, seed=4), [0, 1, 1, 1, 2], [0, 0, 1, 2, 2, 2, 2], about="all lengths different"),
        case(_weights(4, 4, seed=5), [0, 0, 1, 1], [0, 1, 1, 1], about="as many tokens on both sides"),
    ],
    alternatives=(word_by_word,),
)
