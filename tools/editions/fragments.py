"""A page of the built book as paper shows it: nothing to click, nothing folded, the answers in appendices.

What a reader of paper should not see too early moves to the appendices: hints, the answers to the questions, and the
solutions. So does what a prediction without options comes to, if it is words; other predictions and figures keep their
output, because the text goes on from there.
Code that a page folds stays in the notebooks.
"""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from string import ascii_uppercase
from urllib.parse import unquote, urlsplit

import yaml
from bs4 import BeautifulSoup, Tag

from tools import address
from tools.environment import ROOT

BOOK = "https://book.invalid/"  # stands before the name of a page of the book, in links
# What only a screen needs.
SCREEN = (
    "script, style:not(svg style), a.headerlink, button, .copybtn, .course-here, .course-controls, .course-unseen, "
    ".course-filter, .course-solve, .course-frame[hidden], .course-fold-input, .course-count, "
    "[data-course-filter], [data-course-missed], .course-alt"
)
MODEL = "A model answer"
REASONS = "Why each option is right (✓) or wrong (✗), and what the predictions without options come to."
RIGHTS = "CC BY 4.0 (prose, figures, questions), MIT (code)"
TRANSLATOR = "On the web page, you can try the translator that the course builds here: it runs in the page."


@dataclass
class Appendix:
    """What is taken out of the chapters, to stand behind them: a title, and sections, one a chapter."""

    name: str
    letter: str  # before its page numbers
    title: str
    lead: str
    sections: dict[str, list[str]] = field(default_factory=dict)  # HTML by the chapter's name

    def add(self, chapter: str, id: str, html: str) -> str:
        """Keep it; return the address to link to."""
        self.sections.setdefault(chapter, []).append(f'<div class="paper-entry" id="{id}">{html}</div>')
        return f"{BOOK}{self.name}#{id}"

    def html(self, titles: dict[str, str]) -> str:
        parts = (
            f'<section id="{PurePosixPath(name).name}"><h2>{titles[name]}</h2>{"".join(entries)}</section>'
            for name, entries in self.sections.items()
        )
        return (
            f'<article class="bd-article"><section id="top"><h1>{self.title}</h1><p>{self.lead}</p>{"".join(parts)}'
            "</section></article>"
        )


def appendices() -> dict[str, Appendix]:
    found = (
        Appendix("hints", "H", "Hints", "Three hints for each exercise, from a nudge to nearly the whole way."),
        Appendix("reasons", "A", "Answers to the questions", REASONS),
        Appendix("solutions", "S", "Solutions", "A solution of each exercise. There are others; the check knows more."),
    )
    return {one.name: one for one in found}


@dataclass
class Page:
    """One page of the book."""

    name: str  # as in the table of contents: chapters/05_masks
    part: str
    article: Tag

    @property
    def title(self) -> str:
        return _words(self.article.find("h1"))

    @property
    def lead(self) -> str:
        """What the page says of itself first."""
        return _words(self.article.select_one("h1 ~ p"))

    def sections(self) -> list[tuple[str, str]]:
        """The headings of the second level, each with its anchor."""
        found = [(heading.parent.get("id"), _words(heading)) for heading in self.article.select("section > h2")]
        return [(anchor, title) for anchor, title in found if anchor]


def authors() -> str:
    """Who holds the copyright, as the license says."""
    return re.search(r"Copyright \(c\) \d+ (.+)", (ROOT / "LICENSE").read_text(encoding="utf-8"))[1]


def documents(source: Path = ROOT) -> list[tuple[str, str]]:
    """The part and the name of every page, in the order of the table of contents."""
    toc = yaml.safe_load((source / "_toc.yml").read_text(encoding="utf-8"))
    parts = [(part.get("caption", ""), entry["file"]) for part in toc.get("parts", [toc]) for entry in part["chapters"]]
    return [("", toc["root"]), *parts]


def read(book: Path, source: Path = ROOT) -> tuple[list[Page], dict[str, Appendix]]:
    """Every page of the built book as paper shows it, and what went to the appendices."""
    names, behind = documents(source), appendices()
    known = {name for _, name in names}
    pages = []
    for part, name in names:
        path = book / f"{name}.html"
        whole = BeautifulSoup(path.read_text(encoding="utf-8") if path.exists() else "", "lxml")
        article = whole.select_one(".bd-article")
        if article is None:
            raise RuntimeError(f"expected a page of the book in {path}, got none: build the pages anew")
        page = Page(name, part, article)
        lead_links(page, known, address.address())
        on_paper(page, behind)
        pages.append(page)
    return pages, behind


def on_paper(page: Page, behind: dict[str, Appendix]) -> None:
    """Change the page's elements to what paper shows."""
    article = page.article
    for card in article.select(".course-translator"):
        card.replace_with(_new(f'<p class="paper-note">{TRANSLATOR}</p>'))
    for quiz in article.select(".course-quiz"):
        _questions(quiz, page, behind["reasons"])
    _predictions(page, behind["reasons"])
    _exercises(page, behind)
    for view in article.select('[data-course="attention_view"]'):
        _still_view(view)
    for words in article.select(".course-screen"):  # which tell what to do with the mouse
        words.replace_with(words.get("data-paper", ""))
    for useless in article.select(SCREEN):
        if not useless.decomposed:
            useless.decompose()
    for fold in reversed(article.select("details")):  # from the inside to the outside
        _unfold(fold)
    for cell in article.select("div.cell"):
        if not cell.get_text(strip=True) and not cell.find(["img", "svg", "table"]):
            cell.decompose()
    for figure in article.select(".course-figure[hidden]"):
        del figure["hidden"]
    for box in article.select("[tabindex]"):
        del box["tabindex"]


def lead_links(page: Page, known: set[str], public: str | None) -> None:
    """Links to pages of the book lead to `BOOK`; those to its other files to the public address, or nowhere."""
    folder = PurePosixPath(page.name).parent
    for link in page.article.select("a[href]"):
        target = urlsplit(link["href"])
        if target.scheme or target.netloc:
            continue
        path = _joined(folder, unquote(target.path)) if target.path else f"{page.name}.html"
        anchor = f"#{target.fragment}" if target.fragment else ""
        if path.removesuffix(".html") in known:
            link["href"] = f"{BOOK}{path.removesuffix('.html')}{anchor}"
        elif public and path.startswith("_sources/"):
            link["href"] = f"{public}/blob/main/{path.removeprefix('_sources/')}"
        else:
            link.unwrap()


def _joined(folder: PurePosixPath, path: str) -> str:
    parts: list[str] = list(folder.parts)
    for part in path.split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def _questions(quiz: Tag, page: Page, reasons: Appendix) -> None:
    """The questions with all of their options, lettered; why they are right or wrong stands in the appendix."""
    for lead in quiz.select(".course-quiz-lead"):
        lead.decompose()
    for question in quiz.select("fieldset"):
        asked = question.find("legend").decode_contents()
        options = [one for one in question.select("details") if "course-quiz-fold" not in one.get("class", [])]
        texts, whys = [], []
        for option in options:
            texts.append(f"<li>{option.find('summary').decode_contents()}</li>")
            why = option.select_one("details") or option
            whys.append(f"<li>{''.join(each.decode_contents() for each in why.select('p')[-1:])}</li>")
        right = [
            f"{letter} ({one.find('summary').decode_contents()})"
            for letter, one in zip(ascii_uppercase, options, strict=False)
            if one.has_attr("data-right")
        ]
        asked_again = re.sub(r"^\d+\. ", "", asked)
        back = f'<a href="{BOOK}{page.name}#{question["id"]}">{asked_again}</a>'
        answer = f'<p class="paper-asked">{back} → {", ".join(right)}</p>'
        where = reasons.add(
            page.name, f"why-{question['id']}", f'{answer}<ol class="paper-options">{"".join(whys)}</ol>'
        )
        question.replace_with(
            _new(
                f'<div class="paper-question" id="{question["id"]}"><p class="paper-asked">{asked}</p>'
                f'<ol class="paper-options">{"".join(texts)}</ol>'
                f'<p class="paper-see"><a href="{where}">Answer</a></p></div>'
            )
        )


def _predictions(page: Page, reasons: Appendix) -> None:
    """What a reader guesses without options: the output and what it says go to the appendix, if they are words."""
    for number, card in enumerate(page.article.select(".course-predict:not(:has(fieldset))"), start=1):
        folds = card.select(".course-fold-output, details:has(> p)")
        if not folds or card.select("img, svg, .course-figure"):
            continue
        for fold in folds:
            fold.find("summary").decompose()
        told = "".join(fold.extract().decode_contents() for fold in folds)
        where = reasons.add(page.name, f"saw-{_id(page)}-{number}", _asked(card, page) + told)
        card.append(_new(f'<p class="paper-see"><a href="{where}">What you saw</a></p>'))


def _exercises(page: Page, behind: dict[str, Appendix]) -> None:
    """Hints and solutions go to the appendices; a line says where they are."""
    folds = page.article.select(".course-solution, details")
    for number, place in enumerate(folds):
        if place.decomposed or place.find_parent(class_="course-solution"):
            continue
        is_model = place.name == "details" and _words(place.find("summary")) == MODEL
        if not is_model and "course-solution" not in place.get("class", []):
            continue
        title = f'<h3><a href="{_back(place, page)}">{_words(place.find_previous(["h2", "h3"]))}</a></h3>'
        links = []
        if is_model:
            place.find("summary").decompose()
            told = _asked(place.find_parent(class_="course-say"), page) + place.decode_contents()
            where = behind["solutions"].add(page.name, f"model-{_id(page)}-{number}", told)
            links.append(f'<a href="{where}">{MODEL}</a>')
        else:
            name = place["aria-label"].rpartition(" ")[2].replace(".", "-").replace("_", "-")
            hints, solutions = [], []
            for fold in place.select("details"):
                said = _words(fold.find("summary").extract())
                if said.startswith("Hint"):
                    hints.append(f"<li>{''.join(each.decode_contents() for each in fold.select('p'))}</li>")
                else:
                    word = f"<p>{said}:</p>" if solutions else ""
                    solutions.append(word + fold.decode_contents())
            if hints:
                where = behind["hints"].add(page.name, f"hints-{name}", f"{title}<ol>{''.join(hints)}</ol>")
                links.append(f'<a href="{where}">Hints</a>')
            if solutions:
                where = behind["solutions"].add(page.name, f"solution-{name}", title + "".join(solutions))
                links.append(f'<a href="{where}">Solution</a>')
        place.replace_with(_new(f'<p class="paper-see">{" · ".join(links)}</p>'))


def _back(part: Tag, page: Page) -> str:
    """The address of the section that a part stands in."""
    return f"{BOOK}{page.name}#{part.find_parent('section', id=True)['id']}"


def _asked(card: Tag, page: Page) -> str:
    """What a card asks; its first words lead back to where it stands."""
    link = rf'<a href="{_back(card, page)}">\1</a>'
    return f'<p class="paper-asked">{re.sub("<strong>(.*?)</strong>", link, card.p.decode_contents(), count=1)}</p>'


def _still_view(view: Tag) -> None:
    """Which layer and head is drawn; on a page, two menus say so."""
    table = view.find("caption")
    shown = re.match(r"Layer \d+, head \d+", table.get_text() if table else "")
    data = view.select_one("[data-weights]")
    weights = json.loads(data["data-weights"])["weights"] if data is not None else []
    if shown and len(weights) * len(weights[0]) > 1:
        view.append(_new(f'<p class="paper-shown">{shown[0]}.</p>'))


def _unfold(fold: Tag) -> None:
    """A fold becomes a box; what its summary said stands above, unless it only said that there is something."""
    classes = fold.get("class", [])
    summary = fold.find("summary", recursive=False)
    fold.name = "div"
    fold.attrs = {"class": ["paper-fold", *classes]} | ({"id": fold["id"]} if fold.get("id") else {})
    if summary is None:
        return
    if "course-shelf" in classes:  # a chapter of the catalogue
        summary.unwrap()
        fold.unwrap()
        return
    if "course-fold-output" in classes:
        summary.decompose()
        fold.unwrap()
    elif _words(summary) == "See it happen":
        summary.decompose()
    elif "course-aside" in classes:
        summary.name, summary.attrs = "div", {"class": ["paper-aside"]}
    else:
        summary.name, summary.attrs = "p", {"class": ["paper-fold-title"]}


def _words(element: Tag) -> str:
    return " ".join(re.sub(r"[#¶]\s*$", "", element.get_text().strip()).split())


def _id(page: Page) -> str:
    return PurePosixPath(page.name).name


def _new(html: str) -> Tag:
    return BeautifulSoup(html, "lxml").body.contents[0]
