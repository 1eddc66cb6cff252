"""The standard figures, each one call: what they draw, what they say, what they refuse, and their static pictures."""

import io
import re
import sys
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from PIL import Image

from course_lib.figures import (
    KEY,
    QUERY,
    VALUE,
    attention_view,
    bars,
    box,
    explore,
    heatmap,
    heatmaps,
    lines,
    new_figure,
    shapes,
    show,
)
from course_lib.figures.lines import _apart
from course_lib.figures.plots import LINE, WIDTH
from course_lib.figures.symbols import PLAIN, SYMBOL
from tools.nbval_plugin import compared

X = [0, 1, 2, 3]
Q, K = box("Q", "q_len=3 d_k=2", "query"), box("Kᵀ", "d_k=2 k_len=4", "key")
SCORES = box("scores", "q_len=3 k_len=4")
DENSE = torch.linspace(0, 1, 144).view(12, 12).softmax(-1)


def curve(power):
    fig, ax = new_figure(4, 3)
    ax.plot(range(5), [x**power for x in range(5)])
    return fig


KINDS = {
    "lines": lambda: lines(X, {"a": [1, 2, 3, 4], "b": [[2, 2, 2, 2], [3, 3, 3, 3]]}, alt="Lines."),
    "bars": lambda: bars({"no mask": 0.4, "mask": [0.9, 1.0]}, label="accuracy", alt="Bars."),
    "groups": lambda: bars({"query": [1, 2], "key": [3, 4]}, groups=["x", "y"], alt="Groups."),
    "heatmap": lambda: heatmap([[0.9, 0.1], [0.4, 0.6]], ["the", "고양이"], alt="A map."),
    "dense heatmap": lambda: heatmap(DENSE, [f"word{n}" for n in range(12)], alt="A dense map."),
    "heatmaps": lambda: heatmaps(DENSE.view(4, 6, 6), alt="Maps."),
    "shapes": lambda: shapes([Q, "@", K, "=", SCORES], [SCORES, "softmax", SCORES]),
    "attention_view": lambda: attention_view(["a"], [[0.25, 0.75]], keys=["b", "c"], alt="A view."),
    "explore": lambda: explore(curve, alt="Powers.", power=[1, 2]),
    "show": lambda: show(curve(2), alt="A curve."),
}


@pytest.fixture(scope="module")
def drawn():
    """Every kind once."""
    return {name: make() for name, make in KINDS.items()}


@pytest.fixture
def figures(monkeypatch):
    """The matplotlib figures that are shown while a test runs."""
    shown = []
    for module in ("lines", "bars", "shapes"):  # the package holds functions of these names
        taking = lambda fig, **words: shown.append(fig) or show(fig, **words)  # noqa: E731
        monkeypatch.setattr(sys.modules[f"course_lib.figures.{module}"], "show", taking)
    return shown


def opened(png: bytes) -> Image.Image:
    return Image.open(io.BytesIO(png))


# What every kind has


@pytest.mark.parametrize("kind", KINDS)
def test_output_has_words_html_and_a_small_picture(drawn, kind):
    bundle = drawn[kind]._repr_mimebundle_()
    assert bundle.keys() == {"text/plain", "text/html", "image/png"}
    assert bundle["text/plain"] == repr(drawn[kind])
    assert len(drawn[kind].png) < (15_000 if kind == "dense heatmap" else 9_000)
    assert f'src="data:image/png;base64,{bundle["image/png"]}"' in bundle["text/html"]


@pytest.mark.parametrize("kind", KINDS)
def test_picture_stands_on_white_in_few_colors_and_shows_something(drawn, kind):
    picture = opened(drawn[kind].png)
    assert picture.mode == "P"
    pixels = np.asarray(picture.convert("RGB"))
    np.testing.assert_array_equal(pixels[[0, 0, -1, -1], [0, -1, 0, -1]], 255)
    assert pixels.min() < 60, "dark ink"
    assert 4 < len(np.unique(pixels.reshape(-1, 3), axis=0)) <= 32


@pytest.mark.parametrize("kind", KINDS)
def test_html_is_well_formed(drawn, kind):
    svg = re.findall(r"<svg viewBox.*?</svg>", drawn[kind]._repr_html_(), re.DOTALL)
    for each in svg:
        ElementTree.fromstring(each)
    assert svg or kind == "attention_view"
    stack = []

    class Balanced(HTMLParser):
        def handle_starttag(self, tag, attributes):
            if tag not in ("img", "input", "br"):
                stack.append(tag)

        def handle_endtag(self, tag):
            assert stack.pop() == tag

    Balanced().feed(drawn[kind]._repr_html_())
    assert stack == []


@pytest.mark.parametrize("kind", KINDS)
def test_drawing_has_no_ink_of_its_own(drawn, kind):
    html = drawn[kind].page()
    assert "currentColor" in html
    assert '"#000' not in html
    assert '"#fff' not in html or "heatmap" in kind, "only numbers on dark cells are white"


def test_picture_keeps_its_size_on_the_page_when_it_is_drawn_coarsely(drawn):
    for kind in ("show", "dense heatmap"):
        width = float(re.search(r'<svg viewBox="[^"]*" width="([\d.]+)"', drawn[kind].page())[1])
        still = int(re.search(r'<img [^>]*width="(\d+)"', drawn[kind].still())[1])
        assert still == pytest.approx(width, rel=0.03)
    assert opened(drawn["dense heatmap"].png).info["dpi"][0] < 80 < opened(drawn["show"].png).info["dpi"][0]


def test_comparison_of_outputs_leaves_the_pictures_and_their_sizes_out(drawn):
    html = drawn["lines"]._repr_html_()
    picture = re.compile(r' width="\d+" src="data:image/png;base64,[^"]+"')
    elsewhere = html.replace(*(picture.search(drawn[kind]._repr_html_())[0] for kind in ("lines", "heatmap")))
    assert elsewhere != html
    assert compared(elsewhere) == compared(html)
    assert "Figure: Lines." in compared(html)


def test_exploration_of_html_falls_back_to_its_first_frame():
    output = explore(lambda n: f"<table><tr><td>{n}</td></tr></table>", alt="A table.", n=[1, 2])
    assert "image/png" not in output._repr_mimebundle_()
    assert output.still() == "<table><tr><td>1</td></tr></table><p>A table. Shown: n = 1.</p>"


@pytest.mark.parametrize("kind", ["lines", "bars", "heatmap", "heatmaps", "shapes"])
def test_words_are_asked_for(kind):
    calls = {
        "lines": lambda: lines(X, X, alt=" "),
        "bars": lambda: bars({"a": 1}, alt=" "),
        "heatmap": lambda: heatmap([[1.0]], alt=" "),
        "heatmaps": lambda: heatmaps([[[1.0]]], alt=" "),
        "shapes": lambda: shapes(Q, "@", K, alt=" "),
    }
    with pytest.raises(ValueError, match=r"expected alt: a sentence that says what the figure shows, got ' '\. Write"):
        calls[kind]()


# lines


def test_curves_are_drawn_as_given(figures):
    lines(X, {"value": [1, 2, 4, 8], "b": [3, 1, 2, 5]}, xlabel="updates", ylabel="loss", alt="Two.")
    ax = figures[0].axes[0]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("updates", "loss")
    assert {line.get_label(): list(line.get_ydata()) for line in ax.lines} == {"value": [1, 2, 4, 8], "b": [3, 1, 2, 5]}
    assert [line.get_color() for line in ax.lines] == [VALUE, QUERY], "a name that has a color keeps it"


def test_a_curve_upon_another_is_dashed_so_that_both_are_seen(figures):
    lines(X, {"a": [1, 2, 3, 9], "upon it": [1, 2.01, 3, 9], "near": [1, 2.1, 3, 9]}, alt="Three.")
    assert [line.get_linestyle() for line in figures[0].axes[0].lines] == ["-", "--", "-"]


def test_seeds_become_a_median_and_a_band(figures):
    seeds = np.array([[1, 5, 9, 2], [2, 6, 1, 2], [9, 7, 5, 2]])
    lines(X, {"a": seeds, "b": (seeds[0], seeds[0] - 1, seeds[0] + 1), "c": torch.tensor(seeds[0])}, alt="Bands.")
    ax = figures[0].axes[0]
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [2, 6, 5, 2])
    first, second = (band.get_paths()[0].vertices for band in ax.collections)
    assert {tuple(point) for point in first} >= {(0, 1), (0, 9), (2, 1), (2, 9), (3, 2)}
    assert {tuple(point) for point in second} >= {(0, 0), (0, 2), (2, 8), (2, 10)}


def test_names_stand_beside_the_ends_and_not_on_each_other(figures):
    lines(X, {"low": [1, 1, 1, 1.0], "high": [1, 2, 3, 9], "near": [1, 1, 1, 1.01]}, alt="Three.")
    texts = {text.get_text(): text for text in figures[0].axes[0].texts}
    assert texts.keys() == {"low", "high", "near"}
    boxes = [text.get_window_extent() for text in texts.values()]
    assert not any(one.overlaps(other) for i, one in enumerate(boxes) for other in boxes[:i])
    assert all(figures[0].bbox.x0 <= box.x0 and box.x1 <= figures[0].bbox.x1 for box in boxes)
    assert figures[0].legends == []


def test_names_without_room_are_a_legend(figures):
    lines(X, {f"curve {n}": [n, 1, 1, 1 + n / 1000] for n in range(9)}, alt="Nine.")
    assert [text.get_text() for text in figures[0].legends[0].get_texts()] == [f"curve {n}" for n in range(9)]
    looks = {(line.get_color(), line.get_linestyle()) for line in figures[0].axes[0].lines}
    assert len(looks) == 9


def test_places_of_names_are_the_nearest_that_are_apart():
    wanted = np.array([1.0, 1.0, 2.0])
    np.testing.assert_allclose(_apart(wanted, 0, 3), [1 - LINE / 2, 1 + LINE / 2, 2])
    np.testing.assert_allclose(_apart(wanted, 1, 3), [1, 1 + LINE, 2 + 0])
    assert _apart(np.zeros(9), 0, 1) is None


def test_one_curve_needs_no_name_and_marks_have_theirs(figures):
    lines(X, [1, 2, 3, 4], mark={"longest trained": 2}, alt="One.")
    ax = figures[0].axes[0]
    assert [text.get_text() for text in ax.texts] == ["longest trained"]
    assert list(ax.lines[-1].get_xdata()) == [2, 2]


def test_what_is_counted_has_whole_ticks(figures):
    lines(range(2, 17, 2), [1.0] * 8, alt="Symbols.")
    assert [tick % 1 for tick in figures[0].axes[0].get_xticks()] == [0] * len(figures[0].axes[0].get_xticks())


def test_logarithmic_axes_name_the_values_given(figures):
    lines([1, 4, 16], [0.1, 1, 10], xlog=True, ylog=True, alt="Logs.")
    ax = figures[0].axes[0]
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "4", "16"]


# bars


def test_bars_have_their_heights_and_numbers(figures):
    bars({"a": 1.0, "b": [0.2, 0.4, 0.9], "c": -0.5}, label="loss", alt="Three.")
    ax = figures[0].axes[0]
    assert [patch.get_height() for patch in ax.patches] == [1.0, 0.4, -0.5]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["a", "b", "c"]
    assert [text.get_text() for text in ax.texts] == ["1.00", "0.40", "−0.50"]
    assert ax.get_ylabel() == "loss"
    whiskers = [tuple(map(tuple, path.vertices)) for path in ax.collections[0].get_paths()]
    spans = [span for span in whiskers if not np.isnan(span).any()]
    np.testing.assert_allclose(spans, [((1, 0.2), (1, 0.9))])


def test_beside_a_long_whisker_the_number_stands_at_its_bar(figures):
    bars({"a": [0, 0, 0.35], "b": [0.69, 0.7, 0.71]}, alt="Two.")
    long, short = figures[0].axes[0].texts
    assert (long.xy, long.get_ha(), short.xy, short.get_ha()) == ((0, 0), "left", (1, 0.71), "center")


def test_long_names_lie_and_the_first_is_on_top(figures):
    names = ["a name that takes much room", "another such name, longer still"]
    bars(dict(zip(names, [1, -2], strict=True)), alt="Long.")
    ax = figures[0].axes[0]
    assert [patch.get_width() for patch in ax.patches] == [1, -2]
    assert [label.get_text() for label in ax.get_yticklabels()] == names
    assert ax.yaxis_inverted()
    figures[0].draw_without_rendering()
    assert all(
        ax.bbox.x0 < text.get_window_extent().x0 < text.get_window_extent().x1 <= ax.bbox.x1 for text in ax.texts
    )


def test_groups_have_one_color_a_name(figures):
    bars({"key": [1, 2], "b": [[3, 4], [5, 6]]}, groups=["x", "y"], alt="Groups.")
    ax = figures[0].axes[0]
    assert [patch.get_height() for patch in ax.patches] == [1, 2, 4, 5]
    assert [mpl_hex(patch.get_facecolor()) for patch in ax.patches] == [KEY.lower()] * 2 + [QUERY.lower()] * 2
    assert [label.get_text() for label in ax.get_xticklabels()] == ["x", "y"]
    assert [text.get_text() for text in figures[0].legends[0].get_texts()] == ["key", "b"]


def test_groups_of_two_lie_apart(figures):
    bars({"a": [1, 2], "b": [3, 4]}, groups=["x", "y"], horizontal=True, alt="Groups.")
    first, second, third = sorted(
        (patch.get_y(), patch.get_y() + patch.get_height()) for patch in figures[0].axes[0].patches
    )[:3]
    assert third[0] - second[1] > 5 * (second[0] - first[1]) > 0


def mpl_hex(color) -> str:
    return "#" + "".join(f"{round(255 * part):02x}" for part in color[:3])


# shapes


def test_words_say_exactly_what_is_drawn():
    assert repr(shapes(Q, "@", K, "=", SCORES)) == "Figure: Q (3 × 2) times Kᵀ (2 × 4) equals scores (3 × 4)."
    rows = shapes([SCORES, "softmax", SCORES], [SCORES, "@", box("V", "4 5"), "+", box("b", "5")])
    assert repr(rows) == (
        "Figure: scores (3 × 4) becomes, by softmax, scores (3 × 4); scores (3 × 4) times V (4 × 5) plus b (5)."
    )
    assert repr(shapes(Q, "@", K, alt="Mine.")) == "Figure: Mine."


def test_boxes_have_their_sizes_names_and_colors(figures):
    shapes(Q, "@", K, "=", SCORES)
    ax = figures[0].axes[0]
    sizes = np.array([(patch.get_width(), patch.get_height()) for patch in ax.patches])
    np.testing.assert_allclose(sizes / sizes[0, 0] * 2, [(2, 3), (4, 2), (4, 3)])
    assert [mpl_hex(patch.get_edgecolor()) for patch in ax.patches] == [QUERY.lower(), KEY.lower(), "#000000"]
    written = [text.get_text() for text in ax.texts]
    query = ["$Q$", "d_k = 2", "q_len", "= 3"]
    key = ["Kᵀ", "k_len = 4", "d_k", "= 2"]
    assert written == [*query, "@", *key, "=", "scores", "k_len = 4", "q_len", "= 3"]
    shapes(box("x", "n=5 d=2"))
    assert figures[1].axes[0].texts[-1].get_text() == f"{SYMBOL}n{PLAIN} = 5"


def test_texts_do_not_touch_and_stay_in_the_figure(figures):
    heads = [box(name, "batch=2 heads=4 q_len=3 d_k=2", "query") for name in ("Q", "a longer name", "x")]
    shapes(heads[0], "times a number", heads[1], "×", heads[2])
    shapes(box("X", "n=10 d_model=512"), "@", box("W_Q", "d_model=512 d_k=64", "query"), "=", box("Q", "n=10 d_k=64"))
    for fig in figures:
        boxes = [text.get_window_extent() for text in fig.axes[0].texts if text.get_text()]
        assert not any(one.overlaps(other) for i, one in enumerate(boxes) for other in boxes[:i])
        assert all(fig.bbox.x0 <= box.x0 and box.x1 <= fig.bbox.x1 for box in boxes)
        assert all(fig.bbox.y0 - 1 <= box.y0 and box.y1 <= fig.bbox.y1 + 1 for box in boxes)


def test_sizes_far_apart_stay_visible_and_in_order(figures):
    shapes(box("W", "d_model=512 d_k=8"), "@", box("x", "d_k=8 one=1"))
    (wide, tall), (thin, short) = [(patch.get_width(), patch.get_height()) for patch in figures[0].axes[0].patches]
    assert 2 * wide < tall
    assert min(wide, thin, short) >= 0.19


def test_figure_is_as_narrow_as_a_phone_asks_for(figures):
    long = [part for n in range(6) for part in (box(f"W_{n}", "d_model=4 d_model=4"), "@")][:-1]
    shapes(*long)
    assert figures[0].get_figwidth() <= 5.4  # 518 pixels: 16 of them are 11 on a screen of 390 with margins of 16
    assert len(figures[0].axes[0].patches) == 6, "the row is broken, nothing is lost"
    assert WIDTH <= 5.4


def test_a_name_may_be_a_formula(figures):
    assert repr(shapes(box("$W^Q_i$", "28 7"))) == "Figure: W^Q_i (28 × 7)."
    assert next(text for text in figures[0].axes[0].texts if "W" in text.get_text()).get_parse_math()


def test_further_axes_stand_behind(figures):
    shapes(box("Q", "heads=4 q_len=3 d_k=2"), "concat", box("out", "q_len=3 d_model=8"))
    assert len(figures[0].axes[0].patches) == 3 + 1, "two behind"
    assert "heads = 4" in [text.get_text() for text in figures[0].axes[0].texts]


def test_rows_are_vectors_and_stacks_multiply():
    shapes(box("x", "4"), "@", box("W", "4 2"), "=", box("y", "1 2"))
    shapes(box("x", "b=5 3 4"), "@", box("W", "4 2"), "=", box("y", "b=5 3 2"))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: lines([1], [1], alt="A."),
            ValueError,
            r"expected x: a list of at least two numbers, got shape \(1,\)",
        ),
        (lambda: lines(X, {}, alt="A."), ValueError, r"expected at least one series, got none\. Name it"),
        (
            lambda: lines(X, {"a": [1, 2]}, alt="A."),
            ValueError,
            r"expected ys\['a'\]: 4 values, one for each of x, got 2\. Seeds are rows",
        ),
        (lambda: lines(X, np.ones((2, 2, 4)), alt="A."), ValueError, r"expected ys: \(x\) or \(seeds, x\), got shape"),
        (
            lambda: lines(X, X, ylog=True, alt="A."),
            ValueError,
            r"expected y: values above 0 on a logarithmic axis, got 0\. Leave out ylog=True",
        ),
        (
            lambda: lines(X, {"a": X}, colors={"b": KEY}, alt="A."),
            ValueError,
            r"expected colors: only names among \['a'\], got \['b'\]\. Rename",
        ),
        (lambda: bars({"a": 1}, colors={"b": KEY}, alt="A."), ValueError, r"expected colors: only names among \['a'\]"),
        (lambda: bars({"a": [[1]]}, alt="A."), ValueError, r"expected values\['a'\]: one number or a list of seeds"),
        (
            lambda: bars({"a": [1, 2]}, groups=["x"], alt="A."),
            ValueError,
            r"expected values\['a'\]: 1 numbers?, one a group, got shape \(2,\)\. Several seeds",
        ),
        (lambda: bars([1, 2], alt="A."), TypeError, r"expected values: a number for each name, got list\. Name them"),
        (lambda: bars({"a": float("nan")}, alt="A."), ValueError, r"expected values\['a'\]: finite numbers, got NaN"),
        (lambda: box("Q", "3, 2"), ValueError, r"expected axes: a size for each axis, such as .* got '3, 2'\. Rows"),
        (lambda: box("Q", "n=0"), ValueError, r"got 'n=0'"),
        (lambda: box("Q", (3, 2)), ValueError, r"got \(3, 2\)"),
        (
            lambda: shapes(Q, "@", SCORES),
            ValueError,
            r"expected as many columns of Q as rows of scores, got Q \(3 × 2\) and scores \(3 × 4\)\. Transpose one",
        ),
        (
            lambda: shapes(Q, "@", K, "=", Q),
            ValueError,
            r"expected Q as large as Q @ Kᵀ \(3 × 4\), got Q \(3 × 2\)\. Correct it, or a factor",
        ),
        (lambda: shapes(Q, K), ValueError, r"expected boxes and signs in turn"),
        (lambda: shapes(), ValueError, r"expected boxes and signs in turn, got none"),
        (lambda: shapes("@", Q), ValueError, r"expected boxes and signs in turn, got '@' as part 1"),
        (lambda: shapes(Q, "@"), ValueError, r"expected boxes and signs in turn, got '@' at the end"),
    ],
)
def test_wrong_input_is_explained(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_the_text_form_tells_the_numbers_that_are_drawn():
    told = repr(bars({"no mask": 0.4, "mask": [0.9, 1.0]}, label="accuracy", alt="Bars."))
    assert told.startswith("Figure: Bars.\n")
    assert "no mask" in told
    assert "0.40" in told
    told = repr(lines(X, {"a": [1, 2, 3, 4], "b": [[2, 2, 2, 2], [3, 3, 3, 3]]}, alt="Lines."))
    assert told.splitlines()[2:] == ["a: 1, 2, 3, 4", "b: 2.5 (2 to 3), 2.5 (2 to 3), 2.5 (2 to 3), 2.5 (2 to 3)"]
