import torch

from course_lib.language_model import LanguageModel, LanguageModelConfig
from course_practice.engine import Exercise, case


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


EXERCISE = Exercise(
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
    alternatives=(by_building_it,),
)
