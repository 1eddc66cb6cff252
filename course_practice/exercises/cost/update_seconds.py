"""Exercise: how long an update takes on many machines."""

from torch import Tensor

from course_practice.engine import Convention, Exercise, Mistake, case


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


def forward_and_backward(n_parameters, tokens, processors, flops, bandwidth, bytes_each):
    forward = 2 * n_parameters * tokens / processors
    backward = 2 * forward
    chunk = n_parameters * bytes_each / processors
    steps = (processors - 1) + (processors - 1)
    return (forward + backward) / flops, steps * chunk / bandwidth


def step_by_step(n_parameters, tokens, processors, flops, bandwidth, bytes_each):
    seconds = 0.0
    for _round in ("reduce", "gather"):
        for _step in range(1, processors):
            seconds += n_parameters * bytes_each / processors / bandwidth
    return [n_parameters * tokens * 6 / flops / processors, seconds]


def _with(compute=lambda right, p: right, sent=lambda right, p: right):
    def wrong(n_parameters, tokens, processors, flops, bandwidth, bytes_each):
        one, other = update_seconds(n_parameters, tokens, processors, flops, bandwidth, bytes_each)
        return compute(one, processors), sent(other, processors)

    return wrong


def _gradients_sent(times):
    def wrong(n_parameters, tokens, processors, flops, bandwidth, bytes_each):
        compute, _ = update_seconds(n_parameters, tokens, processors, flops, bandwidth, bytes_each)
        return compute, times * n_parameters * bytes_each / bandwidth

    return wrong


def _whole_tokens(n_parameters, tokens, processors, flops, bandwidth, bytes_each):
    _, sent = update_seconds(n_parameters, tokens, processors, flops, bandwidth, bytes_each)
    return 6 * n_parameters * (tokens // processors) / flops, sent


def _exchanged(n_parameters, tokens, processors, flops, bandwidth, bytes_each):
    return update_seconds(n_parameters, tokens, processors, flops, bandwidth, bytes_each)[::-1]


def _numbers_sent(n_parameters, tokens, processors, flops, bandwidth, bytes_each):
    compute, sent = update_seconds(n_parameters, tokens, processors, flops, bandwidth, bytes_each)
    return compute, sent / bytes_each


def _tokens_sent(n_parameters, tokens, processors, flops, bandwidth, bytes_each):
    compute, sent = update_seconds(n_parameters, tokens, processors, flops, bandwidth, bytes_each)
    return compute, sent * tokens


def _tokens_for_parameters(n_parameters, tokens, processors, flops, bandwidth, bytes_each):
    compute, sent = update_seconds(n_parameters, tokens, processors, flops, bandwidth, bytes_each)
    return compute, sent / n_parameters * tokens


def _call(obj, given):
    """The two numbers, in a tuple whatever they came in."""
    made = obj(*given.args)
    return tuple(made.tolist()) if isinstance(made, Tensor) and made.shape == (2,) else made


EXERCISE = Exercise(
    title="The seconds of an update",
    task="`tokens` is the number of tokens in the whole batch, shared by the processors. Return two numbers: the "
    "seconds in which each processor computes its share (6 operations for each parameter and token, `flops` "
    "operations a second), and the seconds in which a ring adds up the gradients (every processor sends `bandwidth` "
    "bytes a second, and a number takes bytes_each bytes).",
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
    mistakes=(
        Mistake(
            "whole-batch-each",
            _with(compute=lambda right, p: right * p),
            "Each processor computes the whole batch here. The tokens are shared: divide by `processors`.",
        ),
        Mistake(
            "forward-alone",
            _with(compute=lambda right, p: right / 3),
            "You count 2 operations for each parameter and token: the forward pass. Backward takes 4 more.",
        ),
        Mistake(
            "backward-as-forward",
            _with(compute=lambda right, p: right * 2 / 3),
            "You count 4 operations for each parameter and token. Backward takes twice as many as forward: 2 + 4 = 6.",
        ),
        Mistake(
            "one-trip-round",
            _with(sent=lambda right, p: right / 2),
            "You send half of it. A ring goes round twice: once to add the chunks up, and once to hand out the sums.",
        ),
        Mistake(
            "all-gradients-twice",
            _gradients_sent(2),
            "You send the gradient twice, whole. A processor never sends a chunk on the last of p steps, because "
            "it has come home: (p − 1) / p of it.",
        ),
        Mistake(
            "gradient-once",
            _gradients_sent(1),
            "The gradient is sent once, whole. In a ring each processor sends 2 (p − 1) chunks of 1/p: nearly twice "
            "the gradient, and nothing if it is alone.",
        ),
        Mistake(
            "to-everybody",
            _with(sent=lambda right, p: right * p / 2),
            "Each processor sends its whole gradient to every other one. In a ring it sends chunks of 1/p to one "
            "neighbor, 2 (p − 1) times.",
        ),
        Mistake(
            "all-processors-together",
            _with(sent=lambda right, p: right * p),
            "You send `processors` times too much: what all of them send together, or a whole gradient at each of the "
            "2 (p − 1) steps. They send at the same time, and each step moves a chunk of 1/p.",
        ),
        Mistake(
            "sending-shared",
            _with(sent=lambda right, p: right / p),
            "The sending is divided by the processors once too often. Each of them sends 2 (p − 1) chunks of 1/p.",
        ),
        Mistake(
            "numbers-not-bytes",
            _numbers_sent,
            "The bandwidth counts bytes, and you send numbers: multiply by bytes_each.",
        ),
        Mistake(
            "tokens-sent",
            _tokens_sent,
            "The number of tokens comes into what is sent. A gradient has one number for each parameter, however many "
            "tokens it comes from.",
        ),
        Mistake(
            "tokens-for-parameters",
            _tokens_for_parameters,
            "You send a number for each token. A gradient has a number for each *parameter*, whatever the batch is.",
            points=False,
        ),
        Mistake(
            "whole-division",
            _whole_tokens,
            "Whole division, `tokens // processors`, leaves the rest of the tokens to nobody. Divide with `/`.",
        ),
        Mistake(
            "exchanged",
            _exchanged,
            "The two numbers are exchanged: first the computing, then the sending.",
        ),
        Convention(
            "one-after-the-other",
            lambda *args: sum(update_seconds(*args)),
            "This is the sum of the two. Return them apart, (compute, send), because good programs do both at once.",
        ),
    ),
    hints=(
        "How many tokens does one processor have? How many steps does the ring take, and how large is a chunk?",
        "Computing: 6 · parameters · tokens of one processor / flops. Sending: 2 (p − 1) chunks of parameters / p "
        "numbers.",
        "`6 * n_parameters * tokens / processors / flops`, and `2 * (processors - 1) / processors * n_parameters * "
        "bytes_each / bandwidth`.",
    ),
    alternatives=(with_the_cluster, forward_and_backward, step_by_step),
    difficulty=2,
    minutes=8,
)
