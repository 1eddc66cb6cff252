"""Exercise: write sentence by sentence until each has ended."""

import torch

from course_lib.tokens import BOS, EOS, PAD
from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.inputs import seeded
from course_practice.exercises.written import without_trailing_pads


def write(decode, batch, max_len):
    """The likeliest token at every step, for all sentences side by side: (batch, at most max_len).

    `decode(tgt_in)` takes all that is written so far, ids (batch, n) that begin with BOS, and returns logits
    (batch, n, vocab_size). A sentence ends with its EOS; what stands behind it is PAD.

    >>> def count_down(tgt_in):  # after 5 comes 4, after BOS comes 5
    ...     following = torch.where(tgt_in == BOS, 5, tgt_in - 1)
    ...     return torch.nn.functional.one_hot(following.clamp(min=0), 6).float()
    >>> write(count_down, batch=1, max_len=9)
    tensor([[5, 4, 3, 2]])
    """
    tgt = torch.full((batch, 1), BOS)
    ended = torch.zeros(batch, dtype=torch.bool)
    while tgt.shape[1] <= max_len and not ended.all():
        following = decode(tgt)[:, -1].argmax(dim=-1).masked_fill(ended, PAD)
        tgt = torch.cat([tgt, following[:, None]], dim=1)
        ended = ended | (following == EOS)
    return tgt[:, 1:]


def into_a_full_table(decode, batch, max_len):
    tgt = torch.full((batch, max_len + 1), PAD)
    tgt[:, 0] = BOS
    going = torch.ones(batch, dtype=torch.bool)
    for t in range(max_len):
        best = decode(tgt[:, : t + 1])[:, t].argmax(dim=-1)
        tgt[going, t + 1] = best[going]
        going &= best != EOS
    return tgt[:, 1:]


def cleaned_afterwards(decode, batch, max_len):
    tgt = torch.tensor([[BOS]] * batch)
    for _step in range(max_len):
        tgt = torch.cat([tgt, decode(tgt)[:, -1:].argmax(dim=-1)], dim=1)
    ends = (tgt == EOS).long()
    return tgt.masked_fill(ends.cumsum(dim=1) - ends > 0, PAD)[:, 1:]


def sentence_by_sentence(decode, batch, max_len):
    rows = [[] for _sentence in range(batch)]
    for _step in range(max_len):
        logits = decode(torch.tensor([[BOS, *row] for row in rows]))
        for row, scores in zip(rows, logits[:, -1], strict=True):
            row.append(PAD if EOS in row else int(scores.argmax()))
    return torch.tensor(rows)


class Decoder:
    """A decoder with known logits: what follows depends on every token so far, up to each position."""

    VOCAB = 9

    def __init__(self, seed, batch):
        generator = seeded(seed)
        self.batch = batch
        self.logits = torch.randn(batch, 13, self.VOCAB, generator=generator)
        self.logits[:, :, EOS] += 0.3
        self.logits[:, :, [PAD, BOS]] = -9.0  # a trained decoder writes neither

    def __call__(self, tgt_in):
        if tgt_in.dim() != 2 or len(tgt_in) != self.batch:
            raise ValueError(
                f"decode expected ids of shape ({self.batch}, n), all that is written so far, got {tuple(tgt_in.shape)}"
            )
        states = (3 * tgt_in.long() + 1).cumsum(dim=1) % 13
        return torch.stack([logits[row] for logits, row in zip(self.logits, states, strict=True)])

    def __repr__(self):
        return "<a decoder with known logits>"


def _loop(
    choose=lambda logits: logits[:, -1].argmax(dim=-1),
    first=BOS,
    feed=lambda tgt: tgt,
    clean=True,
    stop=lambda ended: ended.all(),
    steps=lambda max_len: max_len,
    behind=PAD,
    kept=lambda tgt: tgt[:, 1:],
):
    """The right answer with some of its steps exchanged."""

    def wrong(decode, batch, max_len):
        tgt, ended = torch.full((batch, 1), first), torch.zeros(batch, dtype=torch.bool)
        for _step in range(steps(max_len)):
            following = choose(decode(feed(tgt)))
            following = following.masked_fill(ended, behind) if clean else following
            tgt = torch.cat([tgt, following[:, None]], dim=1)
            ended = ended | (following == EOS)
            if stop(ended):
                break
        return kept(tgt)

    return wrong


def _forgets_who_has_ended(decode, batch, max_len):
    tgt, ended = torch.full((batch, 1), BOS), torch.zeros(batch, dtype=torch.bool)
    while tgt.shape[1] <= max_len and not ended.all():
        following = decode(tgt)[:, -1].argmax(dim=-1).masked_fill(ended, PAD)
        tgt, ended = torch.cat([tgt, following[:, None]], dim=1), following == EOS
    return tgt[:, 1:]


def _all_at_once(decode, batch, max_len):
    return decode(torch.full((batch, max_len), BOS)).argmax(dim=-1)


EXERCISE = Exercise(
    title="Write until all have ended",
    task="decode(tgt_in (batch, n)) returns logits (batch, n, vocab_size) for all positions. Start from BOS, take the "
    "likeliest token at every step, at most max_len of them, and return ids (batch, length) without BOS: each sentence "
    "with its EOS, and PAD behind it.",
    reference=write,
    canonical=without_trailing_pads,
    cases=lambda: [
        case(Decoder(0, 1), 1, 4, about="one sentence"),
        case(Decoder(1, 5), 5, 12, about="sentences that end at different steps"),
        case(Decoder(2, 3), 3, 9, about="three sentences"),
        case(Decoder(4, 7), 7, 4, about="some do not end in time"),
        case(Decoder(5, 9), 9, 9, about="as many sentences as words in the vocabulary"),
    ],
    mistakes=(
        Mistake(
            "sees-the-begin-alone",
            _loop(choose=lambda logits: logits[:, 0].argmax(dim=-1)),
            "Your next word has seen BOS alone, so it is the same at every step. Give the decoder all that is written "
            "so far, and take the output at the *last* position, which has read it.",
        ),
        Mistake(
            "feeds-the-last-token-alone",
            _loop(feed=lambda tgt: tgt[:, -1:]),
            "Each step reads the last token alone. This decoder has no state, so give it all that is written so far.",
        ),
        Mistake(
            "all-at-once",
            _all_at_once,
            "You write all positions in one call, each from BOS alone. A position must read what stands before it, "
            "which is known one step later.",
        ),
        Mistake(
            "stops-at-the-first-end",
            _loop(stop=lambda ended: ended.any()),
            "You stop as soon as *one* sentence has ended, and the others are cut off. Go on until all have.",
        ),
        Mistake(
            "stops-when-sentence-0-ends",
            _loop(stop=lambda ended: ended[0]),
            "You stop when sentence 0 has ended, and longer ones are cut off. Go on until all have.",
        ),
        Mistake(
            "junk-after-the-end",
            _loop(clean=False, stop=lambda ended: False),
            "Right up to the end of each sentence. Behind its EOS, tokens follow that nobody asked for: write PAD.",
        ),
        Mistake(
            "junk-until-all-have-ended",
            _loop(clean=False),
            "Right up to the end of each sentence. Behind its EOS, a sentence goes on while the others are still "
            "writing: write PAD there.",
        ),
        Mistake(
            "forgets-who-has-ended",
            _forgets_who_has_ended,
            "A sentence that has ended gets one PAD and then begins again: at each step you remember only who ends "
            "*now*. Once ended, a sentence stays ended.",
        ),
        Mistake(
            "end-not-written",
            lambda decode, batch, max_len: (written := write(decode, batch, max_len)).masked_fill(written == EOS, PAD),
            "The words are right, and EOS is missing: it belongs to what is written, so that one can tell a finished "
            "sentence from one that was cut off.",
        ),
        Mistake(
            "end-repeated",
            _loop(behind=EOS),
            "Each sentence goes on with EOS until the longest has ended. One EOS is enough; behind it stands PAD.",
        ),
        Mistake(
            "begin-kept",
            _loop(kept=lambda tgt: tgt),
            "The decoder is given BOS and does not write it: leave the first column out.",
        ),
        Mistake(
            "begin-kept-and-cut",
            _loop(kept=lambda tgt: tgt, steps=lambda max_len: max_len - 1),
            "BOS is counted as a written token, so the last one is missing. Leave BOS out of the result.",
        ),
        Mistake(
            "starts-from-the-end-token",
            _loop(first=EOS),
            "The first token that the decoder reads is BOS (1). Yours starts from EOS (2).",
        ),
        Mistake(
            "starts-from-pad",
            _loop(first=PAD),
            "The first token that the decoder reads is BOS (1). Yours starts from 0, which is PAD.",
        ),
        Mistake(
            "one-step-short",
            _loop(steps=lambda max_len: max_len - 1),
            "One token too few: up to `max_len` tokens may be written, and BOS is none of them.",
        ),
        Mistake(
            "one-step-long",
            _loop(steps=lambda max_len: max_len + 1),
            "One token too many: at most `max_len` tokens may be written.",
        ),
    ),
    hints=(
        "Two things change from step to step: the table of what is written, and which sentences have ended.",
        "Decode all that is written so far, take the *last* position's likeliest token, replace it by PAD where the "
        "sentence has ended, and append it as a new column.",
        "`following = decode(tgt)[:, -1].argmax(dim=-1).masked_fill(ended, PAD)`, then "
        "`torch.cat([tgt, following[:, None]], dim=1)`.",
    ),
    alternatives=(into_a_full_table, cleaned_afterwards, sentence_by_sentence),
    difficulty=2,
    minutes=15,
)
