"""Numbers that a caller chose, refused in one form where nothing can be made with them."""


def check_whole(least: int = 1, **numbers: object) -> None:
    """Refuse what counts nothing: a fraction, NaN, or less than `least`.

    >>> check_whole(beam_size=0)
    Traceback (most recent call last):
    ValueError: expected beam_size as a whole number of at least 1, got 0: it counts
    """
    for name, number in numbers.items():
        if not (hasattr(number, "__index__") and number >= least):
            raise ValueError(f"expected {name} as a whole number of at least {least}, got {number!r}: it counts")


def check_between(least: float, most: float, **numbers: object) -> None:
    """Refuse a number outside these bounds, NaN, and what is no number.

    >>> check_between(0, 1, dropout=float("nan"))
    Traceback (most recent call last):
    ValueError: expected dropout from 0 to 1, got nan: choose another
    """
    for name, number in numbers.items():
        if not (hasattr(number, "__float__") and least <= number <= most):
            raise ValueError(f"expected {name} from {least} to {most}, got {number!r}: choose another")
