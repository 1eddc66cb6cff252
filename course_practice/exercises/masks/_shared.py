"""What several exercises on masks need."""

import torch

from course_lib.masks import padding_mask

NEG_INF = float("-inf")


def ones(n):
    return torch.ones(n, n, dtype=torch.bool)


def one_infinity(mask):
    """All masks made to be added, with −∞, −1e9 or −1e4, are one and the same mistake."""
    return mask.masked_fill(mask < -1e3, NEG_INF) if mask.is_floating_point() else mask


def real_queries(ids):
    return padding_mask(ids).transpose(-2, -1)
