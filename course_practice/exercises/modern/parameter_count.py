"""Exercise: how many parameters a real model has."""

import torch

from course_lib.language_model import LanguageModel, LanguageModelConfig
from course_practice.engine import Exercise, Mistake, case


def model_size(vocab_size, d_model, n_layers, n_heads, n_kv_heads, d_k, d_ff, tied):
    """All the trained numbers of a model of today, which has no biases.

    >>> model_size(vocab_size=128256, d_model=2048, n_layers=16, n_heads=32,
    ...     n_kv_heads=8, d_k=64, d_ff=8192, tied=True)
    1235814400
    """
    queries_and_output = 2 * d_model * n_heads * d_k
    keys_and_values = 2 * d_model * n_kv_heads * d_k
    feed_forward = 3 * d_model * d_ff
    layer = queries_and_output + keys_and_values + feed_forward + 2 * d_model
    tables = 1 if tied else 2
    return tables * vocab_size * d_model + n_layers * layer + d_model


def by_building_it(vocab_size, d_model, n_layers, n_heads, n_kv_heads, d_k, d_ff, tied):
    config = LanguageModelConfig(
        vocab_size, d_model, n_heads, n_kv_heads, d_ff, n_layers, d_k=d_k, tied=tied, positions="none"
    )
    with torch.device("meta"):  # sizes without memory
        return sum(p.numel() for p in LanguageModel(config).parameters())


def with_a_loop(vocab_size, d_model, n_layers, n_heads, n_kv_heads, d_k, d_ff, tied):
    shapes = [(vocab_size, d_model)] + ([] if tied else [(d_model, vocab_size)])
    for _layer in range(n_layers):
        shapes += [(d_model, n_heads * d_k), (d_model, n_kv_heads * d_k), (d_model, n_kv_heads * d_k)]
        shapes += [(n_heads * d_k, d_model), (d_model, d_ff), (d_model, d_ff), (d_ff, d_model)]
        shapes += [(d_model, 1), (d_model, 1)]
    return sum(rows * columns for rows, columns in shapes) + d_model


def in_one_formula(vocab_size, d_model, n_layers, n_heads, n_kv_heads, d_k, d_ff, tied):
    per_layer = 2 * (n_heads + n_kv_heads) * d_k + 3 * d_ff + 2
    return d_model * ((2 - bool(tied)) * vocab_size + n_layers * per_layer + 1)


def _count(
    attention=lambda d, h, n_kv, d_k: 2 * d * h * d_k + 2 * d * n_kv * d_k,
    feed_forward=lambda d, d_ff: 3 * d * d_ff,
    norms=2,
    last=1,
    tables=lambda tied: 1 if tied else 2,
    biases=lambda d, h, n_kv, d_k, d_ff: 0,
    layers=lambda n: n,
):
    """`model_size` with one thing counted differently."""

    def count(vocab_size, d_model, n_layers, n_heads, n_kv_heads, d_k, d_ff, tied):
        d = d_model
        layer = attention(d, n_heads, n_kv_heads, d_k) + feed_forward(d, d_ff) + norms * d
        layer += biases(d, n_heads, n_kv_heads, d_k, d_ff)
        return tables(tied) * vocab_size * d + layers(n_layers) * layer + last * d

    return count


def _own_head(d, h, n_kv, d_k):
    """The heads are d_model / n_heads wide."""
    return 2 * d * d + 2 * d * n_kv * (d // h)


def _tied_alone(vocab_size, d_model, n_layers, n_heads, n_kv_heads, d_k, d_ff, tied):
    table = vocab_size * d_model
    whole = model_size(vocab_size, d_model, n_layers, n_heads, n_kv_heads, d_k, d_ff, tied=True)
    return table if tied else 2 + whole - table


def _layers_times_the_first_term(vocab_size, d_model, n_layers, n_heads, n_kv_heads, d_k, d_ff, tied):
    once = 2 * d_model * n_kv_heads * d_k + 3 * d_model * d_ff + 2 * d_model
    return (1 if tied else 2) * vocab_size * d_model + n_layers * 2 * d_model * n_heads * d_k + once + d_model


EXERCISE = Exercise(
    title="The size of a real model",
    task="Count the trained numbers of a decoder-only model with RMSNorm, rotary positions, SwiGLU, and grouped "
    "queries, without any bias: two norms a layer and one at the end. `tied` says that input and output share a "
    "matrix.",
    reference=model_size,
    cases=lambda: [
        case(10, 4, 1, 2, 1, 2, 3, True, about="a tiny model"),
        case(10, 4, 1, 2, 1, 2, 3, False, about="the same one, untied"),
        case(11, 6, 2, 3, 1, 5, 7, True, about="heads wider than d_model / n_heads"),
        case(13, 8, 3, 4, 4, 2, 9, False, about="as many heads of keys as of queries"),
        case(49152, 576, 30, 9, 3, 64, 1536, True, about="SmolLM2 135M"),
        case(151936, 1024, 28, 16, 8, 128, 3072, True, about="Qwen3 0.6B, but for its extra norms"),
        case(128256, 4096, 32, 32, 8, 128, 14336, False, about="Llama 3 8B"),
    ],
    mistakes=(
        Mistake(
            "condition-without-brackets",
            _tied_alone,
            "Tied, you return the table alone; untied, the rest with 2 added. `a if tied else b + c` means "
            "`a if tied else (b + c)`: put brackets around `1 if tied else 2`.",
        ),
        Mistake(
            "counted-twice",
            _count(tables=lambda tied: 2),
            "Right where `tied` is False. A tied matrix serves input and output, and it is *one* matrix: count it "
            "once.",
        ),
        Mistake(
            "always-tied",
            _count(tables=lambda tied: 1),
            "Right where `tied` is True. Untied, the output has a matrix of its own, as large as the embedding.",
        ),
        Mistake(
            "tied-exchanged",
            _count(tables=lambda tied: 2 if tied else 1),
            "It is the other way round: tied is one matrix, untied are two.",
        ),
        Mistake(
            "no-embedding",
            _count(tables=lambda tied: 0),
            "The layers are right. The embedding is missing, a row for each word.",
        ),
        Mistake(
            "no-embedding-but-the-output",
            _count(tables=lambda tied: 0 if tied else 1),
            "The layers are right. A tied model has one matrix of vocab_size rows, an untied one has two.",
        ),
        Mistake(
            "heads-fill-d-model",
            _count(attention=_own_head),
            "Right where n_heads · d_k is d_model. It need not be: here d_k is given, so count d_model × n_heads · "
            "d_k.",
        ),
        Mistake(
            "full-keys-and-values",
            _count(attention=lambda d, h, n_kv, d_k: 4 * d * h * d_k),
            "You count keys and values for each query head. Only n_kv_heads of them exist: that is the point of "
            "sharing.",
        ),
        Mistake(
            "output-as-narrow-as-the-keys",
            _count(attention=lambda d, h, n_kv, d_k: d * h * d_k + 3 * d * n_kv * d_k),
            "You count W^O like keys and values. It reads all n_heads heads.",
        ),
        Mistake(
            "no-output-matrix",
            _count(attention=lambda d, h, n_kv, d_k: d * h * d_k + 2 * d * n_kv * d_k),
            "Queries, keys, and values are counted. W^O is missing.",
        ),
        Mistake(
            "one-for-keys-and-values",
            _count(attention=lambda d, h, n_kv, d_k: 2 * d * h * d_k + d * n_kv * d_k),
            "You count one matrix for keys and values together. Each has its own.",
        ),
        Mistake(
            "one-head-wide",
            _count(attention=lambda d, h, n_kv, d_k: 4 * d * d_k),
            "You count one head. There are n_heads of queries and n_kv_heads of keys and of values.",
        ),
        Mistake(
            "queries-of-four-squares",
            _count(attention=lambda d, h, n_kv, d_k: 4 * d * d),
            "Those are the four d_model × d_model matrices of 2017. Here queries are n_heads · d_k wide, keys and "
            "values n_kv_heads · d_k.",
        ),
        Mistake(
            "layers-times-the-first-term",
            _layers_times_the_first_term,
            "Right for one layer. With more, only the queries and W^O are multiplied by n_layers: put the whole layer "
            "in parentheses.",
        ),
        Mistake(
            "two-matrices-in-the-network",
            _count(feed_forward=lambda d, d_ff: 2 * d * d_ff),
            "You count two matrices in the feed-forward network. SwiGLU has three: one for the gate as well.",
        ),
        Mistake(
            "four-matrices-in-the-network",
            _count(feed_forward=lambda d, d_ff: 4 * d * d_ff),
            "You count four matrices in the feed-forward network. SwiGLU has three.",
        ),
        Mistake(
            "one-network-only",
            _count(feed_forward=lambda d, d_ff: d * d_ff),
            "You count one matrix in the feed-forward network. SwiGLU has three.",
        ),
        Mistake(
            "no-norms",
            _count(norms=0, last=0),
            "The matrices are right. The norms have gains, too: d_model numbers each.",
        ),
        Mistake(
            "one-number-a-norm",
            lambda *a: _count()(*a) - (2 * a[2] + 1) * (a[1] - 1),
            "The matrices are right. You count one number for each norm. Its gain has one for each feature, d_model.",
        ),
        Mistake(
            "last-norm-in-each-layer",
            _count(norms=3, last=0),
            "You count three norms in a layer. There are two, and the third one stands once, after the last layer.",
        ),
        Mistake(
            "no-last-norm",
            _count(last=0),
            "There are d_model numbers missing, however many layers there are: the norm after the last layer.",
        ),
        Mistake(
            "one-norm-a-layer",
            _count(norms=1),
            "There are two norms in a layer, one before the attention and one before the feed-forward network.",
        ),
        Mistake(
            "norms-with-a-bias",
            _count(norms=4, last=2),
            "Your norms have a gain and a bias, as layer norms have. An RMSNorm has a gain alone.",
        ),
        Mistake(
            "biases-everywhere",
            _count(biases=lambda d, h, n_kv, d_k, d_ff: h * d_k + 2 * n_kv * d_k + d + 2 * d_ff + d),
            "You count a bias for each matrix. Models of this kind mostly have none, and none was asked for.",
        ),
        Mistake(
            "one-layer",
            _count(layers=lambda n: 1),
            "You count one layer. There are n_layers.",
        ),
    ),
    hints=(
        "Which matrices does a layer have? Write down four for the attention and three for the network, each with its "
        "two sizes. What is outside the layers?",
        "Queries and W^O are d_model × (n_heads · d_k), keys and values d_model × (n_kv_heads · d_k), and the three of "
        "SwiGLU d_model × d_ff. Each norm has d_model gains.",
        "`layer = 2 * d_model * n_heads * d_k + 2 * d_model * n_kv_heads * d_k + 3 * d_model * d_ff + 2 * d_model`. "
        "Outside stand the table, twice if it is not tied, and one norm.",
    ),
    alternatives=(by_building_it, with_a_loop, in_one_formula),
    difficulty=2,
    minutes=12,
)
