import torch
from torch import nn

from course_lib.encoder import FeedForward
from course_practice.assembly.modules import module_of
from course_practice.engine import Exercise, case
from course_practice.exercises.encoder._modules import fill_feed_forward
from course_practice.exercises.inputs import randn


def as_a_sequence(d_model, d_ff, activation="relu"):
    middle = {"relu": nn.ReLU(), "gelu": nn.GELU()}[activation]
    return nn.Sequential(nn.Linear(d_model, d_ff), middle, nn.Linear(d_ff, d_model))


@torch.no_grad()
def _made(obj, given):
    """Build it, and give its parameters fixed numbers."""
    made = obj(*given.args, **given.kwargs)
    if made is None:
        return None
    module = module_of(made).eval()
    if not any(True for _ in module.parameters()):
        raise ValueError("expected a module with parameters, got none: assign its layers to self")
    d_model, d_ff = given.args[:2]
    fill_feed_forward(module, d_model, d_ff)
    return module


@torch.no_grad()
def _call(obj, given):
    """Run it on two sentences of five tokens."""
    module = _made(obj, given)
    return None if module is None else module(randn(2, 5, given.args[0], seed=7))


def _trained(obj, given):
    module, x = _made(obj, given), randn(2, 5, given.args[0], seed=7).requires_grad_()
    return module(x), {"x": x, "the parameters": module}


EXERCISE = Exercise(
    reference=FeedForward,
    call=_call,
    cases=lambda: [
        case(2, 3, about="2 features, 3 hidden ones; x (2, 5, 2) is random"),
        case(4, 16, about="four times as wide inside"),
        case(3, 7, "gelu", about="with GELU"),
        case(6, 5, about="narrower inside"),
    ],
    alternatives=(as_a_sequence,),
    trained=_trained,
)
