"""Serve the built book on this machine so that its cells run where they are read: `python -m tools.live`.

Jupyter's server hands out the pages and starts the kernels. It listens to this machine alone, and asks for the token
that the address it prints holds. live.js, beside this file, makes the cells of a page editable and runs them. Nothing
is written into the chapters; what you type is kept by your browser.
"""

import argparse
import sys
from pathlib import Path

from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.serverapp import ServerApp
from tornado import web

from course_practice.engine import progress
from tools.book import main as build_book
from tools.environment import BOOK, PRACTICE, ROOT, as_root

SCRIPT = Path(__file__).with_suffix(".js")
EXERCISES = PRACTICE / "exercises"
UNUSED = ("jupyterlab", "jupyter_lsp", "jupyter_server_terminals", "notebook_shim")


class Page(JupyterHandler):
    """A page of the built book, with the script that runs its cells."""

    @web.authenticated
    async def get(self, path: str) -> None:
        file = (BOOK / path.replace("\0", "?")).resolve()  # no name of a file holds a zero
        if not file.is_relative_to(BOOK) or not file.is_file():
            raise web.HTTPError(404, f"expected a page of the book, got {path}: begin at /book/index.html")
        self.set_header("Content-Type", "text/html; charset=utf-8")
        text = file.read_text(encoding="utf-8")
        self.finish(text.replace("</body>", '<script src="/live.js"></script></body>'))

    async def head(self, path: str) -> None:
        await self.get(path)  # the server leaves the text out


class Beside(JupyterHandler, web.StaticFileHandler):
    """What pages load: pictures, styles, fonts."""

    @web.authenticated
    async def get(self, path: str, include_body: bool = True) -> None:
        await web.StaticFileHandler.get(self, path, include_body)


class Script(JupyterHandler):
    """What makes a page's cells run."""

    @web.authenticated
    async def get(self) -> None:
        self.xsrf_token  # noqa: B018 (asking for it sets the cookie that a start of a kernel must show)
        self.set_header("Content-Type", "text/javascript; charset=utf-8")
        self.finish(SCRIPT.read_text(encoding="utf-8"))

    async def head(self) -> None:
        await self.get()


class Solved(JupyterHandler):
    """All exercises, and which of them are solved, here or in a notebook."""

    @web.authenticated
    async def get(self) -> None:
        known, kept = sorted(EXERCISES.glob("[!_]*/[!_]*.md")), progress.load()
        names = [f"{path.parent.name}.{path.stem}" for path in known]
        self.finish({name: bool(kept.get(name, {}).get("passed")) for name in names})


def server(arguments: list[str]) -> ServerApp:
    """Jupyter's server with the book under /book/, ready to start."""
    ServerApp.clear_instance()
    app = ServerApp.instance(
        root_dir=str(ROOT),
        ip="127.0.0.1",
        default_url="/book/index.html",
        jpserver_extensions=dict.fromkeys(UNUSED, False),
    )
    app.initialize(argv=["--MappingKernelManager.cull_idle_timeout=7200", *arguments])
    beside = (r"/book/(.*)", Beside, {"path": str(BOOK)})
    app.web_app.add_handlers(
        ".*$", [(r"/book/(.*\.html)", Page), beside, (r"/live\.js", Script), (r"/solved\.json", Solved)]
    )
    return app


def main() -> int:
    """Build the book where there is none, then serve it until Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], epilog="Other options go to Jupyter's server.")
    _, others = parser.parse_known_args()
    sys.argv[1:] = []  # the build reads its own options
    if not (BOOK / "index.html").exists() and (code := build_book()):
        return code
    server([*as_root(), *others]).start()
    return 0


if __name__ == "__main__":
    sys.exit(main())
