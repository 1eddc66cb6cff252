"""The browser of this machine: its Chromium, Chrome or Edge, else what `playwright install chromium` keeps."""

import atexit
import functools
import shutil
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
# Nothing but the page speaks: no updates, no first-run pages, no experiments. A window has no pages of its own beside
# it for what an address bar might show: they take as long to open as the window does. This list of features takes the
# place of Playwright's, so it names those of it that a page could notice.
FEATURES = (
    *("WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "WebUIOmniboxFullPopup", "AimEnabled", "LensOverlay"),
    *("PaintHolding", "HttpsUpgrades", "HttpsFirstBalancedModeAutoEnable", "ThirdPartyStoragePartitioning"),
    *("MediaRouter", "OptimizationHints", "NetworkTimeServiceQuerying", "PreconnectToSearch"),
)
ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", f"--disable-features={','.join(FEATURES)}"),
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


@functools.cache
def missing() -> str:
    """What keeps this machine from opening a browser, in one sentence, or ""."""
    try:
        driver()
    except Exception as error:  # Playwright has no class for this: its driver is a program that did not start
        return f"Playwright's driver does not start ({error}): on Debian and Ubuntu, install libatomic1"
    return "" if find_chromium() else f"expected a Chromium ({', '.join(NAMES)}), got none: install one"


def started() -> Browser:
    """A headless browser; several may be open at once. RuntimeError where there is none."""
    if problem := missing():
        raise RuntimeError(problem)
    return driver().chromium.launch(executable_path=find_chromium(), args=list(ARGUMENTS))
