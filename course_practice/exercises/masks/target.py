"""Exercise: the mask of a decoder."""

import torch

from course_lib.masks import causal_mask, padding_mask
from course_lib.tokens import PAD
from course_practice.engine import Convention, Exercise, Mistake, case
from course_practice.exercises.masks._shared import NEG_INF, one_infinity, ones, real_queries


def target_mask(ids):
    """The mask of a decoder's self-attention: a token sees itself and what came before it, except pads.

    (batch, 1, 1, n) & (n, n) → (batch, 1, n, n): each sentence gets its own table, every head the same one.

    >>> target_mask(torch.tensor([[5, 6, 0]])).int()
    tensor([[[[1, 0, 0],
              [1, 1, 0],
              [1, 1, 0]]]], dtype=torch.int32)
    """
    return padding_mask(ids) & causal_mask(ids.shape[1]).to(ids.device)


def by_logical_and(ids):
    n = ids.shape[1]
    real = (ids != PAD).unsqueeze(1).unsqueeze(2)
    return torch.logical_and(real, torch.tril(torch.ones(n, n, device=ids.device)))


def by_hiding(ids):
    n = ids.shape[1]
    hidden = (ids == PAD)[:, None, None, :] | torch.ones(n, n, dtype=torch.bool, device=ids.device).triu(1)
    return ~hidden


def sentence_by_sentence(ids):
    n = ids.shape[1]
    return torch.tensor([[[[j <= i and row[j] != PAD for j in range(n)] for i in range(n)]] for row in ids.tolist()])


def _target(join, real=padding_mask, order=causal_mask):
    return lambda ids: join(real(ids), order(ids.shape[1]))


def _and(a, b):
    return a & b


def _pads(ids):
    return ~padding_mask(ids)


def _as_wide_as_the_batch(ids):
    n = len(ids)
    return (ids != PAD)[:, None, None, :] & ones(n).tril()


EXERCISE = Exercise(
    title="The mask of a decoder",
    task="From ids (batch, n) make the mask (batch, 1, n, n): a token may see real tokens, up to and including itself.",
    reference=target_mask,
    canonical=one_infinity,
    cases=lambda: [
        case(torch.tensor([[5, 6, 0]]), about="one sentence, one pad"),
        case(torch.tensor([[5, 6, 7, 0, 0], [8, 9, 4, 6, 0]]), about="padding on the right"),
        case(torch.tensor([[0, 0, 5, 6], [0, 8, 9, 4], [5, 4, 7, 9]]), about="padding on the left"),
        case(torch.tensor([[7, 0, 0], [4, 5, 0], [6, 8, 9]]), about="as many sentences as tokens"),
        case(torch.tensor([[4], [5]]), about="a single token each"),
        case(torch.tensor([[0, 0], [4, 0], [2, 7]]), about="a sentence of pads alone"),
    ],
    mistakes=(
        Mistake(
            "or-instead-of-and",
            _target(lambda a, b: a | b),
            "A cell gets through when *one* of the masks allows it. It needs the permission of both: which operator "
            "asks for that?",
        ),
        Mistake(
            "added",
            _target(lambda a, b: a.int() + b.int()),
            "Your result holds 0, 1, and 2, the sum of two masks: a 1 means that one of them objects. Which cells may "
            "stay?",
        ),
        Mistake(
            "truth-of-a-tensor",
            lambda ids: padding_mask(ids) and causal_mask(ids.shape[1]),
            "Somewhere Python asks whether a whole tensor is true (`and`, `or`, `if`, and `min` do), and a tensor of "
            "many booleans refuses to answer. `&` works cell by cell.",
        ),
        Mistake(
            "as-wide-as-the-batch",
            _as_wide_as_the_batch,
            "Your table of past and future has as many rows as there are sentences: the first axis of `ids` is the "
            "batch. It needs one row for each token, `ids.shape[1]`.",
        ),
        Mistake(
            "ids-for-their-number",
            lambda ids: padding_mask(ids) & causal_mask(ids),
            "A number is wanted, how many tokens there are, and `causal_mask` gets the ids themselves: "
            "`causal_mask(ids.shape[1])`.",
        ),
        Mistake(
            "shape-for-the-number",
            lambda ids: padding_mask(ids) & causal_mask(ids.shape),
            "One number is wanted, how many tokens there are, and `causal_mask` gets the whole shape (batch, n): "
            "`causal_mask(ids.shape[1])`.",
        ),
        Mistake(
            "order-alone",
            lambda ids: causal_mask(ids.shape[1]),
            "The order is right, but pads are visible, and the batch axis is missing: the padding mask makes no "
            "difference.",
        ),
        Mistake(
            "order-alone-per-sentence",
            lambda ids: causal_mask(ids.shape[1]).expand(len(ids), 1, -1, -1),
            "The shape is right, but pads are visible: the padding mask makes no difference.",
        ),
        Mistake(
            "padding-alone",
            padding_mask,
            "Pads are hidden, the future is not: the causal mask makes no difference.",
        ),
        Mistake(
            "padding-alone-for-every-query",
            lambda ids: padding_mask(ids).expand(-1, 1, ids.shape[1], -1),
            "The shape is right and pads are hidden, but the future is not: the causal mask makes no difference.",
        ),
        Mistake(
            "no-axis-for-heads",
            lambda ids: (ids != PAD)[:, None, :] & causal_mask(ids.shape[1]),
            "The values are right, the axis of the heads is missing: beside scores (batch, n_heads, n, n) your "
            "sentences would land on the heads.",
        ),
        Mistake(
            "hidden-future-marked-true",
            _target(_and, order=lambda n: ones(n).triu(1)),
            "Your order mask is True in the future (True = ignore), your padding mask True at words (True = keep). "
            "Give both the same meaning before `&`.",
        ),
        Mistake(
            "pads-marked-true",
            _target(_and, real=_pads),
            "Your padding mask is True at pads, your order mask True at what may be seen. Give both the same meaning.",
        ),
        Mistake(
            "excludes-itself",
            _target(_and, order=lambda n: ones(n).tril(-1)),
            "No token sees itself, and the first one sees nothing. Here a token may see what comes before it *and* "
            "itself: keep the diagonal.",
        ),
        Mistake(
            "hides-queries",
            _target(_and, real=real_queries),
            "The rows of pads are hidden, and their columns are not: real words still see the pads. Pads are hidden "
            "as keys.",
        ),
        Mistake(
            "hides-queries-and-keys",
            lambda ids: target_mask(ids) & real_queries(ids),
            "Keys are enough: hiding pads as queries too leaves rows with nothing to see, and the loss ignores those "
            "rows anyway.",
        ),
        Convention(
            "true-means-ignore",
            lambda ids: ~target_mask(ids),
            "Valid where True means ignore, as in `nn.MultiheadAttention`. Here True means *may attend*.",
        ),
        Convention(
            "additive",
            lambda ids: torch.zeros(target_mask(ids).shape).masked_fill(~target_mask(ids), NEG_INF),
            "Valid as a mask to *add* (0 and −∞). Here masks are boolean, True = may attend.",
        ),
        Mistake(
            "ignored-by-both",
            lambda ids: (ids == PAD)[:, None, None, :] & ones(ids.shape[1]).triu(1),
            "With True = ignore a cell goes when *one* of the masks objects, so they are joined by `|`. And here True "
            "means may attend.",
        ),
    ),
    hints=(
        "Two tables are joined: which keys are real (one row per sentence), and which keys lie in the past (one table "
        "for all sentences).",
        "A cell may be seen if both tables say True. Shapes (batch, 1, 1, n) and (n, n) broadcast to (batch, 1, n, n).",
        "`order = causal_mask(ids.shape[1])`, and `&` joins two boolean tensors cell by cell.",
    ),
    alternatives=(by_logical_and, by_hiding, sentence_by_sentence),
    difficulty=1,
    minutes=5,
)
