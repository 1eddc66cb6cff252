"""Your own Transformer: kept answers stand in for the library's parts, or a sentence says why they cannot."""

import json
import textwrap

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import course_lib.encoder
import course_lib.multi_head
import course_lib.transformer
from course_lib.transformer import Transformer, TransformerConfig
from course_practice.assembly.parts import LAYERS, PARTS, OwnParts, misfit
from course_practice.assembly.weights import copy_layer
from course_practice.assembly.wrong_parts import WRONG_PARTS, put_in
from course_practice.engine import progress
from course_practice.engine.source import standalone_source
from course_practice.exercises import registry

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
        (
            "multi_head__merge_heads",
            """
            import torch
            def mine(x):
                merged = torch.zeros(x.shape[0], x.shape[2], x.shape[1] * x.shape[3])
                merged[:] = x.transpose(1, 2).flatten(2)
                return merged
            """,
            "got torch.float32: give new tensors the input's dtype",
        ),
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


CUT = {
    "scores": """
        def mine(query, key, value, mask=None):
            from course_lib.masks import masked_softmax
            weights = masked_softmax(query.detach() @ key.detach().mT / query.shape[-1] ** 0.5, mask)
            return weights @ value, weights
    """,
    "statistics": """
        import torch
        def mine(x, gain, bias, eps=1e-5):
            with torch.no_grad():
                mean, variance = x.mean(-1, keepdim=True), x.var(-1, correction=0, keepdim=True)
            return gain * (x - mean) / (variance + eps).sqrt() + bias
    """,
    "network": """
        from course_lib.encoder import FeedForward
        class Mine(FeedForward):
            def forward(self, x):
                return super().forward(x.detach())
    """,
    "part of the network": """
        from course_lib.encoder import FeedForward
        class Mine(FeedForward):
            def forward(self, x):
                return (super().forward(x) + super().forward(x.detach())) / 2
    """,
    "stream": """
        from course_lib.decoder import DecoderLayer
        class Mine(DecoderLayer):
            def forward(self, x, memory, tgt_mask=None, src_mask=None):
                return super().forward(x.detach(), memory, tgt_mask, src_mask)
    """,
    "memory": """
        from course_lib.decoder import DecoderLayer
        class Mine(DecoderLayer):
            def forward(self, x, memory, tgt_mask=None, src_mask=None):
                memory = memory.detach()
                return super().forward(x, memory, tgt_mask, src_mask)
    """,
    "parameters": """
        import torch
        from course_lib.encoder import EncoderLayer
        class Mine(EncoderLayer):
            def forward(self, x, mask=None):
                frozen = {name: p.detach() for name, p in self.named_parameters() if "feed" in name}
                network = lambda y: torch.func.functional_call(self.feed_forward, {
                    name.removeprefix("feed_forward."): p for name, p in frozen.items()}, y)
                x = self.residuals[0](x, lambda y: self.attention(y, y, y, mask)[0])
                return self.residuals[1](x, network)
    """,
}


@pytest.mark.parametrize(
    ("exercise", "cut", "says"),
    [
        ("attention__scaled_dot_product", "scores", "no gradient flows back to query"),
        ("layer_norm__norm", "statistics", "only a part of the gradient flows back to x"),
        ("encoder__feed_forward", "network", "no gradient flows back to x"),
        ("encoder__feed_forward", "part of the network", "only a part of the gradient flows back to x"),
        ("decoder__layer", "stream", "no gradient flows back to x"),
        ("decoder__layer", "memory", "no gradient flows back to the memory"),
        ("encoder__layer", "parameters", "only a part of the gradient flows back to its parameters"),
    ],
)
def test_a_part_through_which_no_gradient_flows_cannot_stand_in(keep, exercise, cut, says):
    """Its numbers are right, so no comparison of logits finds it."""
    keep(**{exercise: CUT[cut]})
    (trouble,) = OwnParts().trouble.values()
    assert says in trouble
    assert "`.detach()`" in trouble


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


def kept_sources(turn):
    """A right answer to each part's exercise: the reference at turn 0, and then one alternative after the other."""
    sources = {}
    for part in PARTS:
        exercise = registry()[part.exercise]
        answers = [standalone_source(answer) for answer in (exercise.reference, *exercise.alternatives)]
        answers = [answer for answer in answers if answer]
        sources[part.exercise.replace(".", "__")] = answers[turn % len(answers)]
    return sources


def equal_to_pytorch(parts):
    """Both stacks against nn.Transformer, with the weights copied, as chapter 11 compares them."""
    sizes = CONFIG.d_model, CONFIG.n_heads, CONFIG.n_layers, CONFIG.n_layers, CONFIG.d_ff, 0.0
    theirs = nn.Transformer(*sizes, batch_first=True).double()
    theirs.encoder.norm = theirs.decoder.norm = None
    theirs.encoder.enable_nested_tensor = False
    with parts:
        torch.manual_seed(0)
        model = Transformer(CONFIG).double().eval()
        src, tgt = model.src_embedding(SRC), model.tgt_embedding(TGT)
        for layer, other in zip(model.encoder.layers, theirs.encoder.layers, strict=True):
            copy_layer(layer, other, src)
        for layer, other in zip(model.decoder.layers, theirs.decoder.layers, strict=True):
            copy_layer(layer, other, tgt, src)
        masks = {"src_key_padding_mask": SRC == 0, "memory_key_padding_mask": SRC == 0}
        order = ~torch.ones(3, 3, dtype=torch.bool).tril()
        hidden = theirs(src, tgt, tgt_mask=order, tgt_key_padding_mask=TGT == 0, **masks)
        both = [(each, *_gradient(each, model)) for each in (model.output(hidden), model(SRC, TGT))]
        return all(torch.allclose(*pair, rtol=0, atol=1e-12) for pair in zip(*both, strict=True))


def _gradient(each, model):
    """Of the matrix that embeddings and output layer share: all paths go through it."""
    return torch.autograd.grad(F.cross_entropy(each.mT, TGT), model.output.weight)


@pytest.mark.parametrize("turn", range(6))
def test_a_machine_of_kept_answers_equals_pytorchs_whatever_its_parts_are_called(keep, turn):
    keep(**kept_sources(turn))
    parts = OwnParts()
    assert {"FeedForward", "EncoderLayer", "DecoderLayer"} <= parts.own.keys()
    compared = parts.to_compare()
    assert not compared.left_out
    assert compared.own == parts.own
    assert equal_to_pytorch(compared)
    assert list(parts.own) == [part.name for part in PARTS if part.name in parts.own]  # untouched by the comparison


def moved_by(places):
    """How far logits move when `places` are replaced under the same weights, before and after one update.

    Chapter 17 judges them so. An update moves each weight by its gradient, so that a wrong one shows.
    """
    torch.manual_seed(0)
    right = Transformer(CONFIG).double().eval()
    with put_in(places):
        torch.manual_seed(1)
        machine = Transformer(CONFIG).double().eval()
        machine.output.weight.data.copy_(right.output.weight)
        x, y = right.src_embedding(SRC), right.tgt_embedding(TGT)
        for stack, streams in (("encoder", (x,)), ("decoder", (y, x))):
            for one, other in zip(getattr(right, stack).layers, getattr(machine, stack).layers, strict=True):
                copy_layer(one, other, *streams, d_ff=CONFIG.d_ff)
        got = _logits_around_an_update(machine)
    expected = _logits_around_an_update(right)
    return [(a - b).abs().max().item() for a, b in zip(got, expected, strict=True)]


def _logits_around_an_update(machine):
    before = machine(SRC, TGT)
    F.cross_entropy(before.mT, TGT).backward()
    torch.optim.SGD(machine.parameters(), lr=0.1).step()
    return before.detach(), machine(SRC, TGT).detach()


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.exercise)
def test_without_an_answer_of_yours_another_solution_of_the_course_stands_in(keep, part):
    answer, maker = OwnParts().answer(part)
    assert maker == ("the library" if part.exercise == "attention.scaled_dot_product" else "the course")
    assert max(moved_by(dict.fromkeys(part.used, answer))) < 1e-5  # some compute in single precision


def test_your_answer_goes_before_the_courses(keep):
    keep(masks__causal="import torch\ndef mine(n):\n    return torch.ones(n, n).tril().bool()")
    own = OwnParts()
    makers = {part.name: own.answer(part)[1] for part in PARTS}
    assert makers.pop("causal_mask") == "you"
    assert "you" not in makers.values()


@pytest.mark.parametrize("name", WRONG_PARTS)
def test_equality_under_copied_weights_finds_every_wrong_part(name):
    before, after = moved_by(WRONG_PARTS[name])
    assert after > 1e-3
    assert (before == 0) == (name == "scores without a gradient")


def test_the_comparison_can_fail(keep):
    keep(
        encoder__layer="""
            from course_lib.encoder import EncoderLayer
            class Layer(EncoderLayer):
                def forward(self, x, mask=None):
                    return super().forward(x)
        """
    )
    parts = OwnParts()  # it passes the trial, which hides nothing
    assert "EncoderLayer" in parts.own
    assert not equal_to_pytorch(parts.to_compare())


def test_the_comparison_sees_a_gradient_that_is_cut(keep):
    with put_in(WRONG_PARTS["scores without a gradient"]):
        assert not equal_to_pytorch(OwnParts())


def test_a_layer_whose_weights_cannot_be_told_apart_is_left_out_with_a_reason(keep):
    keep(
        masks__causal="import torch\ndef mine(n):\n    return torch.ones(n, n).tril().bool()",
        encoder__feed_forward="""
            import torch
            from torch import nn
            class Packed(nn.Module):
                def __init__(self, d_model, d_ff, activation="relu"):
                    super().__init__()
                    self.both = nn.Parameter(torch.randn(2, d_ff, d_model))
                    self.biases = nn.Parameter(torch.zeros(d_ff + d_model))
                def forward(self, x):
                    b_1, b_2 = self.biases.split([self.both.shape[1], self.both.shape[2]])
                    return (x @ self.both[0].T + b_1).relu() @ self.both[1] + b_2
        """,
    )
    parts = OwnParts()
    assert set(parts.own) == {"causal_mask", "FeedForward"}
    compared = parts.to_compare()
    assert set(compared.own) == {"causal_mask"}
    assert "Packed" in compared.left_out["FeedForward"]
    assert set(parts.own) == {"causal_mask", "FeedForward"}
    assert equal_to_pytorch(compared)


def test_the_parts_with_weights_are_named_as_the_others():
    assert LAYERS.keys() <= {part.name for part in PARTS}


MASK = "course_lib.transformer.causal_mask"


def test_a_part_is_put_in_and_taken_out_again_also_after_an_error():
    before = course_lib.transformer.causal_mask

    def use_and_fail():
        with put_in({MASK: "second"}):
            assert course_lib.transformer.causal_mask == "second"
            raise KeyError

    with put_in({MASK: "first"}):
        with pytest.raises(KeyError):
            use_and_fail()
        assert course_lib.transformer.causal_mask == "first"
    assert course_lib.transformer.causal_mask is before
    with pytest.raises(AttributeError), put_in({MASK: "mine", "course_lib.transformer.no_such_part": 1}):
        pass
    assert course_lib.transformer.causal_mask is before


@pytest.mark.parametrize("name", WRONG_PARTS)
def test_every_wrong_part_runs_and_moves_the_logits_but_one_that_only_cuts_a_gradient(name):
    expected = logits()
    with put_in(WRONG_PARTS[name]):
        got = logits()
    assert got.shape == expected.shape
    assert got.isfinite().all()
    real = TGT != 0
    moved = (got - expected).abs()[real].max()
    assert moved == 0 if name == "scores without a gradient" else moved > 1e-3
    assert torch.equal(logits(), expected)


@pytest.mark.parametrize(
    ("source", "reason"),
    [("while True: pass", "TimeoutError"), ("raise SystemExit", "SystemExit"), ("{}['a']", "KeyError")],
)
def test_kept_source_that_does_not_end_well_cannot_stand_in(keep, source, reason, monkeypatch):
    monkeypatch.setattr(progress, "TIME_LIMIT", 0.2)
    keep(masks__causal=source)
    parts = OwnParts()
    assert not parts.own
    assert reason in parts.trouble["causal_mask"]
