import torch
from torch.nn import functional as F

from course_lib.layer_norm import LayerNorm
from course_lib.modern import RMSNorm
from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn
from course_practice.exercises.layer_norm.residual import Named


def lens(stream, norm, output):
    """Logits (…, vocab_size) of a residual stream, and the ids of the best.

    stream is (…, d_model) as it leaves some layer, norm the model's last
    norm, and output its matrix (vocab_size, d_model). The ids (…, 3) begin
    with the best.

    >>> stream, output = torch.tensor([2.0, 0.0]), torch.eye(2).repeat(2, 1)
    >>> lens(stream, lambda x: x / 2, output - 0.1 * torch.arange(4.0)[:, None])
    (tensor([ 1.0000, -0.1000,  0.8000, -0.3000]), tensor([0, 2, 1]))
    """
    logits = norm(stream) @ output.T
    return logits, logits.topk(3, dim=-1).indices


def with_a_linear_layer(stream, norm, output):
    logits = F.linear(norm(stream), output)
    return logits, logits.argsort(dim=-1, descending=True)[..., :3]


def with_einsum(stream, norm, output):
    logits = torch.einsum("...d,vd->...v", norm(stream), output)
    return logits, logits.sort(dim=-1, descending=True).indices[..., :3]


def _cases():
    def rms_norm(d_model, seed):
        norm = RMSNorm(d_model).requires_grad_(False)
        norm.gain.copy_(1 + randn(d_model, seed=seed))
        return Named("an RMSNorm", norm)

    def layer_norm(d_model, seed):
        norm = LayerNorm(d_model).requires_grad_(False)
        norm.gain.copy_(1 + randn(d_model, seed=seed))
        norm.bias.copy_(randn(d_model, seed=seed + 1))
        return Named("a layer norm", norm)

    halved = Named("half of x", lambda x: x / 2)
    shifted = Named("x + 1", lambda x: x + 1)
    matrix = torch.tensor([[1.0, 0.0], [0.0, 1.0], [3.0, 1.0], [-1.0, 2.0]])
    return [
        case(torch.tensor([2.0, 4.0]), halved, matrix, about="one position, four words"),
        case(torch.tensor([[2.0, 4.0], [6.0, -2.0]]), shifted, matrix, about="two positions"),
        case(3 * randn(2, 5, 7, seed=1), rms_norm(7, 2), randn(11, 7, seed=3), about="all sizes different"),
        case(3 * randn(6, 6, 6, seed=4), rms_norm(6, 5), randn(6, 6, seed=6), about="all sizes equal"),
        case(randn(4, 1, 3, 5, seed=7), layer_norm(5, 8), randn(13, 5, seed=9), about="several layers"),
    ]


EXERCISE = Exercise(reference=lens, cases=_cases, alternatives=(with_a_linear_layer, with_einsum))
