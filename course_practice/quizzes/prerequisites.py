"""Questions on what lies before chapter 01: tensors, softmax, products, broadcasting, variance."""

import math

import torch

ROWS, INNER, COLUMNS = 2, 5, 3
PRODUCT = torch.ones(ROWS, INNER) @ torch.ones(INNER, COLUMNS)
BATCH, LENGTH = 4, 6
BROADCAST = torch.ones(BATCH, 1) + torch.ones(LENGTH)
TERMS, SCALE = 64, 10
LEFT, RIGHT = torch.tensor([1, 2, 0]), torch.tensor([3, -1, 5])
TABLE = torch.arange(6).reshape(2, 3)


def _shape(*sizes: int) -> str:
    return f"({', '.join(map(str, sizes))})"
