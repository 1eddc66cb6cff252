"""Exercise: tie the three matrices."""

from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional as F

from course_practice.engine import Exercise, Mistake, case
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


def everything_is_the_outputs(model):
    for embedding in (model.src_embedding, model.tgt_embedding):
        embedding.weight = model.output.weight
    return model


def an_output_without_a_matrix(model):
    class Output(nn.Module):
        def __init__(self, embedding):
            super().__init__()
            self.embedding = embedding

        def forward(self, x):
            return F.linear(x, self.embedding.weight)

    model.tgt_embedding = model.src_embedding
    model.output = Output(model.src_embedding)
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
    """The trained numbers, and the logits after each parameter was changed; then again with other weights loaded."""
    vocab_size, d_model = given.args[0]
    model = obj(_Words(vocab_size, d_model))
    if model is None:
        return None
    if isinstance(model.output, nn.Embedding):
        raise TypeError(
            "expected `model.output` to stay a layer that multiplies, got an Embedding, which looks up ids: share the "
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
    return torch.tensor(sum(p.numel() for p in model.parameters() if p.requires_grad)), *found


def _tied(*names, how):
    """Ties these two of the three parts, or all of them, in a wrong way."""

    def tie(model):
        for name in names:
            part = getattr(model, name)
            how(part, model.src_embedding.weight)
        return model

    return tie


def _share(part, weight):
    part.weight = weight


def _clone(part, weight):
    part.weight.data = weight.data.clone()


def _new_parameter(part, weight):
    part.weight = nn.Parameter(weight.data)


def _new_copied_parameter(part, weight):
    part.weight = nn.Parameter(weight.detach().clone())


def _frozen(model):
    tie(model).src_embedding.weight.requires_grad_(False)
    return model


def _output_same_storage(model):
    _new_parameter(tie(model).output, model.src_embedding.weight)
    return model


def _source_left(model):
    _share(model.output, model.tgt_embedding.weight)
    return model


_BOTH = ("tgt_embedding", "output")

EXERCISE = Exercise(
    title="Tie the matrices",
    task="Let source embedding, target embedding, and output layer share one matrix, and return the model.",
    reference=tie,
    call=_tied_and_changed,
    cases=lambda: [
        case(_Sizes(5, 3), about="five words"),
        case(_Sizes(7, 2), about="seven words"),
        case(_Sizes(5, 5), about="as many features as words"),
    ],
    mistakes=(
        Mistake(
            "copied",
            _tied(*_BOTH, how=_clone),
            "The three matrices are equal and still three: after one update they differ. Assign the parameter itself, "
            "without a copy of its numbers.",
        ),
        Mistake(
            "same-storage",
            _tied(*_BOTH, how=_new_parameter),
            "The three share their numbers, but they are three parameters: they are counted three times, and an "
            "optimizer such as Adam keeps a state for each. Assign the parameter itself, `x.weight = y.weight`.",
        ),
        Mistake(
            "output-left",
            _tied("tgt_embedding", how=_share),
            "The two embeddings are one matrix now. The output layer still has its own, be it an equal copy.",
        ),
        Mistake(
            "target-left",
            _tied("output", how=_share),
            "The source embedding and the output layer are one matrix now. The target embedding has its own.",
        ),
        Mistake(
            "source-left",
            _source_left,
            "The target embedding and the output layer are one matrix now. The source embedding has its own.",
        ),
        Mistake(
            "output-same-storage",
            _output_same_storage,
            "The output layer shares the numbers of the embedding, but it is another parameter, counted again. Assign "
            "the parameter itself.",
        ),
        Mistake(
            "frozen",
            _frozen,
            "The matrix is shared, and no longer trained. It should learn, from all three places at once.",
        ),
    ),
    hints=(
        "Count the parameters before and after: three matrices should become one.",
        "An `nn.Embedding` and an `nn.Linear` both keep their matrix in `.weight`, here both (vocab_size, d_model). A "
        "parameter can be assigned to several modules.",
        "`model.output.weight = model.src_embedding.weight`, and the same once more.",
    ),
    alternatives=(one_embedding_for_both, everything_is_the_outputs, an_output_without_a_matrix),
    difficulty=1,
    minutes=6,
)
