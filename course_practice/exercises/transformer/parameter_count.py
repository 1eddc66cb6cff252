from course_lib.decoder import DecoderLayer
from course_lib.encoder import EncoderLayer
from course_practice.engine import Exercise, case


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


EXERCISE = Exercise(
    reference=parameter_count,
    cases=lambda: [
        case(11, 4, 8, 1, True, about="the machine counted by hand"),
        case(11, 4, 8, 1, False, about="the same, untied"),
        case(34, 32, 64, 2, True, about="the machine of this chapter"),
        case(101, 30, 77, 5, False, about="odd sizes"),
        case(37000, 512, 2048, 6, True, about="the paper's base model"),
    ],
    alternatives=(by_building_a_layer_of_each,),
)
