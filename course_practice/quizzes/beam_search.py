"""Questions of chapter 15, beam search."""

import math

# By hand: two words to choose from, then an end.
FIRST, AFTER_FIRST, SECOND, AFTER_SECOND = 0.55, 0.4, 0.45, 0.8
GREEDY, OTHER = FIRST * AFTER_FIRST, SECOND * AFTER_SECOND

# Two finished sentences: log P and length.
SHORT, LONG = (-2.0, 2), (-3.0, 6)
ALPHAS = (0.0, 0.5, 1.0)
SCORES = {alpha: [p / n**alpha for p, n in (SHORT, LONG)] for alpha in ALPHAS}
CROSS = math.log(LONG[0] / SHORT[0]) / math.log(LONG[1] / SHORT[1])
