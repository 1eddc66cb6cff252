"""Every gate of the notebooks closes: a broken chapter is refused in plain words, the whole one passes."""

from functools import partial
from pathlib import Path

import complaints
import nbformat
import pytest
from cells import from_text, to_text
from fixtures import doubling

from tools import template
from tools.environment import CHAPTERS
from tools.form import text_of
from tools.gates import (
    chapter,
    collapsed,
    definitions,
    drawings,
    exercises,
    links,
    main_path,
    numbers,
    outputs,
    reproducible,
    width,
)

URL = "https://github.com/someone/transformer-course"
COSTS = {"97_doubling": {"seconds": 3.0, "memory_mb": 280, "cores": 2}}
FIXTURES = Path(__file__).parent / "fixtures"
SAMPLE = (FIXTURES / "97_doubling.txt").read_text(encoding="utf-8").replace("{set-up}", template.set_up_cell(URL))


class Sample:
    """An exercise as far as the gates look at it."""

    def __init__(self, name, title, reference, difficulty=1, minutes=5, starter=None):
        self.id, self.title, self.reference, self.starter = f"doubling.{name}", title, reference, starter
        self.difficulty, self.minutes = difficulty, minutes


def triple_starter(x):
    y = 2 * x
    return ... + y


REGISTRY = {
    exercise.id: exercise
    for exercise in (
        Sample("double", "Twice", doubling.double),
        Sample("triple", "Three times", doubling.triple, difficulty=2, starter=triple_starter),
        Sample("machine", "A machine", doubling.Doubler, difficulty=3, minutes=10),
        Sample("again", "Twice, twice", doubling.double),
    )
}

CONTROL = "<div class='course-controls'><label>{}</label></div>"
DRAWING = "<svg role='img' aria-label='x' viewBox='0 0 600 9' width='800'>{}</svg>"
NAMED = "<path stroke='{}' d='M0 0'/><text font-size='30'>RoPE</text>"
GATES = {
    "chapter.stored_form": chapter.stored_form,
    "chapter.set_up": partial(chapter.set_up, url=URL),
    "chapter.sections": chapter.sections,
    "chapter.title": chapter.title,
    "chapter.length": chapter.length,
    "main_path.asides": main_path.asides,
    "main_path.budget": main_path.budget,
    "main_path.in_practice": main_path.in_practice,
    "numbers.numbers": numbers.numbers,
    "numbers.words": numbers.words,
    "numbers.sums": numbers.sums,
    "chapter.opening_table": partial(chapter.opening_table, costs=COSTS),
    "chapter.lists": chapter.lists,
    "chapter.markdown_everyone_renders": chapter.markdown_everyone_renders,
    "outputs.erroring_cells": outputs.erroring_cells,
    "outputs.machine_traces": outputs.machine_traces,
    "outputs.answers_in_sight": outputs.answers_in_sight,
    "outputs.figures_without_words": outputs.figures_without_words,
    "outputs.too_heavy": outputs.too_heavy,
    "drawings.controls": drawings.controls,
    "drawings.letters": drawings.letters,
    "drawings.one_color": drawings.one_color,
    "drawings.typeface": drawings.typeface,
    "reproducible.fonts": reproducible.fonts,
    "reproducible.sizes": reproducible.sizes,
    "reproducible.clocks": reproducible.clocks,
    "exercises.ids_match": lambda path: exercises.ids_match([path], REGISTRY),
    "exercises.form": lambda path: exercises.form(path, REGISTRY),
    "collapsed.predictions": collapsed.predictions,
    "collapsed.folded_inputs": collapsed.folded_inputs,
    "collapsed.folds_hold_markdown": collapsed.folds_hold_markdown,
    "width.columns": partial(width.columns, library=FIXTURES),
    "definitions.same_as_library": partial(definitions.same_as_library, library=FIXTURES),
    "links.dead_links": links.dead_links,
    "links.one_address": lambda path: links.one_address([path], URL if URL in path.read_text("utf-8") else ""),
}


def retext(change):
    """An edit of the chapter's text form."""

    def edit(nb):
        nb.cells = from_text(change(to_text(nb))).cells

    return edit


def swap(old, new):
    """An edit that replaces the first place where a text stands."""
    assert old in SAMPLE, old
    return retext(lambda text: text.replace(old, new, 1))


def cut(start, end):
    """An edit that leaves out everything from one mark up to another."""
    assert start in SAMPLE, start
    assert end in SAMPLE, end
    return retext(lambda text: text[: text.index(start)] + text[text.index(end) :])


def output(cell_id="pitfall-1", **data):
    """An edit that stores an output in a cell: `text="…"` printed, `html="…"`, `png="…"`, `stderr="…"`, `error="…"`."""

    def edit(nb):
        cell = next(cell for cell in nb.cells if cell.id == cell_id)
        (kind, value), new = next(iter(data.items())), nbformat.v4.new_output
        if kind in {"text", "stderr"}:
            name = {"text": "stdout", "stderr": "stderr"}[kind]
            cell.outputs = [new("stream", name=name, text=value)]
        elif kind == "error":
            cell.outputs = [new("error", ename=value, evalue="", traceback=[])]
        else:
            mime = {"html": "text/html", "png": "image/png", "plain": "text/plain"}[kind]
            cell.outputs = [new("display_data", data={mime: value})]

    return edit


def on(cell_id, **changes):
    """An edit of a cell's own fields."""
    return lambda nb: next(cell for cell in nb.cells if cell.id == cell_id).update(changes)


def metadata(cell_id, **changes):
    return lambda nb: next(cell for cell in nb.cells if cell.id == cell_id).metadata.update(changes)


VIEW = '{"queries": ["it"], "keys": ["🙂"]}'


def draws(line):
    """An edit that puts a line into the cell of the figure."""
    return lambda nb: next(cell for cell in nb.cells if cell.id == "figure").update(source=line)


def measures(last, plain=None):
    """An edit that measures a time in a cell, which ends with the code given and shows `plain`."""
    source = (
        "import time\nfrom timeit import default_timer as clock\n\ndef seconds():\n    start = clock()\n"
        f"    return clock() - start\n\nstart, took = time.perf_counter(), seconds()\n{last}"
    )

    def edit(nb):
        cell = next(cell for cell in nb.cells if cell.id == "pitfall-1")
        data = {"text/plain": plain}
        cell.update(source=source, outputs=[nbformat.v4.new_output("execute_result", data=data)] if plain else [])

    return edit


BROKEN = {
    "chapter.stored_form": [
        (on("imports", execution_count=3), "cell 'imports': not stored in the normal form: run make notebooks"),
        (on("imports", id="0a1b2c3d"), "cell '0a1b2c3d': not stored in the normal form"),
        (metadata("imports", collapsed=True), "cell 'imports': not stored in the normal form"),
        (lambda nb: nb.metadata.update(widgets={}), "metadata or layout of the file"),
    ],
    "chapter.set_up": [
        (swap('find_spec("course_lib")', 'find_spec("torch")'), "the cell below the title is not the set-up cell"),
        (swap("someone/transformer-course", "you/fork"), "the cell below the title is not the set-up cell"),
        (swap("%% code set-up remove-cell", "%% code set-up"), "has no tag 'remove-cell'"),
        (swap("\nmake_reproducible(0)", ""), "no make_reproducible(…) right after the set-up"),
    ],
    "chapter.sections": [
        (swap("## Recap", "## Summary"), "expected the section '## Recap' once, got it 0 times"),
        (swap("## Quiz", "## Recap\n\n## Quiz"), "expected the section '## Recap' once, got it 2 times"),
        (cut("%% markdown idea", "%% code definition"), "no section of its own"),
        (
            retext(lambda t: t.replace("## Quiz", "## X").replace("## Recap", "## Quiz").replace("## X", "## Recap")),
            "order",
        ),
        (swap("# 97 · Doubling", "# 97 · Doubling\n\n# Again"), "one heading of the first level"),
        (swap('"adding.one", "adding.two", "adding.three"', ""), "## Warm-up: expected at least 1 questions"),
        (swap(', "doubling.e"', ""), "## Quiz: expected at least 5 questions of quiz(…), got 4"),
        (cut("### Twice the text", "%% code pitfall-3"), "expected 3 to 5 headings '###', one a pitfall, got 2"),
        (
            swap("### Squaring", "### A\n\n### B\n\n### C\n\n### D"),
            "expected 3 to 5 headings '###', one a pitfall, got 6",
        ),
        (cut("%% code pitfall-2\n", "%% markdown pitfall-3-text"), "'### Adding two' measures nothing"),
        (cut("%% markdown exercise-again", "%% markdown quiz"), "expected at least 4 '### Exercise: …', got 3"),
        (
            retext(lambda t: t.replace("## Exercises\n", "", 1).replace("## Quiz", "## Exercises\n\n## Quiz")),
            "## Exercises: expected at least 1 '### Exercise: …', got 0",
        ),
        (swap("- Twice is", "- a\n- b\n- c\n- d\n- e\n- Twice is"), "expected a list of 1 to 6 lines, got 7"),
        (swap("https://arxiv.org/abs/1706.03762", "97_doubling.ipynb"), "expected links to papers, got none"),
        (cut("%% code figure", "%% markdown pitfalls"), "no interactive figure"),
        (swap("[The same chapter](97_doubling.ipynb)", "This chapter"), "expected a link to the chapter that goes on"),
    ],
    "chapter.title": [
        (swap("# 97 · Doubling", "# Doubling"), "expected a title like '# 97 · …', got 'Doubling'"),
        (swap("# 97 · Doubling", "# 98 · Doubling"), "expected a title like '# 97 · …'"),
    ],
    "chapter.length": [
        (swap("Some text.", "word " * 1200), "words before the first exercise, at most 1,200"),
    ],
    "main_path.asides": [
        (swap("always more?", "always more"), "cell 'aside': expected a question after '### Aside: '"),
        (cut("No: twice", "%% code aside-less"), "expected the answer in the same cell"),
        (swap("No: twice", "No, " * 50 + "twice"), "the answer has 54 words, at most 52"),
        (
            swap("## Recap", "## Recap\n\n%% markdown b\n### Aside: Why?\n\nSo.\n\n%% markdown c"),
            "an aside in '## Recap'",
        ),
        (swap("The rest is", "### Here\n\nThe rest is"), "an aside begins and ends with a cell"),
        (swap("### Aside: Is", "Text.\n\n### Aside: Is"), "an aside begins and ends with a cell"),
        (swap("print(less)", 'check("doubling.double", double)'), "cell 'aside-less': practice in an aside"),
        (swap("3**2 ==", "less + 3**2 =="), "cell 'pitfall-1': needs 'less' of the aside in cell 'aside-less'"),
    ],
    "main_path.budget": [
        (swap("Some text.", "word " * 2600), "words on the main path, at most 2,600"),
        (
            swap("def double(x: int", "x = 1\n" * 200 + "def double(x: int"),
            "lines of code on the main path, at most 200",
        ),
        (output("definition", text="1 " * 121), "numbers on the main path, at most 120"),
        (
            swap("## Exercises", "word " * 12000 + "\n\n## Exercises"),
            "minutes of reading on the main path, at most 60",
        ),
    ],
    "main_path.in_practice": [
        (
            swap("%% markdown pitfalls\n", "%% markdown a\n## In practice\n\nSo.\n\n%% markdown pitfalls\n"),
            "no cell that runs",
        ),
        (
            swap("%% markdown pitfalls\n", f"%% markdown a\n## In practice\n{'word ' * 151}\n\n%% markdown pitfalls\n"),
            "words, at most 150",
        ),
        (
            swap(
                "%% markdown pitfalls\n",
                "%% markdown a\n## In practice\n\n%% code b\n" + "1\n" * 13 + "\n%% markdown pitfalls\n",
            ),
            "## In practice: 13 lines of code, at most 12",
        ),
    ],
    "numbers.numbers": [
        (swap("Some text.", "In 62% of all cases it grows."), "nothing here holds the number '62%' in 'In 62% of"),
        (swap("Some text.", "It grows 9 of 14 times."), "nothing here holds the number '9 of 14'"),
        (swap("Some text.", "It takes sixteen steps."), "nothing here holds the number 'sixteen'"),
        (swap("Some text.", "It takes 1,072 steps, or 0.37 of them."), "nothing here holds the number '1,072'"),
        (swap("Some text.", "It is 4 times as slow."), "nothing here holds the number '4'"),
        (
            swap('"Twice the number."', '"Twice the number, 2.17."'),
            "cell 'figure': nothing here holds the number '2.17'",
        ),
    ],
    "numbers.words": [
        (swap("Some text.", "It grows in six cases in ten."), "'six cases in ten' says a measurement in words"),
        (swap("Some text.", "It takes about twice the time."), "'about twice' says a measurement in words"),
        (swap("Some text.", "Two of three seeds agree."), "'Two of three seeds' says a measurement in words"),
    ],
    "numbers.sums": [
        (swap("Some text.", "It takes 3 · 4 = 14 steps."), "'3 · 4 = 14' does not come out: 12.0 and 14.0"),
        (swap("$2x$", r"$\frac{3}{4} \cdot 8 = 7$"), "does not come out: 6.0 and 7.0"),
    ],
    "chapter.opening_table": [
        (swap("| You need first |", "| Before |"), "no row '| You need first | … |'"),
        (swap("under 5 seconds", "under 20 seconds"), "expected the row '| It takes the machine | under 5 seconds"),
        (swap("10 minutes to read", "1 minute to read"), "expected the row '| It takes you | 10 minutes to read"),
        (swap("Three times · ★★☆ · 5 min", "Three times · ★★☆ · 15 min"), "5 for the asides, 35 to practice |'"),
        (swap("Some text.", "word " * 900), "expected the row '| It takes you | 15 minutes to read"),
    ],
    "chapter.lists": [
        (swap("Some text.", "The rest sums to\n1. So it goes."), "'1. So it goes.' begins a list in the middle"),
        (swap("Some text.", "Half of two\n- one - is left."), "'- one - is left.' begins a list"),
    ],
    "chapter.markdown_everyone_renders": [
        (swap("> **Note.**", ":::{note}\n:::\n>"), "':::{note}' shows as it is outside of the book"),
        (swap("> **Note.**", "> [!NOTE]\n>"), "'> [!NOTE]' shows as it is outside of the book"),
        (swap("```python", "```{code-block} python"), "'```{code-block} python' shows as it is"),
        (swap("Inline `code`", "See {ref}`masks`"), "'See {ref}' shows as it is"),
        (swap("## Quiz", "(the-quiz)=\n## Quiz"), "'(the-quiz)=' shows as it is"),
        (swap("Inline `code`", "<script>alert(1)</script>"), "'<script' shows as it is"),
        (swap("Inline `code`", "The pair (s, t</w>)"), "'</w>' is taken for a tag, so readers do not see it"),
        (on("idea", cell_type="raw"), "a raw cell"),
    ],
    "outputs.erroring_cells": [
        (output(error="ZeroDivisionError"), "cell 'pitfall-1': the stored output is an error (ZeroDivisionError)"),
        (output(html='<pre class="course-error">'), "cell 'pitfall-1': what is played stops with an error"),
        (output(stderr="UserWarning: old"), "a warning is stored ('UserWarning: old')"),
        (swap("3**2 ==", "### Text\n3**2 = =="), "cell 'pitfall-1': not Python ("),
        (metadata("pitfall-1", tags=["raises-exception"]), "'raises-exception' lets the cell escape"),
        (metadata("pitfall-1", tags=["nbval-ignore-output"]), "'nbval-ignore-output' lets the cell escape"),
        (swap("3**2", "# NBVAL_SKIP\n3**2"), "'NBVAL_SKIP' lets the cell escape"),
    ],
    "outputs.machine_traces": [
        (output(text="saved to /home/ada/model.pt"), "a path of one machine ('/home/a')"),
        (output(html="<p>in <b>/tmp/x.json</b></p>"), "a path of one machine ('/tmp/x')"),
        (output(text="C:\\Users\\ada"), "a path of one machine"),
        (output(text="serving on localhost:8888"), "a host name or address ('localhost')"),
        (output(text="peer 10.1.2.3"), "a host name or address ('10.1.2.3')"),
        (output(plain="<Model object at 0x7f3a2b4c5d60>"), "an object's address in memory"),
        (output(text="done in 1.53 s"), "a timing ('1.53 s')"),
        (output(text="12.5 ms ± 3 µs per loop"), "a timing ('12.5 ms')"),
        (output(text="100% 3/3 [00:12<00:00]"), "a time of day or a date"),
        (output(text="trained on 2026-03-01"), "a time of day or a date"),
    ],
    "outputs.answers_in_sight": [
        (output("prediction-answer", text="twice: 14\n"), "begins with 'twice: 14', which Jupyter shows before"),
        (output("prediction-answer", text="\nis it 14? True"), "'prediction-answer': the folded output begins with"),
        (output("prediction-answer", plain="tensor([7.])"), "('tensor('): print a heading first"),
        (output("prediction-answer", html="<figure hidden='hidden'>"), "('<'): print a heading first"),
    ],
    "drawings.controls": [
        (output(html=CONTROL.format("n_layers <input>")), "a control is called 'n_layers': name the choice in words"),
        (output(html=CONTROL.format("<input> n")), "a control is called 'n': name the choice in words"),
    ],
    "drawings.letters": [
        (output(html=DRAWING.format("<text font-size='12'>tiny</text>")), "'tiny' has 7.2 pixels on a phone"),
        (output(html=DRAWING.format("<g font-size='9'><text>a</text></g>")), "'a' has 5.4 pixels on a phone"),
    ],
    "drawings.one_color": [
        (
            output(html=DRAWING.format(NAMED.format("#D55E00")) + DRAWING.format(NAMED.format("#0072B2"))),
            "'RoPE' is #d55e00 in 'pitfall-1', #0072b2 in 'pitfall-1': give it one color",
        ),
    ],
    "drawings.typeface": [
        (output(html=DRAWING.format("<text font-family='Arial'>a</text>")), "'a' has a font of its own"),
        (output(html=DRAWING.format("<text><tspan style='font: 9px Arial'>a</tspan></text>")), "'a' has a font of its"),
        (output(html=DRAWING.format("<text font-size='16'>d_k = 4</text>")), "'d_k = 4' shows an underscore"),
    ],
    "outputs.figures_without_words": [
        (output(png="iVBORw0KGgo="), "cell 'pitfall-1': a picture without alternative text"),
        (output(plain="<Figure size 640x480 with 1 Axes>"), "a picture without alternative text"),
        (output(html="<figure><svg><path d='M0 0'/></svg></figure>"), "a <svg> without alternative text"),
        (output(html="<svg role='img' aria-label=' '></svg>"), "a <svg> without alternative text"),
        (output(html="<img src='data:image/png;base64,x'>"), "a <img> without alternative text"),
    ],
    "outputs.too_heavy": [
        (output(text="x" * 330_001), "cell 'pitfall-1': an output of 330,001 bytes"),
        (on("idea", source="x" * 2_000_000), "at most 2,000,000"),
    ],
    "reproducible.fonts": [
        (
            output(html="<svg role='img' aria-label='x'><text>나는 뷁</text></svg>"),
            "'pitfall-1': the figure holds '뷁'",
        ),
        (
            output(html=f"<svg hidden data-weights='{VIEW}'></svg>"),
            "the figure holds '🙂', which the shipped fonts lack",
        ),
        (draws('ax.set_title("값", family="NanumGothic")'), "cell 'figure': chooses a font (family=…)"),
        (draws('fig.text(0, 0, "값", fontproperties=malgun)'), "chooses a font (fontproperties=…)"),
        (draws("title.set_fontfamily(malgun)"), "chooses a font (set_fontfamily)"),
        (draws("from matplotlib import font_manager"), "chooses a font (font_manager)"),
        (draws('mpl.rcParams["font.sans-serif"] = ["Malgun Gothic"]'), "chooses a font ('font.sans-serif')"),
    ],
    "reproducible.sizes": [
        (output(html="<img alt='Dots' src='data:image/png;base64,x' width='361'>"), 'with its size (width="361")'),
        (output(html="<img alt='Dots' height=\"361\" src='a.png'>"), "cell 'pitfall-1': a picture is compared with"),
        (output(html="<p><canvas aria-label='x' width='9'></canvas></p>"), 'with its size (width="9")'),
        (output(html="<div style='margin: 0; width: 361.5px'>Dots</div>"), "with its size (width: 361.5px)"),
    ],
    "reproducible.clocks": [
        (measures("print(took)"), "cell 'pitfall-1': tells what a clock measured (took)"),
        (measures("print(time.perf_counter() - 3)"), "tells what a clock measured (perf_counter)"),
        (measures('print(f"{time.time() - 3:.1f}")'), "tells what a clock measured (time.time)"),
        (measures("times = []\ntimes.append(took)\nprint(min(times))"), "tells what a clock measured (times)"),
        (measures("best = {}\nfor n in range(3):\n    best[n] = seconds()\nprint(best)"), "measured (best)"),
        (measures("faster = 'yes' if took < 1 else 'no'\nprint(faster)"), "measured (faster)"),
        (measures("print(clock())"), "tells what a clock measured (clock)"),
        (measures("took", plain="0.01"), "tells what a clock measured (took)"),
        (measures('bars({"here": took}, alt="Times.")', plain="Figure: Times.\nhere: 0.10"), "measured (took)"),
        (measures('bars({"here": took}, alt=f"It takes {took}.")', plain="Figure: It takes 1."), "measured (took)"),
    ],
    "exercises.ids_match": [
        (swap('check("doubling.triple"', 'check("doubling.tripel"'), "names no exercise of the registry"),
        (cut("%% markdown exercise-again", "%% markdown quiz"), "the exercise 'doubling.again' stands in no chapter"),
        (swap('check("doubling.again"', 'check("doubling.double"'), "stands in 97_doubling.ipynb already"),
    ],
    "exercises.form": [
        (output("stub-double", plain="doubling.double: passed"), "cell 'stub-double': stored with an answer"),
        (swap("Twice · ★☆☆", "Twice · ★★☆"), "expected the heading '### Exercise: Twice · ★☆☆ · 5 min'"),
        (
            swap("def my_double(x):", "def my_double(number):"),
            "expected the reference's signature (x, times=1), got (number)",
        ),
        (swap("def my_double(x):", "def my_double(x, y):"), "expected the reference's signature"),
        (swap("times=1", "times=2"), "expected the reference's signature (x, times=1), got (x, times=2)"),
        (swap("class MyDoubler:", "class MyDoubler:\n    def other(self): ...\n\nclass Else:"), "no method '__call__'"),
        (
            swap("def __call__(self, x):\n        raise", "def __call__(self):\n        raise"),
            "expected the reference's signature",
        ),
        (
            swap("class MyDoubler:\n    def __call__(self, x):\n    ", "def MyDoubler(x):\n"),
            "expected a class, as the reference is",
        ),
        (swap("y = 2 * x", "y = 4 * x"), "the stub's code is not the exercise's starter"),
        (
            swap('check("doubling.double", my_double)', 'check("doubling.double", my_double)\nprint(1)'),
            "is not the last line",
        ),
        (
            swap('check("doubling.double", my_double)', 'check("doubling.double", double)'),
            "checks nothing that this cell defines",
        ),
        (cut("%% code solution-double", "%% markdown exercise-triple"), "has no cell show_solution('doubling.double')"),
        (
            swap('show_solution("doubling.double")', 'show_solution("doubling.again")'),
            "without check('doubling.again', …) before",
        ),
    ],
    "collapsed.predictions": [
        (
            swap("answer hide-output", "answer"),
            "expected code with the tag 'hide-output' after the prediction, got none",
        ),
        (swap("<details><summary>What you saw</summary>", "**What you saw.**"), "stands outside of its fold"),
        (cut("%% markdown prediction-seen", "%% code figure"), "expected a cell that begins with '<details>"),
        (swap("seven?", "seven?\n\nMore."), "is not its last paragraph"),
        (swap("%% code pitfall-2", "%% code pitfall-2 hide-output"), "'hide-output' without '**Predict, then run.**'"),
    ],
    "collapsed.folded_inputs": [
        (swap("%% code figure hide-input", "%% code figure"), "cell 'figure': explore(…) without the tag 'hide-input'"),
        (swap("warm-up-questions hide-input", "warm-up-questions"), "warm_up(…) without the tag"),
        (swap("solution-double hide-input", "solution-double"), "show_solution(…) without the tag"),
        (swap("%% code pitfall-2", "%% code pitfall-2 hide-cell"), "the tag 'hide-cell' is not used"),
    ],
    "collapsed.folds_hold_markdown": [
        (
            swap("</summary>\n\nIt is", "</summary>\nIt is"),
            "'<details><summary>What you saw</summary>': expected",
        ),
        (swap("seven.\n\n</details>", "seven.\n</details>"), "'</details>': expected"),
        (swap("<details><summary>", "<details>\n<summary>"), "'<details>': expected"),
        (swap("</details>", ""), "a fold is not closed"),
    ],
    "width.columns": [
        (output(text="x" * 81), "cell 'pitfall-1': output of 81 columns, at most 80"),
        (output(plain="한" * 41), "cell 'pitfall-1': output of 82 columns"),
        (
            swap(
                "Twice the number, as many times as asked.",
                "Twice the number, as many times as asked" + " and asked" * 5,
            ),
            "cell 'definition': code of 97 columns, at most 80: write it shorter in doubling.py, then make sync",
        ),
    ],
    "definitions.same_as_library": [
        (swap("x * 2**times", "2**times * x"), "'double' differs from the one in doubling.py: run make sync"),
        (swap("x: int, times: int = 1", "x, times=1"), "'double' differs"),
        (swap("Twice the number, as many", "Two times the number, as many"), "'double' differs"),
        (cut("%% code machine", "%% code figure"), "'Doubler' of doubling.py is not shown"),
        (swap("return x * 2**times", "return x * 2**times\n\n\nprint(double(3))"), "among other code"),
        (swap("%% code machine", "%% code machine definition:course_lib.trebling"), "the library does not have"),
        (
            swap("%% code machine\nclass Doubler", "%% code machine definition:course_lib.doubling\nclass Twice"),
            "cell 'machine': its tag names doubling.py, which has no 'Twice': give it the name that it has there",
        ),
    ],
    "links.dead_links": [
        (swap("(#warm-up)", "(98_missing.ipynb)"), "cell 'title': the link '98_missing.ipynb' leads nowhere"),
        (swap("#add-it-to-itself", "#add-it-to-me"), "97_doubling.ipynb has no heading for '#add-it-to-me'"),
        (swap("Inline `code`", "![](97_doubling.ipynb)"), "has no alternative text"),
        (swap("Inline `code`", '<img alt="A" src="https://example.com/a.png">'), "comes from another host"),
    ],
    "links.one_address": [
        (
            swap("Inline `code`", "https://github.com/you/transformer-course"),
            "names you/transformer-course, but the address is",
        ),
        (swap("Inline `code`", "https://you.github.io/transformer-course/"), "names you.github.io/transformer-course"),
        (
            retext(lambda text: text.replace(URL, "https://github.com/else/where")),
            "names git+https://github.com/else/where, but the course has no address",
        ),
    ],
}


def test_a_chapter_that_takes_too_long_or_too_much_is_refused():
    fits = {"seconds": 80, "yardstick": 2.0, "memory_mb": 900}
    assert chapter.cost("05_masks", fits) == []
    assert "50 yardsticks, at most 45" in chapter.cost("05_masks", fits | {"seconds": 100})[0]
    assert chapter.cost("17_translation", fits | {"seconds": 190}) == []  # it may train for longer
    assert "1400 MB, at most 1024" in chapter.cost("05_masks", fits | {"memory_mb": 1400})[0]


def test_a_chapter_may_cite_pages_of_others(tmp_path):
    path = written(tmp_path, swap("Inline `code`", "https://someone.github.io/2019/recipe/"))
    path.write_text(path.read_text("utf-8").replace(URL, ""), "utf-8")
    assert links.one_address([path], "") == []


def written(folder: Path, edit=None) -> Path:
    """The sample chapter as a file, after the edit."""
    nb = from_text(SAMPLE)
    if edit:
        edit(nb)
    path = folder / "97_doubling.ipynb"
    path.write_text(text_of(nb), encoding="utf-8")
    return path


@pytest.fixture
def library(monkeypatch):
    """One exercise of the sample's has a reference that no cell shows."""
    monkeypatch.setitem(definitions.NOT_SHOWN, "doubling.triple", "an exercise writes it")


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.usefixtures("library")
def test_whole_chapter_passes(gate, tmp_path):
    complaints.none(GATES[gate](written(tmp_path)))


@pytest.mark.parametrize(
    ("gate", "edit", "words"),
    [pytest.param(gate, *case, id=f"{gate}-{i}") for gate, cases in BROKEN.items() for i, case in enumerate(cases)],
)
@pytest.mark.usefixtures("library")
def test_broken_chapter_is_refused(gate, edit, words, tmp_path):
    found = GATES[gate](written(tmp_path, edit))
    assert any(words in complaint for complaint in found), found


def test_a_chapter_that_lacks_sections_hears_of_all_that_is_missing(tmp_path):
    """Of what lies in the sections that are there, too."""
    text = SAMPLE.replace("## Recap", "## Summary").replace("## What now", "## Next").replace(', "doubling.e"', "")
    path = tmp_path / "97_doubling.ipynb"
    path.write_text(text_of(from_text(text)), encoding="utf-8")
    found = "\n".join(chapter.sections(path))
    for words in ("'## Recap' once", "'## What now' once", "## Quiz: expected at least 5 questions"):
        assert words in found


def test_a_gate_that_closes_says_all_its_complaints(tmp_path):
    path = written(tmp_path, swap("(#warm-up)", "(98_missing.ipynb) [and](#nowhere)"))
    with pytest.raises(pytest.fail.Exception) as failed:
        complaints.none(links.dead_links(path))
    said = str(failed.value).splitlines()
    assert said == links.dead_links(path)
    assert len(said) == 2


@pytest.mark.parametrize(
    ("last", "plain"),
    [
        ('bars({"here": took}, alt="The times of this run.")', "Figure: The times of this run."),
        ("took  # what is not shown is not compared", None),
        ("print('measured')", None),
    ],
)
def test_what_a_clock_measured_may_be_drawn(last, plain, tmp_path):
    assert reproducible.clocks(written(tmp_path, measures(last, plain))) == []


def test_chapters_are_refused_as_they_were_compared_once(tmp_path):
    """Without a font for their Korean letters, and with the sizes of their pictures, which no two machines agree on."""
    settings = tmp_path / "sanitize.cfg"
    settings.write_text("regex: base64,[A-Za-z0-9+/=]*\nreplace: base64,\n", encoding="utf-8")
    for stem, cell in {"17_translation": "slider-figure", "18_attention_view": "two-maps"}.items():
        path = CHAPTERS / f"{stem}.ipynb"
        assert any(repr(cell) in complaint for complaint in reproducible.fonts(path, shipped=tmp_path))
        assert any(repr(cell) in complaint for complaint in reproducible.sizes(path, settings))
    cost = reproducible.sizes(CHAPTERS / "19_cost.ipynb", settings)
    assert any("'strips-bars': a picture is compared with its size" in complaint for complaint in cost)


@pytest.mark.filterwarnings("ignore:Non-unique cell id")
def test_cell_id_that_stands_twice_is_refused(tmp_path):
    path = written(tmp_path)
    path.write_text(path.read_text(encoding="utf-8").replace('"id": "imports"', '"id": "title"'), encoding="utf-8")
    assert "the cell id 'title' stands twice" in chapter.stored_form(path)[0]


def test_no_gate_lacks_a_broken_example():
    assert set(GATES) == set(BROKEN)
    for module in (
        chapter,
        main_path,
        numbers,
        collapsed,
        width,
        outputs,
        drawings,
        reproducible,
        exercises,
        definitions,
        links,
    ):
        for name, value in vars(module).items():
            notes = getattr(value, "__annotations__", {})
            if notes.get("return") == list[str] and {"path", "paths"} & set(notes) and not name.startswith("_"):
                assert f"{module.__name__.rpartition('.')[2]}.{name}" in GATES
