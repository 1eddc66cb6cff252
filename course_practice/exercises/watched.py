"""What an answer does on its way: the shapes of its tensors, and the operations that make them."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

_PRODUCTS = (torch.ops.aten.mm, torch.ops.aten.bmm, torch.ops.aten.addmm, torch.ops.aten.baddbmm)


class _Watch(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.made = []
        self.operations = set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        made = function(*args, **(kwargs or {}))
        outputs = made if isinstance(made, tuple | list) else [made]
        self.operations.add(function.overloadpacket)
        is_product = function.overloadpacket in _PRODUCTS
        self.made += [(tuple(output.shape), is_product) for output in outputs if isinstance(output, Tensor)]
        return made


def tensors_made(obj: Callable, *args: object) -> list[tuple[tuple[int, ...], bool]]:
    """For each tensor that a call makes: its shape, and whether a matrix product made it.

    >>> tensors_made(lambda x: x @ x + 1, torch.ones(2, 2))
    [((2, 2), True), ((2, 2), False)]
    """
    with _Watch() as watch:
        obj(*args)
    return watch.made


def operations(obj: Callable, *args: object) -> set[object]:
    """PyTorch's operations that a call makes, under whatever names it calls them.

    >>> torch.ops.aten.relu in operations(torch.nn.ReLU(), torch.ones(2))
    True
    """
    with _Watch() as watch:
        obj(*args)
    return watch.operations
