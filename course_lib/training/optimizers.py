"""What turns gradients into updates: AdamW, or Muon for the inner matrices. `training` has the rate and its warm-up."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn

OPTIMIZERS = ("adamw", "muon")
# What each remembers of a parameter: the number of its updates, or tensors with a value for each of its numbers.
REMEMBERED = {torch.optim.AdamW: {"step", "exp_avg", "exp_avg_sq"}, torch.optim.Muon: {"momentum_buffer"}}


def hidden_matrices(model: nn.Module) -> list[nn.Parameter]:
    """The weights of the linear layers inside a model: neither embeddings nor the `output` layer, tied or not.

    >>> model = nn.ModuleDict({"embedding": nn.Embedding(5, 4), "hidden": nn.Linear(4, 3), "output": nn.Linear(3, 5)})
    >>> [tuple(weight.shape) for weight in hidden_matrices(model)]
    [(3, 4)]
    """
    tied = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}
    linear = [
        module.weight
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear) and name.split(".")[-1] != "output" and id(module.weight) not in tied
    ]
    return list({id(weight): weight for weight in linear}.values())


class Optimizers:
    """The optimizers of one model as one: `step`, `zero_grad`, a learning rate for all.

    "adamw" is Adam with decoupled weight decay. "muon" gives the hidden matrices an update whose singular values are
    all about 1, scaled to the size of an AdamW update, so that one learning rate and one weight decay serve both; the
    rest stays with AdamW. An update costs more and teaches more. Source: Loshchilov and Hutter 2019 (AdamW); Jordan
    et al. 2024 (Muon); Liu et al. 2025, section 2.2 (its scale).

    >>> model = nn.Linear(2, 1)
    >>> optimizers = Optimizers(model, "adamw", weight_decay=0.0)
    >>> optimizers.set_rate(0.1)
    >>> model(torch.ones(2)).backward()
    >>> optimizers.step()
    """

    def __init__(self, model: nn.Module, name: str, weight_decay: float):
        if name not in OPTIMIZERS:
            raise ValueError(f"expected optimizer 'adamw' or 'muon', got {name!r}: choose one of them")
        matrices = hidden_matrices(model) if name == "muon" else []
        inner = set(map(id, matrices))
        others = [parameter for parameter in model.parameters() if id(parameter) not in inner]
        self.each: list[torch.optim.Optimizer] = []
        if others:
            paper = {"lr": 0.0, "betas": (0.9, 0.98), "eps": 1e-9}
            self.each.append(torch.optim.AdamW(others, weight_decay=weight_decay, fused=True, **paper))
        if matrices:
            scale = {"lr": 0.0, "adjust_lr_fn": "match_rms_adamw"}
            self.each.append(torch.optim.Muon(matrices, weight_decay=weight_decay, **scale))

    def set_rate(self, rate: float) -> None:
        """Give every parameter this learning rate."""
        for group in chain.from_iterable(optimizer.param_groups for optimizer in self.each):
            group["lr"] = rate

    def step(self) -> None:
        """Update the parameters."""
        for optimizer in self.each:
            optimizer.step()

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for optimizer in self.each:
            optimizer.zero_grad(set_to_none=True)

    def state_dict(self) -> list[dict[str, Any]]:
        """All that the next update depends on."""
        return [optimizer.state_dict() for optimizer in self.each]

    def load_state_dict(self, states: Sequence[dict[str, Any]]) -> None:
        """Go on from what `state_dict` gave; of its settings, the learning rate is taken over.

        What was remembered of another model is refused with a ValueError. The fused update trusts its shapes: it
        would write into memory that is not its own.
        """
        loaded = [_fitting(optimizer, state) for optimizer, state in zip(self.each, states, strict=True)]
        for optimizer, state in zip(self.each, loaded, strict=True):
            optimizer.load_state_dict(state)


def _fitting(optimizer: torch.optim.Optimizer, state: dict[str, Any]) -> dict[str, Any]:
    """The state, with the optimizer's own settings, if it was remembered of the same parameters."""
    (mine,), (saved,) = optimizer.state_dict()["param_groups"], state["param_groups"]  # one group each
    parameters = dict(zip(mine["params"], optimizer.param_groups[0]["params"], strict=True))
    if saved["params"] != mine["params"] or not state["state"].keys() <= parameters.keys():
        raise ValueError(f"expected what was remembered of {len(parameters)} parameters, got others")
    copies: dict[int, dict[str, Tensor]] = {}
    for number, remembered in state["state"].items():
        if remembered.keys() != REMEMBERED[type(optimizer)]:
            raise ValueError(f"expected another optimizer, got {', '.join(remembered)} of a parameter")
        copies[number] = {}
        for name, value in remembered.items():
            like = torch.zeros((), dtype=torch.float32) if name == "step" else parameters[number]
            if (value.shape, value.dtype) != (like.shape, like.dtype):
                wanted, got = (f"{tuple(t.shape)}, {t.dtype}" for t in (like, value))
                raise ValueError(f"expected {name} as {wanted} of parameter {number}, got {got}")
            copies[number][name] = torch.empty_like(like).copy_(value)  # laid out in memory as the parameter is
    return {"state": copies, "param_groups": [mine | {"lr": float(saved["lr"])}]}
