"""Exercise: bug hunt: four bugs in the first step of a decoder."""

from itertools import product

import torch

from course_lib.seq2seq import last_hidden
from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.inputs import randn

NEG_INF = float("-inf")


def repaired_first_step(memory, lengths, w_q, w_k, u):
    """The first query of a decoder and what it attends to, without the four bugs: (query, context, weights)."""
    batch, src_len, _d_model = memory.shape
    query = memory[torch.arange(batch), lengths - 1]  # the last real word's vector, not the last column
    real = torch.arange(src_len) < lengths[:, None]  # positions 0 … length − 1
    compared = torch.tanh((query @ w_q)[:, None] + memory @ w_k)  # first the sum, then the tanh
    scores = (compared @ u).masked_fill(~real, float("-inf"))
    weights = scores.softmax(dim=1)  # each sentence shares its weight among its own words
    return query, (weights[:, None] @ memory).squeeze(1), weights


def starter_repair(memory, lengths, w_q, w_k, u):
    src_len = memory.shape[1]
    query = memory[:, -1]
    real = torch.arange(src_len) <= lengths[:, None]
    compared = torch.tanh(query @ w_q)[:, None] + torch.tanh(memory @ w_k)
    scores = (compared @ u).masked_fill(~real, float("-inf"))
    weights = scores.softmax(dim=0)
    return query, (weights[:, None] @ memory).squeeze(1), weights


def sentence_by_sentence(memory, lengths, w_q, w_k, u):
    queries, contexts, weights = [], [], []
    for words, length in zip(memory, lengths.tolist(), strict=True):
        words, pads = words[:length], len(words) - length
        queries.append(words[-1])
        share = (torch.tanh(words[-1] @ w_q + words @ w_k) @ u).softmax(dim=0)
        contexts.append(share @ words)
        weights.append(torch.cat([share, torch.zeros(pads)]))
    return torch.stack(queries), torch.stack(contexts), torch.stack(weights)


def with_einsum(memory, lengths, w_q, w_k, u):
    query = last_hidden(memory, lengths)
    compared = (torch.einsum("bd,dh->bh", query, w_q).unsqueeze(1) + torch.einsum("bsd,dh->bsh", memory, w_k)).tanh()
    real = torch.arange(memory.size(1))[None] < lengths.unsqueeze(1)
    weights = torch.where(real, compared @ u, torch.tensor(-1e9)).softmax(dim=-1)
    return query, torch.einsum("bs,bsd->bd", weights, memory), weights


def by_gather(memory, lengths, w_q, w_k, u):
    index = (lengths - 1).view(-1, 1, 1).expand(-1, 1, memory.shape[-1])
    query = memory.gather(1, index)
    scores = (torch.tanh(query @ w_q + memory @ w_k) * u).sum(dim=-1)
    exps = scores.exp() * (torch.arange(memory.shape[1]) <= lengths[:, None] - 1)
    weights = exps / exps.sum(dim=-1, keepdim=True)
    return query[:, 0], (weights.unsqueeze(-1) * memory).sum(dim=1), weights


def _column(memory, lengths):
    return memory[:, -1]


def _first(memory, lengths):
    return memory[:, 0]


_QUERIES = {"": last_hidden, "last-column": _column, "first-word": _first}
_MASKS = {
    "": lambda n, lengths: torch.arange(n) < lengths[:, None],
    "one-pad-shown": lambda n, lengths: torch.arange(n) <= lengths[:, None],
    "one-word-hidden": lambda n, lengths: torch.arange(n) < (lengths[:, None] - 1).clamp(min=1),
    "no-mask": lambda n, lengths: torch.ones(len(lengths), n, dtype=torch.bool),
}
_COMPARED = {
    "": lambda q, k: torch.tanh(q + k),
    "tanh-of-each": lambda q, k: torch.tanh(q) + torch.tanh(k),
    "no-tanh": lambda q, k: q + k,
}
_AXES = {"": 1, "over-the-batch": 0}
_OPEN = {
    "last-column": "the query of a padded sentence is a pad;",
    "first-word": "the query is the first word, where the last real one is wanted;",
    "one-pad-shown": "the first pad of a sentence gets weight: a sentence of 2 words has the positions 0 and 1;",
    "one-word-hidden": "the last real word is hidden;",
    "no-mask": "pads get weight;",
    "tanh-of-each": "the query adds the same number to all scores, which the softmax cancels: where must the tanh be?",
    "no-tanh": "without any tanh the query adds the same number to all scores, which the softmax cancels;",
    "over-the-batch": "do the weights of one sentence sum to 1, or those of one column?",
}
_STARTER = ["last-column", "one-pad-shown", "tanh-of-each", "over-the-batch"]


def _step(query, mask, compare, axis):
    def answer(memory, lengths, w_q, w_k, u):
        asked = query(memory, lengths)
        scores = compare((asked @ w_q)[:, None], memory @ w_k) @ u
        weights = scores.masked_fill(~mask(memory.shape[1], lengths), NEG_INF).softmax(dim=axis)
        return asked, (weights[:, None] @ memory).squeeze(1), weights

    return answer


def _partial_repairs():
    for (a, query), (b, mask), (c, compare), (d, axis) in product(
        *(x.items() for x in (_QUERIES, _MASKS, _COMPARED, _AXES))
    ):
        left = [name for name in (a, b, c, d) if name]
        if not left or left == _STARTER:
            continue
        found = (
            "Three of the four are repaired",
            "Two of four are repaired",
            "One of four is repaired",
            "None is repaired",
        )
        clues = " ".join(f"({n}) {_OPEN[part]}" if len(left) > 1 else _OPEN[part] for n, part in enumerate(left, 1))
        clues = clues.removesuffix(";") + ("." if clues.endswith(";") else "")
        yield Mistake(
            "-and-".join(left), _step(query, mask, compare, axis), f"{found[len(left) - 1]}. Still open: {clues}"
        )


_RIGHT = (_MASKS[""], _COMPARED[""], 1)


def _words(memory, lengths):
    return memory * _MASKS[""](memory.shape[1], lengths)[..., None]


def _zero_filled(memory, lengths, w_q, w_k, u):
    query, real = last_hidden(memory, lengths), _MASKS[""](memory.shape[1], lengths)
    scores = torch.tanh((query @ w_q)[:, None] + memory @ w_k) @ u
    weights = scores.masked_fill(~real, 0.0).softmax(dim=1)
    return query, (weights[:, None] @ memory).squeeze(1), weights


def _of_the_keys(memory, lengths, w_q, w_k, u):
    query, _context, weights = repaired_first_step(memory, lengths, w_q, w_k, u)
    return query, (weights[:, None] @ (memory @ w_k)).squeeze(1), weights


def _case(lengths, src_len, d_model, d, about, seed=0):
    shapes = [(len(lengths), src_len, d_model), (d_model, d), (d_model, d), (d,)]
    memory, *weights = (randn(*shape, seed=seed + n) for n, shape in enumerate(shapes))
    return case(memory, torch.tensor(lengths), *weights, about=about)


EXERCISE = Exercise(
    title="Bug hunt: the first step of a decoder",
    task="Find and repair the four planted bugs: from memory (batch, src_len, d_model), with pads on the right, and "
    "lengths (batch,), return (query, context, weights). The query is the vector of the last real word.",
    reference=repaired_first_step,
    starter=starter_repair,
    cases=lambda: [
        _case([1, 2], 3, 2, 2, "two sentences, with pads"),
        _case([2, 5], 5, 3, 7, "all sizes different", seed=4),
        _case([3, 1, 2], 3, 3, 3, "all sizes equal", seed=8),
        _case([2, 4, 1, 3], 4, 5, 2, "as many sentences as words", seed=12),
        _case([4, 4], 4, 3, 5, "no pads", seed=16),
        _case([3], 6, 4, 3, "one sentence", seed=20),
    ],
    mistakes=(
        *_partial_repairs(),
        Mistake(
            "same-index-for-all",
            _step(lambda memory, lengths: memory[:, int(lengths.max()) - 1], *_RIGHT),
            "Three of the four are repaired. Still open: one index serves all sentences, that of the longest, and in "
            "the others it points to a pad.",
        ),
        Mistake(
            "one-behind-the-last-word",
            _step(lambda memory, lengths: memory[torch.arange(len(memory)), lengths], *_RIGHT),
            "Three of the four are repaired. Still open: positions count from 0, so a sentence of 2 words has its last "
            "one at position 1, and `lengths` points one further.",
        ),
        Mistake(
            "mean-of-the-words",
            _step(lambda memory, lengths: _words(memory, lengths).sum(dim=1) / lengths[:, None], *_RIGHT),
            "Three of the four are repaired. Still open: the query is the mean of the words, where the vector of the "
            "last one is wanted.",
        ),
        Mistake(
            "tanh-of-each-and-of-the-sum",
            _step(last_hidden, _MASKS[""], lambda q, k: torch.tanh(torch.tanh(q) + torch.tanh(k)), 1),
            "Three of the four are repaired. Still open: the score has one tanh, that of the sum. Yours bends the two "
            "parts before as well.",
        ),
        Mistake(
            "mask-filled-with-zero",
            _zero_filled,
            "All four are repaired, but hidden scores come out as 0 where they were −∞, and exp(0) = 1.",
        ),
        Mistake(
            "keys-for-memory",
            _of_the_keys,
            "All four are repaired, but the context is made of keys: it was the weighted mean of `memory`.",
        ),
    ),
    hints=(
        "Each of the four lines between `query` and `weights` that computes something holds one bug, except the one "
        "with `masked_fill`.",
        "Ask four questions. Which index has the last of two words? Which positions are words? Can the query change "
        "the order of the keys? Which weights sum to 1?",
        "`memory[torch.arange(batch), lengths - 1]`, `<`, `torch.tanh(… + …)`, `dim=1`.",
    ),
    alternatives=(sentence_by_sentence, with_einsum, by_gather),
    difficulty=3,
    minutes=15,
)
