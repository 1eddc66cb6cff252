"""Search: greedy, beam and exhaustive agree where they must, with each other and with Hugging Face's `generate`."""

import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.beam_search import beam_search, greedy_search, largest
from course_lib.beam_search.judges import exact_search, exhaustive_search
from course_lib.tokens import BOS, EOS, PAD


class Prefixes:
    """The state of a fake model: the tokens written so far, (batch, beam, length), and what sentence each row is."""

    def __init__(self, tokens, sentence):
        self.tokens, self.sentence = tokens, sentence

    def reorder(self, parents):
        return Prefixes(self.tokens.gather(1, parents[..., None].expand(-1, -1, self.tokens.shape[-1])), self.sentence)

    def keep(self, rows):
        return Prefixes(self.tokens[rows], self.sentence[rows])


class FakeModel:
    """Known logits: a function of the sentence's number and of the tokens written so far."""

    def __init__(self, logits):
        self.logits = logits
        self.calls = 0

    def start(self, batch=1):
        return Prefixes(torch.empty(batch, 1, 0, dtype=torch.long), torch.arange(batch))

    def step(self, tokens, state):
        self.calls += 1
        state = Prefixes(torch.cat([state.tokens, tokens[..., None]], dim=-1), state.sentence)
        logits = [
            torch.stack([self.logits(sentence, *prefix[1:]) for prefix in beams])
            for sentence, beams in zip(state.sentence.tolist(), state.tokens.tolist(), strict=True)
        ]
        return torch.stack(logits), state


def random_model(vocab_size, seed=0, spread=2.0):
    """Logits drawn afresh for every sentence and prefix, the same at every call."""

    def logits(sentence, *prefix):
        number = hash((seed, sentence, *prefix)) % (2**31)
        return spread * torch.randn(vocab_size, generator=torch.Generator().manual_seed(number), dtype=torch.float64)

    return FakeModel(logits)


def table_model(table, vocab_size=6):
    """Probabilities of the next token by prefix; what is not named has probability zero, or ends."""

    def logits(sentence, *prefix):
        row = torch.zeros(vocab_size, dtype=torch.float64)
        for token, p in table.get(prefix, {EOS: 1.0}).items():
            row[token] = p
        return row.log()

    return FakeModel(logits)


A, B, C = 3, 4, 5
# Greedy takes A (0.6) and is left with 0.5; B (0.4) followed by a sure ending is worth more than A and its best one.
GARDEN_PATH = {
    (): {A: 0.6, B: 0.4},
    (A,): {A: 0.5, EOS: 0.5},
    (B,): {EOS: 1.0},
    (A, A): {EOS: 1.0},
}


def test_best_first_word_can_be_wrong():
    model = table_model(GARDEN_PATH)
    greedy = greedy_search(model.step, model.start(), 1, max_len=5)[0]
    beam = beam_search(model.step, model.start(), 1, 2, max_len=5, length_penalty=0.0)[0][0]
    assert (greedy.tokens[0], math.exp(greedy.log_prob)) == (A, pytest.approx(0.3))
    assert (beam.tokens, math.exp(beam.log_prob)) == ([B], pytest.approx(0.4))


def test_log_probability_and_length_count_the_end():
    model = table_model(GARDEN_PATH)
    (found,) = beam_search(model.step, model.start(), 1, 1, max_len=5)
    assert found[0].length == len(found[0].tokens) + 1
    assert found[0].finished


def test_length_penalty_divides_each_hypothesis_by_its_own_length():
    # ln 0.5 against 4 · ln 0.85 in four tokens: the penalty turns the order round.
    chain = {(): {A: 0.5, B: 0.5}, (A,): {EOS: 1.0}, (B,): {B: 0.9, A: 0.1}, (B, A): {EOS: 1.0}}
    chain |= {(B, B): {B: 0.9, A: 0.1}, (B, B, A): {EOS: 1.0}, (B, B, B): {EOS: 1.0}}
    model = table_model(chain)
    winners = {
        alpha: beam_search(model.step, model.start(), 1, 4, max_len=6, length_penalty=alpha, exact=True)[0][0].tokens
        for alpha in (0.0, 1.0)
    }
    assert winners == {0.0: [A], 1.0: [B, B, B]}


def test_longer_hypothesis_that_wins_after_normalization_is_waited_for():
    # The short one ends at once; the long one is better per token only when it is complete.
    table = {(): {EOS: 0.4, A: 0.6}, (A,): {A: 1.0}, (A, A): {A: 1.0}, (A, A, A): {EOS: 1.0}}
    model = table_model(table)
    found = beam_search(model.step, model.start(), 1, 1, max_len=8, length_penalty=1.0)[0]
    assert found[0].tokens == [A, A, A]


@pytest.mark.parametrize("seed", range(12))
def test_beam_of_one_is_greedy(seed):
    # With one beam and no length penalty the first ending closes the sentence, as in greedy search, unless the
    # unfinished beam is the more probable one; greedy search, too, would have gone on with it.
    model = random_model(7, seed)
    greedy = greedy_search(model.step, model.start(4), 4, max_len=6)
    beam = beam_search(model.step, model.start(4), 4, 1, max_len=6, length_penalty=0.0)
    assert [h.tokens for h in greedy] == [found[0].tokens for found in beam]
    assert [h.log_prob for h in greedy] == pytest.approx([found[0].log_prob for found in beam])


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0, 2.0])
@pytest.mark.parametrize("seed", range(5))
def test_beam_of_everything_is_exhaustive(alpha, seed):
    vocab_size, max_len = 5, 4
    model = random_model(vocab_size, seed)
    judge = exhaustive_search(model.step, model.start(), max_len, alpha)
    found = beam_search(model.step, model.start(), 1, vocab_size**max_len, max_len, alpha, exact=True)[0]
    found = [h for h in found if h.finished]
    assert [h.tokens for h in found] == [h.tokens for h in judge]
    assert [h.log_prob for h in found] == pytest.approx([h.log_prob for h in judge], abs=1e-12)


def test_exhaustive_search_scores_every_sentence_once():
    vocab_size, max_len = 6, 3
    model = random_model(vocab_size)
    found = exhaustive_search(model.step, model.start(), max_len, 0.0)
    letters = [t for t in range(vocab_size) if t not in (PAD, BOS, EOS)]
    expected = [list(w) for n in range(max_len) for w in itertools.product(letters, repeat=n)]
    assert sorted(h.tokens for h in found) == sorted(expected)
    for h in found[:5]:
        by_hand = sum(model.logits(0, *h.tokens[:n]).log_softmax(-1)[t] for n, t in enumerate([*h.tokens, EOS]))
        assert h.log_prob == pytest.approx(by_hand.item(), abs=1e-12)


@settings(max_examples=25)
@given(batch=st.integers(1, 5), beam_size=st.integers(1, 4), vocab_size=st.integers(4, 9), seed=st.integers(0, 99))
def test_batched_or_single_is_the_same(batch, beam_size, vocab_size, seed):
    model = random_model(vocab_size, seed)
    together = beam_search(model.step, model.start(batch), batch, beam_size, max_len=5)
    for number in range(batch):
        alone = beam_search(model.step, model.start(batch).keep(torch.tensor([number])), 1, beam_size, max_len=5)[0]
        assert [h.tokens for h in together[number]] == [h.tokens for h in alone]
        assert [h.log_prob for h in together[number]] == pytest.approx([h.log_prob for h in alone])


@settings(max_examples=25)
@given(beam_size=st.integers(1, 6), seed=st.integers(0, 99), alpha=st.sampled_from([0.0, 0.6, 1.0]))
def test_result_is_well_formed(beam_size, seed, alpha):
    model = random_model(7, seed)
    for found in beam_search(model.step, model.start(), 1, beam_size, max_len=6, length_penalty=alpha):
        assert 1 <= len(found) <= beam_size
        assert len({tuple(h.tokens) for h in found}) == len(found)
        for h in found:
            assert not {PAD, BOS, EOS} & set(h.tokens)
            assert h.length <= 6
            steps = [*h.tokens, EOS][: h.length]
            by_hand = [model.logits(0, *h.tokens[:n]).log_softmax(-1)[token].item() for n, token in enumerate(steps)]
            assert h.log_prob == pytest.approx(sum(by_hand))
        finished = [h for h in found if h.finished]
        assert found[: len(finished)] == finished
        scores = [h.score(alpha) for h in finished]
        assert scores == sorted(scores, reverse=True)


def test_unfinished_hypotheses_come_last_and_say_so():
    model = table_model({(A,) * n: {A: 0.9, EOS: 0.1} for n in range(5)})
    found = beam_search(model.step, model.start(), 1, 2, max_len=3)[0]
    assert [h.finished for h in found] == [True, True]
    never = table_model({(A,) * n: {A: 1.0} for n in range(5)})
    found = beam_search(never.step, never.start(), 1, 2, max_len=3)[0]
    assert [(h.tokens, h.finished) for h in found] == [([A, A, A], False)]
    greedy = greedy_search(never.step, never.start(), 1, max_len=3)[0]
    assert (greedy.tokens, greedy.finished) == ([A, A, A], False)


def test_finished_sentences_cost_no_more_steps():
    model = table_model({(): {EOS: 1.0}})
    assert greedy_search(model.step, model.start(3), 3, max_len=50)[0].tokens == []
    assert model.calls == 1


def test_suppressed_tokens_are_never_written():
    model = random_model(6, seed=1)
    found = beam_search(model.step, model.start(), 1, 3, max_len=4, suppress=(PAD, BOS, EOS))[0]
    assert all(not h.finished and h.length == 4 for h in found)


@pytest.mark.parametrize("suppress", [(-1,), (PAD, BOS, -4)])
def test_a_token_before_the_first_is_refused_and_is_not_the_last(suppress, unchecked):
    for search in (greedy_search, lambda *given, **named: beam_search(*given, beam_size=2, **named)):
        with pytest.raises(ValueError, match=f"expected suppress as a whole number of at least 0, got {suppress[-1]}"):
            search(None, None, batch=1, max_len=3, suppress=suppress)


def test_empty_batch_gives_nothing():
    model = random_model(6)
    assert beam_search(model.step, model.start(0), 0, 2, max_len=4) == []
    assert greedy_search(model.step, model.start(0), 0, max_len=4) == []


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("beam_size", 0),
        ("beam_size", 1.5),
        ("beam_size", "2"),
        ("max_len", 0),
        ("max_len", float("nan")),
        ("batch", -1),
    ],
)
def test_impossible_sizes_are_refused(name, size, unchecked):
    model, sizes = random_model(6), {"batch": 1, "beam_size": 2, "max_len": 4, name: size}
    with pytest.raises(ValueError, match=f"expected {name} as a whole number of at least [01], got {size!r}"):
        beam_search(model.step, model.start(), **sizes)


def test_half_precision_logits_are_normalized_in_single_precision():
    model = random_model(6, seed=2)
    half = FakeModel(lambda *prefix: model.logits(*prefix).bfloat16())
    found = beam_search(half.step, half.start(), 1, 2, max_len=4)[0][0]
    exact = sum(
        half.logits(0, *found.tokens[:n]).float().log_softmax(-1)[t]
        for n, t in enumerate([*found.tokens, EOS][: found.length])
    )
    assert found.log_prob == pytest.approx(exact.item(), abs=1e-5)


@pytest.mark.parametrize("beam_size", [1, 2, 4])
@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("exact", [False, True])
def test_equal_to_hugging_face_generate(beam_size, alpha, exact):
    transformers = pytest.importorskip("transformers")
    config = transformers.MarianConfig(
        vocab_size=13, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, pad_token_id=PAD, eos_token_id=EOS,
        bos_token_id=BOS, decoder_start_token_id=BOS, forced_eos_token_id=None, max_position_embeddings=64,
        init_std=1.0,
    )  # fmt: skip
    torch.manual_seed(3)
    model = transformers.MarianMTModel(config).double().eval()
    with torch.no_grad():
        model.final_logits_bias[0, EOS] = 4.0
    src = torch.randint(3, 13, (11, 7))
    max_len = 12
    theirs = model.generate(
        input_ids=src, attention_mask=torch.ones_like(src), num_beams=beam_size, do_sample=False,
        max_new_tokens=max_len, length_penalty=alpha, early_stopping="never" if exact else False,
        suppress_tokens=[PAD, BOS],
    )  # fmt: skip

    def step(tokens, state):
        state = Prefixes(torch.cat([state.tokens, tokens[..., None]], dim=-1), state.sentence)
        rows, beams = tokens.shape
        logits = model(
            input_ids=src[state.sentence].repeat_interleave(beams, 0), decoder_input_ids=state.tokens.flatten(0, 1)
        ).logits[:, -1]
        return logits.view(rows, beams, -1), state

    start = Prefixes(torch.empty(len(src), 1, 0, dtype=torch.long), torch.arange(len(src)))
    if beam_size == 1:
        ours = greedy_search(step, start, len(src), max_len)
    else:
        ours = [found[0] for found in beam_search(step, start, len(src), beam_size, max_len, alpha, exact)]
    compared = 0
    for mine, row in zip(ours, theirs[:, 1:].tolist(), strict=True):
        if EOS in row:  # theirs lets a hypothesis that was cut off win over finished ones, ours does not
            assert [*mine.tokens, EOS] == row[: mine.length]
            compared += 1
    assert compared >= 6


@pytest.mark.parametrize("penalty", [-1000.0, 1000.0, float("nan")])
def test_penalties_that_no_number_holds_are_refused(penalty):
    model = random_model(6)
    with pytest.raises(ValueError, match="expected length_penalty from -10 to 10, got"):
        beam_search(model.step, model.start(), 1, 2, max_len=3, length_penalty=penalty)
    with pytest.raises(ValueError, match="expected length_penalty from -10 to 10, got"):
        exhaustive_search(model.step, model.start(), max_len=2, length_penalty=penalty)


def test_scores_that_are_not_numbers_are_refused():
    model = random_model(6)

    def broken(tokens, state):
        logits, state = model.step(tokens, state)
        return logits.index_fill(-1, torch.tensor([4]), torch.nan), state

    for search in (
        lambda: greedy_search(broken, model.start(), 1, max_len=3),
        lambda: beam_search(broken, model.start(), 1, 2, max_len=3),
    ):
        with pytest.raises(ValueError, match="expected scores that are numbers, got NaN"):
            search()


def test_greedy_writes_nothing_where_nothing_may_be_written():
    model = random_model(6)
    (found,) = greedy_search(model.step, model.start(), 1, max_len=3, suppress=range(6))
    assert found == ([], 0.0, False)


def equal_model(vocab_size, dtype=torch.float32, spread=0.0):
    """Every token equally probable after every beginning, or nearly: logits of few different values."""

    def logits(sentence, *prefix):
        generator = torch.Generator().manual_seed(hash((sentence, *prefix)) % (2**31))
        return spread * torch.randint(0, 2, (vocab_size,), generator=generator).to(dtype)

    return FakeModel(logits)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("spread", [0.0, 1.0])
@pytest.mark.parametrize("suppress", [(PAD, BOS), (PAD, BOS, EOS), (PAD, BOS, 3)])
@pytest.mark.parametrize("vocab_size", [5, 40])
def test_beam_of_one_is_greedy_where_all_is_tied(vocab_size, suppress, spread, alpha):
    model = equal_model(vocab_size, spread=spread)
    greedy = greedy_search(model.step, model.start(3), 3, max_len=6, suppress=suppress)
    beam = beam_search(model.step, model.start(3), 3, 1, max_len=6, length_penalty=alpha, suppress=suppress)
    assert [h.tokens for h in greedy] == [found[0].tokens for found in beam]
    assert [h.finished for h in greedy] == [found[0].finished for found in beam]
    assert [h.log_prob for h in greedy] == pytest.approx([found[0].log_prob for found in beam])


def test_beam_of_one_is_greedy_where_nothing_may_follow():
    model = random_model(6)
    (found,) = beam_search(model.step, model.start(), 1, 1, max_len=3, suppress=range(6))
    assert found == greedy_search(model.step, model.start(), 1, max_len=3, suppress=range(6))


@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_beam_of_everything_finds_a_best_sentence_where_all_is_tied(alpha, spread):
    model = equal_model(5, spread=spread)
    judge = exhaustive_search(model.step, model.start(), 3, alpha)
    found = beam_search(model.step, model.start(), 1, 5**3, 3, alpha, exact=True)[0]
    assert sorted(h.tokens for h in found if h.finished) == sorted(h.tokens for h in judge)
    assert found[0].score(alpha) == pytest.approx(judge[0].score(alpha))


@settings(max_examples=60)
@given(
    st.lists(st.lists(st.sampled_from([-math.inf, 0.0, 1.0, 2.0]), min_size=5, max_size=5), min_size=1, max_size=3),
    st.integers(1, 7),
)
def test_the_largest_are_those_of_a_stable_sort(rows, count):
    values, places = largest(torch.tensor(rows), count)
    for row, got_values, got_places in zip(rows, values.tolist(), places.tolist(), strict=True):
        expected = sorted(range(5), key=lambda i: -row[i])[:count]
        assert got_places == expected
        assert got_values == [row[i] for i in expected]


@pytest.mark.parametrize("seed", range(12))
def test_exact_search_finds_what_exhaustive_search_finds(seed):
    model = random_model(6, seed)
    judge = exhaustive_search(model.step, model.start(), 4, length_penalty=0.0)[0]
    found, calls = exact_search(model.step, model.start(), 4)
    assert found.tokens == judge.tokens
    assert found.log_prob == pytest.approx(judge.log_prob, abs=1e-12)
    assert calls <= 1 + 3 + 3**2 + 3**3  # as many as there are beginnings


def test_exact_search_knows_when_it_has_not_finished():
    model = random_model(9, spread=0.1)
    assert exact_search(model.step, model.start(), 9, max_calls=3) == (None, 3)
    never = table_model({(A,) * n: {A: 1.0} for n in range(5)})
    assert exact_search(never.step, never.start(), 3)[0] is None


def test_exact_search_is_not_caught_in_the_garden_path():
    model = table_model(GARDEN_PATH)
    found, calls = exact_search(model.step, model.start(), 5)
    assert (found.tokens, calls) == ([B], 3)


def test_the_default_rule_of_stopping_may_miss_a_longer_winner():
    D = 6
    table = {(): {A: 0.5, B: 0.5}, (A,): {EOS: 0.5, B: 0.25, C: 0.25}, (B,): {C: 0.5, A: 0.25, D: 0.25}}
    table |= {(B, C): {D: 0.5, A: 0.25, B: 0.25}}
    model = table_model(table, vocab_size=7)
    found = [
        beam_search(model.step, model.start(), 1, 2, max_len=8, length_penalty=1.0, exact=exact)[0][0].tokens
        for exact in (False, True)
    ]
    assert found == [[A], [B, C, D]]
