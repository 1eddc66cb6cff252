"""Exercise: exact match without a search."""

import torch

from course_lib.tokens import EOS, PAD
from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.inputs import randn


def exact_match(logits, tgt_out):
    """The share of sentences in which every real target, EOS too, has the largest logit at its position.

    logits (batch, tgt_len, vocab_size), tgt_out (batch, tgt_len) with pads on the right.

    >>> logits = torch.tensor([[[0.0, 0, 9, 0], [0, 0, 0, 9]], [[0, 0, 9, 0], [0, 0, 0, 9]]])
    >>> exact_match(logits, torch.tensor([[2, 0], [3, 2]]))
    tensor(0.5000)
    """
    right = (logits.argmax(dim=-1) == tgt_out) | (tgt_out == PAD)
    return right.all(dim=-1).float().mean()


def by_counting_errors(logits, tgt_out):
    wrong = (logits.argmax(-1) != tgt_out) & (tgt_out != PAD)
    return (wrong.sum(1) == 0).float().mean().item()


def sentence_by_sentence(logits, tgt_out):
    good = 0
    for scores, target in zip(logits, tgt_out, strict=True):
        n = int((target != PAD).sum())
        good += bool(torch.equal(scores[:n].argmax(dim=-1), target[:n]))
    return good / len(tgt_out)


def with_a_product(logits, tgt_out):
    likeliest = logits.softmax(dim=-1).topk(1).indices[..., 0]
    likeliest = torch.where(tgt_out == PAD, PAD, likeliest)
    return (likeliest == tgt_out).float().prod(dim=1).mean()


def by_the_logit_of_the_target(logits, tgt_out):
    best = logits.max(dim=-1).values
    own = logits.gather(-1, tgt_out[..., None])[..., 0]
    return ((own == best) | tgt_out.eq(PAD)).all(1).sum() / tgt_out.shape[0]


def _right(logits, tgt_out):
    return logits.argmax(dim=-1) == tgt_out


def _pads_count(logits, tgt_out):
    return _right(logits, tgt_out).all(dim=-1).double().mean()


def _share_of_tokens(logits, tgt_out):
    return _right(logits, tgt_out)[tgt_out != PAD].double().mean()


def _share_of_positions(logits, tgt_out):
    return (_right(logits, tgt_out) | (tgt_out == PAD)).double().mean()


def _mean_of_sentences(logits, tgt_out):
    real = tgt_out != PAD
    return ((_right(logits, tgt_out) & real).sum(dim=1) / real.sum(dim=1)).double().mean()


def _without_end(logits, tgt_out):
    free = (tgt_out == PAD) | (tgt_out == EOS)
    return (_right(logits, tgt_out) | free).all(dim=1).double().mean()


def _any(logits, tgt_out):
    return (_right(logits, tgt_out) & (tgt_out != PAD)).any(dim=1).double().mean()


def _wrong_axis(logits, tgt_out):
    return (_right(logits, tgt_out) | (tgt_out == PAD)).all(dim=0).double().mean()


def _count(logits, tgt_out):
    return (_right(logits, tgt_out) | (tgt_out == PAD)).all(dim=1).sum()


def _each_sentence(logits, tgt_out):
    return (_right(logits, tgt_out) | (tgt_out == PAD)).all(dim=1)


def _share_wrong(logits, tgt_out):
    return 1 - exact_match(logits, tgt_out)


def _last_token_only(logits, tgt_out):
    last = (tgt_out != PAD).sum(dim=1) - 1
    rows = torch.arange(len(tgt_out))
    return _right(logits, tgt_out)[rows, last].double().mean()


def _padding_skips_the_end(logits, tgt_out):
    """Ids up to EOS are taken for special."""
    return (_right(logits, tgt_out) | (tgt_out <= EOS)).all(dim=1).double().mean()


def _shifted(logits, tgt_out):
    return exact_match(logits[:, :-1], tgt_out[:, 1:])


def _over_positions(logits, tgt_out):
    return ((logits.argmax(dim=1) == tgt_out) | (tgt_out == PAD)).all(dim=1).double().mean()


def _all_or_nothing(logits, tgt_out):
    return (_right(logits, tgt_out) | (tgt_out == PAD)).all().double()


def _sentences(targets, errors=(), vocab_size=7, seed=0):
    """Logits whose argmax are the targets (something else at pads), but for the errors (row, position)."""
    n = max(map(len, targets))
    tgt_out = torch.tensor([[*row, *[PAD] * (n - len(row))] for row in targets])
    logits = randn(*tgt_out.shape, vocab_size, seed=seed)
    wanted = torch.where(tgt_out == PAD, 5, tgt_out)
    for row, position in errors:
        wanted[row, position] = 3 if wanted[row, position] != 3 else 4
    return logits.scatter_add(-1, wanted[..., None], torch.full((*tgt_out.shape, 1), 20.0)), tgt_out


EXERCISE = Exercise(
    title="Exact match without a search",
    task="From logits (batch, tgt_len, vocab_size) and tgt_out (batch, tgt_len), padded with 0, return the share of "
    "sentences in which every real target, EOS too, has the largest logit at its position.",
    reference=exact_match,
    cases=lambda: [
        case(*_sentences([[4, 6, EOS]]), about="one sentence, all right"),
        case(*_sentences([[4, 6, 5, EOS], [6, EOS]], [(0, 1)], seed=1), about="a short one right, a long one not"),
        case(*_sentences([[4, EOS], [6, 5, EOS], [5, 4, EOS]], [(0, 1)], seed=2), about="an EOS missed"),
        case(*_sentences([[4, 5, 6, EOS], [5, EOS], [6, 6, EOS]], [(1, 0), (2, 0)], seed=3), about="first words wrong"),
        case(
            *_sentences([[3, 4, 5, 4, 3, EOS], [5, EOS], *[[4, 3, EOS]] * 4], [(0, 4), (2, 0), (3, 0)], 6, seed=4),
            about="all sizes equal",
        ),
        case(
            *_sentences([[4, 5, 6, 4, EOS], [5, 4, EOS], [6, EOS], [4, 4, 4, EOS]], [(0, 2), (3, 3)], seed=5),
            about="four sentences of four lengths",
        ),
    ],
    mistakes=(
        Mistake(
            "pads-count",
            _pads_count,
            "A short sentence counts as wrong whatever it says, since no model writes pads behind its end. Let pads "
            "pass.",
        ),
        Mistake(
            "shifted-against-each-other",
            _shifted,
            "Each token is compared with the prediction of the one before it. `tgt_out` is shifted already: row t of "
            "the logits predicts `tgt_out[:, t]`.",
        ),
        Mistake(
            "argmax-over-positions",
            _over_positions,
            "Your argmax runs over the positions. It belongs over the vocabulary, the last axis of the logits.",
        ),
        Mistake(
            "share-of-tokens",
            _share_of_tokens,
            "This is the share of *tokens* that are right. A sentence counts only when all of its tokens are.",
        ),
        Mistake(
            "share-of-positions",
            _share_of_positions,
            "This is the share of positions, pads among them. A sentence counts only when all of its tokens are right.",
        ),
        Mistake(
            "mean-of-token-shares",
            _mean_of_sentences,
            "You average each sentence's share of right tokens. A sentence is right (1) or not (0): use `all`.",
        ),
        Mistake(
            "end-left-out",
            _without_end,
            "EOS is not judged, so a sentence that does not end in time counts as right. EOS is a target like others.",
        ),
        Mistake(
            "any-token",
            _any,
            "One right token is enough for you. `any` asks whether some are right, `all` whether none is wrong.",
        ),
        Mistake(
            "over-the-batch",
            _wrong_axis,
            "Your `all` runs over the sentences: you get a share of positions. It belongs over the tokens of a "
            "sentence, dim=1.",
        ),
        Mistake("a-count", _count, "You return how many sentences are right. The share divides by the batch."),
        Mistake(
            "one-verdict-each",
            _each_sentence,
            "You return a verdict for each sentence. Their mean is the share.",
        ),
        Mistake("share-wrong", _share_wrong, "You return the share of sentences that are *wrong*."),
        Mistake(
            "last-token-only",
            _last_token_only,
            "You judge the last token of every sentence alone. All of them have to be right.",
        ),
        Mistake(
            "all-or-nothing",
            _all_or_nothing,
            "Your `all` runs over the whole batch, so one error anywhere makes the share 0. Give it dim=1.",
        ),
    ),
    hints=(
        "Three steps: which tokens are right, which sentences are all right, and how many of those are there?",
        "`argmax` over the vocabulary, compared with `tgt_out`. A pad is right whatever is written there. Then `all` "
        "over the tokens of each sentence.",
        "`right = (logits.argmax(dim=-1) == tgt_out) | (tgt_out == PAD)`, and the mean of `right.all(dim=-1)` as "
        "numbers.",
    ),
    alternatives=(by_counting_errors, sentence_by_sentence, with_a_product, by_the_logit_of_the_target),
    difficulty=1,
    minutes=6,
)
