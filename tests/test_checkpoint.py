"""Checkpoints: whole or not at all."""

import hashlib
import inspect
import io
import os
import pickle
from collections import Counter, OrderedDict, defaultdict, deque
from datetime import datetime
from enum import IntEnum
from fractions import Fraction
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
import torch

from course_lib.training.checkpoint import (
    CheckpointFolder,
    DamagedCheckpoint,
    average_weights,
    load_checkpoint,
    save_checkpoint,
)

STATE = {"model": {"w": torch.arange(6.0).view(2, 3)}, "step": 7, "curve": [{"loss": 1.5}]}


@pytest.fixture
def path(tmp_path):
    save_checkpoint(tmp_path / "step-00000007.pt", STATE)
    return tmp_path / "step-00000007.pt"


def test_round_trip(path):
    found = load_checkpoint(path)
    assert torch.equal(found["model"]["w"], STATE["model"]["w"])
    assert (found["step"], found["curve"]) == (7, [{"loss": 1.5}])
    assert [p.name for p in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("length", [0, 1, 23, 24, 40, 56, 200, -1])
def test_torn_file_is_refused(path, length):
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(DamagedCheckpoint, match=r"step-00000007\.pt .*the file is torn or was changed; use the check"):
        load_checkpoint(path)


def test_changed_byte_is_refused(path):
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)
    with pytest.raises(DamagedCheckpoint, match="torn or was changed; use the checkpoint before it, or run the same"):
        load_checkpoint(path)


def test_foreign_file_is_refused(tmp_path):
    torch.save({"w": torch.ones(1)}, tmp_path / "other.pt")
    with pytest.raises(DamagedCheckpoint, match=r"expected a checkpoint of this course, got other\.pt, which begins"):
        load_checkpoint(tmp_path / "other.pt")


@pytest.mark.parametrize(
    "content", [b"", b"cos\nsystem\n(S'exit 3'\ntR.", pickle.dumps([1], protocol=2), b"PK\x03\x04", None]
)
def test_content_that_torch_cannot_read_or_no_dictionary_is_refused(content, path):
    """The checksum is right: somebody made it so."""
    if content is None:
        buffer = io.BytesIO()
        torch.save(torch.ones(2), buffer)
        content = buffer.getvalue()
    magic = path.read_bytes().split(b"\n")[0] + b"\n"
    path.write_bytes(magic + hashlib.sha256(content).digest() + content)
    words = r"in step-00000007\.pt, got [\w.]+: the file is whole, but it was saved"
    with pytest.raises(DamagedCheckpoint, match=words):
        load_checkpoint(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a system without pipes that have names")
@pytest.mark.parametrize("place", [os.devnull, "/dev/zero", "pipe"])
def test_what_may_never_end_is_no_checkpoint(place, tmp_path, monkeypatch):
    path = tmp_path / "step-00000007.pt"
    path.symlink_to(place)
    if place == "pipe":
        os.mkfifo(tmp_path / place)
    monkeypatch.setattr(Path, "read_bytes", mock.Mock(side_effect=AssertionError("it may never end")))
    words = r"expected a file, got .*pt, which is a pipe or a device: name"
    with pytest.raises(DamagedCheckpoint, match=words):
        load_checkpoint(path)


def test_a_lack_of_memory_is_no_damage(path, monkeypatch):
    for error in (MemoryError("none left"), RuntimeError("CUDA out of memory."), RuntimeError("can't allocate memory")):
        monkeypatch.setattr("torch.load", mock.Mock(side_effect=error))
        with pytest.raises(type(error), match=str(error)):
            load_checkpoint(path)


def test_failed_write_leaves_the_old_file(path, monkeypatch):
    monkeypatch.setattr("os.fsync", mock.Mock(side_effect=OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space left"):
        save_checkpoint(path, {"step": 8})
    assert load_checkpoint(path)["step"] == 7
    assert [p.name for p in path.parent.iterdir()] == [path.name]


PLAIN = {
    "numbers": [None, True, 3, 10**30, 0.5, float("nan"), 1j],
    "texts": ("é", b"\x00", bytearray(b"\x01")),
    "tables": {1: {2}, None: OrderedDict(a=1), (3, "b"): Counter("abb")},
    "torch": [torch.Size([2]), torch.bfloat16, torch.device("cpu"), torch.ones(2, dtype=torch.int8)],
    "model": torch.nn.BatchNorm1d(2).state_dict(),
    "parameter": torch.nn.Parameter(torch.zeros(1)),
    "optimizer": torch.optim.AdamW([torch.ones(1)]).state_dict(),
    "random": [torch.get_rng_state()],
}


@pytest.mark.parametrize("name", PLAIN)
def test_what_may_be_saved_is_read_back(name, tmp_path):
    save_checkpoint(tmp_path / "a.pt", {name: PLAIN[name]})
    found = load_checkpoint(tmp_path / "a.pt")[name]
    assert type(found) is type(PLAIN[name])
    assert repr(found) == repr(PLAIN[name])


class Place(IntEnum):
    FIRST = 1


NEVER_READ = {
    "['extra']: numpy.float64": {"extra": np.float64(1.5)},
    "['state']['losses'][1]: numpy.float32": {"state": {"losses": [0.5, np.float32(0.5)]}},
    "['step']: numpy.int64": {"step": np.int64(3)},
    "['done']: numpy.bool": {"done": np.bool_(True)},
    "['means']: numpy.ndarray": {"means": np.ones(2)},
    "['random'][1]: numpy.ndarray": {"random": np.random.RandomState(0).get_state()},
    "['folder']: pathlib.": {"folder": Path("runs")},
    "['counts']: collections.defaultdict": {"counts": defaultdict(int)},
    "['last']: collections.deque": {"last": deque([1])},
    "['when']: datetime.datetime": {"when": datetime(2026, 1, 1)},
    "['rate']: fractions.Fraction": {"rate": Fraction(1, 3)},
    "['model']: torch.nn.modules.linear.Linear": {"model": torch.nn.Linear(1, 1)},
    "['loss']: function": {"loss": lambda: None},
    "['names']: frozenset": {"names": frozenset()},
    "['kind']: type": {"kind": int},
    "['place']: test_checkpoint.Place": {"place": Place.FIRST},
    "a key of state: numpy.int64": {np.int64(3): "three"},
    "a key of state['a']: pathlib.": {"a": {Path("b"): 1}},
}


@pytest.mark.parametrize("told", NEVER_READ)
def test_what_would_never_be_read_is_not_saved_and_costs_no_good_checkpoint(told, tmp_path):
    folder = CheckpointFolder(tmp_path)
    for step in (1, 2, 3):
        folder.save(step, {"step": step})
    for step in (4, 5, 6):
        with pytest.raises(TypeError) as refused:
            folder.save(step, {"model": torch.ones(2)} | NEVER_READ[told])
        got = told if told.startswith("a key") else f"state{told}"
        words = f"expected tensors, numbers, texts, lists and dictionaries, got {got}"
        assert words in str(refused.value)
    assert [path.name for path in tmp_path.iterdir() if path.suffix != ".pt"] == []
    assert folder.load_newest() == {"step": 3}


def test_what_is_no_dictionary_is_not_saved(tmp_path):
    save = inspect.unwrap(save_checkpoint)  # the type checks of the tests would object first
    for state in ([1], torch.ones(2), None):
        words = r"expected the parts of a state by their names, got \w+: give a dict"
        with pytest.raises(TypeError, match=words):
            save(tmp_path / "a.pt", state)
    assert list(tmp_path.iterdir()) == []


def test_what_an_earlier_version_saved_is_told_as_what_it_is(path, capsys):
    buffer = io.BytesIO()
    torch.save({"extra": defaultdict(int)}, buffer)
    magic, content = path.read_bytes().split(b"\n")[0] + b"\n", buffer.getvalue()
    path.with_name("step-00000008.pt").write_bytes(magic + hashlib.sha256(content).digest() + content)
    assert CheckpointFolder(path.parent).load_newest()["step"] == 7
    assert "got collections.defaultdict: the file is whole, but it was saved with what is" in capsys.readouterr().out


def test_newest_sound_checkpoint_is_used(tmp_path, capsys):
    folder = CheckpointFolder(tmp_path)
    assert folder.load_newest() is None
    for step in (1, 2, 3):
        folder.save(step, {"step": step})
    folder.paths()[-1].write_bytes(b"torn")
    assert folder.load_newest() == {"step": 2}
    assert [path.name for path in folder.paths()] == ["step-00000001.pt", "step-00000002.pt"]
    assert (tmp_path / "step-00000003.pt.damaged").read_bytes() == b"torn"
    assert (
        "Passing over a checkpoint: expected a checkpoint of this course, got step-00000003.pt"
        in capsys.readouterr().out
    )


def test_old_checkpoints_and_remains_are_removed(tmp_path):
    folder = CheckpointFolder(tmp_path, keep=2)
    (tmp_path / ".step-00000001.pt.abc.tmp").write_bytes(b"half")
    for step in (1, 2, 10_000, 30):
        folder.save(step, {"step": step})
    assert sorted(p.name for p in tmp_path.iterdir()) == ["step-00000030.pt", "step-00010000.pt"]
    with pytest.raises(ValueError, match="expected keep of at least 1, got 0: one checkpoint must stay"):
        CheckpointFolder(tmp_path, keep=0)


def test_names_without_a_number_are_no_checkpoints_and_numbers_are_not_compared_as_texts(tmp_path):
    folder = CheckpointFolder(tmp_path, keep=2)
    for name in ("final", "", "9b", "00000007-copy", "٣"):
        (tmp_path / f"step-{name}.pt").touch()
    for step in (9, 10**8, 99_999_999):
        save_checkpoint(tmp_path / f"step-{step:08d}.pt", {"step": step})
    assert folder.load_newest() == {"step": 10**8}
    folder.save(10**8 + 1, {})
    assert [path.stem for path in folder.paths()] == ["step-100000000", "step-100000001"]
    assert len(list(tmp_path.iterdir())) == 7
    with pytest.raises(ValueError, match="expected step as a whole number of at least 0, got -5: it counts"):
        folder.save(-5, {})


def test_average_of_weights():
    models = [torch.nn.BatchNorm1d(3).double() for _ in range(4)]
    for number, model in enumerate(models):
        torch.nn.init.constant_(model.weight, number)
        model.num_batches_tracked += number
    mean = average_weights([model.state_dict() for model in models])
    assert mean["weight"].tolist() == [1.5] * 3
    assert mean["num_batches_tracked"] == 3
    turns = [{"w": torch.full((2,), value, dtype=torch.complex64)} for value in (1 + 2j, 3 - 1j)]
    assert average_weights(turns)["w"].tolist() == [2 + 0.5j] * 2
    models[0].load_state_dict(mean)
    with pytest.raises(ValueError, match="expected at least one state_dict, got none"):
        average_weights([])
    with pytest.raises(ValueError, match="expected state_dicts of one model, got other names or shapes"):
        average_weights([{"a": torch.ones(1)}, {"b": torch.ones(1)}])
    with pytest.raises(ValueError, match="got other names or shapes: average checkpoints of one run"):
        average_weights([{"a": torch.ones(1)}, {"a": torch.ones(2)}])


def test_a_new_checkpoint_stays_beside_damaged_ones_with_larger_numbers(tmp_path):
    for step in (100, 200, 300):
        (tmp_path / f"step-{step:08d}.pt").write_bytes(b"torn")
    folder = CheckpointFolder(tmp_path)
    folder.save(10, {"step": 10})
    assert folder.load_newest() == {"step": 10}


def test_others_may_read_a_checkpoint(path):
    save_checkpoint(path, {"step": 3})
    beside = path.with_name("beside")
    beside.touch()
    assert path.stat().st_mode == beside.stat().st_mode
