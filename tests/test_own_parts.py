"""Your own Transformer: kept answers stand in for the library's parts, or a sentence says why they cannot."""

import json
import textwrap

import pytest
import torch

import course_lib.encoder
import course_lib.multi_head
import course_lib.transformer
from course_lib.exercises import registry
from course_lib.exercises.engine.source import standalone_source
from course_lib.exercises.own_parts import PARTS, OwnParts, misfit
from course_lib.transformer import Transformer, TransformerConfig

CONFIG = TransformerConfig(vocab_size=13, d_model=8, n_heads=2, d_ff=12, n_layers=2, dropout=0.0)
SRC, TGT = torch.tensor([[5, 6, 7, 2], [8, 2, 0, 0]]), torch.tensor([[1, 9, 4], [1, 6, 0]])


@pytest.fixture
def keep(tmp_path, monkeypatch):
    """Keep sources of answers, by the exercise's id."""
    monkeypatch.setenv("TRANSFORMER_COURSE_HOME", str(tmp_path))

    def write(**sources):
        entries = {
            name.replace("__", "."): {"attempts": 1, "passed": True, "diagnoses": {}, "solution": textwrap.dedent(text)}
            for name, text in sources.items()
        }
        (tmp_path / "progress.json").write_text(json.dumps(entries), encoding="utf-8")

    return write


def logits(parts=None):
    def run():
        torch.manual_seed(0)
        return Transformer(CONFIG).double().eval()(SRC, TGT)

    if parts is None:
        return run()
    with parts:
        return run()


def places():
    return [
        getattr(__import__(place.rpartition(".")[0], fromlist=["x"]), part.name)
        for part in PARTS
        for place in part.used
    ]


def test_without_kept_answers_the_library_supplies_all(keep):
    parts = OwnParts()
    assert not parts.own
    assert not parts.trouble
    assert str(parts).count("  the library") == len(PARTS)
    assert max(map(len, str(parts).splitlines())) <= 80
    assert torch.equal(logits(parts), logits())


def test_right_answers_stand_in_and_give_the_same_machine(keep):
    keep(
        masks__causal="""
            import torch
            def mine(n):
                return torch.arange(n)[None, :] <= torch.arange(n)[:, None]
        """,
        attention__scaled_dot_product="""
            from course_lib.masks import masked_softmax
            def mine(query, key, value, mask=None):
                weights = masked_softmax(query @ key.mT / query.shape[-1] ** 0.5, mask)
                return weights @ value, weights
        """,
        layer_norm__norm="""
            def mine(x, gain, bias, eps=1e-5):
                return gain * (x - x.mean(-1, True)) / (x.var(-1, False, True) + eps).sqrt() + bias
        """.replace("x.var(-1, False, True)", "x.var(-1, unbiased=False, keepdim=True)"),
        encoder__feed_forward="""
            from torch import nn
            def mine(d_model, d_ff, activation="relu"):
                return nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        """,
    )
    before = places()
    parts = OwnParts()
    assert set(parts.own) == {"causal_mask", "scaled_dot_product_attention", "layer_norm", "FeedForward"}
    assert not parts.trouble
    assert torch.allclose(logits(parts), logits())
    with parts:
        assert course_lib.transformer.causal_mask is parts.own["causal_mask"]
        assert course_lib.multi_head.scaled_dot_product_attention is parts.own["scaled_dot_product_attention"]
        assert "Sequential" in repr(Transformer(CONFIG).encoder.layers[0])
    assert places() == before
    assert str(parts).count("  you\n") == 4


def test_a_layer_is_made_of_the_parts_that_were_put_in_before(keep):
    keep(
        encoder__feed_forward="""
            from course_lib.encoder import FeedForward
            class Mine(FeedForward):
                pass
        """,
        encoder__layer="""
            from course_lib.encoder import EncoderLayer, FeedForward
            class Layer(EncoderLayer):
                def __init__(self, d_model, n_heads, d_ff, dropout=0.1, norm_first=False, activation="relu"):
                    super().__init__(d_model, n_heads, d_ff, dropout, norm_first, activation)
                    self.feed_forward = FeedForward(d_model, d_ff, activation)
        """,
    )
    parts = OwnParts()
    assert set(parts.own) == {"FeedForward", "EncoderLayer"}
    with parts:
        assert type(Transformer(CONFIG).encoder.layers[1].feed_forward).__name__ == "Mine"


@pytest.mark.parametrize(
    ("exercise", "source", "says"),
    [
        (
            "attention__scaled_dot_product",
            """
            def mine(query, key, value):
                weights = (query @ key.mT / query.shape[-1] ** 0.5).softmax(-1)
                return weights @ value, weights
            """,
            "takes 3 arguments but 4 were given",
        ),
        (
            "attention__scaled_dot_product",
            """
            def mine(query, key, value, mask=None):
                scores = query @ key.mT / query.shape[-1] ** 0.5
                if mask is not None:
                    scores = scores.masked_fill(~mask, float("-inf"))
                weights = scores.softmax(-1)
                return weights @ value, weights
            """,
            "contains NaN",
        ),
        ("masks__causal", "def mine(n):\n    return [[k <= q for k in range(n)] for q in range(n)]", "error"),
        ("masks__causal", "def mine(n):\n    return wrong(", "does not run (SyntaxError"),
        ("encoder__feed_forward", "def mine(d_model, d_ff, activation='relu'):\n    return 3", "error"),
        (
            "encoder__feed_forward",
            """
            from torch import nn
            def mine(d_model, d_ff, activation="relu"):
                return nn.Linear(d_model, d_model)
            """,
            "gives another result",
        ),
    ],
)
def test_an_answer_that_cannot_stand_in_is_named(keep, exercise, source, says):
    keep(**{exercise: source})
    before = places()
    parts = OwnParts()
    assert not parts.own
    (trouble,) = parts.trouble.values()
    assert says in trouble
    assert places() == before
    shown = str(parts)
    assert "cannot stand in" in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert torch.equal(logits(parts), logits())


def test_the_library_has_its_parts_again_after_an_error(keep):
    keep(masks__causal="import torch\ndef mine(n):\n    return torch.ones(n, n).tril().bool()")
    before = places()
    parts = OwnParts()
    assert parts.own
    with pytest.raises(ZeroDivisionError), parts:
        1 / 0  # noqa: B018
    assert places() == before


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.exercise)
def test_every_part_stands_in_for_itself_and_its_exercise_is_named_as_the_registry_names_it(part):
    module, _, name = part.used[0].rpartition(".")
    library = getattr(__import__(module, fromlist=["x"]), name)
    assert misfit(part, library) is None
    exercise = registry().get(part.exercise)
    if exercise is not None:
        assert misfit(part, exercise.reference) is None
        fitting = [a for a in exercise.alternatives if misfit(part, a) is None and standalone_source(a)]
        if part.exercise == "attention.scaled_dot_product":  # chapter 02 knows no mask yet: the advice says what to add
            assert "mask=None" in part.advice
        else:
            assert fitting, f"none of the right answers to {part.exercise} can stand in"
