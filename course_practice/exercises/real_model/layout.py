import torch

from course_lib.pretrained import to_halves
from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn


def evens_then_odds(weight, n_heads):
    heads = weight.chunk(n_heads, dim=0)
    return torch.cat([rows for head in heads for rows in (head[0::2], head[1::2])])


def with_a_list_of_rows(weight, n_heads):
    d_k = len(weight) // n_heads
    head = torch.cat([torch.arange(0, d_k, 2), torch.arange(1, d_k, 2)])
    first = d_k * torch.arange(n_heads)
    return weight[(first[:, None] + head).flatten()]


def _numbered(rows, columns):
    """Rows that say where they were: row 3 is 3.0 3.1 3.2 …"""
    return torch.arange(float(rows))[:, None] + torch.arange(columns) / 10


EXERCISE = Exercise(
    reference=to_halves,
    cases=lambda: [
        case(_numbered(6, 2), 1, about="one head of six rows, numbered"),
        case(_numbered(12, 3), 2, about="two heads of six rows"),
        case(_numbered(8, 2), 1, about="one head of eight rows"),
        case(_numbered(8, 3), 2, about="two heads of four rows"),
        case(randn(30, 7, seed=1), 3, about="three heads of ten rows, seven columns"),
        case(randn(24, 11, seed=2), 4, about="four heads of six rows, more rows than columns"),
        case(randn(8, 24, seed=3), 1, about="a single shared head of keys"),
        case(randn(36, 36, seed=4), 6, about="all sizes equal"),
        case(randn(6, 5, seed=5), 3, about="heads of one pair each"),
    ],
    alternatives=(evens_then_odds, with_a_list_of_rows),
    trained=("weight",),
)
