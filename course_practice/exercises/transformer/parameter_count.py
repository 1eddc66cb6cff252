"""Exercise: count a whole Transformer."""

import itertools

from torch import nn

from course_lib.decoder import DecoderLayer
from course_lib.encoder import EncoderLayer
from course_practice.engine import Exercise, Mistake, case


def parameter_count(vocab_size, d_model, d_ff, n_layers, tied):
    """All trained numbers of a post-norm Transformer with sinusoidal positions, n_layers layers on each side.

    >>> parameter_count(vocab_size=11, d_model=4, d_ff=8, n_layers=1, tied=True)
    476
    """
    attention = 4 * (d_model * d_model + d_model)
    feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
    norm = 2 * d_model
    encoder_layer = attention + feed_forward + 2 * norm
    decoder_layer = 2 * attention + feed_forward + 3 * norm
    matrices = 1 if tied else 3
    return n_layers * (encoder_layer + decoder_layer) + matrices * vocab_size * d_model


def by_building_a_layer_of_each(vocab_size, d_model, d_ff, n_layers, tied):
    layers = EncoderLayer(d_model, 1, d_ff), DecoderLayer(d_model, 1, d_ff)
    pair = sum(p.numel() for layer in layers for p in layer.parameters())
    return n_layers * pair + vocab_size * d_model * (1 if tied else 3)


def with_pytorchs_layers(vocab_size, d_model, d_ff, n_layers, tied):
    total = 0
    for layer in (nn.TransformerEncoderLayer(d_model, 1, d_ff), nn.TransformerDecoderLayer(d_model, 1, d_ff)):
        total += n_layers * sum(p.numel() for p in layer.parameters())
    for _matrix in ["shared"] if tied else ["source", "target", "output"]:
        total += vocab_size * d_model
    return total


def in_powers_of_d(vocab_size, d_model, d_ff, n_layers, tied):
    per_pair = 12 * d_model**2 + 4 * d_model * d_ff + 24 * d_model + 2 * d_ff
    return n_layers * per_pair + (3 - 2 * tied) * vocab_size * d_model


def _count(attention=None, feed_forward=None, norm=2, attentions=3, norms=5, matrices=None, extra=None, layers=None):
    """`parameter_count` with one thing or two counted differently."""

    def count(vocab_size, d_model, d_ff, n_layers, tied):
        d = d_model
        of_attention = 4 * (d * d + d) if attention is None else attention(d)
        of_feed_forward = 2 * d * d_ff + d_ff + d if feed_forward is None else feed_forward(d, d_ff)
        shared = (1 if tied else 3) if matrices is None else matrices(tied)
        pair = attentions * of_attention + 2 * of_feed_forward + norms * norm * d
        added = 0 if extra is None else extra(vocab_size, d)
        return (n_layers if layers is None else layers(n_layers)) * pair + shared * vocab_size * d + added

    return count


# What may be counted wrongly, alone or with another: name, arguments of `_count`, one sentence.
_ATTENTION = (
    ("", {}, ""),
    ("attention-without-biases", {"attention": lambda d: 4 * d * d}, "The four layers of attention have biases, too."),
    ("w-o-forgotten", {"attention": lambda d: 3 * (d * d + d)}, "W_O is missing, the fourth matrix of attention."),
    (
        "w-o-and-biases-forgotten",
        {"attention": lambda d: 3 * d * d},
        "Attention has four linear layers with biases, and W_O is one of them.",
    ),
    ("one-attention-in-the-decoder", {"attentions": 2}, "A decoder layer has two attentions: to itself, and across."),
)
_FEED_FORWARD = (
    ("", {}, ""),
    (
        "feed-forward-without-biases",
        {"feed_forward": lambda d, d_ff: 2 * d * d_ff},
        "The two layers of the feed-forward network have biases, d_ff and d_model numbers.",
    ),
    (
        "one-matrix-in-the-feed-forward",
        {"feed_forward": lambda d, d_ff: d * d_ff + d_ff},
        "The feed-forward network has two matrices: up to d_ff, and down again.",
    ),
)
_NORMS = (
    ("", {}, ""),
    (
        "two-norms-in-the-decoder",
        {"norms": 4},
        "Each layer of the two stacks together lacks 2 · d_model numbers: a decoder layer has three norms, and the "
        "feed-forward network on each side has two biases, of d_ff and of d_model numbers.",
    ),
    ("norm-without-bias", {"norm": 1}, "A norm trains a gain and a bias: 2 · d_model numbers."),
    ("norms-forgotten", {"norm": 0}, "The norms are missing: two in an encoder layer, three in a decoder layer."),
    (
        "final-norms",
        {"extra": lambda v, d: 4 * d},
        "There is no norm behind the stacks: in a post-norm machine each layer ends with one already.",
    ),
)
_MATRICES = (
    ("", {}, ""),
    ("tied-counted-twice", {"matrices": lambda tied: 2 if tied else 3}, "Tied, one matrix serves all three places."),
    (
        "tied-counted-three-times",
        {"matrices": lambda tied: 3},
        "The argument `tied` has no effect: if it is True, one matrix serves all three places.",
    ),
    (
        "always-tied",
        {"matrices": lambda tied: 1},
        "Without tying there are three matrices: source, target, and output.",
    ),
    (
        "untied-two",
        {"matrices": lambda tied: 1 if tied else 2},
        "Untied there are three matrices: source embedding, target embedding, and output layer.",
    ),
    ("embeddings-forgotten", {"matrices": lambda tied: 0}, "The embeddings are missing: vocab_size × d_model."),
)
_MISCOUNTS = (_ATTENTION, _FEED_FORWARD, _NORMS, _MATRICES)


def _miscounts():
    """One thing counted wrongly, or two."""
    for choice in itertools.product(*_MISCOUNTS):
        wrong = [part for part in choice if part[0]]
        if len(wrong) in (1, 2):
            arguments = {key: value for part in wrong for key, value in part[1].items()}
            says = " ".join(part[2] for part in wrong)
            begin = "Two things. " if len(wrong) == 2 else ""
            yield Mistake("-and-".join(part[0] for part in wrong), _count(**arguments), begin + says)


EXERCISE = Exercise(
    title="Count the machine",
    task="Count all trained numbers of a Transformer with n_layers encoder and n_layers decoder layers.",
    reference=parameter_count,
    cases=lambda: [
        case(11, 4, 8, 1, True, about="the machine counted by hand"),
        case(11, 4, 8, 1, False, about="the same, untied"),
        case(34, 32, 64, 2, True, about="the machine of this chapter"),
        case(101, 30, 77, 5, False, about="odd sizes"),
        case(37000, 512, 2048, 6, True, about="the paper's base model"),
    ],
    mistakes=(
        *_miscounts(),
        Mistake(
            "bias-in-the-output-layer",
            _count(extra=lambda v, d: v),
            "The output layer has no bias: its matrix is the embedding's, and an embedding has none.",
        ),
        Mistake(
            "tied-and-untied-exchanged",
            _count(matrices=lambda tied: 3 if tied else 1),
            "The argument `tied` works the wrong way around: there is one matrix of words if it is True, else three.",
        ),
        Mistake(
            "one-decoder-layer",
            lambda vocab_size, d_model, d_ff, n_layers, tied: (
                parameter_count(vocab_size, d_model, d_ff, n_layers, tied)
                - (n_layers - 1) * (8 * (d_model * d_model + d_model) + 2 * d_model * d_ff + d_ff + 7 * d_model)
            ),
            "The decoder is counted with one layer. It has n_layers of them, as the encoder has.",
        ),
        Mistake(
            "words-in-every-layer",
            lambda vocab_size, d_model, d_ff, n_layers, tied: (
                parameter_count(vocab_size, d_model, d_ff, n_layers, tied)
                + (n_layers - 1) * (1 if tied else 3) * vocab_size * d_model
            ),
            "The words are counted once for each layer. They stand before and behind the stacks, once for the machine.",
        ),
        Mistake(
            "one-layer",
            _count(layers=lambda n: 1),
            "That is one layer on each side. Every layer has weights of its own.",
        ),
        Mistake(
            "encoder-layers-only",
            lambda vocab_size, d_model, d_ff, n_layers, tied: (
                n_layers * (4 * (d_model * d_model + d_model) + 2 * d_model * d_ff + d_ff + d_model + 4 * d_model)
                + (1 if tied else 3) * vocab_size * d_model
            ),
            "That is the encoder and the embeddings. The decoder has n_layers layers of its own.",
        ),
        Mistake(
            "decoder-layers-only",
            lambda vocab_size, d_model, d_ff, n_layers, tied: (
                n_layers * (8 * (d_model * d_model + d_model) + 2 * d_model * d_ff + d_ff + d_model + 6 * d_model)
                + (1 if tied else 3) * vocab_size * d_model
            ),
            "That is the decoder and the embeddings. The encoder has n_layers layers of its own.",
        ),
        Mistake(
            "one-network-for-both-sides",
            lambda vocab_size, d_model, d_ff, n_layers, tied: (
                parameter_count(vocab_size, d_model, d_ff, n_layers, tied)
                - n_layers * (2 * d_model * d_ff + d_ff + d_model)
            ),
            "Encoder layer and decoder layer each have a feed-forward network. You counted one for both.",
        ),
        Mistake(
            "layers-shared-out",
            _count(layers=lambda n: n / 2),
            "There are n_layers layers on *each* side.",
        ),
    ),
    hints=(
        "Make a list of the parts of one encoder layer and one decoder layer, then count each part once.",
        "Attention is four linear layers of d_model × d_model with biases. An encoder layer has one attention, one "
        "feed-forward network, and two norms; a decoder layer has two, one, and three.",
        "`n_layers * (3 * attention + 2 * feed_forward + 5 * norm)`, and the matrix once if tied, three times if not.",
    ),
    alternatives=(by_building_a_layer_of_each, with_pytorchs_layers, in_powers_of_d),
    difficulty=2,
    minutes=10,
)
