"""Ids of the four special tokens, the same in every vocabulary of the course."""

PAD, BOS, EOS, UNK = 0, 1, 2, 3
