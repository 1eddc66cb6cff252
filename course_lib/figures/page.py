"""What every output carries, so that it looks and works alike wherever it is opened: CSS and a little script."""

from functools import cache
from importlib.resources import files


def _read(name: str) -> str:
    lines = files(__package__).joinpath(name).read_text(encoding="utf-8").splitlines()
    return "\n".join(line.strip() for line in lines)


CSS = f"<style>{_read('page.css')}</style>"


@cache
def script(name: str, key: str) -> str:
    """The file's statements, run once for every element marked `data-course=key`: works again when shown twice."""
    return (
        f"<script>for (const root of document.querySelectorAll('[data-course=\"{key}\"]:not([data-ready])')) {{\n"
        f'root.dataset.ready = "";\n{_read(name)}\n}}</script>'
    )
