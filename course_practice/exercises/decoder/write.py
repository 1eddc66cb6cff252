import torch

from course_lib.tokens import BOS, EOS, PAD
from course_practice.engine import Exercise, case
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
        return self.logits[torch.arange(self.batch)[:, None], states]

    def __repr__(self):
        return "<a decoder with known logits>"


EXERCISE = Exercise(
    reference=write,
    canonical=without_trailing_pads,
    cases=lambda: [
        case(Decoder(0, 1), 1, 4, about="one sentence"),
        case(Decoder(1, 5), 5, 12, about="sentences that end at different steps"),
        case(Decoder(2, 3), 3, 9, about="three sentences"),
        case(Decoder(4, 7), 7, 4, about="some do not end in time"),
        case(Decoder(5, 9), 9, 9, about="as many sentences as words in the vocabulary"),
    ],
    alternatives=(into_a_full_table,),
)
