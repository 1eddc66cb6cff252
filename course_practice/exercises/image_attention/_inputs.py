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
