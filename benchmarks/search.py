"""Writing translations, greedily and with beams: from batch to tokens, encoder included.

The model never ends a sentence (`translators.endless`), so every search writes the same number of tokens, with its
usual settings. All but x-transformers run the same weights and have to write the same sentences.
"""

from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor

from benchmarks.contender_process import Apart
from benchmarks.peers.ct2 import CTranslate2
from benchmarks.peers.marian import Marian
from benchmarks.peers.nn_transformer import NNTransformer
from benchmarks.peers.xtransformers import XTransformers
from benchmarks.timing import Settings, Work, agree, gather
from benchmarks.translators import MIDDLE, TINY, Sizes, endless, sentences
from course_lib.beam_search import beam_search, greedy_search
from course_lib.fast.cached import CachedTransformer
from course_lib.fast.memory import keep_freed_memory
from course_lib.transformer import Transformer, TransformerConfig

COURSE, MARIAN, CTRANSLATE2 = "course", "Hugging Face Marian", "CTranslate2"
OTHERS = ("x-transformers",)  # with weights of their own
BEAM = 4
ABOUT = (
    "{n} sentences, {length} tokens for each, d_model {c.d_model}, {c.n_heads} heads, d_ff {c.d_ff}, "
    "{c.n_layers}+{c.n_layers} layers, {c.vocab_size} words, float32. No sentence can end earlier. The same weights "
    "and the same tokens, except for x-transformers, whose layers are others. Everybody has a process of its own; that "
    "of the course keeps freed memory, as its commands do."
)


class Course:
    """The cached Transformer, under the searches of the course."""

    def __init__(self, model: Transformer):
        keep_freed_memory()
        self.cached = CachedTransformer(model)

    def greedy(self, src: Tensor, n_tokens: int) -> list[list[int]]:
        found = greedy_search(self.cached.step, self.cached.start(src), len(src), n_tokens)
        return [hypothesis.tokens for hypothesis in found]

    def beam(self, src: Tensor, n_tokens: int, beam_size: int) -> list[list[int]]:
        found = beam_search(self.cached.step, self.cached.start(src), len(src), beam_size, n_tokens)
        return [hypotheses[0].tokens for hypotheses in found]


MAKERS = {
    COURSE: Course,
    MARIAN: lambda ours: Marian(ours).eval(),
    "x-transformers": lambda ours: XTransformers(ours).never_end().eval(),
    "nn.Transformer, no cache": lambda ours: NNTransformer(ours).eval(),
    CTRANSLATE2: CTranslate2,
}
BEAMS = (COURSE, MARIAN, CTRANSLATE2)


class Searching:
    """A contender with its weights and its source sentences."""

    def __init__(self, name: str, config: TransformerConfig, sizes: Sizes, n_tokens: int):
        torch.manual_seed(0)
        self.src, self.n_tokens = sentences(config, *sizes).src, n_tokens
        given = {}
        if (
            name == CTRANSLATE2
        ):  # the threads are for its engine: PyTorch, which only makes the weights, has to have none
            given["threads"] = torch.get_num_threads()
            torch.set_num_threads(1)
        self.contender = MAKERS[name](endless(Transformer(config)).eval(), **given)

    def greedy(self) -> list[list[int]]:
        return self.contender.greedy(self.src, self.n_tokens)

    def beam(self) -> list[list[int]]:
        return self.contender.beam(self.src, self.n_tokens, BEAM)


def works(settings: Settings) -> Iterator[Work]:
    """Greedy search, then beam search, on the same models."""
    config, sizes, n_tokens = (TINY, (3, 4, 6), 7) if settings.quick else (MIDDLE, (64, 8, 24), 40)
    make = partial(Apart, settings, Searching)
    contenders, left_out = gather({name: partial(make, name, config, sizes, n_tokens) for name in MAKERS})
    about = ABOUT.format(n=sizes[0], length=n_tokens, c=config)
    aims = {(COURSE, MARIAN): 1.5}
    try:
        yield search("greedy search", about, "greedy", contenders, (sizes[0], n_tokens), left_out, aims)
        about += f" {BEAM} beams, the sum of log-probabilities divided by the length."
        aims = {(COURSE, MARIAN): 1.4, (COURSE, CTRANSLATE2): 0.75}
        can = {name: contender for name, contender in contenders.items() if name in BEAMS}
        yield search(f"beam search, {BEAM} beams", about, "beam", can, (sizes[0], n_tokens), left_out, aims)
    finally:
        for contender in contenders.values():
            contender.close()


def search(
    title: str,
    about: str,
    method: str,
    contenders: dict[str, Apart],
    size: tuple[int, int],
    left_out: dict[str, str],
    aims: dict[tuple[str, str], float],
) -> Work:
    """The work of one kind of search, once all contenders have shown that they write the same."""
    check({name: contender.call(method) for name, contender in contenders.items()}, *size)
    calls = {name: partial(contender.seconds, method) for name, contender in contenders.items()}
    return Work(title, about, calls, (COURSE,), left_out, amount=size[0] * size[1], things="tokens", aims=aims)


def check(written: dict[str, list[list[int]]], n: int, n_tokens: int) -> None:
    """Every sentence has its full length; those who have our weights write our tokens.

    One sentence in twenty may differ: two words can be so close that the order of a sum decides.
    """
    for name, found in written.items():
        agree("lengths", {name: [len(tokens) for tokens in found]}, [n_tokens] * n)
        if name not in OTHERS:
            same = sum(tokens == ours for tokens, ours in zip(found, written[COURSE], strict=True))
            agree("number of sentences like the course's", {name: same}, n, tolerance=0.05)
