"""Questions of chapter 11, the Transformer."""

import math

from course_lib.transformer import TransformerConfig, parameter_count

WORDS, D_MODEL = 34, 32
PAIRS, LENGTH = 8, 7
STUCK = math.log(PAIRS) / LENGTH
SMALL = TransformerConfig(vocab_size=1000, d_model=64, n_heads=4, d_ff=256, n_layers=2)


def _count(**changes):
    return parameter_count(TransformerConfig(**(vars(SMALL) | changes)))
