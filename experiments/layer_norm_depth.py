"""What residuals and norms do to the training of deep stacks: how well each way learns to reverse eight symbols.

    python -m experiments.layer_norm_depth

Ten symbols, fresh data at every update, batches of 32, Adam without a warm-up. A row gives loss and accuracy on 512 new
sequences. First four ways at three depths, then six layers with PyTorch's and with Xavier's initial weights over five
rates, then the controls: longer trainings, a norm that does not subtract the mean. Every training is
repeated with three seeds. About six minutes on one core.
"""

from concurrent.futures import ProcessPoolExecutor

import torch
from torch import nn
from torch.func import functional_call, grad, stack_module_state, vmap
from torch.nn import functional as F

from course_lib.layer_norm import LayerNorm
from course_lib.modern import RMSNorm
from course_lib.multi_head import MultiHeadAttention
from course_lib.positional_encoding import SinusoidalPositions
from course_lib.reproducible import make_reproducible
from experiments import store

N_WORDS, SEQ_LEN, D_MODEL = 10, 8, 32
SEEDS = [0, 1, 2]

WAYS = {
    "plain": lambda x, f, norm, gamma: f(x),
    "norm only": lambda x, f, norm, gamma: f(norm(x)),
    "residual only": lambda x, f, norm, gamma: x + f(x),
    "pre-norm": lambda x, f, norm, gamma: x + f(norm(x)),
    "post-norm": lambda x, f, norm, gamma: norm(x + f(x)),
    "gamma": lambda x, f, norm, gamma: x + gamma * f(x),
}


class SelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = MultiHeadAttention(D_MODEL, n_heads=2)

    def forward(self, x):
        return self.attention(x, x, x)[0]


def network():
    return nn.Sequential(nn.Linear(D_MODEL, 2 * D_MODEL), nn.ReLU(), nn.Linear(2 * D_MODEL, D_MODEL))


class Stack(nn.Module):
    """Reverses symbols with `depth` layers; each is a self-attention and a network, joined in the given way."""

    def __init__(self, way, depth, xavier=False, norm=LayerNorm):
        super().__init__()
        self.way = WAYS[way]
        self.word = nn.Embedding(N_WORDS, D_MODEL)
        self.positions = SinusoidalPositions(D_MODEL)
        self.sublayers = nn.ModuleList(make() for _ in range(depth) for make in (SelfAttention, network))
        self.norms = nn.ModuleList(norm(D_MODEL) for _ in self.sublayers)
        self.gammas = nn.ParameterList(torch.zeros(()) for _ in self.sublayers)
        self.last = norm(D_MODEL) if way == "pre-norm" else nn.Identity()
        self.to_logits = nn.Linear(D_MODEL, N_WORDS)
        if xavier:
            for parameter in self.sublayers.parameters():
                if parameter.dim() == 2:
                    nn.init.xavier_uniform_(parameter)
                else:
                    nn.init.zeros_(parameter)

    def forward(self, ids):
        x = self.positions(self.word(ids))
        for f, norm, gamma in zip(self.sublayers, self.norms, self.gammas, strict=True):
            x = self.way(x, f, norm, gamma)
        return self.to_logits(self.last(x))


def symbols(batch, generator):
    return torch.randint(N_WORDS, (batch, SEQ_LEN), generator=generator)


def losses(model, params, ids):
    """The loss of one model on one batch; `params` are its own."""
    logits = functional_call(model, params, (ids,))
    return F.cross_entropy(logits.mT, ids.flip(1)), logits


def train(model, params, seeds, rates, steps, warmup=0):
    """Adam for many models at once, along the first axis of every parameter: each with its own data and its rate."""
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    gradient = vmap(grad(lambda params, ids: losses(model, params, ids)[0]))
    first, second = ({name: torch.zeros_like(p) for name, p in params.items()} for _ in range(2))
    for step in range(1, steps + 1):
        ids = torch.stack([symbols(32, generator) for generator in generators])
        for name, slope in gradient(params, ids).items():
            first[name] = 0.9 * first[name] + 0.1 * slope
            second[name] = 0.98 * second[name] + 0.02 * slope.square()
            direction = first[name] / (1 - 0.9**step) / ((second[name] / (1 - 0.98**step)).sqrt() + 1e-8)
            rate = torch.tensor(rates, dtype=slope.dtype).view(-1, *[1] * (slope.dim() - 1))
            params[name] = params[name] - rate * min(1, step / (warmup or 1)) * direction


def run(way, depth, rates, steps, weights="PyTorch", warmup=0, norm="LayerNorm"):
    """One row for each rate and seed; all of them are trained at once."""
    torch.set_num_threads(1)
    models = []
    kind = {"LayerNorm": LayerNorm, "RMSNorm": RMSNorm}[norm]
    cases = [(rate, seed) for rate in rates for seed in SEEDS]
    for _rate, seed in cases:
        make_reproducible(seed)
        models.append(Stack(way, depth, weights == "Xavier", kind).double())
    params = {name: p.detach() for name, p in stack_module_state(models)[0].items()}
    train(models[0], params, [seed for _rate, seed in cases], [rate for rate, _seed in cases], steps, warmup)
    ids = symbols(512, torch.Generator().manual_seed(1000))
    setting = {"way": way, "depth": depth, "weights": weights, "norm": norm, "steps": steps, "warmup": warmup}
    rows = []
    for number, (rate, seed) in enumerate(cases):
        loss, logits = losses(models[0], {name: p[number] for name, p in params.items()}, ids)
        right = (logits.argmax(dim=-1) == ids.flip(1)).double().mean().item()
        rows.append({**setting, "rate": rate, "seed": seed, "loss": float(f"{loss:.3g}"), "accuracy": round(right, 3)})
    return rows


def plan():
    """Every training: depth, then initial weights and rates, then the controls."""
    rates = (0.0003, 0.001, 0.003, 0.01, 0.03)
    settings = [
        {"way": way, "depth": depth, "rates": rates[1:4], "steps": 200}
        for way in ("plain", "norm only", "residual only", "pre-norm")
        for depth in (1, 2, 4)
    ]
    six = {"depth": 6, "steps": 150}
    settings += [
        {**six, "way": way, "rates": rates, "weights": weights}
        for way in ("residual only", "pre-norm", "post-norm", "gamma")
        for weights in ("PyTorch", "Xavier")
    ]
    settings += [{"way": way, "depth": 2, "rates": (0.001, 0.003), "steps": 1000} for way in ("plain", "norm only")]
    six["weights"] = "Xavier"
    settings += [{**six, "way": "pre-norm", "rates": (0.003, 0.01), "norm": "RMSNorm"}]
    settings += [{**six, "way": "post-norm", "rates": (0.003,), "steps": 700}]
    settings += [{**six, "way": "residual only", "rates": (0.001, 0.003), "steps": 450}]
    return settings


def told(setting):
    result = run(**setting)
    print(setting, [(r["rate"], r["loss"], r["accuracy"]) for r in result], flush=True)
    return result


def main():
    with ProcessPoolExecutor(max_workers=2) as pool:
        rows = [row for rows in pool.map(told, plan()) for row in rows]
    store(__file__, seeds=SEEDS, rows=rows)


if __name__ == "__main__":
    main()
