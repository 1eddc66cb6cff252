"""What residuals and norms do to the training of deep stacks: how well each way learns to reverse eight symbols.

    python -m experiments.layer_norm_depth

Ten symbols, fresh data at every update, batches of 32, Adam. An arm is a way to join the sublayers with its depth,
initial weights, size of the input, and updates. Two seeds choose its learning rate, on a grid of about 1.6, by the
mean loss on 512 new sequences, and ten other seeds give its results at that rate. The same ten are measured before
training: do the tokens differ at the end, and what does the gradient at the input tell? About nine minutes on one core.
"""

import torch
from torch import nn
from torch.func import functional_call, vmap
from torch.nn import functional as F

from course_lib.layer_norm import LayerNorm
from course_lib.modern import RMSNorm
from course_lib.multi_head import MultiHeadAttention
from course_lib.positional_encoding import SinusoidalPositions
from course_lib.reproducible import make_reproducible
from experiments import store

N_WORDS, SEQ_LEN, D_MODEL = 10, 8, 32
RATES = [0.00025, 0.0004, 0.00063, 0.001, 0.0016, 0.0025, 0.004, 0.0063, 0.01, 0.016, 0.025]
FIRST = RATES[4:9]  # these are tried in any case
CHOOSING, SEEDS = [10, 11], list(range(10))
ORDER = [3, 0, 6, 1, 7, 2, 5, 4]  # another order of the targets

WAYS = {
    "plain": lambda x, f, norm, gamma: f(x),
    "norm only": lambda x, f, norm, gamma: f(norm(x)),
    "residual only": lambda x, f, norm, gamma: x + f(x),
    "pre-norm": lambda x, f, norm, gamma: x + f(norm(x)),
    "post-norm": lambda x, f, norm, gamma: norm(x + f(x)),
    "gamma": lambda x, f, norm, gamma: x + gamma * f(x),
    # the residual in one direction alone: its sum, or its gradient
    "norm only, residual back": lambda x, f, norm, gamma: f(norm(x)) + (x - x.detach()),
    "pre-norm, none back": lambda x, f, norm, gamma: x.detach() + f(norm(x)),
}
ARM = {"depth": 6, "weights": "PyTorch", "input": 1, "scores": 1, "steps": 150, "changed": ""}


class SelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = MultiHeadAttention(D_MODEL, n_heads=2)

    def forward(self, x):
        return self.attention(x, x, x)[0]


class OwnToken(SelfAttention):
    """The same matrices, but each token attends to itself alone."""

    def forward(self, x):
        return self.attention.w_o(self.attention.w_v(x))


def network():
    return nn.Sequential(nn.Linear(D_MODEL, 2 * D_MODEL), nn.ReLU(), nn.Linear(2 * D_MODEL, D_MODEL))


class Stack(nn.Module):
    """Reverses symbols with `depth` layers; each is a self-attention and a network, joined in the given way."""

    def __init__(self, way, depth, norm=LayerNorm, attention=SelfAttention):
        super().__init__()
        self.way = WAYS[way]
        self.word = nn.Embedding(N_WORDS, D_MODEL)
        self.positions = SinusoidalPositions(D_MODEL)
        kinds = [SelfAttention, network] + (depth - 1) * [attention, network]
        self.sublayers = nn.ModuleList(make() for make in kinds)
        self.norms = nn.ModuleList(norm(D_MODEL) for _ in kinds)
        self.gammas = nn.ParameterList(torch.zeros(()) for _ in kinds)
        self.last = norm(D_MODEL) if way.startswith("pre-norm") else nn.Identity()
        self.to_logits = nn.Linear(D_MODEL, N_WORDS)

    def through(self, x):
        for f, norm, gamma in zip(self.sublayers, self.norms, self.gammas, strict=True):
            x = self.way(x, f, norm, gamma)
        return x

    def forward(self, ids):
        x = self.through(self.positions(self.word(ids)))
        return self.to_logits(self.last(x))


@torch.no_grad()
def made(arm, seed):
    """The stack of an arm before its first update."""
    make_reproducible(seed)
    norm = RMSNorm if arm["changed"] == "RMSNorm" else LayerNorm
    attention = OwnToken if arm["changed"] == "means in layer 1 alone" else SelfAttention
    model = Stack(arm["way"], arm["depth"], norm, attention)
    if arm["weights"] == "Xavier":
        for parameter in model.sublayers.parameters():
            if parameter.dim() == 2:
                nn.init.xavier_uniform_(parameter)
            else:
                nn.init.zeros_(parameter)
    model.word.weight *= arm["input"]
    model.positions.table *= arm["input"]
    for f in model.sublayers[::2]:
        for linear in (f.attention.w_q, f.attention.w_k):
            linear.weight *= arm["scores"]
            linear.bias *= arm["scores"]
        if arm["changed"] == "W_O / 3":
            f.attention.w_o.weight /= 3
    for f in model.sublayers[1::2]:
        if arm["changed"] == "W_2 / 3":
            f[2].weight /= 3
    if arm["changed"] == "no last norm":
        model.last = nn.Identity()
    return model


def symbols(batch, generator):
    return torch.randint(N_WORDS, (batch, SEQ_LEN), generator=generator)


def train(arm, cases):
    """Loss and accuracy for each (rate, seed). All train at once: a row of `flat` holds the weights of one model."""
    models = [made(arm, seed) for _rate, seed in cases]
    shapes = {name: parameter.shape for name, parameter in models[0].named_parameters()}
    flat = torch.stack([nn.utils.parameters_to_vector(model.parameters()) for model in models]).detach()
    rates = torch.tensor([[rate] for rate, _seed in cases], dtype=flat.dtype)
    generators = [torch.Generator().manual_seed(seed) for _rate, seed in cases]
    first, second = torch.zeros_like(flat), torch.zeros_like(flat)

    def logits_of(weights, ids):
        parts = weights.split([shape.numel() for shape in shapes.values()])
        named = {name: part.view(shape) for part, (name, shape) in zip(parts, shapes.items(), strict=True)}
        return functional_call(models[0], named, (ids,))

    for step in range(1, arm["steps"] + 1):
        ids = torch.stack([symbols(32, generator) for generator in generators])
        flat.requires_grad_()
        logits = vmap(logits_of)(flat, ids)
        losses = F.cross_entropy(logits.flatten(0, 2), ids.flip(2).flatten(), reduction="none")
        (slope,) = torch.autograd.grad(losses.view(len(cases), -1).mean(dim=1).sum(), flat)
        first = 0.9 * first + 0.1 * slope
        second = 0.98 * second + 0.02 * slope.square()
        direction = first / (1 - 0.9**step) / ((second / (1 - 0.98**step)).sqrt() + 1e-8)
        flat = flat.detach() - rates * direction

    ids = symbols(512, torch.Generator().manual_seed(1000))
    found = []
    for weights in flat:
        logits = logits_of(weights, ids)
        right = logits.argmax(dim=-1) == ids.flip(1)
        found.append((F.cross_entropy(logits.mT, ids.flip(1)).item(), right.double().mean().item()))
    return found


def choose(arm):
    """The mean loss of two seeds at each rate that was tried: more rates, until the best one lies between others."""
    tried = {}
    new = FIRST
    while new:
        found = train(arm, [(rate, seed) for rate in new for seed in CHOOSING])
        means = torch.tensor([loss for loss, _accuracy in found]).view(len(new), len(CHOOSING)).mean(dim=1)
        tried |= dict(zip(new, means.nan_to_num(torch.inf).tolist(), strict=True))
        best = RATES.index(min(tried, key=tried.get))
        beside = RATES[max(best - 1, 0) : best + 2]
        new = [rate for rate in beside if rate not in tried]
    return {rate: tried[rate] for rate in sorted(tried)}


def before(arm):
    """The stacks of ten seeds before training: the variety of the tokens at the end of the way forward, the length of
    the gradient at the input, and the share of it that another order of the targets changes."""
    found = {"variety": [], "length": [], "order": []}
    for seed in SEEDS:
        model = made(arm, seed).double()
        ids = symbols(32, torch.Generator().manual_seed(seed))
        x = model.positions(model.word(ids)).detach().requires_grad_()
        end = model.through(x)
        logits = model.to_logits(model.last(end)).mT
        right, other = (
            torch.autograd.grad(F.cross_entropy(logits, targets), x, retain_graph=True)[0]
            for targets in (ids.flip(1), ids.flip(1)[:, ORDER])
        )
        differ = (end - end.mean(dim=1, keepdim=True)).square().sum(dim=(1, 2)) / end.square().sum(dim=(1, 2))
        found["variety"].append(differ.mean().item())
        found["length"].append(right.norm().item())
        found["order"].append(((right - other).norm() / right.norm()).item())
    return {what: [float(f"{number:.3g}") for number in numbers] for what, numbers in found.items()}


def run(arm):
    """Choose the rate with two seeds, then train ten others at it."""
    tried = choose(arm)
    best = min(tried, key=tried.get)
    found = train(arm, [(best, seed) for seed in SEEDS])
    return arm | {
        "rate": best,
        "tried": [[rate, float(f"{loss:.3g}")] for rate, loss in tried.items()],
        "loss": [float(f"{loss:.3g}") for loss, _accuracy in found],
        "accuracy": [round(accuracy, 3) for _loss, accuracy in found],
        "before": before(arm),
    }


def plan():
    """Every arm: what is to blame in four layers, what in six, and which ways learn there."""
    short = {"steps": 200}
    four = "plain", "norm only", "residual only", "pre-norm", "norm only, residual back", "pre-norm, none back"
    arms = [{"way": way, "depth": 4, **short} for way in four]
    arms += [{"way": "norm only", "depth": 4, "changed": "means in layer 1 alone", **short}]
    xavier, loud = {"weights": "Xavier"}, {"input": 10}
    arms += [
        {"way": "residual only", **start}
        for start in (
            {},
            loud,
            {**loud, "scores": 0.1},
            xavier,
            {**xavier, "scores": 0.1},
            {**xavier, "changed": "W_O / 3"},
            {**xavier, "changed": "W_2 / 3"},
        )
    ]
    arms += [{"way": way, **start} for start in (xavier, loud) for way in ("post-norm", "pre-norm", "gamma")]
    arms += [{"way": "pre-norm", **xavier, "changed": "RMSNorm"}, {"way": "post-norm", **xavier, "steps": 500}]
    arms += [{"way": "pre-norm", **xavier, "changed": "no last norm"}, {"way": "gamma", **loud, "scores": 0.1}]
    return [ARM | arm for arm in arms]


def main():
    torch.set_num_threads(1)
    rows = []
    for arm in plan():
        rows.append(run(arm))
        print(rows[-1], flush=True)
    store(__file__, seeds=SEEDS, choosing=CHOOSING, rows=rows)


if __name__ == "__main__":
    main()
