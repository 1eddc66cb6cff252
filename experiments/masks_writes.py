"""What does a model of the parts of chapters 02 to 05 write, and what is its second layer for?

    python -m experiments.masks_writes

The English side of the course corpus (seed 0), a word a token. Embedding, layers of masked self-attention in residual
sums, output: no norm, no feed-forward network, no positions. Arms: two layers, one layer, one layer that is wider (more
parameters than the two), two layers without a mask, and a table of word pairs. Each arm with a causal mask has the
learning rate at which the median validation loss of three seeds is lowest, of rates a factor of 1.6 apart; the arm
without a mask has that of two layers. Ten fresh seeds are then measured: the validation loss, and of 300 sentences,
drawn word by word, the shares that the grammar can parse and that are not in the training text. Agreement is asked for
after subjects with present-tense verbs: is the verb's right form likelier than the other one? *near*: the noun stands
before the verb; *far*: a relative clause stands between; *attracted*: and the last noun before the verb has the other
number. About twenty minutes on one core.
"""

import math
from random import Random
from statistics import median

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.corpus import course_corpus, lexicon
from course_lib.corpus.dictionary import INTRANSITIVE_VERBS, TRANSITIVE_VERBS
from course_lib.corpus.grammar import spell_en_phrase
from course_lib.corpus.parser import NOUNS, PEOPLE, PLURALS, is_sentence
from course_lib.corpus.tree_sampler import Sampler
from course_lib.tokens import BOS, EOS, PAD, UNK
from course_practice.exercises.masks.writes import writer
from course_practice.exercises.multi_head.mha import mha
from experiments import store

UPDATES, ROWS, SENTENCES, SUBJECTS, LONGEST = 600, 32, 300, 500, 30
RATES = [0.0064, 0.01, 0.016, 0.025, 0.04]
CHOOSING, SEEDS = [100, 101, 102], list(range(10))
SHAPES = {"two layers": (2, 64, 4), "one layer": (1, 64, 4), "one wide layer": (1, 80, 5), "no mask": (2, 64, 4)}
TUNED = [name for name in SHAPES if name != "no mask"]


class Text:
    """Sentences as rows of ids, and what the models are asked."""

    def __init__(self):
        corpus = course_corpus(seed=0)
        train = [pair.tgt for pair in corpus["train"]]
        self.words = ["<pad>", "<bos>", "<eos>", "<unk>", *sorted({word for words in train for word in words})]
        self.ids = {word: i for i, word in enumerate(self.words)}
        self.seen = set(train)
        self.train = self.rows(train)
        self.val = self.rows([pair.tgt for pair in corpus["val"]])
        self.subjects = {kind: self.drawn_subjects(kind) for kind in ("near", "far", "attracted")}

    def rows(self, sentences: list) -> Tensor:
        lists = [[BOS, *(self.ids.get(word, UNK) for word in words), EOS] for words in sentences]
        longest = max(map(len, lists))
        return torch.tensor([row + [PAD] * (longest - len(row)) for row in lists])

    def drawn_subjects(self, kind: str) -> list[tuple[tuple[str, ...], str, str]]:
        """The words of a subject, its verb's right form, and the wrong one."""
        random = Random(f"agreement {kind}")
        sampler = Sampler(random, lexicon.NAMES)
        found = []
        while len(found) < SUBJECTS:
            sampler.used = set()
            verb = random.choice(TRANSITIVE_VERBS + INTRANSITIVE_VERBS)
            phrase = sampler.subject(verb, relative_depth=int(kind != "near"))
            words = tuple(word for word, _ in spell_en_phrase(phrase))
            forms = [verb.third_person.split(" ")[0], verb.base.split(" ")[0]]
            right, wrong = forms[::-1] if phrase.plural else forms
            last = words[-1]
            plural = last in PLURALS and last not in NOUNS
            attracted = (last in PLURALS or last in NOUNS or last in PEOPLE) and plural != phrase.plural
            known = all(word in self.ids for word in (*words, right, wrong))
            if known and (kind != "attracted" or attracted):
                found.append((words, right, wrong))
        return found


def new_weights(name: str, n_words: int, seed: int) -> tuple[Tensor, list[list[Tensor]], Tensor]:
    n_layers, d_model, _n_heads = SHAPES[name]
    generator = torch.Generator().manual_seed(seed)

    def matrix(rows: int, columns: int) -> Tensor:
        return (torch.randn(rows, columns, generator=generator) / d_model**0.5).requires_grad_()

    layers = [[matrix(d_model, d_model) for _ in range(4)] for _layer in range(n_layers)]
    return matrix(n_words, d_model), layers, matrix(d_model, n_words)


def unmasked(ids: Tensor, words: Tensor, layers: list, output: Tensor, n_heads: int) -> Tensor:
    """The control: each token sees the whole sentence."""
    x = words[ids]
    for matrices in layers:
        x = x + mha(x, x, *matrices, n_heads)
    return x @ output


def logits_of(name: str, weights: tuple, ids: Tensor) -> Tensor:
    return (unmasked if name == "no mask" else writer)(ids, *weights, SHAPES[name][2])


def loss_of(name: str, weights: tuple, rows: Tensor) -> Tensor:
    rows = rows[:, : int((rows != PAD).sum(dim=1).max())]
    logits = logits_of(name, weights, rows[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten(), ignore_index=PAD)


def trained(name: str, text: Text, rate: float, seed: int) -> tuple:
    """The chapter's training, in float32: the rate falls to 0 along a straight line."""
    weights = new_weights(name, len(text.words), seed)
    words, layers, output = weights
    parameters = [words, *(matrix for layer in layers for matrix in layer), output]
    optimizer = torch.optim.AdamW(parameters, lr=rate)
    generator = torch.Generator().manual_seed(seed)
    for step in range(UPDATES):
        optimizer.param_groups[0]["lr"] = rate * (1 - step / UPDATES)
        rows = text.train[torch.randint(len(text.train), (ROWS,), generator=generator)]
        optimizer.zero_grad()
        loss_of(name, weights, rows).backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
    return weights


@torch.no_grad()
def written(next_logits, text: Text, seed: int) -> list[tuple[str, ...]]:
    """Sentences drawn word by word; `next_logits(ids)` scores what may follow each row."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.full((SENTENCES, 1), BOS)
    for _ in range(LONGEST):
        probs = next_logits(ids).double().softmax(dim=-1)
        darts = torch.rand(SENTENCES, 1, generator=generator, dtype=torch.float64)
        drawn = (probs.cumsum(dim=-1) < darts).sum(dim=-1, keepdim=True).clamp(max=len(text.words) - 1)
        ids = torch.cat([ids, drawn], dim=1)
    rows = [row[: row.index(EOS)] if EOS in row else row for row in ids[:, 1:].tolist()]
    return [tuple(text.words[i] for i in row) for row in rows]


@torch.no_grad()
def agreement(next_logits, text: Text) -> dict[str, float]:
    """In what share of the subjects is the right form of the verb likelier than the wrong one?"""
    shares = {}
    for kind, subjects in text.subjects.items():
        right = 0
        for words, form, other in subjects:
            scores = next_logits(text.rows([words])[:, :-1])[0]
            right += bool(scores[text.ids[form]] > scores[text.ids[other]])
        shares[kind] = round(right / len(subjects), 3)
    return shares


def measured(next_logits, text: Text, seed: int) -> dict:
    sentences = written(next_logits, text, seed)
    return {
        "parsed": round(sum(map(is_sentence, sentences)) / SENTENCES, 3),
        "new": round(sum(words not in text.seen for words in sentences) / SENTENCES, 3),
        "agreement": agreement(next_logits, text),
        "sentences": [" ".join(words) for words in sentences[:6]],
    }


def word_pairs(text: Text) -> Tensor:
    """How often one word followed another in training: a table of words × words, 0.1 added to each count."""
    pairs = torch.stack([text.train[:, :-1].flatten(), text.train[:, 1:].flatten()])
    pairs = pairs[:, (pairs != PAD).all(dim=0)]
    size = len(text.words)
    return torch.bincount(pairs[0] * size + pairs[1], minlength=size * size).view(size, size).double() + 0.1


def pair_rows(text: Text) -> list[dict]:
    table = word_pairs(text)
    log_probs = (table / table.sum(dim=1, keepdim=True)).log()
    read, said = text.val[:, :-1], text.val[:, 1:]
    loss = -log_probs[read, said][said != PAD].mean().item()
    counts = (table - 0.1).clamp(min=0).log()  # drawn from what was seen
    rows = []
    for seed in SEEDS:
        found = measured(lambda ids: counts[ids[:, -1]], text, seed)
        rows.append({"arm": "word pairs", "seed": seed, "loss": round(loss, 3), **found})
    return rows


def model_row(name: str, text: Text, rate: float, seed: int) -> dict:
    """One model, trained and measured."""
    weights = trained(name, text, rate, seed)
    with torch.no_grad():
        loss = loss_of(name, weights, text.val).item()
    found = measured(lambda ids: logits_of(name, weights, ids)[:, -1], text, seed)
    row = {"arm": name, "seed": seed, "loss": round(loss, 3), **found}
    print({key: value for key, value in row.items() if key != "sentences"}, flush=True)
    return row


def main() -> None:
    torch.set_num_threads(1)
    text = Text()
    rates, chosen = [], {}
    for name in TUNED:
        for rate in RATES:
            losses = [loss_of(name, trained(name, text, rate, seed), text.val).item() for seed in CHOOSING]
            rates.append({"arm": name, "rate": rate, "losses": [round(loss, 3) for loss in losses]})
            print(rates[-1], flush=True)
        own = [row for row in rates if row["arm"] == name]
        chosen[name] = min(own, key=lambda row: median(row["losses"]))["rate"]
    chosen["no mask"] = chosen["two layers"]
    rows = pair_rows(text)
    rows += [model_row(name, text, chosen[name], seed) for name in SHAPES for seed in SEEDS]
    sizes = {name: 2 * len(text.words) * d_model + n * 4 * d_model**2 for name, (n, d_model, _) in SHAPES.items()}
    of_one = {"words": len(text.words), "floor": round(math.log(len(text.words)), 2)}
    store(__file__, seeds=SEEDS, chosen=chosen, parameters=sizes, text=of_one, rates=rates, rows=rows)


if __name__ == "__main__":
    main()
