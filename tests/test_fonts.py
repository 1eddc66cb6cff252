"""The shipped fonts: they hold every Korean letter of the course, and no font of a machine changes a figure."""

import os
import re
import subprocess
import sys
from pathlib import Path

import generated
import matplotlib as mpl
import pytest
from fontTools.ttLib import TTFont
from matplotlib import font_manager

from course_lib.corpus import Corpus, Sentence
from course_lib.figures import attention_view, heatmap, lines, new_figure, show
from course_lib.figures.style import FAMILIES, FONTS, KOREAN, register_fonts, text_width
from tools import fonts, formula_font, text_fonts
from tools.environment import ROOT

LARGEST = 150_000  # bytes
TOKENS = ["고양이가", "the", "앉았다"]
WEIGHTS = [[0.7, 0.2, 0.1]] * 3


def test_every_korean_letter_of_the_course_is_in_the_fonts(monkeypatch, capsys):
    monkeypatch.setattr(fonts, "course_corpus", generated.course)
    monkeypatch.setattr(sys, "argv", ["fonts"])
    assert (fonts.main(), capsys.readouterr().out) == (0, "")


def test_letters_are_looked_for_in_all_that_readers_see(tmp_path, monkeypatch, capsys):
    (tmp_path / "escaped.json").write_text('{"text": "\\ubdc1"}', encoding="utf-8")
    (tmp_path / "page.md").write_text("뷃", encoding="utf-8")
    (tmp_path / "picture.png").write_bytes("뷄".encode())
    pairs = {"train": [Sentence(("뷅을", "ㅗ"), ("book", "one"))]}
    monkeypatch.setattr(fonts, "WRITTEN", (tmp_path,))
    monkeypatch.setattr(fonts, "course_corpus", lambda: Corpus("small", "ko", "en", pairs))
    monkeypatch.setattr(sys, "argv", ["fonts"])
    assert fonts.used() == set("뷁뷃뷅을ㅗ")
    assert fonts.main() == 1
    assert "CourseHangul-Bold.ttf lacks 뷁뷃뷅: the beginning of tools/fonts.py says" in capsys.readouterr().out


def test_fonts_are_small_licensed_and_named_like_no_other():
    assert [path.name for path in fonts.files()] == [
        "CourseHangul-Bold.woff",
        "CourseHangul-Regular.woff",
        "CourseHangul-Bold.ttf",
        "CourseHangul-Regular.ttf",
    ]
    for path in fonts.files():
        assert path.stat().st_size < LARGEST
        names = TTFont(path)["name"]
        assert names.getDebugName(1) == KOREAN
        assert not any("Source" in names.getDebugName(number) for number in (1, 3, 4, 6)), "the license keeps that name"
        assert "with Reserved Font Name 'Source'" in names.getDebugName(0)
        assert "SIL Open Font License" in names.getDebugName(13)
    assert "SIL OPEN FONT LICENSE Version 1.1" in (FONTS / "OFL.txt").read_text(encoding="utf-8")


def test_the_font_of_formulas_has_its_measures_its_license_and_its_own_name(tmp_path):
    assert formula_font.PATH.stat().st_size < LARGEST
    font = TTFont(formula_font.PATH, recalcTimestamp=False)
    assert "MATH" in font
    assert font["name"].getDebugName(1) == formula_font.NAME
    assert "Version 1.1" in (formula_font.PATH.parent / "CourseMath-OFL.txt").read_text(encoding="utf-8")
    font.flavor = None
    font.save(tmp_path / "whole.ttf")
    again = formula_font.cut(TTFont(tmp_path / "whole.ttf", recalcTimestamp=False))
    assert again.getBestCmap() == font.getBestCmap()


@pytest.mark.parametrize("name", text_fonts.FACES)
def test_fonts_of_text_and_code_have_their_letters_their_license_and_their_own_name(tmp_path, name):
    font = TTFont(fonts.PAGE_FONTS / f"{name}.woff", recalcTimestamp=False)
    family = name.partition("-")[0]
    assert set(map(ord, text_fonts.LETTERS)) <= set(font.getBestCmap())
    assert font["name"].getDebugName(1) == family.replace("Course", "Course ")
    assert not any("Source" in font["name"].getDebugName(number) for number in (1, 3, 4, 6)), (
        "its maker keeps that name"
    )
    assert "Version 1.1" in (fonts.PAGE_FONTS / f"{family}-OFL.txt").read_text(encoding="utf-8")
    font.flavor = None
    font.save(tmp_path / "whole.ttf")
    again = text_fonts.cut(TTFont(tmp_path / "whole.ttf", recalcTimestamp=False), name)
    assert again.getBestCmap() == font.getBestCmap()


def test_a_page_s_fonts_are_small_together():
    assert sum(path.stat().st_size for path in fonts.PAGE_FONTS.glob("*.woff")) < 200_000


def test_cutting_keeps_the_letters_asked_for(tmp_path):
    cut = fonts.cut(TTFont(FONTS / "CourseHangul-Regular.ttf", recalcTimestamp=False), set("값글"), "Bold")
    cut.save(tmp_path / "cut.ttf")
    assert fonts.drawn(tmp_path / "cut.ttf") == set("값글")
    entry = font_manager.ttfFontProperty(font_manager.get_font(tmp_path / "cut.ttf"))
    assert (entry.name, entry.weight) == (KOREAN, 700)


def test_page_takes_korean_letters_from_the_shipped_fonts():
    css = (ROOT / "book" / "_static" / "course.css").read_text(encoding="utf-8")
    faces = [face for face in re.findall(r"@font-face \{(.*?)\}", css, re.DOTALL) if KOREAN in face]
    assert {re.search(r'url\("fonts/(.+?)"\)', face)[1] for face in faces} == {p.name for p in fonts.files()[:2]}
    for face in faces:
        spans = re.findall(r"U\+([\dA-F]+)-([\dA-F]+)", face)
        assert f'font-family: "{KOREAN}"' in face
        assert fonts.LETTERS.pattern == "[" + "".join(f"{chr(int(a, 16))}-{chr(int(b, 16))}" for a, b in spans) + "]"
    for family in ("base", "monospace"):
        assert re.search(rf'--pst-font-family-{family}: "{KOREAN}", ', css)


@pytest.fixture
def another_machine(tmp_path, monkeypatch):
    """A machine with fonts of its own under the names that a figure may use, and each letter twice as wide."""
    monkeypatch.delenv("MPL_IGNORE_SYSTEM_FONTS", raising=False)
    before = list(font_manager.fontManager.ttflist)
    for number, name in enumerate([*FAMILIES, "NanumGothic", "Noto Sans CJK KR", "Noto Sans KR", "Malgun Gothic"]):
        font = TTFont(FONTS / "CourseHangul-Regular.ttf")
        for letter, (width, left) in font["hmtx"].metrics.items():
            font["hmtx"].metrics[letter] = 2 * width, left
        font["name"].setName(name, 1, 3, 1, 0x409)
        font.save(tmp_path / f"{number}.ttf")

    def install():
        for path in sorted(tmp_path.glob("*.ttf")):
            font_manager.fontManager.addfont(path)

    yield install
    font_manager.fontManager.ttflist[:] = before
    font_manager.fontManager.addfont(next(FONTS.glob("*-Regular.ttf")))  # which forgets what was found before
    font_manager.fontManager.ttflist.pop()


def figures() -> dict:
    """Figures with Korean letters, one of them drawn as somebody would who knows nothing of the course's style."""
    fig, ax = new_figure(4, 2)
    ax.set_title("제목과 $x^2$", family="Malgun Gothic")
    ax.text(0.1, 0.5, "굵은 글", weight="bold")
    return {
        "heatmap": heatmap(WEIGHTS, TOKENS, alt="A map."),
        "lines": lines([0, 1], {"가나다": [1, 2], "라": [2, 3]}, alt="Lines."),
        "attention_view": attention_view(TOKENS, WEIGHTS, alt="A view."),
        "show": show(fig, alt="Words."),
    }


def test_fonts_of_a_machine_change_no_figure(another_machine):
    here = figures()
    another_machine()
    assert font_manager.findfont("NanumGothic", fallback_to_default=False)
    there = figures()
    for name in here:
        assert there[name]._repr_html_() == here[name]._repr_html_(), name
        assert there[name].png == here[name].png, name


@pytest.mark.parametrize("look", [{}, {"weight": "bold"}, {"style": "italic"}])
def test_texts_are_written_in_matplotlib_s_own_font_and_in_the_shipped_one(look):
    register_fonts()
    for family, folder in zip(FAMILIES, (mpl.get_data_path(), FONTS), strict=True):
        path = font_manager.findfont(font_manager.FontProperties(family=[family], **look), fallback_to_default=False)
        assert Path(path).resolve().is_relative_to(Path(folder).resolve())


def test_korean_letters_are_measured_as_they_are_drawn():
    assert text_width("가나다") == pytest.approx(3 * 0.92 * 12 / 72, rel=0.05), "not as three empty boxes"
    boxes = [heatmap([[1.0]], [token], alt="A letter.").png for token in ("값", "글")]
    assert boxes[0] != boxes[1]


def test_shipped_fonts_are_found_where_matplotlib_is_told_to_look_at_no_others():
    code = "from course_lib.figures import heatmap; print(heatmap([[1.0]], ['고양이'], alt='A cat.').png.hex())"
    drawn = [
        subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, env=os.environ | {"MPL_IGNORE_SYSTEM_FONTS": ignored},
            text=True, capture_output=True, check=True,
        )
        for ignored in ("", "1")
    ]  # fmt: skip
    assert [done.stderr for done in drawn] == ["", ""]
    assert drawn[0].stdout == drawn[1].stdout


def test_fonts_are_read_when_the_first_figure_is_drawn():
    code = (
        "import course_lib.figures, matplotlib.font_manager as m; "
        "count = lambda: sum(font.name == 'Course Hangul' for font in m.fontManager.ttflist); "
        "print(count()); [course_lib.figures.new_figure() for _ in range(3)]; print(count())"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, text=True, stdout=subprocess.PIPE, check=True)
    assert done.stdout.split() == ["0", "2"]
