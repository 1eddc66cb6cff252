"""A browser for the tests: the machine's Chromium, Chrome or Edge, else what `playwright install chromium` keeps."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser

from tools import chromium


@contextmanager
def launch() -> Iterator[Browser]:
    """A headless Chromium, closed at the end. Several may be open at once. Without one the test is skipped.

    Nothing is skipped in CI: there, a browser that does not open is a failure.
    """
    problem = chromium.missing()
    if problem:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(problem)
    browser = chromium.started()
    try:
        yield browser
    finally:
        browser.close()
