"""Exercise: a mixture of experts."""

import torch

from course_practice.engine import Convention, Exercise, Mistake, case
from course_practice.exercises.inputs import randn
from course_practice.exercises.layer_norm.residual import Named


def mixture(x, router, experts, k):
    """Each token is handed to the k experts that the router prefers.

    x is (n_tokens, d_model), the router a matrix (d_model, n_experts), and
    `experts` a list of functions. Returns (n_tokens, d_model): the outputs of
    the k experts, weighted by the softmax over their k logits.
    """
    kept, chosen = (x @ router).topk(k, dim=-1)
    gates = kept.softmax(dim=-1)
    output = torch.zeros_like(x)
    for e, expert in enumerate(experts):
        token, slot = (chosen == e).nonzero(as_tuple=True)
        output[token] += gates[token, slot, None] * expert(x[token])
    return output


def all_experts_with_zeros(x, router, experts, k):
    logits = x @ router
    smallest = logits.sort(dim=-1, descending=True).values[:, k - 1 : k]
    gates = logits.masked_fill(logits < smallest, float("-inf")).softmax(dim=-1)
    return sum(gates[:, e : e + 1] * expert(x) for e, expert in enumerate(experts))


def token_by_token(x, router, experts, k):
    rows = []
    for token in x:
        logits = token @ router
        best = logits.argsort(descending=True)[:k]
        weights = torch.exp(logits[best] - logits[best].max())
        weights = weights / weights.sum()
        rows.append(sum(w * experts[e](token[None])[0] for w, e in zip(weights, best.tolist(), strict=True)))
    return torch.stack(rows)


def renormalized(x, router, experts, k):
    probs = (x @ router).softmax(dim=-1)
    top, index = probs.topk(k)
    gates = torch.zeros_like(probs).scatter(1, index, top / top.sum(dim=1, keepdim=True))
    outputs = torch.stack([expert(x) for expert in experts], dim=1)
    return torch.einsum("te,ted->td", gates, outputs)


def slot_by_slot(x, router, experts, k):
    kept, chosen = torch.topk(x @ router, k)
    gates, output = torch.softmax(kept, -1), x * 0
    for slot in range(k):
        for e in chosen[:, slot].unique().tolist():
            rows = chosen[:, slot] == e
            output[rows] = output[rows] + gates[rows, slot].unsqueeze(1) * experts[e](x[rows])
    return output


def _dense(x, experts, gates):
    return sum(gates[:, e : e + 1] * expert(x) for e, expert in enumerate(experts))


def _scattered(logits, chosen, gates):
    return torch.zeros_like(logits).scatter(1, chosen, gates)


def _of(choose=lambda logits, k: logits.topk(k, dim=-1), gate=lambda kept, logits, chosen: kept.softmax(dim=-1)):
    def answer(x, router, experts, k):
        logits = x @ router
        kept, chosen = choose(logits, k)
        return _dense(x, experts, _scattered(logits, chosen, gate(kept, logits, chosen)))

    return answer


def _all_mixed(x, router, experts, k):
    return _dense(x, experts, (x @ router).softmax(dim=-1))


def _overwritten(x, router, experts, k):
    kept, chosen = (x @ router).topk(k, dim=-1)
    gates, output = kept.softmax(dim=-1), torch.zeros_like(x)
    for e, expert in enumerate(experts):
        token, slot = (chosen == e).nonzero(as_tuple=True)
        output[token] = gates[token, slot, None] * expert(x[token])
    return output


def _one_choice_for_all(x, router, experts, k):
    kept, chosen = (x @ router).mean(dim=0, keepdim=True).topk(k, dim=-1)
    gates = torch.zeros(1, router.shape[1]).scatter(1, chosen, kept.softmax(dim=-1)).expand(len(x), -1)
    return _dense(x, experts, gates)


def _by_the_sum_of_logits(x, router, experts, k):
    kept, chosen = (x @ router).sum(dim=0, keepdim=True).topk(k, dim=-1)
    gates = torch.zeros(1, router.shape[1]).scatter(1, chosen, kept.softmax(dim=-1)).expand(len(x), -1)
    return _dense(x, experts, gates)


def _same_experts_own_gates(x, router, experts, k):
    logits = x @ router
    chosen = logits.sum(dim=0).topk(k).indices.expand(len(x), -1)
    return _dense(x, experts, _scattered(logits, chosen, logits.gather(1, chosen).softmax(dim=-1)))


def _experts_of_the_first_token(x, router, experts, k):
    kept, chosen = (x @ router).topk(k, dim=-1)
    gates = kept.softmax(dim=-1)
    return sum(gates[:, slot, None] * experts[chosen[0, slot]](x) for slot in range(k))


def _all_logits_for_one_expert(x, router, experts, k):
    return _of(gate=_switched)(x, router, experts, k) if k == 1 else mixture(x, router, experts, k)


def _best_alone(x, router, experts, k):
    return mixture(x, router, experts, 1)


def _over_tokens(kept, logits, chosen):
    return kept.softmax(dim=0)


def _switched(kept, logits, chosen):
    return logits.softmax(dim=-1).gather(1, chosen)


def _wrong_slot(x, router, experts, k):
    """The gates stand in the order of the slots, the experts in their own."""
    kept, chosen = (x @ router).topk(k, dim=-1)
    return _dense(x, experts, _scattered(x @ router, chosen.sort(dim=-1).values, kept.softmax(dim=-1)))


def _slots_for_experts(x, router, experts, k):
    gates = (x @ router).topk(k, dim=-1).values.softmax(dim=-1)
    return sum(gates[:, j : j + 1] * experts[j](x) for j in range(k))


def _first_gate(kept, logits, chosen):
    return kept.softmax(dim=-1)[:, :1].expand(-1, kept.shape[1])


def _gates_on_the_input(x, router, experts, k):
    kept, chosen = (x @ router).topk(k, dim=-1)
    gates = _scattered(x @ router, chosen, kept.softmax(dim=-1))
    return sum((gates[:, e : e + 1] > 0) * expert(gates[:, e : e + 1] * x) for e, expert in enumerate(experts))


def _residual(x, router, experts, k):
    return x + mixture(x, router, experts, k)


def _divided(kept, logits, chosen):
    return kept / kept.sum(dim=-1, keepdim=True)


def _cases():
    def expert(d, seed):
        weight = randn(d, d, seed=seed)
        return Named(f"expert {seed % 10}", lambda y: torch.tanh(y @ weight) + seed % 10)

    def several(number, d, seed):
        return [expert(d, seed + e) for e in range(number)]

    plain = [Named(f"{factor} times", lambda y, factor=factor: factor * y) for factor in (10, 100, 1000)]
    by_hand = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    router = torch.tensor([[1.0, 3.0, 4.0], [5.0, 2.0, 2.5]]).log()
    return [
        case(by_hand, router, plain, 2, about="two tokens by hand, k = 2"),
        case(by_hand, router, plain, 1, about="the same, k = 1"),
        case(by_hand, router, plain, 3, about="the same with all three experts"),
        case(randn(5, 3, seed=1), randn(3, 4, seed=2), several(4, 3, 10), 2, about="all sizes different"),
        case(randn(4, 4, seed=3), randn(4, 4, seed=4), several(4, 4, 20), 2, about="all sizes equal"),
        case(randn(3, 2, seed=5), 3 * randn(2, 7, seed=6), several(7, 2, 30), 3, about="experts that no token chooses"),
        case(randn(6, 3, seed=7), randn(3, 2, seed=8), several(2, 3, 40), 1, about="two experts, k = 1"),
    ]


EXERCISE = Exercise(
    title="Free: a mixture of experts",
    task="Hand each token of x (n_tokens, d_model) to the k experts with the largest logits x @ router, and return "
    "their outputs weighted by the softmax over those k logits, also for k = 1, where the gate is 1. Each expert is a "
    "function of (tokens, d_model).",
    reference=mixture,
    cases=_cases,
    mistakes=(
        Convention(
            "probabilities-of-all",
            _of(gate=_switched),
            "Valid in other models (the Switch Transformer weighs so): your gates are probabilities over *all* "
            "experts, and their sum is below 1. Here the softmax runs over the k logits that were kept.",
        ),
        Convention(
            "all-logits-for-one-expert",
            _all_logits_for_one_expert,
            "Right for two experts and more. With k = 1 your gate is a probability over *all* experts: valid in the "
            "Switch Transformer, whose router would not learn otherwise. Here the softmax runs over the k kept logits "
            "for every k, so that a single expert has the gate 1.",
        ),
        Mistake(
            "all-experts",
            _all_mixed,
            "Every token gets all the experts. Only the k with the largest logits are to work for it.",
        ),
        Mistake(
            "overwritten",
            _overwritten,
            "Right for k = 1. With more, the last of a token's experts overwrites the others: add them up.",
        ),
        Mistake(
            "equal-gates",
            _of(gate=lambda kept, logits, chosen: torch.full_like(kept, 1 / kept.shape[1])),
            "The right experts work, and you take their plain mean. The softmax over their logits weighs them.",
        ),
        Mistake(
            "summed-without-gates",
            _of(gate=lambda kept, logits, chosen: torch.ones_like(kept)),
            "The right experts work, and their outputs are added as they are. The softmax over their logits weighs "
            "them.",
        ),
        Mistake(
            "logits-as-gates",
            _of(gate=lambda kept, logits, chosen: kept),
            "The right experts work, and the logits themselves weigh them. Their softmax does.",
        ),
        Mistake(
            "logits-divided-by-their-sum",
            _of(gate=_divided),
            "The right experts work, and the logits divided by their sum weigh them. Logits may be negative: take "
            "their softmax.",
        ),
        Mistake(
            "softmax-over-tokens",
            _of(gate=_over_tokens),
            "The right experts work, and your softmax runs over the tokens, so that tokens change one another. It runs "
            "over the k experts of one token.",
        ),
        Mistake(
            "gates-in-another-order",
            _wrong_slot,
            "The right experts work, with the gates of one another: `topk` puts the largest logit first, wherever that "
            "expert stands in the list.",
        ),
        Mistake(
            "first-gate-for-all",
            _of(gate=_first_gate),
            "The right experts work, and all of them get the gate of the first one. Each slot has its own.",
        ),
        Mistake(
            "one-choice-for-all-tokens",
            _one_choice_for_all,
            "You choose the experts once, for all tokens together. Each token chooses its own.",
        ),
        Mistake(
            "logits-of-all-tokens-added",
            _by_the_sum_of_logits,
            "You add up the logits of all tokens, and choose and weigh the experts once. Keep the axis of the tokens: "
            "`topk` chooses along the last axis, for each token by itself.",
        ),
        Mistake(
            "same-experts-for-all-tokens",
            _same_experts_own_gates,
            "Each token has gates of its own, but you choose the experts once, for all tokens together. Each token "
            "chooses its own.",
        ),
        Mistake(
            "best-expert-alone",
            _best_alone,
            "Right for k = 1. With more, only the best expert of a token works. The k best ones are to work, each "
            "weighted by its gate.",
        ),
        Mistake(
            "least-preferred",
            _of(choose=lambda logits, k: logits.topk(k, dim=-1, largest=False)),
            "You choose the experts with the *smallest* logits.",
        ),
        Mistake(
            "first-k-experts",
            _of(choose=lambda logits, k: (logits[:, :k], torch.arange(k).expand(len(logits), -1))),
            "You always take the first k experts. The router chooses, for each token.",
        ),
        Mistake(
            "slots-for-experts",
            _slots_for_experts,
            "The gates are right, but slot j always gets expert j. Which expert stands in slot j differs from token to "
            "token: `topk` returns it beside the values.",
        ),
        Mistake(
            "experts-of-the-first-token",
            _experts_of_the_first_token,
            "The gates are right, but every token goes to the experts of token 0. Each token has its own: "
            "`chosen[token, slot]`.",
        ),
        Mistake(
            "gates-on-the-input",
            _gates_on_the_input,
            "You multiply the *input* of an expert by its gate. An expert is not linear: the gate multiplies its "
            "output.",
        ),
        Mistake(
            "input-added",
            _residual,
            "The mixture is right, and x has been added to it. The residual connection stands outside.",
        ),
    ),
    hints=(
        "Do one token by hand: its logits, the k largest of them, their softmax, and the weighted sum of k outputs. "
        "What does `topk` return besides the values?",
        "`kept, chosen = (x @ router).topk(k, dim=-1)`, and the gates are the softmax of `kept`. Then go through the "
        "experts: which tokens have chosen expert e, and in which slot?",
        "`token, slot = (chosen == e).nonzero(as_tuple=True)`, and then `output[token] += gates[token, slot, None] * "
        "expert(x[token])`.",
    ),
    alternatives=(all_experts_with_zeros, token_by_token, renormalized, slot_by_slot),
    difficulty=3,
    minutes=20,
)
