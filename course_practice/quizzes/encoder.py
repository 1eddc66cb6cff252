"""Questions of chapter 09, the encoder."""

import torch

from course_lib.encoder import EncoderLayer
from course_lib.stored import results

W_1, B_1 = torch.tensor([[1.0, 1.0], [1.0, 1.0]]), torch.tensor([0.0, -1.0])
W_2 = torch.tensor([[1.0, 0.0], [-2.0, 1.0]])
TOKEN = torch.tensor([-3.0, 1.0])
D_MODEL, D_FF = 512, 2048


def _network(activation):
    return _numbers(activation(TOKEN @ W_1 + B_1) @ W_2)


def _numbers(vector):
    return "(" + ", ".join(f"{number + 0.0:g}".replace("-", "−") for number in vector.tolist()) + ")"


def _share(d_model, d_ff):
    layer = EncoderLayer(d_model, 1, d_ff)
    network = sum(p.numel() for p in layer.feed_forward.parameters())
    return f"about {network / sum(p.numel() for p in layer.parameters()):.0%}"


def _shares(model, where):
    row = next(row for row in results("encoder_alone")["rows"] if row["model"] == model)
    return sorted(run["share"] for run in row[where])


ALONE, AMONG = _shares("attention", "alone"), _shares("attention", "in a sentence")
