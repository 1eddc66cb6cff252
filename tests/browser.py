"""A browser for the tests: the machine's Chromium, Chrome or Edge, else what `playwright install chromium` keeps."""

import atexit
import functools
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Playwright, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge", "msedge")
# Where Windows and macOS keep browsers that are not on the path.
PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
    "C:/Program Files (x86)/Microsoft/Edge/Application/msedge.exe",
)
# Nothing but the page speaks: no updates, no first-run pages, no experiments.
ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)


@functools.cache
def driver() -> Playwright:
    """The one Playwright of this process: a second one refuses to start beside it."""
    playwright = sync_playwright().start()
    atexit.register(playwright.stop)
    return playwright


def find_chromium() -> str | None:
    """Where a Chromium, Chrome or Edge is, or None."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    return found or next((path for path in [*PLACES, driver().chromium.executable_path] if Path(path).exists()), None)


@contextmanager
def launch() -> Iterator[Browser]:
    """A headless Chromium, closed at the end. Several may be open at once."""
    path = find_chromium()
    if path is None:
        raise FileNotFoundError(f"expected a Chromium ({', '.join(NAMES)}), got none: install one")
    browser = driver().chromium.launch(executable_path=path, args=list(ARGUMENTS))
    try:
        yield browser
    finally:
        browser.close()
