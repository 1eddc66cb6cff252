"""Exercise: bug hunt: four bugs in a picture."""

import itertools

import torch

from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.inputs import randn


def aligned(weights, n_src, n_tgt, links):
    """For each head, the share of linked target tokens whose largest weight is on a partner.

    `weights` (n_heads, tgt_len + 1, src_len): row t is where token t is predicted, the last row predicts EOS. Of the
    columns the first `n_src` are words; EOS and pads follow. `links` holds (source, target).
    """
    rows = weights[:, :n_tgt, :n_src]
    best = rows.argmax(dim=-1)
    linked = sorted({tgt for _, tgt in links})
    hits = torch.tensor([[(int(head[t]), t) in links for t in linked] for head in best])
    return hits.float().mean(dim=-1)


def aligned_starter(weights, n_src, n_tgt, links):
    rows = weights[:, 1 : n_tgt + 1]
    best = rows.mean(dim=0, keepdim=True).argmax(dim=-1)
    hits = torch.tensor([[(int(head[t]), t) in links for t in range(n_tgt)] for head in best])
    return hits.float().mean(dim=-1)


def with_a_table(weights, n_src, n_tgt, links):
    gold = torch.zeros(n_tgt, n_src, dtype=torch.bool)
    for s, t in links:
        gold[t, s] = True
    best = weights[:, :n_tgt, :n_src].argmax(-1, keepdim=True)
    hits = gold.expand(len(weights), -1, -1).gather(-1, best)[..., 0]
    return hits.sum(-1) / gold.any(-1).sum()


def head_by_head(weights, n_src, n_tgt, links):
    shares = []
    for head in weights:
        partners = {}
        for s, t in links:
            partners.setdefault(t, []).append(s)
        found = [int(head[t][:n_src].argmax()) in partners[t] for t in partners]
        shares.append(sum(found) / len(found))
    return torch.tensor(shares)


def with_minus_one(weights, n_src, n_tgt, links):
    hidden = torch.where(torch.arange(weights.shape[-1]) < n_src, weights, -1.0)
    best = hidden.argmax(dim=-1)
    linked = {t for _, t in links}
    return torch.tensor([sum((int(row[t]), t) in links for t in linked) / len(linked) for row in best])


def _version(row=False, columns=False, heads=False, words=False):
    """The listing with some of its four bugs."""

    def answer(weights, n_src, n_tgt, links):
        rows = weights[:, 1 : n_tgt + 1] if row else weights[:, :n_tgt]
        rows = rows if columns else rows[..., :n_src]
        rows = rows.mean(dim=0, keepdim=True) if heads else rows
        best = rows.argmax(dim=-1)
        asked = range(n_tgt) if words else sorted({t for _, t in links})
        hits = torch.tensor([[(int(head[t]), t) in links for t in asked] for head in best])
        return hits.float().mean(dim=-1)

    return answer


_BUGS = {
    "row": "In which row is token t *predicted*: the one where it is fed in, or the one before?",
    "columns": "Which columns are words? A largest weight on EOS or a pad is no word at all.",
    "heads": "How many numbers come out? Each head should have one, so what must not be averaged?",
    "words": "Which target words can be right at all? Those without a partner never are.",
}


def _partly_repaired():
    for kept in itertools.product((False, True), repeat=4):
        left = [name for name, there in zip(_BUGS, kept, strict=True) if there]
        if not 0 < len(left) < 4:
            continue
        found = [name for name in _BUGS if name not in left]
        count = ("One", "Two", "Three")[len(found) - 1]
        words = {"row": "the row", "columns": "the columns", "heads": "the heads", "words": "the words"}
        yield Mistake(
            "left-" + "-and-".join(left),
            _version(**dict.fromkeys(left, True)),
            f"{count} of four found: {', '.join(words[n] for n in found)}. {' '.join(_BUGS[n] for n in left)}",
        )


def _pad_alone(weights, n_src, n_tgt, links):
    return aligned(weights, n_src + 1, n_tgt, links)


def _columns_turned(weights, n_src, n_tgt, links):
    best = weights[:, :n_tgt, :n_src].argmax(dim=-2)
    linked = sorted({s for s, _ in links})
    hits = torch.tensor([[(s, int(head[s])) in links for s in linked] for head in best])
    return hits.float().mean(dim=-1)


def _once_for_each_link(weights, n_src, n_tgt, links):
    best = weights[:, :n_tgt, :n_src].argmax(dim=-1)
    return torch.tensor([[(int(head[t]), t) in links for _, t in links] for head in best]).float().mean(dim=-1)


def _divided_by_the_links(weights, n_src, n_tgt, links):
    linked = {t for _, t in links}
    return aligned(weights, n_src, n_tgt, links) * len(linked) / len(links)


def _two_late(weights, n_src, n_tgt, links):
    rows = weights[:, 1 : n_tgt + 1].roll(-1, dims=1)[..., :n_src]
    best = rows.argmax(dim=-1)
    linked = sorted({t for _, t in links})
    return torch.tensor([[(int(head[t]), t) in links for t in linked] for head in best]).float().mean(dim=-1)


def _case(n_heads, n_tgt, n_src, pads, links, seed, about, sure=0):
    scores = 2 * randn(n_heads, n_tgt + 1, n_src + 1 + pads, seed=seed)
    scores[..., n_src] += 0.7  # EOS gets some weight, in all heads
    for src, tgt in links[:sure]:  # these partners get much, in all heads
        scores[:, tgt, src] += 4
    weights = scores.softmax(dim=-1)
    return case(weights, n_src, n_tgt, links, about=about)


EXERCISE = Exercise(
    title="Bug hunt: four bugs in a map",
    task="Find the four bugs, so that the function returns for each head the share of linked target tokens whose "
    "largest weight among the source's words is on a partner. Row t of `weights` (n_heads, tgt_len + 1, src_len) is "
    "where target token t is predicted. After the first `n_src` columns come EOS and pads.",
    reference=aligned,
    starter=aligned_starter,
    cases=lambda: [
        _case(2, 3, 4, 0, [(0, 0), (3, 1), (2, 2)], seed=1, about="every target word linked, no pads"),
        _case(3, 5, 4, 2, [(0, 0), (3, 1), (1, 4)], seed=2, about="two target words without a partner, two pads"),
        _case(5, 4, 6, 3, [(0, 0), (5, 1), (4, 1), (2, 3)], seed=3, about="a word with two partners, three pads"),
        _case(4, 7, 3, 1, [(0, 0), (2, 1), (1, 3), (1, 5), (0, 6)], seed=4, about="more target than source words"),
        _case(4, 3, 3, 0, [(1, 0), (0, 1), (2, 2)], seed=6, about="all sizes equal"),
        _case(8, 6, 5, 4, [(0, 0), (4, 1), (3, 2), (1, 5)], seed=5, about="eight heads", sure=2),
    ],
    mistakes=(
        *_partly_repaired(),
        Mistake(
            "end-kept",
            _pad_alone,
            "Everything else is right, but one column too many is left, that of EOS. The words are the first `n_src`.",
        ),
        Mistake(
            "rows-and-columns-exchanged",
            _columns_turned,
            "Everything else is right, but the largest weight of each *column* is taken. A target word is a query, and "
            "queries are rows.",
        ),
        Mistake(
            "two-rows-late",
            _two_late,
            "Everything else is right, but the rows are now two late. Row t is already where token t is predicted.",
        ),
        Mistake(
            "once-for-each-link",
            _once_for_each_link,
            "Everything else is right, but a target word counts once for each of its partners. It counts once: take "
            "the *set* of the linked words.",
        ),
        Mistake(
            "divided-by-the-links",
            _divided_by_the_links,
            "Everything else is right, but you divide by the number of links, so that a target word with two partners "
            "counts twice below the line. Divide by the number of linked *words*.",
        ),
        Mistake(
            "averaged-over-heads-at-the-end",
            lambda weights, n_src, n_tgt, links: aligned(weights, n_src, n_tgt, links).mean(),
            "Everything else is right, but the heads are averaged at the end. Return one share a head.",
        ),
    ),
    hints=(
        "Go through the four parts: which rows, which columns, which heads, which words? One bug in each.",
        "Row t is where token t is predicted. `n_src` is given and not used. `mean(dim=0)` is over heads. And some "
        "target words have no partner.",
        "`rows = weights[:, :n_tgt, :n_src]`, `best = rows.argmax(dim=-1)`, and t only from `{t for _, t in links}`.",
    ),
    alternatives=(with_a_table, head_by_head, with_minus_one),
    difficulty=3,
    minutes=15,
)
