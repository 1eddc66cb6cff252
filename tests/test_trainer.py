"""The training loop: it learns, stops, survives being killed, and is the same on one process and on two."""

import inspect
import itertools
import random
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import forked
import numpy as np
import pytest
import torch
from torch import nn

from course_lib.tokens import BOS, EOS, PAD
from course_lib.training import TrainingSettings, plain_loss
from course_lib.training.checkpoint import CheckpointFolder
from course_lib.training.trainer import NotFinite, Trainer


@dataclass
class Batch:
    src: torch.Tensor
    tgt_in: torch.Tensor
    tgt_out: torch.Tensor


class Tiny(nn.Module):
    """Predicts each target token from the source token at its place and the token before; has dropout."""

    def __init__(self, vocab_size=11, dropout=0.1):
        super().__init__()
        self.src, self.tgt = nn.Embedding(vocab_size, 8), nn.Embedding(vocab_size, 8)
        self.dropout, self.output = nn.Dropout(dropout), nn.Linear(8, vocab_size)

    def forward(self, src, tgt_in):
        return self.output(self.dropout(self.src(src) + self.tgt(tgt_in)))


def epochs(number):
    """Copying: 4 batches an epoch, rows of different lengths."""
    generator = torch.Generator().manual_seed(number)
    batches = []
    for rows in (3, 2, 5, 1):
        words = torch.randint(3, 11, (rows, 6), generator=generator)
        words[:, -1] = EOS
        words[0, 4:] = PAD
        tgt_in = torch.cat([torch.full((rows, 1), BOS), words[:, :-1]], dim=1)
        batches.append(Batch(words, tgt_in, words))
    return batches


def make_trainer(folder=None, seed=0, dropout=0.1, loss=None, **settings):
    torch.manual_seed(seed)
    settings = {"steps": 30, "peak_lr": 1e-2, "checkpoint_every": 3, "evaluate_every": 10, "seed": seed, **settings}
    options = {} if loss is None else {"loss": loss}
    return Trainer(
        Tiny(dropout=dropout), epochs, TrainingSettings(**settings), epochs(99), folder, quiet=True, **options
    )


def weights(trainer):
    return torch.cat([p.detach().flatten() for p in trainer.model.parameters()])


def test_it_learns_and_draws_a_curve():
    trainer = make_trainer(steps=300, peak_lr=3e-2, evaluate_every=100)
    state = trainer.run()
    losses = [point["val_loss"] for point in state.curve]
    assert [point["step"] for point in state.curve] == [100, 200, 300]
    assert max(losses) < 0.2 < torch.tensor(8.0).log()  # eight words: a guess costs ln 8
    assert (state.step, 4 * state.epoch + state.index) == (300, 300)


def test_news_are_told_after_the_first_update_now_and_then_and_at_the_end(tmp_path):
    told = []
    trainer = make_trainer(tmp_path, steps=40, evaluate_every=20)
    trainer.run(told.append)
    shares = [line.split("%")[0].strip() for line in told]
    assert (len(told), shares[0], shares[-2:]) == (21, "2", ["95", "100"])
    assert [line.split(",")[0].split()[-1] for line in (told[0], told[-1])] == ["1", "40"]
    assert "validation" in told[-1]
    make_trainer(tmp_path, steps=40, evaluate_every=20).run(told.append)  # trains nothing
    assert len(told) == 21
    once = []
    make_trainer(steps=1).run(once.append)
    assert [line[:14] for line in once] == ["100% update 1,"]


def test_same_seed_same_weights():
    first, second, other = make_trainer(), make_trainer(), make_trainer(seed=1)
    for trainer in (first, second, other):
        trainer.run()
    assert torch.equal(weights(first), weights(second))
    assert not torch.equal(weights(first), weights(other))


class Killed(BaseException):
    """Stands for the end of the process."""


@pytest.mark.parametrize("seed", range(5))
def test_interrupted_again_and_again_ends_the_same(tmp_path, seed, monkeypatch):
    whole = make_trainer()
    whole.run()
    rng = random.Random(seed)
    for _ in range(100):
        trainer = make_trainer(tmp_path)
        fuse = rng.randint(1, 9)
        update = trainer._update

        def burning(batch, update=update, trainer=trainer, fuse=fuse, born=[]):  # noqa: B006
            born.append(1)
            if len(born) == fuse:
                trainer.checkpoints = None  # a killed process saves nothing more
                raise Killed
            update(batch)

        trainer._update = burning
        try:
            trainer.run()
            break
        except Killed:
            continue
    assert trainer.state.step == 30
    assert torch.equal(weights(trainer), weights(whole))
    assert [p["val_loss"] for p in trainer.state.curve] == [p["val_loss"] for p in whole.state.curve]


def train_in(folder, steps, most):
    """Train on, but after `most` updates only wait: a kill that comes late does not find the training at its end."""
    torch.set_num_threads(1)
    trainer = make_trainer(folder, steps=steps, checkpoint_every=1)
    step, updates = trainer.optimizers.step, itertools.count(1)
    trainer.optimizers.step = lambda: step() if next(updates) <= most else threading.Event().wait()
    trainer.run()


def newest_step(folder):
    return max((int(path.stem.split("-")[1]) for path in CheckpointFolder(folder).paths()), default=0)


def test_killed_by_the_system_ten_times_and_continued_ends_the_same(tmp_path):
    steps = 400
    whole = make_trainer(steps=steps, checkpoint_every=1)
    whole.run()
    rng = random.Random(1)
    reached = []
    for number in range(10):
        process = forked.context().Process(target=train_in, args=(tmp_path, steps, steps // 11))
        process.start()
        while number % 2 and newest_step(tmp_path) <= max(reached) and process.is_alive():
            time.sleep(0.001)  # every second one gets further before it is killed
        time.sleep(rng.uniform(0, 0.05))
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        reached.append(newest_step(tmp_path))
    assert reached == sorted(reached)
    assert len(set(reached) - {0}) >= 5
    assert reached[-1] < steps
    trainer = make_trainer(tmp_path, steps=steps, checkpoint_every=1)
    trainer.run()
    assert torch.equal(weights(trainer), weights(whole))
    assert [p["val_loss"] for p in trainer.state.curve] == [p["val_loss"] for p in whole.state.curve]


def interrupt_in(trainer, step, times=1):
    """Ctrl-C while the optimizer of update number `step` is at work."""
    optimizer_step = trainer.optimizers.step

    def interrupted():
        if trainer.state.step + 1 == step:
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)
        optimizer_step()

    trainer.optimizers.step = interrupted


def test_interrupt_lets_the_update_end_and_says_how_to_go_on(tmp_path, capsys, interruptible):
    whole = make_trainer()
    whole.run()
    before = signal.getsignal(signal.SIGINT)
    trainer = make_trainer(tmp_path, checkpoint_every=1000)
    interrupt_in(trainer, step=7)
    assert trainer.run().step == 7
    assert signal.getsignal(signal.SIGINT) == before
    assert "Stopped after update 7; run the same again to go on from here." in capsys.readouterr().out
    trainer = make_trainer(tmp_path, checkpoint_every=1000)
    assert trainer.run().step == 30
    assert torch.equal(weights(trainer), weights(whole))
    assert [p["val_loss"] for p in trainer.state.curve] == [p["val_loss"] for p in whole.state.curve]


def test_a_second_interrupt_stops_at_once_and_spoils_no_checkpoint(tmp_path, interruptible):
    whole = make_trainer()
    whole.run()
    trainer = make_trainer(tmp_path, checkpoint_every=3)
    interrupt_in(trainer, step=8, times=2)
    with pytest.raises(KeyboardInterrupt):
        trainer.run()
    assert CheckpointFolder(tmp_path).load_newest()["state"]["step"] == 6
    trainer = make_trainer(tmp_path, checkpoint_every=3)
    trainer.run()
    assert torch.equal(weights(trainer), weights(whole))


def test_an_error_loses_no_update(tmp_path):
    whole = make_trainer()
    whole.run()

    def broken(*arguments, **options):
        if trainer.state.step == 8:
            raise RuntimeError("out of memory")
        return plain_loss(*arguments, **options)

    trainer = make_trainer(tmp_path, checkpoint_every=1000, loss=broken)
    with pytest.raises(RuntimeError, match="out of memory"):
        trainer.run()
    trainer = make_trainer(tmp_path, checkpoint_every=1000)
    trainer.run()
    assert torch.equal(weights(trainer), weights(whole))


def test_finished_run_is_left_as_it_is(tmp_path):
    first = make_trainer(tmp_path)
    first.run()
    again = make_trainer(tmp_path)
    assert again.run().step == 30
    assert torch.equal(weights(first), weights(again))


def test_other_settings_are_refused(tmp_path):
    make_trainer(tmp_path).run()
    with pytest.raises(ValueError, match=r"expected the settings of the checkpoint \(peak_lr=0\.01\), got others"):
        make_trainer(tmp_path, peak_lr=0.5).run()
    assert make_trainer(tmp_path, steps=33).run().step == 33


def test_not_a_number_stops_and_says_where(tmp_path):
    def poisoned(model, src, tgt_in, tgt_out, smoothing, reduction):
        scale = float("nan") if trainer.state.step == 5 else 1.0
        return model(src, tgt_in).sum() * scale

    trainer = make_trainer(tmp_path, loss=poisoned)
    with pytest.raises(
        NotFinite, match=r"got loss nan at update 6, batch 1 of epoch 1, .* in the gradient of src\.weight"
    ):
        trainer.run()
    assert weights(trainer).isfinite().all()


def test_not_a_number_names_the_parameter_in_which_it_arose():
    trainer = make_trainer()
    trainer.model.output.bias.register_hook(lambda gradient: gradient * torch.nan)
    with pytest.raises(NotFinite, match=r"first in the gradient of output\.bias \(of 1 parameters\)"):
        trainer.run()


def test_what_an_update_left_behind_does_not_count(tmp_path):
    """An update that was broken off, or somebody's own backward pass, leaves gradients in the model."""
    alone, other = make_trainer(), make_trainer()
    alone.run()
    other.model(torch.tensor([[3]]), torch.tensor([[4]])).sum().backward()
    other.run()
    torch.testing.assert_close(weights(other), weights(alone), rtol=0, atol=0)


def test_interrupt_in_the_last_evaluation_is_not_swallowed(tmp_path, interruptible):
    trainer = make_trainer(tmp_path)
    evaluate = trainer._evaluate

    def interrupted():
        if trainer.state.step == 30:
            signal.raise_signal(signal.SIGINT)
        return evaluate()

    trainer._evaluate = interrupted
    with pytest.raises(KeyboardInterrupt):
        trainer.run()
    assert CheckpointFolder(tmp_path).load_newest()["state"]["step"] == 30


def test_checkpoint_of_something_else_is_refused(tmp_path):
    make_trainer(tmp_path).run()
    trainer = make_trainer(tmp_path)
    trainer.model = Tiny(vocab_size=12)
    with pytest.raises(ValueError, match=r"expected a checkpoint of this model in .*, got another \(.*size mismatch"):
        trainer.run()
    CheckpointFolder(tmp_path).save(99, {"step": 99})
    with pytest.raises(ValueError, match="expected the settings of the checkpoint"):
        make_trainer(tmp_path).run()


def change(part, name, value):
    """A change of a checkpoint: the content in, the content out."""
    return lambda content: content | {part: content[part] | {name: value}}


POINT = {"step": 10, "seconds": 0.5, "tokens": 100, "val_loss": 2.0}
FOREIGN = {
    "a number as a text": change("state", "step", "30"),
    "a fraction": change("state", "step", 3.5),
    "less than nothing": change("state", "step", -5),
    "an absurd number": change("state", "step", 10**9),
    "a number beyond all": change("state", "tokens", 10**400),
    "a negative place": change("state", "index", -1),
    "more epochs than updates": change("state", "epoch", 31),
    "no time": change("state", "seconds", None),
    "a time that is none": change("state", "seconds", float("nan")),
    "time without end": change("state", "seconds", float("inf")),
    "no curve": change("state", "curve", None),
    "a table as a curve": change("state", "curve", {}),
    "points without numbers": change("state", "curve", [{}]),
    "points that are texts": change("state", "curve", ["2.0"]),
    "a loss as a text": change("state", "curve", [POINT | {"val_loss": "2.0"}]),
    "a point at no time": change("state", "curve", [POINT | {"seconds": float("nan")}]),
    "an unknown name": change("state", "lucky", 7),
    "no state": lambda content: content | {"state": None},
    "no settings": lambda content: content | {"settings": None},
    "settings as a list": lambda content: content | {"settings": [3]},
    "no weights": lambda content: content | {"model": None},
    "weights as numbers": lambda content: content | {"model": dict.fromkeys(content["model"], 1.0)},
    "no optimizer": lambda content: content | {"optimizers": [None]},
    "an empty optimizer": lambda content: content | {"optimizers": [{}]},
    "two optimizers": lambda content: content | {"optimizers": content["optimizers"] * 2},
    "no groups": lambda content: content | {"optimizers": [content["optimizers"][0] | {"param_groups": []}]},
    "nothing but the step": lambda content: {"step": 30},
}


@pytest.mark.parametrize("what", FOREIGN)
def test_a_checkpoint_that_no_training_left_is_refused_in_one_sentence(what, tmp_path):
    trainer = make_trainer(tmp_path, steps=4)
    trainer.run()
    trainer.checkpoints.save(4, FOREIGN[what](trainer.checkpoints.load_newest()))
    before = [(path.name, path.read_bytes()) for path in sorted(tmp_path.iterdir())]
    with pytest.raises(ValueError, match=r"expected (a checkpoint of this model|the settings of the checkpoint)"):
        make_trainer(tmp_path, steps=8).run()
    assert [(path.name, path.read_bytes()) for path in sorted(tmp_path.iterdir())] == before


def test_settings_that_no_checkpoint_holds_are_refused_before_the_first_update(tmp_path):
    rate = np.float64(1e-2)
    with pytest.raises(TypeError, match=r"got state\['settings'\]\['peak_lr'\]: numpy.float64: save it"):
        make_trainer(tmp_path, peak_lr=rate).run()
    assert list(tmp_path.iterdir()) == []
    make_trainer(peak_lr=rate, steps=2).run()  # without a folder nothing is saved


def test_a_finished_training_started_again_writes_nothing(tmp_path, monkeypatch):
    """On a full disk it could not."""
    make_trainer(tmp_path).run()
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    monkeypatch.setattr("os.fsync", lambda handle: pytest.fail("it writes"))
    assert make_trainer(tmp_path).run().step == 30
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before


def test_time_budget_is_kept(monkeypatch):
    clock = itertools.count(step=0.0625)  # looked at when an update begins and when it ends
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    monkeypatch.setattr(time, "process_time", itertools.count().__next__)
    state = make_trainer(steps=None, seconds=0.5, evaluate_every=10_000).run()
    assert (state.step, state.seconds) == (8, 0.5)


@pytest.mark.parametrize(
    ("pause", "update", "steps"), [(10.0, 16, 35), (-10.0, 16, 81), (10.0, 1, 80), (-10.0, 1, 81), (3600.0, 2, 56)]
)
def test_a_pause_is_no_training(pause, update, steps, monkeypatch):
    """Ctrl-Z, a machine that slept, or a clock that goes back: the other updates still get their time."""
    clock = (0.0625 * n + pause * (n > 2 * update - 2) for n in itertools.count())  # within this update
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    monkeypatch.setattr(time, "process_time", itertools.count(step=0.0625).__next__)
    state = make_trainer(steps=None, seconds=5.0, evaluate_every=10_000).run()
    assert state.step == steps
    assert 5 <= state.seconds < 5.1


def test_a_clock_that_is_set_right_changes_no_time_budget(monkeypatch):
    jumps, now = itertools.cycle([86_400, -86_400]), time.time
    monkeypatch.setattr(time, "time", lambda: now() + next(jumps))
    state = make_trainer(steps=None, seconds=0.2, evaluate_every=10).run()
    seconds = [point["seconds"] for point in state.curve]
    assert 0.2 <= state.seconds < 60  # a busy machine
    assert seconds == sorted(seconds)


def test_empty_corpus_is_refused():
    trainer = make_trainer()
    trainer.epochs = lambda number: []
    with pytest.raises(ValueError, match="expected at least one batch an epoch, got none: is the corpus empty"):
        trainer.run()


def test_every_update_moves_at_a_positive_rate():
    rates = []
    trainer = make_trainer(steps=20)
    step = trainer.optimizers.step
    trainer.optimizers.step = lambda: (rates.append(trainer.optimizers.each[0].param_groups[0]["lr"]), step())
    trainer.run()
    assert min(rates[:-1]) > 0
    assert max(rates) <= 1e-2


WORKER = """
import signal, sys
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path.insert(0, {tests!r})
import torch
from torch import distributed
torch.set_num_threads(1)
distributed.init_process_group("gloo")
from test_trainer import make_trainer, weights
folder, rank = Path({folder!r}), distributed.get_rank()
for name, steps in (("short", 30), ("endless", 10**6)):
    trainer = make_trainer(folder / name, dropout=0.0, steps=steps)
    state = trainer.run()
    torch.save((state.step, trainer.stopped, weights(trainer)), folder / f"{{name}} {{rank}}.pt")
distributed.destroy_process_group()
"""


@pytest.fixture(scope="module")
def two_processes(tmp_path_factory):
    """The worker above under torchrun, whose second training Ctrl-C stops: its folder, and what it said."""
    folder = tmp_path_factory.mktemp("two")
    script = folder / "worker.py"
    script.write_text(WORKER.format(tests=str(Path(__file__).parent), folder=str(folder)), encoding="utf-8")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", str(script)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    while not list(folder.glob("endless/*")) and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    return folder, process.communicate()[0]


def test_two_processes_do_what_one_does(two_processes):
    folder, said = two_processes
    alone = make_trainer(dropout=0.0)
    alone.run()
    for rank in range(2):
        ended = folder / f"short {rank}.pt"
        assert ended.exists(), said
        torch.testing.assert_close(torch.load(ended)[2], weights(alone), rtol=0, atol=1e-5)


def test_two_processes_stop_after_the_same_update(two_processes):
    folder, said = two_processes
    assert "Stopped after update" in said, said
    (step, *_), (other, *_) = stopped = [torch.load(folder / f"endless {rank}.pt") for rank in range(2)]
    assert 3 <= step == other < 10**6
    assert all(one[1] for one in stopped)
    torch.testing.assert_close(stopped[0][2], stopped[1][2], rtol=0, atol=0)
    assert CheckpointFolder(folder / "endless").load_newest("cpu")["state"]["step"] == step


@pytest.mark.parametrize(
    ("epochs", "words"),
    [
        ([], "got list: write lambda number"),
        (lambda number: iter([]), "got list_iterator: write lambda number"),
    ],
)
def test_epochs_of_another_shape_are_refused(epochs, words):
    def work(trainer):
        inspect.unwrap(Trainer.__init__)(trainer, nn.Linear(1, 1), epochs, TrainingSettings(steps=1), quiet=True)
        trainer.run()

    with pytest.raises(
        TypeError, match=f"expected a function from an epoch's number to the list of its batches, .*{words}"
    ):
        work(object.__new__(Trainer))
