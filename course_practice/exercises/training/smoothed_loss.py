"""Exercise: the loss with label smoothing."""

import math

import torch
from torch.nn import functional as F

from course_lib.tokens import PAD
from course_lib.training import label_smoothed_loss
from course_practice.engine import Convention, Exercise, Mistake, case
from course_practice.exercises.inputs import randn


def with_pytorchs_function(logits, targets, smoothing=0.1):
    return F.cross_entropy(logits.flatten(0, -2), targets.flatten(), ignore_index=PAD, label_smoothing=smoothing)


def with_soft_targets(logits, targets, smoothing=0.1):
    wanted = (1 - smoothing) * F.one_hot(targets, logits.shape[-1]) + smoothing / logits.shape[-1]
    losses = -(wanted * logits.log_softmax(dim=-1)).sum(dim=-1)
    return losses[targets != PAD].mean()


def divergence_plus_entropy(logits, targets, smoothing=0.1):
    real = targets != PAD
    wanted = F.one_hot(targets[real], logits.shape[-1]).double() * (1 - smoothing) + smoothing / logits.shape[-1]
    divergence = F.kl_div(logits[real].double().log_softmax(-1), wanted, reduction="batchmean")
    return divergence + torch.special.entr(wanted).sum(dim=-1).mean()


def token_by_token(logits, targets, smoothing=0.1):
    total, count = 0.0, 0
    for row, target in zip(logits.flatten(0, -2), targets.flatten(), strict=True):
        if target == PAD:
            continue
        surprises = torch.logsumexp(row, dim=-1) - row
        total, count = total + (1 - smoothing) * surprises[target] + smoothing * surprises.mean(), count + 1
    return total / count


def _surprises(logits, targets):
    """-log p of every word and of the target."""
    surprises = -logits.log_softmax(dim=-1)
    return surprises, surprises.gather(-1, targets[..., None])[..., 0]


def _mean(losses, targets):
    return losses[targets != PAD].mean()


def _mixed(mix, mean=_mean, prepare=lambda logits: logits):
    """The loss with another mixture of the target's surprise and the others', or another mean."""

    def answer(logits, targets, smoothing=0.1):
        surprises, target = _surprises(prepare(logits), targets)
        return mean(mix(surprises, target, smoothing), targets)

    return answer


def _right(surprises, target, smoothing):
    return (1 - smoothing) * target + smoothing * surprises.mean(dim=-1)


def _others_alone(surprises, target, smoothing):
    others = (surprises.sum(dim=-1) - target) / (surprises.shape[-1] - 1)
    return (1 - smoothing) * target + smoothing * others


def _without_pad(surprises, target, smoothing):
    others = (surprises.sum(dim=-1) - target - surprises[..., PAD]) / max(surprises.shape[-1] - 2, 1)
    return (1 - smoothing) * target + smoothing * others


def _no_pad_column(surprises, target, smoothing):
    return (1 - smoothing) * target + smoothing * surprises[..., 1:].mean(dim=-1)


def _over_all_cells(losses, targets):
    return (losses * (targets != PAD)).mean()


def _of_sentence_means(losses, targets):
    real = targets != PAD
    return ((losses * real).sum(dim=-1) / real.sum(dim=-1)).mean()


def _uniform_over_all_cells(logits, targets, smoothing=0.1):
    surprises, target = _surprises(logits, targets)
    return (1 - smoothing) * _mean(target, targets) + smoothing * surprises.mean()


def _in_bits_of_probabilities(logits, targets, smoothing=0.1):
    surprises = -logits.softmax(dim=-1).log2()
    target = surprises.gather(-1, targets[..., None])[..., 0]
    return _mean(_right(surprises, target, smoothing), targets)


def _by_hand(*probabilities):
    return torch.tensor(probabilities).log()


def _cases():
    ids = torch.tensor([[3, 1, 4, 2], [5, 2, PAD, PAD], [2, PAD, PAD, PAD]])
    return [
        case(
            _by_hand(1 / 8, 1 / 2, 1 / 4, 1 / 8)[None, None],
            torch.tensor([[1]]),
            smoothing=0.4,
            about="one token by hand",
        ),
        case(
            _by_hand(1 / 8, 1 / 2, 1 / 4, 1 / 8)[None, None], torch.tensor([[1]]), smoothing=0.0, about="no smoothing"
        ),
        case(randn(1, 3, 5, seed=1), torch.tensor([[4, 1, 3]]), about="a sentence without pads"),
        case(randn(1, 3, 5, seed=2), torch.tensor([[4, 2, PAD]]), smoothing=0.2, about="a sentence with a pad"),
        case(randn(3, 4, 7, seed=3), ids, smoothing=0.3, about="sentences of different lengths"),
        case(randn(3, 4, 7, seed=4), ids, smoothing=0.0, about="different lengths, no smoothing"),
        case(randn(5, 5, 5, seed=5), torch.arange(25).view(5, 5) % 4 + 1, smoothing=0.5, about="all sizes equal"),
        case(100 * randn(2, 3, 7, seed=6), torch.tensor([[1, 2, 3], [4, 5, 6]]), about="large logits"),
    ]


EXERCISE = Exercise(
    title="Cross-entropy with smoothing",
    task="Return the mean over the real targets (not PAD) of (1 - smoothing) times the target's surprise plus "
    "smoothing times the mean surprise of all words, in nats.",
    reference=label_smoothed_loss,
    cases=_cases,
    mistakes=(
        Convention(
            "spread-over-the-others",
            _mixed(_others_alone),
            "Valid in some libraries, which spread the smoothing over the V − 1 other words. Here, as in PyTorch, it "
            "is spread over all V words, the target included.",
        ),
        Convention(
            "pad-gets-nothing",
            _mixed(_without_pad),
            "Valid where neither the target nor the pad gets a share of the smoothing (V − 2 words). Here all V words "
            "do, as in PyTorch.",
        ),
        Convention(
            "pad-column-left-out",
            _mixed(_no_pad_column),
            "Valid where the pad gets no share of the smoothing. Here, as in PyTorch, the mean runs over all V words.",
        ),
        Mistake(
            "mean-over-all-cells",
            _mixed(_right, mean=_over_all_cells),
            "Your pads cost nothing, but you still divide by their number: the loss looks smaller, the more a batch "
            "is padded. Divide by the number of real targets.",
        ),
        Mistake(
            "pads-are-targets",
            _mixed(_right, mean=lambda losses, targets: losses.mean()),
            "The pads count as targets, so the model would be taught to write them. Leave out the positions where the "
            "target is PAD.",
        ),
        Mistake(
            "mean-of-sentence-means",
            _mixed(_right, mean=_of_sentence_means),
            "Each sentence has the same say, so that a token of a short sentence counts more. Here every real token "
            "counts the same: one mean over all of them.",
        ),
        Mistake(
            "pads-in-the-uniform-part",
            _uniform_over_all_cells,
            "Right without pads. With them, the smoothing's part is still averaged over the pads' positions too.",
        ),
        Mistake(
            "softmax-twice",
            _mixed(_right, prepare=lambda logits: logits.softmax(dim=-1)),
            "Your loss has two softmaxes: the logits went through one before the logarithm of another.",
        ),
        Mistake(
            "shares-exchanged",
            _mixed(lambda surprises, target, s: _right(surprises, target, 1 - s)),
            "The two shares have changed places: smoothing = 0 should leave the target alone.",
        ),
        Mistake(
            "smoothing-not-used",
            _mixed(lambda surprises, target, s: target),
            "Right for smoothing = 0. With smoothing your loss does not change.",
        ),
        Mistake(
            "target-keeps-its-whole-share",
            _mixed(lambda surprises, target, s: target + s * surprises.mean(dim=-1)),
            "The target's surprise comes out with the weight 1. The two weights should sum to 1: what smoothing gives "
            "to all words, the target loses.",
        ),
        Mistake(
            "sum-over-the-words",
            _mixed(lambda surprises, target, s: (1 - s) * target + s * surprises.sum(dim=-1)),
            "Your smoothing gives each word the whole share, not a V-th of it: take the mean over the words, not the "
            "sum.",
        ),
        Mistake(
            "sum-over-the-tokens",
            _mixed(_right, mean=lambda losses, targets: losses[targets != PAD].sum()),
            "You add up the tokens' losses. Divide by how many real targets there are.",
        ),
        Mistake(
            "sign",
            _mixed(lambda surprises, target, s: -_right(surprises, target, s)),
            "Your loss is negative: the logarithm of a probability is at most 0, and its surprise is the negative of "
            "that.",
        ),
        Mistake(
            "in-bits",
            _mixed(lambda surprises, target, s: _right(surprises, target, s) / math.log(2)),
            "Your loss is in bits, 1.44 times as large: use the natural logarithm.",
        ),
        Mistake(
            "in-bits-of-probabilities",
            _in_bits_of_probabilities,
            "Your loss is in bits, 1.44 times as large: use the natural logarithm. And take it with `log_softmax`, "
            "because the logarithm of a probability that was rounded to 0 is infinite.",
        ),
        Mistake(
            "mean-probability",
            _mixed(lambda surprises, target, s: -((1 - s) * (-target).exp() + s / surprises.shape[-1]).log()),
            "You smooth the model's probability and then take its logarithm. It is the *target* that is smoothed: mix "
            "the surprises, after the logarithm.",
        ),
        Mistake(
            "no-surprise-taken",
            lambda logits, targets, smoothing=0.1: _mean(
                -((1 - smoothing) * logits.gather(-1, targets[..., None])[..., 0] + smoothing * logits.mean(dim=-1)),
                targets,
            ),
            "Your loss is made of the logits themselves. Turn them into logarithms of probabilities first, with "
            "`log_softmax`.",
        ),
        Mistake(
            "smoothing-of-one-word",
            _mixed(lambda surprises, target, s: (1 - s) * target),
            "Only the target's part is there. Add smoothing times the mean surprise of all words.",
        ),
        Mistake(
            "each-token-alone",
            _mixed(_right, mean=lambda losses, targets: losses.masked_fill(targets == PAD, 0.0)),
            "You have one loss for each position. Return one number: their mean over the real targets.",
        ),
    ),
    hints=(
        "For one position you need two numbers: the surprise of the target, and the mean surprise of all words. How "
        "are they mixed? Then: over which positions does the mean run?",
        "`log_probs = logits.log_softmax(dim=-1)`. `gather` picks the target's entry: "
        "`log_probs.gather(-1, targets[..., None])[..., 0]`. The positions that count are `targets != PAD`.",
        "`losses = -(1 - smoothing) * picked - smoothing * log_probs.mean(dim=-1)`, and then "
        "`losses[targets != PAD].mean()`.",
    ),
    alternatives=(with_soft_targets, with_pytorchs_function, divergence_plus_entropy, token_by_token),
    difficulty=2,
    minutes=10,
)
