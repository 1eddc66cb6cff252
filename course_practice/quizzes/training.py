"""Questions of chapter 14, training."""

import math

WORDS = 482
SHARES = [0.9 + 0.1 / WORDS] + [0.1 / WORDS] * (WORDS - 1)
FLOOR = -sum(share * math.log(share) for share in SHARES)
