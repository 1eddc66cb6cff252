"""A question in other frames than the one that a chat model was trained with: what does it write?

    python -m experiments.real_model_frames

SmolLM2-135M-Instruct, from `make weights`, is asked for the capital of France. "writes" is what it continues with,
the likeliest token each time; "loss" is the mean loss per token of one right answer with its end, "The capital of
France is Paris.<|im_end|>", in the same place. Ten questions are then put alone ("alone"), and in a chat whose answer
is not opened ("not opened"): what comes first? No chance is involved: about two minutes on one core.
"""

from collections.abc import Callable

import torch
from torch.nn import functional as F

from course_lib.pretrained import chat, smollm2
from experiments import store

QUESTION = "What is the capital of France?"
ANSWER = "The capital of France is Paris."
LONGEST = 16  # tokens
FIRST = 5  # so many tokens are kept of what the ten questions get
QUESTIONS = [
    QUESTION,
    "How many days are in a week?",
    "What color is the sky?",
    "Who wrote Hamlet?",
    "Name three fruits.",
    "Tell me a joke.",
    "Translate to French: Good morning.",
    "What is 2 + 2?",
    "Is water wet?",
    "Explain gravity in one sentence.",
]


def not_opened(tokenizer, question: str) -> list[int]:
    """A chat without `<|im_start|>assistant` and the new line at its end."""
    opening = 1 + len(tokenizer.encode("assistant\n"))
    return chat(tokenizer, [question])[:-opening]


def frames(tokenizer) -> dict[str, list[int]]:
    """What the model reads."""
    start, end = (tokenizer.specials[name] for name in ("<|im_start|>", "<|im_end|>"))
    whole = chat(tokenizer, [QUESTION])
    system_ends = whole.index(end) + 1 + len(tokenizer.encode("\n"))
    return {
        "as it is": whole,
        "no system text": whole[system_ends:],
        "the answer not opened": not_opened(tokenizer, QUESTION),
        "the answer closed": [*whole, end, *tokenizer.encode("\n")],
        "special tokens as letters": tokenizer.encode(tokenizer.decode(whole, special=True)),
        "the first token twice": [start, *whole],
        "the question alone": tokenizer.encode(QUESTION),
    }


@torch.no_grad()
def written(model, ids: list[int], end: int, longest: int) -> list[int]:
    """The likeliest continuation, up to the end of the turn."""
    state, token, found = model.start(torch.tensor([ids[:-1]])), ids[-1], []
    for _ in range(longest):
        logits, state = model.step(torch.tensor([[token]]), state)
        token = logits[0, 0].argmax().item()
        found.append(token)
        if token == end:
            break
    return found


@torch.no_grad()
def answer_loss(model, ids: list[int], answer: list[int]) -> float:
    logits = model(torch.tensor([ids + answer]))[0, len(ids) - 1 : -1]
    return F.cross_entropy(logits, torch.tensor(answer)).item()


def main(read: Callable = smollm2) -> None:
    model, tokenizer = read()
    end = tokenizer.specials["<|im_end|>"]
    answer = [*tokenizer.encode(ANSWER), end]
    rows = []
    for name, ids in frames(tokenizer).items():
        text = tokenizer.decode(written(model, ids, end, LONGEST), special=True)
        rows.append({"frame": name, "writes": text, "loss": round(answer_loss(model, ids, answer), 2)})
        print(rows[-1], flush=True)
    questions = []
    for question in QUESTIONS:
        row = {"question": question}
        for name, ids in {
            "alone": tokenizer.encode(question),
            "not opened": not_opened(tokenizer, question),
        }.items():
            row[name] = tokenizer.decode(written(model, ids, end, FIRST), special=True)
        questions.append(row)
        print(row, flush=True)
    store(__file__, seeds=[0], question=QUESTION, answer=ANSWER, rows=rows, questions=questions)


if __name__ == "__main__":
    main()
