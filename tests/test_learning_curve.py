"""The learning curve draws the numbers it gets, over three axes with their units."""

import pytest

from course_lib.figures.learning_curve import FEW, learning_curve, standalone_svg

LOSS, UPDATES, TOKENS = [5.0, 2.0, 1.5, 1.75], [200, 400, 600, 800], [11e3, 22e3, 33e3, 44e3]


@pytest.mark.parametrize(
    ("seconds", "label", "drawn"),
    [
        ([5, 10, 15, 20], "training time (seconds)", [5, 10, 15, 20]),
        ([300, 600, 900, 1200], "training time (minutes)", [5, 10, 15, 20]),
    ],
)
def test_it_draws_the_numbers(seconds, label, drawn):
    fig, alt = learning_curve(LOSS, UPDATES, seconds, TOKENS)
    assert [ax.get_xlabel() for ax in fig.axes] == ["updates", label, "target tokens read"]
    for ax, values in zip(fig.axes, (UPDATES, drawn, TOKENS), strict=True):
        curve, best = ax.lines
        assert list(curve.get_xdata()) == values
        assert list(curve.get_ydata()) == LOSS
        assert (*best.get_xdata(), *best.get_ydata()) == (values[2], 1.5)
        assert [text.get_text() for text in ax.texts] == ["1.500"]
        assert ax.get_xlim()[0] == 0
    assert alt == "Validation loss from 5.000 at update 200 to 1.750 at update 800; best: 1.500 at update 600."


def test_dots_where_there_are_few():
    many = list(range(1, FEW + 2))
    for values, marker in ((many[:FEW], "o"), (many, "")):
        fig, _ = learning_curve(values, values, values, values)
        assert fig.axes[0].lines[0].get_marker().replace("None", "") == marker


def test_the_picture_is_the_same_every_time_and_dark_on_white():
    pictures = {standalone_svg(*learning_curve(LOSS, UPDATES, [1, 2, 3, 4], TOKENS)) for _ in range(2)}
    (picture,) = pictures
    assert 'color="#000000"' in picture
    assert '<rect width="100%" height="100%" fill="#ffffff"/>' in picture
    assert "<title>Validation loss from 5.000" in picture
