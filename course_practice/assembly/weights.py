"""Copy the weights of a layer to PyTorch's or to another one, whatever the parts of the layer are called."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from course_practice.assembly.modules import LINEAR, bare_parameters, in_order


@torch.no_grad()
def copy_layer(ours: nn.Module, theirs: nn.Module, *streams: Tensor, d_ff: int | None = None) -> None:
    """Give `theirs`, a fresh encoder or decoder layer, the weights of `ours`, which is fresh, too.

    Weights are matched by what they do: both layers run once on `streams`, and the first square matrix that runs is W_Q
    of the first attention, the second norm that runs is that of the second part, and so on. ValueError where `ours` has
    other weights than `theirs`, or keeps them in a form that cannot be told apart. `d_ff` is PyTorch's, unless given.
    """
    sizes = streams[0].shape[-1], d_ff or theirs.linear1.out_features
    given, wanted = (weights_by_role(layer, lambda layer=layer: layer(*streams), *sizes) for layer in (ours, theirs))
    if given.keys() != wanted.keys():
        missing, extra = (", ".join(sorted(a - b)) for a, b in ((wanted.keys(), given), (given.keys(), wanted)))
        raise ValueError(f"expected the weights of the other layer, got none for {missing or '…'}, and {extra or '…'}")
    for name, weight in wanted.items():
        weight.copy_(given[name])


def weights_by_role(layer: nn.Module, run_once: Callable, d_model: int, d_ff: int) -> dict[str, Tensor]:
    """Views of all weights of a fresh layer by what they do; matrices are laid out as in `nn.Linear`.

    A bare matrix is taken as it stands in `x @ w`, and a bare vector is the bias of the first matrix before it that has
    none yet and is as wide.
    """
    found: dict[str, Tensor] = {}
    square = norm = 0

    def add(name: str, weight: Tensor) -> None:
        if name in found:
            raise ValueError(f"expected {name} once, got it twice")
        found[name] = weight

    def add_matrix(matrix: Tensor, kind: str, no_bias_yet: list[tuple[str, int]]) -> None:
        nonlocal square
        shape = tuple(matrix.shape)
        if shape in ((d_ff, d_model), (d_model, d_ff)):
            number = 1 if shape[0] == d_ff else 2
            add(f"W_{number}", matrix)
            no_bias_yet.append((f"b_{number}", shape[0]))
        elif shape in [(n * d_model, d_model) for n in (1, 2, 3)]:
            for part in matrix.split(d_model):
                square += 1
                add(f"square matrix {square}", part)
                no_bias_yet.append((f"its bias {square}", d_model))
        else:
            raise ValueError(f"expected matrices between vectors of d_model and of d_ff, got {shape} in {kind}")

    def add_vector(vector: Tensor, kind: str, no_bias_yet: list[tuple[str, int]]) -> None:
        nonlocal norm
        waiting = [one for one in no_bias_yet if one[1] == vector.numel()]
        if vector.numel() == d_model and (vector == 1).all():
            norm += 1
            add(f"the gain of norm {norm}", vector)
        elif waiting:
            no_bias_yet.remove(waiting[0])
            add(waiting[0][0], vector)
        elif vector.numel() in (2 * d_model, 3 * d_model):
            for part in vector.split(d_model):
                add_vector(part, kind, no_bias_yet)
        elif vector.numel() == d_model:
            add(f"the bias of norm {norm}", vector)
        else:
            raise ValueError(f"expected a bias for each matrix, got {vector.numel()} more numbers in {kind}")

    kinds = {id(p): type(part).__name__ for part in layer.modules() for p in part.parameters(recurse=False)}
    turned: set[int] = set()
    bare_without_bias: list[tuple[str, int]] = []
    with torch.enable_grad():  # without gradients PyTorch's layers may take a short cut past their parts
        parts = in_order(_holders(layer), run_once, bare_parameters(layer), turned)
    for part in parts:
        if isinstance(part, nn.Parameter):
            weight, kind = part.squeeze(), kinds[id(part)]
            if weight.dim() < 2:
                add_vector(weight, kind, bare_without_bias)
            else:
                add_matrix(weight if id(part) in turned else weight.mT, kind, bare_without_bias)
            continue
        (matrices, vectors), kind = _weights_of(part), type(part).__name__
        without_bias: list[tuple[str, int]] = []
        for matrix in matrices:
            add_matrix(matrix, kind, without_bias)
        if not matrices and sorted(bool((vector == 1).all()) for vector in vectors) != [False, True]:
            raise ValueError(f"expected one gain and one bias in {kind}, got {len(vectors)} vectors")
        for vector in vectors if matrices else sorted(vectors, key=lambda vector: not (vector == 1).all()):
            add_vector(vector, kind, without_bias)
    return found


def _weights_of(part: nn.Module) -> tuple[list[Tensor], list[Tensor]]:
    """The matrices and the vectors that one part holds itself, each as a view without axes of size 1."""
    if isinstance(part, nn.MultiheadAttention):
        out = part.out_proj
        return [*part.in_proj_weight.chunk(3), out.weight], [*part.in_proj_bias.chunk(3), out.bias]
    views = [parameter.squeeze() for parameter in part.parameters(recurse=False)]
    return [view for view in views if view.dim() > 1], [view for view in views if view.dim() < 2]


def _holders(module: nn.Module) -> list[nn.Module]:
    """The parts that hold weights of their own, without those whose weights are bare matrices."""
    if isinstance(module, nn.MultiheadAttention):
        return [module]
    own = list(module.parameters(recurse=False))
    held = [module] if own and (isinstance(module, LINEAR) or all(p.squeeze().dim() < 2 for p in own)) else []
    return held + [part for child in module.children() for part in _holders(child)]
