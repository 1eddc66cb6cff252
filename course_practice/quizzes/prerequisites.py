"""Questions on what lies before chapter 01: tensors, softmax, products, broadcasting, gradients, recurrent cells."""

import math

import torch

ROWS, INNER, COLUMNS = 2, 5, 3
PRODUCT = torch.ones(ROWS, INNER) @ torch.ones(INNER, COLUMNS)
BATCH, LENGTH = 4, 6
BROADCAST = torch.ones(BATCH, 1) + torch.ones(LENGTH)
COLUMN = torch.tensor([5, 0, 2, 2])
PICKED = torch.ones(BATCH, LENGTH)[torch.arange(BATCH), COLUMN]
TERMS, SCALE = 64, 10
LEFT, RIGHT = torch.tensor([1, 2, 0]), torch.tensor([3, -1, 5])
TABLE = torch.arange(6).reshape(2, 3)
NUMBERS, BOUND = torch.tensor([7, 2, 9, 4]), 5
ENTROPY = -sum(p * math.log(p) for p in (1 / 8, 1 / 2, 1 / 8, 1 / 4))
SHORT, LONG = 5, 50
TURNS = math.log(2) / 2  # half of the words follow surely, and the others are one of two


def _shape(*sizes: int) -> str:
    return f"({', '.join(map(str, sizes))}{',' if len(sizes) == 1 else ''})"
