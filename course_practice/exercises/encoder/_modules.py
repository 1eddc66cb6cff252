"""Give a module that a learner wrote the same numbers as the reference's, whatever its parts are called."""

import torch
from torch import Tensor, nn

from course_practice.assembly.modules import bare_parameters, gain_and_bias, in_order, is_attention, is_norm
from course_practice.assembly.weights import weights_by_role
from course_practice.exercises.inputs import randn


@torch.no_grad()
def fill_feed_forward(module: nn.Module, d_model: int, d_ff: int, seed: int = 0) -> None:
    """Numbers for W_1, b_1, W_2 and b_2 outside attentions and norms, which are told apart by their shapes.

    A bare matrix is taken as it stands in `x @ w`, and one row more is its bias; those of linear layers and
    convolutions are stored transposed. What has another shape gets one number throughout, so that nothing is left to
    chance.
    """
    w_1, b_1, w_2, b_2 = _numbers_of_network(d_model, d_ff, seed)
    bare = [w_1, w_2]
    for owner in _outside(module):
        for parameter in owner.parameters(recurse=False):
            size = tuple(n for n in parameter.shape if n > 1 or parameter.dim() == 1)
            if parameter.dim() == 1:
                wanted = {(d_ff,): b_1, (d_model,): b_2}.get(size)
            elif isinstance(owner, nn.Linear | nn.modules.conv._ConvNd):
                wanted = {(d_ff, d_model): w_1.T, (d_model, d_ff): w_2.T}.get(size)
            elif size in ((d_model + 1, d_ff), (d_ff + 1, d_model)):
                w, b = (w_1, b_1) if size[1] == d_ff else (w_2, b_2)
                wanted = torch.cat([w, b[None]])
            else:
                number = next((i for i, w in enumerate(bare) if sorted(w.shape) == sorted(size)), None)
                matrix = bare.pop(number) if number is not None else None
                wanted = matrix if matrix is None or matrix.shape == size else matrix.T
            if wanted is None:
                parameter.fill_(0.5)
            else:
                parameter.copy_(wanted.reshape(parameter.shape))


def _outside(module: nn.Module) -> list[nn.Module]:
    """The module and all its parts, without attentions, norms, and what is inside of them."""
    if is_attention(module) or is_norm(module):
        return []
    return [module, *(part for child in module.children() for part in _outside(child))]


def _numbers_of_network(d_model: int, d_ff: int, seed: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """W_1, b_1, W_2, and b_2, as the formula x W_1 + b_1 has them."""
    w_1, b_1 = randn(d_model, d_ff, seed=seed + 1, scale=d_model**-0.5), randn(d_ff, seed=seed + 2, scale=0.5)
    return w_1, b_1, randn(d_ff, d_model, seed=seed + 3, scale=d_ff**-0.5), randn(d_model, seed=seed + 4, scale=0.5)


@torch.no_grad()
def fill_layer(module: nn.Module, run_once, d_model: int, d_ff: int, seed: int = 0) -> None:
    """Numbers for an encoder layer: its norms are told apart by which of them runs first."""
    if any(parameter.squeeze().shape[:1] == parameter.squeeze().shape[1:] for parameter in bare_parameters(module)):
        _fill_by_role(weights_by_role(module, run_once, d_model, d_ff), d_model, d_ff, seed)
        return
    fill_feed_forward(module, d_model, d_ff, seed)
    for attention in filter(is_attention, module.modules()):
        _fill_attention(attention, d_model, seed)
    _fill_own_attention(module, run_once, d_model, seed)
    for number, norm in enumerate(in_order(filter(is_norm, module.modules()), run_once)):
        gain, bias = gain_and_bias(norm)
        gain.copy_(1 + randn(d_model, seed=seed + 20 + number, scale=0.3))
        bias.copy_(randn(d_model, seed=seed + 30 + number, scale=0.3))


def _fill_by_role(weights: dict[str, Tensor], d_model: int, d_ff: int, seed: int) -> None:
    """The same numbers for a layer in which attention is made of bare matrices."""
    network, matrices_and_biases = _numbers_of_network(d_model, d_ff, seed), _numbers_of_attention(d_model, seed)
    numbers = dict(zip(("W_1", "b_1", "W_2", "b_2"), network, strict=True))
    for i, (matrix, bias) in enumerate(zip(*matrices_and_biases, strict=True), start=1):
        numbers |= {f"square matrix {i}": matrix, f"its bias {i}": bias}
    for i in (1, 2):
        numbers[f"the gain of norm {i}"] = 1 + randn(d_model, seed=seed + 19 + i, scale=0.3)
        numbers[f"the bias of norm {i}"] = randn(d_model, seed=seed + 29 + i, scale=0.3)
    for name, weight in weights.items():
        if name in numbers:
            weight.copy_(numbers[name].T if name in ("W_1", "W_2") else numbers[name])


def _numbers_of_attention(d_model: int, seed: int) -> tuple[list[Tensor], list[Tensor]]:
    """Matrices and biases for W_Q, W_K, W_V, and W_O."""
    matrices = [randn(d_model, d_model, seed=seed + 10 + i, scale=1.5 * d_model**-0.5) for i in range(4)]
    return matrices, [randn(d_model, seed=seed + 15 + i, scale=0.3) for i in range(4)]


def _fill_own_attention(module: nn.Module, run_once, d_model: int, seed: int) -> None:
    """Numbers for an attention that the learner wrote out of linear layers: four, or one for Q, K, V and one for O.

    Four are told apart by the letter in their names, or else by the order in which they run.
    """
    if any(map(is_attention, module.modules())):
        return
    matrices, biases = _numbers_of_attention(d_model, seed)
    linears = {name: part for name, part in module.named_modules() if isinstance(part, nn.Linear)}
    square = {name: part for name, part in linears.items() if part.weight.shape == (d_model, d_model)}
    packed = [part for part in linears.values() if part.weight.shape == (3 * d_model, d_model)]
    if len(square) == 4:
        named = [[part for name, part in square.items() if letter in name.split(".")[-1].lower()] for letter in "qkv"]
        four = [found[0] for found in named if len(found) == 1]
        four += [part for part in square.values() if all(part is not other for other in four)]
        if len({id(part) for part in four[:3]}) < 3 or any(len(found) != 1 for found in named):
            four = in_order(square.values(), run_once)
        parts = list(zip(four, matrices, biases, strict=True))
    elif len(square) == len(packed) == 1:
        parts = [(packed[0], *map(torch.cat, (matrices[:3], biases[:3]))), (*square.values(), matrices[3], biases[3])]
    else:
        return
    for linear, matrix, bias in parts:
        linear.weight.copy_(matrix)
        if linear.bias is not None:
            linear.bias.copy_(bias)


def _fill_attention(attention: nn.Module, d_model: int, seed: int) -> None:
    matrices, biases = _numbers_of_attention(d_model, seed)
    if isinstance(attention, nn.MultiheadAttention):
        attention.in_proj_weight.copy_(torch.cat(matrices[:3]))
        attention.in_proj_bias.copy_(torch.cat(biases[:3]))
        linears = [attention.out_proj]
    else:
        linears = [attention.w_q, attention.w_k, attention.w_v, attention.w_o]
    for linear, matrix, bias in zip(linears, matrices[-len(linears) :], biases[-len(linears) :], strict=True):
        linear.weight.copy_(matrix)
        if linear.bias is not None:
            linear.bias.copy_(bias)
