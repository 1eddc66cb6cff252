"""A browser for the tests: the machine's Chromium, Chrome or Edge, else what `playwright install chromium` keeps."""

import atexit
import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser

from tools import chromium

_started: list[Browser] = []


def _shared() -> Browser:
    """The browser of this process: starting one takes longer than most tests."""
    if not _started or not _started[-1].is_connected():
        _started.append(chromium.started())
        atexit.register(_started[-1].close)
    return _started[-1]


@contextmanager
def launch() -> Iterator[Browser]:
    """A headless Chromium; the windows opened in it are closed at the end. Without one the test is skipped.

    Nothing is skipped in CI: there, a browser that does not open is a failure.
    """
    problem = chromium.missing()
    if problem:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(problem)
    browser = _shared()
    before = browser.contexts
    try:
        yield browser
    finally:
        for context in browser.contexts:
            if context not in before:
                context.close()
