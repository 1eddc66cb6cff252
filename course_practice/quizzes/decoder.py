"""Questions of chapter 10, the decoder."""

import math

N_FORMS, N_TOKENS = 3, 4
ALONE, TOGETHER = N_TOKENS * math.log(N_FORMS), math.log(N_FORMS)
