"""Questions of chapter 07, positional encoding."""

import math

from course_lib.positional_encoding import sinusoidal_encoding
from course_lib.stored import results

WIDTH = 128
PE = sinusoidal_encoding(100, WIDTH).double()
N_SHORT, N_LONG = 16, 256
LEARNED = next(row for row in results("positional_encoding_length")["rows"] if row["kind"] == "distances")
WEIGHT = [f"{row['weight']:.2f}" for row in LEARNED[f"all {N_LONG}"] + LEARNED[f"all {N_SHORT}"]][:3]


def _norm(channels):
    return f"{PE[7, :channels].norm().item():.0f}"


def _factor():
    return f"{math.log(N_LONG) / math.log(N_SHORT):.0f}"
