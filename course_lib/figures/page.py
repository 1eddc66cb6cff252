"""What every output carries, so that it looks and works alike wherever it is opened: CSS and a little script."""

from functools import cache
from html import escape
from importlib.resources import files

# On every control: its keys are its own, so that JupyterLab takes neither an arrow nor a letter for a command.
KEYS = 'data-lm-suppress-shortcuts="true"'


@cache
def css(*names: str) -> str:
    """The named style sheets as one `<style>`; colors are the page's own, so light and dark need no second set."""
    return f"<style>{''.join(_read(f'{name}.css') for name in names)}</style>"


@cache
def script(name: str) -> str:
    """The named script, run once for every element marked `data-course=name`: outputs may stand on a page twice."""
    return (
        f"<script>for (const root of document.querySelectorAll('[data-course={name}]:not([data-ready])')) {{\n"
        f'root.dataset.ready = "";\n{_read(f"{name}.js")}}}</script>'
    )


def instead(text: str, picture: str = "") -> str:
    """A picture and words for where styles and scripts are taken out (a notebook not yet trusted).

    What carries the attribute `hidden` and the class `course-figure` is then hidden, and shown everywhere else, where
    nobody sees this.
    """
    hint = "" if picture else " (Trust the notebook or run the cell to see it.)"
    return f'<div class="course-alt">{picture or f"<p>{escape(text)}{hint}</p>"}</div>'


def label(value) -> str:
    """A value as the reader sees it.

    >>> label(0.5), label(64), label(True)
    ('0.5', '64', 'on')
    """
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _read(name: str) -> str:
    lines = files(__package__).joinpath(name).read_text(encoding="utf-8").splitlines()
    return "".join(line.strip() + "\n" for line in lines)
