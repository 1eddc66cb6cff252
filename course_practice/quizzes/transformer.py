"""Questions of chapter 11, the Transformer."""

import math

WORDS, D_MODEL = 34, 32
PAIRS, LENGTH = 8, 7
STUCK = math.log(PAIRS) / LENGTH
