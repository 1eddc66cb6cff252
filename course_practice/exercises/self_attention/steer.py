import torch

from course_practice.engine import Exercise, case
from course_practice.engine.compare import as_tensor
from course_practice.exercises.self_attention.layer import self_attention


def steer(kind, d):
    """W_Q, W_K, W_V (d, d) with which tokens that are all different one-hot vectors get what `kind` says.

    "mean": the mean of all tokens · "itself": the token itself · "others": the mean of all other tokens

    >>> w_q, w_k, w_v = steer("mean", d=3)
    >>> self_attention(torch.eye(3), w_q, w_k, w_v)[0]
    tensor([0.3333, 0.3333, 0.3333])
    """
    sharp = {"mean": 0.0, "itself": 1.0, "others": -1.0}[kind]
    # The score of a token with itself is ±100 √d / √d, with any other token 0.
    return sharp * 100 * d**0.5 * torch.eye(d), torch.eye(d), torch.eye(d)


def steer_starter(kind, d):
    """Three matrices (d, d): w_q, w_k, w_v."""
    if kind == "mean":
        return ...
    if kind == "itself":
        return ...
    if kind == "others":
        return ...


def with_the_keys(kind, d):
    eye = torch.eye(d)
    return eye, {"mean": 0, "itself": 500, "others": -500}[kind] * eye, eye


def _attended(obj, given):
    """What the three matrices do to one-hot tokens in another order, and to fewer tokens than features."""
    kind, d = given.args
    answer = obj(kind, d)
    if answer is None or answer is ...:
        return answer
    matrices = [as_tensor(w) for w in answer]
    if [tuple(w.shape) for w in matrices] != [(d, d)] * 3:
        got = ", ".join(str(tuple(w.shape)) for w in matrices)
        raise ValueError(f"expected three matrices of shape ({d}, {d}), got {got}: return (w_q, w_k, w_v)")
    tokens = torch.eye(d).flip(0)
    matrices = [w.float() if w.is_floating_point() else w for w in matrices]
    return self_attention(tokens, *matrices), self_attention(tokens[: max(2, d - 1)], *matrices)


EXERCISE = Exercise(
    reference=steer,
    starter=steer_starter,
    call=_attended,
    cases=lambda: [
        case(kind, d, about=f"{kind}, {d} tokens") for d in (2, 3, 5, 64) for kind in ("mean", "itself", "others")
    ],
    atol=1e-3,
    alternatives=(with_the_keys,),
)
