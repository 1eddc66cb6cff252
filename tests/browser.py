"""Chromium for the tests: the machine's own, or the one that `playwright install chromium` keeps."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Nothing but the page speaks: no updates, no first-run pages, no experiments.
ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)


def find_chromium() -> str | None:
    """Where a Chromium is, or None."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found:
        return found
    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
    return own if Path(own).exists() else None


@contextmanager
def launch() -> Iterator[Browser]:
    """A headless Chromium, closed at the end."""
    path = find_chromium()
    if path is None:
        raise FileNotFoundError(f"expected a Chromium ({', '.join(NAMES)}), got none: install one")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield browser
        browser.close()
