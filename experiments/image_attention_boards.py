"""Which layers fill the empty tiles of a board: convolutions, pooling, or attention.

    python -m experiments.image_attention_boards

Boards of 8 × 8 tiles. A tile has a frame in one of six colors, and a filling in one of six colors or none. Each empty
tile is to be filled as the filled tile with the same frame is. A board shows one name (frame color) or three, each with
one filled and three empty tiles. With three names, training leaves out all boards with filling = frame + 1, and the
second test asks for such pairs alone. Fresh boards at every step, 1,000 boards a test, three seeds, and ten for
attention with a linear end. That frame f never goes with color f + 1 is a hint, which teaches to rule the color out:
pooling and attention are also trained without it (five seeds), with color f + 1 left out of the loss of frame f. And
behind the mean of a trained pooling, the layers are drawn anew and trained: on the same pairs with and without the
hint, and on all (five seeds). Without the hint, a third test takes the frame from the filled tile of a new pair: a
network that reads the pair gives its color far less often then. About 15 minutes on one core.
"""

import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import chain

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.image_attention import ImageAttention
from course_lib.reproducible import make_reproducible
from experiments import store

SIDE, COLORS, WIDTH = 8, 6, 16
SEEDS, SOME, MANY = [0, 1, 2], [0, 1, 2, 3, 4], list(range(10))
POOLED, READ, BOARDS = 800, 600, 1000  # updates of `read_again`, boards of a test


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


def train(
    net: nn.Module,
    names: int,
    steps: int,
    rate: float,
    generator: torch.Generator,
    hint: bool = True,
    new_pairs: bool = False,
    parameters: list[nn.Parameter] | None = None,
) -> None:
    """On boards of training, or with the new pairs on half of them; without the hint, or only some parameters."""
    optimizer = torch.optim.Adam(parameters or net.parameters(), lr=rate)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = rate * min(1, 2 - 2 * step / steps)
        parts = [(16, False), (16, True)] if new_pairs else [(32, False)]
        drawn = [boards(n, names, generator, unseen) for n, unseen in parts]
        x, targets = (torch.cat(part) for part in zip(*drawn, strict=True))
        logits = net(x)
        if not hint:  # color f + 1 takes no part in the softmax of a tile with frame f
            logits = logits.masked_fill(next_color(x) > 0, -torch.inf)
        loss = F.cross_entropy(logits, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def next_color(x: torch.Tensor) -> torch.Tensor:
    """Which color a tile's frame never goes with in training: above 0 at color f + 1 for frame f."""
    return x[:, :COLORS].roll(1, dims=1)


@torch.no_grad()
def accuracy(
    net: nn.Module, names: int, unseen: bool = False, side: int = SIDE, n: int | None = None
) -> tuple[float, list[float], float]:
    """The share of right tiles, the same by distance to the filled tile, and the share of answers from the board."""
    x, targets = boards(n or BOARDS, names, torch.Generator().manual_seed(99), unseen, side)
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


@torch.no_grad()
def unframed(net: nn.Module) -> float:
    """How often an empty tile gets the color of its new pair all the same when the filled tile has lost its frame."""
    x, targets = boards(BOARDS, 3, torch.Generator().manual_seed(99), unseen=True)
    new = (next_color(x) > 0) & (x[:, COLORS : 2 * COLORS] > 0)  # the filled tile of the new pair
    x[:, :COLORS].masked_fill_(new.any(dim=1, keepdim=True), 0.0)
    return (net(x).argmax(dim=1) == targets)[targets >= 0].double().mean().item()


def right(net: nn.Module) -> dict:
    return {test: round(accuracy(net, 3, unseen)[0], 3) for test, unseen in (("known", False), ("unseen", True))}


def without_hint(kind: str, steps: int, rate: float, hidden: bool, seed: int) -> dict:
    """A network trained with color f + 1 left out of the loss of frame f."""
    make_reproducible(seed)
    net = build(kind, WIDTH, hidden)
    train(net, 3, steps, rate, torch.Generator().manual_seed(seed), hint=False)
    about = {"kind": kind, "hidden": hidden, "steps": steps, "rate": rate, "seed": seed}
    return about | right(net) | {"unframed": round(unframed(net), 3)}


def read_again(seed: int) -> list[dict]:
    """Train a pooling, freeze it up to its mean, and draw and train anew what follows, in three ways."""
    make_reproducible(seed)
    net = build("pooling 36", WIDTH, hidden=True)
    train(net, 3, POOLED, 0.01, torch.Generator().manual_seed(seed))
    found, behind = [], [net[1].outward, net[2], net[4]]
    parameters = [p for layer in behind for p in layer.parameters()]
    for pairs, way in (("training", {}), ("training, no hint", {"hint": False}), ("all", {"new_pairs": True})):
        make_reproducible(seed)
        for layer in behind:
            layer.reset_parameters()
        train(net, 3, READ, 0.01, torch.Generator().manual_seed(seed), **way, parameters=parameters)
        found.append({"pairs": pairs, "seed": seed} | right(net))
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


def plan_without_hint() -> list[dict]:
    pooling = {"kind": "pooling 36", "steps": 800, "rate": 0.01, "hidden": True}
    attention = {"kind": "attention", "steps": 400, "rate": 0.003, "hidden": False}
    return [trial | {"seed": seed} for trial in (pooling, attention) for seed in SOME]


def run(measure: Callable, trial: dict) -> dict | list[dict]:
    torch.set_num_threads(1)
    found = measure(**trial)
    print(found, file=sys.stderr, flush=True)
    return found


def main() -> None:
    with ProcessPoolExecutor(2) as pool:
        rows = list(pool.map(partial(run, row), plan()))
        hidden = list(pool.map(partial(run, without_hint), plan_without_hint()))
        again = list(chain(*pool.map(partial(run, read_again), [{"seed": seed} for seed in SOME])))
    store(__file__, seeds=MANY, rows=rows, without_hint=hidden, read_again=again)


if __name__ == "__main__":
    main()
