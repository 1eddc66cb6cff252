"""Exercise: bug hunt: an evaluation with four bugs."""

from itertools import product

import torch
from torch.nn import functional as F

from course_lib.batching import make_batch, pad
from course_lib.tokens import BOS, EOS, PAD
from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.batching._forms import Toy
from course_practice.exercises.inputs import seeded


def evaluate(model, pairs, rows):
    """The loss of all pairs in nats a real target token, from batches of `rows` pairs."""
    total = tokens = 0
    for start in range(0, len(pairs), rows):
        some = pairs[start : start + rows]
        src = pad([[*src, EOS] for src, _ in some])
        tgt_in = pad([[BOS, *tgt] for _, tgt in some])
        tgt_out = pad([[*tgt, EOS] for _, tgt in some])
        logits = model(src, tgt_in).flatten(0, 1)
        loss = F.cross_entropy(logits, tgt_out.flatten(), ignore_index=PAD, reduction="sum")
        total += loss.item()
        tokens += int((tgt_out != PAD).sum())
    return total / tokens


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


def all_losses_in_one_list(model, pairs, rows):
    found = []
    for start in range(0, len(pairs), rows):
        batch = make_batch(pairs[start : start + rows])
        each = F.cross_entropy(model(batch.src, batch.tgt_in).mT, batch.tgt_out, reduction="none")
        found.append(each[batch.tgt_out != PAD])
    return torch.cat(found).mean()


def one_pair_after_the_other(model, pairs, rows):
    total, tokens = 0.0, 0
    for src, tgt in pairs:
        logits = model(torch.tensor([[*src, EOS]]), torch.tensor([[BOS, *tgt]]))[0]
        total += F.cross_entropy(logits, torch.tensor([*tgt, EOS]), reduction="sum").item()
        tokens += len(tgt) + 1
    return total / tokens


def _evaluate(rest=False, shift=False, pads=False, means=False):
    """The evaluation with some of its bugs."""

    def answer(model, pairs, rows):
        losses, counts = [], []
        for start in range(0, len(pairs) - rows * rest, rows):
            batch = make_batch(pairs[start : start + rows])
            read = batch.tgt_out if shift else batch.tgt_in
            each = F.cross_entropy(model(batch.src, read).mT, batch.tgt_out, reduction="none")
            counted = torch.ones_like(batch.tgt_out, dtype=torch.bool) if pads else batch.tgt_out != PAD
            losses.append(each[counted].mean().item())
            counts.append(1 if means else int(counted.sum()))
        return sum(loss * n for loss, n in zip(losses, counts, strict=True)) / sum(counts)

    return answer


_OPEN = {
    "rest": "which pairs are never evaluated? Try 5 pairs in batches of 2",
    "shift": "what does the decoder read at the position where it must write the first word?",
    "pads": "do pads count in the loss of a batch?",
    "means": "a batch with few real tokens counts as much as one with many",
}


def _partial_repairs():
    found = ("Three of the four are repaired", "Two of four are repaired", "One of four is repaired")
    for left in product((False, True), repeat=4):
        names = [name for name, open_ in zip(_OPEN, left, strict=True) if open_]
        if 1 <= len(names) <= 3:
            clues = [f"({n}) {_OPEN[name]}" if len(names) > 1 else _OPEN[name] for n, name in enumerate(names, 1)]
            text = f"{found[len(names) - 1]}. Still open: {'; '.join(clues)}"
            yield Mistake(
                "-and-".join(f"{name}-left" for name in names),
                _evaluate(**dict.fromkeys(names, True)),
                text if text.endswith("?") else f"{text}.",
                points=names != ["means"],  # it is also right to put all pairs into every batch
            )


def _full_batches_alone(model, pairs, rows):
    """What is left over after the last full batch is lost."""
    full = pairs[: len(pairs) - len(pairs) % rows]
    return evaluate(model, full, rows)


def _real_by_all(model, pairs, rows):
    total = positions = 0
    for start in range(0, len(pairs), rows):
        batch = make_batch(pairs[start : start + rows])
        each = F.cross_entropy(model(batch.src, batch.tgt_in).mT, batch.tgt_out, reduction="none")
        total, positions = total + each[batch.tgt_out != PAD].sum().item(), positions + each.numel()
    return total / positions


def _weighed_by(weight):
    """The mean of the batches' means, with weights that are not their numbers of real targets."""

    def answer(model, pairs, rows):
        total = weights = 0
        for start in range(0, len(pairs), rows):
            batch = make_batch(pairs[start : start + rows])
            each = F.cross_entropy(model(batch.src, batch.tgt_in).mT, batch.tgt_out, reduction="none")
            total += each[batch.tgt_out != PAD].mean().item() * weight(batch)
            weights += weight(batch)
        return total / weights

    return answer


def _all_by_real(model, pairs, rows):
    total = tokens = 0
    for start in range(0, len(pairs), rows):
        batch = make_batch(pairs[start : start + rows])
        total += F.cross_entropy(model(batch.src, batch.tgt_in).mT, batch.tgt_out, reduction="sum").item()
        tokens += batch.n_tokens
    return total / tokens


def _end_ignored(divide):
    """EOS is left out of the losses where PAD should be; divided by the real targets, or by what is left."""

    def answer(model, pairs, rows):
        total = below = 0
        for start in range(0, len(pairs), rows):
            batch = make_batch(pairs[start : start + rows])
            each = F.cross_entropy(model(batch.src, batch.tgt_in).mT, batch.tgt_out, reduction="none")
            total += each[batch.tgt_out != EOS].sum().item()
            below += divide(batch)
        return total / below

    return answer


def _a_sentence(model, pairs, rows):
    tokens = sum(len(tgt) + 1 for _src, tgt in pairs)
    return evaluate(model, pairs, rows) * tokens / len(pairs)


def _end_not_counted(model, pairs, rows):
    tokens = sum(len(tgt) for _src, tgt in pairs)
    return evaluate(model, pairs, rows) * (tokens + len(pairs)) / tokens


def _pairs(*lengths):
    generator = seeded(sum(a * b for a, b in lengths))
    draw = [[torch.randint(4, 11, (n,), generator=generator).tolist() for n in pair] for pair in lengths]
    return [tuple(pair) for pair in draw]


EXERCISE = Exercise(
    title="Bug hunt: an evaluation with four bugs",
    task="Find and repair the four planted bugs. The function evaluates `model(src, tgt_in)` on all pairs, in batches "
    "of `rows`, and returns the loss in nats a real target token. The number must not depend on `rows`.",
    reference=evaluate,
    starter=starter_repair,
    cases=lambda: [
        case(Toy(11), _pairs((3, 4), (2, 2), (5, 7), (4, 1), (2, 6)), 2, about="five pairs in batches of two"),
        case(Toy(11, 1), _pairs((3, 9), (2, 2), (5, 3), (6, 8), (4, 1)), 2, about="five other pairs"),
        case(Toy(11, 2), _pairs((2, 6), (6, 2), (4, 5), (3, 9), (2, 3), (8, 1), (5, 5)), 3, about="seven pairs"),
        case(Toy(11, 3), _pairs((2, 6), (4, 5), (3, 9), (2, 3)), 2, about="two full batches"),
    ],
    mistakes=(
        *_partial_repairs(),
        Mistake(
            "full-batches-alone",
            _full_batches_alone,
            "Three of the four are repaired. Still open: the last full batch is there now, but pairs that do not fill "
            "a batch are never evaluated. A slice may reach beyond the end, so the range may go up to `len(pairs)`.",
        ),
        Mistake(
            "divided-by-all-positions",
            _real_by_all,
            "The pads add nothing to the sum, but they are counted below the line. Divide by the number of real "
            "targets.",
        ),
        Mistake(
            "pads-above-the-line",
            _all_by_real,
            "You divide by the number of real targets, but the sum above the line still holds the losses of pads: "
            "`ignore_index=PAD`.",
        ),
        Mistake(
            "weighed-by-sentences",
            _weighed_by(lambda batch: len(batch.src)),
            "You weigh each batch's mean by its sentences. A mean over tokens is weighed by the number of real "
            "*tokens*.",
            points=False,
        ),
        Mistake(
            "weighed-by-positions",
            _weighed_by(lambda batch: batch.tgt_out.numel()),
            "You weigh each batch's mean by all its positions, pads included. It is a mean over real tokens: weigh it "
            "by their number.",
        ),
        Mistake(
            "weighed-without-the-end",
            _weighed_by(lambda batch: batch.n_tokens - len(batch.src)),
            "You weigh each batch's mean by its number of words. EOS is a target with a loss, so it counts as a token.",
        ),
        Mistake(
            "end-ignored",
            _end_ignored(lambda batch: batch.n_tokens),
            "You leave out EOS (2) instead of PAD (0). The model must learn to stop, so EOS has a loss, and a pad has "
            "none.",
        ),
        Mistake(
            "end-not-counted",
            _end_not_counted,
            "The losses are right, but you divide by the number of words. EOS is a target with a loss, so it counts "
            "as a token.",
        ),
        Mistake(
            "a-sentence",
            _a_sentence,
            "That is the loss of a sentence. Divide by the number of real targets instead of the number of pairs.",
        ),
    ),
    hints=(
        "One bug loses pairs, one lets the model see the answer, one counts what is no word, and one weighs the "
        "batches wrongly.",
        "The range ends too early. `tgt_in` begins with BOS. `ignore_index=PAD` leaves pads out. And a mean of means "
        "is no mean: add up the losses and the real tokens.",
        '`range(0, len(pairs), rows)`, `[BOS, *tgt]`, `F.cross_entropy(…, ignore_index=PAD, reduction="sum")`, and '
        "the sum divided by the number of targets that are not PAD.",
    ),
    alternatives=(with_weighted_means, all_losses_in_one_list, one_pair_after_the_other),
    difficulty=3,
    minutes=15,
)
