"""What a head does: how sharp its rows are, whom it links, and what happens when its weights are changed."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_lib.batching import pad
from course_lib.bpe import BPE
from course_lib.corpus import Sentence
from course_lib.multi_head import MultiHeadAttention, merge_heads, split_heads
from course_lib.tokens import BOS, EOS

Edit = Callable[[str, Tensor], Tensor]


def entropy(
    weights: Float[Tensor, "*shape k_len"],
    mask: Bool[Tensor, "..."] | None = None,
) -> Float[Tensor, "*shape"]:
    """How flat each row is: 0 for one key alone, 1 for equal weights.

    It is the entropy divided by the logarithm of the number of keys that the
    row may see (`mask`, True = may attend). A row with one key is 0.

    >>> entropy(torch.tensor([[0.5, 0.5, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]]))
    tensor([0.5000, 0.0000])
    """
    seen = torch.ones_like(weights) if mask is None else mask.expand_as(weights)
    n_keys = seen.sum(dim=-1).to(weights.dtype)
    total = torch.special.entr(weights).sum(dim=-1)
    return torch.where(n_keys > 1, total / n_keys.clamp(min=2).log(), 0.0)


def head_alignment(
    weights: Float[Tensor, "*heads tgt_words src_words"],
    links: Iterable[tuple[int, int]],
) -> Float[Tensor, "*heads"]:
    """The share of linked target words whose largest weight is on a partner.

    `links` holds pairs (source word, target word). A target word may have
    several partners, and one without any does not count.

    >>> weights = torch.tensor([[0.9, 0.1], [0.6, 0.4]])
    >>> head_alignment(weights, [(0, 0), (1, 1)])
    tensor(0.5000)
    """
    gold = torch.zeros(weights.shape[-2:], dtype=torch.bool)
    for src, tgt in links:
        gold[tgt, src] = True
    best = weights.argmax(dim=-1, keepdim=True)
    hits = gold.expand_as(weights).gather(-1, best)[..., 0]
    return hits[..., gold.any(dim=-1)].float().mean(dim=-1)


def cut_key(
    weights: Float[Tensor, "*shape q_len k_len"],
    key: int,
) -> Float[Tensor, "*shape q_len k_len"]:
    """Take one key out of every row, and let the others share its weight.

    A row that has nothing else is all zeros.

    >>> cut_key(torch.tensor([[0.6, 0.3, 0.1], [1.0, 0.0, 0.0]]), key=0)
    tensor([[0.0000, 0.7500, 0.2500],
            [0.0000, 0.0000, 0.0000]])
    """
    kept = weights.clone()
    kept[..., key] = 0.0
    return kept / kept.sum(dim=-1, keepdim=True).clamp(min=1e-12)


@contextmanager
def edit_attention(model: nn.Module, edit: Edit) -> Iterator[None]:
    """Inside the block, each attention of `model` uses edited weights.

    `edit(name, weights)` gets the module's name and the weights of all heads
    after the softmax, and returns what the values are multiplied with.

    >>> model = nn.ModuleDict({"own": MultiHeadAttention(d_model=4, n_heads=2)})
    >>> x = torch.randn(1, 3, 4)
    >>> with edit_attention(model, lambda name, weights: 0 * weights):
    ...     output, _ = model["own"](x, x, x)
    >>> torch.equal(output, model["own"].w_o.bias.expand(1, 3, 4))
    True
    """

    def listen(name: str) -> Callable:
        def hook(module: MultiHeadAttention, inputs: tuple, output: tuple) -> tuple:
            value = split_heads(module.w_v(inputs[2]), module.n_heads)
            weights = edit(name, output[1])
            return module.w_o(merge_heads(weights @ value)), weights

        return hook

    with ExitStack() as stack:
        for name, module in model.named_modules():
            if isinstance(module, MultiHeadAttention):
                handle = module.register_forward_hook(listen(name))
                stack.callback(handle.remove)
        yield


@dataclass(frozen=True)
class WordRows:
    """One copy of its sentence for each target word.

    In copy b, `row[b]` is where the first token of the word, `target[b]`, is
    predicted. `words` gives the source word of each source token (-1 for EOS
    and pads), and `gold` is True at the tokens of the word's partners.

    >>> vocabulary = BPE.train(["a b", "c d"], n_merges=0)
    >>> pair = Sentence(("a", "b"), ("c", "d"), alignment=((0, 1),))
    >>> rows = word_rows([pair], vocabulary)
    >>> rows.row.tolist(), rows.linked.tolist()
    ([0, 1], [False, True])
    """

    src: Int[Tensor, "copies src_len"]
    tgt_in: Int[Tensor, "copies tgt_len"]
    target: Int[Tensor, " copies"]
    row: Int[Tensor, " copies"]
    words: Int[Tensor, "copies src_len"]
    gold: Bool[Tensor, "copies src_len"]

    @property
    def linked(self) -> Bool[Tensor, " copies"]:
        """Whether the word has a partner in the source."""
        return self.gold.any(dim=1)

    def of(self, table: Tensor) -> Tensor:
        """The one row of each copy: of weights, or of logits."""
        copies = torch.arange(len(self.row))
        return table[copies, :, self.row] if table.dim() == 4 else table[copies, self.row]

    def edit(self, names: Collection[str], change: Callable[[Tensor], Tensor]) -> Edit:
        """An edit of that one row of each copy, in these modules.

        `change` gets and returns its weights, (copies, n_heads, k_len).
        """

        def edit(name: str, weights: Tensor) -> Tensor:
            if name not in names:
                return weights
            edited = weights.clone()
            edited[torch.arange(len(self.row)), :, self.row] = change(self.of(weights))
            return edited

        return edit


def word_rows(pairs: Sequence[Sentence], vocabulary: BPE) -> WordRows:
    """The rows of all words of these sentences, see `WordRows`.

    >>> pair = Sentence(("a", "b"), ("c", "d"), alignment=((0, 1),))
    >>> word_rows([pair], BPE.train(["a b", "c d"], n_merges=0)).gold.int()
    tensor([[0, 0, 0],
            [1, 0, 0]], dtype=torch.int32)
    """
    src, tgt_in, target, row, words, gold = [], [], [], [], [], []
    for pair in pairs:
        source = vocabulary.encode(pair.src_text)
        written = vocabulary.encode(pair.tgt_text)
        of_source = vocabulary.word_index(source)
        first = vocabulary.word_index(written).index
        for j in range(len(pair.tgt)):
            src.append([*source, EOS])
            tgt_in.append([BOS, *written])
            row.append(first(j))
            target.append(written[first(j)])
            words.append([*(i + 1 for i in of_source), 0])
            gold.append([*(int((i, j) in pair.alignment) for i in of_source), 0])
    target, row = torch.tensor(target), torch.tensor(row)
    return WordRows(pad(src), pad(tgt_in), target, row, pad(words) - 1, pad(gold).bool())


def sum_words(
    weights: Float[Tensor, "copies *heads src_len"], words: Int[Tensor, "copies src_len"]
) -> Float[Tensor, "copies *heads src_words"]:
    """Add up the weights of each source word; what goes to EOS is no word's.

    >>> words = torch.tensor([[0, 0, 1, -1]])
    >>> sum_words(torch.tensor([[0.25, 0.25, 0.125, 0.375]]), words)
    tensor([[0.5000, 0.1250]])
    """
    table = torch.nn.functional.one_hot(words + 1)[..., 1:].to(weights)
    return torch.einsum("b...s,bsw->b...w", weights, table)
