"""Figures in a real browser: drawn as matplotlib drew them, worked by keyboard, read out, on light and dark pages."""

import io
import re
from functools import cache
from html import escape
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
import torch
from axe_playwright_python.sync_playwright import Axe
from browser import launch
from PIL import Image

from course_lib import figures
from course_lib.figures import attention_view, explore, heatmap, new_figure, show

TOKENS = ["<pad>", "고양이", '"sat"', "dow'n"]
CAUSAL = torch.ones(4, 4, dtype=torch.bool).tril()
THEMES = {"light": ("#ffffff", "#222832"), "dark": ("#121212", "#ced6dd")}


@pytest.fixture(scope="module")
def browser():
    with launch() as chromium:
        yield chromium


@pytest.fixture
def visit(browser, tmp_path):
    """Opens outputs as a page from disk; fails at the end when a page reported an error or asked for anything else."""
    trouble, contexts = [], []

    def new(*outputs, theme="light", width=800, **options):
        background, ink = THEMES[theme]
        body = "".join(f"<section>{output._repr_html_()}</section>" for output in outputs)
        path: Path = tmp_path / "page.html"
        path.write_text(
            f'<!doctype html><html lang="en" data-theme="{theme}"><meta charset="utf-8">'
            f'<meta name="viewport" content="width=device-width"><title>Page</title>'
            f"<style>body {{background: {background}; color: {ink}; font-family: sans-serif}}</style>"
            f"<main><h1>Page</h1>{body}</main></html>",
            encoding="utf-8",
        )
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: trouble.append(message.text))
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("request", lambda request: request.url != path.as_uri() and trouble.append(request.url))
        page.goto(path.as_uri())
        return page

    yield new
    for context in contexts:
        context.close()
    assert [text for text in trouble if not text.startswith("data:image/png;base64,")] == []


def powers(power, grid=False, style="solid"):
    fig, ax = new_figure(4, 3)
    ax.plot(range(5), [x**power for x in range(5)], linestyle=style)
    ax.grid(grid)
    ax.set(xlabel="x", ylabel="y")
    return fig


@cache
def explorer():
    return explore(powers, alt="x to a power.", power=[1, 2, 3], grid=False, style=["solid", "dashed"])


def view(**options):
    weights = torch.tensor([[0.0, 1.0, 2.0, 3.0]]).repeat(2, 3, 4, 1)
    weights = weights * torch.arange(1, 7).view(2, 3, 1, 1) / 6
    weights = weights.masked_fill(~CAUSAL, float("-inf")).softmax(-1)
    return attention_view(TOKENS, weights, mask=CAUSAL, alt="Causal attention.", **options), weights


# The drawing


def zoo():
    """A bit of everything that matplotlib writes."""
    rng = np.random.default_rng(0)
    fig, axes = new_figure(7, 5, 2, 3)
    (lines, bars, points), (logs, image, bands) = axes
    lines.plot(rng.normal(size=40).cumsum(), marker="s", linestyle="--", alpha=0.6, label="walk")
    lines.plot(rng.normal(size=40).cumsum(), color="black", label="ink")
    lines.axhline(2, linestyle=":", linewidth=5)
    lines.legend()
    bars.bar(["a", "b", "c"], [3, 1, 2], hatch="//", edgecolor="black", yerr=0.4, capsize=4)
    points.scatter(*rng.normal(size=(2, 30)), c=rng.random(30), s=rng.random(30) * 90, edgecolors="red")
    points.set(xlim=(-1, 1), ylim=(-1, 2))
    points.annotate("there", (0, 0), (0.2, 1.5), arrowprops={"arrowstyle": "->"}, weight="bold", style="italic")
    logs.loglog([1, 10, 100], [1, 100, 3], drawstyle="steps")
    logs.set(title="Title", xlabel="x label", ylabel="rotated")
    image.imshow(rng.random((5, 7)), interpolation="none")
    bands.fill_between(range(10), rng.random(10), 2 + rng.random(10), alpha=0.3)
    bands.contour(rng.random((6, 10)))
    bands.text(2, 1, "turned & <odd>", rotation=30, color="#D55E00")
    return fig


def pixels(browser, svg: str) -> np.ndarray:
    page = browser.new_page(viewport={"width": 800, "height": 700})
    page.set_content(
        "<style>body {margin: 0; color: #000; font-family: DejaVu Sans} svg {width: 780px; height: auto}</style>" + svg
    )
    shot = Image.open(io.BytesIO(page.screenshot())).convert("L")
    page.close()
    return np.asarray(shot, dtype=float)


def test_drawing_looks_as_matplotlib_drew_it(browser):
    """Oracle: matplotlib's own file, before anything is taken out or rounded."""
    raw, fig = io.BytesIO(), zoo()
    svg = show(fig, alt="Everything.").picture
    with mpl.rc_context({"svg.hashsalt": "course"}):
        fig.savefig(raw, format="svg", transparent=True, bbox_inches="tight", pad_inches=0.04)
    expected = pixels(browser, raw.getvalue().decode().split("?>", 1)[1])
    assert len(svg) < 0.75 * len(raw.getvalue())

    def difference(svg: str) -> float:
        return np.abs(pixels(browser, svg) - expected).mean()

    assert expected.std() > 10, "the page is not empty"
    assert difference(svg) < 0.04
    for lost in (
        r"rotate\([^)]*\)",
        *(rf' [a-z-]*{name}="[^"]*"' for name in ("dasharray", "clip-path", "weight", "opacity")),
    ):
        assert difference(re.sub(lost, "", svg)) > 0.06, f"the comparison does not see {lost}"


@pytest.mark.parametrize("theme", THEMES)
def test_text_of_a_drawing_has_the_color_of_the_page(visit, theme):
    page = visit(show(powers(2), alt="A parabola."), theme=theme)
    fill = page.locator("svg text").first.evaluate("element => getComputedStyle(element).fill")
    assert fill == page.evaluate("getComputedStyle(document.body).color")


def test_two_of_the_same_on_a_page_are_worked_apart(visit):
    page = visit(explorer(), explorer())
    first, second = page.get_by_role("slider").all()
    second.press("ArrowRight")
    assert [each.get_attribute("aria-valuetext") for each in (first, second)] == ["1", "2"]


# explore


def shown(page) -> list[str]:
    """The names of the drawings that can be seen."""
    return page.get_by_role("img").evaluate_all("drawings => drawings.map(drawing => drawing.ariaLabel)")


def test_explore_is_worked_by_keyboard_and_says_what_it_shows(visit):
    page = visit(explorer())
    assert shown(page) == ["x to a power. Shown: power = 1, grid = off, style = solid."]
    slider = page.get_by_role("slider", name="power")
    page.keyboard.press("Tab")
    assert slider.evaluate("element => element === document.activeElement")
    assert slider.evaluate("element => getComputedStyle(element).outlineStyle") == "solid"
    page.keyboard.press("ArrowRight")
    assert shown(page) == ["x to a power. Shown: power = 2, grid = off, style = solid."]
    assert slider.get_attribute("aria-valuetext") == "2"
    assert page.get_by_role("status").text_content() == shown(page)[0]
    page.keyboard.press("End")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.press("d")
    assert shown(page) == ["x to a power. Shown: power = 3, grid = on, style = dashed."]


def test_frames_have_one_size(visit):
    page = visit(explore(lambda scale: powers(scale), alt="Powers.", scale=[1, 5, 9]))
    boxes = []
    for _ in range(3):
        boxes.append(page.get_by_role("img").bounding_box())
        page.get_by_role("slider").press("ArrowRight")
    assert boxes[0] == boxes[1] == boxes[2]


def test_explore_without_scripts_shows_the_first_frame_and_its_values(visit):
    page = visit(explorer(), java_script_enabled=False)
    assert page.locator("svg:visible").count() == 1
    assert page.locator("input:visible, select:visible").count() == 0
    assert page.get_by_text("Shown for power = 1, grid = off, style = solid.").is_visible()


# The attention view


def numbers(page) -> list[str]:
    return page.locator(".course-number").all_text_contents()


def expected_numbers(weights, query: int) -> list[str]:
    return [f"{weight:.2f}" if seen else "masked" for weight, seen in zip(weights[query], CAUSAL[query], strict=True)]


def test_view_is_worked_by_keyboard(visit):
    output, weights = view(query=1)
    page = visit(output)
    assert page.locator("table:visible").count() == 0
    assert page.locator("fieldset label").all_text_contents() == TOKENS
    assert page.locator("li .course-token").all_text_contents() == TOKENS
    assert numbers(page) == expected_numbers(weights[0, 0], 1)
    for _ in range(3):
        page.keyboard.press("Tab")  # layer, head, the chosen query
    page.keyboard.press("ArrowDown")
    assert page.get_by_role("radio", checked=True).evaluate("radio => radio === document.activeElement")
    assert numbers(page) == expected_numbers(weights[0, 0], 2)
    assert re.fullmatch(
        r'Layer 0\. Head 0\. "sat" looks at "sat" 0\.\d\d, 고양이 0\.\d\d, <pad> 0\.\d\d\.',
        page.get_by_role("status").text_content(),
    )
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("ArrowDown")
    assert numbers(page) == expected_numbers(weights[1, 1], 2)
    assert page.get_by_role("status").text_content().startswith("Layer 1. Head 1. ")


def test_pointer_shows_a_query_for_as_long_as_it_stays(visit):
    output, weights = view()
    page = visit(output)
    page.locator("fieldset label").nth(3).hover()
    assert numbers(page) == expected_numbers(weights[0, 0], 3)
    page.get_by_role("heading").hover()
    assert numbers(page) == expected_numbers(weights[0, 0], 0)


def test_lines_are_as_wide_as_the_weights_and_lead_to_their_keys(visit):
    output, weights = view(query=3)
    page = visit(output)
    lines = page.locator("line[stroke='#0072B2']").evaluate_all(
        "lines => lines.map(line => ['stroke-width', 'stroke-opacity'].map(name => Number(line.getAttribute(name))))"
    )
    width, opacity = np.array(lines).T
    for look in (width, opacity):  # as the weights, which the page holds with three decimals
        assert np.corrcoef(look, weights[0, 0, 3])[0, 1] == pytest.approx(1, abs=1e-4)
    rows = page.locator("fieldset label").evaluate_all("rows => rows.map(row => row.getBoundingClientRect().y)")
    keys = page.locator("li").evaluate_all("keys => keys.map(key => key.getBoundingClientRect().y)")
    assert rows == keys, "a query stands beside its key"
    ends = page.locator("line[stroke='#0072B2']").evaluate_all("lines => lines.map(line => line.y2.baseVal.value)")
    np.testing.assert_allclose(np.diff(ends), np.diff(keys))


def test_hidden_keys_have_no_line(visit):
    page = visit(view(query=1)[0])
    assert page.locator("line").count() == CAUSAL.sum()
    assert page.locator("li.course-masked .course-token").all_text_contents() == TOKENS[2:]


def test_view_without_scripts_is_a_table(visit):
    output, weights = view()
    page = visit(output, java_script_enabled=False)
    cells = page.locator("tbody tr:nth-child(3) td").all_text_contents()
    assert cells == expected_numbers(weights[0, 0], 2)
    assert page.locator("tbody th").all_text_contents() == TOKENS
    assert page.locator("table:visible").count() == 1


# For everyone


@cache
def gallery():
    maps = show(heatmap(CAUSAL.double().softmax(-1), TOKENS, mask=CAUSAL), alt="A map.")
    cross = attention_view(["one"], [[0.25, 0.75]], keys=["an unbelievably long token", "two"], alt="Crossing.")
    return maps, explorer(), view()[0], cross


@pytest.mark.parametrize("theme", THEMES)
def test_nobody_is_shut_out(browser, tmp_path, visit, theme):
    curves = figures.lines([0, 1], {"a": [0, 1], "b": [1, 0]}, alt="Crossing.")
    page = visit(*gallery(), curves, figures.shapes(figures.box("x", "1 2")), theme=theme)
    found = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}).response
    assert [(each["id"], each["nodes"][0]["html"]) for each in found["violations"]] == []
    assert len(found["passes"]) > 5


def test_targets_are_large_enough(visit):
    page = visit(*gallery())
    for target in page.locator("select:visible, input[type=range], label:has(input:not([type=range]))").all():
        box = target.bounding_box()
        assert min(box["width"], box["height"]) >= 24  # WCAG 2.2, 2.5.8


@pytest.mark.parametrize("width", [390, 320])
def test_narrow_screens_need_no_sideways_scrolling(visit, width):
    page = visit(*gallery(), width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    boards = page.locator(".course-board").evaluate_all("boards => boards.map(b => b.scrollWidth - b.clientWidth)")
    assert boards == [0, 0], "every number is seen"
    cut = page.locator("li .course-token").evaluate_all(
        "tokens => tokens.filter(token => token.scrollWidth > token.clientWidth).map(token => token.title)"
    )
    assert set(cut) <= {"an unbelievably long token"}


def test_alternative_words_are_seen_only_without_styles(visit):
    page = visit(*gallery())
    assert page.locator(".course-alt:visible").count() == 0
    assert page.locator("figure svg:visible").count() == 1


def test_static_pictures_are_seen_where_styles_scripts_and_drawings_are_taken_out(browser):
    """As JupyterLab does with a notebook that is not trusted yet."""
    page = browser.new_page(java_script_enabled=False)
    html = "".join(output._repr_html_() for output in gallery())
    page.set_content(re.sub(r"(?s)<(style|script|svg)\b.*?</\1>", "", html))
    pictures = page.locator("img:visible")
    assert [picture.get_attribute("alt") for picture in pictures.all()] == list(map(repr, gallery()))
    widths = pictures.evaluate_all("images => images.map(image => image.complete && image.naturalWidth)")
    assert min(widths) > 150
    assert page.locator("table:visible, input:visible, .course-figure:visible").count() == 0
    page.close()


@pytest.mark.parametrize("theme", THEMES)
def test_text_can_be_read_on_a_phone(visit, theme):
    box = figures.box
    product = [
        box("X", "n=10 d_model=512"),
        "@",
        box("W_Q", "d_model=512 d_k=64", "query"),
        "=",
        box("Q", "n=10 d_k=64"),
    ]
    page = visit(
        figures.lines([0, 1], {"a": [0, 1], "b": [1, 0]}, xlabel="x", alt="Crossing."),
        figures.bars({"a name that takes much room": 1, "another such name": 2}, alt="Bars."),
        figures.shapes(*product),
        theme=theme, width=390,
    )  # fmt: skip
    sizes = page.locator("svg[role=img] text").evaluate_all(
        "texts => texts.map(text => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a)"
    )
    assert len(sizes) > 20
    assert min(size for size in sizes) >= 9.9, "powers and the like"
    assert np.median(sizes) >= 11


def test_tokens_are_no_markup():
    attack = "<img src=x onerror=alert(1)>"
    for output in (
        attention_view([attack], [[1.0]], alt="Text."),
        show(heatmap([[1.0]], [attack]), alt="Text."),
        explore(lambda name: escape(name), alt="Text.", name=[attack, "b"]),
    ):
        assert "<img src=x" not in output._repr_html_()
