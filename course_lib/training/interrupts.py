"""Ctrl-C that waits for a good moment."""

import signal
import threading
from types import FrameType, TracebackType


class Interrupts:
    """Inside the `with` block a first Ctrl-C is noted in `seen` and stops nothing; a second one raises as usual.

    A loop that looks at `seen` between its steps is never stopped in the middle of one. In a thread other than the
    main one, and where Ctrl-C was switched off before, nothing changes: no Ctrl-C arrives there.

    >>> with Interrupts() as interrupts:     # … and nobody pressed Ctrl-C
    ...     interrupts.seen
    False
    """

    def __init__(self) -> None:
        self.seen = False
        self.before = None

    def __enter__(self) -> "Interrupts":
        self.seen = False
        in_main_thread = threading.current_thread() is threading.main_thread()
        if in_main_thread and callable(before := signal.getsignal(signal.SIGINT)):
            self.before = before
            signal.signal(signal.SIGINT, self._note)
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.seen:
            raise KeyboardInterrupt
        self.seen = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.before is not None:
            signal.signal(signal.SIGINT, self.before)
            self.before = None
