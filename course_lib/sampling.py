"""Drawing words from a model's scores: temperature, the k largest, the smallest set with probability p."""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_lib.sizes import check_between, check_whole
from course_lib.tokens import EOS, PAD


def top_k_filter(logits: Float[Tensor, "*shape vocab_size"], k: int) -> Float[Tensor, "*shape vocab_size"]:
    """Keep the k largest logits, set the others to −∞.

    Source: Fan et al. 2018, section 5.4.

    >>> top_k_filter(torch.tensor([1.0, 3.0, 2.0]), k=2)
    tensor([-inf, 3., 2.])
    """
    check_whole(k=k)
    kept = logits.topk(min(k, logits.shape[-1]), dim=-1)
    return torch.full_like(logits, -math.inf).scatter(-1, kept.indices, kept.values)


def top_p_filter(logits: Float[Tensor, "*shape vocab_size"], p: float) -> Float[Tensor, "*shape vocab_size"]:
    """Keep the most probable words until they reach p together; others get −∞.

    At least one word is kept, and with p = 1 each of them.
    Source: Holtzman et al. 2020, section 3.1.

    >>> top_p_filter(torch.tensor([0.2, 0.5, 0.3]).log(), p=0.6).exp()
    tensor([0.0000, 0.5000, 0.3000])
    """
    check_between(0, 1, p=p)
    if p == 1:  # a sum in single precision reaches 1 before the last word
        return logits
    ordered, index = logits.sort(dim=-1, descending=True)
    probs = ordered.softmax(dim=-1, dtype=torch.promote_types(ordered.dtype, torch.float32))
    before = probs.cumsum(dim=-1) - probs
    kept = ordered.masked_fill((before >= p) & (before > 0), -math.inf)
    return torch.full_like(logits, -math.inf).scatter(-1, index, kept)


@torch.no_grad()
def sample(
    step: Callable,
    state: object,
    tokens: Int[Tensor, "batch beam"],
    max_len: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float = 1.0,
    generator: torch.Generator | None = None,
    eos_id: int = EOS,
    pad_id: int = PAD,
) -> Int[Tensor, "batch beam length"]:
    """Draw up to `max_len` words after `tokens`, one after the other; after `eos_id` a row holds `pad_id`.

    The temperature divides the logits: below 1 the likely words become likelier, above 1 less likely. ValueError where
    `tokens`, the last of each prompt, has a pad: nothing follows it.

    >>> fixed = lambda tokens, state: (torch.tensor([[[0.0, 0.0, 1.0, 0.0, 9.0]]]), state)
    >>> sample(fixed, None, torch.tensor([[1]]), max_len=3, top_k=1)
    tensor([[[4, 4, 4]]])
    """
    check_whole(0, max_len=max_len)
    check_whole(top_k=1 if top_k is None else top_k)
    check_between(0, 1, top_p=top_p)
    if not temperature > 0:
        raise ValueError(f"expected a temperature above 0, got {temperature}: for the most probable word use top_k=1")
    if (tokens == pad_id).any():
        raise ValueError(f"expected a word at the end of each prompt, got the pad {pad_id}: pad prompts on the left")
    drawn, finished = [tokens], torch.zeros_like(tokens, dtype=torch.bool)
    while len(drawn) <= max_len and not finished.all():
        logits, state = step(tokens, state)
        logits = logits.to(torch.promote_types(logits.dtype, torch.float32)) / temperature
        if top_k is not None:
            logits = top_k_filter(logits, top_k)
        if top_p < 1:
            logits = top_p_filter(logits, top_p)
        probs = logits.softmax(dim=-1).flatten(0, 1)
        if probs.isnan().any():
            raise ValueError("expected a finite largest logit, got NaN or infinity: mend `step`, or the temperature")
        tokens = torch.multinomial(probs, 1, generator=generator).view(tokens.shape)
        drawn.append(tokens.masked_fill(finished, pad_id))
        finished = finished | (tokens == eos_id)
    return torch.stack(drawn, dim=-1)[..., 1:]
