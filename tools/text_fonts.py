"""Cut the fonts of text and of code to the letters that pages use: `python -m tools.text_fonts TEXT.tgz CODE.tgz`.

They are called Course Text and Course Code, names that no installed font has: Source Sans 3 (regular, italic, and
semibold) and Source Code Pro, as in the npm packages `@fontsource/source-sans-3` 5.3.1 and
`@fontsource/source-code-pro` 5.3.1, both under the SIL Open Font License 1.1 (beside them). They were drawn with the
letters of Noto Sans KR, which pages use for Korean. This cuts them anew, always to the same bytes:

    npm pack @fontsource/source-sans-3@5.3.1 @fontsource/source-code-pro@5.3.1
    .venv/bin/python -m tools.text_fonts fontsource-source-sans-3-5.3.1.tgz fontsource-source-code-pro-5.3.1.tgz
"""

import io
import string
import sys
import tarfile
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont

from tools.fonts import LICENSE, PAGE_FONTS

# What the packages' letters are cut to: ASCII, and of the rest what chapters and pages write.
LETTERS = string.ascii_letters + string.digits + string.punctuation + " \u00a0§«°±²³·»¼½¾×÷éèüöäñÉ–—‘’“”•…€™↑↓−"
# The package and its style, and the font that is made of it.
FACES = {
    "CourseText-Regular": ("source-sans-3", "400-normal"),
    "CourseText-Italic": ("source-sans-3", "400-italic"),
    "CourseText-Semibold": ("source-sans-3", "600-normal"),
    "CourseCode-Regular": ("source-code-pro", "400-normal"),
    "CourseCode-Semibold": ("source-code-pro", "600-normal"),
}


def cut(font: TTFont, name: str) -> TTFont:
    """The font with these letters and the distances between them, under its own name."""
    options = subset.Options(layout_features=["kern", "tnum"], hinting=False, notdef_outline=True, name_IDs=[0])
    options.drop_tables += ["DSIG", "STAT", "gasp"]
    cutter = subset.Subsetter(options)
    cutter.populate(unicodes=map(ord, LETTERS))
    cutter.subset(font)
    file, _, style = name.partition("-")
    family = file.replace("Course", "Course ")
    for number, words in {1: family, 2: style, 3: name, 4: f"{family} {style}", 6: name, 13: LICENSE}.items():
        font["name"].setName(words, number, 3, 1, 0x409)
    return font


def main() -> int:
    for path, package in zip(map(Path, sys.argv[1:3]), ("source-sans-3", "source-code-pro"), strict=True):
        with tarfile.open(path) as archive:
            for name in (name for name, (of, _) in FACES.items() if of == package):
                source = f"package/files/{package}-latin-{FACES[name][1]}.woff"
                font = cut(TTFont(io.BytesIO(archive.extractfile(source).read()), recalcTimestamp=False), name)
                font.flavor = "woff"
                font.save(PAGE_FONTS / f"{name}.woff")
                print(f"{name}.woff: {(PAGE_FONTS / f'{name}.woff').stat().st_size:,} bytes")
            license_file = PAGE_FONTS / f"{name.partition('-')[0]}-OFL.txt"
            license_file.write_bytes(archive.extractfile("package/LICENSE").read())
    return 0


if __name__ == "__main__":
    sys.exit(main())
