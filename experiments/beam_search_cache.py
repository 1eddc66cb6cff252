"""How much faster is a step with a cache, and how much of it is the cache?

    python -m experiments.beam_search_cache

Three arms write the same tokens with the same untrained Transformer. `plain` runs the decoder on all that is written
so far. `cached` is the library's search model, which computes the new token alone; but its layers are laid out for
small products, too. `packed` is the control: those layers on all tokens at every step, without anything kept. So
plain / packed is what the layers give, and packed / cached is what the cache gives. The seconds are CPU seconds of the
decoder's steps, the best of five; all sources have 16 tokens. About three minutes on one core.
"""

import time
from dataclasses import replace
from unittest.mock import patch

import torch

from course_lib.fast.cached import CachedTransformer, Slots
from course_lib.masks import causal_mask
from course_lib.tokens import BOS
from course_lib.transformer import Transformer, TransformerConfig
from experiments import store

VOCAB, SRC_LEN, REPEATS, LENGTHS = 1287, 16, 5, [8, 16, 32, 64]
SIZES = {
    "small": {"d_model": 64, "n_heads": 4, "d_ff": 128, "n_layers": 2},
    "large": {"d_model": 256, "n_heads": 4, "d_ff": 512, "n_layers": 3},
}
PLANS = [("small", 1), ("small", 32), ("large", 8)]  # size, and sentences side by side


def plain(model: Transformer, src: torch.Tensor, tgt: torch.Tensor):
    state = model.start(src)

    def run():
        s = state
        for t in range(tgt.shape[1]):
            logits, s = model.step(tgt[:, t : t + 1], s)
        return logits

    return run


def with_cache(model: Transformer, src: torch.Tensor, tgt: torch.Tensor):
    searcher = CachedTransformer(model)
    state = searcher.start(src)

    def run():
        s = replace(state, own=empty(state))
        for t in range(tgt.shape[1]):
            logits, s = searcher.step(tgt[:, t : t + 1], s)
        return logits

    return run


def packed_alone(model: Transformer, src: torch.Tensor, tgt: torch.Tensor):
    """The cached model's step with all tokens as its beams, each of which sees itself and those before it."""
    searcher = CachedTransformer(model)
    state = searcher.start(src)
    last = replace(state, output=lambda x: state.output(x[:, -1:]))
    positions = model.tgt_embedding.positions
    table = positions.rows(0, tgt.shape[1])

    def run():
        for n in range(1, tgt.shape[1] + 1):
            visible = torch.zeros(len(src), n, 0, dtype=torch.bool)
            fresh = replace(last, own=empty(last), visible=visible)
            first_rows = patch.object(positions, "rows", lambda start, stop, n=n: table[:n])
            with first_rows, patch.object(torch, "cat", joined_to_nothing):
                logits, _ = searcher.step(tgt[:, :n], fresh)
        return logits

    return run


def empty(state) -> list[Slots]:
    return [Slots(key[:, :, :0], value[:, :, :0]) for key, value in state.cross]


def joined_to_nothing(tensors, dim=0, cat=torch.cat):
    """`torch.cat` of the mask of no slots and that of the new ones, which here see those before them, too."""
    nothing, own = tensors
    return cat([nothing, causal_mask(own.shape[-1]).expand_as(own)], dim=dim)


ARMS = {"plain": plain, "packed": packed_alone, "cached": with_cache}


def seconds(run) -> float:
    spent = []
    for _ in range(REPEATS):
        begun = time.process_time()
        run()
        spent.append(time.process_time() - begun)
    return min(spent)


@torch.no_grad()
def main() -> None:
    torch.set_num_threads(1)
    rows = []
    for size, batch in PLANS:
        torch.manual_seed(0)
        model = Transformer(TransformerConfig(VOCAB, **SIZES[size], dropout=0.0)).eval()
        src = torch.randint(4, VOCAB, (batch, SRC_LEN))
        for length in LENGTHS:
            tgt = torch.randint(4, VOCAB, (batch, length))
            tgt[:, 0] = BOS
            arms = {name: arm(model, src, tgt) for name, arm in ARMS.items()}
            expected = model(src, tgt)[:, -1:]
            assert all(torch.allclose(run(), expected, atol=1e-3) for run in arms.values()), "they write the same"
            row = {"size": size, "sentences": batch, "length": length}
            row |= {name: round(seconds(run), 5) for name, run in arms.items()}
            rows.append(row)
            print(row, flush=True)
    store(__file__, seeds=[0], sizes=SIZES, rows=rows)


if __name__ == "__main__":
    main()
