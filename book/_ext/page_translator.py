"""Sphinx extension: the card "Try the translator", in which a translator of the course runs in the reader's browser.

`{course-translator}` stands for it in a page of the book; chapters get it at the end of a section, which CARDS names.
The weights are written beside the card's scripts, as `python -m course_lib export` writes them; a page loads them when
its reader asks for the translator. The front page has a translator of its own, for what people type
(`experiments/page_translator.py`), and with it the words of its training and the sentences of its test. It writes one
of them by itself when the page has time; until then, and without JavaScript, a still shows what it writes.
"""

import json
from functools import cache
from html import escape
from pathlib import Path

from docutils import nodes
from page_glosses import glosses
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from course_lib.corpus.typed import from_front_coded, page_test
from course_lib.files import for_pages
from course_lib.stored import model

STORED = Path(__file__).parents[2] / "course_lib" / "stored"
FRONT = "book/index"
FIRST = 603  # which of its test's sentences the front page begins with
FAINT = 0.05  # less weight than this is not drawn
SCRIPTS = "_static/translator"  # below the root of the pages: model.js, card.js, and the weights

# Where a card stands: the page, the section whose end it is put to, and what it says and offers there.
CARDS = {
    FRONT: (
        "",
        "Type a Korean sentence, or choose its parts if you do not write Korean. What you type stays on your machine. "
        "The model is that of {chapter}, trained longer and on more kinds of sentences. It translates {test} of the "
        "1,000 test sentences exactly, none of which its training had. It knows "
        "{words:,} forms of Korean words, and names any other that you type. It was trained on short statements "
        "about people, animals, and things: it has no <em>I</em> or <em>you</em>, and it often gets longer sentences "
        "of other kinds wrong.",
        (
            "소녀가 책을 읽었다",
            "고양이는 우유를 안 마셔요",
            "남자가 차를 고치고 있다",
            "철수는 어제 공원에서 차를 마셨습니다",
        ),
    ),
    "chapters/15_beam_search": (
        "Long sentences lose",
        "The course’s translator runs in this page. Translate the first example greedily, then with a beam of four: "
        "its second word can mean tea or a car. The list shows what the beam found, best score first; a score is the "
        "log-probability divided by the number of tokens.",
        ("서현은 차를 팔았다", "소년들은 역에서 차를 샀다", "재우가 본 간호사는 그 학생이 판 감자를 찾았다"),
    ),
    "chapters/17_translation": (
        "From sentences to a trained model",
        "The translator with the stored weights runs in this page. The last example has three clauses in a row, which "
        "no sentence of its training has.",
        (
            "수진은 젊은 남자가 좋아하는 노래를 불렀다",
            "예은은 망치로 탁자를 쳤고 유진은 승현과 길을 건넜다",
            "현서는 진서와 의자들을 만들었고 시우는 예서를 기다렸고 가현은 그 나무를 심었다",
        ),
    ),
    "chapters/18_attention_view": (
        "The question",
        "The stored translator runs in this page. Choose a layer and a head of its cross-attention, or the mean of all "
        "heads, and see what each token looked at.",
        (
            "농부들이 밤에 플루트를 불었기 때문에 지현은 마당에서 그 빨간 신발을 닦았다",
            "서현은 차를 팔았다",
            "은우는 젊은 예술가가 좋아한 코끼리를 탄다",
        ),
    ),
}
# The front page's sentence by parts: Korean words, and what they mean. The card opens with the first of each.
PARTS = {
    "Who": {"소녀가": "a girl", "고양이가": "a cat", "의사가": "a doctor", "지우가": "Jiu", "코끼리가": "an elephant"},
    "When": {"": "(any time)", "어제": "yesterday", "밤에": "at night", "지난주에": "last week"},
    "Where": {"": "(anywhere)", "공원에서": "in the park", "집에서": "in the house", "학교에서": "at the school"},
    "What": {
        "책을": "a book",
        "사과를": "an apple",
        "배를": "a pear or a ship",
        "차를": "tea or a car",
        "꽃을": "a flower",
    },
    "Did": {
        "읽었다": "read",
        "먹었다": "ate",
        "마셨다": "drank",
        "탔다": "took or rode",
        "샀다": "bought",
        "그렸다": "drew",
        "안 봤다": "did not see",
    },
}


def weights_of(docname: str) -> tuple[Path, str]:
    """The stored model of a page's card, and the script that holds it."""
    front = docname == FRONT
    return STORED / f"{'page_' * front}translator.safetensors", "front.js" if front else "weights.js"


@cache
def script_of(docname: str) -> bytes:
    """The script with the weights; the front page's also has the words of the training and the test."""
    file, _ = weights_of(docname)
    script = for_pages(file.read_bytes())
    if docname == FRONT:
        test = [(pair.src_text, pair.tgt_text, "|".join(glosses(pair))) for pair in page_test()]
        known = {"words": about(docname)["words"], "test": test}
        script += f"globalThis.courseTranslatorKnown = {json.dumps(known, ensure_ascii=False)};\n".encode()
    return script


def about(docname: str) -> dict:
    """What is stored with the model (`course_lib.stored` would import torch)."""
    return json.loads(weights_of(docname)[0].with_suffix(".json").read_text(encoding="utf-8"))


def front_words(words: str) -> str:
    """What the front page's card says, with the numbers that are stored with its model."""
    stored = about(FRONT)
    chapter = '<a href="../chapters/17_translation.html">chapter 17</a>'
    count = len(from_front_coded(stored["words"]))
    return words.format(chapter=chapter, test=f"{stored['exact_match']['test']:.1%}", words=count)


@cache
def still() -> str:
    """What the front page's translator writes of the first sentence, as `draw` in card.js draws it."""
    pair = page_test()[FIRST]
    translator = model("page_translator")
    [[found]] = translator.search([pair.src_text], beam_size=1)
    written = translator.vocabulary.decode(found.tokens)
    weights = translator.attention(pair.src_text, written).mean(dim=0).tolist()
    sources, words = pair.src_text.split(" "), written.split(" ")
    korean = [
        f"<li>{word}<small lang=en>{gloss}</small></li>" for word, gloss in zip(sources, glosses(pair), strict=True)
    ]
    english = [f"<li>{word}</li>" for word in words]
    lines = []
    for t, row in enumerate(weights):
        ends = [(s, weight) for s, weight in enumerate(row) if weight >= FAINT]
        paths = [line(s, t, len(sources), len(words), weight) for s, weight in ends]
        lines.append(f"<g>{''.join(paths)}</g>")
    expected = f'<span class="course-expected">Expected: {pair.tgt_text}</span>'
    verdict = "✓ as expected." if written == pair.tgt_text else "✗ This is wrong."
    return (
        f'<div class="course-translator-board" style="--sources: {len(sources)}; --words: {len(words)}">'
        f'<ol lang="ko">{"".join(korean)}</ol>'
        f'<svg viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">{"".join(lines)}</svg>'
        f"<ol>{''.join(english)}</ol></div>"
        f'<p role="status" class="course-translator-said">{expected} '
        f'<strong>{written}</strong> <span class="course-right">{verdict}</span> '
        f"{len(found.tokens) + 1} tokens, chosen when this page was built.</p>"
    )


def line(source: int, word: int, sources: int, words: int, weight: float) -> str:
    """The path from a written word to a word that it looked at."""
    left, right = (f"{100 * (place + 0.5) / count:.3f}" for place, count in ((source, sources), (word, words)))
    return f'<path d="M100 {right}C50 {right} 50 {left} 0 {left}" style="--weight: {weight:.2f}"/>'


def card(docname: str) -> str:
    """The HTML of a page's card; without JavaScript, it says what would be here."""
    _, words, examples = CARDS[docname]
    root = "../" * docname.count("/") + SCRIPTS
    script = weights_of(docname)[1]
    size = len(script_of(docname)) / 1e6
    begin = (
        f'<div class="course-translator" id="course-translator" role="group" aria-label="The translator" '
        f'data-course-translator="{root}" data-script="{script}" data-size="{size:.1f} MB" '
        f'data-examples="{escape(json.dumps(examples))}"'
    )
    if docname == FRONT:
        return (
            f'{begin} data-parts="{escape(json.dumps(PARTS))}" data-first="{FIRST}">'
            '<p class="course-translator-title">Live: a new sentence, and its attention</p>'
            f'{still()}<button type="button" data-another>Another of the {len(page_test()):,} test sentences</button>'
            f"<details><summary>Write your own sentence</summary><p>{front_words(words)}</p></details></div>"
        )
    return (
        f'{begin}><p class="course-translator-title">Try the translator</p><p>{words}</p>'
        "<p data-without-script>With JavaScript, you could type a Korean sentence here and watch how it is translated."
        "</p></div>"
    )


class TranslatorCard(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        self.env.note_dependency(str(weights_of(self.env.docname)[0]))
        return [nodes.raw("", card(self.env.docname), format="html")]


class CardsInChapters(SphinxPostTransform):
    """Put a chapter's card to the end of its section."""

    default_priority = 198
    formats = ("html",)

    def run(self, **kwargs: object) -> None:
        title = CARDS.get(self.env.docname, ("",))[0]
        if not title:
            return
        sections = [part for part in self.document.findall(nodes.section) if part.children[0].astext() == title]
        if not sections:
            found = f"expected a section {title!r} for the translator's card in {self.env.docname}, got none"
            logging.getLogger(__name__).warning(f"{found}: mend CARDS in book/_ext/page_translator.py")
            return
        sections[0] += nodes.raw("", card(self.env.docname), format="html")


def write_weights(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        folder = Path(app.outdir) / SCRIPTS
        folder.mkdir(parents=True, exist_ok=True)
        for docname in (FRONT, "chapters/17_translation"):
            (folder / weights_of(docname)[1]).write_bytes(script_of(docname))


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("course-translator", TranslatorCard)
    app.add_post_transform(CardsInChapters)
    app.connect("build-finished", write_weights)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
