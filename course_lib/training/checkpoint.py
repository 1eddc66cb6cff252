"""Checkpoints that survive: written whole or not at all, checked when read, the newest sound one found."""

import hashlib
import io
import os
import re
from collections import Counter, OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from course_lib.files import read_file, written_whole
from course_lib.sizes import check_whole

_MAGIC = b"course_lib checkpoint 1\n"
_NAME = re.compile(r"step-([0-9]+)\.pt")
# What `torch.load` reads with weights_only, which runs no code that a file brings along.
_PLAIN = (type(None), bool, int, float, complex, str, bytes, bytearray, list, tuple, set, dict)
_PLAIN += (OrderedDict, Counter, Tensor, nn.Parameter, torch.Size, torch.dtype, torch.device)


class DamagedCheckpoint(ValueError):
    """A file that is no checkpoint, or not the whole of one."""


def check_loadable(state: Any, name: str = "state") -> None:
    """Refuse with a TypeError what `load_checkpoint` could not read back.

    The sentence says where the value is: `name` is what it calls the whole.

    >>> check_loadable({"losses": [0.5, None]})
    >>> check_loadable({"rows": [range(3)]})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    TypeError: expected tensors, numbers, texts, lists and dictionaries, got state['rows'][0]: range: ...
    """
    kind = type(state)
    if kind not in _PLAIN:
        got = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
        raise TypeError(
            f"expected tensors, numbers, texts, lists and dictionaries, got {name}: {got}: save it "
            "as one of them (NumPy's numbers have .item(), its arrays .tolist()), because no "
            "checkpoint is read back with it"
        )
    if isinstance(state, dict):
        for key, value in state.items():
            check_loadable(key, f"a key of {name}")
            check_loadable(value, f"{name}[{key!r}]")
    elif isinstance(state, list | tuple | set):
        for number, value in enumerate(state):
            check_loadable(value, f"{name}[{number}]")


def save_checkpoint(path: str | os.PathLike, state: dict[str, Any]) -> None:
    """Write `state` (tensors, numbers, strings, lists, dictionaries) so that a reader sees all of it or nothing.

    A temporary file in the same folder gets the content and a checksum, reaches the disk, and takes the name in one
    step: a process killed at any moment leaves the old file or the new one. A state that `load_checkpoint` could not
    read back raises a TypeError before anything is written.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_checkpoint(Path(folder) / "a.pt", {"step": 3})
    ...     load_checkpoint(Path(folder) / "a.pt")
    {'step': 3}
    """
    if not isinstance(state, dict):
        got = type(state).__name__
        raise TypeError(f"expected the parts of a state by their names, got {got}: give a dictionary")
    check_loadable(state)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    torch.save(state, buffer)
    content = buffer.getvalue()
    with written_whole(path) as file:
        file.write(_MAGIC + hashlib.sha256(content).digest() + content)


def load_checkpoint(path: str | os.PathLike, device: Any = "cpu") -> dict[str, Any]:
    """Read what `save_checkpoint` wrote; a torn, changed or foreign file raises DamagedCheckpoint."""
    try:
        raw = read_file(path)
    except ValueError as error:  # a pipe or a device
        raise DamagedCheckpoint(str(error)) from None
    digest, content = raw[len(_MAGIC) : len(_MAGIC) + 32], raw[len(_MAGIC) + 32 :]
    if not raw.startswith(_MAGIC[: len(raw)]):
        raise DamagedCheckpoint(
            f"expected a checkpoint of this course, got {Path(path).name}, which begins otherwise: choose another file"
        )
    if hashlib.sha256(content).digest() != digest:
        raise DamagedCheckpoint(
            f"expected the content that the checksum of {Path(path).name} names, got {len(content)} other bytes: "
            "the file is torn or was changed; use the checkpoint before it, or run the same train command again"
        )
    try:
        state = torch.load(io.BytesIO(content), map_location=device, weights_only=True)
    except Exception as error:
        if isinstance(error, MemoryError) or "memory" in str(error):
            raise
        state = error
    if not isinstance(state, dict):  # the checksum is right: somebody else wrote it, or an earlier version
        strange = re.search(r"GLOBAL ([\w.]+)", str(state))  # the type that PyTorch does not read
        raise DamagedCheckpoint(
            f"expected tensors, numbers, texts, lists and dictionaries in {Path(path).name}, got "
            f"{strange[1] if strange else type(state).__name__}: the file is whole, but it was "
            "saved with what is never read back; use another checkpoint"
        )
    return state


class CheckpointFolder:
    """A folder of numbered checkpoints, `step-00000100.pt`; the newest `keep` stay.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checkpoints = CheckpointFolder(folder, keep=2)
    ...     for step in (100, 200, 300):
    ...         checkpoints.save(step, {"step": step})
    ...     [path.name for path in checkpoints.paths()], checkpoints.load_newest()
    (['step-00000200.pt', 'step-00000300.pt'], {'step': 300})
    """

    def __init__(self, folder: str | os.PathLike, keep: int = 3):
        if keep < 1:
            raise ValueError(f"expected keep of at least 1, got {keep}: one checkpoint must stay")
        self.folder = Path(folder)
        self.keep = keep

    def paths(self) -> list[Path]:
        """The checkpoints, oldest first; a name without a number is another file's."""
        found = [path for path in self.folder.glob("step-*.pt") if _NAME.fullmatch(path.name)]
        return sorted(found, key=lambda path: int(path.stem[5:]))

    def save(self, step: int, state: dict[str, Any]) -> None:
        """Save, then remove what is older than the newest `keep`, and what killed runs left half written."""
        check_whole(0, step=step)
        newest = self.folder / f"step-{step:08d}.pt"
        save_checkpoint(newest, state)
        older = [path for path in self.paths()[: -self.keep] if path != newest]
        for path in [*older, *self.folder.glob(".step-*.tmp")]:
            path.unlink(missing_ok=True)

    def load_newest(self, device: Any = "cpu") -> dict[str, Any] | None:
        """The newest sound checkpoint, or None where there is none.

        A damaged one is passed over with a message, and put aside as `step-00000300.pt.damaged`.
        """
        for path in reversed(self.paths()):
            try:
                return load_checkpoint(path, device)
            except DamagedCheckpoint as error:
                print(f"Passing over a checkpoint: {error}")
                with suppress(OSError):  # the folder may be read-only, or another process was first
                    path.rename(path.with_name(f"{path.name}.damaged"))
            except FileNotFoundError:  # another process put it aside
                continue
        return None


def average_weights(states: Sequence[dict[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of several models' `state_dict`s, as the paper takes it over its last checkpoints.

    Whole numbers (counters) are taken from the last. Source: Vaswani et al. 2017, section 6.1.

    >>> average_weights([{"w": torch.tensor([1.0])}, {"w": torch.tensor([3.0])}])
    {'w': tensor([2.])}
    """
    if not states:
        raise ValueError("expected at least one state_dict, got none: pass the checkpoints to average")
    shapes = [{name: tensor.shape for name, tensor in state.items()} for state in states]
    if any(one != shapes[0] for one in shapes):
        raise ValueError("expected state_dicts of one model, got other names or shapes: average checkpoints of one run")
    mean = dict(states[-1])
    for name, last in mean.items():
        if last.is_floating_point() or last.is_complex():
            wide = torch.complex128 if last.is_complex() else torch.float64
            mean[name] = torch.stack([state[name].to(wide) for state in states]).mean(dim=0).to(last.dtype)
    return mean
