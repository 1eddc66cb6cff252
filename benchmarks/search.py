"""Writing translations, greedily and with beams: from batch to tokens, encoder included.

The model never ends a sentence (`translators.endless`), so every search writes the same number of tokens, with its
usual settings. All but x-transformers run the same weights and have to write the same sentences.
"""

from collections.abc import Callable, Iterator

from torch import Tensor

from benchmarks.engine import Settings, Work, agree, gather, seconds, seeded
from benchmarks.peers.ct2 import CTranslate2
from benchmarks.peers.marian import Marian
from benchmarks.peers.nn_transformer import NNTransformer
from benchmarks.peers.xtransformers import XTransformers
from benchmarks.translators import MIDDLE, TINY, endless, sentences
from course_lib.beam_search import beam_search, greedy_search
from course_lib.fast.cached import CachedTransformer
from course_lib.fast.memory import keep_freed_memory
from course_lib.transformer import Transformer

COURSE, MARIAN = "course", "Hugging Face Marian"
OTHERS = ("x-transformers",)  # with weights of their own
BEAM = 4
ABOUT = (
    "{n} sentences, {length} tokens for each, d_model {c.d_model}, {c.n_heads} heads, d_ff {c.d_ff}, "
    "{c.n_layers}+{c.n_layers} layers, {c.vocab_size} words, float32. No sentence can end earlier. The same weights "
    "and the same tokens, except for x-transformers, whose layers are others."
)

Search = Callable[[], list[list[int]]]


class Course:
    """The cached Transformer, under the searches of the course."""

    def __init__(self, model: Transformer):
        self.cached = CachedTransformer(model)

    def greedy(self, src: Tensor, n_tokens: int) -> list[list[int]]:
        found = greedy_search(self.cached.step, self.cached.start(src), len(src), n_tokens)
        return [hypothesis.tokens for hypothesis in found]

    def beam(self, src: Tensor, n_tokens: int, beam_size: int) -> list[list[int]]:
        found = beam_search(self.cached.step, self.cached.start(src), len(src), beam_size, n_tokens)
        return [hypotheses[0].tokens for hypotheses in found]


def works(settings: Settings) -> Iterator[Work]:
    """Greedy search, then beam search, on the same models."""
    seeded(settings)
    keep_freed_memory()  # as the commands of the course do; it helps everybody here
    config = TINY if settings.quick else MIDDLE
    n, n_tokens = (3, 7) if settings.quick else (64, 40)
    src = sentences(config, n, shortest=4 if settings.quick else 8, longest=6 if settings.quick else 24).src
    ours = endless(Transformer(config)).eval()
    contenders, left_out = gather(
        {
            COURSE: lambda: Course(ours),
            MARIAN: lambda: Marian(ours).eval(),
            "x-transformers": lambda: XTransformers(ours).never_end().eval(),
            "nn.Transformer, no cache": lambda: NNTransformer(ours).eval(),
            "CTranslate2": lambda: CTranslate2(ours, settings.threads),
        }
    )
    about = ABOUT.format(n=n, length=n_tokens, c=config)
    greedy = {name: lambda c=c: c.greedy(src, n_tokens) for name, c in contenders.items()}
    beam = {name: lambda c=c: c.beam(src, n_tokens, BEAM) for name, c in contenders.items() if hasattr(c, "beam")}
    aims = {(COURSE, MARIAN): 1.5}
    yield search("greedy search", about, greedy, (n, n_tokens), settings, left_out, aims)
    about += f" {BEAM} beams, the sum of log-probabilities divided by the length."
    aims = {(COURSE, MARIAN): 1.4, (COURSE, "CTranslate2"): 0.75}
    yield search(f"beam search, {BEAM} beams", about, beam, (n, n_tokens), settings, left_out, aims)


def search(
    title: str,
    about: str,
    searches: dict[str, Search],
    size: tuple[int, int],
    settings: Settings,
    left_out: dict[str, str],
    aims: dict[tuple[str, str], float],
) -> Work:
    """The work of one kind of search, once all contenders have shown that they write the same."""
    check(searches, size)
    calls = {name: seconds(call, settings) for name, call in searches.items()}
    return Work(title, about, calls, (COURSE,), left_out, amount=size[0] * size[1], things="tokens", aims=aims)


def check(searches: dict[str, Search], size: tuple[int, int]) -> None:
    """Every sentence has its full length; those who have our weights write our tokens.

    One sentence in twenty may differ: two words can be so close that the order of a sum decides.
    """
    n, n_tokens = size
    written = {name: call() for name, call in searches.items()}
    for name, found in written.items():
        agree("lengths", {name: [len(tokens) for tokens in found]}, [n_tokens] * n)
        if name not in OTHERS:
            same = sum(tokens == ours for tokens, ours in zip(found, written[COURSE], strict=True))
            agree("number of sentences like the course's", {name: same}, n, tolerance=0.05)
