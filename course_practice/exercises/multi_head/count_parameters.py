"""Exercise: count the parameters."""

import itertools

from torch import nn

from course_practice.engine import Exercise, Mistake, case


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


def row_by_row(d_model, n_heads, d_k, d_v, bias):
    into = d_model + bias  # what one feature of a query, key or value is computed from
    out_of = n_heads * d_v + bias  # what one feature of the output is computed from
    return n_heads * (2 * d_k + d_v) * into + d_model * out_of


def head_after_head(d_model, n_heads, d_k, d_v, bias):
    total = d_model if bias else 0
    for _ in range(n_heads):
        for width in (d_k, d_k, d_v):
            total += d_model * width + (width if bias else 0)
        total += d_v * d_model
    return total


def _count(qk=2, v=1, heads=None, k=None, value=None, w_o=None, biases=None):
    """`count_parameters` with one thing or two counted differently; each argument is a function of the sizes."""

    def count(d_model, n_heads, d_k, d_v, bias):
        sizes = (d_model, n_heads, d_k, d_v)
        h = heads(*sizes) if heads else n_heads
        d_k, d_v = (k(*sizes) if k else d_k), (value(*sizes) if value else d_v)
        out = w_o(*sizes) if w_o else n_heads * d_v * d_model
        added = biases(*sizes) if biases else h * (qk * d_k + v * d_v) + d_model
        return h * d_model * (qk * d_k + v * d_v) + out + added * bias

    return count


# What two things are counted wrongly at once: name, arguments of `_count`, one sentence.
_MATRICES = (
    ("w-o-forgotten", {"w_o": lambda d, h, k, v: 0}, "W_O is missing."),
    ("projections-of-one-head", {"heads": lambda *_: 1}, "W_Q, W_K and W_V are counted for one head."),
    ("w-o-of-one-head", {"w_o": lambda d, h, k, v: v * d}, "W_O takes *all* heads side by side."),
    ("w-o-assumed-square", {"w_o": lambda d, h, k, v: d * d}, "W_O takes n_heads · d_v features, not d_model."),
    ("w-o-for-every-head", {"w_o": lambda d, h, k, v: h * d * d}, "There is one W_O, not one of full width a head."),
    ("values-as-wide-as-keys", {"value": lambda d, h, k, v: k}, "Values have d_v features, not d_k."),
    ("keys-forgotten", {"qk": 1}, "Queries and keys have a matrix each."),
)


_BIASES = (
    ("biases-forgotten", {"biases": lambda *_: 0}, "And with `bias=True` each layer adds a vector."),
    ("bias-of-w-o-forgotten", {"biases": lambda d, h, k, v: h * (2 * k + v)}, "And W_O adds a bias too."),
    (
        "biases-as-wide-as-the-model",
        {"biases": lambda d, h, k, v: 4 * d},
        "And a bias is as wide as its layer's result.",
    ),
    ("biases-of-one-head", {"biases": lambda d, h, k, v: 2 * k + v + d}, "And every head has biases of its own."),
)


# Pairs that are one mistake: a whole layer forgotten, or one head counted throughout.
_ONE_THOUGHT = (
    ("w-o-forgotten", "bias-of-w-o-forgotten"),
    ("projections-of-one-head", "biases-of-one-head"),
)


def _two_miscounts():
    for (name, matrices, says), (other, biases, also_says) in itertools.product(_MATRICES, _BIASES):
        if (name, other) not in _ONE_THOUGHT:
            yield Mistake(f"{name}-and-{other}", _count(**matrices, **biases), f"Two things. {says} {also_says}")


EXERCISE = Exercise(
    title="Count the parameters",
    task="Count all learned numbers: n_heads heads with queries and keys of d_k, values of d_v, then W_O.",
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
    mistakes=(
        Mistake(
            "w-o-forgotten",
            _count(w_o=lambda d, h, k, v: 0, biases=lambda d, h, k, v: h * (2 * k + v)),
            "W_O is missing: the matrix that mixes the heads after they are laid side by side.",
        ),
        Mistake(
            "w-o-forgotten-but-its-bias-counted",
            _count(w_o=lambda d, h, k, v: 0),
            "The matrix of W_O is missing (its bias is counted). It takes the heads side by side and returns d_model.",
        ),
        Mistake(
            "one-head-only",
            _count(heads=lambda *_: 1, w_o=lambda d, h, k, v: v * d),
            "That is one head. Every head has matrices of its own.",
        ),
        Mistake(
            "projections-of-one-head",
            _count(heads=lambda *_: 1),
            "W_O is right, but W_Q, W_K and W_V are counted for one head. Every head has its own three.",
        ),
        Mistake(
            "w-o-of-one-head",
            _count(w_o=lambda d, h, k, v: v * d),
            "W_O takes *all* heads side by side. How many features is that?",
        ),
        Mistake(
            "w-o-assumed-square",
            _count(w_o=lambda d, h, k, v: d * d),
            "You counted W_O as d_model × d_model. That holds when n_heads · d_v = d_model; in general it takes "
            "n_heads · d_v features.",
        ),
        Mistake(
            "w-o-for-every-head",
            _count(w_o=lambda d, h, k, v: h * d * d),
            "You gave every head a W_O of d_model × d_model. There is one W_O, and it takes d_v features from each "
            "head.",
        ),
        Mistake(
            "sides-added",
            lambda d_model, n_heads, d_k, d_v, bias: (
                n_heads * (3 * d_model + 2 * d_k + d_v)
                + n_heads * d_v
                + d_model
                + bias * (n_heads * (2 * d_k + d_v) + d_model)
            ),
            "You add the two sides of each matrix. A matrix of a rows and b columns holds a · b numbers.",
        ),
        Mistake(
            "usual-sizes-assumed",
            lambda d_model, n_heads, d_k, d_v, bias: 4 * d_model * d_model + 4 * d_model * bias,
            "That is 4 · d_model² (and the biases), which holds when n_heads · d_k = n_heads · d_v = d_model. Start "
            "from one head: which shapes do its three matrices have?",
        ),
        Mistake(
            "every-head-at-full-width",
            _count(k=lambda d, h, k, v: d, value=lambda d, h, k, v: d),
            "You counted every head at full width. A head projects d_model features *down* to d_k or d_v.",
        ),
        Mistake(
            "every-head-at-full-width-w-o-square",
            _count(
                k=lambda d, h, k, v: d,
                value=lambda d, h, k, v: d,
                w_o=lambda d, h, k, v: d * d,
            ),
            "Each head's matrices are counted as d_model × d_model. A head projects down to d_k or d_v features; then "
            "W_O takes n_heads · d_v of them.",
        ),
        Mistake(
            "the-input-is-cut-too",
            lambda d_model, n_heads, d_k, d_v, bias: (
                n_heads * (2 * d_k * d_k + d_v * d_v)
                + n_heads * d_v * d_model
                + (n_heads * (2 * d_k + d_v) + d_model) * bias
            ),
            "Your heads project d_k features to d_k, as if the input had been cut among the heads. Every head reads "
            "all d_model features.",
        ),
        Mistake(
            "values-as-wide-as-keys",
            _count(value=lambda d, h, k, v: k),
            "Your values have d_k features. They may have another width: d_v, which W_O takes in as well.",
        ),
        Mistake(
            "values-as-wide-as-keys-w-o-right",
            _count(value=lambda d, h, k, v: k, w_o=lambda d, h, k, v: h * v * d),
            "W_O is right, but W_V is counted with d_k columns. What does a value have?",
        ),
        Mistake(
            "w-o-takes-d-k",
            _count(w_o=lambda d, h, k, v: h * k * d),
            "W_O is counted with d_k features from each head. What a head returns is a mean of *values*.",
        ),
        Mistake(
            "keys-forgotten",
            _count(qk=1),
            "One matrix is missing in each head: queries and keys both have d_k features, by two different matrices.",
        ),
        Mistake(
            "values-forgotten",
            _count(v=0),
            "W_V is missing. Queries and keys say where to look; values say what is carried away.",
        ),
        Mistake(
            "biases-forgotten",
            _count(biases=lambda *_: 0),
            "The matrices are right; with `bias=True` each of the four layers also adds a vector.",
        ),
        Mistake(
            "biases-always",
            lambda d_model, n_heads, d_k, d_v, bias: count_parameters(d_model, n_heads, d_k, d_v, True),
            "You add the biases always. `bias` says whether there are any.",
        ),
        Mistake(
            "bias-of-w-o-forgotten",
            _count(biases=lambda d, h, k, v: h * (2 * k + v)),
            "One bias is missing: W_O adds one too.",
        ),
        Mistake(
            "bias-of-w-o-alone",
            _count(biases=lambda d, h, k, v: d),
            "You counted the bias of W_O alone. The three projections of each head have theirs.",
        ),
        Mistake(
            "biases-as-wide-as-the-model",
            _count(biases=lambda d, h, k, v: 4 * d),
            "You counted four biases of d_model each. A bias is as wide as what its layer *returns*.",
        ),
        Mistake(
            "biases-as-wide-as-the-input",
            _count(biases=lambda d, h, k, v: 3 * d + h * v),
            "Your biases are as wide as the layers' inputs. A bias is added to the *result*.",
        ),
        Mistake(
            "biases-of-one-head",
            _count(biases=lambda d, h, k, v: 2 * k + v + d),
            "The matrices are right; the biases of the three projections are counted for one head.",
        ),
        Mistake(
            "one-number-a-bias",
            _count(biases=lambda d, h, k, v: 3 * h + 1),
            "You counted each bias as one number. It is a vector: one number for every feature the layer returns.",
        ),
        Mistake(
            "four-numbers-as-biases",
            _count(biases=lambda *_: 4),
            "You counted four biases of one number. A bias is a vector: one number for every feature its layer "
            "returns.",
        ),
        Mistake(
            "biases-turned-round",
            lambda d_model, n_heads, d_k, d_v, bias: count_parameters(d_model, n_heads, d_k, d_v, not bias),
            "You add the biases when there are none, and leave them out when there are.",
        ),
        Mistake(
            "bias-of-w-o-for-every-head",
            _count(biases=lambda d, h, k, v: h * (2 * k + v + d)),
            "You counted W_O's bias once for every head. There is one W_O, and it returns d_model features.",
        ),
        Mistake(
            "bias-of-w-o-as-wide-as-its-input",
            _count(biases=lambda d, h, k, v: h * (2 * k + v) + h * v),
            "The bias of W_O is counted as wide as what goes *in*. It is added to the result.",
        ),
        Mistake(
            "usual-sizes-without-w-o",
            lambda d_model, n_heads, d_k, d_v, bias: 3 * d_model * (d_model + bias),
            "Three square matrices: that is the usual case n_heads · d_k = d_model, and W_O is missing. Start from "
            "one head: which shapes do its matrices have?",
        ),
        Mistake(
            "usual-sizes-without-biases",
            lambda d_model, n_heads, d_k, d_v, bias: 4 * d_model * d_model,
            "Four square matrices: that is the usual case n_heads · d_k = d_model, and without biases.",
        ),
        Mistake(
            "one-head-without-w-o",
            lambda d_model, n_heads, d_k, d_v, bias: (d_model + bias) * (2 * d_k + d_v),
            "That is what one head projects with. There are n_heads of them, and W_O behind them.",
        ),
        Mistake(
            "one-head-without-biases",
            lambda d_model, n_heads, d_k, d_v, bias: 2 * d_model * (d_k + d_v),
            "That is one head, without biases. Every head has matrices of its own, and `bias` adds vectors.",
        ),
        *_two_miscounts(),
    ),
    hints=(
        "Draw the four kinds of matrices as rectangles, with the width of what goes in and of what comes out.",
        "A head reads d_model features and makes d_k, d_k and d_v of them. W_O reads what all heads return, side by "
        "side. A bias is as wide as what its layer returns.",
        "`n_heads * d_model * (d_k + d_k + d_v)` for the heads, `n_heads * d_v * d_model` for W_O.",
    ),
    alternatives=(by_building_it, row_by_row, head_after_head),
    difficulty=2,
    minutes=8,
)
