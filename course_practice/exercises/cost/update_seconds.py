from torch import Tensor

from course_practice.engine import Exercise, case


def update_seconds(n_parameters, tokens, processors, flops, bandwidth, bytes_each):
    """Seconds to compute an update, and seconds to add up its gradients.

    `tokens` is the whole batch. Every processor computes `flops` operations and
    sends `bandwidth` bytes a second; the gradients go round in a ring.

    >>> update_seconds(10**6, 8000, 4, flops=1e12, bandwidth=1e9, bytes_each=4)
    (0.012, 0.006)
    """
    compute = 6 * n_parameters * (tokens / processors) / flops
    sent = 2 * (processors - 1) / processors * n_parameters * bytes_each
    return compute, sent / bandwidth


def with_the_cluster(n_parameters, tokens, processors, flops, bandwidth, bytes_each):
    speed = processors * flops
    gradient = n_parameters * bytes_each
    return 6 * n_parameters * tokens / speed, (2 * gradient - 2 * gradient / processors) / bandwidth


def _call(obj, given):
    """The two numbers, in a tuple whatever they came in."""
    made = obj(*given.args)
    return tuple(made.tolist()) if isinstance(made, Tensor) and made.shape == (2,) else made


EXERCISE = Exercise(
    reference=update_seconds,
    call=_call,
    cases=lambda: [
        case(10**6, 8000, 4, 1e12, 1e9, 4, about="a million parameters on 4 processors"),
        case(1000, 12, 2, 1e3, 1e2, 3, about="2 processors"),
        case(1000, 37, 5, 1e4, 1e3, 2, about="5 processors, 37 tokens"),
        case(700, 11, 1, 1e3, 1e2, 4, about="a single processor has nothing to send"),
        case(65_000_000, 50_000, 8, 3e12, 12e9, 4, about="the base model on 8 GPUs"),
    ],
    rtol=1e-6,
    atol=1e-12,
    alternatives=(with_the_cluster,),
)
