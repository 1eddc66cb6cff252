from course_practice.engine import Exercise, case


def operations(kind, n, d, width=3):
    """Multiplications of one layer on n tokens of d features, all matrices (d, d).

    >>> operations("attention", n=10, d=4)
    1280
    """
    if kind == "attention":
        projections = 3 * n * d * d
        scores, means = n * n * d, n * n * d
        return projections + scores + means
    if kind == "recurrent":  # h @ w_h + x @ w_x, once for each token
        return 2 * n * d * d
    if kind == "convolution":  # one matrix for each of `width` neighbors
        return width * n * d * d
    raise ValueError(f"expected attention, recurrent, or convolution, got {kind!r}")


def operations_starter(kind, n, d, width=3):
    """Multiplications of one layer on n tokens of d features."""
    if kind == "attention":
        return ...
    if kind == "recurrent":
        return ...
    if kind == "convolution":
        return ...


def factored(kind, n, d, width=3):
    matrices = {"attention": 3 + 2 * n / d, "recurrent": 2, "convolution": width}[kind]
    return round(matrices * n * d**2)


EXERCISE = Exercise(
    reference=operations,
    starter=operations_starter,
    cases=lambda: [
        case("attention", 3, 2, about="self-attention, 3 tokens"),
        case("attention", 50, 512, about="self-attention, 50 tokens, d = 512"),
        case("attention", 1000, 64, about="self-attention, 1,000 tokens, d = 64"),
        case("recurrent", 3, 2, about="recurrent layer, 3 tokens"),
        case("recurrent", 50, 512, about="recurrent layer, 50 tokens, d = 512"),
        case("convolution", 50, 512, 3, about="convolution over 3 tokens"),
        case("convolution", 7, 5, 11, about="convolution over 11 tokens"),
        case("convolution", 7, 5, about="convolution with the default width"),
    ],
    alternatives=(factored,),
)
