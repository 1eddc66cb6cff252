"""The inputs of the exercises on self-attention."""

from course_practice.engine import case
from course_practice.exercises.inputs import randn


def inputs(lead, n, d_model, d_k, d_v, about, seed=0):
    """A case: x (…, n, d_model) and three matrices whose scores have a standard deviation of about 2."""
    scale = d_model**-0.5
    w_q, w_k = (randn(d_model, d_k, seed=seed + step, scale=1.5 * scale) for step in (1, 2))
    w_v = randn(d_model, d_v, seed=seed + 3, scale=scale)
    return case(randn(*lead, n, d_model, seed=seed), w_q, w_k, w_v, about=about)
