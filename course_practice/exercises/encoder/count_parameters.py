from course_practice.engine import Exercise, case


def count_parameters(n_layers, d_model, d_ff):
    """How many numbers a post-norm encoder of n_layers layers learns.

    >>> count_parameters(n_layers=1, d_model=512, d_ff=2048)
    3152384
    """
    attention = 4 * (d_model * d_model + d_model)  # W_Q, W_K, W_V, W_O and their biases
    feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
    norms = 2 * (d_model + d_model)  # a gain and a bias each
    return n_layers * (attention + feed_forward + norms)


def as_one_polynomial(n_layers, d_model, d_ff):
    return n_layers * (4 * d_model**2 + 2 * d_model * d_ff + 9 * d_model + d_ff)


EXERCISE = Exercise(
    reference=count_parameters,
    cases=lambda: [
        case(1, 2, 3, about="one small layer"),
        case(3, 2, 3, about="three small layers"),
        case(2, 7, 5, about="narrower inside"),
        case(1, 512, 2048, about="one layer of the paper's base model"),
        case(6, 512, 2048, about="its whole encoder"),
        case(12, 768, 3072, about="BERT's sizes"),
    ],
    alternatives=(as_one_polynomial,),
)
