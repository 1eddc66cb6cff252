"""From sentence pairs to tensors: special tokens, shift, padding, buckets of similar length, an order to go on in."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from course_lib.bpe.subwords import Subwords
from course_lib.corpus import Sentence
from course_lib.tokens import BOS, EOS, PAD

IdPair = tuple[list[int], list[int]]


@dataclass(frozen=True, eq=False)  # tensors have no single answer to ==
class Batch:
    """Padded ids of some sentence pairs.

    `src` ends with EOS. `tgt_in` begins with BOS, and `tgt_out` is the same
    shifted by one, EOS at its end: position t of `tgt_in` has seen everything
    before position t of `tgt_out`. Lengths count real tokens, EOS too. `rows`
    says which pairs these are.

    >>> batch = make_batch([([7, 8, 9], [5, 6]), ([7], [5])])
    >>> batch.to("cpu").n_tokens
    5
    """

    src: Int[Tensor, "batch src_len"]
    tgt_in: Int[Tensor, "batch tgt_len"]
    tgt_out: Int[Tensor, "batch tgt_len"]
    src_lengths: Int[Tensor, " batch"]
    tgt_lengths: Int[Tensor, " batch"]
    rows: tuple[int, ...]

    @property
    def n_tokens(self) -> int:
        """Real target tokens, EOS included: what a loss averages over."""
        return int(self.tgt_lengths.sum())

    def to(self, device: torch.device | str) -> "Batch":
        """The same batch on another device."""
        tensors = ("src", "tgt_in", "tgt_out", "src_lengths", "tgt_lengths")
        wait = torch.device(device).type == "cpu"  # where the next line may read what has not yet arrived
        return replace(self, **{name: getattr(self, name).to(device, non_blocking=not wait) for name in tensors})


def shift(tgt: list[int]) -> tuple[list[int], list[int]]:
    """What the decoder reads, and what it must write: one step later.

    >>> shift([5, 6, 7])
    ([1, 5, 6, 7], [5, 6, 7, 2])
    """
    return [BOS, *tgt], [*tgt, EOS]


def pad(sequences: Sequence[Sequence[int]], pad_id: int = PAD) -> Int[Tensor, "batch seq_len"]:
    """Sequences of different lengths as one tensor, filled up on the right.

    >>> pad([[5, 6, 7], [5]])
    tensor([[5, 6, 7],
            [5, 0, 0]])
    """
    longest = max(map(len, sequences), default=0)
    filled = [[*sequence, *[pad_id] * (longest - len(sequence))] for sequence in sequences]
    ids = torch.tensor(filled)
    if ids.numel() and not torch.can_cast(ids.dtype, torch.long):
        raise ValueError(f"expected whole numbers, got {ids.dtype}: encode first")
    return ids.long().view(len(sequences), longest)


def make_batch(pairs: Sequence[IdPair], rows: Sequence[int] | None = None) -> Batch:
    """A batch from pairs (source ids, target ids) without special tokens.

    >>> make_batch([([7, 8], [5, 6]), ([7], [5])]).tgt_out
    tensor([[5, 6, 2],
            [5, 2, 0]])
    """
    sources = [[*src, EOS] for src, _ in pairs]
    shifted = [shift(tgt) for _, tgt in pairs]
    return Batch(
        src=pad(sources),
        tgt_in=pad([tgt_in for tgt_in, _ in shifted]),
        tgt_out=pad([tgt_out for _, tgt_out in shifted]),
        src_lengths=torch.tensor([len(source) for source in sources], dtype=torch.long),
        tgt_lengths=torch.tensor([len(tgt_out) for _, tgt_out in shifted], dtype=torch.long),
        rows=tuple(range(len(pairs)) if rows is None else rows),
    )


def encode_pairs(sentences: Iterable[Sentence], tokenizer: Subwords) -> list[IdPair]:
    """Sentences as pairs of ids, from one joint tokenizer for both languages.

    ValueError when a word of its has the id of PAD, BOS, or EOS.

    >>> from course_lib.bpe import BPE
    >>> encode_pairs([Sentence(("a",), ("b", "b"))], BPE.train(["a b"], n_merges=0))
    [([263], [264, 264])]
    """
    sentences = list(sentences)
    tokenizer.check_course_ids()
    src = tokenizer.encode_batch(sentence.src_text for sentence in sentences)
    tgt = tokenizer.encode_batch(sentence.tgt_text for sentence in sentences)
    return list(zip(src, tgt, strict=True))


def buckets(lengths: Sequence[int], max_tokens: int, order: Iterable[int] | None = None) -> list[list[int]]:
    """Cut positions 0, 1, … into groups of similar length, short to long:
    group size × longest member is at most `max_tokens`.

    Of equally long members, the earlier in `order` comes first.

    >>> buckets([3, 9, 4, 3, 9], max_tokens=12)
    [[0, 3, 2], [1], [4]]
    """
    groups: list[list[int]] = [[]]
    for i in sorted(range(len(lengths)) if order is None else order, key=lengths.__getitem__):
        if lengths[i] > max_tokens:
            raise ValueError(
                f"expected sentences of at most max_tokens={max_tokens} "
                f"tokens, got {lengths[i]} in number {i}: "
                "raise max_tokens, or leave this sentence out"
            )
        if (len(groups[-1]) + 1) * lengths[i] > max_tokens:
            groups.append([])
        groups[-1].append(i)
    return groups if groups[0] else []


def padding_share(batches: Iterable[Batch]) -> float:
    """The share of all positions, source and target, that are padding.

    >>> padding_share([make_batch([([7, 8, 9], [5, 6, 7]), ([7], [5])])])
    0.25
    """
    filled = total = 0
    for batch in batches:
        filled += int(batch.src_lengths.sum() + batch.tgt_lengths.sum())
        total += batch.src.numel() + batch.tgt_out.numel()
    return 1 - filled / total if total else 0.0


class Position(NamedTuple):
    """A place in the training data: `index` batches of epoch number `epoch` are done."""

    epoch: int = 0
    index: int = 0


START = Position()


class Epoch(Sequence[Batch]):
    """The batches of one epoch, each made when it is asked for; slices are epochs again.

    >>> pairs = [([5] * n, [6] * n) for n in range(1, 9)]
    >>> [batch.rows for batch in Batches(pairs, max_tokens=16, shuffle=False)(0)[1:]]
    [(3, 4), (5, 6), (7,)]
    """

    def __init__(self, pairs: Sequence[IdPair], groups: Sequence[Sequence[int]]):
        self.pairs, self.groups = pairs, groups

    def __len__(self) -> int:
        return len(self.groups)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return Epoch(self.pairs, self.groups[index])
        rows = self.groups[index]
        return make_batch([self.pairs[row] for row in rows], rows)


class Batches:
    """All sentence pairs as batches; `batches(epoch)` is always the same list.

    A batch has at most `max_tokens` positions in its source, and in its target,
    padding counted. With `shuffle`, every epoch has its own batches in its own
    order, decided by `seed` and the epoch's number alone; without, they go from
    short to long. `rows` of a batch are positions in `pairs`.

    >>> pairs = [([5, 6], [7]), ([5], [7]), ([5, 6, 7], [8, 9])]
    >>> batches = Batches(pairs, max_tokens=8, seed=1)
    >>> [batch.rows for batch in batches(0)]
    [(2,), (1, 0)]
    """

    def __init__(self, pairs: Sequence[IdPair], max_tokens: int, seed: int = 0, shuffle: bool = True):
        self.pairs, self.max_tokens, self.seed, self.shuffle = pairs, max_tokens, seed, shuffle
        # One more than the words: BOS or EOS.
        self.lengths = [1 + max(len(src), len(tgt)) for src, tgt in pairs]

    def __call__(self, epoch: int) -> Epoch:
        if not self.shuffle:
            return Epoch(self.pairs, buckets(self.lengths, self.max_tokens))
        random = Random(f"{self.seed} {epoch}")
        order = list(range(len(self.pairs)))
        random.shuffle(order)
        # Of equally long pairs, those with similar sources meet.
        order.sort(key=lambda row: len(self.pairs[row][0]))
        groups = buckets(self.lengths, self.max_tokens, order)
        random.shuffle(groups)
        return Epoch(self.pairs, groups)

    def stream(self, start: Position = START) -> Iterator[tuple[Position, Batch]]:
        """Batches without end, each with the position after it.

        Start at such a position to go on from there.

        >>> batches = Batches([([5], [6]), ([7, 8], [9, 9])], max_tokens=4)
        >>> stream = batches.stream()
        >>> position, _ = next(stream)
        >>> next(batches.stream(position))[1].rows == next(stream)[1].rows
        True
        """
        epoch, index = start
        while True:
            batches = self(epoch)
            if not len(batches):
                problem = "expected at least one sentence pair, got none"
                raise ValueError(f"{problem}: is the corpus empty?")
            for number in range(index, len(batches)):
                yield Position(epoch, number + 1), batches[number]
            epoch, index = epoch + 1, 0
