import torch

from course_practice.engine import Exercise, case


def neighborhood(height, width, radius):
    """True where pixel j lies at most `radius` rows and `radius` columns from pixel i.

    >>> neighborhood(1, 3, 1).int()
    tensor([[1, 1, 0],
            [1, 1, 1],
            [0, 1, 1]], dtype=torch.int32)
    """
    pixels = torch.arange(height * width)
    row, column = pixels // width, pixels % width
    near_rows = (row[:, None] - row[None, :]).abs() <= radius
    near_columns = (column[:, None] - column[None, :]).abs() <= radius
    return near_rows & near_columns


def with_band_masks(height, width, radius):
    rows, columns = (torch.ones(n, n).tril(radius).triu(-radius) for n in (height, width))
    return torch.kron(rows, columns).bool()


def mask_of_slices(row, column, height, width, radius):
    """Slices whose start may be below 0, which Python counts from the end."""
    mask = torch.zeros(height, width, dtype=torch.bool)
    mask[row - radius : row + radius + 1, column - radius : column + radius + 1] = True
    return mask.flatten()


EXERCISE = Exercise(
    reference=neighborhood,
    cases=lambda: [
        case(1, 3, 1, about="one row of three pixels"),
        case(2, 3, 1, about="2 × 3 pixels"),
        case(3, 3, 1, about="3 × 3 pixels"),
        case(5, 4, 1, about="5 × 4 pixels"),
        case(3, 7, 2, about="radius 2"),
        case(5, 5, 2, about="5 × 5 pixels, radius 2"),
        case(8, 7, 3, about="radius 3"),
        case(4, 3, 0, about="radius 0"),
        case(2, 2, 9, about="a radius larger than the image"),
    ],
    alternatives=(with_band_masks,),
)
