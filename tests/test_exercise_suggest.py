"""The nearest repair: of a wrong answer it finds the line, and tells the kind of thing to look at."""

import ast
import dataclasses
import functools
import inspect
import itertools
import linecache
import random
import sys
import textwrap
import threading
import time
from types import ModuleType

import numpy as np
import pytest
import torch
from mutants import bare, changed_lines, mutants
from stored_answers import ANSWERS
from torch import nn
from torch.nn import functional as F

from course_practice import engine
from course_practice.engine import Exercise, case, run
from course_practice.exercises import registry
from course_practice.exercises.inputs import randn
from course_practice.suggest import Budget, nearest_repair
from course_practice.suggest.code import code_of
from course_practice.suggest.fresh import fresh_cases
from course_practice.suggest.safety import is_safe

check_exercise = functools.partial(engine.check_exercise, search=nearest_repair)
SUBJECTS = ("seq2seq", "attention", "self_attention", "multi_head", "masks")  # all of them would take minutes

REFERENCES = """
    def scaled(x, key, d):
        scores = x @ key.transpose(-2, -1)
        return scores / d**0.5

    def shares(x):
        exps = (x - x.amax(dim=-1, keepdim=True)).exp()
        return exps / exps.sum(dim=-1, keepdim=True)

    def tempered(x, t):
        return (x / t).softmax(dim=-1)

    def cut(x, n):
        return x[:, :n], x[:, n:]

    def lower(n):
        return torch.ones(n, n).tril().bool()

    def squares(n):
        total = 0
        for i in range(1, n + 1):
            total = total + i * i
        return total

    def picked(x, columns):
        return x[range(len(columns)), columns]

    def bent(x, y, flat):
        return (x - y) * x + (y if flat else y * y)

    class Affine(nn.Module):
        def __init__(self, size):
            super().__init__()
            self.weight = nn.Parameter(torch.arange(1.0, size + 1))
            self.bias = nn.Parameter(torch.ones(size))

        def forward(self, x):
            return x * self.weight + self.bias
"""


def numbers(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


CASES = {
    "scaled": lambda: [case(numbers(3, 4), numbers(5, 4), 4), case(numbers(2, 3, 5), numbers(2, 7, 5), 9)],
    "shares": lambda: [case(numbers(2, 3)), case(numbers(4, 2, 5) * 100), case(numbers(3, 3))],
    "tempered": lambda: [case(numbers(2, 3), 2.0), case(numbers(3, 2), 0.5)],
    "cut": lambda: [case(numbers(2, 5), 2), case(numbers(3, 4), 1), case(numbers(2, 3), 3)],
    "lower": lambda: [case(n) for n in (2, 3, 5)],
    "squares": lambda: [case(n) for n in (1, 3, 6)],
    "picked": lambda: [case(numbers(2, 2), torch.tensor([1, 0])), case(numbers(3, 4), torch.tensor([3, 0, 0]))],
    "bent": lambda: [case(numbers(3), numbers(2, 3), flat) for flat in (True, False)],
    "Affine": lambda: [case(3, numbers(2, 3)), case(2, numbers(4, 2))],
}


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSFORMER_COURSE_HOME", str(tmp_path))


@pytest.fixture
def notebook(monkeypatch):
    """Defines the source of a cell, as a notebook does, and gives back its last function or class."""
    module = ModuleType("notebook")
    vars(module).update(torch=torch, nn=nn, F=F, np=np, math=__import__("math"))
    monkeypatch.setitem(sys.modules, "notebook", module)

    def run(source):
        source = textwrap.dedent(source).strip() + "\n"
        name = f"<cell {len(linecache.cache)}>"
        monkeypatch.setitem(linecache.cache, name, (len(source), None, source.splitlines(keepends=True), name))
        exec(compile(source, name, "exec"), vars(module))
        return vars(module).get(getattr(ast.parse(source).body[-1], "name", None))

    run.module = module
    return run


@pytest.fixture
def toy(notebook):
    """A small exercise by its name."""
    notebook(REFERENCES)
    references = dict(vars(notebook.module))

    def make(name, **changes):
        called = {"call": lambda cls, given: cls(given.args[0])(given.args[1])} if name == "Affine" else {}
        fields = {
            "title": name,
            "task": "",
            "reference": references[name],
            "cases": CASES[name],
            "mistakes": (),
            "hints": ("One.", "Two.", "Three."),
            "alternatives": (),
            "difficulty": 1,
            "minutes": 1,
        }
        return Exercise(**{**fields, "id": f"toy.{name}", **called, **changes})

    return make


# Each kind of change

SLIPS = {
    "an axis": ("shares", "exps.sum(dim=-1", "exps.sum(dim=0", "along which axis does `exps.sum(dim=0, keepdim=True)`"),
    "a constant": ("cut", "x[:, n:]", "x[1:, n:]", "where does it begin"),
    "a minus": ("shares", "x - x.amax", "-x - x.amax", "is the minus in `-x` right?"),
    "a negation": ("lower", "return torch", "return ~torch", "is the negation"),
    "an operator": ("squares", "i * i", "(i + i)", "in `i + i`, is the operator the right one?"),
    "a comparison": ("lower", "torch.ones(n, n).tril().bool()", "torch.arange(n) < torch.arange(n)[:, None]", "equal?"),
    "a root": ("scaled", "d**0.5", "d", "is `d` itself meant, or a root"),
    "a power": ("scaled", "d**0.5", "d**2", "is the power in `d**2` right?"),
    "the order of operands": ("scaled", "scores / d**0.5", "d**0.5 / scores", "does the order matter"),
    "the order of results": ("cut", "x[:, :n], x[:, n:]", "x[:, n:], x[:, :n]", "does the order matter"),
    "the order of statements": (
        "squares",
        "i\n    return",
        "i\n    total = 0\n    return",
        "in `total = 0`, what becomes of the value from before?",
    ),
    "the order of steps": ("tempered", "(x / t).softmax(dim=-1)", "x.softmax(dim=-1) / t", "which step comes first?"),
    "a step left out": ("scaled", "key.transpose(-2, -1)", "key", "is a step missing right after `key`?"),
    "a step too much": ("tempered", "softmax(dim=-1)", "softmax(dim=-1).log()", "is every step of"),
    "an argument left out": ("shares", "keepdim=True)).exp", "keepdim=False)).exp", "should this be `False`?"),
    "keepdim left out": ("shares", "sum(dim=-1, keepdim=True)", "sum(dim=-1)", "how many axes has `exps.sum(dim=-1)`"),
    "another name": ("shares", "exps / exps.sum", "x / exps.sum", "is `x` the one that is meant?"),
    "another method": ("lower", "tril", "triu", "the right function here?"),
    "all axes turned": ("scaled", "key.transpose(-2, -1)", "key.T", "in `key.T`, which axes should change places?"),
    "a result not kept": ("scaled", "return scores", "scores / d**0.5\n    return scores # ", "who keeps the result"),
    "printed": ("lower", "return torch.ones(n, n).tril().bool()", "print(torch.ones(n, n).tril().bool())", "give back"),
    "not returned": ("squares", "    return total\n", "", "what does the function give back"),
    "returned in the loop": (
        "squares",
        "    return total",
        "        return total",
        "how far is `return total` indented",
    ),
    "the bounds of a slice": ("cut", "x[:, n:]", "x[:, n + 1:]", "is `n + 1` the right count"),
    "the bounds of a range": ("squares", "range(1, n + 1)", "range(n)", "where does it begin, and where does it end?"),
    "an index for a slice": ("cut", "x[:, :n], ", "x[:, n], ", "where does it begin, and where does it end?"),
    "the place of an axis": ("scaled", "scores / d**0.5", "(scores / d**0.5)[None]", "is every step of"),
    "a piece of the reference": ("scaled", "d**0.5", "8.0", "is `8.0` what is needed here?"),
    "every row with an index of its own": (
        "picked",
        "x[range(len(columns)), columns]",
        "x[:, columns]",
        "`x[:, columns]` means each of these columns in *every* row",
    ),
    "parentheses left out": (
        "bent",
        "(x - y) * x",
        "x - y * x",
        "in `x - y * x`, what belongs together",
    ),
    "parentheses around a condition": (
        "bent",
        "(y if flat else y * y)",
        "y if flat else y * y",
        "what does the condition choose between: is all of it meant?",
    ),
    "a sum forgotten": (
        "squares",
        "total + i * i",
        "i * i",
        "in `total = i * i`, what becomes of the value from before?",
    ),
}


@pytest.mark.parametrize(("name", "right", "wrong", "asks"), SLIPS.values(), ids=SLIPS.keys())
def test_a_slip_is_found_in_its_line(toy, notebook, name, right, wrong, asks):
    exercise = toy(name)
    source = textwrap.dedent(inspect.getsource(exercise.reference))
    assert right in source
    changed = source.replace(right, wrong, 1)
    result = check_exercise(exercise, notebook(changed))
    assert set(result.lines) & changed_lines(source, changed), str(result)
    assert asks in result.message
    assert len(result.hints) == 4


def test_letters_of_an_einsum(notebook):
    answer = notebook("""
        def answer(query, key, value):
            scores = torch.einsum("bhqd,bhkd->bhqk", query, key)
            weights = (scores / math.sqrt(query.shape[-1])).softmax(dim=-1)
            return torch.einsum("bhqk,bhqv->bhqv", weights, value)
    """)
    result = check_exercise(without_mistakes("attention.einsum"), answer)
    assert result.lines == (4,)
    assert "which letters are shared" in result.message


def without_mistakes(name):
    return dataclasses.replace(registry()[name], mistakes=())


def test_parameters_are_asked_about_where_their_order_is_not_the_one_of_the_exercise(toy, notebook):
    answer = notebook("def answer(d, key, x):\n    return x @ key.transpose(-2, -1) / d**0.5")
    result = check_exercise(toy("scaled"), answer)
    assert "Look at line 1: in which order does the exercise give the parameters?" in result.message
    answer = notebook("def answer(x, key, d):\n    return d @ key.transpose(-2, -1) / x**0.5")
    result = check_exercise(toy("scaled"), answer)
    assert "Look at line 2: do `x` and `d` stand in each other's place, here and below?" in result.message
    assert result.hints[-1] == "Line 2: `x` and `d` exchanged, here and below."


def test_variants_are_run_on_the_case_as_it_is_called(toy, notebook):
    """What a case is about can decide how the object is run."""
    called = {"call": lambda obj, given: obj(*given.args) * (2 if "twice" in given.about else 1)}
    cases = {"cases": lambda: [case(numbers(2, 3), 2.0, about="twice"), case(numbers(3, 2), 0.5, about="once")]}
    answer = notebook("def answer(x, t):\n    return (x * t).softmax(dim=-1)")
    result = check_exercise(toy("tempered", **called, **cases), answer)
    assert result.lines == (2,)
    assert "in `x * t`, is the operator the right one?" in result.message


def test_an_error_keeps_its_explanation(toy, notebook):
    answer = notebook("""
        def answer(x, n):
            width = x.shape[-1] / n
            return x[:, :n], x[:, n:].view(len(x), x.shape[-1] - n / 1)
    """)
    result = check_exercise(toy("cut"), answer)
    assert result.diagnosis == "raised"
    assert "A whole number is wanted" in result.message
    assert result.lines == (3,)
    assert dict(result.details)["Error"].startswith("TypeError")


# What code can be


def test_a_class_is_repaired(toy, notebook):
    answer = notebook("""
        class Mine(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.weight = nn.Parameter(torch.arange(1.0, size + 1))
                self.bias = nn.Parameter(torch.ones(size))

            def forward(self, x):
                return x * self.weight + self.weight
    """)
    result = check_exercise(toy("Affine"), answer)
    assert result.lines == (8,)
    assert "in `x * self.weight + self.weight`, is `self.weight` the one that is meant?" in result.message


def test_a_helper_of_the_notebook_is_repaired(toy, notebook):
    notebook("""
        def product(a, b):
            return a @ b
    """)
    answer = notebook("""
        def answer(x, key, d):
            return product(x, key.transpose(-2, -1)) / root(d)

        def root(d):
            return d

        def answer(x, key, d):
            return product(x, key.transpose(-2, -1)) / root(d)
    """)
    result = check_exercise(toy("scaled"), answer)
    assert result.lines
    assert code_of(answer).parts[-1].tree.name == "answer"
    assert {part.tree.name for part in code_of(answer).parts} == {"product", "root", "answer"}


def test_a_line_of_a_helper_is_told_with_its_name(toy, notebook):
    notebook("""
        def lengths(x):
            for row in range(2):
                pass
            return x.sum(dim=0, keepdim=True)
    """)
    answer = notebook("def answer(x):\n    return (x - x.amax(-1, True)).exp() / lengths((x - x.amax(-1, True)).exp())")
    result = check_exercise(toy("shares"), answer)
    assert "Look at line 4 (in `lengths`): along which axis" in result.message


def test_the_line_of_an_error_is_shown_once(toy, notebook):
    answer = notebook("def answer(x, key, d):\n    return x @ key / d**0.5")
    result = check_exercise(toy("scaled"), answer)
    assert dict(result.details)["Error"]
    assert [name for name, text in result.details if "x @ key" in text] == ["Line 2"]


def test_lambdas_closures_and_decorated_functions_are_repaired(toy, notebook):
    def around(size):
        def answer(x, key, d):
            return x @ key.transpose(-2, -1) / d**size

        return answer

    assert "look at" in check_exercise(toy("scaled"), around(1)).message.lower()
    assert check_exercise(toy("lower"), lambda n: torch.ones(n, n).triu().bool()).lines
    decorated = notebook("""
        @torch.no_grad()
        def answer(n):
            return torch.ones(n, n).triu().bool()
    """)
    assert check_exercise(toy("lower"), decorated).lines == (3,)


def test_code_without_source_or_too_long_is_left_alone(toy, notebook):
    scope = {"torch": torch}
    exec("def answer(n): return torch.ones(n, n).triu().bool()", scope)
    assert not check_exercise(toy("lower"), scope["answer"]).lines
    lines = "\n".join(f"    x{number} = {number}" for number in range(60))
    assert not check_exercise(toy("lower"), notebook(f"def answer(n):\n{lines}\n    return torch.ones(n, n)")).lines


def test_a_missing_import_is_no_matter_of_the_reference(toy, notebook):
    answer = notebook("def answer(x, key, d):\n    return x @ key.transpose(-2, -1) / maths.sqrt(d)")
    result = check_exercise(toy("scaled"), answer)
    assert "`maths` means nothing here" in result.message


# Inputs that change, and answers that do


@pytest.mark.parametrize(
    ("code", "line", "asks"),
    [
        ("x /= t\n    return x.softmax(dim=-1)", 2, "does `x /= t` write into a tensor that others still use?"),
        ("x.div_(t)\n    return x.softmax(dim=-1)", 2, "does `x.div_(t)` write into a tensor that others still use?"),
        ("y = x\n    y[:] = y / t\n    return y.softmax(dim=-1)", 2, "is this a second tensor, or another name"),
    ],
)
def test_a_changed_input_is_traced_to_its_line(toy, notebook, code, line, asks):
    result = check_exercise(toy("tempered"), notebook(f"def answer(x, t):\n    {code}"))
    assert result.diagnosis == "changes-input"
    assert result.lines == (line,)
    assert asks in result.message
    assert "underscore" not in result.message


def test_randomness_is_named_and_found(toy, notebook):
    dropped = notebook("def answer(x, t):\n    y = F.dropout(x, 0.5)\n    return (y / t).softmax(dim=-1)")
    result = check_exercise(toy("tempered"), dropped)
    assert result.diagnosis == "random"
    assert "draws random numbers" in result.message
    assert result.lines == (2,)
    sometimes = notebook("def answer(x, t):\n    return torch.rand(1) * torch.ones(7)")
    assert check_exercise(toy("tempered"), sometimes).diagnosis == "random"


def test_random_numbers_that_change_no_answer_pass(toy, notebook):
    answer = notebook("def answer(x, t):\n    return (x / t + 0 * torch.rand(1)).softmax(dim=-1)")
    assert check_exercise(toy("tempered"), answer).passed


@pytest.mark.parametrize("when", ["torch.rand(1) > 0.95", "random.random() < 0.05", "np.random.rand() > 0.95"])
def test_a_right_answer_that_is_random_now_and_then_is_refused_as_random(when, toy, notebook):
    answer = notebook(f"""
        import random
        def answer(x, t):
            return (x / t).softmax(dim=-1) * (1 + bool({when}))
    """)
    assert check_exercise(toy("tempered"), answer).diagnosis == "random"


# What a teacher would sign: changes that let every case pass, and say nothing true of the slip

EXAMPLES = {
    "more batches than there are pairs": (
        "batching.repair",
        """
        from course_lib.batching import pad
        from course_lib.tokens import BOS, EOS, PAD

        def evaluate(model, pairs, rows):
            total = tokens = 0
            for start in range(0, len(pairs) - rows + 1, rows):
                some = pairs[start : start + rows]
                src = pad([[*src, EOS] for src, _ in some])
                tgt_in = pad([[BOS, *tgt] for _, tgt in some])
                tgt_out = pad([[*tgt, EOS] for _, tgt in some])
                logits = model(src, tgt_in).flatten(0, 1)
                loss = F.cross_entropy(logits, tgt_out.flatten(), ignore_index=PAD, reduction="sum")
                total += loss.item()
                tokens += int((tgt_out != PAD).sum())
            return total / tokens
        """,
        "Line 6: `for start in range(0, len(pairs), rows):`.",
    ),
    "an id for every edit": (
        "transformer.reach",
        """
        def reach(f, ids, vocab_size):
            before, n = f(ids), ids.shape[1]
            table = torch.zeros(n, n, dtype=torch.bool)
            for k in range(n):
                edited = ids.clone()
                edited[:, k] += 1
                diff = (f(edited) - before).abs().amax(dim=2)
                table[:, k] = (diff > 1e-6).any(dim=0)
            return table
        """,
        "Line 7: `diff = (f(edited % vocab_size) - before).abs().amax(dim=2)`.",
    ),
    "the rank that comes last": (
        "bpe.encode",
        """
        def encode(word, merges):
            ranks = {pair: i for i, pair in enumerate(merges)}
            symbols = [*word[:-1], word[-1] + "</w>"]
            while True:
                pairs = [pair for pair in zip(symbols, symbols[1:]) if pair in ranks]
                if not pairs:
                    return symbols
                left, right = max(pairs, key=ranks.get)
                out, i = [], 0
                while i < len(symbols):
                    if symbols[i : i + 2] == [left, right]:
                        out.append(left + right)
                        i += 2
                    else:
                        out.append(symbols[i])
                        i += 1
                symbols = out
        """,
        "Line 8: `left, right = min(pairs, key=ranks.get)`.",
    ),
    "the other direction": (
        "modern.rotate",
        """
        def rotate(x, positions, base=10000.0):
            half = x.shape[-1] // 2
            inv_freq = 1.0 / base ** (torch.arange(half) / half)
            angles = positions[:, None] * inv_freq
            angles = torch.cat([angles, angles], dim=-1)
            a, b = x.chunk(2, dim=-1)
            return x * angles.cos() + torch.cat([b, -a], dim=-1) * angles.sin()
        """,
        "Line 7: `return x * angles.cos() - torch.cat([b, -a], dim=-1) * angles.sin()`.",
    ),
    "half of an exponent": (
        "positional_encoding.shift",
        """
        def shift(distance, d_model):
            omega = 10000 ** (-torch.arange(d_model // 2) / d_model)
            angle = distance * omega
            M = torch.zeros(d_model, d_model)
            for i, a in enumerate(angle.tolist()):
                M[2 * i, 2 * i] = M[2 * i + 1, 2 * i + 1] = math.cos(a)
                M[2 * i, 2 * i + 1] = -math.sin(a)
                M[2 * i + 1, 2 * i] = math.sin(a)
            return M
        """,
        "Line 2: `omega = 10000 ** (-torch.arange(d_model // 2) / (d_model / 2))`.",
    ),
    "names of a shape": (
        "attention.repair",
        """
        def repair(query, key, value):
            batch, q_len, d_k = query.shape
            scores = torch.bmm(query, key.transpose(1, 2)) / q_len**0.5
            weights = scores.softmax(dim=2)
            return torch.bmm(weights, value), weights
        """,
        "Line 3: `scores = torch.bmm(query, key.transpose(1, 2)) / d_k ** 0.5`.",
    ),
    "a branch beside the slip": (
        "training.noam",
        """
        def noam(step, d_model, warmup):
            a = 1 / math.sqrt(step)
            b = step / warmup * 1.5
            return min(a, b) / math.sqrt(d_model)
        """,
        "Line 3: `b = step * warmup ** (-1.5)`.",
    ),
    "a whole answer around the slip": (
        "training.noam",
        """
        def noam(step, d_model, warmup):
            return d_model**-0.5 * min(step**-0.5, step / warmup * 1.5)
        """,
        "Line 2: `return d_model ** (-0.5) * min(step ** (-0.5), step * warmup ** (-1.5))`.",
    ),
    "a scale that is 0": (
        "multi_head.mha",
        """
        def attend(q, k, v, scale=None, mask=None):
            scores = q @ k.transpose(-2, -1) / (scale or math.sqrt(q.shape[-1]))
            if mask is not None:
                scores = scores.masked_fill(~mask, float("-inf"))
            return scores.softmax(dim=-1) @ v

        def mha(query, key_value, w_q, w_k, w_v, w_o, n_heads, mask=None):
            b, n, d = query.shape
            m = key_value.shape[1]
            q = (query @ w_q).view(b, n, n_heads, -1).transpose(1, 2)
            k = (key_value @ w_k).view(b, m, n_heads, -1).transpose(1, 2)
            v = (key_value @ w_v).view(b, m, n_heads, -1).transpose(1, 2)
            heads = attend(q, k, v, scale=1.0, mask=mask)
            return heads.transpose(1, 2).reshape(b, n, d) @ w_o
        """,
        "Line 13: `heads = attend(q, k, v, mask=mask)`.",
    ),
    "a mask that hides nothing": (
        "attention.scaled_dot_product",
        """
        def answer(query, key, value, mask=None):
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            hidden = torch.ones_like(scores, dtype=torch.bool).triu(1)
            scores = scores.masked_fill(hidden, float("-inf"))
            weights = scores.softmax(dim=-1)
            return weights @ value, weights
        """,
        "Line 3: without lines 3 and 4.",
    ),
}


@pytest.mark.parametrize(("name", "source", "hint"), EXAMPLES.values(), ids=EXAMPLES.keys())
def test_the_change_is_the_one_that_a_teacher_would_make(notebook, name, source, hint):
    result = check_exercise(without_mistakes(name), notebook(source))
    assert result.hints[-1] == hint, str(result)


def test_a_mask_of_one_number_is_no_repair(notebook):
    """`causal_mask(src_mask.shape[1])` is a mask of one number, and would pass."""
    answer = notebook("""
        from course_lib.attention import scaled_dot_product_attention
        from course_lib.masks import causal_mask

        def cross(x, memory, w_q, w_k, w_v, src_mask):
            mask = causal_mask(x.shape[1]) & src_mask
            q, k, v = x @ w_q, memory @ w_k, memory @ w_v
            return scaled_dot_product_attention(q, k, v, mask=mask)
    """)
    result = check_exercise(registry()["decoder.cross_attention"], answer)
    assert not result.lines, str(result)
    assert not any("src_mask.shape" in hint for hint in result.hints)


def test_a_change_of_order_shows_both_lines(notebook):
    answer = notebook("""
        from course_lib.tokens import BOS, EOS, PAD

        def greedy(step, state, max_len):
            tokens = torch.full((len(state),), BOS)
            finished = torch.zeros(len(state), dtype=torch.bool)
            out = []
            for _ in range(max_len):
                logits, state = step(tokens, state)
                tokens = torch.argmax(logits, dim=-1)
                finished = finished | (tokens == EOS)
                tokens = torch.where(finished, torch.full_like(tokens, PAD), tokens)
                out.append(tokens)
                if finished.all():
                    break
            return torch.stack(out, dim=1)
    """)
    result = check_exercise(without_mistakes("seq2seq.greedy"), answer)
    assert result.lines == (9, 10)
    assert "Look at lines 9 and 10: which of the two must happen first?" in result.message
    assert [name for name, _ in result.details[:2]] == ["Line 9", "Line 10"]


def test_a_change_that_makes_a_known_mistake_is_not_told_beside_it(notebook):
    """`done.any()` for `done.all()` would make this answer stop too early, a known mistake that it has not."""
    answer = notebook("""
        from course_lib.tokens import BOS, EOS, PAD

        def greedy(step, state, max_len):
            token = torch.full((len(state),), BOS)
            done, out = torch.zeros(len(state), dtype=torch.bool), []
            for _ in range(max_len + 1):
                logits, state = step(token, state)
                token = logits.argmax(dim=1).masked_fill(done, PAD)
                out.append(token)
                done = token == EOS
                if done.all():
                    break
            return torch.stack(out, dim=1)
    """)
    message = check_exercise(registry()["seq2seq.greedy"], answer).message
    assert "begins to write again" in message, message
    assert "Look, besides, at line 6: is `max_len + 1` the right count" in message


def test_a_change_that_leaves_a_norm_of_one_number_is_none(notebook):
    """Of √(mean of the squares) in the place of `x`, the norm over the features is that number itself."""
    answer = notebook("""
        def answer(x, gain, eps=1e-6):
            return gain * x / x.norm(dim=-1, keepdim=True)
    """)
    result = check_exercise(without_mistakes("modern.rms_norm"), answer)
    assert "is `x.norm(dim=-1, keepdim=True)` what is needed here?" in result.message
    assert "norm" not in result.hints[-1]


def test_nothing_is_put_around_an_infinity(notebook):
    answer = notebook("""
        def answer(logits, temperature=1.0, top_k=None, top_p=1.0):
            probs, index = (logits / temperature).softmax(-1).sort(descending=True)
            if top_k is not None:
                probs[top_k:] = 0
                probs = probs / probs.sum()
            if top_p < 1:
                probs[probs.cumsum(-1) - probs >= top_p] = -torch.inf
            return torch.zeros_like(probs).scatter(0, index, probs / probs.sum())
    """)
    message = check_exercise(without_mistakes("modern.next_word"), answer).message
    assert "does `torch.inf` need" not in message, message


def test_a_change_after_which_more_is_wrong_leaves_no_known_mistake(notebook):
    """With `top_p > 1.0` the filter would be idle. It is not: what it cuts is one word too much, not renormalized."""
    answer = notebook("""
        from course_lib.sampling import top_k_filter

        def next_word_probs(logits, temperature=1.0, top_k=None, top_p=1.0):
            logits = logits / temperature
            if top_k is not None:
                logits = top_k_filter(logits, top_k)
            probs = logits.softmax(dim=-1)
            if top_p < 1.0:
                order = probs.argsort(descending=True)
                kept = probs[order].cumsum(dim=-1) <= top_p
                kept[0] = True
                probs = torch.zeros_like(probs).scatter(0, order, probs[order] * kept)
            return probs
    """)
    exercise = registry()["modern.next_word"]
    ignored = tuple(mistake for mistake in exercise.mistakes if mistake.name == "top-p-ignored")
    message = check_exercise(dataclasses.replace(exercise, mistakes=ignored), answer).message
    assert "no effect" not in message, message


@pytest.mark.parametrize(
    ("name", "source", "told"),
    [
        (  # `"others" >= "itself"` chooses the same branch
            "self_attention.steer",
            """
            def steer(kind, d):
                zero, eye = torch.zeros(d, d), torch.eye(d)
                if kind == "mean":
                    return zero, zero, eye
                if kind == "itself":
                    return 1000.0 * d * eye, eye, eye
                if kind == "others":
                    return zero, zero, (torch.ones(d, d) - eye) / (d - 1)
            """,
            "is the comparison the right one",
        ),
        (  # a root of ids has another dtype
            "prerequisites.pick",
            """
            def pick(logits, targets):
                batch, seq_len = targets.shape
                picked = torch.zeros_like(targets)
                for b in range(batch):
                    for t in range(1, seq_len):
                        picked[b, t] = logits[b, t, targets[b, t]]
                return picked
            """,
            "a root or a power",
        ),
        (  # the whole solution in the place of `best`
            "bleu.closest_length",
            """
            def closest_length(length, reference_lengths):
                best = 0
                for candidate in reference_lengths:
                    if abs(candidate - length) <= abs(best - length):
                        best = candidate
                return best
            """,
            "what is needed here",
        ),
        (  # row -1 is the last one
            "bleu.bootstrap",
            """
            def bootstrap(first, second, n_resamples):
                rng, n = np.random.default_rng(0), len(first)
                differences = np.empty(n_resamples)
                for i in range(n_resamples):
                    rows = rng.integers(0, n - 1, size=n)
                    a, b = scores_of_sums(np.stack([first[rows].sum(0), second[rows].sum(0)]))
                    differences[i] = b - a
                return differences
            """,
            "is `0` the right number",
        ),
    ],
    ids=["texts", "ids", "solution", "last row"],
)
def test_what_is_right_by_chance_is_not_told(name, source, told, notebook):
    from course_lib.bleu.significance import scores_of_sums

    notebook.module.scores_of_sums = scores_of_sums
    message = check_exercise(registry()[name], notebook(source)).message
    assert told not in message, message


@pytest.mark.parametrize(
    ("asked", "yes", "no", "is_new"),
    [
        ("if norm_first:", "norm(x + f(x))", "x + f(norm(x))", False),
        ("if not norm_first:", "x + f(norm(x))", "norm(x + f(x))", True),
    ],
)
def test_a_hint_repeats_no_line_that_the_learner_has(asked, yes, no, is_new, notebook):
    answer = notebook(f"def residual(x, f, norm, norm_first):\n    {asked}\n        return {yes}\n    return {no}")
    hints = check_exercise(registry()["layer_norm.residual"], answer).hints
    assert any("A right answer has `if norm_first:`" in hint for hint in hints) == is_new, hints


def test_a_number_that_becomes_always_the_same_is_no_repair(notebook):
    """`h * n_kv % n_kv` is 0, and all heads would read the first head of keys, a known mistake."""
    answer = notebook("""
        from course_lib.attention import scaled_dot_product_attention

        def grouped(query, key, value, mask=None):
            n_kv = key.shape[1]
            outs = []
            for h in range(query.shape[1]):
                shown = None if mask is None else mask.expand(*query.shape[:3], key.shape[2])[:, h]
                heads = query[:, h], key[:, h % n_kv], value[:, 0]
                outs.append(scaled_dot_product_attention(*heads, shown)[0])
            return torch.stack(outs, 1)
    """)
    assert "first head of keys" not in check_exercise(registry()["modern.grouped_attention"], answer).message


def test_a_change_must_hold_on_cases_that_are_not_shown(toy, notebook):
    """With these cases, 3 is as good as `n`."""
    shown = {"cases": lambda: [case(randn(2, 6, seed=seed), 3) for seed in range(3)]}
    answer = notebook("def answer(x, n):\n    return x[:, :n], x[:, n + 1:]")
    assert check_exercise(toy("cut", **shown), answer).hints[-1] == "Line 2: `return (x[:, :n], x[:, n:])`."


def test_fresh_cases_have_other_numbers_and_other_sizes(toy):
    shown = {"cases": lambda: [case(randn(2, 3), 2.0), case(randn(2, 2, seed=1), 0.5)]}
    fresh = fresh_cases(toy("tempered", **shown))
    assert [tuple(given.args[0].shape) for given, _ in fresh] == [(2, 3), (2, 2)] * 2 + [(2, 4), (2, 2)]
    assert all(torch.equal(answer, (given.args[0] / given.args[1]).softmax(dim=-1)) for given, answer in fresh)
    assert not any(torch.equal(given.args[0], randn(2, 3)) for given, _ in fresh)


def test_a_size_that_is_also_given_as_a_number_is_not_changed(toy, notebook):
    """Then the right answers differ: here by the root of d, or of the last axis."""
    other = notebook("def other(x, key, d):\n    return x @ key.transpose(-2, -1) / x.shape[-1] ** 0.5")
    shown = {"cases": lambda: [case(randn(3, 4), randn(5, 4, seed=1), 4)], "alternatives": (other,)}
    assert {tuple(given.args[0].shape) for given, _ in fresh_cases(toy("scaled", **shown))} == {(3, 4)}


def test_cases_written_by_hand_lend_each_other_arguments(toy):
    shown = {"cases": lambda: [case([1, 2], 2.0), case([3], 1.0)], "reference": lambda x, t: [each / t for each in x]}
    assert [given.args for given, _ in fresh_cases(toy("tempered", **shown))] == [([3], 2.0), ([1, 2], 1.0)]


SHARES = """
    def answer(x):
        exps = (x - x.amax(dim=-1, keepdim=True)).exp()
        return exps / exps.sum(dim=0, keepdim=True)
"""


def test_the_same_answer_gets_the_same_message_on_a_busy_machine(toy, notebook, monkeypatch):
    """On a machine on which others work a clock on the wall runs faster, and on a slow one the processor's, too."""
    answer = notebook("""
        def answer(x, t):
            rows = x.view(1, -1).sum() * x
            return rows.log() / t.exp(dim=3)
    """)
    some = Budget(work=900)
    idle = str(check_exercise(toy("tempered"), answer, budget=some))
    monkeypatch.setattr(run, "monotonic", lambda: 10 * time.monotonic())
    monkeypatch.setattr(run, "process_time", lambda: 10 * time.process_time())
    assert str(check_exercise(toy("tempered"), answer, budget=some)) == idle
    located = check_exercise(toy("shares"), notebook(SHARES))
    monkeypatch.undo()
    assert str(located) == str(check_exercise(toy("shares"), notebook(SHARES)))


def test_what_a_notebook_calls_by_the_name_of_a_variable_makes_no_difference(toy, notebook):
    """`_` is the last cell's result there, and `total` may be a model."""
    code = """
        def answer(n):
            total = 0
            for _ in range(1, n):
                total = total + _ * _
            return total
    """
    first = check_exercise(toy("squares"), notebook(code))
    assert first.lines == (3,)
    vars(notebook.module).update(_=first, total=nn.Linear(2, 2), exps=open)
    assert str(check_exercise(toy("squares"), notebook(code))) == str(first)


@pytest.mark.parametrize(("body", "safe"), [("found = x + 1\n    return found", True), ("return found(x)", False)])
def test_the_variables_of_a_helper_are_its_own(body, safe, notebook):
    helper = notebook(f"def helper(x):\n    {body}")
    vars(notebook.module).update(found=open)
    assert is_safe(ast.parse("def answer(x):\n    return helper(x)").body, {"helper": helper}) == safe


def test_a_traceback_before_it_makes_no_check_slow():
    """IPython's mark the nodes of trees, and all trees share one `*`: from each of them, all are reached."""
    tree = ast.parse("width * 2")
    for node in ast.walk(tree):
        for child in ast.iter_child_nodes(node):
            child.parent = node
    shared = tree.body[0].value.op
    assert shared is ast.parse("a * b").body[0].value.op
    check_exercise(registry()["masks.causal"], lambda n: torch.ones(n * n))
    assert not vars(shared)


def test_what_was_checked_before_makes_no_difference(notebook):
    """A name of a cell above is a helper's, or a twin of the library's; and mistakes are run once in a process."""
    asked = [answer for answer in ANSWERS if answer.exercise in ("bpe.merge", "bpe.train") and answer.kind == "Wrong"]
    asked = random.Random(1).sample(asked, k=4)

    def told(answer):
        notebook(answer.given or "def nothing():\n    pass")
        return str(check_exercise(without_mistakes(answer.exercise), notebook(answer.code), budget=Budget(work=900)))

    there = [told(answer) for answer in asked]
    assert [told(answer) for answer in reversed(asked)] == there[::-1]


def test_no_budget_no_search(toy, notebook):
    assert check_exercise(toy("shares"), notebook(SHARES)).lines == (3,)
    assert not check_exercise(toy("shares"), notebook(SHARES), budget=Budget(work=0)).lines


def test_a_line_can_be_preferred(toy, notebook):
    """The author of a mistake knows where it is; here the sign can be changed in every line."""
    source = "def answer(x, key, d):\n    x = -x\n    scores = x @ key.mT\n    return scores / d**0.5"
    exercise, obj = toy("scaled"), notebook(source)
    cases = list(exercise.cases())
    expected = [exercise.run(exercise.reference, given) for given in cases]
    found = [nearest_repair(exercise, obj, cases, expected, [0, 1], line=line).lines for line in (2, 3, 4)]
    assert found == [(2,), (3,), (4,)]


# How often it finds the line


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_random_change_of_a_reference_is_located(subject, notebook):
    draw = random.Random(0)
    located = []
    functions = {name: each for name, each in registry().items() if name.startswith(f"{subject}.")}
    for name, exercise in functions.items():
        source = bare(exercise.reference)
        unnamed = without_mistakes(name)
        vars(notebook.module).update(inspect.unwrap(exercise.reference).__globals__, __name__="notebook")
        refused = 0
        for changed in itertools.islice(mutants(source, draw), 200):
            result = check_exercise(unnamed, notebook(changed), time_limit=5.0)
            if result.attempted and not result.passed and "means nothing here" not in result.message:
                located.append(bool(set(result.lines) & changed_lines(source, changed)))
                refused += 1
            if refused == 2:
                break
    assert len(located) >= 2 * len(functions)
    assert sum(located) >= 0.9 * len(located)


# What it must never do


DANGEROUS = {
    "open": "open('x')",
    "a module": "os.remove('x')",
    "a module under another name": "o.remove('x')",
    "an import": "__import__('os')",
    "a file of an array": "np.save('x', n)",
    "a file of tensors": "torch.save(n, 'x')",
    "eval": "eval('n')",
    "a path": "Path('x').unlink()",
    "an attribute by its name": "getattr(torch, 'sa' + 've')",
    "what finds such attributes": "[getattr(F, 'relu'), getattr][1](torch, 'sa' + 've')",
    "a way round": "().__class__.__subclasses__()",
    "input": "input()",
    "a setting": "torch.set_default_dtype(torch.float64)",
    "a helper that does it": "writes()",
    "a helper's helper": "calls_writes()",
    "a value that does it": "handle.write('x')",
    "numbers without an end": "itertools.count()",
}


@pytest.mark.parametrize("call", DANGEROUS.values(), ids=DANGEROUS.keys())
def test_code_that_may_do_harm_is_not_tried_in_variants(notebook, call):
    import os
    from pathlib import Path

    vars(notebook.module).update(os=os, o=os, itertools=itertools, Path=Path, handle=sys.stderr)
    notebook("def writes():\n    return open('x')\n\n\ndef calls_writes():\n    return writes()")
    assert code_of(notebook("def answer(n):\n    return n + 1")) is not None
    assert code_of(notebook("def answer(n):\n    return getattr(F, 'relu')(n)")) is not None
    assert code_of(notebook(f"def answer(n):\n    if n > 100:\n        {call}\n    return n + 1")) is None
    assert code_of(notebook("def answer(n):\n    import os\n    return n")) is None
    assert code_of(notebook("def answer(n):\n    from subprocess import run\n    return n")) is None


LONGER = {
    "extend": "s.extend([pad_id] * (longest - len(s)))",
    "an index": "sequences[i] = s + [pad_id] * (longest - len(s))",
}


@pytest.mark.parametrize("line", LONGER.values(), ids=LONGER.keys())
def test_lists_that_come_to_hold_one_another_end_no_python(notebook, line):
    """Among the variants is `s.extend([sequences] * …)`, and `torch.tensor` of that alone ends the process."""
    answer = notebook(f"""
        from torch import tensor

        def my_pad(sequences, pad_id=0):
            longest = max(map(len, sequences))
            for i, s in enumerate(sequences):
                {line}
            return torch.stack([tensor(s) for s in sequences]) if pad_id else torch.tensor(sequences)
    """)
    assert "changes its input `sequences` in place" in check_exercise(registry()["batching.pad"], answer).message


@pytest.mark.parametrize(
    "value", ["range(10**15)", "range(10**30)", "type('Long', (), {'__len__': lambda _: 10**18})()", "iter(int, 1)"]
)
def test_what_has_more_items_than_anybody_asks_for_is_not_searched(value, toy, notebook):
    result = check_exercise(toy("lower"), notebook(f"def answer(n):\n    return {value}"))
    assert (result.repair, result.passed) == (None, False)


def test_an_object_that_says_it_is_a_tensor_is_not_searched(toy, notebook):
    """PyTorch ends Python where it takes it for one: `torch.tensor([lying])` is enough."""
    answer = notebook("""
        class Lying:
            __class__ = property(lambda self: torch.Tensor)

        def answer(n):
            return [Lying()]
    """)
    assert check_exercise(toy("lower"), answer).diagnosis == "wrong-type"


def test_in_a_bug_hunt_what_was_written_too_much_is_told_beside_the_bug_that_is_left(notebook):
    answer = notebook("""
        def my_block(x, w_q, w_k, w_v, w_o, gamma):
            tokens = x.flatten(start_dim=2).mT
            query, key, value = tokens @ w_q, tokens @ w_k, tokens @ w_v
            scores = query @ key.mT / math.sqrt(query.shape[-1])
            weights = scores.softmax(dim=1)
            image = (weights @ value @ w_o).mT.reshape(x.shape)
            return (1 - gamma) * x + gamma * image
    """)
    result = check_exercise(registry()["image_attention.repair"], answer)
    assert result.diagnosis == "left-queries", str(result)
    assert result.message.endswith("at line 7: is every step of `(1 - gamma) * x` needed?"), result.message


def test_elsewhere_a_step_of_the_learners_is_not_dropped_for_a_known_mistake(notebook):
    """Without `* keep`, this would answer as if `top_p` had no effect, which it has."""
    answer = notebook("""
        from course_lib.sampling import top_k_filter

        def next_word_probs(logits, temperature=1.0, top_k=None, top_p=1.0):
            plain = logits.softmax(dim=-1)
            order = plain.argsort(descending=True)
            keep = torch.zeros_like(plain, dtype=torch.bool)
            keep[order[plain[order].cumsum(dim=0) - plain[order] < top_p]] = True
            logits = logits / temperature
            if top_k is not None:
                logits = top_k_filter(logits, top_k)
            return logits.softmax(dim=-1) * keep
    """)
    assert check_exercise(registry()["modern.next_word"], answer).diagnosis == "wrong-values"


def test_a_list_that_holds_itself_is_a_plain_error(toy, notebook):
    answer = notebook("""
        def answer(n):
            a, b = [1.0], [2.0]
            a.append(b), b.append(a)
            return torch.tensor(a)
    """)
    assert "a list that holds itself" in str(check_exercise(toy("lower"), answer, budget=Budget(work=0)))
    assert not hasattr(torch.tensor, "__wrapped__")


def test_a_pad_that_is_put_once_is_searched_without_harm(notebook):
    """Among the variants of this is `rows.append(rows)`."""
    answer = notebook("""
        def my_pad(sequences, pad_id=0):
            longest = max(map(len, sequences))
            rows = []
            for sequence in sequences:
                row = list(sequence)
                if len(row) < longest:
                    row.append(pad_id)
                rows.append(row)
            return torch.tensor(rows)
    """)
    assert not check_exercise(without_mistakes("batching.pad"), answer).passed


def test_a_file_is_touched_by_the_check_alone(toy, notebook, tmp_path):
    notebook.module.path = str(tmp_path / "calls")
    answer = notebook("""
        def answer(n):
            with open(path, "a") as file:
                file.write("called\\n")
            return torch.ones(n, n).triu().bool()
    """)
    assert not check_exercise(toy("lower"), answer).lines
    assert (tmp_path / "calls").read_text().count("called") <= 2 * len(CASES["lower"]())


def test_nothing_of_a_variant_stays(toy, notebook, capsys):
    notebook.module.seen = []
    answer = notebook("""
        def answer(x, t):
            seen.append(t)
            print("called")
            torch.rand(1)
            return (x * t).softmax(dim=-1)
    """)
    torch.manual_seed(1)
    expected = torch.rand(1)
    torch.manual_seed(1)
    result = check_exercise(toy("tempered"), answer)
    assert result.lines == (5,)
    assert torch.rand(1) == expected
    assert capsys.readouterr() == ("", "")
    assert len(notebook.module.seen) <= 3 * len(CASES["tempered"]())
    assert notebook.module.answer is answer


def test_loops_that_never_end_in_variants_are_stopped(toy, notebook):
    answer = notebook("""
        def answer(n):
            total, i = 0, 1
            while i < n:
                total += i * i
                i += 1
            return total
    """)
    result = check_exercise(toy("squares"), answer)
    assert result.lines == (3,)
    assert "in `i < n`, is the comparison the right one" in result.message


def test_it_works_in_a_thread_too(toy, notebook):
    answer, results = notebook("def answer(n):\n    return torch.ones(n, n).triu().bool()"), []
    thread = threading.Thread(target=lambda: results.append(check_exercise(toy("lower"), answer)))
    thread.start()
    thread.join()
    assert results[0].lines == (2,)


def test_the_time_is_kept(toy, notebook):
    answer = notebook("""
        def answer(n):
            for i in range(100_000):
                pass
            return torch.ones(n, n).exp().cumsum(0).flip(1).sin()
    """)
    begun = time.process_time()
    assert not check_exercise(toy("lower"), answer, budget=Budget(seconds=0.3)).lines
    assert time.process_time() - begun < 3


def test_no_variant_counts_further_than_the_answer(toy, notebook):
    answer = notebook("def answer(n):\n    return sum(range(10**6)) > n")
    begun = time.process_time()
    assert not check_exercise(toy("lower"), answer, budget=Budget(seconds=1)).passed
    assert time.process_time() - begun < 10, "20**6 or 10**12 is a single step, which no limit ends"
