"""Loss and schedules: equal to PyTorch's and to the papers' formulas."""

import inspect
import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from course_lib.fast.loss import linear_cross_entropy
from course_lib.tokens import PAD
from course_lib.training import TrainingSettings, cosine, inverse_sqrt, label_smoothed_loss, noam, plain_loss


@given(
    shape=st.lists(st.integers(1, 7), min_size=1, max_size=3),
    vocab_size=st.integers(2, 11),
    smoothing=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    seed=st.integers(0, 99),
)
def test_equal_to_cross_entropy(shape, vocab_size, smoothing, seed):
    torch.manual_seed(seed)
    logits = torch.randn(*shape, vocab_size, dtype=torch.float64, requires_grad=True)
    targets = torch.randint(0, vocab_size, shape)
    targets.view(-1)[0] = vocab_size - 1 or 1  # at least one real target
    ours = label_smoothed_loss(logits, targets, smoothing)
    theirs = F.cross_entropy(logits.flatten(0, -2), targets.flatten(), ignore_index=PAD, label_smoothing=smoothing)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
    grads = [torch.autograd.grad(loss, logits, retain_graph=True)[0] for loss in (ours, theirs)]
    torch.testing.assert_close(*grads, rtol=0, atol=1e-12)


def test_length_equal_to_vocabulary_is_not_mixed_up():
    logits, targets = torch.randn(2, 5, 5, dtype=torch.float64), torch.randint(1, 5, (2, 5))
    theirs = F.cross_entropy(logits.transpose(1, 2), targets)
    torch.testing.assert_close(label_smoothed_loss(logits, targets, 0.0), theirs)


def test_pads_change_nothing():
    logits, targets = torch.randn(2, 3, 7), torch.randint(1, 7, (2, 3))
    longer = torch.cat([logits, torch.randn(2, 4, 7)], dim=1), F.pad(targets, (0, 4), value=PAD)
    torch.testing.assert_close(label_smoothed_loss(*longer), label_smoothed_loss(logits, targets))


def test_nothing_but_pads_costs_nothing():
    logits = torch.randn(2, 3, 7, requires_grad=True)
    loss = label_smoothed_loss(logits, torch.full((2, 3), PAD))
    loss.backward()
    assert loss == 0
    assert (logits.grad == 0).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_many_tokens_in_half_precision(dtype):
    """Their losses add up to more than float16 can hold."""
    logits, targets = torch.randn(20_000, 50), torch.randint(1, 50, (20_000,))
    loss = label_smoothed_loss(logits.to(dtype), targets)
    torch.testing.assert_close(loss, label_smoothed_loss(logits, targets), rtol=2e-3, atol=0)


def test_sum_is_the_mean_times_the_real_targets():
    class Table(torch.nn.Embedding):
        def forward(self, src, tgt_in):
            return super().forward(tgt_in)

    model, targets = Table(7, 7), torch.tensor([[3, 4, PAD], [5, PAD, PAD]])
    mean, total = (plain_loss(model, targets, targets, targets, 0.1, reduction) for reduction in ("mean", "sum"))
    torch.testing.assert_close(total, 3 * mean)


def test_noam_peaks_at_the_end_of_the_warm_up():
    rates = [noam(step, 512, 100) for step in range(1, 500)]
    assert rates.index(max(rates)) == 99
    assert max(rates) == pytest.approx((512 * 100) ** -0.5)
    assert rates[0] == pytest.approx(max(rates) / 100)


@given(step=st.integers(1, 10_000), warmup=st.integers(1, 1_000), d_model=st.integers(1, 1_024))
def test_inverse_sqrt_is_noam_with_its_peak_named(step, warmup, d_model):
    assert inverse_sqrt(step, (d_model * warmup) ** -0.5, warmup) == pytest.approx(noam(step, d_model, warmup))


@given(progress=st.floats(0, 1), peak=st.floats(1e-5, 1))
def test_cosine_rises_then_falls(progress, peak):
    assert 0 <= cosine(progress, peak, 0.1) <= peak * (1 + 1e-12)
    if progress > 0.1:
        expected = torch.cos(torch.tensor(math.pi * (progress - 0.1) / 0.9, dtype=torch.float64)).item()
        assert cosine(progress, peak, 0.1) == pytest.approx(peak * (1 + expected) / 2, abs=1e-12)
    assert cosine(2.0, peak, 0.1) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(("step", "warmup"), [(0, 4), (-1, 4), (3, 0), (0, 0), (math.nan, 4), (3, math.nan)])
def test_updates_that_do_not_count_from_1_are_refused(step, warmup, unchecked):
    name, number = ("step", step) if not step >= 1 else ("warmup", warmup)
    words = f"expected {name} as a whole number of at least 1, got {number}: it counts"
    for rate in (inverse_sqrt, lambda step, _, warmup: noam(step, 512, warmup)):
        with pytest.raises(ValueError, match=words):
            rate(step, 1.0, warmup)


@pytest.mark.parametrize("d_model", [0, -4])
def test_a_width_that_is_none_is_refused(d_model):
    """A root of it is infinite, or a complex number."""
    with pytest.raises(ValueError, match=f"expected d_model as a whole number of at least 1, got {d_model}"):
        noam(1, d_model, 4)


@pytest.mark.parametrize(
    ("progress", "warmup", "words"),
    [
        (math.nan, 0.1, "expected progress from 0 to 1, got nan"),
        (-0.5, 0.0, "expected progress from 0 to 1, got -0.5"),
        (0.5, math.nan, "expected warmup from 0 to 1, got nan"),
        (0.5, 400, "expected warmup from 0 to 1, got 400"),
    ],
)
def test_cosine_takes_shares_and_no_updates(progress, warmup, words):
    with pytest.raises(ValueError, match=words):
        cosine(progress, 1.0, warmup)


def test_cosine_that_only_warms_up_and_one_that_ends_above_0():
    assert [cosine(p, peak=2.0, warmup=1) for p in (0, 0.5, 1)] == [0, 1, 2]
    assert [cosine(p, peak=2.0, warmup=0) for p in (0, 1)] == [2, 0]
    assert [cosine(p, 2.0, 0.5, lowest=1.0) for p in (0, 0.25, 0.5, 0.75, 1)] == pytest.approx([0, 1, 2, 1.5, 1])


@pytest.mark.parametrize("shape", [(2, 4), (1, 5), (2, 1), (2, 6), (5,)])
def test_targets_of_another_shape_are_refused(shape):
    unchecked = inspect.unwrap(label_smoothed_loss)  # the shape checks of the tests would object first
    with pytest.raises(ValueError, match="expected a target for each row, got"):
        unchecked(torch.zeros(2, 5, 7), torch.ones(shape).long(), 0.0)


@pytest.mark.parametrize("smoothing", [-0.1, 1.1, 2, math.nan])
def test_smoothing_that_is_no_share_is_refused(smoothing):
    with pytest.raises(ValueError, match=f"expected smoothing from 0 to 1, got {smoothing}: it is a share"):
        label_smoothed_loss(torch.zeros(1, 2, 3), torch.ones(1, 2).long(), smoothing)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "expected one of steps and seconds, got steps=None and seconds=None: name how long"),
        ({"steps": 1, "seconds": 1.0}, "expected one of steps and seconds, got steps=1 and seconds=1.0: name how long"),
        ({"steps": 0}, "expected steps as a whole number of at least 1, got 0: it counts"),
        ({"steps": 1.5}, "expected steps as a whole number of at least 1, got 1.5"),
        ({"steps": "3"}, "expected steps as a whole number of at least 1, got '3'"),
        ({"steps": math.nan}, "expected steps as a whole number of at least 1, got nan"),
        ({"steps": 1, "checkpoint_every": 0}, "expected checkpoint_every as a whole number of at least 1, got 0"),
        ({"seconds": 0.0}, "expected seconds above 0, got 0.0: nothing would be learned"),
        ({"steps": 1, "clip": -1.0}, "expected clip above 0, got -1.0"),
        ({"steps": 1, "clip": math.nan}, "expected clip above 0, got nan"),
        ({"steps": 1, "warmup": 4000}, "expected warmup from 0 to below 1, got 4000: it is a share of the training"),
        ({"steps": 1, "precision": "float16"}, "expected precision 'float32' or 'bfloat16', got 'float16'"),
    ],
)
def test_impossible_settings_are_refused(fields, message, unchecked):
    with pytest.raises(ValueError, match=message):
        TrainingSettings(**fields)


def test_impossible_words_cost_nothing_without_smoothing():
    logits, targets = torch.tensor([[[0.0, -torch.inf, 1.0]]]), torch.tensor([[2]])
    expected = F.cross_entropy(logits[0], targets[0])
    torch.testing.assert_close(label_smoothed_loss(logits, targets, smoothing=0.0), expected)


@pytest.mark.parametrize("wrong", [-100, -1, 5, 99])
def test_a_target_outside_the_vocabulary_is_named(wrong):
    """Elsewhere, -100 says that there is no target."""
    words = f"expected targets from 0 to vocab_size - 1 = 4, got {wrong}: PAD = 0 says that there is none"
    for targets in ([[1, wrong, 3]], [[wrong, wrong, wrong]], [[PAD, PAD, wrong]]):
        with pytest.raises(ValueError, match=words):
            label_smoothed_loss(torch.randn(1, 3, 5), torch.tensor(targets))
        with pytest.raises(ValueError, match=words):
            linear_cross_entropy(torch.randn(3, 2), torch.randn(5, 2), torch.tensor(targets[0]))
