"""Exercise: write until the end."""

import torch

from course_lib.tokens import BOS, EOS, PAD
from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.inputs import seeded
from course_practice.exercises.written import without_trailing_pads


def greedy(step, state, max_len):
    """The likeliest token at every step, for all sentences side by side, shape (batch, at most max_len).

    `step(tokens, state)` takes each sentence's last token (batch,) and returns (logits (batch, vocab_size), state).
    A sentence ends with its EOS; what stands behind it is PAD.

    >>> def count(tokens, state):  # scores the state's own number highest, and counts down
    ...     return torch.nn.functional.one_hot(state, 6).float(), state - 1
    >>> greedy(count, torch.tensor([4, 3]), max_len=4)
    tensor([[4, 3, 2],
            [3, 2, 0]])
    """
    tokens = torch.full((len(state),), BOS)
    ended = torch.zeros(len(state), dtype=torch.bool)
    written = []
    for _step in range(max_len):
        logits, state = step(tokens, state)
        tokens = logits.argmax(dim=-1).masked_fill(ended, PAD)
        written.append(tokens)
        ended = ended | (tokens == EOS)
        if ended.all():
            break
    return torch.stack(written, dim=1)


def cleaned_afterwards(step, state, max_len):
    tokens, written = torch.full((len(state),), BOS), []
    for _step in range(max_len):
        logits, state = step(tokens, state)
        tokens = logits.max(dim=1).indices
        written.append(tokens)
    written = torch.stack(written, dim=1)
    ends_before = (written == EOS).cumsum(dim=1) - (written == EOS).long()
    return torch.where(ends_before > 0, torch.full_like(written, PAD), written)


def by_recursion(step, state, max_len):
    def rest(tokens, state, ended, left):
        if left == 0:
            return []
        logits, state = step(tokens, state)
        best = torch.where(ended, torch.tensor(PAD), logits.argmax(dim=-1))
        return [best, *rest(best, state, ended | (best == EOS), left - 1)]

    batch = len(state)
    start = torch.full((batch,), BOS)
    return torch.stack(rest(start, state, torch.zeros(batch).bool(), max_len), dim=1)


def with_lists(step, state, max_len):
    rows = [[] for _sentence in range(len(state))]
    tokens = torch.tensor([BOS] * len(rows))
    for _step in range(max_len):
        logits, state = step(tokens, state)
        best = logits.argmax(dim=1).tolist()
        for row, token in zip(rows, best, strict=True):
            row.append(PAD if EOS in row else token)
        tokens = torch.tensor(best)
    return torch.tensor(rows)


def into_a_full_table(step, state, max_len):
    written = torch.full((len(state), max_len), PAD)
    tokens, going = torch.full((len(state),), BOS), torch.ones(len(state), dtype=torch.bool)
    for t in range(max_len):
        logits, state = step(tokens, state)
        tokens = logits.argmax(dim=-1)
        written[going, t] = tokens[going]
        going = going & (tokens != EOS)
        if not going.any():
            return written
    return written


class Automaton:
    """A decoder with known logits: what it writes depends on its state, and on the token it was given."""

    STATES, VOCAB = 13, 9

    def __init__(self, seed):
        generator = seeded(seed)
        self.logits = torch.randn(self.STATES, self.VOCAB, generator=generator)
        self.logits[:, EOS] += 0.5

    def __call__(self, tokens, state):
        if tuple(tokens.shape) != tuple(state.shape):
            raise ValueError(
                f"step expected one token for each of {len(state)} sentences, shape ({len(state)},), "
                f"got {tuple(tokens.shape)}"
            )
        state = (5 * state + tokens + 1) % self.STATES
        return self.logits[state], state

    def __repr__(self):
        return "<a decoder with known logits>"


def _loop(
    choose=lambda logits: logits.argmax(dim=-1),
    first=BOS,
    feed=lambda tokens: tokens,
    keep=True,
    clean=True,
    stop=lambda ended: ended.all(),
    steps=lambda max_len: max_len,
    behind=PAD,
):
    """The right answer with some of its steps exchanged."""

    def wrong(step, state, max_len):
        tokens, ended = torch.full((len(state),), first), torch.zeros(len(state), dtype=torch.bool)
        written = []
        for _step in range(steps(max_len)):
            logits, new = step(tokens, state)
            state = new if keep else state
            best = choose(logits)
            best = best.masked_fill(ended, behind) if clean else best
            written.append(best)
            ended = ended | (best == EOS)
            tokens = feed(best)
            if stop(ended):
                break
        return torch.stack(written, dim=1)

    return wrong


def _until_all_at_once(step, state, max_len):
    tokens, written = torch.full((len(state),), BOS), []
    for _step in range(max_len):
        logits, state = step(tokens, state)
        tokens = logits.argmax(dim=-1)
        written.append(tokens)
        if (tokens == EOS).all():
            break
    return torch.stack(written, dim=1)


def _ended_in_this_step(step, state, max_len):
    tokens, ended = torch.full((len(state),), BOS), torch.zeros(len(state), dtype=torch.bool)
    written = []
    for _step in range(max_len):
        logits, state = step(tokens, state)
        tokens = logits.argmax(dim=-1).masked_fill(ended, PAD)
        written.append(tokens)
        ended = tokens == EOS
        if ended.all():
            break
    return torch.stack(written, dim=1)


def _last_end_not_written(step, state, max_len):
    tokens, ended = torch.full((len(state),), BOS), torch.zeros(len(state), dtype=torch.bool)
    written = []
    for _step in range(max_len):
        logits, state = step(tokens, state)
        tokens = logits.argmax(dim=-1).masked_fill(ended, PAD)
        ended = ended | (tokens == EOS)
        if ended.all():
            break
        written.append(tokens)
    return torch.stack(written, dim=1)


def _end_not_written(step, state, max_len):
    written = greedy(step, state, max_len)
    return written.masked_fill(written == EOS, PAD)


def _begin_kept(cut):
    def wrong(step, state, max_len):
        written = greedy(step, state, max_len)
        begin = torch.full_like(written[:, :1], BOS)
        return torch.cat([begin, written], dim=1)[:, : max_len if cut else None]

    return wrong


EXERCISE = Exercise(
    title="Write until the end",
    task="Write with a decoder: step(tokens (batch,), state) returns (logits (batch, vocab_size), state). Start with "
    "BOS and take the likeliest token at every step, at most max_len of them. Return ids (batch, length): each "
    "sentence with its EOS, and PAD behind it.",
    reference=greedy,
    canonical=without_trailing_pads,
    cases=lambda: [
        case(Automaton(0), torch.tensor([3]), 4, about="one sentence"),
        case(Automaton(1), torch.tensor([0, 1, 2, 3, 4]), 12, about="sentences that end at different steps"),
        case(Automaton(2), torch.tensor([7, 2, 9]), 9, about="three sentences"),
        case(Automaton(3), torch.tensor([1, 4, 6, 8, 10, 12, 0]), 5, about="some do not end in time"),
        case(Automaton(5), torch.arange(9), 7, about="as many sentences as words in the vocabulary"),
    ],
    mistakes=(
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
            "stops-when-sentence-0-ends-and-junk",
            _loop(clean=False, stop=lambda ended: ended[0]),
            "Two things. You stop when sentence 0 has ended, and longer ones are cut off; and a sentence that ended "
            "before goes on behind its EOS, where PAD belongs.",
        ),
        Mistake(
            "forgets-who-has-ended",
            _ended_in_this_step,
            "A sentence that has ended begins to write again: you remember only who ended in the step before. Once "
            "ended is ended for good: `ended | (tokens == EOS)`.",
        ),
        Mistake(
            "last-end-not-written",
            _last_end_not_written,
            "The loop is left before the last step is kept, so the EOS of the sentence that ends last is missing. "
            "Keep the tokens first, then ask whether all have ended.",
        ),
        Mistake(
            "tokens-with-an-axis-too-many",
            lambda step, state, max_len: step(torch.full((len(state), 1), BOS), state),
            "You hand `step` a column, (batch, 1), where it takes one number for each sentence, (batch,). Start with "
            "`torch.full((len(state),), BOS)`, and join the steps with `torch.stack(…, dim=1)`.",
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
            "stops-when-all-end-at-once",
            _until_all_at_once,
            "You stop when all tokens of *one step* are EOS. Sentences end at different steps: remember which have "
            "ended, and write PAD for those.",
        ),
        Mistake(
            "end-not-written",
            _end_not_written,
            "The words are right, and EOS is missing: it belongs to what is written, so that one can tell a finished "
            "sentence from one that was cut off.",
        ),
        Mistake(
            "end-repeated",
            _loop(behind=EOS),
            "Each sentence goes on with EOS until the longest has ended. One EOS is enough; behind it stands PAD.",
        ),
        Mistake(
            "state-not-kept",
            _loop(keep=False),
            "Every step starts from the first state: the new one that `step` returns is thrown away. Keep it.",
        ),
        Mistake(
            "always-feeds-the-begin",
            _loop(feed=lambda tokens: torch.full_like(tokens, BOS)),
            "Every step reads BOS. From the second step on the decoder reads the token it has just written.",
        ),
        Mistake(
            "state-not-kept-and-always-feeds-the-begin",
            _loop(keep=False, feed=lambda tokens: torch.full_like(tokens, BOS)),
            "Each step does the same again: it reads BOS and starts from the first state. Both must move on.",
        ),
        Mistake(
            "begin-kept",
            _begin_kept(cut=False),
            "The decoder is given BOS and does not write it: leave the first column out.",
        ),
        Mistake(
            "begin-kept-and-cut",
            _begin_kept(cut=True),
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
            "least-likely",
            _loop(choose=lambda logits: logits.argmin(dim=-1)),
            "You take the *least* likely token: the largest logit is the likeliest.",
        ),
        Mistake(
            "argmax-over-the-batch",
            _loop(choose=lambda logits: logits.argmax(dim=0)),
            "Your argmax runs over the sentences, and says which one fits a word best. Each sentence chooses among the "
            "words: the last axis.",
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
        Mistake(
            "axes-swapped",
            lambda step, state, max_len: greedy(step, state, max_len).T,
            "Your rows are steps and your columns sentences: stack the steps along axis 1.",
        ),
    ),
    hints=(
        "What must each sentence remember from one step to the next? Three things: its last token, its state, and "
        "whether it has ended.",
        "Go on until all sentences have ended. One that has ended runs along, but what it writes is replaced by PAD.",
        "`tokens = logits.argmax(dim=-1).masked_fill(ended, PAD)`, and then `ended = ended | (tokens == EOS)`.",
    ),
    alternatives=(cleaned_afterwards, by_recursion, with_lists, into_a_full_table),
    difficulty=2,
    minutes=15,
)
