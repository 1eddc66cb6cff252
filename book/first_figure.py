"""Train the small translator whose attention the first page shows: `python book/first_figure.py` (four minutes).

Whole words, the course corpus, Korean to English. It writes book/results/first_figure.json; the page is built from
that file.
"""

import json
import time
from pathlib import Path

import torch
from torch.nn.utils.rnn import pad_sequence

from course_lib.beam_search import greedy_search
from course_lib.corpus import Sentence, course_corpus
from course_lib.reproducible import make_reproducible
from course_lib.tokens import BOS, EOS, PAD, UNK
from course_lib.training import cosine, label_smoothed_loss
from course_lib.transformer import Transformer, TransformerConfig

RESULT = Path(__file__).parent / "results" / "first_figure.json"
SECONDS, BATCH, PEAK = 220, 64, 2e-3
SHOWN = "요리사가 사과들을 땄기 때문에 승우는 장갑을 꼈다"


class Words:
    """Whole words as ids, of both languages; what training never saw is UNK."""

    def __init__(self, pairs: list[Sentence]):
        self.words = sorted({word for pair in pairs for word in pair.src + pair.tgt})
        self.ids = {word: i for i, word in enumerate(self.words, start=max(PAD, BOS, EOS, UNK) + 1)}

    def __len__(self) -> int:
        return len(self.words) + max(PAD, BOS, EOS, UNK) + 1

    def encode(self, words: tuple[str, ...]) -> list[int]:
        return [self.ids.get(word, UNK) for word in words]

    def decode(self, ids: list[int]) -> str:
        return " ".join(self.words[i - len(self) + len(self.words)] if i > UNK else "?" for i in ids)


def padded(rows: list[list[int]]) -> torch.Tensor:
    return pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=PAD)


def train(model: Transformer, pairs: list[Sentence], words: Words) -> None:
    """Teacher forcing over shuffled batches of sentences of similar length, until the time is up."""
    optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.98))
    order = sorted(pairs, key=lambda pair: len(pair.src))
    batches = [order[i : i + BATCH] for i in range(0, len(order), BATCH)]
    start = time.monotonic()
    while True:
        for index in torch.randperm(len(batches)).tolist():
            progress = (time.monotonic() - start) / SECONDS
            if progress >= 1:
                return
            optimizer.param_groups[0]["lr"] = cosine(progress, PEAK)
            src = padded([words.encode(pair.src) for pair in batches[index]])
            tgt = padded([[BOS, *words.encode(pair.tgt), EOS] for pair in batches[index]])
            loss = label_smoothed_loss(model(src, tgt[:, :-1]), tgt[:, 1:])
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()


@torch.no_grad()
def translate(model: Transformer, pairs: list[Sentence], words: Words) -> list[str]:
    src = padded([words.encode(pair.src) for pair in pairs])
    found = greedy_search(model.step, model.start(src), len(pairs), max_len=40)
    return [words.decode(hypothesis.tokens) for hypothesis in found]


@torch.no_grad()
def cross_attention(model: Transformer, pair: Sentence, words: Words) -> torch.Tensor:
    """Weights (n_layers, n_heads, tgt_len, src_len): row t is the one that predicts target word t."""
    seen: list[torch.Tensor] = []
    hooks = [
        layer.cross_attention.register_forward_hook(lambda module, given, result: seen.append(result[1][0]))
        for layer in model.decoder.layers
    ]
    model(padded([words.encode(pair.src)]), padded([[BOS, *words.encode(pair.tgt)]]))
    for hook in hooks:
        hook.remove()
    return torch.stack(seen)[:, :, : len(pair.tgt)]


def gloss(pair: Sentence, position: int) -> str:
    """A source word with the English words that it is aligned with."""
    meaning = " ".join(pair.tgt[t] for s, t in sorted(pair.alignment, key=lambda link: link[1]) if s == position)
    return f"{pair.src[position]} ({meaning})" if meaning else pair.src[position]


def clearest_head(weights: torch.Tensor, pair: Sentence) -> int:
    """The head of the last layer that puts most weight on the words of the same meaning."""
    sources, targets = zip(*pair.alignment, strict=True)
    return int(weights[-1][:, list(targets), list(sources)].sum(dim=-1).argmax())


def result_of(model: Transformer, test: list[Sentence], words: Words) -> dict:
    """What the page needs: one sentence, its weights in thousandths, and how good the translator is."""
    right = [text == pair.tgt_text for text, pair in zip(translate(model, test, words), test, strict=True)]
    shown = next(pair for pair in test if pair.src_text == SHOWN)
    weights = cross_attention(model, shown, words)
    start = {"layer": len(weights) - 1, "head": clearest_head(weights, shown), "query": shown.tgt.index("because")}
    return {
        "queries": list(shown.tgt),
        "keys": [gloss(shown, position) for position in range(len(shown.src))],
        "translation": translate(model, [shown], words)[0],
        "start": start,
        "thousandths": (weights * 1000).round().int().tolist(),
        "training_seconds": SECONDS,
        "test_sentences": len(test),
        "exact_match_on_test": sum(right) / len(right),
    }


def main() -> None:
    make_reproducible(0)
    corpus = course_corpus()
    words = Words(corpus["train"])
    model = Transformer(TransformerConfig(len(words), d_model=128, n_heads=4, d_ff=256, n_layers=2))
    train(model.train(), corpus["train"], words)
    result = result_of(model.eval(), corpus["test"], words)
    RESULT.write_text(json.dumps(result, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
