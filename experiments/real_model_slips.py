"""Slips in reading a real model, all of which fit: does a short prompt show them, a chat, and the loss of a page?

    python -m experiments.real_model_slips

SmolLM2-135M-Instruct, from `make weights`. Each slip is put into the finished model. "next" is the likeliest word
after "The capital of France is", "gap" how far its logit is ahead of the second; "loss" the mean loss per token of
a page that was written for this course, so that no model has learned it by heart. "hidden" looks closer at the slips
after which this word is still the same: how many of twelve such sentences go on with the right capital, and how the
answers to five questions begin in the frame of a chat, the likeliest token each time. No chance is involved: about 2
minutes on one core.
"""

import dataclasses
import math
from collections.abc import Callable
from contextlib import contextmanager

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.language_model import LanguageModel
from course_lib.pretrained import chat, smollm2
from experiments import store
from experiments.real_model_frames import written

PROMPT = "The capital of France is"
CAPITALS = {
    "France": "Paris",
    "Italy": "Rome",
    "Japan": "Tokyo",
    "Germany": "Berlin",
    "Spain": "Madrid",
    "Russia": "Moscow",
    "Egypt": "Cairo",
    "England": "London",
    "Greece": "Athens",
    "Ireland": "Dublin",
    "Cuba": "Havana",
    "China": "Beijing",
}
QUESTIONS = [
    "What is the capital of France?",
    "What is the capital of Japan?",
    "How many days are in a week?",
    "What color is the sky?",
    "Who wrote Hamlet?",
]
LONGEST = 12  # tokens of an answer
PAGE = """\
The harbor office opened at seven, but Marta was always there a little earlier, because the kettle needed ten
minutes and the radio needed luck. On that Tuesday the luck had run out. She turned the dial past two stations
of static, gave up, and looked through the window instead. Four boats lay at the long pier. The fifth, the one
that carried the mail, was late.

Mail boats are late for only three reasons. Either the weather is bad, or the engine is bad, or somebody on one
of the islands has asked the crew in for coffee. The sea that morning was as flat as a table, and the engine was
new. So Marta took out the large blue book, wrote the date at the top of a clean page, and noted that the coffee
must have been good.

At half past eight an old man came in to ask whether a parcel had arrived for him. He asked every morning, and
every morning she told him the truth, which was that nothing had come. He never seemed disappointed. He sat down
on the bench, opened his newspaper from the day before, and read the part about the price of fish aloud, as if
she had asked him to.

"When did you order it?" she said at last, because in four years she had never thought of the question.

"Order what?"

"The parcel."

He folded the newspaper carefully. "I did not order it. My sister said that she would send me something when she
had found a place to live. She has moved eleven times. I think she is waiting until she is sure."

Marta looked at the pier again. The mail boat was coming around the lighthouse now, slowly, with a line of gulls
behind it. She put two cups on the table instead of one. If there was a parcel today, they would want to sit
down while they opened it; and if there was none, the coffee on this island was good, too.
"""


def paragraphs() -> list[str]:
    """Those of the page, whose lines were broken for this file alone."""
    return [" ".join(lines.split("\n")) for lines in PAGE.strip().split("\n\n")]


def page(tokenizer) -> torch.Tensor:
    """The page as one text."""
    return torch.tensor([tokenizer.encode("\n\n".join(paragraphs()))])


@torch.no_grad()
def page_loss(model: LanguageModel, ids: torch.Tensor) -> float:
    return F.cross_entropy(model(ids)[0, :-1], ids[0, 1:]).item()


@torch.no_grad()
def right_capitals(model: LanguageModel, tokenizer) -> int:
    """How many sentences like PROMPT go on with the first token of the right capital."""
    right = 0
    for country, capital in CAPITALS.items():
        ids = torch.tensor([tokenizer.encode(f"The capital of {country} is")])
        right += model(ids)[0, -1].argmax().item() == tokenizer.encode(f" {capital}")[0]
    return right


def answers(model: LanguageModel, tokenizer) -> list[str]:
    """The beginning of the answer to each of QUESTIONS."""
    end = tokenizer.specials["<|im_end|>"]
    ids = [written(model, chat(tokenizer, [question]), end, LONGEST) for question in QUESTIONS]
    return [tokenizer.decode(answer, special=True) for answer in ids]


def exchanged(first: str, second: str) -> Callable:
    """Two parts of every block change places."""

    def change(model):
        for block in model.blocks:
            one, other = block.get_submodule(first), block.get_submodule(second)
            kept = {name: value.clone() for name, value in one.state_dict().items()}
            one.load_state_dict(other.state_dict())
            other.load_state_dict(kept)

    return change


def configured(**changes) -> Callable:
    """Another configuration over the same weights."""

    def change(model):
        model.config = dataclasses.replace(model.config, **changes)

    return change


def other_layout(model):
    for block in model.blocks:
        block.attention.layout = "interleaved"


def other_order(model):
    """The heads of queries that share keys and values are dealt out in turn: `repeat` for `repeat_interleave`."""
    heads, shared = model.config.n_heads, model.config.n_kv_heads
    for block in model.blocks:
        # Head h of the queries comes to a place where it meets shared head h mod n, and its output goes back to where
        # it was expected.
        order = torch.arange(heads).view(-1, shared).T.flatten()
        attention, width = block.attention, model.config.head_width
        rows = (order[:, None] * width + torch.arange(width)).flatten()
        attention.w_q.weight.data = attention.w_q.weight.data[rows]
        attention.w_o.weight.data = attention.w_o.weight.data[:, rows]


def gelu_gate(model):
    for block in model.blocks:
        network = block.feed_forward
        network.forward = lambda x, n=network: n.w_2(F.gelu(n.w_1(x)) * n.w_3(x))


def untied(model):
    torch.manual_seed(0)
    model.output.weight = nn.Parameter(torch.randn_like(model.tokens.weight) * model.tokens.weight.std())


def shifted_gains(model):
    for module in model.modules():
        if hasattr(module, "gain"):
            module.gain.data += 1


def no_last_norm(model):
    model.norm = nn.Identity()


SLIPS: dict[str, Callable] = {
    "as it is": lambda model: None,
    "eps 1e-6 for 1e-5": configured(eps=1e-6),
    "base 10,000 for 100,000": configured(rope_base=10_000.0),
    "GELU for SiLU in the gate": gelu_gate,
    "the other layout of RoPE": other_layout,
    "shared heads in the other order": other_order,
    "the two norms exchanged": exchanged("norm_1", "norm_2"),
    "gate and values exchanged": exchanged("feed_forward.w_1", "feed_forward.w_3"),
    "embedding times √d_model": configured(scaled=True),
    "1 added to the gains": shifted_gains,
    "no last norm": no_last_norm,
    "output not tied": untied,
}


@contextmanager
def slipped(model: LanguageModel, slip: Callable):
    """The model with a slip, and afterwards as it was."""
    state = {name: value.clone() for name, value in model.state_dict().items()}
    config, norm, matrix = model.config, model.norm, model.output.weight
    slip(model)
    if model.config.eps != config.eps:
        for module in model.modules():
            if hasattr(module, "eps"):
                module.eps = model.config.eps
    try:
        yield
    finally:
        model.config, model.norm, model.output.weight = config, norm, matrix
        model.load_state_dict(state)
        for module in model.modules():
            if hasattr(module, "eps"):
                module.eps = config.eps
        for block in model.blocks:
            block.attention.layout = config.rope_layout
            block.feed_forward.__dict__.pop("forward", None)


def main(read: Callable = smollm2) -> None:
    model, tokenizer = read()
    text, prompt = page(tokenizer), torch.tensor([tokenizer.encode(PROMPT)])
    rows, hidden = [], []
    for name, slip in SLIPS.items():
        with slipped(model, slip), torch.no_grad():
            best = model(prompt)[0, -1].topk(2)
            word = tokenizer.decode([best.indices[0].item()])
            row = {"slip": name, "next": word, "gap": round((best.values[0] - best.values[1]).item(), 2)}
            rows.append(row | {"loss": round(page_loss(model, text), 3)})
            print(rows[-1], flush=True)
            if word == rows[0]["next"]:
                capitals = right_capitals(model, tokenizer)
                hidden.append({"slip": name, "capitals": capitals, "chat": answers(model, tokenizer)})
                print(hidden[-1], flush=True)
    floor = math.log(model.config.vocab_size)
    numbers = {"tokens": text.shape[1], "guessing": round(floor, 2), "rows": rows}
    store(__file__, seeds=[0], page=PAGE, **numbers, questions=QUESTIONS, hidden=hidden)


if __name__ == "__main__":
    main()
