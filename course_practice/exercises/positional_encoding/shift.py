"""Exercise: a step to the right is a rotation."""

import math

import torch

from course_lib.positional_encoding import sinusoidal_encoding
from course_practice.engine import Convention, Exercise, Mistake, case
from course_practice.exercises.positional_encoding._clocks import speeds


def shift(distance, d_model):
    """The matrix that moves every row: PE[p] @ shift(r, d) = PE[p + r].

    >>> pe = sinusoidal_encoding(10, 4)
    >>> torch.allclose(pe[2] @ shift(5, 4), pe[7], atol=1e-6)
    True
    """
    blocks = []
    for i in range(d_model // 2):
        angle = distance / 10000 ** (2 * i / d_model)
        sin, cos = math.sin(angle), math.cos(angle)
        blocks.append(torch.tensor([[cos, -sin], [sin, cos]]))
    return torch.block_diag(*blocks)


def by_filling(distance, d_model):
    angle = distance * 10000 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    even = torch.arange(0, d_model, 2)
    matrix = torch.zeros(d_model, d_model, dtype=torch.float64)
    matrix[even, even] = matrix[even + 1, even + 1] = angle.cos()
    matrix[even, even + 1], matrix[even + 1, even] = -angle.sin(), angle.sin()
    return matrix


def by_repeating_one_step(distance, d_model):
    step = shift(1, d_model).double()
    return torch.linalg.matrix_power(step if distance >= 0 else step.mT, abs(distance))


def by_an_exponential(distance, d_model):
    turn = torch.zeros(d_model, d_model, dtype=torch.float64)
    for i in range(0, d_model, 2):
        speed = 10000 ** (-i / d_model)
        turn[i, i + 1], turn[i + 1, i] = -speed, speed
    return torch.matrix_exp(distance * turn)


def by_row_of_the_table(distance, d_model):
    row = sinusoidal_encoding(abs(distance) + 1, d_model)[-1]
    sine, cosine = (row[0::2] if distance >= 0 else -row[0::2]), row[1::2]
    return torch.block_diag(*torch.stack([cosine, -sine, sine, cosine], dim=-1).view(-1, 2, 2))


def _blocks(block, speed=speeds):
    def shift(distance, d_model):
        angles = (distance * speed(d_model)).tolist()
        return torch.block_diag(*(torch.tensor(block(math.sin(a), math.cos(a))) for a in angles))

    return shift


def _right(s, c):
    return [[c, -s], [s, c]]


def _halves(distance, d_model):
    angle = (distance * speeds(d_model)).float()
    sine, cosine = angle.sin().diag(), angle.cos().diag()
    return torch.cat([torch.cat([cosine, -sine], dim=1), torch.cat([sine, cosine], dim=1)])


def _rolled(distance, d_model):
    return torch.eye(d_model).roll(distance, dims=1)


def _one_step(distance, d_model):
    return _blocks(_right)(1, d_model)


def _block_times_distance(distance, d_model):
    return distance * _blocks(_right)(1, d_model)


def _right_alone(distance, d_model):
    return _blocks(_right)(max(distance, 0), d_model)


def _largest_distance(distance, d_model):
    return _blocks(_right)(abs(distance), d_model)


EXERCISE = Exercise(
    title="A step to the right is a rotation",
    task="Return the matrix M (d_model, d_model) with PE[p] @ M = PE[p + distance] for every position p. Rows are "
    "positions, the distance may be negative, and d_model is even.",
    reference=shift,
    cases=lambda: [
        case(1, 2, about="one clock, one step"),
        case(1, 4, about="two clocks, one step"),
        case(3, 6, about="three steps"),
        case(0, 4, about="no step at all"),
        case(-2, 4, about="two steps back"),
        case(7, 10, about="seven steps, five clocks"),
        case(4, 4, about="as many steps as channels"),
    ],
    mistakes=(
        Convention(
            "for-columns",
            _blocks(lambda s, c: [[c, s], [-s, c]]),
            "Valid where vectors are columns, M PE(p). Here they are rows, PE(p) M, and for rows your matrix steps "
            "*back*: transpose it.",
        ),
        Mistake(
            "one-speed-for-all",
            _blocks(_right, lambda d: torch.ones(d // 2)),
            "All your clocks turn by the same angle. Clock i turns by distance / 10000^(2i / d_model).",
        ),
        Mistake(
            "no-minus",
            _blocks(lambda s, c: [[c, s], [s, c]]),
            "Both sines have the same sign, so your blocks do not rotate. cos(a + b) = cos a cos b − sin a sin b.",
        ),
        Mistake(
            "two-minuses",
            _blocks(lambda s, c: [[c, -s], [-s, c]]),
            "Both sines have a minus, so your blocks do not rotate. sin(a + b) = sin a cos b + cos a sin b.",
        ),
        Mistake(
            "mirror",
            _blocks(lambda s, c: [[c, s], [s, -c]]),
            "The minus stands at a cosine, so your blocks are mirrors. With distance 0 the matrix must be the "
            "identity: cos(a + b) = cos a cos b − sin a sin b.",
        ),
        Mistake(
            "diagonal-only",
            _blocks(lambda s, c: [[c, 0.0], [0.0, c]]),
            "Your matrix has the cosines alone. The new sine also needs the old cosine: sin(a + b) = sin a cos b + "
            "cos a sin b.",
        ),
        Mistake(
            "sine-for-cosine",
            _blocks(lambda s, c: [[s, -c], [c, s]]),
            "Sine and cosine have changed places. With distance 0 the matrix must be the identity: cos 0 = 1 stands "
            "on the diagonal.",
        ),
        Mistake(
            "sine-for-cosine-turned",
            _blocks(lambda s, c: [[s, c], [-c, s]]),
            "Sine and cosine have changed places, and the minus with them. With distance 0 the matrix must be the "
            "identity: cos 0 = 1 stands on the diagonal.",
        ),
        Convention(
            "halves",
            _halves,
            "Valid for tables with all sines on the left and all cosines on the right. Here they alternate, so each "
            "block is 2 × 2.",
        ),
        Mistake(
            "clocks-speed-up",
            _blocks(_right, lambda d: 1 / speeds(d)),
            "Your clocks get faster from block to block. Clock i turns by distance *divided* by 10000^(2i / d_model).",
        ),
        Mistake(
            "exponent-halved",
            _blocks(_right, lambda d: speeds(d, exponent=1.0)),
            "The blocks are rotations, but their exponents are half as large: clock i needs 2i / d_model.",
        ),
        Mistake(
            "exponent-doubled",
            _blocks(_right, lambda d: speeds(d, exponent=4.0)),
            "The blocks are rotations, but their exponents are twice as large: clock i needs 2i / d_model.",
        ),
        Mistake(
            "always-one-step",
            _one_step,
            "Your matrix makes one step, whatever the distance. Multiply the speeds by the distance.",
        ),
        Mistake(
            "blocks-apart",
            lambda distance, d_model: (
                shift(distance, d_model).view(d_model // 2, 2, d_model // 2, 2).diagonal(0, 0, 2).permute(2, 0, 1)
            ),
            "These are the blocks, one behind another. They belong on the diagonal of one matrix.",
        ),
        Mistake(
            "row-on-the-diagonal",
            lambda distance, d_model: (
                torch.stack([(distance * speeds(d_model)).sin(), (distance * speeds(d_model)).cos()], dim=-1)
                .flatten()
                .float()
                .diag()
            ),
            "You put a row of the table on the diagonal. A diagonal stretches channels, but each pair has to turn.",
        ),
        Mistake(
            "block-times-distance",
            _block_times_distance,
            "The numbers of one step come out multiplied by the distance. The *angle* is what grows with it: take sine "
            "and cosine of distance / 10000^(2i / d_model).",
        ),
        Mistake(
            "stays-when-negative",
            _right_alone,
            "Steps to the right are right. With a negative distance your matrix is the identity: it should step back.",
        ),
        Mistake(
            "never-back",
            _largest_distance,
            "Steps to the right are right. A negative distance turns the hands back, so its sign must stay.",
        ),
        Mistake(
            "rolls-the-channels",
            _rolled,
            "Your matrix moves the *channels* to the right. The positions must move: each pair of channels turns by an "
            "angle.",
        ),
        Mistake(
            "rolls-the-channels-back",
            lambda distance, d_model: torch.eye(d_model).roll(distance, dims=0),
            "Your matrix moves the *channels* to the left. The positions must move: each pair of channels turns by an "
            "angle.",
        ),
        Mistake(
            "identity",
            lambda distance, d_model: torch.eye(d_model),
            "This is the identity: it stays where it is. Only a distance of 0 has this matrix.",
        ),
    ),
    hints=(
        "Write down one clock: how do sin(a + b) and cos(a + b) follow from sin a and cos a?",
        "PE[p] holds (sin a, cos a) as a row, so column 0 of the block makes the new sine and column 1 the new "
        "cosine. Put the blocks on the diagonal.",
        "Block i is `[[cos, -sin], [sin, cos]]` of `distance / 10000 ** (2 * i / d_model)`, and "
        "`torch.block_diag(*blocks)` joins them.",
    ),
    alternatives=(by_filling, by_repeating_one_step, by_an_exponential, by_row_of_the_table),
    difficulty=2,
    minutes=10,
)
