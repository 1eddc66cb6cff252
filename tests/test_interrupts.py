"""Ctrl-C inside `Interrupts`: noted once, obeyed the second time, and only where it could arrive."""

import signal
import threading

import pytest

from course_lib.training.interrupts import SIGNALS, Interrupts


@pytest.mark.parametrize("number", SIGNALS)
def test_the_first_is_noted_and_the_second_raises(number, interruptible):
    before = signal.getsignal(number)
    with Interrupts() as interrupts:
        assert not interrupts.seen
        signal.raise_signal(number)
        assert interrupts.seen == number
        with pytest.raises(KeyboardInterrupt) as raised:
            signal.raise_signal(number)
    assert raised.value.args == (number,)
    assert signal.getsignal(number) == before


def test_each_block_begins_anew(interruptible):
    interrupts = Interrupts()
    for _ in range(2):
        with interrupts:
            assert not interrupts.seen
            signal.raise_signal(signal.SIGINT)
            assert interrupts.seen


def test_nothing_changes_where_interrupts_are_ignored(interruptible):
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Interrupts() as interrupts:
            signal.raise_signal(signal.SIGINT)
            assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
        assert not interrupts.seen
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_are_left_alone(interruptible):
    before, inside = signal.getsignal(signal.SIGINT), []

    def work():
        with Interrupts():
            inside.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert inside == [before]
