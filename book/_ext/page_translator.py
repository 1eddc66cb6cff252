"""Sphinx extension: the card "Try the translator", in which the course's translator runs in the reader's browser.

`{course-translator}` stands for it in a page of the book; chapters get it at the end of a section, which CARDS names.
The weights are written beside the card's scripts, as `python -m course_lib export` writes them; a page loads them when
its reader asks for the translator.
"""

import json
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from course_lib.files import for_pages

FILE = Path(__file__).parents[2] / "course_lib" / "stored" / "translator.safetensors"
SCRIPTS = "_static/translator"  # below the root of the pages: model.js, card.js, weights.js

# Where a card stands: the page, the section whose end it is put to, and what it says and offers there.
CARDS = {
    "book/index": (
        "",
        "This is the translator that the course builds, from Korean to English. It runs in this page, and what you "
        "type stays on your machine. Of 1,000 test sentences it translates {right} exactly. It knows the words of the "
        "course’s own sentences, and no others. The last example has a quote within a quote, which no sentence of its "
        "training has.",
        (
            "소희는 어제 그 버스를 운전했다",
            "윤정은 연수가 지민을 만났다고 생각한다",
            "민준은 농장에서 그 소를 키운다",
            "혜주는 재준이 영지가 손을 씻는다고 말했다고 설명했다",
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


def card(docname: str) -> str:
    """The HTML of a page's card; without JavaScript, it says what would be here."""
    _, words, examples = CARDS[docname]
    stored = json.loads(FILE.with_suffix(".json").read_text(encoding="utf-8"))  # course_lib.stored would import torch
    words = words.format(right=f"{stored['exact_match']['test']:.1%}")
    root = "../" * docname.count("/") + SCRIPTS
    size = len(for_pages(FILE.read_bytes())) / 1e6
    return (
        f'<div class="course-translator" id="course-translator" role="group" aria-label="Try the translator" '
        f'data-course-translator="{root}" data-size="{size:.1f} MB" data-examples="{escape(json.dumps(examples))}">'
        f'<p class="course-translator-title">Try the translator</p><p>{words}</p>'
        "<p data-without-script>With JavaScript, you could type a Korean sentence here and watch how it is translated."
        "</p></div>"
    )


class TranslatorCard(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        self.env.note_dependency(str(FILE))
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
        target = Path(app.outdir) / SCRIPTS / "weights.js"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(for_pages(FILE.read_bytes()))


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("course-translator", TranslatorCard)
    app.add_post_transform(CardsInChapters)
    app.connect("build-finished", write_weights)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
