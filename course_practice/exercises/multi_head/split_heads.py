"""Exercise: cut into heads."""

import torch

from course_lib.multi_head import split_heads
from course_practice.engine import Convention, Exercise, Mistake, case
from course_practice.exercises.inputs import counting, randn
from course_practice.exercises.multi_head._steps import by_view, cut, cut_into_threads


def split_heads_starter(x, n_heads):
    d_k = x.shape[-1] // n_heads
    cut = x.unflatten(-1, (..., d_k))
    return cut.transpose(..., ...)


def chunk_and_stack(x, n_heads):
    return torch.stack(x.chunk(n_heads, dim=-1), dim=1)


def unflatten_and_permute(x, n_heads):
    return x.unflatten(-1, (n_heads, -1)).permute(0, 2, 1, 3)


def slice_by_slice(x, n_heads):
    d_k = x.shape[-1] // n_heads
    return torch.stack([x[:, :, i * d_k : (i + 1) * d_k] for i in range(n_heads)], dim=1)


EXERCISE = Exercise(
    title="Cut into heads",
    task="From x (batch, seq_len, d_model) make (batch, n_heads, seq_len, d_k): head 0 gets the first d_k features.",
    reference=split_heads,
    starter=split_heads_starter,
    cases=lambda: [
        case(counting(1, 2, 4), 2, about="two tokens, two heads of two features"),
        case(counting(1, 3, 6), 2, about="two heads of three features"),
        case(randn(2, 5, 21), 3, about="three heads of seven features"),
        case(randn(3, 4, 10, seed=1), 5, about="five heads of two features"),
        case(randn(4, 4, 4, seed=2), 2, about="as many sentences as tokens as features"),
        case(randn(2, 3, 12, seed=3), 3, about="as many heads as tokens"),
        case(randn(2, 3, 5, seed=4), 1, about="one head"),
    ],
    mistakes=(
        Mistake(
            "no-transpose",
            cut,
            "The cut is right, the order of the axes is not: (batch, seq_len, n_heads, d_k). A product of the last "
            "two axes would now let the heads of *one* token attend to each other. Which two axes must change places?",
        ),
        Mistake(
            "view-instead-of-transpose",
            by_view,
            "The shape is right, the numbers are not: they are dealt out in the order in which they lie in memory, "
            "token by token, so your head 0 holds a run of them, pieces of the first few tokens. Cut the *last* axis "
            "first, swap axes after that.",
        ),
        Convention(
            "every-nth-feature",
            lambda x, n_heads: cut_into_threads(x, n_heads).permute(0, 3, 1, 2),
            "Your head i takes the features i, i + n_heads, … Valid if the weights were trained that way. Here, as in "
            "PyTorch, a head is d_k features *side by side*.",
        ),
        Mistake(
            "head-count-taken-for-size",
            lambda x, n_heads: cut(x, x.shape[2] // n_heads).transpose(1, 2),
            "You made heads of n_heads features each. `n_heads` says how *many* slices there are; how wide is one? "
            "(`torch.split` takes a width, `torch.chunk` a number.)",
        ),
        Mistake(
            "head-count-taken-for-size-and-no-transpose",
            cut_into_threads,
            "Two things: `n_heads` is the number of slices, not their width, so it comes before d_k; and the heads "
            "must stand before the tokens.",
        ),
        Mistake(
            "separate-tensors",
            lambda x, n_heads: x.chunk(n_heads, dim=-1),
            "The slices are right, but they come as one tensor for each head. Make one tensor of them, with the heads "
            "behind the batch: `torch.stack` has a `dim`.",
        ),
        Mistake(
            "heads-before-the-batch",
            lambda x, n_heads: cut(x, n_heads).permute(2, 0, 1, 3),
            "The slices are right, but the heads stand before the batch: (n_heads, batch, seq_len, d_k). The batch "
            "stays the first axis (`torch.stack` has a `dim`).",
        ),
        Mistake(
            "stacked-after-the-tokens",
            lambda x, n_heads: torch.stack(x.chunk(n_heads, dim=-1), dim=-1),
            "The slices are right, but the heads stand on the last axis: (batch, seq_len, d_k, n_heads). They belong "
            "right behind the batch: heads and *tokens* change places.",
        ),
        Convention(
            "heads-folded-into-the-batch",
            lambda x, n_heads: split_heads(x, n_heads).flatten(0, 1),
            "Valid: a batch of batch · n_heads is what `torch.bmm` wants. Here the heads keep an axis of their own, "
            "so that a mask (batch, 1, 1, k_len) fits.",
        ),
        Mistake(
            "batch-and-heads-mixed",
            lambda x, n_heads: x.reshape(len(x) * n_heads, x.shape[1], x.shape[2] // n_heads),
            "Regrouped straight to (batch · n_heads, seq_len, d_k), the tokens are mixed. Cut the last axis, swap two "
            "axes, and keep four axes.",
        ),
        Mistake(
            "cuts-the-tokens",
            lambda x, n_heads: x.view(len(x), n_heads, x.shape[1] // n_heads, x.shape[2]),
            "You cut the sentence into pieces. Every head sees *all* tokens, and of each token a slice of its "
            "features: cut the last axis.",
        ),
        Mistake(
            "copies-instead-of-cuts",
            lambda x, n_heads: x.unsqueeze(1).expand(-1, n_heads, -1, -1),
            "Every head got the whole vector. After the projection each head owns d_k = d_model / n_heads of the "
            "features, and no two heads the same.",
        ),
        Mistake(
            "features-before-tokens",
            lambda x, n_heads: cut(x, n_heads).permute(0, 2, 3, 1),
            "Your last two axes are (d_k, seq_len). That is what the *keys* become inside the product Q Kᵀ; the split "
            "itself leaves the features last.",
        ),
        Mistake(
            "swaps-before-the-cut",
            lambda x, n_heads: x.transpose(1, 2).reshape(len(x), n_heads, x.shape[1], x.shape[2] // n_heads),
            "You swapped tokens and features first, and regrouped after that: the numbers of different tokens are "
            "mixed. The cut of the last axis comes first.",
        ),
        Mistake(
            "view-with-features-before-tokens",
            lambda x, n_heads: x.reshape(len(x), n_heads, x.shape[2] // n_heads, x.shape[1]),
            "The numbers are dealt out as they lie in memory, which moves no axis, and the features stand before the "
            "tokens. Cut the last axis first, then swap two axes.",
        ),
        Mistake(
            "view-with-heads-first",
            lambda x, n_heads: x.reshape(n_heads, len(x), x.shape[1], x.shape[2] // n_heads).transpose(0, 1),
            "The numbers are dealt out as they lie in memory, whole sentences to each head. The heads come out of the "
            "*last* axis, so that is the one to cut.",
        ),
        Mistake(
            "overlapping-slices",
            lambda x, n_heads: torch.stack([x[..., i : i + x.shape[2] // n_heads] for i in range(n_heads)], dim=1),
            "Your slices overlap: head 1 begins at feature 1. Where does head i begin, when each is d_k features wide?",
        ),
        Mistake(
            "first-slice-for-all",
            lambda x, n_heads: x[:, None, :, : x.shape[2] // n_heads].expand(-1, n_heads, -1, -1),
            "Every head got the first d_k features. Where does head i begin?",
        ),
        Mistake(
            "heads-behind-each-other",
            lambda x, n_heads: torch.cat(x.chunk(n_heads, dim=-1), dim=1),
            "The slices are right, but you laid them behind each other along the tokens. The heads need an axis of "
            "their own: `torch.stack`.",
        ),
    ),
    hints=(
        "Two steps: the cut of the last axis into two, then two axes change places. Write the shape down after each.",
        "A `view` may only split or join neighboring axes. Moving an axis is another operation, and the heads must "
        "stand before the tokens, because attention multiplies the last two axes.",
        "`x.unflatten(-1, (n_heads, d_k))` has the heads on axis 2; swap it with axis 1.",
    ),
    alternatives=(chunk_and_stack, unflatten_and_permute, slice_by_slice),
    difficulty=1,
    minutes=5,
)
