from course_practice.engine import Exercise, case


def layer_flops(n, d_model, d_ff):
    """Operations of the matrix products of one encoder layer on n tokens, forward.

    >>> layer_flops(3, 4, 8)
    912
    """
    projections = 4 * 2 * n * d_model * d_model
    scores_and_means = 2 * 2 * n * n * d_model
    feed_forward = 2 * 2 * n * d_model * d_ff
    return projections + scores_and_means + feed_forward


def bracketed(n, d_model, d_ff):
    return 4 * n * d_model * (2 * d_model + n + d_ff)


EXERCISE = Exercise(
    reference=layer_flops,
    cases=lambda: [
        case(3, 4, 8, about="the numbers of the text: 912"),
        case(5, 2, 3, about="five tokens"),
        case(1, 7, 11, about="one token"),
        case(13, 5, 2, about="more tokens than features"),
        case(4, 4, 4, about="all sizes equal"),
        case(50, 512, 2048, about="50 tokens in the base model"),
    ],
    alternatives=(bracketed,),
)
