"""The last layer and its loss in one: the logits of a whole batch are never stored."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_lib.sizes import check_targets

CHUNK = 2**21
"""How many logits are alive at a time on a CPU: they stay in its cache (a GPU takes 16 times as many)."""


def linear_cross_entropy(
    hidden: Float[Tensor, "n d_model"],
    weight: Float[Tensor, "vocab_size d_model"],
    targets: Int[Tensor, " n"],
    label_smoothing: float = 0.0,
) -> Float[Tensor, ""]:
    """The *sum* of the label-smoothed cross-entropies of logits = hidden weightᵀ, chunk by chunk.

    The gradient of a chunk's logits is softmax − target distribution: it is known as soon as the logits are, so it is
    used up at once and both chunks are forgotten. Equal to
    `F.cross_entropy(hidden @ weight.T, targets, label_smoothing=..., reduction="sum")`; in half precision, and under
    autocast to bfloat16, products are taken in it, sums and exponentials in float32. It cannot be differentiated twice.

    >>> hidden, weight = torch.zeros(2, 3), torch.randn(5, 3)
    >>> linear_cross_entropy(hidden, weight, torch.tensor([4, 0]))     # 2 ln 5
    tensor(3.2189)
    """
    if len(targets) != len(hidden) or not 0 <= label_smoothing <= 1:
        got = f"{len(hidden)} rows, {len(targets)} targets, and smoothing {label_smoothing}"
        raise ValueError(f"expected a target for each row and smoothing from 0 to 1, got {got}: cut both alike")
    check_targets(targets, len(weight))
    wants_gradient = torch.is_grad_enabled() and (hidden.requires_grad or weight.requires_grad)
    return _LinearCrossEntropy.apply(hidden, weight, targets, label_smoothing, wants_gradient)


class _LinearCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, hidden, weight, targets, smoothing, wants_gradient):
        device, vocab_size = hidden.device.type, len(weight)
        bfloat16 = torch.is_autocast_enabled(device) and torch.get_autocast_dtype(device) == torch.bfloat16
        dtype = torch.bfloat16 if bfloat16 else weight.dtype
        wide = torch.promote_types(weight.dtype, torch.float32)
        low_hidden, low_weight = hidden.to(dtype), weight.to(dtype)
        rows = max(1, (CHUNK if device == "cpu" else 16 * CHUNK) // vocab_size)
        # Sums of thousands of numbers would stand still in half precision.
        d_hidden, d_weight = torch.empty_like(low_hidden), torch.zeros_like(weight, dtype=wide)
        loss = weight.new_zeros((), dtype=wide)
        with torch.autocast(device, enabled=False):
            for start in range(0, len(hidden), rows):
                part = slice(start, start + rows)
                target = targets[part, None]
                log_probs = (low_hidden[part] @ low_weight.T).to(wide).log_softmax(dim=-1)
                loss -= (1 - smoothing) * log_probs.gather(1, target).sum()
                if smoothing:
                    loss -= smoothing / vocab_size * log_probs.sum()
                if wants_gradient:
                    d_logits = log_probs.exp_().sub_(smoothing / vocab_size)
                    d_logits.scatter_add_(1, target, d_logits.new_full(target.shape, smoothing - 1))
                    d_logits = d_logits.to(dtype)
                    torch.mm(d_logits, low_weight, out=d_hidden[part])
                    if dtype != wide:
                        d_weight += d_logits.T @ low_hidden[part]
                    else:
                        d_weight.addmm_(d_logits.T, low_hidden[part])
        ctx.save_for_backward(d_hidden.to(hidden.dtype), d_weight)
        ctx.weight_dtype = weight.dtype
        return loss

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, d_loss):
        d_hidden, d_weight = ctx.saved_tensors
        return d_hidden * d_loss, (d_weight * d_loss).to(ctx.weight_dtype), None, None, None
