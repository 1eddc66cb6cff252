"""`explore`: one figure for every choice of values, moved by sliders in the notebook and in the static page."""

import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from numbers import Number

from matplotlib.figure import Figure

from course_lib.figures.display import KEYS, Output, Shown, css, figure_to_png, label, script
from course_lib.figures.svg import LIMIT, check_size, checked_alt, figure_to_svg

FRAMES_MAX = 60


@dataclass(frozen=True)
class Explorer(Output):
    """A drawn exploration: a text form and an HTML form that holds every frame."""

    choices: dict[str, list]
    shown: dict[str, object]  # the values that are shown first
    first: int  # the frame of these values
    frames: list[tuple[str, str]]  # HTML and text of every combination, the last choice turning fastest
    png: bytes | None  # of the frame shown first; None where it is HTML

    def __repr__(self) -> str:
        offered = "; ".join(f"{name}: {', '.join(map(label, options))}" for name, options in self.choices.items())
        _html, text = self.frames[self.first]
        return f"Explore: {text} Choices: {offered}."

    def page(self) -> str:
        """Every frame inline; the script shows the chosen one. Without it: the frame shown first, and its values."""
        controls = (_control(name, options, options.index(self.shown[name])) for name, options in self.choices.items())
        frames = "".join(
            f'<div class="course-frame" data-text="{escape(text)}"{" hidden" * (number != self.first)}>{html}</div>'
            for number, (html, text) in enumerate(self.frames)
        )
        return (
            f'<div hidden="hidden" class="course-figure" data-course="explore">{css("figure", "controls")}'
            f'<div class="course-controls" hidden>{"".join(controls)}</div>{frames}'
            f'<p class="course-still">Shown for {escape(sentence(self.shown))}.</p>'
            f'<p class="course-unseen" role="status"></p></div>{script("explore")}'
        )

    def still(self) -> str:
        html, text = self.frames[self.first]
        return super().still() or f"{html}<p>{escape(text)}</p>"


def explore(
    draw: Callable, *, alt: str | Callable[..., str], default: Mapping[str, object] | None = None, **choices
) -> Explorer:
    """Draw `draw(**values)` for every combination of the choices and let the reader move between them.

    A choice is a list or range of numbers (slider), of strings (menu), or a bool (checkbox, starting there). `draw`
    returns a matplotlib figure, or HTML as text. `alt` says in words what is shown: a sentence, or a function of
    the values. The first values are shown first, unless `default` names others. At most 60 frames and 290 KB.

    >>> from course_lib.figures import explore, new_figure
    >>> def draw(power):
    ...     fig, ax = new_figure(4, 3)
    ...     ax.plot([x / 10 for x in range(11)], [(x / 10) ** power for x in range(11)])
    ...     return fig
    >>> explore(draw, alt="x to a power.", power=[1, 2, 3])
    Explore: x to a power. Shown: power = 1. Choices: power: 1, 2, 3.
    """
    offered, shown = _checked(choices, default or {})
    combinations = [dict(zip(offered, values, strict=True)) for values in itertools.product(*offered.values())]
    if len(combinations) > FRAMES_MAX:
        counts = " × ".join(str(len(options)) for options in offered.values())
        raise ValueError(
            f"expected at most {FRAMES_MAX} frames, got {counts} = {len(combinations)}. "
            f"Every combination is drawn and stored, {LIMIT // 1000} KB in all: offer fewer values."
        )
    frames, errors, png = [], [], None
    for number, values in enumerate(combinations):
        text = checked_alt(alt(**values)) if callable(alt) else f"{checked_alt(alt)} Shown: {sentence(values)}."
        try:
            drawn = draw(**values)
        except Exception as error:  # the reader gets a sentence, the other frames still work
            errors.append(error)
            message = " ".join(str(error).split()) or type(error).__name__
            text = f"No figure for {sentence(values)}: {message}"
            frames.append((f"<p>{escape(text)}</p>", text))
            continue
        frames.append((frame(drawn, text, str(number)), text))
        if values == shown:
            png = figure_to_png(drawn) if isinstance(drawn, Figure) else getattr(drawn, "png", None)
    if len(errors) == len(combinations):
        raise errors[0]
    named = [{spoken(name): value for name, value in each.items()} for each in (offered, shown)]
    explorer = Explorer(*named, combinations.index(shown), frames, png)
    check_size(explorer._repr_html_(), f"It holds {len(frames)} frames: offer fewer values, or draw fewer points.")
    return explorer


def _checked(choices: dict, default: Mapping) -> tuple[dict[str, list], dict[str, object]]:
    """Every choice as a list of values, and the value of each that is shown first."""
    if not choices:
        raise ValueError("expected at least one choice, got none. Name it: explore(draw, alt=…, d_k=[1, 4, 16]).")
    if unknown := set(default) - set(choices):
        raise ValueError(f"expected default: only names among {sorted(choices)}, got {sorted(unknown)}. Rename them.")
    offered, shown = {}, {}
    for name, given in choices.items():
        options = [given] if isinstance(given, bool) else _options(name, given)
        first = default.get(name, options[0])
        if isinstance(options[0], bool):
            options = [False, True]
        if first not in options:
            raise ValueError(f"expected default[{name!r}]: one of {options}, got {first!r}. Add it to the choices.")
        offered[name], shown[name] = options, options[options.index(first)]
    return offered, shown


def _options(name: str, given) -> list:
    given = given.tolist() if hasattr(given, "tolist") else given
    if isinstance(given, str | Number) or not hasattr(given, "__iter__"):
        raise TypeError(f"expected {name}: a list, a range or a bool, got {given!r}. Offer choices: {name}=[…].")
    options = list(given)
    kinds = {next((kind for kind in (bool, Number, str) if isinstance(option, kind)), None) for option in options}
    if len(options) < 2 or len(kinds) != 1 or None in kinds:
        raise ValueError(
            f"expected {name}: two or more numbers, strings or bools of one kind, got {options!r}. "
            "Give every choice as a list of plain values."
        )
    return options


def sentence(values: Mapping) -> str:
    """Names and values as the reader sees them.

    >>> sentence({"top_k": 5, "warm": True})
    'top k = 5, warm = on'
    """
    return ", ".join(f"{spoken(name)} = {label(value)}" for name, value in values.items())


def spoken(name: str) -> str:
    """A parameter's name in words."""
    return name if name.startswith("d_") else name.replace("_", " ")


def frame(drawn, text: str, salt: str) -> str:
    """What a figure's function returned, as HTML: a figure, or what shows itself as HTML."""
    if isinstance(drawn, Figure):
        return figure_to_svg(drawn, text, salt, crop=drawn.get_layout_engine() is None)
    if isinstance(drawn, Shown):
        return drawn.picture
    if isinstance(drawn, Output):
        return drawn.page()
    html = drawn if isinstance(drawn, str) else getattr(drawn, "_repr_html_", lambda: None)()
    if html is None:
        raise TypeError(
            f"expected draw to return a matplotlib figure or HTML, got {type(drawn).__name__}. "
            "End the function with `return fig`."
        )
    return html


def _control(name: str, options: list, at: int) -> str:
    if isinstance(options[0], bool):
        return f'<label><input {KEYS} type="checkbox"{" checked" if options[at] else ""}> {escape(name)}</label>'
    labels = [label(option) for option in options]
    if isinstance(options[0], str):
        items = "".join(
            f"<option{' selected' if number == at else ''}>{escape(text)}</option>"
            for number, text in enumerate(labels)
        )
        return f"<label>{escape(name)} <select {KEYS}>{items}</select></label>"
    return (
        f'<label>{escape(name)} <input {KEYS} type="range" min="0" max="{len(options) - 1}" step="1" value="{at}" '
        f'aria-valuetext="{escape(labels[at])}" data-labels="{escape(json.dumps(labels))}"> <span class="course-value" '
        f'aria-hidden="true" style="min-width:{max(map(len, labels))}ch">{escape(labels[at])}</span></label>'
    )
