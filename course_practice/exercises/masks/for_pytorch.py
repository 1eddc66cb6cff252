import torch
from torch import nn
from torch.nn import functional as F

from course_lib.masks import causal_mask
from course_practice.engine import Exercise, case
from course_practice.engine.compare import as_tensor
from course_practice.exercises.inputs import randn


def for_pytorch(real, order):
    """Three masks that say the same to PyTorch: real tokens (batch, n) and order (n, n), both True = may attend.

    The first two go to `nn.MultiheadAttention` as `key_padding_mask` and `attn_mask`, where True means ignore. The
    third goes to `F.scaled_dot_product_attention` as `attn_mask`, where True means may attend.
    """
    key_padding_mask = ~real
    attn_mask = ~order
    sdpa_mask = real[:, None, None, :] & order
    return key_padding_mask, attn_mask, sdpa_mask


def for_pytorch_starter(real, order):
    key_padding_mask = ...
    attn_mask = ...
    sdpa_mask = ...
    return key_padding_mask, attn_mask, sdpa_mask


def additive_masks(real, order):
    zero = torch.zeros(())
    both = torch.logical_and(real.unsqueeze(1).unsqueeze(2), order)
    return tuple(torch.where(mask, zero, float("-inf")) for mask in (real, order, both))


class _TwoAttentions:
    """PyTorch's two attentions on fixed numbers: they take the learner's masks, and their outputs are compared."""

    N_HEADS, D_MODEL = 2, 4

    def __init__(self):
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(0)
            self.module = nn.MultiheadAttention(self.D_MODEL, self.N_HEADS, batch_first=True).double().eval()

    @torch.no_grad()
    def __call__(self, obj, given):
        real, order = given.args
        answer = obj(real, order)
        if answer is None:
            return None
        if not isinstance(answer, tuple | list) or len(answer) != 3:
            raise ValueError("expected three masks: key_padding_mask, attn_mask, sdpa_mask")
        padding, order_mask, both = map(self.usable, answer)
        x = randn(*real.shape, self.D_MODEL, seed=1).double()
        heads = randn(len(real), self.N_HEADS, real.shape[1], 3, seed=2).double()
        outputs = (
            self.module(x, x, x, key_padding_mask=padding, attn_mask=order_mask, need_weights=False)[0],
            F.scaled_dot_product_attention(heads, heads, heads, attn_mask=both),
        )
        return tuple(output.nan_to_num(0.0) for output in outputs)  # empty rows: NaN or 0, depending on the way taken

    @staticmethod
    def usable(mask):
        tensor = mask if mask is None else as_tensor(mask)
        if tensor is None and mask is not None:
            raise ValueError(f"expected a mask, got {type(mask).__name__}")
        return tensor.double() if tensor is not None and tensor.is_floating_point() else tensor


EXERCISE = Exercise(
    reference=for_pytorch,
    starter=for_pytorch_starter,
    call=_TwoAttentions(),
    cases=lambda: [
        case(torch.tensor([[True, True, False]]), causal_mask(3), about="one sentence, one pad"),
        case(
            torch.tensor([[True] * 5, [True, True, False, False, False], [True] * 4 + [False]]),
            causal_mask(5),
            about="padding on the right",
        ),
        case(
            torch.tensor([[True, False, False], [True, True, True], [True, True, False]]),
            causal_mask(3),
            about="as many sentences as tokens",
        ),
        case(
            torch.tensor([[True, True, False, True], [True, False, True, True]]),
            causal_mask(4),
            about="as many sentences as heads, a pad in the middle",
        ),
        case(torch.tensor([[True] * 7] * 2), causal_mask(7), about="no pads"),
    ],
    alternatives=(additive_masks,),
)
