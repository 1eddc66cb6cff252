"""Incomplete questions are refused; quizzes look the same each time, and work with and without their script."""

import re
from types import SimpleNamespace

import pytest
from browser import launch
from hypothesis import given
from hypothesis import strategies as st

from course_practice import quizzes
from course_practice.quizzes import Option, Question, Quiz, bank, quiz, registry, warm_up
from course_practice.quizzes.engine import read

RIGHT = Option("True", True, "It keeps.")
WRONG = Option("False", False, "It hides.")
LARGEST_QUIZ = 15_500  # bytes
GUESSED = 0.35  # the largest share of questions that may be answered rightly by looking at lengths alone
UNEVEN = 0.15  # how far the share of a place may lie from an even one


def question(**changes) -> Question:
    return Question(**{"id": "masks.test", "text": "What keeps?", "options": [RIGHT, WRONG], **changes})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"id": "Masks"}, "expected an id like 'masks.polarity', got 'Masks'"),
        ({"id": "masks.Polarity"}, "use small letters, digits and _"),
        ({"text": "  "}, "masks.test: expected a question, got an empty text"),
        ({"options": [RIGHT]}, "masks.test: expected two options or more, got 1"),
        ({"options": [RIGHT, Option("True", False, "It hides.")]}, "expected options that differ"),
        ({"options": [RIGHT, Option(" ", False, "It hides.")]}, "expected a text for every option, got an empty one"),
        ({"options": [RIGHT, Option("False", False, "")]}, "expected a reason (why) for 'False', got none"),
        ({"options": [WRONG, Option("0", False, "It hides.")]}, "expected exactly one correct option, got 0: mark one"),
        ({"options": [RIGHT, Option("1", True, "It keeps.")]}, "or declare the question with many=True"),
        ({"options": [WRONG, Option("0", False, "No.")], "many": True}, "expected at least one correct option, got 0"),
    ],
)
def test_an_incomplete_question_is_refused(changes, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        question(**changes)


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (("True", True, "It keeps."), "expected options of type Option, got tuple: write Option(text, correct, why)"),
        (Option("True", 1, "It keeps."), "expected correct to be True or False, got 1"),
    ],
)
def test_an_option_of_another_kind_is_refused(option, words):
    with pytest.raises(TypeError, match=re.escape(words)):
        question(options=[option, WRONG])


def test_many_allows_several_right_options():
    assert question(options=[RIGHT, Option("1", True, "It keeps.")], many=True).right == ("True", "1")


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        ((), "expected at least one question id, got none"),
        (("prerequisites.dot_product",) * 2, "got 'prerequisites.dot_product' twice"),
        (("prerequisites.dot_produkt",), "did you mean 'prerequisites.dot_product'"),
        (("prerequisite.softmax_sum",), "did you mean 'prerequisites.softmax_sum'"),
        (("zzz",), "registry() lists all"),
        ((7,), "expected the id of a question, got 7"),
    ],
)
def test_an_unknown_id_names_the_nearest(ids, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        quiz(*ids)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("## Two words\nA?\n", "expected '## name', maybe with '(guess)' or '(many)', got 'Two words'"),
        ("## a\nA?\n\n- [x] yes, because\n- [ ] no — No.\n", "expected '- [x] text — reason', got '[x] yes, because'"),
        ("## a\nA?\n\n- [x] b — B.\n- [ ] c — C.\n" * 2, "expected every question once, got 'a' twice"),
    ],
)
def test_a_text_of_questions_out_of_form_is_refused(text, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        read("sums", text, {})


@pytest.mark.parametrize("one", registry().values(), ids=lambda one: one.id)
def test_a_question_of_the_banks_is_well_written(one):
    texts = [one.text, *(text for option in one.options for text in (option.text, option.why))]
    assert 2 <= len(one.options) <= 5
    for text in texts:
        assert "$" not in text, "formulas are written in plain characters"
        assert text.count("`") % 2 == 0
        assert "!" not in re.sub(r"`[^`]*`", "", text)
    for option in one.options:
        assert option.why.rstrip().endswith((".", ".)", "…", "?")), option.why
        assert not re.match(r"(yes|no|right|wrong|correct|incorrect)\b[,.:;]", option.why, re.IGNORECASE), option.why
        assert len(option.why) >= 20, "a reason, not a verdict"


def picked_by(choose, questions) -> float:
    """The share of questions that a reader gets right who picks the option whose length `choose` (max or min) names."""
    shares = []
    for one in questions:
        length = choose(len(option.text) for option in one.options)
        picked = [option.correct for option in one.options if len(option.text) == length]
        shares.append(sum(picked) / len(picked))
    return sum(shares) / len(shares)


def places(questions) -> dict[tuple[int, int], float]:
    """How far from an even share the right option stands at each place, by the number of options and the place."""
    off = {}
    for size in {len(one.options) for one in questions}:
        found = [[option.correct for option in one.shown].index(True) for one in questions if len(one.options) == size]
        if len(found) >= 10:  # fewer cannot be even
            off |= {(size, place): found.count(place) / len(found) - 1 / size for place in range(size)}
    return off


def test_lengths_and_places_give_nothing_away():
    questions = [one for one in registry().values() if not one.many]
    assert picked_by(max, questions) <= GUESSED
    assert picked_by(min, questions) <= GUESSED
    assert max(map(abs, places(questions).values())) <= UNEVEN


def test_a_bank_that_gives_itself_away_is_found():
    """Fixtures: the right option always the longest; always first; and mixed by the names."""
    answers = [Option("a longer one", True, "It keeps."), *(Option(c, False, "It hides.") for c in "xyz")]
    bank = [question(id=f"masks.test_{number}", options=answers) for number in range(40)]
    assert picked_by(max, bank) == 1
    assert picked_by(min, bank) == 0
    assert max(map(abs, places(bank).values())) <= UNEVEN
    typed = [SimpleNamespace(options=one.options, shown=one.options) for one in bank]
    assert places(typed)[4, 0] == 0.75


@pytest.mark.parametrize("subject", quizzes._subjects())
def test_eight_questions_are_light(subject):
    ids = list(bank(subject))[:8]
    assert len(quiz(*ids)._repr_html_().encode()) <= LARGEST_QUIZ


def test_text_form_lists_questions_and_options_without_answers():
    text = repr(warm_up("prerequisites.softmax_shift", "prerequisites.dot_product"))
    assert text.startswith("Warm-up\n1. You add 100 to every entry of x.")
    assert "\n2. What is the dot product" in text
    assert "   - It becomes sharper." in text
    assert "cancels" not in text


def test_options_stand_in_an_order_drawn_from_the_name():
    options = [Option(letter, letter == "a", "It keeps.") for letter in "abc"]
    shown = {tuple(o.text for o in question(id=f"masks.test_{n}", options=options).shown) for n in range(60)}
    assert len(shown) == 6, "every order occurs"
    reworded = [Option(letter.upper(), letter == "a", "It keeps.") for letter in "abc"]
    orders = ["".join(o.text for o in question(options=some).shown).lower() for some in (options, reworded)]
    assert orders[0] == orders[1], "another wording keeps the order"


def test_html_is_the_same_each_time_and_has_no_random_ids():
    assert quiz("prerequisites.dot_product")._repr_html_() == quiz("prerequisites.dot_product")._repr_html_()


HARD = "<script>alert(1)</script> & \"quotes\" 'single' 한국어 🙂 </style> <!--"


@given(st.text(min_size=1).filter(str.strip))
def test_any_text_is_shown_as_it_is(text):
    """Any but the two marks, backticks and asterisks; an index is shown by its place, below or above."""
    from bs4 import BeautifulSoup

    text = re.sub(r"[`*\x00-\x1f\x7f-\x9f\ud800-\udfff]", "", text).strip() or "?"
    shown = Quiz("Quiz", "", (question(options=[Option(text + HARD, True, "It keeps."), WRONG]),))
    page = BeautifulSoup(shown._repr_html_(), "html.parser")
    for tag, mark in {"sub": "_", "sup": "^"}.items():
        for index in page(tag):
            index.insert(0, mark)
    assert text + HARD in [summary.get_text() for summary in page("summary")]
    assert len(page("script")) == 1


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("the root of d_k", "the root of d<sub>k</sub>"),
        ("W^Q and W_1", "W<sup>Q</sup> and W<sub>1</sub>"),
        ("`d_k` or d_key", "<code>d_k</code> or d_key"),
    ],
)
def test_the_index_of_a_symbol_is_small(text, html):
    assert f"<legend>{html}" in Quiz("Quiz", "", (question(text=text),))._repr_html_()


def test_code_in_backticks():
    html = Quiz("Quiz", "", (question(text="What is `a < b`?"),))._repr_html_()
    assert "What is <code>a &lt; b</code>?" in html


def test_a_question_alone_has_no_number():
    alone, several = (Quiz("Quiz", "", questions)._repr_html_() for questions in ((ONE,), (ONE, MANY)))
    assert "<legend>What keeps?" in alone
    assert "<legend>1. What keeps?" in several


def test_nothing_comes_from_elsewhere():
    assert not re.search(r"(src|href)=|https?:|@import|url\(", quiz(*list(registry())[:8])._repr_html_())


# In a browser

MANY = Question(
    "masks.several",
    "Which keep?",
    [RIGHT, Option("1", True, "It counts as True."), WRONG],
    many=True,
)
ONE = question(options=[RIGHT, WRONG, Option("None", False, "It is no mask.")])
GUESS = question(id="masks.guess", options=[RIGHT, WRONG], guess=True)
HEAD = "<!doctype html><html lang=en><meta charset=utf-8><title>Quiz</title>"
PAGE = f"{HEAD}{Quiz('Quiz', '', (ONE, MANY))._repr_html_()}"
COVERED = f"{HEAD}{Quiz('Warm-up', '', (ONE, MANY), covered=True)._repr_html_()}"
GUESSES = f"{HEAD}{Quiz('Quiz', '', (GUESS,))._repr_html_()}"


@pytest.fixture(scope="module")
def browser():
    with launch() as chromium:
        yield chromium


@pytest.fixture
def page(browser, tmp_path):
    (tmp_path / "quiz.html").write_text(PAGE, encoding="utf-8")
    context = browser.new_context()
    page = context.new_page()
    page.goto((tmp_path / "quiz.html").as_uri())
    yield page
    context.close()


def option(page, text):
    return page.locator(".course-quiz-option").filter(has=page.get_by_label(text, exact=True)).first


def status(page, text):
    return option(page, text).locator("[role=status]").inner_text()


def test_a_click_gives_the_reason_of_that_option(page):
    page.get_by_label("False", exact=True).first.check()
    assert status(page, "False") == "✗ Not quite. It hides."
    page.get_by_label("True", exact=True).first.check()
    assert status(page, "True") == "✓ Right. It keeps."
    assert status(page, "False") == ""


def test_arrows_move_without_an_answer_space_and_enter_answer(page):
    page.locator("input").first.focus()
    page.keyboard.press("Space")
    for key in ("Space", "Enter"):
        page.keyboard.press("ArrowDown")
        assert page.locator(".course-quiz-option [role=status]:not(:empty)").count() == 0
        assert page.locator(".course-quiz-hint").first.inner_text() == "Press Space to answer."
        page.keyboard.press(key)
        assert page.locator(".course-quiz-option [role=status]:not(:empty)").count() == 1
        assert page.locator(".course-quiz-hint").first.inner_text() == ""


def test_several_right_options_are_counted(page):
    boxes = page.locator("fieldset[data-many] input")
    assert boxes.count() == 3
    assert boxes.first.get_attribute("type") == "checkbox"
    several = page.locator("fieldset[data-many]")
    several.get_by_label("True", exact=True).check()
    assert several.locator(".course-quiz-hint").inner_text() == "1 more to find."
    several.get_by_label("1", exact=True).check()
    assert several.locator(".course-quiz-hint").inner_text() == "That is all of them."
    assert several.locator("[data-verdict=right]").count() == 2


def visited_again(page, marked: bool) -> bool:
    """Whether the first question is marked as missed on a later visit (a browser writes down what it keeps in time)."""
    for _ in range(20):
        page.reload()
        if ("Missed last time." in page.locator("legend").first.inner_text()) == marked:
            return True
        page.wait_for_timeout(100)
    return False


def test_what_was_missed_is_marked_on_the_next_visit_until_it_is_known(page):
    page.get_by_label("False", exact=True).first.check()
    page.get_by_label("True", exact=True).first.check()  # the first try counts
    assert visited_again(page, marked=True)
    page.get_by_label("True", exact=True).first.check()
    assert visited_again(page, marked=False)


@pytest.mark.parametrize("kept", ["5", '"abc"', "true", "null", "[1]", "{", '{"masks.other": 7}'])
def test_whatever_a_browser_has_kept_the_quiz_works_and_remembers(kept, page):
    for _ in range(20):
        page.evaluate("kept => localStorage.setItem('transformer-course-missed', kept)", kept)
        page.reload()
        if page.evaluate("localStorage.getItem('transformer-course-missed')") == kept:
            break
    assert page.locator("input").count() == 6
    page.get_by_label("False", exact=True).first.check()
    assert status(page, "False") == "✗ Not quite. It hides."
    assert visited_again(page, marked=True)


def test_shown_twice_on_a_page_each_has_its_own_answers(browser):
    with browser.new_context() as context:
        page = context.new_page()
        page.set_content(PAGE + Quiz("Quiz", "", (ONE, MANY))._repr_html_())
        assert page.locator("input[type=radio]").count() == 6
        page.get_by_label("True", exact=True).first.check()
        page.locator("fieldset").nth(2).get_by_label("False", exact=True).check()
        assert page.locator("input[type=radio]:checked").count() == 2


def test_works_where_nothing_may_be_stored(browser):
    with browser.new_context() as context:
        errors = []
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto("data:text/html,<title>no storage</title>")
        page.set_content(PAGE)
        with pytest.raises(Exception, match="localStorage"):
            page.evaluate("localStorage.length")
        page.get_by_label("False", exact=True).first.check()
        assert status(page, "False") == "✗ Not quite. It hides."
        assert errors == []


def test_without_script_each_option_unfolds_its_reason(browser, tmp_path):
    (tmp_path / "quiz.html").write_text(PAGE, encoding="utf-8")
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto((tmp_path / "quiz.html").as_uri())
        assert not page.get_by_text("It hides.").first.is_visible()
        page.get_by_text("False", exact=True).first.click()
        assert page.get_by_text("It hides.").first.is_visible()


@pytest.mark.parametrize("script", [True, False], ids=["with script", "without script"])
def test_covered_options_are_shown_on_request(browser, tmp_path, script):
    (tmp_path / "quiz.html").write_text(COVERED, encoding="utf-8")
    with browser.new_context(java_script_enabled=script) as context:
        page = context.new_page()
        page.goto((tmp_path / "quiz.html").as_uri())
        assert page.get_by_text("What keeps?").is_visible()
        assert not page.get_by_text("False", exact=True).first.is_visible()
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        assert page.get_by_text("False", exact=True).first.is_visible()
        assert not page.get_by_text("False", exact=True).last.is_visible(), "the second question is still covered"
        page.get_by_text("False", exact=True).first.click()
        assert page.get_by_text("It hides.").first.is_visible()


@pytest.mark.parametrize("script", [True, False], ids=["with script", "without script"])
def test_a_guess_keeps_its_reason_folded(browser, tmp_path, script):
    (tmp_path / "quiz.html").write_text(GUESSES, encoding="utf-8")
    with browser.new_context(java_script_enabled=script) as context:
        page = context.new_page()
        page.goto((tmp_path / "quiz.html").as_uri())
        for choice, verdict in (("False", "✗ Not quite. It hides."), ("True", "✓ Right. It keeps.")):
            page.get_by_text(choice, exact=True).first.click()
            fold = page.locator(".course-quiz-fold", has_text=verdict)
            assert fold.is_visible()
            assert not fold.get_by_text(verdict).is_visible()
            fold.locator("summary").click()
            assert fold.get_by_text(verdict).is_visible()
        assert page.locator("[data-verdict=right], [data-verdict=wrong]").count() == 0


def test_a_wrong_guess_is_not_remembered_as_missed(browser, tmp_path):
    (tmp_path / "quiz.html").write_text(GUESSES, encoding="utf-8")
    with browser.new_context() as context:
        page = context.new_page()
        page.goto((tmp_path / "quiz.html").as_uri())
        page.get_by_text("False", exact=True).first.click()
        assert page.evaluate("localStorage.getItem('transformer-course-missed')") is None
