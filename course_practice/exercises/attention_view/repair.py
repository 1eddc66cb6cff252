import torch

from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn


def aligned(weights, n_src, n_tgt, links):
    """For each head, the share of linked target tokens whose largest weight is on a partner.

    `weights` (n_heads, tgt_len + 1, src_len): row t is where token t is predicted, the last row predicts EOS. Of the
    columns the first `n_src` are words; EOS and pads follow. `links` holds (source, target).
    """
    rows = weights[:, :n_tgt]
    rows = rows[..., :n_src]
    best = rows.argmax(dim=-1)
    linked = sorted({tgt for _, tgt in links})
    hits = torch.tensor([[(int(head[t]), t) in links for t in linked] for head in best])
    return hits.float().mean(dim=-1)


def with_a_table(weights, n_src, n_tgt, links):
    gold = torch.zeros(n_tgt, n_src, dtype=torch.bool)
    for s, t in links:
        gold[t, s] = True
    best = weights[:, :n_tgt, :n_src].argmax(-1, keepdim=True)
    hits = gold.expand(len(weights), -1, -1).gather(-1, best)[..., 0]
    return hits.sum(-1) / gold.any(-1).sum()


def _case(n_heads, n_tgt, n_src, pads, links, seed, about, sure=0):
    scores = 2 * randn(n_heads, n_tgt + 1, n_src + 1 + pads, seed=seed)
    scores[..., n_src] += 0.7  # EOS gets some weight, in all heads
    for src, tgt in links[:sure]:  # these partners get much, in all heads
        scores[:, tgt, src] += 4
    weights = scores.softmax(dim=-1)
    return case(weights, n_src, n_tgt, links, about=about)


EXERCISE = Exercise(
    reference=aligned,
    cases=lambda: [
        _case(2, 3, 4, 0, [(0, 0), (3, 1), (2, 2)], seed=1, about="every target word linked, no pads"),
        _case(3, 5, 4, 2, [(0, 0), (3, 1), (1, 4)], seed=2, about="two target words without a partner, two pads"),
        _case(5, 4, 6, 3, [(0, 0), (5, 1), (4, 1), (2, 3)], seed=3, about="a word with two partners, three pads"),
        _case(4, 7, 3, 1, [(0, 0), (2, 1), (1, 3), (1, 5), (0, 6)], seed=4, about="more target than source words"),
        _case(4, 3, 3, 0, [(1, 0), (0, 1), (2, 2)], seed=6, about="all sizes equal"),
        _case(8, 6, 5, 4, [(0, 0), (4, 1), (3, 2), (1, 5)], seed=5, about="eight heads", sure=2),
    ],
    alternatives=(with_a_table,),
)
