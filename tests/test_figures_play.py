"""`play`: every move calls the function, what is stored is a still, and an error is a result like any other."""

import asyncio
import linecache
import re
import sys
from concurrent.futures import ThreadPoolExecutor

import nbformat
import pytest
import torch

from course_lib.figures import cells, heatmap, new_figure, play
from course_practice import mine
from tools.form import normal_form

CELL = """def inverse(word, times=2):
    print("called")
    return times / len(word)
"""


def repeated(word, times=2, loud=False):
    return " ".join([word] * times) + "!" * loud


def moved(playground, **values):
    """The HTML after the controls of these names have moved."""
    fields, result = playground.panel.children
    for field in fields.children:
        if field._kwarg in values:
            field.value = values[field._kwarg]
    return result.value


def row_of_words():
    return play(repeated, alt="A word in a row.", word="row", times=(1, 5))


def test_the_text_form_says_what_is_shown_and_what_the_function_said():
    assert repr(row_of_words()) == "Play: A word in a row. Shown: word = row, times = 2, loud = off.\nrow row"


def test_every_move_calls_the_function():
    playground = row_of_words()
    assert ">row row row</pre>" in moved(playground, times=3)
    assert ">oar oar oar!</pre>" in moved(playground, word="oar", loud=True)
    assert ">row row</pre>" in playground.html  # the still stays as it was


def test_controls_are_those_of_interact():
    playground = play(
        lambda text, number, size, kind="b", yes=True: "", alt="None.",
        text="a", number=(1, 9), size=(0.0, 1.0), kind=["a", "b"], yes=False,
    )  # fmt: skip
    kinds = [type(field).__name__ for field in playground.panel.children[0].children]
    assert kinds == ["Text", "IntSlider", "FloatSlider", "Dropdown", "Checkbox"]
    assert playground.alt == "None. Shown: text = a, number = 5, size = 0.5, kind = b, yes = off."


def test_a_click_turns_a_cell():
    playground = play(lambda grid: grid[::-1], alt="A mask.", grid=cells("100 110"))
    assert playground.alt == "A mask. Shown: grid = 100 110."
    grid = playground.panel.children[0].children[0]
    grid.children[1].value = True
    grid.children[3].value = False
    assert ">010 011</pre>" in playground.panel.children[1].value
    with pytest.raises(ValueError, match="expected rows of equally many zeros and ones, got '10 1'"):
        cells("10 1")


@pytest.mark.parametrize(("slow", "each_letter"), [(0, False), (100, True)])
def test_a_slow_function_waits_for_enter(slow, each_letter, monkeypatch):
    monkeypatch.setattr(sys.modules["course_lib.figures.play"], "SLOW", slow)
    assert row_of_words().panel.children[0].children[0].continuous_update == each_letter


def test_a_figure_a_map_and_a_table_are_drawn():
    def curve(power):
        fig, ax = new_figure(4, 3)
        ax.plot([0, 1, 2], [0, 1, 2**power])
        return fig

    for draw in (curve, lambda power: heatmap(torch.eye(power))):
        playground = play(draw, alt="It grows.", power=(1, 3))
        assert "<svg viewBox" in playground.html
        assert 'aria-label="It grows. Shown: power = 3."' in moved(playground, power=3)
        assert playground.png.startswith(b"\x89PNG")
        assert repr(playground) == "Play: It grows. Shown: power = 2."

    class Table:
        def _repr_html_(self):
            return "<table><tr><td>1</td></tr></table>"

    assert play(lambda power: Table(), alt="A table.", power=(1, 3)).html == Table()._repr_html_()


def test_what_is_said_is_no_markup():
    assert "&lt;/w&gt;" in play(lambda word: [word], alt="A token.", word="low</w>").html


@pytest.mark.parametrize("error", [ZeroDivisionError("nothing"), KeyboardInterrupt()])
def test_an_error_is_shown_and_the_next_move_works(error):
    def fails(at):
        if at == 2:
            raise error
        return f"fine at {at}"

    playground = play(fails, alt="It fails at 2.", at=(1, 5))
    assert f'<pre class="course-error">{type(error).__name__}' in moved(playground, at=2)
    assert "fine at 4" in moved(playground, at=4)


def test_an_error_names_the_line_of_the_cell(monkeypatch):
    cell = "/tmp/ipykernel_1/2.py"
    monkeypatch.setitem(linecache.cache, cell, (len(CELL), None, CELL.splitlines(keepends=True), cell))
    scope = {}
    exec(compile(CELL, cell, "exec"), scope)
    playground = play(scope["inverse"], alt="A share.", word="ab", times=(1, 5))
    assert playground.text == "called\n1.0"
    said = "called\nIn inverse: return times / len(word)\nZeroDivisionError: division by zero"
    assert said in moved(playground, word="")


def test_an_error_of_the_readers_kept_answer_names_its_line(monkeypatch):
    kept = {"bpe.encode": {"solution": "def my_encode(word):\n    return word[0]"}}
    monkeypatch.setattr("course_practice.engine.progress.load", lambda: kept)
    first = mine("bpe.encode")
    assert first.__name__ == "my_encode"
    said = moved(play(lambda word: first(word), alt="A letter.", word="ab"), word="")
    assert "In my_encode: return word[0]\nIndexError: string index out of range" in said
    assert mine("bpe.merge")(("a", "b"), ("a", "b")) == ("ab",)  # the course's


def displayed(playground, monkeypatch):
    """The outputs of a cell that ends with it, as a kernel sends them."""
    sent = []
    monkeypatch.setattr("IPython.display.display", lambda data, raw: sent.append(data))
    playground._ipython_display_()
    return [nbformat.v4.new_output("display_data", data=data) for data in sent]


def test_a_stored_notebook_holds_the_still_alone(monkeypatch):
    stored = []
    for _run in range(2):
        outputs = displayed(row_of_words(), monkeypatch)
        assert [*outputs[1].data] == ["application/vnd.jupyter.widget-view+json"]
        cell = nbformat.v4.new_code_cell("play(…)", outputs=outputs)
        nb = normal_form(nbformat.v4.new_notebook(cells=[cell], metadata={"widgets": {"state": {}}}))
        stored.append(nbformat.writes(nb))
        (output,) = nb.cells[0].outputs
        assert [*output.data] == ["text/plain", "text/html"]
    assert stored[0] == stored[1]
    assert not re.search("widget-view|model_id|[0-9a-f]{32}", stored[0])


def test_the_still_says_where_it_moves():
    page = row_of_words().page()
    assert "Shown for word = row, times = 2, loud = off. To change this, run the cell in JupyterLab" in page


def test_expected_then_got():
    with pytest.raises(ValueError, match="expected alt: a sentence"):
        play(repeated, alt=" ", word="row")
    with pytest.raises(ValueError, match="cannot find widget or abbreviation for argument: 'word'"):
        play(repeated, alt="A word.")


def counted(word, up_to=3):
    """Ends after some words; an empty one is an error."""
    for number in range(1, up_to + 1):
        if not word:
            raise ValueError("no word")
        yield " ".join([word] * number)


def stream(**controls):
    return play(counted, alt="Words that come one by one.", **controls)


def test_the_still_of_a_generator_is_its_last_result():
    playground = stream(word="row", up_to=(1, 9))
    assert playground.text == "row row row"


async def results_of(playground, moves, stop_after=None):
    """Every text that is shown after the moves."""
    fields, result = playground.panel.children
    *fields, button = fields.children
    shown = []
    result.observe(lambda change: shown.append(change["new"]), "value")
    for name, value in moves.items():
        next(field for field in fields if field._kwarg == name).value = value
    for turn in range(30):
        if turn and len(shown) == stop_after:
            button.click()
        await asyncio.sleep(0.01)
    return [re.findall(r"<pre[^>]*>(.*?)</pre>", text, re.DOTALL)[0] for text in shown]


def after_moves(*arguments, **options) -> list[str]:
    """The same from a test, in a thread: where a browser was open before, the main thread has a loop already."""
    with ThreadPoolExecutor() as pool:
        return pool.submit(asyncio.run, results_of(*arguments, **options)).result()


def test_a_move_shows_one_result_after_the_other():
    playground = stream(word="row", up_to=(1, 5))
    assert after_moves(playground, {"word": "a"}) == ["a", "a a", "a a a"]


def test_a_generator_stops_at_the_button_and_at_the_next_move():
    playground = stream(word="row", up_to=(1, 5))
    assert after_moves(playground, {"word": "a"}, stop_after=2) == ["a", "a a"]
    assert after_moves(playground, {"word": "b", "up_to": 1}) == ["b"]


def test_an_error_of_a_generator_is_its_last_result():
    shown = after_moves(stream(word="row", up_to=(1, 5)), {"word": ""})
    assert shown[-1] == "ValueError: no word"
