"""`make live`: cells of a page run where they are read, for whoever holds the token."""

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest
from browser import launch

from course_practice.exercises import registry
from tools.environment import ROOT, environment

SERVE = """
import sys
from pathlib import Path
from tools import live
live.BOOK = Path(sys.argv[1])
live.server(sys.argv[2:]).start()
"""
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Page</title><body class="bd-article"><h1>Page</h1>
<div class="cell"><div class="cell_input"><pre>print("first")</pre></div><div class="cell_output">old</div></div>
<nav class="bd-sidebar-primary"><ul><li class="toctree-l1"><a href="chapters/05_masks.html">05</a></li>
<li class="toctree-l1"><a href="chapters/06_image_attention.html">06</a></li></ul></nav>
<div class="cell"><details><summary>the code</summary><div class="cell_input"><pre>from course_lib.tokens import PAD
from course_practice import check</pre></div></details></div>
<div class="course-exercise"><h3>The padding mask</h3>
<div class="cell" id="own"><div class="cell_input"><pre>def mask(ids, pad_id=PAD):
    ...

check("masks.padding", mask)</pre></div><div class="cell_output">old</div></div>
<div class="course-solution" aria-label="Hints and solution of masks.padding">
<details><summary>Hint 1</summary></details>
<details><summary>Solution</summary></details></div></div>
<script>
// As the theme does with what does not scroll.
addEventListener("load", () => document.querySelectorAll("pre").forEach(code => { code.tabIndex = -1; }));
</script>
</body></html>"""
RIGHT = "def mask(ids, pad_id=PAD):\nreturn (ids != pad_id)[:, None, None, :]"  # the editor moves the second line in


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A served book of one page."""
    folder = tmp_path_factory.mktemp("live").resolve()
    (folder / "index.html").write_text(PAGE, encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--no-browser", "--allow-root", f"--port={port}", "--IdentityProvider.token=a-token"]
    own = {"JUPYTER_RUNTIME_DIR": str(folder / "runtime"), "JUPYTER_DATA_DIR": str(folder / "data")}
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, "-c", SERVE, str(folder), *options],
            cwd=ROOT,
            env=environment(folder / "home") | own,
            stdout=log,
            stderr=log,
        )
        address = f"http://127.0.0.1:{port}"
        while True:
            try:
                urllib.request.urlopen(f"{address}/api")
                break
            except OSError:
                assert server.poll() is None, (folder / "log").read_text()
                time.sleep(0.1)
        yield address
        server.terminate()
        server.wait()


def test_a_cell_runs_with_what_stands_above_it(address):
    with launch() as browser:
        page = browser.new_page()
        trouble = []
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("request", lambda request: request.url.startswith((address, "data:")) or trouble.append(request.url))
        page.goto(f"{address}/book/index.html?token=a-token")
        own = page.locator("#own")
        code = own.locator("pre").first
        code.click()
        page.keyboard.press("Control+A")
        page.keyboard.type(RIGHT)
        page.keyboard.press("Enter")
        page.keyboard.press("Backspace"), page.keyboard.press("Backspace")
        page.keyboard.press("Backspace"), page.keyboard.press("Backspace")
        page.keyboard.type('check("masks.padding", mask)')
        page.keyboard.press("Shift+Enter")
        own.get_by_text("passed").wait_for(timeout=120_000)
        assert "old" not in own.inner_text()
        assert page.locator(".live-top").inner_text().endswith("Solved: 1 of 1 exercises.")
        page.reload()
        page.get_by_text("Solved: 1 of 1 exercises.").wait_for()  # kept where notebooks keep it, too
        chapters = page.locator(".bd-sidebar-primary a")
        every = len([one for one in registry() if one.startswith("masks.")])
        assert chapters.first.get_attribute("data-solved") == f"1/{every}"
        assert chapters.last.get_attribute("data-solved") is None
        assert "(ids != pad_id)" in own.locator("pre").first.inner_text()
        own.get_by_role("button", name="Begin again").click()
        assert "..." in own.locator("pre").first.inner_text()
        assert trouble == []


def test_the_code_of_an_exercise_is_reached_by_tab_and_its_hints_stand_once(address):
    with launch() as browser:
        page = browser.new_page()
        page.goto(f"{address}/book/index.html?token=a-token")
        code = page.locator("#own pre").first
        page.keyboard.press("Tab")
        for _ in range(30):
            if code.evaluate("code => code === document.activeElement"):
                break
            page.keyboard.press("Escape"), page.keyboard.press("Tab")
        page.keyboard.press("Control+A")
        page.keyboard.insert_text('check("masks.padding", lambda ids: ids)')
        page.keyboard.press("Shift+Enter")
        page.locator("#own .course-result details").first.wait_for(timeout=120_000)
        assert not page.locator(".course-solution").get_by_text("Hint 1").is_visible()
        assert page.locator(".course-solution").get_by_text("Solution").is_visible()


def test_a_cell_that_ends_the_kernel_says_so_and_the_next_run_begins_anew(address):
    with launch() as browser:
        page = browser.new_page()
        page.goto(f"{address}/book/index.html?token=a-token")
        cell = page.locator("div.cell").first  # above the import, which takes seconds
        for code, told in (("import os; os._exit(1)", "the kernel has gone"), ("print(6 * 7)", "42")):
            cell.locator("pre").first.click()
            page.keyboard.press("Control+A")
            page.keyboard.type(code)
            page.keyboard.press("Shift+Enter")
            cell.get_by_text(told).wait_for(timeout=120_000)


def test_without_the_token_there_is_only_the_login(address):
    assert "/login" in urllib.request.urlopen(f"{address}/book/index.html").url


@pytest.mark.parametrize("path", ["book/index.html", "live.js"])
def test_a_head_is_answered_as_a_get_without_its_text(address, path):
    with urllib.request.urlopen(urllib.request.Request(f"{address}/{path}?token=a-token", method="HEAD")) as answer:
        assert (answer.status, answer.read()) == (200, b"")


@pytest.mark.parametrize(
    "path", ["book/../Makefile", "book/%2e%2e/Makefile.html", "book/none.html", "book/%00.html", "book/a%00b.html"]
)
def test_nothing_but_the_book_is_served(address, path):
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{address}/{path}?token=a-token")
    assert refused.value.code in (403, 404)


def test_the_script_is_not_part_of_the_book():
    assert "live.js" not in os.listdir(ROOT / "book" / "_static")
