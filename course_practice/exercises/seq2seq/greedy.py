import torch

from course_lib.tokens import BOS, EOS, PAD
from course_practice.engine import Exercise, case
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


EXERCISE = Exercise(
    reference=greedy,
    canonical=without_trailing_pads,
    cases=lambda: [
        case(Automaton(0), torch.tensor([3]), 4, about="one sentence"),
        case(Automaton(1), torch.tensor([0, 1, 2, 3, 4]), 12, about="sentences that end at different steps"),
        case(Automaton(2), torch.tensor([7, 2, 9]), 9, about="three sentences"),
        case(Automaton(3), torch.tensor([1, 4, 6, 8, 10, 12, 0]), 5, about="some do not end in time"),
        case(Automaton(5), torch.arange(9), 7, about="as many sentences as words in the vocabulary"),
    ],
    alternatives=(cleaned_afterwards,),
)
