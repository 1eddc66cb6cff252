"""Exercise: count the operations."""

from course_practice.engine import Convention, Exercise, Mistake, case


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


def token_by_token(kind, n, d, width=3):
    total = 0
    for _token in range(n):
        if kind == "attention":
            total += 3 * d * d + n * d + n * d
        else:
            total += (2 if kind == "recurrent" else width) * d * d
    return total


def as_a_match(kind, n, d, width=3):
    match kind:
        case "attention":
            return n * d * (3 * d + 2 * n)
        case "recurrent":
            return n * (d * d + d * d)
        case _:
            return n * d * width * d


def _count(**changed):
    """`operations` with some kinds counted differently: functions of n, d, width."""

    def count(kind, n, d, width=3):
        return changed[kind](n, d, width) if kind in changed else operations(kind, n, d, width)

    return count


def _inside(n, d, width):
    """A convolution whose products with padding are not counted."""
    places = [(token, token + k - (width - 1) // 2) for token in range(n) for k in range(width)]
    return sum(0 <= read < n for _token, read in places) * d * d


EXERCISE = Exercise(
    title="Count the operations",
    task="How many multiplications does one layer need for n tokens of d features? Self-attention with its three "
    "projections (all d × d), a plain recurrent layer (h W_h + x W_x), and a convolution over `width` tokens "
    "with an output for every token. Products with the zeros beyond both ends count.",
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
    ],
    mistakes=(
        Convention(
            "as-in-the-papers-table",
            _count(
                attention=lambda n, d, w: n * n * d,
                recurrent=lambda n, d, w: n * d * d,
                convolution=lambda n, d, w: w * n * d * d,
            ),
            "Valid as the orders of growth of the paper's table. Here the number itself is wanted: two products with "
            "n² d and three projections for attention, two matrices for the recurrent layer.",
        ),
        Convention(
            "without-the-projections",
            _count(attention=lambda n, d, w: 2 * n * n * d),
            "Valid for the table of the 2017 paper, which leaves the projections out. Here they count: three products "
            "of (n, d) with (d, d).",
        ),
        Convention(
            "multiply-and-add",
            lambda kind, n, d, width=3: 2 * operations(kind, n, d, width),
            "Valid for FLOPs, where a multiplication and an addition count as two. Here only multiplications count.",
        ),
        Mistake(
            "one-projection",
            _count(attention=lambda n, d, w: n * d * d + 2 * n * n * d),
            "You counted one projection. There are three: queries, keys, and values.",
        ),
        Mistake(
            "two-projections",
            _count(attention=lambda n, d, w: 2 * n * d * d + 2 * n * n * d),
            "You counted two projections. There are three: queries, keys, and values.",
        ),
        Mistake(
            "scores-alone",
            _count(attention=lambda n, d, w: 3 * n * d * d + n * n * d),
            "One product of the two is missing: the scores (n² sums of d products), and the weighted means of the "
            "values.",
        ),
        Mistake(
            "with-an-output-projection",
            _count(attention=lambda n, d, w: 4 * n * d * d + 2 * n * n * d),
            "You counted four projections. The fourth, W_O, comes with several heads in chapter 04; here are three.",
        ),
        Mistake(
            "projections-of-one-token",
            _count(attention=lambda n, d, w: 3 * d * d + 2 * n * n * d),
            "You counted the projections of one token. Each of the n tokens is multiplied with the three matrices.",
        ),
        Mistake(
            "width-squared",
            _count(attention=lambda n, d, w: 3 * n * d * d + 2 * n * n * d * d),
            "A score is a sum of d products, not d². There are n² of them.",
        ),
        Mistake(
            "length-and-width-exchanged",
            _count(attention=lambda n, d, w: 3 * n * n * d + 2 * n * d * d),
            "The sizes n and d are exchanged: (n, d) @ (d, d) takes n · d · d multiplications, (n, d) @ (d, n) takes "
            "n · d · n.",
        ),
        Mistake(
            "one-matrix-in-the-recurrent-layer",
            _count(recurrent=lambda n, d, w: n * d * d),
            "The recurrent layer has two matrices: one for the token, one for the state.",
        ),
        Mistake(
            "recurrent-in-n-squared",
            _count(recurrent=lambda n, d, w: 2 * n * n * d),
            "In the recurrent layer the sizes n and d are exchanged: each of the n tokens meets two matrices (d, d).",
        ),
        Mistake(
            "scores-of-one-product",
            _count(attention=lambda n, d, w: 3 * n * d * d + 2 * n * n),
            "There are n² scores, but each of them is a sum of d products. The means are made of as many.",
        ),
        Convention(
            "without-products-with-padding",
            _count(convolution=_inside),
            "Valid if products with the zeros beyond the first and the last token are left out. Here they count: "
            "every token meets one matrix (d, d) for each of the `width` places.",
        ),
        Convention(
            "convolution-without-edges",
            _count(convolution=lambda n, d, w: (n - w + 1) * w * d * d),
            "Valid for a convolution without padding, whose output is shorter. Here every token has an output.",
        ),
        Mistake(
            "recurrent-step-alone",
            _count(recurrent=lambda n, d, w: 2 * d * d),
            "You counted one step of the recurrent layer. It takes one for each token.",
        ),
        Mistake(
            "width-forgotten",
            _count(convolution=lambda n, d, w: n * d * d),
            "The convolution has one matrix (d, d) for each of the `width` tokens it looks at.",
        ),
        Mistake(
            "convolution-of-each-feature",
            _count(convolution=lambda n, d, w: w * n * d),
            "That is a convolution which keeps the features apart. Here each of the d output features reads all d "
            "features of each of the `width` tokens.",
        ),
    ),
    hints=(
        "A product (a, b) @ (b, c) takes a · b · c multiplications. Write down which matrix products each layer needs.",
        "Attention: three of (n, d) @ (d, d), one of (n, d) @ (d, n), one of (n, n) @ (n, d).",
        "That is 3nd² + 2n²d for attention, 2nd² for the recurrent layer, width · nd² for the convolution.",
    ),
    alternatives=(factored, token_by_token, as_a_match),
    difficulty=1,
    minutes=8,
)
