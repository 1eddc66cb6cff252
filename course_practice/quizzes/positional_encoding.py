"""Questions of chapter 07, positional encoding."""

import math

from course_lib.positional_encoding import sinusoidal_encoding

WIDTH = 128
PE = sinusoidal_encoding(100, WIDTH).double()


def _norm(channels):
    return f"{PE[7, :channels].norm().item():.0f}"


def _root():
    return f"{math.sqrt(WIDTH):.1f}"
