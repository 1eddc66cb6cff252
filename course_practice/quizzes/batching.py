"""Questions of chapter 13, batching."""

from course_lib.batching import buckets

SHORT, LONG = (2, 1.0), (6, 3.0)  # tokens of a sentence, and bits each of them costs


def _all_positions():
    return sum(n * bits for n, bits in (SHORT, LONG)) / (2 * LONG[0])


def _of_means():
    return (SHORT[1] + LONG[1]) / 2


def _per_token():
    return sum(n * bits for n, bits in (SHORT, LONG)) / (SHORT[0] + LONG[0])


def _bits(number):
    return f"{number:.3g} bits"
