"""The configurations of open models, with their sources, and what the library counts when it builds them.

    python -m experiments.modern_models

Nothing is trained and nothing downloaded: each model that `LanguageModelConfig` can say is built without memory, on
PyTorch's meta device, and its parameters are counted. `extra` is what a model has in each layer beyond that: the biases
of queries, keys, and values (Qwen2.5), the gains of norms for queries and keys (Qwen3, Gemma 3), two more norms (Gemma
3). A mixture has `experts`, of which `active` work for a token. `published` is the number of parameters as the source
writes it; `without_table` says that the source also gives the number without the embedding. Sources were read in
stored copies whose dates are unknown. Two seconds.
"""

import torch

from course_lib.language_model import LanguageModel, LanguageModelConfig
from experiments import store

LITGPT = "Lightning-AI/litgpt, litgpt/config.py"
CARD = "model card, {}"


def model(name, published, v, d, layers, heads, kv, d_k, d_ff, source, **more) -> dict:
    """One row; the formula's letters are those of the chapter."""
    row = {"name": name, "published": published, "vocab_size": v, "d_model": d, "n_layers": layers, "n_heads": heads}
    row |= {"n_kv_heads": kv, "d_k": d_k, "d_ff": d_ff, "tied": False, "extra": 0, "experts": 1, "active": 1}
    return row | {"configuration": LITGPT, "source": source, "read": "date unknown"} | more


MODELS = [
    model(
        *("SmolLM2 135M", 135e6, 49152, 576, 30, 9, 3, 64, 1536),
        source="its name, HuggingFaceTB/SmolLM2-135M",
        tied=True,
    ),
    model(
        *("Qwen2.5 0.5B", 0.49e9, 151936, 896, 24, 14, 2, 64, 4864),
        source=CARD.format("Qwen/Qwen2.5-0.5B"),
        tied=True,
        extra=(14 + 2 * 2) * 64,
        without_table=0.36e9,
    ),
    model(
        *("Qwen3 0.6B", 0.6e9, 151936, 1024, 28, 16, 8, 128, 3072),
        source=CARD.format("Qwen/Qwen3-0.6B"),
        tied=True,
        extra=2 * 128,
        without_table=0.44e9,
    ),
    model(
        *("Gemma 3 1B", 1.0e9, 262144, 1152, 26, 4, 1, 256, 6912),
        source="its name, google/gemma-3-1b-pt",
        tied=True,
        extra=2 * 256 + 2 * 1152,
    ),
    model(
        *("Llama 3.2 1B", 1.23e9, 128256, 2048, 16, 32, 8, 64, 8192),
        source="meta-llama/llama-models, models/llama3_2/MODEL_CARD.md",
        tied=True,
    ),
    model(
        *("Gemma 2B", 2_506_172_416, 256000, 2048, 18, 8, 1, 256, 16384),
        source="discussion at google/gemma-2b; KerasHub's card",
        tied=True,
    ),
    model(
        *("Llama 3.2 3B", 3.21e9, 128256, 3072, 28, 24, 8, 128, 8192),
        source="meta-llama/llama-models, models/llama3_2/MODEL_CARD.md",
        tied=True,
    ),
    model(
        *("Qwen3 4B", 4.0e9, 151936, 2560, 36, 32, 8, 128, 9728),
        source=CARD.format("Qwen/Qwen3-4B"),
        tied=True,
        extra=2 * 128,
        without_table=3.6e9,
    ),
    model(
        *("Mistral 7B", 7.3e9, 32000, 4096, 32, 32, 8, 128, 14336),
        source="Mistral's announcement, as quoted by others",
    ),
    model(
        *("Llama 3 8B", 8.03e9, 128256, 4096, 32, 32, 8, 128, 14336),
        source="the count that Hugging Face shows for its weights",
    ),
    model(
        *("Qwen3 8B", 8.2e9, 151936, 4096, 36, 32, 8, 128, 12288),
        source=CARD.format("Qwen/Qwen3-8B, as quoted by OpenRouter"),
        configuration="copies of Qwen/Qwen3-8B's config.json",
        extra=2 * 128,
    ),
    model(
        *("Llama 3.1 405B", 405e9, 128256, 16384, 126, 128, 8, 128, 53248),
        source="meta-llama/llama-models, models/llama3_1/MODEL_CARD.md",
    ),
    model(
        *("Qwen3 30B-A3B", 30.5e9, 151936, 2048, 48, 32, 4, 128, 768),
        source=CARD.format("Qwen/Qwen3-30B-A3B"),
        extra=2 * 128,
        experts=128,
        active=8,
        published_active=3.3e9,
    ),
    model(
        *("Mixtral 8x7B", 46.7e9, 32000, 4096, 32, 32, 8, 128, 14336),
        source="Mistral's announcement, as quoted by others",
        configuration="copies of mistralai/Mixtral-8x7B-v0.1's config.json",
        experts=8,
        active=2,
        published_active=12.9e9,
    ),
]


def built(row: dict) -> int | None:
    """The parameters of the library's model, where it can be said: no mixture, nothing extra."""
    if row["experts"] > 1 or row["extra"]:
        return None
    names = ["vocab_size", "d_model", "n_layers", "n_heads", "n_kv_heads", "d_k", "d_ff", "tied"]
    with torch.device("meta"):
        return sum(p.numel() for p in LanguageModel(LanguageModelConfig(**{n: row[n] for n in names})).parameters())


def main() -> None:
    rows = [row | {"built": built(row)} for row in MODELS]
    store(__file__, seeds=[0], rows=rows)


if __name__ == "__main__":
    main()
