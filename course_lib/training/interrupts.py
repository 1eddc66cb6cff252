"""Ctrl-C, and the request to end that a system sends, wait for a good moment."""

import signal
import threading
from types import FrameType
from typing import Any

NAMES = ("SIGINT", "SIGTERM", "SIGHUP")  # a terminal that is closed sends the last one; Windows has none
SIGNALS = tuple(getattr(signal, name) for name in NAMES if hasattr(signal, name))


class Interrupts:
    """Inside the `with` block a first Ctrl-C, SIGTERM or SIGHUP stops nothing; a second one raises.

    `seen` is the number of the first, 0 before it: a loop that looks at it between its steps is never stopped in the
    middle of one. In a thread other than the main one, and where a signal was switched off before, nothing changes.
    """

    def __init__(self) -> None:
        self.seen = 0
        self.before: dict[int, Any] = {}

    def __enter__(self) -> "Interrupts":
        self.seen = 0
        if threading.current_thread() is threading.main_thread():
            found = {number: signal.getsignal(number) for number in SIGNALS}
            self.before = {number: was for number, was in found.items() if callable(was) or was == signal.SIG_DFL}
            for number in self.before:
                signal.signal(number, self._note)
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.seen:
            raise KeyboardInterrupt(number)
        self.seen = number

    def __exit__(self, *error: object) -> None:
        for number, was in self.before.items():
            signal.signal(number, was)
        self.before = {}
