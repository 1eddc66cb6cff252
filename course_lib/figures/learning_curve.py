"""The learning curve as a picture: validation loss over updates, time and tokens."""

from collections.abc import Sequence
from html import escape

from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from course_lib.figures.style import INK, QUERY, new_figure
from course_lib.figures.svg import checked_alt, figure_to_svg

FEW = 30  # so many evaluations are told apart as dots


def learning_curve(
    loss: Sequence[float], updates: Sequence[float], seconds: Sequence[float], tokens: Sequence[float]
) -> tuple[Figure, str]:
    """The figure and its alternative text. `loss` is in nats per target token; the lists have an entry an evaluation.

    The best evaluation is ringed, its loss beside it. One evaluation is a dot, none a remark.

    >>> fig, alt = learning_curve([4.0, 2.5, 2.75], [200, 400, 600], [10, 20, 30], [9e4, 18e4, 27e4])
    >>> alt
    'Validation loss from 4.000 at update 200 to 2.750 at update 600; best: 2.500 at update 400.'
    """
    best = min(range(len(loss)), key=loss.__getitem__, default=None)
    late = bool(len(seconds)) and seconds[-1] > 600
    times = [second / 60 for second in seconds] if late else seconds
    unit = "minutes" if late else "seconds"
    panels = [(updates, "updates"), (times, f"training time ({unit})"), (tokens, "target tokens read")]
    fig, axes = new_figure(10.0, 3.4, cols=len(panels), sharey=True)
    axes[0].set_ylabel("validation loss\n(nats per target token)")
    for ax, (values, label) in zip(axes, panels, strict=True):
        ax.set_xlabel(label)
        ax.xaxis.set_major_formatter(EngFormatter(sep=""))
        ax.locator_params("x", nbins=5)
        ax.grid(axis="y")
        if len(loss):
            ax.plot(values, loss, color=QUERY, marker="o" if len(loss) <= FEW else "", markersize=4)
            ax.plot(values[best], loss[best], "o", markersize=9, markerfacecolor="none", markeredgecolor=INK)
            # To its upper right the falling curve leaves room.
            ax.annotate(f"{loss[best]:.3f}", (values[best], loss[best]), xytext=(2, 9), textcoords="offset points")
            ax.set_xlim(0, 1.2 * values[-1] or 1)
        else:
            ax.set(xticks=[], yticks=[])
            ax.text(0.5, 0.5, "no evaluation yet", ha="center", va="center", transform=ax.transAxes)
    if not len(loss):
        return fig, "Validation loss: no evaluation yet."
    if len(loss) == 1:
        return fig, f"Validation loss: one evaluation, {loss[0]:.3f} at update {updates[0]}."
    return fig, (
        f"Validation loss from {loss[0]:.3f} at update {updates[0]} to {loss[-1]:.3f} at update {updates[-1]}; "
        f"best: {loss[best]:.3f} at update {updates[best]}."
    )


def standalone_svg(fig: Figure, alt: str) -> str:
    """The figure as an SVG file: dark ink on white, so that it can be read and printed anywhere."""
    svg = figure_to_svg(fig, alt)
    head, body = svg.split(">", 1)
    look = f'xmlns="http://www.w3.org/2000/svg" color="{INK}" font-family="DejaVu Sans, sans-serif"'
    head = head.replace("<svg", f"<svg {look}", 1)
    title = f"<title>{escape(checked_alt(alt), quote=False)}</title>"
    return f'{head}>{title}<rect width="100%" height="100%" fill="#ffffff"/>{body}\n'
