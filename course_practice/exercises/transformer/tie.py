from typing import NamedTuple

import torch
from torch import nn

from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn


def tie(model):
    """The model, with one matrix for its src_embedding, tgt_embedding, and output."""
    model.tgt_embedding.weight = model.src_embedding.weight
    model.output.weight = model.src_embedding.weight
    return model


def one_embedding_for_both(model):
    model.tgt_embedding = model.src_embedding
    model.output.weight = model.tgt_embedding.weight
    return model


class _Sizes(NamedTuple):
    """How large the model of a case is; the model itself is made anew for every run."""

    vocab_size: int
    d_model: int

    def __repr__(self):
        return f"<a model with {self.vocab_size} words and {self.d_model} features>"


class _Words(nn.Module):
    """Two embeddings and an output layer with the same numbers in all three matrices."""

    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.src_embedding = nn.Embedding(vocab_size, d_model)
        self.tgt_embedding = nn.Embedding(vocab_size, d_model)
        self.output = nn.Linear(d_model, vocab_size, bias=False)
        for part in (self.src_embedding, self.tgt_embedding, self.output):
            part.weight.data = randn(vocab_size, d_model)

    def forward(self, src, tgt):
        return self.output(self.src_embedding(src).mean(dim=1, keepdim=True) + 2 * self.tgt_embedding(tgt))


@torch.no_grad()
def _tied_and_changed(obj, given):
    """How many numbers are trained, in words, because a message shows them; and the logits after each parameter was
    changed; then again with other weights loaded."""
    vocab_size, d_model = given.args[0]
    model = obj(_Words(vocab_size, d_model))
    if model is None:
        return None
    if isinstance(model.output, nn.Embedding):
        raise TypeError(
            "expected `model.output` to stay a layer that multiplies, got an Embedding, which looks up ids: share the "
            "weight, not the module"
        )
    if any(isinstance(part, nn.Linear) for part in (model.src_embedding, model.tgt_embedding)):
        raise TypeError(
            "expected the embeddings to stay embeddings, which look up ids, got a Linear, which multiplies: share the "
            "weight, not the module"
        )
    src, tgt = torch.tensor([[1, 2, 0]]), torch.tensor([[0, 3]])
    found = []
    for load in (False, True):
        if load:
            model.load_state_dict({name: -2 * weight for name, weight in model.state_dict().items()})
        for number, parameter in enumerate(model.parameters()):
            parameter += randn(*parameter.shape, seed=number + 2)
        found.append(model(src, tgt))
    n_trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
    return f"{n_trained} numbers to train", *found


EXERCISE = Exercise(
    reference=tie,
    call=_tied_and_changed,
    cases=lambda: [
        case(_Sizes(5, 3), about="five words"),
        case(_Sizes(7, 2), about="seven words"),
        case(_Sizes(5, 5), about="as many features as words"),
    ],
    alternatives=(one_embedding_for_both,),
)
