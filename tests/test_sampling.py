"""Sampling against its odds and against Hugging Face's filters."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.sampling import sample, top_k_filter, top_p_filter
from course_lib.tokens import EOS, PAD


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 12), st.floats(0.05, 0.99), st.integers(0, 999))
def test_filters_equal_hugging_faces(k, p, seed):
    process = pytest.importorskip("transformers.generation.logits_process")
    torch.manual_seed(seed)
    logits = 3 * torch.randn(3, 11, dtype=torch.float64)
    ids = torch.zeros(3, 1, dtype=torch.long)
    assert torch.equal(top_k_filter(logits, k), process.TopKLogitsWarper(k)(ids, logits))
    assert torch.equal(top_p_filter(logits, p), process.TopPLogitsWarper(p)(ids, logits))


def test_top_p_keeps_at_least_one_word():
    assert top_p_filter(torch.tensor([1.0, 2.0]), 0.0).tolist() == [-math.inf, 2.0]


LOGITS = torch.tensor([0.0, 0.0, 0.0, 0.0, 0.6, 0.25, 0.15]).log()


def fixed(tokens, state):
    return LOGITS.expand(*tokens.shape, -1), state + 1


@pytest.mark.parametrize(
    ("options", "odds"),
    [
        ({}, [0.6, 0.25, 0.15]),
        ({"temperature": 0.5}, [0.36 / 0.445, 0.0625 / 0.445, 0.0225 / 0.445]),
        ({"top_k": 2}, [0.6 / 0.85, 0.25 / 0.85, 0.0]),
        ({"top_p": 0.61}, [0.6 / 0.85, 0.25 / 0.85, 0.0]),
        ({"top_p": 0.5}, [1.0, 0.0, 0.0]),
        ({"top_k": 1, "temperature": 9.0}, [1.0, 0.0, 0.0]),
    ],
)
def test_samples_come_with_their_odds(options, odds):
    generator = torch.Generator().manual_seed(0)
    drawn = sample(fixed, 0, torch.ones(50, 40, dtype=torch.long), 3, generator=generator, **options)
    assert drawn.shape == (50, 40, 3)
    shares = torch.stack([(drawn == word).double().mean() for word in (4, 5, 6)])
    torch.testing.assert_close(shares, torch.tensor(odds, dtype=torch.float64), rtol=0, atol=0.03)
    again = sample(fixed, 0, torch.ones(50, 40, dtype=torch.long), 3, generator=generator.manual_seed(0), **options)
    assert torch.equal(drawn, again)


def test_sampling_stops_at_eos_with_pads_behind():
    script = torch.tensor([[4, 5, EOS, 6, 6], [4, EOS, 6, 6, 6]])

    def step(tokens, t):
        return torch.nn.functional.one_hot(script[:, t : t + 1], 7) * 100.0, t + 1

    assert sample(step, 0, torch.ones(2, 1, dtype=torch.long), 5).tolist() == [[[4, 5, EOS]], [[4, EOS, PAD]]]
    assert sample(step, 0, torch.ones(2, 1, dtype=torch.long), 2).tolist() == [[[4, 5]], [[4, EOS]]]
    assert sample(step, 0, torch.ones(2, 1, dtype=torch.long), 0).shape == (2, 1, 0)


def test_where_every_id_is_a_word_a_row_ends_with_what_is_none():
    """Vocabularies from elsewhere have a word with the id 0, and no model looks up -1."""
    script, read = torch.tensor([[4, 0, EOS], [EOS, 6, 6]]), []

    def step(tokens, t):
        read.append(tokens.flatten().tolist())
        return torch.nn.functional.one_hot(script[:, t : t + 1], 7) * 100.0, t + 1

    drawn = sample(step, 0, torch.tensor([[0], [5]]), 3, pad_id=-1)
    assert drawn.tolist() == [[[4, 0, EOS]], [[EOS, -1, -1]]]
    assert min(min(tokens) for tokens in read) >= 0


@pytest.mark.parametrize(("tokens", "pad_id"), [([[PAD]], PAD), ([[5], [PAD]], PAD), ([[5, 6], [7, 9]], 9)])
def test_a_prompt_that_ends_in_a_pad_is_refused(tokens, pad_id):
    message = f"expected a word at the end of each prompt, got the pad {pad_id}: pad prompts on the left"
    with pytest.raises(ValueError, match=message):
        sample(fixed, 0, torch.tensor(tokens), 3, pad_id=pad_id)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("size", [2000, 32_000, 128_256])
def test_top_p_of_one_keeps_every_word(dtype, size):
    logits = 3 * torch.randn(size, generator=torch.Generator().manual_seed(0), dtype=torch.float64).to(dtype)
    assert torch.equal(top_p_filter(logits, p=1.0), logits)
    assert torch.equal(top_p_filter(logits, p=1), logits)


@pytest.mark.parametrize("temperature", [0.0, -1.0])
def test_a_temperature_of_nothing_is_refused(temperature):
    message = f"expected a temperature above 0, got {temperature}: for the most probable word use top_k=1"
    with pytest.raises(ValueError, match=message):
        sample(fixed, 0, torch.ones(1, 1, dtype=torch.long), 3, temperature=temperature)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"top_k": 0}, "expected top_k as a whole number of at least 1, got 0"),
        ({"top_k": 1.5}, "expected top_k as a whole number of at least 1, got 1.5"),
        ({"max_len": math.nan}, "expected max_len as a whole number of at least 0, got nan"),
        ({"top_p": 90}, "expected top_p from 0 to 1, got 90"),
        ({"top_p": math.nan}, "expected top_p from 0 to 1, got nan"),
        ({"temperature": math.nan}, "expected a temperature above 0, got nan"),
    ],
)
def test_impossible_choices_are_refused(options, message, unchecked):
    with pytest.raises(ValueError, match=message):
        sample(lambda *given: (torch.zeros(1, 1, 5), None), None, torch.tensor([[1]]), **{"max_len": 1, **options})


@pytest.mark.parametrize("logits", [[0.0, math.nan], [0.0, math.inf], [-math.inf, -math.inf]])
def test_logits_without_a_largest_number_are_refused(logits):
    message = "expected a finite largest logit, got NaN or infinity: mend `step`, or the temperature"
    for options in ({}, {"top_k": 1}, {"top_p": 0.5}):
        with pytest.raises(ValueError, match=message):
            sample(lambda *given: (torch.tensor([[logits]]), None), None, torch.tensor([[1]]), 1, **options)


@pytest.mark.parametrize("number", [-1, 1.5, math.nan, None, "1"])
def test_filters_refuse_what_leaves_no_word(number, unchecked):
    for k in (0, number):
        with pytest.raises(ValueError, match=f"expected k as a whole number of at least 1, got {k!r}: it counts"):
            top_k_filter(torch.randn(5), k=k)
    with pytest.raises(ValueError, match=f"expected p from 0 to 1, got {number!r}: choose another"):
        top_p_filter(torch.randn(5), p=number)


def test_top_p_adds_up_in_single_precision():
    logits = torch.randn(2000, generator=torch.Generator().manual_seed(0)).bfloat16()
    kept = [top_p_filter(x, p=0.99).isfinite().sum().item() for x in (logits, logits.float())]
    assert kept[0] == kept[1]
