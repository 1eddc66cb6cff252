"""Exercise: which head aligns."""

import numpy as np
import torch

from course_lib.attention_view import head_alignment
from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.inputs import randn


def word_by_word(weights, links):
    partners = {}
    for src, tgt in links:
        partners.setdefault(tgt, set()).add(src)
    found = []
    for head in weights:
        best = head.argmax(dim=-1).tolist()
        found.append(sum(best[tgt] in sources for tgt, sources in partners.items()) / len(partners))
    return torch.tensor(found)


def with_a_one_hot(weights, links):
    gold = torch.zeros(weights.shape[1:])
    gold[[tgt for _, tgt in links], [src for src, _ in links]] = 1
    best = torch.nn.functional.one_hot(weights.argmax(-1), weights.shape[-1])
    return (best * gold).sum((-2, -1)) / gold.amax(-1).sum()


def with_sets_of_pairs(weights, links):
    linked = sorted({tgt for _, tgt in links})
    best = weights.argmax(dim=-1).tolist()
    return [np.mean([(row[tgt], tgt) in set(links) for tgt in linked]) for row in best]


def _gold(weights, links):
    gold = torch.zeros(weights.shape[1:], dtype=torch.bool)
    for src, tgt in links:
        gold[tgt, src] = True
    return gold


def _hits(weights, links):
    """(n_heads, tgt_words): is the largest weight on a partner?"""
    best = weights.argmax(dim=-1)[..., None]
    return _gold(weights, links).expand_as(weights).gather(-1, best)[..., 0]


def _all_words(weights, links):
    return _hits(weights, links).float().mean(dim=-1)


def _mean_first(weights, links):
    return head_alignment(weights.mean(dim=0, keepdim=True), links)


def _mean_map(weights, links):
    return head_alignment(weights.mean(dim=0), links)


def _mean_last(weights, links):
    return head_alignment(weights, links).mean()


def _late(weights, links):
    return head_alignment(weights.roll(-1, dims=-2), links)


def _all_links(weights, links):
    return _hits(weights, links).sum(dim=-1) / len(links)


def _last_link(weights, links):
    return head_alignment(weights, [(src, tgt) for tgt, src in dict((t, s) for s, t in links).items()])


def _first_link(weights, links):
    return head_alignment(weights, [(src, tgt) for tgt, src in dict((t, s) for s, t in reversed(links)).items()])


def _mass(weights, links):
    gold = _gold(weights, links)
    return (weights * gold).sum(-1)[:, gold.any(-1)].mean(-1)


def _partners_together(weights, links):
    gold = _gold(weights, links)
    together, largest = (weights * gold).sum(-1), weights.masked_fill(gold, 0.0).amax(-1)
    return (together >= largest)[:, gold.any(-1)].float().mean(-1)


def _more_than_half(weights, links):
    gold = _gold(weights, links)
    return ((weights * gold).sum(-1) > 0.5)[:, gold.any(-1)].float().mean(-1)


def _columns(weights, links):
    return head_alignment(weights.transpose(-2, -1), [(tgt, src) for src, tgt in links])


def _turned(weights, links):
    gold = torch.zeros(weights.shape[1:], dtype=torch.bool)
    for src, tgt in links:
        gold[src, tgt] = True
    best = weights.argmax(dim=-1)[..., None]
    return gold.expand_as(weights).gather(-1, best)[..., 0][..., gold.any(dim=-1)].float().mean(dim=-1)


def _each_word(weights, links):
    return _hits(weights, links)[:, _gold(weights, links).any(-1)].float().mean(0)


def _all_partners(weights, links):
    gold = _gold(weights, links)
    best = torch.zeros_like(weights).scatter(-1, weights.argmax(-1, keepdim=True), 1.0).bool()
    return (best == gold).all(-1)[:, gold.any(-1)].float().mean(-1)


def _weights(*shape, seed):
    return (3 * randn(*shape, seed=seed)).softmax(dim=-1)


EXERCISE = Exercise(
    title="Which head aligns?",
    task="From word weights (n_heads, tgt_words, src_words) and gold links (source word, target word), return for each "
    "head the share of linked target words whose largest weight is on one of their partners.",
    reference=head_alignment,
    cases=lambda: [
        case(torch.tensor([[[0.9, 0.1], [0.6, 0.4]], [[0.9, 0.1], [0.2, 0.8]]]), [(0, 0), (1, 1)], about="two heads"),
        case(_weights(3, 5, 4, seed=11), [(0, 0), (3, 1), (1, 4)], about="two target words without a partner"),
        case(_weights(4, 3, 5, seed=2), [(0, 0), (1, 0), (4, 1), (2, 2), (3, 2)], about="several partners"),
        case(_weights(2, 7, 4, seed=3), [(0, 0), (0, 1), (2, 4), (3, 5), (1, 6)], about="all sizes different"),
        case(_weights(5, 5, 5, seed=4), [(0, 1), (1, 0), (4, 2), (2, 4), (3, 4)], about="all sizes equal"),
        case(_weights(8, 6, 5, seed=5), [(0, 0), (4, 1), (3, 3), (2, 5), (1, 5)], about="eight heads"),
        case(
            torch.tensor([[[0.4, 0.3, 0.3], [0.2, 0.45, 0.35]], [[0.2, 0.3, 0.5], [0.25, 0.35, 0.4]]]),
            [(1, 0), (2, 0), (1, 1)],
            about="two partners that are larger together",
        ),
    ],
    mistakes=(
        Mistake(
            "all-words-counted",
            _all_words,
            "Target words without a partner count as misses. Nothing in the source could be right for them, so leave "
            "them out.",
        ),
        Mistake(
            "heads-averaged-first",
            _mean_first,
            "You average the weights over the heads, so one number is left. Ask each head by itself.",
        ),
        Mistake(
            "one-map-of-all-heads",
            _mean_map,
            "You average the weights over the heads and return the share of their mean map. Ask each head by itself: "
            "one share a head.",
        ),
        Mistake(
            "heads-averaged-last",
            _mean_last,
            "That is the mean over the heads. Return one share a head: the question is which of them aligns.",
        ),
        Mistake(
            "row-late",
            _late,
            "Each word is looked up one row too late. Row t already belongs to target word t.",
        ),
        Mistake(
            "divided-by-links",
            _all_links,
            "You divide by the number of links. A target word with two partners can score once only: divide by the "
            "number of linked words.",
        ),
        Mistake(
            "last-partner-alone",
            _last_link,
            "Of several partners of a target word the last one alone counts. Each of them is right.",
        ),
        Mistake(
            "first-partner-alone",
            _first_link,
            "Of several partners of a target word the first one alone counts. Each of them is right.",
        ),
        Mistake(
            "weight-on-the-partners",
            _mass,
            "That is the mean weight on the partners. Asked is how often the *largest* weight is on one.",
        ),
        Mistake(
            "partners-together",
            _partners_together,
            "The weights of a word's partners are added up and compared with the others. Asked is where the one "
            "*largest* weight is: on a partner or not.",
        ),
        Mistake(
            "more-than-half",
            _more_than_half,
            "A word counts if its partners have more than half of the weight. The largest weight of a row may be "
            "smaller than that: take the argmax.",
        ),
        Mistake(
            "best-target-of-a-source",
            _columns,
            "You take the largest weight of each *column*. Rows are queries, and a target word is a query.",
        ),
        Mistake(
            "links-turned",
            _turned,
            "Links are (source word, target word), and your table of them is indexed the other way round. A weight is "
            "`weights[head, target, source]`.",
        ),
        Mistake(
            "share-of-heads",
            _each_word,
            "That is, for each word, the share of heads that find it. Average over the words instead of the heads.",
        ),
        Mistake(
            "all-partners-at-once",
            _all_partners,
            "A word with two partners can never be right here, since there is one largest weight. It is a hit if it is "
            "on any of them.",
        ),
        Mistake(
            "counted",
            lambda weights, links: _hits(weights, links).sum(-1),
            "Those are numbers of hits. Divide by the number of linked target words.",
        ),
        Mistake(
            "percent",
            lambda weights, links: 100 * head_alignment(weights, links),
            "Those are percentages. A share is between 0 and 1.",
        ),
        Mistake(
            "misses",
            lambda weights, links: 1 - head_alignment(weights, links),
            "That is the share of misses.",
        ),
        Mistake(
            "each-hit",
            lambda weights, links: _hits(weights, links),
            "Those are the hits, word by word. Take the mean over the words that have a partner.",
        ),
    ),
    hints=(
        "Which target words have a partner at all? Only these are asked.",
        "`weights.argmax(dim=-1)` is (n_heads, tgt_words). Collect the partners of each target word in a set.",
        "For each head: `sum(best[t] in partners[t] for t in partners) / len(partners)`.",
    ),
    alternatives=(word_by_word, with_a_one_hot, with_sets_of_pairs),
    difficulty=2,
    minutes=10,
)
