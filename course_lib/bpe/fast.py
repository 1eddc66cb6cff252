"""Byte-pair encoding at speed: the same merges and the same ids as the plain forms in `bpe`.

A word is a Python string in which every character stands for one symbol: the character with code point i is the token
with id i. A pair is then a string of length two. Tests compare this module with the plain forms and two libraries.
"""

import heapq
from array import array
from collections import defaultdict
from collections.abc import Callable
from itertools import repeat
from operator import add

Pair = tuple[str, str]
NEVER = 1 << 30  # the rank of a pair that no merge joins
LONG = 256  # a word of more symbols is merged with a heap


def learn_merges(words: dict[str, int], vocab: dict[str, int], n_merges: int, reserved: set[str]) -> list[Pair]:
    """Learn up to `n_merges` merges from words of symbols and how often each occurs; adds the new tokens to `vocab`.

    Every adjacent pair counts, overlapping ones too (aaaa has three pairs aa). Of the commonest pairs, the one with
    the smallest ids is merged: by its first symbol, then by its second. A merge that spells a token of `vocab` shares
    that token's id; one that spells a word of `reserved` is left out. Source: Sennrich et al. 2016, section 3.2.

    Counts are kept from merge to merge: only the places of the merged pair are visited, and only its neighbors
    change. A count enters the heap when it reaches `floor`; when the heap is empty, `floor` halves. Most never do.

    >>> learn_merges({"012": 5, "12": 1}, {"a": ord("0"), "b": ord("1"), "c": ord("2")}, 2, set())
    [('b', 'c'), ('a', 'bc')]
    """
    spelling = {chr(i): token for token, i in vocab.items()}
    next_id = 1 + max(vocab.values(), default=-1)
    row = Row(words)
    counts = row.counts
    heap: list[tuple[int, str]] = []
    floor = 1 + max(counts.values(), default=0)
    merges: list[Pair] = []
    while len(merges) < n_merges:
        while not heap and floor > 1:
            ceiling, floor = floor, floor // 2
            heap = [(-n, pair) for pair, n in counts.items() if floor <= n < ceiling]
            heapq.heapify(heap)
        if not heap:
            break
        n, pair = heapq.heappop(heap)
        current = counts.get(pair, 0)
        if current != -n:  # an old count: the pair has lost places since
            if current >= floor:
                heapq.heappush(heap, (-current, pair))
            continue
        left, right = spelling[pair[0]], spelling[pair[1]]
        if left + right in reserved:
            del counts[pair]
            continue
        merges.append((left, right))
        if left + right not in vocab:
            vocab[left + right] = next_id
            next_id += 1
        new = chr(vocab[left + right])
        spelling[new] = left + right
        for changed in row.merge(pair, new):
            if counts[changed] >= floor:
                heapq.heappush(heap, (-counts[changed], changed))
    return merges


class Row:
    """All words in one row of symbols, nothing between two of them, and how often every pair of neighbors occurs.

    A merged pair leaves its first place to the new symbol, and its second place empty; `before` and `after` lead from
    symbol to symbol. A merge takes as many steps as it has places, however long a word is.

    >>> row = Row({"abab": 3})
    >>> sorted(row.merge("ab", "X")), row.counts["XX"]
    (['XX', 'Xa'], 3)
    """

    def __init__(self, words: dict[str, int]):
        self.symbols, self.weights = [""], [0]
        for word, weight in words.items():
            self.symbols += [*word, ""]
            self.weights += repeat(weight, len(word) + 1)
        self.before = array("l", range(-1, len(self.symbols) - 1))
        self.after = array("l", range(1, len(self.symbols) + 1))
        self.counts: dict[str, int] = defaultdict(int)
        self.places: dict[str, list[int]] = defaultdict(list)  # where a pair begins, or began
        for i, pair in enumerate(map(add, self.symbols, self.symbols[1:])):
            if len(pair) == 2:
                self.counts[pair] += self.weights[i]
                self.places[pair].append(i)

    def merge(self, pair: str, new: str) -> set[str]:
        """Merge `pair` into `new` wherever it is, and name the pairs that became commoner.

        Around x|ab|y, the pairs xa and by go, and xc and cy come: places are noted by x and by y, then counted.
        """
        symbols, before, after = self.symbols, self.before, self.after
        lefts: dict[str, list[int]] = defaultdict(list)
        rights: dict[str, list[int]] = defaultdict(list)
        first, second = pair
        places = self.places.pop(pair)
        if first == second:
            places.sort()  # aaa is Xa, not aX
        for i in places:
            j = after[i]
            if symbols[i] == first and symbols[j] == second:
                symbols[i], symbols[j] = new, ""
                after[i] = k = after[j]
                before[k], h = i, before[i]
                lefts[symbols[h]].append(h)
                rights[symbols[k]].append(i)
        found = [(x + first, x + new, at) for x, at in lefts.items() if x]
        found += [(second + y, new + y, at) for y, at in rights.items() if y]
        for old, now, at in found:
            weight = sum(map(self.weights.__getitem__, at))
            self.counts[old] -= weight
            self.counts[now] += weight
            self.places[now] += at
        del self.counts[pair]
        return {now for _, now, _ in found}


class WordCache(dict):
    """The ids of every word it has been asked for, as tuples; a new word is merged by rank, once.

    `spell` turns a word into symbols; `ranks` maps a pair of symbols to its rank, `results` a rank to its new symbol.
    It forgets everything when it holds `limit` words, so that endless text does not fill the memory, and no long ones.

    >>> cache = WordCache(str, {"bc": 0, "aX": 1}, ["X", "Y"])
    >>> cache["abcab"] == tuple(map(ord, "Yab"))
    True
    """

    def __init__(self, spell: Callable[[str], str], ranks: dict[str, int], results: list[str], limit: int = 1 << 20):
        super().__init__()
        self.spell, self.rank, self.results, self.limit = spell, ranks.get, results, limit

    def __missing__(self, word: str) -> tuple[int, ...]:
        symbols = self.spell(word)
        if len(symbols) > LONG:
            return tuple(map(ord, merge_long(symbols, self.rank, self.results)))
        rank = self.rank
        ranks = list(map(rank, map(add, symbols, symbols[1:]), repeat(NEVER)))
        while ranks and (lowest := min(ranks)) != NEVER:
            i = ranks.index(lowest)  # the leftmost; only its neighbors get another rank
            new = self.results[lowest]
            symbols = symbols[:i] + new + symbols[i + 2 :]
            del ranks[i]
            if i:
                ranks[i - 1] = rank(symbols[i - 1] + new, NEVER)
            if i < len(ranks):
                ranks[i] = rank(new + symbols[i + 1], NEVER)
        if len(self) >= self.limit:
            self.clear()
        ids = self[word] = tuple(map(ord, symbols))
        return ids


def merge_long(symbols: str, rank: Callable[[str, int], int], results: list[str]) -> str:
    """The merged symbols of a word, in n log n steps for n symbols: a heap knows the leftmost pair of lowest rank.

    The loop of `WordCache` looks at every pair before each merge, which is quadratic, and faster for usual words.

    >>> merge_long("abcab", {"bc": 0, "aX": 1}.get, ["X", "Y"])
    'Yab'
    """
    parts = list(symbols)
    after, before = list(range(1, len(parts) + 1)), list(range(-1, len(parts) - 1))
    heap = [(r, i) for i, pair in enumerate(map(add, parts, parts[1:])) if (r := rank(pair, NEVER)) != NEVER]
    heapq.heapify(heap)
    while heap:
        lowest, i = heapq.heappop(heap)
        j = after[i]
        if not parts[i] or j == len(parts) or rank(parts[i] + parts[j], NEVER) != lowest:
            continue  # an earlier merge took one of the two
        parts[i], parts[j] = results[lowest], ""
        after[i] = after[j]
        if after[i] < len(parts):
            before[after[i]] = i
        for left in (before[i], i):
            inside = left >= 0 and after[left] < len(parts)
            if inside and (r := rank(parts[left] + parts[after[left]], NEVER)) != NEVER:
                heapq.heappush(heap, (r, left))
    return "".join(parts)
