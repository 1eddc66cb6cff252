import torch
from torch.nn import functional as F

from course_lib.batching import make_batch, pad
from course_lib.tokens import BOS, EOS, PAD
from course_practice.engine import Exercise, case
from course_practice.exercises.batching._forms import Toy
from course_practice.exercises.inputs import seeded


def evaluate(model, pairs, rows):
    """The loss of all pairs in nats a real target token, from batches of `rows` pairs."""
    losses, counts = [], []
    for start in range(0, len(pairs), rows):
        some = pairs[start : start + rows]
        src = pad([[*src, EOS] for src, _ in some])
        tgt_in = pad([[BOS, *tgt] for _, tgt in some])
        tgt_out = pad([[*tgt, EOS] for _, tgt in some])
        logits = model(src, tgt_in).flatten(0, 1)
        loss = F.cross_entropy(logits, tgt_out.flatten(), ignore_index=PAD)
        losses.append(loss.item())
        counts.append(int((tgt_out != PAD).sum()))
    return sum(loss * n for loss, n in zip(losses, counts, strict=True)) / sum(counts)


def starter_repair(model, pairs, rows):
    losses = []
    for start in range(0, len(pairs) - rows, rows):
        some = pairs[start : start + rows]
        src = pad([[*src, EOS] for src, _ in some])
        tgt_in = pad([[*tgt, EOS] for _, tgt in some])
        tgt_out = pad([[*tgt, EOS] for _, tgt in some])
        logits = model(src, tgt_in).flatten(0, 1)
        loss = F.cross_entropy(logits, tgt_out.flatten())
        losses.append(loss.item())
    return sum(losses) / len(losses)


def with_weighted_means(model, pairs, rows):
    losses, weights = [], []
    for start in range(0, len(pairs), rows):
        batch = make_batch(pairs[start : start + rows])
        logits = model(batch.src, batch.tgt_in)
        loss = F.cross_entropy(logits.flatten(0, 1), batch.tgt_out.flatten(), ignore_index=PAD)
        losses.append(loss.item() * batch.n_tokens)
        weights.append(batch.n_tokens)
    return sum(losses) / sum(weights)


def _pairs(*lengths):
    generator = seeded(sum(a * b for a, b in lengths))
    draw = [[torch.randint(4, 11, (n,), generator=generator).tolist() for n in pair] for pair in lengths]
    return [tuple(pair) for pair in draw]


EXERCISE = Exercise(
    reference=evaluate,
    starter=starter_repair,
    cases=lambda: [
        case(Toy(11), _pairs((3, 4), (2, 2), (5, 7), (4, 1), (2, 6)), 2, about="five pairs in batches of two"),
        case(Toy(11, 1), _pairs((3, 9), (2, 2), (5, 3), (6, 8), (4, 1)), 2, about="five other pairs"),
        case(Toy(11, 2), _pairs((2, 6), (6, 2), (4, 5), (3, 9), (2, 3), (8, 1), (5, 5)), 3, about="seven pairs"),
        case(Toy(11, 3), _pairs((2, 6), (4, 5), (3, 9), (2, 3)), 2, about="two full batches"),
    ],
    alternatives=(with_weighted_means,),
)
