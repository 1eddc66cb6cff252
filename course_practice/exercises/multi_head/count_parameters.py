from torch import nn

from course_practice.engine import Exercise, case


def count_parameters(d_model, n_heads, d_k, d_v, bias):
    """How many numbers multi-head attention learns; each head projects to d_k (queries, keys) and d_v (values).

    >>> count_parameters(d_model=4, n_heads=2, d_k=2, d_v=2, bias=False)
    64
    """
    per_head = d_model * d_k + d_model * d_k + d_model * d_v
    w_o = n_heads * d_v * d_model
    biases = n_heads * (d_k + d_k + d_v) + d_model
    return n_heads * per_head + w_o + (biases if bias else 0)


def by_building_it(d_model, n_heads, d_k, d_v, bias):
    layers = [
        nn.Linear(d_model, n_heads * d_k, bias),
        nn.Linear(d_model, n_heads * d_k, bias),
        nn.Linear(d_model, n_heads * d_v, bias),
        nn.Linear(n_heads * d_v, d_model, bias),
    ]
    return sum(p.numel() for layer in layers for p in layer.parameters())


EXERCISE = Exercise(
    reference=count_parameters,
    cases=lambda: [
        case(4, 2, 2, 2, False, about="two heads, no biases"),
        case(4, 2, 2, 2, True, about="two heads, with biases"),
        case(6, 2, 3, 3, True, about="two wider heads"),
        case(30, 3, 5, 7, False, about="d_v larger than d_k, no biases"),
        case(30, 3, 5, 7, True, about="d_v larger than d_k, with biases"),
        case(512, 8, 64, 64, False, about="the paper's base model"),
        case(512, 1, 512, 512, True, about="one head of full width"),
    ],
    alternatives=(by_building_it,),
)
