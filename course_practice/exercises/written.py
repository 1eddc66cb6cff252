"""Answers that are written word by word."""

from torch import Tensor

from course_lib.tokens import PAD


def without_trailing_pads(written: Tensor) -> Tensor:
    """Ids without the columns behind the last end: whether an answer has them does not matter.

    >>> import torch
    >>> without_trailing_pads(torch.tensor([[5, 2, 0], [2, 0, 0]]))
    tensor([[5, 2],
            [2, 0]])
    """
    if written.dim() != 2 or written.is_floating_point() or written.is_complex():
        return written
    used = (written != PAD).any(dim=0).nonzero()
    return written[:, : int(used.max()) + 1] if len(used) else written[:, :0]
