"""The optimizers against PyTorch's own, and Muon's update against the singular value decomposition it stands for."""

import math

import pytest
import torch
from torch import nn

from course_lib.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.training.optimizers import Optimizers, hidden_matrices
from course_lib.transformer import Transformer, TransformerConfig

CONFIG = TransformerConfig(vocab_size=13, d_model=8, n_heads=2, d_ff=20, n_layers=2)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.hidden, self.output = nn.Embedding(7, 5), nn.Linear(5, 11), nn.Linear(11, 7)

    def forward(self, ids):
        return self.output(self.hidden(self.embedding(ids)).tanh())


def net(seed=0):
    torch.manual_seed(seed)
    return Net()


def train(model, optimizers, steps):
    for step in range(steps):
        ids = torch.arange(7).roll(step)
        nn.functional.cross_entropy(model(ids), (ids * 3) % 7).backward()
        optimizers.step()
        optimizers.zero_grad()


def test_adamw_is_pytorchs():
    ours, theirs = net(), net()
    optimizers = Optimizers(ours, "adamw", weight_decay=0.1)
    optimizers.set_rate(0.01)
    train(ours, optimizers, 5)
    reference = torch.optim.AdamW(theirs.parameters(), lr=0.01, betas=(0.9, 0.98), eps=1e-9, weight_decay=0.1)
    train(theirs, reference, 5)
    for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(mine, other, rtol=0, atol=1e-6)


def test_muon_makes_all_singular_values_of_an_update_alike():
    """Gradient = U S Vᵀ; the update is about U Vᵀ times 0.2 √(longer side). Five iterations reach 0.6 … 1.3 of it."""
    model, rate = net(), 0.01
    optimizers = Optimizers(model, "muon", weight_decay=0.0)
    optimizers.set_rate(rate)
    before = model.hidden.weight.detach().clone()
    ids = torch.arange(7)
    nn.functional.cross_entropy(model(ids), (ids * 3) % 7).backward()
    u, s, vh = torch.linalg.svd(model.hidden.weight.grad, full_matrices=False)
    assert s.max() / s.min() > 3  # the gradient itself is far from that
    optimizers.step()
    update = (before - model.hidden.weight.detach()) / (rate * 0.2 * math.sqrt(11))
    inside = u.T @ update @ vh.T  # diagonal in the gradient's own axes
    assert (inside - inside.diag().diag()).abs().max() < 0.05
    assert 0.6 < inside.diag().min() < inside.diag().max() < 1.3


def test_muon_leaves_the_rest_to_adamw():
    ours, theirs = net(), net()
    ours.hidden.weight.requires_grad_(False)
    optimizers = Optimizers(ours, "muon", weight_decay=0.1)
    optimizers.set_rate(0.01)
    train(ours, optimizers, 3)
    theirs.hidden.weight.requires_grad_(False)
    others = [parameter for parameter in theirs.parameters() if parameter.requires_grad]
    reference = torch.optim.AdamW(others, lr=0.01, betas=(0.9, 0.98), eps=1e-9, weight_decay=0.1)
    train(theirs, reference, 3)
    for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(mine, other, rtol=0, atol=1e-6)


def test_hidden_matrices_of_the_transformer():
    """4 matrices an attention, 2 a feed-forward layer: the tied embedding and the output layer are none of them."""
    model = Transformer(CONFIG)
    found = {id(weight) for weight in hidden_matrices(model)}
    assert len(found) == 2 * (4 + 2) + 2 * (4 + 4 + 2)
    assert id(model.output.weight) not in found
    assert id(model.src_embedding.tokens.weight) not in found


def test_a_shared_matrix_is_updated_once():
    model = net()
    model.again = model.hidden
    assert len(hidden_matrices(model)) == 1


@pytest.mark.parametrize("name", ["adamw", "muon"])
def test_going_on_from_a_saved_state(name):
    whole, first = net(), net()
    optimizers = Optimizers(whole, name, weight_decay=0.1)
    optimizers.set_rate(0.01)
    train(whole, optimizers, 2)
    train(whole, optimizers, 3)
    optimizers = Optimizers(first, name, weight_decay=0.1)
    optimizers.set_rate(0.01)
    train(first, optimizers, 2)
    second = net(seed=1)
    second.load_state_dict(first.state_dict())
    resumed = Optimizers(second, name, weight_decay=0.1)
    resumed.load_state_dict(optimizers.state_dict())
    train(second, resumed, 3)
    assert all(map(torch.equal, second.parameters(), whole.parameters()))


def first(states):
    """What the last optimizer remembers of its first parameter; Muon's, where there are two."""
    return states[-1]["state"][0]


CHANGES = {
    "one number": lambda old: torch.zeros(1),
    "none": lambda old: torch.zeros(0),
    "a row less": lambda old: old[1:],
    "the other way round": lambda old: old.T,
    "an axis more": lambda old: old[None],
    "double": lambda old: old.double(),
    "half": lambda old: old.bfloat16(),
    "whole": lambda old: old.int(),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(("name", "part"), [("adamw", "exp_avg"), ("adamw", "exp_avg_sq"), ("muon", "momentum_buffer")])
def test_what_was_remembered_of_other_shapes_is_refused_before_an_update(name, part, change):
    """The fused update would write behind it."""
    train(model := net(), optimizers := Optimizers(model, name, weight_decay=0.1), 1)
    states = optimizers.state_dict()
    first(states)[part] = CHANGES[change](first(states)[part])
    words = rf"expected {part} as \(\d+, \d+\), torch.float32 of parameter 0, got \("
    with pytest.raises(ValueError, match=words):
        Optimizers(net(), name, weight_decay=0.1).load_state_dict(states)


@pytest.mark.parametrize("step", [torch.zeros(7), torch.tensor(1), torch.zeros(0)])
def test_the_number_of_updates_is_one_number(step):
    train(model := net(), optimizers := Optimizers(model, "adamw", weight_decay=0.1), 1)
    states = optimizers.state_dict()
    first(states)["step"] = step
    with pytest.raises(ValueError, match=r"expected step as \(\), torch.float32 of parameter 0, got \("):
        Optimizers(net(), "adamw", weight_decay=0.1).load_state_dict(states)


def test_what_another_optimizer_remembers_is_refused():
    train(model := net(), optimizers := Optimizers(model, "adamw", weight_decay=0.1), 1)
    states = optimizers.state_dict()
    with pytest.raises(ValueError, match="expected what was remembered of"):
        Optimizers(net(), "muon", weight_decay=0.1).load_state_dict(states)
    del first(states)["exp_avg"]
    with pytest.raises(ValueError, match="expected another optimizer, got step, exp_avg_sq of a parameter"):
        Optimizers(net(), "adamw", weight_decay=0.1).load_state_dict(states)
    with pytest.raises(ValueError, match="expected what was remembered of 2 parameters, got others"):
        Optimizers(nn.Linear(5, 11), "adamw", weight_decay=0.1).load_state_dict(optimizers.state_dict())


def test_memory_laid_out_otherwise_is_taken_over_as_the_parameters_are():
    """Numbers that share their memory, or stand in another order: the update would mix them up, or write behind."""
    states, found = [], []
    for change in (torch.clone, lambda old: old.T.contiguous().T):
        train(model := net(), optimizers := Optimizers(model, "adamw", weight_decay=0.1), 2)
        states = optimizers.state_dict()
        first(states)["exp_avg"] = change(first(states)["exp_avg"])
        again = Optimizers(model, "adamw", weight_decay=0.1)
        again.load_state_dict(states)
        train(model, again, 2)
        found.append([parameter.detach().clone() for parameter in model.parameters()])
    assert all(map(torch.equal, *found))
    first(states)["exp_avg"] = torch.zeros(1, 1).expand(7, 5)
    again.load_state_dict(states)
    assert again.state_dict()[0]["state"][0]["exp_avg"].stride() == (5, 1)


@pytest.mark.parametrize("name", ["adamw", "muon"])
def test_every_parameter_of_every_model_moves(name):
    src, tgt = torch.tensor([[4, 5, 2]]), torch.tensor([[1, 6, 7]])
    for model in (Transformer(CONFIG), Seq2Seq(Seq2SeqConfig(13, 8, attention=True))):
        optimizers = Optimizers(model, name, weight_decay=0.0)
        optimizers.set_rate(0.1)
        before = {key: value.clone() for key, value in model.state_dict().items()}
        model(src, tgt).logsumexp(-1).sum().backward()
        moved = {key for key, value in model.named_parameters() if value.grad is not None and value.grad.any()}
        optimizers.step()
        after = model.state_dict()
        assert moved
        assert not [key for key in moved if torch.equal(before[key], after[key])]


def test_unknown_name():
    with pytest.raises(ValueError, match="expected optimizer 'adamw' or 'muon', got 'sgd': choose one of them"):
        Optimizers(net(), "sgd", weight_decay=0.0)
