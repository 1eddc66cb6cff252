"""What does a wider beam find, and what is wrong then: the search or the model? Three seeds.

    python -m experiments.beam_search_width

The bench is the chapter's own: sentences with three adjuncts, of which the English has five right orders. A small
Transformer is trained on 8,000 of them and translates 300 others with several widths. `mode` is the share that is the
most frequent order, `right` the share that is any of the five, to the letter. `bleu` counts against the one reference
of the corpus, `bleu_five` against all five orders. Uniform-cost search judges 40 sentences: a search error is a
sentence that is less probable, to the model itself, than the best one, and `right_judged` counts the right ones among
these 40. The same model is also trained without label smoothing. About six minutes on one core.
"""

import torch

from course_lib.batching import Batches, encode_pairs, pad
from course_lib.beam_search import Hypothesis, beam_search, greedy_search
from course_lib.beam_search.judges import exact_search
from course_lib.bleu import corpus_bleu
from course_lib.bpe import BPE
from course_lib.corpus import generate
from course_lib.fast import fast_loss
from course_lib.fast.cached import CachedTransformer
from course_lib.tokens import BOS, EOS
from course_lib.training import TrainingSettings
from course_lib.training.trainer import Trainer
from course_lib.transformer import Transformer, TransformerConfig
from experiments import store

SEEDS, WIDTHS, ALPHAS, JUDGED, MAX_LEN = [0, 1, 2], [1, 2, 3, 4, 8], [-1.0, 0.0, 0.6, 1.0, 2.0, 5.0], 40, 30
N_TRAIN, N_TEST, UPDATES, MAX_CALLS = 8000, 300, 800, 2000
TIES = 1e-9  # a log-probability that differs by less is the same


class Bench:
    """The corpus of the chapter and a vocabulary for it."""

    def __init__(self):
        seen = set()
        train = generate(0, "train", N_TRAIN, {"three adjuncts": 1}, seen)
        self.test = generate(0, "garden_path", N_TEST, {"three adjuncts": 1}, seen)
        self.bpe = BPE.train([text for pair in train for text in (pair.src_text, pair.tgt_text)], n_merges=600)
        self.pairs = encode_pairs(train, self.bpe)
        self.src = pad([[*self.bpe.encode(pair.src_text), EOS] for pair in self.test])
        self.readings = [[" ".join(words) for _, words in pair.readings] for pair in self.test]

    def train(self, seed: int, smoothing: float = 0.1) -> Transformer:
        torch.manual_seed(seed)
        sizes = {"d_model": 64, "n_heads": 4, "d_ff": 128, "n_layers": 1}
        config = TransformerConfig(self.bpe.vocab_size, **sizes, dropout=0.0, norm_first=True)
        model = Transformer(config).double()
        settings = TrainingSettings(steps=UPDATES, peak_lr=8e-3, warmup=0.1, label_smoothing=smoothing, seed=seed)
        Trainer(model, Batches(self.pairs, max_tokens=300, seed=seed), settings, loss=fast_loss, quiet=True).run()
        return model.eval().requires_grad_(False)

    def measure(self, model: Transformer, found: list[Hypothesis]) -> dict:
        """What 300 translations are worth."""
        texts = [self.bpe.decode(h.tokens) for h in found]
        of_references = self.log_probs(model, [pair.tgt_text for pair in self.test])
        is_right = [text in known for text, known in zip(texts, self.readings, strict=True)]
        return {
            "mode": share(text == known[0] for text, known in zip(texts, self.readings, strict=True)),
            "right": share(is_right),
            "right_judged": sum(is_right[:JUDGED]),
            "bleu": round(corpus_bleu(texts, [pair.tgt_text for pair in self.test]).score, 1),
            "bleu_five": round(corpus_bleu(texts, self.readings).score, 1),
            "log_prob": round(sum(h.log_prob for h in found) / len(found), 3),
            "tokens": round(sum(h.length for h in found) / len(found), 2),
            "time_first": share(time_first(text, known) for text, known in zip(texts, self.readings, strict=True)),
            "reference_better": share(p > h.log_prob + TIES for p, h in zip(of_references, found, strict=True)),
        }

    def log_probs(self, model: Transformer, texts: list[str]) -> list[float]:
        """log P of one given translation for each of the first sources."""
        ids = [self.bpe.encode(text) for text in texts]
        tgt_in, tgt_out = pad([[BOS, *row] for row in ids]), pad([[*row, EOS] for row in ids])
        each = model(self.src[: len(texts)], tgt_in).log_softmax(dim=-1).gather(-1, tgt_out[..., None])[..., 0]
        return (each * (tgt_out != 0)).sum(dim=-1).tolist()


def share(answers) -> float:
    answers = list(answers)
    return round(sum(answers) / len(answers), 4)


def time_first(text: str, known: list[str]) -> bool:
    """Does it begin as the time-first order does?"""
    return text.startswith(known[0].split(" ")[0] + " ")


def search(model, src, width: int, alpha: float = 0.0, exact: bool = False) -> list[Hypothesis]:
    cached = CachedTransformer(model)
    if width == 1:
        return greedy_search(cached.step, cached.start(src), len(src), MAX_LEN)
    found = beam_search(cached.step, cached.start(src), len(src), width, MAX_LEN, alpha, exact)
    return [hypotheses[0] for hypotheses in found]


def judged(bench: Bench, model: Transformer) -> tuple[list[Hypothesis | None], dict]:
    """The model's most probable sentences, and how probable the five right ones are."""
    found = [
        exact_search(model.step, model.start(row[row != 0][None]), MAX_LEN, max_calls=MAX_CALLS)
        for row in bench.src[:JUDGED]
    ]
    of_readings = [bench.log_probs(model, [texts[n] for texts in bench.readings]) for n in range(5)]
    first, *others = torch.tensor(of_readings, dtype=torch.float64).exp()
    texts = [bench.bpe.decode(best.tokens) if best else "" for best, _ in found]
    readings = bench.readings[:JUDGED]
    return [best for best, _ in found], {
        "undecided": sum(best is None for best, _ in found),
        "calls": round(sum(calls for _, calls in found) / JUDGED, 1),
        "mode": sum(text == known[0] for text, known in zip(texts, readings, strict=True)),
        "right": sum(text in known for text, known in zip(texts, readings, strict=True)),
        "shortest": min(best.length for best, _ in found if best),
        "p_mode": round(first.mean().item(), 4),
        "p_others": round(torch.stack(others).mean().item(), 4),
        "reference_time_first": share(
            time_first(pair.tgt_text, known) for pair, known in zip(bench.test, bench.readings, strict=True)
        ),
    }


def main() -> None:
    bench, rows, judges, penalties, unsmoothed = Bench(), [], [], [], []
    for seed in SEEDS:
        model = bench.train(seed)
        best, judge = judged(bench, model)
        judges.append({"seed": seed} | judge)
        print(judges[-1], flush=True)
        for width in WIDTHS:
            found = search(model, bench.src, width)
            errors = sum(
                known is not None and h.log_prob < known.log_prob - TIES for h, known in zip(found, best, strict=False)
            )
            rows.append({"seed": seed, "width": width, "search_errors": errors} | bench.measure(model, found))
            print(rows[-1], flush=True)
        for alpha in ALPHAS:
            found = search(model, bench.src, 4, alpha, exact=True)
            default = search(model, bench.src, 4, alpha)
            differ = sum(a.tokens != b.tokens for a, b in zip(found, default, strict=True))
            penalties.append({"seed": seed, "alpha": alpha, "stops_differ": differ} | bench.measure(model, found))
            print(penalties[-1], flush=True)
        model = bench.train(seed, smoothing=0.0)
        _, judge = judged(bench, model)
        of_widths = {f"mode_{w}": bench.measure(model, search(model, bench.src, w))["mode"] for w in (1, 2, 4)}
        unsmoothed.append({"seed": seed} | judge | of_widths)
        print(unsmoothed[-1], flush=True)
    store(__file__, seeds=SEEDS, rows=rows, judges=judges, penalties=penalties, unsmoothed=unsmoothed)


if __name__ == "__main__":
    main()
