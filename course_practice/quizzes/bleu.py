"""Questions of chapter 16, BLEU."""

import math

from course_lib.bleu import brevity_penalty, modified_precision, sentence_bleu

TRUTH = "the old man sold a red bike yesterday"
WORDS = TRUTH.split()


def _with_error(place):
    """BLEU with one wrong word at a place, counted from 1."""
    return sentence_bleu(" ".join([*WORDS[: place - 1], "wrong", *WORDS[place:]]), TRUTH).score


def _fraction(n):
    found = modified_precision(["a", "a", "b", "a"], [["a", "b", "a"]], n)
    return "{} of {}".format(*found)
