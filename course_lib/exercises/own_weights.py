"""Copy the weights of a layer to PyTorch's, whatever the parts of the layer are called."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

LINEAR = (nn.Linear, nn.modules.conv._ConvNd)


@torch.no_grad()
def copy_layer(ours: nn.Module, theirs: nn.Module, *streams: Tensor) -> None:
    """Give `theirs`, a fresh encoder or decoder layer of PyTorch, the weights of `ours`.

    Weights are matched by what they do: both layers run once on `streams`, and the first square matrix that runs is W_Q
    of the first attention, the second norm that runs is that of the second part, and so on. ValueError where `ours` has
    other weights than `theirs`, or keeps them in a form that cannot be told apart.
    """
    sizes = streams[0].shape[-1], theirs.linear1.out_features
    given, wanted = (weights_by_role(layer, streams, *sizes) for layer in (ours, theirs))
    if given.keys() != wanted.keys():
        missing, extra = (", ".join(sorted(a - b)) for a, b in ((wanted.keys(), given), (given.keys(), wanted)))
        raise ValueError(f"expected the weights of PyTorch's layer, got none for {missing or '…'}, and {extra or '…'}")
    for name, weight in wanted.items():
        weight.copy_(given[name])


def weights_by_role(layer: nn.Module, streams: tuple[Tensor, ...], d_model: int, d_ff: int) -> dict[str, Tensor]:
    """Views of all weights of a fresh layer by what they do; matrices are laid out as in `nn.Linear`."""
    found: dict[str, Tensor] = {}

    def add(name: str, weight: Tensor) -> None:
        if name in found:
            raise ValueError(f"expected {name} once, got it twice")
        found[name] = weight

    square = norm = 0
    for part in _in_order(layer, lambda: layer(*streams)):
        matrices, vectors = _weights_of(part)
        kind = type(part).__name__
        if not matrices:  # a norm, whose fresh gain is 1 throughout
            gains = [bool((vector == 1).all()) for vector in vectors]
            if sorted(gains) != [False, True]:
                raise ValueError(f"expected one gain and one bias in {kind}, got {len(vectors)} vectors")
            norm += 1
            for vector, is_gain in zip(vectors, gains, strict=True):
                add(f"the {'gain' if is_gain else 'bias'} of norm {norm}", vector)
        elif all(matrix.shape == (d_model, d_model) for matrix in matrices):
            if len(matrices) != len(vectors) or (len(matrices) > 1 and not isinstance(part, nn.MultiheadAttention)):
                raise ValueError(f"expected square matrices in linear layers with biases, got others in {kind}")
            for matrix, bias in zip(matrices, vectors, strict=True):
                square += 1
                add(f"square matrix {square}", matrix)
                add(f"its bias {square}", bias)
        else:
            if not isinstance(part, LINEAR):  # bare matrices, W_1 first; as in x @ w or as in w @ x
                shapes = (d_ff, d_model), (d_model, d_ff)
                matrices = [m if m.shape == shape else m.mT for m, shape in zip(matrices, shapes, strict=False)]
            names = {(d_ff, d_model): "W_1", (d_model, d_ff): "W_2", (d_ff,): "b_1", (d_model,): "b_2"}
            for weight in (*matrices, *vectors):
                if tuple(weight.shape) not in names:
                    raise ValueError(f"expected W_1, b_1, W_2, and b_2, got {tuple(weight.shape)} in {kind}")
                add(names[tuple(weight.shape)], weight)
    return found


def _weights_of(part: nn.Module) -> tuple[list[Tensor], list[Tensor]]:
    """The matrices and the vectors that one part holds itself, each as a view without axes of size 1."""
    if isinstance(part, nn.MultiheadAttention):
        out = part.out_proj
        return [*part.in_proj_weight.chunk(3), out.weight], [*part.in_proj_bias.chunk(3), out.bias]
    views = [parameter.squeeze() for parameter in part.parameters(recurse=False)]
    return [view for view in views if view.dim() > 1], [view for view in views if view.dim() < 2]


def _in_order(layer: nn.Module, run_once: Callable) -> list[nn.Module]:
    """The parts that hold weights, in the order in which they first run; those that never run come last."""
    found = _holders(layer)
    ran: list[nn.Module] = []

    def note(part: nn.Module, _inputs: tuple) -> None:
        if part not in ran:
            ran.append(part)

    handles = [part.register_forward_pre_hook(note) for part in found]
    try:
        with torch.enable_grad():  # without gradients PyTorch's layers may take a short cut past their parts
            run_once()
    finally:
        for handle in handles:
            handle.remove()
    return [*ran, *(part for part in found if part not in ran)]


def _holders(module: nn.Module) -> list[nn.Module]:
    if isinstance(module, nn.MultiheadAttention):
        return [module]
    own = [module] if next(module.parameters(recurse=False), None) is not None else []
    return own + [part for child in module.children() for part in _holders(child)]
