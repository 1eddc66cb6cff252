"""The translator in a page, in a real browser: PyTorch's numbers and translations, from a folder, for every reader."""

import re
import shutil
import sys
import unicodedata
from base64 import b64decode
from contextlib import contextmanager
from importlib import import_module

import generated
import numpy as np
import pytest
import torch
from axe_playwright_python.sync_playwright import Axe
from browser import launch
from playwright.sync_api import expect

from course_lib.batching import make_batch
from course_lib.corpus.lexicon import HELD_OUT_NAMES, NAMES
from course_lib.corpus.morphology import romanize
from course_lib.corpus.typed import page_test
from course_lib.stored import model, results
from course_lib.tokens import EOS, PAD
from course_lib.translation import exact_match
from experiments.page_translator import typed_by_hand
from tools.environment import ROOT

sys.path.insert(0, str(ROOT / "book" / "_ext"))
page_translator = import_module("page_translator")

# The same sums, here in double precision and there in single precision: 6.7e-6 apart at most where it was measured.
LOGITS = 5e-5
SAME = 0.99  # of the translations
PAGE = """<!doctype html><html lang="en" data-theme="light"><meta charset="utf-8"><title>Page</title>
<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="../_static/course.css">
<style>html {{ --pst-color-background: #fff }} html[data-theme=dark] {{ --pst-color-background: #14181e }}
body {{ background: var(--pst-color-background); color: var(--pst-color-text-base); margin: 1rem }}</style>
<script>DOCUMENTATION_OPTIONS = {{}}</script><script src="../_static/course.js"></script>
<main class="bd-article"><h1>Page</h1>{card}</main></html>"""


@pytest.fixture(scope="module")
def translator():
    return model("translator")


@pytest.fixture(scope="module")
def front_translator():
    """The one of the front page."""
    return model("page_translator")


@pytest.fixture(scope="module")
def course():
    """Without its training: the other splits are the same, and hold none of it (tests/test_corpus.py)."""
    return generated.course(n_train=1)


@pytest.fixture(scope="module")
def browser():
    with launch() as chromium:
        yield chromium


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The card on a page of its own, beside the files that a book has."""
    folder = tmp_path_factory.mktemp("book")
    shutil.copytree(ROOT / "book" / "_static", folder / "_static")
    (folder / "book").mkdir()
    page_translator.write_weights(_App(folder), None)
    for docname in page_translator.CARDS:
        page = folder / "book" / f"{docname.partition('/')[2]}.html"
        page.write_text(PAGE.format(card=page_translator.card(docname)), encoding="utf-8")
    return folder


class _App:
    """What the extension asks of Sphinx at the end."""

    builder = type("Builder", (), {"format": "html"})

    def __init__(self, outdir):
        self.outdir = outdir


@contextmanager
def visits(browser, folder):
    """Opens the card of a page; nothing may go wrong there, and nothing be asked of another host."""
    trouble, contexts = [], []

    def new(name: str = "index", save_data: bool = False, **settings):
        contexts.append(browser.new_context(**settings))
        if save_data:
            saving = "Object.defineProperty(navigator, 'connection', { value: { saveData: true } })"
            contexts[-1].add_init_script(saving)
        page = contexts[-1].new_page()
        page.on("console", lambda message: trouble.append(message.text))
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("request", lambda request: request.url.startswith("file:") or trouble.append(request.url))
        page.goto((folder / "book" / f"{name}.html").as_uri())
        return page

    yield new
    for context in contexts:
        context.close()
    assert trouble == []


@pytest.fixture
def visit(browser, folder):
    with visits(browser, folder) as new:
        yield new


@pytest.fixture(scope="module")
def page(browser, folder):
    """A chapter's card, opened: reading the weights takes longer than most of what is asked of it."""
    with visits(browser, folder) as new:
        yield opened(new("17_translation", reduced_motion="reduce"))


@pytest.fixture(scope="module")
def front(browser, folder):
    """The card of the front page, opened."""
    with visits(browser, folder) as new:
        yield opened(new("index", reduced_motion="reduce"))


WRITTEN = "document.querySelector('.course-translator-said').ariaBusy === 'false'"


def opened(page):
    if page.locator("[data-another]").count():
        page.wait_for_function(WRITTEN)  # the first sentence, by itself
        page.get_by_text("Write your own sentence").click()
    else:
        page.get_by_role("button", name=re.compile("Open the translator")).click()
    page.get_by_label("A Korean sentence").wait_for()
    page.wait_for_function("document.activeElement.id === 'course-translator-sentence'")
    page.evaluate("async () => { globalThis.tried = await CourseTranslator.open(courseTranslatorWeights); }")
    return page


WRITE = """sources => {
    const { tried } = globalThis;
    const found = sources.map(text => [...tried.write(tried.read(tried.encode(text)))]);
    const numbers = new Float32Array(found.flat().length * found[0][0].logits.length);
    found.flat().forEach(({ logits }, i) => numbers.set(logits, i * logits.length));
    const bytes = new Uint8Array(numbers.buffer), size = 30_000, parts = [];
    for (let i = 0; i < bytes.length; i += size) parts.push(btoa(String.fromCharCode(...bytes.subarray(i, i + size))));
    return [found.map(steps => steps.map(step => step.token)), parts.join("")];
}"""


def test_logits_and_translations_are_those_of_pytorch(page, translator, course, unchecked):
    """On every sentence of the test: the logits of each step, and what they lead to."""
    check_numbers(page, translator, [pair.src_text for pair in course["test"]])


def test_the_front_page_computes_what_pytorch_computes(front, front_translator, unchecked):
    check_numbers(front, front_translator, [pair.src_text for pair in page_test()[:200]] + ["뷁이 컴퓨타를 샀다"])


def check_numbers(page, translator, sources):
    written, numbers = page.evaluate(WRITE, sources)
    logits = np.frombuffer(b64decode(numbers), np.float32).reshape(sum(map(len, written)), -1)
    ids = translator.vocabulary.encode_batch(sources)
    batch = make_batch([(src, tokens[:-1]) for src, tokens in zip(ids, written, strict=True)])
    with torch.no_grad():
        ours = translator.model(batch.src, batch.tgt_in)[batch.tgt_out != PAD].numpy()
    apart = float(np.abs(ours - logits).max())
    theirs = [[*found[0].tokens, EOS] for found in translator.search(sources, beam_size=1)]
    same = sum(one == other for one, other in zip(written, theirs, strict=True))
    print(f"logits {apart:.2g} apart at most, {same} of {len(sources)} translations the same")
    assert apart <= LOGITS
    assert same >= SAME * len(sources)


BEAM = """sources => sources.map(text => {
    const { tried } = globalThis;
    let found;
    for (found of tried.beam(tried.read(tried.encode(text)), 4));
    return found.pool.map(({ tokens, logProb }) => [tokens, logProb]);
})"""


def test_a_beam_ends_with_the_hypotheses_of_the_course(page, translator, course, unchecked):
    sources = [pair.src_text for pair in course["ambiguous"][:20]]
    for pool, theirs in zip(page.evaluate(BEAM, sources), translator.search(sources, beam_size=4), strict=True):
        assert [tokens for tokens, _ in pool] == [[*found.tokens, EOS] for found in theirs]
        assert [log_prob for _, log_prob in pool] == pytest.approx([found.log_prob for found in theirs], abs=1e-3)


def translate(page, text: str) -> str:
    """Type a sentence, press Enter; what is said then."""
    page.get_by_label("A Korean sentence").fill(text)
    page.keyboard.press("Enter")
    page.wait_for_function(WRITTEN)
    return page.get_by_role("status").inner_text()


def test_a_sentence_is_translated(page):
    said = translate(page, "  요리사가   사과들을 땄기 때문에 승우는 장갑을 꼈다 ")
    assert re.fullmatch(r"Seungu wore gloves because a cook picked apples \d+ tokens in \d+\.\d\d seconds .*", said)
    whole = translate(page, "재윤은 잤다")
    assert translate(page, unicodedata.normalize("NFD", "재윤은 잤다")).split(" 4 ")[0] == whole.split(" 4 ")[0]


def test_the_map_shows_the_attention_of_the_model(page, translator):
    src, tgt = "재우는 집에서 책을 읽었다", ""
    tgt = translate(page, src).partition(" 1")[0].split(" 8")[0].split(" 9")[0]
    words = translator.attention(src, tgt)  # (heads, words, words), over the tokens of a word
    tokens = translator.vocabulary.encode(tgt)
    first = translator.vocabulary.word_index(tokens).index
    rows = page.locator("tbody tr")
    assert rows.count() == len(tokens) + 1
    assert page.locator("thead th").all_inner_texts()[1:] == [*src.split(), "end"]
    for choice, weights in (("mean of all", words.mean(dim=0)), ("3", words[3])):
        page.get_by_label("Head").select_option(choice)
        for number in range(len(tgt.split())):
            if translator.vocabulary.word_index(tokens).count(number) == 1:
                cells = rows.nth(first(number)).locator("td").all_inner_texts()[1:-1]
                shown = torch.tensor([float(cell or 0) for cell in cells]) / 100
                assert (shown - weights[number]).abs().max() <= 0.0101


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "Expected a Korean sentence, got nothing: type one, or choose an example."),
        ("재윤은 slept", "Expected Korean letters and spaces, got “s”: leave it out, or write it in Korean letters."),
        ("재윤은 잤다 " * 14, "Expected at most 40 tokens, got 56: write a shorter sentence."),
    ],
    ids=["nothing", "English", "long"],
)
def test_what_it_cannot_read_is_refused_in_a_sentence(text, words, page):
    translate(page, "재윤은 잤다")
    assert translate(page, text) == words
    assert page.get_by_label("A Korean sentence").get_attribute("aria-invalid") == "true"
    assert not page.locator(".course-translator-map").is_visible()
    assert translate(page, "재윤은 잤다.").startswith("Jaeyun slept")


TYPED = [
    "하준은 책을 읽는다",
    unicodedata.normalize("NFD", "하준은 책을 읽는다"),
    "하준은 책을 읽는다.",
    "하준은 책을 읽는다。",
    "하준은 책을 읽는다 ?!…",
    "하준은\u00a0책을 읽는다",
    "\u3000하준은\u3000책을\u202f\u2009읽는다\u0085",
    "하준은\u200b 책을 읽는다",
    "\ufeff하준은 책\u00ad을 읽\u2060는다\u200e",
    "하\u200d준은 책을 읽\u200c는다",
    "하준은, “책을” 읽는다",
    "하준은 책을 👨\u200d👩\u200d👧 읽는다 ❤\ufe0f 3€",
    "하준은 책을 읽는다 😀",
    "재윤은 slept",
    "hello",
    "재윤은 잤다 3",
    "재윤은 뷁",
    "재윤은 잤다é",
    "می\u200cخواهم",
    "...",
]


@pytest.mark.parametrize("text", TYPED, ids=ascii)
def test_page_and_library_give_the_same_answer_or_name_the_same_letter(text, page, translator, unchecked):
    said = translate(page, text)
    fates = translator.unknown(text)
    marks = [f"“{mark}”" for mark, fate in fates.items() if "left out" in fate]
    letters = [letter for letter, fate in fates.items() if "a guess" in fate]
    [found] = translator.search([text], beam_size=1)
    if any("HANGUL" not in unicodedata.name(letter) for letter in letters):
        assert re.search("got “(.)”", said)[1] in letters
    elif not translator.as_read(text):
        assert said == "Expected a Korean sentence, got nothing: type one, or choose an example."
        assert found[0].tokens == []
    else:
        assert said.startswith(f"{translator.vocabulary.decode(found[0].tokens)} {len(found[0].tokens) + 1} tokens in ")
        guess = f"No word of its training has “{'”, “'.join(letters)}” in that place: the translation is a guess."
        assert (guess in said) == bool(letters)
        note = f"Left out: {', '.join(marks)}, never seen in training."
        assert (note in said) == bool(marks)


@pytest.mark.parametrize("docname", [name for name in page_translator.CARDS if name != page_translator.FRONT])
def test_examples_are_not_of_the_training_and_what_is_said_of_them_holds(docname, translator, course, unchecked):
    examples = page_translator.CARDS[docname][2]
    held_out = {pair.src_text: pair for split in course.splits if split != "train" for pair in course[split]}
    assert set(examples) <= held_out.keys()
    greedy, beam = (translator.translate(examples, beam_size=size) for size in (1, 4))
    if "15" in docname:
        assert (greedy[0], beam[0]) == ("Seohyeon sold tea", "Seohyeon sold a car")
    elif "17" in docname:
        assert "three clauses" in held_out[examples[-1]].tags


MEANT = [
    "a girl read a book",
    "a cat does not drink milk",
    "a man is fixing a car",
    "Cheolsu drank tea in the park yesterday",
]


def test_the_examples_of_the_front_page_are_translated_as_they_are_meant(front):
    examples = page_translator.CARDS[page_translator.FRONT][2]
    for example, meant in zip(examples, MEANT, strict=True):
        front.get_by_role("button", name=example).click()
        front.get_by_text(meant, exact=True).wait_for()
    said = front.get_by_role("status").inner_text()
    assert said.endswith("None of its names is “철수”: it spells it by its sounds.")


def test_what_is_typed_from_the_list_of_words_is_translated(front, front_translator, unchecked):
    """100 sentences that were written before the model was planned, and at least 95 of them are right."""
    pairs = typed_by_hand()
    assert len(pairs) == 100
    share = exact_match(front_translator.translate([pair.src_text for pair in pairs], beam_size=1), pairs)
    assert share >= 0.95
    assert share == pytest.approx(results("page_translator")["exact_match"]["typed"], abs=0.02)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("소녀가 책을 읽었다", ""),
        ("소녀가 햄버거를 먹었다", "It has never met “햄버거를”: the translation is a guess."),
        ("소녀가 책을 읽더라", "It has never met “읽더라”: the translation is a guess."),
        ("영훈이 사과를 먹었다", "None of its names is “영훈”: it spells it by its sounds."),
    ],
    ids=["known", "word", "ending", "name"],
)
def test_the_front_page_says_which_words_it_does_not_know(text, note, front):
    said = translate(front, text)
    assert said.endswith(note or "seconds on this machine.")
    new = [word for word in text.split(" ") if note and word.startswith(re.search("“(.+)”", note)[1])]
    assert front.locator(".course-translator-board li.course-new").all_inner_texts() == new


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (
            "나는 사과를 먹었다",
            "It has never met “나는” in the sense of “I”: if you mean that, the translation is a guess.",
        ),
        (
            "안녕하세요",
            "It has never met “안녕하세요” in the sense of “hello”: if you mean that, the translation is a guess.",
        ),
        ("소녀가 나는 새를 봤다", ""),
    ],
    ids=["I", "hello", "flying"],
)
def test_what_people_begin_with_is_flagged_though_the_letters_are_known(text, note, front):
    said = translate(front, text)
    assert said.endswith(note or "seconds on this machine.")
    assert said.count("It has never met") == bool(note)
    assert front.locator(".course-translator-board li.course-new").all_inner_texts() == text.split(" ")[: bool(note)]


def test_the_front_page_writes_a_sentence_by_itself_in_the_place_of_its_still(visit, front_translator):
    """The still, drawn in Python, and what is written in the browser, are the same; a first button asks for another."""
    still = visit(java_script_enabled=False, viewport={"width": 390, "height": 844})
    parts = ".course-translator-board :is(li, path)"
    drawn = still.locator(parts).evaluate_all("all => all.map(part => part.getAttribute('d') ?? part.textContent)")
    page = visit(reduced_motion="reduce", viewport={"width": 390, "height": 844})
    page.wait_for_function(WRITTEN)
    assert (
        page.locator(parts).evaluate_all("all => all.map(part => part.getAttribute('d') ?? part.textContent)") == drawn
    )
    assert page.locator(".course-translator-board").bounding_box() == (
        still.locator(".course-translator-board").bounding_box()
    )
    pair = page_test()[page_translator.FIRST]
    expected = f"Expected: {pair.tgt_text} {pair.tgt_text} ✓ as expected. 12 tokens in "
    assert page.get_by_role("status").inner_text().replace("\n", " ").startswith(expected)
    page.get_by_role("button", name="Another of the 1,000 test sentences").click()
    page.wait_for_function(
        "start => !document.querySelector('.course-translator-said').innerText.startsWith(start)", arg=expected[:30]
    )


def test_words_come_one_by_one_with_their_lines(visit):
    page = visit()
    page.wait_for_function("document.querySelector('.course-translator-board g.course-now')")
    counts = "[...document.querySelectorAll('.course-translator-board [data-unwritten]')].length"
    left = page.evaluate(counts)
    page.wait_for_function(WRITTEN)
    assert left > page.evaluate(counts) == 0
    page.locator(".course-translator-board li", has_text="hid").last.hover()
    assert page.locator("g.course-now").count() == 1


def test_a_reader_who_saves_data_is_asked_first(visit):
    page = visit(reduced_motion="reduce", save_data=True)
    page.wait_for_timeout(500)
    assert page.evaluate("typeof courseTranslatorWeights") == "undefined"
    page.get_by_role("button", name="Another of the 1,000 test sentences").click()
    page.wait_for_function(WRITTEN)


def test_what_is_asked_on_the_front_page_is_answered_within_the_screen(visit):
    page = opened(visit(reduced_motion="reduce", viewport={"width": 390, "height": 844}))
    said = page.get_by_role("status")
    assert not page.get_by_label("Search").is_visible()
    page.get_by_role("group", name="Examples").get_by_role("button").first.click()
    page.get_by_text("a girl read a book", exact=True).wait_for()
    expect(page.locator(".course-translator-board")).to_be_in_viewport(ratio=0.99)
    order = [said, page.get_by_role("group", name="Examples"), page.get_by_role("group", name="A sentence by parts")]
    order += [page.get_by_text("How it chooses, and where it looks")]
    tops = [part.bounding_box()["y"] for part in order]
    assert tops == sorted(tops)


def test_the_page_spells_names_as_the_library_does(front):
    names = [*NAMES, *HELD_OUT_NAMES, "철수", "영훈"]
    assert front.evaluate("names => names.map(romanized)", names) == [romanize(name) for name in names]


def test_a_sentence_of_the_test_is_judged(front, front_translator, unchecked):
    pairs = page_test()
    sources = [pair.src_text for pair in pairs]
    found = front_translator.translate(sources, beam_size=1)
    right = [text == pair.tgt_text for text, pair in zip(found, pairs, strict=True)]
    assert sum(right) / len(right) == pytest.approx(results("page_translator")["exact_match"]["test"], abs=0.01)
    assert "✓ as expected." in translate(front, sources[right.index(True)])
    wrong = pairs[right.index(False)]
    said = translate(front, wrong.src_text)
    assert said.startswith(f"Expected: {wrong.tgt_text}")
    assert "✗ This is wrong." in said
    assert "✓" not in translate(front, "소녀가 책을 읽었다")
    front.get_by_role("button", name="Another of the 1,000 test sentences").click()
    front.wait_for_function(WRITTEN)
    assert front.get_by_label("A Korean sentence").input_value() in sources
    assert re.search("✓ as expected|✗ This is wrong", front.get_by_role("status").inner_text())


def test_a_sentence_is_put_together_by_its_parts(front):
    for part, word in {"Who": "의사가", "When": "어제", "Where": "공원에서", "What": "배를", "Did": "먹었다"}.items():
        front.get_by_label(part).select_option(word)
        front.wait_for_function(WRITTEN)
    assert front.get_by_label("A Korean sentence").input_value() == "의사가 어제 공원에서 배를 먹었다"
    assert front.get_by_role("status").inner_text().startswith("a doctor ate a pear in the park yesterday")


def test_the_front_page_is_without_barrier_on_a_phone(visit):
    page = opened(visit(reduced_motion="reduce", viewport={"width": 390, "height": 844}))
    translate(page, "소녀가 햄버거를 먹었다")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_label("Did").press("Tab")
    page.keyboard.press("Tab")  # behind what is said of the model, with its link
    page.keyboard.press("Enter")
    page.get_by_label("Search").select_option("beam of 4")
    page.locator(".course-translator-beams tbody tr").nth(3).wait_for()
    for theme in ("light", "dark"):
        page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
        assert Axe().run(page, options={"preload": False}).response["violations"] == []


def test_examples_and_the_beam_work_by_keyboard_and_without_barrier(visit):
    page = opened(visit("15_beam_search", reduced_motion="reduce", viewport={"width": 390, "height": 844}))
    page.get_by_role("button", name="서현은 차를 팔았다").focus()
    page.keyboard.press("Enter")
    page.get_by_text("Seohyeon sold tea").wait_for()
    page.get_by_label("Search").select_option("beam of 4")
    rows = page.locator(".course-translator-beams tbody tr")
    rows.first.get_by_text("Seohyeon sold a car").wait_for()
    assert rows.count() == 4
    assert rows.locator("th").nth(1).inner_text() == "Seohyeon sold tea"
    assert rows.locator("mark").first.inner_text() == "tea", "what the best one has not"
    assert rows.first.locator("mark").count() == 0
    numbers = [float(cell.replace("−", "-")) for cell in rows.first.locator("td").all_inner_texts()]
    assert numbers[1] / numbers[0] == pytest.approx(numbers[2], abs=0.01)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for theme in ("light", "dark"):
        page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
        assert Axe().run(page, options={"preload": False}).response["violations"] == []  # it would ask for files


def test_without_javascript_or_its_files_a_sentence_says_so(visit, folder, browser, tmp_path):
    page = visit("15_beam_search", java_script_enabled=False)
    assert page.get_by_text("With JavaScript, you could type a Korean sentence here").is_visible()
    assert page.get_by_role("button").count() == 0
    front = visit(java_script_enabled=False)
    assert front.get_by_text("chosen when this page was built").is_visible()
    assert front.get_by_role("button").count() == 0
    assert not front.get_by_text("Write your own sentence").is_visible()
    shutil.copytree(folder, tmp_path / "torn")
    for name in ("front.js", "weights.js"):
        (tmp_path / "torn" / "_static" / "translator" / name).unlink()
    page = browser.new_page()
    page.goto((tmp_path / "torn" / "book" / "index.html").as_uri())
    page.get_by_role("alert").wait_for()
    assert page.get_by_role("alert").inner_text().endswith("got no front.js: build the book anew.")
    page.goto((tmp_path / "torn" / "book" / "15_beam_search.html").as_uri())
    button = page.get_by_role("button", name=re.compile("Open the translator"))
    button.click()
    page.get_by_role("alert").wait_for()
    assert page.get_by_role("alert").inner_text().endswith("got no weights.js: build the book anew.")
    assert button.is_enabled()
    page.close()
