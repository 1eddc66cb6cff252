"""Inputs for exercises on attention."""

from course_practice.engine import case
from course_practice.exercises.inputs import randn

SPREAD = 40.0  # makes scores of a few thousand: exp of one of them is infinite


def queries(lead, q_len, k_len, d_k, d_v, about, scale=1.0, seed=0):
    query = randn(*lead, q_len, d_k, seed=seed, scale=scale)
    key = randn(*lead, k_len, d_k, seed=seed + 1, scale=scale)
    return case(query, key, randn(*lead, k_len, d_v, seed=seed + 2), about=about)
