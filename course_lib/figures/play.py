"""`play`: the reader calls a function with own values. ipywidgets does the work; a page shows the first values."""

import asyncio
import functools
import inspect
import io
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any
from zlib import crc32

from matplotlib.figure import Figure

from course_lib.figures.display import Output, css, figure_to_png
from course_lib.figures.explore import frame, sentence
from course_lib.figures.svg import checked_alt

SLOW = 0.2  # seconds: what takes longer is drawn when a slider is let go, and a text after Enter
VIEW = "application/vnd.jupyter.widget-view+json"
# The still is seen where the controls are not: on a page, and in a saved copy that has lost their state.
STYLE = """<style>:root:has(.jupyter-widgets.{0}) .course-figure[data-play={0}] {{display: none !important}}
.jp-OutputArea-child:has([data-play={0}]) + * > .jupyter-widgets:not(:has(*)) {{display: none}}</style>"""


@dataclass(frozen=True)
class Playground(Output):
    """A still, which a notebook stores, and controls, which live as long as their kernel."""

    alt: str
    html: str
    text: str
    png: bytes | None
    panel: Any  # of ipywidgets

    @property
    def key(self) -> str:
        """A class by which the still knows its controls."""
        return f"play-{crc32(self.alt.encode()):08x}"

    def __repr__(self) -> str:
        return f"Play: {self.alt}\n{self.text}".rstrip()

    def page(self) -> str:
        values = escape(self.alt.partition(" Shown: ")[2])
        return (
            f'<div hidden="hidden" class="course-figure" data-course="play" data-play="{self.key}">{css("figure")}'
            f'{STYLE.format(self.key)}<div class="course-frame" data-text="{escape(self.alt)}">{self.html}</div>'
            f'<p class="course-still">Shown for {values} To change this, run the cell in JupyterLab, VS Code, or '
            "Colab.</p></div>"
        )

    def still(self) -> str:
        return super().still() or f"{self.html}<p>{escape(self.alt)}</p>"

    def _ipython_display_(self) -> None:
        from IPython.display import display

        display(self._repr_mimebundle_(), raw=True)
        self.panel.add_class(self.key)
        display({VIEW: self.panel._repr_mimebundle_()[VIEW]}, raw=True)


def play(draw: Callable, *, alt: str, **controls) -> Playground:
    """Let the reader call `draw(**values)` by moving controls, in the kernel that runs the notebook.

    Controls are those of `ipywidgets.interact`: a tuple (lowest, highest) is a slider, a text a text field, a list a
    menu, a bool a checkbox; and `cells(…)` is a grid. Sliders and menus begin at their parameter's default. `draw` may
    return anything. What it prints is shown, too, and so is an error of it. A generator gives one result after another,
    each in the place of the one before, until it ends or the reader stops it.

    >>> from course_lib.figures import play
    >>> play(lambda word, times=2: word * times, alt="A word, repeated.", word="ha", times=(1, 5))
    Play: A word, repeated. Shown: word = ha, times = 2.
    haha
    """
    from ipywidgets import HTML, Button, HBox, Layout, interactive

    result, alt, buttons = HTML(), checked_alt(alt), []
    streams, running = inspect.isgeneratorfunction(draw), []  # the task that shows what a generator gives

    def result_of(call: Callable, words: str) -> tuple:
        html, text, drawn = _drawn(call, words)
        result.value = f'<div class="course-figure">{css("figure")}{html}</div>'
        return words, html, text, drawn

    @functools.wraps(draw)
    def called(**values) -> tuple:
        words = f"{alt} Shown: {sentence(values)}."
        if not streams:
            return result_of(functools.partial(draw, **values), words)
        if not buttons:  # the still
            return result_of(lambda: [None, *draw(**values)][-1], words)
        stop()
        running.append(asyncio.ensure_future(_shown(draw(**values), lambda step: result_of(step, words))))
        return panel.result

    def stop(_button: Any = None) -> None:
        while running:
            running.pop().cancel()

    begun = time.perf_counter()
    panel = interactive(called, clear_output=False, **controls)
    quick = time.perf_counter() - begun < SLOW
    for field in panel.kwargs_widgets:
        if hasattr(field, "style"):
            field.style.description_width = "initial"
        field.continuous_update = quick  # menus and checkboxes take no notice
    if streams:
        buttons.append(Button(description="Stop"))
        buttons[0].on_click(stop)
    panel.children = [HBox([*panel.kwargs_widgets, *buttons], layout=Layout(flex_flow="row wrap")), result]
    *first, drawn = panel.result
    png = figure_to_png(drawn) if isinstance(drawn, Figure) else getattr(drawn, "png", None)
    return Playground(*first, png, panel)


async def _shown(steps: Iterator, show: Callable) -> None:
    """Show each result of a generator; between two of them the kernel attends to the controls."""
    for call in _calls(steps):
        show(call)
        await asyncio.sleep(0.01)


def _calls(steps: Iterator) -> Iterator[Callable]:
    """Each result of a generator as a call that gives it; an error of it is the last one."""
    try:
        for result in steps:
            yield lambda result=result: result
    except Exception as error:

        def fail(error: Exception = error) -> None:
            raise error

        yield fail


def _drawn(call: Callable, alt: str) -> tuple[str, str, Any]:
    """What a call gives: as HTML, in words where it has words, and itself."""
    printed, drawn, html, kind = io.StringIO(), None, "", "said"
    try:
        with redirect_stdout(printed):
            drawn = call()
        if isinstance(drawn, Figure) or hasattr(drawn, "_repr_html_"):
            html = frame(drawn, alt, "play")
        else:
            printed.write("" if drawn is None else str(drawn))
    except (Exception, KeyboardInterrupt) as error:  # the reader may stop what takes too long
        own = [at for at in traceback.extract_tb(error.__traceback__) if not Path(at.filename).exists()]  # in a cell
        lines = [f"In {at.name}: {at.line}\n" for at in own[-1:]]
        printed.write("".join([*lines, *traceback.format_exception_only(error)]))
        kind = "error"
    text = printed.getvalue().rstrip()
    return (f'<pre class="course-{kind}">{escape(text)}</pre>' if text else "") + html, text, drawn
