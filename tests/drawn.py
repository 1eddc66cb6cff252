"""Figures of every kind, drawn without PyTorch, which takes long to load in another process."""

import numpy as np

from course_lib.figures import QUERY, attention_view, explore, heatmap, heatmaps, new_figure, show


def curve(power=1, color=QUERY):
    fig, ax = new_figure(4, 3)
    ax.plot([0, 1, 2], [0, 1, 2**power], marker="o", color=color)
    ax.set(xlabel="x", ylabel="y")
    return fig


def everything() -> str:
    weights = np.exp(np.linspace(0, 1, 24)).reshape(2, 3, 4)
    weights /= weights.sum(axis=-1, keepdims=True)
    outputs = [
        show(curve(2), alt="A curve."),
        show(heatmap(weights[0], list("abc"), list("wxyz"), mask=weights[0] > 0.2), alt="A map."),
        show(heatmaps(weights), alt="Maps."),
        explore(curve, alt="Powers.", power=[1, 2], color=["red", "blue"]),
        attention_view(list("abc"), weights, keys=list("wxyz"), alt="A view."),
    ]
    return "\n".join(output._repr_html_() for output in outputs)
