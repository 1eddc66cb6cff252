"""Causal self-attention with its projections, forward and backward: time, and memory beyond what was held before.

Memory is read in a process of its own for each contender (`fresh_process.extra_memory`), on Linux, which tells it.
"""

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.fresh_process import extra_memory, give_back_freed_memory, run_alone, tells_memory
from benchmarks.timing import Settings, Work, agree, seconds, seeded
from course_lib.fast.attention import FusedMultiHeadAttention
from course_lib.masks import causal_mask
from course_lib.multi_head import MultiHeadAttention

COURSE, SIMPLE = "course, FusedMultiHeadAttention", "course, MultiHeadAttention"
KERNEL, MODULE = "the fused kernel bare", "nn.MultiheadAttention"
NAMES = (COURSE, SIMPLE, KERNEL, MODULE)
D_MODEL, N_HEADS, TOKENS = 512, 8, 4096
ABOUT = "{batch} × {length} tokens, d_model {d_model}, {n_heads} heads, causal, float32, forward and backward; "


class Kernel(nn.Module):
    """The least that can be done: one projection, PyTorch's kernel, one projection."""

    def __init__(self, d_model: int, n_heads: int):
        super().__init__()
        self.n_heads = n_heads
        self.w_qkv, self.w_o = nn.Linear(d_model, 3 * d_model), nn.Linear(d_model, d_model)

    def forward(self, x: Tensor) -> Tensor:
        qkv = self.w_qkv(x).unflatten(-1, (3, self.n_heads, -1)).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(*qkv.unbind(0), is_causal=True)
        return self.w_o(mixed.transpose(1, 2).flatten(start_dim=2))


class Contender:
    """One form of attention with weights that all forms share: `forward` on x, then `backward`."""

    def __init__(self, name: str, d_model: int = D_MODEL, n_heads: int = N_HEADS):
        torch.manual_seed(0)
        simple = MultiHeadAttention(d_model, n_heads)
        modules = {
            COURSE: FusedMultiHeadAttention(d_model, n_heads),
            SIMPLE: simple,
            KERNEL: Kernel(d_model, n_heads),
            MODULE: nn.MultiheadAttention(d_model, n_heads, batch_first=True),
        }
        self.name, self.module = name, modules[name]
        self.module.load_state_dict(weights(simple, name))

    def forward(self, x: Tensor) -> Tensor:
        if self.name == COURSE:
            return self.module(x, x, x, causal=True)[0]
        if self.name == SIMPLE:
            return self.module(x, x, x, causal_mask(x.shape[1]))[0]
        if self.name == MODULE:
            hidden = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
            return self.module(x, x, x, attn_mask=hidden, is_causal=True, need_weights=False)[0]
        return self.module(x)

    def forward_backward(self, x: Tensor) -> Tensor:
        """The sum of the outputs' squares, after its gradients have gone back to x and the weights."""
        x.grad = None
        self.module.zero_grad(set_to_none=True)
        loss = self.forward(x).square().sum()
        loss.backward()
        return loss.detach()


def weights(ours: MultiHeadAttention, name: str) -> dict[str, Tensor]:
    """Our weights under the names that a contender gives them."""
    if name in (COURSE, SIMPLE):
        return ours.state_dict()
    linears = (ours.w_q, ours.w_k, ours.w_v)
    both = torch.cat([linear.weight for linear in linears]), torch.cat([linear.bias for linear in linears])
    names = ("w_qkv.weight", "w_qkv.bias", "w_o") if name == KERNEL else ("in_proj_weight", "in_proj_bias", "out_proj")
    last = {f"{names[2]}.{key}": value for key, value in ours.w_o.state_dict().items()}
    return dict(zip(names[:2], both, strict=True)) | last


def works(settings: Settings) -> Iterator[Work]:
    """Two lengths, as many tokens in both: time first, then memory."""
    for length in (16,) if settings.quick else (1024, 4096):
        sizes = (2, length, 8, 2) if settings.quick else (TOKENS // length, length, D_MODEL, N_HEADS)
        about = ABOUT.format(batch=sizes[0], length=length, d_model=sizes[2], n_heads=sizes[3])
        yield time_of(f"attention, {length} tokens", about, sizes, settings)
        if tells_memory():
            yield memory_of(f"attention, {length} tokens, memory", about, sizes, settings)


def time_of(title: str, about: str, sizes: tuple[int, int, int, int], settings: Settings) -> Work:
    """All forms in one process, once their results and gradients have been compared."""
    seeded(settings)
    batch, length, d_model, n_heads = sizes
    x = torch.randn(batch, length, d_model, requires_grad=True)
    contenders = {name: Contender(name, d_model, n_heads) for name in NAMES}
    check(contenders, x)
    calls = {name: seconds(lambda c=c: c.forward_backward(x), settings) for name, c in contenders.items()}
    about += "the same weights, outputs and gradients."
    aims = {(COURSE, KERNEL): 0.95}
    return Work(title, about, calls, (COURSE, SIMPLE), amount=batch * length, things="tokens", aims=aims)


def memory_of(title: str, about: str, sizes: tuple[int, int, int, int], settings: Settings) -> Work:
    """Each form in processes of its own."""
    names = (COURSE, KERNEL) if settings.quick else NAMES
    calls = {name: lambda name=name: run_alone(peak_memory, settings.threads, name=name, sizes=sizes) for name in names}
    about += "resident memory at its highest, less what was held before the forward pass."
    aims = {(COURSE, KERNEL): 0.95}
    rounds = 1 if settings.quick else 3
    return Work(title, about, calls, (COURSE, SIMPLE), unit="MiB", aims=aims, rounds=rounds, warm_up=False)


def peak_memory(name: str, sizes: list[int], threads: int) -> float:
    """MiB that one forward and backward pass takes at most. Runs in a process of its own."""
    torch.set_num_threads(threads)
    give_back_freed_memory()
    batch, length, d_model, n_heads = sizes
    contender = Contender(name, d_model, n_heads)
    contender.forward_backward(torch.randn(1, 8, d_model, requires_grad=True))
    x = torch.randn(batch, length, d_model, requires_grad=True)
    return extra_memory(lambda: contender.forward_backward(x))


def check(contenders: dict[str, Contender], x: Tensor) -> None:
    """Outputs, and gradients of the input, are those of the simple form."""
    losses, gradients = {}, {}
    for name, contender in contenders.items():
        losses[name] = contender.forward_backward(x).item()
        gradients[name] = x.grad.clone()
    agree("sum of squares", losses, losses[SIMPLE], tolerance=1e-4)
    for name, gradient in gradients.items():
        difference = (gradient - gradients[SIMPLE]).norm() / gradients[SIMPLE].norm()
        agree("gradient near the simple form's", {name: difference.item() < 1e-4}, True)
