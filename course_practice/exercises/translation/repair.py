"""Exercise: bug hunt: an evaluation with four bugs."""

import torch
from torch import nn

from course_lib.batching import pad
from course_lib.beam_search import beam_search, greedy_search
from course_lib.bpe import BPE
from course_lib.corpus import Sentence
from course_lib.tokens import BOS, EOS, PAD
from course_lib.translation import Translator
from course_lib.translation import exact_match as share_exact
from course_practice.engine import Exercise, Mistake, case


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


def with_the_translator(model, vocabulary, pairs):
    texts = Translator(model, vocabulary).translate([pair.src_text for pair in pairs], beam_size=1)
    return share_exact(texts, pairs)


def with_a_beam_of_one(model, vocabulary, pairs):
    ids = [[*vocabulary.encode(pair.src_text), EOS] for pair in pairs]
    found = beam_search(model.step, model.start(pad(ids)), len(ids), 1, 60)
    texts = [vocabulary.decode(best[0].tokens) for best in found]
    return (
        torch.tensor([text.split() == list(pair.tgt) for text, pair in zip(texts, pairs, strict=True)]).double().mean()
    )


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
    (about,) = given.args
    vocabulary = BPE.train(TRAIN, n_merges=12)
    return obj(_Reverser(vocabulary), vocabulary, list(PAIRS[about]))


def _variant(anew=False, end=True, longest=100, judge=lambda text, pair: text == pair.tgt_text, first=BPE.train):
    def answer(model, vocabulary, pairs):
        if anew:
            texts = [text for pair in pairs for text in (pair.src_text, pair.tgt_text)]
            vocabulary = first(texts, 20)
        sources = vocabulary.encode_batch([pair.src_text for pair in pairs])
        src = pad([[*ids, EOS] if end else ids for ids in sources])
        found = greedy_search(model.step, model.start(src), len(src), max_len=longest)
        texts = [vocabulary.decode(hypothesis.tokens) for hypothesis in found]
        right = [judge(text, pair) for text, pair in zip(texts, pairs, strict=True)]
        return sum(right) / len(right)

    return answer


def _bags(text, pair):
    return sorted(text.split()) == sorted(pair.tgt)


def _begins(text, pair):
    return pair.tgt_text.startswith(text) or text.startswith(pair.tgt_text)


def _sources_as(ids):
    def answer(model, vocabulary, pairs):
        src = ids(vocabulary.encode_batch([pair.src_text for pair in pairs]))
        found = greedy_search(model.step, model.start(src), len(src), max_len=100)
        texts = [vocabulary.decode(hypothesis.tokens) for hypothesis in found]
        return share_exact(texts, pairs)

    return answer


def _cut_off_by_the_source(model, vocabulary, pairs):
    longest = max(len(ids) for ids in vocabulary.encode_batch([pair.src_text for pair in pairs]))
    return _variant(longest=longest + 1)(model, vocabulary, pairs)


def _written(model, vocabulary, pairs):
    src = pad([[*ids, EOS] for ids in vocabulary.encode_batch([pair.src_text for pair in pairs])])
    return [hypothesis.tokens for hypothesis in greedy_search(model.step, model.start(src), len(src), max_len=100)]


def _tokens_compared(model, vocabulary, pairs):
    found = _written(model, vocabulary, pairs)
    right = [ids == vocabulary.encode(pair.tgt_text) for ids, pair in zip(found, pairs, strict=True)]
    return sum(right) / len(right)


def _share_of_words(model, vocabulary, pairs):
    texts = [vocabulary.decode(ids).split() for ids in _written(model, vocabulary, pairs)]
    right = [a == b for words, pair in zip(texts, pairs, strict=True) for a, b in zip(words, pair.tgt, strict=False)]
    return sum(right) / sum(len(pair.tgt) for pair in pairs)


def _end_behind_the_pads(sources):
    return torch.cat([pad(sources), torch.full((len(sources), 1), EOS)], dim=1)


EXERCISE = Exercise(
    title="Bug hunt: a score that nobody can trust",
    task="Find the four bugs of an evaluation: `score(model, vocabulary, pairs)` is the share of sentences that greedy "
    "search translates to the letter. The vocabulary is the one that the model was trained with.",
    reference=score,
    starter=starter_score,
    call=_run,
    cases=lambda: [case(about, about=about) for about in PAIRS],
    mistakes=(
        Mistake(
            "vocabulary-anew",
            _variant(anew=True),
            "The vocabulary is trained anew, so the ids mean other tokens than those that the model has learned, and "
            "no other repair shows. Use the one that is given.",
        ),
        Mistake(
            "source-without-end",
            _variant(end=False),
            "Not one sentence comes out right. Either your source lacks EOS, with which every source ended in "
            "training, so that the model writes on and on. Or you compare what is never equal, such as a list "
            "and a tuple.",
        ),
        Mistake(
            "cut-off",
            _variant(longest=12),
            "The other bugs are gone. One is left: a long translation is cut off before its end, because `max_len` is "
            "too small for it.",
        ),
        Mistake(
            "cut-off-at-the-length-of-the-source",
            _cut_off_by_the_source,
            "The other bugs are gone, but a translation may have as many tokens as the longest source and no more. It "
            "may need more, and then it is cut off.",
        ),
        Mistake(
            "tokens-compared",
            _tokens_compared,
            "The other bugs are gone, but tokens are compared. A word can be spelled with other tokens than the "
            "tokenizer takes, and the letters are the same: decode, and compare texts.",
        ),
        Mistake(
            "words-as-sets",
            _variant(judge=lambda text, pair: set(text.split()) == set(pair.tgt)),
            "The other bugs are gone, but words are compared as sets: neither their order counts nor how often each of "
            "them comes.",
        ),
        Mistake(
            "share-of-words",
            _share_of_words,
            "This is the share of the *words* that are right. A sentence counts only if its whole text is.",
        ),
        Mistake(
            "words-as-bags",
            _variant(judge=_bags),
            "The other bugs are gone. One is left: the words are compared without their order. To the letter means "
            "that the texts are equal.",
        ),
        Mistake(
            "cut-off-and-bags",
            _variant(longest=12, judge=_bags),
            "Two bugs are left: a long translation is cut off, and the order of the words is not compared.",
        ),
        Mistake(
            "beginning-is-enough",
            _variant(longest=12, judge=_begins),
            "A translation that was cut off counts as right because it begins like the reference. Give the search room "
            "instead of forgiving it.",
        ),
        Mistake(
            "begin-in-front",
            _sources_as(lambda sources: pad([[BOS, *ids, EOS] for ids in sources])),
            "The other bugs are gone, but BOS stands before every source. In training a source began with its first "
            "word: only targets begin with BOS.",
        ),
        Mistake(
            "end-behind-the-pads",
            _sources_as(_end_behind_the_pads),
            "EOS stands behind the pads of a short source. It ends the sentence, so it comes first, and the pads "
            "follow it.",
        ),
        Mistake(
            "begins-like-the-reference",
            _variant(judge=lambda text, pair: pair.tgt_text.startswith(text)),
            "The other bugs are gone, but a translation that is only the beginning of its reference counts as right.",
        ),
        Mistake(
            "capitals-ignored",
            _variant(judge=lambda text, pair: text.lower() == pair.tgt_text.lower()),
            "The other bugs are gone, but capitals and small letters count as the same. To the letter means that the "
            "texts are equal.",
        ),
    ),
    hints=(
        "Follow one sentence from text to text. Where do ids get their meaning, what ends a source, what ends a "
        "translation, and what is compared at last?",
        "The vocabulary is a parameter. A source ends as in training. 12 is short for 8 words of several tokens. "
        "`sorted` forgets the order.",
        "Delete the two lines that train a vocabulary, write `[*ids, EOS]` for every source, `max_len=100`, and "
        "`text == pair.tgt_text`.",
    ),
    alternatives=(one_by_one, with_the_translator, with_a_beam_of_one),
    difficulty=3,
    minutes=15,
)
