"""Exercise: the same mask for PyTorch."""

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.masks import causal_mask
from course_practice.engine import Exercise, Mistake, case
from course_practice.engine.compare import as_tensor
from course_practice.exercises.inputs import randn


def for_pytorch(real, order):
    """Three masks that say the same to PyTorch: real tokens (batch, n) and order (n, n), both True = may attend.

    The first two go to `nn.MultiheadAttention` as `key_padding_mask` and `attn_mask`, where True means ignore. The
    third goes to `F.scaled_dot_product_attention` as `attn_mask`, where True means may attend.
    """
    return ~real, ~order, real[:, None, None, :] & order


def for_pytorch_starter(real, order):
    key_padding_mask = ...
    attn_mask = ...
    sdpa_mask = ...
    return key_padding_mask, attn_mask, sdpa_mask


def additive_masks(real, order):
    zero = torch.zeros(())
    both = torch.logical_and(real.unsqueeze(1).unsqueeze(2), order)
    return tuple(torch.where(mask, zero, float("-inf")) for mask in (real, order, both))


def everything_in_one_mask(real, order):
    n_heads = 2
    both = (real[:, None, :] & order).repeat_interleave(n_heads, dim=0)
    return torch.zeros(real.shape).bool(), both.logical_not(), both.view(len(real), n_heads, *order.shape)


def by_comparing_with_false(real, order):
    return real == False, order == False, torch.stack([order & row for row in real]).unsqueeze(1)  # noqa: E712


class _TwoAttentions:
    """PyTorch's two attentions on fixed numbers: they take the learner's masks, and their outputs are compared."""

    N_HEADS, D_MODEL = 2, 4

    def __init__(self):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
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


def _three(padding=lambda real, order: ~real, attn=lambda real, order: ~order, sdpa=None):
    sdpa = sdpa or (lambda real, order: real[:, None, None, :] & order)
    return lambda real, order: (padding(real, order), attn(real, order), sdpa(real, order))


def _real(real, order):
    return real


def _order(real, order):
    return order


EXERCISE = Exercise(
    title="The same mask for PyTorch",
    task="From real (batch, n) and order (n, n), both True = may attend, return three masks: key_padding_mask and "
    "attn_mask for nn.MultiheadAttention, and attn_mask for F.scaled_dot_product_attention.",
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
    mistakes=(
        Mistake(
            "nothing-inverted",
            _three(_real, _order),
            "The mask for `F.scaled_dot_product_attention` is right. `nn.MultiheadAttention` reads True as *ignore*: "
            "as it stands, each token looks only at pads that lie in its future.",
        ),
        Mistake(
            "padding-not-inverted",
            _three(padding=_real),
            "Your `attn_mask` is right, `key_padding_mask` is not: in `nn.MultiheadAttention` True means *ignore* in "
            "both.",
        ),
        Mistake(
            "order-not-inverted",
            _three(attn=_order),
            "Your `key_padding_mask` is right, `attn_mask` is not: in `nn.MultiheadAttention` True means *ignore* in "
            "both.",
        ),
        Mistake(
            "sdpa-inverted",
            _three(sdpa=lambda real, order: ~(real[:, None, None, :] & order)),
            "The masks for `nn.MultiheadAttention` are right. `F.scaled_dot_product_attention` reads True as *may "
            "attend*, as here, so there is nothing to invert.",
        ),
        Mistake(
            "sdpa-inverted-before-and",
            _three(sdpa=lambda real, order: ~real[:, None, None, :] & ~order),
            "The masks for `nn.MultiheadAttention` are right. The third mask needs no `~` at all: there True means "
            "*may attend*, as here.",
        ),
        Mistake(
            "truth-of-a-tensor",
            lambda real, order: (not real, not order, real[:, None, None, :] & order),
            "Somewhere Python asks whether a whole tensor is true (`not`, `and`, `or`, and `if` do), and a tensor of "
            "many booleans refuses to answer. `~` inverts and `&` joins cell by cell.",
        ),
        Mistake(
            "polarities-swapped",
            _three(_real, _order, lambda real, order: ~(real[:, None, None, :] & order)),
            "Each of the two got what the other wants: `nn.MultiheadAttention` reads True as *ignore*, "
            "`F.scaled_dot_product_attention` as *may attend*.",
        ),
        Mistake(
            "sdpa-order-alone",
            _three(sdpa=_order),
            "The third mask hides the future but not the pads: this function has no second mask, so one must say both.",
        ),
        Mistake(
            "sdpa-padding-alone",
            _three(sdpa=lambda real, order: real[:, None, None, :]),
            "The third mask hides the pads but not the future: this function has no second mask, so one must say both.",
        ),
        Mistake(
            "sdpa-adds-zero-one",
            _three(sdpa=lambda real, order: (real[:, None, None, :] & order).double()),
            "The third mask is a mask of numbers, and those are *added* to the scores: 1 and 0 hide nothing. Keep it "
            "boolean, or use 0 and −∞.",
        ),
        Mistake(
            "adds-zero-one",
            _three(lambda real, order: (~real).double(), lambda real, order: (~order).double()),
            "Masks of numbers are *added* to the scores: 0 and 1 hide nothing. Keep them boolean, or use 0 and −∞.",
        ),
        Mistake(
            "adds-zero-one-not-inverted",
            _three(lambda real, order: real.double(), lambda real, order: order.double()),
            "Masks of numbers are *added* to the scores: 0 and 1 hide nothing. A boolean mask, True = ignore, does.",
        ),
        Mistake(
            "sdpa-no-axis-for-heads",
            _three(sdpa=lambda real, order: real[:, None, :] & order),
            "The third mask lacks the axis of the heads: (batch, n, n) beside scores (batch, n_heads, n, n) puts the "
            "sentences on the heads.",
        ),
        Mistake(
            "sdpa-two-axes",
            _three(sdpa=lambda real, order: real & order),
            "The third mask joins (batch, n) and (n, n) as they are, so sentence i masks query i. Put the axes of "
            "heads and queries between batch and keys first.",
        ),
    ),
    hints=(
        "Two masks for the module, one for the function: look up what True means in each.",
        "`nn.MultiheadAttention` asks what to *ignore*, and takes padding and order apart. "
        "`F.scaled_dot_product_attention` asks what to *keep*, in one mask that broadcasts to (batch, n_heads, n, n).",
        "`~real`, `~order`, and `real` with two new axes in the middle, joined with `order` by `&`.",
    ),
    alternatives=(additive_masks, everything_in_one_mask, by_comparing_with_false),
    difficulty=2,
    minutes=10,
)
