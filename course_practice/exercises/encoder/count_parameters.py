"""Exercise: count the parameters of an encoder."""

from course_lib.encoder import Encoder
from course_practice.engine import Exercise, Mistake, case


def count_parameters(n_layers, d_model, d_ff):
    """How many numbers a post-norm encoder of n_layers layers learns.

    >>> count_parameters(n_layers=1, d_model=512, d_ff=2048)
    3152384
    """
    attention = 4 * (d_model * d_model + d_model)  # W_Q, W_K, W_V, W_O and their biases
    feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
    norms = 2 * (d_model + d_model)  # a gain and a bias each
    return n_layers * (attention + feed_forward + norms)


def by_building_it(n_layers, d_model, d_ff):
    encoder = Encoder(n_layers, d_model, n_heads=1, d_ff=d_ff)
    return sum(p.numel() for p in encoder.parameters())


def as_one_polynomial(n_layers, d_model, d_ff):
    return n_layers * (4 * d_model**2 + 2 * d_model * d_ff + 9 * d_model + d_ff)


def layer_after_layer(n_layers, d_model, d_ff):
    total = 0
    for _ in range(n_layers):
        for inside, outside in [(d_model, d_model)] * 4 + [(d_model, d_ff), (d_ff, d_model)]:
            total += (inside + 1) * outside
        total += 2 * 2 * d_model
    return total


def _count(matrices=4, attention_biases=4, network=2, network_biases=(1, 1), norms=2, layers=lambda n: n):
    """`count_parameters` with one part counted differently."""

    def count(n_layers, d_model, d_ff):
        attention = matrices * d_model**2 + attention_biases * d_model
        inside, outside = network_biases
        feed_forward = network * d_model * d_ff + inside * d_ff + outside * d_model
        return layers(n_layers) * (attention + feed_forward + norms * 2 * d_model)

    return count


def _final_norm(n_layers, d_model, d_ff):
    return count_parameters(n_layers, d_model, d_ff) + 2 * d_model


def _norms_of_one_number(n_layers, d_model, d_ff):
    return count_parameters(n_layers, d_model, d_ff) - n_layers * (4 * d_model - 4)


EXERCISE = Exercise(
    title="Count the parameters of an encoder",
    task="All learned numbers of a post-norm encoder with n_layers layers, whose linear layers have biases.",
    reference=count_parameters,
    cases=lambda: [
        case(1, 2, 3, about="one small layer"),
        case(3, 2, 3, about="three small layers"),
        case(2, 7, 5, about="narrower inside"),
        case(1, 512, 2048, about="one layer of the paper's base model"),
        case(6, 512, 2048, about="its whole encoder"),
        case(12, 768, 3072, about="BERT's sizes"),
    ],
    mistakes=(
        Mistake("one-layer", _count(layers=lambda n: 1), "That is one layer; n_layers makes no difference."),
        Mistake(
            "four-d-model-missing",
            _count(norms=0),
            "Each layer lacks 4 · d_model numbers. Either the four biases of the attention are missing, or the norms: "
            "there are two, and each learns a gain and a bias.",
        ),
        Mistake(
            "half-of-the-norms",
            _count(norms=1),
            "You counted 2 · d_model for the norms of a layer. There are two norms, and each learns a gain *and* a "
            "bias.",
        ),
        Mistake(
            "norms-of-one-number",
            _norms_of_one_number,
            "The gain and the bias of a norm have one number for each *feature*.",
        ),
        Mistake(
            "final-norm",
            _final_norm,
            "You counted one more norm at the end of the stack. A pre-norm encoder has it, and this one is post-norm.",
        ),
        Mistake(
            "w-o-forgotten", _count(matrices=3, attention_biases=3), "Attention has four matrices: W_O is missing."
        ),
        Mistake(
            "biases-forgotten",
            _count(attention_biases=0, network_biases=(0, 0)),
            "All matrices are there. Each of the six linear layers adds a bias, as wide as its output.",
        ),
        Mistake(
            "network-biases-forgotten",
            _count(network_biases=(0, 0)),
            "The two biases of the feed-forward network are missing.",
        ),
        Mistake(
            "network-biases-alike",
            _count(network_biases=(0, 2)),
            "The biases of the feed-forward network have two widths: a bias is as wide as its layer's output, d_ff "
            "for the first.",
        ),
        Mistake(
            "network-biases-both-wide",
            _count(network_biases=(2, 0)),
            "The biases of the feed-forward network have two widths: a bias is as wide as its layer's output, d_model "
            "for the second.",
        ),
        Mistake("one-network-matrix", _count(network=1), "The feed-forward network has two matrices, up and down."),
        Mistake(
            "biases-and-norms-forgotten",
            _count(attention_biases=0, network_biases=(0, 0), norms=0),
            "The matrices are right. Six biases and two norms are missing.",
        ),
        Mistake(
            "network-and-norms-once",
            lambda n_layers, d_model, d_ff: (
                _count()(n_layers, d_model, d_ff) - (n_layers - 1) * (2 * d_model * d_ff + d_ff + 5 * d_model)
            ),
            "Only the attention is counted once a layer. Every layer has a network and norms of its own: a pair of "
            "parentheses is missing.",
        ),
        Mistake(
            "norms-once",
            lambda n_layers, d_model, d_ff: _count(norms=0)(n_layers, d_model, d_ff) + 4 * d_model,
            "The norms are counted once for the whole stack. Every layer has two of its own.",
        ),
    ),
    hints=(
        "Three kinds of parts: attention, feed-forward network, norms. Count each, then multiply by the layers.",
        "Attention has four square matrices with biases, the network two matrices with biases, and a norm a gain and "
        "a bias.",
        "`4 * (d_model * d_model + d_model)`, `2 * d_model * d_ff + d_ff + d_model`, and `2 * 2 * d_model`.",
    ),
    alternatives=(as_one_polynomial, by_building_it, layer_after_layer),
    difficulty=1,
    minutes=5,
)
