"""Code under a limit: no clock harms the kernel, nothing stays behind, and no answer makes the check itself raise."""

import builtins
import collections
import copy
import decimal
import gc
import inspect
import itertools
import json
import locale
import logging
import os
import pathlib
import pdb
import random
import re
import signal
import sys
import textwrap
import threading
import time
import warnings
from dataclasses import replace
from functools import partial

import forked
import numpy as np
import pytest
import torch
from test_exercise_engine import double, endless, exercise, judge
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

import course_lib
from course_lib import masks, transformer
from course_practice.engine import answers, check_exercise, checking, clock, plain, progress, state, trial
from course_practice.engine.clock import Limit, OutOfTime, in_time
from course_practice.engine.compare import difference
from course_practice.engine.sandbox import run_safely
from course_practice.exercises import check, registry

__all__ = ["check_exercise", "exercise"]  # a process of its own imports them from here

try:
    import resource
except ImportError:  # Windows
    resource = None

UNIX = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no alarms on Windows")


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSFORMER_COURSE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def spin(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


# Imports


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package whose import does `work` between its two parts, and is forgotten after the test."""

    def write(work):
        folder = tmp_path / "late_package"
        folder.mkdir()
        lines = ["import late_package.core", textwrap.dedent(work), "DONE = late_package.core.HALF"]
        (folder / "__init__.py").write_text("\n".join(lines))
        (folder / "core.py").write_text("HALF = 2\n")
        monkeypatch.syspath_prepend(tmp_path)

    yield write
    for name in [name for name in sys.modules if name.startswith("late_package")]:
        del sys.modules[name]


def uses_it(x):
    import late_package

    return x * late_package.core.HALF


@pytest.mark.parametrize("threads", [False, True])
def test_an_import_is_let_finish(package, threads):
    package("import time\nend = time.process_time() + 0.6\nwhile time.process_time() < end:\n    pass")
    if threads:
        thread = threading.Thread(target=judge, args=(uses_it,), kwargs={"time_limit": 0.2})
        thread.start(), thread.join()
    else:
        judge(uses_it, time_limit=0.2)
    assert sys.modules["late_package"].DONE == 2
    assert judge(uses_it).passed


FIRST_TIME = """
    from pathlib import Path
    begun = Path(__file__).with_name("begun")
    if not begun.exists():
        begun.touch()
        {}
"""


@pytest.mark.parametrize("work", ["while True: pass", "raise MemoryError", "(f := lambda: f())()"])
def test_a_half_imported_package_is_forgotten(package, work, monkeypatch):
    monkeypatch.setattr(clock, "IMPORT", 0.2)
    package(FIRST_TIME.format(work))
    assert not judge(uses_it, time_limit=0.2).passed
    assert judge(uses_it).passed


WRONG_ANSWERS_OF_MASKS = """
    import random, sys
    assert "sympy" not in sys.modules
    from types import ModuleType
    import torch
    from tests.repairs import run_cell
    from tests.test_exercises_answers import ANSWERS
    from course_practice.engine import check_exercise
    from course_practice.exercises import check, registry
    from course_practice.repair import Budget
    torch.set_num_threads(1)
    notebook = sys.modules["notebook"] = ModuleType("notebook")
    from torch.nn import functional as F
    vars(notebook).update(torch=torch, F=F)
    wrong = [one for one in ANSWERS if one.kind == "Wrong" and one.exercise == "masks.for_pytorch"]
    random.Random(int(sys.argv[1])).shuffle(wrong)
    for answer in wrong[:2]:
        check_exercise(registry()[answer.exercise], run_cell(notebook, answer.code), budget=Budget(work=500))
    right = '''def right(real, order):
        both = real[:, None, None, :] & order
        return tuple(torch.zeros(m.shape).masked_fill(~m, -torch.inf) for m in (real, order, both))'''
    result = check("masks.for_pytorch", run_cell(notebook, right))
    assert result.passed, str(result)
"""


@UNIX
@pytest.mark.parametrize("order", [0, 3])
def test_a_right_answer_passes_after_wrong_ones_in_a_fresh_kernel(order, tmp_path):
    """PyTorch imports sympy when it first looks at masks, and that may be in the middle of a search."""
    assert forked.lines_of(WRONG_ANSWERS_OF_MASKS, tmp_path / "printed", str(order)) == []


# The processor's seconds


def test_a_busy_machine_makes_no_answer_too_slow(pass_by):
    """It has a fifth of the processor: of the three seconds on the wall, six tenths of a second are its own."""

    def answer(x):
        pass_by(1.0, processor=0.2)
        return 2 * x

    assert judge(answer, time_limit=1.5).passed


def test_a_clock_that_is_set_right_changes_no_limit(monkeypatch):
    jumps, now = itertools.cycle([86_400, -86_400]), time.time
    monkeypatch.setattr(time, "time", lambda: now() + next(jumps))
    assert judge(double, time_limit=5.0).passed
    assert judge(endless, time_limit=0.2).diagnosis == "too-slow"


def test_no_limit_strikes_where_its_call_has_just_ended():
    """It is still in force for a moment. An exception there would leave it in force for all that follows."""
    of_in_time = in_time(Limit(10.0), lambda: sys._getframe(1))
    watched = clock._Watched()
    watched.limits.append(Limit(-1.0))
    watched.on_alarm(0, of_in_time)
    with pytest.raises(OutOfTime):
        watched.on_alarm(0, sys._getframe())


def test_code_that_sleeps_has_a_limit_on_the_wall():
    with pytest.raises(OutOfTime):
        in_time(Limit(0.1), lambda: time.sleep(86_400))


@UNIX
@pytest.mark.parametrize(
    "step", [lambda: re.match("(a+)+$", "a" * 60 + "b"), lambda: 3 ** (10**9)], ids=["regex", "power"]
)
def test_a_step_that_lets_no_other_thread_run_is_stopped_where_it_looks_for_signals(step):
    begun = time.process_time()
    assert judge(lambda x: step(), time_limit=0.5).diagnosis == "too-slow"
    assert time.process_time() - begun < 30


@UNIX
@pytest.mark.parametrize(
    "hinder",
    [
        lambda: signal.setitimer(signal.ITIMER_REAL, 0),
        lambda: signal.signal(signal.SIGALRM, signal.SIG_IGN),
        lambda: signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM}),
    ],
    ids=["timer off", "ignored", "blocked"],
)
def test_a_loop_that_switches_alarms_off_is_stopped(hinder):
    def answer(x):
        hinder()
        while True:
            pass

    assert judge(answer, time_limit=0.2).diagnosis == "too-slow"
    assert judge(endless, time_limit=0.2).diagnosis == "too-slow"


@pytest.mark.parametrize("limit", [float("inf"), float("nan"), 1e10, "3", 0, -1.0, True, None])
def test_a_time_limit_that_is_none_is_refused(limit):
    with pytest.raises(ValueError, match=r"expected time_limit in seconds, above 0 and at most 86,400, got"):
        judge(double, time_limit=limit)
    assert not progress.progress_file().exists()


@pytest.mark.parametrize("off", [torch.no_grad, torch.inference_mode])
def test_gradients_that_the_reader_has_switched_off_are_on_in_a_check(off):
    def slope(x):
        x = x.double().requires_grad_()
        (x * x).sum().backward()
        return x.grad

    with off():
        assert check_exercise(replace(exercise(), reference=slope), double).passed
        assert not torch.is_grad_enabled()


def test_half_precision_that_the_reader_has_switched_on_is_off_in_a_check():
    with torch.autocast("cpu", torch.bfloat16):
        assert judge(lambda x: None if torch.is_autocast_enabled("cpu") else double(x)).passed


# What a learner's code leaves behind


def _reads():
    return {
        "threads": torch.get_num_threads(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "dtype": torch.get_default_dtype(),
        "device": torch.get_default_device(),
        "gradients": torch.is_grad_enabled(),
        "anomaly": torch.is_anomaly_enabled(),
        "modes": (torch._C._len_torch_function_stack(), torch._C._len_torch_dispatch_stack()),
        "autocast": (torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")),
        "errors": np.geterr(),
        "recursion": sys.getrecursionlimit(),
        "garbage": gc.isenabled(),
        "trace": sys.gettrace(),
        "profile": sys.getprofile(),
        "warnings": list(warnings.filters),
        "print options": (str(torch._tensor_str.PRINT_OPTS), np.get_printoptions()),
        "path": list(sys.path),
        "folder": os.getcwd(),
        "interrupt": signal.getsignal(signal.SIGINT),
        "alarm": signal.getsignal(getattr(signal, "SIGALRM", signal.SIGINT)),
        "timer": signal.getitimer(signal.ITIMER_REAL) if hasattr(signal, "getitimer") else None,
        "environment": dict(os.environ),
        "random": (torch.get_rng_state().tolist(), random.getstate(), np.random.get_state()[1].tolist()),
        "printing": (sys.stdout, sys.stderr),
        "patched": [vars(owner).get(name) for owner, name in PATCHED],
        "insides": [
            (f.__code__, f.__defaults__, f.__kwdefaults__)
            for f in (masks.causal_mask, transformer.Transformer.forward, answers.difference_in)
        ],
        "modules": sys.modules.get("torch"),
        "hooks": len(torch.nn.modules.module._global_forward_hooks),
        "precision": torch.get_float32_matmul_precision(),
        "kernels": (torch.backends.mkldnn.enabled, torch.backends.cuda.math_sdp_enabled()),
        "tiny numbers": sys.float_info.min / 2,
        "decimals": decimal.getcontext().prec,
        "logging": (logging.root.level, logging.root.manager.disable, list(logging.root.handlers)),
        "finders": (list(sys.meta_path), list(sys.path_hooks)),
        "pace": (sys.getswitchinterval(), gc.get_threshold(), len(gc.callbacks)),
        "new files": _new_files(),
        "letters": locale.setlocale(locale.LC_ALL),
    }


def _new_files():
    os.umask(mask := os.umask(0o077))
    return mask, resource and resource.getrlimit(resource.RLIMIT_FSIZE)


PATCHED = [
    *[(builtins, name) for name in ("len", "isinstance", "next", "print", "all", "max", "sorted", "super")],
    *[(copy, "deepcopy"), (json, "dump"), (json, "dumps"), (time, "monotonic"), (os, "getpid"), (os, "environ")],
    *[(sys, "modules"), (sys, "stdout"), (signal, "signal"), (threading, "Thread"), (warnings, "filters")],
    *[(torch, "allclose"), (torch, "tensor"), (torch.Tensor, "double"), (torch.nn.Module, "__call__")],
    *[(pathlib.Path, "read_text"), (pathlib.Path, "exists"), (re, "search"), (re, "compile"), (inspect, "unwrap")],
    *[(answers, "difference"), (checking, "difference_in"), (clock, "monotonic"), (progress, "record")],
    *[(torch.nn.Linear, "forward"), (torch.optim.Adam, "step"), (collections, "Counter"), (itertools, "chain")],
    *[(transformer.Transformer, "forward"), (np.random, "rand"), (torch.special, "expit"), (torch.nn.init, "zeros_")],
    *[(plain, "plain"), (trial, "run"), (state, "alone"), (masks, "masked_softmax"), (course_lib, "masks")],
]


def _patches(owner, name):
    return lambda: setattr(owner, name, lambda *args, **kwargs: None)


LEAVES = {
    "threads": lambda: torch.set_num_threads(2),
    "deterministic": lambda: torch.use_deterministic_algorithms(True),
    "dtype": lambda: torch.set_default_dtype(torch.float64),
    "device": lambda: torch.set_default_device("meta"),
    "gradients": lambda: torch.set_grad_enabled(False),
    "anomaly": lambda: torch.autograd.set_detect_anomaly(True),
    "function mode": lambda: type("Mode", (TorchFunctionMode,), {"__torch_function__": lambda *_: 1})().__enter__(),
    "dispatch mode": lambda: type("Mode", (TorchDispatchMode,), {"__torch_dispatch__": lambda *_: 1})().__enter__(),
    "device and mode": lambda: (torch.set_default_device("meta"), TorchFunctionMode().__enter__()),
    "autocast": lambda: torch.autocast("cpu", torch.bfloat16).__enter__(),
    "errors": lambda: np.seterr(all="raise"),
    "recursion": lambda: sys.setrecursionlimit(50_000),
    "hardly any recursion": lambda: sys.setrecursionlimit(len(__import__("inspect").stack()) + 9),
    "garbage": gc.disable,
    "trace": lambda: sys.settrace(lambda *args: 1 / 0),
    "profile": lambda: sys.setprofile(lambda *args: 1 / 0),
    "warnings": lambda: warnings.simplefilter("error"),
    "print options": lambda: (torch.set_printoptions(precision=1), np.set_printoptions(suppress=True)),
    "path": lambda: sys.path.insert(0, "nowhere"),
    "another path": lambda: setattr(sys, "path", ["nowhere"]),
    "clock that is looked at": lambda: (setattr(clock, "monotonic", None), spin(0.1)),
    "folder": lambda: os.chdir("/"),
    "interrupt": lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    "environment": os.environ.clear,
    "random": lambda: (torch.manual_seed(3), random.seed(3), np.random.seed(3)),
    "printing": lambda: (sys.stdout.close(), sys.stderr.close()),
    "no printing": lambda: (delattr(sys, "stdout"), setattr(sys, "stderr", None)),
    "torch": lambda: sys.modules.pop("torch"),
    "all modules": sys.modules.clear,
    "code": lambda: setattr(masks.causal_mask, "__code__", (lambda n, device=None: torch.zeros(n, n)).__code__),
    "code of a method": lambda: setattr(transformer.Transformer.forward, "__code__", (lambda self: None).__code__),
    "hooks": lambda: torch.nn.modules.module.register_module_forward_hook(lambda *_: None),
    "precision": lambda: torch.set_float32_matmul_precision("medium"),
    "kernels": lambda: (torch._C._set_mkldnn_enabled(False), torch.backends.cuda.enable_math_sdp(False)),
    "tiny numbers": lambda: torch.set_flush_denormal(True),
    "decimals": lambda: setattr(decimal.getcontext(), "prec", 2),
    "logging": lambda: (logging.disable(50), logging.root.setLevel(0), logging.root.handlers.clear()),
    "finders": lambda: (sys.meta_path.clear(), sys.path_hooks.clear()),
    "pace": lambda: (sys.setswitchinterval(1), gc.set_threshold(1), gc.callbacks.append(lambda *_: None)),
    "new files": lambda: (os.umask(0o777), resource.setrlimit(resource.RLIMIT_FSIZE, (0, -1))),
    "code of the engine": lambda: setattr(answers.difference_in, "__code__", (lambda *_: None).__code__),
    "letters": lambda: locale.setlocale(locale.LC_ALL, "C"),
    "values to begin with": lambda: setattr(masks.causal_mask, "__defaults__", ("meta",)),
    "named values to begin with": lambda: setattr(masks.causal_mask, "__kwdefaults__", {"device": "meta"}),
    **{f"{owner.__name__}.{name}": _patches(owner, name) for owner, name in PATCHED},
}
if hasattr(signal, "setitimer"):
    LEAVES["alarm"] = lambda: signal.signal(signal.SIGALRM, signal.SIG_IGN)
    LEAVES["timer"] = lambda: signal.alarm(100)


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")  # who looks at the clock goes on
@pytest.mark.parametrize("leaves", LEAVES.values(), ids=LEAVES.keys())
def test_nothing_stays_behind(leaves):
    def answer(x):
        y = 3 * x
        leaves()
        return y

    judge(partial(lambda x: x))  # loads what is loaded at the first wrong answer
    before = _reads()
    result = judge(partial(answer))  # without source, so without a repair
    after = _reads()
    assert not result.passed
    assert {name: after[name] == before[name] for name in after} == dict.fromkeys(after, True)
    assert judge(lambda x: x + x).passed


def test_an_answer_that_changes_what_judges_it_is_wrong():
    def answer(n):
        masks.causal_mask.__code__ = (lambda n, device=None: torch.zeros(n, n)).__code__
        return torch.zeros(n, n)

    assert not check_exercise(registry()["masks.causal"], partial(answer)).passed
    assert masks.causal_mask(2).tolist() == [[True, False], [True, True]]


def test_checks_in_threads_that_overlap_leave_nothing_behind():
    """The second would take what the first has set for the notebook's own, and put it back."""
    began, ended, results = threading.Event(), threading.Event(), []

    def first(x):
        began.set()
        ended.wait(0.1)
        return 2 * x

    def second(x):
        ended.wait(0.1)
        return x + x

    def judged(answer):
        results.append(judge(answer).passed)
        ended.set()

    before = _reads()
    threads = [threading.Thread(target=judged, args=(answer,)) for answer in (first, second)]
    threads[0].start(), began.wait(60), threads[1].start()
    for thread in threads:
        thread.join()
    assert results == [True, True]
    assert _reads() == before


@UNIX
@pytest.mark.parametrize("then", ["pass", "raise SystemExit", "while True: pass"])
def test_a_process_that_is_forked_off_never_comes_back(then, tmp_path):
    """In a process of its own: the children of this one are pytest's."""
    program = f"""
        import os
        from tests.test_exercise_sandbox import exercise, check_exercise

        def answer(x):
            if os.fork() == 0:
                {then}
            return 2 * x

        result = check_exercise(exercise(), answer, time_limit=0.9)
        print("came back", result.passed, flush=True)
        try:
            print("left behind", os.wait())
        except ChildProcessError:
            pass
    """
    assert forked.lines_of(program, tmp_path / "printed") == ["came back True"]


@UNIX
def test_a_profiler_works_after_a_limit_that_no_alarm_brought(tmp_path):
    """In a process of its own: it might go round forever in C."""
    program = """
        import signal, sys
        from tests.test_exercise_sandbox import check_exercise, exercise

        def answer(x):
            signal.signal(signal.SIGALRM, signal.SIG_IGN)
            while True:
                pass

        print(check_exercise(exercise(), answer, time_limit=0.2).diagnosis)
        sys.setprofile(lambda *_: None)
        print((lambda: "came back")())
    """
    assert forked.lines_of(program, tmp_path / "printed") == ["too-slow", "came back"]


# Whatever is answered


class RaisingTensor(torch.Tensor):
    """A tensor that answers no question about itself."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        raise RuntimeError("evil")


class Impostor:
    """Says that it is a tensor."""

    __class__ = torch.Tensor


class LoopsWhenShown:
    """Its text never ends."""

    def __repr__(self):
        while True:
            pass

    __str__ = __repr__


class EndlessList(list):
    """Its items never come, and it has as many as one likes."""

    def __iter__(self):
        while True:
            pass

    def __len__(self):
        return 3


class LoopsWhenCompared:
    """It is never done with comparing."""

    def __eq__(self, other):
        while True:
            pass

    __hash__ = None


class LoopingError(Exception):
    """Its words never end."""

    def __str__(self):
        while True:
            pass


class RaisingExit(SystemExit):
    """It answers no question about itself, not even what it is."""

    code = args = name = __class__ = property(lambda self: 1 / 0)


class RaisingRuntimeError(RuntimeError):
    """It has no words."""

    def __str__(self):
        raise RaisingExit


class LoopsWhenItDies:
    """Its end never comes."""

    def __del__(self):
        while True:
            pass


class LoopsWhenAsked:
    """A right answer that nobody can ask for anything else."""

    def __call__(self, x):
        return 2 * x

    def __getattr__(self, name):
        while True:
            pass


class LoopsWhenNamed(type):
    """The class of classes whose name never ends."""

    @property
    def __name__(cls):
        while True:
            pass


class NamelessError(Exception, metaclass=LoopsWhenNamed):
    """Nobody can say what it is."""


def nested(levels):
    found = []
    for _ in range(levels):
        found = [found]
    return found


def _fails(error):
    raise error


def calls_itself_through_c(x):
    return sorted([x], key=calls_itself_through_c)


STRANGE = {
    "float8": lambda x: x.to(torch.float8_e4m3fn),
    "quantized": lambda x: torch.quantize_per_tensor(x.float(), 0.1, 0, torch.qint8),
    "nested": lambda x: torch.nested.nested_tensor([x.flatten(), x.flatten()[:1]]),
    "bits8": lambda x: x.to(torch.uint8).view(torch.bits8),
    "meta": lambda x: x.to("meta"),
    "complex": lambda x: x.to(torch.complex64),
    "raising tensor": lambda x: torch.ones(2).as_subclass(RaisingTensor),
    "impostor": lambda x: Impostor(),
    "loops when shown": lambda x: LoopsWhenShown(),
    "endless list": lambda x: EndlessList([1, 2, 3]),
    "list of strange things": lambda x: [LoopsWhenShown(), Impostor()],
    "pair of strange things": lambda x: (x.to(torch.float8_e4m3fn), LoopsWhenCompared()),
    "loops when compared": lambda x: LoopsWhenCompared(),
    "looping error": lambda x: _fails(LoopingError()),
    "raising error": lambda x: _fails(RaisingRuntimeError()),
    "raising exit": lambda x: _fails(RaisingExit()),
    "error made of what loops": lambda x: _fails(RuntimeError(LoopsWhenShown())),
    "nameless error": lambda x: _fails(NamelessError()),
    "lists in lists": lambda x: nested(100_000),
    "everything": lambda x: torch.ones(1).expand(10**11),
    "the end of Python": lambda x: os._exit(3),
    "the same, from elsewhere": lambda x: sys.modules[os.name]._exit(3),
    "the same, imported before": lambda x: sys.modules["__main__"]._exit(3),
    "a signal that ends Python": lambda x: signal.raise_signal(signal.SIGTERM),
    "one to its own number": lambda x: sys.modules[os.name].kill(os.getpid(), signal.SIGTERM),
    "calls without end": lambda x: (sys.setrecursionlimit(10**6), calls_itself_through_c(x)),
}


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_what_the_notebook_has_set_draws_no_other_inputs(dtype):
    answer = registry()["attention.scaled_dot_product"].reference
    assert check("attention.scaled_dot_product", answer).passed
    torch.set_default_dtype(dtype)
    try:
        assert check("attention.scaled_dot_product", answer).passed
        assert torch.get_default_dtype() == dtype
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.filterwarnings("ignore::UserWarning")  # PyTorch's, about its prototypes
@pytest.mark.parametrize("strange", STRANGE.values(), ids=STRANGE.keys())
def test_no_answer_makes_the_check_raise(strange, monkeypatch):
    monkeypatch.setattr(plain, "MOMENT", 0.01)
    monkeypatch.setattr(sys.modules["__main__"], "_exit", os._exit, raising=False)  # the notebook has imported it
    answers = {
        "masks.causal": lambda n: strange(torch.ones(n, n).tril()),
        "masks.softmax": lambda scores, mask: strange(scores),
        "multi_head.split_heads": lambda x, n_heads: strange(x),
        "attention.scaled_dot_product": lambda q, k, v, mask=None: (strange(v), strange(q)),
        "bpe.merge": lambda *given: strange(torch.ones(2, 2)),
    }
    assert not judge(partial(strange)).passed
    for name, answer in answers.items():  # without source, so without a repair
        assert not check(name, partial(answer), time_limit=0.5).passed


@pytest.mark.parametrize("debug", [breakpoint, lambda: pdb.set_trace(), lambda: sys.modules["__main__"].set_trace()])
def test_a_check_does_not_wait_for_a_debugger(debug, monkeypatch):
    monkeypatch.setattr(sys.modules["__main__"], "set_trace", pdb.set_trace, raising=False)  # imported
    hook = sys.breakpointhook
    assert check("masks.causal", lambda n: (debug(), torch.ones(n, n, dtype=torch.bool).tril())[1]).passed
    assert sys.breakpointhook is hook


def test_an_answer_that_asks_somebody_to_type_is_told_at_once():
    assert "nobody types while an answer is checked" in str(check("masks.causal", lambda n: input(n)))


def test_a_check_inside_of_the_answer_is_sent_out_of_it():
    result = check("masks.causal", lambda n: check("masks.causal", torch.tril))
    assert "got it inside: move it out" in str(result)
    assert result.attempted
    assert not result.passed


def test_a_time_limit_that_ends_while_an_answer_is_looked_at_is_told_as_such():
    """A list of many numbers takes a while: it must not be taken for something strange."""
    many = [[0.0] * 500] * 500
    for _ in range(8):
        outcome = run_safely(lambda: (spin(0.1), many)[1], (), {}, Limit(0.1))
        assert outcome.out_of_time or outcome.value == many


def test_an_unusual_type_is_told_with_what_was_expected():
    result = check("masks.causal", lambda n: torch.ones(n, n).tril().to(torch.float8_e4m3fn))
    assert "Expected a tensor of booleans of shape (1, 1), got a tensor of torch.float8_e4m3fn." in result.message


@pytest.mark.parametrize("sparse", ["to_sparse", "to_mkldnn"])
def test_another_layout_is_told_with_the_way_back(sparse):
    result = judge(lambda x: getattr(2 * x.reshape(-1, 1), sparse)())
    assert re.search(
        r"got a tensor of the layout torch\.\w+, not a dense one: end with `.to_dense\(\)`", result.message
    )


def test_a_harmless_class_of_tensors_is_as_good_as_a_tensor():
    assert judge(lambda x: (2 * x).as_subclass(type("Named", (torch.Tensor,), {}))).passed


def test_an_input_that_is_filled_with_what_never_ends_is_looked_at_for_a_moment():
    outcome = run_safely(lambda x: x.__setitem__(0, LoopsWhenCompared()), ([1],), {}, Limit(5.0))
    assert outcome.changed == ("0",)


@pytest.mark.parametrize("then", [lambda it: it, lambda it: 1 / 0], ids=["answered", "in an error"])
def test_an_object_that_dies_without_end_is_told_as_such(then):
    assert judge(partial(lambda x: then(LoopsWhenItDies())), time_limit=0.2).diagnosis == "too-slow"


def test_a_right_answer_that_cannot_be_asked_for_anything_passes(monkeypatch):
    monkeypatch.setattr(plain, "MOMENT", 0.1)
    assert judge(LoopsWhenAsked()).passed


@UNIX
def test_an_index_of_many_lists_in_lists_is_an_error(tmp_path):
    """In a process of its own: PyTorch goes into them until the stack ends, and with it Python."""
    program = """
        import torch
        from tests.test_exercise_sandbox import check_exercise, exercise, nested

        print(check_exercise(exercise(), lambda x: x[nested(100_000)]).diagnosis)
    """
    assert forked.lines_of(program, tmp_path / "printed")[-1:] == ["raised"]


@pytest.mark.parametrize("kind", [">f4", ">i2", np.longdouble, np.uint16, np.uint32, np.uint64])
def test_numbers_of_every_size_and_order_are_numbers(kind):
    assert check("masks.causal", lambda n: np.tril(np.ones((n, n))).astype(kind)).passed
    assert not check("masks.causal", partial(lambda n: np.triu(np.ones((n, n))).astype(kind))).passed


def test_a_thread_that_changes_what_compares_changes_no_result(monkeypatch):
    monkeypatch.setattr(torch, "allclose", lambda *_args, **_kwargs: True)
    monkeypatch.setattr(torch.Tensor, "double", lambda self: torch.zeros(1))
    assert difference(torch.zeros(2), torch.ones(2), 1e-4, 1e-5).kind == "wrong-values"


def test_a_harmful_object_in_place_of_the_function_is_refused(monkeypatch):
    monkeypatch.setattr(plain, "MOMENT", 0.1)
    for strange in (LoopsWhenShown(), EndlessList(), Impostor(), torch.ones(2).as_subclass(RaisingTensor)):
        assert judge(strange).diagnosis == "not-a-function"


# Progress and kept sources


ENTRY = '{"toy.double": {"attempts": 2, "passed": true, "diagnoses": {}%s}}'


def folder_of_progress():
    folder = progress.progress_file().parent
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def test_every_damaged_file_is_set_aside_under_a_name_of_its_own():
    folder = folder_of_progress()
    for content in ("first", "second", "third"):
        progress.progress_file().write_text(content)
        assert progress.load() == {}
    kept = [(folder / f"progress.damaged{number}.json").read_text() for number in ("", 2, 3)]
    assert kept == ["first", "second", "third"]


@pytest.mark.parametrize(
    "content",
    [
        "[" * 100_000,
        '{"toy.double": ' * 990 + "1" + "}" * 990,
        "1" * 5_000,
        ENTRY % (', "mood": ' + "1" * 5_000),
        ENTRY % r', "mood": "\ud800"',
        ENTRY.replace("2", "9" * 4_300) % "",
        ENTRY.replace("2", "-1") % "",
    ],
    ids=["brackets", "deep", "digits", "digits inside", "half a character", "many attempts", "fewer than none"],
)
def test_progress_of_any_shape_is_set_aside(content):
    folder = folder_of_progress()
    progress.progress_file().write_text(content)
    assert judge(double).passed
    assert progress.load()["toy.double"]["attempts"] == 1
    assert (folder / "progress.damaged.json").read_text() == content


def test_progress_that_notepad_has_saved_is_read(capsys):
    folder_of_progress()
    progress.progress_file().write_text(ENTRY % "", encoding="utf-8-sig")
    judge(double)
    assert progress.load()["toy.double"]["attempts"] == 3
    assert capsys.readouterr().out == ""


@UNIX
def test_a_reader_without_a_home_is_told_that_nothing_was_kept(monkeypatch):
    """As in a container that runs under a number which no list of users has."""

    def home(path):
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("TRANSFORMER_COURSE_HOME")
    monkeypatch.setattr(pathlib.Path, "expanduser", home)
    result = judge(double)
    assert result.passed
    assert "set TRANSFORMER_COURSE_HOME to a writable folder" in dict(result.details)["Note"]


@pytest.mark.parametrize("content", [ENTRY % "", "damaged"])
def test_progress_that_is_a_link_stays_one(content, tmp_path):
    folder_of_progress()
    (tmp_path / "synced").mkdir()
    target = tmp_path / "synced" / "mine.json"
    target.write_text(content)
    progress.progress_file().symlink_to(target)
    judge(double)
    assert progress.progress_file().is_symlink()
    assert json.loads(target.read_text())["toy.double"]["attempts"] == (1 if content == "damaged" else 3)


@pytest.mark.parametrize("target", ["", "mine.json", "mine [1].json"])
def test_what_a_killed_process_has_left_goes_with_the_next_save(target, home, tmp_path):
    folder_of_progress()
    if target:  # it lies beside the file that the link names
        home, name = tmp_path, target
        progress.progress_file().symlink_to(tmp_path / target)
    else:
        name = "progress.json"
    left, other = home / f".{name}.0123456789abcdef.tmp", home / f".{name}.mine.tmp"
    for path in (left, other):
        path.touch()
    judge(double)
    assert [path.exists() for path in (left, other)] == [False, True]


@pytest.mark.parametrize(
    ("source", "error"),
    [("while True: pass", TimeoutError), ("raise SystemExit", RuntimeError), ("1 / 0", ZeroDivisionError)],
)
def test_kept_source_that_does_not_end_well_is_an_error(source, error, monkeypatch):
    monkeypatch.setattr(progress, "TIME_LIMIT", 0.2)
    with pytest.raises(error):
        progress.rebuild(source)
