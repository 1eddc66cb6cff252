"""Exercise: bug hunt: four bugs that no shape shows."""

import math

import torch
from torch.nn import functional as F

from course_lib.attention import scaled_dot_product_attention
from course_lib.masks import causal_mask, masked_softmax
from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.inputs import randn, seeded


def small_decoder(tgt, memory, src_mask, table, w_q, w_k, w_v):
    """Outputs (batch, n - 1, d) and the labels that they must predict; tgt (batch, n) begins with BOS."""
    tgt_in, labels = tgt[:, :-1], tgt[:, 1:]
    x = table[tgt_in]
    past = torch.ones(x.shape[1], x.shape[1]).tril().bool()
    x = x + masked_softmax(x @ x.mT, past) @ x
    scores = (x @ w_q) @ (memory @ w_k).mT / math.sqrt(w_q.shape[1])
    weights = masked_softmax(scores, src_mask)
    return x + weights @ (memory @ w_v), labels


def small_decoder_starter(tgt, memory, src_mask, table, w_q, w_k, w_v):
    tgt_in, labels = tgt[:, :-1], tgt[:, :-1]
    x = table[tgt_in]
    past = torch.ones(x.shape[1], x.shape[1]).tril(-1).bool()
    x = x + masked_softmax(x @ x.mT, past) @ x
    scores = (x @ w_q) @ (memory @ w_k).mT / math.sqrt(w_q.shape[1])
    weights = scores.softmax(dim=-2)
    return x + weights @ (memory @ w_v), labels


def from_the_library(tgt, memory, src_mask, table, w_q, w_k, w_v):
    x = table[tgt[:, :-1]]
    x = x + masked_softmax(x @ x.mT, causal_mask(x.shape[1])) @ x
    found, _weights = scaled_dot_product_attention(x @ w_q, memory @ w_k, memory @ w_v, src_mask)
    return x + found, tgt[:, 1:]


def with_pytorch(tgt, memory, src_mask, table, w_q, w_k, w_v):
    x = F.embedding(tgt, table)[:, :-1]
    future = torch.full((x.shape[1], x.shape[1]), float("-inf")).triu(1)
    x = x + (x @ x.transpose(1, 2) + future).softmax(-1) @ x
    found = F.scaled_dot_product_attention(x @ w_q, memory @ w_k, memory @ w_v, attn_mask=src_mask)
    return x + found, tgt[:, 1:]


def masked_by_hand(tgt, memory, src_mask, table, w_q, w_k, w_v):
    n = tgt.shape[1] - 1
    x = table[tgt[:, :n]]
    scores = (x @ x.mT).masked_fill(torch.arange(n)[None] > torch.arange(n)[:, None], float("-inf"))
    x = x + scores.softmax(dim=2) @ x
    scores = torch.einsum("btd,bsd->bts", x @ w_q, memory @ w_k) / w_k.shape[1] ** 0.5
    return x + scores.masked_fill(~src_mask, float("-inf")).softmax(dim=2) @ memory @ w_v, tgt[:, 1:]


def _half_repaired(shift=True, strict=False, queries=False, mask=True):
    """The repaired listing with some of its bugs left in."""

    def repaired(tgt, memory, src_mask, table, w_q, w_k, w_v):
        tgt_in, labels = tgt[:, :-1], tgt[:, 1:] if shift else tgt[:, :-1]
        x = table[tgt_in]
        past = torch.ones(x.shape[1], x.shape[1]).tril(-1 if strict else 0).bool()
        x = x + masked_softmax(x @ x.mT, past) @ x
        scores = (x @ w_q) @ (memory @ w_k).mT / math.sqrt(w_q.shape[1])
        if queries:
            weights = scores.masked_fill(~src_mask, -1e30).softmax(dim=-2) if mask else scores.softmax(dim=-2)
        else:
            weights = masked_softmax(scores, src_mask if mask else None)
        return x + weights @ (memory @ w_v), labels

    return repaired


def _zeroed_columns(tgt, memory, src_mask, table, w_q, w_k, w_v):
    x = table[tgt[:, :-1]]
    x = x + masked_softmax(x @ x.mT, causal_mask(x.shape[1])) @ x
    scores = (x @ w_q) @ (memory @ w_k).mT / math.sqrt(w_q.shape[1])
    return x + (scores.softmax(dim=-2) * src_mask) @ (memory @ w_v), tgt[:, 1:]


def _zeroed_after_the_softmax(tgt, memory, src_mask, table, w_q, w_k, w_v):
    x = table[tgt[:, :-1]]
    x = x + masked_softmax(x @ x.mT, causal_mask(x.shape[1])) @ x
    scores = (x @ w_q) @ (memory @ w_k).mT / math.sqrt(w_q.shape[1])
    return x + (scores.softmax(dim=-1) * src_mask) @ (memory @ w_v), tgt[:, 1:]


def _self_attention(scores, values=lambda x, w_v: x):
    """The repaired listing with another self-attention."""

    def repaired(tgt, memory, src_mask, table, w_q, w_k, w_v):
        x = table[tgt[:, :-1]]
        x = x + masked_softmax(scores(x, w_q, w_k), causal_mask(x.shape[1])) @ values(x, w_v)
        found, _weights = scaled_dot_product_attention(x @ w_q, memory @ w_k, memory @ w_v, src_mask)
        return x + found, tgt[:, 1:]

    return repaired


def _of_words(words, labels):
    """The repaired listing, where other columns of `tgt` are read or must be written."""

    def repaired(tgt, memory, src_mask, table, w_q, w_k, w_v):
        read = F.pad(tgt[:, words], (0, 1))  # the repaired listing leaves the last column out
        return small_decoder(read, memory, src_mask, table, w_q, w_k, w_v)[0], tgt[:, labels]

    return repaired


def _stream_lost(tgt, memory, src_mask, table, w_q, w_k, w_v):
    outputs, labels = small_decoder(tgt, memory, src_mask, table, w_q, w_k, torch.zeros_like(w_v))
    found, _weights = scaled_dot_product_attention(outputs @ w_q, memory @ w_k, memory @ w_v, src_mask)
    return found, labels


def _case(batch, n, src_len, d, real, about, seed, vocab_size=9):
    generator = seeded(seed)
    tgt = torch.randint(min(3, vocab_size - 2), vocab_size, (batch, n), generator=generator)
    tgt[:, 0] = 1
    mask = (torch.arange(src_len) < torch.tensor(real)[:, None])[:, None]
    table = randn(vocab_size, d, seed=seed + 1)
    memory = randn(batch, src_len, d, seed=seed + 2)
    return case(tgt, memory, mask, table, *(randn(d, d, seed=seed + 3 + i) for i in range(3)), about=about)


_BUGS = {
    "shift": (
        {"shift": False},
        "Compare input and labels for tgt = BOS 7 8 EOS: what does position 0 read, and what must it write?",
    ),
    "strict": (
        {"strict": True},
        "Draw the mask `past` for three tokens: may a token see itself? It must, because it is not its own label.",
    ),
    "queries": (
        {"queries": True},
        "Which way do the weights of the cross-attention sum to 1? Each target position shares its attention out among "
        "the source words.",
    ),
    "mask": ({"mask": False}, "Append pads to the source in your head: does `src_mask` stop them?"),
}


def _left(*names):
    changes = {key: value for name in names for key, value in _BUGS[name][0].items()}
    count = {1: "Three of four found.", 2: "Two of four found.", 3: "One of four found."}[len(names)]
    questions = " ".join(_BUGS[name][1] for name in names)
    return Mistake("left-" + "-".join(names), _half_repaired(**changes), f"{count} {questions}")


EXERCISE = Exercise(
    title="Bug hunt: four bugs that no shape shows",
    task="Find the four bugs of a small decoder, so that it predicts the next word from the words so far and from the "
    "real words of the source.",
    reference=small_decoder,
    starter=small_decoder_starter,
    cases=lambda: [
        _case(1, 3, 2, 2, [2], "one sentence, no pads", 0),
        _case(2, 5, 3, 4, [3, 1], "pads in the second source", 10),
        _case(3, 4, 4, 4, [4, 2, 3], "as many target as source words", 20),
        _case(3, 3, 3, 3, [3, 1, 2], "all sizes equal", 30, vocab_size=3),
        _case(2, 7, 5, 3, [2, 5], "a long target", 40),
    ],
    mistakes=(
        _left("shift"),
        _left("strict"),
        _left("queries"),
        _left("mask"),
        _left("shift", "strict"),
        _left("shift", "queries"),
        _left("shift", "mask"),
        _left("strict", "queries"),
        _left("strict", "mask"),
        _left("queries", "mask"),
        _left("strict", "queries", "mask"),
        _left("shift", "queries", "mask"),
        _left("shift", "strict", "mask"),
        _left("shift", "strict", "queries"),
        Mistake(
            "zeroed-columns",
            _zeroed_columns,
            "Three of four found, and pads have no weight now. But the target positions still compete for each source "
            "word: it is each *row* that sums to 1, over the source words.",
        ),
        Mistake(
            "zeroed-after-the-softmax",
            _zeroed_after_the_softmax,
            "Three of four found, and pads have no weight now. But what remains in a row no longer sums to 1: the "
            "mask must act before the softmax.",
        ),
        Mistake(
            "self-attention-scaled",
            _self_attention(lambda x, w_q, w_k: x @ x.mT / math.sqrt(x.shape[-1])),
            "All four are found. But you also scale the self-attention, which was right as it was given: in this small "
            "decoder it compares the vectors as they are.",
        ),
        Mistake(
            "self-attention-with-matrices",
            _self_attention(lambda x, w_q, w_k: (x @ w_q) @ (x @ w_k).mT, lambda x, w_v: x @ w_v),
            "All four are found. But the self-attention now uses the matrices of the cross-attention. In this small "
            "decoder it has none, which was right as it was given.",
        ),
        Mistake(
            "self-attention-with-matrices-scaled",
            _self_attention(
                lambda x, w_q, w_k: (x @ w_q) @ (x @ w_k).mT / math.sqrt(w_q.shape[1]), lambda x, w_v: x @ w_v
            ),
            "All four are found. But the self-attention now uses the matrices of the cross-attention, and a scale. In "
            "this small decoder it has neither, which was right as it was given.",
        ),
        Mistake(
            "input-shifted-as-well",
            _of_words(slice(1, None), slice(1, None)),
            "Three of four found. Now input *and* labels begin with the first word, so each position still reads what "
            "it must write, and BOS is never read. Shift the labels alone.",
        ),
        Mistake(
            "shifted-twice",
            _of_words(slice(None, -2), slice(2, None)),
            "Three of four found. The labels are two words ahead of the input now, and one position is lost. A "
            "position must write the very next word.",
        ),
        Mistake(
            "labels-with-begin",
            _of_words(slice(None, -1), slice(None)),
            "Three of four found. The labels are all of `tgt` now, with BOS in front. There is one label for each "
            "position that is read: the word that follows.",
        ),
        Mistake(
            "stream-lost",
            _stream_lost,
            "All four are found. But the last line no longer adds what was found to `x`, so the words written so far "
            "are lost.",
        ),
    ),
    hints=(
        "Go line by line with tgt = BOS 7 8 EOS and a source of two words and a pad. One bug is in the labels, one in "
        "the self-attention, and two in the cross-attention.",
        "Four questions: what must position 0 write? May a token see itself? Over which axis do the weights sum to 1? "
        "Where is `src_mask` used?",
        "`labels = tgt[:, 1:]`, `.tril()`, and `weights = masked_softmax(scores, src_mask)`.",
    ),
    alternatives=(from_the_library, with_pytorch, masked_by_hand),
    difficulty=3,
    minutes=15,
)
