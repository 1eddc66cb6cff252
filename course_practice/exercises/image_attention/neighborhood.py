"""Exercise: a mask that makes attention local."""

import torch

from course_practice.engine import Convention, Exercise, Mistake, case


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


def with_loops(height, width, radius):
    mask = torch.zeros(height * width, height * width, dtype=torch.bool)
    for i in range(height * width):
        for j in range(height * width):
            far = max(abs(i // width - j // width), abs(i % width - j % width))
            mask[i, j] = far <= radius
    return mask


def with_distances(height, width, radius):
    grid = torch.cartesian_prod(torch.arange(height), torch.arange(width)).double()
    return torch.cdist(grid, grid, p=float("inf")) <= radius


def _near(far=torch.maximum, by=None, limit=lambda far, radius: far <= radius):
    """`neighborhood` with another distance, another way to find the row, or another limit."""

    def mask(height, width, radius):
        pixels = torch.arange(height * width)
        wide = by(height, width) if by else width
        row, column = pixels // wide, pixels % wide
        apart = far((row[:, None] - row).abs(), (column[:, None] - column).abs())
        return limit(apart, radius)

    return mask


def _flat(height, width, radius):
    pixels = torch.arange(height * width)
    return (pixels[:, None] - pixels).abs() <= radius


def _flat_bands(height, width, radius):
    pixels = torch.arange(height * width)
    apart = (pixels[:, None] - pixels).abs()
    return torch.stack([(apart - step * width).abs() <= radius for step in range(radius + 1)]).any(dim=0)


def _flat_differences(height, width, radius):
    pixels = torch.arange(height * width)
    apart = (pixels[:, None] - pixels).abs()
    return (apart // width <= radius) & (apart % width <= radius)


def _one_side(sign):
    """Differences without `abs`: all rows and columns on the other side count as near."""

    def mask(height, width, radius):
        pixels = torch.arange(height * width)
        row, column = (sign * place for place in (pixels // width, pixels % width))
        return (row[:, None] - row <= radius) & (column[:, None] - column <= radius)

    return mask


def _negative_starts(height, width, radius):
    """Slices whose start may be below 0, which Python counts from the end."""
    mask = torch.zeros(height * width, height, width, dtype=torch.bool)
    for i in range(height * width):
        row, column = i // width, i % width
        mask[i, row - radius : row + radius + 1, column - radius : column + radius + 1] = True
    return mask.flatten(1)


def _ends_too_early(height, width, radius):
    """Ranges from −radius up to, but not including, radius."""
    pixels = torch.arange(height * width)
    below, right = (place - place[:, None] for place in (pixels // width, pixels % width))
    return (below >= -radius) & (below < radius) & (right >= -radius) & (right < radius)


def _added_to_scores(height, width, radius):
    return torch.where(neighborhood(height, width, radius), 0.0, -torch.inf)


def _four_axes(height, width, radius):
    return neighborhood(height, width, radius).view(height, width, height, width)


def _wrapped(height, width, radius):
    pixels = torch.arange(height * width)
    row, column = pixels // width, pixels % width
    rows, columns = (row[:, None] - row).abs(), (column[:, None] - column).abs()
    return (torch.minimum(rows, height - rows) <= radius) & (torch.minimum(columns, width - columns) <= radius)


EXERCISE = Exercise(
    title="A mask for neighbors",
    task="Return a boolean mask (n, n) for the n = height · width pixels of an image: True where the key's pixel lies "
    "at most `radius` rows *and* at most `radius` columns from the query's pixel, itself included.",
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
    mistakes=(
        Mistake(
            "flat-numbers",
            _flat,
            "You compare the numbers of the pixels. The last pixel of a row and the first of the next are numbered one "
            "after another, but they lie at opposite ends. Compare rows and columns.",
        ),
        Mistake(
            "flat-bands",
            _flat_bands,
            "Your mask wraps around: the first pixel of a row takes the last one of a row above for a neighbor. "
            "Compare rows with rows and columns with columns.",
        ),
        Mistake(
            "row-and-column-of-the-difference",
            _flat_differences,
            "You subtract the numbers of two pixels and take row and column of the *difference*. The end of a row runs "
            "on into the next one, so numbers that are near may be far apart. Find row and column of each pixel first.",
        ),
        Mistake(
            "sum-of-distances",
            _near(lambda rows, columns: rows + columns),
            "You add the two distances, which leaves out the corners of the square.",
        ),
        Mistake(
            "straight-line",
            _near(lambda rows, columns: (rows**2 + columns**2).sqrt()),
            "Your neighbors form a disk: the straight distance leaves out the corners of the square.",
        ),
        Mistake(
            "rows-or-columns",
            _near(torch.minimum),
            "One of the two conditions is enough for your mask, so that whole rows and columns are open. Both must "
            "hold.",
        ),
        Mistake(
            "rows-alone",
            _near(lambda rows, columns: rows),
            "You compare rows alone: every pixel of a near row counts as a neighbor.",
        ),
        Mistake(
            "columns-alone",
            _near(lambda rows, columns: columns),
            "You compare columns alone: every pixel of a near column counts as a neighbor.",
        ),
        Mistake(
            "height-for-width",
            _near(by=lambda height, width: height),
            "Your pixels are numbered down the columns, `height` in each. They are numbered row after row: a row has "
            "`width` pixels, so pixel i is in row i // width and column i % width.",
        ),
        Mistake(
            "itself-left-out",
            _near(limit=lambda far, radius: (far <= radius) & (far > 0)),
            "Your pixels do not see themselves. With radius 0 a pixel would see nothing at all.",
        ),
        Mistake(
            "one-too-near",
            _near(limit=lambda far, radius: far < radius),
            "Your neighborhood is one pixel too small: a distance of exactly `radius` still counts.",
        ),
        Mistake(
            "one-too-far",
            _near(limit=lambda far, radius: far <= radius + 1),
            "Your neighborhood is one pixel too large on each side.",
        ),
        *(
            Mistake(
                name,
                _one_side(sign),
                f"Your mask has no limit on one side: a pixel sees everything {side}. A difference may be negative, so "
                "compare its size.",
            )
            for name, sign, side in (
                ("open-below", 1, "below it and to its right"),
                ("open-above", -1, "above it and to its left"),
            )
        ),
        Mistake(
            "negative-starts",
            _negative_starts,
            "Near the top and the left your pixels see too little: a slice that starts below 0 counts from the end. "
            "Let it start at 0 at least.",
        ),
        Mistake(
            "ends-too-early",
            _ends_too_early,
            "Your pixels see `radius` far up and to the left, and one pixel less down and to the right: a slice or a "
            "range ends *before* its second number.",
        ),
        Mistake(
            "one-row",
            lambda height, width, radius: neighborhood(height, width, radius)[0],
            "This is one row of the mask, that of pixel 0. Every pixel has a row of its own: (n, n).",
        ),
        Mistake(
            "four-axes",
            _four_axes,
            "The booleans are right, but queries and keys have two axes each. Join height and width: (n, n).",
        ),
        Mistake(
            "wrapped-around",
            _wrapped,
            "Your image has no border: its left edge touches the right one. Here it ends there.",
        ),
        Convention(
            "added-to-scores",
            _added_to_scores,
            "Valid as a mask that is *added* to the scores, 0 where a pixel may attend and −∞ elsewhere. Here a mask "
            "is boolean: return the condition itself.",
        ),
        Convention(
            "true-means-ignore",
            _near(limit=lambda far, radius: far > radius),
            "Valid for `nn.MultiheadAttention`, where True means ignore; here True means *may attend*. Add a `~`.",
        ),
    ),
    hints=(
        "Find the row and the column of each pixel from its number first.",
        "Pixel i is in row i // width and column i % width. Compare the rows as a column vector with the rows as a row "
        "vector, do the same with the columns, and join the two tables.",
        "`(row[:, None] - row[None, :]).abs() <= radius`, the same with `column`, and `&` between them.",
    ),
    alternatives=(with_band_masks, with_loops, with_distances),
    difficulty=2,
    minutes=10,
)
