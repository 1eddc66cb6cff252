"""Which layers fill the empty tiles of a board: convolutions, pooling, or attention.

    python -m experiments.image_attention_boards

Boards of 8 × 8 tiles. A tile has a frame in one of six colors, and a filling in one of six colors or none. Each empty
tile is to be filled as the filled tile with the same frame is. A board shows one name (frame color) or three, each with
one filled and three empty tiles. With three names, training leaves out all boards with filling = frame + 1, and the
second test asks for such pairs alone. Fresh boards at every step, 1,000 boards a test, three seeds, and ten for
attention with a linear end. Behind a trained pooling, the layers are also trained again, with and without the pairs
left out. About nine minutes on one core.
"""

import copy
import sys
from concurrent.futures import ProcessPoolExecutor

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.image_attention import ImageAttention
from course_lib.reproducible import make_reproducible
from experiments import store

SIDE, COLORS, WIDTH = 8, 6, 16
SEEDS, MANY = [0, 1, 2], list(range(10))


def boards(n: int, names: int, generator: torch.Generator, unseen: bool = False, side: int = SIDE):
    """Feature maps (n, 13, side, side), and targets (n, side, side): −100 where nothing is asked."""
    draws = (20 if unseen else 4) * n + 100
    frames, fillings = (torch.rand(draws, COLORS, generator=generator).argsort(1)[:, :names] for _ in range(2))
    held_out = (fillings == (frames + 1) % COLORS) & (names > 1)
    wanted = held_out[:, 0] & ~held_out[:, 1:].any(dim=1) if unseen else ~held_out.any(dim=1)
    frames, fillings = frames[wanted][:n], fillings[wanted][:n]
    places = torch.rand(n, side * side, generator=generator).argsort(1)[:, : 4 * names].view(n, names, 4)
    batch = torch.arange(n)[:, None]
    x, targets = torch.zeros(n, 2 * COLORS + 1, side * side), torch.full((n, side * side), -100)
    for tile in range(4):
        x[batch, frames, places[:, :, tile]] = 3.0
        if tile == 0:
            x[batch, COLORS + fillings, places[:, :, tile]] = 3.0
        else:
            x[batch, 2 * COLORS, places[:, :, tile]] = 3.0
            targets[batch, places[:, :, tile]] = fillings
    if unseen:  # ask for the pair that is new, not for the other two
        targets[batch, places[:, 1:].flatten(1)] = -100
    return x.unflatten(2, (side, side)), targets.unflatten(1, (side, side))


class Convolutions(nn.Module):
    """3 × 3 layers, one after another, each added to its input."""

    def __init__(self, dilations, width=WIDTH):
        super().__init__()
        self.layers = nn.ModuleList(nn.Conv2d(width, width, 3, padding=d, dilation=d) for d in dilations)

    def forward(self, x):
        for layer in self.layers:
            x = x + layer(x).relu()
        return x


class Pooling(nn.Module):
    """The mean of all pixels, in `channels` numbers, is added to every pixel."""

    def __init__(self, channels, width=WIDTH):
        super().__init__()
        self.inward, self.outward = nn.Conv2d(width, channels, 1), nn.Conv2d(channels, width, 1)

    def forward(self, x):
        return x + self.outward(self.inward(x).relu().mean(dim=(2, 3), keepdim=True))


class Attention(ImageAttention):
    """`ImageAttention`, without its weights."""

    def forward(self, x):
        return super().forward(x)[0]


def build(kind: str, width: int, hidden: bool) -> nn.Module:
    name, _, size = kind.partition(" ")
    middle = {
        "nothing": lambda: nn.Identity(),
        "convolutions": lambda: Convolutions([1] * int(size), width),
        "dilated": lambda: Convolutions([int(d) for d in size.split(",")], width),
        "pooling": lambda: Pooling(int(size), width),
        "attention": lambda: Attention(width, width),
    }[name]()
    inward = nn.Conv2d(2 * COLORS + 1, width, 1)
    if hidden:
        return nn.Sequential(inward, middle, nn.Conv2d(width, 64, 1), nn.ReLU(), nn.Conv2d(64, COLORS, 1))
    return nn.Sequential(inward, middle, nn.Conv2d(width, COLORS, 1))


def train(net: nn.Module, names: int, steps: int, rate: float, generator: torch.Generator) -> None:
    optimizer = torch.optim.Adam(net.parameters(), lr=rate)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = rate * min(1, 2 - 2 * step / steps)
        x, targets = boards(32, names, generator)
        loss = F.cross_entropy(net(x), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@torch.no_grad()
def accuracy(
    net: nn.Module, names: int, unseen: bool = False, side: int = SIDE, n: int = 1000
) -> tuple[float, list[float], float]:
    """The share of right tiles, the same by distance to the filled tile, and the share of answers from the board."""
    x, targets = boards(n, names, torch.Generator().manual_seed(99), unseen, side)
    asked, answers = targets >= 0, net(x).argmax(dim=1)
    right = (answers == targets)[asked].double()
    on_board = x[:, COLORS : 2 * COLORS].amax(dim=(2, 3)) > 0
    from_board = on_board.gather(1, answers.flatten(1)).unflatten(1, (side, side))[asked].double()
    board, row, column = asked.nonzero().T
    filled = x[:, COLORS : 2 * COLORS].argmax(dim=1) + (x[:, COLORS : 2 * COLORS].amax(dim=1) == 0) * -100
    where = (filled[board] == targets[asked][:, None, None]).flatten(1).double().argmax(dim=1)
    distance = torch.maximum((where // side - row).abs(), (where % side - column).abs())
    by_distance = [right[distance == d].mean().item() for d in range(1, side)]
    return right.mean().item(), by_distance, from_board.mean().item()


def row(kind: str, names: int, seed: int, steps: int, rate: float, width: int = WIDTH, hidden: bool = True) -> dict:
    make_reproducible(seed)
    net = build(kind, width, hidden)
    train(net, names, steps, rate, torch.Generator().manual_seed(seed))
    known, by_distance, from_board = accuracy(net, names)
    found = {
        "kind": kind,
        "names": names,
        "width": width,
        "hidden": hidden,
        "steps": steps,
        "rate": rate,
        "seed": seed,
        "parameters": sum(p.numel() for p in net.parameters()),
        "known": round(known, 3),
        "by_distance": [round(share, 3) for share in by_distance],
        "from_board": round(from_board, 3),
    }
    if names > 1:
        found["unseen"] = round(accuracy(net, names, unseen=True)[0], 3)
    if kind.startswith("attention"):
        found["gamma"] = round(net[1].gamma.item(), 3)
        found["larger"] = {side: round(accuracy(net, names, side=side, n=50)[0], 3) for side in (12, 16, 24)}
    return found


def read_again(seed: int) -> list[dict]:
    """Train a pooling, freeze it up to its mean, and train what follows again: on the same pairs, and on all."""
    make_reproducible(seed)
    pooling = build("pooling 36", WIDTH, hidden=True)
    train(pooling, 3, 800, 0.01, torch.Generator().manual_seed(seed))
    found = []
    for pairs in ("training", "all"):
        net, generator = copy.deepcopy(pooling), torch.Generator().manual_seed(seed)
        behind = [*net[1].outward.parameters(), *net[2:].parameters()]
        optimizer, steps, rate = torch.optim.Adam(behind), 600, 0.01
        for step in range(steps):
            optimizer.param_groups[0]["lr"] = rate * min(1, 2 - 2 * step / steps)
            halves = [boards(16, 3, generator, unseen=unseen) for unseen in (False, pairs == "all")]
            x, targets = (torch.cat(half) for half in zip(*halves, strict=True))
            loss = F.cross_entropy(net(x), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        known, unseen = (round(accuracy(net, 3, unseen)[0], 3) for unseen in (False, True))
        found.append({"pairs": pairs, "seed": seed, "known": known, "unseen": unseen})
    return found


def plan() -> list[dict]:
    """Arguments of `row`, the long ones first."""
    trials = []
    for rate in (0.003, 0.01):
        for kind in ("convolutions 7", "dilated 1,2,4"):
            trials.append({"kind": kind, "names": 3, "steps": 1500, "rate": rate})
    for layers in (1, 2, 3, 7):
        steps = 1000 if layers == 7 else 500
        trials.append({"kind": f"convolutions {layers}", "names": 1, "steps": steps, "rate": 0.005})
    trials.append({"kind": "dilated 1,2,4", "names": 1, "steps": 400, "rate": 0.005})
    trials.append({"kind": "pooling 6", "names": 1, "steps": 300, "rate": 0.01})
    trials.append({"kind": "attention", "names": 1, "steps": 200, "rate": 0.01, "hidden": False})
    trials.append({"kind": "convolutions 2", "names": 3, "steps": 600, "rate": 0.003})
    for channels in (12, 36):
        trials.append({"kind": f"pooling {channels}", "names": 3, "steps": 800, "rate": 0.01})
    trials.append({"kind": "nothing", "names": 3, "steps": 200, "rate": 0.01})
    trials.append({"kind": "attention", "names": 3, "steps": 400, "rate": 0.003})
    linear = {"kind": "attention", "names": 3, "steps": 400, "hidden": False}
    often = [linear | {"rate": rate, "seed": seed} for rate in (0.003, 0.01) for seed in MANY]
    return [trial | {"seed": seed} for trial in trials for seed in SEEDS] + often


def run(trial: dict) -> dict:
    torch.set_num_threads(1)
    found = row(**trial)
    print(found, file=sys.stderr, flush=True)
    return found


if __name__ == "__main__":
    with ProcessPoolExecutor(2) as pool:
        rows = list(pool.map(run, plan()))
        again = [found for seed in pool.map(read_again, SEEDS) for found in seed]
    store(__file__, seeds=MANY, rows=rows, read_again=again)
