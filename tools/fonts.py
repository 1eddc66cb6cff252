"""Cut the Korean fonts to the letters that the course uses: `python -m tools.fonts PACKAGE.tgz`.

Figures are written in matplotlib's own font, DejaVu Sans. It has no Korean letters, so those of the corpus, the
chapters, the pages, the library, and the practice are shipped: in `course_lib/figures/fonts/` for figures, and as WOFF
in `book/_static/fonts/` for pages. No font of the machine takes part, and nothing that is compared depends on one.

The shipped font is called Course Hangul, a name that no installed font has. It is cut from Noto Sans KR 2.004 (weights
400 and 700), as in the npm package `@fontsource/noto-sans-kr` 5.3.0. Its license is the SIL Open Font License 1.1, in
`course_lib/figures/fonts/OFL.txt`; the copyright is Adobe's.

Without a package, the letters are only compared: the fonts lack some when a chapter, a page, or the corpus uses new
ones. This cuts the fonts anew, always to the same bytes:

    npm pack @fontsource/noto-sans-kr@5.3.0
    .venv/bin/python -m tools.fonts fontsource-noto-sans-kr-5.3.0.tgz
"""

import argparse
import io
import json
import re
import sys
import tarfile
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont

from course_lib.corpus import course_corpus
from course_lib.figures.style import FONTS, KOREAN
from tools.environment import CHAPTERS, LIBRARY, PRACTICE, ROOT

PAGE_FONTS = ROOT / "book" / "_static" / "fonts"
WRITTEN = (CHAPTERS, ROOT / "book", LIBRARY, PRACTICE, ROOT / "README.md")
TEXT = {".css", ".ipynb", ".js", ".json", ".md", ".py", ".svg", ".tsv", ".txt", ".yml"}
LETTERS = re.compile("[\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3]")  # Hangul: jamo, and whole syllables
WEIGHTS = {"Regular": 400, "Bold": 700}
SOURCE = "package/files/noto-sans-kr-korean-{weight}-normal.woff"
LICENSE = "This Font Software is licensed under the SIL Open Font License, Version 1.1."
# Figures and pages set single letters side by side: what sets them upright, kerns, or hints them is not needed.
DROPPED = ["BASE", "DSIG", "GDEF", "GPOS", "GSUB", "STAT", "gasp", "vhea", "vmtx"]


def used() -> set[str]:
    """Every Korean letter that stands in a chapter, on a page, in the library, or in a sentence of the corpus."""
    paths = [path for place in WRITTEN for path in ([place] if place.is_file() else place.rglob("*"))]
    found = {letter for path in paths if path.suffix in TEXT for letter in LETTERS.findall(text_of(path))}
    corpus = course_corpus()
    return found | {letter for split in corpus.splits for pair in corpus[split] for letter in "".join(pair.src)}


def text_of(path: Path) -> str:
    """The text of a file, without the escapes that JSON may write instead of letters."""
    text = path.read_text(encoding="utf-8")
    return json.dumps(json.loads(text), ensure_ascii=False) if path.suffix in {".json", ".ipynb"} else text


def files() -> list[Path]:
    """The fonts that are shipped: for figures, and for pages."""
    return sorted([*FONTS.glob("*.ttf"), *PAGE_FONTS.glob("CourseHangul*.woff")])


def drawn(path: Path) -> set[str]:
    """The letters that a font draws."""
    with TTFont(path) as font:
        return set(map(chr, font.getBestCmap()))


def lacking() -> dict[str, str]:
    """For each font that lacks letters of the course: which."""
    wanted = used()
    return {path.name: "".join(sorted(wanted - drawn(path))) for path in files() if wanted - drawn(path)}


def cut(font: TTFont, letters: set[str], style: str) -> TTFont:
    """The font with these letters alone, under a name that no font of a machine has."""
    options = subset.Options(layout_features=[], hinting=False, notdef_outline=True, name_IDs=[0])
    options.drop_tables += DROPPED
    cutter = subset.Subsetter(options)
    cutter.populate(unicodes=map(ord, letters))
    cutter.subset(font)
    names = {1: KOREAN, 2: style, 4: f"{KOREAN} {style}", 6: f"{KOREAN}-{style}".replace(" ", ""), 13: LICENSE}
    for number, name in (names | {3: names[6]}).items():
        font["name"].setName(name, number, 3, 1, 0x409)
    font["OS/2"].usWeightClass = WEIGHTS[style]
    font["OS/2"].fsSelection = 0x20 if style == "Bold" else 0x40
    font["head"].macStyle = int(style == "Bold")
    return font


def write(package: Path) -> None:
    """Cut both weights of the package's font and store them: TrueType for figures, WOFF for pages."""
    letters = used()
    with tarfile.open(package) as archive:
        for style, weight in WEIGHTS.items():
            data = archive.extractfile(SOURCE.format(weight=weight)).read()
            font = cut(TTFont(io.BytesIO(data), recalcTimestamp=False), letters, style)
            for folder, flavor, ending in ((FONTS, None, "ttf"), (PAGE_FONTS, "woff", "woff")):
                path = folder / f"{KOREAN.replace(' ', '')}-{style}.{ending}"
                font.flavor = flavor
                font.save(path)
                print(f"{path.relative_to(ROOT)}: {len(letters)} letters, {path.stat().st_size:,} bytes")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("package", nargs="?", type=Path, help="without it, the letters are only compared")
    options = parser.parse_args()
    if options.package:
        write(options.package)
    missing = lacking()
    for name, letters in missing.items():
        print(f"{name} lacks {letters}: the beginning of tools/fonts.py says how to cut it anew")
    return int(bool(missing))


if __name__ == "__main__":
    sys.exit(main())
