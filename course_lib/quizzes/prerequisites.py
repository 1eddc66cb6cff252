"""Questions on what lies before chapter 01: tensors, softmax, products, broadcasting, variance."""

import math

import torch

from course_lib.quizzes.engine import Option, Question

ROWS, INNER, COLUMNS = 2, 5, 3
PRODUCT = torch.ones(ROWS, INNER) @ torch.ones(INNER, COLUMNS)
BATCH, LENGTH = 4, 6
BROADCAST = torch.ones(BATCH, 1) + torch.ones(LENGTH)
TERMS, SCALE = 64, 10
LEFT, RIGHT = torch.tensor([1, 2, 0]), torch.tensor([3, -1, 5])
TABLE = torch.arange(6).reshape(2, 3)


def _shape(*sizes: int) -> str:
    return f"({', '.join(map(str, sizes))})"


QUESTIONS = [
    Question(
        id="prerequisites.softmax_sum",
        text="What do the entries of softmax(x) add up to, for any vector x of numbers?",
        options=[
            Option("1", True, "Each entry is exp(xᵢ) divided by the sum of all of them, so together they make 1."),
            Option(
                "the largest entry of x",
                False,
                "Softmax divides by the sum of the exponentials. The size of x is gone, only differences matter.",
            ),
            Option(
                "the number of entries of x",
                False,
                "Each entry lies between 0 and 1, and together they share a total of 1, however many there are.",
            ),
        ],
    ),
    Question(
        id="prerequisites.softmax_shift",
        text="You add 100 to every entry of x. What happens to softmax(x)?",
        options=[
            Option(
                "Nothing.",
                True,
                "Every exponential is multiplied by exp(100), and so is their sum: the factor cancels. This is why "
                "an implementation may subtract the maximum first.",
            ),
            Option(
                "It becomes sharper.",
                False,
                "Sharper is what multiplying does: it stretches the differences. Adding leaves them as they are.",
            ),
            Option(
                "It overflows, so the result is undefined.",
                False,
                "A naive exp overflows, but the function is defined: the common factor cancels, and PyTorch's "
                "softmax gives the same result as before.",
            ),
        ],
    ),
    Question(
        id="prerequisites.softmax_scale",
        text=f"You multiply every entry of x by {SCALE}, and the entries differ by about 1. What happens to "
        "softmax(x)?",
        options=[
            Option(
                "The largest entry takes nearly everything.",
                True,
                f"Differences become ratios: a difference of 1 is a ratio of e, one of {SCALE} a ratio of e^{SCALE}, "
                f"about {math.exp(SCALE):,.0f}.",
            ),
            Option(
                "Nothing, the factor cancels.",
                False,
                "A factor on the exponentials would cancel. A factor inside them does not: it raises each of them to "
                "a power.",
            ),
            Option(
                "All entries come closer to each other.",
                False,
                "That is what dividing does. Multiplying stretches the differences.",
            ),
        ],
    ),
    Question(
        id="prerequisites.matmul_shape",
        text=f"`a` has shape {_shape(ROWS, INNER)}, `b` has shape {_shape(INNER, COLUMNS)}. What is the shape of `a @ "
        "b`?",
        options=[
            Option(
                _shape(*PRODUCT.shape),
                True,
                f"The shared size, {INNER}, is summed away. What is left is a row for each row of `a` and a column "
                "for each column of `b`.",
            ),
            Option(
                _shape(INNER, INNER),
                False,
                f"{INNER} is the axis that both share: the product sums over it, so it disappears.",
            ),
            Option(
                _shape(COLUMNS, ROWS),
                False,
                "That is the transpose. Rows come from the left factor, columns from the right one.",
            ),
            Option(
                _shape(ROWS, INNER, COLUMNS),
                False,
                "These are the products before the sum. `@` adds them up along the shared axis.",
            ),
        ],
    ),
    Question(
        id="prerequisites.weighted_rows",
        text="`weights @ value`: what is row 0 of the result?",
        options=[
            Option(
                "a mixture of the rows of `value`, mixed by row 0 of `weights`",
                True,
                "Entry (0, j) of `weights` says how much of row j of `value` goes in. Attention is this product.",
            ),
            Option(
                "row 0 of `value`, scaled by the sum of row 0 of `weights`",
                False,
                "Then no other row of `value` could reach row 0. The product goes over all rows.",
            ),
            Option(
                "a mixture of the columns of `value`, mixed by column 0 of `weights`",
                False,
                "Columns are mixed by a matrix on the right, `value @ w`. A matrix on the left mixes rows.",
            ),
        ],
    ),
    Question(
        id="prerequisites.broadcast",
        text=f"What is the shape of `torch.ones({BATCH}, 1) + torch.ones({LENGTH})`?",
        options=[
            Option(
                _shape(*BROADCAST.shape),
                True,
                f"Shapes are lined up at the right: {_shape(BATCH, 1)} and {_shape(1, LENGTH)}. Each size of 1 "
                "stretches to the other's.",
            ),
            Option(
                "none: the sizes do not fit, so it is an error",
                False,
                "A size of 1 fits everything. This is why a mask of a wrong shape often raises no error.",
            ),
            Option(
                _shape(BATCH, 1),
                False,
                f"The {LENGTH} entries must go somewhere: the axis of size 1 stretches to {LENGTH}.",
            ),
            Option(
                _shape(LENGTH, BATCH),
                False,
                "Broadcasting lines the axes up at the right, it never swaps them.",
            ),
        ],
    ),
    Question(
        id="prerequisites.variance_of_a_sum",
        text=f"You add {TERMS} independent random numbers of mean 0 and variance 1. How far does the sum typically "
        "lie from 0?",
        options=[
            Option(
                f"about {TERMS**0.5:g}",
                True,
                f"Variances of independent numbers add: the sum has variance {TERMS}, and its standard deviation is "
                f"the square root of that. A dot product over {TERMS} dimensions is such a sum.",
            ),
            Option(
                f"about {TERMS}",
                False,
                f"{TERMS} is the variance. A typical distance is its square root: terms of both signs cancel in part.",
            ),
            Option(
                "about 1",
                False,
                "That holds for each term, and for the sum only after a division by the square root of their number.",
            ),
            Option(
                "about 0",
                False,
                "0 is the mean over many sums. A single sum scatters around it, the wider the more terms it has.",
            ),
        ],
    ),
    Question(
        id="prerequisites.reshape_or_transpose",
        text=f"`x = torch.tensor({TABLE.tolist()})`. What is row 0 of `x.reshape(3, 2)`?",
        options=[
            Option(
                str(TABLE.reshape(3, 2)[0].tolist()),
                True,
                "A reshape reads the numbers in the order in which they are stored and cuts them into new rows.",
            ),
            Option(
                str(TABLE.T[0].tolist()),
                False,
                "That is row 0 of `x.T`. A transpose swaps the axes; a reshape cuts the stored numbers anew.",
            ),
            Option(
                str(TABLE[0].tolist()),
                False,
                "The new rows have two entries: the third one moves to the next row.",
            ),
        ],
    ),
    Question(
        id="prerequisites.dot_product",
        text=f"What is the dot product of {LEFT.tolist()} and {RIGHT.tolist()}?",
        options=[
            Option(
                str((LEFT @ RIGHT).item()),
                True,
                "Multiply entry by entry, then add: the last entry of the left vector is 0, so the 5 does not count.",
            ),
            Option(
                str((LEFT * RIGHT).tolist()),
                False,
                "These are the products entry by entry. The dot product adds them up to a single number.",
            ),
            Option(
                str((LEFT + RIGHT).sum().item()),
                False,
                "That adds all entries of both. The entries are multiplied in pairs first.",
            ),
            Option(
                str((LEFT.sum() * RIGHT.sum()).item()),
                False,
                "That multiplies the two sums: every entry meets every other one. A dot product pairs only equal "
                "positions.",
            ),
        ],
    ),
]
