"""The inputs of the exercises on attention over an image."""

from course_practice.engine import case
from course_practice.exercises.inputs import randn


def inputs(batch, channels, height, width, d_k, d_v, gamma, about, seed=0):
    """A case: x, four matrices whose scores have a standard deviation of about 2, and γ."""
    scale = channels**-0.5
    w_q, w_k = (randn(channels, d_k, seed=seed + step, scale=1.5 * scale) for step in (1, 2))
    w_v = randn(channels, d_v, seed=seed + 3, scale=scale)
    w_o = randn(d_v, channels, seed=seed + 4, scale=d_v**-0.5)
    x = randn(batch, channels, height, width, seed=seed)
    return case(x, w_q, w_k, w_v, w_o, gamma, about=about)


def cases():
    return [
        inputs(1, 2, 1, 2, 3, 2, 1.0, "two pixels"),
        inputs(2, 5, 3, 7, 11, 13, 0.7, "all sizes different", seed=10),
        inputs(4, 4, 4, 4, 4, 4, 0.7, "all sizes equal", seed=20),
        inputs(2, 3, 4, 2, 5, 3, -1.5, "gamma below zero", seed=30),
        inputs(2, 3, 2, 5, 2, 7, 0.0, "gamma is 0", seed=40),
        inputs(1, 7, 5, 3, 2, 3, 2.0, "narrow queries", seed=50),
    ]
