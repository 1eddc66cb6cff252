"""The PNGs that are made of the drawing of the Transformer: `python -m tools.drawing`, after a change of the drawing.

One is what chapter 11 shows where styles are taken out, the other the picture of a shared link.
"""

import io
import tempfile
from pathlib import Path

from PIL import Image

from course_lib.figures.display import css
from course_lib.figures.machine import STILL, picture
from tools.chromium import started
from tools.environment import ROOT

CARD = ROOT / "book" / "_static" / "card.png"
STYLE = (ROOT / "book" / "_static" / "course.css").as_uri()
PAGE = f"""<!DOCTYPE html><html data-theme="light"><meta charset="utf-8"><link rel="stylesheet" href="{STYLE}">
{css("figure")}<style>
html {{ --pst-font-family-monospace-system: monospace }}
body {{ margin: 0; background: #fff; color: #1f2328; font-family: "Course Text" }}
.card {{ display: grid; grid-template-columns: 1fr 640px; align-items: center; width: 1200px; height: 630px }}
.card > div {{ margin-left: 64px }}
.card h1 {{ font-size: 56px; line-height: 1.1; letter-spacing: -.02em; margin: 0 0 28px }}
.card p {{ font-size: 25px; line-height: 1.4; margin: 0; color: #545d68 }}
.card figure {{ width: 900px; margin: 0; zoom: .68 }}
</style>"""
WORDS = (
    "<div><h1>The Transformer, step by step</h1>"
    "<p>Build one that translates Korean to English, in notebooks that name your mistakes.</p></div>"
)


def pictures() -> dict[Path, tuple[str, tuple[int, int], int]]:
    """Where each picture goes, with its page, the size of its window, and its number of colors."""
    figure = f'<figure class="course-figure">{picture("The Transformer")}</figure>'
    return {
        STILL: (f'<div style="width: 540px">{figure}</div>', (540, 916), 48),
        CARD: (f'<div class="card">{WORDS}{figure}</div>', (1200, 630), 128),
    }


def main() -> None:
    browser = started()
    for path, (html, (width, height), colors) in pictures().items():
        window = browser.new_page(viewport={"width": width, "height": height})
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "page.html"
            page.write_text(PAGE + html, encoding="utf-8")
            window.goto(page.as_uri())
            window.evaluate("document.fonts.ready")
            shot = Image.open(io.BytesIO(window.screenshot())).convert("RGB")
        small = shot.quantize(colors, method=Image.Quantize.MAXCOVERAGE, kmeans=3, dither=Image.Dither.NONE)
        small.save(path, optimize=True, dpi=(96, 96))
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size // 1000} KB")
    browser.close()


if __name__ == "__main__":
    main()
