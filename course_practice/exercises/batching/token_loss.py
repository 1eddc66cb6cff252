"""Exercise: the loss over real tokens."""

import torch
from torch.nn import functional as F

from course_lib.tokens import EOS, PAD
from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.inputs import randn


def token_loss(logits, targets):
    """The mean cross-entropy of the real targets: logits (batch, tgt_len, vocab_size), targets (batch, tgt_len).

    >>> logits = torch.tensor([[[2.0, 0.0, 0.0], [0.0, 0.0, 9.0]]])
    >>> token_loss(logits, torch.tensor([[1, PAD]]))     # -ln softmax(2, 0, 0)[1]
    tensor(2.2395)
    """
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=PAD)


def with_chosen_rows(logits, targets):
    real = targets != PAD
    return F.cross_entropy(logits[real], targets[real])


def with_gather(logits, targets):
    real = (targets != PAD).to(logits.dtype)
    each = -logits.log_softmax(dim=-1).gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    return (each * real).sum() / real.sum()


def with_classes_in_the_second_axis(logits, targets):
    each = F.cross_entropy(logits.transpose(1, 2), targets, reduction="none")
    return each[targets != PAD].mean()


def token_by_token(logits, targets):
    total, n = 0.0, 0
    for sentence, words in zip(logits, targets, strict=True):
        for row, word in zip(sentence, words, strict=True):
            if word != PAD:
                total, n = total - row.log_softmax(-1)[word], n + 1
    return total / n


def _each(logits, targets):
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none").view(targets.shape)


def _with(reduce, logits_of=lambda logits: logits, real_of=lambda logits, targets: targets != PAD):
    def answer(logits, targets):
        return reduce(_each(logits_of(logits), targets), real_of(logits, targets))

    return answer


def _over_real(each, real):
    return each[real].mean()


def _of_means(each, real):
    return torch.stack([row[known].mean() for row, known in zip(each, real, strict=True) if known.any()]).mean()


def _turned(logits, targets):
    return token_loss(logits.reshape(len(logits), logits.shape[-1], -1).mT, targets)


def _logits_zeroed(logits, targets):
    return _each(logits * (targets != PAD)[..., None], targets).mean()


def _without_the_pads_logit(logits):
    return logits.index_fill(-1, torch.tensor([PAD]), float("-inf"))


def _one_hot_product(logits, targets):
    real = targets != PAD
    return -logits.gather(-1, targets[..., None])[..., 0][real].mean()


def _probabilities(logits, targets):
    real = targets != PAD
    return -logits.softmax(-1).gather(-1, targets[..., None])[..., 0][real].mean()


def _over_the_positions(logits, targets):
    real = targets != PAD
    return -logits.log_softmax(dim=1).gather(-1, targets[..., None])[..., 0][real].mean()


def _cases():
    targets = torch.tensor([[4, 2, 0, 0], [5, 3, 6, 2], [2, 0, 0, 0]])
    return [
        case(torch.tensor([[[2.0, 0.0, 0.0], [0.0, 0.0, 9.0]]]), torch.tensor([[1, 0]]), about="one word and one pad"),
        case(randn(3, 4, 7, seed=1) * 2, targets, about="all sizes different"),
        case(randn(3, 4, 7, seed=2) * 3, torch.tensor([[4, 5], [6, 2]]).repeat(2, 2)[:3], about="no pads"),
        case(randn(3, 3, 3, seed=3) * 2, torch.tensor([[1, 2, 0], [2, 0, 0], [1, 1, 2]]), about="all sizes equal"),
        case(randn(2, 5, 6, seed=4) - 30, torch.tensor([[3, 4, 5, 4, 2], [2, 0, 0, 0, 0]]), about="very low logits"),
        case(randn(2, 3, 5, seed=5) * 2, torch.tensor([[0, 4, 2], [0, 0, 2]]), about="pads on the left"),
    ]


EXERCISE = Exercise(
    title="The loss over real tokens",
    task="Return one number: the mean cross-entropy, in nats, of all targets that are not PAD. `logits` are (batch, "
    "tgt_len, vocab_size) and `targets` (batch, tgt_len).",
    reference=token_loss,
    cases=_cases,
    mistakes=(
        Mistake(
            "pads-counted",
            _with(lambda each, real: each.mean()),
            "You average over all positions, pads too. The number then depends on how the batch was made: leave out "
            "the targets that are PAD.",
        ),
        Mistake(
            "divided-by-all",
            _with(lambda each, real: each[real].sum() / real.numel()),
            "Pads add nothing to your sum, but you divide by the number of all positions. Divide by the number of "
            "real targets.",
        ),
        Mistake(
            "mean-of-sentences",
            _with(_of_means),
            "You average over each sentence first, so a word in a short sentence counts more than one in a long "
            "sentence. Add up all the real tokens, and divide once.",
        ),
        Mistake(
            "divided-by-sentences",
            _with(lambda each, real: each[real].sum() / len(real)),
            "That is the loss of a sentence: you divide by the number of sentences. Divide by the number of real "
            "tokens.",
        ),
        Mistake(
            "summed",
            _with(lambda each, real: each[real].sum()),
            "That is the sum over the real tokens. Divide by their number.",
        ),
        Mistake(
            "a-loss-for-each",
            _with(lambda each, real: each * real),
            "There is a loss for each position now. Add up the real ones, and divide by their number.",
        ),
        Mistake(
            "softmax-first",
            _with(_over_real, logits_of=lambda logits: logits.softmax(-1)),
            "A softmax too many: `F.cross_entropy` takes logits and does the softmax itself.",
        ),
        Mistake(
            "pads-found-in-the-prediction",
            _with(_over_real, real_of=lambda logits, targets: logits.argmax(-1) != PAD),
            "You leave out the positions where the *model* would write PAD. A pad is where the target is one.",
        ),
        Mistake(
            "end-left-out",
            _with(_over_real, real_of=lambda logits, targets: targets > EOS),
            "EOS is left out, too. The model must learn where a sentence ends, so EOS is a real target; only PAD is "
            "none.",
        ),
        Mistake(
            "pad-switched-off",
            _with(_over_real, logits_of=_without_the_pads_logit),
            "You take PAD out of the vocabulary, so every other word becomes more probable. Leave the logits as they "
            "are: the *targets* that are PAD do not count.",
        ),
        Mistake(
            "logits-zeroed",
            _logits_zeroed,
            "You set the logits of pads to 0. Equal logits still cost ln(vocab_size) nats, and pads still count as "
            "positions: leave them out of the sum.",
        ),
        Mistake(
            "axes-not-moved",
            _turned,
            "The logits were reshaped to (batch, vocab_size, tgt_len), which mixes the positions. Flatten the first "
            "two axes, or swap the last two with `.transpose(1, 2)`.",
        ),
        Mistake(
            "no-softmax",
            _one_hot_product,
            "These are minus the logits of the targets. A cross-entropy takes the logarithm of their softmax.",
        ),
        Mistake(
            "no-logarithm",
            _probabilities,
            "These are minus the probabilities of the targets. The cross-entropy takes their logarithm.",
        ),
        Mistake(
            "softmax-over-positions",
            _over_the_positions,
            "Your softmax runs over the positions. It runs over the vocabulary, the last axis.",
        ),
        Mistake(
            "in-bits",
            _with(lambda each, real: each[real].mean() / torch.tensor(2.0).log()),
            "The value is in bits (base 2). Here losses are in nats, with the natural logarithm.",
        ),
        Mistake(
            "perplexity",
            _with(lambda each, real: each[real].mean().exp()),
            "That is the perplexity, e to the loss. Return the loss itself.",
        ),
        Mistake(
            "sign-turned",
            _with(lambda each, real: -each[real].mean()),
            "The sign is turned: a loss is minus the logarithm, so it is positive.",
        ),
    ),
    hints=(
        "Two numbers are needed: the sum of the losses of real tokens, and how many of them there are.",
        "Bring the logits to the form (positions, vocab_size) and the targets to (positions,). `F.cross_entropy` can "
        "leave out a target by its id.",
        "`F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=PAD)`",
    ),
    alternatives=(with_chosen_rows, with_gather, with_classes_in_the_second_axis, token_by_token),
    difficulty=2,
    minutes=10,
)
