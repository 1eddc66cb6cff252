"""`explore`: one figure for every choice of values, moved by sliders in the notebook and in the static page."""

import itertools
import json
from collections.abc import Callable, Mapping
from html import escape
from numbers import Number

from matplotlib.figure import Figure

from course_lib.figures.display import Shown
from course_lib.figures.live import live_view
from course_lib.figures.page import css, instead, script
from course_lib.figures.svg import LIMIT, check_size, checked_alt, figure_to_svg

FRAMES_MAX = 60


class Explorer:
    """A drawn exploration: text form, static HTML form with every frame, and ipywidgets where a kernel runs."""

    def __init__(self, choices: dict[str, list], start: tuple[int, ...], alt: str, frames: list[tuple[str, str]]):
        self.choices, self.start, self.alt = choices, start, alt
        self.frames = frames  # (html, text) of every combination, the last choice turning fastest

    def __repr__(self) -> str:
        values = {name: options[at] for (name, options), at in zip(self.choices.items(), self.start, strict=True)}
        offered = "; ".join(f"{name}: {', '.join(map(_label, options))}" for name, options in self.choices.items())
        return f"Explore: {self.alt} Shown: {_sentence(values)}. Choices: {offered}."

    def index(self, at) -> int:
        """The number of the frame for one position in every choice."""
        number = 0
        for options, position in zip(self.choices.values(), at, strict=True):
            number = number * len(options) + position
        return number

    def _repr_html_(self) -> str:
        return _page(self)

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        return {**live_view(self), "text/plain": repr(self), "text/html": self._repr_html_()}


def explore(
    draw: Callable, *, alt: str | Callable[..., str], default: Mapping[str, object] | None = None, **choices
) -> Explorer:
    """Draw `draw(**values)` for every combination of the choices and let the reader move between them.

    A choice is a list or range of numbers (slider), of strings (menu), or a bool (checkbox, starting there). `draw`
    returns a matplotlib figure, or HTML as text. `alt` says in words what is shown: a sentence, or a function of
    the values. The first values are shown first, unless `default` names others. At most 60 frames and 300 KB.

    >>> from course_lib.figures import explore, new_figure
    >>> def draw(power):
    ...     fig, ax = new_figure(4, 3)
    ...     ax.plot([x / 10 for x in range(11)], [(x / 10) ** power for x in range(11)])
    ...     return fig
    >>> explore(draw, alt="x to a power.", power=[1, 2, 3])
    Explore: x to a power. Shown: power = 1. Choices: power: 1, 2, 3.
    """
    offered, start = _checked(choices, default or {})
    combinations = [dict(zip(offered, values, strict=True)) for values in itertools.product(*offered.values())]
    if len(combinations) > FRAMES_MAX:
        counts = " × ".join(str(len(options)) for options in offered.values())
        raise ValueError(
            f"expected at most {FRAMES_MAX} frames, got {counts} = {len(combinations)}. "
            f"Every combination is drawn and stored (at most {LIMIT // 1000} KB): offer fewer values."
        )
    frames, errors = [], []
    for number, values in enumerate(combinations):
        text = checked_alt(alt(**values)) if callable(alt) else f"{checked_alt(alt)} ({_sentence(values)})"
        try:
            drawn = draw(**values)
        except Exception as error:  # the reader gets a sentence, the other frames still work
            errors.append(error)
            frames.append((_failure(error, values), f"{_sentence(values)}: could not be drawn."))
            continue
        frames.append((_frame(drawn, text, str(number)), text))
    if len(errors) == len(combinations):
        raise errors[0]
    summary = checked_alt(alt) if not callable(alt) else frames[_number(offered, start)][1]
    explorer = Explorer(offered, start, summary, frames)
    advice = f"It holds {len(frames)} frames: offer fewer values, or draw fewer points."
    check_size(explorer._repr_html_(), advice)
    return explorer


def _checked(choices: dict, default: Mapping) -> tuple[dict[str, list], tuple[int, ...]]:
    if not choices:
        raise ValueError("expected at least one choice, got none. Name it: explore(draw, alt=…, d_k=[1, 4, 16]).")
    unknown = set(default) - set(choices)
    if unknown:
        raise ValueError(f"expected default: only names among {sorted(choices)}, got {sorted(unknown)}. Rename them.")
    offered, start = {}, []
    for name, given in choices.items():
        if isinstance(given, bool):
            options, first = [False, True], given
        else:
            options = _options(name, given)
            first = options[0]
        first = default.get(name, first)
        if first not in options:
            raise ValueError(f"expected default[{name!r}]: one of {options}, got {first!r}. Add it to the choices.")
        offered[name] = options
        start.append(options.index(first))
    return offered, tuple(start)


def _options(name: str, given) -> list:
    if hasattr(given, "tolist"):
        given = given.tolist()
    if isinstance(given, str | Number) or not hasattr(given, "__iter__"):
        raise TypeError(f"expected {name}: a list, a range or a bool, got {given!r}. Offer choices: {name}=[…].")
    options = list(given)
    kinds = {
        "bool" if isinstance(o, bool) else "number" if isinstance(o, Number) else type(o).__name__ for o in options
    }
    if len(options) < 2 or len(kinds) != 1 or kinds - {"bool", "number", "str"}:
        raise ValueError(
            f"expected {name}: two or more numbers, strings or bools of one kind, got {options!r}. "
            "Give every choice as a list of plain values."
        )
    return options


def _label(value) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _sentence(values: Mapping) -> str:
    return ", ".join(f"{name} = {_label(value)}" for name, value in values.items())


def _number(offered: dict[str, list], at) -> int:
    number = 0
    for options, position in zip(offered.values(), at, strict=True):
        number = number * len(options) + position
    return number


def _frame(drawn, text: str, salt: str) -> str:
    if isinstance(drawn, Figure):
        return figure_to_svg(drawn, text, salt)
    if isinstance(drawn, Shown):
        return drawn.picture
    html = drawn if isinstance(drawn, str) else drawn._repr_html_() if hasattr(drawn, "_repr_html_") else None
    if html is None:
        raise TypeError(
            f"expected draw to return a matplotlib figure or HTML, got {type(drawn).__name__}. "
            "End the function with `return fig`."
        )
    return html


def _failure(error: Exception, values: Mapping) -> str:
    message = " ".join(str(error).split()) or type(error).__name__
    return f"<p>No figure for {escape(_sentence(values))}: {escape(message)}</p>"


def _page(explorer: Explorer) -> str:
    """Every frame inline; the script shows the chosen one. Without script: the first frame and its values."""
    unique = list(dict.fromkeys(html for html, _ in explorer.frames))
    start = explorer.index(explorer.start)
    first = unique.index(explorer.frames[start][0])
    data = {
        "frames": [unique.index(html) for html, _ in explorer.frames],
        "texts": [text for _, text in explorer.frames],
        "sizes": [len(options) for options in explorer.choices.values()],
    }
    controls = "".join(
        _control(name, options, at)
        for (name, options), at in zip(explorer.choices.items(), explorer.start, strict=True)
    )
    values = {name: options[at] for (name, options), at in zip(explorer.choices.items(), explorer.start, strict=True)}
    frames = "".join(
        f'<div class="course-frame"{"" if number == first else " hidden"}>{html}</div>'
        for number, html in enumerate(unique)
    )
    return (
        f'<div hidden class="course-figure" role="group" aria-label="{escape(explorer.alt)}" data-course="explore" '
        f'data-explore="{escape(json.dumps(data, ensure_ascii=False))}">{css("figure", "controls")}'
        f'<div class="course-controls" hidden>{controls}</div>{frames}'
        f'<p class="course-still">Shown for {escape(_sentence(values))}.</p>'
        f'<p class="course-unseen" role="status"></p></div>{instead(repr(explorer))}{script("explore")}'
    )


def _control(name: str, options: list, at: int) -> str:
    if isinstance(options[0], bool):
        order = json.dumps([int(option) for option in options])
        checked = " checked" if options[at] else ""
        return f'<label><input type="checkbox" data-order="{order}"{checked}> {escape(name)}</label>'
    labels = [_label(option) for option in options]
    if isinstance(options[0], str):
        items = "".join(
            f"<option{' selected' if number == at else ''}>{escape(label)}</option>"
            for number, label in enumerate(labels)
        )
        return f"<label>{escape(name)} <select>{items}</select></label>"
    width = max(map(len, labels))
    return (
        f'<label>{escape(name)} <input type="range" min="0" max="{len(options) - 1}" step="1" value="{at}" '
        f'aria-valuetext="{escape(labels[at])}" data-labels="{escape(json.dumps(labels))}"> '
        f'<span class="course-value" aria-hidden="true" style="min-width:{width}ch">{escape(labels[at])}</span></label>'
    )
