"""Questions of chapter 05, masks."""

import math

import torch

from course_lib.masks import causal_mask, masked_softmax, padding_mask

N_WORDS, SEQ_LEN = 10, 8
BATCH, N_HEADS = 2, 3
IDS = torch.tensor([[5, 6, 7, 0], [8, 9, 0, 0]])
N_TOKENS = IDS.shape[1]
SCORES = torch.tensor([[1.0, 3.0, 4.0]]).log()
FIRST_TWO = torch.tensor([True, True, False])


def _fractions(weights, whole):
    return ", ".join(f"{round(weight * whole)}/{whole}" for weight in weights.flatten().tolist())


def _visible(mask):
    return f"{int(mask.sum())}"


def _zeroed_afterwards():
    return _fractions(SCORES.softmax(dim=-1).masked_fill(~FIRST_TWO, 0.0), 8)
