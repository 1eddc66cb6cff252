"""Questions on what lies before chapter 01: tensors, softmax, products, broadcasting, variance."""

import math

import torch

from course_practice.quizzes.engine import Option, Question

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
        text="What do the entries of softmax(x) add up to?",
        options=[
            Option("1", True, "Each entry is exp(xᵢ) divided by the sum of all of them, so together they make 1."),
            Option(
                "the sum of the entries of x",
                False,
                "Softmax divides the exponentials by their sum, so the size of x is lost. Only differences matter.",
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
                "It stays the same.",
                True,
                "Every exponential is multiplied by exp(100), and so is their sum, so the factor cancels. This is why "
                "an implementation may subtract the maximum first.",
            ),
            Option(
                "It becomes sharper.",
                False,
                "Multiplying makes it sharper, because it stretches the differences. Adding leaves them as they are.",
            ),
            Option(
                "It overflows, and the result is undefined.",
                False,
                "exp(100) does overflow in single precision. But the common factor cancels, and PyTorch's softmax "
                "gives the same result as before.",
            ),
        ],
    ),
    Question(
        id="prerequisites.softmax_scale",
        text=f"The entries of x differ by about 1. You multiply every entry by {SCALE}. What happens to softmax(x)?",
        options=[
            Option(
                "The largest entry takes nearly all.",
                True,
                f"A difference of 1 is a ratio of e after the exponential, and a difference of {SCALE} is a ratio of "
                f"e^{SCALE}, about {math.exp(SCALE):,.0f}.",
            ),
            Option(
                "Nothing, because the factor cancels.",
                False,
                "A factor of the exponentials would cancel. This one stands inside them, so it raises each of them to "
                "a power.",
            ),
            Option(
                "The entries come closer to each other.",
                False,
                "Dividing does that. Multiplying stretches the differences.",
            ),
        ],
    ),
    Question(
        id="prerequisites.matmul_shape",
        text=f"`a` has the shape {_shape(ROWS, INNER)}, and `b` has the shape {_shape(INNER, COLUMNS)}. What is the "
        "shape of `a @ b`?",
        options=[
            Option(
                _shape(*PRODUCT.shape),
                True,
                f"The product sums over the shared size, {INNER}. The result has a row for each row of `a` and a "
                "column for each column of `b`.",
            ),
            Option(
                _shape(INNER, INNER),
                False,
                f"{INNER} is the size that both share. The product sums over it, so it disappears.",
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
        text="What is row 0 of `weights @ value`?",
        options=[
            Option(
                "a mixture of all rows of `value`, by row 0 of `weights`",
                True,
                "Entry (0, j) of `weights` says how much of row j of `value` goes in. Attention is this product.",
            ),
            Option(
                "row 0 of `value`, times the sum of row 0 of `weights`",
                False,
                "Then no other row of `value` could reach row 0. The product sums over all the rows.",
            ),
            Option(
                "a mixture of all columns of `value`, by column 0 of `weights`",
                False,
                "A matrix on the right mixes columns, as in `value @ w`. A matrix on the left mixes rows.",
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
                f"Shapes line up at the right: {_shape(BATCH, 1)} and {_shape(1, LENGTH)}. Each size of 1 stretches to "
                "the other's size.",
            ),
            Option(
                "none, because the sizes do not fit",
                False,
                "A size of 1 fits every size. This is why a mask of the wrong shape often raises no error.",
            ),
            Option(
                _shape(BATCH, 1),
                False,
                f"The axis of size 1 stretches to {LENGTH}, the size that the other tensor has there.",
            ),
            Option(
                _shape(LENGTH, BATCH),
                False,
                "Broadcasting lines the axes up at the right. It never swaps them.",
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
                f"Variances of independent numbers add, so the sum has the variance {TERMS}, and its standard "
                f"deviation is the root of that. A dot product over {TERMS} features is such a sum.",
            ),
            Option(
                f"about {TERMS}",
                False,
                f"{TERMS} is the variance. The typical distance is its root, because terms of both signs cancel in "
                "part.",
            ),
            Option(
                "about 1",
                False,
                "That holds for each term, and for the sum only if it is divided by the root of the number of terms.",
            ),
            Option(
                "about 0",
                False,
                "0 is the mean over many sums. A single sum scatters around it, and the more terms it has, the wider.",
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
                "That is row 0 of `x.T`. A transpose swaps the axes, and a reshape does not.",
            ),
            Option(
                str(TABLE[0].tolist()),
                False,
                "The new rows have two entries, so the third one moves to the next row.",
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
                "Multiply entry by entry, then add. The last entry of the left vector is 0, so the 5 does not count.",
            ),
            Option(
                str((LEFT * RIGHT).tolist()),
                False,
                "These are the products entry by entry. The dot product adds them up to a single number.",
            ),
            Option(
                str((LEFT + RIGHT).sum().item()),
                False,
                "That adds all the entries of both vectors. The entries have to be multiplied in pairs first.",
            ),
            Option(
                str((LEFT.sum() * RIGHT.sum()).item()),
                False,
                "That multiplies the two sums, so every entry meets every other one. A dot product multiplies only "
                "entries at the same position.",
            ),
        ],
    ),
    Question(
        id="prerequisites.lost_axis",
        text=f"`x` has the shape {_shape(BATCH, LENGTH)}, and you want each row to sum to 1. "
        "`x / x.sum(dim=1)` raises an error. Why?",
        options=[
            Option(
                f"The sums have the shape ({BATCH},), and shapes line up at the right.",
                True,
                f"{BATCH} sums meet {LENGTH} columns. With `keepdim=True` the sums are {_shape(BATCH, 1)}, one for "
                "each row. (On a square `x` there is no error, and the result is wrong.)",
            ),
            Option(
                "`dim=1` sums the columns; the rows need `dim=0`.",
                False,
                "`dim=1` is the axis that disappears, so each row is added up, as it should be.",
            ),
            Option(
                "A tensor can be divided by a number, but not by another tensor.",
                False,
                "It can, entry by entry, as long as the two shapes broadcast.",
            ),
        ],
    ),
]
