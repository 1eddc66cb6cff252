"""The bench of recipes: each part does what the recipe says, and nothing else depends on chance than the seed."""

import math
from dataclasses import replace

import pytest
import torch

from course_lib.batching import make_batch
from course_lib.beam_search import greedy_search
from course_lib.stored import results
from course_lib.training import cosine
from course_lib.training.bench import Recipe, bench_model, bench_pairs, measure, train_once

RECIPE = Recipe(rate=0.01)


def test_pairs_are_disjoint_and_fill_the_vocabulary():
    train, validation, vocab_size = bench_pairs()
    assert {tuple(src) for src, _ in train}.isdisjoint(tuple(src) for src, _ in validation)
    used = {word for src, tgt in train + validation for word in src + tgt}
    assert used == set(range(4, vocab_size))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, cosine(0.4, 0.01, 0.1)),
        ({"schedule": "constant"}, 0.01),
        ({"schedule": "constant", "warmup": 0.8}, 0.005),
    ],
)
def test_the_schedule_is_the_recipes(changes, expected):
    assert replace(RECIPE, **changes).rate_at(40, 100) == pytest.approx(expected)


def test_without_warm_up_the_first_rate_is_the_highest():
    assert Recipe(rate=0.01, warmup=0.0, schedule="constant").rate_at(1, 100) == 0.01


def test_the_same_seed_gives_the_same_training_and_another_seed_another():
    first, again, other = (train_once(RECIPE, seed, updates=4, every=4)["curve"] for seed in (0, 0, 1))
    assert first == again != other


def test_clipping_saves_from_a_spoiled_batch():
    runs = [
        train_once(replace(RECIPE, clip=clip, spoiled=3), seed=0, updates=12, every=12)["training"]
        for clip in (1.0, math.inf)
    ]
    assert runs[0][:3] == pytest.approx(runs[1][:3], rel=0.05)
    assert runs[0][-1] < runs[1][-1]


def test_exact_match_of_one_pass_is_that_of_greedy_search():
    """Where all arg maxes after the right words are right, the model's own words are the right ones."""
    model = bench_model(seed=0)
    _, validation, _ = bench_pairs()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    few = make_batch(validation[:8])
    for _ in range(60):
        optimizer.zero_grad()
        logits = model(few.src, few.tgt_in)
        torch.nn.functional.cross_entropy(logits.mT, few.tgt_out, ignore_index=0).backward()
        optimizer.step()
    sixteen, whole = make_batch(validation[:16]), make_batch(validation)
    with torch.no_grad():
        written = greedy_search(model.step, model.start(sixteen.src), batch=16, max_len=20)
        hits = model(whole.src, whole.tgt_in).argmax(dim=-1) == whole.tgt_out
    right = [list(hypothesis.tokens) == tgt for hypothesis, (_, tgt) in zip(written, validation[:16], strict=True)]
    one_pass = (hits | (whole.tgt_out == 0)).all(dim=1)
    assert right == one_pass[:16].tolist()
    assert any(right)
    assert not all(right)
    assert measure(model)["exact"] == pytest.approx(one_pass.double().mean().item())


def test_every_arm_of_the_stored_results_has_two_seeds_a_rate_and_five_at_its_best():
    found = results("training_recipes")
    for arm in found["recipes"]:
        rows = [row for row in found["rows"] if row["arm"] == arm]
        choosing = [row for row in rows if row["seed"] not in found["seeds"]]
        rates = sorted({row["rate"] for row in choosing})
        means = [sum(row["loss"] for row in choosing if row["rate"] == rate) / 2 for rate in rates]
        best = rates[means.index(min(means))]
        assert rates[0] < best < rates[-1], f"{arm}: the best rate lies at an end"
        assert [(row["rate"], row["seed"]) for row in rows if row["seed"] in found["seeds"]] == [
            (best, seed) for seed in found["seeds"]
        ]
