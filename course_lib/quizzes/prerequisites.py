"""Questions on what lies before chapter 01: tensors, softmax, products, broadcasting, variance."""

from course_lib.quizzes.engine import Option, Question

QUESTIONS = [
    Question(
        id="prerequisites.softmax_sum",
        text="What do the entries of softmax(x) add up to, for any vector x of numbers?",
        options=[
            Option("1", True, "Each entry is exp(xᵢ) divided by the sum of all of them, so together they make 1."),
            Option(
                "the largest entry of x",
                False,
                "Softmax divides by the sum of the exponentials: the size of x is gone, only differences matter.",
            ),
            Option(
                "the number of entries of x",
                False,
                "Each entry lies between 0 and 1, and together they share a total of 1, however many there are.",
            ),
        ],
    ),
]
