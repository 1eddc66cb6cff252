from course_lib.multi_head import merge_heads
from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import counting, randn


def transpose_and_reshape(x):
    batch, n_heads, seq_len, d_v = x.shape
    return x.transpose(1, 2).reshape(batch, seq_len, n_heads * d_v)


EXERCISE = Exercise(
    reference=merge_heads,
    cases=lambda: [
        case(counting(1, 2, 2, 2), about="two heads, two tokens"),
        case(counting(1, 2, 3, 1), about="heads of one feature"),
        case(randn(2, 3, 5, 7), about="all sizes different"),
        case(randn(3, 3, 3, 3, seed=1), about="all sizes equal"),
        case(randn(2, 4, 4, 3, seed=2), about="as many heads as tokens"),
        case(randn(5, 3, 2, 4, seed=3), about="more sentences than heads"),
        case(randn(2, 1, 3, 4, seed=4), about="one head"),
    ],
    alternatives=(transpose_and_reshape,),
    trained=True,
)
