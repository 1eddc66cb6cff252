"""Figures as text: names, ids, sizes, determinism, and what is said about wrong input."""

import io
import os
import re
import subprocess
import sys
import warnings
from html import unescape
from html.parser import HTMLParser
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest
import torch
from drawn import curve, everything
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from PIL import Image

from course_lib.figures import (
    ACCENT,
    EXTRA,
    INK,
    KEY,
    QUERY,
    VALUE,
    attention_view,
    explore,
    heatmap,
    heatmaps,
    lines,
    machine,
    new_figure,
    show,
)
from course_lib.figures.style import SEQUENTIAL, _luminance, ink_on
from course_lib.figures.svg import figure_to_svg
from course_lib.figures.symbols import ABOVE, BELOW, CODE, PLAIN, SYMBOL

ODD_TOKENS = ["<pad>", "</s>", '"quote"', "고양이", "🙂", "a$b$c", "url(#a)", 'id="x"', "&amp;", "it's"]


def words(html: str) -> str:
    """The text of the SVG and HTML elements, as a browser reads it."""
    found = []

    class Reader(HTMLParser):
        def handle_data(self, data):
            found.append(data)

    Reader().feed(html)
    return "\n".join(found)


def ids(html: str) -> list[str]:
    return re.findall(r' id="([^"]+)"', html)


def references(html: str) -> set[str]:
    return set(re.findall(r'url\(#([^)]+)\)"', html)) | set(re.findall(r'href="#([^"]+)"', html))


# Colors


def contrast(one, other) -> float:
    """The WCAG contrast ratio of two colors, 1 (same) to 21 (black on white)."""
    a, b = sorted((_luminance(one), _luminance(other)))
    return (b + 0.05) / (a + 0.05)


def test_contrast_is_that_of_wcag():
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.005)  # the darkest gray that WCAG quotes for AA
    assert contrast("#0000ff", "#ffffff") == contrast("#ffffff", "#0000ff") == pytest.approx(8.59, abs=0.005)


def test_numbers_are_readable_on_every_color_of_the_map():
    colors = mpl.colormaps[SEQUENTIAL](np.linspace(0, 1, 256))
    assert min(contrast(ink_on(color), color) for color in colors) >= 4.5


@pytest.mark.parametrize("page", ["#ffffff", "#14181e"])
@pytest.mark.parametrize("color", [QUERY, KEY, VALUE])
def test_colors_of_query_key_value_stand_out_on_light_and_dark_pages(color, page):
    assert contrast(color, page) >= 3  # WCAG 2.2, 1.4.11


def test_colors_differ():
    assert len({QUERY, KEY, VALUE, ACCENT, EXTRA, INK}) == 6


# show


def test_show_has_words_as_text_and_a_named_drawing_as_html():
    shown = show(curve(), alt='Rises from 0\n to <4> "fast".')
    assert repr(shown) == 'Figure: Rises from 0 to <4> "fast".'
    html = shown._repr_html_()
    label = re.search(r'<svg [^>]*role="img" aria-label="([^"]*)"', html)
    assert unescape(label[1]) == 'Rises from 0 to <4> "fast".'


def test_drawing_takes_its_ink_from_the_page_and_has_no_background():
    html = show(curve(), alt="A curve.")._repr_html_()
    assert "currentColor" in html
    assert not re.search(r"#000000|#ffffff|white|DejaVu|<metadata|<!--|<\?xml|20\d\d-\d\d", html)
    assert html.count("<style>") == 1, "matplotlib's own style sheet would apply to the whole page"
    assert QUERY.lower() in html


def test_drawing_scales_with_the_page_and_keeps_its_shape():
    html = show(curve(), alt="A curve.")._repr_html_()
    svg = re.search(r'<svg viewBox="0 0 ([\d.]+) ([\d.]+)" width="([\d.]+)" height="([\d.]+)"', html)
    box, size = np.array([float(n) for n in svg.groups()]).reshape(2, 2)
    np.testing.assert_allclose(size, box * 4 / 3, atol=0.02)  # points to pixels
    assert "max-width:100%" in html.replace(" ", "")
    assert "height:auto" in html.replace(" ", "")


def test_ids_are_used_and_belong_to_one_figure():
    figures = [show(curve(power), alt=f"Power {power}.")._repr_html_() for power in (1, 2, 3)]
    figures.append(show(curve(1), alt="The first again, under another name.")._repr_html_())
    for html in figures:
        assert ids(html)
        assert set(ids(html)) == references(html)
        assert len(set(ids(html))) == len(ids(html))
    assert len({name for html in figures for name in ids(html)}) == sum(len(ids(html)) for html in figures)


def test_same_call_gives_the_same_bytes_in_this_process_and_in_another():
    here = everything()
    assert here == everything()
    code = "import sys; from drawn import everything; sys.stdout.buffer.write(everything().encode())"
    variables = {**os.environ, "PYTHONHASHSEED": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, check=True)
    assert done.stdout.decode() == here


@pytest.mark.parametrize("alt", ["", "  \n", None])
def test_figure_without_words_is_refused(alt):
    message = rf"expected alt: a sentence that says what the figure shows, got {re.escape(repr(alt))}\. Write what"
    with pytest.raises(ValueError, match=message):
        show(curve(), alt=alt)
    with pytest.raises(ValueError, match=message):
        attention_view(["a"], [[1.0]], alt=alt)
    with pytest.raises(ValueError, match=message):
        explore(curve, alt=alt, power=[1, 2])


def test_what_is_no_figure_is_refused():
    _, ax = new_figure()
    with pytest.raises(TypeError, match=r"expected a matplotlib Figure, got Axes\. Pass the figure itself"):
        show(ax, alt="Axes.")


def test_too_many_points_are_refused_unless_rasterized():
    points = np.random.default_rng(0).normal(size=(2, 20_000))

    def cloud(rasterized):
        fig, ax = new_figure(4, 3)
        ax.scatter(*points, rasterized=rasterized)
        return fig

    message = r"expected an output of at most 290 KB, got \d+ KB\. Draw fewer points, or give .* rasterized=True\."
    with pytest.raises(ValueError, match=message):
        show(cloud(False), alt="A cloud.")
    assert len(show(cloud(True), alt="A cloud.")._repr_html_()) < 200_000


def test_figures_of_pyplot_are_closed():
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots()
    ax.plot([1, 2])
    show(fig, alt="A line.")
    assert not plt.fignum_exists(fig.number)


def test_text_stays_text_and_formulas_become_outlines():
    fig, ax = new_figure(4, 3)
    ax.set(xlabel="plain words", ylabel=r"$\sqrt{d_k}$", xscale="log", xlim=(1, 1000))
    html = show(fig, alt="Axes.")._repr_html_()
    assert "plain words" in words(html)
    assert "sqrt" not in html
    assert "√" not in words(html)
    assert re.search(r"<tspan [^>]*>1(</tspan><tspan [^>]*>)?0</tspan>", html), "powers of ten stay text"


def test_symbols_have_an_index_and_names_are_code():
    fig, ax = new_figure(4, 3)
    ax.bar(["d_k = 4", "$w$", "<|im_end|>"], [1, 2, 3])
    ax.set(xlabel="Kᵀ and 10⁻¹⁵", ylabel="tgt_len", title="$W^Q_i$")
    html = show(fig, alt="Bars.")._repr_html_()
    small = 'font-size=".75em"'
    assert f'<tspan font-style="italic">d</tspan><tspan dy=".3em" font-style="italic" {small}>k</tspan>' in html
    raised = f'<tspan dx="-.3em" dy="-.8em" font-style="italic" {small}>Q</tspan>'
    assert f'W</tspan><tspan dy=".3em" font-style="italic" {small}>i</tspan>{raised}' in html
    assert '<tspan font-family="Course Code, monospace" font-size=".875em">tgt_len</tspan>' in html
    assert {"dk = 4", "WiQ", "KT and 10−15", "tgt_len", "&lt;|im_end|&gt;"} <= {
        re.sub("<[^>]*>", "", text) for text in re.findall(r"<text.*?</text>", html)
    }
    assert "$w$" not in html, "a tick writes its text anew"
    assert not set(html) & {PLAIN, SYMBOL, BELOW, ABOVE, CODE}, "what marks a run is not left in it"


def test_a_formula_of_letters_is_drawn_the_same_a_second_time():
    fig, ax = new_figure(4, 3)
    label = ax.set_xlabel("$W^Q$")
    first = show(fig, alt="Axes.")._repr_html_()
    assert label.get_text() == "$W^Q$"
    assert show(fig, alt="Axes.")._repr_html_() == first


def test_emphasis_is_for_the_caption_alone():
    figure = show(curve(), alt="*flies* is at *fruit*.")
    assert repr(figure) == "Figure: flies is at fruit."
    assert 'aria-label="flies is at fruit."' in figure.page()
    assert ' data-caption="*flies* is at *fruit*."' in figure.page()
    assert "data-caption" not in show(curve(), alt="3 * 4 and 5 * 6").page()


def test_the_machine_is_drawn_as_narrow_as_a_phone():
    figure = machine(alt="The *machine*.")
    assert repr(figure) == "Figure: The machine."
    assert 'viewBox="180 0 540 900" width="540" height="900" role="img" aria-label="The machine."' in figure.page()
    assert "21_real_model" not in figure.page(), "that is no part of it"
    ElementTree.fromstring(re.search("<svg.*</svg>", figure.page(), re.DOTALL)[0])
    assert Image.open(io.BytesIO(figure.png)).size[0] == 540


def test_long_exponents_stay_in_their_text():
    """A browser drops a group that stands in a text: 10⁻¹⁵ would be shown as 10."""
    figure = lines([0, 1], [1, 1e-15], ylog=True, alt="Powers of ten.")
    texts = re.findall(r"<text.*?</text>", figure._repr_html_())
    assert not any("<g" in text for text in texts)
    assert "10−14" in [re.sub("<[^>]*>", "", text) for text in texts]


def test_words_stand_in_where_scripts_and_styles_are_taken_out():
    for output in (show(curve(), alt="A curve."), explore(curve, alt="Powers.", power=[1, 2])):
        html = output._repr_html_()
        assert re.match(r'\s*<(figure|div) hidden="hidden" class="course-figure"', html)
        assert re.search(r'<section class="course-alt"><img alt="(Figure: A curve\.|Explore: Powers\.)', html)


# Heat maps


def test_rows_are_queries_and_columns_are_keys():
    fig = heatmap([[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]], ["q0", "q1"], ["k0", "k1", "k2"], title="Names")
    ax = fig.axes[0]
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("keys", "queries", "Names")
    assert [label.get_text() for label in ax.get_xticklabels()] == ["k0", "k1", "k2"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["q0", "q1"]
    written = {text.get_position(): text.get_text() for text in ax.texts}
    assert written[(2.5, 0.5)] == "0.70", "third key, first query"
    assert written[(0.5, 1.5)] == "0.50", "first key, second query"
    assert ax.yaxis_inverted(), "the first query stands on top"


@settings(max_examples=20)
@given(arrays.arrays(np.float64, st.tuples(st.integers(1, 7), st.integers(1, 7)), elements=st.floats(0, 1)))
def test_every_cell_has_the_color_of_its_weight(weights):
    image = heatmap(weights).axes[0].images[0].get_array()
    np.testing.assert_array_equal(image, mpl.colormaps[SEQUENTIAL](weights, bytes=True))


def test_hidden_cells_have_neither_color_nor_number():
    mask = torch.tensor([[True, False], [True, True]])
    ax = heatmap(torch.full((2, 2), 0.5), list("ab"), mask=mask).axes[0]
    np.testing.assert_array_equal(ax.images[0].get_array()[..., 3] == 255, mask.numpy())
    assert {text.get_position() for text in ax.texts} == {(0.5, 0.5), (0.5, 1.5), (1.5, 1.5)}
    assert any(patch.get_hatch() for patch in ax.patches)
    batched = heatmap(torch.full((2, 2), 0.5), list("ab"), mask=mask[None, None])
    assert len(batched.axes[0].texts) == 3


def test_scores_of_minus_infinity_are_hidden_cells():
    ax = heatmap([[2.0, float("-inf")], [-1.0, 0.0]]).axes[0]
    np.testing.assert_array_equal(ax.images[0].get_array()[..., 3] == 255, [[True, False], [True, True]])
    np.testing.assert_array_equal(ax.images[0].get_array()[0, 0], mpl.colormaps[SEQUENTIAL](1.0, bytes=True))


def test_scores_are_colored_from_lowest_to_highest():
    image = heatmap([[-3.0, 5.0]]).axes[0].images[0].get_array()
    np.testing.assert_array_equal(image[0], mpl.colormaps[SEQUENTIAL]([0.0, 1.0], bytes=True))


KINDS = {
    "list": lambda values: values,
    "array": np.array,
    "float32": torch.tensor,
    "half": lambda values: torch.tensor(values).half(),
    "bfloat16": lambda values: torch.tensor(values).bfloat16(),
    "with gradient": lambda values: torch.tensor(values, requires_grad=True),
    "rows of tensors": lambda values: [torch.tensor(row) for row in values],
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_number_is_drawn_alike(kind):
    values = [[0.25, 0.75], [0.5, 0.5]]  # exact in every float type
    given_values, plain = KINDS[kind](values), values
    assert show(heatmap(given_values), alt="A map.") == show(heatmap(plain), alt="A map.")
    view, same = (attention_view(["a", "b"], each, alt="A view.") for each in (given_values, plain))
    assert view._repr_html_() == same._repr_html_()


def test_odd_tokens_are_drawn_as_they_are_and_without_warnings():
    weights = torch.eye(len(ODD_TOKENS))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        html = show(heatmap(weights, ODD_TOKENS), alt="Odd tokens.")._repr_html_()
    written = words(html).splitlines()
    for token in ODD_TOKENS:
        assert written.count(token) == 2, token  # on both axes
    assert set(ids(re.sub(r">[^<]*<", "><", html))) == references(html)


def test_one_panel_a_head_on_one_scale():
    weights = torch.rand(5, 3, 7)
    fig = heatmaps(weights, list("abc"), list("tuvwxyz"))
    panels = [ax for ax in fig.axes if ax.axison]
    assert [ax.get_title() for ax in panels] == [f"head {number}" for number in range(5)]
    for ax, values in zip(panels, weights, strict=True):
        np.testing.assert_array_equal(
            ax.images[0].get_array(), mpl.colormaps[SEQUENTIAL](values.double().numpy(), bytes=True)
        )
    scores = heatmaps([[[0.0, 2.0]], [[4.0, 2.0]]])
    assert scores.axes[0].images[0].get_array()[0, 1].tolist() == scores.axes[1].images[0].get_array()[0, 1].tolist()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: heatmap(torch.ones(2, 3, 5)),
            ValueError,
            r"expected weights: \(q_len, k_len\), got shape \(2, 3, 5\)",
        ),
        (lambda: heatmap(torch.ones(0, 3)), ValueError, r"got shape \(0, 3\)\. Pick one: weights\[batch, head\]"),
        (lambda: heatmaps(torch.ones(2, 3)), ValueError, r"\(n_heads, q_len, k_len\), got shape \(2, 3\)\. Pick one"),
        (
            lambda: heatmap(torch.ones(2, 3), ["a"] * 3),
            ValueError,
            r"queries: 2 tokens, .* got 3\. Rows .* are queries",
        ),
        (lambda: heatmap(torch.ones(2, 3), keys=["a"]), ValueError, r"expected keys: 3 tokens, one per position"),
        (lambda: heatmap(torch.ones(2, 2), "ab"), TypeError, r"queries: a list of tokens, got the string 'ab'\. Split"),
        (
            lambda: heatmap([[1.0], [1.0, 2.0]]),
            TypeError,
            r"nested lists of numbers with rows of equal length, got list",
        ),
        (lambda: heatmap("weights"), TypeError, r"expected weights: a tensor, .* got str .* torch\.tensor first"),
        (
            lambda: heatmap([[float("nan")]]),
            ValueError,
            r"finite numbers, got NaN\. Attention weights become NaN where",
        ),
        (lambda: heatmap([[float("inf")]]), ValueError, r"expected weights: finite numbers, got infinite values"),
        (
            lambda: heatmap(torch.ones(2, 3), mask=torch.ones(3, 2)),
            ValueError,
            r"expected mask: a shape that broadcasts to \(2, 3\), got \(3, 2\)\. Rows are queries",
        ),
        (
            lambda: heatmaps(torch.ones(2, 1, 1), titles=["one"]),
            ValueError,
            r"expected titles: 2, one a head, got 1\. Name every panel",
        ),
    ],
)
def test_wrong_input_of_heat_maps_is_explained(call, error, message):
    with pytest.raises(error, match=message):
        call()


# explore


def test_explore_says_what_it_offers_and_holds_every_frame():
    result = explore(curve, alt="Powers of x.", power=[1, 2, 3], color=["red", "blue"])
    assert repr(result) == (
        "Explore: Powers of x. Shown: power = 1, color = red. Choices: power: 1, 2, 3; color: red, blue."
    )
    html = result._repr_html_()
    labels = [unescape(label) for label in re.findall(r'role="img" aria-label="([^"]*)"', html)]
    assert labels == [
        f"Powers of x. Shown: power = {power}, color = {color}." for power in (1, 2, 3) for color in ("red", "blue")
    ]
    assert len(re.findall(r'<div class="course-frame"[^>]* hidden>', html)) == 5, "all but the first"
    assert len(set(ids(html))) == len(ids(html))
    assert set(ids(html)) == references(html)


def test_kinds_of_choices_have_their_controls():
    html = explore(lambda **_: "text", alt="Text.", n=range(3), name=["a", "<b>"], on=True)._repr_html_()
    assert re.search(r'<label>n <input [^>]*type="range" min="0" max="2" step="1" value="0" aria-valuetext="0"', html)
    assert re.search(r"<label>name <select [^>]*><option selected>a</option><option>&lt;b&gt;</option></select>", html)
    assert re.search(r'<label><input [^>]*type="checkbox" checked> on</label>', html)


@pytest.mark.parametrize("numbers", [np.array([1.0, 2.5]), torch.tensor([1.0, 2.5]), (1.0, 2.5)])
def test_numbers_of_any_kind_may_be_chosen(numbers):
    assert repr(explore(lambda x: f"{x}", alt="Numbers.", x=numbers)).endswith("Choices: x: 1, 2.5.")


def test_alt_may_depend_on_the_values_and_the_start_be_chosen():
    result = explore(curve, alt=lambda power: f"x to the {power}.", default={"power": 2}, power=[1, 2])
    assert repr(result) == "Explore: x to the 2. Choices: power: 1, 2."
    assert 'value="1" aria-valuetext="2"' in result._repr_html_()


def test_frame_that_cannot_be_drawn_says_so():
    def draw(n_heads):
        if n_heads == 3:
            raise ValueError("expected d_model divisible by n_heads, got 8 and 3 <here>")
        return curve()

    html = explore(draw, alt="Heads.", n_heads=[1, 2, 3])._repr_html_()
    assert "<p>No figure for n heads = 3: expected d_model divisible by n_heads, got 8 and 3 &lt;here&gt;</p>" in html
    assert html.count("<svg") == 2
    assert "Traceback" not in html
    with pytest.raises(ValueError, match="got 8 and 3"):
        explore(lambda n_heads: draw(3), alt="Heads.", n_heads=[1, 2])


def test_shown_figures_and_html_may_be_frames_too():
    html = explore(lambda x: show(curve(x), alt="Mine."), alt="Powers.", x=[1, 2])._repr_html_()
    assert html.count('aria-label="Mine."') == 2
    assert "<b>2</b>" in explore(lambda x: f"<b>{x}</b>", alt="Bold.", x=[1, 2])._repr_html_()


def heavy(x):
    fig, ax = new_figure(4, 3)
    ax.plot(np.random.default_rng(x).normal(size=5000))
    ax.scatter(*np.random.default_rng(x).normal(size=(2, 2000)))
    return fig


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: explore(curve, alt="A."), ValueError, r"expected at least one choice, got none\. Name it: explore"),
        (
            lambda: explore(curve, alt="A.", a=range(9), b=range(8)),
            ValueError,
            r"expected at most 60 frames, got 9 × 8 = 72\. Every combination is drawn and stored, 290 KB in all: offer",
        ),
        (lambda: explore(curve, alt="A.", power=3), TypeError, r"expected power: a list, a range or a bool, got 3\."),
        (lambda: explore(curve, alt="A.", power="ab"), TypeError, r"expected power: a list, .* got 'ab'\. Offer"),
        (lambda: explore(curve, alt="A.", power=[1]), ValueError, r"expected power: two or more numbers, .* got \[1\]"),
        (lambda: explore(curve, alt="A.", power=[1, "a"]), ValueError, r"of one kind, got \[1, 'a'\]\. Give every"),
        (lambda: explore(curve, alt="A.", power=[None, None]), ValueError, r"bools of one kind, got \[None, None\]"),
        (
            lambda: explore(curve, alt="A.", default={"power": 5}, power=[1, 2]),
            ValueError,
            r"expected default\['power'\]: one of \[1, 2\], got 5\. Add it to the choices",
        ),
        (
            lambda: explore(curve, alt="A.", default={"pow": 1}, power=[1, 2]),
            ValueError,
            r"expected default: only names among \['power'\], got \['pow'\]\. Rename them",
        ),
        (
            lambda: explore(lambda x: None, alt="A.", x=[1, 2]),
            TypeError,
            r"expected draw to return a matplotlib figure or HTML, got NoneType\. End the function with `return fig`",
        ),
        (
            lambda: explore(heavy, alt="A.", x=range(4)),
            ValueError,
            r"at most 290 KB, got \d+ KB\. It holds 4 frames: offer fewer values, or draw fewer points",
        ),
    ],
)
def test_wrong_input_of_explore_is_explained(call, error, message):
    with pytest.raises(error, match=message):
        call()


# The attention view


def test_view_says_its_sizes_and_falls_back_to_a_table():
    weights = torch.rand(2, 3, 5, 7).softmax(-1)
    view = attention_view(list("abcde"), weights, keys=list("tuvwxyz"), alt="Crossing.", layer=1, head=2)
    assert repr(view) == "Attention view: Crossing. Layers: 2, heads: 3, queries: 5, keys: 7."
    html = view._repr_html_()
    assert "<caption>Layer 1, head 2: rows are queries, columns are keys.</caption>" in html
    cells = [float(cell) for cell in re.findall(r"<td>([\d.]+)</td>", html)]
    np.testing.assert_allclose(np.reshape(cells, (5, 7)), weights[1, 2], atol=0.0051)


def test_hidden_keys_are_called_masked():
    mask = torch.ones(3, 3, dtype=torch.bool).tril()
    html = attention_view(list("abc"), torch.eye(3), mask=mask, alt="Causal.")._repr_html_()
    assert html.count("<td>masked</td>") == 3


def test_odd_tokens_reach_the_view_unchanged():
    view = attention_view(ODD_TOKENS, torch.eye(len(ODD_TOKENS)), alt="Odd <tokens>.")
    html = view._repr_html_()
    assert all(words(html).splitlines().count(token) == 2 for token in ODD_TOKENS)
    assert "<pad>" not in html
    assert "</s>" not in html


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: attention_view(["a"], torch.ones(1, 1, 1, 1, 1), alt="A."),
            ValueError,
            r"expected weights: \(q_len, k_len\), .* got shape \(1, 1, 1, 1, 1\)\. Pick one sentence of the batch",
        ),
        (lambda: attention_view([], torch.ones(0, 0), alt="A."), ValueError, r"got shape \(0, 0\)\. Pick one"),
        (
            lambda: attention_view(["a"], [[3.0]], alt="A."),
            ValueError,
            r"expected weights: between 0 and 1, got 3 to 3\. Pass the weights after the softmax, not the scores",
        ),
        (lambda: attention_view(["a"], [[float("nan")]], alt="A."), ValueError, r"finite numbers, got NaN\."),
        (
            lambda: attention_view(["a"] * 2, torch.ones(3, 2), alt="A."),
            ValueError,
            r"expected tokens: 3 tokens, .* got 2",
        ),
        (
            lambda: attention_view(["a"] * 3, torch.ones(3, 2), alt="A."),
            ValueError,
            r"expected keys: 2 tokens, one per position of the weights, got 3\.",
        ),
        (
            lambda: attention_view(["a"], [[1.0]], head=1, alt="A."),
            ValueError,
            r"expected head: 0 to 0, got 1\. Counting",
        ),
        (
            lambda: attention_view(["a"] * 64, torch.eye(64).expand(6, 8, 64, 64), alt="A."),
            ValueError,
            r"at most 290 KB, got \d+ KB\. Show fewer layers or heads, or a shorter sentence",
        ),
    ],
)
def test_wrong_input_of_the_view_is_explained(call, error, message):
    with pytest.raises(error, match=message):
        call()


# Weight of an import, and of an output


def test_library_is_imported_without_drawing_anything():
    code = "import sys, course_lib; assert not {'matplotlib', 'ipywidgets', 'torch'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
    code = "import sys, course_lib.figures; assert not {'matplotlib.pyplot', 'ipywidgets', 'torch'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_outputs_are_light():
    weights = torch.rand(6, 8, 12, 12).softmax(-1)
    tokens = [f"word{number}" for number in range(12)]
    assert len(figure_to_svg(heatmap(weights[0, 0], tokens), "A map.")) < 20_000
    assert len(figure_to_svg(heatmaps(weights[0], tokens), "Maps.")) < 30_000
    assert len(attention_view(tokens, weights, alt="A view.")._repr_html_()) < 60_000
    assert len(explore(curve, alt="Powers.", power=range(1, 13))._repr_html_()) < 60_000
