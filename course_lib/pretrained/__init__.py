"""A real language model in the course's own code: SmolLM2-135M-Instruct, read from the file of its weights.

`make weights`, or `python -m course_lib.pretrained`, fetches the file once. `course_lib.pretrained.folders` reads
other models from the folders in which Hugging Face's library keeps them.
Source: Allal et al. 2025, "SmolLM2: When Smol Goes Big"; weights under the license Apache-2.0.
"""

from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from course_lib.bpe.byte_level import DigitBPE
from course_lib.files import weights_home
from course_lib.language_model import LanguageModel, LanguageModelConfig

FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"

# What the file calls a weight, and what the course calls it.
NAMES = {"token_embd": "tokens", "output_norm": "norm"}
NAMES_IN_BLOCK = {
    "attn_norm": "norm_1",
    "attn_q": "attention.w_q",
    "attn_k": "attention.w_k",
    "attn_v": "attention.w_v",
    "attn_output": "attention.w_o",
    "ffn_norm": "norm_2",
    "ffn_gate": "feed_forward.w_1",
    "ffn_up": "feed_forward.w_3",
    "ffn_down": "feed_forward.w_2",
}
NORMS = ("norm", "norm_1", "norm_2")
CONTROL = 3  # the type of a token that stands for no text
ROWS = 2048  # of a matrix at a time: unpacking takes several times the memory of its result


class WeightsMissing(FileNotFoundError):
    """The weights, or what reads them, are not on this machine; the message says what to type."""

    def _render_traceback_(self) -> list[str]:  # a notebook shows the sentence alone
        return [str(self)]


def weights_file() -> Path:
    """The file of SmolLM2's weights, or `WeightsMissing`."""
    path = weights_home() / FILE
    if not path.is_file():
        raise WeightsMissing(
            f"expected {FILE} in {path.parent}, got none: type `make weights`, or, without make, "
            "`python -m course_lib.pretrained`, which fetches 93 MB"
        )
    return path


def smollm2(path: str | Path | None = None, dtype: torch.dtype = torch.float32) -> tuple[LanguageModel, DigitBPE]:
    """SmolLM2-135M-Instruct and its tokenizer, from `path` or from where `make weights` puts them.

    The model is in eval mode. In float32 it takes 540 MB, in bfloat16 half of that. Raises WeightsMissing, and
    ValueError for a file that holds another kind of model.
    """
    return from_gguf(open_gguf(path or weights_file()), dtype)


def from_gguf(reader, dtype: torch.dtype = torch.float32) -> tuple[LanguageModel, DigitBPE]:
    """The model, in eval mode, and the tokenizer of an open file; the fields of the reader are emptied.

    Raises ValueError for a file that holds another kind of model.
    """
    DigitBPE.split("")  # making its pattern takes 80 MB for a moment: before the weights are there
    config, words = gguf_config(reader), gguf_words(reader)
    reader.fields.clear()  # thousands of small arrays, 70 MB together
    with torch.device("meta"):  # shapes without memory
        model = LanguageModel(config)
    state = dict(gguf_weights(reader, config, dtype))
    state["output.weight"] = state["tokens.weight"]
    model.load_state_dict(state, assign=True)
    model.output.weight = model.tokens.weight
    return model.eval(), gguf_tokenizer(**words)


def open_gguf(path: str | Path):
    """A reader of the file, which stays on the disk."""
    try:
        from gguf import GGUFReader
    except ModuleNotFoundError:
        raise WeightsMissing(
            "expected the package gguf, which reads the weights, got none: type `pip install gguf`"
        ) from None

    class Reader(GGUFReader):
        def __setattr__(self, name: str, value: object) -> None:
            # Views of a memory map take three times as long as those of a plain array, and twice the memory.
            super().__setattr__(name, np.asarray(value) if name == "data" else value)

    reader = Reader(path)
    reader.path = path
    return reader


def field(reader, name: str, *expected: object) -> object:
    """The value of one of the file's fields, which must be among `expected` where there are any."""
    value = reader.fields[name].contents() if name in reader.fields else None
    return one_of(name, value, *expected) if expected else value


def one_of(name: str, value: object, *expected: object) -> object:
    """The value of a field, or ValueError when it is none of those that the course's models have.

    >>> one_of("model_type", "gemma3", "llama", "qwen2")
    Traceback (most recent call last):
    ValueError: expected model_type to be 'llama' or 'qwen2', got 'gemma3': the course's models do not cover this one
    """
    if value not in expected:
        wanted = " or ".join(map(repr, expected))
        raise ValueError(f"expected {name} to be {wanted}, got {value!r}: the course's models do not cover this one")
    return value


def gguf_config(reader) -> LanguageModelConfig:
    """The sizes that the file states; what the course's model does not have is refused."""
    field(reader, "general.architecture", "llama")
    field(reader, "llama.rope.scaling.type", None, "none")
    heads = field(reader, "llama.attention.head_count")
    d_model = field(reader, "llama.embedding_length")
    return LanguageModelConfig(
        vocab_size=field(reader, "llama.vocab_size"),
        d_model=d_model,
        n_heads=heads,
        n_kv_heads=field(reader, "llama.attention.head_count_kv"),
        d_ff=field(reader, "llama.feed_forward_length"),
        n_layers=field(reader, "llama.block_count"),
        d_k=field(reader, "llama.attention.key_length", None, d_model // heads),
        rope_base=field(reader, "llama.rope.freq_base"),
        eps=field(reader, "llama.attention.layer_norm_rms_epsilon"),
        tied=True,
        scaled=False,
        pad_id=-1,
    )


def gguf_weights(reader, config: LanguageModelConfig, dtype: torch.dtype) -> Iterator[tuple[str, Tensor]]:
    """The weights under the course's names, one after the other. Its matrices are packed into 4 to 8 bits a number."""
    for packed in reader.tensors:
        name = course_name(packed.name)
        weight = unpacked(packed, reader.path, dtype)
        if name.endswith("w_q.weight"):
            weight = to_halves(weight, config.n_heads)
        elif name.endswith("w_k.weight"):
            weight = to_halves(weight, config.n_kv_heads)
        yield name, weight


def course_name(name: str) -> str:
    """The course's name of a weight in the file.

    >>> course_name("blk.7.ffn_gate.weight"), course_name("output_norm.weight")
    ('blocks.7.feed_forward.w_1.weight', 'norm.gain')
    """
    *place, part, _weight = name.split(".")
    table = NAMES_IN_BLOCK if place else NAMES
    if part not in table:
        raise ValueError(f"expected weights named {', '.join(table)}, got {name}: this is another kind of model")
    part = table[part]
    block = f"blocks.{place[1]}." if place else ""
    return f"{block}{part}.{'gain' if part in NORMS else 'weight'}"


def unpacked(packed, path: str | Path, dtype: torch.dtype) -> Tensor:
    """The numbers of a packed weight, some rows at a time."""
    from gguf import quants

    # `packed.data` holds the same bytes, but what it has shown stays in memory.
    data, weight = packed.data, torch.empty([int(n) for n in reversed(packed.shape)], dtype=dtype)
    for start in range(0, len(weight), ROWS):
        some = data[start : start + ROWS]
        offset = packed.data_offset + start * data[:1].nbytes
        rows = np.fromfile(path, some.dtype, some.size, offset=offset).reshape(some.shape)
        weight[start : start + ROWS] = torch.from_numpy(quants.dequantize(rows, packed.tensor_type))
    return weight


def to_halves(weight: Float[Tensor, "d_out d_in"], n_heads: int) -> Float[Tensor, "d_out d_in"]:
    """The rows of W_Q or W_K, written for RoPE's interleaved layout, in the order of its half layout.

    Pair i of a head is in rows 2i and 2i + 1, and comes to rows i and i + d_k / 2.

    >>> to_halves(torch.arange(8.0)[:, None], n_heads=2)[:, 0]
    tensor([0., 2., 1., 3., 4., 6., 5., 7.])
    """
    pairs = weight.unflatten(0, (n_heads, -1, 2))
    return pairs.transpose(1, 2).flatten(0, 2)


def gguf_words(reader) -> dict[str, str | list[int]]:
    """What the file says of its vocabulary: tokens and merges as one text each, a line for each of them."""
    field(reader, "tokenizer.ggml.model", "gpt2")
    field(reader, "tokenizer.ggml.pre", "smollm")
    lines = {name: "\n".join(field(reader, f"tokenizer.ggml.{name}")) for name in ("tokens", "merges")}
    return lines | {"kinds": field(reader, "tokenizer.ggml.token_type")}


def gguf_tokenizer(tokens: str, merges: str, kinds: list[int]) -> DigitBPE:
    """The tokenizer of what `gguf_words` gives; tokens of the type "control" are the special ones.

    >>> tokenizer = gguf_tokenizer("<|end|>\\na\\nb\\nab", "a b", [3, 1, 1, 1])
    >>> tokenizer.encode("aab"), tokenizer.specials
    ([1, 3], {'<|end|>': 0})
    """
    ids = {token: i for i, token in enumerate(tokens.split("\n"))}
    vocab = {token: i for token, i in ids.items() if kinds[i] != CONTROL}
    specials = {token: i for token, i in ids.items() if kinds[i] == CONTROL}
    return DigitBPE(vocab, [tuple(pair.split(" ")) for pair in merges.split("\n")], specials)


def chat(tokenizer: DigitBPE, turns: Sequence[str], system: str = SYSTEM) -> list[int]:
    """What the model reads in a conversation: each turn between two special tokens, then the beginning of its answer.

    `turns` are the user's, the assistant's, the user's … The text of a turn has no special tokens, whatever it says.

    >>> vocabulary = DigitBPE.train([], 0, specials={"<|im_start|>": 1, "<|im_end|>": 2})
    >>> ids = chat(vocabulary, ["Hello"], system="Be kind.")
    >>> print(vocabulary.decode(ids, special=True))
    <|im_start|>system
    Be kind.<|im_end|>
    <|im_start|>user
    Hello<|im_end|>
    <|im_start|>assistant
    <BLANKLINE>
    """
    start, end = (tokenizer.specials[name] for name in ("<|im_start|>", "<|im_end|>"))
    ids = []
    for role, text in [("system", system), *zip(cycle(["user", "assistant"]), turns)]:
        ids += [start, *tokenizer.encode(f"{role}\n{text}"), end, *tokenizer.encode("\n")]
    return [*ids, start, *tokenizer.encode("assistant\n")]
