"""A translator: a trained model and its vocabulary, from text to text."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.batching import pad
from course_lib.beam_search import Hypothesis, beam_search, greedy_search
from course_lib.bpe import BPE
from course_lib.bpe.byte_level import ByteBPE, load_tokenizer
from course_lib.bpe.subwords import several
from course_lib.corpus import Sentence
from course_lib.fast.cached import CachedTransformer
from course_lib.fast.memory import shapes_of
from course_lib.probes import record_attention
from course_lib.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.sizes import check_whole
from course_lib.text import clean, is_mark
from course_lib.tokens import BOS, EOS
from course_lib.training.checkpoint import load_checkpoint, save_checkpoint
from course_lib.transformer import Transformer, TransformerConfig

LONGEST = 500  # tokens of a source that are read; memory grows with the square
MODELS = {"transformer": (Transformer, TransformerConfig), "gru": (Seq2Seq, Seq2SeqConfig)}


class UnseenCharacter(UserWarning):
    """A text to translate has a character that training never had."""


class Translator:
    """`model` with the joint `vocabulary` of both languages; `save` and `load` keep the two in one folder.

    `characters` are those of the sources of its training, so that it can tell which ones are new (`unknown`). Without
    them, all that the vocabulary spells without bytes count as known.

    >>> vocabulary = BPE.train(["one two", "eins zwei"], n_merges=4)
    >>> config = TransformerConfig(vocabulary.vocab_size, d_model=8, n_heads=2, d_ff=16, n_layers=1)
    >>> translator = Translator(Transformer(config), vocabulary)
    >>> len(translator.translate(["eins", "zwei eins"], beam_size=2, max_len=5))
    2
    """

    def __init__(self, model: nn.Module, vocabulary: BPE | ByteBPE, characters: Iterable[str] | None = None):
        vocabulary.check_course_ids()
        self.model, self.vocabulary = model, vocabulary
        self.characters = None if characters is None else frozenset(characters) | {" "}

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    def unknown(self, text: str) -> dict[str, str]:
        """The characters of a text that training never had, and what becomes of each.

        Punctuation and symbols are left out. Letters and digits are translated as bytes that nothing was learned of.

        >>> vocabulary = BPE.train(["one two", "eins zwei"], n_merges=4)
        >>> model = Transformer(TransformerConfig(vocabulary.vocab_size, d_model=8, n_heads=2, d_ff=16, n_layers=1))
        >>> for character, fate in Translator(model, vocabulary, characters="eins zwei").unknown("zwölf.").items():
        ...     print(character, fate)
        . was never seen in training and is left out
        ö was never seen in training: the translation is a guess
        l was never seen in training: the translation is a guess
        f was never seen in training: the translation is a guess
        """
        text = clean(text)
        known = self.as_read(text)
        seen = filter(str.isprintable, text)  # a joiner has no look to be known by
        left_out = [character for character in seen if character not in known and character != " "]
        fates = dict.fromkeys(left_out, "was never seen in training and is left out")
        unmet = set(self.vocabulary.unmet(known))
        for letter in known:
            if self.characters is not None and letter not in self.characters:
                fates[letter] = "was never seen in training: the translation is a guess"
            elif letter in unmet:
                place = "" if self.characters is None else " at this place of a word"
                fates[letter] = f"was never seen{place} in training: the translation is a guess"
        return fates

    def as_read(self, text: str) -> str:
        """The text as the model reads it: clean (`course_lib.text`), without punctuation and symbols that are unknown.

        >>> vocabulary = BPE.train(["one two", "eins zwei"], n_merges=4)
        >>> model = Transformer(TransformerConfig(vocabulary.vocab_size, d_model=8, n_heads=2, d_ff=16, n_layers=1))
        >>> Translator(model, vocabulary).as_read(" eins,  zwei!")
        'eins zwei'
        """
        text = clean(text)
        new = set(self.vocabulary.unmet(text)) if self.characters is None else set(text) - self.characters
        if marks := set(filter(is_mark, new)):
            return clean("".join(character for character in text if character not in marks))
        return text

    def translate(self, texts: Sequence[str], beam_size: int = 5, **settings) -> list[str]:
        """The best translation of every text; `settings` as in `search`.

        A warning names the characters that training never had, each at the first text that has it.
        """
        texts, fates = list(several(texts)), {}
        for number, text in enumerate(texts, start=1):
            for character, fate in self.unknown(text).items():
                fates.setdefault(character, f"text {number}: {character!r} {fate}")
        if fates:
            warnings.warn("; ".join(fates.values()), UnseenCharacter, stacklevel=2)
        return [self.vocabulary.decode(found[0].tokens) for found in self.search(texts, beam_size, **settings)]

    @torch.no_grad()
    def search(
        self,
        texts: Sequence[str],
        beam_size: int = 5,
        length_penalty: float = 1.0,
        max_len: int | None = None,
        done: Callable[[int], object] = lambda count: None,
    ) -> list[list[Hypothesis]]:
        """The hypotheses for every text, best first; `beam_size` 1 is greedy search.

        The model reads every text `as_read` gives it. Texts of similar length share a batch, so that little is
        computed on padding; the order given comes back. An empty text has an empty translation. `done` is told after
        each batch how many texts it had. A translation is cut off after `max_len` tokens, or twice those of the
        longest source of its batch and 20 more.
        """
        texts = [self.as_read(text) for text in several(texts)]
        check_whole(beam_size=beam_size, max_len=1 if max_len is None else max_len)
        self.model.eval()
        searcher = CachedTransformer(self.model) if isinstance(self.model, Transformer) else self.model
        sources = [[*ids, EOS] for ids in self.vocabulary.encode_batch(texts)]
        found = [[Hypothesis([], 0.0, finished=True)] for _ in texts]
        done(texts.count(""))
        order = sorted((n for n, ids in enumerate(sources) if len(ids) > 1), key=lambda n: len(sources[n]))
        rows = max(1, 256 // beam_size)
        for numbers in (order[start : start + rows] for start in range(0, len(order), rows)):
            src = pad([sources[number] for number in numbers]).to(self.device)
            state = searcher.start(src)
            limit = 2 * src.shape[1] + 20 if max_len is None else max_len
            begun = (searcher.step, state, len(src))
            if beam_size == 1:
                results = [[one] for one in greedy_search(*begun, limit, device=self.device)]
            else:
                results = beam_search(*begun, beam_size, limit, length_penalty, device=self.device)
            for number, hypotheses in zip(numbers, results, strict=True):
                found[number] = hypotheses
            done(len(numbers))
        return found

    @torch.no_grad()
    def attention(self, src_text: str, tgt_text: str) -> Float[Tensor, "n_heads tgt_words src_words"]:
        """The last layer's cross-attention from every target word to every source word, head by head.

        Row t is read where word t is *predicted*: at the token before it. A word's weights are the mean over its
        tokens; source tokens of a word are added up. What goes to the end of the sentence belongs to no word. The
        source's words are those of `as_read(src_text)`.
        """
        self.model.eval()
        src, tgt = self.vocabulary.encode(self.as_read(src_text)), self.vocabulary.encode(tgt_text)
        batch = (pad([[*src, EOS]]), pad([[BOS, *tgt]]))
        with record_attention(self.model) as recorded:
            self.model(*(ids.to(self.device) for ids in batch))
        cross = [weights for name, weights in recorded.items() if "encoder" not in name and "self" not in name][-1]
        cross = (cross if cross.dim() == 4 else cross[:, None])[0].float().cpu()
        rows = _words_of(self.vocabulary.word_index(tgt), mean=True) @ cross[:, : len(tgt)]
        return rows[:, :, : len(src)] @ _words_of(self.vocabulary.word_index(src), mean=False).T

    def save(self, folder: str | Path) -> None:
        """Write `model.pt` and `vocabulary.json`."""
        folder = Path(folder)
        kind = next(name for name, (cls, _) in MODELS.items() if isinstance(self.model, cls))
        content = {"kind": kind, "config": asdict(self.model.config), "weights": self.model.state_dict()}
        if self.characters is not None:
            content["characters"] = "".join(sorted(self.characters))
        save_checkpoint(folder / "model.pt", content | {"vocabulary": self.vocabulary.checksum})
        self.vocabulary.save(folder / "vocabulary.json")

    @classmethod
    def load(cls, folder: str | Path, device: Any = "cpu") -> "Translator":
        """Read what `save` wrote, if the two files belong together."""
        folder = Path(folder)
        for name in ("model.pt", "vocabulary.json"):
            if not (folder / name).exists():
                raise FileNotFoundError(
                    f"expected model.pt and vocabulary.json in {folder}, got no {name}: train into that folder first"
                )
        content, vocabulary = load_checkpoint(folder / "model.pt", device), load_tokenizer(folder / "vocabulary.json")
        model_class, config_class = MODELS[content["kind"]]
        config, weights = config_class(**content["config"]), content["weights"]
        # Before anything is built: a damaged configuration may describe a model of any size.
        shapes = {name: weight.shape for name, weight in weights.items()}
        most = {"n_layers": len(shapes), "d_model": max((n for shape in shapes.values() for n in shape), default=0)}
        small = all(getattr(config, name, 0) <= number for name, number in most.items())
        if getattr(config, "positions", "") == "learned":
            small &= (config.max_len, config.d_model) in shapes.values()
        if not small or shapes_of(model_class, config) != shapes:
            raise ValueError(
                f"expected a model of this course in {folder}, got another, whose weights have not the shapes of "
                f"{config}: train into an empty folder"
            )
        # Earlier versions kept no checksum.
        same = content.get("vocabulary", vocabulary.checksum) == vocabulary.checksum
        if config.vocab_size != vocabulary.vocab_size or not same:
            raise ValueError(
                f"expected the vocabulary of the model in {folder}, with {config.vocab_size} ids, got another with "
                f"{vocabulary.vocab_size}: keep model.pt and vocabulary.json of one training together"
            )
        model = model_class(config).to(device)
        model.load_state_dict(weights)
        return cls(model, vocabulary, content.get("characters"))  # earlier versions did not keep them


def exact_match(translations: Sequence[str], pairs: Sequence[Sentence]) -> float:
    """The share of translations that are, to the letter, the reference or another correct reading of the source.

    >>> exact_match(["a book"], [Sentence(("책",), ("a", "book"))])
    1.0
    """
    right = (
        text in {pair.tgt_text, *(" ".join(words) for _, words in pair.readings)}
        for text, pair in zip(translations, pairs, strict=True)
    )
    return sum(right) / max(len(pairs), 1)


def alignment_accuracy(
    translator: Any, pairs: Sequence[Sentence], done: Callable[[int], object] = lambda count: None
) -> float:
    """The share of linked target words whose most attended source word (mean over heads) is a gold partner."""
    hits = total = 0
    for pair in pairs:
        looked_at = translator.attention(pair.src_text, pair.tgt_text).mean(dim=0).argmax(dim=-1).tolist()
        linked = {tgt for _, tgt in pair.alignment}
        hits += sum((looked_at[tgt], tgt) in pair.alignment for tgt in linked)
        total += len(linked)
        done(1)
    return hits / max(total, 1)


def _words_of(index: Sequence[int], mean: bool) -> Float[Tensor, "words tokens"]:
    """A matrix that adds up (or averages) the tokens of each word."""
    if not index:
        return torch.zeros(0, 0)
    words = torch.nn.functional.one_hot(torch.tensor(index, dtype=torch.long)).T.float()
    return words / words.sum(dim=1, keepdim=True) if mean else words
