"""What every output carries, so that it looks and works alike wherever it is opened: CSS and a little script."""

from functools import cache
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


def instead(still: str) -> str:
    """What is seen where styles and scripts are taken out (a notebook not yet trusted); elsewhere nobody sees it.

    What carries the attribute `hidden` and the class `course-figure` is then hidden, and shown everywhere else.
    """
    return f'<section class="course-alt">{still}</section>'


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
