import torch

from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn


def repaired_first_step(memory, lengths, w_q, w_k, u):
    """The first query of a decoder and what it attends to, without the four bugs: (query, context, weights)."""
    src_len = memory.shape[1]
    query = memory[torch.arange(len(memory)), lengths - 1]
    real = torch.arange(src_len) < lengths[:, None]
    compared = torch.tanh((query @ w_q)[:, None] + memory @ w_k)
    scores = (compared @ u).masked_fill(~real, float("-inf"))
    weights = scores.softmax(dim=1)
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


def _case(lengths, src_len, d_model, d, about, seed=0):
    shapes = [(len(lengths), src_len, d_model), (d_model, d), (d_model, d), (d,)]
    memory, *weights = (randn(*shape, seed=seed + n) for n, shape in enumerate(shapes))
    return case(memory, torch.tensor(lengths), *weights, about=about)


EXERCISE = Exercise(
    reference=repaired_first_step,
    cases=lambda: [
        _case([1, 2], 3, 2, 2, "two sentences, with pads"),
        _case([2, 5], 5, 3, 7, "all sizes different", seed=4),
        _case([3, 1, 2], 3, 3, 3, "all sizes equal", seed=8),
        _case([2, 4, 1, 3], 4, 5, 2, "as many sentences as words", seed=12),
        _case([4, 4], 4, 3, 5, "no pads", seed=16),
        _case([3], 6, 4, 3, "one sentence", seed=20),
    ],
    alternatives=(sentence_by_sentence,),
    trained=("memory",),
)
