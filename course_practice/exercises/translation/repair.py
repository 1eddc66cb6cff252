import torch
from torch import nn

from course_lib.batching import pad
from course_lib.beam_search import greedy_search
from course_lib.bpe import BPE
from course_lib.corpus import Sentence
from course_lib.tokens import BOS, EOS, PAD
from course_practice.engine import Exercise, case


def score(model, vocabulary, pairs):
    """The share of sentences that greedy search gets right to the letter."""
    sources = vocabulary.encode_batch([pair.src_text for pair in pairs])
    src = pad([[*ids, EOS] for ids in sources])
    found = greedy_search(model.step, model.start(src), len(src), max_len=100)
    texts = [vocabulary.decode(hypothesis.tokens) for hypothesis in found]
    right = [text == pair.tgt_text for text, pair in zip(texts, pairs, strict=True)]
    return sum(right) / len(right)


def starter_score(model, vocabulary, pairs):
    """The share of sentences that greedy search gets right to the letter."""
    texts = [text for pair in pairs for text in (pair.src_text, pair.tgt_text)]
    vocabulary = BPE.train(texts, n_merges=20)
    src = pad(vocabulary.encode_batch([pair.src_text for pair in pairs]))
    found = greedy_search(model.step, model.start(src), len(src), max_len=12)
    texts = [vocabulary.decode(hypothesis.tokens) for hypothesis in found]
    right = [sorted(text.split()) == sorted(pair.tgt) for text, pair in zip(texts, pairs, strict=True)]
    return sum(right) / len(right)


def one_by_one(model, vocabulary, pairs):
    right = 0
    for pair in pairs:
        src = torch.tensor([[*vocabulary.encode(pair.src_text), EOS]])
        (written,) = greedy_search(model.step, model.start(src), 1, 2 * src.shape[1] + 20)
        right += vocabulary.decode(written.tokens) == " ".join(pair.tgt)
    return right / len(pairs)


WORDS = {"eins": "one", "zwei": "two", "drei": "three", "vier": "four", "fünf": "five", "sechs": "six"}
UNSEEN = {"ein": "one", "elf": "eleven"}  # in no text of the training; "one" is written letter by letter
TRAIN = [text for pair in WORDS.items() for text in pair] + ["eins zwei drei vier", "one two three four"]


class _Reverser(nn.Module):
    """A translator that has learned its vocabulary: words in reverse order; without an EOS it never ends."""

    def __init__(self, vocabulary):
        super().__init__()
        self.vocabulary = vocabulary
        self.weight = nn.Parameter(torch.zeros(1))

    def start(self, src):
        plans = []
        for ids in src.tolist():
            ended = EOS in ids
            ids = ids[: ids.index(EOS)] if ended else ids
            known = [i for i in ids if i in self.vocabulary.bytes_of]
            read = self.vocabulary.decode(known).split()[::-1]
            words = [{**WORDS, **UNSEEN}.get(word, "six") for word in read]
            if ended and (PAD in ids or (BOS in ids and len(words) > 2)):  # no source of its training had them there
                words.append("six")
            written = self._by_letters("one ") if read == ["ein"] else self.vocabulary.encode(" ".join(words))
            plans.append([*written, EOS] if ended else written * 200 or [5] * 200)
        return _Plans(plans)

    def _by_letters(self, text):
        ids = {part: number for number, part in self.vocabulary.bytes_of.items()}
        return [ids[letter.encode()] for letter in text]

    def step(self, tokens, state):
        following = [plan[min(state.written, len(plan) - 1)] for plan in state.plans]
        logits = torch.nn.functional.one_hot(torch.tensor(following), self.vocabulary.vocab_size).double() * 30
        return logits[:, None].expand(-1, tokens.shape[1], -1), _Plans(state.plans, state.written + 1)


class _Plans:
    """What is to be written in each sentence, and how much of it is."""

    def __init__(self, plans, written=0):
        self.plans, self.written = plans, written

    def keep(self, sentences):
        numbers = sentences.nonzero()[:, 0].tolist() if sentences.dtype == torch.bool else sentences.tolist()
        return _Plans([self.plans[number] for number in numbers], self.written)

    def reorder(self, parents):
        return self


def _pair(src, tgt):
    return Sentence(tuple(src.split()), tuple(tgt.split()))


PAIRS = {
    "one sentence": [_pair("eins zwei", "two one")],
    "sentences of several lengths": [_pair("drei eins zwei", "two one three"), _pair("vier", "four")],
    "a translation in another order": [_pair("eins zwei", "one two"), _pair("drei vier", "four three")],
    "a long sentence": [
        _pair("sechs fünf sechs fünf sechs fünf sechs fünf", "five six five six five six five six"),
        _pair("eins", "one"),
        _pair(" ".join(["eins"] * 15), " ".join([*["one"] * 14, "six"])),
    ],
    "references that go on, or have a capital": [
        _pair("eins zwei", "two one one"),
        _pair("zwei drei", "three two one"),
        _pair("drei", "Three"),
        _pair("vier", "four"),
        _pair("eins", "one"),
    ],
    "words that the model does not know": [
        _pair("eins", "one"),
        _pair("zwei drei", "three four"),
        _pair("vier", "four"),
    ],
    "a word in other tokens than the tokenizer takes": [_pair("ein", "one"), _pair("zwei", "two")],
    "more tokens than in the source": [_pair("elf", "eleven"), _pair("vier", "four")],
}


def _run(obj, given):
    vocabulary = BPE.train(TRAIN, n_merges=12)
    return obj(_Reverser(vocabulary), vocabulary, *given.kwargs.values())


EXERCISE = Exercise(
    reference=score,
    starter=starter_score,
    call=_run,
    cases=lambda: [case(pairs=list(pairs), about=about) for about, pairs in PAIRS.items()],
    alternatives=(one_by_one,),
)
