"""Where no browser opens, its tests are skipped and say why; in CI they fail."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools import chromium
from tools.environment import ROOT

TESTS = """
import pytest
from browser import launch

@pytest.fixture(scope="module")
def page():
    with launch() as chromium:
        yield chromium.new_page()

def test_one(page): ...
def test_two(page): ...
"""
SENTENCE = "Playwright's driver does not start (Connection closed while reading from the driver): on Debian and Ubuntu,"


@pytest.mark.parametrize(("ci", "code", "counted"), [("", 0, "2 skipped in"), ("true", 1, "2 errors in")])
def test_driver_that_does_not_start(tmp_path, ci, code, counted):
    """Playwright runs its driver with node; Python does not understand it and ends at once."""
    (tmp_path / "test_pages.py").write_text(TESTS, encoding="utf-8")
    folders = os.pathsep.join(map(str, (Path(__file__).parent, ROOT)))
    broken = {"PLAYWRIGHT_NODEJS_PATH": sys.executable, "PYTHONPATH": folders, "CI": ci}
    broken["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # they take seconds
    command = [sys.executable, "-m", "pytest", "-rs", "-p", "no:cacheprovider", "test_pages.py"]
    done = subprocess.run(command, cwd=tmp_path, env=os.environ | broken, text=True, capture_output=True)
    assert done.returncode == code, done.stdout
    assert counted in done.stdout
    assert SENTENCE in " ".join(done.stdout.split())


def test_machine_without_a_browser(monkeypatch):
    monkeypatch.setattr(chromium, "find_chromium", lambda: None)
    monkeypatch.setattr(chromium, "driver", lambda: None)
    assert chromium.missing.__wrapped__().startswith("expected a Chromium (chromium, chromium-browser, google-chrome")
