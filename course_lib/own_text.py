"""A language model for a text file of yours: chapter 12's pieces and chapter 20's model, trained for some minutes."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn import functional as F

from course_lib.bpe import BPE
from course_lib.corpus import text_lines
from course_lib.language_model import LanguageModel, LanguageModelConfig, windows
from course_lib.sampling import sample
from course_lib.sizes import check_between
from course_lib.text import clean
from course_lib.tokens import EOS
from course_lib.training import cosine

LEAST = 5_000  # characters: fewer give no held-out window worth the name
MERGES, LENGTH, BATCH, RATE = 1_000, 128, 8, 0.003
HELD_OUT = 20  # one window in so many is never trained on


def read_text(path: str | Path) -> list[str]:
    """The lines of a UTF-8 text file, plain or .gz, made clean (`course_lib.text`); empty ones are left out.

    Raises ValueError for another encoding, and for a text of fewer than 5,000 characters.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "my_text.txt"
    ...     _ = path.write_text("\\ufeffA  line.\\r\\n\\r\\nAnother.\\r\\n" * 400, encoding="utf-8")
    ...     read_text(path)[:3]
    ['A line.', 'Another.', 'A line.']
    """
    lines = [line for line in map(clean, text_lines(path)) if line]
    size = sum(map(len, lines))
    if size < LEAST:
        raise ValueError(
            f"expected at least {LEAST:,} characters of text in {path}, got {size:,}: "
            "a model learns little from less, so put more text into the file"
        )
    return lines


@dataclass(frozen=True)
class Writer:
    """A language model with its tokenizer; `losses` are nats a token: of the text it read, and of text held out."""

    model: LanguageModel
    tokenizer: BPE
    losses: tuple[float, float]
    updates: int

    def write(self, beginning: str = "", seed: int = 0, temperature: float = 0.8, top_p: float = 0.95) -> str:
        """Go on from `beginning`, until beginning and continuation have the length of a window of the training."""
        prompt = torch.tensor([[EOS, *self.tokenizer.encode(clean(beginning))]])[:, : LENGTH - 1]
        drawn = sample(
            self.model.step,
            self.model.start(prompt[:, :-1]),
            prompt[:, -1:],
            max_len=LENGTH - prompt.shape[1],
            temperature=temperature,
            top_p=top_p,
            generator=torch.Generator().manual_seed(seed),
            eos_id=-1,  # a line's end is not the end
        )
        lines: list[list[int]] = [[]]
        for i in [*prompt[0, 1:].tolist(), *drawn[0, 0].tolist()]:
            if i == EOS:
                lines.append([])
            else:
                lines[-1].append(i)
        return "\n".join(map(self.tokenizer.decode, lines)).strip()


def train_writer(
    lines: Iterable[str],
    minutes: float,
    seed: int = 0,
    say: Callable[[str], object] = print,
    clock: Callable[[], float] = time.perf_counter,
) -> Writer:
    """Train a model with today's parts on the lines, for `minutes` of the clock; `say` gets its losses ten times.

    The learning rate is that of chapter 20: it rises for a tenth of the time, and falls to 0. ValueError for a text too
    short to be cut into windows.

    >>> ticks = iter(range(100))
    >>> writer = train_writer(["a line that repeats"] * 100, minutes=0.05, say=id, clock=lambda: next(ticks))
    >>> writer.updates
    2
    """
    check_between(0, 24 * 60, minutes=minutes)
    lines = list(lines)
    tokenizer = BPE.train(lines, MERGES)
    ids = [i for row in tokenizer.encode_batch(lines) for i in (*row, EOS)]
    if len(ids) <= 2 * LENGTH:
        raise ValueError(f"expected a text of more than {2 * LENGTH} tokens, got {len(ids):,}: give it more text")
    read, said = windows(torch.tensor(ids), LENGTH)
    held = torch.arange(len(read)) % min(HELD_OUT, len(read)) == 1
    say(f"{len(ids):,} tokens, {tokenizer.vocab_size:,} different ones; {int(held.sum())} windows are held out")
    mine, new = (read[~held], said[~held]), (read[held], said[held])
    with torch.random.fork_rng(devices=[]):  # what runs afterwards draws as if nothing had been trained
        torch.manual_seed(seed)
        model = LanguageModel(LanguageModelConfig(tokenizer.vocab_size, dropout=0.1)).float()
        updates = _train(model, *mine, minutes, say, lambda: measure(model, *new), clock)
    losses = measure(model, mine[0][: len(new[0])], mine[1][: len(new[0])]), measure(model, *new)
    say(f"{updates:,} updates: loss {losses[0]:.2f} on text it trained on, {losses[1]:.2f} on held-out text")
    return Writer(model.eval(), tokenizer, losses, updates)


def _train(
    model: LanguageModel,
    read: Int[Tensor, "n_windows length"],
    said: Int[Tensor, "n_windows length"],
    minutes: float,
    say: Callable[[str], object],
    held_out_loss: Callable[[], float],
    clock: Callable[[], float],
) -> int:
    """The updates of `minutes`, and how many they were."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
    updates, told, began = 0, 0, clock()
    while (progress := (clock() - began) / (60 * minutes)) < 1:
        for group in optimizer.param_groups:
            group["lr"] = cosine(progress, RATE, warmup=0.1)
        rows = torch.randint(len(read), (BATCH,))
        loss = F.cross_entropy(model(read[rows]).flatten(0, 1), said[rows].flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        updates += 1
        if 10 * progress >= told + 1:
            told = int(10 * progress)
            say(f"{10 * told:3} % of the time: loss {held_out_loss():.2f} on held-out text")
    return updates


@torch.no_grad()
def measure(
    model: LanguageModel, read: Int[Tensor, "n_windows length"], said: Int[Tensor, "n_windows length"]
) -> float:
    """The mean loss of the first 64 windows, without dropout."""
    model.eval()
    logits = model(read[:64])
    model.train()
    return F.cross_entropy(logits.flatten(0, 1), said[:64].flatten()).item()
