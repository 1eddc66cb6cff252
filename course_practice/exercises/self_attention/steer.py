"""Exercise: matrices that steer attention."""

import torch

from course_practice.engine import Exercise, Mistake, case
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


def shared_between_queries_and_keys(kind, d):
    eye = torch.eye(d)
    if kind == "mean":
        return torch.zeros(d, d), torch.zeros(d, d), eye
    return 15 * d**0.25 * eye, 15 * d**0.25 * eye * (1 if kind == "itself" else -1), eye


def as_differences_from_one(kind, d):
    if kind == "mean":
        return torch.ones(d, d), torch.ones(d, d), torch.eye(d)  # every score is the same
    off = torch.ones(d, d) - torch.eye(d)
    return (300.0 if kind == "others" else -300.0) * off, torch.eye(d), torch.eye(d)


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


def _always(mean, itself, others):
    def wrong(kind, d):
        eye, zero, one = torch.eye(d), torch.zeros(d, d), torch.ones(d, d)
        named = {
            "I": eye,
            "0": zero,
            "1": one,
            "1/d": one / d,
            "1-I": one - eye,
            "sharp": 100 * d**0.5 * eye,
            "-sharp": -100 * d**0.5 * eye,
            "mean of others": (one - eye) / max(d - 1, 1),
        }
        return tuple(named[name] for name in {"mean": mean, "itself": itself, "others": others}[kind])

    return wrong


def _sharp_by(factor):
    """The right matrices with another factor, the same for all sizes."""
    return lambda kind, d: (
        {"mean": 0.0, "itself": factor, "others": -factor}[kind] * torch.eye(d),
        *[torch.eye(d)] * 2,
    )


_SOFT = (2, 3, 4, 5, 8, 9, 10, 16)  # as the factor of one matrix, or as the product of two


_MEAN, _ITSELF, _OTHERS = ("0", "I", "I"), ("sharp", "I", "I"), ("-sharp", "I", "I")


EXERCISE = Exercise(
    title="Matrices that steer attention",
    task="The tokens are different one-hot vectors, d of them or fewer. Return (w_q, w_k, w_v), each (d, d), so that "
    'self-attention gives each token the mean of all tokens (kind "mean"), the token itself ("itself"), or the mean of '
    'all the others ("others"), within 0.001.',
    reference=steer,
    starter=steer_starter,
    call=_attended,
    cases=lambda: [
        case(kind, d, about=f"{kind}, {d} tokens") for d in (2, 3, 5) for kind in ("mean", "itself", "others")
    ],
    atol=1e-3,
    mistakes=(
        Mistake(
            "no-values",
            _always(("0", "0", "0"), _ITSELF, _OTHERS),
            "With `w_v` = 0 every token hands out zeros, so their mean is 0. Which of the three says what is handed "
            "out?",
        ),
        Mistake(
            "identity-for-the-mean",
            _always(("I", "I", "I"), _ITSELF, _OTHERS),
            "With queries equal to keys each token fits itself better than the others, so it gets more of itself. "
            "For the plain mean, all scores of a row must be equal.",
        ),
        Mistake(
            "identity-for-itself",
            _always(_MEAN, ("I", "I", "I"), _OTHERS),
            'For "itself" the direction is right, but the softmax stays soft: the others still get weight. What do '
            "larger scores do?",
        ),
        Mistake(
            "identity-for-both",
            _always(_MEAN, ("I", "I", "I"), ("I", "I", "I")),
            'For "itself" the softmax is too soft, and for "others" a token must fit itself *worse* than the others.',
        ),
        Mistake(
            "soft-both-times",
            lambda kind, d: ({"mean": 0.0, "itself": 1.0, "others": -1.0}[kind] * torch.eye(d), *[torch.eye(d)] * 2),
            "The signs are right, but the softmax stays soft: a score of ±1/√d against 0 is a small difference. What "
            "do larger scores do?",
        ),
        *(
            Mistake(
                f"soft-with-{factor}",
                _sharp_by(factor),
                f"The signs are right, but the softmax is not sharp enough: a token's own score is ±{factor}/√d, "
                "the others' are 0, and so weights that should be 0 are larger than 0.001. Take a larger number.",
            )
            for factor in _SOFT
        ),
        Mistake(
            "infinite",
            _sharp_by(float("inf")),
            "Infinity times 0 is not a number: it puts NaN into your matrices, or into their products with the tokens. "
            "A large number will do.",
        ),
        Mistake(
            "mean-of-the-features",
            _always(("0", "I", "1/d"), _ITSELF, _OTHERS),
            'For "mean" every token hands out the same value, 1/d of all features, whoever else is there. That is the '
            "mean of the tokens only where there are d of them. Let `w_v` hand out the tokens, and the weights mix.",
        ),
        Mistake(
            "others-by-the-values",
            _always(_MEAN, _ITSELF, ("0", "I", "1-I")),
            'For "others" the tokens hand out the sum of all other features, and every token gets the same mean of '
            "those. Who is left out depends on who asks, so queries and keys must say it.",
        ),
        Mistake(
            "others-as-its-own-value",
            _always(_MEAN, _ITSELF, ("sharp", "I", "mean of others")),
            'For "others" each token hears itself, and its value is the mean of the other *features*. That is the mean '
            "of the other tokens only where there are d of them. Who is left out depends on who is there, so queries "
            "and keys must say it, and `w_v` hands the tokens out as they are.",
        ),
        Mistake(
            "exchanged",
            _always(_MEAN, _OTHERS, _ITSELF),
            'The kinds "itself" and "others" come out exchanged: which sign makes a token fit itself best?',
        ),
        Mistake(
            "others-still-itself",
            _always(_MEAN, _ITSELF, _ITSELF),
            'For "others" each token still gets itself. How must its own score compare with the rest?',
        ),
        Mistake(
            "others-is-the-mean",
            _always(_MEAN, _ITSELF, _MEAN),
            'For "others" the token itself still takes part in the mean. Its own score must lie far *below* theirs.',
        ),
        Mistake(
            "ones-for-itself",
            _always(_MEAN, ("1", "1", "I"), _OTHERS),
            'For "itself", a matrix of ones gives all tokens the same query (or key), so all scores are equal and the '
            "mean comes out.",
        ),
        Mistake(
            "always-the-mean",
            _always(_MEAN, _MEAN, _MEAN),
            "Every kind gives the plain mean: all scores of a row are equal. For the others, a token's own score must "
            "stand out.",
        ),
        Mistake(
            "sharp-values",
            _always(_MEAN, ("I", "I", "sharp"), _OTHERS),
            'For "itself" the *values* are made large, which stretches the output. The scores decide who is heard.',
        ),
    ),
    hints=(
        "For one-hot tokens, x @ w_q picks a row of w_q. Which scores has a row that treats all keys alike? And one "
        "that hears one key alone?",
        "A query of zeros gives equal scores. With w_q = c · I and w_k = I, a token's own score is c/√d and all others "
        "are 0. Keep w_v = I.",
        '`w_q` is 0 for "mean", a large c times I for "itself", and −c times I for "others".',
    ),
    alternatives=(with_the_keys, shared_between_queries_and_keys, as_differences_from_one),
    difficulty=2,
    minutes=10,
)
