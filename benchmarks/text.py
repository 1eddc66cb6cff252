"""Sentences to score and to try things with: a made-up language, the same on every machine.

Words follow Zipf's law, as in every natural text; frequent words are short, many words share their endings. Another
seed is another language.
"""

from collections.abc import Iterator
from itertools import accumulate
from random import Random

LARGEST = 60_000
ONSETS = [*"tsrnlkmdpbghfvwj", "st", "pr", "tr", "ch", "sh", "gr", "th", "pl"]
VOWELS = [*"eaioue", "ai", "ou", "ee", "io"]
CODAS = ["", "", "", "n", "r", "s", "l", "t", "m", "nd", "st"]
ENDINGS = ["s", "ed", "ing", "er", "ly", "tion", "al", "ness", "able", "ic", "ous", "ment"]


class Language:
    """`n_words` different words; word number r comes 1 / r as often as the first.

    >>> language = Language(n_words=50, seed=1)
    >>> len(set(language.words)), language.sentence(3, 3) == Language(n_words=50, seed=1).sentence(3, 3)
    (50, True)
    """

    def __init__(self, n_words: int = LARGEST, seed: int = 0):
        self.random = Random(seed)
        self.words = self._words(n_words)
        self.cumulative = list(accumulate(1 / rank for rank in range(1, n_words + 1)))

    def _words(self, n_words: int) -> list[str]:
        words: dict[str, None] = {}  # a set that keeps the order
        while len(words) < n_words:
            longest = 1 + len(str(len(words))) // 2  # syllables: words become longer as they become rare
            words.setdefault(self._word(longest))
        return list(words)

    def _word(self, longest: int) -> str:
        choose, share = self.random.choice, self.random.random
        # The product of two shares prefers the front of each list: sounds, too, are not equally frequent.
        sound = lambda sounds: sounds[int(len(sounds) * share() * share())]  # noqa: E731
        stem = "".join(sound(ONSETS) + sound(VOWELS) + sound(CODAS) for _ in range(self.random.randint(1, longest)))
        return stem + choose(ENDINGS) if share() < 0.3 else stem

    def sentence(self, shortest: int = 8, longest: int = 40) -> list[str]:
        """The words of a sentence."""
        n = self.random.randint(shortest, longest)
        return self.random.choices(self.words, cum_weights=self.cumulative, k=n)

    def lines(self, n_bytes: int) -> Iterator[str]:
        """Lines of one sentence each, until they fill `n_bytes`: a capital first, commas, numbers, an end.

        >>> text = "\\n".join(Language(n_words=50).lines(5000))
        >>> 4000 < len(text.encode()) <= 5000
        True
        """
        size = 0
        while True:
            words = self.sentence()
            for place in range(len(words) - 1):
                luck = self.random.random()
                if luck < 0.06:
                    words[place] += ","
                elif luck < 0.08:
                    words[place] = str(self.random.randint(1, 2000))
            line = " ".join(words).capitalize() + self.random.choice("...?!")
            size += len(line.encode()) + 1
            if size > n_bytes + 1:
                return
            yield line

    def translations(self, n: int) -> tuple[list[str], list[str]]:
        """`n` references and as many hypotheses: copies in which words are lost, replaced, and change places.

        >>> hypotheses, references = Language(n_words=50).translations(3)
        >>> len(hypotheses) == len(references) == 3
        True
        """
        references = [self.sentence() for _ in range(n)]
        return [" ".join(self._blurred(words)) for words in references], [" ".join(words) for words in references]

    def _blurred(self, words: list[str]) -> list[str]:
        kept = []
        for word in words:
            luck = self.random.random()
            if luck < 0.08:
                continue
            kept.append(self.random.choice(self.words) if luck < 0.2 else word)
            if luck > 0.92 and len(kept) > 1:
                kept[-1], kept[-2] = kept[-2], kept[-1]
        return kept or words[:1]
